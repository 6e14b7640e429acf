#include "run/pipeline_yaml.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"

const char *const yaml_key_names[YAML_KEYS] = {"name",   "program", "args",    "count",   "threads",
                                               "window", "input",   "restart", "order",   "after",
                                               "hosts",  "cpus",    "gpus",    "compress"};

/* One event after the other: what the file may hold is known at each of them, so that nothing is
 * kept and nothing can be nested too deeply. */
struct events {
    yaml_parser_t parser;
    yaml_event_t event;  // the last one
    const char *path;
    struct error *e;
};

/* Says what is wrong in a line, from 0; returns false. */
static bool wrong_at(const struct events *in, size_t line, const char *subject, const char *what)
{
    (void)error_set(in->e, STATUS_INPUT, "%s:%zu: %.60s%s", in->path, line + 1, subject, what);
    return false;
}

/* The same of the last event. */
static bool wrong(const struct events *in, const char *subject, const char *what)
{
    return wrong_at(in, in->event.start_mark.line, subject, what);
}

static bool next(struct events *in)
{
    const yaml_parser_t *p = &in->parser;
    yaml_event_delete(&in->event);
    if (!yaml_parser_parse(&in->parser, &in->event))
        return wrong_at(in, p->problem_mark.line,
                        "no YAML: ", p->problem ? p->problem : "it cannot be read");
    return in->event.type != YAML_ALIAS_EVENT || wrong(in, "aliases are not allowed", "");
}

/* The next event is of that type, or `what` is said of `subject`. */
static bool expect(struct events *in, yaml_event_type_t type, const char *subject, const char *what)
{
    return next(in) && (in->event.type == type || wrong(in, subject, what));
}

/* The text of the last event, which the caller frees; NULL for none. */
static char *take_text(struct events *in, const char *subject)
{
    const yaml_event_t *event = &in->event;
    const char *text =
        event->type == YAML_SCALAR_EVENT ? (const char *)event->data.scalar.value : "";
    if (!*text || strlen(text) != event->data.scalar.length) {
        (void)wrong(in, subject, ": must be a text or a number");
        return NULL;
    }
    char *copy = mem_copy(text, strlen(text) + 1, 1);
    if (!copy)
        (void)error_memory(in->e, "the pipeline");
    return copy;
}

static bool take_args(struct events *in, struct yaml_stage *s)
{
    if (in->event.type != YAML_SEQUENCE_START_EVENT)
        return wrong(in, "args", ": must be a list");
    while (next(in) && in->event.type != YAML_SEQUENCE_END_EVENT) {
        if (s->nargs == PIPELINE_ARGS_MAX)
            return wrong(in, "args", ": a stage has 128 of them at most");
        s->args[s->nargs] = take_text(in, "args");
        if (!s->args[s->nargs++])
            return false;
    }
    return in->event.type == YAML_SEQUENCE_END_EVENT;
}

/* The last event is a key. */
static bool take_pair(struct events *in, struct yaml_stage *s)
{
    char *name = take_text(in, "a key");
    int k = 0;
    while (name && k < YAML_KEYS && strcmp(name, yaml_key_names[k]) != 0)
        k++;
    bool good = name != NULL;
    if (good && k == YAML_KEYS)
        good = wrong(in, name,
                     " is no key of a stage, allowed are name, program, args, count, threads, "
                     "window, input, restart, order, after, hosts, cpus, gpus and compress");
    else if (good && s->line[k])
        good = wrong(in, name, ": the key is given twice in this stage");
    mem_free(name);
    if (!good)
        return false;
    s->line[k] = (long)in->event.start_mark.line + 1;
    if (!next(in) || k == YAML_ARGS)
        return k == YAML_ARGS && !in->e->status && take_args(in, s);
    s->value[k] = take_text(in, yaml_key_names[k]);
    return s->value[k] != NULL;
}

/* The last event begins it. */
static bool take_stage(struct events *in, struct yaml_stage *s)
{
    const size_t line = in->event.start_mark.line;
    if (in->event.type != YAML_MAPPING_START_EVENT)
        return wrong(in, "a stage", " must be keys with values, as name: orient");
    while (next(in) && in->event.type != YAML_MAPPING_END_EVENT)
        if (!take_pair(in, s))
            return false;
    if (in->event.type != YAML_MAPPING_END_EVENT)
        return false;
    return s->value[YAML_NAME] || wrong_at(in, line, "a stage without name:", "");
}

static bool take_stages(struct events *in, struct yaml_stages *y)
{
    static const char how_many[] = ": a pipeline has 2 to 64 of them";
    if (!expect(in, YAML_SEQUENCE_START_EVENT, "stages", ": must be a list"))
        return false;
    while (next(in) && in->event.type != YAML_SEQUENCE_END_EVENT)
        if (y->count == PIPELINE_STAGES_MAX)
            return wrong(in, "stages", how_many);
        else if (!take_stage(in, &y->stage[y->count++]))
            return false;
    return in->event.type == YAML_SEQUENCE_END_EVENT &&
           (y->count >= 2 || wrong(in, "stages", how_many));
}

static bool take_file(struct events *in, struct yaml_stages *y)
{
    static const char needed[] = "a list 'stages:' is needed";
    if (!expect(in, YAML_STREAM_START_EVENT, needed, "") || !next(in))
        return false;
    if (in->event.type != YAML_DOCUMENT_START_EVENT)
        return wrong(in, "it is empty: ", needed);
    if (!expect(in, YAML_MAPPING_START_EVENT, needed, "") ||
        !expect(in, YAML_SCALAR_EVENT, needed, ""))
        return false;
    if (strcmp((const char *)in->event.data.scalar.value, "stages") != 0)
        return wrong(in, (const char *)in->event.data.scalar.value,
                     " is no key, allowed is stages");
    return take_stages(in, y) &&
           expect(in, YAML_MAPPING_END_EVENT, "stages:", " is the one key that is allowed") &&
           expect(in, YAML_DOCUMENT_END_EVENT, "one document is allowed", "") &&
           expect(in, YAML_STREAM_END_EVENT, "one document is allowed", "");
}

enum status yaml_stages_read(struct yaml_stages *y, const char *path, const char *bytes,
                             size_t length, struct error *e)
{
    struct error inner = {0};
    struct events in = {.path = path, .e = &inner};
    *y = (struct yaml_stages){0};
    if (!yaml_parser_initialize(&in.parser))
        return error_memory(e, "the pipeline file");
    yaml_parser_set_input_string(&in.parser, (const unsigned char *)bytes, length);
    const bool good = take_file(&in, y);
    yaml_event_delete(&in.event);
    yaml_parser_delete(&in.parser);
    return good ? STATUS_OK : error_set(e, inner.status, "%s", inner.text);
}

void yaml_stages_free(struct yaml_stages *y)
{
    for (size_t i = 0; i < y->count; i++) {
        for (int k = 0; k < YAML_KEYS; k++)
            mem_free(y->stage[i].value[k]);
        for (size_t k = 0; k < y->stage[i].nargs; k++)
            mem_free(y->stage[i].args[k]);
    }
    *y = (struct yaml_stages){0};
}
