/* Files that are either complete or absent, and the index that names them. */
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/log.h"
#include "io/output/frame_index.h"
#include "io/output/output_file.h"
#include "scratch.h"

static const char *content(const char *path)
{
    static char text[4096];
    FILE *in = fopen(path, "rb");
    if (!in)
        return "";
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    (void)fclose(in);
    return text;
}

static void file_appears_when_it_is_complete(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.img"));
    scratch_text(path, "old");
    for (int sync = 0; sync < 2; sync++) {
        struct replace r;
        assert_int_equal(replace_open(&r, path, NULL), STATUS_OK);
        r.sync = sync;
        fputs("new", r.stream);
        fflush(r.stream);
        assert_string_equal(content(path), sync ? "new" : "old");
        assert_int_equal(replace_commit(&r, NULL), STATUS_OK);
        assert_string_equal(content(path), "new");
        assert_int_equal(scratch_count(), 1);
    }
    unlink(path);
}

/* A guarded file takes the place of what it begins with, and of nothing else. */
static void guarded_file_loses_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        bool replaced;
    } cases[] = {{NULL, true},       {"", true},           {"new", true},
                 {"new text", true}, {"new text!", false}, {"old", false}};
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.img"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replace r;
        struct error e = {0};
        if (cases[i].before)
            (void)scratch_text(path, cases[i].before);
        assert_int_equal(replace_open(&r, path, NULL), STATUS_OK);
        r.guarded = true;
        fputs("new text", r.stream);
        assert_int_equal(replace_flush(&r, &e), STATUS_OK);
        assert_int_equal(replace_commit(&r, &e), cases[i].replaced ? STATUS_OK : STATUS_FAILED);
        assert_string_equal(content(path), cases[i].replaced ? "new text" : cases[i].before);
        assert_true(
            cases[i].replaced ||
            strstr(e.text, "a.img exists and was not written by this run. Use --overwrite"));
        assert_int_equal(scratch_count(), 1);
        unlink(path);
    }
}

/* A limit on the size of files stands for a full disk. */
static void full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    static char block[1 << 16];
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.img"));
    scratch_text(path, "old");
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100000;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct replace r;
    struct error e = {0};
    assert_int_equal(replace_open(&r, path, NULL), STATUS_OK);
    for (int i = 0; i < 4; i++)
        (void)!fwrite(block, 1, sizeof block, r.stream);
    assert_int_equal(replace_commit(&r, &e), STATUS_FAILED);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(e.text, "a.img: cannot write: "));
    assert_string_equal(content(path), "old");
    assert_int_equal(scratch_count(), 1);
    unlink(path);
}

static enum status open_index(struct frame_index *x, const char *path, const char *lineage,
                              bool overwrite, bool sync, struct error *e)
{
    const struct frame_index_settings settings = {
        .lineage = lineage, .history = "", .overwrite = overwrite, .sync = sync};
    return frame_index_open(x, path, &settings, e);
}

/* A leftover goes; what somebody writes to, and what is no temporary file of these, stays. */
static void leftovers_of_the_dead_are_removed(void **state)
{
    (void)state;
    static const char *const others[] = {"b_1.img.part-abcdef",  "a_1.png.part-abcdef",
                                         "a_x1.img.part-abcdef", "a_1.img.part-abcde",
                                         "a_1.img.backup",       "a_1.img"};
    struct template t;
    struct replace r;
    char text[256], path[256];
    (void)snprintf(text, sizeof text, "%s", scratch_path("a_%03d.img"));
    assert_int_equal(template_parse(&t, text, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        scratch_text(scratch_path(others[i]), "x");
    scratch_text(scratch_path("a_007.img.part-abcdef"), "x");
    scratch_text(scratch_path("a_1000000.img.part-ABC123"), "x");
    template_name(&t, 5, path);
    assert_int_equal(replace_open(&r, path, NULL), STATUS_OK);
    leftovers_remove(&t);
    assert_int_equal(scratch_count(), sizeof others / sizeof *others + 1);
    assert_int_equal(replace_commit(&r, NULL), STATUS_OK);
    assert_int_equal(access(path, R_OK), 0);
    unlink(path);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(unlink(scratch_path(others[i])), 0);
    assert_int_equal(scratch_count(), 0);
}

/* Odd frames are hits. */
static enum status add(struct frame_index *x, uint64_t id, uint32_t crc, const char *names,
                       struct error *e)
{
    const struct index_entry entry = {id, crc, 20, id % 2 == 1, names};
    return frame_index_add(x, &entry, e);
}

static void index_without_frames_is_no_file(void **state)
{
    (void)state;
    struct frame_index x;
    assert_int_equal(open_index(&x, scratch_path("a.index"), "l", false, false, NULL), STATUS_OK);
    frame_index_close(&x);
    assert_int_equal(scratch_count(), 0);
}

static void index_is_continued(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.index"));
    struct frame_index x;
    struct error e = {0};
    assert_int_equal(open_index(&x, path, "0123456789abcdef", false, false, &e), STATUS_OK);
    assert_int_equal(add(&x, 3, 0xdeadbeef, "a_3.img\ta_3.png", &e), STATUS_OK);
    frame_index_close(&x);
    assert_string_equal(content(path), "bragg-index 3 0123456789abcdef\n"
                                       "3\tdeadbeef\t20\thit\ta_3.img\ta_3.png\n");
    assert_int_equal(open_index(&x, path, "0123456789abcdef", false, true, &e), STATUS_OK);
    assert_int_equal(add(&x, 3, 0xdeadbeef, "a_3.img\ta_3.png", &e), STATUS_OK);
    assert_int_equal(add(&x, 1, 7, "a_1.img", &e), STATUS_OK);
    assert_int_equal(add(&x, 1, 7, "a_1.img", &e), STATUS_OK);
    assert_int_equal(add(&x, 1, 7, "b_1.img", &e), STATUS_OK);
    frame_index_close(&x);
    assert_string_equal(content(path), "bragg-index 3 0123456789abcdef\n"
                                       "3\tdeadbeef\t20\thit\ta_3.img\ta_3.png\n"
                                       "1\t00000007\t20\thit\ta_1.img\n"
                                       "1\t00000007\t20\thit\tb_1.img\n");
    unlink(path);
}

static void other_pixels_for_a_frame_are_a_fault(void **state)
{
    (void)state;
    struct frame_index x;
    struct error e = {0};
    const char *path =
        scratch_text(scratch_path("a.index"), "bragg-index 3 l\n3\t00000007\t20\thit\tx\n");
    assert_int_equal(open_index(&x, path, "l", false, false, &e), STATUS_OK);
    assert_int_equal(frame_index_check(&x, 4, 8, &e), STATUS_OK);
    assert_int_equal(frame_index_check(&x, 3, 7, &e), STATUS_OK);
    assert_int_equal(frame_index_check(&x, 3, 8, &e), STATUS_FAILED);
    assert_int_equal(add(&x, 3, 8, "x", &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "a.index: frame 3 has other pixels than before (checksum was "
                                   "00000007, is 00000008)"));
    frame_index_close(&x);
    unlink(scratch_path("a.index"));
}

static void unfinished_line_is_removed(void **state)
{
    (void)state;
    struct frame_index x;
    struct error e = {0};
    const char *path =
        scratch_text(scratch_path("a.index"), "bragg-index 3 l\n3\t00000007\t20\thit\tx\n4\t000");
    assert_int_equal(open_index(&x, path, "l", false, false, &e), STATUS_OK);
    assert_int_equal(add(&x, 4, 9, "y", &e), STATUS_OK);
    frame_index_close(&x);
    assert_string_equal(content(scratch_path("a.index")),
                        "bragg-index 3 l\n3\t00000007\t20\thit\tx\n4\t00000009\t20\tblank\ty\n");
    unlink(scratch_path("a.index"));
}

/* An index of version 2 has no column for hits, and gets none. */
static void old_index_is_continued(void **state)
{
    (void)state;
    static const char *const old[] = {"bragg-index 2 l\n3\t00000007\t20\tx\n",
                                      "bragg-index 2 l\n3\t00000007\t20\tx\n5\t000",
                                      "bragg-index 2 l\n"};
    static const char *const then[] = {"bragg-index 2 l\n3\t00000007\t20\tx\n4\t00000009\t20\ty\n",
                                       "bragg-index 2 l\n3\t00000007\t20\tx\n4\t00000009\t20\ty\n",
                                       "bragg-index 2 l\n4\t00000009\t20\ty\n"};
    for (int i = 0; i < 3; i++) {
        struct frame_index x;
        struct error e = {0};
        const char *path = scratch_text(scratch_path("a.index"), old[i]);
        assert_int_equal(open_index(&x, path, "l", false, false, &e), STATUS_OK);
        assert_true(frame_index_has(&x, 3, "x", 20) == (i < 2));
        assert_int_equal(add(&x, 4, 9, "y", &e), STATUS_OK);
        frame_index_close(&x);
        assert_string_equal(content(path), then[i]);
        unlink(path);
    }
}

/* Nothing of it was said: it may become a new one. */
static void old_index_without_a_frame_is_replaced(void **state)
{
    (void)state;
    static const char *const old[] = {"bragg-index 2 l\n3\t0000", "bragg-index 2"};
    for (int i = 0; i < 2; i++) {
        struct frame_index x;
        struct error e = {0};
        const char *path = scratch_text(scratch_path("a.index"), old[i]);
        assert_int_equal(open_index(&x, path, "l", false, false, &e), STATUS_OK);
        assert_int_equal(add(&x, 3, 9, "y", &e), STATUS_OK);
        frame_index_close(&x);
        assert_string_equal(content(path), "bragg-index 3 l\n3\t00000009\t20\thit\ty\n");
        unlink(path);
    }
}

static const char *const ours = "bragg-index 3 l\n# a\tseed=7\n# b\n";

static const struct frame_index_settings resuming = {
    .lineage = "l", .history = "a\tseed=7\nb\n", .resume = true, .overwrite = true};

static void unfinished_head_is_written_again(void **state)
{
    (void)state;
    char torn[64], path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.index"));
    for (size_t length = 0; length <= strlen(ours); length++) {
        struct frame_index x;
        struct error e = {0};
        (void)snprintf(torn, sizeof torn, "%.*s", (int)length, ours);
        (void)scratch_text(path, torn);
        assert_int_equal(frame_index_open(&x, path, &resuming, &e), STATUS_OK);
        assert_int_equal(add(&x, 4, 9, "y", &e), STATUS_OK);
        frame_index_close(&x);
        assert_int_equal(frame_index_open(&x, path, &resuming, &e), STATUS_OK);
        assert_true(frame_index_has(&x, 4, "y", 20));
        frame_index_close(&x);
        if (!length || ours[length - 1] != '\n')
            assert_true(strncmp(content(path), ours, strlen(ours)) == 0);
        unlink(path);
    }
}

static void resume_continues_and_names_what_differs(void **state)
{
    (void)state;
    char text[128];
    struct frame_index x;
    struct error e = {0};
    struct id_set ids = {0};
    (void)snprintf(text, sizeof text, "%s3\t00000007\t20\thit\tx\n5\t00000007\t20\thit\tz\n", ours);
    const char *path = scratch_text(scratch_path("a.index"), text);
    assert_int_equal(frame_index_open(&x, path, &resuming, &e), STATUS_OK);
    frame_index_ids(&x, &ids);
    assert_true(id_set_size(&ids) == 2 && id_set_has(&ids, 3) && id_set_has(&ids, 5));
    assert_true(frame_index_has(&x, 3, "x", 20));
    assert_false(frame_index_has(&x, 3, "x", 21));
    assert_false(frame_index_has(&x, 3, "y", 20));
    assert_false(frame_index_has(&x, 4, "x", 20));
    id_set_clear(&ids);
    frame_index_close(&x);
    struct frame_index_settings other = resuming;
    other.lineage = "m";
    other.history = "a\tseed=8\nb\n";
    other.overwrite = false;
    assert_int_equal(frame_index_open(&x, path, &other, &e), STATUS_INPUT);
    assert_non_null(
        strstr(e.text, "made with other options (a: --seed was 7, is 8). Use --overwrite"));
    frame_index_close(&x);
    assert_string_equal(content(path), text);
    unlink(path);
}

static void other_lineage_needs_overwrite(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"bragg-index 3 m\n3\t00000007\t20\thit\tx\n",
         "lists frames that were made with other options (m, not l)"},
        {"something else\n", "exists and is not an index of frames"},
        {"bragg-index 1 l\n", "exists and is not an index of frames"},
        {"something else", "exists and is not an index of frames"},
        {"bragg-index 3 l\nx\n", "a.index:2: not a line of an index of frames"},
        {"bragg-index 3 l\n3\t00000007\t20\tx\n", "a.index:2: not a line of an index of frames"},
        {"bragg-index 3 l\n3 x\n", "a.index:2: not a line of an index of frames"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct frame_index x;
        struct error e = {0};
        const char *path = scratch_text(scratch_path("a.index"), bad[i].text);
        assert_int_equal(open_index(&x, path, "l", false, false, &e), STATUS_FAILED);
        frame_index_close(&x);
        assert_non_null(strstr(e.text, bad[i].error));
        assert_string_equal(content(path), bad[i].text);
        assert_int_equal(open_index(&x, path, "l", true, false, &e), STATUS_OK);
        frame_index_close(&x);  // without a frame
        assert_string_equal(content(path), bad[i].text);
        assert_int_equal(open_index(&x, path, "l", true, false, &e), STATUS_OK);
        assert_int_equal(add(&x, 5, 6, "y", &e), STATUS_OK);
        frame_index_close(&x);
        assert_string_equal(content(path), "bragg-index 3 l\n5\t00000006\t20\thit\ty\n");
        unlink(path);
    }
}

static enum status open_of_run(struct frame_index *x, const char *path, uint64_t run,
                               bool overwrite, struct error *e)
{
    const struct frame_index_settings settings = {
        .lineage = "l", .history = "", .run = run, .overwrite = overwrite};
    return frame_index_open(x, path, &settings, e);
}

/* Processes of one run share an index, in the time of which another run is refused. */
static void index_belongs_to_a_run(void **state)
{
    (void)state;
    char path[256], number[64];
    struct frame_index a, b, other;
    struct error e = {0};
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.index"));
    (void)snprintf(number, sizeof number, "a.index: process %ld of another run", (long)getpid());
    for (uint64_t run = 0; run < 20; run++) {  // whichever stands first among the locks
        assert_int_equal(open_of_run(&a, path, run, run % 2, &e), STATUS_OK);
        assert_int_equal(add(&a, 1, 7, "x", &e), STATUS_OK);
        assert_int_equal(open_of_run(&b, path, run, run % 2, &e), STATUS_OK);
        assert_int_equal(add(&b, 2, 8, "y", &e), STATUS_OK);
        frame_index_close(&a);
        assert_int_equal(open_of_run(&other, path, run + 1, run % 2, &e), STATUS_FAILED);
        assert_non_null(strstr(e.text, number));
        frame_index_close(&other);
        frame_index_close(&b);
        assert_int_equal(open_of_run(&other, path, run + 1, false, &e), STATUS_OK);
        assert_true(frame_index_has(&other, 1, "x", 20) && frame_index_has(&other, 2, "y", 20));
        frame_index_close(&other);
        unlink(path);
    }
}

static void index_that_is_harmed_is_written_again(void **state)
{
    (void)state;
    static const char *const head = "bragg-index 3 l\n", *const first = "1\t00000007\t20\thit\tx\n",
                             *const second = "2\t00000008\t20\tblank\ty\n";
    char path[256], whole[256], harmed[4][256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.index"));
    (void)snprintf(whole, sizeof whole, "%s%s%s", head, first, second);
    (void)snprintf(harmed[0], sizeof *harmed, "bragg-ind");
    (void)snprintf(harmed[1], sizeof *harmed, "%s", head);
    (void)snprintf(harmed[2], sizeof *harmed, "%s%.9s", head, first);
    (void)snprintf(harmed[3], sizeof *harmed, "%s%s", head, first);
    for (int i = -1; i < 4; i++)
        for (int replaced = 0; replaced < 2; replaced++) {
            struct frame_index x;
            struct error e = {0};
            assert_int_equal(open_of_run(&x, path, 1, false, &e), STATUS_OK);
            assert_int_equal(add(&x, 1, 7, "x", &e), STATUS_OK);
            assert_int_equal(add(&x, 2, 8, "y", &e), STATUS_OK);
            if (i < 0 || replaced)
                unlink(path);
            if (i >= 0)
                (void)scratch_text(path, harmed[i]);
            assert_int_equal(frame_index_hold(&x, &e), STATUS_OK);
            assert_string_equal(content(path), whole);
            frame_index_close(&x);
            unlink(path);
        }
}

/* What others have cut off and then added to is as long as it was: the end finds it. */
static void index_is_whole_in_the_end(void **state)
{
    (void)state;
    char path[256];
    struct frame_index x;
    struct error e = {0};
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.index"));
    assert_int_equal(open_of_run(&x, path, 1, false, &e), STATUS_OK);
    assert_int_equal(add(&x, 1, 7, "x", &e), STATUS_OK);
    (void)scratch_text(path, "bragg-index 3 l\n4\t00000007\t20\tblank\tzzzz\n");
    assert_int_equal(frame_index_hold(&x, &e), STATUS_OK);
    assert_int_equal(frame_index_finish(&x, &e), STATUS_OK);
    assert_string_equal(content(path), "bragg-index 3 l\n4\t00000007\t20\tblank\tzzzz\n"
                                       "1\t00000007\t20\thit\tx\n");
    (void)scratch_text(path, "notes of somebody\n");
    assert_int_equal(frame_index_hold(&x, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "a.index exists and is not an index of frames"));
    assert_string_equal(content(path), "notes of somebody\n");
    frame_index_close(&x);
    unlink(path);
}

/* Nothing is lost with an index of another lineage that names no frame. */
static void empty_index_of_another_lineage_is_replaced(void **state)
{
    (void)state;
    struct frame_index x;
    struct error e = {0};
    const char *path = scratch_text(scratch_path("a.index"), "bragg-index 3 m\n# a\n");
    assert_int_equal(open_of_run(&x, path, 1, false, &e), STATUS_OK);
    assert_true(x.fresh);
    assert_int_equal(add(&x, 1, 7, "x", &e), STATUS_OK);
    frame_index_close(&x);
    assert_string_equal(content(scratch_path("a.index")),
                        "bragg-index 3 l\n1\t00000007\t20\thit\tx\n");
    unlink(scratch_path("a.index"));
}

/* A writer that begins takes no file for a leftover that another is just giving its name. */
static void names_are_given_beside_who_removes_leftovers(void **state)
{
    (void)state;
    enum { FILES = 5000 };
    char path[256];
    struct template t;
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.img"));
    assert_int_equal(template_parse(&t, path, NULL), STATUS_OK);
    const pid_t other = fork();
    while (other == 0)
        leftovers_remove(&t);
    int failed = 0;
    for (int i = 0; i < FILES; i++) {
        struct replace r;
        struct error e;
        failed += replace_open(&r, path, &e) || replace_commit(&r, &e);
    }
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
    assert_int_equal(failed, 0);
    unlink(path);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_appears_when_it_is_complete),
        cmocka_unit_test(guarded_file_loses_nothing),
        cmocka_unit_test(full_disk_leaves_the_old_file),
        cmocka_unit_test(leftovers_of_the_dead_are_removed),
        cmocka_unit_test(names_are_given_beside_who_removes_leftovers),
        cmocka_unit_test(index_without_frames_is_no_file),
        cmocka_unit_test(index_is_continued),
        cmocka_unit_test(unfinished_head_is_written_again),
        cmocka_unit_test(resume_continues_and_names_what_differs),
        cmocka_unit_test(other_pixels_for_a_frame_are_a_fault),
        cmocka_unit_test(unfinished_line_is_removed),
        cmocka_unit_test(old_index_is_continued),
        cmocka_unit_test(old_index_without_a_frame_is_replaced),
        cmocka_unit_test(other_lineage_needs_overwrite),
        cmocka_unit_test(index_belongs_to_a_run),
        cmocka_unit_test(index_that_is_harmed_is_written_again),
        cmocka_unit_test(index_is_whole_in_the_end),
        cmocka_unit_test(empty_index_of_another_lineage_is_replaced),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
