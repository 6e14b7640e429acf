#include "score/answer.h"

#include <string.h>

#include "base/alloc.h"

void answer_clear(struct answer *a)
{
    *a = (struct answer){
        .spots = a->spots,
        .lattices = a->lattices,
        .reflections = a->reflections,
        .spots_room = a->spots_room,
        .lattices_room = a->lattices_room,
        .reflections_room = a->reflections_room,
    };
}

struct answer_spot *answer_add_spot(struct answer *a)
{
    struct answer_spot *more = mem_grow(a->spots, a->nspots, 1, sizeof *more, &a->spots_room);
    if (!more)
        return NULL;
    a->spots = more;
    more[a->nspots] = (struct answer_spot){0};
    return &more[a->nspots++];
}

struct answer_lattice *answer_add_lattice(struct answer *a)
{
    struct answer_lattice *more =
        mem_grow(a->lattices, a->nlattices, 1, sizeof *more, &a->lattices_room);
    if (!more)
        return NULL;
    a->lattices = more;
    more[a->nlattices] = (struct answer_lattice){.first = a->nreflections};
    return &more[a->nlattices++];
}

struct answer_reflection *answer_add_reflection(struct answer *a)
{
    struct answer_reflection *more =
        mem_grow(a->reflections, a->nreflections, 1, sizeof *more, &a->reflections_room);
    if (!more)
        return NULL;
    a->reflections = more;
    more[a->nreflections] = (struct answer_reflection){0};
    return &more[a->nreflections++];
}

void answer_free(struct answer *a)
{
    mem_free(a->spots);
    mem_free(a->lattices);
    mem_free(a->reflections);
    *a = (struct answer){0};
}

bool answer_frame_of_name(const char *path, uint64_t *frame)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *dot = strrchr(name, '.');
    size_t end = dot ? (size_t)(dot - name) : strlen(name);
    while (end && !(name[end - 1] >= '0' && name[end - 1] <= '9'))
        end--;
    size_t first = end;
    while (first && end - first < 18 && name[first - 1] >= '0' && name[first - 1] <= '9')
        first--;
    *frame = 0;
    for (size_t i = first; i < end; i++)
        *frame = 10 * *frame + (uint64_t)(name[i] - '0');
    return first < end;
}
