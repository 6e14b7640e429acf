#include "model/frame.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* --- images -------------------------------------------------------------- */

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

/* Compares and adds eight pixels at a time, so that the compiler can use vector instructions. */
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
        image->was_read(image->owner, count * pixel_size(image->type), NULL);
}

void image_was_summed(const struct image *image, uint32_t sum)
{
    if (image->was_read)
        image->was_read(image->owner, image->count * pixel_size(image->type), &sum);
}

/* Does what image_reserve does.  If image->memory has no buffer, `allocate` makes the pixels. */
static bool reserve_from(void *(*allocate)(size_t count, size_t size), struct image *image,
                         enum pixel_type type, enum pixel_unit unit, size_t count)
{
    struct image fresh = {
        .type = type, .unit = unit, .count = count, .release = mem_free, .memory = image->memory};
    size_t bytes;
    const bool fits = size_multiply(count, pixel_size(type), &bytes);
    if (!fits || !fresh.memory || !fresh.memory->take(fresh.memory, bytes, &fresh))
        fresh.pixels = fresh.owner = allocate(count, pixel_size(type));
    if (!fresh.pixels)
        return false;
    image_free(image);
    *image = fresh;
    return true;
}

bool image_reserve(struct image *image, enum pixel_type type, enum pixel_unit unit, size_t count)
{
    return reserve_from(mem_try_array, image, type, unit, count);
}

void image_allocate(struct image *image, enum pixel_type type, enum pixel_unit unit, size_t count)
{
    (void)reserve_from(mem_array, image, type, unit, count);
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

/* --- derivative images --------------------------------------------------- */

bool planes_reserve(struct planes *p, size_t count)
{
    p->items = mem_try_array(count, sizeof *p->items);
    if (!p->items)
        return false;
    p->present = true;
    p->count = count;
    return true;
}

static bool is_name(const char *name)
{
    return *name && *name != '.' && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.")];
}

static bool ascend(const struct planes_pixels *l, size_t pixels)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->numbers[i] >= pixels || (i && l->numbers[i] <= l->numbers[i - 1]))
            return false;
    return true;
}

static bool are_finite(const struct plane *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (!isfinite(p->values[i]))
            return false;
    return true;
}

static bool have_names(const struct planes *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (!is_name(p->items[i].name))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(p->items[k].name, p->items[i].name) == 0)
                return false;
    }
    return true;
}

const char *planes_fault(const struct planes *p, size_t pixels)
{
    const bool listed = p->pixels.listed;
    if (p->count > PLANES_MAX || !have_names(p))
        return "that are too many, or have missing or equal names";
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].count != (listed ? p->pixels.count : pixels))
            return listed ? "of another size than their list of pixels"
                          : "of another size than its image";
    if (listed && !ascend(&p->pixels, pixels))
        return "with a list of pixels that does not ascend within its image";
    for (size_t i = 0; i < p->count && listed; i++)
        if (!are_finite(&p->items[i]))
            return "near spots that have values that are not finite";
    return NULL;
}

void planes_expand(struct planes *p, size_t pixels)
{
    const struct planes_pixels *l = &p->pixels;
    for (size_t i = 0; i < p->count && l->listed; i++) {
        struct plane *one = &p->items[i];
        float *all = mem_array(pixels, sizeof *all);
        for (size_t k = 0; k < l->count; k++)
            all[l->numbers[k]] = one->values[k];
        mem_free(one->values);
        one->values = all;
        one->count = pixels;
    }
    mem_free(p->pixels.numbers);
    p->pixels = (struct planes_pixels){0};
}

void planes_free(struct planes *p)
{
    for (size_t i = 0; i < p->count; i++)
        mem_free(p->items[i].values);
    mem_free(p->items);
    mem_free(p->pixels.numbers);
    *p = (struct planes){0};
}

/* --- reflections --------------------------------------------------------- */

_Static_assert(sizeof(struct reflection_row) == 88, "rows travel as they lie in memory");
_Static_assert(offsetof(struct reflection_row, wavelength_A) == REFLECTION_ROW_BEFORE,
               "rows of previous versions are the beginning of rows");

void reflection_table_free(struct reflection_table *t)
{
    mem_free(t->rows);
    mem_free(t->pixels);
    mem_free(t->slopes);
    mem_free(t->labels);
    *t = (struct reflection_table){0};
}

void reflection_table_add(struct reflection_table *t, const float *background)
{
    const uint32_t *pixel = t->pixels;
    for (size_t i = 0; i < t->count && t->npixels; i++) {
        double sum = 0.0;
        for (int32_t k = 0; k < t->rows[i].pixels; k++)
            sum += (double)background[*pixel++];
        t->rows[i].background += (float)sum;
        t->rows[i].z = 0.0F;
    }
}

double reflection_z(const struct reflection_row *row, double readout_photons)
{
    const double pixels = row->pixels, background = (double)row->background;
    const double variance = row->photons + background + pixels * readout_photons * readout_photons;
    return variance > 0.0 ? row->photons / sqrt(variance) : 0.0;
}

/* Returns the photons that all rows give to each pixel, up to the last listed one, if each row
 * gives its photons to its listed pixels alike.  The caller frees the array.  NULL: pixels are not
 * listed.
 */
static double *photons_of_pixels(const struct reflection_table *t)
{
    uint32_t last = 0;
    for (size_t i = 0; i < t->npixels; i++)
        last = t->pixels[i] > last ? t->pixels[i] : last;
    double *photons = t->npixels ? mem_array((size_t)last + 1, sizeof *photons) : NULL;
    const uint32_t *pixel = t->pixels;
    for (size_t i = 0; i < t->count && photons; i++)
        for (int32_t k = 0; k < t->rows[i].pixels; k++)
            photons[*pixel++] += t->rows[i].photons / t->rows[i].pixels;
    return photons;
}

void reflection_table_rate(struct reflection_table *t, const struct experiment *x)
{
    const double readout_photons = x->has_readout ? x->readout_adu / fabs(x->gain) : 0.0;
    double *photons = photons_of_pixels(t);
    const uint32_t *pixel = t->pixels;
    for (size_t i = 0; i < t->count; i++) {
        struct reflection_row crowded = t->rows[i];
        double others = 0.0;  // a row alone in its pixels gets exactly 0
        for (int32_t k = 0; k < crowded.pixels && photons; k++)
            others += photons[*pixel++] - crowded.photons / crowded.pixels;
        crowded.background += (float)others;
        if (t->rows[i].z == 0.0F)
            t->rows[i].z = (float)reflection_z(&crowded, readout_photons);
    }
    mem_free(photons);
}

void reflection_table_unrate(struct reflection_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        t->rows[i].z = 0.0F;
}

/* --- the result of a fit ------------------------------------------------- */

size_t refined_numbers(size_t count)
{
    return count <= REFINED_COUNT_MAX ? 5 * count + count * count : SIZE_MAX;
}

/* Frees the numbers and clears *r. */
static void refined_free(struct refined *r)
{
    mem_free(r->numbers);
    *r = (struct refined){0};
}

/* --- clipped pixels ------------------------------------------------------ */

void clipped_add(struct clipped *c, uint64_t saturated, uint64_t below)
{
    c->frames++;
    c->clipped += saturated || below;
    c->saturated += saturated;
    c->below += below;
}

void clipped_say(const struct clipped *c, const char *where)
{
    char saturated[80] = "", below[64] = "";
    if (c->saturated)
        (void)snprintf(saturated, sizeof saturated, "%" PRIu64 " pixel%s saturated (%.12g ADU)",
                       c->saturated, c->saturated == 1 ? "" : "s", c->largest_adu);
    if (c->below)
        (void)snprintf(below, sizeof below, "%s%" PRIu64 " pixel%s below 0", *saturated ? ", " : "",
                       c->below, c->below == 1 ? "" : "s");
    if (c->clipped)
        log_line(LOG_NOTICE, "%s%s%" PRIu64 " of %" PRIu64 " frames%s: %s%s", where ? where : "",
                 where ? ": " : "", c->clipped, c->frames, log_is_part() ? " of this process" : "",
                 saturated, below);
}

/* --- frames -------------------------------------------------------------- */

void frame_free(struct frame *f)
{
    recipe_free(&f->recipe);
    image_free(&f->image);
    reflection_table_free(&f->reflections);
    planes_free(&f->planes);
    refined_free(&f->refined);
}
