#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t read_clock(clockid_t which)
{
    struct timespec now;
    if (clock_gettime(which, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_unix_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t clock_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* Returns the CPU time of a thread of this process.  `thread` is its number as text. */
static uint64_t thread_ns(const char *thread)
{
    char path[64];
    uint64_t ns = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", thread);
    FILE *in = fopen(path, "re");
    if (in && fscanf(in, "%" SCNu64, &ns) != 1)
        ns = 0;
    if (in)
        (void)fclose(in);
    return ns;
}

uint64_t clock_busiest_ns(void)
{
    uint64_t most = 0;
    DIR *threads = opendir("/proc/self/task");
    for (const struct dirent *d; threads && (d = readdir(threads));) {
        const uint64_t ns = *d->d_name == '.' ? 0 : thread_ns(d->d_name);
        most = ns > most ? ns : most;
    }
    if (threads)
        (void)closedir(threads);
    return most;
}

#define VARIABLE "SOURCE_DATE_EPOCH"

static const uint64_t end_of_9999_s = 253402300799;

enum status utc_begin(uint64_t *begin_s, struct error *e)
{
    const char *text = getenv(VARIABLE);
    *begin_s = 0;
    if (!text)
        return STATUS_OK;
    errno = 0;
    const uint64_t seconds = strtoull(text, NULL, 10);
    if (!*text || text[strspn(text, "0123456789")] || errno || seconds > end_of_9999_s)
        return error_set(
            e, STATUS_USAGE,
            VARIABLE
            ": '%.60s' is not a time; expected a whole number of seconds from 0 to 253402300799",
            text);
    *begin_s = seconds;
    return STATUS_OK;
}

void utc_text(uint64_t begin_s, uint64_t later_s, char text[UTC_SIZE])
{
    struct tm parts;
    const uint64_t left = end_of_9999_s - begin_s;
    const time_t at = (time_t)(begin_s + (later_s < left ? later_s : left));
    (void)strftime(text, UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &parts));
}
