/* Text files: lines, words, numbers, and what is refused. */
#include "unit.h"

#include "io/text/textfile.h"
#include "scratch.h"

static enum status open_text(struct text_file *t, const char *text, struct error *e)
{
    return text_open(t, scratch_text(scratch_path("a.txt"), text), FILETYPE_OTHER, TEXT_BYTES_MAX,
                     e);
}

static void lines_are_split_into_words(void **state)
{
    (void)state;
    struct text_file t;
    struct error e = {0};
    assert_int_equal(open_text(&t, "# c\n\n  a,b\t c#d\r\n;\nlast", &e), STATUS_OK);
    assert_int_equal(text_line(&t, TEXT_SPACE ",;", '#', &e), STATUS_OK);
    assert_int_equal(t.nwords, 3);
    assert_int_equal(t.line, 3);
    assert_string_equal(t.word[0], "a");
    assert_string_equal(t.word[1], "b");
    assert_string_equal(t.word[2], "c");
    assert_int_equal(text_line(&t, TEXT_SPACE ",;", '#', &e), STATUS_OK);
    assert_int_equal(t.line, 5);
    assert_string_equal(t.word[0], "last");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(text_line(&t, TEXT_SPACE, '#', &e), STATUS_OK);
        assert_int_equal(t.nwords, 0);
    }
    text_close(&t);
}

/* Blanks at either end, none between words and comment, bytes of UTF-8, characters from 64 on. */
static void words_are_parted_by_separators_alone(void **state)
{
    (void)state;
    static const char *const words[] = {"\xc3\xa9", "a@b", "{x}", "\x1f"};
    struct text_file t;
    struct error e = {0};
    assert_int_equal(open_text(&t, " \t \n  \xc3\xa9 a@b\t\t{x}\v\x1f \f #a b\n#\n", &e),
                     STATUS_OK);
    assert_int_equal(text_line(&t, TEXT_SPACE, '#', &e), STATUS_OK);
    assert_int_equal(t.line, 2);
    assert_int_equal(t.nwords, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(t.word[i], words[i]);
    assert_int_equal(text_line(&t, TEXT_SPACE, '#', &e), STATUS_OK);
    assert_int_equal(t.nwords, 0);
    assert_int_equal(t.line, 3);
    text_close(&t);
}

static void a_byte_order_mark_is_no_text(void **state)
{
    (void)state;
    struct text_file t;
    struct error e = {0};
    assert_int_equal(open_text(&t,
                               "\xef\xbb\xbf"
                               "1 2",
                               &e),
                     STATUS_OK);
    assert_int_equal(t.length, 3);
    assert_string_equal(t.bytes, "1 2");
    text_close(&t);
    assert_int_equal(open_text(&t, "1 \xef\xbb\xbf", &e), STATUS_OK);
    assert_int_equal(t.length, 5);
    text_close(&t);
    assert_int_equal(open_text(&t, "\xef\xbb\xbf", &e), STATUS_OK);
    assert_int_equal(t.length, 0);
    text_close(&t);
}

static void more_words_are_counted_but_not_kept(void **state)
{
    (void)state;
    struct text_file t;
    struct error e = {0};
    assert_int_equal(open_text(&t, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", &e), STATUS_OK);
    assert_int_equal(text_line(&t, TEXT_SPACE, 0, &e), STATUS_OK);
    assert_int_equal(t.nwords, 18);
    assert_string_equal(t.word[TEXT_WORDS_MAX - 1], "16");
    text_close(&t);
}

static void numbers_are_checked_with_file_and_line(void **state)
{
    (void)state;
    struct text_file t;
    struct error e = {0};
    double x = 0.0;
    int64_t n = 0;
    assert_int_equal(open_text(&t, "\n1.5e1 7 1e400 x", &e), STATUS_OK);
    assert_int_equal(text_line(&t, TEXT_SPACE, 0, &e), STATUS_OK);
    assert_int_equal(text_real(&t, 0, "x", 0.0, 20.0, &x, &e), STATUS_OK);
    assert_true(x == 15.0);
    assert_int_equal(text_int(&t, 1, "n", 0, 7, &n, &e), STATUS_OK);
    assert_int_equal(n, 7);
    assert_int_equal(text_int(&t, 0, "n", 0, 99, &n, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "a.txt:2: n: '1.5e1' is not a whole number"));
    assert_int_equal(text_int(&t, 1, "n", 0, 6, &n, &e), STATUS_INPUT);
    assert_int_equal(text_real(&t, 2, "x", -1e308, 1e308, &x, &e), STATUS_INPUT);
    assert_int_equal(text_real(&t, 3, "x", -1e308, 1e308, &x, &e), STATUS_INPUT);
    assert_int_equal(e.status, STATUS_INPUT);
    text_close(&t);
}

static void long_lines_and_files_are_refused(void **state)
{
    (void)state;
    struct text_file t;
    struct error e = {0};
    static char text[3 * TEXT_LINE_MAX];
    memset(text, 'x', sizeof text - 1);
    text[0] = '\n';
    text[TEXT_LINE_MAX] = '\n';
    assert_int_equal(open_text(&t, text, &e), STATUS_OK);
    assert_int_equal(text_line(&t, TEXT_SPACE, 0, &e), STATUS_OK);
    assert_int_equal(t.line, 2);
    assert_int_equal(strlen(t.word[0]), TEXT_LINE_MAX - 1);
    assert_int_equal(text_line(&t, TEXT_SPACE, 0, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, ":3: a line of"));
    text_close(&t);
    assert_int_equal(text_open(&t, scratch_path("a.txt"), FILETYPE_OTHER, 100, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "too long; expected at most 100 bytes"));
    text_close(&t);
}

static void zero_bytes_and_folders_are_refused(void **state)
{
    (void)state;
    struct text_file t;
    struct error e = {0};
    assert_int_equal(text_open(&t, "/dev/zero", FILETYPE_OTHER, TEXT_BYTES_MAX, &e), STATUS_INPUT);
    text_close(&t);
    assert_int_equal(text_open(&t, "/tmp", FILETYPE_OTHER, TEXT_BYTES_MAX, &e), STATUS_FAILED);
    text_close(&t);
    assert_int_equal(text_open(&t, "/nowhere/a", FILETYPE_OTHER, TEXT_BYTES_MAX, &e),
                     STATUS_FAILED);
    assert_string_equal(e.text, "/nowhere/a: cannot open: No such file or directory");
    text_close(&t);
}

static void scanning_takes_the_longest_number(void **state)
{
    (void)state;
    const char *at = " 12-3.5e1x";
    int n = 0;
    double x = 0.0;
    assert_true(text_scan_int(&at, &n));
    assert_int_equal(n, 12);
    assert_true(text_scan_real(&at, &x));
    assert_true(x == -35.0);
    assert_false(text_scan_real(&at, &x));
    assert_string_equal(at, "x");
    at = "2147483648";
    assert_false(text_scan_int(&at, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_split_into_words),
        cmocka_unit_test(words_are_parted_by_separators_alone),
        cmocka_unit_test(a_byte_order_mark_is_no_text),
        cmocka_unit_test(more_words_are_counted_but_not_kept),
        cmocka_unit_test(numbers_are_checked_with_file_and_line),
        cmocka_unit_test(long_lines_and_files_are_refused),
        cmocka_unit_test(zero_bytes_and_folders_are_refused),
        cmocka_unit_test(scanning_takes_the_longest_number),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
