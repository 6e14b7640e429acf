#include "base/readable.h"

#include <inttypes.h>
#include <stdio.h>

void readable_bytes(double bytes, char text[READABLE_SIZE])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    /* what rounds to 1000 is 1 of the next unit */
    for (; bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1000;
    (void)snprintf(text, READABLE_SIZE, bytes < 999.5 ? "%.3g %s" : "%.0f %s", bytes, units[unit]);
}

void readable_time(double s, char text[READABLE_SIZE])
{
    const uint64_t all = s < 1e9 ? (uint64_t)(s + 0.5) : UINT64_C(1000000000);
    if (all < 3600)
        (void)snprintf(text, READABLE_SIZE, "%" PRIu64 ":%02" PRIu64, all / 60, all % 60);
    else
        (void)snprintf(text, READABLE_SIZE, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, all / 3600,
                       all / 60 % 60, all % 60);
}
