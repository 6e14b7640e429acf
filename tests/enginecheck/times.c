/* How long frames take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/workload.h"
#include "base/clock.h"
#include "check.h"

enum { ROUNDS = 15 };

struct times {
    double first_ms;  // with the plan
    double frame_ms;  // recipe to pixels in pinned memory here
    double upload_ms, kernel_ms, to_host_ms;
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
    double kernel[ROUNDS], frame[ROUNDS], upload[ROUNDS], to_host[ROUNDS];
    uint64_t start = clock_ns();
    enum status s = run->engine->create(&plan, x, &run->options, e);
    if (!s)
        s = run->engine->run(plan, r, pixels, NULL, e);
    t->first_ms = (double)(clock_ns() - start) * 1e-6;
    if (!s)
        (void)run->engine->pin(plan, pixels, (size_t)experiment_pixels(x) * sizeof *pixels, NULL);
    for (int i = 0; i < ROUNDS && !s; i++) {
        start = clock_ns();
        s = run->engine->run(plan, r, pixels, NULL, e);
        frame[i] = (double)(clock_ns() - start) * 1e-6;
        upload[i] = gpu_last_times(plan)->upload;
        kernel[i] = gpu_last_times(plan)->kernels;
        to_host[i] = gpu_last_times(plan)->to_host;
    }
    if (plan)
        run->engine->destroy(&plan);
    if (!s)
        *t = (struct times){t->first_ms, median(frame), median(upload), median(kernel),
                            median(to_host)};
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

/* Shares of what the card does at most, 0 where that is not known: of its single precision
 * operations by the formulas, of its memory by pixels written and factors read, of the bus by
 * pixels. */
struct shares {
    double flops, bytes, bus;
};

static struct shares shares_of(const struct run *run, const struct workload *w, double steps,
                               double pixels, const struct times *t)
{
    const struct card_peak *peak = &run->peak;
    const double s = t->kernel_ms * 1e-3, bytes = 4.0 * pixels + (w->table ? 4.0 * steps : 0.0);
    if (peak->flops <= 0.0)
        return (struct shares){0};
    return (struct shares){steps * w->flops / (s * peak->flops), bytes / (s * peak->bytes),
                           4.0 * pixels / (t->to_host_ms * 1e-3 * peak->bus_bytes)};
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
    const struct shares of = shares_of(run, w, steps, (double)count, t);
    run->cases++;
    run->failed += !right;
    printf("| %s | %d | %.3f | %.3f | %.3f | %.3f | %.1f | %.2f | %.0f %% | %.0f %% | %.0f %% | %s "
           "|\n",
           w->name, (int)size, t->upload_ms, t->kernel_ms, t->to_host_ms, t->frame_ms, t->first_ms,
           steps / t->kernel_ms * 1e-6, 100.0 * of.flops, 100.0 * of.bytes, 100.0 * of.bus,
           !right ? "FAILED: another image"
           : same ? "same bytes"
                  : "same image");
    (void)fflush(stdout);
    if (run->json)
        (void)fprintf(
            run->json,
            "{\"part\": \"times\", \"workload\": \"%s\", \"size\": %d, \"upload_ms\": %.4g, "
            "\"kernel_ms\": %.4g, \"to_host_ms\": %.4g, \"frame_ms\": %.4g, \"first_ms\": %.4g, "
            "\"steps\": %.0f, \"flops_per_step\": %.0f, \"share_of_peak_flops\": %.3g, "
            "\"share_of_peak_bytes\": %.3g, \"share_of_bus\": %.3g, "
            "\"rounds\": %d, \"differing\": %zu, \"same_bytes_as_cpu\": %s, \"passed\": %s}\n",
            w->name, (int)size, t->upload_ms, t->kernel_ms, t->to_host_ms, t->frame_ms, t->first_ms,
            steps, w->flops, of.flops, of.bytes, of.bus, ROUNDS, differing, same ? "true" : "false",
            right ? "true" : "false");
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

static void print_peak(struct run *run)
{
    const struct card_peak *p = &run->peak;
    if (p->flops > 0.0)
        printf("At most, measured: %.1f Tflop/s single, %.1f double, %.2f TB/s of its memory, %.1f "
               "GB/s from it\n\n",
               p->flops * 1e-12, p->flops_double * 1e-12, p->bytes * 1e-12, p->bus_bytes * 1e-9);
    if (run->json)
        (void)fprintf(run->json,
                      "{\"part\": \"peak\", \"flops\": %.4g, \"flops_double\": %.4g, "
                      "\"bytes_per_s\": %.4g, \"bus_bytes_per_s\": %.4g}\n",
                      p->flops, p->flops_double, p->bytes, p->bus_bytes);
}

enum status check_times(struct run *run, const int64_t *numbers, struct error *e)
{
    enum status s = STATUS_OK;
    run->peak = card_peak();
    print_peak(run);
    printf("| workload | size | upload ms | kernel ms | to host ms | recipe to pixels ms | first "
           "frame ms | Gsteps/s | of its flops | of its memory | of the bus | beside the cpu "
           "engine |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < nworkloads && !s; i++)
        s = time_workload(run, &workloads[i], numbers[0], e);
    return s;
}
