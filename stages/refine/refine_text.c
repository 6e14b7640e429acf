/* What bragg-refine says: a summary, and a table. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/median.h"
#include "refine.h"

static const char *const VERDICTS[REFINE_VERDICTS] = {
    [REFINE_GOOD] = "good",     [REFINE_BLANK] = "blank",        [REFINE_NO_START] = "no start",
    [REFINE_DARK] = "no spots", [REFINE_UNTOLD] = "cannot tell", [REFINE_STUCK] = "stuck",
    [REFINE_POOR] = "poor fit", [REFINE_FAILED] = "failed"};

static const double CORRELATION_TOLD = 0.9;

static int by_id(const void *a, const void *b)
{
    const uint64_t one = ((const struct refine_result *)a)->id,
                   two = ((const struct refine_result *)b)->id;
    return (one > two) - (one < two);
}

void refine_sort(struct refine *f)
{
    if (f->nresults)
        qsort(f->results, f->nresults, sizeof *f->results, by_id);
}

enum status refine_check(const struct refine *f, struct error *e)
{
    const struct refine_result *bad = NULL;
    for (size_t i = 0; i < f->nresults; i++) {
        const struct refine_result *r = &f->results[i];
        if (r->verdict == REFINE_GOOD)
            return STATUS_OK;
        if (!bad && r->verdict != REFINE_BLANK)
            bad = r;
    }
    return !bad ? STATUS_OK
                : error_set(e, STATUS_FAILED, "no frame is good; frame %" PRIu64 ": %s%s%s",
                            bad->id, VERDICTS[bad->verdict], *bad->why ? ": " : "", bad->why);
}

/* ---- for people -------------------------------------------------------------------------- */

/* The median over good frames; `room` for all of them.  0 without any. */
static double usual(const struct refine *f, double *room,
                    double (*of)(const struct refine_result *r, size_t k), size_t k)
{
    size_t n = 0;
    for (size_t i = 0; i < f->nresults; i++)
        if (f->results[i].verdict == REFINE_GOOD)
            room[n++] = of(&f->results[i], k);
    return median(room, n);
}

static double value(const struct refine_result *r, size_t k)
{
    return r->value[k];
}

static double change(const struct refine_result *r, size_t k)
{
    return fabs(r->value[k] - r->start[k]);
}

static double error_bar(const struct refine_result *r, size_t k)
{
    return r->error[k];
}

static double chi2(const struct refine_result *r, size_t k)
{
    (void)k;
    return r->chi2;
}

static double photons(const struct refine_result *r, size_t k)
{
    (void)k;
    return r->photons;
}

bool refine_count(const struct refine *f, char *line, size_t size)
{
    size_t verdicts[REFINE_VERDICTS], all = 0;
    memcpy(verdicts, f->given, sizeof verdicts);
    for (size_t i = 0; i < f->nresults; i++)
        verdicts[f->results[i].verdict]++;
    for (int v = 0; v < REFINE_VERDICTS; v++)
        all += verdicts[v];
    size_t at = (size_t)snprintf(line, size, "%zu of %zu frames good", verdicts[REFINE_GOOD], all);
    for (int v = REFINE_GOOD + 1; v < REFINE_VERDICTS && at < size; v++)
        if (verdicts[v])
            at += (size_t)snprintf(line + at, size - at, ", %zu %s", verdicts[v], VERDICTS[v]);
    return verdicts[REFINE_GOOD] + verdicts[REFINE_BLANK] == all;
}

static double correlation(const struct refine_result *r, size_t k)
{
    return r->correlation[k];
}

/* Parameters that a frame hardly tells from each other. */
static void print_correlated(const struct refine *f, double *room, FILE *out)
{
    const size_t n = f->free.count;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            const double c = usual(f, room, correlation, i * n + k);
            if (fabs(c) > CORRELATION_TOLD)
                fprintf(out, "%s and %s are correlated: %.3f\n", f->free.name[k], f->free.name[i],
                        c);
        }
}

void refine_print(const struct refine *f, FILE *out)
{
    char line[256];
    size_t good = 0, unsettled = 0;
    double *room = mem_array(f->nresults + 1, sizeof *room);
    if (!room)
        return;
    for (size_t i = 0; i < f->nresults; i++) {
        const bool is_good = f->results[i].verdict == REFINE_GOOD;
        good += is_good;
        unsettled += is_good && !f->results[i].settled;
    }
    (void)refine_count(f, line, sizeof line);
    fprintf(out, "%s; %.4g photons in spots of a frame, chi2 %.4g a pixel\n", line,
            usual(f, room, photons, 0), usual(f, room, chi2, 0));
    fprintf(out, "%-18s %-8s %12s %12s %12s\n", "parameter", "unit", "value", "changed by",
            "error bar");
    for (size_t k = 0; k < f->free.count && good; k++)
        fprintf(out, "%-18s %-8s %12.6g %12.3g %12.3g\n", f->free.name[k],
                *f->free.unit[k] ? f->free.unit[k] : "-", usual(f, room, value, k),
                usual(f, room, change, k), usual(f, room, error_bar, k));
    if (good)
        print_correlated(f, room, out);
    if (unsettled)
        fprintf(out, "pixels of %zu good frames did not stay the same in %d rounds\n", unsettled,
                REFINE_ROUNDS);
    mem_free(room);
}

/* ---- a line for each frame --------------------------------------------------------------- */

static void write_result(const struct refine *f, const struct refine_result *r, FILE *out)
{
    const bool fitted =
        r->verdict == REFINE_GOOD || r->verdict == REFINE_POOR || r->verdict == REFINE_STUCK;
    fprintf(out, "%" PRIu64 "\t%zu\t%s%s%s\t%zu\t%.6g\t%d\t%.5g\t%zu", r->id, r->lattices,
            VERDICTS[r->verdict], *r->why ? ": " : "", r->why, r->pixels, r->photons, r->steps,
            r->chi2, r->far);
    for (size_t k = 0; k < f->free.count; k++) {
        if (fitted)
            fprintf(out, "\t%.10g\t%.4g", r->value[k], r->error[k]);
        else
            fputs("\t-\t-", out);
    }
    fputc('\n', out);
}

/* A column of the table. */
static void write_name(const struct refine *f, size_t k, const char *before, FILE *out)
{
    const char *unit = f->free.unit[k];
    fprintf(out, "\t%s%s%s%s", before, f->free.name[k], *unit ? "_" : "", unit);
}

enum status refine_write_table(const struct refine *f, FILE *out, struct error *e)
{
    (void)e;  // the stream tells
    fputs("frame\tlattices\tverdict\tpixels\tphotons\tsteps\tchi2\tbeyond_5_sigma", out);
    for (size_t k = 0; k < f->free.count; k++) {
        write_name(f, k, "", out);
        write_name(f, k, "error_", out);
    }
    fputc('\n', out);
    for (size_t i = 0; i < f->nresults; i++)
        write_result(f, &f->results[i], out);
    return STATUS_OK;
}

/* How much a value changes with a step. */
static double unit_of(const struct refine *f, const struct refine_result *r, size_t k)
{
    return free_parameters_is_log(&f->free, k) ? r->value[k] : 1.0;
}

enum status refine_write_covariance(const struct refine *f, FILE *out, struct error *e)
{
    const size_t n = f->free.count;
    double *covariance = mem_array(n * n + 1, sizeof *covariance);
    enum status s = covariance ? STATUS_OK : error_memory(e, "the covariances");
    fputs("frame\tparameter", out);
    for (size_t k = 0; k < n; k++)
        write_name(f, k, "", out);
    fputc('\n', out);
    for (size_t j = 0; j < f->nresults && !s; j++) {
        const struct refine_result *r = &f->results[j];
        if (r->verdict != REFINE_GOOD || (s = refine_covary(&f->free, r, covariance, e)))
            continue;
        for (size_t i = 0; i < n; i++) {
            fprintf(out, "%" PRIu64, r->id);
            write_name(f, i, "", out);
            for (size_t k = 0; k < n; k++)
                fprintf(out, "\t%.10g",
                        covariance[i * n + k] * unit_of(f, r, i) * unit_of(f, r, k));
            fputc('\n', out);
        }
    }
    mem_free(covariance);
    return s;
}
