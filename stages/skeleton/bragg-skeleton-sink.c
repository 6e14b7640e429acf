/*
 * bragg-skeleton-sink: a small sink to copy.  It prints one line for each frame: the number of the
 * frame, and how many pixels are brighter than --above.
 *
 * A sink is a stage without output (.gives = KIND_NONE).  Read bragg-skeleton.c first: it explains
 * what all stages have.  This file explains what only sinks have:
 *
 *   - When `frame` returns, the frame is acknowledged: the run never sends it again.  So `frame`
 *     first makes the result durable.  Here it flushes the line; a sink that writes files closes
 *     them (see stages/write and io/output/output_file.h).
 *   - Frames come in any order, because several processes compute them.  With the common option
 *     --order they come in the order of their numbers.
 *   - A frame comes only once to each group of sinks, also after a crash.  Only if this process
 *     itself dies between the line and its return, the next process gets the frame again.
 *   - Pixels may be in the memory of another process (.reads_only).  image_is_intact says after the
 *     last read whether they were those of the frame all the time.
 *   - A sink that collects results in memory until the end sets .role.in_memory and writes them in
 *     a callback `end` (see stages/report).
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "stage/stage.h"

/* State of the stage.  The runtime allocates and clears it, and stores the options in it. */
struct skeleton_sink {
    double above;                         // --above, in the unit of the pixels: photons or ADU
    const struct experiment *experiment;  // of the stages before; valid until the end
};

/* Called once, before the first frame.  *x stays valid and unchanged, so a pointer is enough. */
static enum status sink_begin(void *state, struct experiment *x, struct error *e)
{
    struct skeleton_sink *s = state;
    (void)e;
    s->experiment = x;
    return STATUS_OK;
}

/* Returns the number of pixels of one panel above the limit.  The image has the panels one after
 * the other; in each the fast axis varies fastest.  Masked pixels, such as gaps between modules,
 * have no meaningful value and do not count. */
static size_t count_bright(const struct panel *p, const struct image *image, double above)
{
    size_t bright = 0;
    for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels; i++)
        bright +=
            (!p->mask || p->mask[i]) && image_value(image, (size_t)(p->first_pixel + i)) > above;
    return bright;
}

/* Writes a line to stdout and flushes it.  STATUS_FAILED: stdout takes no more.  If its reader has
 * closed the pipe, as `head` does, *e stays as it is, and the run ends without a message. */
static enum status print_line(uint64_t frame, size_t bright, struct error *e)
{
    if (printf("%" PRIu64 " %zu\n", frame, bright) >= 0 && fflush(stdout) == 0)
        return STATUS_OK;
    return errno == EPIPE ? STATUS_FAILED : error_errno(e, STATUS_FAILED, "cannot write to stdout");
}

/* Called for every frame.  STATUS_FAILED: the pixels changed while they were read, because this
 * process was frozen and presumed dead; another process gets the frame. */
static enum status sink_frame(void *state, struct frame *f, struct error *e)
{
    const struct skeleton_sink *s = state;
    const struct experiment *x = s->experiment;
    size_t bright = 0;
    for (size_t i = 0; i < x->npanels; i++)
        bright += count_bright(&x->panels[i], &f->image, s->above);
    if (!image_is_intact(&f->image))
        return error_set(e, STATUS_FAILED,
                         "frame %" PRIu64 " was overwritten while it was read, because the source "
                         "presumed this process dead",
                         f->recipe.id);
    return print_line(f->recipe.id, bright, e);
}

/* The option table.  A sink has no lineage, because no frame leaves it: OPT_BYTES has no effect. */
static const struct opt options[] = {
    {.doc = "Pixels:", .type = OPT_GROUP},
    {"above", "X", "Count the pixels with a value above X", OPT_REAL,
     offsetof(struct skeleton_sink, above), .min = -1e30, .max = 1e30, .usual = "100"},
    {0},
};

/* The stage.  .speaks: it prints results to stdout, so the runtime shows no progress bar. */
static const struct stage skeleton_sink = {
    .role = {.name = "bragg-skeleton-sink", .wants = KIND_IMAGE, .gives = KIND_NONE},
    .summary = "Count the bright pixels of each frame.",
    .examples = "... | bragg-noise | bragg-skeleton-sink --above=100 >bright.txt\n"
                "... | bragg-noise | bragg-skeleton-sink --order | head",
    .options = options,
    .reads_only = true,
    .speaks = true,
    .state_size = sizeof(struct skeleton_sink),
    .begin = sink_begin,
    .frame = sink_frame,
};

int main(int argc, char **argv)
{
    return stage_main(&skeleton_sink, argc, argv);
}
