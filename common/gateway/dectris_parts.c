#include <stdio.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "codec/bslz4.h"
#include "gateway/dectris.h"

enum { MULTI_DIMENSIONAL = 40, COMPRESSED = 56500 };  // tags of RFC 8746 and of Dectris
static size_t item_size(enum dectris_type type)
{
    return type == DECTRIS_U16 ? 2 : 4;
}

size_t dectris_room(const struct dectris_array *a, int compression)
{
    size_t count, bytes;
    if (!size_multiply(a->slow, a->fast, &count) ||
        !size_multiply(count, item_size(a->type), &bytes))
        return 0;
    if (compression == CONTENT_BSLZ4)
        return bslz4_bound(count, item_size(a->type));
    return compression == CONTENT_LZ4 ? lz4_blocks_bound(bytes) : bytes;
}

static void put_compressed(struct cborpack *p, const struct dectris_array *a, bool bslz4,
                           size_t room)
{
    const size_t count = a->slow * a->fast, size = item_size(a->type);
    cborpack_tag(p, COMPRESSED);
    cborpack_array(p, 3);
    cborpack_text(p, bslz4 ? "bslz4" : "lz4");
    cborpack_uint(p, bslz4 ? size : 0);
    uint8_t *blob = cborpack_blob(p, room);
    if (blob)
        cborpack_blob_end(p, bslz4 ? bslz4_compress(isa_best(), a->items, count, size, blob)
                                   : lz4_blocks_compress(a->items, count * size, blob));
}

void dectris_put_array(struct cborpack *p, const struct dectris_array *a, int compression)
{
    cborpack_tag(p, MULTI_DIMENSIONAL);
    cborpack_array(p, 2);
    cborpack_array(p, 2);
    cborpack_uint(p, a->slow);
    cborpack_uint(p, a->fast);
    cborpack_tag(p, a->type);
    if (compression == CONTENT_PLAIN)
        cborpack_bytes(p, a->items, a->slow * a->fast * item_size(a->type));
    else
        put_compressed(p, a, compression == CONTENT_BSLZ4, dectris_room(a, compression));
}

size_t dectris_channels(const struct content_options *o)
{
    return o->nthresholds ? (size_t)o->nthresholds : 1;
}

const char *dectris_channel(const struct content_options *o, size_t channel,
                            char name[DECTRIS_NAME_SIZE])
{
    (void)snprintf(name, DECTRIS_NAME_SIZE, "%.50s_%zu", o->image_key, channel + 1);
    return name;
}

enum status dectris_refuse_panels(size_t npanels, struct error *e)
{
    return error_set(e, STATUS_INPUT, "dectris2 has one image of one panel (got %zu panels)",
                     npanels);
}

void dectris_put_series(struct cborpack *p, const char *type, const struct series *s)
{
    cborpack_key_text(p, "type", type);
    cborpack_key_uint(p, "series_id", s->number);
    cborpack_key_text(p, "series_unique_id", s->unique_id);
}
