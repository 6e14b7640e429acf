/*
 * bench-noise: measures the CPU time per pixel of the noise in one run, in turn, on one thread:
 * Poisson deviates, normal deviates, point spread and the whole chain, for every instruction set.
 * They are compared with the faithful generators and point spread, which have nanoBragg's
 * algorithms and therefore other bytes.  Means and images are verified before a time counts.
 * Prints one line of JSON per case and contestant.  Ratios are relative to "faithful".
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/opt.h"
#include "engine/detector/noise.h"
#include "engine/detector/noise_loop.h"
#include "engine/detector/spread.h"
#include "physics/noise/ran1.h"

enum work { WORK_POISSON, WORK_NORMALS, WORK_SPREAD, WORK_CHAIN };

/* A workload is a line. */
// clang-format off
static const struct workload {
    const char *name;
    enum work work;
    double mean, bright;  // photons; of every 100th pixel
    struct psf psf;
    bool between;  // means are all from one to the other instead
} workloads[] = {
    {"poisson, background 3 and 1 % at 3000", WORK_POISSON, 3, 3000, {0}, false},
    {"poisson, mean 0.5", WORK_POISSON, 0.5, 0.5, {0}, false},
    {"poisson, mean 3", WORK_POISSON, 3, 3, {0}, false},
    {"poisson, mean 11", WORK_POISSON, 11, 11, {0}, false},
    {"poisson, mean 50", WORK_POISSON, 50, 50, {0}, false},
    {"poisson, means 12 to 62", WORK_POISSON, 12, 62, {0}, true},
    {"poisson, mean 3000", WORK_POISSON, 3000, 3000, {0}, false},
    {"normal deviates", WORK_NORMALS, 0, 0, {0}, false},
    {"gauss, radius 5", WORK_SPREAD, 3, 3000, {PSF_GAUSS, 1.5, 5, false}, false},
    {"gauss, radius 20", WORK_SPREAD, 3, 3000, {PSF_GAUSS, 5, 20, false}, false},
    {"fiber, radius 5", WORK_SPREAD, 3, 3000, {PSF_FIBER, 1.0, 5, false}, false},
    {"fiber, radius 20", WORK_SPREAD, 3, 3000, {PSF_FIBER, 1.0, 20, false}, false},
    {"chain with readout, background 3 and 1 % at 3000", WORK_CHAIN, 3, 3000, {0}, false},
};
// clang-format on

/* The first is what others are compared with. */
static const char *const contestants[] = {"faithful", "baseline", "avx2", "avx512"};
enum { CONTESTANTS = 4, ROUNDS_MAX = 99 };

struct options {
    int64_t iterations, pixels;
};

static const struct opt table[] = {
    {.name = "iterations",
     .metavar = "N",
     .doc = "rounds, interleaved (5)",
     .type = OPT_INT,
     .offset = offsetof(struct options, iterations),
     .min = 1,
     .max = ROUNDS_MAX},
    {.name = "pixels",
     .metavar = "N",
     .doc = "edge of the image (512)",
     .type = OPT_INT,
     .offset = offsetof(struct options, pixels),
     .min = 64,
     .max = 8192},
    {0},
};

/* The workload of a run and its arrays, of edge x edge pixels.  `expected` is copied to `photons`
 * before each run.  The run writes its result to `result`, or to `photons` or `adu`, from where
 * `run` copies it to `result`. */
struct job {
    const struct workload *w;
    int64_t edge, count;
    float *expected, *photons, *result;
    uint16_t *adu;
};

static void run_faithful(const struct job *j)
{
    static struct ran1 r;
    long seed = -5;
    for (int64_t i = 0; i < j->count; i++) {
        double v = (double)j->photons[i];
        if (j->w->work == WORK_POISSON || j->w->work == WORK_CHAIN)
            v = (double)ran1_poisson(&r, j->photons[i], &seed);
        if (j->w->work == WORK_NORMALS)
            v = (double)ran1_gauss(&r, &seed);
        if (j->w->work == WORK_CHAIN)
            v = fmin(fmax(floor(v + 40.0 + 2.0 * (double)ran1_gauss(&r, &seed) + 0.5), 0), 65535);
        j->result[i] = (float)v;
    }
    if (j->w->work == WORK_SPREAD)
        psf_apply(&j->w->psf, j->result, j->edge, j->edge);
}

static void run_kernels(const struct job *j, const char *isa)
{
    const struct noise_kernels *k = noise_kernels_choose(isa, NULL);
    const struct noise_key key = {7, 1, RNG_POISSON};
    for (int64_t first = 0; first < j->count; first += NOISE_CHUNK) {
        struct noise_chunk c;
        c.first = first;
        const int count = j->count - first < NOISE_CHUNK ? (int)(j->count - first) : NOISE_CHUNK;
        (void)k->load(&c, j->photons + first, count);
        if (j->w->work == WORK_NORMALS) {
            k->normals(&key, &c);
            memcpy(c.value, c.deviate, sizeof c.value);
        } else {
            k->poisson(&key, &c);
        }
        k->store_f32(&c, j->result + first, count);
    }
}

static enum status run_chain(const struct job *j, const char *isa, struct error *e)
{
    struct panel panel = {.fast_pixels = j->edge, .slow_pixels = j->edge};
    const struct experiment x = {.npanels = 1, .panels = &panel};
    const struct noise noise = {.poisson = true,
                                .gain = 1,
                                .offset_adu = 40,
                                .readout_adu = 2,
                                .saturation_adu = 65535,
                                .threads = 1,
                                .isa = isa};
    struct image to = {.type = PIXEL_U16, .count = (size_t)j->count, .pixels = j->adu};
    struct noise_plan *plan;
    enum status s = noise_create(&plan, &noise, &x, e);
    if (!s)
        s = noise_apply(plan, 7, 1, j->photons, &to, e);
    noise_destroy(&plan);
    return s;
}

static enum status run(const struct job *j, int who, double *ns, struct error *e)
{
    enum status s = STATUS_OK;
    memcpy(j->photons, j->expected, (size_t)j->count * sizeof *j->photons);
    struct spread *spread = NULL;
    if (who > 0 && j->w->work == WORK_SPREAD)
        s = spread_create(&spread, &j->w->psf, contestants[who], 1, e);
    if (s)
        return s;
    const uint64_t start = clock_cpu_ns();
    if (who == 0)
        run_faithful(j);
    else if (spread)
        spread_apply(spread, j->photons, j->edge, j->edge);
    else if (j->w->work == WORK_CHAIN)
        s = run_chain(j, contestants[who], e);
    else
        run_kernels(j, contestants[who]);
    *ns = (double)(clock_cpu_ns() - start) / (double)j->count;
    spread_destroy(&spread);
    for (int64_t i = 0; who > 0 && i < j->count; i++)
        j->result[i] = j->w->work == WORK_SPREAD  ? j->photons[i]
                       : j->w->work == WORK_CHAIN ? (float)j->adu[i]
                                                  : j->result[i];
    return s;
}

static void moments(const struct job *j, double m[2])
{
    double sum = 0, sum2 = 0;
    for (int64_t i = 0; i < j->count; i++) {
        sum += (double)j->result[i];
        sum2 += (double)j->result[i] * (double)j->result[i];
    }
    m[0] = sum / (double)j->count;
    m[1] = sqrt(sum2 / (double)j->count - m[0] * m[0]);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum status race(const struct job *j, int64_t rounds, struct error *e)
{
    static double ns[CONTESTANTS][ROUNDS_MAX];
    double m[CONTESTANTS][2];
    bool has[CONTESTANTS];
    for (int64_t r = 0; r < rounds; r++)
        for (int who = 0; who < CONTESTANTS; who++) {
            has[who] = who == 0 || noise_kernels_choose(contestants[who], NULL);
            if (!has[who])
                continue;
            const enum status s = run(j, who, &ns[who][r], e);
            if (s)
                return s;
            moments(j, m[who]);
            const double spread = m[0][1] + sqrt(j->w->mean + 1.0);
            if (!(fabs(m[who][0] - m[0][0]) <= 7 * spread / sqrt((double)j->count)) ||
                !(fabs(m[who][1] - m[0][1]) <= 0.03 * m[0][1]))
                return error_set(
                    e, STATUS_FAILED, "%s: %s has mean %g and deviation %g, faithful %g and %g",
                    j->w->name, contestants[who], m[who][0], m[who][1], m[0][0], m[0][1]);
        }
    for (int who = 0; who < CONTESTANTS; who++)
        qsort(ns[who], (size_t)rounds, sizeof **ns, compare_doubles);
    for (int who = 0; who < CONTESTANTS; who++)
        if (has[who])
            printf("{\"workload\": \"%s\", \"contestant\": \"%s\", \"pixels\": %d, "
                   "\"ns_per_pixel\": %.2f, \"ns_per_pixel_min\": %.2f, \"ratio\": %.1f}\n",
                   j->w->name, contestants[who], (int)j->edge, ns[who][rounds / 2], ns[who][0],
                   ns[0][rounds / 2] / ns[who][rounds / 2]);
    (void)fflush(stdout);
    return STATUS_OK;
}

/* Photons of a pixel, by a random number. */
static float expected_of(const struct workload *w, uint32_t random)
{
    if (w->between)
        return (float)(w->mean + (w->bright - w->mean) * (double)random * 0x1p-32);
    return (float)(random % 100 ? w->mean : w->bright);
}

int main(int argc, char **argv)
{
    const struct opt_program program = {.name = "bench-noise",
                                        .summary = "Time the noise, interleaved."};
    struct options o = {.iterations = 5, .pixels = 512};
    struct error e = {0};
    int operands;
    enum status s = opt_parse(&program, table, &o, NULL, NULL, argc, argv, NULL, &operands, &e);
    const size_t count = (size_t)(o.pixels * o.pixels);
    struct job j = {.edge = o.pixels,
                    .count = (int64_t)count,
                    .expected = mem_array(count, sizeof(float)),
                    .photons = mem_array(count, sizeof(float)),
                    .result = mem_array(count, sizeof(float)),
                    .adu = mem_array(count, sizeof(uint16_t))};
    if (!s && !(j.expected && j.photons && j.result && j.adu))
        s = error_memory(&e, "the images");
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads && !s; w++) {
        j.w = &workloads[w];
        struct rng r = rng_stream(1, RNG_FLICKER, 0, 0);
        for (size_t i = 0; i < count; i++)
            j.expected[i] = expected_of(j.w, rng_word(&r));
        s = race(&j, o.iterations, &e);
    }
    mem_free(j.expected);
    mem_free(j.photons);
    mem_free(j.result);
    mem_free(j.adu);
    if (s)
        (void)fprintf(stderr, "bench-noise: %s\n", e.text);
    return (int)s;
}
