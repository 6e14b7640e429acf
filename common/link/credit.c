/*
 * Credit: how many frames may be sent through a link.
 *
 * A process gives the neighbour before it credit for some frames, and returns the credit of a frame
 * when it has passed that frame on.  So frames wait where they were computed while a later stage is
 * slow, and the memory of every process stays bounded.  A frame goes to one process of each group:
 * the one with credit that has the fewest frames under way.
 */
#include "link/links.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

static const uint64_t OWED_NS = SECOND / 20;  // longest time for which credit waits for more credit
enum { BEGIN = 2, WORK = 12 };  // multiples of --dead-after: time to begin, time for one frame

static bool is_last(const struct link *l)
{
    return l->peer.gives == (int)KIND_NONE;
}

void credit_note_group(struct links *ls, struct link *l)
{
    l->spare = ls->nwaited && is_last(l) && l->peer.durable;
    for (size_t i = 0; i < ls->nwaited; i++)
        l->spare &= strcmp(ls->waited[i].name, l->peer.group) != 0;
    link_settle(ls, l);
}

void credit_set_groups(struct links *ls, const struct group_name *groups, size_t ngroups)
{
    if (!ngroups || ngroups > GROUPS_MAX)
        return;
    memcpy(ls->waited, groups, ngroups * sizeof *groups);
    ls->nwaited = ngroups;
    for (struct link *l = ls->first; l; l = l->next)
        credit_note_group(ls, l);
}

bool credit_is_optional(const struct link *l)
{
    return is_last(l) && (l->spare || !l->peer.durable);
}

/* Returns true while frames must wait for a link that has no credit.  Returns false for an
 * optional sink that has taken no frame for too long.  Warns once of a peer that takes no
 * frames. */
static bool is_waited_for(const struct links *ls, struct link *l)
{
    const uint64_t patience_ns = ls->run->patience_ns * (l->nsent ? WORK : BEGIN);
    const bool watches = credit_is_optional(l);
    if (!l->spent_ns || (!watches && l->nsent) || ls->now_ns <= l->spent_ns + patience_ns)
        return true;
    if (!l->starved)
        log_line(LOG_WARNING, "%s (process %" PRId64 ") takes no frames; %s", l->peer.stage,
                 l->peer.pid, watches ? "the run continues without it" : "the run waits for it");
    l->starved = true;
    return !watches;
}

/* Returns the number of frames that one link may have under way: 8 for frames of less than 2 MiB,
 * fewer for larger frames, and 2 from 64 MiB on. */
static uint32_t credit_of(size_t frame_bytes)
{
    uint32_t credit = 8;
    for (size_t mib = frame_bytes >> 20; mib > 1 && credit > 2; mib >>= 1)
        credit--;
    return credit;
}

static bool send_down(struct links *ls, struct link *l, struct item *item)
{
    const size_t bytes = shared_send(ls, l, item);
    if (bytes) {
        atomic_fetch_add(&ls->bytes_out, bytes);
        l->nmessages++;
        return true;
    }
    link_lose(ls, l, clock_ns());  // the bye of the peer may still arrive
    return false;
}

/* Returns the link of a group that has credit and the fewest frames under way; NULL: no link has
 * credit. */
static struct link *choose_link(const struct links *ls, unsigned group)
{
    const struct group *g = &ls->groups[group];
    size_t i = 0;
    while (i < UNDER_WAY_MAX && !g->by_sent[i])
        i++;
    return g->by_sent[i];
}

/* Sets of groups, one bit per group.  `open`: groups that must have a frame before the next frame
 * is sent.  `ready`: groups with credit. */
struct group_bits {
    uint64_t open, ready;
};

static struct group_bits find_groups(const struct links *ls)
{
    struct group_bits groups = {0};
    for (unsigned g = 0; g < ls->ngroups; g++) {
        const bool ready = choose_link(ls, g);
        bool open = ready;
        for (struct link *l = ls->groups[g].dry; l && !open; l = l->next_ready)
            open = is_waited_for(ls, l);
        groups.open |= (uint64_t)open << g;
        groups.ready |= (uint64_t)ready << g;
    }
    return groups;
}

/* Sends a frame to one process of a group.  Returns false if no process of the group has credit. */
static bool send_to_group(struct links *ls, struct item *item, unsigned group)
{
    struct link *l;
    while ((l = choose_link(ls, group))) {
        if (!send_down(ls, l, item))
            continue;  // that process cannot be reached any more
        l->starved = false;
        if (!--l->credit)
            l->spent_ns = ls->now_ns;
        l->sent = mem_grow(l->sent, l->nsent, 1, sizeof *l->sent, &l->sent_capacity);
        l->sent[l->nsent++] = item->route.frame;
        link_settle(ls, l);
        return true;
    }
    return false;
}

/* Sends one frame to every group that does not have it yet.  Returns false if a group that must
 * have the frame has no credit.  A group without processes is skipped: the source knows whether the
 * group must have the frame. */
static bool send_frame(struct links *ls, struct item *item)
{
    const struct group_bits groups = find_groups(ls);
    const uint64_t ready = groups.ready & ~item->given;
    for (unsigned g = 0; g < ls->ngroups && !ls->run->stopping; g++)
        if (ready >> g & 1 && send_to_group(ls, item, g))
            item->given |= UINT64_C(1) << g;
    if (!item->given || groups.open & ~item->given)
        return false;
    credit_passed(ls, item->route.frame);
    return true;
}

static void send_experiment(struct links *ls)
{
    struct item experiment = {.message = ls->experiment};
    for (struct link *l = ls->first; l && !ls->run->stopping; l = l->next) {
        if (l->experiment_sent || !link_is_open(ls, l))
            continue;
        shared_announce(ls, l);
        l->experiment_sent = send_down(ls, l, &experiment);
        l->spent_ns = ls->now_ns;
        link_settle(ls, l);
    }
}

static void send_items(struct links *ls)
{
    for (struct item *item; !ls->run->stopping && (item = exchange_peek(&ls->exchange));) {
        if (item->route.type == MESSAGE_EXPERIMENT) {
            ls->experiment = item->message;
            item->message = (struct message){0};
            send_experiment(ls);
        } else if (!send_frame(ls, item)) {
            return;
        }
        exchange_pop(&ls->exchange);
    }
}

static void return_to(struct links *ls, struct link *l, uint64_t id)
{
    if (!l)
        return;
    link_owe(ls, l);
    l->grant++;
    id_set_add(&l->returned, id);
}

/* If this process holds several copies of the frame, the last one in ls->held leaves the list. */
void credit_passed(struct links *ls, uint64_t id)
{
    ls->ticks++;
    if (role_is_source(&ls->run->role))
        id_set_add(&ls->passed, id);
    for (size_t i = ls->nheld; i-- > 0;) {
        if (ls->held[i].id != id)
            continue;
        return_to(ls, ls->held[i].from, id);
        ls->held[i] = ls->held[--ls->nheld];
        return;
    }
}

void credit_release(struct links *ls, uint64_t id)
{
    for (size_t i = 0; i < ls->nheld; i++) {
        if (ls->held[i].id != id)
            continue;
        return_to(ls, ls->held[i].from, id);
        ls->held[i].from = NULL;
    }
}

static bool holds_again(const struct links *ls, const struct link *l)
{
    for (size_t i = 0; i < ls->nheld; i++)
        if (ls->held[i].from == l && ls->held[i].again)
            return true;
    return false;
}

/* Returns true if credit or slots are to be returned through a link now.
 *
 * Credit for recipes and small images is returned, with their slots, for several frames at once.
 * Credit for large images is returned at once, because they would come in bursts that fill memory.
 *
 * If this process dies, the source presumes that the oldest frame whose credit is not back has
 * killed it.  Therefore, if a frame that was lost before has come, all credit returns at once
 * (`prompt`).  Otherwise a frame that was passed on already could be blamed. */
static bool is_due(const struct links *ls, struct link *l, size_t image_bytes, uint64_t now_ns)
{
    const bool small = ls->wants == KIND_RECIPE || image_bytes <= POOL_SMALL_BYTES;
    const uint32_t at_once = small && !l->prompt ? credit_of(image_bytes) / 2 : 0;
    if (!l->grant && !(l->pool && mapping_has_returned(l->pool)))
        return false;
    if (!l->owed_ns)
        l->owed_ns = now_ns;
    return l->grant >= at_once || now_ns >= l->owed_ns + OWED_NS;
}

static void send_credit(struct links *ls, struct link *l)
{
    struct notice n = {.grant = ls->run->leaving ? 0 : l->grant,
                       .packed = true,
                       .nids = l->returned.count,
                       .ids = l->returned.ranges};
    shared_add_slots(ls, l, &n);
    (void)send_notice(ls->run, l->port, &l->address, MESSAGE_CREDIT, &n);
    l->promised += n.grant;
    l->grant = 0;
    l->owed_ns = 0;
    l->prompt = holds_again(ls, l);
    id_set_empty(&l->returned);
}

static void return_credit(struct links *ls, const struct exchange_view *view, uint64_t now_ns)
{
    if (ls->wants == KIND_EXPERIMENT || !view->begun)
        return;
    for (struct link **at = &ls->owed, *l; (l = *at);) {
        if (!l->granted)
            l->grant = credit_of(view->image_bytes);
        l->granted = true;
        if (l->answered && !l->gone && !l->lost_ns && is_due(ls, l, view->image_bytes, now_ns))
            send_credit(ls, l);
        l->owed = l->grant || l->pool;
        if (l->owed)
            at = &l->next_owed;
        else
            *at = l->next_owed;
    }
}

void credit_pump(struct links *ls, const struct exchange_view *view, uint64_t now_ns)
{
    ls->now_ns = now_ns;
    shared_look(ls);
    send_items(ls);
    /* If a group that must have the next frame has no credit, nothing can leave until credit
     * comes. */
    const struct group_bits g = find_groups(ls);
    exchange_set_stuck(&ls->exchange, ls->experiment.nparts && g.open & ~g.ready);
    return_credit(ls, view, now_ns);
}

void credit_look(struct links *ls, uint64_t now_ns)
{
    ls->now_ns = now_ns;
    if (ls->experiment.nparts)
        send_experiment(ls);
    for (size_t i = 0; i < ls->ngroups; i++)
        for (struct link *l = ls->groups[i].dry; l; l = l->next_ready)
            (void)is_waited_for(ls, l);  // called only because it warns
}

struct id_set credit_ids(const struct links *ls)
{
    struct id_set ids = {0};
    for (size_t i = 0; i < ls->nheld; i++)
        id_set_add(&ids, ls->held[i].id);
    for (const struct link *l = ls->first; l; l = l->next)
        for (size_t i = l->narrived; i < l->nsent; i++)
            id_set_add(&ids, l->sent[i]);
    return ids;
}
