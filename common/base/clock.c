#include "base/clock.h"

#include <errno.h>
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
