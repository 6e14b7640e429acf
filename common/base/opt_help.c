/* Writes the text of --help: the options of the tables in groups with headings, in the order of
 * the rows. */
#include "base/opt.h"

#include <stdlib.h>
#include <string.h>

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
    char *text = NULL;
    if (usual && asprintf(&text, " (%.*s)", (int)strcspn(usual, "|"), usual) >= 0)
        (void)put_words(out, text, column, TEXTS);
    free(text);
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
