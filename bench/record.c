/* Statistics of rounds, and the results as lines of JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

void timing_add(struct timing *t, double cpu_ns, double wall_ns)
{
    t->cpu_ns[t->count] = cpu_ns;
    t->wall_ns[t->count++] = wall_ns;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double timing_median(const double *ns, int count)
{
    double sorted[ROUNDS_MAX] = {0};
    memcpy(sorted, ns, (size_t)count * sizeof *ns);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

double timing_variation(const double *ns, int count)
{
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < count; i++)
        sum += ns[i];
    const double mean = sum / count;
    for (int i = 0; i < count; i++)
        squares += (ns[i] - mean) * (ns[i] - mean);
    return count > 1 ? sqrt(squares / (count - 1)) / mean : 0.0;
}

const char *timing_mark(const struct timing *t)
{
    return timing_variation(t->cpu_ns, t->count) > 0.05 ? " !" : "";
}

void record_open(struct bench *b, const char *part)
{
    if (b->json)
        (void)fprintf(b->json, "{\"part\": \"%s\"", part);
}

/* Control characters, quotes and backslashes of names become '_'. */
void record_text(struct bench *b, const char *name, const char *value)
{
    if (!b->json)
        return;
    (void)fprintf(b->json, ", \"%s\": \"", name);
    for (const char *c = value; *c; c++)
        (void)fputc((unsigned char)*c < ' ' || *c == '"' || *c == '\\' ? '_' : *c, b->json);
    (void)fputc('"', b->json);
}

void record_real(struct bench *b, const char *name, double value)
{
    if (b->json && isfinite(value))
        (void)fprintf(b->json, ", \"%s\": %.6g", name, value);
    else if (b->json)
        (void)fprintf(b->json, ", \"%s\": null", name);
}

void record_close(struct bench *b)
{
    if (!b->json)
        return;
    (void)fputs("}\n", b->json);
    (void)fflush(b->json);
}

void record_timing(struct bench *b, const struct timing *t)
{
    const double variation = timing_variation(t->cpu_ns, t->count);
    b->unsteady += variation > 0.05;
    record_real(b, "cpu_ms", timing_median(t->cpu_ns, t->count) / 1e6);
    record_real(b, "wall_ms", timing_median(t->wall_ns, t->count) / 1e6);
    record_real(b, "variation", variation);
    record_real(b, "rounds", t->count);
}
