#include "model/reflections.h"

#include "base/alloc.h"

_Static_assert(sizeof(struct reflection_row) == 80, "rows travel as they lie in memory");

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
    }
}
