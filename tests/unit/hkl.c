/* Files of structure factors: nanoBragg's rules, strict rules, Fdump.bin, symmetry. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "io/structure_factors/hkl.h"
#include "scratch.h"

static enum status read_text(const char *text, enum physics physics, double default_F,
                             struct hkl_table *t, struct error *e)
{
    return hkl_read(scratch_text(scratch_path("a.hkl"), text), physics, NULL, HKL_MATES_APART,
                    default_F, t, e);
}

static double value(const struct hkl_table *t, int h, int k, int l)
{
    const double *F = hkl_find(t, (int[]){h, k, l});
    assert_non_null(F);
    return *F;
}

static void faithful_reads_tokens_not_lines(void **state)
{
    (void)state;
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(read_text("1 2\n3 10 -1 0 2 20\n1 2 3\n30\n", PHYSICS_FAITHFUL, 7.0, &t, &e),
                     STATUS_OK);
    assert_int_equal(t.min[0], -1);
    assert_int_equal(t.count[0], 3);
    assert_int_equal(t.min[1], 0);
    assert_int_equal(t.count[1], 3);
    assert_int_equal(t.count[2], 2);
    assert_true(value(&t, 1, 2, 3) == 30.0);  // the later one
    assert_true(value(&t, -1, 0, 2) == 20.0);
    assert_true(value(&t, 0, 0, 2) == 7.0);  // a hole
    hkl_free(&t);
}

static void faithful_box_comes_from_the_first_reading(void **state)
{
    (void)state;
    struct hkl_table t;
    struct error e = {0};
    const char *text = "0 0 0 1\n1.5 2 3 5\n4 4 4 9\n# 9 9 9 9\n";
    assert_int_equal(read_text(text, PHYSICS_FAITHFUL, 0.0, &t, &e), STATUS_OK);
    assert_int_equal(t.count[0], 5);  // 4 4 4 counts for the box ...
    assert_true(value(&t, 0, 0, 0) == 1.0);
    assert_true(value(&t, 4, 4, 4) == 0.0);  // ... but values end at 1.5
    hkl_free(&t);
}

static void faithful_heading_gives_an_empty_list(void **state)
{
    (void)state;
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(read_text("h k l F\n1 2 3 4\n", PHYSICS_FAITHFUL, 5.0, &t, &e), STATUS_OK);
    assert_null(t.F);
    assert_int_equal(t.count[0], 0);
    assert_true(t.default_F == 5.0);
}

static void strict_reads_comments_and_more_columns(void **state)
{
    (void)state;
    struct hkl_table t;
    struct error e = {0};
    const char *text = "# a list\r\n\n 1 2 3 10.5 0.7 # sigma\n-1 0 2 2e1\r\n1 2 3 10.501";
    assert_int_equal(read_text(text, PHYSICS_PHYSICAL, 0.0, &t, &e), STATUS_OK);
    assert_true(value(&t, 1, 2, 3) == 10.501);  // the same, within what data can say
    assert_true(value(&t, -1, 0, 2) == 20.0);
    assert_null(hkl_find(&t, (int[]){2, 0, 2}));
    hkl_free(&t);
}

static void strict_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"1 2 3 4\nh k l F\n", ":2: h: 'h' is not a whole number"},
        {"1.5 2 3 4\n", ":1: h: '1.5' is not a whole number"},
        {"1 2 3\n", ":1: 3 columns; expected h k l F, or h k l F sigma"},
        {"1 2 3 4 5\n1 2 4 4 5 6\n", ":2: 6 columns; expected h k l F, or h k l F sigma"},
        {"1 2 3 4 5\n0 0 0 0.00 0.00\n",
         ":2: a line of zeros, which ends lists of intensities of SHELX"},
        {"1 2 3 nan\n", ":1: F in electrons: 'nan' is not a finite number"},
        {"1 2 3 1e999\n", ":1: F in electrons: '1e999' is not a finite number"},
        {"1 2 3 -2e9\n", ":1: F in electrons: '-2e9' is out of range"},
        {"1 2 3 4x\n", ":1: F in electrons: '4x' is not a finite number"},
        {"0 0 0 1\n1 2 3 4\n1 2 3 5\n", ":2: F of 1 2 3 is 4 in this line and 5 in a later one"},
        {"1 2 2147483648 4\n", ":1: l: '2147483648' is out of range"},
        {"99999999999999999999 2 3 4\n", ":1: h: "},
        {"# nothing\n", ": no reflections"},
        {"0 0 0 1\n1000 1000 1000 1\n", ": indices span 1001 x 1001 x 1001; expected at most"},
    };
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.hkl"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hkl_table t;
        struct error e = {0};
        assert_int_equal(read_text(bad[i].text, PHYSICS_PHYSICAL, 0.0, &t, &e), STATUS_INPUT);
        assert_int_equal(strncmp(e.text, path, strlen(path)), 0);
        assert_int_equal(strncmp(e.text + strlen(path), bad[i].error, strlen(bad[i].error)), 0);
        assert_null(t.F);
    }
}

static void both_refuse_what_is_no_text(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s", scratch_path("a.hkl"));
    for (int physics = 0; physics < 2; physics++) {
        struct hkl_table t;
        struct error e = {0};
        scratch_put(path, "1 2 3 4\n\0\n", 10);
        assert_int_equal(hkl_read(path, (enum physics)physics, NULL, HKL_MATES_APART, 0.0, &t, &e),
                         STATUS_INPUT);
        assert_non_null(strstr(e.text, "zero bytes"));
        assert_int_equal(
            hkl_read(scratch_folder, (enum physics)physics, NULL, HKL_MATES_APART, 0.0, &t, &e),
            STATUS_FAILED);
        assert_int_equal(
            hkl_read("/nowhere", (enum physics)physics, NULL, HKL_MATES_APART, 0.0, &t, &e),
            STATUS_FAILED);
    }
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(read_text("0 0 0 inf", PHYSICS_FAITHFUL, 0.0, &t, &e), STATUS_INPUT);
    assert_int_equal(read_text("nan 0 0 1", PHYSICS_FAITHFUL, 0.0, &t, &e), STATUS_INPUT);
    assert_int_equal(read_text("0 1e300 0 1", PHYSICS_FAITHFUL, 0.0, &t, &e), STATUS_INPUT);
}

static void dump_has_nanobraggs_layout(void **state)
{
    (void)state;
    struct hkl_table t, back;
    struct error e = {0};
    assert_int_equal(read_text("-1 0 2 3\n0 0 3 4\n", PHYSICS_FAITHFUL, 0.0, &t, &e), STATUS_OK);
    char other[256];
    (void)snprintf(other, sizeof other, "%s", scratch_path("Fdump.bin"));
    FILE *out = fopen(other, "wb");
    assert_int_equal(hkl_write_dump(out, &t, other, &e), STATUS_OK);
    assert_int_equal(fclose(out), 0);

    char bytes[256];
    FILE *in = fopen(other, "rb");
    const size_t n = fread(bytes, 1, sizeof bytes, in);
    assert_int_equal(fclose(in), 0);
    assert_int_equal(n, 14 + 3 * 2 * 3 * 8);
    assert_memory_equal(bytes, "-1 0 0 0 2 3\n\f", 14);
    double items[18], expected[18] = {0};
    expected[0] = 3.0;  // -1 0 2
    expected[7] = 4.0;  // 0 0 3
    memcpy(items, bytes + 14, sizeof items);
    assert_memory_equal(items, expected, sizeof items);

    assert_int_equal(hkl_read_dump(other, 9.0, &back, &e), STATUS_OK);
    assert_memory_equal(back.min, t.min, sizeof t.min);
    assert_memory_equal(back.count, t.count, sizeof t.count);
    assert_memory_equal(back.F, t.F, 4 * sizeof *t.F);
    assert_true(back.default_F == 9.0);
    hkl_free(&back);
    for (size_t cut = 0; cut < n; cut++) {
        scratch_put(other, bytes, cut);
        assert_int_equal(hkl_read_dump(other, 9.0, &back, &e), STATUS_INPUT);
    }
    bytes[n] = 0;
    scratch_put(other, bytes, n + 1);
    assert_int_equal(hkl_read_dump(other, 9.0, &back, &e), STATUS_INPUT);
    scratch_put(other, "-2147483648 2147483647 0 1 -2147483648 2147483647\n\f", 51);
    assert_int_equal(hkl_read_dump(other, 9.0, &back, &e), STATUS_INPUT);
    hkl_free(&t);
}

/* A threefold axis along c, h k l -> k -h-k l, and Friedel's law: 001 maps to
 * itself and 00-1, 100 to six in the plane. */
static void symmetry_uses_rows_times_matrices(void **state)
{
    (void)state;
    static const int threefold[3][9] = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1},
        {0, -1, 0, 1, -1, 0, 0, 0, 1},  // -y, x-y, z
        {-1, 1, 0, -1, 0, 0, 0, 0, 1},  // y-x, -x, z
    };
    const struct reflection list[] = {{{2, 1, 0}, 1, 5.0}, {{0, 0, 1}, 2, 3.0}};
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(hkl_expand(list, 2, threefold, 3, HKL_MATES_ALIKE, 0.0, &t, "test", &e),
                     STATUS_OK);
    static const int same[6][3] = {{2, 1, 0},   {1, -3, 0}, {-3, 2, 0},
                                   {-2, -1, 0}, {-1, 3, 0}, {3, -2, 0}};
    for (int i = 0; i < 6; i++)
        assert_true(*hkl_find(&t, same[i]) == 5.0);
    assert_true(value(&t, 0, 0, 1) == 3.0);
    assert_true(value(&t, 0, 0, -1) == 3.0);
    size_t filled = 0;
    for (int i = 0; i < t.count[0] * t.count[1] * t.count[2]; i++)
        filled += t.F[i] > 0.0;
    assert_int_equal(filled, 8);
    hkl_free(&t);
    const struct reflection twice[] = {{{2, 1, 0}, 7, 5.0}, {{1, -3, 0}, 8, 6.0}};
    assert_int_equal(hkl_expand(twice, 2, threefold, 3, HKL_MATES_ALIKE, 0.0, &t, "test", &e),
                     STATUS_INPUT);
    assert_non_null(strstr(e.text, "test:7: F of 2 1 0 is 5 in this line and 6 in a later one"));
    assert_null(t.F);
}

/* A mate that is there itself keeps its F, wherever in the list it stands and as whichever
 * equivalent; others follow. */
static void mates_may_have_their_own(void **state)
{
    (void)state;
    static const int twofold[2][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {-1, 0, 0, 0, 1, 0, 0, 0, -1}};
    const struct reflection list[] = {
        {{1, -2, 3}, 1, 8.0}, {{1, 2, 3}, 2, 5.0}, {{2, 1, 1}, 3, 4.0}, {{-3, -1, 0}, 4, 2.0}};
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(hkl_expand(list, 4, twofold, 2, HKL_MATES_OWN, 0.0, &t, "test", &e),
                     STATUS_OK);
    assert_true(value(&t, 1, 2, 3) == 5.0 && value(&t, -1, 2, -3) == 5.0);
    assert_true(value(&t, -1, -2, -3) == 8.0 && value(&t, 1, -2, 3) == 8.0);
    assert_true(value(&t, 2, 1, 1) == 4.0 && value(&t, -2, -1, -1) == 4.0);
    assert_true(value(&t, -3, -1, 0) == 2.0 && value(&t, 3, 1, 0) == 2.0);
    hkl_free(&t);
    assert_true(hkl_is_centric((int[]){1, 0, 3}, twofold, 2));
    assert_false(hkl_is_centric((int[]){1, 2, 3}, twofold, 2));
    const struct reflection centric[] = {{{1, 0, 3}, 7, 5.0}, {{-1, 0, -3}, 8, 6.0}};
    assert_int_equal(hkl_expand(centric, 2, twofold, 2, HKL_MATES_OWN, 0.0, &t, "test", &e),
                     STATUS_INPUT);
    assert_non_null(strstr(e.text, "test:7: F of 1 0 3 is 5 in this line and 6 in a later one"));
}

/* Friedel mates show whether a list is complete or a part. */
static void unique_parts_are_found(void **state)
{
    (void)state;
    static const int identity[1][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    struct reflection list[64];
    size_t n = 0;
    for (int h = 0; h < 4; h++)
        for (int k = 0; k < 4; k++)
            for (int l = 0; l < 4; l++, n++)
                list[n] = (struct reflection){{h, k, l}, (int)n + 1, 3.0};
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(hkl_expand(list, n, identity, 1, HKL_MATES_APART, 0.0, &t, "test", &e),
                     STATUS_OK);
    assert_true(hkl_is_unique_part(&t));
    hkl_free(&t);
    assert_int_equal(hkl_expand(list, n, identity, 1, HKL_MATES_ALIKE, 0.0, &t, "test", &e),
                     STATUS_OK);
    assert_false(hkl_is_unique_part(&t));
    hkl_free(&t);
    /* a handful that somebody typed */
    assert_int_equal(hkl_expand(list, 40, identity, 1, HKL_MATES_APART, 0.0, &t, "test", &e),
                     STATUS_OK);
    assert_false(hkl_is_unique_part(&t));
    hkl_free(&t);
    assert_false(hkl_is_unique_part(&t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faithful_reads_tokens_not_lines),
        cmocka_unit_test(faithful_box_comes_from_the_first_reading),
        cmocka_unit_test(faithful_heading_gives_an_empty_list),
        cmocka_unit_test(strict_reads_comments_and_more_columns),
        cmocka_unit_test(strict_refuses),
        cmocka_unit_test(both_refuse_what_is_no_text),
        cmocka_unit_test(dump_has_nanobraggs_layout),
        cmocka_unit_test(symmetry_uses_rows_times_matrices),
        cmocka_unit_test(mates_may_have_their_own),
        cmocka_unit_test(unique_parts_are_found),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
