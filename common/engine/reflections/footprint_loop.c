/*
 * The loop of the footprint, compiled once per instruction set.  No multiplication is fused with an
 * addition, so that all instruction sets give the same bytes.  The first-level cache limits the
 * speed: two loads and one store for each sum.
 */
#include "engine/reflections/footprint.h"

#include "base/isa.h"

enum { SPAN = FOOTPRINT_NODE };

static void add(float *to, const float *restrict given)
{
    for (int i = 0; i < SPAN; i++)  // vectorised
        to[i] = to[i] + given[i];
}

/* Adds the photons that the pixels of a span give, with weights that change linearly from `from`
 * to `to`. */
static void give(const float *restrict in, float from, float to, float *restrict given)
{
    const float slope = (to - from) * (1.0f / SPAN);
    for (int i = 0; i < SPAN; i++)  // vectorised
        given[i] = (from + slope * (float)i) * in[i];
}

static int is_dark(const float *in)
{
    int lit = 0;
    for (int i = 0; i < SPAN; i++)  // vectorised
        lit |= in[i] != 0.0f;
    return !lit;
}

static void row(const struct footprint_row *r)
{
    float given[SPAN];
    for (int64_t span = 0; span < r->spans; span++) {
        const float *in = r->in + span * SPAN;
        const float *from = r->weight + span * (r->reach + 1), *to = from + r->reach + 1;
        if (is_dark(in))
            continue;
        give(in, from[0], to[0], given);
        add(r->after[0] + span * SPAN, given);
        for (int n = 1; n <= r->reach && (from[n] > 0.0f || to[n] > 0.0f); n++) {
            give(in, from[n], to[n], given);
            add(r->before[n] + span * SPAN, given);
            add(r->after[n] + span * SPAN, given);
        }
    }
}

const struct footprint_kernels NAME(footprint_kernels_, ISA) = {
    .row = row,
};
