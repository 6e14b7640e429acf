/*
 * array-1.0: the stream of detectors at PSI, which mflow and streamvis read.  A message has exactly
 * two parts: a header in JSON, and the pixels.  All panels form one slab along the slow axis.
 */
#include "base/alloc.h"
#include "base/units.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

static void psi_array_describe(const struct content_options *o, const struct experiment *x,
                               const struct frame *f, struct delivery *d)
{
    const struct panel *p = x->panels;
    delivery_int(d, "frame", (int64_t)f->recipe.id);
    delivery_text(d, "endianness", "little");
    delivery_text(d, "encoding", "none");
    delivery_text(d, "source", "braggpipe");
    delivery_text(d, "detector_name", o->source);
    delivery_pulse(d, "pulse_id", x, &f->recipe);
    delivery_bool(d, "is_good_frame", true);
    if (o->truth)
        delivery_bool(d, "is_hit_frame", f->recipe.nlattices > 0);
    delivery_saturated(d, x, &f->image);
    delivery_real(d, "beam_energy", m_to_ev(d->beam.mean_m));
    delivery_real(d, "detector_distance", p->distance_m);
    delivery_real(d, "beam_center_x", p->beam_fast_m / p->pixel_m);
    delivery_real(d, "beam_center_y", p->beam_slow_m / p->pixel_m);
}

/* Adds the spots.  Clients count pixels from the corner of the image, not from the centre of its
 * first pixel. */
static void put_spots(struct jsonpack *j, const struct delivery *d)
{
    static const char *const keys[] = {"spot_x", "spot_y", "spot_intensity"};
    double *numbers = mem_array(d->npeaks + 1, sizeof *numbers);
    jsonpack_uint(j, "number_of_spots", d->npeaks);
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < d->npeaks; i++)
            numbers[i] = k == 0   ? d->peaks[i].fast + 0.5
                         : k == 1 ? d->peaks[i].slow + 0.5
                                  : d->peaks[i].intensity;
        jsonpack_reals(j, keys[k], numbers, d->npeaks);
    }
    mem_free(numbers);
}

static enum status psi_array_encode(const struct content_options *o, const struct delivery *d,
                                    struct message *m, struct error *e)
{
    struct jsonpack j;
    (void)o;
    const size_t fast = d->shape[d->ndims - 1], slow = d->pixel_bytes / pixel_size(d->type) / fast;
    enum status s = jsonpack_open(&j, e);
    if (s)
        return s;
    jsonpack_text(&j, "htype", "array-1.0");
    jsonpack_text(&j, "type", delivery_dtype(d->type));
    jsonpack_uints(&j, "shape", (const size_t[]){slow, fast}, 2);
    jsonpack_uints(&j, "tags", NULL, 0);
    for (size_t i = 0; i < d->nvalues; i++)
        jsonpack_value(&j, &d->values[i]);
    if (d->peaks)
        put_spots(&j, d);
    s = jsonpack_finish(&j, m, e);
    return s ? s : pack_copy(m, d->pixels, d->pixel_bytes, e);
}

const struct protocol protocol_psi_array = {
    .name = "array-1.0",
    .versions = (const char *const[]){"1.0", NULL},
    .image_key = "image",
    .source = "braggpipe",
    .allowed = 1 << PIXEL_F32 | 1 << PIXEL_U16 | 1 << PIXEL_U32 | 1 << PIXEL_I32,
    .otherwise = PIXEL_I32,
    .socket = GATEWAY_PUSH,
    .describe = psi_array_describe,
    .encode = psi_array_encode,
};
