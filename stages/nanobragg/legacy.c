#include "legacy.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/program.h"
#include "io/images/nanobragg_files.h"
#include "physics/noise/noisify.h"

struct legacy_args legacy_args(const struct legacy_flag *table, int argc, char **argv)
{
    return (struct legacy_args){.table = table, .argc = argc, .argv = argv, .next = 1};
}

static bool is_gnu(const char *text)
{
    return text[0] == '-' && text[1] == '-';
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && *end == '\0';
}

static const struct legacy_flag *find_flag(const struct legacy_flag *table, const char *name)
{
    for (; table->name; table++) {
        size_t length = strlen(table->name);
        bool prefix = table->name[length - 1] == '*';
        if (prefix ? strncmp(name, table->name, length - 1) == 0 : strcmp(name, table->name) == 0)
            return table;
    }
    return NULL;
}

static void remember_idle(struct legacy_args *args, const char *name)
{
    size_t used = strlen(args->idle);
    if (strstr(args->idle, name) || used + strlen(name) + 2 > sizeof args->idle)
        return;
    args->idle[used] = ' ';
    strcpy(args->idle + used + 1, name);
}

static enum status parse_value(const struct legacy_flag *flag, struct legacy_option *o, int i,
                               struct error *e)
{
    if (flag->type == LEGACY_REAL)
        return parse_real(o->text[i], -1.7e308, 1.7e308, o->name, &o->real[i], e);
    if (flag->type == LEGACY_INT)
        return parse_int(o->text[i], -INT64_MAX, INT64_MAX, o->name, &o->integer[i], e);
    return STATUS_OK;
}

static enum status take_values(struct legacy_args *args, const struct legacy_flag *flag,
                               struct legacy_option *o, struct error *e)
{
    while (o->count < flag->max) {
        const char *text = args->next < args->argc ? args->argv[args->next] : NULL;
        if (o->count >= flag->min && (!text || !is_number(text)))
            break;
        if (!text)
            return error_set(e, STATUS_USAGE, "%s: needs %d value%s", o->name, flag->min,
                             flag->min == 1 ? "" : "s");
        args->next++;
        o->text[o->count] = text;
        enum status status = parse_value(flag, o, o->count, e);
        if (status)
            return status;
        o->count++;
    }
    return STATUS_OK;
}

enum status legacy_next(struct legacy_args *args, struct legacy_option *o, struct error *e)
{
    while (args->next < args->argc) {
        const char *name = args->argv[args->next++];
        if (is_gnu(name))
            continue;
        const struct legacy_flag *flag = name[0] == '-' ? find_flag(args->table, name) : NULL;
        if (!flag)
            return error_set(e, STATUS_USAGE,
                             name[0] == '-' ? "%s: unknown flag" : "%s: unexpected argument", name);
        *o = (struct legacy_option){.id = flag->id, .name = name};
        enum status status = take_values(args, flag, o, e);
        if (status)
            return status;
        if (flag->id != LEGACY_NO_EFFECT)
            return STATUS_OK;
        remember_idle(args, name);
    }
    *o = (struct legacy_option){0};
    return STATUS_OK;
}

void legacy_store(const struct legacy_target *t, const struct legacy_option *o, void *options)
{
    void *value = (char *)options + t->offset;
    switch (t->type) {
    case LEGACY_NONE:
        *(bool *)value = true;
        break;
    case LEGACY_REAL:
        for (int i = 0; i < o->count; i++)
            ((double *)value)[i] =
                t->unit == SI_WHOLE ? trunc(o->real[i]) : to_si((enum si)t->unit, o->real[i]);
        break;
    case LEGACY_INT:
        *(int64_t *)value = t->unit == SI_NEGATED ? -o->integer[0] : o->integer[0];
        break;
    case LEGACY_TEXT:
        *(const char **)value = o->text[0];
        break;
    }
}

void legacy_warn(const struct legacy_args *args)
{
    if (args->idle[0])
        log_line(LOG_WARNING, "these flags have no effect:%s", args->idle);
}

int legacy_split(int argc, char **argv, char **gnu)
{
    int n = 0;
    gnu[n++] = argv[0];
    for (int i = 1; i < argc; i++)
        if (is_gnu(argv[i]))
            gnu[n++] = argv[i];
    gnu[n] = NULL;
    return n;
}

/* Answers --help and --version. */
static enum status help(const struct opt_program *program, int argc, char **argv, struct error *e)
{
    static const struct opt none[] = {{0}};
    int noperands;
    char **gnu = mem_array((size_t)argc + 1, sizeof *gnu);
    const int count = legacy_split(argc, argv, gnu);
    enum status s = opt_parse(program, none, NULL, NULL, NULL, count, gnu, NULL, &noperands, e);
    mem_free(gnu);
    return s;
}

int legacy_main(const struct opt_program *program,
                enum status (*run)(int argc, char **argv, struct error *e), int argc, char **argv)
{
    struct error e = {0};
    program_open(program->name);
    enum status s = help(program, argc, argv, &e);
    if (!s)
        s = run(argc, argv, &e);
    return s ? log_fail(&e) : STATUS_OK;
}

/* --- output files ------------------------------------------------------------------------ */

static enum status print_statistics(const struct legacy_statistics *st, struct error *e)
{
    printf("max_I = %g at pixel %" PRId64 " %" PRId64 ", mean = %g, rmsd = %g, pixels = %" PRId64
           "\n",
           st->max, st->max_fast, st->max_slow, st->mean, st->rmsd, st->computed);
    if (fflush(stdout) != 0)
        return error_errno(e, STATUS_FAILED, "cannot write to standard output");
    return STATUS_OK;
}

static enum status write_counts(const struct legacy_files *files, const struct panel *p,
                                const float *pixels, const struct header_text *header,
                                struct ran1 *random, double scale, uint16_t *image, struct error *e)
{
    size_t count = (size_t)(p->fast_pixels * p->slow_pixels);
    enum status status = STATUS_OK;
    if (files->int_path) {
        legacy_ideal(p, pixels, scale, files->adc, image);
        status = nanobragg_write_smv(files->int_path, header, image, count, sizeof *image, e);
    }
    if (!status && files->noise_path) {
        long seed = files->seed;
        legacy_noise(p, pixels, files->adc, random, &seed, image);
        status = nanobragg_write_smv(files->noise_path, header, image, count, sizeof *image, e);
    }
    return status;
}

static enum status write_preview(const char *path, const struct panel *p, const float *pixels,
                                 double scale, uint8_t *image, struct error *e)
{
    legacy_preview(p, pixels, scale, image);
    return nanobragg_write_pgm(path, image, p->fast_pixels, p->slow_pixels, scale, e);
}

enum status legacy_files_write(const struct legacy_files *files, const struct panel *p,
                               const float *pixels, const struct header_text *header,
                               struct ran1 *random, struct error *e)
{
    size_t count = (size_t)(p->fast_pixels * p->slow_pixels);
    uint16_t *image = mem_array(count, sizeof *image);
    struct legacy_statistics st = legacy_statistics(p, pixels);
    double scale = legacy_scale(files->scale, &st);
    enum status status = STATUS_OK;
    if (files->float_path)
        status = nanobragg_write_float(files->float_path, pixels, count, e);
    if (!status && files->pgm_path)
        status =
            write_preview(files->pgm_path, p, pixels,
                          legacy_preview_scale(files->pgm_scale, scale, &st), (uint8_t *)image, e);
    if (!status)
        status = write_counts(files, p, pixels, header, random, scale, image, e);
    if (!status)
        status = print_statistics(&st, e);
    mem_free(image);
    return status;
}
