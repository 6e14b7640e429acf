#include "control/stream.h"

#include "base/clock.h"
#include "link/send.h"

void peer_send(struct stream *s, struct peer *one, enum message_type type, struct notice *n)
{
    struct message m;
    const bool made = send_make_notice(s->run, type, n, &m);
    for (struct peer *p = one ? one : s->roster.first; p; p = one ? NULL : p->next)
        if (peer_is_here(p) && !(made && port_send(&s->run->control, &p->address, &m, NULL)) &&
            !p->lost_ns)
            p->lost_ns = clock_ns();  // its bye may still be under way
    message_free(&m);
}

void peer_welcome(struct stream *s, struct peer *p)
{
    struct notice n = {.known = s->open_ns,
                       .total = s->window.total,
                       .dead_after_s = s->run->settings.dead_after_s,
                       .window = s->window.size,
                       .ngroups = s->open_ns ? s->ndurable : 0,
                       .groups = s->durable};
    peer_send(s, p, MESSAGE_WELCOME, &n);
}

enum status peer_end_status(const struct stream *s)
{
    return s->given_up.deaths || s->failed ? STATUS_FAILED
           : s->run->interrupts            ? STATUS_INTERRUPTED
                                           : STATUS_OK;
}

void peer_send_free(struct stream *s, struct peer *p)
{
    struct notice n = {.status = (int)peer_end_status(s)};
    peer_send(s, p, MESSAGE_FREE, &n);
}
