/*
 * The declarations that the parts of the benchmark share.  Every part times its contestants in
 * rounds, A B A B, because other programs often use the machine: only ratios of one run count.
 * A part prints a Markdown table on stdout and writes one line of JSON per result.
 */
#ifndef BRAGG_BENCH_BENCH_H
#define BRAGG_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files.h"
#include "base/opt.h"

enum { ROUNDS_MAX = 99, SIZES_MAX = 8 };

struct bench_options {
    const char *sizes, *parts, *out, *peer, *noise_peer, *commit, *note;
    struct opt_texts workloads;
    int64_t iterations, processes, threads, frames;
    int engine, isa;  // index into the choices; 0 = all
    int precision;    // enum engine_precision
    bool keep_artifacts, profile, has_sizes, has_threads;
    struct opt_marks given;
};

enum { ENGINE_ALL, ENGINE_REFERENCE, ENGINE_CPU };  // order of --engine

/* What the machine could do at best, measured by peak.c, one thread. */
struct peak {
    double flops;  // single-precision operations a second, best instruction set
    double bytes;  // read and written a second by a loop over arrays larger than a cache
};

struct bench {
    struct bench_options o;
    int64_t sizes[SIZES_MAX];  // edges in pixels
    size_t nsizes;
    FILE *json;        // NULL: no --out
    char scratch[64];  // empty folder of this run
    struct peak peak;  // zeros: not measured
    int unsteady;      // results whose coefficient of variation is above 5 %
};

/* Whether --workload names a part of this, or nothing at all. */
static inline bool bench_wants(const struct bench *b, const char *name)
{
    bool found = b->o.workloads.count == 0;
    for (size_t i = 0; i < b->o.workloads.count; i++)
        found = found || strstr(name, b->o.workloads.text[i]);
    return found;
}

/* --- times ---------------------------------------------------------------- */

/* One contestant's rounds, in ns. */
struct timing {
    int count;
    double cpu_ns[ROUNDS_MAX], wall_ns[ROUNDS_MAX];
};

void timing_add(struct timing *t, double cpu_ns, double wall_ns);

/* Median and, over the same rounds, standard deviation / mean. */
double timing_median(const double *ns, int count);
double timing_variation(const double *ns, int count);

/* --- results -------------------------------------------------------------- */

/* One JSON object on a line; nothing is written without --out. */
void record_open(struct bench *b, const char *part);
void record_text(struct bench *b, const char *name, const char *value);
void record_real(struct bench *b, const char *name, double value);  // null when not finite
void record_close(struct bench *b);

/* Median, variation and number of rounds; counts unsteady results. */
void record_timing(struct bench *b, const struct timing *t);

/* " !" for a table cell when the rounds vary by more than 5 %. */
const char *timing_mark(const struct timing *t);

/* --- images --------------------------------------------------------------- */

/* How far an image is from the one that is believed. */
struct agreement {
    double worst;      // relative error with a floor of 1e-3 of the mean, without the jumps
    double jumps;      // fraction of pixels above IMAGE_ERROR_MAX; NaN pixels are among them
    double sum_error;  // ratio of the sums - 1
};

#define IMAGE_ERROR_MAX 1e-5
#define IMAGE_JUMPS_MAX 1e-4  // where the physics itself jumps: edges of TOPHAT, half indices
#define IMAGE_SUM_MAX 1e-6

struct agreement image_compare(const float *image, const float *believed, size_t count);

/* STATUS_FAILED, with the figures, when an image is another one: its time means
 * nothing. */
enum status image_believe(const struct agreement *a, const char *who, struct error *e);

/* --- other programs ------------------------------------------------------- */

/* Runs argv (ended by NULL) in `folder` with `threads` OpenMP threads, stdout and
 * stderr discarded, and waits.  Times are those of the process and the children it
 * waited for.  STATUS_FAILED when it cannot be started or does not exit with 0. */
enum status process_run(const char *const *argv, const char *folder, int64_t threads,
                        double *cpu_ns, double *wall_ns, struct error *e);

/* The same, with the most memory that the process had; that of its children is not in it. */
struct process_cost {
    double cpu_ns, wall_ns, peak_bytes;
};
enum status process_measure(const char *const *argv, const char *folder, int64_t threads,
                            struct process_cost *cost, struct error *e);

/* What a process of bench-hop or bench-workers has cost. */
struct hop_cost {
    double cpu_ns, wall_ns;  // of a frame
    double resident;         // bytes
};

/* The line of `role` in the file "report" of a folder; false when there is none. */
bool hop_report(const char *folder, const char *role, struct hop_cost *cost);

/* Makes a folder below b->scratch. */
enum status folder_make(const struct bench *b, const char *name, char *path, size_t size,
                        struct error *e);

/* Reads exactly `count` float32 pixels. */
enum status floats_read(const char *path, float *pixels, size_t count, struct error *e);

/* --- parts ---------------------------------------------------------------- */

enum status bench_machine(struct bench *b,
                          struct error *e);  // the machine, and its peak performance
enum status bench_kernel(struct bench *b, struct error *e);
enum status bench_background(struct bench *b, struct error *e);
enum status bench_noise(struct bench *b, struct error *e);
enum status bench_stream(struct bench *b, struct error *e);
enum status bench_transport(struct bench *b, struct error *e);
enum status bench_output(struct bench *b, struct error *e);
enum status bench_cold(struct bench *b, struct error *e);
enum status bench_pipeline(struct bench *b, struct error *e);
enum status bench_boundary(struct bench *b, struct error *e);
enum status bench_reflections(struct bench *b, struct error *e);
enum status bench_score(struct bench *b, struct error *e);
enum status bench_closed(struct bench *b, struct error *e);
enum status bench_laue(struct bench *b, struct error *e);
enum status bench_varied(struct bench *b, struct error *e);
enum status bench_diffuse(struct bench *b, struct error *e);
enum status bench_smear(struct bench *b, struct error *e);
enum status bench_sinks(struct bench *b, struct error *e);
enum status bench_busiest(struct bench *b, struct error *e);
enum status bench_derivatives(struct bench *b, struct error *e);
enum status bench_refine(struct bench *b, struct error *e);
enum status bench_compress(struct bench *b, struct error *e);
enum status bench_workers(struct bench *b, struct error *e);
enum status bench_pace(struct bench *b, struct error *e);
enum status bench_python(struct bench *b, struct error *e);
enum status bench_gather(struct bench *b, struct error *e);
enum status bench_diagnose(struct bench *b, struct error *e);

#endif
