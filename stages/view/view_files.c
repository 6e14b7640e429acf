#include "view_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "run/pipeline/find_program.h"

/* Makes the command line of bragg-replay, which ends with NULL.  The caller frees the array. */
static char **make_words(char *program, const char *const *paths, int count)
{
    char **words = mem_array((size_t)count + 4, sizeof *words);
    int n = 0;
    if (!words)
        return NULL;
    words[n++] = program;
    words[n++] = (char *)(uintptr_t) "--quiet";
    words[n++] = (char *)(uintptr_t) "--";
    for (int i = 0; i < count; i++)
        words[n++] = (char *)(uintptr_t)paths[i];
    return words;
}

/* Starts a program whose standard output is `out`.  Returns 0, or errno. */
static int start(char **words, int out, pid_t *player)
{
    posix_spawn_file_actions_t files;
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, out, 1);
    const int code = posix_spawnp(player, words[0], &files, NULL, words, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    return code;
}

enum status view_files_play(const char *const *paths, int count, pid_t *player, struct error *e)
{
    int ends[2];
    char *program = program_find("bragg-replay");
    if (!program)
        return error_set(e, STATUS_FAILED, "there is no program 'bragg-replay', which reads files");
    char **words = make_words(program, paths, count);
    enum status s = words ? STATUS_OK : error_memory(e, "the files");
    if (!s && pipe2(ends, O_CLOEXEC))
        s = error_errno(e, STATUS_FAILED, "cannot make a pipe");
    if (!s) {
        errno = start(words, ends[1], player);
        if (errno || dup2(ends[0], 0) < 0)
            s = error_errno(e, STATUS_FAILED, "cannot start %s", program);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    mem_free(words);
    mem_free(program);
    return s;
}

void view_files_end(pid_t player)
{
    if (player <= 0)
        return;
    (void)kill(player, SIGTERM);
    while (waitpid(player, NULL, 0) < 0 && errno == EINTR)
        ;
}
