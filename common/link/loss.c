#include "link/loss.h"

#include <inttypes.h>

#include "base/log.h"
#include "link/death.h"
#include "link/send.h"

static bool say_count(struct links *ls, struct link *l, uint64_t count)
{
    struct notice n = {.progress = count};
    return send_notice(ls->run, l->port, &l->address, MESSAGE_HEARTBEAT, &n);
}

static void ask(struct links *ls, struct link *l, uint64_t now_ns)
{
    l->asked_ns = now_ns;
    if (!say_count(ls, l, l->nmessages)) {
        link_lose(ls, l, now_ns);
        return;
    }
    if (l->asking)
        return;
    l->asking = true;
    l->nasked = l->nmessages;
    l->ncovered = l->nsent;
}

/* A credit for nothing shows whether who is to give the experiment is there, or who has not
 * answered: it may have died before the source heard of it. */
static void knock(struct links *ls, struct link *l, uint64_t now_ns)
{
    struct notice nothing = {0};
    l->asked_ns = now_ns;
    if (!send_notice(ls->run, l->port, &l->address, MESSAGE_CREDIT, &nothing))
        link_lose(ls, l, now_ns);
}

void loss_pump(struct links *ls, uint64_t now_ns)
{
    /* Who only hands the experiment over has no source that says who died: it asks again. */
    const bool early = ls->run->role.gives == KIND_EXPERIMENT;
    for (struct link *l = ls->first; l; l = l->next) {
        if (l->port->up && l->to_answer && !l->lost_ns)  // else hello is the first word
            (void)say_count(ls, l, l->nmessages);
        l->to_answer = false;
        if (l->gone || l->lost_ns || now_ns <= l->asked_ns + run_beat_ns(ls->run))
            continue;
        if (l->experiment_sent && (early || (!l->asking && l->nasked != l->nmessages)))
            ask(ls, l, now_ns);
        else if (l->asking || (l->answered && death_lacks_experiment(ls, l)))
            knock(ls, l, now_ns);
    }
}

/* The frames that are lost are no more on their way: the source finds that nobody has them. */
void loss_answered(struct links *ls, struct link *l, const struct notice *n)
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
    link_settle(ls, l);
}
