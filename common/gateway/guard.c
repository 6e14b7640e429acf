#include "gateway/guard.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

static enum status check_image(const struct delivery *d, unsigned allowed, struct error *e)
{
    if ((unsigned)d->type > PIXEL_I32 || !(allowed >> d->type & 1))
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 ": the protocol has no pixels of type %s", d->id,
                         delivery_dtype(d->type));
    size_t bytes = pixel_size(d->type);
    bool fits = d->ndims > 0 && d->ndims <= DELIVERY_DIMS_MAX;
    for (size_t i = 0; fits && i < d->ndims; i++)
        fits = d->shape[i] > 0 && size_multiply(bytes, d->shape[i], &bytes);
    if (!fits || !d->pixels || bytes != d->pixel_bytes)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64
                         ": %zu bytes of pixels do not fill the shape of the image",
                         d->id, d->pixel_bytes);
    return STATUS_OK;
}

static enum status check_value(const struct delivery *d, const struct value *v, struct error *e)
{
    const size_t count = v->type == VALUE_REAL ? 1 : v->type == VALUE_REALS ? v->count : 0;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(v->reals[i]))
            return error_set(e, STATUS_INPUT, "frame %" PRIu64 ": %s is not a finite number", d->id,
                             v->key);
    if (v->type == VALUE_TEXT && !v->text)
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 ": %s has no text", d->id, v->key);
    return STATUS_OK;
}

/* Key i: of the values, of the image, of the peaks. */
static const char *key_of(const struct delivery *d, size_t i)
{
    if (i > d->nvalues)
        return DELIVERY_PEAKS_KEY;
    return i < d->nvalues ? d->values[i].key : d->image_key;
}

static enum status check_keys(const struct delivery *d, struct error *e)
{
    const size_t count = d->nvalues + (d->peaks ? 2 : 1);
    for (size_t i = 0; i < count; i++) {
        const char *key = key_of(d, i);
        if (!key || !*key)
            return error_set(e, STATUS_INPUT, "a key is empty");
        for (size_t j = 0; j < count; j++)
            if (i != j && key_of(d, j) && strncmp(key, key_of(d, j), strlen(key)) == 0)
                return error_set(e, STATUS_INPUT, "key '%.60s' is the beginning of key '%.60s'",
                                 key, key_of(d, j));
    }
    return STATUS_OK;
}

enum status guard_check(const struct delivery *d, unsigned allowed, struct error *e)
{
    if (d->nvalues > DELIVERY_VALUES_MAX)
        return error_set(e, STATUS_INPUT, "a message has more than %d values", DELIVERY_VALUES_MAX);
    enum status s = check_image(d, allowed, e);
    for (size_t i = 0; i < d->nvalues && s == STATUS_OK; i++)
        s = check_value(d, &d->values[i], e);
    for (size_t i = 0; i < d->npeaks && s == STATUS_OK; i++)
        if (!isfinite(d->peaks[i].fast + d->peaks[i].slow + d->peaks[i].intensity))
            s = error_set(e, STATUS_INPUT, "frame %" PRIu64 ": peak %zu is not a finite number",
                          d->id, i);
    return s ? s : check_keys(d, e);
}
