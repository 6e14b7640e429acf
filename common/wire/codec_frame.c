/*
 * A frame as a message, from tables of its members as in codec_experiment.c.  What frames must have
 * in common with the experiment is checked after decoding: for example, only frames of an
 * experiment whose sizes vary have lattices with sizes of their own.
 */
#include "wire/codec.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/fields.h"

/* The content of part 1 of a frame. */
struct envelope {
    struct frame frame;
    char lineage[17];
};

static size_t image_bytes(const void *object)
{
    const struct image *i = object;
    size_t bytes;
    return size_multiply(i->count, pixel_size(i->type), &bytes) ? bytes : SIZE_MAX;
}

#define OBJECT image
static const struct field image_fields[] = {
    MEMBER(count, SIZE),
    MEMBER(pixels, DATA, .bytes = image_bytes, .flags = FIELD_BORROW),
    MEMBER(type, ENUM, .limit = PIXEL_I32),
    MEMBER(unit, ENUM, .limit = UNIT_ADU),
};
TABLE(image);
#undef OBJECT

static size_t doubles(size_t count, size_t each)
{
    size_t bytes;
    return size_multiply(count, each * sizeof(double), &bytes) ? bytes : SIZE_MAX;
}

static size_t phi_bytes(const void *object)
{
    return doubles(((const struct lattice *)object)->nphi, 1);
}

static size_t cells_bytes(const void *object)
{
    return doubles(((const struct lattice *)object)->nphi, 9);
}

static size_t domains_bytes(const void *object)
{
    return doubles(((const struct lattice *)object)->ndomains, 9);
}

#define OBJECT lattice
static const struct field lattice_fields[] = {
    GIVEN(aside_m, 3, is_aside),
    GIVEN(b_factor_A2, 0, has_b_factor),
    GIVEN(cells, 3, has_cells),
    MEMBER(cells_m, DATA, .bytes = cells_bytes, .flags = FIELD_REALS),
    MEMBER(crystal, U32),
    MEMBER(domains, DATA, .bytes = domains_bytes, .flags = FIELD_REALS),
    MEMBER(mosaic, BOOL),
    MEMBER(ndomains, SIZE),
    MEMBER(nphi, SIZE),
    MEMBER(phi_rad, DATA, .bytes = phi_bytes, .flags = FIELD_REALS),
    MEMBER(reciprocal_A, REAL, .count = 9),
    MEMBER(rotation, REAL, .count = 9),
    GIVEN(spread_rad, 0, has_spread),
    MEMBER(weight, REAL),
};
TABLE(lattice);
#undef OBJECT

static size_t recipe_source_bytes(const void *object)
{
    return doubles(((const struct recipe *)object)->nsources,
                   sizeof(struct source) / sizeof(double));
}

#define OBJECT matter
static const struct field matter_fields[] = {
    GIVEN(air_m, 0, has_air),     GIVEN(ice_crystal_A, 0, has_ice_crystal),
    GIVEN(ice_m, 0, has_ice),     GIVEN(scale, 0, has_scale),
    GIVEN(water_m, 0, has_water),
};
TABLE(matter);
#undef OBJECT

#define OBJECT recipe
static const struct field recipe_fields[] = {
    MEMBER(id, U64),
    MEMBER(lattices, LIST, .table = &lattice_table,
           .count_offset = offsetof(struct recipe, nlattices)),
    MEMBER(matter, MAP, .table = &matter_table, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct recipe, has_matter)),
    MEMBER(nsources, SIZE),
    MEMBER(osc_rad, REAL),
    MEMBER(phi_rad, REAL),
    GIVEN(sample_m, 2, has_sample),
    MEMBER(seed, U64),
    MEMBER(shift_m, REAL, .count = 3, .present_offset = offsetof(struct recipe, has_shift),
           .flags = FIELD_ABSENT),
    MEMBER(sources, DATA, .bytes = recipe_source_bytes, .flags = FIELD_REALS),
};
TABLE(recipe);
#undef OBJECT

static size_t rows_bytes(const void *object)
{
    const struct reflection_table *t = object;
    const uint64_t row = t->row_bytes ? t->row_bytes : REFLECTION_ROW_BEFORE;
    size_t bytes;
    return size_multiply(t->count, (size_t)row, &bytes) ? bytes : SIZE_MAX;
}

static size_t numbers_bytes(size_t count)
{
    size_t bytes;
    return size_multiply(count, sizeof(uint32_t), &bytes) ? bytes : SIZE_MAX;
}

static size_t row_pixels_bytes(const void *object)
{
    return numbers_bytes(((const struct reflection_table *)object)->npixels);
}

static size_t labels_bytes(const void *object)
{
    return numbers_bytes(((const struct reflection_table *)object)->nlabels);
}

#define OBJECT reflection_table
static const struct field reflection_table_fields[] = {
    MEMBER(count, SIZE),
    MEMBER(labels, DATA, .bytes = labels_bytes),
    MEMBER(least_photons, REAL),
    MEMBER(nlabels, SIZE),
    MEMBER(npixels, SIZE),
    MEMBER(pixels, DATA, .bytes = row_pixels_bytes),
    MEMBER(rest_photons, REAL),
    MEMBER(row_bytes, U64, .flags = FIELD_ABSENT | FIELD_SPARSE),
    MEMBER(rows, DATA, .bytes = rows_bytes),
    MEMBER(slopes, DATA, .bytes = row_pixels_bytes, .flags = FIELD_OPTIONAL | FIELD_ABSENT,
           .present_offset = offsetof(struct reflection_table, has_slopes)),
};
TABLE(reflection_table);
#undef OBJECT

static size_t plane_bytes(const void *object)
{
    size_t bytes;
    return size_multiply(((const struct plane *)object)->count, sizeof(float), &bytes) ? bytes
                                                                                       : SIZE_MAX;
}

#define OBJECT plane
static const struct field plane_fields[] = {
    MEMBER(count, SIZE),
    MEMBER_TEXT(name),
    MEMBER_TEXT(unit),
    MEMBER(values, DATA, .bytes = plane_bytes),
};
TABLE(plane);
#undef OBJECT

static size_t refined_bytes(const void *object)
{
    const size_t numbers = refined_numbers(((const struct refined *)object)->count);
    return numbers == SIZE_MAX ? SIZE_MAX : doubles(numbers, 1);
}

static size_t planes_pixels_bytes(const void *object)
{
    return numbers_bytes(((const struct planes_pixels *)object)->count);
}

#define OBJECT planes_pixels
static const struct field planes_pixels_fields[] = {
    MEMBER(count, SIZE),
    MEMBER(numbers, DATA, .bytes = planes_pixels_bytes),
};
TABLE(planes_pixels);
#undef OBJECT

#define OBJECT refined
static const struct field refined_fields[] = {
    MEMBER(chi2, REAL),     MEMBER(count, SIZE),  MEMBER(far, SIZE),
    MEMBER(lattices, SIZE), MEMBER(local, SIZE),  MEMBER(numbers, DATA, .bytes = refined_bytes),
    MEMBER(photons, REAL),  MEMBER(pixels, SIZE), MEMBER(settled, BOOL),
    MEMBER(steps, SIZE),    MEMBER(verdict, U32), MEMBER_TEXT(why),
};
TABLE(refined);
#undef OBJECT

#define OBJECT envelope
static const struct field envelope_fields[] = {
    FIELD("image", MAP, .offset = offsetof(struct envelope, frame.image), .table = &image_table),
    MEMBER_TEXT(lineage),
    FIELD("planes", LIST, .offset = offsetof(struct envelope, frame.planes.items),
          .table = &plane_table, .count_offset = offsetof(struct envelope, frame.planes.count),
          .present_offset = offsetof(struct envelope, frame.planes.present), .flags = FIELD_ABSENT),
    FIELD("planes_pixels", MAP, .offset = offsetof(struct envelope, frame.planes.pixels),
          .table = &planes_pixels_table,
          .present_offset = offsetof(struct envelope, frame.planes.pixels.listed),
          .flags = FIELD_ABSENT),
    FIELD("recipe", MAP, .offset = offsetof(struct envelope, frame.recipe), .table = &recipe_table),
    FIELD(
        "refined", MAP, .offset = offsetof(struct envelope, frame.refined), .table = &refined_table,
        .present_offset = offsetof(struct envelope, frame.refined.present), .flags = FIELD_ABSENT),
    FIELD("reflections", MAP, .offset = offsetof(struct envelope, frame.reflections),
          .table = &reflection_table_table,
          .present_offset = offsetof(struct envelope, frame.reflections.present),
          .flags = FIELD_ABSENT),
};
static const struct table envelope_table = {"frame", sizeof(struct envelope),
                                            FIELDS(envelope_fields)};
#undef OBJECT

enum status codec_frame_encode(struct frame *f, const char *lineage, struct message *m,
                               struct error *e)
{
    struct envelope envelope = {.frame = *f};
    const struct image image = f->image;
    memset(f, 0, sizeof *f);
    memccpy(envelope.lineage, lineage, 0, sizeof envelope.lineage - 1);
    struct reflection_table *t = &envelope.frame.reflections;
    t->row_bytes = t->count ? sizeof *t->rows : 0;
    const enum status s = fields_encode(&envelope_table, &envelope, true, m, e);
    if (s == STATUS_OK && image.count) {  // pixels come first, because "image" is the first key
        m->parts[2].release = image.release;
        m->parts[2].owner = image.owner;
        m->has_sum = image.has_sum;
        m->sum = image.sum;
        envelope.frame.image = (struct image){0};
    }
    frame_free(&envelope.frame);
    return s;
}

struct codec_expected codec_expect(const struct experiment *x)
{
    struct codec_expected expected = {.pixels = (size_t)experiment_pixels(x),
                                      .panels = x->npanels,
                                      .crystals = x->ncrystals,
                                      .detector_moves = x->detector_moves,
                                      .sample_moves = x->sample_moves,
                                      .sizes_vary = x->sizes_vary,
                                      .spreads_vary = x->spreads_vary,
                                      .b_factors_vary = x->b_factors_vary,
                                      .matter_varies = x->matter_varies};
    memcpy(expected.lineage, x->lineage, sizeof expected.lineage);
    return expected;
}

/* Returns true if the reflections are consistent: all numbers are finite, rows have lattices and
 * panels of the frame, and pixels and labels are inside the frame. */
static bool are_consistent(const struct reflection_table *t, const struct recipe *r,
                           const struct codec_expected *expected)
{
    const size_t pixels = expected->pixels;
    size_t left = t->npixels;
    for (size_t i = 0; i < t->count; i++) {
        const struct reflection_row *row = &t->rows[i];
        const double reals[] = {row->fast,       row->slow,
                                row->photons,    row->phi_deg,
                                row->s_1_A,      (double)row->peak,
                                (double)row->F2, (double)row->background,
                                (double)row->z,  (double)row->wavelength_A};
        for (size_t k = 0; k < sizeof reals / sizeof *reals; k++)
            if (!isfinite(reals[k]))
                return false;
        if (row->lattice < 0 || (size_t)row->lattice >= r->nlattices || row->panel < 0 ||
            (size_t)row->panel >= expected->panels || row->pixels < 0 || row->orders < 0 ||
            row->wavelength_A < 0.0F)
            return false;
        if (t->npixels && (size_t)row->pixels > left)
            return false;
        left -= t->npixels ? (size_t)row->pixels : 0;
    }
    if (t->has_slopes && t->npixels && !t->slopes)
        return false;
    for (size_t i = 0; i < t->npixels; i++)
        if (t->pixels[i] >= pixels || (t->has_slopes && !isfinite(t->slopes[i])))
            return false;
    for (size_t i = 0; i < t->nlabels; i++)
        if (t->labels[i] > t->count)
            return false;
    return !left && (!t->nlabels || t->nlabels == pixels);
}

/* Returns true if the size that only this lattice has is possible. */
static bool has_possible_cells(const struct lattice *l)
{
    static const double MOST = 1e6;
    bool good = true;
    for (int i = 0; i < 3 && l->has_cells; i++)
        good = good && l->cells[i] >= 1.0 && l->cells[i] <= MOST;
    return good;
}

/* Checks that a frame has a quantity of its own exactly if the experiment says that it varies.
 * `subject` is "is" for a quantity of the frame, or "has a lattice". */
static enum status check_own(bool has, bool varies, const char *subject, const char *what,
                             const char *key, unsigned long long id, struct error *e)
{
    return has == varies
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "frame %llu %s %s %s of its own, but the experiment has %s %s", id,
                           subject, has ? "with" : "without", what, key, varies ? "true" : "false");
}

/* Refuses a lattice whose mosaic spread is impossible, or does not fit the experiment. */
static enum status check_spread(const struct lattice *l, const struct codec_expected *expected,
                                unsigned long long id, struct error *e)
{
    static const double MOST_RAD = 2.0 * M_PI;
    const enum status s = check_own(l->has_spread, expected->spreads_vary, "has a lattice",
                                    "a mosaic spread", "spreads_vary", id, e);
    return s ? s
           : !l->has_spread || (l->spread_rad >= 0.0 && l->spread_rad <= MOST_RAD)
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "frame %llu has a lattice with an impossible mosaic spread (got %g "
                           "rad); expected 0 to 6.28 rad",
                           id, l->spread_rad);
}

/* Refuses a lattice whose B factor is impossible, or does not fit the experiment. */
static enum status check_b_factor(const struct lattice *l, const struct codec_expected *expected,
                                  unsigned long long id, struct error *e)
{
    static const double MOST_A2 = 1e4;
    const enum status s = check_own(l->has_b_factor, expected->b_factors_vary, "has a lattice",
                                    "a B factor", "b_factors_vary", id, e);
    return s ? s
           : !l->has_b_factor || (l->b_factor_A2 >= 0.0 && l->b_factor_A2 <= MOST_A2)
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "frame %llu has a lattice with an impossible B factor (got %g A^2); "
                           "expected 0 to 10000 A^2",
                           id, l->b_factor_A2);
}

/* Refuses amounts of matter that are impossible, or do not fit the experiment. */
static enum status check_matter(const struct recipe *r, const struct codec_expected *expected,
                                struct error *e)
{
    static const double MOST_M = 1e3, MOST_SCALE = 1e6, LEAST_A = 10.0, MOST_A = 1e5;
    const unsigned long long id = r->id;
    const struct matter *m = &r->matter;
    const enum status s = check_own(r->has_matter, expected->matter_varies, "is",
                                    "amounts of matter", "matter_varies", id, e);
    if (s)
        return s;
    const bool good =
        (!m->has_water || (m->water_m >= 0.0 && m->water_m <= MOST_M)) &&
        (!m->has_air || (m->air_m >= 0.0 && m->air_m <= MOST_M)) &&
        (!m->has_ice || (m->ice_m >= 0.0 && m->ice_m <= MOST_M)) &&
        (!m->has_ice_crystal || (m->ice_crystal_A >= LEAST_A && m->ice_crystal_A <= MOST_A)) &&
        (!m->has_scale || (m->scale >= 0.0 && m->scale <= MOST_SCALE));
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "frame %llu has an impossible amount of matter; expected thicknesses "
                            "from 0 to 1000 m, ice crystals from 10 to 1e5 A and a scale from 0 "
                            "to 1e6",
                            id);
}

/* Checks that the lattices of a frame are possible, and have the members that the experiment
 * says. */
static enum status check_lattices(const struct recipe *r, const struct codec_expected *expected,
                                  struct error *e)
{
    const unsigned long long id = r->id;
    for (size_t i = 0; i < r->nlattices; i++)
        if (r->lattices[i].crystal >= expected->crystals)
            return error_set(
                e, STATUS_INPUT,
                "frame %llu has a lattice of crystal %u, but the experiment has %zu crystals", id,
                r->lattices[i].crystal, expected->crystals);
    bool aside = r->has_sample;
    for (size_t i = 0; i < r->nlattices; i++)
        aside = aside || r->lattices[i].is_aside;
    if (aside && !expected->sample_moves)
        return error_set(
            e, STATUS_INPUT,
            "frame %llu has a place on a sample holder, but the experiment has no such holder", id);
    for (size_t i = 0; i < r->nlattices; i++)
        if (!has_possible_cells(&r->lattices[i]))
            return error_set(
                e, STATUS_INPUT,
                "frame %llu has a lattice with an impossible number of cells; expected "
                "1 to 1e6 along each axis",
                id);
    for (size_t i = 0; i < r->nlattices; i++)
        if (r->lattices[i].has_cells != expected->sizes_vary)
            return error_set(e, STATUS_INPUT,
                             "frame %llu has a lattice %s cells of its own, but the experiment has "
                             "sizes_vary %s",
                             id, expected->sizes_vary ? "without" : "with",
                             expected->sizes_vary ? "true" : "false");
    for (size_t i = 0; i < r->nlattices; i++) {
        enum status s = check_spread(&r->lattices[i], expected, id, e);
        s = s ? s : check_b_factor(&r->lattices[i], expected, id, e);
        if (s)
            return s;
    }
    return STATUS_OK;
}

static enum status check_frame(const struct envelope *n, const struct codec_expected *expected,
                               struct error *e)
{
    const struct recipe *r = &n->frame.recipe;
    const unsigned long long id = r->id;
    const size_t pixels = n->frame.image.count;
    if (strcmp(n->lineage, expected->lineage) != 0)
        return error_set(e, STATUS_INPUT, "frame %llu has lineage %s, but the experiment has %s",
                         id, n->lineage, expected->lineage);
    if (pixels && pixels != expected->pixels)
        return error_set(e, STATUS_INPUT, "frame %llu has %zu pixels, but the experiment has %zu",
                         id, pixels, expected->pixels);
    const enum status lattices = check_lattices(r, expected, e);
    if (lattices)
        return lattices;
    const enum status matter = check_matter(r, expected, e);
    if (matter)
        return matter;
    if (r->has_shift && !expected->detector_moves)
        return error_set(
            e, STATUS_INPUT,
            "frame %llu has a shift of the detector, but the detector of the experiment is fixed",
            id);
    if (!are_consistent(&n->frame.reflections, r, expected))
        return error_set(e, STATUS_INPUT,
                         "frame %llu has corrupt reflections: a value is not finite, or a lattice, "
                         "panel or pixel does not exist",
                         id);
    const char *fault = planes_fault(&n->frame.planes, pixels);
    if (fault)
        return error_set(e, STATUS_INPUT, "frame %llu has derivative images %s", id, fault);
    if (n->frame.refined.local > n->frame.refined.count)
        return error_set(
            e, STATUS_INPUT,
            "frame %llu has a corrupt fit: %zu parameters in total, but %zu per-frame parameters",
            id, n->frame.refined.count, n->frame.refined.local);
    return STATUS_OK;
}

/* Moves the pixels from their part to the frame.  Unaligned pixels are copied. */
static void take_pixels(struct image *image, struct message *m)
{
    void *data = image->pixels;
    if (!data)
        return;
    if ((uintptr_t)data % sizeof(uint32_t)) {
        const size_t bytes = image_bytes(image);
        image->pixels = image->owner = mem_copy(data, bytes, 1);
        image->release = mem_free;
        return;
    }
    for (size_t i = 2; i < m->nparts; i++) {
        if (m->parts[i].data != data)
            continue;
        const struct part part = message_take(m, i);
        image->release = part.release;
        image->owner = part.owner;
    }
}

/* Gives the rows of messages of previous versions, which are shorter, the members that are not
 * known. */
static enum status expand_rows(struct reflection_table *t, uint64_t id, struct error *e)
{
    const bool before = !t->row_bytes || t->row_bytes == REFLECTION_ROW_BEFORE;
    if (!before && t->row_bytes != sizeof *t->rows)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 " has reflections of %" PRIu64
                         " bytes; expected %zu. Another version of braggpipe made it",
                         id, t->row_bytes, sizeof *t->rows);
    if (!before || !t->rows)
        return STATUS_OK;
    struct reflection_row *rows = mem_array(t->count, sizeof *rows);
    for (size_t i = 0; i < t->count; i++)
        memcpy(&rows[i], (const char *)t->rows + i * REFLECTION_ROW_BEFORE, REFLECTION_ROW_BEFORE);
    mem_free(t->rows);
    t->rows = rows;
    return STATUS_OK;
}

enum status codec_frame_decode(struct frame *f, const struct codec_expected *expected,
                               struct message *m, struct error *e)
{
    struct envelope envelope;
    enum status s = fields_decode(&envelope_table, &envelope, m, e);
    *f = envelope.frame;
    if (s == STATUS_OK)
        s = expand_rows(&f->reflections, f->recipe.id, e);
    if (s == STATUS_OK)
        take_pixels(&f->image, m);
    envelope.frame = *f;
    return s ? s : check_frame(&envelope, expected, e);
}
