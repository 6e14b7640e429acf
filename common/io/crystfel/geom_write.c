/* Writes geometry files of CrystFEL. */
#include "io/crystfel/geom.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/recipe.h"

/* --- bad regions ----------------------------------------------------------------- */

/* A rectangle of bad pixels: the columns fast .. end - 1 of all rows from `slow` on. */
struct strip {
    int64_t fast, end, slow;
};

struct strips {
    struct strip *list;  // owned; ascending by `fast`
    size_t count;
};

static bool is_computed(const struct panel *p, int64_t f, int64_t s)
{
    const struct roi *r = &p->roi;
    return f >= r->fast_min && f <= r->fast_max && s >= r->slow_min && s <= r->slow_max &&
           (!p->mask || p->mask[s * p->fast_pixels + f]);
}

/* Finds the strips of row s that are never computed.  There are none in the row after the last
 * one. */
static void find_strips(const struct panel *p, int64_t s, struct strips *row)
{
    row->count = 0;
    for (int64_t f = 0; f < p->fast_pixels && s < p->slow_pixels; f++) {
        const int64_t first = f;
        while (f < p->fast_pixels && !is_computed(p, f, s))
            f++;
        if (f > first)
            row->list[row->count++] = (struct strip){first, f, s};
    }
}

static enum status write_region(FILE *out, const struct strip *r, size_t panel, int64_t first_row,
                                int64_t end_row, size_t *count, struct error *e)
{
    const size_t n = (*count)++;
    if (n == GEOM_BAD_MAX)
        return error_set(
            e, STATUS_INPUT,
            "the mask needs more than %d rectangles, which a CrystFEL geometry cannot store",
            GEOM_BAD_MAX);
    fprintf(out, "\nbad%zu/panel = p%zu\nbad%zu/min_fs = %" PRId64 "\nbad%zu/max_fs = %" PRId64, n,
            panel, n, r->fast, n, r->end - 1);
    fprintf(out, "\nbad%zu/min_ss = %" PRId64 "\nbad%zu/max_ss = %" PRId64 "\n", n,
            first_row + r->slow, n, first_row + end_row - 1);
    return STATUS_OK;
}

/* Continues the strips `before` of the previous row in row s: a strip with the same columns in
 * both rows gets the first row of the previous one.  Writes all other strips of the previous row
 * as bad regions, which end before row s. */
static enum status write_ended(FILE *out, const struct strips *before, struct strips *row,
                               int64_t s, size_t panel, int64_t first_row, size_t *count,
                               struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0, k = 0; i < before->count && !status; i++) {
        const struct strip *old = &before->list[i];
        while (k < row->count && row->list[k].fast < old->fast)
            k++;
        if (k < row->count && row->list[k].fast == old->fast && row->list[k].end == old->end)
            row->list[k].slow = old->slow;
        else
            status = write_region(out, old, panel, first_row, s, count, e);
    }
    return status;
}

/* Writes the bad regions of panel number `panel`, whose rows begin at `first_row` of the array.
 * *count is the number of regions that have been written so far, and grows. */
static enum status write_bad_of_panel(FILE *out, const struct panel *p, size_t panel,
                                      int64_t first_row, size_t *count, struct error *e)
{
    struct strips rows[2] = {{0}};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2; i++)
        rows[i].list = mem_array((size_t)p->fast_pixels / 2 + 1, sizeof *rows[i].list);
    for (int64_t s = 0; s <= p->slow_pixels && !status; s++) {
        find_strips(p, s, &rows[s & 1]);
        status = write_ended(out, &rows[!(s & 1)], &rows[s & 1], s, panel, first_row, count, e);
    }
    mem_free(rows[0].list);
    mem_free(rows[1].list);
    return status;
}

/* Writes the pixels of all panels that are never computed, as bad regions. */
static enum status write_bad(FILE *out, const struct experiment *x, struct error *e)
{
    size_t count = 0;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < x->npanels && !s; i++) {
        const struct panel *p = &x->panels[i];
        s = write_bad_of_panel(out, p, i, p->first_pixel / p->fast_pixels, &count, e);
    }
    return s;
}

/* --- panels and beam --------------------------------------------------------------- */

/* Writes an axis of a panel.  The numbers have no exponents, because CrystFEL does not read them
 * in axes. */
static void write_axis(FILE *out, size_t panel, const char *name, const double frame[9],
                       const double v[3])
{
    fprintf(out, "p%zu/%s = %+.9fx %+.9fy %+.9fz\n", panel, name, vec_dot(v, frame),
            vec_dot(v, frame + 3), vec_dot(v, frame + 6));
}

/* Writes 1/value with 9 digits.  If `exact`, with as many as give the same value when they are
 * read. */
static void write_inverse(FILE *out, double value, bool exact)
{
    char text[32];
    for (int digits = 9; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, 1 / value);
        if (!exact || 1 / strtod(text, NULL) == value)
            break;
    }
    fprintf(out, "%s\n", text);
}

/* Converts as geom_read does. */
static double read_angstrom(double wavelength_A)
{
    return wavelength_A * 1e-10;
}

/* Writes what says the wavelength of the beam: the energy of photons, the voltage of electrons, or
 * the wavelength of neutrons; likewise. */
static void write_energy(FILE *out, const struct experiment *x, bool exact)
{
    static const struct {
        const char *key, *unit;
        double (*value)(double m), (*read)(double value);
    } all[] = {[PROBE_XRAY] = {"photon_energy", "", m_to_ev, ev_to_m},
               [PROBE_ELECTRON] = {"electron_voltage", " V", m_to_volt, volt_to_m},
               [PROBE_NEUTRON] = {"wavelength", " A", m_to_angstrom, read_angstrom}};
    const double wavelength_m = x->beam.wavelength_m;
    char text[32];
    for (int digits = 9; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, all[x->probe].value(wavelength_m));
        if (!exact || all[x->probe].read(strtod(text, NULL)) == wavelength_m)
            break;
    }
    fprintf(out, "%s = %s%s\n", all[x->probe].key, text, all[x->probe].unit);
}

static void write_panel(FILE *out, size_t i, const struct experiment *x, const double frame[9],
                        const struct geom_style *style)
{
    const struct panel *p = &x->panels[i];
    const int64_t first = p->first_pixel / p->fast_pixels;
    fprintf(out, "\np%zu/data = %s\n", i, style->data);
    if (!style->live)
        fprintf(out, "p%zu/dim0 = %%\np%zu/dim1 = ss\np%zu/dim2 = fs\n", i, i, i);
    fprintf(out, "p%zu/min_fs = 0\np%zu/max_fs = %" PRId64 "\n", i, i, p->fast_pixels - 1);
    fprintf(out, "p%zu/min_ss = %" PRId64 "\np%zu/max_ss = %" PRId64 "\n", i, first, i,
            first + p->slow_pixels - 1);
    if (p->pixel_m != x->panels[0].pixel_m) {
        fprintf(out, "p%zu/res = ", i);
        write_inverse(out, p->pixel_m, style->exact);
    }
    fprintf(out, "p%zu/corner_x = %.6f\np%zu/corner_y = %.6f\n", i,
            vec_dot(p->origin_m, frame) / p->pixel_m, i,
            vec_dot(p->origin_m, frame + 3) / p->pixel_m);
    fprintf(out, "p%zu/coffset = %.9f\n", i,
            vec_dot(p->origin_m, frame + 6) - x->panels[0].distance_m);
    write_axis(out, i, "fs", frame, p->fast);
    write_axis(out, i, "ss", frame, p->slow);
}

/* Writes the sensor as a comment, because CrystFEL has no field for it. */
static void write_sensor(FILE *out, const struct panel *p)
{
    if (p->thickness_m > 0.0)
        fprintf(out, "; sensor: %s, %.9g mm, mu %.6g/mm\n", panel_material(p),
                m_to_mm(p->thickness_m), p->absorption_1_m / 1e3);
}

/* Writes the polarization as a comment, because CrystFEL has no field for it.  The comment is
 * the option of CrystFEL's programs, with whole degrees and percent. */
static void write_polarization(FILE *out, const struct beam *b, const double frame[9])
{
    double stokes[4];
    beam_stokes(b, frame, frame + 3, stokes);
    const double percent = round(50.0 * (1.0 + hypot(stokes[1], stokes[2])));
    const double turned = rad_to_deg(0.5 * atan2(stokes[2], stokes[1]));
    const double angle = round(turned < -0.5 ? turned + 180.0 : turned);
    fprintf(out, "; polarization: --polarisation=");
    if (b->no_polarization)
        fprintf(out, "none\n");
    else if (angle == 0.0 || angle == 90.0)
        fprintf(out, "%s%.0f\n", angle > 0.0 ? "vert" : "horiz", percent);
    else
        fprintf(out, "%.0fdeg%.0f\n", angle, percent);
}

/* Returns the rms width of the wavelengths of the beam, relative to their mean; 0: there is one. */
static double bandwidth_of(const struct beam *b)
{
    double weights = 0.0, sum_m = 0.0, squares = 0.0, shortest_m = INFINITY, longest_m = 0.0;
    for (size_t i = 0; i < b->nsources; i++) {
        weights += b->sources[i].weight;
        sum_m += b->sources[i].weight * b->sources[i].wavelength_m;
        shortest_m = fmin(shortest_m, b->sources[i].wavelength_m);
        longest_m = fmax(longest_m, b->sources[i].wavelength_m);
    }
    if (!(weights > 0.0) || !(longest_m > shortest_m * (1.0 + 1e-9)))
        return 0.0;
    const double mean_m = sum_m / weights;
    for (size_t i = 0; i < b->nsources; i++) {
        const double off = b->sources[i].wavelength_m / mean_m - 1.0;
        squares += b->sources[i].weight * off * off;
    }
    return sqrt(squares / weights);
}

static bool is_divergent(const struct experiment *x)
{
    const struct source *all = x->beam.sources;
    bool differ = false;
    for (size_t i = 1; i < x->beam.nsources && !differ; i++)
        differ = vec_dot(all[i].direction, all[0].direction) < 1.0 - 1e-13;
    for (size_t i = 0; i < x->ncrystals && !differ; i++)
        differ = x->crystals[i].has_ensemble && x->crystals[i].divergence_rms_rad > 0.0;
    return differ;
}

void geom_warn_of_unsaid(const char *path, const struct experiment *x)
{
    const struct incident b = incident_beam(x, &(struct recipe){0});
    const double bandwidth = bandwidth_of(&x->beam);
    if (bandwidth > 0.0)
        log_line(LOG_WARNING,
                 "%s stores only the mean and the rms width (%.4g %%) of several wavelengths (%.6g "
                 "to %.6g A): CrystFEL assumes a Gaussian spectrum",
                 path, 100.0 * bandwidth, m_to_angstrom(b.shortest_m), m_to_angstrom(b.longest_m));
    if (is_divergent(x))
        log_line(LOG_WARNING,
                 "%s cannot store the divergence of the beam: CrystFEL assumes a parallel beam",
                 path);
    if (x->beam.harmonic_share > 0.0)
        log_line(LOG_WARNING,
                 "%s cannot store the third harmonic (%.4g %%): CrystFEL assumes a single order",
                 path, 100.0 * x->beam.harmonic_share);
}

static enum status check_panels(const struct experiment *x, struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++) {
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT,
                             "the detector is curved, and CrystFEL has no curved detectors");
        if (x->panels[i].fast_pixels != x->panels[0].fast_pixels)
            return error_set(
                e, STATUS_INPUT,
                "panels 0 and %zu have %" PRId64 " and %" PRId64
                " pixels along fast, so they cannot be slabs of one array; expected equal widths",
                i, x->panels[0].fast_pixels, x->panels[i].fast_pixels);
    }
    return x->npanels
               ? STATUS_OK
               : error_set(e, STATUS_INPUT, "the detector has no panel; expected one or more");
}

enum status geom_write(FILE *out, const struct experiment *x, const struct geom_style *style,
                       const double frame[9], struct error *e)
{
    const enum status s = check_panels(x, e);
    if (s)
        return s;
    const bool electrons = x->probe == PROBE_ELECTRON;
    const char *energy = electrons ? "electron_voltage" : "photon_energy";
    const char *unit = electrons ? "V" : "eV";
    if (style->hdf5)
        fprintf(out,
                "; frames of bragg-serve --protocol=crystfel --payload=hdf5\n"
                "%s = " GEOM_HDF5_ENERGY " %s\nclen = " GEOM_HDF5_DISTANCE " mm\n",
                energy, unit);
    else if (style->live)
        fprintf(out,
                "; frames of bragg-serve --protocol=crystfel, as MessagePack\n"
                "%s = beam_energy %s\nclen = detector_distance mm\n",
                energy, unit);
    else {
        write_energy(out, x, style->exact);
        fprintf(out,
                "clen = %.9f\n"
                "; frames whose energy varies, in NXmx: "
                "wavelength = /entry/instrument/beam/incident_wavelength A\n",
                x->panels[0].distance_m);
    }
    const double bandwidth = bandwidth_of(&x->beam);
    if (bandwidth > 0.0)
        fprintf(out, "bandwidth = %.6g\n", bandwidth);
    fprintf(out, "adu_per_photon = %.9g\nres = ", x->gain > 0 ? x->gain : 1.0);
    write_inverse(out, x->panels[0].pixel_m, style->exact);
    if (x->saturation >= 1)
        fprintf(out, "max_adu = %.10g\n", floor(x->saturation) - 1);
    write_sensor(out, x->panels);
    write_polarization(out, &x->beam, frame);
    if (style->peaks)
        fprintf(out, "peak_list = peak_list\n");
    else if (!style->live)
        fprintf(out, "peak_list = /entry_1/result_1\npeak_list_type = cxi\n");
    for (size_t i = 0; i < x->npanels; i++)
        write_panel(out, i, x, frame, style);
    return write_bad(out, x, e);
}

enum status geom_panel_rounded(const struct experiment *x, size_t i, const double frame[9],
                               struct geom_panel *p, struct error *e)
{
    const struct geom_style style = {.data = "/", .exact = true};
    char *text = NULL;
    size_t length = 0;
    struct geom g;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return error_memory(e, "the places of the panels");
    fprintf(out, "clen = %.9f\nres = ", x->panels[0].distance_m);
    write_inverse(out, x->panels[0].pixel_m, true);
    write_panel(out, i, x, frame, &style);
    const bool good = !ferror(out);
    if (fclose(out) || !good) {
        free(text);
        return error_memory(e, "the places of the panels");
    }
    const enum status s = geom_parse("true panels", 1, text, length, 0, &g, e);
    free(text);
    if (!s)
        *p = g.panels[0];
    geom_free(&g);
    p->mask = NULL;
    return s;
}
