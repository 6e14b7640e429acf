/* What is said of a case. */
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
