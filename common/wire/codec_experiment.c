/*
 * The experiment as a message.  Each struct has a table of its members, in the order of their
 * names, from which wire/fields.h makes the map and the parts of a message.  Rules that the tables
 * cannot express are checked after decoding: for example, panels must tile the frame.
 */
#include "wire/codec.h"

#include <stdint.h>

#include "base/alloc.h"
#include "wire/fields.h"

/* A list of sources is sent as payload: five float64 for each source, with the layout of struct
 * source. */
_Static_assert(sizeof(struct source) == 5 * sizeof(double),
               "a source travels as it lies in memory");

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
    size_t bytes;
    const size_t count = ((const struct beam *)object)->nsources;
    return size_multiply(count, sizeof(struct source), &bytes) ? bytes : SIZE_MAX;
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
