/*
 * bragg-compare: compares two images, or the frames of two NXmx files.  Limits decide the exit
 * status.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "base/units.h"
#include "base/vec.h"
#include "comparison.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_geometry.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/frame.h"

/*
 * Compares two NXmx files: their detectors, and the frames that have the same number. Masked
 * pixels are ignored.
 */

/* One of the two files that are compared. */
struct side {
    const char *path;
    struct nxmx_geometry detector;
    struct nxmx_rows rows;    // rows of all frames
    size_t pixels;            // number of pixels of an image, in all panels
    double edge_A, corner_A;  // smallest d spacings; INFINITY: the wavelength is not known
    /* sums over all frames of the file */
    double photons;
    double brightest;    // largest value of a pixel, in photons
    uint64_t overloads;  // number of saturated pixels
};

static void side_close(struct side *f)
{
    nxmx_geometry_free(&f->detector);
    nxmx_rows_free(&f->rows);
}

/* Returns the d spacing, in A, of the point (fast, slow) of a panel. The panel is in a
 * coordinate system whose z axis is the beam. */
static double spacing_A(const struct geom_panel *p, double wavelength_m, double fast, double slow)
{
    double at[3];
    for (int i = 0; i < 3; i++)
        at[i] = p->corner_m[i] + p->pixel_m * (fast * p->fast[i] + slow * p->slow[i]);
    const double twotheta = acos(fmax(-1.0, fmin(1.0, at[2] / vec_length(at))));
    return m_to_angstrom(wavelength_m) / (2.0 * sin(0.5 * twotheta));
}

/* Sets edge_A and corner_A: the smallest d spacings of the pixels in the middle of the edges and
 * in the corners of all panels, as bragg-geometry computes them. */
static void find_resolution(struct side *f)
{
    const double wavelength_m = f->detector.wavelength_m;
    f->edge_A = f->corner_A = INFINITY;
    for (size_t i = 0; i < f->detector.npanels && wavelength_m > 0; i++)
        for (int k = 0; k < 9; k++) {
            const struct geom_panel *p = &f->detector.panels[i];
            const int64_t fast = (p->fast_pixels - 1) * (k % 3) / 2,
                          slow = (p->slow_pixels - 1) * (k / 3) / 2;
            const double d_A = spacing_A(p, wavelength_m, (double)fast + 0.5, (double)slow + 0.5);
            if (k % 2)
                f->edge_A = fmin(f->edge_A, d_A);
            else if (k != 4)
                f->corner_A = fmin(f->corner_A, d_A);
        }
}

static enum status side_open(struct side *f, const char *path, struct error *e)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    *f = (struct side){.path = path};
    enum status s = nxmx_read_truth(path, history, &f->rows, e);
    s = s ? s : nxmx_geometry_read(path, &f->detector, e);
    for (size_t i = 0; i < f->detector.npanels && !s; i++)
        f->pixels +=
            (size_t)(f->detector.panels[i].fast_pixels * f->detector.panels[i].slow_pixels);
    if (!s)
        find_resolution(f);
    return s;
}

/* Sets masked pixels to 0. */
static void blank_masked(const struct side *f, struct image *image)
{
    const size_t size = pixel_size(image->type);
    unsigned char *at = image->pixels;
    for (size_t i = 0; i < f->detector.npanels; i++) {
        const struct geom_panel *p = &f->detector.panels[i];
        const size_t n = (size_t)(p->fast_pixels * p->slow_pixels);
        for (size_t k = 0; k < n && p->mask; k++)
            if (!p->mask[k])
                memset(at + k * size, 0, size);
        at += n * size;
    }
}

/* Adds the photons and the overloads of an image to the sums of the file. */
static void add_counts(struct side *f, const struct image *image)
{
    const bool counts = image->unit == UNIT_ADU;
    const double offset = counts ? f->detector.adc_offset : 0.0,
                 gain = counts && f->detector.gain > 0 ? f->detector.gain : 1.0;
    size_t i = 0;
    for (size_t panel = 0; panel < f->detector.npanels; panel++) {
        const struct geom_panel *p = &f->detector.panels[panel];
        const size_t n = (size_t)(p->fast_pixels * p->slow_pixels);
        for (size_t k = 0; k < n; k++, i++) {
            const double value = image_value(image, i), photons = (value - offset) / gain;
            if ((p->mask && !p->mask[k]) || !isfinite(value))
                continue;
            f->photons += photons;
            f->brightest = fmax(f->brightest, photons);
            f->overloads += counts && f->detector.saturation > 0 && value >= f->detector.saturation;
        }
    }
}

static enum status read_frame(struct side *f, uint64_t number, struct nxmx_one *one,
                              struct error *e)
{
    enum status s = nxmx_one_read(f->path, number, f->pixels, one, e);
    s = s ? s : nxmx_one_check(f->path, number, one, &one->rows, e);
    if (s)
        return s;
    add_counts(f, &one->image);
    blank_masked(f, &one->image);
    return STATUS_OK;
}

/* --- detectors --------------------------------------------------------------------------- */

static bool are_alike(const double *a, const double *b, int n, double tolerance)
{
    bool alike = true;
    for (int i = 0; i < n; i++)
        alike = alike && fabs(a[i] - b[i]) <= tolerance;
    return alike;
}

/* Returns true if the panels, their positions and the wavelengths of both files are the same. */
static bool same_detectors(const struct side *a, const struct side *b)
{
    static const double NEAR_M = 1e-7, NEAR_DIRECTION = 1e-6, NEAR_WAVELENGTH_M = 1e-15;
    bool same =
        a->detector.npanels == b->detector.npanels &&
        are_alike(&a->detector.wavelength_m, &b->detector.wavelength_m, 1, NEAR_WAVELENGTH_M);
    for (size_t i = 0; same && i < a->detector.npanels; i++) {
        const struct geom_panel *p = &a->detector.panels[i], *q = &b->detector.panels[i];
        same = p->fast_pixels == q->fast_pixels && p->slow_pixels == q->slow_pixels &&
               are_alike(&p->pixel_m, &q->pixel_m, 1, 1e-3 * NEAR_M) &&
               are_alike(p->corner_m, q->corner_m, 3, NEAR_M) &&
               are_alike(p->fast, q->fast, 3, NEAR_DIRECTION) &&
               are_alike(p->slow, q->slow, 3, NEAR_DIRECTION);
    }
    return same;
}

/* Returns true if each panel has the same number of pixels, so that pixels can be compared. */
static bool same_sizes(const struct side *a, const struct side *b)
{
    bool same = a->detector.npanels == b->detector.npanels;
    for (size_t i = 0; same && i < a->detector.npanels; i++)
        same = a->detector.panels[i].fast_pixels == b->detector.panels[i].fast_pixels &&
               a->detector.panels[i].slow_pixels == b->detector.panels[i].slow_pixels;
    return same;
}

/* The quantities of the table of detectors.  Numbers that are not known are NaN. */
enum { QUANTITIES = 9 };

static void find_quantities(const struct side *f, double values[QUANTITIES])
{
    const double frames = f->rows.nframes ? (double)f->rows.nframes : (double)NAN;
    const double list[QUANTITIES] = {(double)f->pixels,
                                     m_to_mm(f->detector.panels->pixel_m),
                                     isfinite(f->edge_A) ? f->edge_A : (double)NAN,
                                     isfinite(f->corner_A) ? f->corner_A : (double)NAN,
                                     (double)f->rows.nframes,
                                     f->photons,
                                     f->photons / frames,
                                     f->brightest,
                                     f->detector.saturation > 0 ? (double)f->overloads
                                                                : (double)NAN};
    memcpy(values, list, sizeof list);
}

static const struct {
    const char *text, *key;
} quantities[QUANTITIES] = {{"pixels", "pixels"},
                            {"pixel size, mm", "pixel_mm"},
                            {"d at the edge, A", "edge_A"},
                            {"d in the corner, A", "corner_A"},
                            {"frames", "frames"},
                            {"photons in total", "photons"},
                            {"photons a frame", "photons_per_frame"},
                            {"brightest pixel, photons", "brightest_photons"},
                            {"overloads in total", "overloads"}};

static void print_value(FILE *out, double value, const char *missing, const char *format)
{
    if (isfinite(value))
        fprintf(out, format, value);
    else
        fprintf(out, "%s", missing);
}

static void print_detectors(FILE *out, const struct side f[2])
{
    double a[QUANTITIES], b[QUANTITIES];
    find_quantities(&f[0], a);
    find_quantities(&f[1], b);
    fprintf(out, "the detectors differ:\n%-26s%-16s%s\n", "", "A", "B");
    for (int i = 0; i < QUANTITIES; i++) {
        char text[32] = "not known";
        if (isfinite(a[i]))
            (void)snprintf(text, sizeof text, "%.7g", a[i]);
        fprintf(out, "%-26s%-16s", quantities[i].text, text);
        print_value(out, b[i], "not known", "%.7g");
        fprintf(out, "\n");
    }
}

static void print_detectors_json(FILE *out, const struct side f[2])
{
    fprintf(out, "\"detectors\":[");
    for (int k = 0; k < 2; k++) {
        double values[QUANTITIES];
        find_quantities(&f[k], values);
        for (int i = 0; i < QUANTITIES; i++) {
            fprintf(out, "%s\"%s\":", i ? "," : k ? ",{" : "{", quantities[i].key);
            print_value(out, values[i], "null", "%.17g");
        }
        fprintf(out, "}");
    }
    fprintf(out, "],");
}

/* --- frames ------------------------------------------------------------------------------ */

static void print_frame(FILE *out, uint64_t number, const struct comparison *c, bool within)
{
    fprintf(out, "%-8" PRIu64 "%-10zu%-12zu%-12.6g%-12.6g%-16.9g%-13.6g%s\n", number, c->differing,
            c->not_finite, c->nerrors ? c->max_error : (double)NAN, comparison_percentile(c, 99.9),
            comparison_sum_ratio(c), c->correlation, within ? "within" : "outside");
}

/* Compares the frame `number`, which both files have, and prints the result. */
static enum status compare_frame(FILE *out, const struct compare_options *o,
                                 const struct percentile_limit *limits, struct side f[2],
                                 uint64_t number, bool first, bool *within, struct error *e)
{
    struct nxmx_one one[2] = {{0}, {0}};
    struct comparison c = {0};
    enum status s = STATUS_OK;
    for (int k = 0; k < 2 && !s; k++)
        s = read_frame(&f[k], number, &one[k], e);
    if (!s) {
        comparison_make(&c, &one[0].image, &one[1].image, o);
        const bool fits = comparison_is_within(&c, o, limits);
        *within = *within && fits;
        if (o->json) {
            fprintf(out, "%s{\"frame\":%" PRIu64 ",", first ? "" : ",", number);
            comparison_print_json(
                out, &c, f->detector.npanels == 1 ? f->detector.panels->fast_pixels : 0, fits);
            fprintf(out, "}");
        } else {
            print_frame(out, number, &c, fits);
        }
    }
    comparison_free(&c);
    nxmx_one_free(&one[0]);
    nxmx_one_free(&one[1]);
    return s;
}

/* Reads the frames of one file that are not compared, for the sums of the file: frames that the
 * other file does not have, or all frames if they cannot be compared. Sets *alone to their
 * number. */
static enum status read_alone(struct side *f, const struct nxmx_rows *other, uint64_t *alone,
                              struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < f->rows.nframes && !s; i++) {
        struct nxmx_one one = {0};
        if (other && nxmx_rows_find(other, f->rows.frames[i].number) >= 0)
            continue;
        ++*alone;
        s = read_frame(f, f->rows.frames[i].number, &one, e);
        nxmx_one_free(&one);
    }
    return s;
}

static enum status compare_frames(FILE *out, const struct compare_options *o,
                                  const struct percentile_limit *limits, struct side f[2],
                                  bool *within, struct error *e)
{
    uint64_t both = 0, alone[2] = {0, 0};
    enum status s = STATUS_OK;
    if (o->json)
        fprintf(out, "\"frames\":[");
    else
        fprintf(out, "%-8s%-10s%-12s%-12s%-12s%-16s%-13s%s\n", "frame", "differ", "not finite",
                "max error", "99.9%", "sum ratio", "correlation", "verdict");
    for (size_t i = 0; i < f[0].rows.nframes && !s; i++) {
        const uint64_t number = f[0].rows.frames[i].number;
        if (nxmx_rows_find(&f[1].rows, number) >= 0)
            s = compare_frame(out, o, limits, f, number, both++ == 0, within, e);
    }
    for (int k = 0; k < 2 && !s; k++)
        s = read_alone(&f[k], &f[1 - k].rows, &alone[k], e);
    if (s)
        return s;
    *within = *within && both && !alone[0] && !alone[1];
    if (o->json)
        fprintf(out, "],\"both\":%" PRIu64 ",\"only_a\":%" PRIu64 ",\"only_b\":%" PRIu64 ",", both,
                alone[0], alone[1]);
    else
        fprintf(out,
                "frames       %" PRIu64 " in both files, %" PRIu64 " only in A, %" PRIu64
                " only in B\n",
                both, alone[0], alone[1]);
    return STATUS_OK;
}

static enum status compare_sides(FILE *out, const struct compare_options *o,
                                 const struct percentile_limit *limits, struct side f[2],
                                 bool *within, struct error *e)
{
    const bool sizes = same_sizes(&f[0], &f[1]), same = same_detectors(&f[0], &f[1]);
    uint64_t ignored = 0;
    enum status s = STATUS_OK;
    *within = sizes;
    if (o->json)
        fprintf(out, "{");
    if (sizes)
        s = compare_frames(out, o, limits, f, within, e);
    for (int k = 0; k < 2 && !sizes && !s; k++)
        s = read_alone(&f[k], NULL, &ignored, e);
    if (s)
        return s;
    if (!same)
        (o->json ? print_detectors_json : print_detectors)(out, f);
    if (o->json)
        fprintf(out, "\"within\":%s}\n", *within ? "true" : "false");
    else
        fprintf(out, "verdict      %s%s\n", *within ? "within" : "outside",
                sizes ? "" : " (pixels of different detectors cannot be compared)");
    return STATUS_OK;
}

enum status compare_nxmx(FILE *out, const struct compare_options *o,
                         const struct percentile_limit *limits, const char *const paths[2],
                         bool *within, struct error *e)
{
    struct side f[2] = {{0}, {0}};
    enum status s = STATUS_OK;
    for (int k = 0; k < 2 && !s; k++)
        s = side_open(&f[k], paths[k], e);
    s = s ? s : compare_sides(out, o, limits, f, within, e);
    side_close(&f[0]);
    side_close(&f[1]);
    return s;
}

#define AT(member) offsetof(struct compare_options, member)

static const struct opt table[] = {
    {.doc = "Limits (without a limit the images must be identical):", .type = OPT_GROUP},
    {"max-error", "X", "Largest allowed error of a pixel", OPT_REAL, AT(max_error), .min = 0,
     .max = 1e300, .usual = ""},
    {"percentile-error", "P:X",
     "P percent of the pixels must have an error of at most X. Can be repeated", .type = OPT_TEXTS,
     .offset = AT(percentile_errors)},
    {"sum-tolerance", "X", "Largest allowed difference of the ratio of the sums from 1", OPT_REAL,
     AT(sum_tolerance), .min = 0, .max = 1e300, .usual = ""},

    {.doc = "Definition of the error (|a - b| / max(b, floor)):", .type = OPT_GROUP},
    {"floor", "X", "Floor, in the units of the pixels. Default: see --floor-fraction", OPT_REAL,
     AT(floor), .min = 0, .max = 1e300, .usual = ""},
    {"floor-fraction", "X", "Floor as a fraction of the mean of B", OPT_REAL, AT(floor_fraction),
     .min = 0, .max = 1e300, .usual = "0.001"},

    {.doc = "Input and output:", .type = OPT_GROUP},
    {"shape", "FAST,SLOW", "Width and height of raw images, to locate the worst pixel", OPT_INTS,
     AT(shape), .min = 1, .max = 1e6, .count = 2},
    {"json", NULL, "Print one JSON object", .type = OPT_FLAG, .offset = AT(json)},
    {0},
};

static const struct opt_program program = {
    .name = "bragg-compare",
    .summary = "Compare image A with the reference image B (SMV, mini-CBF or raw float32), or the "
               "frames of two NXmx files.",
    .examples = "bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 a_0000.raw b_0000.raw\n"
                "bragg-compare eiger.nxs pilatus.nxs",
    .operands = "A B",
    .min_operands = 2,
    .max_operands = 2,
    .details = "Status 0: within all given limits, or identical if no limit is given. 1: "
               "outside, a pixel is not finite, or two NXmx files differ in frames or panels. 3: a "
               "file cannot be read, or the sizes "
               "differ.\n\nMore: bragg-compare(1) (manual).",
};

/* Checks that both images have the same size, which must agree with --shape.  Sets *fast to the
 * length of a row; 0: unknown. */
static enum status check_sizes(const struct image_file files[2], const char *const paths[2],
                               const struct compare_options *o, int64_t *fast, struct error *e)
{
    const struct image_file *a = &files[0], *b = &files[1];
    if (a->fast && b->fast && (a->fast != b->fast || a->slow != b->slow))
        return error_set(e, STATUS_INPUT,
                         "the images have different sizes: A has %" PRId64 " x %" PRId64
                         " pixels, B has %" PRId64 " x %" PRId64,
                         a->fast, a->slow, b->fast, b->slow);
    if (a->image.count != b->image.count)
        return error_set(e, STATUS_INPUT,
                         "the images have different sizes: A has %zu pixels, B has %zu",
                         a->image.count, b->image.count);
    for (int i = 0; i < 2; i++)
        if (o->shape[0] && files[i].fast &&
            (files[i].fast != o->shape[0] || files[i].slow != o->shape[1]))
            return error_set(e, STATUS_INPUT,
                             "--shape=%" PRId64 ",%" PRId64 ": %s has %" PRId64 " x %" PRId64
                             " pixels; leave --shape out",
                             o->shape[0], o->shape[1], paths[i], files[i].fast, files[i].slow);
    *fast = a->fast ? a->fast : b->fast;
    if (o->shape[0] && o->shape[0] * o->shape[1] != (int64_t)a->image.count)
        return error_set(e, STATUS_INPUT,
                         "--shape=%" PRId64 ",%" PRId64
                         " does not match the images, which have %zu pixels",
                         o->shape[0], o->shape[1], a->image.count);
    if (o->shape[0])
        *fast = o->shape[0];
    return STATUS_OK;
}

/* Sets pixels below 0 to 0.  In two images of signed integers, as in CBF, they are masked. */
static void blank_negative(struct image *image)
{
    int32_t *pixels = image->pixels;
    for (size_t i = 0; image->type == PIXEL_I32 && i < image->count; i++)
        if (pixels[i] < 0)
            pixels[i] = 0;
}

/* Compares two files of one image each, and prints the result. */
static enum status compare_images(FILE *out, const struct compare_options *o,
                                  const struct percentile_limit *limits, const char *const paths[2],
                                  bool *within, struct error *e)
{
    struct image_file files[2] = {{0}, {0}};
    struct comparison c = {0};
    int64_t fast = 0;
    enum status s = STATUS_OK;
    for (int i = 0; i < 2 && !s; i++)
        s = image_file_read(paths[i], &files[i], e);
    if (s == STATUS_OK)
        s = check_sizes(files, paths, o, &fast, e);
    if (s == STATUS_OK && files[0].image.type == files[1].image.type)
        for (int i = 0; i < 2; i++)
            blank_negative(&files[i].image);
    if (s == STATUS_OK)
        comparison_make(&c, &files[0].image, &files[1].image, o);
    if (s == STATUS_OK) {
        *within = comparison_is_within(&c, o, limits);
        if (o->json) {
            fprintf(out, "{");
            comparison_print_json(out, &c, fast, *within);
            fprintf(out, "}\n");
        } else {
            comparison_print_text(out, &c, fast, *within);
        }
    }
    comparison_free(&c);
    image_free(&files[0].image);
    image_free(&files[1].image);
    return s;
}

/* Compares the files, and prints the report when it is complete: a file that cannot be read leaves
 * no part of it. */
static enum status report(const struct compare_options *o, const struct percentile_limit *limits,
                          const char *const paths[2], bool hdf5, bool *within, struct error *e)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return error_memory(e, "the report");
    enum status s = (hdf5 ? compare_nxmx : compare_images)(out, o, limits, paths, within, e);
    if (fclose(out) && !s)
        s = error_memory(e, "the report");
    if (!s && (fwrite(text, 1, size, stdout) != size || fflush(stdout)))
        s = error_errno(e, STATUS_FAILED, "cannot write the report");
    free(text);
    return s;
}

static enum status compare_files(const struct compare_options *o, const char *const paths[2],
                                 bool *within, struct error *e)
{
    struct percentile_limit limits[OPT_TEXTS_MAX];
    const bool hdf5[2] = {nxmx_is_hdf5(paths[0]), nxmx_is_hdf5(paths[1])};
    enum status s = comparison_limits(o, limits, e);
    for (int i = 0; i < 2 && !s; i++)
        if (access(paths[i], R_OK))
            s = error_errno(e, STATUS_INPUT, "%s: cannot open", paths[i]);
    if (!s && hdf5[0] != hdf5[1])
        s = error_set(
            e, STATUS_INPUT,
            "%s is HDF5, and %s is not; expected two NXmx files, or two images (SMV, CBF, "
            "TIFF, EDF or float32 pixels)",
            paths[hdf5[1]], paths[hdf5[0]]);
    if (!s && hdf5[0] && o->shape[0])
        s = error_set(e, STATUS_USAGE, "--shape is for raw images; NXmx files contain their sizes");
    return s ? s : report(o, limits, paths, hdf5[0], within, e);
}

int main(int argc, char **argv)
{
    struct compare_options o = {0};
    const char *paths[2];
    int npaths;
    bool within = false;
    struct error e = {0};
    program_open(program.name);
    if (opt_parse(&program, table, &o, NULL, NULL, argc, argv, paths, &npaths, &e) ||
        compare_files(&o, paths, &within, &e))
        return log_fail(&e);
    return within ? STATUS_OK : STATUS_FAILED;
}
