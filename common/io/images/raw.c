#include "io/images/raw.h"

#include <stdbool.h>
#include <stdint.h>

/* Pixels first .. first + n - 1 as float32; one loop for each type, so that they are vectors. */
static void to_floats(const struct image *image, size_t first, size_t n, float *restrict out)
{
    const uint16_t *u16 = (const uint16_t *)image->pixels + first;
    const uint32_t *u32 = (const uint32_t *)image->pixels + first;
    const int32_t *i32 = (const int32_t *)image->pixels + first;
    if (image->type == PIXEL_U16)
        for (size_t i = 0; i < n; i++)
            out[i] = (float)u16[i];
    else if (image->type == PIXEL_U32)
        for (size_t i = 0; i < n; i++)
            out[i] = (float)u32[i];
    else
        for (size_t i = 0; i < n; i++)
            out[i] = (float)i32[i];
}

enum status raw_write(FILE *out, const struct image *image, const char *path, struct error *e)
{
    enum { BLOCK = 16384 };
    float block[BLOCK];
    const bool as_it_is = image->type == PIXEL_F32;
    for (size_t done = 0, n; done < image->count; done += n) {
        n = as_it_is || image->count - done < BLOCK ? image->count - done : BLOCK;
        if (!as_it_is)
            to_floats(image, done, n, block);
        if (fwrite(as_it_is ? image->pixels : block, sizeof *block, n, out) != n)
            return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    }
    return STATUS_OK;
}
