/*
 * Measures the CPU time of a frame in the busiest thread of bragg-intensity, bragg-background and
 * bragg-noise.  A recording is played into one of them, and its frames are dropped.
 *
 * The work of a frame is divided between TEAM threads equally (OMP_SCHEDULE), however many cores
 * this machine has.  So the time of the busiest thread limits the rate on a machine with TEAM free
 * cores.  For small images it is the time of what one thread does for each frame.
 */
#include <inttypes.h>
#include <string.h>

#include "chain.h"

enum { TEAM = 16, RECORDED = 8, PIXELS_OF_A_FRAME = 1 << 18 };

/* A program, and the recordings before and after it. */
static const struct program {
    const char *name, *options, *from, *to;
} PROGRAMS[] = {
    {"bragg-intensity", "", "recipes", "photons"},
    {"bragg-background", "--water=0.5", "photons", "sums"},  // 3 photons a pixel
    {"bragg-noise", "", "sums", NULL},
};
enum { NPROGRAMS = sizeof PROGRAMS / sizeof *PROGRAMS };

struct busiest {
    struct bench *b;
    int64_t edge;
    struct timing thread[NPROGRAMS], all[NPROGRAMS];
};

/* Makes the recordings of all programs. */
static enum status make_frames(const struct busiest *m, struct error *e)
{
    char command[COMMAND_MAX] = "", options[256];
    struct run r;
    (void)snprintf(options, sizeof options,
                   "--cell=70,80,90,90,90,90 --default-F=100 --ncells=5 --wavelength=1 "
                   "--distance=100 --oversample=1 --pixel=0.1 --detpixels=%" PRId64,
                   m->edge);
    chain_stage(m->b, command, "bragg-geometry", options);
    (void)snprintf(options, sizeof options, "--frames=%d --random --seed=7", RECORDED);
    chain_stage(m->b, command, "bragg-orient", options);
    chain_stage(m->b, command, "bragg-tap", "--overwrite --record=../recipes.rec");
    enum status s = chain_run(m->b, "recorded", command, &r, e);
    for (int i = 0; i < NPROGRAMS && PROGRAMS[i].to && !s; i++) {
        const struct program *p = &PROGRAMS[i];
        (void)snprintf(command, sizeof command,
                       "bragg-replay --quiet ../%s.rec | %s --quiet %s | "
                       "bragg-tap --quiet --overwrite --record=../%s.rec",
                       p->from, p->name, p->options, p->to);
        s = chain_run(m->b, "recorded", command, &r, e);
    }
    return s;
}

static enum status play(const struct busiest *m, const struct program *p, int64_t loops,
                        struct run *r, struct error *e)
{
    char command[COMMAND_MAX];
    (void)snprintf(command, sizeof command,
                   "export OMP_SCHEDULE=static; bragg-replay --quiet --loop=%" PRId64
                   " ../%s.rec | %s --quiet --stats=stats --threads=%d %s | "
                   "bragg-tap --quiet --count >/dev/null",
                   loops, p->from, p->name, TEAM, p->options);
    enum status s = chain_run(m->b, "busiest", command, r, e);
    if (!s && chain_find(r, p->name)->frames != (double)(loops * RECORDED))
        s = error_set(e, STATUS_FAILED, "%s passed on %.0f frames; expected %" PRId64, p->name,
                      chain_find(r, p->name)->frames, loops * RECORDED);
    return s;
}

/* Returns how often the recording is played: small images are played more often. */
static int64_t loops_of(const struct busiest *m)
{
    const int64_t more = PIXELS_OF_A_FRAME / (m->edge * m->edge);
    return m->b->o.frames * (more < 1 ? 1 : more);
}

/* A few frames, and more of them: the difference is what a frame costs once all runs. */
static enum status run_program(struct busiest *m, int i, struct error *e)
{
    const int64_t more = loops_of(m);
    const double frames = (double)(more * RECORDED);
    struct run few, many;
    enum status s = play(m, &PROGRAMS[i], 1, &few, e);
    s = s ? s : play(m, &PROGRAMS[i], 1 + more, &many, e);
    if (s)
        return s;
    const struct cost *least = chain_find(&few, PROGRAMS[i].name),
                      *most = chain_find(&many, PROGRAMS[i].name);
    const double wall_ns = 1e9 * (most->wall_s - least->wall_s) / frames;
    timing_add(&m->thread[i], 1e9 * (most->busiest_cpu_s - least->busiest_cpu_s) / frames, wall_ns);
    timing_add(&m->all[i], 1e9 * (most->cpu_s - least->cpu_s) / frames, wall_ns);
    return STATUS_OK;
}

static void report(struct busiest *m, int i)
{
    struct bench *b = m->b;
    const double busiest_ms = timing_median(m->thread[i].cpu_ns, m->thread[i].count) / 1e6;
    record_open(b, "busiest");
    record_text(b, "stage", PROGRAMS[i].name);
    record_real(b, "size", (double)m->edge);
    record_real(b, "threads", TEAM);
    record_real(b, "busiest_ms", busiest_ms);
    record_timing(b, &m->all[i]);
    record_close(b);
    printf("| %s | %" PRId64 " | %.3f%s | %.3f | %.0f |\n", PROGRAMS[i].name, m->edge, busiest_ms,
           timing_mark(&m->thread[i]), timing_median(m->all[i].cpu_ns, m->all[i].count) / 1e6,
           1e3 / busiest_ms);
    (void)fflush(stdout);
}

static enum status run_edge(struct bench *b, int64_t edge, struct error *e)
{
    struct busiest m = {.b = b, .edge = edge};
    enum status s = make_frames(&m, e);
    for (int64_t round = 0; round < b->o.iterations && !s; round++)
        for (int i = 0; i < NPROGRAMS && !s; i++)
            s = run_program(&m, i, e);
    for (int i = 0; i < NPROGRAMS && !s; i++)
        report(&m, i);
    return s;
}

enum status bench_busiest(struct bench *b, struct error *e)
{
    static const int64_t edges[] = {64, 512, 1024};
    const int64_t *sizes = b->o.has_sizes ? b->sizes : edges;
    const size_t nsizes = b->o.has_sizes ? b->nsizes : sizeof edges / sizeof *edges;
    enum status s = STATUS_OK;
    printf(
        "\n| stage | size | busiest of %d threads, CPU ms/frame | all threads | frames/s at most "
        "|\n|---|---|---|---|---|\n",
        TEAM);
    for (size_t i = 0; i < nsizes && !s; i++)
        s = run_edge(b, sizes[i], e);
    return s;
}
