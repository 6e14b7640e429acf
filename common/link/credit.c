/* The data plane: the sticky experiment and frames down, as credit allows; credit up. */

#include "base/alloc.h"
#include "base/clock.h"
#include "stage/runtime.h"

static const uint64_t OWED_NS = SECOND / 20;  // credit is returned at the first look after this

/* Frames that one link may have under way: 8 up to 1 MiB each, 2 from 64 MiB on. */
static uint32_t credit_of(size_t frame_bytes)
{
    uint32_t credit = 8;
    for (size_t mib = frame_bytes >> 20; mib > 1 && credit > 2; mib >>= 1)
        credit--;
    return credit;
}

/* Links downwards that may get experiment and frames. */
static bool is_open(const struct runtime *rt, const struct link *l)
{
    return !l->port->up && l->answered && !l->gone && !l->lost_ns &&
           l->peer.wants == (int)rt->stage->gives;
}

static bool send_down(struct runtime *rt, struct link *l, const struct item *item)
{
    if (shared_send(rt, l, item)) {
        atomic_fetch_add(&rt->bytes_out, message_size(&item->message));
        l->nmessages++;
        return true;
    }
    l->lost_ns = clock_ns();  // its bye may still be under way
    return false;
}

/* The link of a group with credit and the least under way. */
static struct link *choose(struct runtime *rt, unsigned group)
{
    struct link *best = NULL;
    size_t least = SIZE_MAX;
    for (struct link *l = rt->links; l; l = l->next) {
        if (!is_open(rt, l) || l->group != group || !l->credit)
            continue;
        if (l->nsent <= least) {
            best = l;
            least = l->nsent;
        }
    }
    return best;
}

/* Those that hold a frame up until they have it. */
static uint64_t open_groups(const struct runtime *rt)
{
    uint64_t groups = 0;
    for (struct link *l = rt->links; l; l = l->next)
        if (is_open(rt, l) && waited_is(rt, l))
            groups |= UINT64_C(1) << l->group;
    return groups;
}

static bool note_sent(struct link *l, uint64_t id)
{
    uint64_t *sent = mem_grow(l->sent, l->nsent, 1, sizeof *sent, &l->sent_capacity);
    if (!sent)
        return false;
    l->sent = sent;
    l->sent[l->nsent++] = id;
    return true;
}

/* Sends to one process of a group; false while none has credit. */
static bool send_to_group(struct runtime *rt, const struct item *item, unsigned group)
{
    struct link *l;
    while ((l = choose(rt, group))) {
        if (!send_down(rt, l, item))
            continue;  // that one is gone
        if (!--l->credit)
            l->spent_ns = rt->now_ns;
        if (!note_sent(l, item->route.frame))
            io_stop(rt, STATUS_FAILED, "out of memory for what was sent");
        return true;
    }
    return false;
}

/* Sends one frame to every group; false while some group has no credit.  A group that
 * vanished meanwhile is passed over: the source knows whether it must have the frame. */
static bool send_frame(struct runtime *rt, struct item *item)
{
    const uint64_t open = open_groups(rt);
    item->pending = item->taken ? item->pending & open : open;
    for (unsigned g = 0; g < rt->ngroups && !rt->stopping; g++) {
        const uint64_t bit = UINT64_C(1) << g;
        if (item->pending & bit && send_to_group(rt, item, g)) {
            item->pending &= ~bit;
            item->taken = true;
        }
    }
    if (!item->taken || item->pending)
        return false;
    flow_passed(rt, item->route.frame);
    return true;
}

static void send_experiment(struct runtime *rt)
{
    const struct item experiment = {.message = rt->experiment};
    if (!rt->experiment.nparts)
        return;
    for (struct link *l = rt->links; l && !rt->stopping; l = l->next) {
        if (!is_open(rt, l) || l->experiment_sent)
            continue;
        shared_announce(rt, l);
        l->experiment_sent = send_down(rt, l, &experiment);
        l->spent_ns = rt->now_ns;
    }
}

static void send_items(struct runtime *rt)
{
    for (struct item *item; !rt->stopping && (item = exchange_peek(&rt->exchange));) {
        if (item->route.type == MESSAGE_EXPERIMENT) {
            rt->experiment = item->message;
            item->message = (struct message){0};
            send_experiment(rt);
        } else if (!send_frame(rt, item)) {
            return;
        }
        exchange_pop(&rt->exchange);
    }
}

/* Until credit comes nothing can leave. */
static bool is_stuck(const struct runtime *rt)
{
    uint64_t lacking = open_groups(rt);
    if (!rt->experiment.nparts || !lacking)
        return false;
    for (const struct link *l = rt->links; l; l = l->next)
        if (is_open(rt, l) && l->credit)
            lacking &= ~(UINT64_C(1) << l->group);
    return lacking != 0;
}

static void return_to(struct link *l, uint64_t id)
{
    if (!l)
        return;
    l->grant++;
    (void)id_set_add(&l->returned, id);
}

/* Of several copies the latest to arrive: that is the one which is dropped. */
void flow_passed(struct runtime *rt, uint64_t id)
{
    rt->ticks++;
    if (rt->source)
        source_passed(rt, id);
    for (size_t i = rt->nheld; i-- > 0;) {
        if (rt->held[i].id != id)
            continue;
        return_to(rt->held[i].from, id);
        rt->held[i] = rt->held[--rt->nheld];
        return;
    }
}

void flow_release(struct runtime *rt, uint64_t id)
{
    for (size_t i = 0; i < rt->nheld; i++) {
        if (rt->held[i].id != id)
            continue;
        return_to(rt->held[i].from, id);
        rt->held[i].from = NULL;
    }
}

static bool holds_again(const struct runtime *rt, const struct link *l)
{
    for (size_t i = 0; i < rt->nheld; i++)
        if (rt->held[i].from == l && rt->held[i].again)
            return true;
    return false;
}

/* Credit for recipes and small images is returned, with their slots, for several at once; large
 * images would come in bursts that fill memory.  Should this process die, the oldest frame whose
 * credit is not back is taken for the one at work: where that may be one that kills, frames that
 * were passed on must not look so. */
static bool is_due(const struct runtime *rt, struct link *l, size_t image_bytes, uint64_t now_ns)
{
    const bool small = rt->wants == KIND_RECIPE || image_bytes <= POOL_SMALL_BYTES;
    const uint32_t at_once = small && !l->prompt ? credit_of(image_bytes) / 2 : 0;
    if (!l->grant && !(l->pool && mapping_has_returned(l->pool)))
        return false;
    if (!l->owed_ns)
        l->owed_ns = now_ns;
    return l->grant >= at_once || now_ns >= l->owed_ns + OWED_NS;
}

static void send_credit(struct runtime *rt, struct link *l)
{
    struct notice n = {.grant = l->grant,
                       .shared = l->pool != NULL,
                       .slots = l->pool ? mapping_take_returned(l->pool) : 0,
                       .nids = l->returned.count,
                       .ids = l->returned.ranges};
    (void)io_send_notice(rt, l->port->socket, &l->address, MESSAGE_CREDIT, &n);
    l->grant = 0;
    l->owed_ns = 0;
    l->prompt = holds_again(rt, l);
    id_set_clear(&l->returned);
}

static void return_credit(struct runtime *rt, uint64_t now_ns)
{
    const struct exchange_view view = exchange_look(&rt->exchange);
    if (rt->wants == KIND_EXPERIMENT || !view.begun)
        return;
    for (struct link *l = rt->links; l; l = l->next) {
        if (!l->port->up || !l->answered || l->gone || l->lost_ns)
            continue;
        if (!l->granted)
            l->grant = credit_of(view.image_bytes);
        l->granted = true;
        if (is_due(rt, l, view.image_bytes, now_ns))
            send_credit(rt, l);
    }
}

void flow_pump(struct runtime *rt, uint64_t now_ns)
{
    rt->now_ns = now_ns;
    send_experiment(rt);
    send_items(rt);
    exchange_set_stuck(&rt->exchange, is_stuck(rt));
    return_credit(rt, now_ns);
}

struct id_set flow_ids(const struct runtime *rt)
{
    struct id_set ids = {0};
    for (size_t i = 0; i < rt->nheld; i++)
        (void)id_set_add(&ids, rt->held[i].id);
    for (const struct link *l = rt->links; l; l = l->next)
        for (size_t i = l->narrived; i < l->nsent; i++)
            (void)id_set_add(&ids, l->sent[i]);
    (void)id_set_add_set(&ids, &rt->kept);
    return ids;
}
