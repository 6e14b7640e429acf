/* What the frames of bragg-refine start from. */
#include <math.h>

#include "base/alloc.h"
#include "refine.h"

/* --- beginning --------------------------------------------------------------------------- */

static enum status check_data(const struct refine *f, struct error *e)
{
    const double there_A = 1e10 * f->data->beam.wavelength_m;
    const double here_A = 1e10 * f->model.beam.wavelength_m;
    if (experiment_pixels(&f->model) != experiment_pixels(f->data) ||
        f->model.npanels != f->data->npanels)
        return error_set(
            e, STATUS_INPUT, "%s: is of %zu panels with %lld pixels, the frames have %zu with %lld",
            f->options->start, f->model.npanels, (long long)experiment_pixels(&f->model),
            f->data->npanels, (long long)experiment_pixels(f->data));
    if (fabs(here_A / there_A - 1.0) > 0.01)
        return error_set(e, STATUS_INPUT, "%s: is of %.5g A, the frames are of %.5g A",
                         f->options->start, here_A, there_A);
    return STATUS_OK;
}

static enum status read_model(struct refine *f, struct error *e)
{
    struct route route;
    struct message m = {0};
    enum status s = recording_open(&f->recording, f->options->start, e);
    s = s ? s : recording_experiment(&f->recording, &route, &m, e);
    s = s ? s : codec_experiment_decode(&f->model, &m, e);
    message_free(&m);
    if (s)
        return s;
    f->expected = codec_expect(&f->model);
    if (f->recording.kind < 2)
        return error_set(e, STATUS_INPUT,
                         "%s: holds no recipes: what bragg-orient gives is a start",
                         f->options->start);
    return check_data(f, e);
}

static enum status read_recipe(const struct refine *f, const struct recording_entry *entry,
                               struct recipe *r, struct error *e)
{
    struct route route;
    struct message m = {0};
    struct frame frame = {0};
    enum status s = recording_frame(&f->recording, entry, &route, &m, e);
    s = s ? s : codec_frame_decode(&frame, &f->expected, &m, e);
    s = s ? s : refine_copy(r, &frame.recipe, e);
    message_free(&m);
    frame_free(&frame);
    return s;
}

/* The first recipe with a lattice stands for frames that the recording lacks. */
static enum status read_pattern(struct refine *f, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < f->recording.frames.count && !s && !f->pattern.nlattices; i++) {
        recipe_free(&f->pattern);
        s = read_recipe(f, &f->recording.frames.entries[i], &f->pattern, e);
    }
    return s || f->pattern.nlattices
               ? s
               : error_set(e, STATUS_INPUT, "%s: holds no lattice", f->options->start);
}

enum status refine_starts_open(struct refine *f, struct error *e)
{
    const struct refine_options *o = f->options;
    enum status s = o->start ? read_model(f, e) : STATUS_OK;
    if (!o->start && !experiment_copy(&f->model, f->data))
        s = error_memory(e, "the experiment");
    if (!s && o->start && o->indexed.count)
        s = read_pattern(f, e);
    return s || !o->indexed.count ? s : indexed_read(&f->indexed, &o->indexed, &f->model, e);
}

void refine_starts_close(struct refine *f)
{
    if (f->data && f->options->start)
        recording_close(&f->recording);
    recipe_free(&f->pattern);
    indexed_free(&f->indexed);
}

/* --- of a frame ----------------------------------------------------------------------------- */

/* The recipe of the recording, or that of the frame itself. */
static enum status read_start(struct refine *f, const struct recipe *own, struct recipe *start,
                              bool *found, struct error *e)
{
    *found = true;
    if (!f->options->start)
        return refine_copy(start, own, e);
    const struct recording_entry *entry = recording_list_find(&f->recording.frames, own->id);
    *found = entry;
    return entry ? read_recipe(f, entry, start, e) : STATUS_OK;
}

/* A recipe as above, turned as an indexing program says. */
static enum status indexed_lattices(struct refine *f, const struct recipe *own,
                                    struct recipe *start, bool *found, struct error *e)
{
    size_t count;
    struct recipe its = {0};
    const struct indexed_lattice *lattices = indexed_find(&f->indexed, own->id, &count);
    *found = count;
    if (!count)
        return STATUS_OK;
    enum status s = read_start(f, own, &its, found, e);
    const struct recipe *pattern = its.nlattices ? &its : &f->pattern;
    if (!s)
        s = indexed_start(&f->model, pattern, lattices, count, start, e);
    *found = start->nlattices;
    recipe_free(&its);
    return s;
}

enum status refine_start(struct refine *f, const struct recipe *own, struct recipe *start,
                         bool *found, struct error *e)
{
    return f->options->indexed.count ? indexed_lattices(f, own, start, found, e)
                                     : read_start(f, own, start, found, e);
}
