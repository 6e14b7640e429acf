/* The behaviour of real sockets that the simulator assumes (tests/simulate/net.h). */
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "link/port.h"
#include "scratch.h"

static const uint64_t SECOND_NS = UINT64_C(1000000000), LONG_NS = 20 * SECOND_NS;

struct pair {
    void *context;
    struct port router, dealer;
    char endpoint[ENDPOINT_SIZE];
    struct address from;  // of the dealer, as the router saw it last
};

static void open_side(struct pair *p, bool bind)
{
    static const struct curve open = {.insecure = true};
    struct error e;
    struct port *port = bind ? &p->router : &p->dealer;
    memcpy(port->endpoint, p->endpoint, sizeof port->endpoint);
    port->bound = bind;
    assert_int_equal(port_open(port, p->context, &open, PORT_WORDS_MAX, &e), STATUS_OK);
    memcpy(p->endpoint, port->endpoint, sizeof p->endpoint);
}

static struct pair open_pair(const char *name, bool both)
{
    struct pair p = {.context = port_context_open()};
    (void)snprintf(p.endpoint, sizeof p.endpoint, "ipc://%s/%s", scratch_folder, name);
    if (both)
        open_side(&p, true);
    open_side(&p, false);
    return p;
}

static void close_pair(struct pair *p)
{
    port_drop(&p->router);
    port_drop(&p->dealer);
    port_context_close(p->context);
}

static bool send_number(struct port *port, const struct address *to, unsigned number)
{
    unsigned text[2] = {number, 0};
    struct part parts[2] = {{.data = &text[0], .size = sizeof text[0]},
                            {.data = &text[1], .size = sizeof text[1]}};
    const struct message m = {.nparts = 2, .parts = parts};
    return port_send(port, to, &m, NULL);
}

/* Waits for a message; its number. */
static unsigned receive_number(struct pair *p, bool bound)
{
    struct message m;
    struct address from;
    unsigned number;
    const uint64_t until_ns = clock_ns() + LONG_NS;
    while (port_receive(bound ? &p->router : &p->dealer, &from, &m) == PORT_NOTHING) {
        assert_true(clock_ns() < until_ns);
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(m.parts[0].size, sizeof number);
    memcpy(&number, m.parts[0].data, sizeof number);
    message_free(&m);
    if (bound)
        p->from = from;
    return number;
}

static const struct address nobody = {0};

static void what_is_sent_early_waits(void **state)
{
    (void)state;
    struct pair p = open_pair("early", false);
    for (unsigned i = 0; i < 3; i++)
        assert_true(send_number(&p.dealer, &nobody, i));
    open_side(&p, true);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(receive_number(&p, true), i);
    close_pair(&p);
}

static void messages_keep_their_order(void **state)
{
    (void)state;
    struct pair p = open_pair("order", true);
    for (unsigned i = 0; i < 1000; i++)
        assert_true(send_number(&p.dealer, &nobody, i));
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(receive_number(&p, true), i);
    for (unsigned i = 0; i < 1000; i++)
        assert_true(send_number(&p.router, &p.from, i));
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(receive_number(&p, false), i);
    close_pair(&p);
}

static void who_closes_gently_is_heard_to_the_end(void **state)
{
    (void)state;
    struct pair p = open_pair("gently", true);
    for (unsigned i = 0; i < 100; i++)
        assert_true(send_number(&p.dealer, &nobody, i));
    port_close(&p.dealer);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(receive_number(&p, true), i);
    close_pair(&p);
}

static void a_router_refuses_who_is_gone(void **state)
{
    (void)state;
    struct pair p = open_pair("gone", true);
    assert_true(send_number(&p.dealer, &nobody, 1));
    assert_int_equal(receive_number(&p, true), 1);
    port_drop(&p.dealer);
    const uint64_t until_ns = clock_ns() + LONG_NS;
    while (send_number(&p.router, &p.from, 2)) {
        assert_true(clock_ns() < until_ns);
        (void)poll(NULL, 0, 1);
    }
    open_side(&p, false);  // the next one is another peer
    const struct address former = p.from;
    assert_true(send_number(&p.dealer, &nobody, 3));
    assert_int_equal(receive_number(&p, true), 3);
    assert_false(address_equal(&former, &p.from));
    close_pair(&p);
}

static void a_dealer_connects_again(void **state)
{
    (void)state;
    struct pair p = open_pair("again", true);
    assert_true(send_number(&p.dealer, &nobody, 1));
    assert_int_equal(receive_number(&p, true), 1);
    port_drop(&p.router);
    const uint64_t until_ns = clock_ns() + LONG_NS;
    while (!port_happened(&p.dealer)) {
        assert_true(clock_ns() < until_ns);
        (void)poll(NULL, 0, 1);
    }
    assert_true(send_number(&p.dealer, &nobody, 2));  // waits for the next connection
    open_side(&p, true);
    assert_int_equal(receive_number(&p, true), 2);
    close_pair(&p);
}

static bool tells(const struct port *p, int ms)
{
    struct pollfd slot = {.fd = port_descriptor(p), .events = POLLIN};
    return poll(&slot, 1, ms) > 0;
}

static void a_descriptor_tells_once(void **state)
{
    (void)state;
    struct message m;
    struct address from;
    struct pair p = open_pair("tells", true);
    assert_true(send_number(&p.dealer, &nobody, 1));
    assert_int_equal(receive_number(&p, true), 1);
    while (port_receive(&p.router, &from, &m) != PORT_NOTHING)
        message_free(&m);
    assert_true(send_number(&p.dealer, &nobody, 2));
    assert_true(tells(&p.router, 20000));  // its reader had found nothing
    assert_true(port_has_messages(&p.router));
    assert_false(tells(&p.router, 0));  // somebody has looked
    assert_true(send_number(&p.dealer, &nobody, 3));
    assert_false(tells(&p.router, 50));  // there are some already
    assert_int_equal(receive_number(&p, true), 2);
    assert_int_equal(receive_number(&p, true), 3);
    close_pair(&p);
}

/* A process that listens at p->endpoint until it is killed. */
static pid_t listen_elsewhere(struct pair *p)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        p->context = port_context_open();
        open_side(p, true);
        if (write(ends[1], p->endpoint, sizeof p->endpoint) < 0)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_true(child > 0);
    assert_int_equal(read(ends[0], p->endpoint, sizeof p->endpoint), sizeof p->endpoint);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

/* Connects to such a process, and sends it a signal; how long that end takes to come to light. */
static uint64_t time_until_cut(const char *endpoint, int number)
{
    struct pair p = {0};
    (void)snprintf(p.endpoint, sizeof p.endpoint, "%s", endpoint);
    const pid_t child = listen_elsewhere(&p);
    p.context = port_context_open();
    open_side(&p, false);
    for (const uint64_t until_ns = clock_ns() + LONG_NS; !p.dealer.trial.established;
         (void)poll(NULL, 0, 1)) {
        (void)port_happened(&p.dealer);
        assert_true(clock_ns() < until_ns);
    }
    const uint64_t begin_ns = clock_ns();
    assert_int_equal(kill(child, number), 0);
    while (!port_happened(&p.dealer) && clock_ns() < begin_ns + 3 * LONG_NS)
        (void)poll(NULL, 0, 10);
    const uint64_t taken_ns = clock_ns() - begin_ns;
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close_pair(&p);
    return taken_ns;
}

/* Its kernel ends them. */
static void who_is_killed_has_no_connections(void **state)
{
    (void)state;
    char endpoint[ENDPOINT_SIZE];
    (void)snprintf(endpoint, sizeof endpoint, "ipc://%s/killed", scratch_folder);
    assert_true(time_until_cut(endpoint, SIGKILL) < LONG_NS / 2);
    assert_true(time_until_cut("tcp://127.0.0.1:*", SIGKILL) < LONG_NS / 2);
}

/* As a host that is gone. */
static void who_is_silent_is_cut_in_the_end(void **state)
{
    (void)state;
    const uint64_t taken_ns = time_until_cut("tcp://127.0.0.1:*", SIGSTOP);
    assert_in_range(taken_ns, LONG_NS - SECOND_NS, 2 * LONG_NS);
}

/* With an argument: what takes long. */
int main(int argc, char **argv)
{
    (void)argv;
    const struct CMUnitTest slow[] = {cmocka_unit_test(who_is_silent_is_cut_in_the_end)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent_early_waits),
        cmocka_unit_test(messages_keep_their_order),
        cmocka_unit_test(who_closes_gently_is_heard_to_the_end),
        cmocka_unit_test(a_router_refuses_who_is_gone),
        cmocka_unit_test(a_dealer_connects_again),
        cmocka_unit_test(a_descriptor_tells_once),
        cmocka_unit_test(who_is_killed_has_no_connections),
    };
    if (argc > 1)
        return unit_run_within(slow, scratch_enter, scratch_leave);
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
