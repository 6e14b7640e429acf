/*
 * simulate --seeds=FIRST:COUNT | --seed=N [--story] | --past=COUNT | --scale[=WORKERS,SINKS]
 *
 * Runs pipelines of the real code under a virtual network and clock (world.h): one plan of faults
 * for each seed, and always the same story for a seed.  A seed that fails is printed with the
 * smallest plan that fails in the same way.  --past runs plans that failed once, each with COUNT
 * seeds.  --scale prints what many workers and sinks cost the source, and the delay if a tenth of
 * the workers dies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "scale.h"
#include "shrink.h"
#include "world.h"

static double wall_s(void)
{
    struct timeval now;
    (void)gettimeofday(&now, NULL);
    return (double)now.tv_sec + (double)now.tv_usec / 1e6;
}

static void say_plan(const char *what, const struct plan *p)
{
    char text[2048];
    plan_tell(p, text, sizeof text);
    printf("%s: %s\n", what, text);
}

/* Prints a plan that has just failed, and its smallest form. Returns the exit status. */
static int fail(struct plan p, bool story)
{
    printf("seed %" PRIu64 ": %s\n", p.seed, world.wrong);
    say_plan("plan", &p);
    p = shrink(p);
    (void)world_run(&p, story);
    printf("least: %s\n", world.wrong);
    say_plan("plan", &p);
    return 1;
}

static int run_seeds(uint64_t first, uint64_t count)
{
    const double begin_s = wall_s();
    uint64_t faults = 0, events = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        const struct plan p = plan_of(seed);
        if (!world_run(&p, false))
            return fail(p, false);
        faults += p.nfaults;
        events += world.nevents;
    }
    const double taken_s = wall_s() - begin_s;
    printf("longest: seed %" PRIu64 ", %.1f s after the last fault\n", world.longest_seed,
           (double)world.longest_ns / 1e9);
    printf("%" PRIu64 " schedules, %" PRIu64 " faults, %" PRIu64
           " events; %.0f schedules a second\n",
           count, faults, events, (double)count / taken_s);
    return 0;
}

static int run_seed(uint64_t seed, bool story)
{
    struct plan p = plan_of(seed);
    if (!world_run(&p, false))
        return fail(p, story);
    say_plan("plan", &p);
    if (story)
        (void)world_run(&p, true);
    return 0;
}

static int run_past(uint64_t count)
{
    const char *what;
    const struct plan *past;
    for (size_t i = 0; (past = plan_past(i, &what)); i++) {
        struct plan p = *past;
        for (uint64_t seed = 0; seed <= count; seed++) {
            p.seed = seed ? seed : past->seed;  // its own is the one that failed
            if (!world_run(&p, false)) {
                printf("%s\n", what);
                return fail(p, false);
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t first, count, seed;
    int end = 0;
    const bool story = argc == 3 && strcmp(argv[2], "--story") == 0;
    if (argc == 2 &&
        sscanf(argv[1], "--seeds=%" SCNu64 ":%" SCNu64 "%n", &first, &count, &end) == 2 &&
        !argv[1][end])
        return run_seeds(first, count);
    if ((argc == 2 || story) && sscanf(argv[1], "--seed=%" SCNu64 "%n", &seed, &end) == 1 &&
        !argv[1][end])
        return run_seed(seed, story);
    if (argc == 2 && sscanf(argv[1], "--past=%" SCNu64 "%n", &count, &end) == 1 && !argv[1][end])
        return run_past(count);
    unsigned workers, sinks;
    if (argc == 2 && strcmp(argv[1], "--scale") == 0)
        return scale_table();
    if (argc == 2 && sscanf(argv[1], "--scale=%u,%u%n", &workers, &sinks, &end) == 2 &&
        !argv[1][end] && workers && sinks)
        return scale_row(workers, sinks);
    fprintf(stderr, "simulate: say --seeds=FIRST:COUNT, --seed=N [--story], --past=COUNT, or "
                    "--scale[=WORKERS,SINKS]\n");
    return 2;
}
