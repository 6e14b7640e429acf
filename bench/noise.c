/*
 * Measures the noise: the chain of bragg-noise, from float32 photons to 16 bits, and a peer that is
 * compatible with noisify, in the same rounds.  The peer is a whole process.  The time of the same
 * command with -nonoise and without a point spread is subtracted, so that start, reading and the
 * other files cancel.  Mean and variance of both results are verified before a time counts.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "engine/detector/noise.h"
#include "io/images/smv.h"
#include "workload.h"

enum { EDGE = 1024, OFFSET_ADU = 40 };

struct scene {
    const char *name;
    double mean;          // photons of a pixel
    double bright, part;  // photons of this share of the pixels instead
    bool spread;          // point spread, Gaussian of 1.5 pixels, no counting noise of its own
};

static const struct scene scenes[] = {
    {"mean 0.5", 0.5, 0, 0, false},
    {"mean 3", 3, 0, 0, false},
    {"mean 11", 11, 0, 0, false},
    {"mean 50", 50, 0, 0, false},
    {"mean 3000", 3000, 0, 0, false},
    {"background 3, 1 % at 3000", 3, 3000, 0.01, false},
    {"the same, PSF 1.5 pixels", 3, 3000, 0.01, true},
};

struct studio {
    struct bench *b;
    const struct scene *scene;
    struct experiment x;
    struct noise_plan *plan;
    int64_t edge;
    size_t count;
    float *photons, *work;
    struct image adu;
    double mean, variance;  // of the counts to expect
    struct timing ours, peer;
};

static void paint(struct studio *s)
{
    const struct scene *scene = s->scene;
    const size_t every = scene->part > 0.0 ? (size_t)(1.0 / scene->part) : s->count + 1;
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < s->count; i++) {
        s->photons[i] = (float)(i % every == every / 2 ? scene->bright : scene->mean);
        sum += (double)s->photons[i];
        squares += (double)s->photons[i] * (double)s->photons[i];
    }
    s->mean = sum / (double)s->count;
    s->variance = squares / (double)s->count - s->mean * s->mean + s->mean;
}

/* Means to 1 % or six standard errors, variances to 5 %.  A point spread lowers the
 * variance, and noisify's loses light. */
static enum status believe(const struct studio *s, const uint16_t *adu, const char *who,
                           struct error *e)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < s->count; i++) {
        const double counts = (double)adu[i] - OFFSET_ADU;
        sum += counts;
        squares += counts * counts;
    }
    const double n = (double)s->count, mean = sum / n, variance = squares / n - mean * mean;
    const double loss = s->scene->spread ? 0.03 : 0.01;
    const double slack = fmax(loss * s->mean, 6.0 * sqrt(s->mean / n));
    if (fabs(mean - s->mean) <= slack &&
        (s->scene->spread || fabs(variance / s->variance - 1.0) <= fmax(0.05, 20.0 / sqrt(n))))
        return STATUS_OK;
    return error_set(e, STATUS_FAILED,
                     "the noise of %s is wrong: mean %g and variance %g; expected near %g and %g; "
                     "its time means nothing",
                     who, mean, variance, s->mean, s->variance);
}

/* What is kept for all frames of a scene. */
static enum status prepare(struct studio *s, struct error *e)
{
    struct noise n = {.poisson = true,
                      .gain = 1.0,
                      .offset_adu = OFFSET_ADU,
                      .saturation_adu = 65535.0,
                      .threads = 1};
    if (s->scene->spread)
        n.psf = (struct psf){.kind = PSF_GAUSS, .fwhm_px = 1.5};
    return noise_create(&s->plan, &n, &s->x, e);
}

static enum status ours(struct studio *s, uint64_t id, struct error *e)
{
    memcpy(s->work, s->photons, s->count * sizeof *s->work);
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    const enum status status = noise_apply(s->plan, 1, id, s->work, &s->adu, e);
    timing_add(&s->ours, (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    return status ? status : believe(s, s->adu.pixels, "ours", e);
}

static enum status peer_run(struct studio *s, const char *folder, bool noise, double *cpu_ns,
                            double *wall_ns, struct error *e)
{
    char edge[24];
    (void)snprintf(edge, sizeof edge, "%lld", (long long)s->edge);
    /* a fluence that makes the scale 1 photon per unit, and counting noise alone */
    // clang-format off
    const char *argv[40] = {
        s->b->o.noise_peer, "-floatfile", "float.bin", "-detpixels", edge, "-pixel", "0.1",
        "-distance", "100", "-lambda", "1", "-scale", "1",
        "-fluence", "125932015286227086360700780544", "-calibration", "0", "-readout", "0",
        "-flicker", "0", "-seed", "1", "-intfile", "int.img", "-noisefile", "noise.img", "-nopgm"};
    // clang-format on
    int argc = 28;
    if (!noise)
        argv[argc++] = "-nonoise";
    for (const char *const *word = (const char *const[]){"-psf", "gauss", "-psf_fwhm", "150", NULL};
         noise && s->scene->spread && *word; word++)
        argv[argc++] = *word;
    return process_run(argv, folder, 1, cpu_ns, wall_ns, e);
}

static enum status peer_believe(const struct studio *s, const char *folder, struct error *e)
{
    struct smv smv;
    char path[160];
    (void)snprintf(path, sizeof path, "%s/noise.img", folder);
    enum status status = smv_read(path, true, &smv, e);
    if (!status && (size_t)(smv.fast_pixels * smv.slow_pixels) != s->count)
        status = error_set(e, STATUS_FAILED, "%s: wrong size; expected %zu pixels", path, s->count);
    if (!status)
        status = believe(s, smv.pixels, s->b->o.noise_peer, e);
    smv_free(&smv);
    return status;
}

static enum status peer(struct studio *s, struct error *e)
{
    char folder[128], path[160];
    double cpu, wall, cpu_idle, wall_idle;
    enum status status = folder_make(s->b, "noise", folder, sizeof folder, e);
    if (status)
        return status;
    (void)snprintf(path, sizeof path, "%s/float.bin", folder);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(s->photons, sizeof(float), s->count, out) != s->count)
        status = error_errno(e, STATUS_FAILED, "%s", path);
    if (out && fclose(out) != 0 && !status)
        status = error_errno(e, STATUS_FAILED, "%s", path);
    if (!status && !(status = peer_run(s, folder, true, &cpu, &wall, e)) &&
        !(status = peer_believe(s, folder, e)) &&
        !(status = peer_run(s, folder, false, &cpu_idle, &wall_idle, e)))
        timing_add(&s->peer, cpu - cpu_idle, wall - wall_idle);
    folder_remove(folder);
    return status;
}

static void report(struct studio *s)
{
    struct bench *b = s->b;
    const double ns = timing_median(s->ours.cpu_ns, s->ours.count) / (double)s->count;
    record_open(b, "noise");
    record_text(b, "scene", s->scene->name);
    record_timing(b, &s->ours);
    record_real(b, "ns_per_pixel", ns);
    printf("| %s | %.2f%s | ", s->scene->name, ns, timing_mark(&s->ours));
    if (s->peer.count) {
        const double peer_ns = timing_median(s->peer.cpu_ns, s->peer.count) / (double)s->count;
        record_real(b, "peer_ns_per_pixel", peer_ns);
        record_real(b, "ratio", peer_ns / ns);
        printf("%.2f%s | %.1f |\n", peer_ns, timing_mark(&s->peer), peer_ns / ns);
    } else {
        printf(" | |\n");
    }
    record_close(b);
    (void)fflush(stdout);
}

static enum status run_scene(struct studio *s, struct error *e)
{
    paint(s);
    enum status status = prepare(s, e);
    if (status)
        return status;
    for (int64_t round = -1; round < s->b->o.iterations && !status; round++) {
        s->ours.count -= round == 0;  // the first round only warms up
        status = ours(s, (uint64_t)(round + 1), e);
        if (!status && s->b->o.noise_peer && round >= 0)
            status = peer(s, e);
    }
    noise_destroy(&s->plan);
    if (!status)
        report(s);
    return status;
}

enum status bench_noise(struct bench *b, struct error *e)
{
    const int64_t edge = b->o.has_sizes ? b->sizes[0] : EDGE;
    struct studio s = {.b = b, .edge = edge, .count = (size_t)(edge * edge)};
    struct words words;
    struct recipe r;
    workload_words(&workloads[0], edge, &words);
    enum status status = workload_build(&workloads[0], &words, PHYSICS_PHYSICAL, &s.x, &r, e);
    s.photons = mem_array(s.count, sizeof(float));
    s.work = mem_array(s.count, sizeof(float));
    if (!status && (!s.photons || !s.work || !image_reserve(&s.adu, PIXEL_U16, UNIT_ADU, s.count)))
        status = error_memory(e, "the images");
    if (!status)
        printf("\n%lld x %lld pixels, one thread\n\n| photons | CPU ns/pixel | peer | ratio |\n"
               "|---|---|---|---|\n",
               (long long)edge, (long long)edge);
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes && !status; i++) {
        s.scene = &scenes[i];
        s.ours.count = s.peer.count = 0;
        status = run_scene(&s, e);
    }
    image_free(&s.adu);
    mem_free(s.photons);
    mem_free(s.work);
    recipe_free(&r);
    experiment_free(&s.x);
    return status;
}
