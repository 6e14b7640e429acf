#include "base/opt.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/opt_store.h"
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
    const struct opt *o = p->entry[i];
    if (arg || !(o->flags & OPT_BARE))
        if (opt_store(o, p->options[i], arg ? arg : "", p->e))
            return EINVAL;
    if (o->given)
        *(bool *)(void *)((char *)p->options[i] + o->given) = true;
    return 0;
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

/* The default as it would be typed, perhaps with | and more behind it; NULL where `doc` says it. */
static const char *opt_usual(const struct opt *o)
{
    const bool said = o->doc[strlen(o->doc) - 1] == ')';
    return o->usual || o->type != OPT_CHOICE || said ? o->usual : o->choices;
}

/* Puts the defaults behind what options are for; the program ends with the text. */
static void add_usual(const struct parse *p, struct argp_option *rows)
{
    for (struct argp_option *row = rows; row->name || row->doc; row++) {
        const struct opt *o = row->key >= KEY_BASE ? p->entry[row->key - KEY_BASE] : NULL;
        char *text = NULL;
        const char *usual = o ? opt_usual(o) : NULL;
        if (usual && asprintf(&text, "%s (%.*s)", o->doc, (int)strcspn(usual, "|"), usual) >= 0)
            row->doc = text;
    }
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
    if (s == STATUS_OK && !program->partial)
        s = opt_defaults(table, options, e);
    if (s == STATUS_OK && !program->partial)
        s = opt_defaults(more_table, more, e);
    if (s)
        return s;
    char doc[4096];
    (void)snprintf(doc, sizeof doc, "%s\v%s", program->summary,
                   program->details ? program->details : "");
    const struct argp argp = {rows, on_option, program->operands, doc, NULL, NULL, NULL};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = short_answer(argv[i]) ? short_answer(argv[i]) : argv[i];
        if (strcmp(word, "--help") == 0)
            add_usual(&p, rows);
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
