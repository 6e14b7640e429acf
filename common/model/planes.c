#include "model/planes.h"

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

bool planes_are_sound(const struct planes *p, size_t pixels)
{
    if (p->count > PLANES_MAX)
        return false;
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i].count != pixels || !is_name(p->items[i].name))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(p->items[k].name, p->items[i].name) == 0)
                return false;
    }
    return true;
}

void planes_free(struct planes *p)
{
    for (size_t i = 0; i < p->count; i++)
        mem_free(p->items[i].values);
    mem_free(p->items);
    *p = (struct planes){0};
}
