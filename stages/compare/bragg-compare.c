/*
 * bragg-compare: compares two images, or the frames of two NXmx files.  Limits decide the exit
 * status.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "comparison.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx_geometry.h"
#include "model/frame.h"

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

/* Compares two files of one image each, and prints the result. */
static enum status compare_images(const struct compare_options *o,
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
    if (s == STATUS_OK)
        s = comparison_make(&c, &files[0].image, &files[1].image, o, e);
    if (s == STATUS_OK) {
        *within = comparison_is_within(&c, o, limits);
        if (o->json) {
            printf("{");
            comparison_print_json(&c, fast, *within);
            printf("}\n");
        } else {
            comparison_print_text(&c, fast, *within);
        }
    }
    comparison_free(&c);
    image_free(&files[0].image);
    image_free(&files[1].image);
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
        s = error_set(e, STATUS_INPUT,
                      "%s is HDF5, and %s is not; expected two NXmx files, or two images (SMV, CBF "
                      "or float32 pixels)",
                      paths[hdf5[1]], paths[hdf5[0]]);
    if (!s && hdf5[0] && o->shape[0])
        s = error_set(e, STATUS_USAGE, "--shape is for raw images; NXmx files contain their sizes");
    if (!s)
        s = (hdf5[0] ? compare_nxmx : compare_images)(o, limits, paths, within, e);
    if (!s && (fflush(stdout) || ferror(stdout)))
        s = error_errno(e, STATUS_FAILED, "cannot write the report");
    return s;
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
