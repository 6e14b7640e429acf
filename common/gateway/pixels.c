#include "gateway/pixels.h"

#include <math.h>

#include "gateway/delivery.h"

/* False when the value has no exact form in this type. */
static bool store(struct image *image, size_t i, double v)
{
    static const double min[] = {0, 0, 0, INT32_MIN},
                        max[] = {0, UINT16_MAX, UINT32_MAX, INT32_MAX};
    if (image->type == PIXEL_F32) {
        ((float *)image->pixels)[i] = (float)v;
        return (double)(float)v == v;
    }
    if (!(v >= min[image->type] && v <= max[image->type]) || v != nearbyint(v))
        return false;
    if (image->type == PIXEL_U16)
        ((uint16_t *)image->pixels)[i] = (uint16_t)v;
    else if (image->type == PIXEL_U32)
        ((uint32_t *)image->pixels)[i] = (uint32_t)v;
    else
        ((int32_t *)image->pixels)[i] = (int32_t)v;
    return true;
}

enum status pixels_convert(const struct image *from, enum pixel_type type, struct image *to,
                           struct error *e)
{
    *to = (struct image){0};
    if (!image_reserve(to, type, from->unit, from->count))
        return error_memory(e, "an image for the clients");
    for (size_t i = 0; i < from->count; i++)
        if (!store(to, i, image_value(from, i))) {
            image_free(to);
            return error_set(e, STATUS_INPUT, "pixel %zu is %g, which %s cannot hold", i,
                             image_value(from, i), delivery_dtype(type));
        }
    return STATUS_OK;
}
