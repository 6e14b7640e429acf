/* Compares frames with the reference. */
#include "../unit/engine_gate.h"
#include "../unit/engine_table.h"
#include "check.h"

enum status compute(const struct engine *engine, const struct engine_options *options,
                    const struct experiment *x, const struct recipe *r, float *pixels,
                    struct error *e)
{
    struct plan *plan;
    enum status s = engine->create(&plan, x, options, e);
    if (!s)
        s = engine->run(plan, r, pixels, NULL, e);
    if (plan)
        engine->destroy(&plan);
    return s;
}

struct images {
    float *reference, *image;
    uint8_t *unsteady;
    size_t count;
};

static enum status images_open(struct images *m, size_t count, struct error *e)
{
    *m = (struct images){mem_array(count, sizeof(float)), mem_array(count, sizeof(float)),
                         mem_array(count, 1), count};
    return m->reference && m->image && m->unsteady ? STATUS_OK : error_memory(e, "the images");
}

static void images_close(struct images *m)
{
    mem_free(m->reference);
    mem_free(m->image);
    mem_free(m->unsteady);
}

static bool is_dark(const float *image, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (image[i] != 0.0f)
            return false;
    return true;
}

static void report(struct run *run, const char *name, const struct verdict *v, const char *wrong)
{
    run->cases++;
    run->failed += wrong != NULL;
    run->unsteady += v->unsteady;
    run->pixels += v->count;
    run->worst = fmax(run->worst, v->worst);
    printf("%-44s worst %.1e, sums 1%+.0e, left out %zu of %zu%s%s\n", name, v->worst,
           v->sum_ratio - 1.0, v->unsteady, v->count, wrong ? ": FAILED, " : "",
           wrong ? wrong : "");
    if (run->json)
        (void)fprintf(run->json,
                      "{\"part\": \"agreement\", \"case\": \"%s\", \"worst\": %.3g, "
                      "\"sum_error\": %.3g, \"left_out\": %zu, \"pixels\": %zu, \"passed\": %s}\n",
                      name, v->worst, v->sum_ratio - 1.0, v->unsteady, v->count,
                      wrong ? "false" : "true");
}

enum status hold(struct run *run, const char *name, const struct experiment *x,
                 const struct recipe *r, double limit, bool single, struct error *e)
{
    struct images m;
    enum status s = images_open(&m, (size_t)experiment_pixels(x), e);
    if (!s)
        s = compute(&engine_reference, &(struct engine_options){.threads = run->options.threads}, x,
                    r, m.reference, e);
    if (!s)
        s = compute(run->engine, &run->options, x, r, m.image, e);
    if (!s) {
        double mean = 0.0;
        for (size_t i = 0; i < m.count; i++)
            mean += (double)m.reference[i] / (double)m.count;
        mark_unsteady(x, r, m.reference, 1e-3 * mean, 1e-6, m.unsteady);
        struct verdict v = compare(m.image, m.reference, m.unsteady, m.count);
        if (is_dark(m.reference, m.count) && is_dark(m.image, m.count))
            v = (struct verdict){.sum_ratio = 1.0, .mean = 1.0, .count = m.count, .finite = true};
        struct verdict judged = v;
        if (!single)
            judged.unsteady = 0;
        report(run, name, &v, gate_says(&judged, limit));
    }
    images_close(&m);
    return s;
}

enum status hold_case(struct run *run, const struct engine_case *c, bool single, struct error *e)
{
    struct experiment x = {0};
    struct recipe r = {0};
    enum status s = case_build(c, &x, &r, e);
    if (!s)
        s = hold(run, c->name, &x, &r, limit_of(c), single, e);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

enum status check_table(struct run *run, const int64_t *numbers, struct error *e)
{
    enum status s = STATUS_OK;
    (void)numbers;
    for (int i = 0; i < NCASES && !s; i++)
        if (cases[i].smears)  // weights below 0 leave few digits next to spots
            tell_skip(run, "agreement", cases[i].name, "its bytes are those of the cpu engine");
        else
            s = hold_case(run, &cases[i], true, e);
    return s;
}
