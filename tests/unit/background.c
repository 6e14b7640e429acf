/* Amorphous background, compared with numbers that were worked out by hand. */
#include "base/alloc.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "physics/background/amorphous.h"
#include "physics/background/background.h"

enum { EDGE = 11, PIXELS = EDGE * EDGE };

/* A detector of 11 x 11 pixels of 1 mm at 100 mm, the beam on the middle one. */
static struct panel panel = {.fast_pixels = EDGE,
                             .slow_pixels = EDGE,
                             .pixel_m = 1e-3,
                             .fast = {0, 0, 1},
                             .slow = {0, -1, 0},
                             .normal = {1, 0, 0},
                             .origin_m = {0.1, 5.5e-3, -5.5e-3},
                             .distance_m = 0.1,
                             .close_distance_m = 0.1,
                             .layers = 1,
                             .roi = {0, EDGE - 1, 0, EDGE - 1}};
static struct source sources[2] = {{{-1, 0, 0}, 1e-10, 1}, {{-1, 0, 0}, 1e-10, 1}};
static struct experiment experiment = {.npanels = 1,
                                       .panels = &panel,
                                       .beam = {.wavelength_m = 1e-10,
                                                .direction = {1, 0, 0},
                                                .polarization = {0, 0, 1},
                                                .fluence_ph_m2 = 1e24,
                                                .nsources = 1,
                                                .sources = sources}};

static float image[PIXELS], other[PIXELS];

/* A material of constant F = 3 electrons. */
static struct background_material constant(double molecules)
{
    static const double stol[] = {0, 1e10, 2e10}, F[] = {3, 3, 3};
    struct background_material m = {.molecules = molecules};
    struct error e;
    assert_int_equal(amorphous_make(&m.table, stol, F, 3, true, &e), STATUS_OK);
    return m;
}

static void centre_is_the_formula(void **state)
{
    (void)state;
    struct background_material m = constant(1e12);
    background_image(&experiment, sources, 1, &m, 1, 1, image, NULL);
    const double expected = 1e24 * 7.94079248018965e-30 * 1e12 * 9 * 1e-4;
    assert_true(fabs(image[5 * EDGE + 5] / expected - 1) < 1e-6);
    /* the corner: unpolarized (1 + cos^2)/2, and cos^3 of the solid angle */
    const double c = 0.1 / sqrt(0.01 + 2 * 25e-6);
    assert_true(fabs(image[0] / (expected * c * c * c * (1 + c * c) / 2) - 1) < 1e-6);
    amorphous_free(&m.table);
}

/* Photons are linear in the fluence; nanoBragg's -water multiplies by it twice. */
static void fluence_counts_once(void **state)
{
    (void)state;
    struct background_material m = constant(1e12);
    background_image(&experiment, sources, 1, &m, 1, 1, image, NULL);
    experiment.beam.fluence_ph_m2 *= 2;
    background_image(&experiment, sources, 1, &m, 1, 1, other, NULL);
    experiment.beam.fluence_ph_m2 /= 2;
    assert_true(other[7] == 2 * image[7]);
    amorphous_free(&m.table);
}

static void materials_and_source_weights_add_up(void **state)
{
    (void)state;
    struct background_material m[2] = {constant(1e12), constant(3e12)};
    background_image(&experiment, sources, 1, m, 1, 1, image, NULL);
    background_image(&experiment, sources, 1, m, 2, 1, other, NULL);
    assert_true(fabs(other[3] / image[3] - 4) < 1e-6);
    sources[0].weight = 1.5;
    sources[1].weight = 0.5;
    background_image(&experiment, sources, 2, m, 1, 1, other, NULL);
    assert_true(fabs(other[3] / image[3] - 1) < 1e-6);
    sources[0].weight = sources[1].weight = 1;
    amorphous_free(&m[0].table);
    amorphous_free(&m[1].table);
}

static void polarization_is_along_the_e_vector(void **state)
{
    (void)state;
    struct background_material m = constant(1e12);
    experiment.beam.kahn = 1;
    background_image(&experiment, sources, 1, &m, 1, 1, image, NULL);
    experiment.beam.kahn = 0;
    /* E lies along fast: less light there than along slow */
    assert_true(image[5 * EDGE] < image[5]);
    const double sin2 = 25e-6 / (0.01 + 25e-6);
    assert_true(fabs(image[5 * EDGE] / image[5] - (1 - sin2)) < 1e-5);
    amorphous_free(&m.table);
}

static void thin_sensors_catch_their_share(void **state)
{
    (void)state;
    struct background_material m = constant(1e12);
    background_image(&experiment, sources, 1, &m, 1, 1, image, NULL);
    panel.thickness_m = 450e-6;
    panel.layers = 3;
    panel.layer_m = 150e-6;
    panel.absorption_1_m = 1 / 300e-6;
    background_image(&experiment, sources, 1, &m, 1, 1, other, NULL);
    panel.thickness_m = 0;
    assert_true(fabs(other[60] / image[60] - (1 - exp(-1.5))) < 1e-6);
    amorphous_free(&m.table);
}

/* Two sources, 0.75 and 1.35 A about a beam of 1 A: each is caught by itself. */
static void sources_are_caught_by_their_wavelengths(void **state)
{
    (void)state;
    struct background_material m = constant(1e12);
    struct source two[2] = {{{-1, 0, 0}, 0.75e-10, 1}, {{-1, 0, 0}, 1.35e-10, 1}};
    const struct panel before = panel;
    background_image(&experiment, two, 2, &m, 1, 1, image, NULL);
    panel.layers = 1;
    panel.thickness_m = panel.layer_m = 320e-6;
    panel.absorption_1_m = 4208;
    (void)strcpy(panel.material, "Si");
    background_image(&experiment, two, 2, &m, 1, 1, other, NULL);
    panel = before;
    assert_true(fabs(other[60] / image[60] - (0.4404 + 0.9606) / 2) < 2e-3);
    amorphous_free(&m.table);
}

/* Where a pixel stands in a sensor does not depend on layers: as far as rays along it go on average
 * that stop, by a sum over thin slices. */
static void places_do_not_depend_on_layers(void **state)
{
    (void)state;
    const struct background_scene scene = {.physics = PHYSICS_PHYSICAL};
    for (int layers = 1; layers <= 16; layers *= 4)
        for (int64_t fast = 0; fast < 400; fast += 100) {
            enum { SLICES = 20000 };
            struct panel p = panel;
            double at[3], sum = 0, caught = 0;
            p.pixel_m = 3e-4;
            p.thickness_m = 320e-6;
            p.layers = layers;
            p.layer_m = 320e-6 / layers;
            p.layer_depth_m = 1e-6;
            p.absorption_1_m = 4208;
            background_point(&p, scene.physics, scene.beam, fast, 5, at);
            const double depth = vec_dot(at, p.normal) - vec_dot(p.origin_m, p.normal);
            const double slant = vec_length(at) / vec_dot(at, p.normal);
            for (int i = 0; i < SLICES; i++) {
                const double z = 320e-6 * (i + 0.5) / SLICES, stops = exp(-4208 * slant * z);
                sum += z * stops;
                caught += stops;
            }
            assert_true(fabs(depth - sum / caught) < 0.3e-6);
        }
}

static void roi_mask_and_threads(void **state)
{
    (void)state;
    struct background_material m = constant(1e12);
    static uint8_t mask[PIXELS];
    memset(mask, 1, sizeof mask);
    mask[60] = 0;
    panel.mask = mask;
    panel.roi.fast_min = 2;
    background_image(&experiment, sources, 1, &m, 1, 1, image, NULL);
    background_image(&experiment, sources, 1, &m, 1, 3, other, NULL);
    panel.mask = NULL;
    panel.roi.fast_min = 0;
    assert_memory_equal(image, other, sizeof image);
    assert_true(image[60] == 0 && image[1] == 0 && image[2] > 0);
    amorphous_free(&m.table);
}

/* Nine channels within one per cent make the same image as one source at their mean. */
static void narrow_spectra_are_one_source(void **state)
{
    (void)state;
    static const double stol[] = {0, 1e9, 2e9, 4e9}, F[] = {9, 7, 3, 2};
    struct background_material m = {.molecules = 1e12};
    struct error e;
    assert_int_equal(amorphous_make(&m.table, stol, F, 4, true, &e), STATUS_OK);
    struct source channels[18], *gathered = NULL;
    for (int i = 0; i < 18; i++)
        channels[i] = (struct source){.direction = {-1, 0, i / 9 * 0.001},
                                      .wavelength_m = 1e-10 * (1 + 0.001 * (i % 9)),
                                      .weight = (i % 3) * 1.5 * (i / 9 ? 0.5 : 1)};
    const struct beam beam = {.nsources = 2};
    struct recipe r = {.nsources = 18, .sources = channels};
    size_t n;
    const struct source *one = background_sources(&beam, &r, &gathered, &n);
    assert_ptr_equal(one, gathered);
    assert_int_equal(n, 2);
    background_image(&experiment, channels, 18, &m, 1, 1, image, NULL);
    background_image(&experiment, gathered, 2, &m, 1, 1, other, NULL);
    for (int i = 0; i < PIXELS; i++)
        assert_true(fabs(other[i] / image[i] - 1) < 3e-5);
    /* wider ones, and what is no list of channels, stay as they are */
    channels[8].wavelength_m *= 1.02;
    assert_ptr_equal(background_sources(&beam, &r, &gathered, &n), channels);
    assert_int_equal(n, 18);
    channels[8].wavelength_m /= 1.02;
    r.nsources = 17;
    assert_ptr_equal(background_sources(&beam, &r, &gathered, &n), channels);
    mem_free(gathered);
    amorphous_free(&m.table);
}

/* Many channels of an octave in two directions become bins of 2 %, with nearly the same image. */
static void wide_bands_are_bins(void **state)
{
    (void)state;
    enum { CHANNELS = 400 };
    static const double stol[] = {0, 1e9, 2e9, 4e9, 8e9}, F[] = {9, 7, 3, 2, 1};
    struct background_material m = {.molecules = 1e12};
    struct error e;
    assert_int_equal(amorphous_make(&m.table, stol, F, 5, true, &e), STATUS_OK);
    struct source channels[2 * CHANNELS], *gathered = NULL;
    for (int i = 0; i < 2 * CHANNELS; i++)
        channels[i] =
            (struct source){.direction = {-1, 0, i / CHANNELS * 0.001},
                            .wavelength_m = 0.7e-10 * pow(2.0, (i % CHANNELS) / (CHANNELS - 1.0)),
                            .weight = 0.2 + (i % 3) + i / CHANNELS};
    const struct beam beam = {.nsources = 2 * CHANNELS, .sources = channels};
    const struct recipe none = {0};
    size_t n;
    const struct source *bins = background_sources(&beam, &none, &gathered, &n);
    assert_true(bins == gathered && n >= 60 && n <= 76);
    background_image(&experiment, channels, 2 * CHANNELS, &m, 1, 1, image, NULL);
    background_image(&experiment, bins, n, &m, 1, 1, other, NULL);
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < PIXELS; i++) {
        sum += other[i] / image[i] - 1;
        square += pow(other[i] / image[i] - 1, 2);
    }
    assert_true(fabs(sum / PIXELS) < 2e-4 && sqrt(square / PIXELS) < 1e-3);
    mem_free(gathered);
    amorphous_free(&m.table);
}

/* Water in a flat octave, on a detector of 220 mm at 100 mm: bins of 2 % are off by 2e-4, and bins
 * of 4 % by 8e-4. */
static void water_in_bins_is_exact_to_2e_4(void **state)
{
    (void)state;
    enum { CHANNELS = 400 };
    static double stol[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    const struct panel small = panel;
    struct background_material m = {.molecules = 1e12};
    struct source channels[CHANNELS], *gathered = NULL;
    struct error e;
    water_table(water_F, stol, F);
    for (int row = 0; row < WATER_TABLE_ROWS; row++)
        stol[row] *= 1e10;
    assert_int_equal(amorphous_make(&m.table, stol, F, WATER_TABLE_ROWS, true, &e), STATUS_OK);
    for (int i = 0; i < CHANNELS; i++)
        channels[i] = (struct source){.direction = {-1, 0, 0},
                                      .wavelength_m = 0.7e-10 * (1 + i / (CHANNELS - 1.0)),
                                      .weight = 1};
    panel.pixel_m = 0.02;
    panel.origin_m[1] = 0.11;
    panel.origin_m[2] = -0.11;
    const struct beam beam = {.nsources = CHANNELS, .sources = channels};
    size_t n;
    const struct source *bins = background_sources(&beam, &(struct recipe){0}, &gathered, &n);
    assert_true(bins == gathered && n >= 32 && n <= 38);
    background_image(&experiment, channels, CHANNELS, &m, 1, 1, image, NULL);
    background_image(&experiment, bins, n, &m, 1, 1, other, NULL);
    double square = 0.0;
    for (int i = 0; i < PIXELS; i++)
        square += pow(other[i] / image[i] - 1, 2);
    assert_true(sqrt(square / PIXELS) < 3e-4);
    panel = small;
    mem_free(gathered);
    amorphous_free(&m.table);
}

/* ---- instruction sets ------------------------------------------------------------ */

enum { ICE_ROWS = 500 };

/* A table that pixels fall on many rows of, or one that ends among them and runs below 0. */
static struct background_material rings(bool many)
{
    double stol[ICE_ROWS], F[ICE_ROWS];
    const size_t rows = many ? ICE_ROWS : 4;
    struct background_material m = {.molecules = many ? 3e11 : 1e12};
    struct error e;
    for (size_t i = 0; i < rows; i++) {
        stol[i] = (many ? 1e7 : 4e8) * (double)i;
        F[i] = many ? (double)(i * 37 % 11) - 1.0 : 9.0 - 3.0 * (double)i;
    }
    assert_int_equal(amorphous_make(&m.table, stol, F, rows, many, &e), STATUS_OK);
    return m;
}

/* A run of pixels from `fast` on is that of the pixels alone, to the bit. */
static void assert_run(const struct background_kernels *kernels,
                       const struct background_scene *scene, const struct panel *p, int64_t fast,
                       int count)
{
    double run[BACKGROUND_RUN], alone[BACKGROUND_RUN];
    kernels->run(scene, p, fast, 3, count, run);
    for (int i = 0; i < count; i++) {
        double position[3];
        background_point(p, scene->physics, scene->beam, fast + i, 3, position);
        alone[i] = background_photons(scene, p, position);
    }
    assert_memory_equal(run, alone, (size_t)count * sizeof *run);
}

/* All that the formula knows, one thing after the other switched on. */
static void assert_scenes(const struct background_kernels *kernels, struct background_scene scene)
{
    static const int counts[] = {1, 7, 8, 61, 255, BACKGROUND_RUN};
    for (int what = 0; what < 64; what++) {
        struct panel p = panel;
        p.pixel_m = 75e-6;
        p.grid_fast = what & 1 ? 900 : 0;
        p.curved = what & 2;
        p.beam_fast_m = p.beam_slow_m = 5e-3;
        p.point_pixel = what & 4;
        p.thickness_m = what & 8 ? 450e-6 : 0.0;
        p.layer_m = 450e-6;
        p.absorption_1_m = what & 32 ? 1e7 : 1 / 300e-6;
        scene.no_polarization = what & 16;
        scene.physics = what & 32 ? PHYSICS_FAITHFUL : PHYSICS_PHYSICAL;
        assert_run(kernels, &scene, &p, what * 20, counts[what % 6]);
    }
}

static void instruction_sets_have_the_same_bytes(void **state)
{
    (void)state;
    static const struct background_kernels *const all[ISA_COUNT] = ISA_TABLE(background_kernels_);
    struct background_material m[2] = {rings(true), rings(false)};
    const struct source three[3] = {
        {{-1, 0, 0}, 1e-10, 1}, {{-0.8, 0.6, 0}, 1.3e-10, 0.25}, {{-1, 0, 0}, 0.7e-10, 1.75}};
    struct experiment x = experiment;
    x.beam.kahn = 0.7;
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        if (!isa_present(isa)) {
            print_message("skipped: no %s\n", isa_name(isa));
            continue;
        }
        assert_scenes(all[isa], background_scene(&x, three, 3, NULL, m, 2));
        assert_scenes(all[isa], background_scene(&x, three, 1, NULL, m + 1, 1));
    }
    amorphous_free(&m[0].table);
    amorphous_free(&m[1].table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centre_is_the_formula),
        cmocka_unit_test(fluence_counts_once),
        cmocka_unit_test(materials_and_source_weights_add_up),
        cmocka_unit_test(polarization_is_along_the_e_vector),
        cmocka_unit_test(thin_sensors_catch_their_share),
        cmocka_unit_test(sources_are_caught_by_their_wavelengths),
        cmocka_unit_test(places_do_not_depend_on_layers),
        cmocka_unit_test(roi_mask_and_threads),
        cmocka_unit_test(narrow_spectra_are_one_source),
        cmocka_unit_test(wide_bands_are_bins),
        cmocka_unit_test(water_in_bins_is_exact_to_2e_4),
        cmocka_unit_test(instruction_sets_have_the_same_bytes),
    };
    return unit_run(tests);
}
