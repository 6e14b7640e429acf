/* Recordings: round trips, files that are cut anywhere, and any flipped bit. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "scratch.h"
#include "wire/recording.h"

enum { FRAMES = 3, FILE_MAX = 8192 };

/* The file in memory. */
static uint8_t bytes[FILE_MAX], changed[FILE_MAX];
static size_t size;

static void load(const char *path)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size = fread(bytes, 1, sizeof bytes, in);
    assert_true(size > 0 && size < sizeof bytes);
    (void)fclose(in);
}

/* A message of one type: `id` in its payload, whose length depends on it. */
static struct route make(enum message_type type, uint64_t id, struct message *m)
{
    static char meta[] = "metadata", payload[100];
    struct route r = {.type = type, .run = 7, .frame = id, .stage = "test", .flags = 3};
    memset(payload, (int)id + 1, sizeof payload);
    *m = (struct message){0};
    (void)message_add(m, (struct part){0}, NULL);
    (void)message_add(m, (struct part){.data = meta, .size = sizeof meta}, NULL);
    (void)message_add(m, (struct part){.data = payload, .size = 60 + (size_t)id}, NULL);
    (void)message_add(m, (struct part){.data = payload, .size = 0}, NULL);
    route_seal(&r, m);
    return r;
}

static enum status begin(struct recorder *r, const char *path, enum recorder_mode mode,
                         uint64_t which)
{
    struct message m;
    struct route route = make(MESSAGE_EXPERIMENT, 0, &m);
    memset(m.parts[2].data, (int)which, m.parts[2].size);
    route_seal(&route, &m);
    const enum status s = recorder_open(r, path, mode, &route, &m, NULL);
    message_free(&m);
    return s;
}

static enum status add(struct recorder *r, uint64_t id)
{
    struct message m;
    const struct route route = make(MESSAGE_FRAME, id, &m);
    const enum status s = recorder_add(r, &route, &m, NULL);
    message_free(&m);
    return s;
}

/* Frames in another order than that of their numbers. */
static void record(const char *path)
{
    struct recorder r;
    assert_int_equal(begin(&r, path, RECORDER_REPLACE, 0), STATUS_OK);
    for (uint64_t i = FRAMES; i-- > 0;)
        assert_int_equal(add(&r, 10 * i), STATUS_OK);
    assert_int_equal(recorder_finish(&r, NULL), STATUS_OK);
    assert_false(recorder_close(&r));
}

/* True when a frame can be read; then it must be as it was made. */
static bool frame_is_good(const struct recording *r, const struct recording_entry *entry)
{
    struct route route;
    struct message m, made;
    const bool good = recording_frame(r, entry, &route, &m, NULL) == STATUS_OK;
    if (good) {
        make(MESSAGE_FRAME, entry->id, &made);
        assert_int_equal(m.nparts, made.nparts);
        for (size_t i = 0; i < m.nparts; i++) {
            assert_int_equal(m.parts[i].size, made.parts[i].size);
            assert_memory_equal(m.parts[i].data, made.parts[i].data, m.parts[i].size);
        }
        message_free(&made);
    }
    message_free(&m);
    return good;
}

/* How many frames can be read; -1 when not even the file. */
static int read_all(const char *path)
{
    struct recording r;
    int good = recording_open(&r, path, NULL) == STATUS_OK ? 0 : -1;
    for (size_t i = 0; good >= 0 && i < r.frames.count; i++)
        good += frame_is_good(&r, &r.frames.entries[i]);
    recording_close(&r);
    return good;
}

static void frames_come_back(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.rec"));
    record(path);
    struct recording r;
    assert_int_equal(recording_open(&r, path, NULL), STATUS_OK);
    assert_true(r.finished);
    assert_int_equal(r.kind, 3);
    assert_int_equal(r.frames.count, FRAMES);
    assert_non_null(recording_list_find(&r.frames, 20));
    assert_null(recording_list_find(&r.frames, 1));
    assert_true(recording_list_find(&r.frames, 20)->time_ns <=
                recording_list_find(&r.frames, 0)->time_ns);
    recording_close(&r);
    assert_int_equal(read_all(path), FRAMES);
    assert_int_equal(scratch_count(), 1);
    unlink(path);
}

/* Whatever a killed recorder leaves: the frames that are whole, never other bytes. */
static void any_cut_leaves_whole_frames(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.rec"));
    record(path);
    load(path);
    int most = -1;
    for (size_t cut = 0; cut < size; cut++) {
        scratch_put(path, bytes, cut);
        const int frames = read_all(path);
        assert_true(frames >= most);
        most = frames;
    }
    assert_int_equal(most, FRAMES);
    unlink(path);
}

static void any_flipped_bit_is_seen(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.rec"));
    record(path);
    load(path);
    memcpy(changed, bytes, size);
    int lost = 0;
    for (size_t i = 0; i < size; i++) {
        changed[i] ^= (uint8_t)(1 << i % 8);
        scratch_put(path, changed, size);
        lost += read_all(path) < FRAMES;  // and what is read is right
        changed[i] = bytes[i];
    }
    assert_true(lost > 500);
    unlink(path);
}

/* Flags beyond the kind are of the transport. */
static void how_a_frame_travelled_is_not_kept(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.rec"));
    struct recorder r;
    struct message m;
    assert_int_equal(begin(&r, path, RECORDER_NEW, 0), STATUS_OK);
    struct route route = make(MESSAGE_FRAME, 0, &m);
    route.flags |= 4;
    route_seal(&route, &m);
    assert_int_equal(recorder_add(&r, &route, &m, NULL), STATUS_OK);
    ((char *)m.parts[2].data)[0] ^= 1;
    route.frame = 1;
    assert_int_equal(recorder_add(&r, &route, &m, NULL), STATUS_FAILED);
    message_free(&m);
    assert_int_equal(recorder_finish(&r, NULL), STATUS_OK);
    assert_false(recorder_close(&r));
    assert_int_equal(read_all(path), 1);
    unlink(path);
}

static void killed_recorder_is_continued(void **state)
{
    (void)state;
    char path[256], part[sizeof path + 8];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.rec"));
    (void)snprintf(part, sizeof part, "%s.part", path);
    struct recorder r;
    assert_int_equal(begin(&r, path, RECORDER_NEW, 0), STATUS_OK);
    assert_int_equal(add(&r, 0), STATUS_OK);
    assert_int_equal(add(&r, 1), STATUS_OK);
    struct recorder other;
    assert_int_equal(begin(&other, path, RECORDER_NEW, 0), STATUS_FAILED);  // in use
    assert_false(recorder_close(&other));
    assert_true(recorder_close(&r));
    struct stat st;
    assert_int_equal(stat(part, &st), 0);
    assert_int_equal(truncate(part, st.st_size - 1), 0);
    assert_int_equal(begin(&r, path, RECORDER_NEW, 1), STATUS_FAILED);  // another experiment
    assert_false(recorder_close(&r));
    assert_int_equal(begin(&r, path, RECORDER_NEW, 0), STATUS_OK);
    assert_int_equal(r.frames.count, 1);
    assert_int_equal(add(&r, 0), STATUS_OK);  // it is there
    assert_int_equal(r.frames.count, 1);
    struct message m;
    struct route route = make(MESSAGE_FRAME, 0, &m);
    route.payload_crc ^= 1;
    assert_int_equal(recorder_add(&r, &route, &m, NULL), STATUS_FAILED);
    message_free(&m);
    assert_int_equal(add(&r, 1), STATUS_OK);
    assert_int_equal(recorder_finish(&r, NULL), STATUS_OK);
    assert_false(recorder_close(&r));
    assert_int_equal(read_all(path), 2);
    assert_int_equal(begin(&r, path, RECORDER_NEW, 0), STATUS_FAILED);  // exists
    assert_false(recorder_close(&r));
    assert_int_equal(scratch_count(), 1);
    unlink(path);
}

/* A limit on the size of files stands for a full disk. */
static void full_disk_leaves_whole_frames(void **state)
{
    (void)state;
    char path[256], part[sizeof path + 8];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.rec"));
    (void)snprintf(part, sizeof part, "%s.part", path);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (rlim_t room = 0; room < 2000; room += 100) {
        limit = (struct rlimit){room, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        struct recorder r;
        uint64_t frames = 0;
        enum status s = begin(&r, path, RECORDER_NEW, 0);
        while (s == STATUS_OK && (s = add(&r, frames)) == STATUS_OK)
            frames++;
        const bool kept = recorder_close(&r);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(s, STATUS_FAILED);
        assert_int_equal(kept, frames > 0);
        assert_int_equal(scratch_count(), kept);
        if (kept)
            assert_int_equal(read_all(part), (int)frames);
        unlink(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(any_cut_leaves_whole_frames),
        cmocka_unit_test(any_flipped_bit_is_seen),
        cmocka_unit_test(how_a_frame_travelled_is_not_kept),
        cmocka_unit_test(killed_recorder_is_continued),
        cmocka_unit_test(full_disk_leaves_whole_frames),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
