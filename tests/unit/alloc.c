/* Memory: sizes, alignment, arrays that grow. */
#include "unit.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

static void grows_as_items_come(void **state)
{
    (void)state;
    uint32_t *items = NULL;
    size_t capacity = 0, moves = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        const size_t before = capacity;
        uint32_t *grown = mem_grow(items, i, 1, sizeof *items, &capacity);
        assert_non_null(grown);
        assert_true(i < capacity);
        assert_true(capacity != before || grown == items);
        moves += capacity != before;
        items = grown;
        items[i] = i;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(items[i], i);
    assert_true(moves < 14);
    mem_free(items);
}

static void takes_many_at_once(void **state)
{
    (void)state;
    size_t capacity = 0;
    char *items = mem_grow(NULL, 0, 1000, 1, &capacity);
    assert_non_null(items);
    assert_true(capacity >= 1000);
    items[999] = 7;
    items = mem_grow(items, 1000, 5000, 1, &capacity);
    assert_non_null(items);
    assert_true(capacity >= 6000);
    assert_int_equal(items[999], 7);
    assert_int_equal(items[1000], 0);
    mem_free(items);
}

static void too_many_leave_what_is_there(void **state)
{
    (void)state;
    size_t capacity = 0;
    uint64_t *items = mem_grow(NULL, 0, 3, sizeof *items, &capacity);
    const size_t before = capacity;
    items[2] = 5;
    assert_null(mem_grow(items, 3, SIZE_MAX, sizeof *items, &capacity));
    assert_null(mem_grow(items, 3, SIZE_MAX / sizeof *items, sizeof *items, &capacity));
    assert_int_equal(capacity, before);
    assert_true(items[2] == 5);
    mem_free(items);
}

static void sizes_do_not_overflow(void **state)
{
    (void)state;
    size_t product;
    assert_true(size_multiply(1u << 20, 1u << 20, &product));
    assert_false(size_multiply(SIZE_MAX, 2, &product));
    assert_int_equal(product, 0);
    assert_null(mem_array(SIZE_MAX / 2, 4));
    assert_null(mem_room(SIZE_MAX));
    assert_null(mem_copy("", SIZE_MAX / 2, 4));
}

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    for (size_t bytes = sizeof(double); bytes <= 2 * MEM_ALIGNED; bytes *= 2) {
        double *zeros = mem_array(bytes / sizeof *zeros, sizeof *zeros);
        assert_non_null(zeros);
        assert_int_equal(
            (uintptr_t)zeros % (bytes < MEM_ALIGNED ? alignof(max_align_t) : MEM_ALIGNMENT), 0);
        for (size_t i = 0; i < bytes / sizeof *zeros; i++)
            assert_true(zeros[i] == 0);
        memset(zeros, 1, bytes);
        mem_free(zeros);
    }
}

/* Pages of a room that are not written take no memory. */
static void a_room_takes_what_is_written(void **state)
{
    (void)state;
    enum { BYTES = 64 << 20, PAGE = 4096 };
    unsigned char resident[BYTES / PAGE];
    char *room = mem_room(BYTES);
    assert_non_null(room);
    memset(room, 1, PAGE);
    char *first = (char *)(((uintptr_t)room + PAGE - 1) / PAGE * PAGE);
    const size_t bytes = BYTES - PAGE;
    size_t count = 0;
    assert_int_equal(mincore(first, bytes, resident), 0);
    for (size_t i = 0; i < bytes / PAGE; i++)
        count += resident[i] & 1;
    if (!getenv("BRAGG_SANITIZED"))  // a sanitizer may fill what it allocates
        assert_true(count < bytes / PAGE / 8);
    mem_free(room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_as_items_come),
        cmocka_unit_test(takes_many_at_once),
        cmocka_unit_test(too_many_leave_what_is_there),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(a_room_takes_what_is_written),
    };
    return unit_run(tests);
}
