/*
 * Starts a process again after its source was started again.
 *
 * A source that was started again opens another run.  The processes of the previous run start again
 * as well: each executes its own program again, with its own command line, so that no state of the
 * previous run is left in the process.  Frames that were under way are computed again.
 *
 * A sink gets --resume, and reports the frames that it has.  A sink that cannot find these frames
 * in its output inherits the ids of the frames that it has acknowledged, in a file without a name.
 */
#include "control/member.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/program.h"

enum {
    READ_AT_ONCE = 1 << 12,  // bytes
    AT_HAND_S = 1,           // how long to wait for the current frame, in seconds
};

static const char former_run[] = "BRAGG_FORMER_RUN";
static const char acknowledged[] = "BRAGG_ACKNOWLEDGED";  // descriptor of the file

/* The first bytes of the file with acknowledged frames.  The ranges of their ids follow in the
 * file. */
struct memory {
    uint64_t run;  // id of the run before this process executed its program again
    char lineage[LINEAGE_SIZE];
};

uint64_t restart_former_run(void)
{
    const char *text = getenv(former_run);
    return text ? strtoull(text, NULL, 16) : 0;
}

/* Returns the text of /proc/self/cmdline, with a NUL after its *size bytes; NULL: it cannot be
 * read.  The caller frees the text. */
static char *read_command_line(size_t *size)
{
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    size_t room = 0;
    ssize_t n = 1;
    *size = 0;
    while (n > 0) {
        text = mem_grow(text, *size, READ_AT_ONCE + 1, 1, &room);
        n = read(file, text + *size, READ_AT_ONCE);
        *size += n > 0 ? (size_t)n : 0;
    }
    if (file >= 0)
        (void)close(file);
    if (n == 0)
        return text;
    mem_free(text);
    return NULL;
}

/* Returns the words of this process's command line, with a NULL at the end.  Inserts `extra` (NULL:
 * nothing) before the last `behind` words.  The first word is the start of the text of all words.
 * The caller frees the first word and the array. */
static char **command_line(char *extra, size_t behind)
{
    size_t size, n = 0, count = 0;
    char *text = read_command_line(&size);
    for (size_t i = 0; text && i < size; i++)
        count += text[i] == 0;
    char **words = count ? mem_array(count + 2, sizeof *words) : NULL;
    const char *end = text + size;
    for (char *at = text; words && at < end; at += strlen(at) + 1) {
        if (extra && n + behind == count)
            words[n++] = extra;
        words[n++] = at;
    }
    if (words && extra && !behind)
        words[n] = extra;
    return words;
}

/* Returns the descriptor of the file with acknowledged frames that this process has inherited,
 * and reads its first bytes to *m.  -1: there is no such file, or it is not of the former run. */
static int inherited(struct memory *m)
{
    const char *text = getenv(acknowledged);
    const int file = text ? (int)strtol(text, NULL, 10) : -1;
    return file >= 0 && pread(file, m, sizeof *m, 0) == sizeof *m && m->run == restart_former_run()
               ? file
               : -1;
}

enum status restart_remember(const char *lineage, struct id_set *ids, struct error *e)
{
    struct memory m;
    struct id_range range;
    const int file = inherited(&m);
    if (file < 0)
        return STATUS_OK;
    if (strncmp(m.lineage, lineage, sizeof m.lineage) != 0)
        return error_set(
            e, STATUS_INPUT,
            "the source was started again with other options (lineage %s; expected %.16s)", lineage,
            m.lineage);
    for (off_t at = sizeof m; pread(file, &range, sizeof range, at) == sizeof range;
         at += (off_t)sizeof range)
        id_set_add_range(ids, range);
    return STATUS_OK;
}

/* Changes links->seen.ids from the frames that have arrived to the frames that are durable: removes
 * the frames that this process holds, and adds those that became durable just now. */
static void find_acknowledged(struct member *me)
{
    struct id_set *ids = &me->links->seen.ids;
    struct id_set durable = exchange_take_durable(&me->links->exchange);
    for (size_t i = 0; i < me->links->nheld; i++)
        id_set_remove(ids, me->links->held[i].id);
    id_set_add_set(ids, &durable);
    id_set_clear(&durable);
}

static bool write_memory(struct member *me, int file, const struct memory *m)
{
    if (file < 0 || write(file, m, sizeof *m) != sizeof *m)
        return false;
    find_acknowledged(me);
    const size_t size = me->links->seen.ids.count * sizeof(struct id_range);
    return !size || write(file, me->links->seen.ids.ranges, size) == (ssize_t)size;
}

/* Passes the ids of the acknowledged frames to the program that this process executes next.
 * Does nothing unless the stage is a sink that is not passive, whose frames are neither found in
 * its output nor only in its memory.  Returns false after an error. */
static bool hand_over(struct member *me)
{
    char text[16];
    struct memory m = {0};
    if (!role_is_sink(&me->run->role) || role_is_watcher(&me->run->role) ||
        me->run->role.finds_durable || me->run->role.in_memory)
        return true;
    int file = inherited(&m);  // passed on unchanged if this process has not begun its frames
    m.run = me->run->id;
    if (me->identified) {
        exchange_end(&me->links->exchange,
                     false);  // no further frame is begun; the current one may be done soon
        if (!exchange_await_main(&me->links->exchange, AT_HAND_S))
            log_line(LOG_INFO, "the current frame is incomplete; the source sends it again");
        memcpy(m.lineage, me->links->exchange.lineage, sizeof m.lineage);
        file = memfd_create("acknowledged", 0);
        if (!write_memory(me, file, &m))
            return false;
    } else if (file >= 0 &&
               (pwrite(file, &m, sizeof m, 0) != sizeof m || fcntl(file, F_SETFD, 0))) {
        return false;
    }
    (void)snprintf(text, sizeof text, "%d", file);
    return setenv(acknowledged, text, 1) == 0;
}

void restart(struct member *me)
{
    static char resume[] = "--resume", run[17];
    const bool adds = role_is_sink(&me->run->role) && !me->run->settings.resume;
    char **words = command_line(adds ? resume : NULL, me->nwords);
    (void)snprintf(run, sizeof run, "%016" PRIx64, me->run->id);
    log_line(LOG_INFO, "the source was started again, so this process starts again");
    if (!words || !program_close_at_exec(STDERR_FILENO + 1) || !hand_over(me) ||
        setenv(former_run, run, 1) != 0) {
        run_stop(me->run, STATUS_FAILED, "cannot start again for a source that was started again");
    } else {
        (void)execv("/proc/self/exe", words);
        run_stop(me->run, STATUS_FAILED, "cannot start again: %s", strerror(errno));
    }
    if (words)
        mem_free(words[0]);  // the text of all words
    mem_free(words);
}
