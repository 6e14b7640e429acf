/* Spectra of bending magnets and wigglers, and filters. */
#include "physics/beam/synchrotron.h"

#include <math.h>
#include <string.h>

#include "unit.h"

/* The X-ray Data Booklet has these numbers of G1 and H2, to four digits. */
static void spectra_are_those_of_the_booklet(void **state)
{
    (void)state;
    static const double y[] = {0.1, 0.3, 1.0, 2.0, 4.0},
                        G1[] = {0.8182, 0.9177, 0.6514, 0.3016, 0.0528},
                        H2[] = {0.6025, 1.1106, 1.4543, 0.9780, 0.2494};
    for (int i = 0; i < 5; i++) {
        assert_true(fabs(synchrotron_photons(y[i], true) * y[i] - G1[i]) < 6e-5);
        assert_true(fabs(synchrotron_photons(y[i], false) * y[i] - H2[i]) < 6e-5);
    }
    for (double dark = 1000.0; dark < 1e5; dark *= 1.7)
        for (int sum = 0; sum < 2; sum++) {
            const double photons = synchrotron_photons(dark, sum);
            assert_true(photons >= 0.0 && photons < 1e-200);
        }
}

static void filters_are_read_and_absorb(void **state)
{
    (void)state;
    struct filter f[FILTERS_MAX];
    struct error e = {0};
    int count;
    assert_int_equal(filter_parse("Al:1mm,Be:500um", f, &count, &e), STATUS_OK);
    assert_int_equal(count, 2);
    assert_string_equal(filter_materials[f[1].material], "Be");
    assert_true(fabs(f[1].thickness_m - 5e-4) < 1e-12);
    /* at a row of the table, and halfway between two in logarithms */
    assert_true(fabs(filter_transmission(f, 1, 10000.0) / exp(-2.699 * 26.23 * 0.1) - 1) < 1e-6);
    assert_true(
        fabs(filter_transmission(f, 1, sqrt(1.5e8)) / exp(-2.699 * sqrt(26.23 * 7.955) * 0.1) - 1) <
        1e-6);
    assert_true(fabs(filter_transmission(f, 2, 10000.0) /
                         exp(-0.1 * 2.699 * 26.23 - 0.05 * 1.848 * 0.6466) -
                     1) < 1e-6);
    assert_true(filter_transmission(f, 0, 10000.0) == 1.0);
    f[0].thickness_m = 1.0;  // exp(-20000): 0, and not what an exponent below that of doubles gives
    const double none = filter_transmission(f, 1, 8000.0);
    assert_true(none >= 0.0 && none < 1e-300);
    static const char *const wrong[] = {
        "", "Al", "Al:", "Pb:1", "Al:1mm,", "Al:-1", "Al:1eV", "Al1mm", "Al:1,Al:1,Al:1,Al:1,Al:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(filter_parse(wrong[i], f, &count, &e), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spectra_are_those_of_the_booklet),
        cmocka_unit_test(filters_are_read_and_absorb),
    };
    return unit_run(tests);
}
