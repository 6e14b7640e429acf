/*
 * relay HOW FRAME UP DOWN: is between two stages, connected to the endpoint UP and bound to DOWN,
 * and passes all messages on unchanged.  HOW is what it does to one frame:
 *
 *   swallow  keeps it, and returns its credit
 *   lose     keeps it, and returns no credit
 *   twice    passes it on twice
 *   other    also passes on a copy with other pixels
 *   stale    also passes on copies of an earlier frame and of another run
 *   flip     flips a bit of its pixels
 *   bomb     changes the first bytes of a chunk, which contain the number of pixels
 *   cut      passes on the first half of its pixels; compressed pixels and checksums stay unchanged
 *   card     marks its pixels as being on a GPU, under a name that no GPU has
 *
 * It ends at SIGTERM.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/alloc.h"
#include "link/port.h"
#include "wire/control.h"
#include "wire/payload.h"

struct relay {
    void *context;
    struct port up, down;
    const char *how;
    uint64_t frame;
    bool done;
    struct address below;  // the stage after this one, once it has spoken
};

static volatile sig_atomic_t ended;

static void on_end(int number)
{
    (void)number;
    ended = 1;
}

/* Connects to the previous stage, again if necessary. */
static void connect_up(struct relay *x)
{
    const struct curve curve = {.insecure = true};
    struct error e;
    port_close(&x->up);
    if (port_open(&x->up, x->context, &curve, PORT_PART_MAX, &e) != STATUS_OK) {
        fprintf(stderr, "relay: %s\n", e.text);
        exit(1);
    }
}

static void return_credit(struct relay *x, const struct route *r)
{
    const struct address nobody = {0};
    struct id_range id = {r->frame, r->frame};
    struct notice n = {.grant = 1, .nids = 1, .ids = &id};
    struct message m = {0};
    struct route credit = {.type = MESSAGE_CREDIT, .run = r->run, .incarnation = r->incarnation};
    (void)snprintf(credit.stage, sizeof credit.stage, "relay");
    if (control_notice_encode(MESSAGE_CREDIT, &n, &m, NULL) == STATUS_OK) {
        route_seal(&credit, &m);
        (void)port_send(&x->up, &nobody, &m, NULL);
    }
    message_free(&m);
}

/* A copy with a good sum, of what may have changed. */
static void send_copy(struct relay *x, struct route r, struct message *m)
{
    route_seal(&r, m);
    (void)port_send(&x->down, &x->below, m, NULL);
}

static void cut_part(struct part *p)
{
    const size_t size = p->size / 2;
    void *half = mem_copy(p->data, size, 1);
    p->release(p->owner);
    *p = (struct part){.data = half, .size = size, .release = mem_free, .owner = half};
}

/* A descriptor that names memory on a card. */
static bool name_card(struct part *p)
{
    struct descriptor d;
    if (descriptor_decode(&d, p, NULL) != STATUS_OK)
        return false;
    d.on_card = true;
    memset(d.handle.bytes, 'x', sizeof d.handle.bytes);
    p->release(p->owner);
    *p = descriptor_encode(&d);
    return true;
}

/* Changes part 2 in one of these ways; false when it is not one of them, or not as they need it. */
static bool damage(const char *how, const struct route *r, struct message *m)
{
    struct part *chunk = &m->parts[2];
    uint8_t *bytes = chunk->data;
    if (strcmp(how, "card") == 0)
        return r->flags & ROUTE_SHARED && name_card(chunk);
    if (!packed_is(r))
        return false;
    if (strcmp(how, "flip") == 0)
        bytes[chunk->size / 2] ^= 4;
    else if (strcmp(how, "bomb") == 0)
        bytes[1] = 0xff;
    else if (strcmp(how, "cut") == 0)
        cut_part(chunk);
    else
        return false;
    return true;
}

/* False when the message is not to be passed on. */
static bool meddle(struct relay *x, const struct route *r, struct message *m)
{
    struct route other = *r;
    x->done = true;
    if (strcmp(x->how, "lose") == 0)
        return false;
    if (strcmp(x->how, "swallow") == 0) {
        return_credit(x, r);
        return false;
    }
    if (damage(x->how, r, m))
        return true;
    if (strcmp(x->how, "twice") == 0) {
        (void)port_send(&x->down, &x->below, m, NULL);
    } else if (strcmp(x->how, "stale") == 0) {
        other.incarnation = r->incarnation - 1;
        send_copy(x, other, m);
        other.incarnation = r->incarnation;
        other.run = ~r->run;
        send_copy(x, other, m);
        send_copy(x, *r, m);
        return false;
    } else {
        (void)port_send(&x->down, &x->below, m, NULL);
        ((char *)m->parts[m->nparts - 1].data)[0] ^= 1;
        send_copy(x, other, m);
        return false;
    }
    return true;
}

static void pass(struct relay *x, bool downwards)
{
    const struct address nobody = {0};
    struct address address;
    struct message m;
    struct route r;
    while (port_receive(downwards ? &x->up : &x->down, &address, &m) == PORT_MESSAGE) {
        if (!downwards && x->below.size && !address_equal(&x->below, &address))
            connect_up(x);  // the stage after this one does so, too
        if (!downwards)
            x->below = address;
        const bool chosen = downwards && !x->done && route_open(&r, &m, NULL) == STATUS_OK &&
                            r.type == MESSAGE_FRAME && r.frame == x->frame;
        if (!chosen || meddle(x, &r, &m))
            (void)port_send(downwards ? &x->down : &x->up, downwards ? &x->below : &nobody, &m,
                            NULL);
        message_free(&m);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    struct error e;
    const struct curve curve = {.insecure = true};
    struct relay x = {
        .how = argv[1], .frame = strtoull(argv[2], NULL, 10), .context = zmq_ctx_new()};
    (void)snprintf(x.up.endpoint, sizeof x.up.endpoint, "%s", argv[3]);
    (void)snprintf(x.down.endpoint, sizeof x.down.endpoint, "%s", argv[4]);
    x.down.bound = true;
    connect_up(&x);
    if (port_open(&x.down, x.context, &curve, PORT_WORDS_MAX, &e) != STATUS_OK) {
        fprintf(stderr, "relay: %s\n", e.text);
        return 1;
    }
    (void)signal(SIGTERM, on_end);
    while (!ended) {
        zmq_pollitem_t items[2] = {{.socket = x.up.socket, .events = ZMQ_POLLIN},
                                   {.socket = x.down.socket, .events = ZMQ_POLLIN}};
        (void)zmq_poll(items, 2, 100);
        pass(&x, false);
        if (x.below.size)
            pass(&x, true);
    }
    port_close(&x.up);
    port_close(&x.down);
    (void)zmq_ctx_term(x.context);
    return x.done ? 0 : 1;
}
