#include "io/images/pixel_bytes.h"

#include <string.h>

bool pixel_bytes_good(const struct pixel_bytes *p)
{
    return p->size == 4 || (!p->is_real && (p->size == 1 || p->size == 2));
}

/* Returns the bytes of a pixel as a whole number. */
static uint32_t bits_of(const struct pixel_bytes *p, const uint8_t *bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < p->size; i++)
        value = value << 8 | bytes[p->big ? i : p->size - 1 - i];
    return value;
}

/* Returns a whole number of `size` bytes with its sign. */
static int32_t with_sign(uint32_t bits, size_t size)
{
    return size == 1 ? (int8_t)bits : size == 2 ? (int16_t)bits : (int32_t)bits;
}

enum status pixel_bytes_take(const struct pixel_bytes *p, const uint8_t *bytes, size_t count,
                             struct image *image, const char *path, struct error *e)
{
    const enum pixel_type type = p->is_real     ? PIXEL_F32
                                 : p->is_signed ? PIXEL_I32
                                 : p->size == 4 ? PIXEL_U32
                                                : PIXEL_U16;
    if (!image_reserve(image, type, UNIT_ADU, count))
        return error_memory(e, path);
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = bits_of(p, bytes + i * p->size);
        if (type == PIXEL_U16)
            ((uint16_t *)image->pixels)[i] = (uint16_t)bits;
        else if (type == PIXEL_I32)
            ((int32_t *)image->pixels)[i] = with_sign(bits, p->size);
        else
            memcpy((uint32_t *)image->pixels + i, &bits, sizeof bits);
    }
    return STATUS_OK;
}
