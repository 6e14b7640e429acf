#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../stages/nanobragg/nanobragg_options.h"
#include "base/alloc.h"
#include "physics/setup.h"

/*
 * Operations of a step, counted in the formulas and not in the instructions: 3 x 5
 * for h,k,l; for SQUARE 3 x 25 for phases, fractions and two sine polynomials, 3 for
 * the ratio, 2 for the sum; GAUSS and TOPHAT 3 x 4 for the offsets, 11 for the form,
 * 14 for the exponential; tricubic 64 x 2 + 3 x 20.  Pixels and sources add 40 and 20
 * to a case of one step.
 */
// clang-format off
const struct workload workloads[] = {
    {"one step", "-N 5 -default_F 100", .sweep = true, .size = 4096, .flops = 155},
    {"25 domains x 5 wavelengths", "-N 20 -mosaic 0.5 -mosaic_domains 25 -dispersion 1 -dispsteps 5", .table = true, .size = 1024, .flops = 97},
    {"50 phi x 10 domains", "-N 10 -default_F 100 -phi 0.5 -osc 1 -phisteps 50 -mosaic 0.5 -mosaic_domains 10", .quirks = true, .size = 1024, .flops = 95},
    {"4 layers x oversample 3", "-N 10 -default_F 100 -oversample 3 -detector_thick 450 -detector_abs 235 -detector_thicksteps 4", .quirks = true, .size = 1024, .flops = 155},
    {"gauss, 25 x 5", "-gauss_xtal -N 20 -mosaic 0.5 -mosaic_domains 25 -dispersion 1 -dispsteps 5", .table = true, .size = 1024, .quirks = true, .flops = 54},
    {"tophat, 25 x 5", "-tophat_spots -N 20 -mosaic 0.5 -mosaic_domains 25 -dispersion 1 -dispsteps 5", .table = true, .size = 1024, .quirks = true, .flops = 40},
    {"round, 25 x 5", "-round_xtal -N 20 -mosaic 0.5 -mosaic_domains 25 -dispersion 1 -dispsteps 5", .table = true, .size = 512, .flops = 75},
    {"tricubic, N 2", "-N 2 -interpolate", .table = true, .size = 1024, .flops = 340},
};
// clang-format on
const size_t nworkloads = sizeof workloads / sizeof *workloads;

/* All indices of the corner of the detector (0.62 1/A) and the neighbours that
 * tricubic interpolation takes. */
static const int REACH[3] = {46, 52, 58};

/* |F| that looks random: the same on every machine. */
static double table_F(int h, int k, int l)
{
    uint32_t x = (uint32_t)h * 2654435761u ^ (uint32_t)k * 40503u ^ (uint32_t)l * 2246822519u;
    x = (x ^ (x >> 13)) * 3266489917u;
    return 1.0 + (x >> 8) % 1000;
}

/* Calls add(context, hkl, F) for the whole table. */
static void table_each(void (*add)(void *context, const int hkl[3], double F), void *context)
{
    for (int h = -REACH[0]; h <= REACH[0]; h++)
        for (int k = -REACH[1]; k <= REACH[1]; k++)
            for (int l = -REACH[2]; l <= REACH[2]; l++)
                add(context, (const int[3]){h, k, l}, table_F(h, k, l));
}

static void append(void *context, const int hkl[3], double F)
{
    (void)hkl;
    double **next = context;
    *(*next)++ = F;
}

static void print(void *context, const int hkl[3], double F)
{
    (void)fprintf(context, "%d %d %d %g\n", hkl[0], hkl[1], hkl[2], F);
}

static void table_make(struct hkl_table *t)
{
    size_t count = 1;
    for (int i = 0; i < 3; i++) {
        t->min[i] = -REACH[i];
        t->count[i] = 2 * REACH[i] + 1;
        count *= (size_t)t->count[i];
    }
    double *next = t->F = mem_array(count, sizeof *t->F);
    table_each(append, &next);
}

enum status workload_write_table(const char *path, struct error *e)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return error_errno(e, STATUS_FAILED, "%s", path);
    table_each(print, out);
    return fclose(out) == 0 ? STATUS_OK : error_errno(e, STATUS_FAILED, "%s", path);
}

void workload_words(const struct workload *w, int64_t size, struct words *words)
{
    (void)snprintf(words->text, sizeof words->text,
                   "-cell 70 80 90 90 90 90 -misset 10 20 30 -lambda 1 -distance 100 -oversample 1 "
                   "-detpixels %" PRId64 " -pixel %.10g %s%s",
                   size, 102.4 / (double)size,
                   strstr(w->words, "-interpolate") ? "" : "-nointerpolate ", w->words);
    words->argc = 1;
    words->argv[0] = NULL;
    for (char *save, *word = strtok_r(words->text, " ", &save); word && words->argc < WORDS_MAX - 1;
         word = strtok_r(NULL, " ", &save))
        words->argv[words->argc++] = word;
    words->argv[words->argc] = NULL;
}

enum status workload_build(const struct workload *w, const struct words *words,
                           enum physics physics, struct experiment *x, struct recipe *r,
                           struct error *e)
{
    struct nanobragg n;
    *x = (struct experiment){0};
    *r = (struct recipe){0};
    nanobragg_defaults(&n, physics);
    enum status s = nanobragg_parse(&n, words->argc, (char **)words->argv, e);
    n.crystal.table.default_F = n.default_F;
    if (!s && w->table)
        table_make(&n.crystal.table);
    if (s)
        return s;
    n.request.ncrystals = 1;
    n.request.crystals = &n.crystal;
    if ((s = setup_experiment(&n.request, x, e)))
        return s;
    r->lattices = mem_array(1, sizeof *r->lattices);
    r->nlattices = 1;
    return setup_lattice(x, 0, &n.orientation, &r->lattices[0], e);
}

double workload_steps(const struct experiment *x, const struct recipe *r)
{
    const double samples =
        (double)x->sampling.oversample * x->sampling.oversample * x->panels[0].layers;
    return (double)experiment_pixels(x) * samples * (double)x->beam.nsources *
           (double)r->lattices[0].nphi * (double)r->lattices[0].ndomains;
}
