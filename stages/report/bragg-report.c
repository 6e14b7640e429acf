/*
 * bragg-report: a sink that writes an HTML page about the frames that it received: pictures,
 * brightness, times, and the experiment.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/output/output_file.h"
#include "page/document.h"
#include "stage/stage.h"
#include "stages/shared/frame_facts.h"

/* State of bragg-report; the options come first. */
struct report {
    /* options */
    int64_t pictures;
    bool hold;
    const char *title;
    /* state */
    const char *path;
    bool watches;  // passive: the run does not wait for it
    char group[64];
    const struct experiment *experiment;  // NULL: not received yet
    struct frame_facts facts;
    uint64_t start_ns;
    bool written;
};

#define AT(member) .offset = offsetof(struct report, member)

static const struct opt options[] = {
    {.doc = "Page:", .type = OPT_GROUP},
    {"pictures", "N", "Number of frames shown: the first, the brightest and a random selection",
     OPT_INT, AT(pictures), .min = 0, .max = FACTS_PICTURES_MAX, .usual = "6"},
    {"title", "TEXT", "Title of the page. Default: Frames of a stream", OPT_TEXT, AT(title)},
    {.doc = "Flow:", .type = OPT_GROUP},
    {"hold", NULL, "Make the run wait for bragg-report, so that the page has every frame", OPT_FLAG,
     AT(hold)},
    {0},
};

static enum status report_open(void *state, const char **operands, int noperands, struct error *e)
{
    struct report *r = state;
    (void)noperands;
    r->path = operands[0];
    return document_check(r->path, e);
}

/* Makes the stage passive if frames do not arrive through stdin and --hold is not given. */
static enum status report_settle(void *state, const struct start *start, struct stage *self,
                                 struct error *e)
{
    struct report *r = state;
    (void)e;
    self->role.transient = r->watches = !start->piped && !r->hold;
    if (!r->watches)
        return STATUS_OK;
    (void)snprintf(r->group, sizeof r->group, "%s/watcher %ld", self->role.name, (long)getpid());
    self->role.group = r->group;
    return STATUS_OK;
}

static enum status report_begin(void *state, struct experiment *x, struct error *e)
{
    struct report *r = state;
    (void)e;
    r->experiment = x;
    frame_facts_open(&r->facts, x, (int)r->pictures);
    return STATUS_OK;
}

static enum status report_frame(void *state, struct frame *f, struct error *e)
{
    struct report *r = state;
    const uint64_t now_ns = clock_ns();
    if (!r->facts.frames)
        r->start_ns = now_ns;
    const enum status s = frame_facts_take(&r->facts, f, (double)(now_ns - r->start_ns) / 1e9, e);
    return s || r->watches || !r->facts.torn
               ? s
               : error_set(e, STATUS_FAILED,
                           "frame %" PRIu64 " was overwritten while it was read, because the "
                           "source presumed this process dead",
                           f->recipe.id);
}

static enum status write_page(struct report *r, bool complete, struct error *e)
{
    struct replace file;
    const enum status s = replace_open(&file, r->path, e);
    if (s)
        return s;
    FILE *out = file.stream;
    document_begin(out, r->title ? r->title : "Frames of a stream");
    if (!complete)
        fputs("<ul class=\"notes\"><li>The stream ended too early: frames are missing.</li></ul>\n",
              out);
    fputs(DOCUMENT_GAP, out);
    frame_facts_write(&r->facts, out);
    fputs(DOCUMENT_GAP, out);
    if (r->experiment)
        frame_facts_write_experiment(r->experiment, out);
    document_end(out);
    r->written = true;
    return replace_commit(&file, e);
}

static enum status report_end(void *state, struct error *e)
{
    return write_page(state, true, e);
}

static void report_close(void *state)
{
    struct report *r = state;
    struct error ignored = {0};
    if (r->experiment && !r->written)
        (void)write_page(r, false, &ignored);
    frame_facts_free(&r->facts);
}

static const struct stage stage = {
    .role = {.name = "bragg-report", .wants = KIND_IMAGE, .gives = KIND_NONE, .in_memory = true},
    .summary = "Write an HTML page about the frames of a stream.",
    .examples = "... | bragg-noise | bragg-report frames.html\n"
                "bragg-replay photons.rec | bragg-report --pictures=12 frames.html",
    .operands = "FILE.html",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .reads_only = true,
    .state_size = sizeof(struct report),
    .open = report_open,
    .settle = report_settle,
    .begin = report_begin,
    .frame = report_frame,
    .end = report_end,
    .close = report_close,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
