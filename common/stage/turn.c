/*
 * The turns of the I/O thread: what it does between two waits, without waiting, and what it closes
 * after the last turn.  The simulator (tests/simulate) runs this file with a network and a clock of
 * its own.
 */
#include "stage/runtime.h"

#include <unistd.h>

#include "base/clock.h"
#include "control/stream.h"
#include "link/links.h"

enum { TICK_MS = 100, REST_MS = 1 };

/* A turn looks for silent and cut neighbours once per LOOK_NS, and when messages other than
 * frames and credit have come.  A look takes about 20 ns per link, or 100 ns if there are at
 * least MANY links, which exceed the caches.  The time between two looks is at least REST_NS
 * (REST_MANY_NS) per link, so that looks take at most a tenth of the time. */
static const uint64_t LOOK_NS = 10 * MILLISECOND, REST_NS = 200, REST_MANY_NS = 1000;
enum { MANY = 250 };

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

/* Looks for silent, disconnected and new neighbours, if that is due, and sets ls->looks. */
static void check_neighbours(struct links *ls, uint64_t now_ns)
{
    const bool *stopping = &ls->run->stopping;
    const uint64_t since_ns = now_ns - ls->looked_ns;
    const uint64_t rest_ns = ls->nlinks * (ls->nlinks < MANY ? REST_NS : REST_MANY_NS);
    ls->looks = (ls->stirred || since_ns >= LOOK_NS) && since_ns >= rest_ns;
    if (!ls->looks)
        return;
    ls->looked_ns = now_ns;
    ls->stirred = false;
    reconnect_check(ls, now_ns);
    loss_check_peers(ls, now_ns);
    if (!*stopping)
        pipe_check(ls, now_ns);
    if (!*stopping)
        pipe_write(ls);
    if (!*stopping)
        hello_send_due(ls, now_ns);
    if (!*stopping)
        credit_look(ls, now_ns);
}

/* Does the turn of the links, and then the turn of the source or the member.  Stops as soon as a
 * step ends this process. */
static void pump(struct runtime *rt, uint64_t now_ns)
{
    struct links *ls = &rt->links;
    const bool *stopping = &rt->run.stopping;
    const int failure = atomic_load(&rt->failure);
    if (failure && atomic_load(&rt->outcast))
        run_leave(&rt->run, "");
    else if (failure)
        run_stop(&rt->run, (enum status)failure, NULL);
    const struct exchange_view view = exchange_look(&ls->exchange);
    if (view.damaged)
        reconnect_forget(ls);
    check_neighbours(ls, now_ns);
    if (!*stopping && !rt->source)
        member_settle(&rt->member, now_ns);
    if (!*stopping)
        credit_pump(ls, &view, now_ns);
    if (!*stopping && ls->looks)
        loss_pump(ls, now_ns);
    if (!*stopping && rt->run.leaving)
        bye_leave(ls);
    if (*stopping)
        return;
    if (rt->source)
        source_pump(rt->source, &view, now_ns);
    else
        member_pump(&rt->member, now_ns);
    const bool handed_over = rt->run.role.gives == KIND_EXPERIMENT && bye_is_due(ls);
    const bool taken =
        ls->wants == KIND_EXPERIMENT && role_is_sink(&rt->run.role) && view.main_done;
    if (handed_over || taken)
        (void)run_end(&rt->run, ENDING_COMPLETE, STATUS_OK);
}

bool turn_take(struct runtime *rt, uint64_t now_ns)
{
    if (rt->turned_ns && now_ns - rt->turned_ns > 2 * run_beat_ns(&rt->run))
        rt->run.awake_ns = now_ns;  // this process was stopped: its neighbours were not silent
    rt->turned_ns = now_ns;
    pump(rt, now_ns);
    return !rt->run.stopping && turn_receive(rt);  // messages that the descriptors do not show
                                                   // after the sends of pump
}

void turn_say_goodbye(struct runtime *rt)
{
    const enum ending ending = rt->run.ending;
    const bool well = ending != ENDING_FAILED || role_is_watcher(&rt->run.role);
    const enum status status = well ? STATUS_OK : (enum status)atomic_load(&rt->run.status);
    if (ending == ENDING_OUT)
        return;
    bye_send(&rt->links, status);
    if (ending != ENDING_COMPLETE && !rt->source)
        member_say_bye(&rt->member, status);
    if (ending == ENDING_FAILED && rt->source)
        source_say_end(rt->source, (enum status)atomic_load(&rt->run.status));
}

int turn_wait_ms(const struct runtime *rt, uint64_t now_ns)
{
    if (rt->links.stirred)
        return REST_MS;
    return rt->member.acked_ns && now_ns < rt->member.acked_ns + TICK_MS * MILLISECOND ? ACK_MS
                                                                                       : TICK_MS;
}

static bool has_more(struct port *p)
{
    p->stirred = p->socket && p->stirred && port_has_messages(p);
    return p->stirred;
}

/* Returns false if the I/O thread must be woken.  After a send, a descriptor may not show that
 * messages have come.  Acknowledgements may be due before the thread would wake up. */
static bool may_wait(struct runtime *rt)
{
    bool more = rt->run.stopping || (rt->links.acks.count && rt->wait_ms > ACK_MS);
    for (size_t i = 0; i < rt->links.nports && !more; i++)
        more = has_more(&rt->links.ports[i]);
    return !more && !has_more(&rt->run.control);
}

bool turn_lend(void *runtime)
{
    struct runtime *rt = runtime;
    if (pthread_mutex_trylock(&rt->turn) != 0)
        return false;
    bool done = rt->io_waits && !rt->run.stopping;
    if (done) {
        const uint64_t now_ns = clock_ns();
        if (!rt->source)
            member_settle(&rt->member, now_ns);
        const struct exchange_view view = exchange_look(&rt->links.exchange);
        credit_pump(&rt->links, &view, now_ns);
        done = may_wait(rt);
    }
    (void)pthread_mutex_unlock(&rt->turn);
    return done;
}

/* --- the end ----------------------------------------------------------------------------- */

enum { GOODBYE_MS = 50 };

/* Returns true if messages that wait on a link are still needed when the run ends without an
 * error.  Up, only the bye to a stage that sends the experiment and no frames is needed.  Down,
 * all messages are needed until the neighbour has left. */
static bool is_of_use(const struct runtime *rt, const struct link *l)
{
    if (l->lost_ns)
        return false;
    return l->port->up ? rt->links.wants == KIND_EXPERIMENT && l->gone : !l->gone;
}

/* Shortens the time for which libzmq waits, when a socket is closed, until the last messages
 * have left.  libzmq also keeps messages for neighbours that have left, and would wait in vain.
 * Neighbours that still need messages get them within GOODBYE_MS. */
static void shorten_goodbyes(struct runtime *rt)
{
    for (size_t i = 0; i < rt->links.nports; i++) {
        struct port *p = &rt->links.ports[i];
        const struct link *l = link_of_port(&rt->links, p);
        if (p->socket && (p->bound || l))
            port_set_linger(p, p->bound || is_of_use(rt, l) ? GOODBYE_MS : 0);
    }
    if (rt->run.control.bound && rt->run.control.socket)
        port_set_linger(&rt->run.control, GOODBYE_MS);
}

void runtime_disconnect(struct runtime *rt)
{
    if (rt->run.ending == ENDING_COMPLETE)
        shorten_goodbyes(rt);
    for (size_t i = 0; i < rt->links.nports; i++) {
        port_close(&rt->links.ports[i]);
        if (rt->links.ports[i].bound)
            endpoint_remove(rt->links.ports[i].endpoint);
    }
    port_close(&rt->run.control);
    if (rt->run.control.bound)
        endpoint_remove(rt->run.control.endpoint);
    message_free(&rt->links.experiment);
    if (rt->run.context)
        port_context_close(rt->run.context);
    zap_close(&rt->zap);
    folder_close(&rt->folder);
}

void runtime_close(struct runtime *rt)
{
    exchange_main_done(&rt->links.exchange);
    if (rt->started)
        (void)pthread_join(rt->thread, NULL);
    else
        runtime_disconnect(rt);
    source_close(rt->source);
    order_close(&rt->links.order);
    links_clear(&rt->links);
    exchange_close(&rt->links.exchange);
    curve_close(&rt->run.curve);
    (void)pthread_mutex_destroy(&rt->turn);
    (void)close(rt->signals);
}
