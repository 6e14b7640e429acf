#include "link/role.h"

const struct kind_programs kind_programs[] = {
    [KIND_EXPERIMENT] = {"bragg-geometry", "bragg-orient"},
    [KIND_RECIPE] = {"bragg-orient", "bragg-intensity"},
    [KIND_IMAGE] = {"bragg-intensity", "bragg-write"},
    [KIND_ANY] = {"bragg-intensity", "bragg-tap"},
};

const char *kind_name(enum kind kind)
{
    static const char *const names[] = {"nothing", "experiment", "recipe", "image", "anything"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}
