/* Runs the stages of a history again, for one frame. */
#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/history.h"
#include "base/program.h"
#include "base/text.h"
#include "model/experiment.h"

enum { STAGES_MAX = 16, WORDS_MAX = 256, NAME_MAX_BYTES = 40 };

extern char **environ;

/* The processes of the stages that run again, which are connected by pipes. */
struct chain {
    pid_t pids[STAGES_MAX + 1];
    size_t count;
    int input;  // pipe from the stage before; stdin of the next stage
    int said;   // file for the messages of the stages
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* --- one stage ----------------------------------------------------------- */

/* Returns the path of a program in the folder of this executable.  If it does not exist there,
 * returns `name`, so that the program is searched in PATH. */
static const char *find_program(const char *name, char path[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - NAME_MAX_BYTES - 1);
    if (length > 0) {
        path[length] = 0;
        char *slash = strrchr(path, '/');
        (void)snprintf(slash + 1, NAME_MAX_BYTES, "%s", name);
        if (access(path, X_OK) == 0)
            return path;
    }
    return name;
}

/* Starts a program that reads the pipe of the previous program.  The stdout of the program is a
 * new pipe, or /dev/null for the last program. */
static enum status start_program(struct chain *c, char **argv, bool last, struct error *e)
{
    char path[PATH_MAX];
    int ends[2] = {-1, -1};
    posix_spawn_file_actions_t files;
    if (!last && pipe2(ends, O_CLOEXEC))
        return error_errno(e, STATUS_FAILED, "cannot make a pipe");
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_adddup2(&files, c->input, 0);
    if (last)
        (void)posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    else
        (void)posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    (void)posix_spawn_file_actions_adddup2(&files, c->said, 2);
    errno =
        posix_spawnp(&c->pids[c->count], find_program(argv[0], path), &files, NULL, argv, environ);
    const bool good = errno == 0;
    (void)posix_spawn_file_actions_destroy(&files);
    (void)close(c->input);
    if (!last)
        (void)close(ends[1]);
    c->input = ends[0];
    if (!good)
        return error_errno(e, STATUS_FAILED, "cannot start %s", argv[0]);
    c->count++;
    return STATUS_OK;
}

static bool has_option(char *const *words, size_t count, const char *begin)
{
    bool has = false;
    for (size_t i = 0; i < count && !has; i++)
        has = strncmp(words[i], begin, strlen(begin)) == 0;
    return has;
}

/* Starts the stage that one line of the history describes, for frame `id` only.  The history has
 * the numbers of phi steps and domains that bragg-orient chose, and nothing for its usual numbers,
 * so that bragg-orient must choose no others. */
static enum status start_stage(struct chain *c, const char *line, uint64_t id, struct error *e)
{
    char name[NAME_MAX_BYTES], version[16], given[EXPERIMENT_HISTORY_SIZE], only[32];
    char restricted[] = "--restrict", quiet[] = "--quiet", steps[] = "--steps=given",
         *argv[WORDS_MAX + 6];
    size_t count;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(line, "\t\n"), line);
    const struct listed_program *program = program_list_find(name);
    if (!program || !program->recomputes)
        return error_set(
            e, STATUS_INPUT,
            "stage '%.32s' cannot be run again; expected stages from bragg-geometry to bragg-noise",
            name);
    if (!history_value(line, "physics version", version, sizeof version) ||
        atoi(version) != PHYSICS_VERSION)
        return error_set(e, STATUS_INPUT, "%s was run with physics %s; this version has physics %d",
                         name, version, PHYSICS_VERSION);
    if (!history_value(line, HISTORY_GIVEN, given, sizeof given))
        return error_set(e, STATUS_INPUT, "the options of %s are not stored", name);
    argv[0] = name;
    argv[1] = restricted;
    argv[2] = quiet;
    if (!words_split(given, argv + 3, WORDS_MAX, &count))
        return error_set(e, STATUS_INPUT, "the stored options of %s are malformed", name);
    if (strcmp(name, "bragg-orient") == 0) {
        (void)snprintf(only, sizeof only, "--only=%" PRIu64, id);
        if (!has_option(argv + 3, count, "--steps=") && !has_option(argv + 3, count, "--ripple="))
            argv[3 + count++] = steps;
        argv[3 + count++] = only;
    }
    argv[3 + count] = NULL;
    return start_program(c, argv, false, e);
}

static enum status start_recorder(struct chain *c, const char *record, struct error *e)
{
    char name[] = "bragg-tap", quiet[] = "--quiet", option[PATH_MAX],
         *argv[] = {name, quiet, option, NULL};
    (void)snprintf(option, sizeof option, "--record=%s", record);
    return start_program(c, argv, true, e);
}

/* --- all stages ---------------------------------------------------------- */

static enum status start_all(struct chain *c, const char *history, uint64_t id, const char *record,
                             struct error *e)
{
    enum status s = STATUS_OK;
    for (const char *line = history; *line && s == STATUS_OK;
         line += strcspn(line, "\n"), line += *line != 0)
        s = c->count < STAGES_MAX
                ? start_stage(c, line, id, e)
                : error_set(e, STATUS_INPUT, "the history has more than %d stages", STAGES_MAX);
    return s ? s : start_recorder(c, record, e);
}

/* Waits until all stages have ended.  `hurry`: sends SIGTERM to them first.  Returns true if all
 * of them ended with status 0. */
static bool wait_all(const struct chain *c, bool hurry)
{
    bool good = true;
    for (size_t i = 0; i < c->count; i++) {
        int status = 0;
        if (hurry)
            (void)kill(c->pids[i], SIGTERM);
        while (waitpid(c->pids[i], &status, 0) < 0 && errno == EINTR)
            for (size_t k = i; interrupted && k < c->count; k++)
                (void)kill(c->pids[k], SIGTERM);
        good = good && status == 0;
    }
    return good;
}

/* Sets the error to the first line that the stages printed and that is not a warning.  Returns
 * STATUS_INPUT. */
static enum status repeat_messages(const char *said, struct error *e)
{
    FILE *in = fopen(said, "re");
    char line[400] = "";
    while (in && fgets(line, sizeof line, in) && strstr(line, ": warning: "))
        line[0] = 0;
    if (in)
        (void)fclose(in);
    line[strcspn(line, "\n")] = 0;
    return error_set(e, STATUS_INPUT, "%s", line[0] ? line : "a stage failed without a message");
}

static enum status run_all(const char *history, uint64_t id, const char *record, const char *said,
                           struct error *e)
{
    struct chain c = {.input = open("/dev/null", O_RDONLY | O_CLOEXEC),
                      .said = open(said, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)};
    if (c.input < 0 || c.said < 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot write", said);
    const enum status s = start_all(&c, history, id, record, e);
    if (c.input >= 0)
        (void)close(c.input);
    (void)close(c.said);
    const bool good = wait_all(&c, s != STATUS_OK);
    if (interrupted)
        return error_set(e, STATUS_INTERRUPTED, "interrupted");
    return s || good ? s : repeat_messages(said, e);
}

enum status rerun_stages(const char *history, uint64_t id, const char *record, const char *said,
                         struct error *e)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        (void)sigaction(numbers[i], &action, &before[i]);
    const enum status s = run_all(history, id, record, said, e);
    /* from here on signals have their previous effect; an earlier one is reported below */
    for (size_t i = 0; i < COUNT; i++)
        (void)sigaction(numbers[i], &before[i], NULL);
    return interrupted ? error_set(e, STATUS_INTERRUPTED, "interrupted") : s;
}
