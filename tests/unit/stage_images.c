/* Images of the main thread: from the pool or the heap, borrowed and returned. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "link/pool.h"
#include "stage/worker.h"

enum { COUNT = 40000, BYTES = 4 * COUNT };

static const struct pool_owner OWNER = {
    .uuid = "0123456789abcdef0123456789abcdef", .run = 7, .incarnation = 1};

static const struct crc32c_piece NOTHING;  // no bytes were summed up before

struct side {
    struct run run;
    struct links links;
    struct images images;
};

static void open_side(struct side *s, bool pool)
{
    struct error e;
    *s = (struct side){.run = {.id = OWNER.run, .incarnation = OWNER.incarnation}};
    memcpy(s->run.uuid, OWNER.uuid, sizeof s->run.uuid);
    s->links.run = &s->run;
    assert_int_equal(exchange_open(&s->links.exchange, &e), STATUS_OK);
    images_open(&s->images, &s->links, pool ? BYTES : 0);
}

static void close_side(struct side *s)
{
    exchange_close(&s->links.exchange);
    pool_close(&s->links.pool);
}

static bool in_pool(const struct side *s, const struct image *image)
{
    struct descriptor d;
    return pool_find(s->links.pool, image->pixels, NULL, image->count * 4, &d);
}

/* An image from the pool of `s`, all pixels `value`. */
static struct image make(struct side *s, float value)
{
    struct image image = {.memory = images_memory(&s->images)};
    assert_true(image_reserve(&image, PIXEL_F32, UNIT_PHOTONS, COUNT));
    for (size_t i = 0; i < COUNT; i++)
        ((float *)image.pixels)[i] = value;
    return image;
}

/* A message whose pixels are those of *image, as another process gets it. */
static void lend(struct side *s, struct mapping *m, const struct image *image,
                 struct message *message)
{
    struct descriptor d;
    struct error e;
    struct part pixels;
    assert_true(pool_find(s->links.pool, image->pixels, NULL, BYTES, &d));
    assert_int_equal(mapping_lease(m, &d, &pixels, &e), STATUS_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(message_add(message, (struct part){0}, &e), STATUS_OK);
    assert_int_equal(message_add(message, pixels, &e), STATUS_OK);
}

static struct mapping *map(const struct side *s)
{
    struct mapping *m;
    struct error e;
    assert_int_equal(mapping_open(&m, getpid(), (uint32_t)pool_fd(s->links.pool), &OWNER, &e),
                     STATUS_OK);
    return m;
}

static void large_images_lie_in_the_pool(void **state)
{
    (void)state;
    struct side s;
    open_side(&s, true);
    struct image large = make(&s, 1), small = {.memory = images_memory(&s.images)};
    assert_true(in_pool(&s, &large));
    assert_true(image_reserve(&small, PIXEL_F32, UNIT_PHOTONS, 1000));
    assert_false(in_pool(&s, &small));
    image_free(&small);
    image_free(&large);
    assert_ptr_equal(large.memory, images_memory(&s.images));
    close_side(&s);
    open_side(&s, false);
    assert_null(images_memory(&s.images));
    close_side(&s);
}

static void at_the_end_the_heap_will_do(void **state)
{
    (void)state;
    struct side s;
    struct image images[POOL_SLOTS_MAX];
    open_side(&s, true);
    for (int i = 0; i < POOL_SLOTS_MAX; i++)
        images[i] = make(&s, 0);
    exchange_end(&s.links.exchange, false);
    struct image more = make(&s, 0);
    assert_false(in_pool(&s, &more));
    image_free(&more);
    for (int i = 0; i < POOL_SLOTS_MAX; i++)
        image_free(&images[i]);
    close_side(&s);
}

static void foreign_pixels_become_own(void **state)
{
    (void)state;
    struct side s;
    struct error e;
    open_side(&s, true);
    struct image image = {.count = COUNT, .release = mem_free, .memory = NULL};
    image.pixels = image.owner = mem_array(COUNT, sizeof(float));
    ((float *)image.pixels)[7] = 3;
    assert_int_equal(images_make_own(&s.images, &image, &e), STATUS_OK);
    assert_true(in_pool(&s, &image));
    assert_true(((float *)image.pixels)[7] == 3);
    const void *before = image.pixels;
    assert_int_equal(images_make_own(&s.images, &image, &e), STATUS_OK);
    assert_ptr_equal(image.pixels, before);
    image_free(&image);
    close_side(&s);
}

/* A consumer that has borrowed an image of fives from a producer. */
struct loan {
    struct side producer, consumer;
    struct mapping *mapping;
    struct image image, got;  // the producer's and the consumer's
    struct message message;
};

static void open_loan(struct loan *l)
{
    *l = (struct loan){0};
    open_side(&l->producer, true);
    open_side(&l->consumer, false);
    l->mapping = map(&l->producer);
    l->image = make(&l->producer, 5);
    lend(&l->producer, l->mapping, &l->image, &l->message);
    images_borrow(&l->consumer.images, &l->message);
    l->got = (struct image){.count = COUNT, .pixels = l->message.parts[2].data};
    images_mark(&l->consumer.images, &l->got);
}

static void close_loan(struct loan *l)
{
    image_free(&l->got);
    image_free(&l->image);
    message_free(&l->message);
    mapping_close(&l->mapping);
    close_side(&l->consumer);
    close_side(&l->producer);
}

static void borrowed_pixels_go_back(void **state)
{
    (void)state;
    struct loan l;
    open_loan(&l);
    assert_true(image_is_intact(&l.got));
    image_free(&l.got);  // borrowed: nothing goes back yet
    assert_int_equal(mapping_take_returned(l.mapping), 0);
    assert_int_equal(images_return(&l.consumer.images), IMAGES_INTACT);
    assert_int_equal(mapping_take_returned(l.mapping), 1);
    assert_int_equal(images_return(&l.consumer.images), IMAGES_INTACT);  // nothing is borrowed
    assert_int_equal(mapping_take_returned(l.mapping), 0);
    close_loan(&l);
}

static void replaced_pixels_are_noticed(void **state)
{
    (void)state;
    struct loan l;
    struct error e;
    open_loan(&l);
    image_free(&l.image);
    l.image = make(&l.producer, 6);  // the same slot
    assert_false(image_is_intact(&l.got));
    assert_int_equal(images_make_own(&l.consumer.images, &l.got, &e), STATUS_FAILED);
    assert_int_equal(images_return(&l.consumer.images), IMAGES_REPLACED);
    close_loan(&l);
}

static void damaged_pixels_are_noticed(void **state)
{
    (void)state;
    struct loan l;
    for (uint32_t wrong = 0; wrong < 2; wrong++) {
        open_loan(&l);
        const uint32_t sum = crc32c(0, l.image.pixels, BYTES);
        images_expect(&l.consumer.images, sum + wrong, NOTHING);
        image_was_read(&l.got, 1);
        image_was_read(&l.got, COUNT / 3);
        image_was_read(&l.got, 7);  // again
        assert_true(image_is_intact(&l.got) == !wrong);
        assert_true(image_is_intact(&l.got) == !wrong);
        assert_int_equal(images_return(&l.consumer.images), wrong ? IMAGES_DAMAGED : IMAGES_INTACT);
        close_loan(&l);
        open_loan(&l);
        images_expect(&l.consumer.images, sum + wrong, NOTHING);
        assert_int_equal(images_return(&l.consumer.images),  // the borrower did not request it
                         wrong ? IMAGES_DAMAGED : IMAGES_INTACT);
        close_loan(&l);
    }
}

/* A reader that packs the pixels reports their checksum. */
static void readers_may_form_the_checksum(void **state)
{
    (void)state;
    struct loan l;
    for (uint32_t wrong = 0; wrong < 2; wrong++) {
        open_loan(&l);
        const uint32_t sum = crc32c(0, l.image.pixels, BYTES);
        images_expect(&l.consumer.images, sum, NOTHING);
        image_was_read(&l.got, 1);
        image_was_summed(&l.got, sum + wrong);
        image_was_summed(&l.got, sum + !wrong);  // all pixels are known already
        assert_true(image_is_intact(&l.got) == !wrong);
        assert_int_equal(images_return(&l.consumer.images), wrong ? IMAGES_DAMAGED : IMAGES_INTACT);
        close_loan(&l);
    }
}

/* The I/O thread has summed up the first bytes, right or wrong.  Only a stage that does not report
 * what it reads gets checksums ahead. */
static void sums_may_begin_ahead(void **state)
{
    (void)state;
    struct loan l;
    for (uint32_t wrong = 0; wrong < 2; wrong++)
        for (size_t bytes = 4; bytes <= BYTES; bytes += BYTES - 4) {
            open_loan(&l);
            const uint32_t sum = crc32c(0, l.image.pixels, BYTES);
            const struct crc32c_piece ahead = {crc32c(0, l.image.pixels, bytes) + wrong, bytes};
            images_expect(&l.consumer.images, sum, ahead);
            assert_true(image_is_intact(&l.got) == !wrong);
            assert_int_equal(images_return(&l.consumer.images),
                             wrong ? IMAGES_DAMAGED : IMAGES_INTACT);
            assert_true(atomic_load(&l.consumer.links.sums_late));
            close_loan(&l);
            open_loan(&l);
            images_expect(&l.consumer.images, sum, ahead);
            image_was_read(&l.got, 1);
            assert_int_equal(images_return(&l.consumer.images),
                             wrong ? IMAGES_DAMAGED : IMAGES_INTACT);
            assert_false(atomic_load(&l.consumer.links.sums_late));
            close_loan(&l);
        }
}

static void copies_of_borrowed_pixels_are_writable(void **state)
{
    (void)state;
    struct loan l;
    struct error e;
    open_loan(&l);
    assert_int_equal(images_make_own(&l.consumer.images, &l.got, &e), STATUS_OK);
    ((float *)l.got.pixels)[0]++;
    assert_true(((float *)l.got.pixels)[0] == 6 && ((float *)l.image.pixels)[0] == 5);
    assert_int_equal(images_return(&l.consumer.images), IMAGES_INTACT);
    close_loan(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_images_lie_in_the_pool),
        cmocka_unit_test(at_the_end_the_heap_will_do),
        cmocka_unit_test(foreign_pixels_become_own),
        cmocka_unit_test(borrowed_pixels_go_back),
        cmocka_unit_test(replaced_pixels_are_noticed),
        cmocka_unit_test(damaged_pixels_are_noticed),
        cmocka_unit_test(readers_may_form_the_checksum),
        cmocka_unit_test(sums_may_begin_ahead),
        cmocka_unit_test(copies_of_borrowed_pixels_are_writable),
    };
    return unit_run(tests);
}
