/* Frames of a series that a thread stores while the next frame is packed. */
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/hdf5/spool.h"
#include "io/nxmx/nxmx_series.h"
#include "scratch.h"

enum { EDGE = 1024, PIXELS = EDGE * EDGE };  // 2 MiB: a thread stores them

static struct panel panel = {.fast_pixels = EDGE,
                             .slow_pixels = EDGE,
                             .pixel_m = 1e-4,
                             .fast = {0, 0, 1},
                             .slow = {0, -1, 0},
                             .origin_m = {0.2, 0, 0},
                             .distance_m = 0.2};
static struct experiment experiment = {.npanels = 1,
                                       .panels = &panel,
                                       .spindle = {0, 0, 1},
                                       .beam = {.direction = {1, 0, 0}, .wavelength_m = 1e-10}};

static void begin(struct nxmx_series *s, const char *name, enum nxmx_compression compression)
{
    const struct nxmx_settings settings = {.lineage = "0123456789abcdef", .run = 1};
    assert_int_equal(nxmx_series_open(s, scratch_path(name), NULL), STATUS_OK);
    s->compression = compression;
    assert_int_equal(nxmx_series_begin(s, &experiment, &settings, NULL), STATUS_OK);
}

/* Opens the spool of the series as another process of the run does. */
static void open_too(struct nxmx_series *s, struct spool *other)
{
    assert_int_equal(nxmx_spool_open(s, 1, other, NULL), STATUS_OK);
}

/* Packs a frame of equal pixels, and begins to store it.  Its memory is overwritten at once.
 * `packed`: the pixels come as this chunk. */
static void keep(struct nxmx_series *s, uint64_t id, struct nxmx_chunk *packed)
{
    struct frame f = {.recipe.id = id};
    const struct nxmx_note note = {.id = id};
    assert_true(image_reserve(&f.image, PIXEL_U16, UNIT_ADU, PIXELS));
    for (int i = 0; i < PIXELS; i++)
        ((uint16_t *)f.image.pixels)[i] = (uint16_t)(100 + id);
    if (packed) {
        f.image.chunk = packed->bytes;
        f.image.chunk_bytes = packed->length;
    }
    assert_int_equal(nxmx_series_pack(s, &f, NULL), STATUS_OK);
    assert_int_equal(nxmx_series_keep(s, &f, &note, NULL), STATUS_OK);
    memset(f.image.pixels, 0xee, sizeof(uint16_t) * PIXELS);
    if (packed)
        memset(packed->own, 0xee, packed->length);
    image_free(&f.image);
}

/* Packs a frame that is not stored. */
static void pack(struct nxmx_series *s, uint64_t id)
{
    struct frame f = {.recipe.id = id};
    assert_true(image_reserve(&f.image, PIXEL_U16, UNIT_ADU, PIXELS));
    memset(f.image.pixels, 0x77, sizeof(uint16_t) * PIXELS);
    assert_int_equal(nxmx_series_pack(s, &f, NULL), STATUS_OK);
    image_free(&f.image);
}

static void settle(struct nxmx_series *s)
{
    assert_int_equal(nxmx_series_settle(s, NULL), STATUS_OK);
}

/* Locks the spool, and returns how many records it has. */
static size_t hold(struct spool *spool)
{
    bool gone;
    assert_int_equal(spool_hold(spool, &gone, NULL), STATUS_OK);
    assert_false(gone);
    return spool->count;
}

/* Checks the first pixel of each frame of the finished file, and the order of the frames. */
static void check_file(const char *name, uint64_t frames)
{
    struct nxmx_rows rows;
    struct nxmx_one one;
    assert_true(nxmx_read_rows(scratch_path(name), "0123456789abcdef", &rows));
    assert_int_equal(rows.nframes, frames);
    for (uint64_t id = 0; id < frames; id++) {
        assert_int_equal(rows.frames[id].number, id);
        assert_int_equal(nxmx_one_read(scratch_path(name), id, PIXELS, &one, NULL), STATUS_OK);
        const uint16_t *pixels = one.image.pixels;
        assert_int_equal(pixels[0], 100 + id);
        assert_int_equal(pixels[PIXELS - 1], 100 + id);
        nxmx_one_free(&one);
    }
    nxmx_rows_free(&rows);
}

static void a_frame_is_packed_while_the_one_before_waits(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct spool other;
    begin(&s, "a.nxs", NXMX_NONE);
    keep(&s, 0, NULL);
    settle(&s);
    open_too(&s, &other);
    assert_int_equal(hold(&other), 1);
    keep(&s, 1, NULL);  // returns, although the spool is locked
    pack(&s, 7);
    spool_release(&other);
    settle(&s);
    assert_int_equal(hold(&other), 2);
    spool_release(&other);
    spool_close(&other);
    for (uint64_t id = 2; id < 5; id++)
        keep(&s, id, NULL);
    assert_int_equal(nxmx_series_end(&s, NULL), STATUS_OK);
    nxmx_series_close(&s);
    check_file("a_data_000001.h5", 5);
}

/* A thread that releases a spool after a while. */
static void *release(void *spool)
{
    (void)usleep(100000);
    spool_release(spool);
    return NULL;
}

static void a_settled_frame_is_stored(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct spool other;
    pthread_t thread;
    begin(&s, "b.nxs", NXMX_NONE);
    keep(&s, 0, NULL);
    settle(&s);
    open_too(&s, &other);
    for (uint64_t id = 1; id < 4; id++) {
        assert_int_equal(hold(&other), id);
        keep(&s, id, NULL);
        assert_int_equal(pthread_create(&thread, NULL, release, &other), 0);
        settle(&s);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(hold(&other), id + 1);
        spool_release(&other);
    }
    spool_close(&other);
    assert_int_equal(nxmx_series_end(&s, NULL), STATUS_OK);
    nxmx_series_close(&s);
    check_file("b_data_000001.h5", 4);
}

static void images_that_came_packed_are_copied(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct spool other;
    struct nxmx_chunk chunk = {0};
    uint16_t *pixels = mem_array(PIXELS, sizeof *pixels);
    uint32_t random = 1;
    for (int i = 0; i < PIXELS; i++)  // that are not compressible, but for the ends
        pixels[i] = (uint16_t)((random = random * 1664525 + 1013904223) >> 16);
    begin(&s, "c.nxs", NXMX_BSLZ4);
    keep(&s, 0, NULL);
    settle(&s);
    open_too(&s, &other);
    for (uint64_t id = 1; id < 3; id++) {
        const struct image image = {.type = PIXEL_U16, .count = PIXELS, .pixels = pixels};
        pixels[0] = pixels[PIXELS - 1] = (uint16_t)(100 + id);
        assert_int_equal(nxmx_pack(NXMX_BSLZ4, &image, &chunk, NULL), STATUS_OK);
        assert_true(chunk.length > 1 << 20);
        settle(&s);
        (void)hold(&other);
        keep(&s, id, &chunk);
        spool_release(&other);
    }
    spool_close(&other);
    assert_int_equal(nxmx_series_end(&s, NULL), STATUS_OK);
    nxmx_series_close(&s);
    check_file("c_data_000001.h5", 3);
    nxmx_chunk_free(&chunk);
    mem_free(pixels);
}

static void a_frame_goes_to_a_new_spool_if_its_spool_is_removed(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct spool other;
    struct error e;
    begin(&s, "d.nxs", NXMX_NONE);
    keep(&s, 0, NULL);
    settle(&s);
    open_too(&s, &other);
    (void)hold(&other);
    keep(&s, 1, NULL);
    assert_int_equal(unlink(scratch_path("d_data_000001.h5.part")), 0);
    spool_release(&other);
    settle(&s);
    spool_close(&other);
    open_too(&s, &other);
    assert_int_equal(hold(&other), 1);
    assert_int_equal(other.entries[0].id, 1);
    spool_close(&other);
    assert_int_equal(nxmx_series_end(&s, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "frame 0 is lost"));
    nxmx_series_close(&s);
}

static void a_full_disk_is_an_error_of_the_next_frame(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct error e;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    begin(&s, "e.nxs", NXMX_NONE);
    keep(&s, 0, NULL);
    settle(&s);
    const struct rlimit few = {.rlim_cur = 5 << 20, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    keep(&s, 1, NULL);
    keep(&s, 2, NULL);  // does not fit
    const enum status status = nxmx_series_settle(&s, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, STATUS_FAILED);
    assert_non_null(strstr(e.text, "e_data_000001.h5.part: cannot write: File too large"));
    struct spool other;
    open_too(&s, &other);
    assert_int_equal(hold(&other), 2);
    spool_close(&other);
    nxmx_series_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_packed_while_the_one_before_waits),
        cmocka_unit_test(a_settled_frame_is_stored),
        cmocka_unit_test(images_that_came_packed_are_copied),
        cmocka_unit_test(a_frame_goes_to_a_new_spool_if_its_spool_is_removed),
        cmocka_unit_test(a_full_disk_is_an_error_of_the_next_frame),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
