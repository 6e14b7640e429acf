/* Converts the texts of a pipeline file into stages, and checks them. */
#include "run/pipeline/pipeline.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opt.h"
#include "io/text/textfile.h"
#include "run/pipeline/pipeline_yaml.h"

struct reader {
    struct pipeline *pipeline;
    struct yaml_stages yaml;
};

__attribute__((format(printf, 5, 6))) static enum status
wrong(const struct reader *r, size_t i, enum yaml_key key, struct error *e, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(e, STATUS_INPUT, "%s:%ld: %s", r->pipeline->path, r->yaml.stage[i].line[key],
                     text);
}

/* Reads a whole number.  Leaves *value unchanged if the key is missing. */
static enum status read_int(const struct reader *r, size_t i, enum yaml_key key, int64_t min,
                            int64_t max, int64_t *value, struct error *e)
{
    struct error inner = {0};
    const char *text = r->yaml.stage[i].value[key];
    if (text && text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        return wrong(r, i, key, e,
                     "%s: '%.40s' begins with 0, which some YAML readers take as octal; expected "
                     "a decimal number without leading 0",
                     yaml_key_names[key], text);
    if (!text || parse_int(text, min, max, yaml_key_names[key], value, &inner) == STATUS_OK)
        return STATUS_OK;
    return wrong(r, i, key, e, "%s", inner.text);
}

/* Checks that args do not contain the option of a key as well: two values would be ambiguous. */
static enum status check_twice(const struct reader *r, size_t i, enum yaml_key key, struct error *e)
{
    if (!r->yaml.stage[i].value[key] || !pipeline_has(&r->pipeline->stages[i], yaml_key_names[key]))
        return STATUS_OK;
    return wrong(r, i, key, e, "%s: --%s is also in args; remove one of the two",
                 yaml_key_names[key], yaml_key_names[key]);
}

/* Reads a number that becomes an option of the program. */
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
        return wrong(
            r, i, YAML_NAME, e,
            "name: '%.40s' is not allowed; expected up to 32 of a-z, 0-9 and -, except 'control'",
            name);
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->pipeline->stages[k].name, name) == 0)
            return wrong(r, i, YAML_NAME, e,
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
                return wrong(r, i, YAML_ARGS, e,
                             "args: %s is not allowed, because bragg-run sets it; remove it",
                             ours[k]);
        s->args[s->nargs] = mem_copy(arg, strlen(arg) + 1, 1);
        if (!s->args[s->nargs])
            return error_memory(e, "the pipeline");
    }
    return STATUS_OK;
}

/* Reads true or false.  Leaves *value unchanged if the key is missing. */
static enum status read_bool(const struct reader *r, size_t i, enum yaml_key key, bool *value,
                             struct error *e)
{
    const char *text = r->yaml.stage[i].value[key];
    if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return wrong(r, i, key, e, "%s: '%.40s' is not allowed; expected true or false",
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

/* Reads `after`: a client program that waits for a stage above, and takes no frames. */
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
        return wrong(r, i, YAML_AFTER, e, "after: no stage above this one is called '%.40s'",
                     after);
    for (size_t k = 0; k < sizeof frames / sizeof *frames && after; k++)
        if (raw->value[frames[k]])
            return wrong(r, i, frames[k], e,
                         "%s: not allowed with 'after', because such a program takes no frames",
                         yaml_key_names[frames[k]]);
    if (after && !raw->value[YAML_PROGRAM])
        return wrong(r, i, YAML_AFTER, e, "after: the program is missing; add 'program: NAME'");
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
    if (!stage->program)
        return error_memory(e, "the pipeline");
    stage->count = 1;
    const char *hosts = r->yaml.stage[i].value[YAML_HOSTS];
    stage->hosts = hosts ? mem_copy(hosts, strlen(hosts) + 1, 1) : NULL;
    if (hosts && !stage->hosts)
        return error_memory(e, "the pipeline");
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

/* Reads `input`.  Called after the names of all stages are known. */
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
        return wrong(r, i, YAML_INPUT, e, "input: no stage is called '%.40s'", input);
    if (before->after >= 0)
        return wrong(r, i, YAML_INPUT, e,
                     "input: '%.40s' has 'after' and gives no frames; name another stage", input);
    p->stages[i].input = (int)(before - p->stages);
    return STATUS_OK;
}

/* Checks that the inputs of a stage lead to a stage without an input, and not in a circle. */
static enum status check_cycle(const struct reader *r, size_t i, struct error *e)
{
    const struct pipeline *p = r->pipeline;
    int at = (int)i;
    for (size_t steps = 0; at >= 0; steps++, at = p->stages[at].input)
        if (steps > p->nstages)
            return wrong(
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
    if (!p->stages)
        return error_memory(e, "the pipeline");
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
    if (!r)
        return error_memory(e, "the pipeline");
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
