/* Moves bragg-background and bragg-noise into the processes of bragg-intensity, where that saves
 * time or traffic. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "run/hosts/hosts.h"
#include "stage/stage.h"

enum { WORDS_SIZE = 4096 };

/* The stages that bragg-intensity can contain, in the order of the stream. */
static const char *const fusable[] = {"bragg-background", "bragg-noise"};

enum { FUSABLE = sizeof fusable / sizeof *fusable };

/* --- what can move -------------------------------------------------------------- */

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
 * program, without operands, --engine and options that all stages have. */
static bool can_be_fused(const struct pipeline_stage *s)
{
    bool plain = s->count == 1 && !s->hosts && s->restart == INT64_MAX &&
                 !pipeline_has(s, "engine") && !pipeline_has(s, "device");
    for (size_t i = 0; i < s->nargs && plain; i++)
        plain = strncmp(s->args[i], "--", 2) == 0 &&
                !opt_find(options_table(NULL), s->args[i] + 2, strcspn(s->args[i] + 2, "="));
    return plain;
}

/* Sets `text` to the option --fuse that makes bragg-intensity do the work of a stage.  Returns
 * false if the args of the stage are too long for it. */
static bool write_fuse(const struct pipeline_stage *s, char text[WORDS_SIZE])
{
    const char *dash = strchr(s->program, '-');
    (void)snprintf(text, WORDS_SIZE, "--fuse=%s", dash + 1);
    bool fits = true;
    for (size_t i = 0; i < s->nargs && fits; i++)
        fits = words_append(text, WORDS_SIZE, s->args[i]);
    return fits;
}

/* Returns the index of the stage after stage number i, if that stage runs `program` and can move
 * into stage number i.  -1: it cannot. */
static int next_to_move(const struct pipeline *p, int i, const char *program)
{
    const int next = only_stage_after(p, i);
    const bool moves = next >= 0 && pipeline_is_program(&p->stages[next], program) &&
                       can_be_fused(&p->stages[next]) && !pipeline_is_last(p, (size_t)next);
    return moves ? next : -1;
}

/* --- what gains by moving --------------------------------------------------------- */

/* Smallest image for which fusing on the CPU saves time.  A smaller image is still in the cache
 * when the next process takes it, and then separate processes are faster
 * (braggpipe-speed(7), WHOLE PIPELINES). */
static const int64_t LARGE_IMAGE_PIXELS = 4000000;

/* Options with which the stages need the whole image at once, so that fusing on the CPU saves
 * nothing. */
static const struct {
    const char *program, *option;
} whole_image[] = {
    {"bragg-geometry", "crystal-size"},
    {"bragg-geometry", "mosaic-model"},
    {"bragg-geometry", "third-harmonic"},
    {"bragg-geometry", "diffuse-sigma"},
    {"bragg-intensity", "reflections"},
    {"bragg-intensity", "derivatives"},
    {"bragg-noise", "psf"},
    {"bragg-noise", "generator"},
};

enum { WHOLE_IMAGE = sizeof whole_image / sizeof *whole_image };

static bool needs_whole_image(const struct pipeline *p)
{
    for (size_t i = 0; i < p->nstages; i++)
        for (size_t k = 0; k < WHOLE_IMAGE; k++)
            if (pipeline_is_program(&p->stages[i], whole_image[k].program) &&
                pipeline_has(&p->stages[i], whole_image[k].option))
                return true;
    return false;
}

static bool computes_with(const struct pipeline_stage *s, const char *engine)
{
    const char *given = pipeline_value(s, "engine");
    return strcmp(given ? given : "cpu", engine) == 0;
}

/* Returns true if the stages that add background and noise to the images of stage number i can move
 * into it.  This is a choice, so args that are too long are a reason against it. */
static bool noise_can_move(const struct pipeline *p, int i)
{
    char text[WORDS_SIZE];
    const int background = next_to_move(p, i, "bragg-background");
    const int noise = next_to_move(p, background < 0 ? i : background, "bragg-noise");
    return noise >= 0 && !p->stages[noise].cpus && write_fuse(&p->stages[noise], text) &&
           (background < 0 ||
            (!p->stages[background].cpus && write_fuse(&p->stages[background], text)));
}

/* Returns why background and noise stay in processes of their own after stage number i, a
 * bragg-intensity on the CPU of this host.  NULL: they should move, so that the rows of an image
 * are in the cache when noise is added. */
static const char *reason_to_stay(const struct pipeline *p, int i)
{
    const struct pipeline_stage *s = &p->stages[i];
    if (s->hosts || s->cpus || !computes_with(s, "cpu") || s->nargs + FUSABLE > PIPELINE_ARGS_MAX ||
        !noise_can_move(p, i))
        return "the stages have keys or options that need this";
    if (needs_whole_image(p))
        return "an option needs the whole image at once";
    if (!p->pixels)
        return "the size of images is not known before the run";
    return p->pixels < LARGE_IMAGE_PIXELS ? "small images stay in the cache of the CPU anyway"
                                          : NULL;
}

static bool leaves_first_host(const struct hosts *h, const struct pipeline_stage *s)
{
    bool leaves = false;
    for (int64_t i = 0; i < s->count; i++)
        leaves |= hosts_place(h, s, i) != 0;
    return leaves;
}

/* Returns why images of stage number i, a bragg-intensity, should stay in its process.  NULL: they
 * should not. */
static const char *reason_to_fuse(const struct pipeline *p, const struct hosts *h, int i)
{
    const struct pipeline_stage *s = &p->stages[i];
    if (h->count > 1 && leaves_first_host(h, s))
        return "to send less over the network";
    if (!s->hosts && computes_with(s, "cuda"))
        return "so that images stay on the GPU";
    return h->launcher || reason_to_stay(p, i)
               ? NULL
               : "so that large images stay in the cache of the CPU";
}

void fuse_print_apart(const struct pipeline *p, FILE *out)
{
    for (int i = 0; i < (int)p->nstages; i++) {
        const int next = only_stage_after(p, i);
        if (next >= 0 && pipeline_is_program(&p->stages[i], "bragg-intensity") &&
            !pipeline_has(&p->stages[i], "fuse") && reason_to_stay(p, i) &&
            (pipeline_is_program(&p->stages[next], fusable[0]) ||
             pipeline_is_program(&p->stages[next], fusable[1])))
            fprintf(out, "# %s: background and noise are other processes, because %s\n",
                    p->stages[i].name, reason_to_stay(p, i));
    }
}

/* --- the change -------------------------------------------------------------------- */

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

/* Moves stage number `next` into stage number i. */
static enum status move_stage(struct pipeline *p, int i, int next, struct error *e)
{
    char text[WORDS_SIZE];
    struct pipeline_stage *to = &p->stages[i];
    const struct pipeline_stage *s = &p->stages[next];
    if (!write_fuse(s, text))
        return error_set(e, STATUS_INPUT,
                         "stage '%s': args are too long for --fuse; give the stage a key 'hosts'",
                         s->name);
    to->compress = s->compress == COMPRESS_NOT_SAID ? to->compress : s->compress;
    const enum status status = pipeline_add_word(to, text, e);
    remove_stage(p, next);
    return status;
}

enum status fuse_stages(struct pipeline *p, const struct hosts *hosts, char text[FUSE_TEXT_SIZE],
                        struct error *e)
{
    enum status s = STATUS_OK;
    char names[80] = "";
    text[0] = 0;
    for (int i = 0; i < (int)p->nstages && !s; i++) {
        if (!pipeline_is_program(&p->stages[i], "bragg-intensity") ||
            pipeline_has(&p->stages[i], "fuse"))
            continue;
        const char *reason = reason_to_fuse(p, hosts, i);
        for (int k = 0; k < FUSABLE && reason && !s; k++) {
            const int next = next_to_move(p, i, fusable[k]);
            if (next < 0)
                continue;
            const size_t used = strlen(names);
            (void)snprintf(names + used, sizeof names - used, "%s'%s'", used ? " and " : "",
                           p->stages[next].name);
            s = move_stage(p, i, next, e);
            i -= next < i;
            (void)snprintf(text, FUSE_TEXT_SIZE,
                           "%s moved into the processes of '%s', %s; --as-written keeps them "
                           "apart",
                           names, p->stages[i].name, reason);
        }
    }
    return s;
}
