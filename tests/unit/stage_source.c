/* The source: when frames begin to flow, and whose acknowledgements count. */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "control/stream.h"
#include "link/links.h"

/* A source of frames 0 .. 9 without sockets, and what it is linked to. */
struct world {
    struct run run;
    struct links links;
    struct stream *source;
    struct port down;
};

static void world_open(struct world *w, const char *groups)
{
    static struct id_set list;
    *w = (struct world){.run.role = {.name = "test"}, .down = {.bound = true}};
    w->links.run = &w->run;
    w->run.settings =
        (struct settings){.groups = groups, .window = 32, .attempts = 3, .start_timeout_s = 60};
    memcpy(w->run.uuid, "source", sizeof "source");
    assert_int_equal(exchange_open(&w->links.exchange, NULL), STATUS_OK);
    w->source = source_open(&w->run, &w->links);
    assert_non_null(w->source);
    list = (struct id_set){0};
    id_set_add_range(&list, (struct id_range){0, 9});
    exchange_set_list(&w->links.exchange, &list);
    w->source->window.total = 10;
}

static void world_close(struct world *w)
{
    while (w->links.first)
        link_drop(&w->links, w->links.first, false);
    source_close(w->source);
    links_clear(&w->links);
    exchange_close(&w->links.exchange);
}

/* Adds a sink of a group, to which the source has a link. */
static struct peer *add_sink(struct world *w, const char *uuid, const char *group)
{
    static const struct neighbour source = {"source"};
    const struct address at = {.size = 1, .bytes = {(uint8_t)(1 + w->source->roster.count)}};
    struct peer *p = roster_add(&w->source->roster, &at, uuid);
    struct link *l = link_add(&w->links, &w->down, &at);
    assert_true(p && l);
    p->hello.durable = true;
    (void)snprintf(p->hello.group, sizeof p->hello.group, "%s", group);
    p->hello.nupstreams = 1;
    p->hello.upstreams = mem_copy(&source, 1, sizeof source);
    (void)snprintf(l->peer.uuid, sizeof l->peer.uuid, "%s", uuid);
    w->source->links->changed = true;
    return p;
}

/* It says that it has these, and no more. */
static void says_to_have(struct world *w, struct peer *p, uint64_t first, uint64_t last)
{
    struct id_range range = {first, last};
    const struct notice n = {.known = true, .nids = first <= last, .ids = &range};
    claims_receive(w->source, p, MESSAGE_HAVE, &n);
}

static void acknowledges(struct world *w, struct peer *p, uint64_t first, uint64_t last)
{
    struct id_range range = {first, last};
    claims_receive(w->source, p, MESSAGE_ACK, &(struct notice){.nids = 1, .ids = &range});
}

static void frames_wait_until_all_sinks_said_what_they_have(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, NULL);
    struct peer *quick = add_sink(&w, "quick", "files"), *slow = add_sink(&w, "slow", "files");
    barrier_try(w.source, 1);
    assert_false(w.source->open_ns);
    says_to_have(&w, quick, 0, 2);
    barrier_try(w.source, 2);
    assert_false(w.source->open_ns);  // the group is there, but the other half of it is not
    says_to_have(&w, slow, 5, 9);
    barrier_try(w.source, 3);
    assert_true(w.source->open_ns);
    assert_int_equal(w.source->window.total, 2);  // frames 3 and 4
    world_close(&w);
}

/* Before frames flow the place of a group that is out of reach may go to another one, and with
 * it goes what its sinks have. */
static void who_is_out_of_reach_has_no_frames_of_others(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, NULL);
    struct peer *gone = add_sink(&w, "gone", "former");
    says_to_have(&w, gone, 0, 4);
    assert_int_equal(barrier_reach(w.source), 1);
    link_drop(&w.links, w.links.first, false);
    struct peer *other = add_sink(&w, "other", "latter");
    says_to_have(&w, other, 1, 0);
    barrier_try(w.source, 1);
    assert_true(w.source->open_ns);
    assert_true(other->durable == 1 && gone->durable == 0);
    assert_int_equal(w.source->window.total, 10);
    world_close(&w);
}

/* One group is asked for: it is the one that says what it has. */
static void a_silent_group_holds_nobody_up(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, NULL);
    const struct peer *silent = add_sink(&w, "silent", "first");
    struct peer *speaks = add_sink(&w, "speaks", "second");
    (void)barrier_reach(w.source);
    assert_true(silent->durable && !speaks->durable);
    says_to_have(&w, speaks, 1, 0);
    barrier_try(w.source, 1);
    assert_true(w.source->open_ns);
    assert_true(speaks->durable && !silent->durable);
    world_close(&w);
}

/* A frame that only an excluded process acknowledged is computed again for its group, even if
 * another group has it, but not if another process of the same group has it. */
static void another_group_makes_nothing_safe(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, "2");
    struct peer *bad = add_sink(&w, "bad", "files"), *good = add_sink(&w, "good", "files");
    struct peer *other = add_sink(&w, "other", "pictures");
    says_to_have(&w, bad, 1, 0);
    says_to_have(&w, good, 1, 0);
    says_to_have(&w, other, 1, 0);
    barrier_try(w.source, 1);
    assert_true(w.source->open_ns);
    assert_true(bad->durable == good->durable && bad->durable != other->durable);
    exchange_set_limit(&w.links.exchange, 10);
    for (struct ticket t = {0}; t.id < 9;)
        assert_true(exchange_next(&w.links.exchange, &t));
    acknowledges(&w, bad, 0, 9);
    holdings_void(w.source, bad);
    acknowledges(&w, other, 0, 9);
    acknowledges(&w, good, 0, 6);
    assert_int_equal(id_set_size(&w.source->unsafe), 3);
    assert_true(holdings_begin_again(w.source));
    assert_int_equal(w.source->window.total, 3);
    assert_int_equal(w.links.exchange.list.ranges[0].first, 7);
    world_close(&w);
}

/* A process with frames in its memory may be dead until it says hello again. */
static void who_has_frames_in_memory_is_asked(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, "2");
    struct peer *first = add_sink(&w, "first", "memory"), *other = add_sink(&w, "other", "files");
    first->hello.in_memory = true;
    assert_false(holdings_are_in_doubt(w.source, 4));  // as nothing reaches it yet ...
    assert_true(w.run.control.stirred);                // ... but it may while others are waited for
    w.source->asked_ns = 0;
    (void)barrier_reach(w.source);
    first->named_ns = other->named_ns = 5;
    assert_true(holdings_are_in_doubt(w.source, 6));
    assert_true(holdings_are_in_doubt(w.source, 7));
    first->named_ns = 8;
    assert_false(holdings_are_in_doubt(w.source, 9));
    world_close(&w);
}

/* The process sends messages, but does not say whether its frames still exist. The source does not
 * wait for ever. */
static void who_does_not_answer_is_out(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, "1");
    struct peer *mute = add_sink(&w, "mute", "memory");
    mute->hello.in_memory = true;
    (void)barrier_reach(w.source);
    w.run.patience_ns = 10;
    w.run.settings.hang_s = 1;
    assert_true(holdings_are_in_doubt(w.source, 6));
    mute->heard_ns = mute->beats_ns[0] = mute->progress_ns = 26;
    recover_check(w.source, 26);
    assert_non_null(roster_find(&w.source->roster, "mute"));
    recover_check(w.source, 27);
    assert_null(roster_find(&w.source->roster, "mute"));
    world_close(&w);
}

/* Two heartbeats, with frame 1 or none. */
static void beats(struct world *w, struct peer *p, bool holds)
{
    struct id_range one = {1, 1};
    for (uint64_t ns = 5; ns < 7; ns++)
        recover_beat(w->source, p, &(struct notice){.nids = holds, .ids = &one}, ns);
}

/* Frame 1 has left the source, and no process passes it on. Returns true if it is issued again. */
static bool is_lost(struct world *w)
{
    struct frame_state *f = window_at(&w->source->window, 1);
    f->out = true;
    lost_unlisted(w->source, 8);
    return !f->out;
}

static void what_a_group_holds_is_of_no_use_to_another(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, "2");
    struct peer *one = add_sink(&w, "one", "files"), *two = add_sink(&w, "two", "pictures");
    says_to_have(&w, one, 1, 0);
    says_to_have(&w, two, 1, 0);
    barrier_try(w.source, 1);
    exchange_set_limit(&w.links.exchange, 10);
    for (struct ticket t = {0}; t.id < 9;)
        assert_true(exchange_next(&w.links.exchange, &t));
    beats(&w, one, true);
    beats(&w, two, false);
    window_listed(&w.source->window, (struct id_range){1, 1}, false, 5);
    assert_false(is_lost(&w));
    window_listed(&w.source->window, (struct id_range){1, 1}, false, 4);
    assert_true(is_lost(&w));
    beats(&w, two, true);
    assert_false(is_lost(&w));
    beats(&w, two, false);
    assert_true(is_lost(&w));
    acknowledges(&w, two, 1, 1);
    assert_false(is_lost(&w));
    beats(&w, one, false);
    assert_true(is_lost(&w));
    world_close(&w);
}

/* Says to have `count` frames, each a range of its own, from `first` on. */
static void claims(struct world *w, struct peer *p, uint64_t first, size_t count)
{
    enum { AT_ONCE = 1 << 15 };
    static struct id_range ids[AT_ONCE];
    for (size_t said = 0; said < count && !w->source->nout; said += AT_ONCE) {
        for (size_t i = 0; i < AT_ONCE; i++, first += 2)
            ids[i] = (struct id_range){first, first};
        claims_receive(w->source, p, MESSAGE_HAVE, &(struct notice){.nids = AT_ONCE, .ids = ids});
    }
}

/* Memory is bounded, also for processes that a path leads to. A repeated message takes none. */
static void what_sinks_have_is_bounded(void **state)
{
    (void)state;
    const size_t room = 1 << 20, part = 1 << 18;
    struct world w;
    world_open(&w, NULL);
    struct peer *sink = add_sink(&w, "sink", "files"),
                *stranger = add_sink(&w, "stranger", "other");
    link_drop(&w.links, w.links.first, false);  // no path leads to it
    (void)barrier_reach(w.source);
    assert_true(sink->standing == PEER_IN && stranger->standing == PEER_NEW);
    const struct roster *r = &w.source->roster;
    for (int i = 0; i < 8; i++)
        claims(&w, sink, 0, part);
    assert_true(!w.source->nout && sink->have.count == part);
    claims(&w, stranger, 0, part);
    claims(&w, sink, 2 * part, room - part);  // the stranger makes room for it
    assert_true(w.source->nout == 1 && stranger->standing == PEER_OUT && r->count == 2);
    w.source->nout = 0;
    claims(&w, sink, 2 * room, room);
    assert_true(w.source->nout == 1 && r->count == 1);
    world_close(&w);
}

/* ... and costs as little among many processes as among few. */
static void what_is_said_is_counted_quickly(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, NULL);
    struct peer *talker = add_sink(&w, "talker", "files");
    for (uint32_t i = 0; i < ROSTER_MAX - 1; i++) {
        char uuid[UUID_SIZE];
        struct address at = {.size = sizeof i};
        memcpy(at.bytes, &i, sizeof i);
        (void)snprintf(uuid, sizeof uuid, "%" PRIu32, i);
        assert_non_null(roster_add(&w.source->roster, &at, uuid));
    }
    const clock_t start = clock();
    for (int i = 0; i < 20000; i++)
        claims_receive(w.source, talker, MESSAGE_HAVE, &(struct notice){0});
    assert_true(clock() - start < CLOCKS_PER_SEC / 2);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_wait_until_all_sinks_said_what_they_have),
        cmocka_unit_test(who_is_out_of_reach_has_no_frames_of_others),
        cmocka_unit_test(a_silent_group_holds_nobody_up),
        cmocka_unit_test(another_group_makes_nothing_safe),
        cmocka_unit_test(who_has_frames_in_memory_is_asked),
        cmocka_unit_test(who_does_not_answer_is_out),
        cmocka_unit_test(what_a_group_holds_is_of_no_use_to_another),
        cmocka_unit_test(what_sinks_have_is_bounded),
        cmocka_unit_test(what_is_said_is_counted_quickly),
    };
    return unit_run(tests);
}
