#include "stage/stats.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/target.h"

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

enum status stats_write(const struct work *w, const char *path, const char *stage,
                        const char *identity, const char *more, struct error *e)
{
    char line[1024];
    const int length = snprintf(
        line, sizeof line,
        "{\"stage\":\"%s\",\"pid\":%ld,\"frames\":%" PRIu64 ",\"bytes_in\":%" PRIu64
        ",\"bytes_out\":%" PRIu64
        ",\"wait_in_s\":%.6f,\"compute_s\":%.6f,\"wait_out_s\":%.6f,\"codec_s\":%.6f,"
        "\"cpu_s\":%.6f,\"compute_cpu_s\":%.6f,\"wall_s\":%.6f,\"identity\":\"%s\"%s%s}\n",
        stage, (long)getpid(), w->frames, w->bytes_in, w->bytes_out, seconds(w->wait_in_ns),
        seconds(w->compute_ns), seconds(w->wait_out_ns), seconds(w->codec_ns), seconds(w->cpu_ns),
        seconds(w->compute_cpu_ns), seconds(w->time_ns), *identity ? identity : "any",
        more ? "," : "", more ? more : "");
    int fd;
    if (strcmp(path, "-") == 0)
        fd = dup(STDERR_FILENO);
    else if (target_open(path, O_CREAT | O_APPEND, &fd, e))
        return STATUS_FAILED;
    const ssize_t written = write(fd, line, (size_t)length);
    if (close(fd) != 0 || written != length)
        return error_errno(e, STATUS_FAILED, "%s: cannot write the statistics", path);
    return STATUS_OK;
}
