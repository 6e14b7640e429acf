/*
 * A pipeline in one process: bench-fused 'bragg-geometry ... | bragg-orient ... | ...'
 *
 * Takes the words of a shell pipe (without quotes), whose second stage is the source, and runs
 * each stage's main in a thread.  In place of pipes and sockets between processes there are
 * inproc:// endpoints of one ZeroMQ context: pixels go from stage to stage as pointers.
 * Exits with 0 when all stages do, else at once with the status of the first that does not.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/program.h"
#include "link/fused.h"

enum { STAGES_MAX = 8, WORDS_MAX = 64, WORD_SIZE = 64 };

/* The mains of stages/, renamed by the Makefile. */
int fused_geometry(int argc, char **argv);
int fused_orient(int argc, char **argv);
int fused_intensity(int argc, char **argv);
int fused_background(int argc, char **argv);
int fused_noise(int argc, char **argv);
int fused_write(int argc, char **argv);

static const struct program {
    const char *name;
    int (*main)(int argc, char **argv);
} PROGRAMS[] = {
    {"bragg-geometry", fused_geometry},   {"bragg-orient", fused_orient},
    {"bragg-intensity", fused_intensity}, {"bragg-background", fused_background},
    {"bragg-noise", fused_noise},         {"bragg-write", fused_write},
};

struct thread {
    struct fused *fused;
    const struct program *program;
    pthread_t thread;
    char in[WORD_SIZE], out[WORD_SIZE];
    int argc;
    char *argv[WORDS_MAX + 1];  // ended by NULL
};

static void *run(void *argument)
{
    struct thread *t = argument;
    fused_enter(t->fused);
    const int status = t->program->main(t->argc, t->argv);
    if (status)
        _Exit(status);  // the others would wait for this one
    return NULL;
}

/* The words of stage i of n, and where its neighbours are. */
static enum status parse_stage(struct thread *t, char *text, int i, int n, struct error *e)
{
    static char control[] = "--control=inproc://control";
    char *rest;
    t->argv[t->argc++] = strtok_r(text, " ", &rest);
    for (size_t p = 0; t->argv[0] && p < sizeof PROGRAMS / sizeof *PROGRAMS; p++)
        if (strcmp(PROGRAMS[p].name, t->argv[0]) == 0)
            t->program = &PROGRAMS[p];
    if (!t->program)
        return error_set(e, STATUS_USAGE, "'%.40s' is no stage that can be fused",
                         t->argv[0] ? t->argv[0] : "");
    (void)snprintf(t->in, sizeof t->in, "--in=inproc://edge-%d", i);
    (void)snprintf(t->out, sizeof t->out, "--out=@inproc://edge-%d", i + 1);
    if (i > 0)
        t->argv[t->argc++] = t->in;
    if (i + 1 < n)
        t->argv[t->argc++] = t->out;
    if (i == 1)
        t->argv[t->argc++] = control;
    for (char *word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (t->argc == WORDS_MAX)
            return error_set(e, STATUS_USAGE, "%s: too many words", t->program->name);
        t->argv[t->argc++] = word;
    }
    return STATUS_OK;
}

static enum status parse(char *pipe, struct thread threads[STAGES_MAX], int *n, struct error *e)
{
    char *texts[STAGES_MAX], *rest;
    enum status s = STATUS_OK;
    *n = 0;
    for (char *text = strtok_r(pipe, "|", &rest); text; text = strtok_r(NULL, "|", &rest)) {
        if (*n == STAGES_MAX)
            return error_set(e, STATUS_USAGE, "more than %d stages", STAGES_MAX);
        texts[(*n)++] = text;
    }
    for (int i = 0; i < *n && !s; i++)
        s = parse_stage(&threads[i], texts[i], i, *n, e);
    return s || *n > 2 ? s : error_set(e, STATUS_USAGE, "a pipeline has three stages or more");
}

int main(int argc, char **argv)
{
    program_sleeps(argv);  // before a stage's main does, with its own words
    static struct thread threads[STAGES_MAX];
    struct fused fused;
    struct error e = {0};
    int n;
    log_open("bench-fused");
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (argc != 2) {
        (void)error_set(&e, STATUS_USAGE, "usage: bench-fused 'STAGE OPTION... | STAGE ... | ...'");
        return log_fail(&e);
    }
    if (parse(argv[1], threads, &n, &e) || fused_open(&fused, (unsigned)n, &e))
        return log_fail(&e);
    for (int i = 0; i < n; i++) {
        threads[i].fused = &fused;
        if (pthread_create(&threads[i].thread, NULL, run, &threads[i]) != 0)
            return STATUS_FAILED;
    }
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i].thread, NULL);
    fused_close(&fused);
    return STATUS_OK;
}
