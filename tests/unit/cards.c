/* Images on a GPU: the GPU memory of slots, who receives images there, and what is refused. */
#include "unit.h"

#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/hash.h"
#include "heap_card.h"
#include "link/links.h"
#include "link/pool.h"
#include "stage/worker.h"

enum { COUNT = 40000, BYTES = 4 * COUNT };

static const struct pool_owner OWNER = {
    .uuid = "0123456789abcdef0123456789abcdef", .run = 7, .incarnation = 1};

/* --- a producer, its images and two links ------------------------------------- */

struct producer {
    struct run run;
    struct links links;
    struct images images;
    struct link *one, *other;  // downwards
    void *sockets[2];          // of the other end of each
};

static const char *const ENDPOINTS[2] = {"inproc://one", "inproc://other"};

static struct link *add_link(struct producer *w, size_t i)
{
    struct port *p = &w->links.ports[i];
    w->sockets[i] = zmq_socket(w->run.context, ZMQ_DEALER);
    assert_int_equal(zmq_bind(w->sockets[i], ENDPOINTS[i]), 0);
    (void)strcpy(p->endpoint, ENDPOINTS[i]);
    assert_int_equal(port_open(p, w->run.context, &w->run.curve, PORT_WORDS_MAX, NULL), STATUS_OK);
    w->links.nports++;
    return link_add(&w->links, p, &(struct address){0});
}

static void producer_open(struct producer *w)
{
    *w = (struct producer){.run.role = {.name = "test", .wants = KIND_IMAGE, .gives = KIND_IMAGE}};
    memset(&heap, 0, sizeof heap);
    heap.left = POOL_SLOTS_MAX;
    w->links.run = &w->run;
    w->run.context = zmq_ctx_new();
    assert_int_equal(exchange_open(&w->links.exchange, NULL), STATUS_OK);
    w->run.id = OWNER.run;
    w->run.incarnation = OWNER.incarnation;
    memcpy(w->run.uuid, OWNER.uuid, sizeof w->run.uuid);
    w->links.on_card.card = &CARD;
    (void)strcpy(w->links.on_card.name, "11");
    images_open(&w->images, &w->links, BYTES);
    assert_int_equal(message_add(&w->links.experiment, (struct part){0}, NULL), STATUS_OK);
}

static void producer_close(struct producer *w)
{
    while (w->links.first)
        link_drop(&w->links, w->links.first, false);
    for (size_t i = 0; i < w->links.nports; i++) {
        port_drop(&w->links.ports[i]);
        (void)zmq_close(w->sockets[i]);
    }
    message_free(&w->links.experiment);
    links_clear(&w->links);
    exchange_close(&w->links.exchange);
    (void)zmq_ctx_term(w->run.context);
    pool_close(&w->links.pool);
    assert_int_equal(heap.reserved, 0);
}

/* What a consumer says with its credit. */
static void say(struct producer *w, struct link *l, bool shared, const char *card)
{
    struct notice n = {.shared = shared};
    (void)strcpy(n.card, card);
    shared_credit(&w->links, l, &n);
    shared_look(&w->links);
}

static bool may_be_on_card(struct producer *w)
{
    struct image image = {.memory = images_memory(&w->images)};
    const bool on_card = image_reserve_on_card(&image, PIXEL_F32, UNIT_PHOTONS, COUNT);
    assert_true(on_card == (image.card != NULL));
    image_free(&image);
    return on_card;
}

static void all_who_get_images_must_have_the_card(void **state)
{
    (void)state;
    struct producer w;
    producer_open(&w);
    shared_look(&w.links);
    assert_false(may_be_on_card(&w));  // no process is there
    w.one = add_link(&w, 0);
    shared_look(&w.links);
    assert_false(may_be_on_card(&w));  // it has not spoken
    say(&w, w.one, true, "");
    assert_false(may_be_on_card(&w));
    say(&w, w.one, true, "12");
    assert_false(may_be_on_card(&w));  // another card
    say(&w, w.one, false, "11");
    assert_false(may_be_on_card(&w));  // it has not our memory, where names come from
    say(&w, w.one, true, "11");
    assert_true(may_be_on_card(&w));
    w.other = add_link(&w, 1);
    shared_look(&w.links);
    assert_false(may_be_on_card(&w));  // one more, of which nothing is known
    w.other->port->up = true;
    shared_look(&w.links);
    assert_true(may_be_on_card(&w));  // it gives images and gets none
    w.other->port->up = false;
    say(&w, w.other, true, "11");
    assert_true(may_be_on_card(&w));
    say(&w, w.one, true, "");
    assert_false(may_be_on_card(&w));  // it cannot any more
    w.one->gone = true;
    shared_look(&w.links);
    assert_true(may_be_on_card(&w));
    producer_close(&w);
}

static void a_full_card_has_some_twins(void **state)
{
    (void)state;
    struct producer w;
    struct image images[3];
    producer_open(&w);
    w.one = add_link(&w, 0);
    say(&w, w.one, true, "11");
    heap.left = 2;
    for (int i = 0; i < 3; i++) {
        images[i] = (struct image){.memory = images_memory(&w.images)};
        assert_true(image_reserve_on_card(&images[i], PIXEL_F32, UNIT_PHOTONS, COUNT) == (i < 2));
    }
    assert_null(images[2].pixels);
    heap.left = 1;
    assert_false(may_be_on_card(&w));  // the third slot: it is not tried again and again
    image_free(&images[0]);
    assert_true(may_be_on_card(&w));
    image_free(&images[1]);
    producer_close(&w);
}

/* --- what a link gets ------------------------------------------------------------ */

/* An item whose pixels are all `value` on the card, and something else in memory. */
static struct item make_item(struct producer *w, float value)
{
    struct image image = {.memory = images_memory(&w->images)};
    struct item item = {.route = {.type = MESSAGE_FRAME, .flags = KIND_IMAGE, .payload_count = 1}};
    assert_true(image_reserve_on_card(&image, PIXEL_F32, UNIT_PHOTONS, COUNT));
    memset(image.pixels, 1, BYTES);
    for (size_t i = 0; i < COUNT; i++)
        ((float *)image.card)[i] = value;
    for (int i = 0; i < 2; i++)
        assert_int_equal(message_add(&item.message, (struct part){0}, NULL), STATUS_OK);
    assert_int_equal(message_add(&item.message,
                                 (struct part){image.pixels, BYTES, image.release, image.owner},
                                 NULL),
                     STATUS_OK);
    item.card = image.card;
    assert_int_equal(shared_describe(w->links.pool, &item, NULL), STATUS_OK);
    return item;
}

static void free_item(struct item *item)
{
    message_free(&item->message);
    message_free(&item->shared);
}

/* What comes out at the other end. */
static struct message receive(struct producer *w, size_t i, struct route *r)
{
    struct message m;
    struct address from;
    struct port other = {.socket = w->sockets[i]};
    while (!port_has_messages(&other))
        continue;
    assert_int_equal(port_receive(&other, &from, &m), PORT_MESSAGE);
    assert_int_equal(route_open(r, &m, NULL), STATUS_OK);
    return m;
}

static void pixels_leave_the_card_for_who_has_none(void **state)
{
    (void)state;
    struct producer w;
    struct descriptor d;
    struct route r;
    producer_open(&w);
    w.one = add_link(&w, 0);
    say(&w, w.one, true, "11");
    struct item item = make_item(&w, 3);
    assert_true(shared_send(&w.links, w.one, &item) >= BYTES);
    struct message m = receive(&w, 0, &r);
    assert_true(r.flags & ROUTE_SHARED);
    assert_int_equal(descriptor_decode(&d, &m.parts[2], NULL), STATUS_OK);
    assert_true(d.on_card && heap.fetched == 0);
    assert_memory_equal(d.handle.bytes, &item.card, sizeof item.card);
    message_free(&m);

    w.other = add_link(&w, 1);  // it reads nothing in its place
    assert_true(shared_send(&w.links, w.other, &item) >= BYTES);
    m = receive(&w, 1, &r);
    assert_int_equal(heap.fetched, 1);
    assert_true(!(r.flags & ROUTE_SHARED) && m.parts[2].size == BYTES);
    assert_true(((float *)m.parts[2].data)[0] == 3 && ((float *)m.parts[2].data)[COUNT - 1] == 3);
    assert_int_equal(r.payload_crc, crc32c(0, m.parts[2].data, BYTES));
    message_free(&m);

    say(&w, w.other, true, "");  // it reads memory: no second copy is needed, nor on the card
    assert_true(shared_send(&w.links, w.other, &item) >= BYTES);
    m = receive(&w, 1, &r);
    assert_int_equal(descriptor_decode(&d, &m.parts[2], NULL), STATUS_OK);
    assert_true(!d.on_card && heap.fetched == 1);
    assert_int_equal(r.payload_crc, crc32c(0, item.message.parts[2].data, BYTES));
    message_free(&m);
    free_item(&item);
    producer_close(&w);
}

/* --- processes that get the images
 * ------------------------------------------------------------------ */

/* A message that names a descriptor; its pixels go to *l. */
static enum status fetch(struct link *l, const struct descriptor *d, struct message *m,
                         struct error *e)
{
    struct part part;
    *m = (struct message){0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(message_add(m, (struct part){0}, NULL), STATUS_OK);
    part = descriptor_encode(d);
    assert_int_equal(message_add(m, part, NULL), STATUS_OK);
    return shared_fetch(l, m, e);
}

static void images_are_read_on_the_card(void **state)
{
    (void)state;
    struct producer w;
    struct images consumer;
    static struct links below;
    struct message m;
    struct descriptor d;
    struct error e;
    struct link up = {0};
    producer_open(&w);
    w.one = add_link(&w, 0);
    say(&w, w.one, true, "11");
    struct item item = make_item(&w, 5);
    assert_int_equal(descriptor_decode(&d, &item.shared.parts[1], NULL), STATUS_OK);
    assert_int_equal(
        mapping_open(&up.pool, getpid(), (uint32_t)pool_fd(w.links.pool), &OWNER, NULL), STATUS_OK);
    below.run = &w.run;
    below.on_card.card = &CARD;
    images_open(&consumer, &below, 0);

    assert_int_equal(fetch(&up, &d, &m, &e), STATUS_INPUT);  // it has not asked
    assert_non_null(strstr(e.text, "on a GPU"));
    message_free(&m);
    up.on_card = true;
    assert_int_equal(fetch(&up, &d, &m, &e), STATUS_OK);
    images_borrow(&consumer, &m);
    assert_int_equal(images_find_on_card(&consumer, &e), STATUS_OK);
    struct image image = {.count = COUNT, .pixels = m.parts[2].data};
    images_mark(&consumer, &image);
    assert_ptr_equal(image.card, item.card);
    assert_true(image_is_intact(&image));
    assert_int_equal(images_make_own(&consumer, &image, &e), STATUS_OK);  // to be handed on
    assert_true(!image.card && ((float *)image.pixels)[COUNT - 1] == 5);
    image_free(&image);
    assert_int_equal(images_return(&consumer), IMAGES_INTACT);
    message_free(&m);
    assert_int_equal(heap.open, 1);  // kept for the next one in that slot

    d.handle.bytes[CARD_HANDLE - 1] = 0;
    assert_int_equal(fetch(&up, &d, &m, &e), STATUS_OK);
    images_borrow(&consumer, &m);
    assert_int_equal(images_find_on_card(&consumer, &e), STATUS_FAILED);
    assert_int_equal(images_return(&consumer), IMAGES_INTACT);
    message_free(&m);
    assert_int_equal(heap.open, 0);  // that name is another's

    d.on_card = false;  // in memory again
    assert_int_equal(fetch(&up, &d, &m, &e), STATUS_OK);
    images_borrow(&consumer, &m);
    assert_int_equal(images_find_on_card(&consumer, &e), STATUS_OK);
    image = (struct image){.count = COUNT, .pixels = m.parts[2].data};
    images_mark(&consumer, &image);
    assert_null(image.card);
    (void)images_return(&consumer);
    message_free(&m);
    mapping_close(&up.pool);
    free_item(&item);
    producer_close(&w);
}

static void names_there_and_back(void **state)
{
    (void)state;
    struct descriptor d = {.pid = 1, .on_card = true}, back;
    struct part part;
    for (size_t i = 0; i < CARD_HANDLE; i++)
        d.handle.bytes[i] = (unsigned char)(i % 8 ? 255 - i : i / 8 & 1 ? 0 : 200);
    memset(d.handle.bytes + 8, 0, 8);
    part = descriptor_encode(&d);
    assert_int_equal(descriptor_decode(&back, &part, NULL), STATUS_OK);
    assert_true(back.on_card);
    assert_memory_equal(&back.handle, &d.handle, sizeof back.handle);
    struct part cut = part;
    for (cut.size = 0; cut.size < part.size; cut.size++)
        assert_int_equal(descriptor_decode(&back, &cut, NULL), STATUS_INPUT);
    part.release(part.owner);
}

static enum status encode(struct notice *n, struct message *m)
{
    *m = (struct message){0};
    return control_notice_encode(MESSAGE_CREDIT, n, m, NULL);
}

/* What a stage without a card says, and what one with it does. */
static void cards_are_told_with_credit(void **state)
{
    (void)state;
    struct notice n = {.grant = 2, .shared = true, .card = "00112233445566778899aabbccddeeff"},
                  back, none = {.grant = 2};
    struct message m = {0};
    assert_int_equal(encode(&n, &m), STATUS_OK);
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &back, &m, NULL), STATUS_OK);
    assert_string_equal(back.card, n.card);
    notice_free(&back);
    message_free(&m);
    assert_int_equal(encode(&none, &m), STATUS_OK);
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &back, &m, NULL), STATUS_OK);
    assert_string_equal(back.card, "");
    notice_free(&back);
    message_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_who_get_images_must_have_the_card),
        cmocka_unit_test(a_full_card_has_some_twins),
        cmocka_unit_test(pixels_leave_the_card_for_who_has_none),
        cmocka_unit_test(images_are_read_on_the_card),
        cmocka_unit_test(names_there_and_back),
        cmocka_unit_test(cards_are_told_with_credit),
    };
    return unit_run(tests);
}
