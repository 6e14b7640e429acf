/*
 * lclstreamer: messages of LCLStreamer with its serializer "simplon".  A message is one part: a
 * byte that says what follows, and a map in CBOR.  'c' is a control message (start or stop), 'm' an
 * image.  The map has no tags, because the library that clients use does not know them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/isa.h"
#include "base/units.h"
#include "base/vec.h"
#include "codec/bslz4.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

enum {
    METADATA_MAX = 65536,  // bytes of a message without its pixels
    BLOCK_ITEMS = 4096,    // pixels of a block of compressed pixels
    SHORT_TEXT = 64,
};

static const char CONTROL = 'c', IMAGE = 'm';

/* Writes the number of the run, which is a text. */
static void put_run(struct cborpack *p, const char *key, const struct content_options *o)
{
    char run[SHORT_TEXT];
    (void)snprintf(run, sizeof run, "%" PRIu64, o->series->number);
    cborpack_key_text(p, key, run);
}

/* Writes the slab that all panels form along the slow axis, such as "1028x1030". */
static void put_shape(struct cborpack *p, const struct experiment *x)
{
    char shape[SHORT_TEXT];
    const int64_t fast = x->panels[0].fast_pixels;
    (void)snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64, experiment_pixels(x) / fast, fast);
    cborpack_key_text(p, "shape", shape);
}

static void put_detector(struct cborpack *p, const struct content_options *o,
                         const struct experiment *x)
{
    char thickness[SHORT_TEXT];
    (void)snprintf(thickness, sizeof thickness, "%.9g", panel_depth_m(x->panels));
    cborpack_text(p, "detector");
    cborpack_map(p, 7);
    cborpack_key_text(p, "name", o->source);
    cborpack_key_text(p, "id", "braggpipe");
    cborpack_key_text(p, "type", "AreaDetector");
    cborpack_key_text(p, "geometry", "");
    cborpack_key_text(p, "pixel_coords", "");
    cborpack_key_text(p, "material", panel_material(x->panels));
    cborpack_key_text(p, "thickness", thickness);
}

/* Writes the polarization, with its axis in the laboratory frame of the client. */
static void put_polarization(struct cborpack *p, const struct content_options *o,
                             const struct experiment *x)
{
    double axis[3];
    mat_apply(o->lab, x->beam.polarization, axis);
    cborpack_text(p, "polarization");
    cborpack_map(p, 2);
    cborpack_key_real(p, "fraction", beam_fraction_along(&x->beam, x->beam.polarization));
    cborpack_key_reals(p, "axis", axis, 3);
}

static enum status lclstreamer_start(const struct content_options *o, const struct experiment *x,
                                     const struct frame *f, struct message *m, struct error *e)
{
    struct cborpack p;
    char text[SHORT_TEXT];
    const double start_s = (double)o->series->start_ns / 1e9;
    cborpack_open_after(&p, CONTROL, METADATA_MAX);
    cborpack_map(&p, 15);
    cborpack_key_text(&p, "type", "start");
    put_run(&p, "run_number", o);
    (void)snprintf(text, sizeof text, "%.3f", start_s);
    cborpack_key_text(&p, "start_time", text);
    cborpack_key_text(&p, "duration", "N/A");
    cborpack_key_text(&p, "beamline", "SIM");
    cborpack_key_text(&p, "experiment", "braggpipe");
    cborpack_key_text(&p, "beam_type", "X-ray");
    put_polarization(&p, o, x);
    (void)snprintf(text, sizeof text, "%.9gHz", 1e9 / (double)o->series->period_ns);
    cborpack_key_text(&p, "data_collection_rate", text);
    cborpack_key_text(&p, "datatype", delivery_dtype(f->image.type));
    put_shape(&p, x);
    cborpack_key_text(&p, "algorithm", "bitshuffle-lz4");
    put_detector(&p, o, x);
    cborpack_key_uint(&p, "message_id", 1);
    cborpack_key_real(&p, "timestamp", start_s);
    return cborpack_finish(&p, m, e);
}

static enum status lclstreamer_end(const struct content_options *o, struct message *m,
                                   struct error *e)
{
    struct cborpack p;
    cborpack_open_after(&p, CONTROL, METADATA_MAX);
    cborpack_map(&p, 3);
    cborpack_key_text(&p, "type", "stop");
    put_run(&p, "run", o);
    cborpack_key_real(&p, "timestamp", (double)clock_unix_ns() / 1e9);
    return cborpack_finish(&p, m, e);
}

static void lclstreamer_describe(const struct content_options *o, const struct experiment *x,
                                 const struct frame *f, struct delivery *d)
{
    (void)o, (void)x;
    (void)snprintf(d->id_text, sizeof d->id_text, "%" PRIu64, f->recipe.id);
    delivery_real(d, "photon_energy", m_to_ev(d->beam.mean_m));
    delivery_int(d, "photon_wavelength", 0);  // as at LCLS, where the energy is what is measured
    delivery_real(d, "sum", image_range(&f->image).sum);
    delivery_int(d, "message_id", (int64_t)f->recipe.id + 1);
    delivery_text(d, "timestamp", d->id_text);
    delivery_int(d, "frame_id", (int64_t)f->recipe.id);
    delivery_truth(d, x, &f->recipe);
}

/* Writes the direction of the beam, which is along its axis. */
static void put_direction(struct cborpack *p)
{
    static const char *const keys[] = {"angle_x", "angle_y", "position_x", "position_y"};
    cborpack_text(p, "beam_direction");
    cborpack_map(p, 4);
    for (int i = 0; i < 4; i++)
        cborpack_key_real(p, keys[i], 0);
}

static enum status lclstreamer_encode(const struct content_options *o, const struct delivery *d,
                                      struct message *m, struct error *e)
{
    struct cborpack p;
    const size_t size = pixel_size(d->type), count = d->pixel_bytes / size;
    const size_t room = bslz4_bound(count, size);
    if (!room)
        return error_set(e, STATUS_INPUT, "an image of %zu bytes is too large", d->pixel_bytes);
    cborpack_open_after(&p, IMAGE, METADATA_MAX + room);
    cborpack_map(&p, d->nvalues + 5);
    cborpack_key_text(&p, "type", "image");
    put_run(&p, "run", o);
    cborpack_text(&p, "compressed_data");
    uint8_t *blob = cborpack_blob(&p, room);
    if (blob)
        cborpack_blob_end(
            &p, bslz4_compress_bare(isa_best(), d->pixels, count, size, BLOCK_ITEMS, blob));
    cborpack_key_text(&p, "dtype", delivery_dtype(d->type));
    put_direction(&p);
    cborpack_pairs(&p, d);
    return cborpack_finish(&p, m, e);
}

const struct protocol protocol_lclstreamer = {
    .name = "lclstreamer",
    .versions = (const char *const[]){"1", NULL},
    .image_key = "compressed_data",
    .source = "braggpipe",
    .allowed = 1 << PIXEL_F32 | 1 << PIXEL_U16 | 1 << PIXEL_U32 | 1 << PIXEL_I32,
    .otherwise = PIXEL_I32,
    .socket = GATEWAY_PUSH,
    .describe = lclstreamer_describe,
    .encode = lclstreamer_encode,
    .start = lclstreamer_start,
    .end = lclstreamer_end,
};
