/* Requests the status of a run from its source. */
#include "run/local/source_monitor.h"

#include "link/endpoint.h"
#include "run/pipeline/find.h"

void source_monitor_open(struct source_monitor *l, const char *folder, const char *endpoint,
                         const char *keys)
{
    *l = (struct source_monitor){.folder = folder, .endpoint = endpoint, .keys = keys};
}

void source_monitor_close(struct source_monitor *l)
{
    if (l->connected)
        watch_close(&l->watch);
    l->connected = false;
}

static void connect_source(struct source_monitor *l)
{
    char endpoint[ENDPOINT_SIZE];
    struct error ignored;
    bool bind;
    if (l->endpoint ? endpoint_parse(l->endpoint, true, &bind, endpoint, &ignored) != STATUS_OK
                    : !find_in_folder(l->folder, endpoint))
        return;
    l->connected = watch_open(&l->watch, endpoint, l->keys, !l->keys, &ignored) == STATUS_OK;
    if (!l->connected)
        watch_close(&l->watch);
}

void source_monitor_ask(struct source_monitor *l, uint64_t interval_ns, uint64_t now_ns)
{
    if (now_ns - l->asked_ns < interval_ns)
        return;
    l->asked_ns = now_ns;
    if (!l->connected)
        connect_source(l);
    if (l->connected)
        watch_ask(&l->watch);
}

bool source_monitor_take(struct source_monitor *l, struct run_status *r)
{
    enum status ended;
    for (enum watch_got got;
         l->connected && (got = watch_receive(&l->watch, r, &ended)) != WATCH_NOTHING;) {
        l->ended = got == WATCH_END;
        if (got == WATCH_STATUS)
            return true;
    }
    return false;
}

void source_monitor_wait(struct source_monitor *l, int ms)
{
    if (l->connected)
        watch_wait(&l->watch, -1, ms);
}
