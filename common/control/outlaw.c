#include "control/outlaw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "control/fence.h"
#include "control/holdings.h"
#include "control/peer.h"

enum { NAMED_MAX = 16 };  // further ones are counted

bool allowance_use(struct allowance *a, double burst, double per_s, uint64_t now_ns)
{
    const double back = a->since_ns ? (double)(now_ns - a->since_ns) / 1e9 * per_s : 0;
    a->used = back < a->used ? a->used - back : 0;
    a->since_ns = now_ns;
    if (a->used + 1 > burst)
        return false;
    a->used++;
    return true;
}

void outlaw(struct stream *s, struct peer *p, const char *reason, ...)
{
    struct notice n = {.status = STATUS_FAILED};
    char how[sizeof n.reason + 16];
    va_list args;
    va_start(args, reason);
    (void)vsnprintf(n.reason, sizeof n.reason, reason, args);
    va_end(args);
    if (s->nout++ < NAMED_MAX)
        log_line(LOG_WARNING, "%s (process %" PRId64 ") is out: %s", p->hello.stage, p->hello.pid,
                 n.reason);
    if (p->known) {
        holdings_void(s, p);
        (void)snprintf(how, sizeof how, "is out: %s", n.reason);
        fence_out(s, p, how, n.reason);
        return;
    }
    memcpy(n.uuid, p->hello.uuid, sizeof n.uuid);  // nobody else has heard of it
    peer_send(s, p, MESSAGE_FENCE, &n);
    holdings_forget(s, p);
    p->out = s->changed = true;
}

void outlaw_count(const struct stream *s)
{
    if (s->nout > NAMED_MAX)
        log_line(LOG_WARNING, "%" PRIu64 " processes were put out, the first %d of them are named",
                 s->nout, NAMED_MAX);
    if (s->nrefused)
        log_line(LOG_WARNING, "%" PRIu64 " hellos of strangers were refused", s->nrefused);
}
