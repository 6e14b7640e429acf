/* The kinds of input and output of stages, and the groups of sinks. */
#include "link/stage_kind.h"

#include <stdlib.h>
#include <string.h>

#include "wire/control.h"

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

/* --- groups of sinks --------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0;
}

static bool is_listed(const char *text, const char *name, size_t size)
{
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        if (length == size && memcmp(text, name, length) == 0)
            return true;
        text += length;
        if (!*text)
            return false;
    }
}

/* Returns true for a list of names that are separated by commas and all different. */
static bool are_names(const char *text)
{
    for (;; text++) {
        const char *name = text;
        const size_t length = strcspn(text, ",");
        text += length;
        if (!length || length >= GROUP_SIZE)
            return false;
        if (!*text)
            return true;
        if (is_listed(text + 1, name, length))
            return false;
    }
}

size_t groups_count(const char *text)
{
    size_t count = 1;
    if (!text)
        return count;
    if (is_number(text))
        return strlen(text) < 4 ? strtoul(text, NULL, 10) : SIZE_MAX;
    for (const char *at = text; *at; at++)
        count += *at == ',';
    return count;
}

enum status groups_check(const char *text, struct error *e)
{
    const size_t count = groups_count(text);
    if (!text || (count >= 1 && count <= GROUPS_MAX && (is_number(text) || are_names(text))))
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--groups: '%.60s' is not valid; expected a number from 1 to %d, or different "
                     "names of 1 to %d characters, separated by commas",
                     text, GROUPS_MAX, GROUP_SIZE - 1);
}

bool groups_ask_for(const char *text, const char *group, size_t taken)
{
    if (!text || is_number(text))
        return taken < groups_count(text);
    return is_listed(text, group, strlen(group));
}
