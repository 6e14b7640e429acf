/* Tests that frames have the same bytes in every run, in parts, and on the CPU. */
#include <string.h>

#include "../unit/engine_table.h"
#include "check.h"

struct sameness {
    size_t pixels;
    float *one, *other;
    int cases, as_processor;
};

/* Twice by one plan, then by this processor with its fused operations. */
static enum status compare_case(struct run *run, const struct engine_case *c,
                                const struct engine_options *options, struct sameness *s,
                                struct error *e)
{
    struct experiment x = {0};
    struct recipe r = {0};
    struct plan *plan = NULL;
    enum status status = case_build(c, &x, &r, e);
    const size_t bytes = status ? 0 : (size_t)experiment_pixels(&x) * sizeof *s->one;
    s->one = mem_array(bytes + 1, 1);
    s->other = mem_array(bytes + 1, 1);
    if (!status && !(s->one && s->other))
        status = error_memory(e, "the images");
    if (!status)
        status = run->engine->create(&plan, &x, options, e);
    if (!status)
        status = run->engine->run(plan, &r, s->one, NULL, e);
    if (!status)
        status = run->engine->run(plan, &r, s->other, NULL, e);
    if (plan)
        run->engine->destroy(&plan);
    const bool steady = !status && memcmp(s->one, s->other, bytes) == 0;
    if (!status)
        status = compute(&engine_cuda_host, options, &x, &r, s->other, e);
    s->cases++;
    s->as_processor += !status && memcmp(s->one, s->other, bytes) == 0;
    run->failed += !status && !steady;
    if (!status && !steady)
        printf("%-44s FAILED: other bytes in the second run\n", c->name);
    mem_free(s->one);
    mem_free(s->other);
    recipe_free(&r);
    experiment_free(&x);
    return status;
}

enum status check_bytes(struct run *run, const int64_t *numbers, struct error *e)
{
    enum status status = STATUS_OK;
    struct sameness s = {0};
    (void)numbers;
    const struct engine_case in_parts = smeared_in_parts();
    for (int i = 0; i < 2 * NCASES && !status; i++) {
        struct engine_options options = run->options;
        options.precision = i % 2 ? PRECISION_DOUBLE : PRECISION_MIXED;
        status = compare_case(run, &cases[i / 2], &options, &s, e);
    }
    if (!status)
        status = compare_case(run, &in_parts, &run->options, &s, e);
    if (status)
        return status;
    printf("%d frames, mixed and double: %d twice the same bytes, %d those of the cpu engine's "
           "dense loop\n",
           s.cases, s.cases - run->failed, s.as_processor);
    if (run->json)
        (void)fprintf(run->json,
                      "{\"part\": \"bytes\", \"frames\": %d, \"steady\": %d, \"as_cpu\": %d, "
                      "\"passed\": %s}\n",
                      s.cases, s.cases - run->failed, s.as_processor,
                      run->failed ? "false" : "true");
    return STATUS_OK;
}
