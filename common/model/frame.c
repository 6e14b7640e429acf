#include "model/frame.h"

#include <math.h>

#include "base/alloc.h"

size_t pixel_size(enum pixel_type type)
{
    return type == PIXEL_U16 ? 2 : 4;
}

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

#define WIDEN(type, image, first, count, values)                      \
    for (size_t i = 0; i < (count); i++) /* one loop for each type */ \
    (values)[i] = (double)((const type *)(image)->pixels)[(first) + i]

void image_values(const struct image *image, size_t first, size_t count, double *values)
{
    switch (image->type) {
    case PIXEL_F32:
        WIDEN(float, image, first, count, values);
        break;
    case PIXEL_U16:
        WIDEN(uint16_t, image, first, count, values);
        break;
    case PIXEL_U32:
        WIDEN(uint32_t, image, first, count, values);
        break;
    case PIXEL_I32:
        WIDEN(int32_t, image, first, count, values);
        break;
    }
}

/* Eight pixels at a time, of which vector instructions take care. */
struct image_range image_range(const struct image *image)
{
    enum { LANES = 8 };
    double least[LANES], most[LANES], sum[LANES] = {0};
    for (size_t k = 0; k < LANES; k++) {
        least[k] = INFINITY;
        most[k] = -INFINITY;
    }
    for (size_t i = 0; i < image->count; i += LANES) {
        const size_t left = image->count - i, lanes = left < LANES ? left : LANES;
        double v[LANES];
        image_values(image, i, lanes, v);
        for (size_t k = 0; k < lanes; k++) {
            sum[k] += v[k];
            least[k] = v[k] < least[k] ? v[k] : least[k];
            most[k] = v[k] > most[k] ? v[k] : most[k];
        }
    }
    struct image_range all = {INFINITY, -INFINITY, 0};
    for (size_t k = 0; k < LANES; k++)
        all = (struct image_range){fmin(all.least, least[k]), fmax(all.most, most[k]),
                                   all.sum + sum[k]};
    return all;
}

void image_free(struct image *image)
{
    if (image->release)
        image->release(image->owner);
    *image = (struct image){.memory = image->memory};
}

bool image_is_lasting(const struct image *image)
{
    return image->memory && image->memory->lasting && image->release != mem_free;
}

bool image_is_intact(const struct image *image)
{
    return !image->intact || image->intact(image->owner);
}

void image_was_read(const struct image *image, size_t count)
{
    if (image->was_read)
        image->was_read(image->owner, count * pixel_size(image->type));
}

bool image_reserve(struct image *image, enum pixel_type type, enum pixel_unit unit, size_t count)
{
    struct image fresh = {
        .type = type, .unit = unit, .count = count, .release = mem_free, .memory = image->memory};
    size_t bytes;
    if (!size_multiply(count, pixel_size(type), &bytes))
        return false;
    if (!fresh.memory || !fresh.memory->take(fresh.memory, bytes, &fresh))
        fresh.pixels = fresh.owner = mem_array(bytes, 1);
    if (!fresh.pixels)
        return false;
    image_free(image);
    *image = fresh;
    return true;
}

bool image_reserve_on_card(struct image *image, enum pixel_type type, enum pixel_unit unit,
                           size_t count)
{
    struct image_memory *memory = image->memory;
    struct image fresh = {.type = type, .unit = unit, .count = count, .memory = memory};
    size_t bytes;
    if (!memory || !memory->take_on_card || !size_multiply(count, pixel_size(type), &bytes) ||
        !memory->take_on_card(memory, bytes, &fresh))
        return false;
    image_free(image);
    *image = fresh;
    return true;
}

void frame_free(struct frame *f)
{
    recipe_free(&f->recipe);
    image_free(&f->image);
    reflection_table_free(&f->reflections);
    planes_free(&f->planes);
    refined_free(&f->refined);
}
