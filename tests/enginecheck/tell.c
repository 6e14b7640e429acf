/* Prints a case, and what is measured. */
#include "check.h"

void tell_case(struct run *run, const char *part, const char *name, double error, double limit)
{
    const bool good = error <= limit;
    run->cases++;
    run->failed += !good;
    run->worst = worse(run->worst, error);
    printf("%-44s %s %.1e%s\n", name, part, error, good ? "" : ", FAILED");
    if (run->json)
        (void)fprintf(run->json,
                      "{\"part\": \"%s\", \"case\": \"%s\", \"error\": %.3g, \"passed\": %s}\n",
                      part, name, fmin(error, 1e300), good ? "true" : "false");
}

void tell_skip(struct run *run, const char *part, const char *name, const char *reason)
{
    run->skipped++;
    printf("%-44s %s skipped: %s\n", name, part, reason);
    if (run->json)
        (void)fprintf(run->json, "{\"part\": \"%s\", \"case\": \"%s\", \"skipped\": \"%s\"}\n",
                      part, name, reason);
}

enum status timed_open(struct timed *t, const struct workload *w, int64_t size, struct error *e)
{
    struct words words;
    *t = (struct timed){.pixels = mem_array((size_t)(size * size), sizeof *t->pixels)};
    workload_words(w, size, &words);
    const enum status s = workload_build(w, &words, PHYSICS_PHYSICAL, &t->x, &t->r, e);
    return s || t->pixels ? s : error_memory(e, "the image");
}

void timed_close(const struct run *run, struct timed *t)
{
    if (t->plan)
        run->engine->destroy(&t->plan);
    mem_free(t->pixels);
    recipe_free(&t->r);
    experiment_free(&t->x);
}

void timed_tell(const struct run *run, const char *what, const char *part, int64_t size,
                struct rounds *rounds)
{
    const struct middle m = rounds_middle(rounds);
    printf("%s, %d x %d: %.3f ms, least %.3f\n", what, (int)size, (int)size, m.ms, m.least_ms);
    if (run->json)
        (void)fprintf(run->json,
                      "{\"part\": \"%s\", \"size\": %d, \"ms\": %.4g, \"least_ms\": %.4g, "
                      "\"rounds\": %d}\n",
                      part, (int)size, m.ms, m.least_ms, m.rounds);
}
