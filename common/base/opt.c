#include "base/opt.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"

/* --- other programs, for a hint about an unknown option ------------------------ */

/* Returns true if a line of --help is about the option whose name is the `length` bytes of
 * `name`. */
static bool is_about(const char *line, const char *name, size_t length)
{
    line += strspn(line, " ");
    return strncmp(line, "--", 2) == 0 && strncmp(line + 2, name, length) == 0 &&
           !isalnum((unsigned char)line[2 + length]) && line[2 + length] != '-';
}

/* Returns true if --help of the executable `program` lists the option `name`.  `folder` is the
 * folder of the executable, with a slash at its end. */
static bool has_option(const char *folder, const char *program, const char *name)
{
    char path[PATH_MAX + 40], command[PATH_MAX + 80];
    (void)snprintf(path, sizeof path, "%s%s", folder, program);
    (void)snprintf(command, sizeof command, "'%s' --help 2>&1", path);
    FILE *help = strchr(path, '\'') || access(path, X_OK) != 0 ? NULL : popen(command, "re");
    if (!help)
        return false;
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (getline(&line, &size, help) > 0)
        found = found || is_about(line, name, strlen(name));
    free(line);
    return pclose(help) == 0 && found;
}

enum { OWNERS_SIZE = 200 };

/* Stores the programs of a pipeline, other than this one, whose --help lists the option `name`
 * (without --), such as "orient, write", and returns how many they are, at most `most`.  For
 * messages only: it starts each of them. */
static int find_owners(const char *name, int most, char owners[OWNERS_SIZE])
{
    char folder[PATH_MAX], executable[40];
    int count = 0;
    size_t used = 0;
    owners[0] = '\0';
    if (!*name || !program_folder(folder))
        return 0;
    for (size_t i = 0; i < program_list_length && count < most; i++) {
        (void)snprintf(executable, sizeof executable, "bragg-%s", program_list[i].name);
        if (!program_list[i].hints || strcmp(executable, log_program()) == 0 ||
            !has_option(folder, executable, name))
            continue;
        used += (size_t)snprintf(owners + used, used < OWNERS_SIZE ? OWNERS_SIZE - used : 0, "%s%s",
                                 count++ ? ", " : "", program_list[i].name);
    }
    return count;
}

enum { TABLE_MAX = 160 };

/* State of opt_parse. */
struct parse {
    const struct opt_program *program;
    const struct opt *entry[TABLE_MAX];  // rows of both tables, one table after the other
    void *options[TABLE_MAX];            // struct that contains the value of each entry
    bool seen[TABLE_MAX];
    size_t count;
    const char **operands;
    int noperands;
    struct error *e;
};

static enum status take_operand(struct parse *p, const char *word)
{
    if (p->noperands == p->program->max_operands) {
        char is[300];
        filetype_tell(word, is, sizeof is);
        if (*is)
            return error_set(p->e, STATUS_USAGE, "unexpected argument '%.80s'%s", word, is);
        return error_set(p->e, STATUS_USAGE, "unexpected argument '%.80s'%s", word,
                         p->program->max_operands ? "" : ". Options begin with --");
    }
    if (!*word)
        return error_set(p->e, STATUS_USAGE, "an argument is empty; expected %s",
                         p->program->operands);
    p->operands[p->noperands++] = word;
    return STATUS_OK;
}

/* Stores the value of the option of entry number i.  `value`: NULL if the option was given
 * without a value. */
static enum status take_option(struct parse *p, size_t i, const char *value)
{
    const struct opt *o = p->entry[i];
    if (p->seen[i] && o->type != OPT_TEXTS)
        return error_set(p->e, STATUS_USAGE, "--%s is given more than once; give it once", o->name);
    p->seen[i] = true;
    if (value || o->type == OPT_FLAG) {
        const enum status s = opt_store(o, p->options[i], value, p->e);
        if (s)
            return s;
    }
    opt_mark(o, p->options[i], true);
    return STATUS_OK;
}

static void add_table(struct parse *p, const struct opt *table, void *options)
{
    for (const struct opt *o = table; o && (o->name || o->doc) && p->count < TABLE_MAX; o++)
        if (o->type != OPT_GROUP) {
            p->entry[p->count] = o;
            p->options[p->count++] = options;
        }
}

/* Returns true if the first `length` bytes of `word` are an option that prints a text and ends
 * the program: --help, --version, -h or -V. */
static bool is_answer(const char *word, size_t length)
{
    static const char *const answers[] = {"--help", "--version", "-h", "-V"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strlen(answers[i]) == length && strncmp(answers[i], word, length) == 0)
            return true;
    return false;
}

/* Sets the error for an option of the programs `owners`, which are `count`. */
static enum status option_of_others(const struct parse *p, const char *word, int count,
                                    const char *owners, struct error *e)
{
    if (!p->program->sets_stages)
        return error_set(e, STATUS_USAGE,
                         "unknown option '%.80s'; bragg-%.*s has an option of this name", word,
                         (int)strcspn(owners, ","), owners);
    if (count == 1)
        return error_set(e, STATUS_USAGE, "unknown option '%.80s'. Did you mean --set=%s.%.80s?",
                         word, owners, word + 2);
    return error_set(e, STATUS_USAGE,
                     "unknown option '%.80s'. Did you mean --set=STAGE.%.80s? Stages with this "
                     "option: %s",
                     word, word + 2, owners);
}

/* Sets the error for an unknown option.  The error names a program that has the option, or else
 * the option that was probably meant. */
static enum status unknown_option(const struct parse *p, const char *word, size_t length,
                                  struct error *e)
{
    char typed[40], owners[OWNERS_SIZE];
    (void)snprintf(typed, sizeof typed, "%.*s", (int)length, word + 2);
    const int most = p->program->partial ? 0 : p->program->sets_stages ? INT_MAX : 1;
    const int count = find_owners(typed, most, owners);
    if (count)
        return option_of_others(p, word, count, owners, e);
    const char *meant = NULL;
    int best = 99;
    for (size_t k = 0; k < p->count; k++)
        if (suggest_name(typed, p->entry[k]->name, &best))
            meant = p->entry[k]->name;
    if (!meant)
        return error_set(e, STATUS_USAGE, "unknown option '%.80s'; --help lists the options", word);
    return error_set(e, STATUS_USAGE, "unknown option '%.80s'. Did you mean --%s?", word, meant);
}

/* Processes the option in argv[*i].  If its value is the next word, also advances *i. */
static enum status take_word(struct parse *p, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    if (word[1] != '-')
        return error_set(p->e, STATUS_USAGE,
                         "unknown option '%.80s'. Options begin with -- and cannot be abbreviated; "
                         "--help lists them",
                         word);
    const size_t length = strcspn(word + 2, "=");
    const char *value = word[2 + length] ? word + 3 + length : NULL;
    size_t k = 0;
    while (k < p->count && (strlen(p->entry[k]->name) != length ||
                            strncmp(p->entry[k]->name, word + 2, length) != 0))
        k++;
    if (k == p->count && value && is_answer(word, length + 2))
        return error_set(p->e, STATUS_USAGE, "%.*s takes no value", (int)length + 2, word);
    if (k == p->count)
        return unknown_option(p, word, length, p->e);
    const struct opt *o = p->entry[k];
    if (o->type == OPT_FLAG && value)
        return error_set(p->e, STATUS_USAGE, "--%s takes no value", o->name);
    if (o->type != OPT_FLAG && !(o->flags & OPT_BARE) && !value) {
        if (++*i == argc || strncmp(argv[*i], "--", 2) == 0)
            return error_set(p->e, STATUS_USAGE, "--%s needs a value (--%s=%s)", o->name, o->name,
                             o->metavar);
        value = argv[*i];
    }
    return take_option(p, k, value);
}

/* Prints the text of --help or --version to stdout, and ends the program. */
static void print_answer(const struct opt_program *program, const struct opt *table,
                         const struct opt *more_table, const char *word)
{
    errno = 0;
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        printf("%s (braggpipe) %s, physics %d\n", program->name, BRAGG_VERSION, PHYSICS_VERSION);
    else
        opt_help(stdout, program, table, more_table);
    const int cause = errno;  // error of a write before the end, when the buffer was full
    if (fflush(stdout) == 0 && !ferror(stdout))
        exit(STATUS_OK);
    errno = errno ? errno : cause;
    if (errno == EPIPE)  // the reader has closed its end of the pipe; not an error
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
    add_table(&p, table, options);
    add_table(&p, more_table, more);

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_answer(argv[i], strlen(argv[i])))
            print_answer(program, table, more_table, argv[i]);
    enum status s = STATUS_OK;
    if (!program->partial)
        s = opt_defaults(table, options, e);
    if (s == STATUS_OK && !program->partial)
        s = opt_defaults(more_table, more, e);
    bool only_operands = false;  // true after the word --
    for (int i = 1; i < argc && s == STATUS_OK; i++)
        if (!only_operands && strcmp(argv[i], "--") == 0)
            only_operands = true;
        else if (only_operands || argv[i][0] != '-' || !argv[i][1])
            s = take_operand(&p, argv[i]);
        else
            s = take_word(&p, argc, argv, &i);
    if (s)
        return s;
    for (size_t i = 0; i < p.count; i++)
        if ((p.entry[i]->flags & OPT_REQUIRED) && !p.seen[i])
            return error_set(e, STATUS_USAGE, "missing option: --%s=%s", p.entry[i]->name,
                             p.entry[i]->metavar);
    if (p.noperands < program->min_operands)
        return error_set(e, STATUS_USAGE, "missing argument: %s (see --help)", program->operands);
    *noperands = p.noperands;
    if (program->partial)
        return STATUS_OK;
    s = opt_check(table, table, options, e);
    return s ? s : opt_check(more_table, more_table, more, e);
}

/* Writes the text of --help: the options of the tables in groups with headings, in the order of
 * the rows. */

/* Columns of the text, counted from 0: the end of a line (WIDTH), the options (OPTIONS), and
 * their descriptions (TEXTS). */
enum { WIDTH = 79, OPTIONS = 6, TEXTS = 29 };

static const char MOST_USED[] = "Most used options:";

/* --- lines ------------------------------------------------------------------ */

/* Returns the number of columns of the first `length` bytes of a UTF-8 text. */
static int columns_of(const char *text, size_t length)
{
    int columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Writes the words of a text from `column` on, in lines of at most WIDTH columns.  Lines after the
 * first begin with `indent` blanks.  A line feed in the text ends a line; blanks after a line feed
 * stay.  Returns the column after the last word. */
static int put_words(FILE *out, const char *text, int column, int indent)
{
    while (*text) {
        const size_t blanks = strspn(text, " "), length = strcspn(text + blanks, " \n");
        const int wide = (int)blanks + columns_of(text + blanks, length);
        if (length > 0 && column > indent && column + wide > WIDTH) {
            fprintf(out, "\n%*s%.*s", indent, "", (int)length, text + blanks);
            column = indent + wide - (int)blanks;
        } else {
            fprintf(out, "%.*s", (int)(blanks + length), text);
            column += wide;
        }
        text += blanks + length;
        if (*text == '\n') {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            text++;
        }
    }
    return column;
}

/* --- options ---------------------------------------------------------------- */

/* Returns the default of an option as a user would type it, perhaps followed by | and other
 * choices.  NULL: there is none to show, or `doc` ends with it in parentheses. */
static const char *opt_usual(const struct opt *o)
{
    const char *open = strrchr(o->doc, '(');
    const bool said =
        open && open > o->doc && open[-1] == ' ' && strcspn(open, ")") + 1 == strlen(open);
    if (said || (o->usual && !*o->usual))
        return NULL;
    return o->usual || o->type != OPT_CHOICE ? o->usual : o->choices;
}

static void put_option(FILE *out, const struct opt *o)
{
    const bool value = o->type != OPT_FLAG, bare = value && o->flags & OPT_BARE;
    const int length = fprintf(out, "%*s--%s%s%s%s%s", OPTIONS, "", o->name, bare ? "[" : "",
                               value ? "=" : "", value ? o->metavar : "", bare ? "]" : "");
    if (length < TEXTS)
        fprintf(out, "%*s", TEXTS - length, "");
    else
        fprintf(out, "\n%*s", TEXTS, "");
    const int column = put_words(out, o->doc, TEXTS, TEXTS);
    const char *usual = opt_usual(o);
    if (usual) {
        char *text = mem_text(" (%.*s)", (int)strcspn(usual, "|"), usual);
        (void)put_words(out, text, column, TEXTS);
        mem_free(text);
    }
    fputc('\n', out);
}

/* Writes an empty line and a heading; "": only the empty line. */
static void put_heading(FILE *out, const char *heading)
{
    fputc('\n', out);
    if (!*heading)
        return;
    fputc(' ', out);
    (void)put_words(out, heading, 1, 1);
    fputc('\n', out);
}

static bool is_row(const struct opt *o)
{
    return o->name || o->doc;
}

/* Writes the options that are marked `first`, under a heading if there are any. */
static void put_first(FILE *out, const struct opt *table)
{
    bool any = false;
    for (const struct opt *o = table; o && is_row(o); o++) {
        if (!o->first)
            continue;
        if (!any)
            put_heading(out, MOST_USED);
        any = true;
        put_option(out, o);
    }
}

/* Writes all other options, group by group.  A group without other options has no heading; rows
 * above the first heading are a group without one. */
static void put_groups(FILE *out, const struct opt *table)
{
    const char *heading = "";
    for (const struct opt *o = table; o && is_row(o); o++) {
        if (o->type == OPT_GROUP) {
            heading = o->doc;
        } else if (!o->first) {
            if (heading)
                put_heading(out, heading);
            heading = NULL;
            put_option(out, o);
        }
    }
}

/* --- the whole text ------------------------------------------------------------- */

void opt_help(FILE *out, const struct opt_program *program, const struct opt *table,
              const struct opt *more_table)
{
    static const struct opt answers[] = {
        {.name = "help", .doc = "Print this help", .type = OPT_FLAG},
        {.name = "version", .doc = "Print the version", .type = OPT_FLAG},
        {0},
    };
    fprintf(out, "Usage: %s [OPTION...]%s%s\n", program->name, program->operands ? " " : "",
            program->operands ? program->operands : "");
    (void)put_words(out, program->summary, 0, 0);
    fputc('\n', out);
    put_first(out, table);
    put_groups(out, table);
    put_groups(out, more_table);
    put_groups(out, answers);
    if (program->details) {
        fputc('\n', out);
        (void)put_words(out, program->details, 0, 0);
        fputc('\n', out);
    }
    if (program->examples)
        fputs("\nExamples:\n  ", out);
    for (const char *c = program->examples; c && *c; c++) {
        fputc(*c, out);
        if (*c == '\n' && c[1])
            fputs("  ", out);
    }
    if (program->examples)
        fputc('\n', out);
}
