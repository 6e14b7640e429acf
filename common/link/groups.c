#include "link/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/control.h"

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0;
}

static bool is_listed(const char *text, const char *group)
{
    const size_t wanted = strlen(group);
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (length == wanted && memcmp(text, group, length) == 0)
            return true;
        if (!text[length])
            return false;
        text += length + 1;
    }
}

/* Names parted by commas, all of them different. */
static bool are_names(const char *text)
{
    for (;;) {
        char name[GROUP_SIZE];
        const size_t length = strcspn(text, ",");
        if (!length || length >= sizeof name)
            return false;
        if (!text[length])
            return true;
        (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
        text += length + 1;
        if (is_listed(text, name))
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
                     "--groups: '%.60s' is neither a number from 1 to %d nor different names of "
                     "1 to %d characters parted by commas",
                     text, GROUPS_MAX, GROUP_SIZE - 1);
}

bool groups_ask_for(const char *text, const char *group, size_t taken)
{
    if (!text || is_number(text))
        return taken < groups_count(text);
    return is_listed(text, group);
}
