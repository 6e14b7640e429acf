/*
 * The recipe of a frame: its lattices, their orientations, and the pulse.
 *
 * Frames belong to runs (--runs), groups of frames with their own hit rate, crystals, fluence or
 * energy; without --runs there is one.  The run of a frame decides how its lattices and its pulse
 * are drawn.  A recipe depends on options and frame number only.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "orient.h"
#include "physics/crystal/cell.h"
#include "physics/setup.h"
#include "score/lattices.h"
#include "score/results.h"

/* The runs of --runs: groups of frames with their own hit rate, crystals, fluence or energy. */

enum status orient_runs_read(struct orient_runs *r, const char *path, struct error *e)
{
    if (!path)
        return STATUS_OK;
    r->path = path;
    const enum status s = runs_read(path, &r->lines, &r->nlines, e);
    if (s)
        return s;
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < r->nlines; i++) {
        const struct run_line *l = &r->lines[i];
        const double facts[5] = {(double)l->first, l->hit_rate, l->mean_lattices, l->fluence,
                                 l->energy_eV};
        hash = hash_text(hash_text(hash_bytes(hash, facts, sizeof facts), l->mixture), l->label);
    }
    (void)snprintf(r->digest, sizeof r->digest, "%016" PRIx64, hash_finish(hash));
    return STATUS_OK;
}

/* Replaces options of a run by the values that its line gives. STATUS_INPUT: the line does not
 * fit the beam or the crystals. */
static enum status use_line(const struct run_line *l, size_t ncrystals, const struct experiment *x,
                            bool turned_alike, struct orient_run *run, struct error *e)
{
    struct population *p = &run->population;
    run->first = l->first;
    run->label = l->label;
    if (l->hit_rate >= 0.0)
        p->hit_rate = l->hit_rate;
    if (l->mean_lattices >= 0.0)
        p->mean_lattices = l->mean_lattices;
    p->mixture = *l->mixture ? l->mixture : p->mixture;
    run->pulse.fluence = fmax(l->fluence, 0.0);
    enum status s = STATUS_OK;
    if (l->energy_eV > 0.0) {
        s = orient_check_energy(x, l->energy_eV, "energy_eV", e);
        run->pulse.wavelength = ev_to_m(l->energy_eV) / x->beam.wavelength_m;
    }
    s = s ? s : population_open(p, e);
    return s ? s : population_begin(p, ncrystals, turned_alike, e);
}

enum status orient_runs_begin(struct orient_runs *r, const struct population *population,
                              const struct pulse *pulse, const struct experiment *x,
                              bool turned_alike, struct error *e)
{
    r->nruns = r->nlines ? r->nlines : 1;
    r->runs = mem_array(r->nruns, sizeof *r->runs);
    for (size_t i = 0; i < r->nruns; i++) {
        r->runs[i] = (struct orient_run){.label = "", .population = *population, .pulse = *pulse};
        struct error why;
        if (r->nlines &&
            use_line(&r->lines[i], population->ncrystals, x, turned_alike, &r->runs[i], &why))
            return error_set(e, STATUS_INPUT, "%s:%ld: %.400s", r->path, r->lines[i].line,
                             why.text);
    }
    return STATUS_OK;
}

const struct orient_run *orient_runs_of(const struct orient_runs *r, uint64_t frame)
{
    size_t i = r->nruns - 1;
    while (i && r->runs[i].first > frame)
        i--;
    return &r->runs[i];
}

void orient_runs_free(struct orient_runs *r)
{
    mem_free(r->lines);
    mem_free(r->runs);
    *r = (struct orient_runs){0};
}

/* --- orientations of a CrystFEL stream ------------------------------------------------- */

/* Tolerance of the reciprocal metric: 0.1, which is 5 % of an edge. */
static const double METRIC_TOLERANCE = 0.1;

/* From this angle between axes of the same name, in degrees, the axes have other names. */
static const double RENAMED_DEG = 1.0;

static int by_id(const void *a, const void *b)
{
    const uint64_t left = ((const struct stream_frame *)a)->id;
    const uint64_t right = ((const struct stream_frame *)b)->id;
    return (left > right) - (left < right);
}

/* Appends the frame and the crystals of a chunk. */
static void take_chunk(struct orient_stream *s, const struct answer *a, uint64_t id)
{
    struct stream_frame *frames =
        mem_grow(s->frames, s->nframes, 1, sizeof *frames, &s->frames_room);
    s->frames = frames;
    frames[s->nframes++] = (struct stream_frame){
        .id = id, .line = a->line, .first = s->ncrystals, .count = a->nlattices};
    for (size_t i = 0; i < a->nlattices; i++) {
        double(*axes)[9] = mem_grow(s->axes, s->ncrystals, 1, sizeof *axes, &s->axes_room);
        s->axes = axes;
        memcpy(axes[s->ncrystals++], a->lattices[i].a_matrix, sizeof *axes);
    }
}

/* Reads all chunks.  Sets *numbered to false if a chunk has no number. */
static enum status read_chunks(struct orient_stream *s, struct crystfel_stream *in, bool *numbered,
                               struct error *e)
{
    struct answer a = {0};
    struct results_numbers numbers = {0};
    bool more = true;
    enum status status = STATUS_OK;
    *numbered = true;
    while (!status && !(status = crystfel_stream_next(in, &a, &more, e)) && more) {
        const bool has = !a.no_number && (a.has_frame || a.has_event);
        const uint64_t id = has ? results_number(&numbers, &a) : 0;
        *numbered = *numbered && has && id < ORIENT_FRAMES_MAX;
        if (a.nlattices > LATTICES_MAX)
            status = error_set(e, STATUS_INPUT, "%s:%ld: %zu crystals; expected at most %d",
                               s->path, a.line, a.nlattices, LATTICES_MAX);
        else
            take_chunk(s, &a, id);
    }
    results_numbers_free(&numbers);
    answer_free(&a);
    return status;
}

/* Sorts the frames by number.  Returns false, and leaves them in their order, if two have the same
 * number. */
static bool sort_frames(struct orient_stream *s)
{
    struct stream_frame *sorted = mem_array(s->nframes, sizeof *sorted);
    memcpy(sorted, s->frames, s->nframes * sizeof *sorted);
    qsort(sorted, s->nframes, sizeof *sorted, by_id);
    bool differ = true;
    for (size_t i = 1; i < s->nframes; i++)
        differ = differ && sorted[i - 1].id != sorted[i].id;
    if (differ)
        memcpy(s->frames, sorted, s->nframes * sizeof *sorted);
    mem_free(sorted);
    return differ;
}

enum status orient_stream_read(struct orient_stream *s, const char *path, struct error *e)
{
    struct crystfel_stream in;
    bool numbered = true;
    s->path = path;
    enum status status = crystfel_stream_open(&in, path, NULL, e);
    if (!status)
        status = read_chunks(s, &in, &numbered, e);
    crystfel_stream_close(&in);
    if (status)
        return status;
    if (!s->ncrystals)
        return error_set(e, STATUS_INPUT,
                         "%s: has no crystals in %zu chunks; expected at least one", path,
                         s->nframes);
    if (numbered && sort_frames(s))
        return STATUS_OK;
    for (size_t i = 0; i < s->nframes; i++)
        s->frames[i].id = i;
    log_line(
        LOG_WARNING,
        "%s: chunks have no frame numbers, or the same ones; frames are numbered from 0 in the "
        "order of the chunks",
        path);
    return STATUS_OK;
}

void orient_stream_ids(const struct orient_stream *s, uint64_t frames, struct id_set *ids)
{
    for (size_t i = 0; i < s->nframes && s->frames[i].id < frames; i++)
        id_set_add(ids, s->frames[i].id);
}

/* Refuses a crystal with another cell. */
static enum status refuse_cell(const struct orient_stream *s, const struct stream_frame *f,
                               const double found[9], const struct crystal *c, struct error *e)
{
    double own[6], its[6];
    crystal_cell(c, own);
    if (!(mat_determinant(found) > 0.0) || !lattices_cell(found, its))
        return error_set(e, STATUS_INPUT, "%s:%ld: the axes of a crystal are left-handed or flat",
                         s->path, f->line);
    return error_set(e, STATUS_INPUT,
                     "%s:%ld: a crystal has the cell %.4g,%.4g,%.4g,%.4g,%.4g,%.4g; expected "
                     "%.4g,%.4g,%.4g,%.4g,%.4g,%.4g of bragg-geometry, within 5 %%",
                     s->path, f->line, its[0], its[1], its[2], its[3], its[4], its[5], own[0],
                     own[1], own[2], own[3], own[4], own[5]);
}

enum status orient_stream_rotations(const struct orient_stream *s, const struct experiment *x,
                                    double (**rotations)[9], struct error *e)
{
    double lab[9], from_beam[9], own[9];
    size_t renamed = 0;
    if (x->ncrystals != 1)
        return error_set(e, STATUS_INPUT,
                         "%s: bragg-geometry has %zu crystals; expected one, because a stream does "
                         "not name the crystals",
                         s->path, x->ncrystals);
    panels_frame(x, lab);
    for (int i = 0; i < 9; i++) {
        from_beam[i] = lab[3 * (i % 3) + i / 3];
        own[i] = x->crystals->reciprocal_A[3 * (i % 3) + i / 3];
    }
    *rotations = mem_array(s->ncrystals, sizeof **rotations);
    for (size_t k = 0; k < s->nframes; k++)
        for (size_t i = s->frames[k].first; i < s->frames[k].first + s->frames[k].count; i++) {
            double found[9], turned[9];
            mat_multiply(from_beam, s->axes[i], found);
            if (!(lattices_setting(own, found, (*rotations)[i]) < METRIC_TOLERANCE))
                return refuse_cell(s, &s->frames[k], found, x->crystals, e);
            mat_multiply((*rotations)[i], own, turned);
            renamed += lattices_angle_deg(turned, found) < RENAMED_DEG ? 0 : 1;
        }
    if (renamed)
        log_line(LOG_WARNING,
                 "%s: the axes of %zu of %zu crystals got the names of the axes of bragg-geometry",
                 s->path, renamed, s->ncrystals);
    return STATUS_OK;
}

void orient_stream_free(struct orient_stream *s)
{
    mem_free(s->frames);
    mem_free(s->axes);
    *s = (struct orient_stream){0};
}

/* Returns the frame of the stream with this number.  NULL: the stream does not have the frame. */
static const struct stream_frame *find_frame(const struct orient_stream *s, uint64_t id)
{
    const struct stream_frame key = {.id = id};
    return s->nframes ? bsearch(&key, s->frames, s->nframes, sizeof key, by_id) : NULL;
}

/* Returns the number of lattices of a frame. */
static size_t count_lattices(const struct orient *o, const struct population *p,
                             const struct recipe *r)
{
    if (!o->stream.nframes)
        return population_count(p, r->seed, r->id);
    const struct stream_frame *f = find_frame(&o->stream, r->id);
    return f ? f->count : 0;
}

/* Returns the place in o->listed of the rotation of a lattice.  A list of one frame is that of all
 * frames. */
static size_t place_of(const struct orient *o, const struct population *p, uint64_t id,
                       uint32_t index)
{
    if (o->stream.nframes)
        return find_frame(&o->stream, id)->first + index;
    return (id * (uint64_t)p->lattices + index) % o->nlisted;
}

/* --- one lattice ---------------------------------------------------------------------- */

/* A crystal with fewer illuminated blocks lies next to the beam: rounding makes them from 0. */
static const double ILLUMINATED_LEAST = 1e-6;

/* Draws the random misset of nanoBragg, which is not uniform. The seed of frame `id` is --seed
 * plus `id`. */
static enum status make_faithful_random(const struct orient *o, uint64_t id,
                                        struct orientation_request *r, struct lattice *l,
                                        struct error *e)
{
    r->random_misset = true;
    r->misset_seed = -(int64_t)(((uint64_t)o->options.seed + id) & 0x7fffffff);
    return setup_lattice(o->experiment, 0, r, l, e);
}

/* Adds the rotation of --mount to an orientation. */
static void mount_rotation(const struct orient_options *p, double rotation[9])
{
    double mount[9], turned[9];
    misset_to_rotation(p->mount_rad, mount);
    mat_multiply(mount, rotation, turned);
    memcpy(rotation, turned, sizeof turned);
}

/* Sets the cell, the size, the mosaic spread and the B factor of lattice number `index` of frame
 * `id`. */
static void draw_lattice(const struct orient *o, const struct population *population, uint64_t id,
                         uint32_t index, uint32_t crystal, struct orientation_request *r)
{
    const struct orient_options *p = &o->options;
    const struct crystal *own = &o->experiment->crystals[crystal];
    const uint64_t seed = (uint64_t)p->seed;
    (void)population_strain(population, own->cell_A, seed, id, index, r->strain);
    r->has_cells = o->experiment->sizes_vary;
    if (!population_cells(population, own->cell_A, seed, id, index, r->cells))
        memcpy(r->cells, own->cells, sizeof r->cells);
    r->has_spread = o->experiment->spreads_vary;
    r->spread_rad = own->has_ensemble ? own->mosaic_rms_rad[0] : p->mosaic_rad;
    (void)population_spread(population, seed, id, index, &r->spread_rad);
    r->has_b_factor = population_b_factor(population, seed, id, index, &r->b_factor_A2);
    if (r->has_spread && !own->has_ensemble)
        r->mosaic_rad = r->spread_rad;
}

/* Makes lattice number `index` of frame `id`. Its orientation is that of --orientations or
 * --random, or else the orientation *r. */
static enum status make_lattice(const struct orient *o, const struct population *population,
                                uint64_t id, uint32_t index, uint32_t crystal,
                                struct orientation_request r, struct lattice *l, struct error *e)
{
    const struct orient_options *p = &o->options;
    const uint64_t seed = (uint64_t)p->seed;
    const bool mounted = orient_given(p, "mount");
    double rotation[9];
    draw_lattice(o, population, id, index, crystal, &r);
    if (p->random && o->experiment->physics == PHYSICS_FAITHFUL)
        return make_faithful_random(o, id, &r, l, e);
    const double apart_rad = orient_vary_apart_rad(o, id);
    const bool apart = index > 0 && !isnan(apart_rad);
    if (!o->listed && !p->random && !mounted && !apart)
        return setup_lattice(o->experiment, crystal, &r, l, e);
    struct rng rng = rng_stream(seed, RNG_ORIENTATION, id, apart ? 0 : index);
    if (o->listed)
        memcpy(rotation, o->listed[place_of(o, population, id, index)], sizeof rotation);
    else if (p->random)
        random_rotation(&rng, rotation);
    else
        misset_to_rotation(r.misset_rad, rotation);
    if (apart)
        orient_turn_apart(apart_rad, seed, id, index, rotation);
    if (mounted)
        mount_rotation(p, rotation);
    return setup_lattice_rotated(o->experiment, crystal, rotation, &r, l, e);
}

/* Adds lattice number `index` to *r, which has room for it.  With --pumped a lattice has two
 * states, and each of them is a lattice of the recipe. */
static enum status add_lattice(const struct orient *o, const struct population *p,
                               const struct orientation_request *turned, uint32_t index,
                               struct recipe *r, struct error *e)
{
    struct pump_state states[2];
    const size_t n = pump_states(&o->options.pump, &o->experiment->pulse_ids, r->seed, r->id,
                                 population_crystal(p, r->seed, r->id, index), states);
    enum status s = STATUS_OK;
    for (size_t i = 0; i < n && !s; i++) {
        struct lattice *l = &r->lattices[r->nlattices++];
        s = make_lattice(o, p, r->id, index, states[i].crystal, *turned, l, e);
        l->weight *= population_share(p, r->seed, r->id, index) * states[i].share;
    }
    return s;
}

/* Adds the crystals on the sample holder that the beam meets.  The orientation and the cell of a
 * crystal are the same in all frames. */
static enum status add_sites(const struct orient *o, const struct orient_run *run,
                             const struct orientation_request *turned, const struct gate_line *line,
                             struct recipe *r, struct error *e)
{
    const struct population *p = &run->population;
    enum status s = STATUS_OK;
    r->has_sample = true;
    mesh_point(&o->mesh, r->id, line && line->moves ? line->at_m : o->mesh.middle_m, r->sample_m);
    for (uint32_t i = 0; i < o->mesh.nsites && !s; i++) {
        struct orientation_request at = *turned;
        if (!mesh_reaches(&o->mesh, o->experiment, r, i, at.aside_m))
            continue;
        if (r->nlattices == LATTICES_MAX)
            return error_set(e, STATUS_INPUT,
                             "frame %" PRIu64 ": the beam meets more than %d crystals. Use fewer "
                             "crystals or a smaller beam",
                             r->id, LATTICES_MAX);
        at.is_aside = true;
        struct lattice *l = &r->lattices[r->nlattices];
        s = make_lattice(o, p, 0, i, o->mesh.sites[i].crystal, at, l, e);
        const bool lit = l->weight > ILLUMINATED_LEAST;
        l->weight *= population_share(p, r->seed, 0, i);
        if (lit && l->weight > 0.0)
            r->nlattices++;
        else
            lattice_free(l);
    }
    return s;
}

enum status orient_recipe(const struct orient *o, const struct orientation_request *turned,
                          const struct gate_line *line, struct recipe *r, struct error *e)
{
    const struct orient_options *p = &o->options;
    const struct orient_run *run = orient_runs_of(&o->runs, r->id);
    enum status s = STATUS_OK;
    struct shift shift = o->shift;
    r->seed = (uint64_t)p->seed;
    orient_vary_shift(o, r->id, &shift);
    orient_vary_recipe(o, r);
    if (line && line->along_m != 0.0) {  // as if the detector moved to the sample
        shift.coffset_m -= line->along_m;
        s = shift_check(&shift, o->experiment, e);
    }
    if (s)
        return s;
    shift_make(&shift, o->experiment, r);
    const size_t count = o->mesh.nsites ? LATTICES_MAX / 2 : count_lattices(o, &run->population, r);
    const size_t most = pump_excites(&p->pump) ? LATTICES_MAX / 2 : LATTICES_MAX;
    r->lattices = mem_array(2 * count, sizeof *r->lattices);
    struct pulse pulse = run->pulse;
    if (line && line->fluence != 1.0)
        pulse.fluence = line->fluence * (pulse.fluence > 0.0 ? pulse.fluence : 1.0);
    orient_vary_pulse(o, r->id, &pulse);
    pulse_make(&pulse, &o->experiment->beam, r);
    if (o->mesh.nsites)
        return add_sites(o, run, turned, line, r, e);
    for (uint32_t i = 0; i < count && i < most && !s; i++)
        s = add_lattice(o, &run->population, turned, i, r, e);
    return s;
}
