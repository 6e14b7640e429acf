#include "base/opt.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/log.h"
#include "base/number.h"
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

static enum status range_error(const char *what, const char *text, double min, double max,
                               bool open_min, struct error *e)
{
    char limits[96];
    if (isinf(max))
        (void)snprintf(limits, sizeof limits, "%s %.12g", open_min ? "greater than" : "at least",
                       min);
    else
        (void)snprintf(limits, sizeof limits, "%s %.12g and at most %.12g",
                       open_min ? "greater than" : "at least", min, max);
    return error_set(e, STATUS_USAGE, "%s: '%.60s' is out of range, must be %s", what, text,
                     limits);
}

static bool is_number_start(const char *text)
{
    return isdigit((unsigned char)*text) || *text == '-' || *text == '+' || *text == '.';
}

static enum status parse_real_open(const char *text, double min, double max, bool open_min,
                                   const char *what, double *value, struct error *e)
{
    const char *end = text;
    const double x = is_number_start(text) ? number_real(text, &end) : 0.0;
    if (end == text || *end || !isfinite(x) || strpbrk(text, "xX"))
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is no finite number", what, text);
    if (x < min || x > max || (open_min && x == min))
        return range_error(what, text, min, max, open_min, e);
    *value = x;
    return STATUS_OK;
}

enum status parse_real(const char *text, double min, double max, const char *what, double *value,
                       struct error *e)
{
    return parse_real_open(text, min, max, false, what, value, e);
}

enum status parse_int(const char *text, int64_t min, int64_t max, const char *what, int64_t *value,
                      struct error *e)
{
    const char *end = text;
    errno = 0;
    const intmax_t x = is_number_start(text) ? number_whole(text, &end) : 0;
    if (end == text || *end)
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is no whole number", what, text);
    /* where nothing is below 0, a sign is a slip: +8 for a step up, -0 for what was left */
    if (min >= 0 && (*text == '+' || (*text == '-' && x == 0)))
        return error_set(e, STATUS_USAGE,
                         "%s: '%.60s' has a sign, must be digits alone, from %" PRId64
                         " to %" PRId64,
                         what, text, min, max);
    if (errno == ERANGE || x < min || x > max)
        return error_set(e, STATUS_USAGE,
                         "%s: '%.60s' is out of range, must be from %" PRId64 " to %" PRId64, what,
                         text, min, max);
    *value = x;
    return STATUS_OK;
}

/* A number as the flags of its option ask for it. */
static enum status parse_number(const char *text, double min, double max, unsigned flags,
                                const char *what, double *value, struct error *e)
{
    if (!(flags & OPT_WHOLE))
        return parse_real_open(text, min, max, flags & OPT_OPEN_MIN, what, value, e);
    int64_t whole;
    const enum status s = parse_int(text, (int64_t)min, (int64_t)max, what, &whole, e);
    *value = s ? *value : (double)whole;
    return s;
}

/* Numbers parted by commas: all are counted, the first `most` are kept. */
static enum status parse_items(const char *text, int most, double min, double max, unsigned flags,
                               const char *what, double *values, int *count, struct error *e)
{
    char copy[4096];
    if (strlen(text) >= sizeof copy)
        return error_set(e, STATUS_USAGE, "%s: the value is too long", what);
    memcpy(copy, text, strlen(text) + 1);
    char *rest = copy;
    *count = 0;
    for (char *item = strsep(&rest, ","); item; item = strsep(&rest, ","), ++*count) {
        if (*count >= most)
            continue;
        const enum status s = parse_number(item, min, max, flags, what, &values[*count], e);
        if (s)
            return s;
    }
    return STATUS_OK;
}

static enum status parse_reals(const struct opt *o, const char *what, const char *text,
                               double *values, struct error *e)
{
    int n;
    const enum status s =
        parse_items(text, o->count, o->min, o->max, o->flags, what, values, &n, e);
    if (s == STATUS_OK && n != o->count)
        return error_set(e, STATUS_USAGE, "%s: '%.60s' must be %d numbers separated by commas",
                         what, text, o->count);
    return s;
}

enum status parse_list(const char *text, int most, double min, double max, const char *what,
                       double *values, int *count, struct error *e)
{
    const enum status s = parse_items(text, most, min, max, 0, what, values, count, e);
    if (s == STATUS_OK && *count > most)
        return error_set(e, STATUS_USAGE, "%s: %d numbers, must be at most %d", what, *count, most);
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

static enum status store(const struct opt *o, void *options, const char *text, struct error *e)
{
    char what[80];
    (void)snprintf(what, sizeof what, "--%s", o->name);
    char *value = (char *)options + o->offset;
    enum status s = STATUS_OK;
    switch (o->type) {
    case OPT_FLAG:
        *(bool *)(void *)value = true;
        break;
    case OPT_INT:
        s = parse_int(text, (int64_t)o->min, o->max >= 0x1p63 ? INT64_MAX : (int64_t)o->max, what,
                      (int64_t *)(void *)value, e);
        break;
    case OPT_REAL:
        s = parse_real_open(text, o->min, o->max, o->flags & OPT_OPEN_MIN, what,
                            (double *)(void *)value, e);
        break;
    case OPT_REALS:
        s = parse_reals(o, what, text, (double *)(void *)value, e);
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
    if (s == STATUS_OK && o->given)
        *(bool *)(void *)((char *)options + o->given) = true;
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
        rows[(*nrows)++] = (struct argp_option){.name = o->name,
                                                .key = KEY_BASE + (int)p->count,
                                                .arg = o->type == OPT_FLAG ? NULL : o->metavar,
                                                .doc = o->doc};
        p->count++;
    }
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
            return error_set(e, STATUS_USAGE, "unknown option '%.80s'", word);
        if (o->type == OPT_FLAG && has_value)
            return error_set(e, STATUS_USAGE, "--%s takes no value", o->name);
        if (o->type != OPT_FLAG && !has_value && (++i == argc || strncmp(argv[i], "--", 2) == 0))
            return error_set(e, STATUS_USAGE, "--%s needs a value (--%s=%s)", o->name, o->name,
                             o->metavar);
    }
    return STATUS_OK;
}

/* --help and --version go to stdout and end the program. */
static void answer(const struct opt_program *program, const struct argp *argp, const char *word)
{
    errno = 0;
    if (strcmp(word, "--version") == 0)
        printf("%s (braggpipe) %s, physics %d\n", program->name, BRAGG_VERSION, PHYSICS_VERSION);
    else
        argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_DOC | ARGP_HELP_LONG,
                  (char *)(uintptr_t)program->name);
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
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--version") == 0)
            answer(program, &argp, argv[i]);
    if (argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &p) != 0)
        return e->status ? e->status : error_set(e, STATUS_USAGE, "bad usage, see --help");
    for (size_t i = 0; i < p.count; i++)
        if ((p.entry[i]->flags & OPT_REQUIRED) && !p.seen[i])
            return error_set(e, STATUS_USAGE, "--%s=%s is needed", p.entry[i]->name,
                             p.entry[i]->metavar);
    if (p.noperands < program->min_operands)
        return error_set(e, STATUS_USAGE, "%s is missing", program->operands);
    *noperands = p.noperands;
    return STATUS_OK;
}
