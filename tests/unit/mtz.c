/* MTZ files, good and corrupt ones. gemmi calculated tests/golden/lysozyme_6A.mtz from PDB entry
 * 1AKI to 6 A: columns H K L FC PHIC, P 21 21 21. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/rng.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/mtz.h"
#include "scratch.h"

static char good[1 << 16];
static size_t length;

static int load(void **state)
{
    char path[512];
    const char *tests = getenv("BRAGG_TESTS");
    (void)snprintf(path, sizeof path, "%s/golden/lysozyme_6A.mtz", tests ? tests : "tests");
    FILE *in = fopen(path, "rb");
    if (!in)
        return -1;
    length = fread(good, 1, sizeof good, in);
    (void)fclose(in);
    return scratch_enter(state);
}

static enum status read_bytes(const char *bytes, size_t n, const char *label, struct hkl_table *t,
                              struct error *e)
{
    double cell_A[3], cell_rad[3];
    return mtz_read(scratch_put(scratch_path("a.mtz"), bytes, n), label, 7.0, t, cell_A, cell_rad,
                    e);
}

/* Where `text` begins in the header. */
static char *find(char *bytes, const char *text)
{
    char *at = memmem(bytes, length, text, strlen(text));
    assert_non_null(at);
    return at;
}

static void good_file_is_expanded_to_p1(void **state)
{
    (void)state;
    struct hkl_table t;
    struct error e = {0};
    double cell_A[3], cell_rad[3];
    const char *path = scratch_put(scratch_path("a.mtz"), good, length);
    assert_int_equal(mtz_read(path, NULL, 7.0, &t, cell_A, cell_rad, &e), STATUS_OK);
    assert_true(fabs(cell_A[0] - 59.062) < 1e-9 && fabs(cell_A[2] - 30.517) < 1e-9);
    assert_true(fabs(cell_rad[1] - M_PI / 2) < 1e-12);
    for (int s = -1; s <= 1; s += 2)
        assert_true(fabs(*hkl_find(&t, (int[]){0, 0, 2 * s}) - 836.9596) < 1e-3);
    const double F = *hkl_find(&t, (int[]){1, 2, 3});
    assert_true(F != 7.0);
    for (int s = 0; s < 8; s++)
        assert_true(*hkl_find(&t, (int[]){s & 1 ? -1 : 1, s & 2 ? -2 : 2, s & 4 ? -3 : 3}) == F);
    assert_true(*hkl_find(&t, (int[]){0, 0, 1}) == 7.0);  // not in the file
    hkl_free(&t);
    assert_int_equal(mtz_read(path, "FC", 0.0, &t, cell_A, cell_rad, &e), STATUS_OK);
    hkl_free(&t);
}

static void column_must_be_an_amplitude(void **state)
{
    (void)state;
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(read_bytes(good, length, "PHIC", &t, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "a.mtz: column 'PHIC' is not an amplitude"));
    assert_int_equal(read_bytes(good, length, "FP", &t, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "a.mtz: no column 'FP'"));
}

/* Numbers that are not there are NaN in the file. */
static void missing_numbers_get_the_default(void **state)
{
    (void)state;
    static char bytes[sizeof good];
    memcpy(bytes, good, length);
    const float nan = NAN;
    memcpy(bytes + 80 + 3 * 4, &nan, sizeof nan);  // F of the first, 0 0 2
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(read_bytes(bytes, length, NULL, &t, &e), STATUS_OK);
    assert_true(*hkl_find(&t, (int[]){0, 0, 2}) == 7.0);
    hkl_free(&t);
}

/* A column of the file gets another label and type. */
static void relabel(char *bytes, const char *from, const char *label, char type)
{
    char *at = find(bytes, from);
    char text[81];
    (void)snprintf(text, sizeof text, "COLUMN %-30s %c", label, type);
    memcpy(at, text, strlen(text));
}

static float *numbers(char *bytes, int row)
{
    return (float *)(void *)(bytes + 80 + 20 * row);
}

/* F(+) goes to h and what the operators make of it, F(-) to -h; what is missing is as its mate. */
static void hands_are_told_apart(void **state)
{
    (void)state;
    static char bytes[sizeof good];
    memcpy(bytes, good, length);
    relabel(bytes, "COLUMN FC", "F(+)", 'G');
    relabel(bytes, "COLUMN PHIC", "F(-)", 'G');
    int general[3], n = 0;
    for (int row = 0; n < 3; row++) {
        const float *r = numbers(bytes, row);
        if (r[0] != 0.0f && r[1] != 0.0f && r[2] != 0.0f)
            general[n++] = row;
    }
    numbers(bytes, general[1])[3] = numbers(bytes, general[2])[4] = NAN;
    for (int i = 0; i < 3; i++)
        numbers(bytes, general[i])[4] += 400.0f;
    const char *path = scratch_put(scratch_path("a.mtz"), bytes, length);
    struct hkl_table t;
    struct error e = {0};
    double a[3], b[3];
    size_t split;
    assert_int_equal(mtz_read_hands(path, NULL, 7.0, &t, a, b, &split, &e), STATUS_OK);
    assert_true(split > 0);  // the second column is one of phases
    for (int i = 0; i < 3; i++) {
        const float *r = numbers(bytes, general[i]);
        const int h[3] = {(int)r[0], (int)r[1], (int)r[2]};
        const double plus = (double)r[i == 1 ? 4 : 3], minus = (double)r[i == 2 ? 3 : 4];
        for (int s = 0; s < 8; s++) {
            const int sign[3] = {s & 1 ? -1 : 1, s & 2 ? -1 : 1, s & 4 ? -1 : 1};
            const bool right = sign[0] * sign[1] * sign[2] > 0;
            const int at[3] = {sign[0] * h[0], sign[1] * h[1], sign[2] * h[2]};
            assert_true(*hkl_find(&t, at) == (right ? plus : minus));
        }
    }
    /* symmetry makes 0 0 2 and 0 0 -2 one */
    assert_true(*hkl_find(&t, (int[]){0, 0, 2}) == *hkl_find(&t, (int[]){0, 0, -2}));
    hkl_free(&t);
    assert_int_equal(mtz_read_hands(path, "F(+)", 7.0, &t, a, b, &split, &e), STATUS_USAGE);
    assert_int_equal(mtz_read_hands(path, "F(+),DANO", 7.0, &t, a, b, &split, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "no column 'DANO'"));
    scratch_put(scratch_path("a.mtz"), good, length);
    assert_int_equal(mtz_read_hands(path, NULL, 7.0, &t, a, b, &split, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "no two columns of type G"));
}

/* A column F(+) - F(-) instead of two columns. If it is missing, both are F. */
static void differences_go_half_each_way(void **state)
{
    (void)state;
    static char bytes[sizeof good];
    memcpy(bytes, good, length);
    relabel(bytes, "COLUMN PHIC", "DANO", 'D');
    int general = 0;
    while (numbers(bytes, general)[0] == 0.0f || numbers(bytes, general)[1] == 0.0f ||
           numbers(bytes, general)[2] == 0.0f)
        general++;
    const float *row = numbers(bytes, general);
    const int h[3] = {(int)row[0], (int)row[1], (int)row[2]}, mate[3] = {-h[0], -h[1], -h[2]};
    for (int missing = 0; missing < 2; missing++) {
        numbers(bytes, general)[4] = missing ? NAN : 40.0f;
        struct hkl_table t;
        struct error e = {0};
        double a[3], b[3];
        size_t split;
        const char *path = scratch_put(scratch_path("a.mtz"), bytes, length);
        assert_int_equal(
            mtz_read_hands(path, missing ? NULL : "FC,DANO", 7.0, &t, a, b, &split, &e), STATUS_OK);
        assert_true(*hkl_find(&t, h) == (double)row[3] + (missing ? 0.0 : 20.0));
        assert_true(*hkl_find(&t, mate) == (double)row[3] - (missing ? 0.0 : 20.0));
        hkl_free(&t);
    }
}

static void header_must_agree_with_itself(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *error;
    } bad[] = {
        {"MTZ ", "MTX ", "not an MTZ file"},
        {"VERS MTZ:V1.1", "VERS MTZ:V9.1", "no VERS MTZ:V1"},
        {"NCOL        5          377", "NCOL        5          378",
         "NCOL contradicts the place of"},
        {"NCOL        5          377", "NCOL        4          377", "NCOL and COLUMN differ"},
        {"NCOL        5          377", "NCOL       -5          377", "NCOL: '-5' is out of range"},
        {"NCOL        5          377", "NCOL        5   9999999999", "NCOL: '9999999999' is out"},
        {"        377        0", "        377        3", "unmerged MTZ (3 batches)"},
        {"CELL    59.0620", "CELL    00.0000", "CELL: '00.0000' is out of range"},
        {"CELL    59.0620", "CELL        nan", "CELL: 'nan' is not a finite number"},
        {"SYMINF   4", "SYMINF 999", "SYMINF: '999' is out of range"},
        {"SYMINF   4", "SYMINF   5", "SYMINF and SYMM differ"},
        {"'P 21 21 21'", "'P 21 21 2' ",
         "of P 21 21 21, but the file gives the space group 'P 21 21 2'"},
        {"'P 21 21 21'", "'P 43 21 2' ",
         "of P 21 21 21, but the file gives the space group 'P 43 21 2'"},
        {" 19  ", " 18  ", "of P 21 21 21, but the file gives the space group number 18"},
        {" 19  ", "3018 ", "of P 21 21 21, but the file gives the space group number 3018"},
        {"SYMM -X,Y+1/2,-Z+1/2", "SYMM -X,Y+1/2,-Z    ", "4 symmetry operators are not a group"},
        {"SYMM -X,Y+1/2,-Z+1/2", "SYMM X,Y,Z          ", "4 symmetry operators are not a group"},
        {"COLUMN FC  ", "COLUMN F ob", "the label 'F ob' of column 4 is not one word"},
        {"COLUMN FC    ", "COLUMN F F (x", "the label 'F F (x' of column 4 is not one word"},
        {"COLUMN FC  ", "COLUMN F\nX\x1b", "the label 'F?X?' of column 4 is not one word"},
        {"1022.796142578    1", "1022.796142578    7", "column 4 belongs to the data set 7, which"},
        {"COLUMN PHIC", "COLUMX PHIC", "NCOL and COLUMN differ"},
        {"END ", "ENX ", "no MTZENDOFHEADERS"},
        {"MTZENDOFHEADERS", "MTZENDOFHEADXRS", "no MTZENDOFHEADERS"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        static char bytes[sizeof good];
        struct hkl_table t;
        struct error e = {0};
        memcpy(bytes, good, length);
        memcpy(find(bytes, bad[i].from), bad[i].to, strlen(bad[i].to));
        assert_int_equal(read_bytes(bytes, length, NULL, &t, &e), STATUS_INPUT);
        if (!strstr(e.text, bad[i].error))
            fail_msg("got '%s', expected '%s'", e.text, bad[i].error);
    }
}

/* A name without blanks, an unknown one, a number of CCP4, labels in any alphabet. */
static void other_spellings_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *label;
    } fine[] = {{"'P 21 21 21'", "'P212121'   ", "FC"},
                {"'P 21 21 21'", "'unknown'   ", "FC"},
                {"'P 21 21 21'", "P212121     ", "FC"},
                {"   19  ", "1019   ", "FC"},
                {"   19  ", "    0  ", "FC"},
                {"FC     ", "F(+)%s'", "F(+)%s'"},
                {"FC     ", "F\xe4\xf6\xc3\xa5\"", "F\xe4\xf6\xc3\xa5\""}};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        static char bytes[sizeof good];
        struct hkl_table t;
        struct error e = {0};
        memcpy(bytes, good, length);
        memcpy(find(bytes, fine[i].from), fine[i].to, strlen(fine[i].to));
        if (read_bytes(bytes, length, fine[i].label, &t, &e))
            fail_msg("%s: %s", fine[i].to, e.text);
        hkl_free(&t);
    }
}

/* Mates of a reflection that have another F, in rows of their own. */
static void mates_must_agree(void **state)
{
    (void)state;
    static const int mates[][3] = {{1, 1, 1}, {-1, -1, 1}, {1, -1, -1}, {-1, -1, -1}};
    for (size_t i = 0; i < sizeof mates / sizeof *mates; i++)
        for (int same = 0; same < 2; same++) {
            static char bytes[sizeof good];
            struct hkl_table t;
            struct error e = {0};
            memcpy(bytes, good, length);
            const float *one = numbers(bytes, 100);
            float *other = numbers(bytes, 101);
            for (int k = 0; k < 3; k++)
                other[k] = (float)mates[i][k] * one[k];
            other[3] = one[3] * (same ? 1.0F : 1.01F);
            assert_int_equal(read_bytes(bytes, length, NULL, &t, &e),
                             same ? STATUS_OK : STATUS_INPUT);
            assert_true(same || strstr(e.text, "a.mtz:101: F of 2 0 1 is "));
            hkl_free(&t);
        }
}

static double children_s(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Reads a damaged file: a table or one line, in time, and no child is left.  Time
 * that counts is that of the processor; a busy machine may take longer. */
static enum status survive(const char *bytes, size_t n, const char *what)
{
    struct hkl_table t;
    struct error e = {0};
    const uint64_t start = clock_ns();
    const double before_s = children_s();
    const enum status s = read_bytes(bytes, n, NULL, &t, &e);
    const double wall_s = (double)(clock_ns() - start) * 1e-9, cpu_s = children_s() - before_s;
    hkl_free(&t);
    if (cpu_s > 0.6 || wall_s > 5.0)
        fail_msg("%s took %.1f s, %.1f s of the processor", what, wall_s, cpu_s);
    if (s != STATUS_OK && s != STATUS_INPUT)
        fail_msg("%s: %s", what, e.text);
    if (s != STATUS_OK && !*e.text)
        fail_msg("%s: no message", what);
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return s;
}

static void truncated_files_are_refused(void **state)
{
    (void)state;
    for (size_t n = 0; n < length; n += n < 100 || n > length - 100 ? 1 : 97) {
        char what[64];
        (void)snprintf(what, sizeof what, "cut to %zu bytes", n);
        /* The padding of the last record may be missing. */
        assert_int_equal(survive(good, n, what), STATUS_INPUT);
    }
}

/* Half of the damage goes to the header, which is the smaller part. */
static void corrupted_files_never_hurt(void **state)
{
    (void)state;
    static char bytes[sizeof good];
    const size_t header = (size_t)(find(good, "VERS MTZ") - good);
    int refused = 0;
    for (uint64_t i = 0; i < 300; i++) {
        struct rng r = rng_stream(1, RNG_ORIENTATION, i, 0);
        memcpy(bytes, good, length);
        const int changes = 1 + (int)(rng_word(&r) % 4);
        for (int c = 0; c < changes; c++) {
            const size_t place =
                i % 2 ? header + rng_word(&r) % (length - header) : rng_word(&r) % length;
            bytes[place] = (char)rng_word(&r);
        }
        char what[64];
        (void)snprintf(what, sizeof what, "corruption %d", (int)i);
        refused += survive(bytes, length, what) != STATUS_OK;
    }
    print_message("# %d of 300 refused\n", refused);
    assert_true(refused > 30);
}

/* Only ordinary files, and no waiting for the other end of a pipe. */
static void special_files_are_refused(void **state)
{
    (void)state;
    struct hkl_table t;
    struct error e = {0};
    double a[3], b[3];
    assert_int_equal(mtz_read("/dev/zero", NULL, 0.0, &t, a, b, &e), STATUS_FAILED);
    assert_int_equal(mtz_read(scratch_folder, NULL, 0.0, &t, a, b, &e), STATUS_FAILED);
    assert_int_equal(mtz_read("/nowhere/a.mtz", NULL, 0.0, &t, a, b, &e), STATUS_FAILED);
    const char *pipe = scratch_path("fifo");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(mtz_read(pipe, NULL, 0.0, &t, a, b, &e), STATUS_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_file_is_expanded_to_p1),
        cmocka_unit_test(column_must_be_an_amplitude),
        cmocka_unit_test(missing_numbers_get_the_default),
        cmocka_unit_test(hands_are_told_apart),
        cmocka_unit_test(differences_go_half_each_way),
        cmocka_unit_test(header_must_agree_with_itself),
        cmocka_unit_test(other_spellings_are_read),
        cmocka_unit_test(mates_must_agree),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(corrupted_files_never_hurt),
        cmocka_unit_test(special_files_are_refused),
    };
    return unit_run_within(tests, load, scratch_leave);
}
