/*
 * The loops of pictures, compiled once per instruction set (ISA = baseline, avx2, avx512).  They
 * find the largest pixel of each block: first the maximum over some rows for each column, then the
 * maximum over neighbouring columns.  The speed is limited by reading the image from memory.
 */
#include "io/images/picture.h"

#include "base/isa.h"

#include <float.h>
#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* Returns a float32 pixel, or -INFINITY if the pixel is not finite, so that it is never the
 * largest. */
INLINE float nan_to_lowest(float value)
{
    return fabsf(value) <= FLT_MAX ? value : -INFINITY;
}

/* Returns the largest pixel of a block, or 0 if the block has no finite pixel. */
INLINE float nan_to_zero(float value)
{
    return value >= -FLT_MAX ? value : 0.0f;
}

/* Defines reduce_TYPE, which is `reduce` of struct picture_kernels for pixels of `type`.  It
 * compares TAKE(x) of the pixels x, and stores GIVE(x) of the largest. */
#define REDUCE(name, type, TAKE, GIVE)                                                         \
    INLINE void name##_rows(const type *restrict pixels, int64_t fast, int64_t rows,           \
                            type *restrict row)                                                \
    {                                                                                          \
        for (int64_t f = 0; f < fast; f++)                                                     \
            row[f] = TAKE(pixels[f]);                                                          \
        for (int64_t s = 1; s < rows; s++)                                                     \
            for (int64_t f = 0; f < fast; f++) {                                               \
                const type value = TAKE(pixels[s * fast + f]);                                 \
                row[f] = value > row[f] ? value : row[f];                                      \
            }                                                                                  \
    }                                                                                          \
    INLINE void name##_columns(const type *restrict row, int64_t whole, int64_t factor,        \
                               float *restrict reduced)                                        \
    {                                                                                          \
        for (int64_t x = 0; x < whole; x++) {                                                  \
            type largest = row[x * factor];                                                    \
            for (int64_t k = 1; k < factor; k++)                                               \
                largest = row[x * factor + k] > largest ? row[x * factor + k] : largest;       \
            reduced[x] = GIVE((float)largest);                                                 \
        }                                                                                      \
    }                                                                                          \
    static void name(const struct picture *p, const type *pixels, int64_t fast, int64_t slow,  \
                     type *row, float *reduced)                                                \
    {                                                                                          \
        const int64_t factor = p->factor, whole = fast / factor, rest = fast - whole * factor; \
        for (int64_t y = 0; y < p->height; y++, reduced += p->width) {                         \
            const int64_t s = y * factor, rows = slow - s < factor ? slow - s : factor;        \
            name##_rows(pixels + s * fast, fast, rows, row);                                   \
            switch (factor) {                                                                  \
            case 2:                                                                            \
                name##_columns(row, whole, 2, reduced);                                        \
                break;                                                                         \
            case 4:                                                                            \
                name##_columns(row, whole, 4, reduced);                                        \
                break;                                                                         \
            default:                                                                           \
                name##_columns(row, whole, factor, reduced);                                   \
            }                                                                                  \
            if (rest)                                                                          \
                name##_columns(row + whole * factor, 1, rest, reduced + whole);                \
        }                                                                                      \
    }

#define UNCHANGED(x) (x)
REDUCE(reduce_f32, float, nan_to_lowest, nan_to_zero)
REDUCE(reduce_u16, uint16_t, UNCHANGED, UNCHANGED)
REDUCE(reduce_u32, uint32_t, UNCHANGED, UNCHANGED)
REDUCE(reduce_i32, int32_t, UNCHANGED, UNCHANGED)

static void reduce(const struct picture *p, const struct image *image, int64_t fast, int64_t slow,
                   void *row, float *reduced)
{
    switch (image->type) {
    case PIXEL_F32:
        reduce_f32(p, image->pixels, fast, slow, row, reduced);
        break;
    case PIXEL_U16:
        reduce_u16(p, image->pixels, fast, slow, row, reduced);
        break;
    case PIXEL_U32:
        reduce_u32(p, image->pixels, fast, slow, row, reduced);
        break;
    case PIXEL_I32:
        reduce_i32(p, image->pixels, fast, slow, row, reduced);
        break;
    }
}

static void shade(const float *restrict values, size_t count, double white, double range,
                  uint8_t *restrict gray)
{
    for (size_t i = 0; i < count; i++) {  // vectorised
        const double t = ((double)values[i] - white) / range;
        const double low = t > 0.0 ? t : 0.0, within = low < 1.0 ? low : 1.0;
        gray[i] = (uint8_t)(int)(255.5 - 255.0 * within);
    }
}

const struct picture_kernels NAME(picture_, ISA) = {reduce, shade};
