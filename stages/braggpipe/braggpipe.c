/*
 * braggpipe: one name for all programs.  `braggpipe NAME ...` becomes bragg-NAME, `list` says which
 * there are, and which pipelines, `demo` is the shipped pipeline of lysozyme.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/program.h"
#include "base/version.h"
#include "run/pipeline/program.h"

static const struct {
    const char *name, *what;
} programs[] = {
    {"geometry", "detector, beam, crystals, structure factors"},
    {"orient", "numbers the frames, turns the crystals"},
    {"intensity", "photons per pixel"},
    {"background", "scattering of water, air, any material"},
    {"noise", "photons to detector counts"},
    {"write", "files and pictures"},
    {"serve", "frames live, in a client's protocol"},
    {"tap", "records or prints what flows"},
    {"replay", "plays a recording, computes a frame again"},
    {"run", "runs the pipeline of a file, or a shipped one"},
    {"top", "shows what a running pipeline does"},
    {"view", "shows the stream in a browser"},
    {"report", "writes a page about the frames of a stream"},
    {"fisher", "says how well images tell parameters, before there are data"},
    {"refine", "fits orientations, cells and more to frames, with error bars"},
    {"compare", "compares two images"},
    {"score", "scores an analysis against the truth"},
    {"nanobragg", "nanoBragg's command line"},
    {"nonbragg", "nonBragg's"},
    {"noisify", "noisify's"},
    {"demo", "20 stills of lysozyme, into the folder demo"},
    {"list", "this list"},
    {"help", "this list, and examples"},
};

enum { PROGRAMS = sizeof programs / sizeof *programs };

/* A file begins with a comment; what it is stands there before the first comma or stop. */
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
    printf(
        "braggpipe NAME [OPTION...] starts one of these; each has --help and a manual page.\n\n");
    for (size_t i = 0; i < PROGRAMS; i++)
        printf("  %-14s %s\n", programs[i].name, programs[i].what);
    printf("\nPipelines, for braggpipe run [OPTION...] NAME:\n\n");
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
    for (size_t i = 0; i < PROGRAMS; i++)
        if (strcmp(programs[i].name, name) == 0)
            return true;
    return false;
}

static enum status unknown(const char *name, struct error *e)
{
    const char *meant = NULL;
    int best = 99;
    for (size_t i = 0; i < PROGRAMS; i++)
        if (nearest_better(name, programs[i].name, &best))
            meant = programs[i].name;
    return error_set(e, STATUS_USAGE, "there is no program '%.40s'%s%s: braggpipe list shows all",
                     name, meant ? ", did you mean " : "", meant ? meant : "");
}

/* Becomes bragg-NAME; argv[0] is its name, NULL ends argv. */
static enum status become(const char *name, char **argv, struct error *e)
{
    char full[40];
    (void)snprintf(full, sizeof full, "bragg-%s", name);
    char *path = program_find(full);
    if (!path)
        return error_set(e, STATUS_FAILED, "there is no program '%s' beside this one", full);
    argv[0] = full;
    execvp(path, argv);
    const enum status s = error_errno(e, STATUS_FAILED, "cannot start %s", path);
    mem_free(path);
    return s;
}

/* What `demo` stands for; further words of the command follow. */
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
