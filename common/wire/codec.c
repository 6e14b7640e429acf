/*
 * Encodes and decodes the model: an experiment and a frame.  Each struct has a table of its
 * members, in the order of their names, from which wire/fields.h makes the map and the parts of a
 * message.  Rules that the tables cannot express are checked after decoding: for example, panels
 * must tile the frame.
 */
#include "wire/codec.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/fields.h"

/* A list of sources is sent as payload: five float64 for each source, with the layout of struct
 * source. */
_Static_assert(sizeof(struct source) == 5 * sizeof(double),
               "a source travels as it lies in memory");

/* Returns the size of a list of `count` sources, in bytes.  SIZE_MAX: overflow. */
static size_t source_bytes(size_t count)
{
    size_t bytes;
    return size_multiply(count, sizeof(struct source), &bytes) ? bytes : SIZE_MAX;
}

/* --- the experiment ------------------------------------------------------ */

/* A member that is missing in the map unless the bool `has` is set. */
#define GIVEN(name, n, has)                               \
    MEMBER(name, REAL, .count = n, .flags = FIELD_ABSENT, \
           .present_offset = offsetof(struct OBJECT, has))

#define OBJECT roi
static const struct field roi_fields[] = {MEMBER(fast_max, I64), MEMBER(fast_min, I64),
                                          MEMBER(slow_max, I64), MEMBER(slow_min, I64)};
TABLE(roi);
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
    MEMBER(absorption_1_m, REAL),
    MEMBER(beam_fast_m, REAL),
    MEMBER(beam_slow_m, REAL),
    MEMBER(beam_x_mm, REAL),
    MEMBER(beam_y_mm, REAL),
    MEMBER(close_distance_m, REAL),
    MEMBER(close_fast_m, REAL),
    MEMBER(close_slow_m, REAL),
    MEMBER(curved, BOOL),
    MEMBER(distance_m, REAL),
    MEMBER(fast, REAL, .count = 3),
    MEMBER(fast_pixels, I64),
    MEMBER(first_pixel, I64),
    MEMBER(grid_fast, I64, .flags = FIELD_ABSENT),
    MEMBER(grid_m, REAL, .count = 3, .flags = FIELD_ABSENT),
    MEMBER(grid_slow, I64, .flags = FIELD_ABSENT),
    MEMBER(harmonic_absorption_1_m, REAL, .flags = FIELD_ABSENT),
    MEMBER(layer_depth_m, REAL, .flags = FIELD_ABSENT),
    MEMBER(layer_m, REAL),
    MEMBER(layers, INT),
    MEMBER(mask, DATA, .bytes = mask_bytes, .flags = FIELD_OPTIONAL),
    MEMBER(material, TEXT, .count = MATERIAL_SIZE, .flags = FIELD_ABSENT),
    MEMBER(normal, REAL, .count = 3),
    MEMBER(origin_m, REAL, .count = 3),
    MEMBER(pixel_m, REAL),
    MEMBER(point_pixel, BOOL),
    MEMBER(roi, MAP, .table = &roi_table),
    MEMBER(slow, REAL, .count = 3),
    MEMBER(slow_pixels, I64),
    MEMBER(thickness_m, REAL),
    MEMBER(twotheta_rad, REAL),
};
TABLE(panel);

/* The members of a misaligned panel that differ from those of the nominal panel. */
static const struct field true_panel_fields[] = {
    MEMBER(beam_fast_m, REAL),
    MEMBER(beam_slow_m, REAL),
    MEMBER(close_distance_m, REAL),
    MEMBER(close_fast_m, REAL),
    MEMBER(close_slow_m, REAL),
    MEMBER(distance_m, REAL),
    MEMBER(fast, REAL, .count = 3),
    MEMBER(layer_depth_m, REAL),
    MEMBER(layer_m, REAL),
    MEMBER(layers, INT),
    MEMBER(normal, REAL, .count = 3),
    MEMBER(origin_m, REAL, .count = 3),
    MEMBER(slow, REAL, .count = 3),
};
static const struct table true_panel_table = {"true_panel", sizeof(struct panel),
                                              FIELDS(true_panel_fields)};
#undef OBJECT

static size_t beam_source_bytes(const void *object)
{
    return source_bytes(((const struct beam *)object)->nsources);
}

#define OBJECT beam
static const struct field beam_fields[] = {
    MEMBER(adds_energy, BOOL, .flags = FIELD_ABSENT),
    MEMBER(direction, REAL, .count = 3),
    GIVEN(exposure_s, 0, has_exposure),
    MEMBER(fluence_ph_m2, REAL),
    MEMBER(harmonic_share, REAL, .flags = FIELD_ABSENT),
    MEMBER(harmonic_signal, REAL, .flags = FIELD_ABSENT),
    GIVEN(height_m, 0, has_height),
    MEMBER(kahn, REAL),
    MEMBER(no_polarization, BOOL),
    MEMBER(nsources, SIZE),
    MEMBER(polarization, REAL, .count = 3),
    MEMBER(size_m, REAL),
    MEMBER(sources, DATA, .bytes = beam_source_bytes, .flags = FIELD_REALS),
    MEMBER(wavelength_m, REAL),
};
TABLE(beam);
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
    MEMBER(F, DATA, .bytes = table_bytes, .flags = FIELD_REALS),
    MEMBER(count, INT, .count = 3),
    MEMBER(default_F, REAL),
    MEMBER(min, INT, .count = 3),
};
static const struct table hkl_map = {"table", sizeof(struct hkl_table), FIELDS(hkl_fields)};
#undef OBJECT

#define OBJECT crystal
static const struct field crystal_fields[] = {
    GIVEN(blocks, 0, has_blocks),
    MEMBER(cell_A, REAL, .count = 3),
    MEMBER(cell_rad, REAL, .count = 3),
    MEMBER(cells, REAL, .count = 3),
    GIVEN(cells_across, 3, has_ensemble),
    GIVEN(diffuse_gamma_A, 3, has_diffuse),
    GIVEN(diffuse_sigma_A, 3, has_diffuse),
    GIVEN(divergence_rms_rad, 0, has_ensemble),
    MEMBER(fudge, REAL),
    MEMBER(has_cell, BOOL),
    MEMBER(interpolate, BOOL),
    GIVEN(mosaic_rms_rad, 3, has_ensemble),
    MEMBER_TEXT(name),
    MEMBER(reciprocal_A, REAL, .count = 9),
    MEMBER(shape, ENUM, .limit = CRYSTAL_SHAPES_COUNT - 1),
    GIVEN(size_m, 3, has_size),
    GIVEN(strain_rms, 3, has_ensemble),
    MEMBER(table, MAP, .table = &hkl_map),
};
TABLE(crystal);
#undef OBJECT

#define OBJECT sampling
static const struct field sampling_fields[] = {
    MEMBER(each_polarization, BOOL),
    MEMBER(each_solid_angle, BOOL),
    MEMBER(each_thickness, BOOL),
    MEMBER(oversample, INT),
    MEMBER(smears, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct sampling, smears)),
};
TABLE(sampling);
#undef OBJECT

#define OBJECT pulse_ids
static const struct field pulse_fields[] = {
    MEMBER(facility, ENUM, .limit = FACILITY_SACLA),
    MEMBER(first, U64),
    MEMBER(has_cells, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct pulse_ids, has_cells)),
    MEMBER(pump_dark, U64, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct pulse_ids, has_pump)),
    MEMBER(pump_light, U64, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct pulse_ids, has_pump)),
    MEMBER(start_s, U64),
    MEMBER(step, U64),
    MEMBER(train_pulses, U64),
};
TABLE(pulse);
#undef OBJECT

static size_t reasons_bytes(const void *object)
{
    const struct experiment *x = object;
    size_t bytes = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        const size_t more = mask_bytes(&x->panels[i]);
        if (more > SIZE_MAX - bytes)
            return SIZE_MAX;
        bytes += more;
    }
    return bytes;
}

#define OBJECT experiment
static const struct field experiment_fields[] = {
    MEMBER(adc_offset, REAL),
    MEMBER(b_factors_vary, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, b_factors_vary)),
    MEMBER(beam, MAP, .table = &beam_table),
    MEMBER(convention, ENUM, .limit = CONVENTION_CUSTOM),
    MEMBER(counts_photons, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, counts_photons)),
    MEMBER(crystals, LIST, .table = &crystal_table,
           .count_offset = offsetof(struct experiment, ncrystals)),
    MEMBER(detector_moves, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, detector_moves)),
    MEMBER(dmin_m, REAL),
    MEMBER(gain, REAL),
    MEMBER(gain_switches, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, gain_switches)),
    MEMBER(history, TEXT, .count = EXPERIMENT_HISTORY_SIZE),
    MEMBER_TEXT(lineage),
    MEMBER(matter_varies, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, matter_varies)),
    MEMBER(panels, LIST, .table = &panel_table,
           .count_offset = offsetof(struct experiment, npanels)),
    MEMBER(physics, ENUM, .limit = PHYSICS_FAITHFUL),
    MEMBER(probe, ENUM, .limit = PROBE_NEUTRON, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, has_probe)),
    MEMBER(pulse_ids, MAP, .table = &pulse_table, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, has_pulse_ids)),
    GIVEN(readout_adu, 0, has_readout),
    MEMBER(reasons, DATA, .bytes = reasons_bytes, .flags = FIELD_OPTIONAL | FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, has_reasons)),
    MEMBER(sample_moves, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, sample_moves)),
    MEMBER(sampling, MAP, .table = &sampling_table),
    MEMBER(saturation, REAL),
    MEMBER(sizes_vary, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, sizes_vary)),
    MEMBER(spindle, REAL, .count = 3),
    MEMBER(spreads_vary, BOOL, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, spreads_vary)),
    MEMBER(true_panels, LIST, .table = &true_panel_table,
           .count_offset = offsetof(struct experiment, ntrue_panels), .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct experiment, is_misaligned)),
    MEMBER(water_m, REAL),
};
TABLE(experiment);
#undef OBJECT

/* Returns true if `pixels` pixels of a plane, from number `first` on, can be counted in 32 bits. */
static bool on_grid(int64_t first, int64_t pixels)
{
    return first >= 0 && first <= INT32_MAX && pixels <= INT32_MAX - first;
}

enum status codec_check_panels(const struct experiment *x, struct error *e)
{
    int64_t pixels = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const size_t count = mask_bytes(p);
        if (p->fast_pixels < 1 || p->slow_pixels < 1 || count > INT64_MAX / 8 ||
            p->first_pixel != pixels || pixels > INT64_MAX / 8 || p->layers < 0 ||
            !on_grid(p->grid_fast, p->fast_pixels) || !on_grid(p->grid_slow, p->slow_pixels))
            return error_set(e, STATUS_INPUT,
                             "the experiment is corrupt: panel %zu has an impossible size or place",
                             i);
        pixels += (int64_t)count;
        const struct roi *r = &p->roi;
        if (r->fast_min < 0 || r->slow_min < 0 || r->fast_max >= p->fast_pixels ||
            r->slow_max >= p->slow_pixels)
            return error_set(e, STATUS_INPUT,
                             "the experiment is corrupt: the region of interest of panel %zu is "
                             "outside the panel",
                             i);
    }
    return STATUS_OK;
}

/* Checks the true panels, and completes them with what they share with the panels.  STATUS_INPUT:
 * they contradict the panels. */
static enum status check_true_panels(struct experiment *x, struct error *e)
{
    if (x->is_misaligned && x->ntrue_panels != x->npanels)
        return error_set(e, STATUS_INPUT,
                         "the experiment is corrupt: it has %zu true panels; expected %zu, the "
                         "number of its panels",
                         x->ntrue_panels, x->npanels);
    for (size_t i = 0; i < x->ntrue_panels; i++) {
        struct panel *p = &x->true_panels[i];
        if (x->panels[i].curved || !(p->close_distance_m > 0.0) || p->layers < 0)
            return error_set(e, STATUS_INPUT,
                             "the experiment is corrupt: true panel %zu is curved, not behind the "
                             "sample, or has an impossible number of layers",
                             i);
        panel_complete_true(p, &x->panels[i]);
    }
    return STATUS_OK;
}

/* Refuses a beam of other particles than X-rays with properties that only X-rays have, and a signal
 * that nanoBragg does not have. */
static enum status check_probe(const struct experiment *x, struct error *e)
{
    if (x->beam.adds_energy && x->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_INPUT,
                         "the experiment is corrupt: its signal is that of energies, with the "
                         "rules of nanoBragg");
    if (!x->has_probe)
        return STATUS_OK;
    const char *why = x->probe == PROBE_XRAY             ? "X-rays, which are not stored"
                      : x->physics == PHYSICS_FAITHFUL   ? "rules of nanoBragg"
                      : !x->beam.no_polarization         ? "a polarization"
                      : !(x->beam.harmonic_share == 0.0) ? "a third harmonic"
                      : x->beam.adds_energy              ? "a signal of X-ray energies"
                      : x->water_m != 0.0                ? "nanoBragg's water"
                                                         : NULL;
    return why ? error_set(e, STATUS_INPUT, "the experiment is corrupt: its beam of %s has %s",
                           probe_particles(x->probe), why)
               : STATUS_OK;
}

enum status codec_experiment_encode(struct experiment *x, struct message *m, struct error *e)
{
    return fields_encode(&experiment_table, x, false, m, e);
}

enum status codec_experiment_decode(struct experiment *x, const struct message *m, struct error *e)
{
    enum status s = fields_decode(&experiment_table, x, m, e);
    s = s ? s : codec_check_panels(x, e);
    s = s ? s : check_probe(x, e);
    return s ? s : check_true_panels(x, e);
}

/* --- the frame ----------------------------------------------------------- */

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
    return source_bytes(((const struct recipe *)object)->nsources);
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
