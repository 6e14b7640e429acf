/* The helper process that ends processes and removes the private folder. */
#include "run/local/cleanup_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/program.h"
#include "run/pipeline/pipeline.h"

enum {
    GROUPS_MAX = PIPELINE_STAGES_MAX * PIPELINE_COUNT_MAX,
    STEP_MS = 20,
};

static const uint64_t PATIENCE_NS = UINT64_C(1200000000);  // between SIGTERM and SIGKILL
static const uint64_t END_NS = UINT64_C(5000000000);       // longest wait for the end of the guard

static pid_t groups[GROUPS_MAX];  // process groups of the run; used in the guard only
static size_t ngroups;

static void note_group(pid_t group)
{
    if (group > 0 && ngroups < GROUPS_MAX)
        groups[ngroups++] = group;
    for (size_t i = 0; group < 0 && i < ngroups; i++)
        if (groups[i] == -group)
            groups[i] = groups[--ngroups];
}

/* Sends a signal (0: none) to all process groups.  Returns true if one of them exists. */
static bool signal_groups(int number)
{
    bool any = false;
    for (size_t i = 0; i < ngroups; i++)
        any |= kill(-groups[i], number) == 0;
    return any;
}

static void pause_ms(long ms)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

static void run_guard(const char *folder, int fd)
{
    sigset_t all;
    pid_t group;
    (void)setsid();
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)prctl(PR_SET_NAME, "bragg-keeper");
    (void)dup2(fd, STDIN_FILENO);
    program_close_files(STDOUT_FILENO, ~0u);
    while (read(STDIN_FILENO, &group, sizeof group) == (ssize_t)sizeof group)
        note_group(group);
    bool any = signal_groups(SIGTERM);
    const uint64_t until_ns = clock_ns() + PATIENCE_NS;
    while (any && clock_ns() < until_ns) {
        pause_ms(STEP_MS);
        any = signal_groups(0);
    }
    (void)signal_groups(SIGKILL);
    folder_remove(folder);
    _exit(0);
}

/* --- folders of killed runs ---------------------------------------------------- */

static const char lock_name[] = "alive", new_lock_name[] = "alive.new";

/* Creates the file `alive` in the folder and locks it until this process ends.  The file gets
 * its name after it is locked, so that a new folder never looks like the folder of a killed run. */
static int hold_lock(const char *folder)
{
    char path[PRIVATE_FOLDER_SIZE + sizeof new_lock_name + 1], name[sizeof path];
    (void)snprintf(path, sizeof path, "%s/%s", folder, new_lock_name);
    (void)snprintf(name, sizeof name, "%s/%s", folder, lock_name);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && rename(path, name) == 0)
        return file;
    if (file >= 0)
        (void)close(file);
    (void)unlink(path);
    return -1;
}

/* Returns true if `folder` is a private folder of this user that a killed run has left.  The
 * lock of such a folder is free. */
static bool is_left(const char *folder)
{
    char path[PATH_MAX];
    struct stat st;
    if (lstat(folder, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 077) || snprintf(path, sizeof path, "%s/%s", folder, lock_name) >= PATH_MAX)
        return false;
    const int file = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool left = file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode) &&
                      flock(file, LOCK_EX | LOCK_NB) == 0;
    if (file >= 0)
        (void)close(file);
    return left;
}

/* Removes private folders that killed runs have left in the parent folder of `folder`. */
static void clear_left(const char *folder)
{
    char pattern[PRIVATE_FOLDER_SIZE + 16];
    glob_t found;
    const char *slash = strrchr(folder, '/');
    (void)snprintf(pattern, sizeof pattern, "%.*s/bragg-run-????????????????",
                   (int)(slash - folder), folder);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (strcmp(found.gl_pathv[i], folder) != 0 && is_left(found.gl_pathv[i]))
                folder_remove(found.gl_pathv[i]);
    globfree(&found);
}

/* --- its life ------------------------------------------------------------------ */

/* Chooses a folder name that cannot be guessed, short enough for sockets in the folder. */
static enum status choose_folder(char folder[PRIVATE_FOLDER_SIZE], const char *given,
                                 struct error *e)
{
    const char *base = given ? given : getenv("XDG_RUNTIME_DIR");
    uint64_t bits;
    if (given && strlen(given) > PRIVATE_FOLDER_SIZE - 32)
        return error_set(e, STATUS_USAGE,
                         "%.200s...: the name of this folder is too long for a private folder; use "
                         "a shorter one",
                         given);
    if (!base || base[0] != '/' || (!given && strlen(base) > 32) || access(base, W_OK | X_OK) != 0)
        base = "/tmp";
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return error_errno(e, STATUS_FAILED, "cannot get random numbers");
    (void)snprintf(folder, PRIVATE_FOLDER_SIZE, "%s/bragg-run-%016" PRIx64, base, bits);
    return STATUS_OK;
}

enum status cleanup_guard_open(struct cleanup_guard *k, const char *base, struct error *e)
{
    int fd[2];
    *k = (struct cleanup_guard){.pipe = -1, .lock = -1};
    const enum status s = choose_folder(k->folder, base, e);
    if (s)
        return s;
    if (pipe2(fd, O_CLOEXEC) != 0) {
        k->folder[0] = 0;
        return error_errno(e, STATUS_FAILED, "cannot make a pipe");
    }
    /* The guard is started before the folder is made, because a folder without a guard could
     * remain. */
    k->pipe = fd[1];
    (void)fcntl(k->pipe, F_SETFL, O_NONBLOCK);
    k->process = fork();
    if (k->process == 0)
        run_guard(k->folder, fd[0]);
    (void)close(fd[0]);
    if (k->process < 0)
        return error_errno(e, STATUS_FAILED, "cannot start the keeper of the folder %s", k->folder);
    if (mkdir(k->folder, 0700) != 0)
        return error_errno(e, STATUS_FAILED, "cannot create the folder %s", k->folder);
    if (!base) {
        k->lock = hold_lock(k->folder);
        clear_left(k->folder);
    }
    return STATUS_OK;
}

/* Sends the number of a process group to the guard: positive if the group was started, negative
 * if it has ended.  The message is lost if the pipe is full because the guard was stopped. */
static void send_group(const struct cleanup_guard *k, pid_t group)
{
    while (write(k->pipe, &group, sizeof group) < 0 && errno == EINTR)
        continue;
}

void cleanup_guard_started(const struct cleanup_guard *k, pid_t group)
{
    send_group(k, group);
}

void cleanup_guard_ended(const struct cleanup_guard *k, pid_t group)
{
    send_group(k, -group);
}

/* Waits up to END_NS for the end of the guard, and continues the guard in case it was stopped.
 * Returns false if the guard does not end in time. */
static bool wait_for(pid_t guard)
{
    const uint64_t until_ns = clock_ns() + END_NS;
    for (long ms = 1; clock_ns() < until_ns; ms = STEP_MS) {
        const pid_t ended = waitpid(guard, NULL, WNOHANG);
        if (ended == guard || (ended < 0 && errno != EINTR))
            return true;
        (void)kill(guard, SIGCONT);
        pause_ms(ms);
    }
    return false;
}

void cleanup_guard_close(struct cleanup_guard *k)
{
    if (!k->folder[0])
        return;
    (void)close(k->pipe);
    if (k->process > 0 && !wait_for(k->process)) {
        (void)kill(k->process, SIGKILL);
        (void)waitpid(k->process, NULL, 0);
    }
    folder_remove(k->folder);  // in case the guard was killed before it removed the folder
    if (k->lock >= 0)
        (void)close(k->lock);
    *k = (struct cleanup_guard){.pipe = -1, .lock = -1};
}

/* --- the working folder -------------------------------------------------------- */

enum status workdir_make(const char *path, int *made, struct error *e)
{
    char part[4096];
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        if (snprintf(part, sizeof part, "%.*s", (int)(end - path), path) >= (int)sizeof part)
            errno = ENAMETOOLONG;
        else if (mkdir(part, 0777) == 0 && ++*made)
            continue;
        else if (errno == EEXIST)
            continue;
        return error_errno(e, STATUS_FAILED, "--workdir=%.200s", path);
    }
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        errno = ENOTDIR;
    else if (access(path, W_OK | X_OK) == 0)
        return STATUS_OK;
    return error_errno(e, STATUS_FAILED, "--workdir=%.200s", path);
}

void workdir_remove(const char *path, int made)
{
    char part[4096];
    (void)snprintf(part, sizeof part, "%s", path);
    for (size_t length = strlen(part); made > 0 && rmdir(part) == 0; made--) {
        while (length && part[length - 1] == '/')
            length--;
        while (length && part[length - 1] != '/')
            length--;
        part[length] = 0;
    }
}
