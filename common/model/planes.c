#include "model/planes.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

bool planes_reserve(struct planes *p, size_t count)
{
    p->items = mem_array(count, sizeof *p->items);
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
        return "too many, or with names that are none or twice the same";
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].count != (listed ? p->pixels.count : pixels))
            return listed ? "of another size than their list of pixels"
                          : "of another size than its image";
    if (listed && !ascend(&p->pixels, pixels))
        return "with a list of pixels that does not ascend within its image";
    for (size_t i = 0; i < p->count && listed; i++)
        if (!are_finite(&p->items[i]))
            return "near spots with values that are not finite";
    return NULL;
}

bool planes_expand(struct planes *p, size_t pixels)
{
    const struct planes_pixels *l = &p->pixels;
    for (size_t i = 0; i < p->count && l->listed; i++) {
        struct plane *one = &p->items[i];
        float *all = mem_array(pixels, sizeof *all);
        if (!all)
            return false;
        for (size_t k = 0; k < l->count; k++)
            all[l->numbers[k]] = one->values[k];
        mem_free(one->values);
        one->values = all;
        one->count = pixels;
    }
    mem_free(p->pixels.numbers);
    p->pixels = (struct planes_pixels){0};
    return true;
}

void planes_free(struct planes *p)
{
    for (size_t i = 0; i < p->count; i++)
        mem_free(p->items[i].values);
    mem_free(p->items);
    mem_free(p->pixels.numbers);
    *p = (struct planes){0};
}
