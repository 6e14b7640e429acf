/*
 * A source that was started again opens another run.  The processes of the
 * run before begin anew as well: each executes its own program again, with its own
 * command line, so that nothing of the former run is left in it.  Frames under way
 * are computed again; a last stage gets --resume and says what it has.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "stage/runtime.h"

enum { COMMAND_LINE_MAX = 1 << 22 };  // bytes; twice what Linux allows

static const char former_run[] = "BRAGG_FORMER_RUN";

uint64_t rejoin_former_run(void)
{
    const char *text = getenv(former_run);
    return text ? strtoull(text, NULL, 16) : 0;
}

/* All of /proc/self/cmdline; *size without the final NUL. */
static char *read_command_line(size_t *size)
{
    char *text = mem_array(COMMAND_LINE_MAX, 1);
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    *size = 0;
    for (ssize_t n = 1; text && file >= 0 && n > 0 && *size < COMMAND_LINE_MAX - 1;) {
        n = read(file, text + *size, COMMAND_LINE_MAX - 1 - *size);
        *size += n > 0 ? (size_t)n : 0;
    }
    if (file >= 0)
        (void)close(file);
    return text;
}

/* The words of this process's command line, ended by NULL, with `extra` (unless NULL)
 * before the last `behind` ones.  Kept until the end of the process. */
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

void rejoin(struct runtime *rt)
{
    static char resume[] = "--resume", run[17];
    const bool adds = stage_is_sink(rt->stage) && !rt->options.resume;
    char **words = command_line(adds ? resume : NULL, rt->nwords);
    (void)snprintf(run, sizeof run, "%016" PRIx64, rt->run);
    log_line(LOG_INFO, "the source was started again: beginning anew");
    if (!words || setenv(former_run, run, 1) != 0 ||
        close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) != 0) {
        io_stop(rt, STATUS_FAILED, "cannot begin anew for a source that was started again");
        return;
    }
    (void)execv("/proc/self/exe", words);
    io_stop(rt, STATUS_FAILED, "cannot begin anew: %s", strerror(errno));
}
