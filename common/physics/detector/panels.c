#include "physics/detector/detector.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "physics/detector/pixel.h"
#include "physics/request.h"

void panels_frame(const struct experiment *x, double frame[9])
{
    const double *beam = x->beam.direction;
    const double *fast = x->convention == CONVENTION_CUSTOM ? x->panels[0].fast
                                                            : convention_axes(x->convention)->fast;
    const double along = vec_dot(fast, beam);
    for (int i = 0; i < 3; i++)
        frame[i] = fast[i] - along * beam[i];
    if (!(vec_unit(frame, frame) > 1e-3)) {
        /* The axis is along the beam: any direction perpendicular to the beam is used. */
        const double other[3] = {fabs(beam[0]) < 0.5, fabs(beam[0]) >= 0.5, 0};
        vec_cross(beam, other, frame);
        vec_unit(frame, frame);
    }
    vec_cross(beam, frame, frame + 3);
    vec_copy(frame + 6, beam);
}

/* --- places -------------------------------------------------------------------- */

/* Converts v from the coordinate system of the beam to the laboratory frame. */
static void to_lab(const double frame[9], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = v[0] * frame[i] + v[1] * frame[3 + i] + v[2] * frame[6 + i];
}

/* Sets the normal away from the sample, and what follows from it. The position of the panel is
 * set before. */
static enum status orient(struct panel *p, const double beam[3], size_t number, struct error *e)
{
    vec_cross(p->fast, p->slow, p->normal);
    vec_unit(p->normal, p->normal);
    if (vec_dot(p->normal, p->origin_m) < 0.0)
        vec_scale(p->normal, -1.0, p->normal);
    detector_derive(p, beam, detector_ratio(p, beam));
    if (!(p->close_distance_m > 1e-6))
        return error_set(e, STATUS_INPUT,
                         "the plane of panel %zu contains the sample: its nearest distance is %g "
                         "mm; expected a value greater than 0.001",
                         number, m_to_mm(p->close_distance_m));
    p->beam_x_mm = m_to_mm(p->beam_fast_m);
    p->beam_y_mm = m_to_mm(p->beam_slow_m);
    return STATUS_OK;
}

enum status panels_place(const struct detector_request *r, struct experiment *x, struct error *e)
{
    const struct panel sensor = x->panels[0];
    double frame[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (!r->lab_places)
        panels_frame(x, frame);
    struct panel *list = mem_array(r->nplaces, sizeof *list);
    mem_free(x->panels);
    x->panels = list;
    x->npanels = r->nplaces;
    for (size_t i = 0; i < r->nplaces; i++) {
        list[i].mask = r->places[i].mask;
        r->places[i].mask = NULL;
    }
    enum status s = check_range("number of panels", (double)r->nplaces, 1, "", 1, LIMIT_PANELS, e);
    double pixels = 0;
    for (size_t i = 0; i < r->nplaces && !s; i++) {
        const struct place *place = &r->places[i];
        struct panel *p = &list[i];
        uint8_t *mask = p->mask;
        *p = sensor;
        p->mask = mask;
        p->fast_pixels = place->pixels[0];
        p->slow_pixels = place->pixels[1];
        p->pixel_m = place->pixel_m;
        p->roi = (struct roi){0, p->fast_pixels - 1, 0, p->slow_pixels - 1};
        p->first_pixel = (int64_t)pixels;
        pixels += (double)p->fast_pixels * (double)p->slow_pixels;
        to_lab(frame, place->fast, p->fast);
        to_lab(frame, place->slow, p->slow);
        to_lab(frame, place->corner_m, p->origin_m);
        s = check_range("number of pixels", pixels, 1.0, "", 1.0, LIMIT_PIXELS, e);
        s = s ? s : orient(p, x->beam.direction, i, e);
    }
    return s;
}

/* --- cuts ---------------------------------------------------------------------- */

int64_t layout_pixels(const struct layout *l, int along)
{
    return l->count[along] * (l->pixels[along] + l->gap[along]) - l->gap[along];
}

void layout_mask(const struct layout *l, uint8_t **mask)
{
    const int64_t nfast = layout_pixels(l, 0), nslow = layout_pixels(l, 1);
    *mask = mem_array((size_t)nfast, (size_t)nslow);
    for (int64_t s = 0; s < nslow; s++)
        for (int64_t f = 0; f < nfast; f++)
            (*mask)[s * nfast + f] = f % (l->pixels[0] + l->gap[0]) < l->pixels[0] &&
                                     s % (l->pixels[1] + l->gap[1]) < l->pixels[1];
}

/* Sets the first pixel of part i along an edge of `pixels` pixels, and the number of its pixels. */
static int64_t part_of(const struct layout *l, int along, int64_t pixels, int64_t i, int64_t *count)
{
    const int64_t n = l->count[along];
    const int64_t first =
        l->pixels[along] ? i * (l->pixels[along] + l->gap[along]) : i * pixels / n;
    *count = l->pixels[along] ? l->pixels[along] : (i + 1) * pixels / n - first;
    return first;
}

static int64_t clip(int64_t value, int64_t count)
{
    return value < 0 ? 0 : value >= count ? count - 1 : value;
}

/* Copies the mask of a part of `from`, if `from` has a mask. */
static void cut_mask(const struct panel *from, struct panel *p)
{
    const int64_t f0 = p->grid_fast - from->grid_fast, s0 = p->grid_slow - from->grid_slow;
    if (!from->mask)
        return;
    p->mask = mem_array((size_t)p->fast_pixels, (size_t)p->slow_pixels);
    for (int64_t s = 0; s < p->slow_pixels; s++)
        memcpy(p->mask + s * p->fast_pixels, from->mask + (s0 + s) * from->fast_pixels + f0,
               (size_t)p->fast_pixels);
}

/* Makes part (f, s) of `from`. */
static void cut_part(const struct layout *l, const struct panel *from, int64_t f, int64_t s,
                     struct panel *p)
{
    *p = *from;
    p->mask = NULL;
    const int64_t f0 = part_of(l, 0, from->fast_pixels, f, &p->fast_pixels);
    const int64_t s0 = part_of(l, 1, from->slow_pixels, s, &p->slow_pixels);
    if (!from->grid_fast && !from->grid_slow)
        vec_copy(p->grid_m, from->origin_m);
    p->grid_fast += f0;
    p->grid_slow += s0;
    const double along_fast = p->pixel_m * (double)f0, along_slow = p->pixel_m * (double)s0;
    for (int i = 0; i < 3; i++)
        p->origin_m[i] += along_fast * p->fast[i] + along_slow * p->slow[i];
    p->beam_fast_m -= along_fast;
    p->beam_slow_m -= along_slow;
    p->close_fast_m -= along_fast;
    p->close_slow_m -= along_slow;
    const struct roi *r = &from->roi;
    const bool seen = r->fast_max >= f0 && r->fast_min < f0 + p->fast_pixels && r->slow_max >= s0 &&
                      r->slow_min < s0 + p->slow_pixels;
    p->roi = (struct roi){0, -1, 0, -1};
    if (seen)
        p->roi = (struct roi){
            clip(r->fast_min - f0, p->fast_pixels), clip(r->fast_max - f0, p->fast_pixels),
            clip(r->slow_min - s0, p->slow_pixels), clip(r->slow_max - s0, p->slow_pixels)};
    cut_mask(from, p);
}

static enum status check_cut(const struct layout *l, const struct experiment *x, struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const int64_t edge[2] = {p->fast_pixels, p->slow_pixels};
        if (p->curved)
            return error_set(e, STATUS_INPUT, "a curved detector cannot be cut into panels");
        for (int k = 0; k < 2; k++)
            if (l->count[k] < 1 || l->count[k] > edge[k] ||
                (l->pixels[k] && layout_pixels(l, k) > edge[k]))
                return error_set(e, STATUS_INPUT, "%lld panels along %s do not fit on %lld pixels",
                                 (long long)l->count[k], k ? "slow" : "fast", (long long)edge[k]);
    }
    return check_range("number of panels",
                       (double)x->npanels * (double)l->count[0] * (double)l->count[1], 1, "", 1,
                       LIMIT_PANELS, e);
}

enum status panels_cut(const struct layout *l, struct experiment *x, struct error *e)
{
    if (!l->count[0])
        return STATUS_OK;
    enum status s = check_cut(l, x, e);
    if (s)
        return s;
    const size_t parts = (size_t)(l->count[0] * l->count[1]);
    struct panel *list = mem_array(x->npanels * parts, sizeof *list);
    int64_t pixels = 0;
    for (size_t i = 0; i < x->npanels * parts; i++) {
        const int64_t part = (int64_t)(i % parts);
        cut_part(l, &x->panels[i / parts], part % l->count[0], part / l->count[0], &list[i]);
        list[i].first_pixel = pixels;
        pixels += list[i].fast_pixels * list[i].slow_pixels;
    }
    for (size_t i = 0; i < x->npanels; i++)
        mem_free(x->panels[i].mask);
    mem_free(x->panels);
    x->panels = list;
    x->npanels *= parts;
    return s;
}

/* --- from frame to frame ---------------------------------------------------------- */

bool shift_moves(const struct shift *s)
{
    return s->coffset_m != 0.0 || s->across_m[0] != 0.0 || s->across_m[1] != 0.0 ||
           s->coffset_jitter_m > 0.0 || s->jitter_m > 0.0 || s->nlisted;
}

/* Computes the shift without jitter, in the coordinate system of the beam. */
static void listed_shift(const struct shift *s, uint64_t frame, double by_m[3])
{
    for (int i = 0; i < 3; i++)
        by_m[i] = s->nlisted ? s->listed_m[frame % s->nlisted][i] : 0.0;
    for (int i = 0; i < 2; i++)
        by_m[i] += s->across_m[i];
    by_m[2] += s->coffset_m;
}

enum status shift_check(const struct shift *s, const struct experiment *x, struct error *e)
{
    static const double NEAREST_M = 1e-6;
    const size_t count = s->nlisted ? s->nlisted : shift_moves(s);
    double frame[9];
    panels_frame(x, frame);
    for (size_t k = 0; k < count * x->npanels; k++) {
        const struct panel *p = &x->panels[k % x->npanels];
        double by_m[3], lab[3];
        if (p->curved)
            return error_set(e, STATUS_INPUT, "a curved detector cannot move from frame to frame");
        listed_shift(s, k / x->npanels, by_m);
        to_lab(frame, by_m, lab);
        if (!(p->close_distance_m + vec_dot(p->normal, lab) > NEAREST_M))
            return error_set(
                e, STATUS_INPUT,
                "a shift of %g mm along the beam puts panel %zu in front of the sample; "
                "expected all panels behind the sample",
                m_to_mm(by_m[2]), k % x->npanels);
    }
    return STATUS_OK;
}

void shift_make(const struct shift *s, const struct experiment *x, struct recipe *r)
{
    double frame[9], by_m[3];
    r->has_shift = shift_moves(s);
    if (!r->has_shift)
        return;
    listed_shift(s, r->id, by_m);
    if (s->coffset_jitter_m > 0.0 || s->jitter_m > 0.0) {
        struct rng random = rng_stream(r->seed, RNG_SHIFT, r->id, 0);
        by_m[2] += s->coffset_jitter_m * rng_normal(&random);
        by_m[0] += s->jitter_m * rng_normal(&random);
        by_m[1] += s->jitter_m * rng_normal(&random);
    }
    panels_frame(x, frame);
    to_lab(frame, by_m, r->shift_m);
}

/* --- from directions to pixels ---------------------------------------------------- */

/* The inverse of pixel_curve. */
static bool ray_to_curved(const struct panel *p, const double beam[3], const double direction[3],
                          double *fast, double *slow)
{
    double across_fast[3], across_slow[3], unit[3];
    vec_unit(direction, unit);
    pixel_curve_axes(p, beam, across_fast, across_slow);
    const double a = asin(vec_dot(unit, across_fast));
    const double b = atan2(vec_dot(unit, across_slow), vec_dot(unit, beam));
    *fast = (p->beam_fast_m + p->distance_m * a) / p->pixel_m;
    *slow = (p->beam_slow_m + p->distance_m * b) / p->pixel_m;
    return p->distance_m > 0.0;
}

bool ray_to_pixel(const struct panel *p, const double beam[3], const double direction[3],
                  double *fast, double *slow)
{
    if (p->curved)
        return ray_to_curved(p, beam, direction, fast, slow);
    const double length = vec_dot(p->origin_m, p->normal) / vec_dot(direction, p->normal);
    if (!(length > 0.0) || !isfinite(length))
        return false;
    double on[3];
    for (int i = 0; i < 3; i++)
        on[i] = length * direction[i] - p->origin_m[i];
    *fast = vec_dot(on, p->fast) / p->pixel_m;
    *slow = vec_dot(on, p->slow) / p->pixel_m;
    return true;
}

void ray_on_cone(const double beam[3], double twotheta_rad, double azimuth_rad, double direction[3])
{
    const double other[3] = {fabs(beam[0]) < 0.5, fabs(beam[0]) >= 0.5, 0.0};
    double u[3], v[3];
    vec_cross(beam, other, u);
    vec_unit(u, u);
    vec_cross(beam, u, v);
    for (int i = 0; i < 3; i++)
        direction[i] = cos(twotheta_rad) * beam[i] +
                       sin(twotheta_rad) * (cos(azimuth_rad) * u[i] + sin(azimuth_rad) * v[i]);
}

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
