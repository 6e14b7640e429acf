#include "score/key_recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "io/filetype.h"
#include "wire/codec.h"
#include "wire/recording.h"
#include "wire/recording_layout.h"

/* What the frames of a recording have in common. */
struct played {
    struct recording recording;
    struct experiment x;
    struct codec_expected expected;
    double axes[9];  // rows: the frame of the beam in the lab
};

bool key_recording_is(const char *path)
{
    return filetype_begins(path, LAYOUT_HEADER_MAGIC, 8);
}

static enum status open_played(struct played *p, const char *path, struct error *e)
{
    struct route route;
    struct message m = {0};
    enum status s = recording_open(&p->recording, path, e);
    if (s)
        return s;
    if (p->recording.kind != RECORDING_IMAGES)
        return error_set(e, STATUS_INPUT,
                         "%s: holds no images: what bragg-intensity gives is a key", path);
    s = recording_experiment(&p->recording, &route, &m, e);
    s = s ? s : codec_experiment_decode(&p->x, &m, e);
    message_free(&m);
    if (s)
        return s;
    p->expected = codec_expect(&p->x);
    nxmx_axes(&p->x, p->axes);
    for (int i = 0; i < 6; i++)
        p->axes[i] = 0.0 - p->axes[i];  // (-x, -y, z) of NeXus
    return STATUS_OK;
}

static void close_played(struct played *p)
{
    recording_close(&p->recording);
    experiment_free(&p->x);
}

static void to_beam(const struct played *p, const double lab[3], double beam[3])
{
    for (int i = 0; i < 3; i++)
        beam[i] = vec_dot(p->axes + 3 * i, lab);
}

static enum status take_detector(struct key_part *k, const struct played *p, struct error *e)
{
    const size_t n = p->x.npanels;
    struct geom_panel *panels = mem_array(n, sizeof *panels);
    if (!panels)
        return error_memory(e, k->path);
    for (size_t i = 0; i < n; i++) {
        const struct panel *from = &p->x.panels[i];
        panels[i] = (struct geom_panel){.fast_pixels = from->fast_pixels,
                                        .slow_pixels = from->slow_pixels,
                                        .pixel_m = from->pixel_m};
        to_beam(p, from->fast, panels[i].fast);
        to_beam(p, from->slow, panels[i].slow);
        to_beam(p, from->origin_m, panels[i].corner_m);
    }
    k->detector.panels = panels;
    k->detector.npanels = n;
    k->detector.wavelength_m = p->x.beam.wavelength_m;
    to_beam(p, p->x.spindle, k->spindle);
    return STATUS_OK;
}

static enum status add_frame(struct key_part *k, const struct played *p, const struct frame *f,
                             struct error *e)
{
    const struct reflection_table *t = &f->reflections;
    if (!t->present)
        return error_set(e, STATUS_INPUT,
                         "%s: frame %" PRIu64 " holds no reflections: bragg-intensity "
                         "--reflections makes them",
                         k->path, f->recipe.id);
    const enum status s = nxmx_rows_add(&k->rows, &p->x, &f->recipe, 0, e);
    if (s)
        return s;
    nxmx_rows_note(&k->rows, f->recipe.id, &(struct nxmx_told){.rows = t->count});
    struct reflection_row *more =
        mem_grow(k->block, k->nblock, t->count + 1, sizeof *more, &k->block_room);
    if (!more)
        return error_memory(e, k->path);
    k->block = more;
    if (t->count)
        memcpy(more + k->nblock, t->rows, t->count * sizeof *more);
    k->nblock += t->count;
    return STATUS_OK;
}

static enum status read_frame(struct key_part *k, const struct played *p,
                              const struct recording_entry *entry, struct error *e)
{
    struct route route;
    struct message m = {0};
    struct frame f = {0};
    enum status s = recording_frame(&p->recording, entry, &route, &m, e);
    s = s ? s : codec_frame_decode(&f, &p->expected, &m, e);
    s = s ? s : add_frame(k, p, &f, e);
    frame_free(&f);
    message_free(&m);
    return s;
}

enum status key_recording_read(struct key_part *k, struct error *e)
{
    struct played p = {.recording.file = -1};
    enum status s = open_played(&p, k->path, e);
    s = s ? s : take_detector(k, &p, e);
    for (size_t i = 0; i < p.recording.frames.count && !s; i++)
        s = read_frame(k, &p, &p.recording.frames.entries[i], e);
    k->block_end = k->rows.nframes;
    close_played(&p);
    return s;
}
