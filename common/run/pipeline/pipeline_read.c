/*
 * Reads a pipeline file in two steps: its YAML becomes texts with line numbers, and these become
 * stages, which are checked.
 */
#include "run/pipeline/pipeline.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/opt.h"
#include "io/text/textfile.h"

/* --- YAML ---------------------------------------------------------------------- */

/* Keys of a stage, as in pipeline.h. */
enum yaml_key {
    YAML_NAME,
    YAML_PROGRAM,
    YAML_ARGS,
    YAML_COUNT,
    YAML_THREADS,
    YAML_WINDOW,
    YAML_INPUT,
    YAML_RESTART,
    YAML_ORDER,
    YAML_AFTER,
    YAML_HOSTS,
    YAML_CPUS,
    YAML_GPUS,
    YAML_COMPRESS,
    YAML_KEYS,
};

static const char *const yaml_key_names[YAML_KEYS] = {
    "name",    "program", "args",  "count", "threads", "window", "input",
    "restart", "order",   "after", "hosts", "cpus",    "gpus",   "compress"};

/* The keys and values of one stage, as texts.  All texts are owned. */
struct yaml_stage {
    char *value[YAML_KEYS];  // value of each key except YAML_ARGS; NULL: the key is missing
    long line[YAML_KEYS];    // line of each key, from 1; 0: the key is missing
    char *args[PIPELINE_ARGS_MAX];
    size_t nargs;
};

/* All stages of a pipeline file, as texts. */
struct yaml_stages {
    size_t count;
    struct yaml_stage stage[PIPELINE_STAGES_MAX];
};

/* State of the YAML parser, which reads one event after the other.  The allowed content is known
 * at each event, so no tree is stored, and deep nesting is rejected at once. */
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

/* Rejects a tag, and stores the first anchor of the file; both may be NULL.  Returns false, with
 * the error, for a tag.  Anchors and tags change the meaning of a file for other YAML readers,
 * so a reader that ignores them would run another pipeline than the one that was written.  An
 * anchor is reported only at the end of the file, because the line of an alias is the better
 * place for an error. */
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
        return wrong(in, "aliases (*NAME) are not allowed; expected the value itself", "");
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

/* Reads the next event.  Returns false if its type is not `type`, with the error "SUBJECTWHAT",
 * or if the file cannot be parsed. */
static bool expect(struct events *in, yaml_event_type_t type, const char *subject, const char *what)
{
    return next(in) && (in->event.type == type || wrong(in, subject, what));
}

/* Returns true if a scalar event is one of the words of YAML for "no value", without quotes. */
static bool is_null(const yaml_event_t *event)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    bool null = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !null; i++)
        null = strcmp((const char *)event->data.scalar.value, words[i]) == 0;
    return null && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Returns what is wrong with an event that should be a text; NULL: the event is a text. */
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

/* Returns the text of the latest event, which the caller frees with mem_free.  NULL, with the
 * error: the event is not a text. */
static char *take_text(struct events *in, const char *subject)
{
    const char *why = why_no_text(&in->event);
    if (why) {
        (void)wrong(in, subject, why);
        return NULL;
    }
    const char *text = (const char *)in->event.data.scalar.value;
    return mem_copy(text, strlen(text) + 1, 1);
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

/* Reads a key, which is the latest event, and the value of the key.  Returns false, with the
 * error, if one of them is invalid. */
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

/* Reads a stage, which begins at the latest event.  Returns false, with the error, if the stage
 * is invalid. */
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

/* Reads the event after the list of stages.  Returns false, with the error, if another key
 * follows. */
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

/* Reads `length` bytes of YAML: 2 to PIPELINE_STAGES_MAX stages, each with a name.  `path` is for
 * errors.  STATUS_INPUT: the content is invalid; the error begins with FILE:LINE.
 * Call yaml_stages_free afterwards, also after an error. */
static enum status yaml_stages_read(struct yaml_stages *y, const char *path, const char *bytes,
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

static void yaml_stages_free(struct yaml_stages *y)
{
    for (size_t i = 0; i < y->count; i++) {
        for (int k = 0; k < YAML_KEYS; k++)
            mem_free(y->stage[i].value[k]);
        for (size_t k = 0; k < y->stage[i].nargs; k++)
            mem_free(y->stage[i].args[k]);
    }
    *y = (struct yaml_stages){0};
}

/* --- the stages ---------------------------------------------------------------- */

struct reader {
    struct pipeline *pipeline;
    struct yaml_stages yaml;
};

__attribute__((format(printf, 5, 6))) static enum status wrong_value(const struct reader *r,
                                                                     size_t i, enum yaml_key key,
                                                                     struct error *e,
                                                                     const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(e, STATUS_INPUT, "%s:%ld: %s", r->pipeline->path, r->yaml.stage[i].line[key],
                     text);
}

/* Reads the value of a key as a whole number from `min` to `max`.  Leaves *value unchanged if
 * the key is missing.  STATUS_INPUT: the value is not such a number. */
static enum status read_int(const struct reader *r, size_t i, enum yaml_key key, int64_t min,
                            int64_t max, int64_t *value, struct error *e)
{
    struct error inner = {0};
    const char *text = r->yaml.stage[i].value[key];
    if (text && text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        return wrong_value(
            r, i, key, e,
            "%s: '%.40s' begins with 0, which some YAML readers take as octal; expected "
            "a decimal number without leading 0",
            yaml_key_names[key], text);
    if (!text || parse_int(text, min, max, yaml_key_names[key], value, &inner) == STATUS_OK)
        return STATUS_OK;
    return wrong_value(r, i, key, e, "%s", inner.text);
}

/* Checks that a value is not given twice, by a key and by the option of that name in args.
 * STATUS_INPUT: both are given. */
static enum status check_twice(const struct reader *r, size_t i, enum yaml_key key, struct error *e)
{
    if (!r->yaml.stage[i].value[key] || !pipeline_has(&r->pipeline->stages[i], yaml_key_names[key]))
        return STATUS_OK;
    return wrong_value(r, i, key, e, "%s: --%s is also in args; remove one of the two",
                       yaml_key_names[key], yaml_key_names[key]);
}

/* Reads a key whose value, a whole number from 1 to `max`, becomes an option of the program. */
static enum status read_option(const struct reader *r, size_t i, enum yaml_key key, int64_t max,
                               struct error *e)
{
    int64_t value;
    const char *text = r->yaml.stage[i].value[key];
    enum status s = read_int(r, i, key, 1, max, &value, e);
    if (s == STATUS_OK)
        s = check_twice(r, i, key, e);
    if (s || !text)
        return s;
    return pipeline_set(&r->pipeline->stages[i], yaml_key_names[key], text, e);
}

static enum status read_name(const struct reader *r, size_t i, struct error *e)
{
    const char *name = r->yaml.stage[i].value[YAML_NAME];
    struct pipeline_stage *s = &r->pipeline->stages[i];
    const size_t length = strlen(name);
    if (length >= sizeof s->name || strcmp(name, "control") == 0 ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != length)
        return wrong_value(
            r, i, YAML_NAME, e,
            "name: '%.40s' is not allowed; expected up to 32 of a-z, 0-9 and -, except 'control'",
            name);
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->pipeline->stages[k].name, name) == 0)
            return wrong_value(r, i, YAML_NAME, e,
                               "name: '%s' is already the name of the stage in line %ld", name,
                               r->pipeline->stages[k].line);
    memcpy(s->name, name, length + 1);
    s->line = r->yaml.stage[i].line[YAML_NAME];
    return STATUS_OK;
}

static enum status read_args(const struct reader *r, size_t i, struct error *e)
{
    static const char *const ours[] = {"--in", "--out", "--stats", "--trace"};
    const struct yaml_stage *raw = &r->yaml.stage[i];
    struct pipeline_stage *s = &r->pipeline->stages[i];
    for (; s->nargs < raw->nargs; s->nargs++) {
        const char *arg = raw->args[s->nargs];
        const size_t length = strcspn(arg, "=");
        for (size_t k = 0; k < sizeof ours / sizeof *ours && s->after < 0; k++)
            if (strlen(ours[k]) == length && strncmp(arg, ours[k], length) == 0)
                return wrong_value(r, i, YAML_ARGS, e,
                                   "args: %s is not allowed, because bragg-run sets it; remove it",
                                   ours[k]);
        s->args[s->nargs] = mem_copy(arg, strlen(arg) + 1, 1);
    }
    return STATUS_OK;
}

/* Reads the value of a key, which is true or false.  Leaves *value unchanged if the key is
 * missing. */
static enum status read_bool(const struct reader *r, size_t i, enum yaml_key key, bool *value,
                             struct error *e)
{
    const char *text = r->yaml.stage[i].value[key];
    if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return wrong_value(r, i, key, e, "%s: '%.40s' is not allowed; expected true or false",
                           yaml_key_names[key], text);
    *value = text ? strcmp(text, "true") == 0 : *value;
    return STATUS_OK;
}

static enum status read_order(const struct reader *r, size_t i, struct error *e)
{
    bool order = false;
    enum status s = read_bool(r, i, YAML_ORDER, &order, e);
    if (s == STATUS_OK)
        s = check_twice(r, i, YAML_ORDER, e);
    if (s || !order)
        return s;
    return pipeline_set(&r->pipeline->stages[i], yaml_key_names[YAML_ORDER], NULL, e);
}

static enum status read_compress(const struct reader *r, size_t i, struct error *e)
{
    bool compress = false;
    const enum status s = read_bool(r, i, YAML_COMPRESS, &compress, e);
    if (r->yaml.stage[i].value[YAML_COMPRESS])
        r->pipeline->stages[i].compress = compress ? COMPRESS_TRUE : COMPRESS_FALSE;
    return s ? s : check_twice(r, i, YAML_COMPRESS, e);
}

/* Reads the key `after`, which names a stage above.  The stage with this key is a client
 * program, which waits for the named stage and receives no frames. */
static enum status read_after(const struct reader *r, size_t i, struct error *e)
{
    static const enum yaml_key frames[] = {YAML_INPUT, YAML_THREADS, YAML_WINDOW, YAML_ORDER,
                                           YAML_COMPRESS};
    const struct yaml_stage *raw = &r->yaml.stage[i];
    const char *after = raw->value[YAML_AFTER];
    struct pipeline_stage *s = &r->pipeline->stages[i];
    s->after = -1;
    for (size_t k = 0; k < i && after; k++)
        if (strcmp(r->pipeline->stages[k].name, after) == 0)
            s->after = (int)k;
    if (after && s->after < 0)
        return wrong_value(r, i, YAML_AFTER, e, "after: no stage above this one is called '%.40s'",
                           after);
    for (size_t k = 0; k < sizeof frames / sizeof *frames && after; k++)
        if (raw->value[frames[k]])
            return wrong_value(
                r, i, frames[k], e,
                "%s: not allowed with 'after', because such a program takes no frames",
                yaml_key_names[frames[k]]);
    if (after && !raw->value[YAML_PROGRAM])
        return wrong_value(r, i, YAML_AFTER, e,
                           "after: the program is missing; add 'program: NAME'");
    return STATUS_OK;
}

static enum status read_stage(const struct reader *r, size_t i, struct error *e)
{
    struct pipeline_stage *stage = &r->pipeline->stages[i];
    const char *program = r->yaml.stage[i].value[YAML_PROGRAM];
    char fallback[sizeof "bragg-" + PIPELINE_NAME_SIZE];
    enum status s = read_name(r, i, e);
    if (s)
        return s;
    (void)snprintf(fallback, sizeof fallback, "bragg-%s", stage->name);
    program = program ? program : fallback;
    stage->program = mem_copy(program, strlen(program) + 1, 1);
    stage->count = 1;
    stage->has_count = r->yaml.stage[i].value[YAML_COUNT];
    const char *hosts = r->yaml.stage[i].value[YAML_HOSTS];
    stage->hosts = hosts ? mem_copy(hosts, strlen(hosts) + 1, 1) : NULL;
    s = read_after(r, i, e);
    stage->restart = stage->after < 0 ? INT64_MAX : 0;
    if (s == STATUS_OK)
        s = read_int(r, i, YAML_COUNT, 1, PIPELINE_COUNT_MAX, &stage->count, e);
    if (s == STATUS_OK)
        s = read_int(r, i, YAML_RESTART, 0, 1000, &stage->restart, e);
    if (s == STATUS_OK)
        s = read_int(r, i, YAML_CPUS, 1, 1024, &stage->cpus, e);
    if (s == STATUS_OK)
        s = read_int(r, i, YAML_GPUS, 1, 64, &stage->gpus, e);
    if (s == STATUS_OK)
        s = read_args(r, i, e);
    if (s == STATUS_OK)
        s = read_option(r, i, YAML_THREADS, 1024, e);
    if (s == STATUS_OK)
        s = read_order(r, i, e);
    if (s == STATUS_OK)
        s = read_compress(r, i, e);
    return s ? s : read_option(r, i, YAML_WINDOW, 65536, e);
}

/* Reads the key `input`, which names another stage.  Is called when the names of all stages are
 * known. */
static enum status read_input(const struct reader *r, size_t i, struct error *e)
{
    const struct pipeline *p = r->pipeline;
    const char *input = r->yaml.stage[i].value[YAML_INPUT];
    int above = (int)i - 1;
    while (above >= 0 && p->stages[above].after >= 0)
        above--;
    p->stages[i].input = p->stages[i].after < 0 ? above : -1;
    if (!input)
        return STATUS_OK;
    const struct pipeline_stage *before = pipeline_find(p, input, strlen(input));
    if (!before)
        return wrong_value(r, i, YAML_INPUT, e, "input: no stage is called '%.40s'", input);
    if (before->after >= 0)
        return wrong_value(r, i, YAML_INPUT, e,
                           "input: '%.40s' has 'after' and gives no frames; name another stage",
                           input);
    p->stages[i].input = (int)(before - p->stages);
    return STATUS_OK;
}

/* Checks that the chain of inputs from a stage ends at a stage without an input, and does not
 * form a circle.  STATUS_INPUT: it forms a circle. */
static enum status check_cycle(const struct reader *r, size_t i, struct error *e)
{
    const struct pipeline *p = r->pipeline;
    int at = (int)i;
    for (size_t steps = 0; at >= 0; steps++, at = p->stages[at].input)
        if (steps > p->nstages)
            return wrong_value(
                r, i, r->yaml.stage[i].line[YAML_INPUT] ? YAML_INPUT : YAML_NAME, e,
                "the input of '%s' leads back to itself; expected one stage without an input",
                p->stages[i].name);
    return STATUS_OK;
}

static enum status read_stages(const struct reader *r, struct error *e)
{
    struct pipeline *p = r->pipeline;
    enum status s = STATUS_OK;
    p->stages = mem_array(r->yaml.count, sizeof *p->stages);
    p->nstages = r->yaml.count;
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++)
        s = read_stage(r, i, e);
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++)
        s = read_input(r, i, e);
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++)
        s = check_cycle(r, i, e);
    return s;
}

enum status pipeline_load(struct pipeline *p, const char *path, struct error *e)
{
    struct text_file t;
    *p = (struct pipeline){.path = path};
    struct reader *r = mem_array(1, sizeof *r);
    r->pipeline = p;
    enum status s = text_open(&t, path, FILETYPE_PIPELINE, PIPELINE_BYTES_MAX, e);
    if (s == STATUS_OK)
        s = yaml_stages_read(&r->yaml, path, t.bytes, t.length, e);
    if (s == STATUS_OK)
        s = read_stages(r, e);
    yaml_stages_free(&r->yaml);
    text_close(&t);
    mem_free(r);
    return s;
}

void pipeline_close(struct pipeline *p)
{
    for (size_t i = 0; i < p->nstages; i++) {
        mem_free(p->stages[i].program);
        mem_free(p->stages[i].hosts);
        for (size_t k = 0; k < p->stages[i].nargs; k++)
            mem_free(p->stages[i].args[k]);
    }
    mem_free(p->stages);
    *p = (struct pipeline){0};
}
