/* The start message of a series: the detector and its settings. */
#include <math.h>

#include "base/alloc.h"
#include "base/units.h"
#include "gateway/dectris.h"

static void put_channels(struct cborpack *p, const struct content_options *o, double energy_eV)
{
    char name[DECTRIS_NAME_SIZE];
    cborpack_text(p, "channels");
    cborpack_array(p, dectris_channels(o));
    for (size_t i = 0; i < dectris_channels(o); i++)
        cborpack_text(p, dectris_channel(o, i, name));
    cborpack_text(p, "threshold_energy");
    cborpack_map(p, dectris_channels(o));
    for (size_t i = 0; i < dectris_channels(o); i++)
        cborpack_key_real(p, dectris_channel(o, i, name),
                          o->nthresholds ? o->threshold_eV[i] : energy_eV / 2);
}

static void put_axis(struct cborpack *p, const char *name, double start_deg, double increment_deg)
{
    cborpack_text(p, name);
    cborpack_map(p, 2);
    cborpack_key_real(p, "increment", increment_deg);
    cborpack_key_real(p, "start", start_deg);
}

/* Writes the angle at which image 0 begins.  *r may belong to a later image. */
static void put_goniometer(struct cborpack *p, const struct panel *panel, const struct recipe *r)
{
    const double first_rad = r->phi_rad - (double)r->id * r->osc_rad;
    cborpack_text(p, "goniometer");
    cborpack_map(p, 2);
    put_axis(p, "omega", rad_to_deg(first_rad), rad_to_deg(r->osc_rad));
    put_axis(p, "two_theta", rad_to_deg(panel->twotheta_rad), 0);
}

/* The largest value that means photons: the largest value of a type means "no data". */
static uint64_t saturation(const struct experiment *x, enum pixel_type type)
{
    const double most = type == PIXEL_U16 ? UINT16_MAX - 1 : UINT32_MAX - 1.0;
    return (uint64_t)(x->saturation > 0 ? fmin(x->saturation, most) : most);
}

enum { FIXED_PAIRS = 30 };

static void put_fixed(struct cborpack *p, const struct content_options *o,
                      const struct experiment *x, const struct frame *f)
{
    const struct panel *panel = x->panels;
    const struct series *s = o->series;
    const double wavelength_m = incident_beam(x, &f->recipe).mean_m;
    const double period_s = (double)s->period_ns / 1e9;
    dectris_put_series(p, "start", s);
    cborpack_key_date(p, "arm_date", s->start_ns);
    cborpack_key_real(p, "beam_center_x", panel->beam_fast_m / panel->pixel_m);
    cborpack_key_real(p, "beam_center_y", panel->beam_slow_m / panel->pixel_m);
    put_channels(p, o, m_to_ev(wavelength_m));
    cborpack_key_real(p, "count_time", period_s);
    cborpack_key_bool(p, "countrate_correction_enabled", false);
    cborpack_key_text(p, "detector_description", o->source);
    cborpack_key_text(p, "detector_serial_number", "0");
    cborpack_key_reals(p, "detector_translation", (double[]){0, 0, panel->distance_m}, 3);
    cborpack_key_bool(p, "flatfield_enabled", false);
    cborpack_key_real(p, "frame_time", period_s);
    put_goniometer(p, panel, &f->recipe);
    cborpack_key_text(p, "image_dtype", delivery_dtype(f->image.type));
    cborpack_key_uint(p, "image_size_x", (uint64_t)panel->fast_pixels);
    cborpack_key_uint(p, "image_size_y", (uint64_t)panel->slow_pixels);
    cborpack_key_real(p, "incident_energy", m_to_ev(wavelength_m));
    cborpack_key_real(p, "incident_wavelength", m_to_angstrom(wavelength_m));
    cborpack_key_uint(p, "number_of_images", s->images);
    cborpack_key_bool(p, "pixel_mask_enabled", false);
    cborpack_key_real(p, "pixel_size_x", panel->pixel_m);
    cborpack_key_real(p, "pixel_size_y", panel->pixel_m);
    cborpack_key_uint(p, "saturation_value", saturation(x, f->image.type));
    cborpack_key_text(p, "sensor_material", panel_material(panel));
    cborpack_key_real(p, "sensor_thickness", panel_depth_m(panel));
    cborpack_key_text(p, "user_data", o->appendix ? o->appendix : "");
    cborpack_key_bool(p, "virtual_pixel_interpolation_enabled", false);
}

/* --- mask and flat field ---------------------------------------------------------- */

static void fill_mask(const struct experiment *x, uint32_t *mask)
{
    const struct panel *panel = x->panels;
    for (int64_t s = 0; s < panel->slow_pixels; s++)
        for (int64_t f = 0; f < panel->fast_pixels; f++)
            mask[s * panel->fast_pixels + f] =
                panel_computes(panel, f, s) ? 0
                                            : experiment_mask_word(x, s * panel->fast_pixels + f);
}

/* Writes the same array for every channel. */
static void put_for_all(struct cborpack *p, const struct content_options *o, const char *key,
                        const struct dectris_array *a)
{
    char name[DECTRIS_NAME_SIZE];
    cborpack_text(p, key);
    cborpack_map(p, dectris_channels(o));
    for (size_t i = 0; i < dectris_channels(o); i++) {
        cborpack_text(p, dectris_channel(o, i, name));
        dectris_put_array(p, a, o->compression);
    }
}

/* Writes the mask and the flat field, whose items of four bytes are built in `items`, one array
 * after the other. */
static void put_arrays(struct cborpack *p, const struct content_options *o,
                       const struct experiment *x, void *items)
{
    const struct panel *panel = x->panels;
    struct dectris_array a = {.slow = (size_t)panel->slow_pixels,
                              .fast = (size_t)panel->fast_pixels,
                              .type = DECTRIS_F32,
                              .items = items};
    float *flat = items;
    for (size_t i = 0; i < a.slow * a.fast; i++)
        flat[i] = 1;
    put_for_all(p, o, "flatfield", &a);
    fill_mask(x, items);
    a.type = DECTRIS_U32;
    put_for_all(p, o, "pixel_mask", &a);
}

static enum status start_with(const struct content_options *o, const struct experiment *x,
                              const struct frame *f, void *items, struct message *m,
                              struct error *e)
{
    const struct dectris_array a = {.slow = (size_t)x->panels->slow_pixels,
                                    .fast = (size_t)x->panels->fast_pixels,
                                    .type = DECTRIS_U32};
    struct cborpack p;
    const size_t room = items ? dectris_room(&a, o->compression) + CBORPACK_HEAD : 0;
    size_t all;
    if (!size_multiply(room, 2 * dectris_channels(o), &all))
        return error_memory(e, "the mask for the clients");
    const enum status s = cborpack_open(&p, DECTRIS_METADATA_MAX + all, e);
    if (s)
        return s;
    cborpack_map(&p, items ? FIXED_PAIRS + 2 : FIXED_PAIRS);
    put_fixed(&p, o, x, f);
    if (items)
        put_arrays(&p, o, x, items);
    return cborpack_finish(&p, m, e);
}

enum status dectris_start(const struct content_options *o, const struct experiment *x,
                          const struct frame *f, struct message *m, struct error *e)
{
    void *items = NULL;
    if (x->npanels != 1)
        return dectris_refuse_panels(x->npanels, e);
    if (!o->brief) {
        items = mem_array((size_t)experiment_pixels(x), 4);
        if (!items)
            return error_memory(e, "the mask for the clients");
    }
    const enum status s = start_with(o, x, f, items, m, e);
    mem_free(items);
    return s;
}
