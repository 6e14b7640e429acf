#include "link/death.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "link/send.h"
#include "link/shared.h"

/* Where a process is among those that are out, or would be. */
static struct buried **find_buried(struct links *ls, const char *uuid)
{
    struct buried **at = &ls->buried[links_bucket(uuid, strlen(uuid))];
    while (*at && strcmp((*at)->uuid, uuid) != 0)
        at = &(*at)->next;
    return at;
}

bool death_is_known(struct links *ls, const char *uuid)
{
    return *find_buried(ls, uuid);
}

/* Remembers for ever who is out; false when memory is. */
static bool remember(struct links *ls, const char *uuid)
{
    struct buried **at = find_buried(ls, uuid);
    if (!*at && (*at = mem_array(1, sizeof **at)))
        memcpy((*at)->uuid, uuid, sizeof(*at)->uuid);
    return *at;
}

/* Notes for the source which frames were at the other end, in the order of sending.  Who takes
 * frames in the order of the list may have been at work on any of them, or on one whose
 * credit is back: none is to blame, and the source finds that nobody lists them. */
static void note_lost(struct links *ls, const struct link *l, bool died)
{
    const bool watches = l->peer.gives == (int)KIND_NONE && !l->peer.durable;
    const bool matters = l->nsent && !watches && !l->peer.order;
    struct lost *lost = matters ? mem_array(1, sizeof *lost + l->nsent * sizeof *lost->ids) : NULL;
    if (!lost)
        return;
    lost->died = died;
    lost->nids = l->nsent;
    memcpy(lost->uuid, l->peer.uuid, sizeof lost->uuid);
    for (size_t i = 0; i < l->nsent; i++)
        lost->ids[i] = (struct id_range){l->sent[i], l->sent[i]};
    struct lost **at = &ls->lost;
    while (*at)
        at = &(*at)->next;
    *at = lost;
}

void link_drop(struct links *ls, struct link *l, bool died)
{
    for (size_t i = 0; i < ls->nheld; i++)
        if (ls->held[i].from == l)
            ls->held[i].from = NULL;  // it stays a frame of ours
    ls->changed = true;
    note_lost(ls, l, died);
    shared_release(ls, l, UINT64_MAX);
    link_remove(ls, l);
}

/* One neighbour is out.  Through a pipe nobody can take its place. */
static void bury(struct links *ls, struct link *l)
{
    struct port *port = l->port;
    if (port == ls->in.port || port == ls->out.port) {
        run_stop(ls->run, STATUS_FAILED, "%s (the stage %s this one) died", l->peer.stage,
                 port->up ? "before" : "after");
        return;
    }
    link_drop(ls, l, true);
    if (!port->bound)
        link_cut(ls, port);  // without what waits for the dead
}

void death_bury(struct links *ls, const char *uuid)
{
    if (!remember(ls, uuid))
        run_stop(ls->run, STATUS_FAILED, "out of memory for dead processes");
    for (struct link *l = ls->first, *next; l && !ls->run->stopping; l = next) {
        next = l->next;
        if (!l->gone && strcmp(l->peer.uuid, uuid) == 0)
            bury(ls, l);
    }
}

/* Who was to give the experiment, or took it, ended before it did so; it may be started again. */
static void wait_for_another(struct links *ls, struct link *l, uint64_t now_ns)
{
    *(l->port->up ? &ls->met_up : &ls->met_down) = false;
    ls->start_ns = now_ns;
    bury(ls, l);
}

/* True when the other end is to give the experiment, and has not. */
static bool lacks_experiment(const struct links *ls, const struct link *l)
{
    return l->port->up && ls->wants == KIND_EXPERIMENT && !ls->given;
}

void death_check(struct links *ls, uint64_t now_ns)
{
    for (struct link *l = ls->first, *next; l && !ls->run->stopping; l = next) {
        next = l->next;
        /* The source says who died; before it, and for who never spoke to it, nobody does. */
        const bool lacks = lacks_experiment(ls, l);
        const bool early = lacks || ls->run->role.gives == KIND_EXPERIMENT;
        const uint64_t patience_ns =
            early && !endpoint_is_network(l->port->endpoint) ? GRACE_NS : ls->run->patience_ns;
        if (l->gone ? !lacks : !l->lost_ns || now_ns <= l->lost_ns + patience_ns)
            continue;
        if (early)
            wait_for_another(ls, l, now_ns);
        else
            bury(ls, l);
    }
}

static bool say_count(struct links *ls, struct link *l)
{
    struct notice n = {.progress = l->nmessages};
    return send_notice(ls->run, l->port, &l->address, MESSAGE_HEARTBEAT, &n);
}

static bool ask(struct links *ls, struct link *l)
{
    if (!say_count(ls, l))
        return false;
    if (!l->asking) {
        l->nasked = l->nmessages;
        l->ncovered = l->nsent;
    }
    return l->asking = true;
}

/* A credit for nothing shows whether who is to give the experiment is there, or who has not
 * answered: it may have died before the source heard of it. */
static bool knock(struct links *ls, struct link *l)
{
    struct notice nothing = {0};
    return send_notice(ls->run, l->port, &l->address, MESSAGE_CREDIT, &nothing);
}

void loss_pump(struct links *ls, uint64_t now_ns)
{
    /* Who only hands the experiment over has no source that says who died: it asks again. */
    const bool early = ls->run->role.gives == KIND_EXPERIMENT;
    for (struct link *l = ls->first; l; l = l->next) {
        if (l->port->up && l->to_answer && !l->lost_ns)  // else hello is the first word
            (void)say_count(ls, l);
        l->to_answer = false;
        if (l->gone || l->lost_ns || now_ns <= l->asked_ns + run_beat_ns(ls->run))
            continue;
        const bool asks =
            l->experiment_sent && (early || (!l->asking && l->nasked != l->nmessages));
        if (!asks && !l->asking && !(l->answered && lacks_experiment(ls, l)))
            continue;
        l->asked_ns = now_ns;
        if (!(asks ? ask(ls, l) : knock(ls, l)))
            link_lose(ls, l, now_ns);
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
