/*
 * enginecheck: compares the CUDA engine, on a GPU or on this CPU, with the reference by the gate of
 * engine_gate.h, and measures it.  It needs neither sockets nor third-party file formats, so that
 * it can be built on a machine with only a compiler and the CUDA toolkit.
 */
#ifndef BRAGG_TESTS_ENGINECHECK_CHECK_H
#define BRAGG_TESTS_ENGINECHECK_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../../bench/workload.h"
#include "../hostgpu/host_engine.h"
#include "../unit/engine_case.h"
#include "engine/engine.h"
#include "peak.h"

/* All that a run of the program adds up. */
struct run {
    const struct engine *engine;
    struct engine_options options;
    FILE *json;             // NULL: none
    struct card_peak peak;  // of modes that measure it
    int failed, cases, skipped;
    size_t unsteady, pixels;  // of all cases
    double worst;             // likewise
};

/* Returns a case of a smeared sensor.  Its frames are computed in parts, each of which is copied
 * while the next one is computed. */
static inline struct engine_case smeared_in_parts(void)
{
    return (struct engine_case){.name = "smeared sensor, in parts",
                                .cells = {10},
                                .pixels = 800,
                                .pixel_mm = 0.1,
                                .oversample = 3,
                                .twotheta_deg = 30,
                                .smears = true};
}

/* Counts a case and prints its line: good up to `limit`.  An error that is no number is none that
 * is small. */
void tell_case(struct run *run, const char *part, const char *name, double error, double limit);

/* The same for a case that was not compared, with the reason. */
void tell_skip(struct run *run, const char *part, const char *name, const char *reason);

/* What is timed round by round: some tenths of a second to warm up, then 100 rounds or, if that is
 * sooner, as many as half a second holds, 5 at least. */
enum { ROUNDS_MAX = 100 };
struct rounds {
    uint64_t begun;  // ns
    bool warm;
    int count;
    double ms[ROUNDS_MAX];
};

/* Median and least. */
struct middle {
    double ms, least_ms;
    int rounds;
};

/* Whether one more is wanted; rounds_add notes how long it took, if the card is warm. */
bool rounds_go_on(struct rounds *r);
void rounds_add(struct rounds *r, double ms);
struct middle rounds_middle(struct rounds *r);

/* A workload that is timed, of size x size pixels. */
struct timed {
    struct experiment x;
    struct recipe r;
    struct plan *plan;  // made by the caller
    float *pixels;      // room for its image
};

/* timed_close frees *t, after an error too. */
enum status timed_open(struct timed *t, const struct workload *w, int64_t size, struct error *e);
void timed_close(const struct run *run, struct timed *t);

/* Prints how long `what` takes, and notes it as `part`. */
void timed_tell(const struct run *run, const char *what, const char *part, int64_t size,
                struct rounds *rounds);

/* The larger error; infinite where one is no number. */
static inline double worse(double a, double b)
{
    return isnan(a) || isnan(b) ? HUGE_VAL : fmax(a, b);
}

/* A frame by an engine and a plan of its own. */
enum status compute(const struct engine *engine, const struct engine_options *options,
                    const struct experiment *x, const struct recipe *r, float *pixels,
                    struct error *e);

/* Compares one frame with the reference and prints a line.  `single`: pixels that may be
 * left out are bounded in this image; else the caller bounds those of the run. */
enum status hold(struct run *run, const char *name, const struct experiment *x,
                 const struct recipe *r, double limit, bool single, struct error *e);
enum status hold_case(struct run *run, const struct engine_case *c, bool single, struct error *e);

/* Modes of the program; `numbers` are those behind the name of one. */

/* Every case of engine_table.h. */
enum status check_table(struct run *run, const int64_t *numbers, struct error *e);

/* Tests that two runs give the same bytes, and prints how many pixels equal those of the CPU
 * engine. */
enum status check_bytes(struct run *run, const int64_t *numbers, struct error *e);

/* COUNT SEED: cases drawn by chance; the seed and number of a case bring it back. */
enum status check_random(struct run *run, const int64_t *numbers, struct error *e);

/* One command line of nanoBragg, physical and, where it has no quirk that only the
 * reference repeats, faithful; argv[0] is not a flag. */
enum status check_golden(struct run *run, const char *label, int argc, char **argv,
                         struct error *e);

/* SIZE WORKLOAD: the workloads of the benchmark at that size, or only the one of that number, from
 * 1, as a Markdown table, with the share of what the card does at most.  STATUS_FAILED where the
 * pixels cannot be pinned. */
enum status check_times(struct run *run, const int64_t *numbers, struct error *e);

/* SIZE: background and noise after every case of the table, and after the first workload at that
 * size, which is timed. */
enum status check_after(struct run *run, const int64_t *numbers, struct error *e);

/* The same of every case from photons on, which lie here or on the card, to counts here or there.
 */
enum status check_go_on(struct run *run, const int64_t *numbers, struct error *e);

/* SIZE: frames of the first workload by three processes that hand them on on the card, against one
 * that does the work of all, with times; and the second and the third process. */
enum status check_hand(struct run *run, const int64_t *numbers, struct error *e);
enum status check_hand_sums(struct run *run, const int64_t *numbers, struct error *e);
enum status check_hand_counts(struct run *run, const int64_t *numbers, struct error *e);

/* SIZE: planes of the cases of the table that have such against the reference, by root mean squares
 * and sums; those of the second workload at that size, which are timed. */
enum status check_derive(struct run *run, const int64_t *numbers, struct error *e);

/* SIZE: the same for tables of reflections. */
enum status check_reflections(struct run *run, const int64_t *numbers, struct error *e);

/* SIZE: frames in closed form against the cpu engine's; one of 125 wavelengths, which is timed. */
enum status check_closed(struct run *run, const int64_t *numbers, struct error *e);

/* SIZE: frames of the first workload, with background and noise, into another process. */
enum status check_stream(struct run *run, const int64_t *numbers, struct error *e);

/* SIZE: from the start of a process to its first frame of the first workload; and that process. */
enum status check_first(struct run *run, const int64_t *numbers, struct error *e);
enum status check_frame(struct run *run, const int64_t *numbers, struct error *e);

#endif
