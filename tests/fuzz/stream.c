/*
 * libFuzzer: the I/O thread of a stage, driven by bytes.  Each step of the input is a message of a
 * neighbour or of the source, well formed or not, an action of the main thread, a cut connection,
 * or time that passes.  There are no sockets: the functions of link/port.h are replaced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "control/stream.h"
#include "limit.h"
#include "link/links.h"
#include "stage/runtime.h"
#include "stage/stage.h"
#include "stream_messages.h"

/* --- the stage ------------------------------------------------------------- */

static const struct role roles[] = {
    {.name = "fuzz-work", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
    {.name = "fuzz-sink", .wants = KIND_IMAGE},
    {.name = "fuzz-source", .wants = KIND_EXPERIMENT, .gives = KIND_RECIPE},
    {.name = "fuzz-first", .gives = KIND_EXPERIMENT},
};
static struct runtime rt;

static void open_stage(uint8_t bits)
{
    memset(&rt, 0, sizeof rt);
    memset(fakes, 0, sizeof fakes);
    refuse = false;
    rt.links.run = rt.member.run = &rt.run;
    rt.member.links = &rt.links;
    rt.run.role = roles[bits & 3];
    rt.run.spoken = true;
    rt.run.id = bits & 4 || rt.run.role.wants == KIND_NONE ? RUN : 0;
    rt.run.incarnation = 1;
    rt.run.patience_ns = SECOND;
    options_defaults(&rt.run.settings);
    rt.run.settings.attempts = 1000;
    (void)snprintf(rt.run.uuid, sizeof rt.run.uuid, "%032d", 99);
    rt.links.start_ns = clock_ns();
    const char *transport = bits & 8 ? "tcp" : "ipc";
    for (int i = rt.run.role.wants ? UP : DOWN; i < (rt.run.role.gives ? CONTROL : DOWN); i++) {
        struct port *p = &rt.links.ports[rt.links.nports++];
        *p = (struct port){.socket = &fakes[i], .up = i < DOWN, .bound = i % 2 == 0};
        (void)snprintf(p->endpoint, sizeof p->endpoint, "%s://127.0.0.1:%d", transport, i);
    }
    if (exchange_open(&rt.links.exchange, NULL) != STATUS_OK)
        abort();
    rt.links.exchange.leave = turn_lend;
    rt.links.exchange.context = &rt;
    if (role_is_source(&rt.run.role)) {
        (void)snprintf(rt.run.control.endpoint, sizeof rt.run.control.endpoint, "%s://127.0.0.1:%d",
                       transport, CONTROL);
        rt.run.control.socket = &fakes[CONTROL];
        rt.run.control.bound = true;
        rt.source = source_open(&rt.run, &rt.links);
        if (!rt.source)
            abort();
    }
}

static void close_stage(void)
{
    if (rt.run.stopping)
        turn_say_goodbye(&rt);
    for (int i = 0; i < SOCKETS; i++)
        message_free(&fakes[i].message);
    message_free(&rt.links.experiment);
    source_close(rt.source);
    order_close(&rt.links.order);
    links_clear(&rt.links);
    exchange_close(&rt.links.exchange);
}

static void receive(struct input *in)
{
    const size_t which = byte(in) % (rt.links.nports + 1);
    if (which == rt.links.nports && rt.run.control.socket) {
        put_message(in, rt.run.control.socket);
        if (rt.source)
            peers_receive(rt.source);
        else
            member_receive(&rt.member);
    } else if (which < rt.links.nports && rt.links.ports[which].socket) {
        put_message(in, rt.links.ports[which].socket);
        receive_from(&rt.links, &rt.links.ports[which]);
    }
}

/* What the main thread gives: an experiment first, then frames. */
static void give(enum message_type type, uint64_t id)
{
    struct item *item = mem_array(1, sizeof *item);
    struct notice n = {0};
    if (!item || control_notice_encode(MESSAGE_WELCOME, &n, &item->message, NULL) != STATUS_OK)
        abort();
    item->route = (struct route){.type = type, .run = RUN, .incarnation = 1, .frame = id};
    route_seal(&item->route, &item->message);
    (void)exchange_give(&rt.links.exchange, item);
}

static void work(struct input *in)
{
    struct exchange *x = &rt.links.exchange;
    struct item *item = NULL;
    struct ticket t;
    const uint8_t what = byte(in);
    rt.io_waits = what & 2;  // then the main thread sends
    if (!x->now.begun) {
        if (rt.run.role.gives)
            give(MESSAGE_EXPERIMENT, 0);
        exchange_begin(x, (size_t)what << 18, "any", "0", NULL, 0);
        if (rt.source)
            exchange_set_total(x, what);
    } else if (rt.source && !x->out && (x->nagain || x->now.issued < x->limit)) {
        if (exchange_next(x, &t))
            give(MESSAGE_FRAME, t.id);
    } else if (x->in && !x->out && (item = exchange_take(x))) {
        if (what & 1 && item->network)
            exchange_damaged(x, &item->route);
        else if (item->route.type == MESSAGE_FRAME && role_is_sink(&rt.run.role))
            exchange_durable(x, item->route.frame);
        else if (item->route.type == MESSAGE_FRAME && rt.run.role.gives)
            give(MESSAGE_FRAME, item->route.frame);
    }
    item_free(item);
}

/* What turn.c does between messages, `seconds` from now. */
static void pump(uint64_t seconds)
{
    const uint64_t now_ns = clock_ns() + seconds * SECOND;
    const struct exchange_view view = exchange_look(&rt.links.exchange);
    rt.links.looks = true;
    reconnect_forget(&rt.links);
    reconnect_check(&rt.links, now_ns);
    loss_check_peers(&rt.links, now_ns);
    if (!rt.run.stopping)
        hello_send_due(&rt.links, now_ns);
    if (!rt.run.stopping)
        credit_look(&rt.links, now_ns);
    if (!rt.run.stopping && !rt.source)
        member_settle(&rt.member, now_ns);
    if (!rt.run.stopping)
        credit_pump(&rt.links, &view, now_ns);
    if (rt.run.stopping)
        return;
    if (rt.source)
        source_pump(rt.source, &view, now_ns);
    else
        member_pump(&rt.member, now_ns);
}

static void feed(struct fake *to, struct route r, struct message *m)
{
    if (!to)
        abort();
    route_seal(&r, m);
    to->from = (struct address){.size = 1, .bytes = {0}};
    to->message = *m;
    to->full = true;
}

static void say_hello(struct fake *to, bool downstream)
{
    struct neighbour source;
    struct hello h = {.downstream = downstream,
                      .durable = true,
                      .stage = "fuzz",
                      .group = "0",
                      .identity = "any",
                      .control = "tcp://127.0.0.1:4",
                      .nupstreams = 1,
                      .upstreams = &source};
    struct message m = {0};
    *(downstream ? &h.wants : &h.gives) = (int)(downstream ? rt.run.role.gives : rt.run.role.wants);
    (void)snprintf(source.uuid, sizeof source.uuid, "%032d", 99);
    (void)snprintf(h.uuid, sizeof h.uuid, "%032d", 0);
    (void)control_hello_encode(&h, &m, NULL);
    feed(to, (struct route){.type = MESSAGE_HELLO, .run = RUN, .incarnation = 1}, &m);
}

static void say(struct fake *to, enum message_type type, struct notice n)
{
    struct message m = {0};
    (void)control_notice_encode(type, &n, &m, NULL);
    feed(to, (struct route){.type = type, .run = RUN, .incarnation = 1}, &m);
}

/* All neighbours are there, the experiment is known, frames may flow. */
static void establish(void)
{
    for (size_t i = 0; i < rt.links.nports; i++) {
        say_hello(rt.links.ports[i].socket, !rt.links.ports[i].up);
        receive_from(&rt.links, &rt.links.ports[i]);
    }
    exchange_begin(&rt.links.exchange, 1 << 20, "any", "0", NULL, 0);
    if (rt.run.role.gives)
        give(MESSAGE_EXPERIMENT, 0);
    if (rt.source) {
        exchange_set_total(&rt.links.exchange, 60);
        say_hello(rt.run.control.socket, true);
        peers_receive(rt.source);
    }
    pump(0);
    for (size_t i = 0; i < rt.links.nports && !rt.run.stopping; i++)
        if (!rt.links.ports[i].up) {
            say(rt.links.ports[i].socket, MESSAGE_CREDIT, (struct notice){.grant = 8});
            receive_from(&rt.links, &rt.links.ports[i]);
        }
    if (rt.run.control.socket && !rt.source) {
        say(rt.run.control.socket, MESSAGE_WELCOME, (struct notice){.dead_after_s = 5});
        member_receive(&rt.member);
    }
}

static bool is_linked(const struct link *wanted)
{
    for (const struct link *l = rt.links.first; l; l = l->next)
        if (l == wanted)
            return true;
    return !wanted;
}

static void check(void)
{
    bool good = true;
    for (const struct link *l = rt.links.first; l; l = l->next)
        good &= l->narrived <= l->nsent && l->nsent <= l->sent_capacity && l->credit <= 1024;
    for (size_t i = 0; i < rt.links.nheld; i++)
        good &= is_linked(rt.links.held[i].from);
    if (rt.source)
        good &= rt.source->window.lowest <= rt.source->window.total;
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    log_set_level(LOG_ERROR);
    limit_begin(size);
    const uint8_t bits = byte(&in);
    open_stage(bits);
    if (bits & 16)
        establish();
    for (int steps = 0; steps < 300 && in.at < in.end && !rt.run.stopping; steps++) {
        const uint8_t step = byte(&in);
        if (step < 150)
            receive(&in);
        else if (step < 200)
            work(&in);
        else if (step < 240)
            pump(0);
        else if (step < 246)
            pump(byte(&in));
        else if (step < 251)
            fakes[byte(&in) % SOCKETS].cut = true;
        else
            refuse = !refuse;
        check();
    }
    close_stage();
    limit_end();
    return 0;
}
