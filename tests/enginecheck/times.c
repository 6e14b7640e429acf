/* Measures the time of frames. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/workload.h"
#include "base/clock.h"
#include "check.h"

/* Medians, and the least. */
struct times {
    double first_ms;  // with the plan
    double frame_ms;  // recipe to pixels in pinned memory here
    double upload_ms, kernel_ms, to_host_ms;
    double least_frame_ms, least_kernel_ms;
    int rounds;
    double steps;  // that are computed
    double bytes;  // of pixels and factors
};

static double seconds_since(uint64_t start)
{
    return (double)(clock_ns() - start) * 1e-9;
}

/* Pinned pixels, full of what is no photon before each round: a frame that is not written fails. */
struct target {
    float *pixels;
    size_t bytes;
};

static enum status one_round(const struct engine *engine, struct plan *plan, const struct recipe *r,
                             const struct target *to, double *ms, struct error *e)
{
    memset(to->pixels, 0xff, to->bytes);
    const uint64_t start = clock_ns();
    const enum status s = engine->run(plan, r, to->pixels, NULL, e);
    *ms = 1e3 * seconds_since(start);
    return s;
}

/* First without events of the card, which cost some calls, then with them. */
static enum status time_rounds(const struct engine *engine, struct plan *plan,
                               const struct recipe *r, const struct target *to, struct times *t,
                               struct error *e)
{
    static struct rounds frame, upload, kernel, to_host;
    enum status s = STATUS_OK;
    double ms;
    frame = upload = kernel = to_host = (struct rounds){0};
    while (!s && rounds_go_on(&frame)) {
        s = one_round(engine, plan, r, to, &ms, e);
        rounds_add(&frame, ms);
    }
    gpu_keep_times(plan, false);
    upload.warm = kernel.warm = to_host.warm = true;
    for (int i = 0; !s && i < frame.count; i++) {
        s = one_round(engine, plan, r, to, &ms, e);
        rounds_add(&upload, gpu_last_times(plan)->upload);
        rounds_add(&kernel, gpu_last_times(plan)->kernels);
        rounds_add(&to_host, gpu_last_times(plan)->to_host);
    }
    if (s)
        return s;
    const struct middle frames = rounds_middle(&frame), kernels = rounds_middle(&kernel);
    t->frame_ms = frames.ms;
    t->upload_ms = rounds_middle(&upload).ms;
    t->kernel_ms = kernels.ms;
    t->to_host_ms = rounds_middle(&to_host).ms;
    t->least_frame_ms = frames.least_ms;
    t->least_kernel_ms = kernels.least_ms;
    t->rounds = frames.rounds;
    return STATUS_OK;
}

static enum status take_times(const struct run *run, const struct experiment *x,
                              const struct recipe *r, float *pixels, struct times *t,
                              struct error *e)
{
    struct plan *plan;
    const struct engine *engine = run->engine;
    const struct target to = {pixels, (size_t)experiment_pixels(x) * sizeof *pixels};
    const uint64_t start = clock_ns();
    enum status s = engine->create(&plan, x, &run->options, e);
    if (!s)
        s = engine->run(plan, r, pixels, NULL, e);
    t->first_ms = 1e3 * seconds_since(start);
    if (!s)
        s = engine->pin(plan, pixels, to.bytes, e);
    if (!s)
        s = time_rounds(engine, plan, r, &to, t, e);
    if (plan)
        engine->destroy(&plan);
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

/* What was copied, nothing where kernels wrote over the bus. */
static double share_of_bus(const struct run *run, double pixels, const struct times *t)
{
    return t->to_host_ms > 0.0 ? 4.0 * pixels / (t->to_host_ms * 1e-3 * run->peak.bus_bytes) : 0.0;
}

/* Shares of what the card does at most, 0 where that is not known: of its single precision
 * operations by the formulas, of its memory by pixels written and factors read once, as caches hold
 * them, of the bus by pixels.  What bounds kernels are their instructions: scripts/gpu-forecast. */
struct shares {
    double flops, bytes, bus;
};

static struct shares shares_of(const struct run *run, const struct workload *w, double pixels,
                               const struct times *t)
{
    const struct card_peak *peak = &run->peak;
    const double s = t->kernel_ms * 1e-3;
    if (peak->flops <= 0.0)
        return (struct shares){0};
    return (struct shares){t->steps * w->flops / (s * peak->flops), t->bytes / (s * peak->bytes),
                           share_of_bus(run, pixels, t)};
}

/* One row of the table.  A time of another image is no time: edges of TOPHAT apart, which
 * the cpu engine may see from the other side. */
static void print_times(struct run *run, const struct workload *w, int64_t size,
                        const struct times *t, const float *image, const float *cpu)
{
    const size_t count = (size_t)(size * size);
    const bool same = memcmp(image, cpu, count * sizeof *image) == 0;
    const size_t differing = count_differing(image, cpu, count);
    const bool right = differing <= 1 + count / 10000;
    const struct shares of = shares_of(run, w, (double)count, t);
    run->cases++;
    run->failed += !right;
    printf("| %s | %d | %.3f | %.3f | %.3f | %.3f | %.1f | %.2f | %.0f %% | %.0f %% | %.0f %% | %s "
           "|\n",
           w->name, (int)size, t->upload_ms, t->kernel_ms, t->to_host_ms, t->frame_ms, t->first_ms,
           t->steps / t->kernel_ms * 1e-6, 100.0 * of.flops, 100.0 * of.bytes, 100.0 * of.bus,
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
            "\"least_kernel_ms\": %.4g, \"least_frame_ms\": %.4g, "
            "\"rounds\": %d, \"differing\": %zu, \"same_bytes_as_cpu\": %s, \"passed\": %s}\n",
            w->name, (int)size, t->upload_ms, t->kernel_ms, t->to_host_ms, t->frame_ms, t->first_ms,
            t->steps, w->flops, of.flops, of.bytes, of.bus, t->least_kernel_ms, t->least_frame_ms,
            t->rounds, differing, same ? "true" : "false", right ? "true" : "false");
}

static double factors_of(const struct hkl_table *t)
{
    return (double)t->count[0] * (double)t->count[1] * (double)t->count[2];
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
        t.steps = workload_steps(&x, &r);
    if (!s)
        t.bytes = 4.0 * ((double)count + factors_of(&x.crystals[0].table));
    if (!s)
        print_times(run, w, size, &t, image, cpu);
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
    const size_t only = (size_t)numbers[1];
    if (only > nworkloads)
        return error_set(e, STATUS_USAGE, "times: workload %zu; expected a value from 1 to %zu",
                         only, nworkloads);
    for (size_t i = 0; i < nworkloads && !s; i++)
        if (!only || i == only - 1)
            s = time_workload(run, &workloads[i], numbers[0], e);
    return s;
}
