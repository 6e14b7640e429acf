/* How long frames take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/workload.h"
#include "base/clock.h"
#include "check.h"
#include "gpu/gpu.h"

enum { ROUNDS = 15 };

struct times {
    double first_ms, kernel_ms, frame_ms;  // with the plan; on the card; recipe to pixels
};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof *values, ascending);
    return values[ROUNDS / 2];
}

static enum status take_times(const struct run *run, const struct experiment *x,
                              const struct recipe *r, float *pixels, struct times *t,
                              struct error *e)
{
    struct plan *plan;
    double kernel[ROUNDS], frame[ROUNDS];
    uint64_t start = clock_ns();
    enum status s = run->engine->create(&plan, x, &run->options, e);
    if (!s)
        s = run->engine->run(plan, r, pixels, NULL, e);
    t->first_ms = (double)(clock_ns() - start) * 1e-6;
    for (int i = 0; i < ROUNDS && !s; i++) {
        start = clock_ns();
        s = run->engine->run(plan, r, pixels, NULL, e);
        frame[i] = (double)(clock_ns() - start) * 1e-6;
        kernel[i] = gpu_last_times(plan)->kernels;
    }
    if (plan)
        run->engine->destroy(&plan);
    if (!s)
        *t = (struct times){t->first_ms, median(kernel), median(frame)};
    return s;
}

/* Pixels that differ by more than 1e-5, with a floor of 1e-3 of the mean. */
static size_t count_differing(const float *image, const float *cpu, size_t count)
{
    double mean = 0.0;
    size_t differing = 0;
    for (size_t i = 0; i < count; i++)
        mean += (double)cpu[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        const double a = (double)image[i], b = (double)cpu[i];
        differing += fabs(a - b) <= 1e-5 * fmax(b, 1e-3 * mean) ? 0 : 1;
    }
    return differing;
}

/* One row of the table.  A time of another image is no time: edges of TOPHAT apart, which
 * the cpu engine may see from the other side. */
static void print_times(struct run *run, const struct workload *w, int64_t size, double steps,
                        const struct times *t, const float *image, const float *cpu)
{
    const size_t count = (size_t)(size * size);
    const bool same = memcmp(image, cpu, count * sizeof *image) == 0;
    const size_t differing = count_differing(image, cpu, count);
    const bool right = differing <= 1 + count / 10000;
    run->cases++;
    run->failed += !right;
    printf("| %s | %d | %.3f | %.3f | %.1f | %.2f | %s |\n", w->name, (int)size, t->kernel_ms,
           t->frame_ms, t->first_ms, steps / t->kernel_ms * 1e-6,
           !right ? "FAILED: another image"
           : same ? "same bytes"
                  : "same image");
    if (run->json)
        (void)fprintf(
            run->json,
            "{\"part\": \"times\", \"workload\": \"%s\", \"size\": %d, "
            "\"kernel_ms\": %.4g, \"frame_ms\": %.4g, \"first_ms\": %.4g, "
            "\"rounds\": %d, \"differing\": %zu, \"same_bytes_as_cpu\": %s, \"passed\": %s}\n",
            w->name, (int)size, t->kernel_ms, t->frame_ms, t->first_ms, ROUNDS, differing,
            same ? "true" : "false", right ? "true" : "false");
}

static enum status time_workload(struct run *run, const struct workload *w, int64_t size,
                                 struct error *e)
{
    struct words words;
    struct experiment x;
    struct recipe r;
    struct times t = {0};
    const size_t count = (size_t)(size * size);
    float *image = mem_array(count, sizeof *image), *cpu = mem_array(count, sizeof *cpu);
    workload_words(w, size, &words);
    enum status s = workload_build(w, &words, PHYSICS_PHYSICAL, &x, &r, e);
    if (!s && !(image && cpu))
        s = error_memory(e, "the images");
    if (!s)
        s = compute(&engine_cpu, &run->options, &x, &r, cpu, e);
    if (!s)
        s = take_times(run, &x, &r, image, &t, e);
    if (!s)
        print_times(run, w, size, workload_steps(&x, &r), &t, image, cpu);
    mem_free(image);
    mem_free(cpu);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

enum status check_times(struct run *run, int64_t size, struct error *e)
{
    enum status s = STATUS_OK;
    printf("| workload | size | kernel ms | recipe to pixels ms | first frame ms | Gsteps/s | "
           "beside the cpu engine |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < nworkloads && !s; i++)
        s = time_workload(run, &workloads[i], size, e);
    return s;
}
