#include "run/pipeline.h"

#include <cyaml/cyaml.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opt.h"
#include "io/textfile.h"
#include "run/yaml_lines.h"

/* --- what libcyaml reads ------------------------------------------------- */

/* Numbers stay text, for parse_int. */
struct raw_stage {
    char *value[YAML_KEYS];  // NULL where not given; not YAML_ARGS
    char **args;
    unsigned nargs;
};

struct raw_file {
    struct raw_stage *stages;
    unsigned nstages;
};

static const cyaml_schema_value_t arg_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 4096)};

#define TEXT(key, index, flags)                                                                  \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | (flags), struct raw_stage, value[index], 1, \
                           4096)

static const cyaml_schema_field_t stage_fields[] = {
    TEXT("name", YAML_NAME, 0),
    TEXT("program", YAML_PROGRAM, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_SEQUENCE_COUNT("args", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct raw_stage,
                               args, nargs, &arg_schema, 0, PIPELINE_ARGS_MAX),
    TEXT("count", YAML_COUNT, CYAML_FLAG_OPTIONAL),
    TEXT("threads", YAML_THREADS, CYAML_FLAG_OPTIONAL),
    TEXT("window", YAML_WINDOW, CYAML_FLAG_OPTIONAL),
    TEXT("input", YAML_INPUT, CYAML_FLAG_OPTIONAL),
    TEXT("restart", YAML_RESTART, CYAML_FLAG_OPTIONAL),
    TEXT("order", YAML_ORDER, CYAML_FLAG_OPTIONAL),
    TEXT("after", YAML_AFTER, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t stage_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_stage, stage_fields)};

static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_SEQUENCE_COUNT("stages", CYAML_FLAG_POINTER, struct raw_file, stages, nstages,
                               &stage_schema, 2, PIPELINE_STAGES_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_file, file_fields)};

/* --- its messages -------------------------------------------------------- */

/* The first message and the first position are those of the culprit. */
struct complaint {
    char text[256];
    int line;
};

__attribute__((format(printf, 3, 0))) static void take_message(cyaml_log_t level, void *context,
                                                               const char *format, va_list args)
{
    struct complaint *c = context;
    char text[256];
    (void)level;
    (void)vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = 0;
    const char *at = strstr(text, "(line: ");
    if (at && !c->line)
        (void)sscanf(at, "(line: %d", &c->line);
    else if (!c->text[0])
        (void)snprintf(c->text, sizeof c->text, "%s",
                       strncmp(text, "Load: ", 6) == 0 ? text + 6 : text);
}

static enum status refuse(const char *path, const struct complaint *c, cyaml_err_t code,
                          struct error *e)
{
    const char *allowed = "";
    if (code == CYAML_ERR_INVALID_KEY)
        allowed = strstr(c->text, "stages")
                      ? ""
                      : "; allowed are stages:, and within a stage name, program, args, count, "
                        "threads, window, input, restart, order and after";
    else if (code == CYAML_ERR_SEQUENCE_ENTRIES_MIN)
        allowed = "; a pipeline has 2 to 64 stages";
    return error_set(e, STATUS_INPUT, "%s:%d: %s%s", path, c->line ? c->line : 1,
                     c->text[0] ? c->text : cyaml_strerror(code), allowed);
}

/* --- from text to stages ------------------------------------------------- */

struct reader {
    struct pipeline *pipeline;
    const struct raw_file *raw;
    struct yaml_lines lines;
};

__attribute__((format(printf, 5, 6))) static enum status
wrong(const struct reader *r, size_t i, enum yaml_key key, struct error *e, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(e, STATUS_INPUT, "%s:%ld: %s", r->pipeline->path, r->lines.at[i][key], text);
}

/* A whole number of a stage; *value keeps its default where there is none. */
static enum status read_int(const struct reader *r, size_t i, enum yaml_key key, int64_t min,
                            int64_t max, int64_t *value, struct error *e)
{
    struct error inner = {0};
    const char *text = r->raw->stages[i].value[key];
    if (!text || parse_int(text, min, max, yaml_key_names[key], value, &inner) == STATUS_OK)
        return STATUS_OK;
    return wrong(r, i, key, e, "%s", inner.text);
}

/* A number that becomes an option of the program. */
static enum status read_option(const struct reader *r, size_t i, enum yaml_key key, int64_t max,
                               struct error *e)
{
    int64_t value;
    const char *text = r->raw->stages[i].value[key];
    enum status s = read_int(r, i, key, 1, max, &value, e);
    if (s || !text)
        return s;
    return pipeline_set(&r->pipeline->stages[i], yaml_key_names[key], text, e);
}

static enum status read_name(const struct reader *r, size_t i, struct error *e)
{
    const char *name = r->raw->stages[i].value[YAML_NAME];
    struct pipeline_stage *s = &r->pipeline->stages[i];
    const size_t length = strlen(name);
    if (length >= sizeof s->name || strcmp(name, "control") == 0 ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != length)
        return wrong(
            r, i, YAML_NAME, e,
            "the name '%.40s' is not allowed: up to 32 of a-z, 0-9 and -, but not 'control'", name);
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->pipeline->stages[k].name, name) == 0)
            return wrong(r, i, YAML_NAME, e, "the name '%s' is taken by the stage in line %ld",
                         name, r->pipeline->stages[k].line);
    memcpy(s->name, name, length + 1);
    s->line = r->lines.at[i][YAML_NAME];
    return STATUS_OK;
}

static enum status read_args(const struct reader *r, size_t i, struct error *e)
{
    static const char *const ours[] = {"--in", "--out", "--stats", "--trace"};
    const struct raw_stage *raw = &r->raw->stages[i];
    struct pipeline_stage *s = &r->pipeline->stages[i];
    for (; s->nargs < raw->nargs; s->nargs++) {
        const char *arg = raw->args[s->nargs];
        const size_t length = strcspn(arg, "=");
        for (size_t k = 0; k < sizeof ours / sizeof *ours && s->after < 0; k++)
            if (strlen(ours[k]) == length && strncmp(arg, ours[k], length) == 0)
                return wrong(r, i, YAML_ARGS, e, "%s is not allowed here: bragg-run sets it",
                             ours[k]);
        s->args[s->nargs] = mem_copy(arg, strlen(arg) + 1, 1);
        if (!s->args[s->nargs])
            return error_memory(e, "the pipeline");
    }
    return STATUS_OK;
}

static enum status read_order(const struct reader *r, size_t i, struct error *e)
{
    const char *text = r->raw->stages[i].value[YAML_ORDER];
    if (!text || strcmp(text, "false") == 0)
        return STATUS_OK;
    if (strcmp(text, "true") != 0)
        return wrong(r, i, YAML_ORDER, e, "order: '%.40s' is not allowed: true or false", text);
    return pipeline_set(&r->pipeline->stages[i], yaml_key_names[YAML_ORDER], NULL, e);
}

/* The program of somebody else waits for a stage above, and takes nothing from the stream. */
static enum status read_after(const struct reader *r, size_t i, struct error *e)
{
    static const enum yaml_key frames[] = {YAML_INPUT, YAML_THREADS, YAML_WINDOW, YAML_ORDER};
    const struct raw_stage *raw = &r->raw->stages[i];
    const char *after = raw->value[YAML_AFTER];
    struct pipeline_stage *s = &r->pipeline->stages[i];
    s->after = -1;
    for (size_t k = 0; k < i && after; k++)
        if (strcmp(r->pipeline->stages[k].name, after) == 0)
            s->after = (int)k;
    if (after && s->after < 0)
        return wrong(r, i, YAML_AFTER, e, "after: there is no stage '%.40s' above this one", after);
    for (size_t k = 0; k < sizeof frames / sizeof *frames && after; k++)
        if (raw->value[frames[k]])
            return wrong(r, i, frames[k], e, "%s: a program with after: takes no frames",
                         yaml_key_names[frames[k]]);
    if (after && !raw->value[YAML_PROGRAM])
        return wrong(r, i, YAML_AFTER, e, "after: is for other programs: which one says program:");
    return STATUS_OK;
}

static enum status read_stage(const struct reader *r, size_t i, struct error *e)
{
    struct pipeline_stage *stage = &r->pipeline->stages[i];
    const char *program = r->raw->stages[i].value[YAML_PROGRAM];
    char fallback[sizeof "bragg-" + PIPELINE_NAME_SIZE];
    enum status s = read_name(r, i, e);
    if (s)
        return s;
    (void)snprintf(fallback, sizeof fallback, "bragg-%s", stage->name);
    program = program ? program : fallback;
    stage->program = mem_copy(program, strlen(program) + 1, 1);
    if (!stage->program)
        return error_memory(e, "the pipeline");
    stage->count = 1;
    s = read_after(r, i, e);
    stage->restart = stage->after < 0 ? INT64_MAX : 0;
    if (s == STATUS_OK)
        s = read_int(r, i, YAML_COUNT, 1, PIPELINE_COUNT_MAX, &stage->count, e);
    if (s == STATUS_OK)
        s = read_int(r, i, YAML_RESTART, 0, 1000, &stage->restart, e);
    if (s == STATUS_OK)
        s = read_args(r, i, e);
    if (s == STATUS_OK)
        s = read_option(r, i, YAML_THREADS, 1024, e);
    if (s == STATUS_OK)
        s = read_order(r, i, e);
    return s ? s : read_option(r, i, YAML_WINDOW, 65536, e);
}

/* After all names are known. */
static enum status read_input(const struct reader *r, size_t i, struct error *e)
{
    const struct pipeline *p = r->pipeline;
    const char *input = r->raw->stages[i].value[YAML_INPUT];
    int above = (int)i - 1;
    while (above >= 0 && p->stages[above].after >= 0)
        above--;
    p->stages[i].input = p->stages[i].after < 0 ? above : -1;
    if (!input)
        return STATUS_OK;
    const struct pipeline_stage *before = pipeline_find(p, input, strlen(input));
    if (!before)
        return wrong(r, i, YAML_INPUT, e, "input: there is no stage '%.40s'", input);
    if (before->after >= 0)
        return wrong(r, i, YAML_INPUT, e, "input: '%.40s' gives no frames", input);
    p->stages[i].input = (int)(before - p->stages);
    return STATUS_OK;
}

/* Going from input to input must end. */
static enum status check_cycle(const struct reader *r, size_t i, struct error *e)
{
    const struct pipeline *p = r->pipeline;
    int at = (int)i;
    for (size_t steps = 0; at >= 0; steps++, at = p->stages[at].input)
        if (steps > p->nstages)
            return wrong(r, i, r->lines.at[i][YAML_INPUT] ? YAML_INPUT : YAML_NAME, e,
                         "the input of '%s' leads back to itself: one stage must be without",
                         p->stages[i].name);
    return STATUS_OK;
}

static enum status read_stages(const struct reader *r, struct error *e)
{
    struct pipeline *p = r->pipeline;
    enum status s = STATUS_OK;
    p->stages = mem_array(r->raw->nstages, sizeof *p->stages);
    if (!p->stages)
        return error_memory(e, "the pipeline");
    p->nstages = r->raw->nstages;
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++)
        s = read_stage(r, i, e);
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++)
        s = read_input(r, i, e);
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++)
        s = check_cycle(r, i, e);
    return s;
}

static enum status read_text(struct reader *r, const char *bytes, size_t length, struct error *e)
{
    struct complaint complaint = {0};
    struct raw_file *raw = NULL;
    const char *path = r->pipeline->path;
    const cyaml_config_t config = {.log_fn = take_message,
                                   .log_ctx = &complaint,
                                   .mem_fn = cyaml_mem,
                                   .log_level = CYAML_LOG_ERROR,
                                   .flags = CYAML_CFG_NO_ALIAS};
    enum status s = yaml_lines_find(&r->lines, path, bytes, length, e);
    if (s)
        return s;
    const cyaml_err_t code = cyaml_load_data((const uint8_t *)bytes, length, &config, &file_schema,
                                             (cyaml_data_t **)&raw, NULL);
    r->raw = raw;
    if (code != CYAML_OK)
        s = refuse(path, &complaint, code, e);
    else if (!raw)
        s = error_set(e, STATUS_INPUT, "%s:1: it is empty: a list 'stages:' is needed", path);
    else
        s = read_stages(r, e);
    (void)cyaml_free(&config, &file_schema, raw, 0);
    return s;
}

enum status pipeline_load(struct pipeline *p, const char *path, struct error *e)
{
    struct text_file t;
    *p = (struct pipeline){.path = path};
    struct reader *r = mem_array(1, sizeof *r);
    if (!r)
        return error_memory(e, "the pipeline");
    r->pipeline = p;
    enum status s = text_open(&t, path, FILETYPE_PIPELINE, PIPELINE_BYTES_MAX, e);
    if (s == STATUS_OK)
        s = read_text(r, t.bytes, t.length, e);
    text_close(&t);
    mem_free(r);
    return s;
}

void pipeline_close(struct pipeline *p)
{
    for (size_t i = 0; i < p->nstages; i++) {
        mem_free(p->stages[i].program);
        for (size_t k = 0; k < p->stages[i].nargs; k++)
            mem_free(p->stages[i].args[k]);
    }
    mem_free(p->stages);
    *p = (struct pipeline){0};
}
