#include "gateway/pixels.h"

#include "gateway/delivery.h"

enum { RUN = 1024 };  // pixels per block: a block stays in the first cache

/* Converts integers from `least` to `most`.  If a value has no such form, `good` becomes false. */
#define NARROW(type, least, most, values, count, to, good)                             \
    for (size_t i = 0; i < (count); i++) {                                             \
        const double v = (values)[i];                                                  \
        ((type *)(to))[i] = (type)(v >= (least) && v <= (most) ? v : (double)(least)); \
        (good) &= (double)((type *)(to))[i] == v;                                      \
    }

/* Stores values in the image.  False if a value has no exact form in the image's type. */
static bool store(struct image *image, size_t first, size_t count, const double *values)
{
    void *to = (char *)image->pixels + first * pixel_size(image->type);
    bool good = true;
    switch (image->type) {
    case PIXEL_F32:
        for (size_t i = 0; i < count; i++) {
            ((float *)to)[i] = (float)values[i];
            good &= (double)((float *)to)[i] == values[i];
        }
        break;
    case PIXEL_U16:
        NARROW(uint16_t, 0, UINT16_MAX, values, count, to, good)
        break;
    case PIXEL_U32:
        NARROW(uint32_t, 0, UINT32_MAX, values, count, to, good)
        break;
    case PIXEL_I32:
        NARROW(int32_t, INT32_MIN, INT32_MAX, values, count, to, good)
        break;
    }
    return good;
}

/* The value that means "no data" in an integer type. */
static double blank_of(enum pixel_type type)
{
    return type == PIXEL_U16 ? (double)UINT16_MAX : type == PIXEL_U32 ? (double)UINT32_MAX : -1.0;
}

/* Translates values that mean "no data" to another integer type.  True if there was one. */
static bool translate_blanks(enum pixel_type from, enum pixel_type to, double *values, size_t count)
{
    const bool is_signed = from == PIXEL_I32;
    bool any = false;
    if (from == PIXEL_F32 || from == PIXEL_U16 || to == PIXEL_F32)
        return false;  // a type of real numbers, or a value that fits
    for (size_t i = 0; i < count; i++)
        if (is_signed ? values[i] == -1 || values[i] == -2 : values[i] == UINT32_MAX) {
            values[i] = blank_of(to);
            any = true;
        }
    return any;
}

/* Makes the error that names the first pixel, from `first` on, that has no exact form. */
static enum status refuse(const struct image *from, size_t first, struct image *to, struct error *e)
{
    const char *type = delivery_dtype(to->type);
    double value = image_value(from, first), stored = value;
    (void)translate_blanks(from->type, to->type, &stored, 1);
    while (store(to, first, 1, &stored)) {
        stored = value = image_value(from, ++first);
        (void)translate_blanks(from->type, to->type, &stored, 1);
    }
    image_free(to);
    return error_set(e, STATUS_INPUT, "pixel %zu is %g, which %s cannot hold", first, value, type);
}

enum status pixels_convert(const struct image *from, enum pixel_type type, struct image *to,
                           bool *masked, struct error *e)
{
    *to = (struct image){0};
    if (!image_reserve(to, type, from->unit, from->count))
        return error_memory(e, "an image for the clients");
    for (size_t first = 0; first < from->count; first += RUN) {
        double values[RUN];
        const size_t left = from->count - first, count = left < RUN ? left : RUN;
        image_values(from, first, count, values);
        *masked |= translate_blanks(from->type, type, values, count);
        if (!store(to, first, count, values))
            return refuse(from, first, to, e);
    }
    return STATUS_OK;
}
