/*
 * Finds neighbours that have died, and messages that were lost.
 *
 * A neighbour that vanishes without a bye is presumed dead after a while, and its link ends.  The
 * frames that it had not passed on are noted for the source.
 *
 * A message that vanishes on a working link leaves no trace: its sender presumes that it is under
 * way, and no process misses it.  Therefore the sender regularly asks the process at the lower end
 * of the link how many experiments and frames it has received.  Links keep the order of messages,
 * so that the difference between the sent and the received messages is lost.
 */
#include "link/links.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* --- dead neighbours ------------------------------------------------------------------- */

/* Returns the pointer through which the table of excluded processes links a process.  If the
 * process is not in the table, the pointer is NULL, and is the place at which the process can be
 * added. */
static struct dead_peer **find_buried(struct links *ls, const char *uuid)
{
    struct dead_peer **at = &ls->buried[links_bucket(uuid, strlen(uuid))];
    while (*at && strcmp((*at)->uuid, uuid) != 0)
        at = &(*at)->next;
    return at;
}

bool loss_is_excluded(struct links *ls, const char *uuid)
{
    return *find_buried(ls, uuid);
}

/* Adds a process to the excluded processes; it is never removed. */
static void note_excluded(struct links *ls, const char *uuid)
{
    struct dead_peer **at = find_buried(ls, uuid);
    if (*at)
        return;
    *at = mem_array(1, sizeof **at);
    memcpy((*at)->uuid, uuid, sizeof(*at)->uuid);
}

/* Notes for the source the frames that were sent to the peer of a link and whose credit is not
 * back, in the order of sending.
 *
 * Nothing is noted for a passive sink, because no frame is issued again for it.  Nothing is noted
 * for a peer with --order.  That peer may have been processing any of the frames, or a frame whose
 * credit has returned, so that no frame can be blamed for its death.  The source finds the lost
 * frames because no process lists them. */
static void note_lost(struct links *ls, const struct link *l, bool died)
{
    const bool watches = l->peer.gives == (int)KIND_NONE && !l->peer.durable;
    if (!l->nsent || watches || l->peer.order)
        return;
    struct lost_frames *lost = mem_array(1, sizeof *lost + l->nsent * sizeof *lost->ids);
    lost->died = died;
    lost->nids = l->nsent;
    memcpy(lost->uuid, l->peer.uuid, sizeof lost->uuid);
    for (size_t i = 0; i < l->nsent; i++)
        lost->ids[i] = (struct id_range){l->sent[i], l->sent[i]};
    struct lost_frames **at = &ls->lost;
    while (*at)
        at = &(*at)->next;
    *at = lost;
}

void link_drop(struct links *ls, struct link *l, bool died)
{
    for (size_t i = 0; i < ls->nheld; i++)
        if (ls->held[i].from == l)
            ls->held[i].from = NULL;  // the frame stays in this process
    ls->changed = true;
    note_lost(ls, l, died);
    shared_release(ls, l, UINT64_MAX);
    link_remove(ls, l);
}

/* Drops the link to a neighbour that died.  At the end of a pipe no other process can replace it.
 */
static void drop_dead(struct links *ls, struct link *l)
{
    struct port *port = l->port;
    if (port == ls->in.port || port == ls->out.port) {
        const struct pipe_end *pipe = port->up ? &ls->in : &ls->out;
        run_stop(ls->run, STATUS_FAILED, "%s (the stage %s this one) died%s", l->peer.stage,
                 port->up ? "before" : "after",
                 pipe->deadline_ns ? ""
                                   : ", hangs or does not answer. See --dead-after and --hang of "
                                     "the source");
        return;
    }
    link_drop(ls, l, true);
    if (!port->bound)
        link_cut(ls, port);  // drops the messages that wait for the dead process
}

void loss_exclude(struct links *ls, const char *uuid)
{
    note_excluded(ls, uuid);
    for (struct link *l = ls->first, *next; l && !ls->run->stopping; l = next) {
        next = l->next;
        if (!l->gone && strcmp(l->peer.uuid, uuid) == 0)
            drop_dead(ls, l);
    }
}

/* Drops a neighbour that ended before it sent or received the experiment.  It may be started again,
 * so that the wait for a neighbour begins again. */
static void wait_for_another(struct links *ls, struct link *l, uint64_t now_ns)
{
    *(l->port->up ? &ls->met_up : &ls->met_down) = false;
    ls->start_ns = now_ns;
    drop_dead(ls, l);
}

/* Returns true if this stage takes only the experiment from the peer, and the peer has not sent
 * it yet. */
static bool lacks_experiment(const struct links *ls, const struct link *l)
{
    return l->port->up && ls->wants == KIND_EXPERIMENT && !ls->given;
}

void loss_check_peers(struct links *ls, uint64_t now_ns)
{
    for (struct link *l = ls->first, *next; l && !ls->run->stopping; l = next) {
        next = l->next;
        /* The source reports deaths.  It does not report the death of a stage before it, nor of a
         * process that never sent a message to it. */
        const bool lacks = lacks_experiment(ls, l);
        const bool early = lacks || ls->run->role.gives == KIND_EXPERIMENT;
        const uint64_t patience_ns =
            early && !endpoint_is_network(l->port->endpoint) ? GRACE_NS : ls->run->patience_ns;
        if (l->gone ? !lacks : !l->lost_ns || now_ns <= l->lost_ns + patience_ns)
            continue;
        if (early)
            wait_for_another(ls, l, now_ns);
        else
            drop_dead(ls, l);
    }
}

/* --- lost messages --------------------------------------------------------------------- */

static bool send_count(struct links *ls, struct link *l)
{
    struct notice n = {.progress = l->nmessages};
    return send_notice(ls->run, l->port, &l->address, MESSAGE_HEARTBEAT, &n);
}

static bool ask_count(struct links *ls, struct link *l)
{
    if (!send_count(ls, l))
        return false;
    if (!l->asking) {
        l->nasked = l->nmessages;
        l->ncovered = l->nsent;
    }
    return l->asking = true;
}

/* Sends a notice of credit for no frame, to find out whether the peer can be reached.  The peer
 * still owes the experiment, or the answer to a question.  It may have died before it sent a
 * message to the source, so that the source cannot report its death.  Returns false if the peer
 * cannot be reached. */
static bool send_empty_credit(struct links *ls, struct link *l)
{
    struct notice nothing = {0};
    return send_notice(ls->run, l->port, &l->address, MESSAGE_CREDIT, &nothing);
}

void loss_pump(struct links *ls, uint64_t now_ns)
{
    /* No source reports deaths to a stage that only sends the experiment.  Such a stage repeats the
     * question. */
    const bool early = ls->run->role.gives == KIND_EXPERIMENT;
    for (struct link *l = ls->first; l; l = l->next) {
        if (l->port->up && l->to_answer && !l->lost_ns)  // after a cut, a hello comes first
            (void)send_count(ls, l);
        l->to_answer = false;
        if (l->gone || l->lost_ns || now_ns <= l->asked_ns + run_beat_ns(ls->run))
            continue;
        const bool asks =
            l->experiment_sent && (early || (!l->asking && l->nasked != l->nmessages));
        if (!asks && !l->asking && !(l->answered && lacks_experiment(ls, l)))
            continue;
        l->asked_ns = now_ns;
        if (!(asks ? ask_count(ls, l) : send_empty_credit(ls, l)))
            link_lose(ls, l, now_ns);
    }
}

/* Lost frames are no longer listed as on their way, so that the source finds them missing. */
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
    log_line(LOG_INFO, "%" PRIu64 " messages to %s were lost", lost, l->peer.stage);
    l->nmessages -= lost;
    l->nasked -= lost;
    l->credit += (uint32_t)(lost < l->ncovered ? lost : l->ncovered);
    l->experiment_sent = l->nsent > 0;
    link_settle(ls, l);
}
