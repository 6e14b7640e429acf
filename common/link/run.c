/*
 * Ends a process of the run, and sends its messages other than frames.  Each message is sealed with
 * the id and the incarnation of the run.
 */
#include "link/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "wire/control.h"

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

static void seal(const struct run *run, enum message_type type, struct message *m)
{
    struct route r = {.type = type, .run = run->id, .incarnation = run->incarnation};
    memcpy(r.stage, run->role.name, strnlen(run->role.name, sizeof r.stage - 1));
    route_seal(&r, m);
}

bool send_message(const struct run *run, struct port *port, const struct address *to,
                  enum message_type type, struct message *m, enum status s)
{
    if (s == STATUS_OK)
        seal(run, type, m);
    const bool sent = s == STATUS_OK && port_send(port, to, m, NULL);
    message_free(m);
    return sent;
}

bool send_make_notice(const struct run *run, enum message_type type, struct notice *n,
                      struct message *m)
{
    *m = (struct message){0};
    if (control_notice_encode(type, n, m, NULL) != STATUS_OK)
        return false;
    seal(run, type, m);
    return true;
}

bool send_notice(const struct run *run, struct port *port, const struct address *to,
                 enum message_type type, struct notice *n)
{
    struct message m = {0};
    const enum status s = control_notice_encode(type, n, &m, NULL);
    return send_message(run, port, to, type, &m, s);
}

/* The kinds of input and output of stages, and the groups of sinks. */

const struct kind_programs kind_programs[] = {
    [KIND_EXPERIMENT] = {"bragg-geometry", "bragg-orient"},
    [KIND_RECIPE] = {"bragg-orient", "bragg-intensity"},
    [KIND_IMAGE] = {"bragg-intensity", "bragg-write"},
    [KIND_ANY] = {"bragg-intensity", "bragg-tap"},
};

const char *kind_name(enum kind kind)
{
    static const char *const names[] = {"nothing", "experiment", "recipe", "image", "anything"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* --- groups of sinks --------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0;
}

static bool is_listed(const char *text, const char *name, size_t size)
{
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        if (length == size && memcmp(text, name, length) == 0)
            return true;
        text += length;
        if (!*text)
            return false;
    }
}

/* Returns true for a list of names that are separated by commas and all different. */
static bool are_names(const char *text)
{
    for (;; text++) {
        const char *name = text;
        const size_t length = strcspn(text, ",");
        text += length;
        if (!length || length >= GROUP_SIZE)
            return false;
        if (!*text)
            return true;
        if (is_listed(text + 1, name, length))
            return false;
    }
}

size_t groups_count(const char *text)
{
    size_t count = 1;
    if (!text)
        return count;
    if (is_number(text))
        return strlen(text) < 4 ? strtoul(text, NULL, 10) : SIZE_MAX;
    for (const char *at = text; *at; at++)
        count += *at == ',';
    return count;
}

enum status groups_check(const char *text, struct error *e)
{
    const size_t count = groups_count(text);
    if (!text || (count >= 1 && count <= GROUPS_MAX && (is_number(text) || are_names(text))))
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--groups: '%.60s' is not valid; expected a number from 1 to %d, or different "
                     "names of 1 to %d characters, separated by commas",
                     text, GROUPS_MAX, GROUP_SIZE - 1);
}

bool groups_ask_for(const char *text, const char *group, size_t taken)
{
    if (!text || is_number(text))
        return taken < groups_count(text);
    return is_listed(text, group, strlen(group));
}
