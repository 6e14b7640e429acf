/*
 * The source: processes of a former run, which begin anew.  The stream does not end before they
 * are back, as they would find nobody who tells them that all is well.  Where no frame was there
 * at the start they come back while frames flow.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "control/stream.h"

static const uint64_t NOTICE_NS = 3 * SECOND;   // so long after the start they have found it
static const uint64_t RETURN_NS = 10 * SECOND;  // one that takes longer has died instead
static const uint64_t SETTLE_NS = SECOND;       // how long after one another may still come
enum { AWAY_MAX = ROSTER_MAX };

static void note(struct stream *s, const struct hello *h)
{
    for (size_t i = 0; i < s->naway; i++)
        if (strcmp(s->away[i].uuid, h->uuid) == 0)
            return;
    struct away *away = s->naway == AWAY_MAX
                            ? NULL
                            : mem_grow(s->away, s->naway, 1, sizeof *away, &s->away_capacity);
    if (!away)
        return;  // nobody waits for it
    s->away = away;
    s->away[s->naway].pid = h->pid;
    memcpy(s->away[s->naway++].uuid, h->uuid, sizeof h->uuid);
}

void anew_tell(struct runtime *rt, const struct address *from, const struct route *r,
               const struct message *m)
{
    struct stream *s = rt->source;
    struct notice welcome = {0};
    struct hello h;
    if (rt->run_known && r->type != MESSAGE_HELLO) {  // it is to say who it is
        (void)io_send_hello(rt, rt->control_socket, from, true);
        return;
    }
    if (rt->run_known && (!s->ready || clock_ns() < s->ready_ns + NOTICE_NS)) {
        if (control_hello_decode(&h, m, NULL) == STATUS_OK)
            note(s, &h);
        hello_free(&h);
        s->told_ns = clock_ns();
    }
    (void)io_send_notice(rt, rt->control_socket, from, MESSAGE_WELCOME, &welcome);
}

void anew_returned(struct stream *s, int64_t pid)
{
    size_t i = 0;
    while (i < s->naway && s->away[i].pid != pid)
        i++;
    if (i < s->naway)
        s->away[i] = s->away[--s->naway];
}

bool anew_is_awaited(const struct stream *s, uint64_t now_ns)
{
    return s->told_ns && now_ns < s->told_ns + (s->naway && s->resumed ? RETURN_NS : SETTLE_NS);
}
