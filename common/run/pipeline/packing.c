/* Chooses the stages that compress their images. */
#include "run/pipeline/packing.h"

#include <string.h>

static const char FUSED_NOISE[] = "--fuse=noise";

/* Returns true if the stage sends integer counts, which compress well, and not photons. */
static bool gives_counts(const struct pipeline_stage *s)
{
    bool fused = false;
    for (size_t i = 0; i < s->nargs; i++)
        fused |= strncmp(s->args[i], FUSED_NOISE, strlen(FUSED_NOISE)) == 0;
    return pipeline_is_program(s, "bragg-noise") ||
           (fused && pipeline_is_program(s, "bragg-intensity"));
}

/* Returns true if the processes of two stages are not all on one host. */
static bool are_apart(const struct hosts *h, const struct pipeline_stage *a,
                      const struct pipeline_stage *b)
{
    bool apart = false;
    const size_t first = hosts_place(h, a, 0);
    for (int64_t i = 0; i < a->count; i++)
        apart |= hosts_place(h, a, i) != first;
    for (int64_t i = 0; i < b->count; i++)
        apart |= hosts_place(h, b, i) != first;
    return apart;
}

static bool leaves_host(const struct pipeline *p, size_t i, const struct hosts *h)
{
    bool leaves = false;
    for (size_t k = 0; k < p->nstages && h->count > 1; k++)
        leaves |= p->stages[k].input == (int)i && are_apart(h, &p->stages[i], &p->stages[k]);
    return leaves;
}

enum status packing_choose(struct pipeline *p, const struct hosts *hosts, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++) {
        struct pipeline_stage *stage = &p->stages[i];
        const bool packs = stage->compress == COMPRESS_NOT_SAID
                               ? gives_counts(stage) && leaves_host(p, i, hosts)
                               : stage->compress == COMPRESS_TRUE;
        if (packs && !pipeline_has(stage, "compress"))
            s = pipeline_add_word(stage, "--compress", e);
    }
    return s;
}
