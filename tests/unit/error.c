/* A message is one line of text, whatever characters its names contain. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static void names_cannot_make_lines(void **state)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{"a\nbragg: done", "a?bragg: done: bad"},
                 {"t\tab\r\x1b[31m", "t?ab??[31m: bad"},
                 {"r\xc3\xb6ntgen \xe2\x84\xab \xf0\x9f\x92\x8e", "r\xc3\xb6ntgen \xe2\x84\xab "
                                                                  "\xf0\x9f\x92\x8e: bad"},
                 {"latin \xe9.mtz", "latin ?.mtz: bad"},
                 {"cut \xe2\x84", "cut ??: bad"},
                 {"next line \xc2\x85, csi \xc2\x9b", "next line ??, csi ??: bad"},
                 {"separators \xe2\x80\xa8\xe2\x80\xa9", "separators ??????: bad"},
                 {"back \xe2\x80\xae", "back ???: bad"},
                 {"overlong \xc0\x8a \xe0\x80\x8a", "overlong ?? ???: bad"},
                 {"%s %d %n", "%s %d %n: bad"},
                 {"", ": bad"}};
    struct error e;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(error_set(&e, STATUS_INPUT, "%s: bad", cases[i].name), STATUS_INPUT);
        assert_string_equal(e.text, cases[i].text);
    }
}

static void long_names_leave_the_reason(void **state)
{
    char name[4096], text[100];
    struct error e;
    (void)state;
    memset(name, 'x', sizeof name);
    memcpy(name, "folder/", 7);
    name[sizeof name - 1] = '\0';
    (void)error_set(&e, STATUS_INPUT, "%s:3: F is no number", name);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    assert_int_equal(strncmp(e.text, "folder/xxx", 10), 0);
    assert_non_null(strstr(e.text, "xx ... xx"));
    assert_string_equal(strstr(e.text, ":3: "), ":3: F is no number");
    errno = ENOENT;
    (void)error_errno(&e, STATUS_FAILED, "%s: cannot open", name);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    (void)snprintf(text, sizeof text, ": cannot open: %s", strerror(ENOENT));
    assert_string_equal(strstr(e.text, ": "), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_cannot_make_lines),
        cmocka_unit_test(long_names_leave_the_reason),
    };
    return unit_run(tests);
}
