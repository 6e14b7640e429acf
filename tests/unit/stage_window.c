/* The window of the source over its frames, and the frames that a sink remembers. */
#include "unit.h"

#include "control/stream.h"
#include "link/links.h"

enum { SIZE = 4, ATTEMPTS = 3, ONE = 1, TWO = 2 };

static struct window open_list(uint64_t required, const struct id_set *list)
{
    struct window w;
    window_open(&w, SIZE, ATTEMPTS);
    window_take_list(&w, list);
    w.required = required;
    return w;
}

/* Over ids 0 .. 99. */
static struct window open_window(uint64_t required)
{
    static struct id_range all = {0, 99};
    static const struct id_set list = {.count = 1, .ranges = &all};
    return open_list(required, &list);
}

static void leave(const struct window *w, uint64_t id)
{
    window_at(w, id)->out = true;
}

/* Whether ids from `first` to `last` are in the window at these places; 1 to 0: none are. */
static bool is_clipped(const struct window *w, uint64_t first, uint64_t last, uint64_t from,
                       uint64_t to)
{
    const struct id_range places = window_clip(w, (struct id_range){first, last});
    return places.first == from && places.last == to;
}

/* Whether the loss of a copy has a frame issued again. */
static bool is_again(struct window *w, uint64_t place, bool at_work)
{
    const struct frame_state *f = window_lose(w, place, at_work);
    return f && !f->given_up && !f->out;
}

static void moves_when_all_groups_have_it(void **state)
{
    (void)state;
    struct window w = open_window(ONE | TWO);
    window_ack(&w, (struct id_range){1, 2}, ONE | TWO, UINT64_MAX);
    window_ack(&w, (struct id_range){0, 0}, ONE, UINT64_MAX);
    window_advance(&w);
    assert_true(w.lowest == 0);
    window_ack(&w, (struct id_range){0, UINT64_MAX}, TWO, UINT64_MAX);
    window_advance(&w);
    assert_true(w.lowest == 3);
    assert_true(is_clipped(&w, 2, 2, 1, 0));
    assert_true(is_clipped(&w, 6, 6, 6, 6));
    assert_true(is_clipped(&w, 7, 7, 1, 0));
    assert_true(window_at(&w, 4)->acked == 0);  // its place was that of frame 0
    window_ack(&w, (struct id_range){0, 6}, ONE | TWO, UINT64_MAX);
    w.total = 5;  // nothing more is issued
    window_advance(&w);
    assert_true(w.lowest == 5);
    window_close(&w);
}

static void groups_that_are_not_required_do_not_count(void **state)
{
    (void)state;
    struct window w = open_window(ONE);
    window_ack(&w, (struct id_range){0, 3}, TWO, UINT64_MAX);
    window_advance(&w);
    assert_true(w.lowest == 0);
    window_ack(&w, (struct id_range){0, 3}, ONE, UINT64_MAX);
    window_advance(&w);
    assert_true(w.lowest == 4);
    window_close(&w);
}

static void lost_frames_are_issued_again(void **state)
{
    (void)state;
    struct window w = open_window(ONE);
    assert_null(window_lose(&w, 1, true));  // still in the source
    leave(&w, 1);
    assert_true(is_again(&w, 1, false));
    assert_int_equal(window_at(&w, 1)->attempt, 1);
    assert_null(window_lose(&w, 1, false));  // once is enough
    leave(&w, 2);
    window_ack(&w, (struct id_range){2, 2}, ONE, UINT64_MAX);
    assert_null(window_lose(&w, 2, true));  // it has arrived
    window_close(&w);
}

static void what_kills_is_given_up(void **state)
{
    (void)state;
    struct window w = open_window(ONE | TWO);
    for (int i = 1; i < ATTEMPTS; i++) {
        leave(&w, 0);
        assert_true(is_again(&w, 0, true));
        leave(&w, 0);
        assert_true(is_again(&w, 0, false));
    }
    leave(&w, 0);
    assert_true(window_lose(&w, 0, true)->given_up);
    window_advance(&w);
    assert_true(w.lowest == 1);
    assert_int_equal(window_at(&w, 4)->deaths, 0);
    window_close(&w);
}

/* Even when one death is too much: credit that comes late may make it look like that of another
 * frame, but not once it was issued again. */
static void none_is_given_up_at_its_first_issue(void **state)
{
    (void)state;
    struct window w = open_window(ONE);
    w.attempts = 1;
    leave(&w, 0);
    assert_true(is_again(&w, 0, true));
    leave(&w, 0);
    assert_true(is_again(&w, 0, false));  // the process was not computing it
    leave(&w, 0);
    assert_true(window_lose(&w, 0, true)->given_up);
    leave(&w, 1);
    assert_true(is_again(&w, 1, false));
    leave(&w, 1);
    assert_true(window_lose(&w, 1, true)->given_up);
    assert_int_equal(window_at(&w, 1)->deaths, 1);
    window_close(&w);
}

/* Processes that take frames in order then get a message. */
static void only_what_is_new_is_a_change(void **state)
{
    (void)state;
    struct window w = open_window(ONE | TWO);
    w.changed = false;
    window_ack(&w, (struct id_range){0, 0}, ONE, 1);
    assert_true(w.changed);
    w.changed = false;
    window_ack(&w, (struct id_range){0, 0}, ONE, 1);
    window_ack(&w, (struct id_range){0, 0}, 0, 1);
    window_ack(&w, (struct id_range){1, 1}, ONE, 1);  // not issued
    assert_false(w.changed);
    window_close(&w);
}

static void ranges_are_clipped(void **state)
{
    (void)state;
    struct window w = open_window(ONE);
    window_listed(&w, (struct id_range){0, UINT64_MAX}, false, 7);
    assert_true(window_at(&w, 3)->listed_ns == 7);
    window_ack(&w, (struct id_range){0, 1}, ONE, UINT64_MAX);
    window_advance(&w);
    assert_true(is_clipped(&w, 0, 1, 1, 0));
    assert_true(is_clipped(&w, 6, 9, 1, 0));
    assert_true(is_clipped(&w, 1, 9, 2, 5));
    window_close(&w);
}

static void lists_have_gaps(void **state)
{
    (void)state;
    struct id_range ranges[] = {{3, 4}, {7, 7}, {100, 101}, {UINT64_MAX, UINT64_MAX}};
    const struct id_set list = {.count = 4, .ranges = ranges};
    static const uint64_t ids[] = {3, 4, 7, 100, 101, UINT64_MAX};
    struct window w = open_list(ONE, &list);
    assert_true(w.total == 6);
    for (uint64_t i = 0; i < 6; i++)
        assert_true(window_id(&w, i) == ids[i]);
    assert_true(is_clipped(&w, 5, 5, 1, 0));
    assert_true(is_clipped(&w, 101, 101, 1, 0));  // the fifth of a window of four
    assert_true(is_clipped(&w, 0, UINT64_MAX, 0, 3));
    assert_true(is_clipped(&w, 5, 6, 1, 0));
    window_ack(&w, (struct id_range){4, 99}, ONE, UINT64_MAX);
    window_ack(&w, (struct id_range){3, 3}, ONE, UINT64_MAX);
    window_advance(&w);
    assert_true(w.lowest == 3);
    assert_true(is_clipped(&w, 8, UINT64_MAX, 3, 5));
    window_at(&w, 5)->out = true;
    assert_true(is_again(&w, 5, false));
    window_ack(&w, (struct id_range){0, UINT64_MAX}, ONE, UINT64_MAX);
    window_advance(&w);
    assert_true(w.lowest == 6);
    assert_true(is_clipped(&w, UINT64_MAX, UINT64_MAX, 1, 0));
    window_close(&w);
}

static void only_what_was_issued_is_covered(void **state)
{
    (void)state;
    struct id_range ranges[] = {{3, 4}, {7, 9}, {UINT64_MAX, UINT64_MAX}};
    const struct id_set list = {.count = 3, .ranges = ranges};
    struct window w = open_list(ONE, &list), empty;
    static const struct {
        struct id_range range;
        uint64_t places, other;
    } bad[] = {{{3, 3}, 0, 3},    {{3, 5}, 6, 5},
               {{4, 7}, 6, 5},    {{5, 5}, 6, 5},
               {{0, 3}, 6, 0},    {{7, 9}, 4, 9},
               {{8, 9}, 3, 8},    {{0, UINT64_MAX}, 6, 0},
               {{10, 10}, 6, 10}, {{UINT64_MAX, UINT64_MAX}, 5, UINT64_MAX}};
    uint64_t other;
    window_open(&empty, SIZE, ATTEMPTS);
    assert_false(window_covers(&empty, (struct id_range){0, 0}, 9, &other));
    assert_true(window_covers(&w, (struct id_range){3, 4}, 2, &other));
    assert_true(window_covers(&w, (struct id_range){7, 9}, 5, &other));
    assert_true(window_covers(&w, (struct id_range){7, 8}, 4, &other));
    assert_true(window_covers(&w, (struct id_range){UINT64_MAX, UINT64_MAX}, 6, &other));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(window_covers(&w, bad[i].range, bad[i].places, &other));
        assert_true(other == bad[i].other);
    }
    window_close(&empty);
    window_close(&w);
}

static void what_was_not_issued_is_not_acknowledged(void **state)
{
    (void)state;
    struct window w = open_window(ONE);
    window_ack(&w, (struct id_range){0, 99}, ONE, 2);
    window_advance(&w);
    assert_true(w.lowest == 2);
    window_ack(&w, (struct id_range){2, 3}, ONE, 4);
    window_retract(&w, (struct id_range){0, 2}, ONE);  // 0 and 1 are over
    window_advance(&w);
    assert_true(w.lowest == 2);
    assert_true(window_at(&w, 3)->acked == ONE);
    window_retract(&w, (struct id_range){3, 3}, ONE);
    assert_true(!window_at(&w, 3)->acked);
    window_close(&w);
}

static void duplicates_are_compared(void **state)
{
    (void)state;
    static struct seen s;
    assert_int_equal(seen_add(&s, 5, 1), SEEN_NEW);
    assert_int_equal(seen_add(&s, 5, 1), SEEN_SAME);
    assert_int_equal(seen_add(&s, 5, 2), SEEN_DIFFERENT);
    assert_int_equal(seen_add(&s, 5 + SEEN_SUMS, 2), SEEN_NEW);
    assert_int_equal(seen_add(&s, 5, 3), SEEN_SAME);  // too old to compare
    assert_int_equal(seen_add(&s, 0, 0), SEEN_NEW);
    id_set_clear(&s.ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_when_all_groups_have_it),
        cmocka_unit_test(groups_that_are_not_required_do_not_count),
        cmocka_unit_test(lost_frames_are_issued_again),
        cmocka_unit_test(what_kills_is_given_up),
        cmocka_unit_test(none_is_given_up_at_its_first_issue),
        cmocka_unit_test(only_what_is_new_is_a_change),
        cmocka_unit_test(ranges_are_clipped),
        cmocka_unit_test(lists_have_gaps),
        cmocka_unit_test(only_what_was_issued_is_covered),
        cmocka_unit_test(what_was_not_issued_is_not_acknowledged),
        cmocka_unit_test(duplicates_are_compared),
    };
    return unit_run(tests);
}
