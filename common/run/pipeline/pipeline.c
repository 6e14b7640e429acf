/* Finds properties of the stages of a pipeline, and applies the changes of the command line to
 * them. */
#include "run/pipeline/pipeline.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opt.h"
#include "run/pipeline/find_program.h"

/* --- questions: source, sinks, groups, keys ------------------------------------ */

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

/* Returns true if `arg` is --NAME or --NAME=VALUE.  `name` is the name without the dashes. */
static bool pipeline_is_option(const char *arg, const char *name)
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
           (!pipeline_has(s, "insecure") || pipeline_has(s, "bind") || pipeline_has(s, "connect"));
}

bool pipeline_needs_keys(const struct pipeline *p)
{
    for (size_t i = 0; i < p->nstages; i++) {
        const struct pipeline_stage *s = &p->stages[i];
        for (size_t k = 0; k < s->nargs && pipeline_takes_keys(s); k++)
            if (strstr(s->args[k], "tcp://") && !pipeline_is_option(s->args[k], "bind") &&
                !pipeline_is_option(s->args[k], "connect"))
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
    if (pipeline_is_program(s, "bragg-report") || pipeline_is_program(s, "bragg-view"))
        return !pipeline_has(s, "hold");
    if (!pipeline_is_program(s, "bragg-tap"))
        return false;
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

/* Checks that the source, and each stage before the source, has one process.  STATUS_INPUT: one
 * of these stages has several. */
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
        s->line, s->name, pipeline_is_program(s, "bragg-tap") ? "--hold=yes" : "--hold");
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

/* --- changes ------------------------------------------------------------------- */

static enum status too_many_args(const struct pipeline_stage *s, struct error *e)
{
    return error_set(e, STATUS_INPUT, "stage '%s' has too many args; expected at most %d", s->name,
                     PIPELINE_ARGS_MAX);
}

enum status pipeline_set(struct pipeline_stage *s, const char *name, const char *value,
                         struct error *e)
{
    size_t i = 0;
    while (i < s->nargs && !pipeline_is_option(s->args[i], name))
        i++;
    if (i == s->nargs && s->nargs == PIPELINE_ARGS_MAX)
        return too_many_args(s, e);
    const size_t size = strlen(name) + (value ? strlen(value) : 0) + sizeof "--=";
    char *text = mem_array(size, 1);
    (void)snprintf(text, size, value ? "--%s=%s" : "--%s", name, value);
    if (i < s->nargs) {
        mem_free(s->args[i]);
        s->args[i] = text;
        return STATUS_OK;
    }
    s->args[s->nargs++] = text;
    return STATUS_OK;
}

/* Sets *stage to the stage whose name is the first `length` bytes of `text`.  STATUS_USAGE:
 * there is no such stage; the error lists the stages. */
static enum status find_stage(const struct pipeline *p, const char *option, const char *text,
                              size_t length, struct pipeline_stage **stage, struct error *e)
{
    char known[256] = "";
    *stage = pipeline_find(p, text, length);
    if (*stage)
        return STATUS_OK;
    for (size_t i = 0, n = 0; i < p->nstages && n < sizeof known; i++)
        n +=
            (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", p->stages[i].name);
    return error_set(e, STATUS_USAGE, "%s: no stage is called '%.*s'; %s has %s", option,
                     length < 40 ? (int)length : 40, text, p->path, known);
}

enum status pipeline_split(const struct pipeline *p, const char *option, const char *text,
                           struct pipeline_stage **stage, const char **rest, struct error *e)
{
    const char *equals = strchr(text, '=');
    if (!equals || !equals[1])
        return error_set(e, STATUS_USAGE, "%s: '%.80s' has no value; expected STAGE=VALUE", option,
                         text);
    *rest = equals + 1;
    return find_stage(p, option, text, (size_t)(equals - text), stage, e);
}

enum status pipeline_override(struct pipeline *p, const char *text, struct error *e)
{
    static const char *const ours[] = {"in", "out", "stats", "trace"};
    struct pipeline_stage *stage;
    char name[64];
    const char *dot = strchr(text, '.');
    const char *option = dot ? dot + 1 : "";
    const size_t length = strspn(option, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-_");
    if (!length || length >= sizeof name || option[0] == '-' ||
        (option[length] && option[length] != '='))
        return error_set(e, STATUS_USAGE,
                         "--set: '%.80s' names no option; expected STAGE.OPTION=VALUE", text);
    const enum status s = find_stage(p, "--set", text, (size_t)(dot - text), &stage, e);
    if (s)
        return s;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, option);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(ours[i], name) == 0)
            return error_set(e, STATUS_USAGE,
                             "--set: --%s cannot be set; bragg-run sets it itself in all stages",
                             name);
    return pipeline_set(stage, name, option[length] ? option + length + 1 : NULL, e);
}

enum status pipeline_set_count(struct pipeline *p, const char *text, struct error *e)
{
    struct pipeline_stage *stage;
    const char *number = NULL;
    const enum status s = pipeline_split(p, "--count", text, &stage, &number, e);
    if (s)
        return s;
    stage->has_count = true;
    return parse_int(number, 1, PIPELINE_COUNT_MAX, "--count", &stage->count, e);
}

/* Returns the index of the stage whose output the last sink of the file reads, without regard to
 * bragg-tap; -1: none. */
static int gives_images(const struct pipeline *p)
{
    for (size_t i = p->nstages; i-- > 0;)
        if (pipeline_is_last(p, i) && !pipeline_is_program(&p->stages[i], "bragg-tap"))
            return p->stages[i].input;
    return -1;
}

enum status pipeline_add_watcher(struct pipeline *p, const char *name, bool needed,
                                 struct pipeline_stage **added, struct error *e)
{
    char program[sizeof "bragg-" + PIPELINE_NAME_SIZE];
    const int input = gives_images(p);
    *added = NULL;
    if (input < 0 && !needed)
        return STATUS_OK;
    if (input < 0 || p->nstages == PIPELINE_STAGES_MAX || pipeline_find(p, name, strlen(name)))
        return error_set(e, STATUS_USAGE, "--%s: %s: %s%s%s", name, p->path,
                         input < 0                           ? "no sink takes images"
                         : p->nstages == PIPELINE_STAGES_MAX ? "the pipeline has 64 stages already"
                                                             : "a stage is already called '",
                         input < 0 || p->nstages == PIPELINE_STAGES_MAX ? "" : name,
                         input < 0 || p->nstages == PIPELINE_STAGES_MAX ? "" : "'");
    (void)snprintf(program, sizeof program, "bragg-%s", name);
    struct pipeline_stage *stages = mem_array(p->nstages + 1, sizeof *stages);
    char *word = mem_copy(program, strlen(program) + 1, 1);
    memcpy(stages, p->stages, p->nstages * sizeof *stages);
    mem_free(p->stages);
    p->stages = stages;
    *added = &stages[p->nstages++];
    **added = (struct pipeline_stage){.program = word, .count = 1, .input = input, .after = -1};
    (void)snprintf((*added)->name, sizeof(*added)->name, "%s", name);
    return STATUS_OK;
}

enum status pipeline_add_word(struct pipeline_stage *s, const char *word, struct error *e)
{
    if (s->nargs == PIPELINE_ARGS_MAX)
        return too_many_args(s, e);
    s->args[s->nargs++] = mem_copy(word, strlen(word) + 1, 1);
    return STATUS_OK;
}

enum status pipeline_set_frames(struct pipeline *p, int64_t frames, struct error *e)
{
    char value[32];
    struct pipeline_stage *source = pipeline_source(p);
    if (!source)
        return error_set(e, STATUS_USAGE,
                         "--frames: %s has no stage bragg-orient. Use --set=STAGE.frames=N",
                         p->path);
    (void)snprintf(value, sizeof value, "%lld", (long long)frames);
    return pipeline_set(source, pipeline_is_program(source, "bragg-replay") ? "first" : "frames",
                        value, e);
}

enum status pipeline_widen(struct pipeline *p, struct error *e)
{
    enum { USUAL = 32, EACH = 4 };
    char text[24];
    int64_t most = 0;
    struct pipeline_stage *source = pipeline_source(p);
    for (size_t i = 0; i < p->nstages; i++)
        most = p->stages[i].count > most ? p->stages[i].count : most;
    if (!source || !pipeline_is_ours(source) || pipeline_has(source, "window") ||
        EACH * most <= USUAL)
        return STATUS_OK;
    (void)snprintf(text, sizeof text, "%" PRId64, EACH * most);
    return pipeline_set(source, "window", text, e);
}
