/*
 * braggpipe: one command for all programs.
 *
 * `braggpipe NAME ...` becomes bragg-NAME.  `braggpipe list` lists the programs and the pipelines
 * that ship.  `braggpipe demo` runs the shipped pipeline lysozyme in the folder demo.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "run/pipeline/find_program.h"

/* Commands of braggpipe that are not programs.  `braggpipe list` shows them after the programs. */
static const struct {
    const char *name, *summary;
} commands[] = {
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
static enum status become(const char *name, char **argv, struct error *e)
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
    if (!words)
        return error_memory(e, "the command");
    words[1] = workdir;
    for (int i = 2; i < argc; i++)
        words[i] = argv[i];
    words[argc] = pipeline;
    const enum status s = become("run", words, e);
    mem_free(words);
    return s;
}

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
    if (!strcmp(name, "demo"))
        (void)demo(argc, argv, &e);
    else if (is_known(name))
        (void)become(name, argv + 1, &e);
    else
        (void)unknown(name, &e);
    return (int)log_fail(&e);
}
