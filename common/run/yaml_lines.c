#include "run/yaml_lines.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

const char *const yaml_key_names[YAML_KEYS] = {"name",   "program", "args",    "count", "threads",
                                               "window", "input",   "restart", "order", "after"};

/* A stage is a mapping in a sequence in the top mapping. */
enum { DEPTH_STAGE = 3, DEPTH_MAX = 8 };

struct walk {
    struct yaml_lines *lines;
    int depth, documents;
    int stage;   // index, -1 before the first
    bool value;  // within a stage: what comes is a value
};

/* NULL, or what is wrong with it. */
static const char *note_key(struct walk *w, const yaml_event_t *event)
{
    if (w->stage < 0 || w->stage >= PIPELINE_STAGES_MAX)
        return NULL;
    for (int i = 0; i < YAML_KEYS; i++) {
        long *line = &w->lines->at[w->stage][i];
        if (strcmp((const char *)event->data.scalar.value, yaml_key_names[i]) != 0)
            continue;
        if (*line)
            return "the key is given twice in this stage";
        *line = (long)event->start_mark.line + 1;
    }
    return NULL;
}

/* Takes one event in; NULL, or what is wrong with it. */
static const char *step(struct walk *w, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return "aliases are not allowed";
    case YAML_DOCUMENT_START_EVENT:
        return w->documents++ ? "one document is allowed" : NULL;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        if (w->depth == DEPTH_STAGE)
            w->value = !w->value;
        if (++w->depth > DEPTH_MAX)
            return "lists are nested too deeply";
        if (w->depth == DEPTH_STAGE) {
            w->stage++;
            w->value = false;
        }
        return NULL;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        w->depth--;
        return NULL;
    case YAML_SCALAR_EVENT:
        if (w->depth != DEPTH_STAGE)
            return NULL;
        w->value = !w->value;
        return w->value ? note_key(w, event) : NULL;
    default:
        return NULL;
    }
}

enum status yaml_lines_find(struct yaml_lines *lines, const char *path, const char *bytes,
                            size_t length, struct error *e)
{
    struct walk w = {.lines = lines, .stage = -1};
    yaml_parser_t parser;
    *lines = (struct yaml_lines){0};
    if (!yaml_parser_initialize(&parser))
        return error_memory(e, "the pipeline file");
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, length);
    enum status s = STATUS_OK;
    for (bool more = true; more && s == STATUS_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            s = error_set(e, STATUS_INPUT, "%s:%zu: no YAML: %s", path,
                          parser.problem_mark.line + 1,
                          parser.problem ? parser.problem : "it cannot be read");
            break;
        }
        const char *wrong = step(&w, &event);
        if (wrong)
            s = error_set(e, STATUS_INPUT, "%s:%zu: %s", path, event.start_mark.line + 1, wrong);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return s;
}
