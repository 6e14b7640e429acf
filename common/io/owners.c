#include "io/owners.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/hash.h"

/* A process stands at FIRST + (run << PROCESS_BITS) + its number. */
#define FIRST (INT64_C(1) << 62)
enum { PROCESS_BITS = 22, RUN_BITS = 39 };

static int64_t place_of(uint64_t run)
{
    const uint64_t hash = hash_finish(hash_bytes(HASH_START, &run, sizeof run));
    return FIRST + (int64_t)(hash >> (64 - RUN_BITS) << PROCESS_BITS);
}

static bool set(int file, short type, int64_t start, bool wait)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
    return fcntl(file, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock) == 0;
}

/* Where another descriptor holds a lock among the bytes from `start` on, `length` of them (0:
 * all); 0 for none. */
static int64_t find(int file, int64_t start, int64_t length)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_start : 0;
}

bool owners_lock(int file)
{
    const bool bytes = set(file, F_WRLCK, 0, true);
    if (!bytes)
        (void)flock(file, LOCK_EX);
    return bytes;
}

void owners_unlock(int file)
{
    if (!set(file, F_UNLCK, 0, false))
        (void)flock(file, LOCK_UN);
}

void owners_join(int file, uint64_t run)
{
    const int64_t number = (int64_t)getpid() & ((1 << PROCESS_BITS) - 1);
    (void)set(file, F_RDLCK, place_of(run) + number, false);  // read: hosts may agree in it
}

long owners_stranger(int file, uint64_t run)
{
    const int64_t ours = place_of(run), next = ours + (1 << PROCESS_BITS);
    int64_t at = ours > FIRST ? find(file, FIRST, ours - FIRST) : 0;
    if (!at)
        at = find(file, next, 0);
    return at ? (long)(at & ((1 << PROCESS_BITS) - 1)) : 0;
}

bool owners_has_fellow(int file, uint64_t run)
{
    return find(file, place_of(run), 1 << PROCESS_BITS) != 0;
}
