#include "model/refined.h"

#include "base/alloc.h"

size_t refined_numbers(size_t count)
{
    return count <= REFINED_COUNT_MAX ? 5 * count + count * count : SIZE_MAX;
}

void refined_free(struct refined *r)
{
    mem_free(r->numbers);
    *r = (struct refined){0};
}
