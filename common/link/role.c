#include "link/role.h"

const char *kind_name(enum kind kind)
{
    static const char *const names[] = {"nothing", "experiment", "recipe", "image", "anything"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}
