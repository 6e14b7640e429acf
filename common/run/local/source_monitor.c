/* Requests the status of a run from its source. */
#include "run/local/source_monitor.h"

#include "link/endpoint.h"
#include "run/pipeline/find.h"

void lookout_open(struct lookout *l, const char *folder, const char *endpoint, const char *keys)
{
    *l = (struct lookout){.folder = folder, .endpoint = endpoint, .keys = keys};
}

void lookout_close(struct lookout *l)
{
    if (l->connected)
        watch_close(&l->watch);
    l->connected = false;
}

static void connect_source(struct lookout *l)
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

void lookout_ask(struct lookout *l, uint64_t interval_ns, uint64_t now_ns)
{
    if (now_ns - l->asked_ns < interval_ns)
        return;
    l->asked_ns = now_ns;
    if (!l->connected)
        connect_source(l);
    if (l->connected)
        watch_ask(&l->watch);
}

bool lookout_take(struct lookout *l, struct run_status *r)
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

void lookout_wait(struct lookout *l, int ms)
{
    if (l->connected)
        watch_wait(&l->watch, -1, ms);
}
