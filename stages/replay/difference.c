/* Prints the result of a comparison. */
#include "difference.h"

#include <stdio.h>
#include <string.h>

void report_line(const char *name, const char *what)
{
    printf("%s: %s\n", name, what);
}

/* Writes the position of a pixel: "fast,slow", and the panel if there are several. */
static void say_place(const struct experiment *x, size_t i, char text[64])
{
    const struct panel *p = x->panels;
    size_t number = 0;
    while (number + 1 < x->npanels && i >= (size_t)p[1].first_pixel) {
        number++;
        p++;
    }
    const size_t within = i - (size_t)p->first_pixel, width = (size_t)p->fast_pixels;
    const int used = snprintf(text, 64, "%zu,%zu", within % width, within / width);
    if (x->npanels > 1)
        (void)snprintf(text + used, 64 - (size_t)used, " of panel %zu", number);
}

bool report_pixels(const struct experiment *x, const char *name, const struct image *was,
                   const struct image *is)
{
    char place[64];
    size_t count = 0, first = 0;
    if (was->count != is->count || was->type != is->type) {
        printf("%s: stored %zu pixels of %zu bytes, recomputed %zu of %zu\n", name, was->count,
               pixel_size(was->type), is->count, pixel_size(is->type));
        return true;
    }
    const size_t size = pixel_size(was->type);
    for (size_t i = was->count; i-- > 0;)
        if (memcmp((const char *)was->pixels + i * size, (const char *)is->pixels + i * size,
                   size) != 0) {
            first = i;
            count++;
        }
    if (!count)
        return false;
    say_place(x, first, place);
    printf("%s: pixel %s is %.9g, recomputed %.9g; %zu of %zu pixels differ\n", name, place,
           image_value(was, first), image_value(is, first), count, was->count);
    return true;
}
