/* A ZeroMQ context that does not end does not delay the process. */
#include "unit.h"

#include <zmq.h>

#include "base/clock.h"
#include "gateway/gateway.h"

static void one_that_ends(void **state)
{
    (void)state;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    zmq_close(socket);
    assert_true(gateway_end_context(context, 100));
    assert_true(gateway_end_context(NULL, 0));
}

/* libzmq waits for a socket that is open. */
static void one_that_does_not(void **state)
{
    (void)state;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    const uint64_t begin_ns = clock_ns();
    assert_false(gateway_end_context(context, 0));
    assert_true(clock_ns() - begin_ns < UINT64_C(30000000000));
    zmq_close(socket);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_ends),
        cmocka_unit_test(one_that_does_not),
    };
    return unit_run(tests);
}
