#include "link/role.h"

/* By what passes between them. */
static const struct {
    const char *giver, *taker;
} programs[] = {[KIND_EXPERIMENT] = {"bragg-geometry", "bragg-orient"},
                [KIND_RECIPE] = {"bragg-orient", "bragg-intensity"},
                [KIND_IMAGE] = {"bragg-intensity", "bragg-write"},
                [KIND_ANY] = {"bragg-intensity", "bragg-tap"}};

const char *kind_giver(enum kind kind)
{
    return programs[kind].giver;
}

const char *kind_taker(enum kind kind)
{
    return programs[kind].taker;
}

const char *kind_name(enum kind kind)
{
    static const char *const names[] = {"nothing", "experiment", "recipe", "image", "anything"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}
