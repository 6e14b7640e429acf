/* Shared memory: the producer's slots, the consumer's mapping, and what is refused. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "link/pool.h"

enum { IMAGE = 100000, SLOT = 102400 };  // bytes; the second in whole pages

static const struct pool_owner OWNER = {
    .uuid = "0123456789abcdef0123456789abcdef", .run = 7, .incarnation = 1};

/* Replaces the function of the C library: there is memory for the header and `memory_for` slots. */
static int memory_for = 1 << 20;
static bool takes_memory = true;  // false: slots are reserved without memory

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    if (offset > 0 && memory_for-- <= 0) {
        errno = ENOMEM;
        return -1;
    }
    if (offset > 0 && !takes_memory)
        return 0;
    return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

static void count_call(void *context)
{
    ++*(int *)context;
}

static struct pool *open_pool(int *freed)
{
    struct pool *p;
    struct error e;
    assert_int_equal(pool_open(&p, &OWNER, IMAGE, freed ? count_call : NULL, freed, &e), STATUS_OK);
    return p;
}

static struct image take(struct pool *p)
{
    struct image image = {0};
    assert_int_equal(pool_take(p, IMAGE, POOL_SLOTS_MAX, &image), POOL_TAKEN);
    return image;
}

static struct descriptor find(const struct pool *p, const struct image *image)
{
    struct descriptor d;
    assert_true(pool_find(p, image->pixels, NULL, IMAGE, &d));
    return d;
}

static struct mapping *map(const struct pool *p)
{
    struct mapping *m;
    struct error e;
    assert_int_equal(mapping_open(&m, getpid(), (uint32_t)pool_fd(p), &OWNER, &e), STATUS_OK);
    return m;
}

/* --- slots --------------------------------------------------------------- */

static void slots_are_lent_and_come_back(void **state)
{
    (void)state;
    int freed = 0;
    struct pool *p = open_pool(&freed);
    struct image first = take(p), second = take(p);
    const struct descriptor d = find(p, &second);
    assert_int_equal(find(p, &first).slot, 0);
    assert_int_equal(d.slot, 1);
    assert_int_equal(d.offset, POOL_HEADER_SIZE + SLOT);
    pool_retain(p, 1);
    image_free(&second);
    assert_int_equal(freed, 0);  // somebody still reads it
    struct image third = take(p);
    assert_int_equal(find(p, &third).slot, 2);
    pool_release(p, 1);
    assert_int_equal(freed, 1);
    second = take(p);
    assert_int_equal(find(p, &second).slot, 1);  // the lowest that is free
    assert_true(find(p, &second).generation > d.generation);
    image_free(&first);
    image_free(&second);
    image_free(&third);
    pool_close(&p);
    assert_null(p);
}

static void a_full_pool_is_busy(void **state)
{
    (void)state;
    struct pool *p = open_pool(NULL);
    struct image images[POOL_SLOTS_MAX], more = {0};
    for (int i = 0; i < POOL_SLOTS_MAX; i++)
        images[i] = take(p);
    assert_int_equal(pool_take(p, IMAGE, POOL_SLOTS_MAX, &more), POOL_BUSY);
    image_free(&images[40]);
    assert_int_equal(pool_take(p, IMAGE, POOL_SLOTS_MAX, &more), POOL_TAKEN);
    images[40] = more;
    for (int i = 0; i < POOL_SLOTS_MAX; i++)
        image_free(&images[i]);
    assert_int_equal(pool_take(p, SLOT + 1, POOL_SLOTS_MAX, &more), POOL_WITHOUT);
    pool_close(&p);
}

/* A run with 24 processes that take images of 72 MiB needs two of them for each. */
static void many_processes_may_hold_large_images(void **state)
{
    (void)state;
    enum { LARGE = 72 << 20, NEEDED = 50 };
    struct image images[NEEDED] = {{0}};
    struct pool *p;
    struct error e;
    takes_memory = false;
    assert_int_equal(pool_open(&p, &OWNER, LARGE, NULL, NULL, &e), STATUS_OK);
    for (int i = 0; i < NEEDED; i++)
        assert_int_equal(pool_take(p, LARGE, POOL_SLOTS_MAX, &images[i]), POOL_TAKEN);
    for (int i = 0; i < NEEDED; i++)
        image_free(&images[i]);
    pool_close(&p);
    takes_memory = true;
}

static void only_the_first_slots_are_lent(void **state)
{
    (void)state;
    struct pool *p = open_pool(NULL);
    struct image images[4], more = {0};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pool_take(p, IMAGE, 4, &images[i]), POOL_TAKEN);
    assert_int_equal(pool_take(p, IMAGE, 4, &more), POOL_BUSY);
    image_free(&images[3]);
    assert_int_equal(pool_take(p, IMAGE, 3, &more), POOL_BUSY);
    image_free(&images[2]);
    assert_int_equal(pool_take(p, IMAGE, 1, &images[2]), POOL_TAKEN);  // never fewer than useful
    for (int i = 0; i < 3; i++)
        image_free(&images[i]);
    pool_close(&p);
}

/* If there is memory for some slots, these are used. If there is memory for very few, none is used.
 */
static void memory_may_run_out(void **state)
{
    (void)state;
    struct image images[4] = {{0}}, more = {0};
    log_set_level(LOG_ERROR);
    memory_for = 4;
    struct pool *p = open_pool(NULL);
    for (int i = 0; i < 4; i++)
        images[i] = take(p);
    assert_int_equal(pool_take(p, IMAGE, POOL_SLOTS_MAX, &more), POOL_BUSY);
    assert_int_equal(pool_take(p, IMAGE, POOL_SLOTS_MAX, &more), POOL_BUSY);
    image_free(&images[2]);
    images[2] = take(p);
    for (int i = 0; i < 4; i++)
        image_free(&images[i]);
    pool_close(&p);
    memory_for = 2;
    p = open_pool(NULL);
    images[0] = take(p);
    images[1] = take(p);
    assert_int_equal(pool_take(p, IMAGE, POOL_SLOTS_MAX, &more), POOL_WITHOUT);
    image_free(&images[0]);
    assert_int_equal(pool_take(p, IMAGE, POOL_SLOTS_MAX, &more), POOL_WITHOUT);
    image_free(&images[1]);
    pool_close(&p);
    memory_for = 1 << 20;
    log_set_level(LOG_WARNING);
}

static void foreign_memory_is_not_found(void **state)
{
    (void)state;
    struct pool *p = open_pool(NULL);
    struct image image = take(p);
    struct descriptor d;
    char elsewhere[8];
    assert_false(pool_find(p, elsewhere, NULL, sizeof elsewhere, &d));
    assert_false(pool_find(p, image.pixels, NULL, SLOT + 1, &d));
    assert_false(pool_find(p, (char *)image.pixels - 1, NULL, 1, &d));  // the header
    image_free(&image);
    pool_close(&p);
}

static void limits_of_the_process_are_errors(void **state)
{
    (void)state;
    static const struct {
        unsigned which;
        rlim_t limit;
    } limits[] = {{RLIMIT_FSIZE, 4096}, {RLIMIT_AS, 1 << 20}, {RLIMIT_NOFILE, 0}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const pid_t child = fork();
        if (child == 0) {
            struct pool *p;
            struct error e = {0};
            (void)signal(SIGXFSZ, SIG_IGN);
            (void)setrlimit(limits[i].which, &(struct rlimit){limits[i].limit, limits[i].limit});
            const enum status s = pool_open(&p, &OWNER, IMAGE, NULL, NULL, &e);
            _exit(s == STATUS_FAILED && !p &&
                          strncmp(e.text, "cannot create shared memory", 27) == 0
                      ? 0
                      : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* --- the mapping --------------------------------------------------------- */

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct error e;
    struct pool *p = open_pool(NULL);
    struct image image = take(p);
    memset(image.pixels, 'x', IMAGE);
    struct mapping *m = map(p);
    const struct descriptor d = find(p, &image);
    struct part part;
    assert_int_equal(mapping_lease(m, &d, &part, &e), STATUS_OK);
    assert_true(mapping_is_lease(part.release));
    assert_int_equal(part.size, IMAGE);
    assert_memory_equal(part.data, image.pixels, IMAGE);
    assert_ptr_not_equal(part.data, image.pixels);
    assert_true(mapping_is_intact(part.owner));
    image_free(&image);
    assert_true(mapping_is_intact(part.owner));  // free, and not used again yet
    image = take(p);
    assert_false(mapping_is_intact(part.owner));
    assert_int_equal(mapping_take_returned(m), 0);
    part.release(part.owner);
    assert_int_equal(mapping_take_returned(m), 1);
    assert_int_equal(mapping_take_returned(m), 0);
    image_free(&image);
    mapping_close(&m);
    pool_close(&p);
}

static void a_cut_returns_what_is_not_on_lease(void **state)
{
    (void)state;
    struct error e;
    struct pool *p = open_pool(NULL);
    struct image image = take(p);
    struct mapping *m = map(p);
    const struct descriptor d = find(p, &image);
    struct part part;
    assert_true(mapping_is_of(m, getpid(), (uint32_t)pool_fd(p)));
    assert_false(mapping_is_of(m, getpid() + 1, (uint32_t)pool_fd(p)));
    assert_int_equal(mapping_lease(m, &d, &part, &e), STATUS_OK);
    mapping_cut(m);
    assert_true(mapping_take_returned(m) == ~(UINT64_C(1) << d.slot));
    part.release(part.owner);
    assert_true(mapping_take_returned(m) == UINT64_C(1) << d.slot);
    mapping_cut(m);
    assert_true(mapping_take_returned(m) == UINT64_MAX);
    image_free(&image);
    mapping_close(&m);
    pool_close(&p);
}

static void a_lease_outlives_the_producer(void **state)
{
    (void)state;
    struct error e;
    struct pool *p = open_pool(NULL);
    struct image image = take(p);
    memset(image.pixels, 'y', IMAGE);
    const struct descriptor d = find(p, &image);
    struct mapping *m = map(p);
    struct part part;
    assert_int_equal(mapping_lease(m, &d, &part, &e), STATUS_OK);
    image_free(&image);
    pool_close(&p);
    mapping_close(&m);
    assert_int_equal(((char *)part.data)[IMAGE - 1], 'y');
    assert_true(mapping_is_intact(part.owner));
    part.release(part.owner);
}

static void others_cannot_write(void **state)
{
    (void)state;
    char path[64];
    struct pool *p = open_pool(NULL);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", pool_fd(p));
    const int file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 4096), -1);
    assert_int_equal(ftruncate(file, INT64_C(1) << 40), -1);
    if (fcntl(file, F_GET_SEALS) & F_SEAL_FUTURE_WRITE) {
        assert_int_equal(write(file, "z", 1), -1);
        assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
    }
    (void)close(file);
    pool_close(&p);
}

static void descriptors_outside_are_refused(void **state)
{
    (void)state;
    struct error e;
    struct pool *p = open_pool(NULL);
    struct image image = take(p);
    struct mapping *m = map(p);
    const struct descriptor good = find(p, &image);
    struct part part;
    struct descriptor bad[9];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        bad[i] = good;
    bad[0].slot = POOL_SLOTS_MAX;
    bad[1].slot = 1;  // the offset is not in there
    bad[2].offset -= 64;
    bad[3].offset = UINT64_MAX - 63;
    bad[4].length = SLOT + 1;
    bad[5].offset += 64, bad[5].length = SLOT;
    bad[6].offset += 1;  // unaligned
    bad[7].pid++;
    bad[8].fd++;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(mapping_lease(m, &bad[i], &part, &e), STATUS_INPUT);
    assert_int_equal(mapping_lease(m, &good, &part, &e), STATUS_OK);
    part.release(part.owner);
    image_free(&image);
    mapping_close(&m);
    pool_close(&p);
}

/* --- what is no pool ----------------------------------------------------- */

static void refuse(int64_t pid, int fd, const char *why)
{
    struct mapping *m;
    struct error e;
    assert_int_equal(mapping_open(&m, pid, (uint32_t)fd, &OWNER, &e), STATUS_FAILED);
    assert_null(m);
    if (!strstr(e.text, why))
        fail_msg("'%s' does not say '%s'", e.text, why);
}

/* Makes a memfd whose header claims `slots` slots, but which has room for two. */
static int forge(uint32_t slots, uint64_t slot_bytes, int seals, const struct pool_owner *owner)
{
    const int fd = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct pool_header h = {.run = owner->run,
                            .incarnation = owner->incarnation,
                            .slots = slots,
                            .slot_bytes = slot_bytes};
    memcpy(h.magic, POOL_MAGIC, sizeof h.magic);
    memcpy(h.uuid, owner->uuid, sizeof h.uuid);
    assert_int_equal(ftruncate(fd, POOL_HEADER_SIZE + 2 * SLOT), 0);
    assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static void forged_pools_are_refused(void **state)
{
    (void)state;
    const int seals = F_SEAL_GROW | F_SEAL_SHRINK;
    struct pool_owner run = OWNER, uuid = OWNER, incarnation = OWNER;
    run.run++;
    uuid.uuid[3] = 'x';
    incarnation.incarnation++;
    const struct {
        int fd;
        const char *why;
    } forged[] = {
        {forge(2, SLOT, 0, &OWNER), "is not a sealed memory file"},
        {forge(2, SLOT, F_SEAL_GROW, &OWNER), "is not a sealed memory file"},
        {forge(2, SLOT, F_SEAL_SHRINK, &OWNER), "is not a sealed memory file"},
        {forge(3, SLOT, seals, &OWNER), "another user"},
        {forge(1, SLOT, seals, &OWNER), "another user"},
        {forge(0, SLOT, seals, &OWNER), "another user"},
        {forge(2, UINT64_MAX / 2 + SLOT + 1, seals, &OWNER), "another user"},
        {forge(POOL_SLOTS_MAX + 1, 2 * SLOT / (POOL_SLOTS_MAX + 1), seals, &OWNER), "another user"},
        {forge(2, SLOT, seals, &run), "another user"},
        {forge(2, SLOT, seals, &uuid), "another user"},
        {forge(2, SLOT, seals, &incarnation), "another user"},
    };
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        refuse(getpid(), forged[i].fd, forged[i].why);
        (void)close(forged[i].fd);
    }
    struct mapping *m;
    struct error e;
    const int good = forge(2, SLOT, seals, &OWNER);
    assert_int_equal(mapping_open(&m, getpid(), (uint32_t)good, &OWNER, &e), STATUS_OK);
    mapping_close(&m);
    (void)close(good);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    refuse(getpid(), ends[0], "is not a sealed memory file");  // and no process waits for a writer
    refuse(getpid(), ends[1], "is not a sealed memory file");
    const int null = open("/dev/null", O_RDONLY), program = open("/proc/self/exe", O_RDONLY);
    refuse(getpid(), null, "is not a sealed memory file");
    refuse(getpid(), program, "is not a sealed memory file");
    refuse(getpid(), 1 << 20, "cannot open");
    refuse(-1, 0, "cannot open");
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    refuse(child, 1, "cannot open");
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(null);
    (void)close(program);
}

/* --- the descriptor on the wire ------------------------------------------ */

static void descriptors_there_and_back(void **state)
{
    (void)state;
    struct error e;
    const struct descriptor d = {.pid = 4194304,
                                 .fd = 1000,
                                 .slot = POOL_SLOTS_MAX - 1,
                                 .offset = 1 << 30,
                                 .length = 1 << 26,
                                 .generation = UINT64_MAX};
    struct descriptor back = {0};
    const struct part part = descriptor_encode(&d);
    assert_int_equal(descriptor_decode(&back, &part, &e), STATUS_OK);
    assert_int_equal(back.pid, d.pid);
    assert_int_equal(back.fd, d.fd);
    assert_int_equal(back.slot, d.slot);
    assert_int_equal(back.offset, d.offset);
    assert_int_equal(back.length, d.length);
    assert_true(back.generation == d.generation);
    struct part cut = part;
    for (cut.size = 0; cut.size < part.size; cut.size++)
        assert_int_equal(descriptor_decode(&back, &cut, &e), STATUS_INPUT);
    part.release(part.owner);
    uint8_t slot_64[] = {0x96, 1, 1, 64, 1, 1, 1}, pid_0[] = {0x96, 0, 1, 1, 1, 1, 1},
            negative[] = {0x96, 1, 0xff, 1, 1, 1, 1}, five[] = {0x95, 1, 1, 1, 1, 1},
            longer[] = {0x96, 1, 1, 1, 1, 1, 1, 1};
    const struct part bad[] = {{.data = slot_64, .size = sizeof slot_64},
                               {.data = pid_0, .size = sizeof pid_0},
                               {.data = negative, .size = sizeof negative},
                               {.data = five, .size = sizeof five},
                               {.data = longer, .size = sizeof longer}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(descriptor_decode(&back, &bad[i], &e), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_lent_and_come_back),
        cmocka_unit_test(a_full_pool_is_busy),
        cmocka_unit_test(many_processes_may_hold_large_images),
        cmocka_unit_test(only_the_first_slots_are_lent),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(foreign_memory_is_not_found),
        cmocka_unit_test(limits_of_the_process_are_errors),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_cut_returns_what_is_not_on_lease),
        cmocka_unit_test(a_lease_outlives_the_producer),
        cmocka_unit_test(others_cannot_write),
        cmocka_unit_test(descriptors_outside_are_refused),
        cmocka_unit_test(forged_pools_are_refused),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(descriptors_there_and_back),
    };
    return unit_run(tests);
}
