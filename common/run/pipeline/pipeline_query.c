/* Questions about the stages of a pipeline: source, sinks, groups, keys. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "run/pipeline/find_program.h"
#include "run/pipeline/pipeline.h"

struct pipeline_stage *pipeline_find(const struct pipeline *p, const char *name, size_t length)
{
    for (size_t i = 0; i < p->nstages; i++)
        if (strlen(p->stages[i].name) == length && memcmp(p->stages[i].name, name, length) == 0)
            return &p->stages[i];
    return NULL;
}

bool pipeline_is_last(const struct pipeline *p, size_t i)
{
    for (size_t k = 0; k < p->nstages; k++)
        if (p->stages[k].input == (int)i)
            return false;
    return p->stages[i].after < 0;
}

bool pipeline_is_option(const char *arg, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(arg, "--", 2) == 0 && strncmp(arg + 2, name, length) == 0 &&
           (arg[2 + length] == 0 || arg[2 + length] == '=');
}

bool pipeline_has(const struct pipeline_stage *s, const char *name)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (pipeline_is_option(s->args[i], name))
            return true;
    return false;
}

bool pipeline_is_program(const struct pipeline_stage *s, const char *name)
{
    const char *slash = strrchr(s->program, '/');
    return strcmp(slash ? slash + 1 : s->program, name) == 0;
}

bool pipeline_is_ours(const struct pipeline_stage *s)
{
    return program_is_ours(s->program);
}

const char *pipeline_value(const struct pipeline_stage *s, const char *name)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (pipeline_is_option(s->args[i], name) && strchr(s->args[i], '='))
            return strchr(s->args[i], '=') + 1;
    return NULL;
}

bool pipeline_takes_keys(const struct pipeline_stage *s)
{
    return s->after < 0 && !pipeline_has(s, "keys") &&
           (!pipeline_has(s, "insecure") || pipeline_has(s, "bind"));
}

bool pipeline_needs_keys(const struct pipeline *p)
{
    for (size_t i = 0; i < p->nstages; i++) {
        const struct pipeline_stage *s = &p->stages[i];
        for (size_t k = 0; k < s->nargs && pipeline_takes_keys(s); k++)
            if (strstr(s->args[k], "tcp://") && !pipeline_is_option(s->args[k], "bind"))
                return true;
    }
    return false;
}

struct pipeline_stage *pipeline_source(const struct pipeline *p)
{
    for (size_t i = 0; i < p->nstages; i++) {
        struct pipeline_stage *s = &p->stages[i];
        if (s->after >= 0)
            continue;
        if (pipeline_is_program(s, "bragg-orient") || pipeline_is_program(s, "bragg-replay"))
            return s;
        if (pipeline_has(s, "frames"))
            return s;
    }
    return NULL;
}

bool pipeline_only_watches(const struct pipeline_stage *s)
{
    if (pipeline_is_program(s, "bragg-report"))
        return !pipeline_has(s, "hold");
    if (!pipeline_is_program(s, "bragg-tap"))
        return pipeline_is_program(s, "bragg-view");
    const char *hold = pipeline_value(s, "hold");
    return hold && strcmp(hold, "auto") != 0 ? strcmp(hold, "no") == 0 : !pipeline_has(s, "record");
}

static bool is_after(const struct pipeline *p, size_t i, const struct pipeline_stage *source)
{
    int at = (int)i;
    while (at >= 0 && &p->stages[at] != source)
        at = p->stages[at].input;
    return at >= 0;
}

static bool is_durable(const struct pipeline *p, size_t i)
{
    return pipeline_is_last(p, i) && !pipeline_only_watches(&p->stages[i]) &&
           is_after(p, i, pipeline_source(p));
}

static const char *group_of(const struct pipeline_stage *s)
{
    const char *group = pipeline_value(s, "group");
    return group ? group : s->name;
}

int pipeline_groups(const struct pipeline *p, char text[PIPELINE_GROUPS_SIZE])
{
    int groups = 0;
    size_t length = 0;
    for (size_t i = 0; i < p->nstages; i++) {
        bool first = is_durable(p, i);
        for (size_t k = 0; k < i && first; k++)
            first = !is_durable(p, k) || strcmp(group_of(&p->stages[k]), group_of(&p->stages[i]));
        if (!first)
            continue;
        const char *name = group_of(&p->stages[i]);
        const size_t room = PIPELINE_GROUPS_SIZE - length;  // 0: the names do not fit
        const int more = snprintf(text + length, room, "%s%s", groups++ ? "," : "", name);
        length = strchr(name, ',') || (size_t)more >= room ? PIPELINE_GROUPS_SIZE
                                                           : length + (size_t)more;
    }
    if (length == PIPELINE_GROUPS_SIZE)
        (void)snprintf(text, PIPELINE_GROUPS_SIZE, "%d", groups);
    return groups;
}

/* Checks that the source, and the stages before the source, have one process. */
static enum status check_source(const struct pipeline *p, struct error *e)
{
    const struct pipeline_stage *source = pipeline_source(p);
    for (const struct pipeline_stage *s = source; s;
         s = s->input >= 0 ? &p->stages[s->input] : NULL)
        if (s->count > 1)
            return error_set(
                e, STATUS_INPUT,
                "%s:%ld: stage '%s' must run as one process because it %s the source (got count: "
                "%lld). Set 'count: 1'",
                p->path, s->line, s->name, s == source ? "is" : "comes before",
                (long long)s->count);
    return STATUS_OK;
}

/* Checks that the run waits for at least one sink; otherwise it could end before any frame is used.
 */
static enum status check_watcher(const struct pipeline *p, size_t i, struct error *e)
{
    const struct pipeline_stage *s = &p->stages[i];
    char names[PIPELINE_GROUPS_SIZE];
    if (!pipeline_is_last(p, i) || !pipeline_only_watches(s) ||
        !is_after(p, i, pipeline_source(p)) || pipeline_groups(p, names))
        return STATUS_OK;
    return error_set(
        e, STATUS_INPUT,
        "%s:%ld: the only sink '%s' is passive, so the run would not wait for it. Add %s", p->path,
        s->line, s->name,
        pipeline_is_program(s, "bragg-view")  ? "a sink such as bragg-write"
        : pipeline_is_program(s, "bragg-tap") ? "--hold=yes"
                                              : "--hold");
}

enum status pipeline_check(const struct pipeline *p, struct error *e)
{
    for (size_t i = 0; i < p->nstages; i++) {
        const struct pipeline_stage *s = &p->stages[i];
        for (size_t k = 0; k < s->nargs && s->count > 1; k++)
            if (pipeline_is_option(s->args[k], "order"))
                return error_set(e, STATUS_INPUT,
                                 "%s:%ld: stage '%s' has --order and must run as one process "
                                 "(got count: %lld). Set 'count: 1'",
                                 p->path, s->line, s->name, (long long)s->count);
    }
    enum status s = check_source(p, e);
    for (size_t i = 0; i < p->nstages && !s; i++)
        s = check_watcher(p, i, e);
    return s;
}
