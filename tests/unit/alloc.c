/* Memory: checked sizes, alignment, and arrays that grow. */
#include "unit.h"

#include <malloc.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Calls `ask` in a child process, and checks that the child ends with status 1 and one line. */
static void ends_the_process(void (*ask)(void), const char *line)
{
    int ends[2], status;
    char said[256] = {0};
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        ask();
        _exit(0);
    }
    (void)close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    (void)close(ends[0]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_string_equal(said, line);
}

static void ask_for_an_array(void)
{
    (void)mem_array(SIZE_MAX / 2, 4);
}

static void ask_for_a_room(void)
{
    (void)mem_room(SIZE_MAX);
}

static void ask_for_a_copy(void)
{
    (void)mem_copy("", SIZE_MAX / 2, 4);
}

static void ask_for_more(void)
{
    size_t capacity = 0;
    uint64_t *items = mem_grow(NULL, 0, 3, sizeof *items, &capacity);
    (void)mem_grow(items, 3, SIZE_MAX, sizeof *items, &capacity);
}

static void ask_for_many_more(void)
{
    size_t capacity = 0;
    uint64_t *items = mem_grow(NULL, 0, 3, sizeof *items, &capacity);
    (void)mem_grow(items, 3, SIZE_MAX / sizeof *items, sizeof *items, &capacity);
}

#define HINT                                                                                       \
    " bytes. Use smaller images, fewer threads, or a machine with more memory; 'ulimit -v' shows " \
    "a limit\n"

static void without_memory_a_process_ends(void **state)
{
    (void)state;
    ends_the_process(ask_for_an_array, "bragg: out of memory for 36893488147419103232" HINT);
    ends_the_process(ask_for_a_room, "bragg: out of memory for 18446744073709551616" HINT);
    ends_the_process(ask_for_a_copy, "bragg: out of memory for 36893488147419103232" HINT);
    ends_the_process(ask_for_more, "bragg: out of memory for 147573952589676412928" HINT);
    ends_the_process(ask_for_many_more, "bragg: out of memory for 18446744073709551616" HINT);
    assert_null(mem_try_array(SIZE_MAX / 2, 4));
    assert_null(mem_try_room(SIZE_MAX));
}

static void sizes_do_not_overflow(void **state)
{
    (void)state;
    size_t product;
    assert_true(size_multiply(1u << 20, 1u << 20, &product));
    assert_false(size_multiply(SIZE_MAX, 2, &product));
    assert_int_equal(product, 0);
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

/* The next frame gets the memory of the last one.  A block of another size frees what was kept, so
 * that the memory of a process does not grow. */
static void large_memory_is_used_again(void **state)
{
    (void)state;
    enum { BYTES = 33 << 20 };
    char *first = mem_room(BYTES), *second = mem_room(BYTES);
    memset(first, 1, BYTES);
    mem_free(first);
    char *again = mem_room(BYTES - 100);
    assert_ptr_equal(again, first);
    if (!getenv("BRAGG_SANITIZED"))  // a sanitizer may fill what it allocates
        assert_int_equal(again[1000], 1);
    mem_free(again);
    again = mem_array(BYTES, 1);
    assert_int_equal(again[1000], 0);
    mem_free(again);
    mem_free(second);
    char *large = mem_room(4 * BYTES);
    if (!getenv("BRAGG_SANITIZED"))  // a sanitizer does not count what is mapped
        assert_in_range(mallinfo2().hblkhd, 4 * BYTES, 5 * BYTES);
    mem_free(large);
    again = mem_room(BYTES);
    if (!getenv("BRAGG_SANITIZED"))
        assert_in_range(mallinfo2().hblkhd, BYTES, 2 * BYTES);
    mem_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_as_items_come),
        cmocka_unit_test(takes_many_at_once),
        cmocka_unit_test(without_memory_a_process_ends),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(a_room_takes_what_is_written),
        cmocka_unit_test(large_memory_is_used_again),
    };
    return unit_run(tests);
}
