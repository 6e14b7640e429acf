#include "gateway/dectris.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/isa.h"
#include "base/units.h"
#include "codec/bslz4.h"

enum status dectris_check_panels(size_t npanels, struct error *e)
{
    return npanels == 1 ? STATUS_OK
                        : error_set(e, STATUS_INPUT,
                                    "a series of a Dectris detector has images of one panel (got "
                                    "%zu panels)",
                                    npanels);
}

const char *dectris_date(uint64_t time_ns, char text[DECTRIS_DATE_SIZE])
{
    const time_t second = (time_t)(time_ns / 1000000000);
    const unsigned millisecond = (unsigned)(time_ns % 1000000000 / 1000000);
    struct tm t;
    char day[32];
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", gmtime_r(&second, &t));
    (void)snprintf(text, DECTRIS_DATE_SIZE, "%s.%03u+00:00", day, millisecond);
    return text;
}

/* Returns the largest value that means photons.  The largest value of an unsigned type means "no
 * data" and is excluded. */
static uint64_t cutoff_of(const struct experiment *x, enum pixel_type type)
{
    const double most = type == PIXEL_U16   ? UINT16_MAX - 1
                        : type == PIXEL_I32 ? INT32_MAX
                                            : UINT32_MAX - 1.0;
    return (uint64_t)(x->saturation > 0 ? fmin(x->saturation, most) : most);
}

/* Sets the axes.  Their angles are those at which image 0 begins, although *r may belong to a later
 * image. */
static void set_axes(struct dectris_setup *d, const struct panel *panel, const struct recipe *r)
{
    static const char *const names[DECTRIS_AXES] = {"chi", "kappa", "omega", "phi", "two_theta"};
    for (int i = 0; i < DECTRIS_AXES; i++)
        d->axes[i].name = names[i];
    d->axes[DECTRIS_OMEGA].start_deg = rad_to_deg(r->phi_rad - (double)r->id * r->osc_rad);
    d->axes[DECTRIS_OMEGA].increment_deg = rad_to_deg(r->osc_rad);
    d->axes[DECTRIS_TWO_THETA].start_deg = rad_to_deg(panel->twotheta_rad);
}

static void set_panel(struct dectris_setup *d, const struct panel *panel)
{
    d->fast = (size_t)panel->fast_pixels;
    d->slow = (size_t)panel->slow_pixels;
    d->pixel_m = panel->pixel_m;
    d->beam_center_x = panel->beam_fast_m / panel->pixel_m;
    d->beam_center_y = panel->beam_slow_m / panel->pixel_m;
    d->translation_m[0] = panel->beam_fast_m;
    d->translation_m[1] = panel->beam_slow_m;
    d->translation_m[2] = panel->distance_m;
    d->material = panel_material(panel);
    d->thickness_m = panel_depth_m(panel);
}

enum status dectris_describe(struct dectris_setup *d, const struct content_options *o,
                             const struct experiment *x, const struct frame *f, struct error *e)
{
    const struct series *s = o->series;
    const double wavelength_m = incident_beam(x, &f->recipe).mean_m;
    const enum status status = dectris_check_panels(x->npanels, e);
    *d = (struct dectris_setup){0};
    if (status)
        return status;
    set_panel(d, x->panels);
    set_axes(d, x->panels, &f->recipe);
    d->dtype = delivery_dtype(f->image.type);
    d->bits = 8 * (unsigned)pixel_size(f->image.type);
    d->wavelength_A = m_to_angstrom(wavelength_m);
    d->energy_eV = probe_energy_eV(x->probe, wavelength_m);
    d->nchannels = o->nthresholds ? (size_t)o->nthresholds : 1;
    for (size_t i = 0; i < d->nchannels; i++)
        d->threshold_eV[i] = o->nthresholds ? o->threshold_eV[i] : d->energy_eV / 2;
    d->frame_time_s = (double)s->period_ns / 1e9;
    d->count_time_s = (double)dectris_times(s, 0).real_ns / 1e9;
    d->cutoff = cutoff_of(x, f->image.type);
    (void)dectris_date(s->start_ns, d->date);
    return STATUS_OK;
}

struct dectris_times dectris_times(const struct series *s, uint64_t id)
{
    const uint64_t start_ns = id * s->period_ns;
    const uint64_t most_ns = s->period_ns - DECTRIS_READOUT_NS;  // --rate has at most 1 MHz
    const uint64_t real_ns = s->count_ns ? s->count_ns : most_ns;
    return (struct dectris_times){start_ns, start_ns + real_ns, real_ns};
}

void dectris_fill_flat(const struct dectris_setup *d, float *flat)
{
    for (size_t i = 0; i < d->slow * d->fast; i++)
        flat[i] = 1;
}

uint64_t dectris_fill_mask(const struct content_options *o, const struct experiment *x,
                           uint32_t *mask)
{
    const struct panel *panel = x->panels;
    uint64_t masked = 0;
    for (int64_t s = 0; s < panel->slow_pixels; s++)
        for (int64_t f = 0; f < panel->fast_pixels; f++) {
            const int64_t i = s * panel->fast_pixels + f;
            mask[i] = o->mask                       ? o->mask[i]
                      : panel_computes(panel, f, s) ? 0
                                                    : experiment_mask_word(x, i);
            masked += mask[i] != 0;
        }
    return masked;
}

size_t dectris_pack(const struct image *image, const void *items, size_t count, size_t size,
                    const struct bslz4_blanks *blanks, uint8_t *out)
{
    uint32_t sum = 0;
    if (image && image->chunk && !blanks) {
        memcpy(out, image->chunk, image->chunk_bytes);
        return image->chunk_bytes;
    }
    const bool sums = image && image->was_read;
    const size_t length =
        bslz4_compress_blanked(isa_best(), items, count, size, blanks, out, sums ? &sum : NULL);
    if (sums)
        image_was_summed(image, sum);
    return length;
}

enum status dectris_counts(const struct content_options *o, const struct delivery *d,
                           size_t channel, bool *counted, struct error *e)
{
    const double threshold_eV = o->nthresholds ? o->threshold_eV[channel] : 0;
    const double low_eV = probe_energy_eV(d->probe, d->beam.longest_m),
                 high_eV = probe_energy_eV(d->probe, d->beam.shortest_m);
    *counted = threshold_eV < low_eV;
    if (*counted || threshold_eV >= high_eV)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "frame %" PRIu64 ": the threshold %g eV is within the spectrum, %g to %g eV; "
                     "expected a threshold below or above it",
                     d->id, threshold_eV, low_eV, high_eV);
}
