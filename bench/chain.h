/* Runs the programs of stages, found on PATH, in a shell pipe, and reads the times that they
 * report. */
#ifndef BRAGG_BENCH_CHAIN_H
#define BRAGG_BENCH_CHAIN_H

#include "bench.h"

enum { STAGES_MAX = 8, COMMAND_MAX = 2048 };

/* A line of a stage's --stats file. */
struct cost {
    char stage[32];
    double cpu_s, compute_cpu_s, wall_s, compute_s, codec_s, wait_in_s, wait_out_s;
    double busiest_cpu_s;            // of the busiest thread
    double frames, setups;           // frames; set-ups of the engine
    double bytes_out;                // of all messages
    double evaluations, found, rms;  // of a fit: of the model; frames; errors over error bars
    char why[96];                    // there is none of this
};

/* What a pipe took. */
struct run {
    double cpu_ns, wall_ns;
    struct cost costs[STAGES_MAX];
    size_t ncosts;
};

/* Appends one stage to a command of COMMAND_MAX bytes, "" at first; all write their
 * statistics, and traces with --profile. */
void chain_stage(const struct bench *b, char *command, const char *name, const char *options);

/* A command for recipes of stills of the "one step" workload; `more` are further options of
 * bragg-orient.  chain_still also computes the photons. */
void chain_recipes(const struct bench *b, char *command, int64_t edge, int64_t frames,
                   const char *more);
void chain_still(const struct bench *b, char *command, int64_t edge, int64_t frames,
                 const char *more);

/* Appends what is between the photons and the disk: water of that thickness, noise, frames
 * of that suffix; `more` are further options of all three. */
void chain_rest(const struct bench *b, char *command, const char *water_um, const char *suffix,
                const char *more);

/* Runs it by sh in a folder of its own, `name`, and reads what the stages say they cost. */
enum status chain_run(const struct bench *b, const char *name, const char *command, struct run *r,
                      struct error *e);

/* Returns a port of tcp that no program uses. */
int chain_port(void);

/* The line of a stage, or one of zeros. */
const struct cost *chain_find(const struct run *r, const char *stage);

#endif
