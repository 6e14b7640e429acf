/*
 * Ends a process of the run, and sends its messages other than frames.  Each message is sealed with
 * the id and the incarnation of the run.
 */
#include "link/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
        log_line(LOG_ERROR, *reason ? "the source excluded this process: %s" : "%s",
                 *reason ? reason : RUN_PRESUMED_DEAD);
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

/* --- messages -------------------------------------------------------------------------- */

static bool seal(const struct run *run, enum message_type type, struct message *m)
{
    struct route r = {.type = type, .run = run->id, .incarnation = run->incarnation};
    memcpy(r.stage, run->role.name, strnlen(run->role.name, sizeof r.stage - 1));
    return route_seal(&r, m, NULL) == STATUS_OK;
}

bool send_message(const struct run *run, struct port *port, const struct address *to,
                  enum message_type type, struct message *m, enum status s)
{
    const bool sent = s == STATUS_OK && seal(run, type, m) && port_send(port, to, m, NULL);
    message_free(m);
    return sent;
}

bool send_make_notice(const struct run *run, enum message_type type, struct notice *n,
                      struct message *m)
{
    *m = (struct message){0};
    return control_notice_encode(type, n, m, NULL) == STATUS_OK && seal(run, type, m);
}

bool send_notice(const struct run *run, struct port *port, const struct address *to,
                 enum message_type type, struct notice *n)
{
    struct message m = {0};
    const enum status s = control_notice_encode(type, n, &m, NULL);
    return send_message(run, port, to, type, &m, s);
}
