#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/codec.h"
#include "wire/codec_source.h"
#include "wire/fields.h"

/* What part 1 of a frame describes. */
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
    MEMBER(cells_m, DATA, .bytes = cells_bytes, .flags = FIELD_REALS),
    MEMBER(crystal, U32),
    MEMBER(domains, DATA, .bytes = domains_bytes, .flags = FIELD_REALS),
    MEMBER(mosaic, BOOL),
    MEMBER(ndomains, SIZE),
    MEMBER(nphi, SIZE),
    MEMBER(phi_rad, DATA, .bytes = phi_bytes, .flags = FIELD_REALS),
    MEMBER(reciprocal_A, REAL, .count = 9),
    MEMBER(rotation, REAL, .count = 9),
    MEMBER(weight, REAL),
};
TABLE(lattice);
#undef OBJECT

static size_t recipe_source_bytes(const void *object)
{
    return source_bytes(((const struct recipe *)object)->nsources);
}

#define OBJECT recipe
static const struct field recipe_fields[] = {
    MEMBER(id, U64),
    MEMBER(lattices, LIST, .table = &lattice_table,
           .count_offset = offsetof(struct recipe, nlattices)),
    MEMBER(nsources, SIZE),
    MEMBER(osc_rad, REAL),
    MEMBER(phi_rad, REAL),
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
    size_t bytes;
    return size_multiply(t->count, sizeof *t->rows, &bytes) ? bytes : SIZE_MAX;
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
    const enum status s = fields_encode(&envelope_table, &envelope, true, m, e);
    if (s == STATUS_OK && image.count) {  // pixels come first: "image" is the first key
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
                                      .detector_moves = x->detector_moves};
    memcpy(expected.lineage, x->lineage, sizeof expected.lineage);
    return expected;
}

/* Rows are of lattices of the frame, and their pixels and labels within it. */
static bool are_consistent(const struct reflection_table *t, const struct recipe *r,
                           const struct codec_expected *expected)
{
    const size_t pixels = expected->pixels;
    size_t left = t->npixels;
    for (size_t i = 0; i < t->count; i++) {
        const struct reflection_row *row = &t->rows[i];
        const double reals[] = {
            row->fast,  row->slow,         row->photons,    row->phi_deg,
            row->s_1_A, (double)row->peak, (double)row->F2, (double)row->background};
        for (size_t k = 0; k < sizeof reals / sizeof *reals; k++)
            if (!isfinite(reals[k]))
                return false;
        if (row->lattice < 0 || (size_t)row->lattice >= r->nlattices || row->panel < 0 ||
            (size_t)row->panel >= expected->panels || row->pixels < 0)
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

static enum status check_frame(const struct envelope *n, const struct codec_expected *expected,
                               struct error *e)
{
    const struct recipe *r = &n->frame.recipe;
    const unsigned long long id = r->id;
    const size_t pixels = n->frame.image.count;
    if (strcmp(n->lineage, expected->lineage) != 0)
        return error_set(e, STATUS_INPUT, "frame %llu has lineage %s, the experiment %s", id,
                         n->lineage, expected->lineage);
    if (pixels && pixels != expected->pixels)
        return error_set(e, STATUS_INPUT, "frame %llu has %zu pixels, the experiment %zu", id,
                         pixels, expected->pixels);
    for (size_t i = 0; i < r->nlattices; i++)
        if (r->lattices[i].crystal >= expected->crystals)
            return error_set(e, STATUS_INPUT,
                             "frame %llu has a lattice of crystal %u, the experiment has %zu", id,
                             r->lattices[i].crystal, expected->crystals);
    if (r->has_shift && !expected->detector_moves)
        return error_set(e, STATUS_INPUT,
                         "frame %llu has a shift of the detector, which stands still in the "
                         "experiment",
                         id);
    if (!are_consistent(&n->frame.reflections, r, expected))
        return error_set(e, STATUS_INPUT, "frame %llu has reflections that contradict themselves",
                         id);
    const char *fault = planes_fault(&n->frame.planes, pixels);
    if (fault)
        return error_set(e, STATUS_INPUT, "frame %llu has planes %s", id, fault);
    if (n->frame.refined.local > n->frame.refined.count)
        return error_set(e, STATUS_INPUT,
                         "frame %llu was fitted by %zu parameters, of which %zu "
                         "are its own",
                         id, n->frame.refined.count, n->frame.refined.local);
    return STATUS_OK;
}

/* Moves the pixels from their part to the frame; unaligned ones are copied. */
static enum status take_pixels(struct image *image, struct message *m, struct error *e)
{
    void *data = image->pixels;
    if (!data)
        return STATUS_OK;
    if ((uintptr_t)data % sizeof(uint32_t)) {
        const size_t bytes = image_bytes(image);
        image->pixels = image->owner = mem_copy(data, bytes, 1);
        image->release = mem_free;
        return image->pixels ? STATUS_OK : error_memory(e, "an image");
    }
    for (size_t i = 2; i < m->nparts; i++) {
        if (m->parts[i].data != data)
            continue;
        const struct part part = message_take(m, i);
        image->release = part.release;
        image->owner = part.owner;
    }
    return STATUS_OK;
}

enum status codec_frame_decode(struct frame *f, const struct codec_expected *expected,
                               struct message *m, struct error *e)
{
    struct envelope envelope;
    enum status s = fields_decode(&envelope_table, &envelope, m, e);
    *f = envelope.frame;
    if (s == STATUS_OK)
        s = take_pixels(&f->image, m, e);
    envelope.frame = *f;
    return s ? s : check_frame(&envelope, expected, e);
}
