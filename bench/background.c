/*
 * Measures the background of water and air for frames with spectra of their own: pixel by pixel, as
 * the formula defines it, and with the loop of each instruction set, in turn, on one thread.  The
 * bytes must be the same.
 *
 * Then measures how long bragg-background adds its image to the photons of a frame, with one thread
 * and with several.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/isa.h"
#include "base/program.h"
#include "bench.h"
#include "engine/reflections/photons.h"
#include "physics/background/amorphous.h"
#include "physics/background/background.h"
#include "workload.h"

enum { EDGE = 1024, SOURCES = 3, WAYS = 1 + ISA_COUNT };  // the definition, then loops

static const struct background_kernels *const all[ISA_COUNT] = ISA_TABLE(background_kernels_);

struct studio {
    struct bench *b;
    struct experiment x;
    struct background_scene scene;
    int64_t edge;
    size_t count;
    float *image[WAYS];
    struct timing timing[WAYS];
};

static void define(const struct studio *s, float *photons)
{
    const struct panel *p = s->x.panels;
    for (int64_t i = 0; i < (int64_t)s->count; i++) {
        double position[3];
        background_point(p, s->scene.physics, s->scene.beam, i % s->edge, i / s->edge, position);
        photons[i] = (float)background_photons(&s->scene, p, position);
    }
}

static void loop(const struct studio *s, const struct background_kernels *kernels, float *photons)
{
    for (int64_t slow = 0; slow < s->edge; slow++)
        for (int64_t fast = 0; fast < s->edge; fast += BACKGROUND_RUN) {
            double run[BACKGROUND_RUN];
            const int64_t left = s->edge - fast;
            const int count = left < BACKGROUND_RUN ? (int)left : BACKGROUND_RUN;
            kernels->run(&s->scene, s->x.panels, fast, slow, count, run);
            for (int i = 0; i < count; i++)
                photons[slow * s->edge + fast + i] = (float)run[i];
        }
}

static enum status one_round(struct studio *s, bool timed, struct error *e)
{
    for (int way = 0; way < WAYS; way++) {
        if (way && !isa_present((enum isa)(way - 1)))
            continue;
        const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
        if (way)
            loop(s, all[way - 1], s->image[way]);
        else
            define(s, s->image[way]);
        if (timed)
            timing_add(&s->timing[way], (double)(clock_cpu_ns() - cpu),
                       (double)(clock_ns() - wall));
        if (memcmp(s->image[way], s->image[0], s->count * sizeof(float)) != 0)
            return error_set(e, STATUS_FAILED, "the background by %s is another one",
                             isa_name((enum isa)(way - 1)));
    }
    return STATUS_OK;
}

static void report(struct studio *s, const char *name)
{
    printf("| %s", name);
    for (int way = 0; way < WAYS; way++) {
        const struct timing *t = &s->timing[way];
        if (!t->count) {
            printf(" | ");
            continue;
        }
        const double ns = timing_median(t->cpu_ns, t->count) / (double)s->count;
        record_open(s->b, "background");
        record_text(s->b, "scene", name);
        record_text(s->b, "way", way ? isa_name((enum isa)(way - 1)) : "definition");
        record_timing(s->b, t);
        record_real(s->b, "ns_per_pixel", ns);
        record_close(s->b);
        printf(" | %.1f%s", ns, timing_mark(t));
    }
    printf(" |\n");
    (void)fflush(stdout);
}

/* Times one scene: `nmaterials` of the two materials, and the sources of the beam. */
static enum status run_scene(struct studio *s, const char *name,
                             const struct background_material *materials, size_t nmaterials,
                             size_t nsources, struct error *e)
{
    struct source sources[SOURCES];
    for (size_t i = 0; i < SOURCES; i++)
        sources[i] =
            (struct source){.direction = {-s->x.beam.direction[0], -s->x.beam.direction[1],
                                          -s->x.beam.direction[2]},
                            .wavelength_m = s->x.beam.wavelength_m * (1 + 0.03 * (double)i),
                            .weight = 1};
    s->scene = background_scene(&s->x, sources, nsources, NULL, materials, nmaterials);
    memset(s->timing, 0, sizeof s->timing);
    enum status status = one_round(s, false, e);
    for (int64_t round = 0; round < s->b->o.iterations && !status; round++)
        status = one_round(s, true, e);
    if (!status)
        report(s, name);
    return status;
}

static enum status run_scenes(struct studio *s, struct error *e)
{
    double stol[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    struct background_material m[2] = {{.molecules = 1e15}, {.molecules = 1e13}};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && !status; i++) {
        water_table(i ? air_F : water_F, stol, F);
        for (int row = 0; row < WATER_TABLE_ROWS; row++)
            stol[row] *= 1e10;
        status = amorphous_make(&m[i].table, stol, F, WATER_TABLE_ROWS, true, e);
    }
    printf("\n%" PRId64 " x %" PRId64 " pixels, one thread, CPU ns/pixel\n\n"
           "| background | as defined | baseline | avx2 | avx512 |\n|---|---|---|---|---|\n",
           s->edge, s->edge);
    status = status ? status : run_scene(s, "water", m, 1, 1, e);
    status = status ? status : run_scene(s, "water and air, 3 wavelengths", m, 2, SOURCES, e);
    amorphous_free(&m[0].table);
    amorphous_free(&m[1].table);
    return status;
}

/* --- the sum of photons and background ------------------------------------------------------- */

static const int TEAMS[] = {1, 2, 16};
enum { NTEAMS = sizeof TEAMS / sizeof *TEAMS, SUMS = 50 };

/* The images of one sum, and its times with each team of threads. */
struct addition {
    size_t count;
    float *photons, *background, *sum;
    uint32_t crc;
    struct timing process[NTEAMS], caller[NTEAMS];
};

static double thread_cpu_ns(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
}

static enum status add_with(struct addition *a, size_t team, bool timed, struct error *e)
{
    uint32_t crc = 0;
    program_set_threads(photons_threads(TEAMS[team], a->count));
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    const double thread = thread_cpu_ns();
    for (int i = 0; i < SUMS; i++)
        (void)photons_add(a->photons, a->background, a->count, a->sum, &crc);
    const double thread_ns = thread_cpu_ns() - thread, wall_ns = (double)(clock_ns() - wall);
    if (timed) {
        timing_add(&a->process[team], (double)(clock_cpu_ns() - cpu) / SUMS, wall_ns / SUMS);
        timing_add(&a->caller[team], thread_ns / SUMS, wall_ns / SUMS);
    }
    program_set_threads(1);
    if ((timed || team) && crc != a->crc)
        return error_set(e, STATUS_FAILED, "the sum of %d threads is another one", TEAMS[team]);
    a->crc = crc;
    return STATUS_OK;
}

static void report_addition(struct bench *b, const struct addition *a, int64_t edge)
{
    for (size_t team = 0; team < NTEAMS; team++) {
        const struct timing *t = &a->caller[team];
        const double ms = timing_median(t->cpu_ns, t->count) / 1e6;
        record_open(b, "background-add");
        record_real(b, "size", (double)edge);
        record_real(b, "threads", TEAMS[team]);
        record_real(b, "calling_thread_ms", ms);
        record_timing(b, &a->process[team]);
        record_close(b);
        printf("| %" PRId64 " | %d | %.3f%s | %.3f |\n", edge, TEAMS[team], ms, timing_mark(t),
               timing_median(a->process[team].cpu_ns, t->count) / 1e6);
    }
    (void)fflush(stdout);
}

static enum status run_addition(struct bench *b, int64_t edge, struct error *e)
{
    struct addition a = {.count = (size_t)(edge * edge)};
    enum status s = STATUS_OK;
    a.photons = mem_array(a.count, sizeof *a.photons);
    a.background = mem_array(a.count, sizeof *a.background);
    a.sum = mem_array(a.count, sizeof *a.sum);
    for (size_t i = 0; i < a.count; i++) {
        a.photons[i] = (float)(i % 1000);
        a.background[i] = 0.5F;
    }
    for (int64_t round = 0; round <= b->o.iterations && !s; round++)
        for (size_t team = 0; team < NTEAMS && !s; team++)
            s = add_with(&a, team, round > 0, e);
    if (!s)
        report_addition(b, &a, edge);
    mem_free(a.photons);
    mem_free(a.background);
    mem_free(a.sum);
    return s;
}

static enum status run_additions(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\nAdding the background to a frame, CPU ms\n\n"
           "| size | threads | calling thread | all threads |\n|---|---|---|---|\n");
    for (int64_t edge = 256; edge <= 1024 && !s; edge *= 2)
        s = run_addition(b, edge, e);
    return s;
}

/* --------------------------------------------------------------------------------------------- */

enum status bench_background(struct bench *b, struct error *e)
{
    const int64_t edge = b->o.has_sizes ? b->sizes[0] : EDGE;
    struct studio s = {.b = b, .edge = edge, .count = (size_t)(edge * edge)};
    struct words words;
    struct recipe r;
    workload_words(&workloads[0], edge, &words);
    enum status status = workload_build(&workloads[0], &words, PHYSICS_PHYSICAL, &s.x, &r, e);
    for (int way = 0; way < WAYS && !status; way++)
        s.image[way] = mem_array(s.count, sizeof(float));
    status = status ? status : run_scenes(&s, e);
    status = status ? status : run_additions(b, e);
    for (int way = 0; way < WAYS; way++)
        mem_free(s.image[way]);
    recipe_free(&r);
    experiment_free(&s.x);
    return status;
}
