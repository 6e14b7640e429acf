/* Built-in detectors: their sizes, gaps and sensors, the places of their modules, and groups of
 * modules that move together. */
#include "physics/detector/detector.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "physics/request.h"

/* --- places of the modules of built-in detectors --------------------------------- */

/* Sets out[] to v, rotated by `quarters` quarter turns from x to y. */
static void quarter_turns(size_t quarters, const double v[2], double out[2])
{
    static const int cosine[4] = {1, 0, -1, 0}, sine[4] = {0, 1, 0, -1};
    const double x = v[0], y = v[1];
    out[0] = cosine[quarters % 4] * x - sine[quarters % 4] * y;
    out[1] = sine[quarters % 4] * x + cosine[quarters % 4] * y;
}

/* Adds a module whose axes are turned by `own` quarter turns, on a quadrant that is turned by
 * `all` quarter turns. */
static struct preset_stand turned(const double corner_px[2], size_t own, size_t all)
{
    struct preset_stand s;
    quarter_turns(all, corner_px, s.corner_px);
    quarter_turns(own + all, (const double[]){1, 0}, s.fast);
    quarter_turns(own + all, (const double[]){0, 1}, s.slow);
    return s;
}

/* Four quadrants about the beam, each a column of four modules.  Fast goes down in the two
 * on one side and up in the others, slow away from that side. */
static struct preset_stand agipd(size_t module)
{
    static const double corners_px[4][2] = {{-525, 625}, {-550, -10}, {520, -160}, {542.5, 475}};
    const size_t quadrant = module / 4;
    const double module_px = 128 + 29;
    const double corner_px[2] = {corners_px[quadrant][0],
                                 corners_px[quadrant][1] - module_px * (double)(module % 4)};
    return turned(corner_px, quadrant < 2 ? 3 : 1, 0);
}

/* Eight sensors of 2 x 1 readout chips to a quadrant, in pairs that are turned against each other;
 * quadrants by a quarter turn from the one before. */
static struct preset_stand cspad(size_t sensor)
{
    static const double corners_px[8][2] = {{446, -12}, {233, -12}, {867, 389}, {867, 177},
                                            {466, 808}, {679, 808}, {440, 788}, {440, 575}};
    static const size_t quarters[8] = {1, 1, 2, 2, 3, 3, 2, 2};
    return turned(corners_px[sensor % 8], quarters[sensor % 8], sensor / 8);
}

/* Readout chips of 192 x 176 pixels, 2 x 2 to a module with borders of 2.5 pixels, 2 x 2 modules
 * with 20 pixels between them to a quadrant, quadrants by quarter turns about a hole of 4 mm. */
static struct preset_stand epix10k(size_t chip)
{
    const size_t in_module = chip % 4, module = chip / 4 % 4, quadrant = chip / 16;
    const double x = (double)(module % 2) * (386.5 + 20) + (double)(in_module % 2) * 194.5;
    const double y = (double)(module / 2) * (354.5 + 20) + (double)(in_module / 2) * 178.5;
    return turned((const double[]){x + 20, y - 20}, 0, quadrant);
}

/* 4 x 8 modules in quarters that are moved by 34 pixels each, which leaves a hole for the beam. */
static struct preset_stand jungfrau_16m(size_t module)
{
    const size_t column = module % 4, row = module / 4;
    const double right = column < 2 ? -1 : 1, top = row < 4 ? -1 : 1;
    const double corner_px[2] = {((double)column - 2) * (1030 + 8) + 4 + 34 * -top,
                                 ((double)row - 4) * (514 + 36) + 18 + 34 * right};
    return turned(corner_px, 0, 0);
}

/* --- the list of built-in detectors ------------------------------------------------ */

/* Makers' data sheets: Dectris, Rayonix (MX-HS series, binned 2 x 2), PSI.  A Pilatus3 has the
 * modules of a Pilatus, and a sensor of 320, 450 or 1000 um; the list has 450 um.  CBF headers of
 * Pilatus3 detectors in public data have all three: 2M 24-0119 (320 um), 2M 24-0126 (450 um), 2M
 * 24-0124 and 6M 60-0127 (1000 um).  The AGIPD and
 * the CSPAD as their beamlines (SPB, CXI) place them; the Jungfrau 16M as SwissFEL does.  CSPAD: P.
 * Hart and others, Proc. SPIE 8504, 85040C (2012), low gain.  ePix10k: G. Blaj and others, AIP
 * Conf. Proc. 2054, 060062 (2019); chips at the pitch of its wide border pixels, quadrants nominal.
 * SLAC's detectors stand otherwise in each run. */
static const struct preset_detector detectors[] = {
    {"pilatus-300k", {{1, 3}, {487, 195}, {7, 17}}, 172e-6, 320e-6, 1048575, false, 0, NULL, true},
    {"pilatus-1m", {{2, 5}, {487, 195}, {7, 17}}, 172e-6, 320e-6, 1048575, false, 0, NULL, true},
    {"pilatus-2m", {{3, 8}, {487, 195}, {7, 17}}, 172e-6, 320e-6, 1048575, false, 0, NULL, true},
    {"pilatus-6m", {{5, 12}, {487, 195}, {7, 17}}, 172e-6, 320e-6, 1048575, false, 0, NULL, true},
    {"pilatus3-300k", {{1, 3}, {487, 195}, {7, 17}}, 172e-6, 450e-6, 1048575, false, 0, NULL, true},
    {"pilatus3-1m", {{2, 5}, {487, 195}, {7, 17}}, 172e-6, 450e-6, 1048575, false, 0, NULL, true},
    {"pilatus3-2m", {{3, 8}, {487, 195}, {7, 17}}, 172e-6, 450e-6, 1048575, false, 0, NULL, true},
    {"pilatus3-6m", {{5, 12}, {487, 195}, {7, 17}}, 172e-6, 450e-6, 1048575, false, 0, NULL, true},
    {"eiger-1m", {{1, 2}, {1030, 514}, {10, 37}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"eiger-4m", {{2, 4}, {1030, 514}, {10, 37}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"eiger-9m", {{3, 6}, {1030, 514}, {10, 37}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"eiger-16m", {{4, 8}, {1030, 514}, {10, 37}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"eiger2-500k", {{1, 1}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"eiger2-1m", {{1, 2}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"eiger2-4m", {{2, 4}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"eiger2-9m", {{3, 6}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"eiger2-16m", {{4, 8}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0, NULL, true},
    {"jungfrau-1m", {{1, 2}, {1030, 514}, {8, 36}}, 75e-6, 320e-6, 11000, true, 0, NULL, false},
    {"jungfrau-4m", {{2, 4}, {1030, 514}, {8, 36}}, 75e-6, 320e-6, 11000, true, 0, NULL, false},
    {"jungfrau-16m",
     {{1, 1}, {1030, 514}, {0, 0}},
     75e-6,
     320e-6,
     11000,
     true,
     32,
     jungfrau_16m,
     false},
    {"agipd-1m", {{1, 8}, {128, 64}, {0, 2}}, 200e-6, 500e-6, 10000, true, 16, agipd, false},
    {"cspad", {{2, 1}, {194, 185}, {3, 0}}, 109.92e-6, 500e-6, 2700, true, 32, cspad, false},
    {"epix10k-2m", {{1, 1}, {192, 176}, {0, 0}}, 100e-6, 500e-6, 11000, true, 64, epix10k, false},
    {"rayonix-mx170hs", {{1, 1}, {1920, 1920}, {0, 0}}, 88.54e-6, 0, 65535, false, 0, NULL, false},
    {"rayonix-mx225hs", {{1, 1}, {2880, 2880}, {0, 0}}, 78.125e-6, 0, 65535, false, 0, NULL, false},
    {"rayonix-mx340hs", {{1, 1}, {3840, 3840}, {0, 0}}, 88.54e-6, 0, 65535, false, 0, NULL, false},
};

enum { PRESETS = sizeof detectors / sizeof *detectors };

const struct preset_detector *preset_at(size_t index)
{
    return index < PRESETS ? &detectors[index] : NULL;
}

/* Returns the next letter or digit in lower case; 0: the end of the text. */
static int next_sign(const char **text)
{
    while (**text == '-' || **text == '_' || **text == ' ')
        (*text)++;
    return **text ? tolower((unsigned char)*(*text)++) : 0;
}

static bool same_name(const char *a, const char *b)
{
    int sign;
    do
        if ((sign = next_sign(&a)) != next_sign(&b))
            return false;
    while (sign);
    return true;
}

const struct preset_detector *preset_named(const char *name)
{
    for (size_t i = 0; i < PRESETS; i++)
        if (same_name(name, detectors[i].name))
            return &detectors[i];
    return NULL;
}

void preset_places(const struct preset_detector *d, double distance_m, struct place **places)
{
    *places = mem_array(d->nplaces, sizeof **places);
    for (size_t i = 0; i < d->nplaces; i++) {
        const struct preset_stand s = d->stand(i);
        (*places)[i] = (struct place){
            .pixels = {layout_pixels(&d->layout, 0), layout_pixels(&d->layout, 1)},
            .pixel_m = d->pixel_m,
            .fast = {s.fast[0], s.fast[1], 0},
            .slow = {s.slow[0], s.slow[1], 0},
            .corner_m = {d->pixel_m * s.corner_px[0], d->pixel_m * s.corner_px[1], distance_m},
        };
    }
}

/* --- groups of panels ---------------------------------------------------------------- */

static size_t quadrant_of_4(size_t module)
{
    return module / 4;
}

static size_t quadrant_of_8(size_t module)
{
    return module / 8;
}

static size_t quadrant_of_16(size_t module)
{
    return module / 16;
}

static size_t jungfrau_16m_quadrant(size_t module)
{
    return module / 16 * 2 + module % 4 / 2;
}

/* Detectors whose modules have places of their own: the quadrant of such a module, and how many of
 * them, one after the other, are one mechanical module. */
static const struct {
    struct preset_stand (*stand)(size_t module);
    size_t (*quadrant)(size_t module);
    size_t unit_modules;
} groups[] = {{agipd, quadrant_of_4, 1},
              {cspad, quadrant_of_8, 1},
              {epix10k, quadrant_of_16, 4},
              {jungfrau_16m, jungfrau_16m_quadrant, 1}};

size_t preset_groups(const struct preset_detector *d, const char *name, size_t npanels,
                     int32_t *member)
{
    const bool modules = strcmp(name, "modules") == 0, quadrants = strcmp(name, "quadrants") == 0;
    size_t kind = 0, count = 0;
    while (kind < sizeof groups / sizeof *groups && groups[kind].stand != d->stand)
        kind++;
    if (!d->nplaces || kind == sizeof groups / sizeof *groups || npanels % d->nplaces ||
        (!modules && !quadrants))
        return 0;
    for (size_t i = 0; i < npanels; i++) {
        const size_t place = i / (npanels / d->nplaces);
        const size_t group =
            modules ? place / groups[kind].unit_modules : groups[kind].quadrant(place);
        member[i] = (int32_t)group;
        count = group + 1 > count ? group + 1 : count;
    }
    return count;
}
