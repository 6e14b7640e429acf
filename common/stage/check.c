#include "stage/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "link/endpoint.h"
#include "link/fused.h"
#include "link/groups.h"

static bool is_pipe(int fd)
{
    struct stat what;
    return fstat(fd, &what) == 0 && (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
}

enum status check_endpoints(const struct stage *stage, void *state, const struct settings *o,
                            struct error *e)
{
    bool bind, keyed = false;
    char endpoint[ENDPOINT_SIZE];
    const bool tcp = o->insecure || o->keys;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->in.count && s == STATUS_OK; i++)
        s = endpoint_parse(o->in.text[i], tcp, &bind, endpoint, e);
    for (size_t i = 0; i < o->out.count && s == STATUS_OK; i++)
        s = endpoint_parse(o->out.text[i], tcp, &bind, endpoint, e);
    if (s == STATUS_OK && o->control)
        s = endpoint_check(o->control + (*o->control == '@'), true, tcp, e);
    if (s)
        return s;
    const char *own = stage->binds ? stage->binds(state, &keyed) : NULL;
    if (own)
        return endpoint_check_clients(own, o->insecure || keyed, e);
    return o->insecure && o->keys
               ? error_set(e, STATUS_USAGE, "--keys and --insecure exclude each other")
               : STATUS_OK;
}

enum status check_keys(struct run *run, struct error *e)
{
    const struct settings *o = &run->settings;
    if (o->keys && fused_context())  // of whose context another stage would look after
        return error_set(e, STATUS_USAGE, "--keys is for stages in processes of their own");
    return curve_open(&run->curve, o->keys, o->insecure, KEYS_STAGE, e);
}

enum status check_stage(const struct stage *stage, const struct settings *o, struct error *e)
{
    if (o->group && (!*o->group || strlen(o->group) >= GROUP_SIZE))
        return error_set(e, STATUS_USAGE, "--group: a name has 1 to %d characters", GROUP_SIZE - 1);
    if (groups_check(o->groups, e) != STATUS_OK)
        return STATUS_USAGE;
    if (o->order && stage->transient)
        return error_set(e, STATUS_USAGE,
                         "--order is not for a stage that only watches: nobody waits until it has "
                         "a frame, or brings it again");
    if (stage->in_memory && getenv("BRAGG_WORKER"))
        return error_set(e, STATUS_USAGE, "what comes of all frames is for one process: count: 1");
    if (stage->wants != KIND_NONE && !o->in.count && !is_pipe(STDIN_FILENO))
        return error_set(
            e, STATUS_USAGE,
            "stdin is %s: put a stage before this one, as in %s | %s, or name its endpoint with "
            "--in=ENDPOINT",
            isatty(STDIN_FILENO) ? "a terminal" : "no pipe", kind_programs[stage->wants].giver,
            stage->name);
    if (stage->gives != KIND_NONE && !o->out.count && !is_pipe(STDOUT_FILENO))
        return error_set(
            e, STATUS_USAGE,
            "stdout is %s: put a stage after this one, as in %s | %s, or name an endpoint with "
            "--out=ENDPOINT",
            isatty(STDOUT_FILENO) ? "a terminal" : "no pipe", stage->name,
            kind_programs[stage->gives].taker);
    return STATUS_OK;
}
