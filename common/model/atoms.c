#include "model/atoms.h"

#include "base/alloc.h"

void atoms_free(struct atoms *a)
{
    mem_free(a->list);
    *a = (struct atoms){0};
}
