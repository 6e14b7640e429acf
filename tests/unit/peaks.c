/* Bright spots: how many photons a peak needs, how many false peaks a blank has, and how many weak
 * spots are found.  The environment variable PEAKS_MEGAPIXELS sets the total size of the blanks. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "engine/detector/noise.h"
#include "gateway/delivery.h"

enum { SMALL = 20, EDGE = 1024, STEP = 32, MOST = 4096 };

static struct peak found[MOST];

static struct panel square(int64_t edge, int64_t first_pixel)
{
    return (struct panel){.fast_pixels = edge,
                          .slow_pixels = edge,
                          .first_pixel = first_pixel,
                          .roi = {0, edge - 1, 0, edge - 1}};
}

static size_t find(const struct experiment *x, const struct image *image, size_t most)
{
    return peaks_find(x, image, found, most);
}

/* --- what a peak is ---------------------------------------------------------------------- */

static void peaks_are_local_maxima_by_brightness(void **state)
{
    (void)state;
    static float field[2 * SMALL * SMALL];
    struct panel panels[2] = {square(SMALL, 0), square(SMALL, SMALL * SMALL)};
    const struct experiment x = {.npanels = 2, .panels = panels};
    const struct image image = {.type = PIXEL_F32, .count = 2 * SMALL * SMALL, .pixels = field};
    for (size_t i = 0; i < image.count; i++)
        field[i] = 10 + (float)(i % 3 == 0);
    field[8 * SMALL + 5] = 110;
    field[8 * SMALL + 6] = 60;  // draws the centroid to it
    field[(SMALL + 10) * SMALL + 12] = 1000;
    field[12] = 5000;                   // at the edge, which may cut it
    field[(SMALL - 1) * SMALL] = 5000;  // nor do panels know of each other
    assert_int_equal(find(&x, &image, 3), 2);
    assert_true(fabs(found[0].fast - 12) < 0.05 && fabs(found[0].slow - (SMALL + 10)) < 0.05);
    assert_true(fabs(found[0].intensity - 990) < 5);
    assert_true(fabs(found[1].fast - (5 + 50.0 / 150)) < 0.05 && fabs(found[1].slow - 8) < 0.05);
    assert_int_equal(find(&x, &image, 1), 1);
    assert_true(found[0].intensity > 900);
    for (int k = 0; k < 2; k++) {  // one pixel from the edges
        const int edge = k ? SMALL - 2 : 1;
        field[(SMALL * k + edge) * SMALL + edge] = 3000 - 1000 * (float)k;
        assert_int_equal(find(&x, &image, MOST), 3 + k);
        assert_true(fabs(found[k].fast - edge) < 0.05);
        assert_true(fabs(found[k].slow - (SMALL * k + edge)) < 0.05);
    }
}

/* Returns the probability of at least `photons` in a window of `size` pixels, if the window and a
 * ring of 96 pixels have `photons` + `ring` together, as a plain sum. */
static double chance(int photons, int ring, int size)
{
    const int all = photons + ring;
    const long double share = size / (96.0L + size);
    long double sum = 0;
    for (int k = photons; k <= all; k++)
        sum += expl(lgammal(all + 1) - lgammal(k + 1) - lgammal(all - k + 1) + k * logl(share) +
                    (all - k) * logl(1 - share));
    return (double)sum;
}

/* Returns true if these photons, evenly in size x size pixels, are a peak, with `ring` photons
 * evenly in the ring. */
static bool is_peak(int photons, int ring, int size)
{
    static float field[SMALL * SMALL];
    struct panel panel = square(SMALL, 0);
    const struct experiment x = {.npanels = 1, .panels = &panel};
    const struct image image = {.type = PIXEL_F32, .count = SMALL * SMALL, .pixels = field};
    const int centre = SMALL / 2, first = centre - size / 2;
    for (int s = 0; s < SMALL; s++)
        for (int f = 0; f < SMALL; f++) {
            const bool near = abs(s - centre) <= 2 && abs(f - centre) <= 2;
            field[s * SMALL + f] = near ? 0 : (float)ring / 96;
        }
    for (int i = 0; i < size * size; i++)
        field[(first + i / size) * SMALL + first + i % size] =
            (float)photons / (float)(size * size);
    field[centre * SMALL + centre] += 0.001F;  // the largest
    return find(&x, &image, 1) == 1;
}

static void a_window_needs_what_chance_does_not_give(void **state)
{
    (void)state;
    for (int size = 1; size <= 3; size++)
        for (int ring = size < 3 ? 0 : 60; ring <= 480; ring += ring < 20 ? 1 : 23) {
            int photons = 1 + ring * size * size / 96;
            while (!is_peak(photons, ring, size) && photons < 1000)
                photons++;
            const double few = chance(photons - 1, ring, size * size);
            const double enough = chance(photons, ring, size * size);
            if (few < 4.6e-8 || enough > 5.03e-8)
                fail_msg("%d photons in %d x %d pixels, %d in the ring: %g, one less: %g", photons,
                         size, size, ring, enough, few);
        }
}

/* Pixels that are not read lie by a gap of the mask and outside of the region of interest: they are
 * no background, and a spot that they cut is none. */
static void what_is_not_read_is_no_background(void **state)
{
    (void)state;
    static uint16_t field[SMALL * SMALL];
    static uint8_t mask[SMALL * SMALL];
    struct panel panel = square(SMALL, 0);
    const struct experiment x = {.npanels = 1, .panels = &panel, .adc_offset = 40, .gain = 5};
    const struct image image = {
        .type = PIXEL_U16, .unit = UNIT_ADU, .count = SMALL * SMALL, .pixels = field};
    panel.roi.fast_max = SMALL - 4;
    panel.mask = mask;
    for (int s = 0; s < SMALL; s++)
        for (int f = 0; f < SMALL; f++) {
            mask[s * SMALL + f] = f >= 3;
            field[s * SMALL + f] = f < 3 ? 60000 : f <= SMALL - 4 ? 40 + 5 * 40 : 40;
        }
    assert_int_equal(find(&x, &image, 3), 0);
    field[10 * SMALL + 4] = 40 + 5 * 100;  // 60 photons of 5 ADU, one pixel from the gap
    field[10 * SMALL + 11] = 40 + 5 * 60;  // 20 are too few
    field[3 * SMALL + 3] = field[15 * SMALL + SMALL - 4] = 40 + 5 * 1000;  // at the gap
    assert_int_equal(find(&x, &image, 3), 1);
    assert_true(fabs(found[0].fast - 4) < 1e-6 && fabs(found[0].slow - 10) < 1e-6);
    assert_true(fabs(found[0].intensity - 300) < 1e-3);
    panel.mask = NULL;
    assert_int_equal(find(&x, &image, 3), 0);  // the ring has what is bright there
}

/* --- blanks and weak spots, as bragg-noise makes them -------------------------------------- */

struct scene {
    struct panel panel;
    struct experiment x;
    struct noise noise;
    struct noise_plan *plan;
    float *photons;
    struct image image;
};

static void scene_open(struct scene *c, double gain, double readout_adu)
{
    *c = (struct scene){.panel = square(EDGE, 0)};
    c->x = (struct experiment){
        .npanels = 1, .panels = &c->panel, .adc_offset = 40, .gain = gain, .saturation = 65535};
    c->noise = (struct noise){.poisson = true,
                              .gain = gain,
                              .offset_adu = 40,
                              .readout_adu = readout_adu,
                              .saturation_adu = 65535,
                              .threads = 1};
    c->photons = calloc((size_t)EDGE * EDGE, sizeof *c->photons);
    c->image = (struct image){.type = PIXEL_U16,
                              .unit = UNIT_ADU,
                              .count = (size_t)EDGE * EDGE,
                              .pixels = calloc((size_t)EDGE * EDGE, sizeof(uint16_t))};
    assert_true(c->photons && c->image.pixels);
}

/* How many peaks are in the image of these photons. */
static size_t expose(struct scene *c, uint64_t id)
{
    if (!c->plan)
        assert_int_equal(noise_create(&c->plan, &c->noise, &c->x, NULL), STATUS_OK);
    assert_int_equal(noise_apply(c->plan, 7, id, c->photons, &c->image, NULL), STATUS_OK);
    return find(&c->x, &c->image, MOST);
}

static void scene_close(struct scene *c)
{
    noise_destroy(&c->plan);
    free(c->photons);
    free(c->image.pixels);
}

static void fill(struct scene *c, double mean)
{
    for (size_t i = 0; i < c->image.count; i++)
        c->photons[i] = (float)mean;
}

/* Returns the number of peaks in blanks of this number of megapixels, with `mean` photons per
 * pixel. */
static size_t blanks(double mean, double gain, double readout_adu, double flicker, int megapixels)
{
    struct scene c;
    size_t n = 0;
    scene_open(&c, gain, readout_adu);
    c.noise.flicker = flicker;
    fill(&c, mean);
    for (int i = 0; i < megapixels; i++)
        n += expose(&c, (uint64_t)i);
    scene_close(&c);
    return n;
}

/* At most 6 in 10^8 pixels are expected, less as photons are whole: 26 in 7 10^8. */
static void blanks_have_no_peaks(void **state)
{
    (void)state;
    const double means[] = {0, 0.01, 0.1, 1, 10, 100, 1000};
    const char *text = getenv("PEAKS_MEGAPIXELS");
    const int each = text ? atoi(text) / 7 : 2;
    size_t n = 0;
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        const size_t here = blanks(means[i], 1, 0, 0, each);
        print_message("# mean %g: %zu peaks in %d megapixels\n", means[i], here, each);
        n += here;
    }
    const double expected = each / 3.0;
    assert_true((double)n <= expected + 3 * sqrt(expected));
}

/* Gain and offset are taken off, and what scatters more than photons makes no peaks. */
static void other_noise_makes_no_peaks(void **state)
{
    (void)state;
    const struct {
        double mean, gain, readout_adu, flicker;
    } of[] = {{0, 0.7, 3, 0},  {1, 0.7, 3, 0},  {1, 1, 0.6, 0},   {0.1, 20, 0, 0},
              {10, 20, 30, 0}, {10, 0.5, 0, 0}, {100, 1, 0, 0.1}, {1000, 1, 0, 0.03}};
    size_t all = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const size_t n = blanks(of[i].mean, of[i].gain, of[i].readout_adu, of[i].flicker, 2);
        print_message("# mean %g, gain %g, readout %g, flicker %g: %zu peaks\n", of[i].mean,
                      of[i].gain, of[i].readout_adu, of[i].flicker, n);
        all += n;
    }
    assert_true(all <= 6);  // 2 are expected
}

/* Adds a Gaussian spot of `photons` at (fast, slow). */
static void add_spot(struct scene *c, double fast, double slow, double sigma, double photons)
{
    const int64_t f0 = llround(fast), s0 = llround(slow);
    for (int64_t s = s0 - 9; s <= s0 + 9; s++)
        for (int64_t f = f0 - 9; f <= f0 + 9; f++) {
            const double x = ((double)f - fast) / sigma / M_SQRT2, h = 0.5 / sigma / M_SQRT2;
            const double y = ((double)s - slow) / sigma / M_SQRT2;
            c->photons[s * EDGE + f] +=
                (float)(photons / 4 * (erf(x + h) - erf(x - h)) * (erf(y + h) - erf(y - h)));
        }
}

struct finds {
    double share;   // of spots that have a peak within 1 pixel and their sigma
    double again;   // those that have more, and farther, but within their light
    size_t others;  // peaks that belong to none
};

enum { ROW = EDGE / STEP };  // of spots

static struct finds find_spots(double mean, double sigma, double photons, uint64_t id)
{
    static double at[ROW * ROW][2];
    struct rng r = rng_stream(3, RNG_ORIENTATION, 0, 0);
    struct scene c;
    bool hit[ROW * ROW] = {false};
    size_t hits = 0, again = 0, others = 0;
    scene_open(&c, 1, 0);
    fill(&c, mean);
    for (int i = 0; i < ROW * ROW; i++) {
        at[i][0] = i % ROW * STEP + STEP / 2 + rng_uniform(&r);
        at[i][1] = i / ROW * STEP + STEP / 2 + rng_uniform(&r);
        add_spot(&c, at[i][0], at[i][1], sigma, photons);
    }
    const size_t n = expose(&c, id);
    for (size_t i = 0; i < n; i++) {
        const int spot = (int)found[i].slow / STEP * ROW + (int)found[i].fast / STEP;
        const double away = hypot(found[i].fast - at[spot][0], found[i].slow - at[spot][1]);
        const bool first = away < 1 + sigma && !hit[spot];
        hits += first;
        hit[spot] |= first;
        again += !first && away < 5 * sigma + 2;
        others += away >= 5 * sigma + 2;
    }
    scene_close(&c);
    return (struct finds){(double)hits / (ROW * ROW), (double)again / (ROW * ROW), others};
}

/* Photons in the brightest pixel of a spot that lies on its centre, per photon of the spot. */
static double brightest(double sigma)
{
    const double row = erf(0.5 / sigma / M_SQRT2);
    return row * row;
}

static void weak_spots_are_found(void **state)
{
    (void)state;
    static const struct {
        double mean;      // photons of the background in a pixel
        double height;    // photons above it in the brightest pixel of a spot that is well centred
        double found[4];  // share in eight images, for spots of these sigmas:
    } rows[] = {{0, 5, {0.803, 0.994, 0.993, 0.948}},    {0.1, 5, {0.465, 0.923, 0.980, 0.926}},
                {1, 5, {0.027, 0.225, 0.537, 0.658}},    {1, 10, {0.478, 0.961, 0.997, 0.985}},
                {10, 15, {0.040, 0.384, 0.799, 0.880}},  {10, 25, {0.499, 0.988, 0.999, 0.998}},
                {100, 50, {0.089, 0.626, 0.950, 0.969}}, {1000, 150, {0.074, 0.589, 0.943, 0.969}}};
    static const double sigmas[4] = {0.4, 0.7, 1, 1.5};
    size_t others = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < 4; k++) {
            const double photons = rows[i].height / brightest(sigmas[k]);
            const struct finds f = find_spots(rows[i].mean, sigmas[k], photons, 4 * i + k);
            print_message("# mean %g: spots of %.0f photons, %g in the brightest pixel, sigma %g "
                          "pixels: %.2f found, %.2f again\n",
                          rows[i].mean, photons, rows[i].height, sigmas[k], f.share, f.again);
            const double mean = rows[i].found[k];
            const double sd = sqrt(mean * (1 - mean) / (ROW * ROW));
            if (f.share < mean - 3 * sd || f.again > 0.05)
                fail_msg("%g are to be found, less three of %g", mean, sd);
            others += f.others;
        }
    print_message("# and %zu that are none in 32 megapixels\n", others);
    assert_true(others <= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_local_maxima_by_brightness),
        cmocka_unit_test(a_window_needs_what_chance_does_not_give),
        cmocka_unit_test(what_is_not_read_is_no_background),
        cmocka_unit_test(blanks_have_no_peaks),
        cmocka_unit_test(other_noise_makes_no_peaks),
        cmocka_unit_test(weak_spots_are_found),
    };
    return unit_run(tests);
}
