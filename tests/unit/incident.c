/* The beam of a frame: sources of its recipe, or else those of the experiment. */
#include "unit.h"

#include "base/units.h"
#include "model/recipe.h"
#include "near.h"

static struct source beam_sources[] = {{.wavelength_m = 1.1e-10, .weight = 1},
                                       {.wavelength_m = 0.9e-10, .weight = 1}};
static struct source own_sources[] = {{.wavelength_m = 2e-10, .weight = 3},
                                      {.wavelength_m = 3e-10, .weight = 1}};
static const struct experiment experiment = {
    .beam = {
        .wavelength_m = 1.05e-10, .fluence_ph_m2 = 1e20, .nsources = 2, .sources = beam_sources}};

static void check(const struct incident b, size_t sources, const double wavelengths_A[3],
                  double share)
{
    assert_int_equal(b.sources, sources);
    assert_near(m_to_angstrom(b.shortest_m), wavelengths_A[0], 1e-12);
    assert_near(m_to_angstrom(b.mean_m), wavelengths_A[1], 1e-12);
    assert_near(m_to_angstrom(b.longest_m), wavelengths_A[2], 1e-12);
    assert_near(b.share, share, 1e-15);
    assert_near(b.fluence_ph_m2 / 1e20, share, 1e-15);
}

static void the_beams_own(void **state)
{
    (void)state;
    const struct recipe none = {0};
    check(incident_beam(&experiment, &none), 2, (double[]){0.9, 1.05, 1.1}, 1);
}

static void of_the_recipe(void **state)
{
    (void)state;
    const struct recipe own = {.nsources = 2, .sources = own_sources};
    check(incident_beam(&experiment, &own), 2, (double[]){2, 2.25, 3}, 2);
}

static void without_sources(void **state)
{
    (void)state;
    struct experiment x = experiment;
    const struct recipe none = {0};
    x.beam.nsources = 0;
    check(incident_beam(&x, &none), 0, (double[]){1.05, 1.05, 1.05}, 1);
}

/* A frame that no photon reached: the wavelength is the beam's. */
static void sources_without_weight(void **state)
{
    (void)state;
    struct source dark[] = {{.wavelength_m = 2e-10}};
    const struct recipe own = {.nsources = 1, .sources = dark};
    check(incident_beam(&experiment, &own), 1, (double[]){2, 1.05, 2}, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_beams_own),
        cmocka_unit_test(of_the_recipe),
        cmocka_unit_test(without_sources),
        cmocka_unit_test(sources_without_weight),
    };
    return unit_run(tests);
}
