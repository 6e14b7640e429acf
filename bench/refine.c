/*
 * Measures the refinement of stills by bragg-refine and, if Python has it, by diffBragg of simtbx:
 * the time of a still, and the size of the errors.  bench/diffbragg.py, found on PATH, runs both.
 */
#include <inttypes.h>

#include "chain.h"

enum { STILLS = 4, PARAMETERS = 10 };

static const char *const WHO[] = {"bragg-refine", "diffBragg"};
enum { NWHO = sizeof WHO / sizeof *WHO };

static void report(struct bench *b, const struct cost *c, const struct timing *t)
{
    record_open(b, "refine");
    record_text(b, "contestant", c->stage);
    record_real(b, "frames", c->frames);
    record_real(b, "evaluations", c->evaluations / c->frames);
    record_real(b, "found", c->found);
    record_real(b, "errors", c->rms);
    record_timing(b, t);
    record_close(b);
    printf("| %s | %.3f%s | %.1f | %.0f | %.2f |\n", c->stage,
           1e-9 * timing_median(t->cpu_ns, t->count), timing_mark(t), c->evaluations / c->frames,
           c->found, c->rms);
}

enum status bench_refine(struct bench *b, struct error *e)
{
    struct timing times[NWHO] = {0};
    struct cost costs[NWHO] = {0};
    char command[COMMAND_MAX];
    (void)snprintf(command, sizeof command,
                   "! command -v diffbragg.py >/dev/null || "
                   "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 diffbragg.py %d",
                   STILLS);
    for (int64_t round = 0; round < b->o.iterations; round++) {
        struct run r = {0};
        const enum status s = chain_run(b, "refine", command, &r, e);
        if (s)
            return s;
        for (int i = 0; i < NWHO; i++) {
            costs[i] = *chain_find(&r, WHO[i]);
            const double ns = costs[i].frames > 0.0 ? 1e9 * costs[i].cpu_s / costs[i].frames : 0.0;
            timing_add(&times[i], ns, ns);
        }
    }
    printf("\n%d stills, %d parameters\n\n| by | CPU s a still | evaluations | found | errors of "
           "these, of error bars |"
           "\n|---|---|---|---|---|\n",
           STILLS, PARAMETERS);
    for (int i = 0; i < NWHO; i++)
        if (costs[i].frames > 0.0)
            report(b, &costs[i], &times[i]);
        else
            printf("| %s | skipped: %s | | | |\n", WHO[i],
                   *costs[i].why ? costs[i].why : "diffbragg.py is not on PATH");
    return STATUS_OK;
}
