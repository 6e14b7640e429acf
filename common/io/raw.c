#include "io/raw.h"

#include <stdint.h>

double image_value(const struct image *image, size_t i)
{
    switch (image->type) {
    case PIXEL_F32:
        return (double)((const float *)image->pixels)[i];
    case PIXEL_U16:
        return ((const uint16_t *)image->pixels)[i];
    case PIXEL_U32:
        return ((const uint32_t *)image->pixels)[i];
    case PIXEL_I32:
        return ((const int32_t *)image->pixels)[i];
    }
    return 0.0;
}

enum status raw_write(FILE *out, const struct image *image, const char *path, struct error *e)
{
    enum { BLOCK = 4096 };
    if (image->type == PIXEL_F32) {
        if (fwrite(image->pixels, sizeof(float), image->count, out) == image->count)
            return STATUS_OK;
        return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    }
    for (size_t done = 0; done < image->count;) {
        float block[BLOCK];
        size_t n = 0;
        for (; n < BLOCK && done + n < image->count; n++)
            block[n] = (float)image_value(image, done + n);
        if (fwrite(block, sizeof *block, n, out) != n)
            return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
        done += n;
    }
    return STATUS_OK;
}
