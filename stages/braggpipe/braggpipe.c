/*
 * braggpipe: one command for all programs.
 *
 * `braggpipe NAME ...` becomes bragg-NAME.  `braggpipe list` lists the programs and the pipelines
 * that ship.  `braggpipe demo` runs the shipped pipeline lysozyme in the folder demo.
 * `braggpipe columns` explains the columns of ground-truth tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/filetype.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "io/output/truth.h"
#include "run/pipeline/find_program.h"

/* Commands of braggpipe that are not programs.  `braggpipe list` shows them after the programs. */
static const struct {
    const char *name, *summary;
} commands[] = {
    {"columns", "units and meanings of the columns of ground-truth tables"},
    {"demo", "20 stills of lysozyme, into the folder demo"},
    {"list", "this list"},
    {"help", "this list, and examples"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* Returns name number i of all programs and commands; the programs come first. */
static const char *name_of(size_t i)
{
    return i < program_list_length ? program_list[i].name : commands[i - program_list_length].name;
}

/* Prints one line of the list, with name and title of a pipeline.  The title is the first
 * comment of the file, up to the first comma, colon, semicolon or full stop. */
static void show_pipeline(void *unused, const char *name, const char *path)
{
    FILE *file = fopen(path, "re");
    (void)unused;
    if (!file)
        return;
    printf("  %-14s", name);
    char word[80], end = ' ';
    while (end == ' ' && fscanf(file, " %79[^ \n]", word) == 1) {
        const size_t length = strcspn(word, ",:;.");
        if (strcmp(word, "#") != 0)
            printf(" %.*s", (int)length, word);
        end = word[length] ? word[length] : ' ';
    }
    (void)fclose(file);
    putchar('\n');
}

static int list(void)
{
    printf("braggpipe NAME [OPTION...] starts one of these programs.\n"
           "Each program has --help and a manual page.\n\n");
    for (size_t i = 0; i < program_list_length; i++)
        printf("  %-14s %s\n", program_list[i].name, program_list[i].summary);
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-14s %s\n", commands[i].name, commands[i].summary);
    printf("\nPipelines for braggpipe run [OPTION...] NAME:\n\n");
    program_pipelines(show_pipeline, NULL);
    return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int help(void)
{
    const int status = list();
    printf("\nExamples:\n"
           "  braggpipe run --frames=5 --workdir=stills lysozyme\n"
           "  braggpipe top stills\n");
    return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : status;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < program_list_length + COMMANDS; i++)
        if (strcmp(name_of(i), name) == 0)
            return true;
    return false;
}

static enum status unknown(const char *name, struct error *e)
{
    const char *meant = NULL;
    int best = 99;
    for (size_t i = 0; i < program_list_length + COMMANDS; i++)
        if (suggest_name(name, name_of(i), &best))
            meant = name_of(i);
    return error_set(e, STATUS_USAGE,
                     "unknown program '%.40s'.%s%s%s 'braggpipe list' shows all programs", name,
                     meant ? " Did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

/* Replaces this process by bragg-NAME. argv ends with NULL, and argv[0] is overwritten.  Returns
 * only after an error. */
static enum status become_program(const char *name, char **argv, struct error *e)
{
    char full[40];
    (void)snprintf(full, sizeof full, "bragg-%s", name);
    char *path = program_find(full);
    if (!path)
        return error_set(e, STATUS_FAILED,
                         "program '%s' not found in the folder of braggpipe or in PATH", full);
    argv[0] = full;
    execvp(path, argv);
    const enum status s = error_errno(e, STATUS_FAILED, "cannot start %s", path);
    mem_free(path);
    return s;
}

/* Executes `braggpipe demo`: runs the shipped pipeline lysozyme in the folder demo.  Passes the
 * options of the command line to bragg-run. */
static enum status demo(int argc, char **argv, struct error *e)
{
    static char workdir[] = "--workdir=demo", pipeline[] = "lysozyme";
    char **words = mem_array((size_t)argc + 3, sizeof *words);
    words[1] = workdir;
    for (int i = 2; i < argc; i++)
        words[i] = argv[i];
    words[argc] = pipeline;
    const enum status s = become_program("run", words, e);
    mem_free(words);
    return s;
}

/* --- columns -------------------------------------------------------------------- */

/* Prints a line about a column.  `number`: its place in a file, from 1; 0: no file is read. */
static void show_column(size_t number, const char *name, const struct column *c)
{
    if (number)
        printf("%3zu", number);
    printf("  %-14s %-11s %s\n", name, c ? c->unit : "?", c ? c->meaning : "not known");
}

static void show_axes(void)
{
    printf("\nThe length of a reciprocal vector is 1/d.\n"
           "Beam axes: z along the beam, x along the fast axis of an untilted detector.\n"
           "Laboratory axes: by default x along the beam, z along the spindle.\n"
           "bragg-formats(5) has all conventions.\n");
}

static void show_groups(const char *title, enum column_group first, enum column_group last)
{
    printf("%s:\n", title);
    for (size_t i = 0; i < column_list_length; i++)
        if (column_list[i].group >= first && column_list[i].group <= last)
            show_column(0, column_list[i].name, &column_list[i]);
}

static void show_all_columns(void)
{
    show_groups("Table of lattices (bragg-orient --truth, bragg-serve --sent)", COLUMNS_LATTICE,
                COLUMNS_LATTICE);
    show_groups("Only with options that need them", COLUMNS_SHIFT, COLUMNS_PULSE);
    show_groups("Only in the table of bragg-serve --sent", COLUMNS_MESSAGE, COLUMNS_MESSAGE);
    show_groups("\nTable of reflections (bragg-write --reflections=FILE.tsv)", COLUMNS_REFLECTION,
                COLUMNS_REFLECTION);
    show_axes();
}

/* Reads the names of the columns: the words of the first line that is not a comment.  The caller
 * frees *line with free.  STATUS_INPUT: the file cannot be read, or is known to be of another
 * type. */
static enum status read_names(const char *path, char **line, struct error *e)
{
    const enum status type = filetype_check_file(path, FILETYPE_TRUTH, e);
    FILE *in = type ? NULL : input_open(path);
    size_t room = 0;
    if (!in)
        return type ? type : error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    ssize_t length = getline(line, &room, in);
    while (length > 0 && **line == '#')
        length = getline(line, &room, in);
    const enum status s =
        ferror(in) ? error_errno(e, STATUS_INPUT, "%s: cannot read", path) : STATUS_OK;
    if (length < 0 && *line)
        **line = '\0';
    (void)fclose(in);
    return s;
}

static bool has_word(const char *line, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = line; (at = strstr(at, word)); at += length)
        if ((at == line || strchr(" \t", at[-1])) && strchr(" \t\r\n", at[length]))
            return true;
    return false;
}

static enum status show_columns_of(const char *path, struct error *e)
{
    char *line = NULL, *rest = NULL;
    enum status s = read_names(path, &line, e);
    const bool of_reflections = !s && line && has_word(line, "h") && has_word(line, "photons");
    if (!s && !of_reflections && !(line && has_word(line, "as_x")))
        s = error_set(e, STATUS_INPUT,
                      "%s: not a ground-truth table; expected a table of bragg-orient --truth, "
                      "bragg-serve --sent or bragg-write --reflections=FILE.tsv",
                      path);
    size_t number = 0;
    for (char *name = s ? NULL : strtok_r(line, " \t\r\n", &rest); name;
         name = strtok_r(NULL, " \t\r\n", &rest))
        show_column(++number, name, columns_find(name, of_reflections));
    if (!s && !of_reflections)
        show_axes();
    free(line);
    return s;
}

/* Executes `braggpipe columns [FILE]`. */
static enum status columns(int argc, char **argv, struct error *e)
{
    if (argc > 3 || (argc == 3 && argv[2][0] == '-'))
        return error_set(e, STATUS_USAGE,
                         "unexpected argument '%.40s'; expected braggpipe columns [FILE]",
                         argv[argc > 3 ? 3 : 2]);
    const enum status s = argc == 3 ? show_columns_of(argv[2], e) : STATUS_OK;
    if (argc < 3)
        show_all_columns();
    if (!s && (fflush(stdout) || ferror(stdout)))
        return error_set(e, STATUS_FAILED, "cannot write to stdout");
    return s;
}

/* -------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    struct error e = {0};
    program_open("braggpipe");
    const char *name = argc > 1 ? argv[1] : "list";
    if (!strcmp(name, "list"))
        return list();
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return help();
    if (!strcmp(name, "--version") || !strcmp(name, "-V"))
        return printf("braggpipe %s\n", BRAGG_VERSION) < 0 || fflush(stdout) ? STATUS_FAILED
                                                                             : STATUS_OK;
    if (!strcmp(name, "columns") && columns(argc, argv, &e) == STATUS_OK)
        return STATUS_OK;
    if (!strcmp(name, "columns"))
        return (int)log_fail(&e);
    if (!strcmp(name, "demo"))
        (void)demo(argc, argv, &e);
    else if (is_known(name))
        (void)become_program(name, argv + 1, &e);
    else
        (void)unknown(name, &e);
    return (int)log_fail(&e);
}
