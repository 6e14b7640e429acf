/*
 * bragg-replay: plays a recording of bragg-tap, or image files.
 *
 * The frames of a recording keep their numbers, bytes and lineage.  Image files get a lineage of
 * their own.  With --recompute the program plays nothing; see replay.h.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/files.h"
#include "base/filetype.h"
#include "base/hash.h"
#include "base/idset.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "replay.h"
#include "stage/stage.h"
#include "wire/codec.h"
#include "wire/recording.h"

/* State of --loop. */
struct replay_loop {
    uint64_t count;   // frames per round; frame `id` is number id % count of a round
    uint64_t *ids;    // owned; recorded numbers of the frames of a round
    char digest[17];  // hash of `ids`, for the lineage
};

/* --- --loop: numbers and times of the frames of a recording that is repeated -------- */

/* Number of frames of --loop=forever: practically endless, and exact in a double. */
static const uint64_t FOREVER = UINT64_C(1) << 53;

static void list_ids(struct replay_loop *l, const struct id_set *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        for (uint64_t id = ids->ranges[i].first; id <= ids->ranges[i].last; id++)
            l->ids[l->count++] = id;
    const uint64_t hash = hash_finish(hash_bytes(HASH_START, l->ids, l->count * sizeof *l->ids));
    (void)snprintf(l->digest, sizeof l->digest, "%016" PRIx64, hash);
}

/* Begins a loop.  `text` is the number of rounds, or "forever".  Replaces *ids, the frames of one
 * round, with the numbers of all rounds, from 0.  STATUS_USAGE: `text` is invalid. */
static enum status replay_loop_begin(struct replay_loop *l, const char *text, struct id_set *ids,
                                     struct error *e)
{
    int64_t rounds = 0;
    const bool forever = strcmp(text, "forever") == 0;
    const enum status s =
        forever ? STATUS_OK : parse_int(text, 1, 1000000, "--loop (or forever)", &rounds, e);
    if (s)
        return s;
    l->ids = mem_try_array(id_set_size(ids) + 1, sizeof *l->ids);
    if (!l->ids)
        return error_memory(e, "the list of frames");
    list_ids(l, ids);
    id_set_clear(ids);
    const uint64_t all = forever ? FOREVER : (uint64_t)rounds * l->count;
    if (l->count)
        id_set_add_range(ids, (struct id_range){0, all - 1});
    return STATUS_OK;
}

static double recorded_ns(const struct replay_loop *l, const struct recording_list *frames,
                          uint64_t number)
{
    return (double)recording_list_find(frames, l->ids[number])->time_ns;
}

/* Returns the time at which frame `id` of a loop is due, in ns since the start of the recording.
 * A round begins one mean frame interval after the last frame of the previous round. */
static double replay_loop_time_ns(const struct replay_loop *l, const struct recording_list *frames,
                                  uint64_t id)
{
    const double first_ns = recorded_ns(l, frames, 0),
                 span_ns = recorded_ns(l, frames, l->count - 1) - first_ns,
                 mean_ns = l->count > 1 ? span_ns / (double)(l->count - 1) : 0.0,
                 round_ns = span_ns > 0.0 ? span_ns + mean_ns : 0.0;
    return recorded_ns(l, frames, id % l->count) + (double)(id / l->count) * round_ns;
}

static void replay_loop_free(struct replay_loop *l)
{
    mem_free(l->ids);
}

/* State of bragg-replay; the options come first. */
struct replay {
    /* options */
    const char *frames, *speed, *loop, *geometry;
    int64_t first;
    bool recompute, allow_truncated;
    double rate_Hz;
    /* state */
    struct recording recording;
    struct replay_images *images;         // image files; NULL: `recording` is played
    const struct experiment *experiment;  // experiment of the images
    char told[17];                        // images: value of --frames in the lineage, a hash
    const char *path;                     // path of the first file
    struct id_set all;                    // numbers of all frames
    struct id_set ids;                    // numbers of the frames to be played
    struct replay_loop looped;            // state of --loop
    struct codec_expected expected;
    bool timed;          // frames are sent at the recorded times
    double factor;       // speed of playing relative to the recorded speed
    uint64_t sent;       // number of frames whose time was requested
    uint64_t latest_ns;  // latest time that was returned
};

enum { FILES_MAX = 100000 };  // greatest number of image files

#define AT(member) .offset = offsetof(struct replay, member)

static const struct opt options[] = {
    {.doc = "Selection of frames:", .type = OPT_GROUP},
    {"frames", "LIST", "Play the frames of a list, such as 0-9,17. Default: all", OPT_TEXT,
     AT(frames), .flags = OPT_BYTES},
    {"first", "N", "Play only the first N of the selected frames. Default: all", OPT_INT, AT(first),
     .min = 0, .max = 1e15, .usual = ""},
    {"loop", "N|forever",
     "Play the selected frames N times (1 to 1000000), or without end, numbered from 0", OPT_TEXT,
     AT(loop)},
    {"geometry-from", "FILE",
     "Detector and beam of images in TIFF, EDF or CXI: a file of CrystFEL, DIALS, pyFAI or NXmx, "
     "or "
     "an image. Default: the header of the images",
     OPT_TEXT, AT(geometry), .flags = OPT_INPUT},
    {"allow-truncated", NULL, "Accept a recording without its end", OPT_FLAG, AT(allow_truncated)},

    {.doc = "Speed:", .type = OPT_GROUP},
    {"speed", "full|real|X",
     "Send frames at full speed, at the recorded times, or X times as fast. Default: full",
     OPT_TEXT, AT(speed), .excludes = "rate"},
    {"rate", "HZ", "Send one frame every 1/HZ seconds, on a fixed schedule", OPT_REAL, AT(rate_Hz),
     .min = 1e-6, .max = 1e9},

    {.doc = "Recomputation:", .type = OPT_GROUP},
    {"recompute", NULL,
     "Compute frame K of FILE:K again, with the options stored in the file, and compare all bytes",
     OPT_FLAG, AT(recompute)},
    {0},
};

#define TRUNCATED "%s: the end of the recording is missing; it has %zu complete frames"

/* --- options ------------------------------------------------------------- */

static enum status parse_speed(struct replay *r, struct error *e)
{
    if (!r->speed || strcmp(r->speed, "full") == 0)
        return STATUS_OK;
    r->timed = true;
    r->factor = 1;
    if (strcmp(r->speed, "real") == 0)
        return STATUS_OK;
    return parse_real(r->speed, 1e-6, 1e9, "--speed (or full, real)", &r->factor, e);
}

/* Adds a range of frames to r->ids.  STATUS_USAGE: one of the frames does not exist. */
static enum status add_range(struct replay *r, struct id_range range, struct error *e)
{
    const struct id_set *all = &r->all;
    for (size_t i = 0; i < all->count; i++) {
        const struct id_range *there = &all->ranges[i];
        if (there->first > range.first || range.first > there->last)
            continue;
        if (range.last <= there->last) {
            id_set_add_range(&r->ids, range);
            return STATUS_OK;
        }
        range.first = there->last + 1;
        break;
    }
    if (!all->count)
        return error_set(e, STATUS_USAGE, "--frames: %s contains no frames", r->path);
    return error_set(e, STATUS_USAGE,
                     "--frames: frame %" PRIu64 " is not in %s, which contains %" PRIu64
                     " frames from %" PRIu64 " to %" PRIu64,
                     range.first, r->path, id_set_size(all), all->ranges[0].first,
                     all->ranges[all->count - 1].last);
}

static enum status parse_frames(struct replay *r, struct error *e)
{
    struct id_set asked = {0};
    enum status s = id_set_parse(&asked, r->frames, "--frames", e);
    for (size_t i = 0; i < asked.count && !s; i++)
        s = add_range(r, asked.ranges[i], e);
    id_set_clear(&asked);
    return s;
}

/* Removes all but the first N frames of r->ids, where N is the value of --first. */
static void cut_list(struct replay *r)
{
    uint64_t left = (uint64_t)r->first;
    for (size_t i = 0; i < r->ids.count; i++) {
        struct id_range *range = &r->ids.ranges[i];
        if (!left) {
            r->ids.count = i;
        } else if (range->last - range->first < left) {
            left -= range->last - range->first + 1;
        } else {
            range->last = range->first + left - 1;
            left = 0;
        }
    }
}

/* Selects the frames to be played: the frames of --frames, or all frames.  With --first=N only
 * the first N of them are played. */
static enum status choose_frames(struct replay *r, struct error *e)
{
    enum status s = r->frames ? parse_frames(r, e) : STATUS_OK;
    if (!r->frames)
        id_set_add_set(&r->ids, &r->all);
    if (r->first >= 0)
        cut_list(r);
    return s;
}

/* Begins a loop.  Adds a hash of the list of frames to the lineage, because the list determines
 * which frame a number means. */
static enum status open_loop(struct replay *r, struct error *e)
{
    const enum status s = replay_loop_begin(&r->looped, r->loop, &r->ids, e);
    r->frames = r->looped.digest;
    return s;
}

/* Returns the recorded number of the frame that is played as `id`. */
static uint64_t recorded_id(const struct replay *r, uint64_t id)
{
    return r->loop ? r->looped.ids[id % r->looped.count] : id;
}

/* Returns the recorded frame that is played as `id`. */
static const struct recording_entry *entry_of(const struct replay *r, uint64_t id)
{
    return recording_list_find(&r->recording.frames, recorded_id(r, id));
}

static enum status open_recording(struct replay *r, struct error *e)
{
    const enum status s = recording_open(&r->recording, r->path, e);
    if (s)
        return s;
    const char *refused = r->frames ? "--frames" : r->loop ? "--loop" : NULL;
    if (r->recording.kind == KIND_EXPERIMENT && refused)
        return error_set(e, STATUS_USAGE,
                         "%s has no effect: %s contains an experiment and no frames", refused,
                         r->path);
    const struct recording_list *list = &r->recording.frames;
    for (size_t i = 0; i < list->count; i++)
        id_set_add(&r->all, list->entries[i].id);
    if (!r->recording.finished && r->allow_truncated)
        log_line(LOG_WARNING, TRUNCATED, r->path, list->count);
    return STATUS_OK;
}

static enum status open_images(struct replay *r, const char **paths, size_t count, struct error *e)
{
    if (r->timed)
        return error_set(e, STATUS_USAGE,
                         "--speed: image files contain no times. Use --rate for a steady rate");
    r->images = replay_images_open(paths, count, r->geometry, &r->all, e);
    if (!r->images)
        return e->status;
    return STATUS_OK;
}

static enum status replay_open(void *state, const char **operands, int noperands, struct error *e)
{
    struct replay *r = state;
    enum status s = parse_speed(r, e);
    for (int i = 0; i < noperands && !s; i++)
        if (!(operands[i] = input_path(operands[i])))
            s = error_memory(e, "the files");
    if (s)
        return s;
    r->path = operands[0];
    if (noperands > 1 || replay_images_are(r->path))
        s = open_images(r, operands, (size_t)noperands, e);
    else
        s = filetype_check_file(r->path, FILETYPE_FRAMES, e);
    if (!s && !r->images)
        s = open_recording(r, e);
    if (!s && !r->images && r->geometry)
        s = error_set(e, STATUS_USAGE,
                      "--geometry-from: %s is a recording, which contains its geometry. Remove the "
                      "option",
                      r->path);
    s = s ? s : choose_frames(r, e);
    if (!s && r->images)
        s = replay_images_compare(r->images, &r->ids, e);
    if (!s && r->images) {
        const uint64_t hash = hash_text(HASH_START, replay_images_digest(r->images));
        (void)snprintf(r->told, sizeof r->told, "%016" PRIx64,
                       hash_finish(hash_text(hash, r->frames ? r->frames : "")));
        r->frames = r->told;
    }
    return s || !r->loop ? s : open_loop(r, e);
}

static enum status replay_settle(void *state, const struct start *start, struct stage *self,
                                 struct error *e)
{
    const struct replay *r = state;
    (void)start;
    (void)e;
    self->role.gives = r->images ? KIND_IMAGE : (enum kind)r->recording.kind;
    self->verbatim = !r->loop && !r->images;
    if (!r->timed && !(r->rate_Hz > 0))
        self->due_ns = NULL;
    return STATUS_OK;
}

/* --- the stream ---------------------------------------------------------- */

static enum status replay_begin(void *state, struct experiment *x, struct error *e)
{
    struct replay *r = state;
    struct route route;
    struct message m;
    r->experiment = x;
    if (r->images) {
        replay_images_begin(r->images, x);
        return STATUS_OK;
    }
    enum status s = recording_experiment(&r->recording, &route, &m, e);
    if (s == STATUS_OK)
        s = codec_experiment_decode(x, &m, e);
    if (s == STATUS_OK)
        r->expected = codec_expect(x);
    message_free(&m);
    return s;
}

static enum status replay_list(void *state, struct id_set *ids, struct error *e)
{
    struct replay *r = state;
    (void)e;
    *ids = r->ids;
    r->ids = (struct id_set){0};
    const uint64_t count = id_set_size(ids);
    log_line(LOG_TELL, "%" PRIu64 " frame%s of %s", count, count == 1 ? "" : "s", r->path);
    return STATUS_OK;
}

/* Returns the time at which frame `id` was recorded, in ns since the start of the recording. */
static double time_ns(const struct replay *r, uint64_t id)
{
    return r->loop ? replay_loop_time_ns(&r->looped, &r->recording.frames, id)
                   : (double)entry_of(r, id)->time_ns;
}

static uint64_t replay_due_ns(void *state, uint64_t id)
{
    struct replay *r = state;
    const double due_ns =
        r->timed ? time_ns(r, id) / r->factor : (double)r->sent++ * 1e9 / r->rate_Hz;
    /* frames are sent in the order of their numbers, but may have been recorded in another order */
    if (due_ns > (double)r->latest_ns)
        r->latest_ns = (uint64_t)due_ns;
    return r->latest_ns;
}

static enum status replay_frame(void *state, struct frame *f, struct error *e)
{
    struct replay *r = state;
    const uint64_t id = f->recipe.id;
    if (r->images) {
        f->recipe.id = recorded_id(r, id);
        const enum status made = replay_images_frame(r->images, r->experiment, f, e);
        f->recipe.id = id;
        return made;
    }
    const struct recording_entry *entry = entry_of(r, id);
    struct route route;
    struct message m;
    enum status s = recording_frame(&r->recording, entry, &route, &m, e);
    if (s == STATUS_OK)
        s = codec_frame_decode(f, &r->expected, &m, e);
    const bool has_image = f->image.count != 0;
    if (s == STATUS_OK &&
        (f->recipe.id != entry->id || has_image != (r->recording.kind == KIND_IMAGE)))
        s = error_set(e, STATUS_INPUT,
                      "%s: frame %" PRIu64 " is corrupt: its number or kind differs from the index",
                      r->recording.path, entry->id);
    f->recipe.id = id;
    message_free(&m);
    return s;
}

/* Is called after the last frame.  STATUS_INPUT: the end of the recording is missing, and
 * --allow-truncated is not given. */
static enum status replay_end(void *state, struct error *e)
{
    const struct replay *r = state;
    if (r->images || r->recording.finished || r->allow_truncated)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT, TRUNCATED ". Use --allow-truncated to accept this",
                     r->recording.path, r->recording.frames.count);
}

static void replay_close(void *state)
{
    struct replay *r = state;
    if (r->images)
        replay_images_close(r->images);
    else
        recording_close(&r->recording);
    id_set_clear(&r->all);
    id_set_clear(&r->ids);
    replay_loop_free(&r->looped);
}

static const struct stage stage = {
    .role = {.name = "bragg-replay", .wants = KIND_NONE, .gives = KIND_IMAGE},  // see settle
    .summary = "Play a recording of bragg-tap, or image files.",
    .examples = "bragg-replay lyso_*.cbf | bragg-view\n"
                "bragg-replay --loop=forever --rate=10 photons.rec | bragg-noise | bragg-serve ...",
    .operands = "RECORDING|IMAGE...",
    .min_operands = 1,
    .max_operands = FILES_MAX,
    .options = options,
    .verbatim = true,
    .state_size = sizeof(struct replay),
    .open = replay_open,
    .settle = replay_settle,
    .begin = replay_begin,
    .list = replay_list,
    .due_ns = replay_due_ns,
    .frame = replay_frame,
    .end = replay_end,
    .close = replay_close,
};

int main(int argc, char **argv)
{
    program_sleeps(argv);
    if (recompute_asked(argc, argv))
        return recompute_main(argc, argv);
    return stage_main(&stage, argc, argv);
}
