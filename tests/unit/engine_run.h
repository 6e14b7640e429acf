/* Runs an engine in a test.  Any failure fails the test. */
#ifndef BRAGG_TESTS_ENGINE_RUN_H
#define BRAGG_TESTS_ENGINE_RUN_H

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/engine.h"
#include "unit.h"

/* A frame computed with these options, freed by the caller with mem_free. */
static inline float *run_engine_with(const struct engine *engine, const struct experiment *x,
                                     const struct recipe *r, const struct engine_options *options)
{
    struct plan *plan;
    struct error e = {0};
    const size_t count = (size_t)experiment_pixels(x);
    float *pixels = mem_array(count, sizeof *pixels);
    assert_non_null(pixels);
    memset(pixels, 0xff, count * sizeof *pixels);
    struct engine_options how = *options;
    how.sums = true;
    if (engine->create(&plan, x, &how, &e) || engine->run(plan, r, pixels, NULL, &e))
        fail_msg("%s", e.text);
    uint32_t sum;
    if (engine->sum && engine->sum(plan, &sum))
        assert_int_equal(sum, crc32c(0, pixels, count * sizeof *pixels));
    engine->destroy(&plan);
    assert_null(plan);
    return pixels;
}

/* A frame of experiment_pixels() pixels, freed by the caller with mem_free; isa as in
 * struct engine_options. */
static inline float *run_engine(const struct engine *engine, const struct experiment *x,
                                const struct recipe *r, const char *isa, int threads)
{
    const struct engine_options options = {.threads = threads, .isa = isa};
    return run_engine_with(engine, x, r, &options);
}

/* Whether this processor has the instructions. */
static inline bool has_isa(const char *isa)
{
    struct experiment x = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = 1, .isa = isa};
    if (engine_cpu.create(&plan, &x, &options, NULL))
        return false;
    engine_cpu.destroy(&plan);
    return true;
}

#endif
