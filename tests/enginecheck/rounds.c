/* Number of rounds in which a time is measured. */
#include <stdlib.h>

#include "base/clock.h"
#include "check.h"

/* A card that idles raises its clock within tenths of a second. */
enum { ROUNDS_LEAST = 5 };
static const double WARM_S = 0.3, LONGEST_S = 0.5;

static double seconds_since(uint64_t start)
{
    return (double)(clock_ns() - start) * 1e-9;
}

bool rounds_go_on(struct rounds *r)
{
    if (r->begun == 0)
        r->begun = clock_ns();
    if (!r->warm && seconds_since(r->begun) >= WARM_S) {
        r->warm = true;
        r->begun = clock_ns();
    }
    return !r->warm || (r->count < ROUNDS_MAX &&
                        (r->count < ROUNDS_LEAST || seconds_since(r->begun) < LONGEST_S));
}

void rounds_add(struct rounds *r, double ms)
{
    if (r->warm)
        r->ms[r->count++] = ms;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct middle rounds_middle(struct rounds *r)
{
    if (r->count == 0)
        return (struct middle){0};
    qsort(r->ms, (size_t)r->count, sizeof *r->ms, ascending);
    return (struct middle){r->ms[r->count / 2], r->ms[0], r->count};
}
