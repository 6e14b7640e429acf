#include "stage/turn.h"

#include "control/peers.h"
#include "control/source.h"
#include "link/bye.h"
#include "link/credit.h"
#include "link/death.h"
#include "link/hello.h"
#include "link/leave.h"
#include "link/loss.h"
#include "link/pipe.h"
#include "link/receive.h"
#include "link/reconnect.h"

enum { TICK_MS = 100, REST_MS = 1 };

/* A look at all links takes about 20 ns for each.  Where they are hundreds messages come faster
 * than that is done, so several share it: it takes a tenth of the time at most. */
enum { REST_NS = 200, REST_LINKS = 250 };

static bool rests(const struct runtime *rt, uint64_t now_ns)
{
    const size_t links = rt->links.nlinks;
    return links >= REST_LINKS && now_ns - rt->pumped_ns < links * REST_NS;
}

bool turn_receive(struct runtime *rt)
{
    bool any = false;
    for (size_t i = 0; i < rt->links.nports && !rt->run.stopping; i++) {
        struct port *p = &rt->links.ports[i];
        if (p->socket && p->stirred)
            any |= receive_from(&rt->links, p);
    }
    if (rt->run.control.socket && rt->run.control.stirred && !rt->run.stopping)
        any |= rt->source ? peers_receive(rt->source) : member_receive(&rt->member);
    return any;
}

/* The links' turn, until something ends this process. */
static void pump_links(struct runtime *rt, uint64_t now_ns)
{
    struct links *ls = &rt->links;
    const bool *stopping = &rt->run.stopping;
    reconnect_forget(ls);
    reconnect_check(ls, now_ns);
    death_check(ls, now_ns);
    if (!*stopping)
        pipe_check(ls, now_ns);
    if (!*stopping)
        pipe_tell(ls);
    if (!*stopping)
        hello_say(ls, now_ns);
    if (!*stopping && !rt->source)
        member_settle(&rt->member, now_ns);
    if (!*stopping)
        credit_pump(ls, now_ns);
    if (!*stopping)
        loss_pump(ls, now_ns);
    if (!*stopping)
        leave_check(ls);
}

static void pump(struct runtime *rt, uint64_t now_ns)
{
    const int failure = atomic_load(&rt->failure);
    if (failure && atomic_load(&rt->outcast))
        run_leave(&rt->run, "");
    else if (failure)
        run_stop(&rt->run, (enum status)failure, NULL);
    pump_links(rt, now_ns);
    if (rt->run.stopping)
        return;
    if (rt->source)
        source_pump(rt->source, now_ns);
    else
        member_pump(&rt->member, now_ns);
    const bool handed_over = rt->run.role.gives == KIND_EXPERIMENT && bye_is_due(&rt->links);
    const bool taken = rt->links.wants == KIND_EXPERIMENT && role_is_sink(&rt->run.role) &&
                       exchange_look(&rt->links.exchange).main_done;
    if (handed_over || taken)
        run_finish(&rt->run, STATUS_OK);
}

bool turn_take(struct runtime *rt, uint64_t now_ns)
{
    if (rt->turned_ns && now_ns - rt->turned_ns > 2 * run_beat_ns(&rt->run))
        rt->run.awake_ns = now_ns;  // others were not silent: we did not listen
    rt->turned_ns = now_ns;
    if (rests(rt, now_ns))
        return turn_receive(rt);
    rt->pumped_ns = now_ns;
    pump(rt, now_ns);
    return !rt->run.stopping && turn_receive(rt);  // what the calls of pump kept from descriptors
}

void turn_say_goodbye(struct runtime *rt)
{
    const enum ending ending = rt->run.ending;
    const bool well = ending != ENDING_FAILED || role_is_watcher(&rt->run.role);
    const enum status status = well ? STATUS_OK : (enum status)atomic_load(&rt->run.status);
    if (ending == ENDING_OUT)
        return;
    bye_say(&rt->links, status);
    if (ending != ENDING_COMPLETE && !rt->source)
        member_say_bye(&rt->member, status);
    if (ending == ENDING_FAILED && rt->source)
        source_say_end(rt->source, (enum status)atomic_load(&rt->run.status));
}

int turn_wait_ms(const struct runtime *rt, uint64_t now_ns)
{
    if (rt->pumped_ns != rt->turned_ns)
        return REST_MS;
    return rt->member.acked_ns && now_ns < rt->member.acked_ns + TICK_MS * MILLISECOND ? ACK_MS
                                                                                       : TICK_MS;
}
