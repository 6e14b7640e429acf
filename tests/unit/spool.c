/* Spools, and NXmx series that keep frames in spools: shared, cut, removed and continued. */
#include "io/hdf5/spool.h"
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/nxmx/nxmx_series.h"
#include "io/nxmx/nxmx_spool.h"
#include "scratch.h"

static const struct spool_settings one_run = {.lineage = "a", .run = 1};

static void put(struct spool *s, uint64_t id, char *text)
{
    assert_int_equal(spool_add(s, id, text, strlen(text), true, NULL), STATUS_OK);
}

/* A record, as text. */
static const char *record(struct spool *s, size_t i)
{
    static char text[64];
    const struct records all = spool_records(s);
    const void *bytes;
    size_t size;
    assert_int_equal(all.read(all.state, i, &bytes, &size, NULL), STATUS_OK);
    assert_true(size < sizeof text);
    memcpy(text, bytes, size);
    text[size] = 0;
    return text;
}

static void two_processes_share_a_spool(void **state)
{
    (void)state;
    struct spool a, b;
    bool last, gone;
    const char *path = scratch_path("a.h5");
    assert_int_equal(spool_open(&a, path, &one_run, NULL), STATUS_OK);
    assert_int_equal(spool_open(&b, path, &one_run, NULL), STATUS_OK);
    put(&a, 7, "seven");
    put(&b, 3, "three");
    put(&a, 7, "seven again");
    assert_int_equal(spool_gather(&a, &last, NULL), STATUS_OK);
    assert_true(a.count == 2 && !last);
    assert_string_equal(record(&a, 0), "three");
    assert_string_equal(record(&a, 1), "seven again");
    spool_close(&a);
    assert_int_equal(spool_gather(&b, &last, NULL), STATUS_OK);
    assert_true(b.count == 2 && last);
    spool_release(&b);
    assert_int_equal(spool_open(&a, path, &one_run, NULL), STATUS_OK);
    spool_remove(&a);
    assert_int_equal(spool_hold(&b, &gone, NULL), STATUS_OK);
    assert_true(gone);
    spool_release(&b);
    assert_int_equal(spool_add(&b, 4, "four", 4, false, NULL), STATUS_FAILED);
    spool_close(&b);
}

static void pieces_are_put_together(void **state)
{
    (void)state;
    struct spool s;
    bool gone;
    char part[8] = "";
    const struct iovec pieces[] = {{"", 0}, {"ab", 2}, {"", 0}, {"cdefg", 5}, {"", 0}};
    assert_int_equal(spool_open(&s, scratch_path("b.h5"), &one_run, NULL), STATUS_OK);
    assert_int_equal(spool_hold(&s, &gone, NULL), STATUS_OK);
    const struct spool_record whole = spool_record_of(1, pieces, 5);
    assert_int_equal(spool_append(&s, &whole, false, NULL), STATUS_OK);
    spool_release(&s);
    assert_string_equal(record(&s, 0), "abcdefg");
    assert_int_equal(spool_peek(&s, 0, 1, part, 3, NULL), STATUS_OK);
    assert_string_equal(part, "bcd");
    assert_int_equal(spool_peek(&s, 0, 5, part, 3, NULL), STATUS_FAILED);
    spool_remove(&s);
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void what_is_not_whole_is_no_record(void **state)
{
    (void)state;
    struct spool s;
    struct error e;
    struct spool_settings resumed = one_run;
    char path[512], part[512];
    (void)snprintf(path, sizeof path, "%s", scratch_path("c.h5"));
    (void)snprintf(part, sizeof part, "%s", scratch_path("c.h5.part"));
    resumed.run = 2;
    resumed.resume = true;
    assert_int_equal(spool_open(&s, path, &one_run, NULL), STATUS_OK);
    put(&s, 1, "first");
    put(&s, 2, "second");
    spool_close(&s);
    assert_int_equal(truncate(part, size_of(part) - 1), 0);
    assert_int_equal(spool_open(&s, path, &resumed, NULL), STATUS_OK);
    assert_true(s.count == 1 && s.entries[0].id == 1);
    put(&s, 3, "third");
    assert_string_equal(record(&s, 1), "third");
    assert_int_equal(truncate(part, size_of(part) - 1), 0);
    assert_int_equal(spool_add(&s, 4, "fourth", 6, false, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "c.h5.part: another program truncated the file"));
    spool_close(&s);
}

static void damage(const char *path, long offset, int whence)
{
    FILE *file = fopen(path, "r+b");
    assert_true(file && fseek(file, offset, whence) == 0 && fputc(0x55, file) == 0x55);
    assert_int_equal(fclose(file), 0);
}

static void a_loss_of_power_costs_the_last_record(void **state)
{
    (void)state;
    struct spool s;
    struct spool_settings resumed = one_run;
    char path[512];
    (void)snprintf(path, sizeof path, "%s", scratch_path("k.h5"));
    resumed.resume = true;
    assert_int_equal(spool_open(&s, path, &one_run, NULL), STATUS_OK);
    put(&s, 1, "first");
    put(&s, 2, "second");
    spool_close(&s);
    damage(scratch_path("k.h5.part"), -1, SEEK_END);  // its head was on the disk before
    assert_int_equal(spool_open(&s, path, &resumed, NULL), STATUS_OK);
    assert_int_equal(s.count, 2);  // the run has reported it
    spool_close(&s);
    resumed.run = 2;
    assert_int_equal(spool_open(&s, path, &resumed, NULL), STATUS_OK);
    assert_true(s.count == 1 && s.entries[0].id == 1);
    put(&s, 3, "third");
    assert_string_equal(record(&s, 1), "third");
    spool_remove(&s);
}

static void a_link_is_not_followed(void **state)
{
    (void)state;
    struct spool s;
    struct error e;
    struct spool_settings replace = one_run;
    replace.replace = true;
    char others[512];
    (void)snprintf(others, sizeof others, "%s", scratch_path("others"));
    assert_int_equal(symlink("others", scratch_path("l.h5.part")), 0);
    for (int there = 0; there < 2; there++) {
        assert_int_equal(spool_open(&s, scratch_path("l.h5"), &replace, &e), STATUS_FAILED);
        assert_non_null(strstr(e.text, "l.h5.part: is a link; expected a file"));
        assert_int_equal(access(others, F_OK), there ? 0 : -1);
        FILE *file = fopen(others, "w");
        assert_true(file && fputc('x', file) == 'x' && fclose(file) == 0);
    }
    assert_int_equal(size_of(others), 1);
}

static void a_full_disk_leaves_no_spool(void **state)
{
    (void)state;
    struct spool s;
    struct error e;
    struct rlimit before, few;
    char part[512];
    (void)snprintf(part, sizeof part, "%s", scratch_path("m.h5.part"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    few = (struct rlimit){.rlim_cur = 8, .rlim_max = before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    const enum status status = spool_open(&s, scratch_path("m.h5"), &one_run, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, STATUS_FAILED);
    assert_non_null(strstr(e.text, "m.h5.part: cannot write"));
    assert_int_not_equal(access(part, F_OK), 0);
}

static void others_do_not_begin_where_one_is_at_work(void **state)
{
    (void)state;
    struct spool a, b;
    struct error e;
    struct spool_settings other = {.lineage = "b", .run = 1};
    const char *path = scratch_path("d.h5");
    assert_int_equal(spool_open(&a, path, &one_run, NULL), STATUS_OK);
    put(&a, 1, "first");
    assert_int_equal(spool_open(&b, path, &other, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "d.h5.part exists and was not written by this run"));
    other = (struct spool_settings){.lineage = "a", .run = 2};
    assert_int_equal(spool_open(&b, path, &other, &e), STATUS_FAILED);
    assert_non_null(strstr(
        e.text,
        "of another run is writing these frames. Wait for it to end, or write to another folder"));
    spool_close(&a);
    assert_int_equal(spool_open(&b, path, &other, NULL), STATUS_OK);
    assert_int_equal(b.count, 0);  // it goes, for it is not resumed
    spool_remove(&b);
}

/* ---- series ------------------------------------------------------------- */

enum { PIXELS = 6, PER_FILE = 3 };

static struct panel panel = {.fast_pixels = 3,
                             .slow_pixels = 2,
                             .pixel_m = 1e-4,
                             .fast = {0, 0, 1},
                             .slow = {0, -1, 0},
                             .origin_m = {0.2, 0, 0},
                             .distance_m = 0.2};
static struct experiment experiment = {.npanels = 1,
                                       .panels = &panel,
                                       .spindle = {0, 0, 1},
                                       .beam = {.direction = {1, 0, 0}, .wavelength_m = 1e-10}};
static char entered[64];  // ids, a digit each

static enum status enter(void *owner, const struct nxmx_note *note, struct error *e)
{
    (void)e;
    (void)owner;
    const size_t length = strlen(entered);
    (void)snprintf(entered + length, sizeof entered - length, "%d", (int)note->id);
    return STATUS_OK;
}

static void begin(struct nxmx_series *s, const char *master, uint64_t run, bool resume)
{
    const struct nxmx_settings settings = {
        .lineage = "0123456789abcdef", .run = run, .resume = resume, .enter = enter};
    assert_int_equal(nxmx_series_open(s, master, NULL), STATUS_OK);
    s->frames_per_file = PER_FILE;
    assert_int_equal(nxmx_series_begin(s, &experiment, &settings, NULL), STATUS_OK);
}

/* A frame of these pixels, with labels or without; image_free(&f->image) frees it. */
static void make(struct frame *f, uint64_t id, uint16_t value, size_t nlabels)
{
    static uint32_t labels[PIXELS];
    *f =
        (struct frame){.recipe = {.id = id}, .reflections = {.nlabels = nlabels, .labels = labels}};
    assert_true(image_reserve(&f->image, PIXEL_U16, UNIT_ADU, PIXELS));
    for (int i = 0; i < PIXELS; i++)
        ((uint16_t *)f->image.pixels)[i] = value;
}

static void keep(struct nxmx_series *s, uint64_t id, uint16_t value)
{
    struct frame f;
    const struct nxmx_note note = {.id = id, .crc = 5};
    make(&f, id, value, PIXELS);
    assert_int_equal(nxmx_series_pack(s, &f, NULL), STATUS_OK);
    assert_int_equal(nxmx_series_keep(s, &f, &note, NULL), STATUS_OK);
    assert_int_equal(nxmx_series_settle(s, NULL), STATUS_OK);
    image_free(&f.image);
}

/* What has been entered since. */
static void check_entered(const char *wanted)
{
    assert_string_equal(entered, wanted);
    entered[0] = 0;
}

static void end(struct nxmx_series *s)
{
    assert_int_equal(nxmx_series_end(s, NULL), STATUS_OK);
    nxmx_series_close(s);
}

static void who_fills_a_file_writes_it(void **state)
{
    (void)state;
    struct nxmx_series a, b;
    const char *master = scratch_path("e.nxs");
    begin(&a, master, 1, false);
    begin(&b, master, 1, false);
    keep(&a, 2, 12);
    keep(&b, 0, 10);
    check_entered("");
    keep(&a, 1, 11);
    check_entered("012");
    keep(&b, 1, 11);  // it is there already: a new spool, and no file full
    check_entered("");
    keep(&b, 4, 14);
    keep(&a, 3, 13);
    assert_int_equal(nxmx_series_end(&a, NULL), STATUS_OK);
    check_entered("");  // b has them open
    assert_int_equal(nxmx_series_end(&b, NULL), STATUS_OK);
    check_entered("134");
    nxmx_series_close(&a);
    nxmx_series_close(&b);
    assert_int_not_equal(access(scratch_path("e_data_000001.h5.part"), F_OK), 0);
    assert_int_not_equal(access(scratch_path("e_data_000002.h5.part"), F_OK), 0);
}

static void a_file_is_full_with_what_it_had(void **state)
{
    (void)state;
    struct nxmx_series s;
    const char *master = scratch_path("f.nxs");
    begin(&s, master, 1, false);
    keep(&s, 2, 12);
    end(&s);
    check_entered("2");
    begin(&s, master, 2, true);
    keep(&s, 0, 10);
    nxmx_series_close(&s);  // as when it is killed
    check_entered("");
    begin(&s, master, 3, true);
    keep(&s, 1, 11);
    check_entered("01");
    end(&s);
    begin(&s, master, 4, false);
    for (uint64_t id = 0; id < 3; id++) {
        check_entered("");
        keep(&s, id, 10);
    }
    check_entered("012");  // once, not for each
    end(&s);
}

static void one_that_gets_no_frame_ends_it(void **state)
{
    (void)state;
    struct nxmx_series s;
    const char *master = scratch_path("j.nxs");
    for (uint64_t id = 0; id < 2; id++) {
        begin(&s, master, id + 1, true);
        keep(&s, id, 10);
        if (id == 0)
            end(&s);
        else
            nxmx_series_close(&s);
        check_entered(id == 0 ? "0" : "");
    }
    begin(&s, master, 3, true);
    end(&s);
    check_entered("1");
}

static void more_files_than_are_open(void **state)
{
    (void)state;
    struct nxmx_series s;
    enum { FILES = NXMX_OPEN_FILES + 2 };
    const char *master = scratch_path("g.nxs");
    begin(&s, master, 1, false);
    for (uint64_t place = 0; place < PER_FILE; place++)
        for (uint64_t file = 0; file < FILES; file++)
            keep(&s, file * PER_FILE + place, 1);
    assert_int_equal(id_set_size(&s.written), FILES);
    entered[0] = 0;
    end(&s);
    check_entered("");
}

static enum status count(void *owner, const struct nxmx_note *note, struct error *e)
{
    (void)e;
    assert_int_equal(note->crc, 5);
    ++*(int *)owner;
    return STATUS_OK;
}

static void a_damaged_frame_is_said(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct error e;
    int kept = 0;
    const char *part = scratch_path("h_data_000001.h5.part");
    begin(&s, scratch_path("h.nxs"), 1, false);
    keep(&s, 0, 10);
    keep(&s, 1, 11);
    nxmx_series_close(&s);
    begin(&s, scratch_path("h.nxs"), 2, true);
    assert_int_equal(nxmx_series_visit(&s, count, &kept, NULL), STATUS_OK);
    assert_int_equal(kept, 2);
    damage(part, SPOOL_FRONT + 100, SEEK_SET);  // the truth about the first frame
    assert_int_equal(nxmx_series_end(&s, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "h_data_000001.h5.part: corrupt"));
    check_entered("");
    assert_int_equal(nxmx_series_visit(&s, count, &kept, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "h_data_000001.h5.part: corrupt"));
    nxmx_series_close(&s);
}

/* The next run reads all of a spool, because it will not read the images again. */
static void a_damaged_image_is_said(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct error e;
    struct stat st;
    enum { HEADER = 40 };  // bytes of the header of a spool
    const struct nxmx_settings next = {.lineage = "0123456789abcdef", .run = 2, .resume = true};
    const char *master = scratch_path("o.nxs"), *part = scratch_path("o_data_000001.h5.part");
    begin(&s, master, 1, false);
    for (uint64_t id = 0; id < 2; id++)
        keep(&s, id, 10);
    nxmx_series_close(&s);
    assert_int_equal(stat(part, &st), 0);
    damage(part, (st.st_size + SPOOL_FRONT + HEADER) / 2 - 1, SEEK_SET);  // the end of record 0
    assert_int_equal(nxmx_series_open(&s, master, NULL), STATUS_OK);
    assert_int_equal(nxmx_series_begin(&s, &experiment, &next, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "o_data_000001.h5.part: corrupt"));
    nxmx_series_close(&s);
}

/* The state of a process that died before it removed the spool of a finished file. */
static void a_finished_file_is_not_changed(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct stat before, after;
    const char *part = scratch_path("p_data_000001.h5.part");
    const char *data = scratch_path("p_data_000001.h5");
    begin(&s, scratch_path("p.nxs"), 1, false);
    keep(&s, 0, 10);
    nxmx_series_close(&s);
    assert_int_equal(link(part, data), 0);
    assert_int_equal(stat(data, &before), 0);
    begin(&s, scratch_path("p.nxs"), 2, true);
    assert_int_equal(stat(data, &after), 0);
    assert_true(before.st_size == after.st_size && after.st_nlink == 1);
    assert_int_equal(unlink(data), 0);
    keep(&s, 1, 11);
    end(&s);
    check_entered("01");
}

static void a_frame_that_is_gone_is_missed(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct error e;
    begin(&s, scratch_path("i.nxs"), 1, false);
    keep(&s, 0, 10);
    assert_int_equal(unlink(scratch_path("i_data_000001.h5.part")), 0);
    keep(&s, 1, 11);
    assert_int_equal(nxmx_series_end(&s, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "i_data_000001.h5.part: another program removed the file"));
    assert_non_null(strstr(e.text, "frame 0 is lost"));
    check_entered("1");
    nxmx_series_close(&s);
}

static void frames_of_another_kind_do_not_get_in(void **state)
{
    (void)state;
    struct nxmx_series s;
    struct error e;
    struct frame f;
    const char *master = scratch_path("n.nxs");
    begin(&s, master, 1, false);
    keep(&s, 0, 10);
    nxmx_series_close(&s);
    begin(&s, master, 2, true);
    make(&f, 1, 11, 0);
    assert_int_equal(nxmx_series_pack(&s, &f, &e), STATUS_INPUT);
    assert_string_equal(e.text, "frame 1 has no labels, but others have them");
    image_free(&f.image);
    keep(&s, 1, 11);
    end(&s);
    check_entered("01");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_share_a_spool),
        cmocka_unit_test(pieces_are_put_together),
        cmocka_unit_test(what_is_not_whole_is_no_record),
        cmocka_unit_test(a_loss_of_power_costs_the_last_record),
        cmocka_unit_test(a_link_is_not_followed),
        cmocka_unit_test(a_full_disk_leaves_no_spool),
        cmocka_unit_test(others_do_not_begin_where_one_is_at_work),
        cmocka_unit_test(who_fills_a_file_writes_it),
        cmocka_unit_test(a_file_is_full_with_what_it_had),
        cmocka_unit_test(one_that_gets_no_frame_ends_it),
        cmocka_unit_test(more_files_than_are_open),
        cmocka_unit_test(a_damaged_frame_is_said),
        cmocka_unit_test(a_damaged_image_is_said),
        cmocka_unit_test(a_finished_file_is_not_changed),
        cmocka_unit_test(a_frame_that_is_gone_is_missed),
        cmocka_unit_test(frames_of_another_kind_do_not_get_in),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
