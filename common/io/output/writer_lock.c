#include "io/output/writer_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

/* The byte that a process locks is at FIRST + (hash of the run << PROCESS_BITS) + the low bits of
 * its process id. */
#define FIRST (INT64_C(1) << 62)
enum { PROCESS_BITS = 22, RUN_BITS = 39 };

static int64_t place_of(uint64_t run)
{
    const uint64_t hash = hash_finish(hash_bytes(HASH_START, &run, sizeof run));
    return FIRST + (int64_t)(hash >> (64 - RUN_BITS) << PROCESS_BITS);
}

static bool set_lock(int file, short type, int64_t start)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
    return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

/* Returns the position of a lock that another descriptor holds on one of the `length` bytes from
 * `start` on.  `length` = 0: all bytes from `start` on.  Returns 0 if there is no such lock. */
static int64_t find_lock(int file, int64_t start, int64_t length)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_start : 0;
}

/* --- the process that holds a lock ---------------------------------------- */

/* Returns true if a process has this file open.  `process` is its id as text. */
static bool has_open(const char *process, const struct stat *file)
{
    char folder[300], path[600];
    bool found = false;
    (void)snprintf(folder, sizeof folder, "/proc/%s/fd", process);
    DIR *list = opendir(folder);
    for (const struct dirent *d; list && !found && (d = readdir(list));) {
        struct stat st;
        (void)snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        found = stat(path, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
    }
    if (list)
        (void)closedir(list);
    return found;
}

/* Returns the first other process of this user that has the file open; 0: none.  Locks of
 * descriptors do not give the process that holds them. */
static long find_user_of(int file)
{
    struct stat st;
    long found = 0;
    DIR *list = fstat(file, &st) == 0 ? opendir("/proc") : NULL;
    for (const struct dirent *d; list && !found && (d = readdir(list));) {
        const long process = strtol(d->d_name, NULL, 10);
        if (process > 0 && process != (long)getpid() && has_open(d->d_name, &st))
            found = process;
    }
    if (list)
        (void)closedir(list);
    return found;
}

static enum status refuse_lock(int file, const char *what, long holder, struct error *e)
{
    char name[96] = "a process of another user, or on another host,";
    if (holder <= 0)
        holder = find_user_of(file);
    if (holder > 0)
        (void)snprintf(name, sizeof name, "process %ld", holder);
    return error_set(e, STATUS_FAILED,
                     "%s: %s holds a lock on it and does not release it. End that process, or "
                     "write to a folder that other users cannot read",
                     what, name);
}

/* --- the lock, which one process has at a time ---------------------------- */

enum { READERS_MS = 3000, WRITERS_MS = 30000 };

/* Returns the time since begin_ns in ms.  The clock is used because pauses take longer than
 * requested on a busy computer. */
static int64_t ms_since(uint64_t begin_ns)
{
    return (int64_t)((clock_ns() - begin_ns) / 1000000);
}

/* Waits 1 ms, or 20 ms if the caller has already waited for 20 ms or more. */
static void pause_after(int64_t waited_ms)
{
    (void)usleep(waited_ms < 20 ? 1000 : 20000);
}

/* Returns true if an errno of a failed lock means that another process holds the lock, or that
 * the call was interrupted. */
static bool is_held(int number)
{
    return number == EAGAIN || number == EACCES || number == EWOULDBLOCK || number == EINTR;
}

enum status writer_lock_whole(int file, const char *what, struct error *e)
{
    const uint64_t begin_ns = clock_ns();
    while (flock(file, LOCK_EX | LOCK_NB) != 0 && is_held(errno)) {
        const int64_t waited_ms = ms_since(begin_ns);
        if (waited_ms >= WRITERS_MS)
            return refuse_lock(file, what, 0, e);
        pause_after(waited_ms);
    }
    return STATUS_OK;
}

enum writer_lock writer_lock(int file, const char *what, struct error *e)
{
    const uint64_t begin_ns = clock_ns();
    uint64_t readers_ns = begin_ns;  // since when only read locks were seen on the file
    while (!set_lock(file, F_WRLCK, 0)) {
        struct flock held = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        if (!is_held(errno))
            return writer_lock_whole(file, what, e) ? WRITER_BUSY : WRITER_UNLOCKED;
        const bool known = fcntl(file, F_OFD_GETLK, &held) == 0 && held.l_type != F_UNLCK;
        if (!known || held.l_type != F_RDLCK)
            readers_ns = clock_ns();
        const int64_t waited_ms = ms_since(begin_ns);
        if (waited_ms >= WRITERS_MS || ms_since(readers_ns) >= READERS_MS) {
            (void)refuse_lock(file, what, known ? (long)held.l_pid : 0, e);
            return WRITER_BUSY;
        }
        pause_after(waited_ms);
    }
    return WRITER_LOCKED;
}

void writer_unlock(int file)
{
    if (!set_lock(file, F_UNLCK, 0))
        (void)flock(file, LOCK_UN);
}

void writer_join_run(int file, uint64_t run)
{
    const int64_t number = (int64_t)getpid() & ((1 << PROCESS_BITS) - 1);
    (void)set_lock(file, F_RDLCK, place_of(run) + number);  // a read lock, because processes on two
                                                            // hosts may have the same id
}

long writer_of_other_run(int file, uint64_t run)
{
    const int64_t ours = place_of(run), next = ours + (1 << PROCESS_BITS);
    int64_t at = ours > FIRST ? find_lock(file, FIRST, ours - FIRST) : 0;
    if (!at)
        at = find_lock(file, next, 0);
    return at ? (long)(at & ((1 << PROCESS_BITS) - 1)) : 0;
}

bool writer_has_fellow(int file, uint64_t run)
{
    return find_lock(file, place_of(run), 1 << PROCESS_BITS) != 0;
}
