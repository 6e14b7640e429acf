/* The stream does not end before processes of a former run are back, as they would find nobody who
 * tells them that all is well.  Where no frame was there at the start they come back while frames
 * flow. */
#include "control/stream.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "link/send.h"

static const uint64_t NOTICE_NS = 3 * SECOND;   // so long after the start they have found it
static const uint64_t RETURN_NS = 10 * SECOND;  // one that takes longer has died instead
static const uint64_t SETTLE_NS = SECOND;       // how long after one another may still come

static void note(struct stream *s, const struct hello *h)
{
    for (size_t i = 0; i < s->naway; i++)
        if (strcmp(s->away[i].uuid, h->uuid) == 0)
            return;
    struct away *away = s->naway == ROSTER_MAX
                            ? NULL
                            : mem_grow(s->away, s->naway, 1, sizeof *away, &s->away_capacity);
    if (!away)
        return;  // nobody waits for it
    s->away = away;
    s->away[s->naway].pid = h->pid;
    memcpy(s->away[s->naway].host, h->host, sizeof h->host);
    memcpy(s->away[s->naway++].uuid, h->uuid, sizeof h->uuid);
}

void returning_tell(struct stream *s, const struct address *from, const struct route *r,
                    const struct message *m)
{
    struct notice welcome = {0};
    struct hello h;
    if (s->run->id && r->type != MESSAGE_HELLO) {  // it is to say who it is
        (void)send_hello(s->links, &s->run->control, from);
        return;
    }
    if (s->run->id && (!s->ready_ns || clock_ns() < s->ready_ns + NOTICE_NS)) {
        if (control_hello_decode(&h, m, NULL) == STATUS_OK)
            note(s, &h);
        hello_free(&h);
        s->told_ns = clock_ns();
    }
    (void)send_notice(s->run, &s->run->control, from, MESSAGE_WELCOME, &welcome);
}

void returning_came(struct stream *s, const struct hello *h)
{
    size_t i = 0;
    while (i < s->naway && (s->away[i].pid != h->pid || strcmp(s->away[i].host, h->host) != 0))
        i++;
    if (i < s->naway)
        s->away[i] = s->away[--s->naway];
}

bool returning_is_awaited(const struct stream *s, uint64_t now_ns)
{
    return s->told_ns && now_ns < s->told_ns + (s->naway && s->resumed ? RETURN_NS : SETTLE_NS);
}
