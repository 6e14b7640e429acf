#include "base/opt.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/opt_value.h"
#include "base/version.h"

/* argp wants an int per option; ours start above the range of characters. */
enum { KEY_HELP = 900, KEY_VERSION = 901, KEY_BASE = 1000, TABLE_MAX = 160 };

struct parse {
    const struct opt_program *program;
    const struct opt *entry[TABLE_MAX];  // both tables in one row
    void *options[TABLE_MAX];            // the struct that entry writes to
    bool seen[TABLE_MAX];
    size_t count;
    const char **operands;
    int noperands;
    struct error *e;
};

static enum status store_reals(const char *text, const struct opt *o,
                               const struct opt_number *number, double *values, struct error *e)
{
    int n = 0;
    if (o->flags & OPT_ONE_FOR_ALL)
        return opt_one_or_all(text, o->count, number, values, e);
    const enum status s = opt_numbers(text, o->count, number, values, &n, e);
    if (s == STATUS_OK && n != o->count)
        return error_set(e, STATUS_USAGE, "%s: '%.60s' must be %d numbers separated by commas",
                         number->what, text, o->count);
    return s;
}

static enum status parse_choice(const struct opt *o, const char *what, const char *text, int *index,
                                struct error *e)
{
    const size_t length = strlen(text);
    int i = 0;
    for (const char *c = o->choices; c; c = strchr(c, '|'), c = c ? c + 1 : NULL, i++) {
        if (length && strncmp(c, text, length) == 0 && (c[length] == '|' || !c[length])) {
            *index = i;
            return STATUS_OK;
        }
    }
    return error_set(e, STATUS_USAGE, "%s: '%.60s' is unknown, must be one of %s", what, text,
                     o->choices);
}

/* A refused number with what the option takes: its metavariable is the unit. */
static enum status add_usage(const struct opt *o, struct error *e)
{
    char text[sizeof e->text];
    memcpy(text, e->text, sizeof text);
    return error_set(e, STATUS_USAGE, "%s (--%s=%s)", text, o->name, o->metavar);
}

static void set_given(const struct opt *o, void *options)
{
    if (o->given)
        *(bool *)(void *)((char *)options + o->given) = true;
}

static enum status store(const struct opt *o, void *options, const char *text, struct error *e)
{
    char what[80];
    (void)snprintf(what, sizeof what, "--%s", o->name);
    const struct opt_number number = {what, o->min, o->max, o->flags,
                                      o->unit ? o->unit : o->metavar};
    char *value = (char *)options + o->offset;
    enum status s = STATUS_OK;
    switch (o->type) {
    case OPT_FLAG:
        *(bool *)(void *)value = true;
        break;
    case OPT_INT:
        s = opt_whole(text, &number, (int64_t *)(void *)value, e);
        break;
    case OPT_REAL:
        s = opt_real(text, &number, (double *)(void *)value, e);
        break;
    case OPT_REALS:
        s = store_reals(text, o, &number, (double *)(void *)value, e);
        break;
    case OPT_TEXT:
        if (!*text)
            return error_set(e, STATUS_USAGE, "%s: the value is empty", what);
        *(const char **)(void *)value = o->flags & OPT_INPUT ? input_path(text) : text;
        if (!*(const char **)(void *)value)
            return error_memory(e, what);
        break;
    case OPT_CHOICE:
        s = parse_choice(o, what, text, (int *)(void *)value, e);
        break;
    case OPT_TEXTS: {
        struct opt_texts *texts = (struct opt_texts *)(void *)value;
        if (!*text)
            return error_set(e, STATUS_USAGE, "%s: the value is empty", what);
        if (texts->count == OPT_TEXTS_MAX)
            return error_set(e, STATUS_USAGE, "%s: at most %d times", what, OPT_TEXTS_MAX);
        texts->text[texts->count++] = text;
        break;
    }
    case OPT_GROUP:
        break;
    }
    if (s && (o->type == OPT_INT || o->type == OPT_REAL || o->type == OPT_REALS))
        return add_usage(o, e);
    if (s == STATUS_OK)
        set_given(o, options);
    return s;
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct parse *p = state->input;
    if (key == ARGP_KEY_ARG) {
        if (p->noperands == p->program->max_operands) {
            error_set(p->e, STATUS_USAGE, "unexpected argument '%.80s'", arg);
            return EINVAL;
        }
        if (!*arg) {
            error_set(p->e, STATUS_USAGE, "an argument is empty, must be %s", p->program->operands);
            return EINVAL;
        }
        p->operands[p->noperands++] = arg;
        return 0;
    }
    if (key < KEY_BASE || (size_t)(key - KEY_BASE) >= p->count)
        return ARGP_ERR_UNKNOWN;
    const size_t i = (size_t)(key - KEY_BASE);
    if (p->seen[i] && p->entry[i]->type != OPT_TEXTS) {
        error_set(p->e, STATUS_USAGE, "--%s is given twice", p->entry[i]->name);
        return EINVAL;
    }
    p->seen[i] = true;
    if (!arg && p->entry[i]->flags & OPT_BARE) {
        set_given(p->entry[i], p->options[i]);
        return 0;
    }
    return store(p->entry[i], p->options[i], arg ? arg : "", p->e) == STATUS_OK ? 0 : EINVAL;
}

static void add_table(struct parse *p, struct argp_option *rows, size_t *nrows,
                      const struct opt *table, void *options)
{
    for (const struct opt *o = table; o && (o->name || o->doc) && p->count < TABLE_MAX - 4; o++) {
        if (o->type == OPT_GROUP) {
            rows[(*nrows)++] = (struct argp_option){.doc = o->doc, .group = 0};
            continue;
        }
        p->entry[p->count] = o;
        p->options[p->count] = options;
        rows[(*nrows)++] =
            (struct argp_option){.name = o->name,
                                 .key = KEY_BASE + (int)p->count,
                                 .arg = o->type == OPT_FLAG ? NULL : o->metavar,
                                 .flags = o->flags & OPT_BARE ? OPTION_ARG_OPTIONAL : 0,
                                 .doc = o->doc};
        p->count++;
    }
}

/* -h and -V as their long words; NULL for others. */
static const char *short_answer(const char *word)
{
    return strcmp(word, "-h") == 0 ? "--help" : strcmp(word, "-V") == 0 ? "--version" : NULL;
}

/* Names the option that was probably meant. */
static enum status unknown_option(const struct parse *p, const char *word, size_t length,
                                  struct error *e)
{
    char typed[40];
    (void)snprintf(typed, sizeof typed, "%.*s", (int)length, word + 2);
    const char *meant = NULL;
    int best = 99;
    for (size_t k = 0; k < p->count; k++)
        if (nearest_better(typed, p->entry[k]->name, &best))
            meant = p->entry[k]->name;
    if (!meant)
        return error_set(e, STATUS_USAGE, "unknown option '%.80s'", word);
    return error_set(e, STATUS_USAGE, "unknown option '%.80s': did you mean --%s?", word, meant);
}

/* argp accepts abbreviations and prints several lines per error; so the words
 * are checked before it sees them. */
static enum status check_words(const struct parse *p, int argc, char **argv, struct error *e)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--") == 0)
            return STATUS_OK;
        if (word[0] != '-' || !word[1])
            continue;
        if (short_answer(word))
            continue;
        if (word[1] != '-')
            return error_set(e, STATUS_USAGE,
                             "unknown option '%.80s' (options are full words: --help lists them)",
                             word);
        const size_t length = strcspn(word + 2, "=");
        const bool has_value = word[2 + length] == '=';
        if ((length == 4 && !strncmp(word + 2, "help", 4)) ||
            (length == 7 && !strncmp(word + 2, "version", 7))) {
            if (has_value)
                return error_set(e, STATUS_USAGE, "%.*s takes no value", (int)length + 2, word);
            continue;
        }
        const struct opt *o = NULL;
        for (size_t k = 0; k < p->count && !o; k++)
            if (strlen(p->entry[k]->name) == length &&
                strncmp(p->entry[k]->name, word + 2, length) == 0)
                o = p->entry[k];
        if (!o)
            return unknown_option(p, word, length, e);
        if (o->type == OPT_FLAG && has_value)
            return error_set(e, STATUS_USAGE, "--%s takes no value", o->name);
        if (o->flags & OPT_BARE)
            continue;
        if (o->type != OPT_FLAG && !has_value && (++i == argc || strncmp(argv[i], "--", 2) == 0))
            return error_set(e, STATUS_USAGE, "--%s needs a value (--%s=%s)", o->name, o->name,
                             o->metavar);
    }
    return STATUS_OK;
}

static void show_help(const struct opt_program *program, const struct argp *argp)
{
    argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_DOC | ARGP_HELP_LONG,
              (char *)(uintptr_t)program->name);
    if (program->examples)
        printf("\nExamples:\n");
    for (const char *line = program->examples; line && *line;) {
        const size_t length = strcspn(line, "\n");
        printf("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* --help and --version go to stdout and end the program. */
static void answer(const struct opt_program *program, const struct argp *argp, const char *word)
{
    errno = 0;
    if (strcmp(word, "--version") == 0)
        printf("%s (braggpipe) %s, physics %d\n", program->name, BRAGG_VERSION, PHYSICS_VERSION);
    else
        show_help(program, argp);
    const int cause = errno;  // of a buffer that was full before the end
    if (fflush(stdout) == 0 && !ferror(stdout))
        exit(STATUS_OK);
    errno = errno ? errno : cause;
    if (errno == EPIPE)  // the reader has seen enough
        exit(STATUS_FAILED);
    struct error e;
    (void)error_errno(&e, STATUS_FAILED, "cannot write to stdout");
    exit(log_fail(&e));
}

enum status opt_parse(const struct opt_program *program, const struct opt *table, void *options,
                      const struct opt *more_table, void *more, int argc, char **argv,
                      const char **operands, int *noperands, struct error *e)
{
    struct parse p = {.program = program, .operands = operands, .e = e};
    struct argp_option rows[2 * TABLE_MAX + 2] = {0};
    size_t nrows = 0;
    add_table(&p, rows, &nrows, table, options);
    add_table(&p, rows, &nrows, more_table, more);
    rows[nrows++] = (struct argp_option){
        .name = "help", .key = KEY_HELP, .doc = "Shows this help.", .group = -1};
    rows[nrows++] = (struct argp_option){
        .name = "version", .key = KEY_VERSION, .doc = "Shows the version.", .group = -1};

    enum status s = check_words(&p, argc, argv, e);
    if (s)
        return s;
    char doc[4096];
    (void)snprintf(doc, sizeof doc, "%s\v%s", program->summary,
                   program->details ? program->details : "");
    const struct argp argp = {rows, on_option, program->operands, doc, NULL, NULL, NULL};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = short_answer(argv[i]) ? short_answer(argv[i]) : argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "--version") == 0)
            answer(program, &argp, word);
    }
    if (argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &p) != 0)
        return e->status ? e->status : error_set(e, STATUS_USAGE, "bad usage, see --help");
    for (size_t i = 0; i < p.count; i++)
        if ((p.entry[i]->flags & OPT_REQUIRED) && !p.seen[i])
            return error_set(e, STATUS_USAGE, "--%s=%s is needed", p.entry[i]->name,
                             p.entry[i]->metavar);
    if (p.noperands < program->min_operands)
        return error_set(e, STATUS_USAGE, "%s is missing", program->operands);
    *noperands = p.noperands;
    if (program->partial)
        return STATUS_OK;
    s = opt_check(table, options, e);
    return s ? s : opt_check(more_table, more, e);
}
