/* Fuses stages and chooses compression for several hosts. */
#include "run/pipeline/reduce_traffic.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "stage/options.h"

/* --- stages that move into bragg-intensity ------------------------------------- */

enum { WORDS_SIZE = 4096 };

static const char *const fusable[] = {"bragg-background", "bragg-noise"};

enum { FUSABLE = sizeof fusable / sizeof *fusable };

static bool leaves_first_host(const struct hosts *h, const struct pipeline_stage *s)
{
    bool leaves = false;
    for (int64_t i = 0; i < s->count; i++)
        leaves |= hosts_place(h, s, i) != 0;
    return leaves;
}

/* Returns the index of the only stage that reads the output of stage number i. -1: there is
 * none, there are several, or a client program waits for stage number i. */
static int only_stage_after(const struct pipeline *p, int i)
{
    int next = -1, count = 0;
    for (size_t k = 0; k < p->nstages; k++) {
        count += p->stages[k].input == i || p->stages[k].after == i;
        next = p->stages[k].input == i ? (int)k : next;
    }
    return count == 1 ? next : -1;
}

/* Returns true if a stage can be fused into another one with --fuse.  The stage must have one
 * process and neither hosts nor a limit of restarts.  Its args must be options of its own
 * program, without operands and without options that all stages have. */
static bool can_be_fused(const struct pipeline_stage *s)
{
    bool plain = s->count == 1 && !s->hosts && s->restart == INT64_MAX;
    for (size_t i = 0; i < s->nargs && plain; i++)
        plain = strncmp(s->args[i], "--", 2) == 0 &&
                !opt_find(options_table(NULL), s->args[i] + 2, strcspn(s->args[i] + 2, "="));
    return plain;
}

static enum status add_fuse(struct pipeline_stage *to, const struct pipeline_stage *s,
                            struct error *e)
{
    char text[WORDS_SIZE] = "";
    const char *dash = strchr(s->program, '-');
    (void)snprintf(text, sizeof text, "--fuse=%s", dash + 1);
    bool good = true;
    to->compress = s->compress == COMPRESS_NOT_SAID ? to->compress : s->compress;
    for (size_t i = 0; i < s->nargs && good; i++)
        good = words_append(text, sizeof text, s->args[i]);
    if (good)
        return pipeline_add_word(to, text, e);
    return error_set(e, STATUS_INPUT,
                     "stage '%s': args are too long for --fuse; give the stage a key 'hosts'",
                     s->name);
}

/* Removes stage number i.  The stages after it get its input, and the indices of later stages
 * are corrected. */
static void remove_stage(struct pipeline *p, int i)
{
    struct pipeline_stage *gone = &p->stages[i];
    const int before = gone->input;
    mem_free(gone->program);
    mem_free(gone->hosts);
    for (size_t k = 0; k < gone->nargs; k++)
        mem_free(gone->args[k]);
    memmove(gone, gone + 1, (--p->nstages - (size_t)i) * sizeof *gone);
    for (size_t k = 0; k < p->nstages; k++) {
        struct pipeline_stage *s = &p->stages[k];
        s->input = s->input == i ? before : s->input;
        s->input -= s->input > i;
        s->after -= s->after > i;
    }
}

enum status fuse_stages(struct pipeline *p, const struct hosts *hosts, char text[FUSE_TEXT_SIZE],
                        struct error *e)
{
    enum status s = STATUS_OK;
    char names[80] = "";
    text[0] = 0;
    for (int i = 0; i < (int)p->nstages && !s; i++) {
        if (!pipeline_is_program(&p->stages[i], "bragg-intensity") ||
            pipeline_has(&p->stages[i], "fuse") || !leaves_first_host(hosts, &p->stages[i]))
            continue;
        for (int k = 0; k < FUSABLE && !s; k++) {
            const int next = only_stage_after(p, i);
            if (next < 0 || !pipeline_is_program(&p->stages[next], fusable[k]) ||
                !can_be_fused(&p->stages[next]) || pipeline_is_last(p, (size_t)next))
                continue;
            const size_t used = strlen(names);
            (void)snprintf(names + used, sizeof names - used, "%s'%s'", used ? " and " : "",
                           p->stages[next].name);
            s = add_fuse(&p->stages[i], &p->stages[next], e);
            remove_stage(p, next);
            i -= next < i;
            (void)snprintf(text, FUSE_TEXT_SIZE,
                           "%s moved into the processes of '%s', to send less over the network; "
                           "'hosts: first' keeps them apart",
                           names, p->stages[i].name);
        }
    }
    return s;
}

/* --- compression --------------------------------------------------------------- */

static const char FUSED_NOISE[] = "--fuse=noise";

/* Returns true if the stage sends integer counts, which compress well, instead of photons. */
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

enum status choose_compression(struct pipeline *p, const struct hosts *hosts, struct error *e)
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
