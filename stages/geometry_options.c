#include "geometry_options.h"

#include <string.h>

#include "base/units.h"
#include "physics/harmonic.h"

/* Vectors belong to the custom convention and choose it. */
static enum status choose_convention(const struct geometry_options *o, struct detector_request *d,
                                     struct error *e)
{
    const bool vectors = o->has_fast || o->has_slow || o->has_normal || o->has_twotheta_axis ||
                         o->has_beam || o->has_e_vector || o->has_spindle;
    d->convention =
        vectors && !o->has_convention ? CONVENTION_CUSTOM : (enum convention)o->convention;
    if (vectors && d->convention != CONVENTION_CUSTOM)
        return error_set(e, STATUS_USAGE, "axes and vectors need --convention=custom");
    return STATUS_OK;
}

static enum status set_roi(const struct geometry_options *o, struct detector_request *d,
                           struct error *e)
{
    if (o->roi[0] > o->roi[1] || o->roi[2] > o->roi[3])
        return error_set(
            e, STATUS_USAGE,
            "--roi: the region is empty, must be FIRST,LAST along fast, then along slow");
    d->has_roi = o->has_roi;
    d->roi = (struct roi){(int64_t)o->roi[0], (int64_t)o->roi[1], (int64_t)o->roi[2],
                          (int64_t)o->roi[3]};
    return STATUS_OK;
}

static void set_size(const struct geometry_options *o, struct detector_request *d)
{
    for (int i = 0; i < 2; i++) {
        d->pixels[i] = o->has_detsize ? 0 : (int64_t)o->detpixels[i];
        d->size_m[i] = o->has_detsize ? mm_to_m(o->detsize_mm[i]) : 0;
    }
}

static enum status set_detector(const struct geometry_options *o, struct detector_request *d,
                                struct error *e)
{
    enum status s;
    set_size(o, d);
    if ((s = choose_convention(o, d, e)) || (s = set_roi(o, d, e)))
        return s;
    d->pixel_m = mm_to_m(o->pixel_mm);
    d->has_distance = o->has_distance;
    d->distance_m = mm_to_m(o->distance_mm);
    d->has_close_distance = o->has_close_distance;
    d->close_distance_m = mm_to_m(o->close_distance_mm);
    d->has_beam_x = d->has_beam_y = o->has_beam_center;
    d->beam_x_m = mm_to_m(o->beam_center_mm[0]);
    d->beam_y_m = mm_to_m(o->beam_center_mm[1]);
    d->has_close_x = d->has_close_y = o->has_close_center;
    d->close_x_m = mm_to_m(o->close_center_mm[0]);
    d->close_y_m = mm_to_m(o->close_center_mm[1]);
    d->has_orgx = o->has_orgx;
    d->orgx_px = o->orgx_px;
    d->has_orgy = o->has_orgy;
    d->orgy_px = o->orgy_px;
    d->has_fast = o->has_fast;
    d->has_slow = o->has_slow;
    d->has_normal = o->has_normal;
    d->has_twotheta_axis = o->has_twotheta_axis;
    memcpy(d->fast, o->fast, sizeof d->fast);
    memcpy(d->slow, o->slow, sizeof d->slow);
    memcpy(d->normal, o->normal, sizeof d->normal);
    memcpy(d->twotheta_axis, o->twotheta_axis, sizeof d->twotheta_axis);
    d->has_pivot = o->has_pivot;
    d->pivot = (enum pivot)o->pivot;
    for (int i = 0; i < 3; i++)
        d->rotation_rad[i] = deg_to_rad(o->rotate_deg[i]);
    d->twotheta_rad = deg_to_rad(o->twotheta_deg);
    d->curved = o->curved;
    d->point_pixel = o->point_pixel;
    d->has_absorption = o->has_absorption;
    d->absorption_1_m = o->has_absorption ? 1.0 / um_to_m(o->absorption_um) : 0.0;
    d->harmonic_absorption_1_m =
        o->has_harmonic_absorption ? 1.0 / um_to_m(o->harmonic_absorption_um) : 0.0;
    d->thickness = (struct steps_request){.has_range = o->has_thickness,
                                          .range = um_to_m(o->thickness_um),
                                          .has_count = o->has_layers,
                                          .count = o->layers};
    return STATUS_OK;
}

/* A full range and the number of steps across it. */
static struct steps_request steps(bool has_range, double range, bool has_count, int64_t count)
{
    return (struct steps_request){
        .has_range = has_range, .range = range, .has_count = has_count, .count = count};
}

static void set_beam(const struct geometry_options *o, struct beam_request *b)
{
    b->wavelength_m = o->has_energy ? ev_to_m(o->energy_eV) : angstrom_to_m(o->wavelength_A);
    b->horizontal = o->has_divergence
                        ? steps(true, mrad_to_rad(o->divergence_mrad), o->has_divergence_steps,
                                o->divergence_steps)
                        : steps(o->has_divergence_h, mrad_to_rad(o->divergence_h_mrad),
                                o->has_divergence_h_steps, o->divergence_h_steps);
    b->vertical = o->has_divergence ? b->horizontal
                                    : steps(o->has_divergence_v, mrad_to_rad(o->divergence_v_mrad),
                                            o->has_divergence_v_steps, o->divergence_v_steps);
    b->square_divergence = o->square_divergence;
    b->dispersion = steps(o->has_dispersion, percent_to_fraction(o->dispersion_percent),
                          o->has_dispersion_steps, o->dispersion_steps);
    b->weights = o->has_weights                   ? (enum source_weights)o->weights
                 : o->physics == PHYSICS_FAITHFUL ? WEIGHTS_IGNORE
                                                  : WEIGHTS_APPLY;
    b->has_direction = o->has_beam;
    b->has_polarization = o->has_e_vector;
    b->has_spindle = o->has_spindle;
    memcpy(b->direction, o->beam, sizeof b->direction);
    memcpy(b->polarization, o->e_vector, sizeof b->polarization);
    memcpy(b->spindle, o->spindle, sizeof b->spindle);
    b->kahn = o->has_polarization || o->physics != PHYSICS_FAITHFUL ? o->polarization : 0.0;
    b->no_polarization = o->no_polarization;
    b->fluence_ph_m2 = o->fluence;
    b->harmonic_share = percent_to_fraction(o->harmonic_percent);
    b->harmonic_signal = o->has_harmonic_signal ? o->harmonic_signal
                         : o->has_harmonic      ? HARMONIC_ORDER
                                                : 0.0;
    b->flux_ph_s = o->flux;
    b->exposure_s = o->exposure_s;
    b->size_m = mm_to_m(o->beam_size_mm);
    b->height_m = o->has_beam_height ? mm_to_m(o->beam_height_mm) : 0.0;
}

enum status geometry_request(const struct geometry_options *o, struct request *r, struct error *e)
{
    memset(r, 0, sizeof *r);
    const enum status s = set_detector(o, &r->detector, e);
    if (s)
        return s;
    set_beam(o, &r->beam);
    r->physics = (enum physics)o->physics;
    r->oversample = o->oversample;
    r->each_thickness = o->each_thickness;
    r->each_polarization = o->each_polarization;
    r->each_solid_angle = o->each_solid_angle;
    r->dmin_m = o->dmin_A * 1e-10;
    return STATUS_OK;
}
