/*
 * json-array: a message of two parts, a header in JSON and the bytes of the image.  It is meant for
 * clients of your own, which read it with a few lines in any language that has ZeroMQ and JSON.
 *
 * This is also the protocol to copy, because it is the smallest one that is complete.  A protocol
 * is the table at the end of this file.  bragg-serve does everything else: sockets, clients, rates,
 * policies, the type of the pixels, the checks, and faults on purpose.
 *
 * For a protocol of your own:
 *   1. copy this file to common/gateway/NAME.c, and rename protocol_json_array;
 *   2. declare the table in gateway/protocol.h, and add it to stages/serve/serve_options.c: to
 *      protocols[] and, at the same place, to PROTOCOLS;
 *   3. copy tests/unit/gateway_json_array.c, which reads a message byte by byte;
 *   4. describe the messages in stages/serve/bragg-serve.1.
 *
 * Rules: a message belongs to the client.  It must not point into the frame, which may be gone when
 * a slow client reads.  It must not contradict itself, because clients do not check it.
 */
#include "base/units.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

/* Adds the named values of one frame.  delivery_check refuses a number that is not finite, and a
 * key that begins with another key. */
static void json_array_describe(const struct content_options *o, const struct experiment *x,
                                const struct frame *f, struct delivery *d)
{
    delivery_int(d, "frame", (int64_t)f->recipe.id);
    delivery_text(d, "detector", o->source);
    delivery_text(d, "unit", f->image.unit == UNIT_ADU ? "adu" : "photons");
    delivery_real(d, "time_s", (double)d->time_ns / 1e9);
    delivery_real(d, "wavelength_A", m_to_angstrom(d->beam.mean_m));
    delivery_real(d, "distance_mm", m_to_mm(x->panels[0].distance_m));
    delivery_real(d, "pixel_mm", m_to_mm(x->panels[0].pixel_m));
    delivery_real(d, "largest_value", x->saturation);
    delivery_truth(d, x, &f->recipe);
}

/* Writes the two parts of the message: the header, which begins with type and shape of the array as
 * numpy names them, and the pixels.  pack_copy copies the pixels, so that the message does not
 * point into the frame. */
static enum status json_array_encode(const struct content_options *o, const struct delivery *d,
                                     struct message *m, struct error *e)
{
    struct jsonpack j;
    (void)o;
    enum status s = jsonpack_open(&j, e);
    if (s)
        return s;
    jsonpack_text(&j, "array", d->image_key);
    jsonpack_text(&j, "dtype", delivery_dtype(d->type));
    jsonpack_uints(&j, "shape", d->shape, d->ndims);
    for (size_t i = 0; i < d->nvalues; i++)
        jsonpack_value(&j, &d->values[i]);
    s = jsonpack_finish(&j, m, e);
    return s ? s : pack_copy(m, d->pixels, d->pixel_bytes, e);
}

/* The protocol.  gateway/protocol.h explains all members; start and end messages are left out. */
const struct protocol protocol_json_array = {
    .name = "json-array",
    .versions = (const char *const[]){"1", NULL},
    .image_key = "image",
    .source = "braggpipe",
    .allowed = 1 << PIXEL_F32 | 1 << PIXEL_U16 | 1 << PIXEL_U32 | 1 << PIXEL_I32,
    .otherwise = PIXEL_I32,
    .socket = GATEWAY_PUSH,
    .request = "next",
    .describe = json_array_describe,
    .encode = json_array_encode,
};
