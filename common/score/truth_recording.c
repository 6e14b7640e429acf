/* Ground truth from a recording of frames with reflections (bragg-recording(5)). */
#include "score/truth_kinds.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/vec.h"
#include "wire/codec.h"
#include "wire/recording.h"

/* Properties that all frames of a recording share. */
struct recording_truth {
    struct recording recording;
    struct experiment x;
    struct codec_expected expected;
    double axes[9];  // rows: axes of the coordinate system of the beam, in the laboratory frame
};

bool truth_recording_is(const char *path)
{
    return filetype_begins(path, LAYOUT_HEADER_MAGIC, 8);
}

static enum status open_experiment(struct recording_truth *p, const char *path, struct error *e)
{
    struct route route;
    struct message m = {0};
    enum status s = recording_open(&p->recording, path, e);
    s = s ? s : recording_experiment(&p->recording, &route, &m, e);
    s = s ? s : codec_experiment_decode(&p->x, &m, e);
    message_free(&m);
    if (s)
        return s;
    p->expected = codec_expect(&p->x);
    experiment_nexus_axes(&p->x, p->axes);
    for (int i = 0; i < 6; i++)
        p->axes[i] = 0.0 - p->axes[i];  // (-x, -y, z) of NeXus
    return STATUS_OK;
}

static enum status open_played(struct recording_truth *p, const char *path, struct error *e)
{
    const enum status s = open_experiment(p, path, e);
    return s || p->recording.kind == RECORDING_IMAGES
               ? s
               : error_set(e, STATUS_INPUT,
                           "%s: no images found; expected a recording of the output of "
                           "bragg-intensity",
                           path);
}

static void close_played(struct recording_truth *p)
{
    recording_close(&p->recording);
    experiment_free(&p->x);
}

static void to_beam(const struct recording_truth *p, const double lab[3], double beam[3])
{
    for (int i = 0; i < 3; i++)
        beam[i] = vec_dot(p->axes + 3 * i, lab);
}

static void take_detector(struct truth_part *part, const struct recording_truth *p)
{
    const size_t n = p->x.npanels;
    struct geom_panel *panels = mem_array(n, sizeof *panels);
    for (size_t i = 0; i < n; i++) {
        const struct panel *from = p->x.is_misaligned ? &p->x.true_panels[i] : &p->x.panels[i];
        panels[i] = (struct geom_panel){.fast_pixels = from->fast_pixels,
                                        .slow_pixels = from->slow_pixels,
                                        .pixel_m = from->pixel_m};
        to_beam(p, from->fast, panels[i].fast);
        to_beam(p, from->slow, panels[i].slow);
        to_beam(p, from->origin_m, panels[i].corner_m);
    }
    part->detector.panels = panels;
    part->detector.npanels = n;
    part->detector.wavelength_m = p->x.beam.wavelength_m;
    to_beam(p, p->x.spindle, part->spindle);
}

static enum status add_recorded_frame(struct truth_part *part, const struct recording_truth *p,
                                      struct frame *f, struct error *e)
{
    struct reflection_table *t = &f->reflections;
    if (!t->present)
        return error_set(e, STATUS_INPUT,
                         "%s: frame %" PRIu64
                         " has no reflections. Run bragg-intensity with --reflections",
                         part->path, f->recipe.id);
    reflection_table_rate(t, &p->x);
    truth_add_noise(t->rows, t->count);
    nxmx_rows_add(&part->rows, &p->x, &f->recipe, 0);
    nxmx_rows_note(&part->rows, f->recipe.id, &(struct nxmx_reflection_counts){.rows = t->count});
    struct reflection_row *more =
        mem_grow(part->block, part->nblock, t->count + 1, sizeof *more, &part->block_room);
    part->block = more;
    if (t->count)
        memcpy(more + part->nblock, t->rows, t->count * sizeof *more);
    part->nblock += t->count;
    return STATUS_OK;
}

static enum status read_recorded_frame(struct truth_part *part, const struct recording_truth *p,
                                       const struct recording_entry *entry, struct error *e)
{
    struct route route;
    struct message m = {0};
    struct frame f = {0};
    enum status s = recording_frame(&p->recording, entry, &route, &m, e);
    s = s ? s : codec_frame_decode(&f, &p->expected, &m, e);
    s = s ? s : add_recorded_frame(part, p, &f, e);
    frame_free(&f);
    message_free(&m);
    return s;
}

enum status truth_recording_read(struct truth_part *part, struct error *e)
{
    struct recording_truth p = {.recording.file = -1};
    enum status s = open_played(&p, part->path, e);
    if (!s)
        take_detector(part, &p);
    for (size_t i = 0; i < p.recording.frames.count && !s; i++)
        s = read_recorded_frame(part, &p, &p.recording.frames.entries[i], e);
    part->block_end = part->rows.nframes;
    close_played(&p);
    return s;
}

enum status truth_recording_detector(struct truth_part *part, struct error *e)
{
    struct recording_truth p = {.recording.file = -1};
    const enum status s = open_experiment(&p, part->path, e);
    if (!s)
        take_detector(part, &p);
    close_played(&p);
    return s;
}
