/*
 * The data plane: whether what was sent has arrived.  A message that vanishes on a living
 * link leaves no trace: its sender takes it for under way, so that nobody misses it.
 * Hence the upper end of a link asks now and then, and the lower one answers in turn, how
 * many experiments and frames have come; links keep the order, so that the difference is lost.
 */
#include <inttypes.h>

#include "base/log.h"
#include "stage/runtime.h"

static bool say_count(struct runtime *rt, struct link *l, uint64_t count)
{
    struct notice n = {.progress = count};
    return io_send_notice(rt, l->port->socket, &l->address, MESSAGE_HEARTBEAT, &n);
}

static void ask(struct runtime *rt, struct link *l, uint64_t now_ns)
{
    l->asked_ns = now_ns;
    if (!say_count(rt, l, l->nmessages)) {
        l->lost_ns = now_ns;
        return;
    }
    if (l->asking)
        return;
    l->asking = true;
    l->nasked = l->nmessages;
    l->ncovered = l->nsent;
}

/* A credit for nothing shows whether who is to give the experiment is there. */
static void knock(struct runtime *rt, struct link *l, uint64_t now_ns)
{
    struct notice nothing = {0};
    l->asked_ns = now_ns;
    if (!io_send_notice(rt, l->port->socket, &l->address, MESSAGE_CREDIT, &nothing))
        l->lost_ns = now_ns;
}

void probe_pump(struct runtime *rt, uint64_t now_ns)
{
    /* Who only hands the experiment over has no source that says who died: it asks again. */
    const bool early = rt->stage->gives == KIND_EXPERIMENT;
    for (struct link *l = rt->links; l; l = l->next) {
        if (l->port->up && l->to_answer)
            (void)say_count(rt, l, l->nmessages);
        l->to_answer = false;
        if (l->gone || l->lost_ns || now_ns <= l->asked_ns + io_beat_ns(rt))
            continue;
        if (l->experiment_sent && (early || (!l->asking && l->nasked != l->nmessages)))
            ask(rt, l, now_ns);
        else if (l->answered && link_lacks_experiment(rt, l))
            knock(rt, l, now_ns);
    }
}

/* The frames that are lost are no more on their way: the source finds that nobody has them. */
void probe_answered(struct link *l, const struct notice *n)
{
    if (!l->asking)
        return;
    const uint64_t lost = n->progress < l->nasked ? l->nasked - n->progress : 0;
    l->asking = false;
    if (l->narrived < l->ncovered)
        l->narrived = l->ncovered;
    if (!lost)
        return;
    log_line(LOG_INFO, "%" PRIu64 " messages to %s got lost", lost, l->peer.stage);
    l->nmessages -= lost;
    l->nasked -= lost;
    l->credit += (uint32_t)(lost < l->ncovered ? lost : l->ncovered);
    l->experiment_sent = l->nsent > 0;
}
