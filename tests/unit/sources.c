/* Source lists: nanoBragg's rules and strict ones. */
#include "unit.h"

#include "base/alloc.h"
#include "io/beam/nanobragg_text.h"
#include "scratch.h"

static const double beam[3] = {1.0, 0.0, 0.5};

static enum status read_text(const char *text, enum physics physics, struct source **list,
                             size_t *n, struct error *e)
{
    return sources_read(scratch_text(scratch_path("s.txt"), text), physics, beam, 1e-10, list, n,
                        e);
}

static void missing_columns_get_defaults(void **state)
{
    (void)state;
    struct source *list;
    size_t n;
    struct error e = {0};
    assert_int_equal(read_text("-10 0.02,0.01;5.0:1.02e-10\n", PHYSICS_PHYSICAL, &list, &n, &e),
                     STATUS_OK);
    assert_true(list[0].direction[2] == 0.01 && list[0].wavelength_m == 1.02e-10);
    mem_free(list);
    assert_int_equal(read_text("-10,0,1\n", PHYSICS_PHYSICAL, &list, &n, &e), STATUS_OK);
    assert_true(list[0].direction[2] == 1.0);
    assert_true(list[0].weight == 1.0 && list[0].wavelength_m == 1e-10);
    mem_free(list);
    {
        assert_int_equal(read_text("-10 0.02,0.01;5.0:1.02e-10\n\n-10! -0.03\n", PHYSICS_FAITHFUL,
                                   &list, &n, &e),
                         STATUS_OK);
        assert_int_equal(n, 2);
        assert_true(list[0].direction[1] == 0.02 && list[0].direction[2] == 0.01);
        assert_true(list[0].weight == 5.0 && list[0].wavelength_m == 1.02e-10);
        assert_true(list[1].direction[0] == -10.0 && list[1].direction[1] == -0.03);
        assert_true(list[1].direction[2] == -5.0);
        assert_true(list[1].weight == 1.0 && list[1].wavelength_m == 1e-10);
        mem_free(list);
    }
}

static void faithful_takes_text_as_zero(void **state)
{
    (void)state;
    struct source *list;
    size_t n;
    struct error e = {0};
    assert_int_equal(read_text("# a comment of five\n-10 0 0\n", PHYSICS_FAITHFUL, &list, &n, &e),
                     STATUS_OK);
    assert_int_equal(n, 2);
    assert_true(list[0].direction[0] == 0.0 && list[0].wavelength_m == 0.0);
    mem_free(list);
}

static void physical_knows_comments_and_refuses_the_rest(void **state)
{
    (void)state;
    struct source *list;
    size_t n;
    struct error e = {0};
    assert_int_equal(read_text("# a comment\n-10 0 0 # one\n", PHYSICS_PHYSICAL, &list, &n, &e),
                     STATUS_OK);
    assert_int_equal(n, 1);
    mem_free(list);
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"-10 0 0\n-10 a 0\n", "s.txt:2: Y: 'a' is not a finite number"},
        {"-10 0 0 1 0\n", "s.txt:1: wavelength in m: '0' is out of range"},
        {"-10 0 0 1 -1e-10\n", "s.txt:1: wavelength in m: '-1e-10' is out of range"},
        {"-10 0 0 1 1.0\n", "s.txt:1: wavelength in m: '1.0' is out of range"},
        {"-10 0 0 -1\n", "s.txt:1: weight: '-1' is out of range"},
        {"-10 0 0 nan\n", "s.txt:1: weight: 'nan' is not a finite number"},
        {"0 0 0\n",
         "s.txt:1: the source is at the sample (got 0 0 0); expected a position upstream"},
        {"-10 0 0 1 1e-10 7\n", "s.txt:1: 6 columns"},
        {"-10 0\n", "s.txt:1: 2 columns; expected X Y Z"},
        {"-10 0 0 1 1e-10\n-10 0 0 1\n", "s.txt:2: 4 columns; expected 5 as in the first source"},
        {"-10 0 0 1 1,3e-10\n", "s.txt:1: '1,3e-10' has a decimal comma"},
        {"-10 0 0 0,97 1.3e-10\n", "s.txt:1: '0,97' has a decimal comma"},
        {"-10,5;0;0\n", "s.txt:1: '-10,5' has a decimal comma"},
        {"10 0 0\n", "s.txt:1: the source at 10 0 0 is not upstream of the sample"},
        {"# nothing\n", "s.txt: no sources"},
        {"-10 0 0 0\n-10 0 0 0\n", "s.txt: all weights are 0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(read_text(bad[i].text, PHYSICS_PHYSICAL, &list, &n, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, bad[i].error));
        assert_null(list);
        assert_int_equal(n, 0);
    }
}

static void long_lists_keep_their_order(void **state)
{
    (void)state;
    static char text[20000];
    size_t used = 0;
    for (int i = 0; i < 1000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "-10 %d 0\n", i);
    struct source *list;
    size_t n;
    struct error e = {0};
    assert_int_equal(read_text(text, PHYSICS_PHYSICAL, &list, &n, &e), STATUS_OK);
    assert_int_equal(n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_true(list[i].direction[1] == i);
    mem_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_columns_get_defaults),
        cmocka_unit_test(faithful_takes_text_as_zero),
        cmocka_unit_test(physical_knows_comments_and_refuses_the_rest),
        cmocka_unit_test(long_lists_keep_their_order),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
