/* What processes say of frames counts when those were issued and can reach them; who says it of
 * others is out.  What one said before that was known is taken then, or held against it. */
#include "control/stream.h"

#include <inttypes.h>

/* Ranges of ids that all processes together may claim to have, and to have had before frames could
 * reach them. */
enum { CLAIMS_MAX = 1 << 20 };

/* True when all of a notice was issued: else its sender is out, for what it `did`. */
static bool is_of_issued(struct stream *s, struct peer *p, const struct notice *n, const char *did)
{
    const uint64_t places = holdings_issued(s);
    for (size_t i = 0; i < n->nids; i++) {
        uint64_t other;
        if (id_set_covers(&s->earlier, n->ids[i]) ||
            window_covers(&s->window, n->ids[i], places, &other))
            continue;
        outlaw(s, p, "it %s frame %" PRIu64 ", which was not issued", did, other);
        return false;
    }
    return true;
}

/* True when there is room for `more` ranges of a process; it is made at the expense of who has said
 * most of those that frames do not reach, and of itself when there is none. */
static bool has_room(struct stream *s, struct peer *p, size_t more)
{
    size_t largest = 0;
    struct peer *most = p;
    s->nclaims += more;
    if (s->nclaims <= CLAIMS_MAX)
        return true;
    s->nclaims = 0;
    for (struct peer *q = s->roster.first; q; q = q->next) {
        const size_t claims = q->have.count + (q->standing == PEER_NEW ? q->acked.count : 0);
        s->nclaims += claims;
        if (q->standing == PEER_NEW && claims > largest) {
            largest = claims;
            most = q;
        }
    }
    if (s->nclaims <= CLAIMS_MAX)
        return true;
    outlaw(s, most, "it says more of frames than there is room for");
    return most != p;
}

static void hear_ack(struct stream *s, struct peer *p, const struct notice *n)
{
    if (!is_of_issued(s, p, n, "acknowledged"))
        return;
    const size_t before = p->acked.count;
    if (!before)
        p->early_ns = p->heard_ns;
    for (size_t i = 0; i < n->nids; i++)
        holdings_check(s, id_set_add_range(&p->acked, n->ids[i]));
    if (p->standing == PEER_IN)
        holdings_count(s, p, n->ids, n->nids);
    else if (p->acked.count > before)
        (void)has_room(s, p, p->acked.count - before);
}

/* Ascending, so that a set of them is quickly made; all of it may come again. */
static void hear_have(struct stream *s, struct peer *p, const struct notice *n)
{
    const struct id_set *have = &p->have;
    const size_t before = have->count;
    for (size_t i = 0; i < n->nids; i++) {
        if (id_set_covers(have, n->ids[i]))
            continue;
        if (have->count && n->ids[i].first <= have->ranges[have->count - 1].last) {
            outlaw(s, p, "it says which frames it has in no order");
            return;
        }
        holdings_check(s, id_set_add_range(&p->have, n->ids[i]));
    }
    if (!has_room(s, p, have->count - before))
        return;
    if (n->known)
        p->announced = s->links->changed = true;
    if (p->standing == PEER_IN && n->known)
        holdings_count(s, p, have->ranges, have->count);
}

/* What was lost on the way to a process that nobody knows comes to light as nobody lists it. */
static void hear_lost(struct stream *s, struct peer *p, const struct notice *n)
{
    if (is_of_issued(s, p, n, "lost") && p->standing == PEER_IN)
        lost_hear(s, n->uuid, n->status != STATUS_OK, n->ids, n->nids);
}

void claims_hear(struct stream *s, struct peer *p, enum message_type type, const struct notice *n)
{
    if (type == MESSAGE_ACK)
        hear_ack(s, p, n);
    else if (type == MESSAGE_HAVE)
        hear_have(s, p, n);
    else if (type == MESSAGE_LOST)
        hear_lost(s, p, n);
}

/* While the run is broken nobody can be reached.  That it is comes to light one silence after the
 * frames came; so the time begins anew then, and is twice as long.  The end of the run does not cut
 * it short: who has a frame of a worker that died unheard may just be on its way. */
void claims_check(struct stream *s, struct peer *p, uint64_t now_ns)
{
    if (p->standing != PEER_NEW || !p->acked.count)
        return;
    if (s->broken_ns)
        p->early_ns = now_ns;
    if (now_ns > p->early_ns + 2 * s->run->patience_ns)
        outlaw(s, p, "it has frame %" PRIu64 ", and no stage sends it any",
               p->acked.ranges[0].first);
}
