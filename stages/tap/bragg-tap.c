/*
 * bragg-tap: a sink for any link, which records, prints or counts messages.
 *
 * Each tap is a consumer group of its own.  A tap with --in and without --record is passive.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "engine/cpu/threads.h"
#include "stage/stage.h"
#include "wire/recording.h"

enum { GROUP_TEXT = 48 };

/* State of bragg-tap; the options come first. */
struct tap {
    /* options */
    const char *record;
    bool overwrite, fsync, print, count;
    int hold;
    int64_t threads;
    /* state */
    char group[GROUP_TEXT];
    struct recorder recorder;
    bool resume;         // continue a finished recording
    bool recording;      // `recorder` is open
    struct route route;  // route of the current message
    size_t bytes;
    const struct message *message;  // the current frame
    bool begun;
    uint64_t start_ns, frames, frame_bytes;
};

enum hold { HOLD_AUTO, HOLD_YES, HOLD_NO };

#define AT(member) .offset = offsetof(struct tap, member)

static const struct opt options[] = {
    {.doc = "Output:", .type = OPT_GROUP},
    {"print", NULL, "Print one line per message. Default without --record and --count", OPT_FLAG,
     AT(print)},
    {"count", NULL, "Print the number of frames and bytes at the end", OPT_FLAG, AT(count)},

    {.doc = "Recording:", .type = OPT_GROUP},
    {"record", "FILE", "Record the stream, for bragg-replay", OPT_TEXT, AT(record)},
    {"overwrite", NULL, "Replace an existing recording", OPT_FLAG, AT(overwrite),
     .needs = "record"},
    {"fsync", NULL, "Wait until each frame is on the disk", OPT_FLAG, AT(fsync), .needs = "record"},

    {.doc = "Flow:", .type = OPT_GROUP},
    {"hold", "auto|yes|no",
     "Whether the run waits for this tap; auto: if the tap records or ends a pipe", OPT_CHOICE,
     AT(hold), .choices = "auto|yes|no"},
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores, at most 16)",
     OPT_INT, AT(threads), .min = 1, .max = 1024},
    {0},
};

static enum status tap_open(void *state, const char **operands, int noperands, struct error *e)
{
    struct tap *t = state;
    (void)operands;
    (void)noperands;
    if (!t->record && !t->count)
        t->print = true;
    const enum status s = t->record ? target_check(t->record, e) : STATUS_OK;
    return s ? s : threads_start_of_sink(&t->threads, e);
}

static enum recorder_mode mode(const struct tap *t)
{
    return t->overwrite ? RECORDER_REPLACE : t->resume ? RECORDER_RESUME : RECORDER_NEW;
}

static enum status tap_settle(void *state, const struct start *start, struct stage *self,
                              struct error *e)
{
    struct tap *t = state;
    t->resume = start->resume;
    if (t->hold == HOLD_NO && start->piped)
        return error_set(
            e, STATUS_USAGE,
            "--hold=no requires --in, because the sink at the end of a pipe must take all frames");
    const bool holds = t->hold == HOLD_AUTO ? t->record || start->piped : t->hold == HOLD_YES;
    self->role.transient = !holds;
    self->role.in_memory = t->count && !t->record;
    self->speaks = t->print || t->count;
    if (t->print && !t->record && !t->count)
        self->have = NULL;  // printed lines survive a crash
    /* a restarted tap with --record has the same group as before; other taps have unique groups */
    if (t->record)
        (void)snprintf(t->group, sizeof t->group, "%s/%016" PRIx64, self->role.name,
                       hash_finish(hash_text(HASH_START, t->record)));
    else
        (void)snprintf(t->group, sizeof t->group, "%s/%s%ld", self->role.name,
                       holds ? "" : "watcher ", holds ? 0L : (long)getpid());
    self->role.group = t->group;
    return t->record ? recorder_check(t->record, mode(t), e) : STATUS_OK;
}

static enum status tap_message(void *state, const struct route *r, const struct message *m,
                               struct error *e)
{
    struct tap *t = state;
    t->route = *r;
    t->bytes = message_size(m);
    t->message = m;
    if (!t->record || r->type != MESSAGE_EXPERIMENT)
        return STATUS_OK;
    t->recording = true;
    const enum status s = recorder_open(&t->recorder, t->record, mode(t), r, m, e);
    t->recorder.sync = t->fsync;
    return s;
}

/* --- lines --------------------------------------------------------------- */

/* Flushes stdout.  Returns STATUS_FAILED on an error, without a message if the reader of stdout
 * has closed its end. */
static enum status flush(struct error *e)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_OK;
    if (errno == EPIPE)
        return STATUS_FAILED;
    return error_errno(e, STATUS_FAILED, "cannot write to stdout");
}

static void print_route(const struct tap *t)
{
    printf(" from=%s kind=%s bytes=%zu crc=%08" PRIx32, t->route.stage,
           kind_name((enum kind)(t->route.flags & ROUTE_KIND_MASK)), t->bytes,
           t->route.payload_crc);
}

static enum status print_experiment(const struct tap *t, const struct experiment *x,
                                    struct error *e)
{
    printf("experiment");
    print_route(t);
    printf(" lineage=%s panels=%zu pixels=%" PRId64, x->lineage, x->npanels, experiment_pixels(x));
    for (size_t i = 0; i < x->npanels && x->npanels == 1; i++)
        printf(" size=%" PRId64 "x%" PRId64, x->panels[i].fast_pixels, x->panels[i].slow_pixels);
    printf(" wavelength_A=%.9g crystals=%zu physics=%s\n", x->beam.wavelength_m * 1e10,
           x->ncrystals, x->physics == PHYSICS_FAITHFUL ? "faithful" : "physical");
    return flush(e);
}

static void print_image(const struct image *image)
{
    static const char *const types[] = {"float32", "uint16", "uint32", "int32"};
    const struct image_range r = image_range(image);
    printf(" pixels=%zu type=%s unit=%s min=%.9g max=%.9g sum=%.12g", image->count,
           types[image->type], image->unit == UNIT_ADU ? "ADU" : "photons", r.least, r.most, r.sum);
}

/* Prints the names of the derivative images, and the number of their pixels if the images
 * contain only listed pixels. */
static void print_planes(const struct planes *planes)
{
    for (size_t i = 0; i < planes->count; i++)
        printf("%s%s", i ? "," : " planes=", planes->items[i].name);
    if (planes->pixels.listed)
        printf(" listed=%zu", planes->pixels.count);
}

static enum status print_frame(const struct tap *t, const struct frame *f, struct error *e)
{
    const struct recipe *r = &f->recipe;
    printf("frame id=%" PRIu64, r->id);
    print_route(t);
    printf(" attempt=%" PRIu32 " seed=%" PRIu64 " lattices=%zu phi_deg=%.9g osc_deg=%.9g",
           t->route.attempt, r->seed, r->nlattices, rad_to_deg(r->phi_rad), rad_to_deg(r->osc_rad));
    if (r->has_shift)
        printf(" shift_mm=%.9g,%.9g,%.9g", m_to_mm(r->shift_m[0]), m_to_mm(r->shift_m[1]),
               m_to_mm(r->shift_m[2]));
    print_planes(&f->planes);
    if (f->refined.present)
        printf(" fitted=%zu", f->refined.count);
    if (f->image.count)
        print_image(&f->image);
    putchar('\n');
    return flush(e);
}

/* --- the stream ---------------------------------------------------------- */

static enum status tap_begin(void *state, struct experiment *x, struct error *e)
{
    struct tap *t = state;
    t->begun = true;
    t->start_ns = clock_ns();
    return t->print ? print_experiment(t, x, e) : STATUS_OK;
}

static enum status tap_have(void *state, struct id_set *ids, struct error *e)
{
    const struct recording_list *frames = &((struct tap *)state)->recorder.frames;
    (void)e;
    for (size_t i = 0; i < frames->count; i++)
        id_set_add(ids, frames->entries[i].id);
    return STATUS_OK;
}

static enum status tap_frame(void *state, struct frame *f, struct error *e)
{
    struct tap *t = state;
    t->frames++;
    t->frame_bytes += t->bytes;
    const size_t recorded = t->recorder.frames.count;
    enum status s = t->record ? recorder_add(&t->recorder, &t->route, t->message, e) : STATUS_OK;
    if (t->record && !image_is_intact(&f->image)) {
        recorder_withdraw(&t->recorder, recorded);
        s = error_set(
            e, STATUS_FAILED,
            "frame %" PRIu64
            " was overwritten while it was recorded, because the source presumed this process dead",
            t->route.frame);
    }
    return s || !t->print ? s : print_frame(t, f, e);
}

static void tap_made(void *state, struct made *made)
{
    const struct tap *t = state;
    made->bytes = t->record ? t->frame_bytes : 0;
    made->replaces = t->overwrite;
    (void)snprintf(made->folder, sizeof made->folder, "%s", t->record ? t->record : "");
    char *slash = strrchr(made->folder, '/');
    input_seen(made->folder, made->names, sizeof made->names);
    (void)snprintf(slash ? slash + 1 : made->folder, 2, "%s", slash ? "" : ".");
}

/* --- the end ------------------------------------------------------------- */

/* Prints the line of --count.  Does nothing if it was printed before, or if nothing was
 * received. */
static enum status print_count(struct tap *t, struct error *e)
{
    if (!t->count || !t->begun)
        return STATUS_OK;
    const double seconds = (double)(clock_ns() - t->start_ns) / 1e9;
    t->count = false;
    printf("frames=%" PRIu64 " bytes=%" PRIu64 " seconds=%.3f frames_per_s=%.3f\n", t->frames,
           t->frame_bytes, seconds, seconds > 0 ? (double)t->frames / seconds : 0.0);
    return flush(e);
}

static enum status tap_end(void *state, struct error *e)
{
    struct tap *t = state;
    const uint64_t frames = t->recorder.frames.count;
    const enum status s = t->recording ? recorder_finish(&t->recorder, e) : STATUS_OK;
    if (s)
        return s;
    if (t->recording)
        log_line(LOG_INFO, "%s: %" PRIu64 " frames", t->record, frames);
    return print_count(t, e);
}

static void tap_close(void *state)
{
    struct tap *t = state;
    struct error ignored;  // ignored, because an earlier error has ended the run
    (void)print_count(t, &ignored);
    const size_t frames = t->recorder.frames.count;
    if (t->recording && recorder_close(&t->recorder))
        log_line(LOG_WARNING, "%s.part keeps %zu frames", t->record, frames);
}

static const struct stage stage = {
    .role = {.name = "bragg-tap", .wants = KIND_ANY, .gives = KIND_NONE},
    .summary = "Record, print or count what flows between two stages.",
    .examples = "... | bragg-intensity | bragg-tap --record=photons.rec\n"
                "bragg-replay photons.rec | bragg-tap --print",
    .options = options,
    .reads_only = true,
    .state_size = sizeof(struct tap),
    .open = tap_open,
    .settle = tap_settle,
    .message = tap_message,
    .begin = tap_begin,
    .have = tap_have,
    .frame = tap_frame,
    .made = tap_made,
    .end = tap_end,
    .close = tap_close,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
