#include "base/alloc.h"
#include "wire/codec.h"
#include "wire/codec_source.h"
#include "wire/fields.h"

/* A member of the struct that a table describes. */
#define AT(member) .offset = offsetof(struct OBJECT, member)
#define REAL(name)                  \
    {                               \
#name, FIELD_REAL, AT(name) \
    }
/* Absent unless the bool `has` is set. */
#define GIVEN(name, n, has)                                                         \
    {                                                                               \
#name, FIELD_REAL, AT(name), .count = n, .flags = FIELD_ABSENT,             \
                                     .present_offset = offsetof(struct OBJECT, has) \
    }
/* May be absent, then it is zero. */
#define LATE(name, kind, n)                                      \
    {                                                            \
#name, kind, AT(name), .count = n, .flags = FIELD_ABSENT \
    }
#define REALS(name, n)                          \
    {                                           \
#name, FIELD_REAL, AT(name), .count = n \
    }
#define I64(name)                  \
    {                              \
#name, FIELD_I64, AT(name) \
    }
#define INT(name)                  \
    {                              \
#name, FIELD_INT, AT(name) \
    }
#define BOOL(name)                  \
    {                               \
#name, FIELD_BOOL, AT(name) \
    }

#define OBJECT roi
static const struct field roi_fields[] = {I64(fast_max), I64(fast_min), I64(slow_max),
                                          I64(slow_min)};
static const struct table roi_table = {"roi", sizeof(struct roi), FIELDS(roi_fields)};
#undef OBJECT

static size_t mask_bytes(const void *object)
{
    const struct panel *p = object;
    size_t bytes;
    if (p->fast_pixels < 0 || p->slow_pixels < 0 ||
        !size_multiply((size_t)p->fast_pixels, (size_t)p->slow_pixels, &bytes))
        return SIZE_MAX;
    return bytes;
}

#define OBJECT panel
static const struct field panel_fields[] = {
    REAL(absorption_1_m),
    REAL(beam_fast_m),
    REAL(beam_slow_m),
    REAL(beam_x_mm),
    REAL(beam_y_mm),
    REAL(close_distance_m),
    REAL(close_fast_m),
    REAL(close_slow_m),
    BOOL(curved),
    REAL(distance_m),
    REALS(fast, 3),
    I64(fast_pixels),
    I64(first_pixel),
    LATE(grid_fast, FIELD_I64, 0),
    LATE(grid_m, FIELD_REAL, 3),
    LATE(grid_slow, FIELD_I64, 0),
    LATE(layer_depth_m, FIELD_REAL, 0),
    REAL(layer_m),
    INT(layers),
    {"mask", FIELD_DATA, AT(mask), .bytes = mask_bytes, .flags = FIELD_OPTIONAL},
    LATE(material, FIELD_TEXT, MATERIAL_SIZE),
    REALS(normal, 3),
    REALS(origin_m, 3),
    REAL(pixel_m),
    BOOL(point_pixel),
    {"roi", FIELD_MAP, AT(roi), .table = &roi_table},
    REALS(slow, 3),
    I64(slow_pixels),
    REAL(thickness_m),
    REAL(twotheta_rad),
};
static const struct table panel_table = {"panel", sizeof(struct panel), FIELDS(panel_fields)};
#undef OBJECT

static size_t beam_source_bytes(const void *object)
{
    return source_bytes(((const struct beam *)object)->nsources);
}

#define OBJECT beam
static const struct field beam_fields[] = {
    REALS(direction, 3),
    REAL(fluence_ph_m2),
    GIVEN(height_m, 0, has_height),
    REAL(kahn),
    BOOL(no_polarization),
    {"nsources", FIELD_SIZE, AT(nsources)},
    REALS(polarization, 3),
    REAL(size_m),
    {"sources", FIELD_DATA, AT(sources), .bytes = beam_source_bytes, .flags = FIELD_REALS},
    REAL(wavelength_m),
};
static const struct table beam_table = {"beam", sizeof(struct beam), FIELDS(beam_fields)};
#undef OBJECT

static size_t table_bytes(const void *object)
{
    const struct hkl_table *t = object;
    size_t bytes = sizeof *t->F;
    for (int i = 0; i < 3; i++)
        if (t->count[i] < 0 || !size_multiply(bytes, (size_t)t->count[i], &bytes))
            return SIZE_MAX;
    return bytes;
}

#define OBJECT hkl_table
static const struct field hkl_fields[] = {
    {"F", FIELD_DATA, AT(F), .bytes = table_bytes, .flags = FIELD_REALS},
    {"count", FIELD_INT, AT(count), .count = 3},
    REAL(default_F),
    {"min", FIELD_INT, AT(min), .count = 3},
};
static const struct table hkl_map = {"table", sizeof(struct hkl_table), FIELDS(hkl_fields)};
#undef OBJECT

#define OBJECT crystal
static const struct field crystal_fields[] = {
    GIVEN(blocks, 0, has_blocks),
    REALS(cell_A, 3),
    REALS(cell_rad, 3),
    REALS(cells, 3),
    REAL(fudge),
    BOOL(has_cell),
    BOOL(interpolate),
    {"name", FIELD_TEXT, AT(name), .count = sizeof(((struct crystal *)0)->name)},
    REALS(reciprocal_A, 9),
    {"shape", FIELD_ENUM, AT(shape), .limit = SHAPE_TOPHAT},
    GIVEN(size_m, 3, has_size),
    {"table", FIELD_MAP, AT(table), .table = &hkl_map},
};
static const struct table crystal_table = {"crystal", sizeof(struct crystal),
                                           FIELDS(crystal_fields)};
#undef OBJECT

#define OBJECT sampling
static const struct field sampling_fields[] = {
    BOOL(each_polarization),
    BOOL(each_solid_angle),
    BOOL(each_thickness),
    INT(oversample),
};
static const struct table sampling_table = {"sampling", sizeof(struct sampling),
                                            FIELDS(sampling_fields)};
#undef OBJECT

#define OBJECT experiment
static const struct field experiment_fields[] = {
    REAL(adc_offset),
    {"beam", FIELD_MAP, AT(beam), .table = &beam_table},
    {"convention", FIELD_ENUM, AT(convention), .limit = CONVENTION_CUSTOM},
    {"crystals", FIELD_LIST, AT(crystals), .table = &crystal_table,
     .count_offset = offsetof(struct experiment, ncrystals)},
    REAL(dmin_m),
    REAL(gain),
    {"history", FIELD_TEXT, AT(history), .count = EXPERIMENT_HISTORY_SIZE},
    {"lineage", FIELD_TEXT, AT(lineage), .count = sizeof(((struct experiment *)0)->lineage)},
    {"panels", FIELD_LIST, AT(panels), .table = &panel_table,
     .count_offset = offsetof(struct experiment, npanels)},
    {"physics", FIELD_ENUM, AT(physics), .limit = PHYSICS_FAITHFUL},
    {"sampling", FIELD_MAP, AT(sampling), .table = &sampling_table},
    REAL(saturation),
    REALS(spindle, 3),
    REAL(water_m),
};
static const struct table experiment_table = {"experiment", sizeof(struct experiment),
                                              FIELDS(experiment_fields)};
#undef OBJECT

/* A place on a plane whose pixels can be counted in 32 bits. */
static bool on_grid(int64_t first, int64_t pixels)
{
    return first >= 0 && first <= INT32_MAX && pixels <= INT32_MAX - first;
}

/* Panels tile the frame's pixels without a gap; ROIs lie within their panels. */
static enum status check_panels(const struct experiment *x, struct error *e)
{
    int64_t pixels = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const size_t count = mask_bytes(p);
        if (p->fast_pixels < 1 || p->slow_pixels < 1 || count > INT64_MAX / 8 ||
            p->first_pixel != pixels || pixels > INT64_MAX / 8 || p->layers < 0 ||
            !on_grid(p->grid_fast, p->fast_pixels) || !on_grid(p->grid_slow, p->slow_pixels))
            return error_set(e, STATUS_INPUT,
                             "an experiment whose panel %zu has an impossible size", i);
        pixels += (int64_t)count;
        const struct roi *r = &p->roi;
        if (r->fast_min < 0 || r->slow_min < 0 || r->fast_max >= p->fast_pixels ||
            r->slow_max >= p->slow_pixels)
            return error_set(e, STATUS_INPUT, "an experiment whose panel %zu has a ROI outside", i);
    }
    return STATUS_OK;
}

enum status codec_experiment_encode(struct experiment *x, struct message *m, struct error *e)
{
    return fields_encode(&experiment_table, x, false, m, e);
}

enum status codec_experiment_decode(struct experiment *x, const struct message *m, struct error *e)
{
    const enum status s = fields_decode(&experiment_table, x, m, e);
    return s ? s : check_panels(x, e);
}
