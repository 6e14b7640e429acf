/*
 * karabo-bridge, versions 2.2 and 1.0: the messages that the bridge of an online cluster at the
 * European XFEL sends.  A frame is a train.
 *
 * Version 2.2 sends, for each source, a header and a map of plain values, and then, for each array,
 * a header and the raw bytes.  Version 1.0 sends one map, whose arrays are those of msgpack-numpy.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

enum { HEADER_BYTES = 4096, VALUES_BYTES = 16384 };
static const size_t BIN_MAX = 0x7fffffff;  // bytes of an array that a client of 1.0 can read

static void describe_panel(const struct experiment *x, struct delivery *d)
{
    static const char *const frames[] = {"mosflm", "denzo", "adxv", "xds", "dials", "custom"};
    const struct panel *p = x->panels;
    delivery_int(d, "image_size_x", p->fast_pixels);
    delivery_int(d, "image_size_y", p->slow_pixels);
    delivery_real(d, "pixel_size_x", p->pixel_m);
    delivery_real(d, "pixel_size_y", p->pixel_m);
    delivery_real(d, "beam_center_x", p->beam_fast_m / p->pixel_m);
    delivery_real(d, "beam_center_y", p->beam_slow_m / p->pixel_m);
    delivery_real(d, "detector_distance", p->distance_m);
    delivery_text(d, "lab_frame", frames[x->convention]);
    delivery_reals(d, "fast_axis", p->fast, 3);
    delivery_reals(d, "slow_axis", p->slow, 3);
    delivery_reals(d, "origin", p->origin_m, 3);
    delivery_text(d, "sensor_material", p->material);
    delivery_real(d, "sensor_thickness", p->thickness_m);
    delivery_real(d, "sensor_absorption", p->absorption_1_m);
}

static void karabo_describe(const struct content_options *o, const struct experiment *x,
                            const struct frame *f, struct delivery *d)
{
    (void)o;
    delivery_int(d, "image_id", (int64_t)f->recipe.id);
    delivery_text(d, "image_dtype", delivery_dtype(f->image.type));
    delivery_text(d, "image_unit", f->image.unit == UNIT_ADU ? "adu" : "photons");
    describe_panel(x, d);
    delivery_real(d, "incident_wavelength", m_to_angstrom(d->beam.mean_m));
    delivery_real(d, "incident_energy", m_to_ev(d->beam.mean_m));
    if (!x->beam.no_polarization) {
        delivery_real(d, "kahn_factor", x->beam.kahn);
        delivery_reals(d, "polarization_axis", x->beam.polarization, 3);
    }
    delivery_real(d, "saturation_value", x->saturation);
    delivery_real(d, "adc_offset", x->adc_offset);
    delivery_real(d, "gain", x->gain);
    delivery_real(d, "phi_start", rad_to_deg(f->recipe.phi_rad));
    delivery_real(d, "phi_increment", rad_to_deg(f->recipe.osc_rad));
    delivery_truth(d, x, &f->recipe);
    delivery_truth_arrays(d, x, &f->recipe);
}

/* Writes the number and the time of the train. */
static void pack_metadata(struct pack *p, const struct content_options *o, const struct delivery *d)
{
    const uint64_t second = 1000000000;
    char sec[24], frac[24];
    (void)snprintf(sec, sizeof sec, "%" PRIu64, d->time_ns / second);
    (void)snprintf(frac, sizeof frac, "%09" PRIu64 "000000000", d->time_ns % second);
    pack_text(p, "metadata");
    pack_map(p, 5);
    pack_key_text(p, "source", o->source);
    pack_key_real(p, "timestamp", (double)d->time_ns / 1e9);
    pack_key_int(p, "timestamp.tid", d->has_train ? d->train : o->first_train + (int64_t)d->id);
    pack_key_text(p, "timestamp.sec", sec);
    pack_key_text(p, "timestamp.frac", frac);
}

static void pack_shape(struct pack *p, const struct delivery *d)
{
    msgpack_pack_array(&p->packer, d->ndims);
    for (size_t i = 0; i < d->ndims; i++)
        msgpack_pack_uint64(&p->packer, d->shape[i]);
}

static enum status add_values(const struct content_options *o, const struct delivery *d,
                              struct message *m, struct error *e)
{
    struct pack p;
    pack_open(&p, HEADER_BYTES);
    pack_map(&p, 3);
    pack_key_text(&p, "source", o->source);
    pack_key_text(&p, "content", "msgpack");
    pack_metadata(&p, o, d);
    const enum status s = pack_finish(&p, m, e);
    if (s)
        return s;
    pack_open(&p, VALUES_BYTES);
    pack_map(&p, d->nvalues);
    pack_values(&p, d);
    return pack_finish(&p, m, e);
}

static enum status add_image(const struct content_options *o, const struct delivery *d,
                             struct message *m, struct error *e)
{
    struct pack p;
    pack_open(&p, HEADER_BYTES);
    pack_map(&p, 5);
    pack_key_text(&p, "source", o->source);
    pack_key_text(&p, "content", "array");
    pack_key_text(&p, "path", d->image_key);
    pack_key_text(&p, "dtype", delivery_dtype(d->type));
    pack_text(&p, "shape");
    pack_shape(&p, d);
    const enum status s = pack_finish(&p, m, e);
    return s ? s : pack_copy(m, d->pixels, d->pixel_bytes, e);
}

/* Writes an array as msgpack-numpy does: a map whose keys are bytes, not text. */
static void pack_numpy(struct pack *p, const struct delivery *d)
{
    static const char *const types[] = {"<f4", "<u2", "<u4", "<i4"};
    pack_map(p, 5);
    pack_bytes(p, "nd", 2);
    msgpack_pack_true(&p->packer);
    pack_bytes(p, "type", 4);
    pack_text(p, types[d->type]);
    pack_bytes(p, "kind", 4);
    pack_bytes(p, "", 0);
    pack_bytes(p, "shape", 5);
    pack_shape(p, d);
    pack_bytes(p, "data", 4);
    pack_bytes(p, d->pixels, d->pixel_bytes);
}

static enum status encode_1(const struct content_options *o, const struct delivery *d,
                            struct message *m, struct error *e)
{
    struct pack p;
    if (d->pixel_bytes > BIN_MAX)
        return error_set(e, STATUS_INPUT,
                         "an image of %zu bytes is too large for version 1.0; expected at most %zu",
                         d->pixel_bytes, BIN_MAX);
    pack_open(&p, HEADER_BYTES + VALUES_BYTES + d->pixel_bytes);
    pack_map(&p, 1);
    pack_text(&p, o->source);
    pack_map(&p, d->nvalues + 2);
    pack_values(&p, d);
    pack_text(&p, d->image_key);
    pack_numpy(&p, d);
    pack_metadata(&p, o, d);
    return pack_finish(&p, m, e);
}

static enum status karabo_encode(const struct content_options *o, const struct delivery *d,
                                 struct message *m, struct error *e)
{
    if (strcmp(o->version, "1.0") == 0)
        return encode_1(o, d, m, e);
    const enum status s = add_values(o, d, m, e);
    return s ? s : add_image(o, d, m, e);
}

const struct protocol protocol_karabo = {
    .name = "karabo-bridge",
    .versions = (const char *const[]){"2.2", "1.0", NULL},
    .image_key = "image.data",
    .source = "SIM_DET_BRAGG/DET/detector:daqOutput",
    .allowed = 1 << PIXEL_F32 | 1 << PIXEL_U16 | 1 << PIXEL_U32 | 1 << PIXEL_I32,
    .otherwise = PIXEL_I32,
    .socket = GATEWAY_REP,
    .request = "next",
    .describe = karabo_describe,
    .encode = karabo_encode,
};
