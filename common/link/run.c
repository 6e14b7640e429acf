#include "link/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

bool run_is_ours(const struct run *run, const struct route *r)
{
    return run->id && r->run == run->id && r->incarnation == run->incarnation;
}

bool run_is_silent(const struct run *run, uint64_t heard_ns, uint64_t patience_ns, uint64_t now_ns)
{
    const uint64_t since = heard_ns > run->awake_ns ? heard_ns : run->awake_ns;
    return now_ns > since + patience_ns;
}

uint64_t run_beat_ns(const struct run *run)
{
    return run->patience_ns / 5 < HEARTBEAT_NS ? run->patience_ns / 5 : HEARTBEAT_NS;
}

bool run_end(struct run *run, enum ending how, enum status status)
{
    if (run->stopping)
        return false;
    run->stopping = true;
    run->ending = how;
    atomic_store(&run->status, (int)status);
    return true;
}

void run_leave(struct run *run, const char *reason)
{
    if (run_end(run, ENDING_OUT, STATUS_FAILED) && !atomic_exchange(&run->spoken, true))
        log_line(LOG_ERROR, "the source took this process %s%s", *reason ? "out: " : "for dead",
                 reason);
}

void run_stop(struct run *run, enum status status, const char *text, ...)
{
    if (!run_end(run, ENDING_FAILED, status) || !text || atomic_exchange(&run->spoken, true))
        return;
    char line[512];
    va_list args;
    va_start(args, text);
    (void)vsnprintf(line, sizeof line, text, args);
    va_end(args);
    log_line(LOG_ERROR, "%s", line);
}
