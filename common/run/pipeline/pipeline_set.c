/* Changes that the command line makes to a pipeline. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opt.h"
#include "run/pipeline/pipeline.h"

enum status pipeline_set(struct pipeline_stage *s, const char *name, const char *value,
                         struct error *e)
{
    size_t i = 0;
    while (i < s->nargs && !pipeline_is_option(s->args[i], name))
        i++;
    if (i == s->nargs && s->nargs == PIPELINE_ARGS_MAX)
        return error_set(e, STATUS_INPUT, "stage '%s' has too many args; expected at most %d",
                         s->name, PIPELINE_ARGS_MAX);
    const size_t size = strlen(name) + (value ? strlen(value) : 0) + sizeof "--=";
    char *text = mem_array(size, 1);
    if (!text)
        return error_memory(e, "the pipeline");
    (void)snprintf(text, size, value ? "--%s=%s" : "--%s", name, value);
    if (i < s->nargs) {
        mem_free(s->args[i]);
        s->args[i] = text;
        return STATUS_OK;
    }
    s->args[s->nargs++] = text;
    return STATUS_OK;
}

/* Finds the stage that is named by the first `length` bytes of `text`. */
static enum status find(const struct pipeline *p, const char *option, const char *text,
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
    return find(p, option, text, (size_t)(equals - text), stage, e);
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
    const enum status s = find(p, "--set", text, (size_t)(dot - text), &stage, e);
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
    return s ? s : parse_int(number, 1, PIPELINE_COUNT_MAX, "--count", &stage->count, e);
}

/* Returns the stage whose images go to the last sink of the file; -1: none. */
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
    if (!stages || !word) {
        mem_free(stages);
        mem_free(word);
        return error_memory(e, "the pipeline");
    }
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
    if (s->nargs == PIPELINE_ARGS_MAX || !(s->args[s->nargs] = mem_copy(word, strlen(word) + 1, 1)))
        return error_memory(e, "the pipeline");
    s->nargs++;
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
