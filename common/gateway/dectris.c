/*
 * Stream V2 of Dectris' detectors.  Each message is one part, which is a map in CBOR: a start
 * message, images numbered from 0, and an end message.
 */
#include "gateway/dectris.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "base/units.h"
#include "codec/bslz4.h"

static const uint64_t SECOND_NS = 1000000000;

/* --- channels ------------------------------------------------------------------- */

/* A channel counts photons whose energy is above its threshold. */
static enum status is_counted(const struct content_options *o, const struct delivery *d,
                              size_t channel, bool *counted, struct error *e)
{
    const double threshold_eV = o->nthresholds ? o->threshold_eV[channel] : 0;
    const double low_eV = m_to_ev(d->beam.longest_m), high_eV = m_to_ev(d->beam.shortest_m);
    *counted = threshold_eV < low_eV;
    if (*counted || threshold_eV >= high_eV)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "frame %" PRIu64 ": the threshold %g eV is within the spectrum, %g to %g eV; "
                     "expected a threshold below or above it",
                     d->id, threshold_eV, low_eV, high_eV);
}

/* --- messages --------------------------------------------------------------------- */

static void put_time(struct cborpack *p, const char *key, uint64_t time_ns)
{
    cborpack_text(p, key);
    cborpack_array(p, 2);
    cborpack_uint(p, time_ns);
    cborpack_uint(p, SECOND_NS);
}

static void dectris_describe(const struct content_options *o, const struct experiment *x,
                             const struct frame *f, struct delivery *d)
{
    protocol_karabo.describe(o, x, f, d);
}

static void put_head(struct cborpack *p, const struct content_options *o, const struct delivery *d)
{
    const struct series *s = o->series;
    cborpack_map(p, 10);
    dectris_put_series(p, "image", s);
    cborpack_key_uint(p, "image_id", d->id);
    put_time(p, "real_time", s->period_ns);
    cborpack_key_date(p, "series_date", s->start_ns);
    put_time(p, "start_time", d->id * s->period_ns);
    put_time(p, "stop_time", (d->id + 1) * s->period_ns);
    cborpack_text(p, "user_data");
    cborpack_values(p, d);
}

static enum status put_channels(struct cborpack *p, const struct content_options *o,
                                const struct delivery *d, const struct dectris_array *a,
                                const void *empty, struct error *e)
{
    char name[DECTRIS_NAME_SIZE];
    cborpack_text(p, "data");
    cborpack_map(p, dectris_channels(o));
    for (size_t i = 0; i < dectris_channels(o); i++) {
        struct dectris_array channel = *a;
        bool counted;
        const enum status s = is_counted(o, d, i, &counted, e);
        if (s)
            return s;
        channel.items = counted ? a->items : empty;
        cborpack_text(p, dectris_channel(o, i, name));
        dectris_put_array(p, &channel, o->compression);
    }
    return STATUS_OK;
}

static enum status encode_into(const struct content_options *o, const struct delivery *d,
                               const void *empty, struct message *m, struct error *e)
{
    const struct dectris_array a = {.slow = d->shape[0],
                                    .fast = d->shape[1],
                                    .type = d->type == PIXEL_U16 ? DECTRIS_U16 : DECTRIS_U32,
                                    .items = d->pixels};
    const size_t room = dectris_room(&a, o->compression);
    struct cborpack p;
    size_t all;
    if (!room || !size_multiply(room + CBORPACK_HEAD, dectris_channels(o), &all))
        return error_memory(e, "an image for the clients");
    enum status s = cborpack_open(&p, DECTRIS_METADATA_MAX + all, e);
    if (s)
        return s;
    put_head(&p, o, d);
    s = put_channels(&p, o, d, &a, empty, e);
    if (s == STATUS_OK)
        return cborpack_finish(&p, m, e);
    cborpack_abort(&p);
    return s;
}

static enum status dectris_encode(const struct content_options *o, const struct delivery *d,
                                  struct message *m, struct error *e)
{
    if (d->ndims != 2)
        return dectris_refuse_panels(d->shape[0], e);
    void *empty = o->nthresholds ? mem_array(d->pixel_bytes, 1) : NULL;
    if (o->nthresholds && !empty)
        return error_memory(e, "an image for the clients");
    const enum status s = encode_into(o, d, empty, m, e);
    mem_free(empty);
    return s;
}

static enum status dectris_end(const struct content_options *o, struct message *m, struct error *e)
{
    struct cborpack p;
    const enum status s = cborpack_open(&p, DECTRIS_METADATA_MAX, e);
    if (s)
        return s;
    cborpack_map(&p, 3);
    dectris_put_series(&p, "end", o->series);
    return cborpack_finish(&p, m, e);
}

const struct protocol protocol_dectris = {
    .name = "dectris2",
    .versions = (const char *const[]){"2", NULL},
    .image_key = "threshold",
    .source = "braggpipe",
    .allowed = 1 << PIXEL_U16 | 1 << PIXEL_U32,
    .otherwise = PIXEL_U32,
    .socket = GATEWAY_PUSH,
    .one_image = true,
    .describe = dectris_describe,
    .encode = dectris_encode,
    .start = dectris_start,
    .end = dectris_end,
};
