/* The data plane: the credit that a neighbour gets, and the consequences of its death. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "base/alloc.h"
#include "link/links.h"

/* A stage that wants images, connected to one before it. */
struct world {
    struct run run;
    struct links links;
    struct link *link;
};

static void world_open(struct world *w, size_t image_bytes, const char *endpoint)
{
    struct port *p = &w->links.ports[0];
    *w = (struct world){.run.role = {.name = "test", .wants = KIND_IMAGE, .gives = KIND_IMAGE}};
    w->links.run = &w->run;
    w->links.wants = KIND_IMAGE;
    w->run.context = zmq_ctx_new();
    w->links.nports = 1;
    p->up = true;
    (void)snprintf(p->endpoint, sizeof p->endpoint, "%s", endpoint);
    assert_int_equal(exchange_open(&w->links.exchange, NULL), STATUS_OK);
    exchange_begin(&w->links.exchange, image_bytes, "any", "0", NULL, 0);
    assert_int_equal(port_open(p, w->run.context, &w->run.curve, PORT_WORDS_MAX, NULL), STATUS_OK);
    w->link = link_add(&w->links, p, &(struct address){0});
    assert_non_null(w->link);
    memcpy(w->link->peer.uuid, "peer", sizeof "peer");
}

static void world_close(struct world *w)
{
    while (w->links.first)
        link_drop(&w->links, w->links.first, false);
    port_drop(&w->links.ports[0]);
    links_clear(&w->links);
    exchange_close(&w->links.exchange);
    (void)zmq_ctx_term(w->run.context);
}

/* What a stage with images of that size grants at first, as the other end reads it. */
static uint32_t first_credit(size_t image_bytes)
{
    static const char endpoint[] = "inproc://credit";
    struct world w;
    struct message m;
    struct notice n;
    struct address from;
    world_open(&w, image_bytes, endpoint);
    struct port other = {.socket = zmq_socket(w.run.context, ZMQ_ROUTER), .bound = true};
    assert_int_equal(zmq_bind(other.socket, endpoint), 0);
    const struct exchange_view view = exchange_look(&w.links.exchange);
    credit_pump(&w.links, &view, 1);
    while (!port_has_messages(&other))
        continue;
    assert_int_equal(port_receive(&other, &from, &m), PORT_MESSAGE);
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_OK);
    const uint32_t grant = n.grant;
    notice_free(&n);
    message_free(&m);
    (void)zmq_close(other.socket);
    world_close(&w);
    return grant;
}

/* Two frames of 64 MiB, eight of 1 MiB: memory holds so much for every neighbour. */
static void large_frames_get_less_credit(void **state)
{
    (void)state;
    const size_t mib = 1 << 20;
    assert_int_equal(first_credit(1), 8);
    assert_int_equal(first_credit(mib), 8);
    assert_int_equal(first_credit(64 * mib), 2);
    assert_int_equal(first_credit(1024 * mib), 2);
    uint32_t last = 8;
    for (size_t size = 2; size < 64; size *= 2) {
        const uint32_t credit = first_credit(size * mib);
        assert_true(credit <= last && credit >= 2 && credit * size <= 128);
        last = credit;
    }
    assert_true(last < 8);
}

/* Messages that wait for a dead neighbour are dropped. The next process at its place says hello
 * again. */
static void after_a_death_a_connection_begins_anew(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, 1, "inproc://dead");
    struct port *p = &w.links.ports[0];
    p->greeted_ns = 5;
    const char peer[UUID_SIZE] = "peer";
    loss_exclude(&w.links, peer);
    assert_true(loss_is_excluded(&w.links, peer));
    assert_null(w.links.first);
    assert_null(p->socket);
    assert_int_equal(p->greeted_ns, 0);
    reconnect_check(&w.links, SECOND);
    assert_non_null(p->socket);
    world_close(&w);
}

/* A frame that this process could not read is dropped, and its credit returns. On one host no
 * connection starts again. */
static void what_cannot_be_read_returns_its_credit(void **state)
{
    (void)state;
    struct world w;
    const struct route r = {.type = MESSAGE_FRAME, .frame = 7};
    world_open(&w, 1, "inproc://unread");
    w.links.held = mem_array(2, sizeof *w.links.held);
    assert_non_null(w.links.held);
    w.links.held[0] = (struct in_flight){7, false, w.link};
    w.links.held[1] = (struct in_flight){8, false, w.link};
    w.links.nheld = 2;
    exchange_damaged(&w.links.exchange, &r);
    reconnect_forget(&w.links);
    assert_true(w.links.nheld == 1 && w.links.held[0].id == 8);
    assert_true(w.link->grant == 1 && id_set_has(&w.link->returned, 7));
    assert_false(id_set_has(&w.link->returned, 8));
    world_close(&w);
}

/* Says hello as a stage that gives frames of a run; true when it was taken. */
static bool met(struct world *w, uint64_t run)
{
    const struct route r = {.type = MESSAGE_HELLO, .run = run, .incarnation = 1};
    struct hello h = {.uuid = "0123456789abcdef0123456789abcdef", .stage = "giver", .gives = 3};
    struct message m = {0};
    while (w->links.first)
        link_drop(&w->links, w->links.first, false);
    w->links.wants = KIND_IMAGE;
    w->run.incarnation = 1;
    assert_int_equal(control_hello_encode(&h, &m, NULL), STATUS_OK);
    hello_receive(&w->links, &w->links.ports[0], &(struct address){0}, &r, &m);
    message_free(&m);
    return w->links.first;
}

/* 0 is no run: else frames would wait for ever for somebody who knows theirs. */
static void who_gives_frames_knows_the_run(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, 1, "inproc://nameless");
    w.run.former = 5;
    assert_false(met(&w, 0) || w.links.met_up || w.run.id);
    assert_false(met(&w, 5) || w.links.met_up || w.run.id);
    assert_true(met(&w, 6) && w.links.met_up && w.run.id == 6);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_read_returns_its_credit),
        cmocka_unit_test(large_frames_get_less_credit),
        cmocka_unit_test(after_a_death_a_connection_begins_anew),
        cmocka_unit_test(who_gives_frames_knows_the_run),
    };
    return unit_run(tests);
}
