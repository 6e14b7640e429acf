/* Parses the YAML of a pipeline file. */
#include "run/pipeline/pipeline_yaml.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"

const char *const yaml_key_names[YAML_KEYS] = {"name",   "program", "args",    "count",   "threads",
                                               "window", "input",   "restart", "order",   "after",
                                               "hosts",  "cpus",    "gpus",    "compress"};

/* The parser reads one event after the other.  The allowed content is known at each event, so no
 * tree is stored, and deep nesting is rejected at once. */
struct events {
    yaml_parser_t parser;
    yaml_event_t event;  // the latest event
    const char *path, *bytes;
    char anchor[64];     // first anchor of the file, with its &; "": none so far
    size_t anchor_line;  // line of that anchor, from 0
    struct error *e;
};

/* Sets the error for a line, counted from 0.  Returns false. */
static bool wrong_at(const struct events *in, size_t line, const char *subject, const char *what)
{
    (void)error_set(in->e, STATUS_INPUT, "%s:%zu: %.60s%s", in->path, line + 1, subject, what);
    return false;
}

/* Sets the error for the line of the latest event.  Returns false. */
static bool wrong(const struct events *in, const char *subject, const char *what)
{
    return wrong_at(in, in->event.start_mark.line, subject, what);
}

/* Rejects tags and stores the first anchor.  Anchors and tags change the meaning of a file for
 * other YAML readers, so ignoring them would run another pipeline than the one that was written. An
 * anchor is reported at the end, because an alias is the better place for an error. */
static bool take_marks(struct events *in, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor && !in->anchor[0]) {
        (void)snprintf(in->anchor, sizeof in->anchor, "&%s", (const char *)anchor);
        in->anchor_line = in->event.start_mark.line;
    }
    return !tag || wrong(in, (const char *)tag,
                         ": tags (!NAME) are not allowed; quotes keep a '!' in a text");
}

static bool check_marks(struct events *in)
{
    const yaml_event_t *event = &in->event;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_marks(in, event->data.scalar.anchor, event->data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
        return take_marks(in, event->data.sequence_start.anchor, event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return take_marks(in, event->data.mapping_start.anchor, event->data.mapping_start.tag);
    case YAML_ALIAS_EVENT:
        return wrong(in, "aliases (*NAME) are not allowed", "");
    case YAML_DOCUMENT_START_EVENT:
        return event->data.document_start.tag_directives.start ==
                   event->data.document_start.tag_directives.end ||
               wrong(in, "the directive %TAG is not allowed", "");
    case YAML_STREAM_END_EVENT:
        return !in->anchor[0] || wrong_at(in, in->anchor_line, in->anchor,
                                          ": anchors are not allowed; remove the anchor");
    default:
        return true;
    }
}

/* Returns true if a line, counted from 0, is indented with a tab. */
static bool has_tab(const char *bytes, size_t line)
{
    for (; line && *bytes; line--)
        bytes += strcspn(bytes, "\n") + (bytes[strcspn(bytes, "\n")] != 0);
    return bytes[strspn(bytes, " -?:")] == '\t';
}

static bool next(struct events *in)
{
    const yaml_parser_t *p = &in->parser;
    yaml_event_delete(&in->event);
    if (yaml_parser_parse(&in->parser, &in->event))
        return check_marks(in);
    char what[200];
    (void)snprintf(what, sizeof what, "%s%s", p->problem ? p->problem : "unreadable",
                   has_tab(in->bytes, p->problem_mark.line)
                       ? "; this line is indented with a tab, expected blanks"
                       : "");
    return wrong_at(in, p->problem_mark.line, "not YAML: ", what);
}

/* Reads the next event.  If it has another type, sets the error "SUBJECT WHAT". */
static bool expect(struct events *in, yaml_event_type_t type, const char *subject, const char *what)
{
    return next(in) && (in->event.type == type || wrong(in, subject, what));
}

/* Returns true if the event is one of YAML's words for "no value", without quotes. */
static bool is_null(const yaml_event_t *event)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    bool null = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !null; i++)
        null = strcmp((const char *)event->data.scalar.value, words[i]) == 0;
    return null && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Returns an error text if the latest event is not a text; NULL: it is one. */
static const char *why_no_text(const yaml_event_t *event)
{
    if (event->type == YAML_MAPPING_START_EVENT)
        return ": expected a text or a number, got a mapping. A text that contains ': ' or '{' "
               "needs quotes";
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return ": expected a text or a number, got a list. A text that begins with '[' or '- ' "
               "needs quotes";
    if (is_null(event))
        return ": expected a text or a number, got null. The texts '~' and 'null' need quotes";
    if (!event->data.scalar.length)
        return ": expected a text or a number, got an empty text";
    if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
        return ": the text contains a zero byte";
    return NULL;
}

/* Returns the text of the latest event, which the caller frees.  NULL: it is not a text. */
static char *take_text(struct events *in, const char *subject)
{
    const char *why = why_no_text(&in->event);
    if (why) {
        (void)wrong(in, subject, why);
        return NULL;
    }
    const char *text = (const char *)in->event.data.scalar.value;
    char *copy = mem_copy(text, strlen(text) + 1, 1);
    if (!copy)
        (void)error_memory(in->e, "the pipeline");
    return copy;
}

static bool take_args(struct events *in, struct yaml_stage *s)
{
    if (in->event.type != YAML_SEQUENCE_START_EVENT)
        return wrong(in, "args", ": expected a list, such as [--seed=3]");
    while (next(in) && in->event.type != YAML_SEQUENCE_END_EVENT) {
        if (s->nargs == PIPELINE_ARGS_MAX)
            return wrong(in, "args", ": too many; expected at most 128");
        s->args[s->nargs] = take_text(in, "args");
        if (!s->args[s->nargs++])
            return false;
    }
    return in->event.type == YAML_SEQUENCE_END_EVENT;
}

/* Reads a key, which is the latest event, and its value. */
static bool take_pair(struct events *in, struct yaml_stage *s)
{
    char *name = take_text(in, "a key");
    int k = 0;
    while (name && k < YAML_KEYS && strcmp(name, yaml_key_names[k]) != 0)
        k++;
    bool good = name != NULL;
    if (good && k == YAML_KEYS)
        good = wrong(in, name,
                     ": unknown key of a stage; expected name, program, args, count, threads, "
                     "window, input, restart, order, after, hosts, cpus, gpus or compress");
    else if (good && s->line[k])
        good = wrong(in, name, ": this key is given twice in the stage");
    mem_free(name);
    if (!good)
        return false;
    s->line[k] = (long)in->event.start_mark.line + 1;
    if (!next(in) || k == YAML_ARGS)
        return k == YAML_ARGS && !in->e->status && take_args(in, s);
    s->value[k] = take_text(in, yaml_key_names[k]);
    return s->value[k] != NULL;
}

/* Reads a stage, which begins at the latest event. */
static bool take_stage(struct events *in, struct yaml_stage *s)
{
    const size_t line = in->event.start_mark.line;
    if (in->event.type != YAML_MAPPING_START_EVENT)
        return wrong(in, "stage", ": expected keys with values, such as name: orient");
    while (next(in) && in->event.type != YAML_MAPPING_END_EVENT)
        if (!take_pair(in, s))
            return false;
    if (in->event.type != YAML_MAPPING_END_EVENT)
        return false;
    return s->value[YAML_NAME] || wrong_at(in, line, "stage without a name; add 'name: NAME'", "");
}

static bool take_stages(struct events *in, struct yaml_stages *y)
{
    static const char how_many[] = ": wrong number of stages; expected 2 to 64";
    if (!expect(in, YAML_SEQUENCE_START_EVENT, "stages", ": expected a list of stages"))
        return false;
    while (next(in) && in->event.type != YAML_SEQUENCE_END_EVENT)
        if (y->count == PIPELINE_STAGES_MAX)
            return wrong(in, "stages", how_many);
        else if (!take_stage(in, &y->stage[y->count++]))
            return false;
    return in->event.type == YAML_SEQUENCE_END_EVENT &&
           (y->count >= 2 || wrong(in, "stages", how_many));
}

/* Checks that no other key follows the list of stages. */
static bool take_end(struct events *in)
{
    if (!next(in) || in->event.type == YAML_MAPPING_END_EVENT)
        return in->e->status == STATUS_OK;
    if (in->event.type == YAML_SCALAR_EVENT &&
        strcmp((const char *)in->event.data.scalar.value, "stages") == 0)
        return wrong(in, "stages: this key is given twice", "");
    return wrong(in, "stages", ": no other key is allowed next to it");
}

static bool take_file(struct events *in, struct yaml_stages *y)
{
    static const char needed[] = "no stages found; expected a list 'stages:'";
    if (!expect(in, YAML_STREAM_START_EVENT, needed, "") || !next(in))
        return false;
    if (in->event.type != YAML_DOCUMENT_START_EVENT)
        return wrong(in, "empty file: ", needed);
    if (!expect(in, YAML_MAPPING_START_EVENT, needed, "") ||
        !expect(in, YAML_SCALAR_EVENT, needed, ""))
        return false;
    if (strcmp((const char *)in->event.data.scalar.value, "stages") != 0)
        return wrong(in, (const char *)in->event.data.scalar.value,
                     ": unknown key; expected stages");
    return take_stages(in, y) && take_end(in) &&
           expect(in, YAML_DOCUMENT_END_EVENT, "several documents; expected one", "") &&
           expect(in, YAML_STREAM_END_EVENT, "several documents; expected one", "");
}

enum status yaml_stages_read(struct yaml_stages *y, const char *path, const char *bytes,
                             size_t length, struct error *e)
{
    struct error inner = {0};
    struct events in = {.path = path, .bytes = bytes, .e = &inner};
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
