#include "score/figures.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/opt.h"

void figures_add(struct figures *f, const char *name, double value, const char *why)
{
    if (f->count == FIGURES_MAX)
        return;
    struct figure *new = &f->list[f->count++];
    (void)snprintf(new->name, sizeof new->name, "%s", name);
    new->value = isfinite(value) ? value : NAN;
    new->why = why;
}

void figures_curve(struct figures *f, const char *name, struct roc *r)
{
    if (f->ncurves == FIGURES_CURVES)
        return;
    struct figures_curve *new = &f->curves[f->ncurves];
    new->name = name;
    new->n = roc_points(r, new->points);
    f->ncurves += new->n > 0;
}

void figures_note(struct figures *f, const char *format, ...)
{
    va_list args;
    if (f->nnotes == FIGURES_NOTES)
        return;
    va_start(args, format);
    (void)vsnprintf(f->notes[f->nnotes++], FIGURE_NOTE, format, args);
    va_end(args);
}

/* Returns the length of the part of a name before its last dot; 0 without a dot. */
static size_t group_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : 0;
}

static bool same_group(const struct figure *a, const struct figure *b)
{
    const size_t n = group_of(a->name);
    return n && n == group_of(b->name) && strncmp(a->name, b->name, n) == 0;
}

/* --- table ------------------------------------------------------------------ */

/* Prints the lines of groups by bins, or those of all other groups. */
static void print_groups(const struct figures *f, bool bins, FILE *out)
{
    const char *end = "";
    for (size_t i = 0; i < f->count; i++) {
        const struct figure *x = &f->list[i];
        const size_t n = group_of(x->name);
        if ((strstr(x->name, ".by_") != NULL) != bins)
            continue;
        if (!i || !same_group(x - 1, x))
            fprintf(out, "%s%-28.*s", end, n ? (int)n : (int)strlen(x->name), x->name);
        end = "\n";
        if (n)
            fprintf(out, "  %s", x->name + n + 1);
        if (isfinite(x->value))
            fprintf(out, " %.6g", x->value);
        else
            fprintf(out, " absent (%s)", x->why);
    }
    fputs(end, out);
}

void figures_print(const struct figures *f, FILE *out)
{
    print_groups(f, true, out);
    print_groups(f, false, out);
    for (size_t i = 0; i < f->nnotes; i++)
        fprintf(out, "%s\n", f->notes[i]);
}

/* --- JSON ------------------------------------------------------------------- */

/* Returns the length of the groups that two names have in common, including the last dot. */
static size_t common(const char *a, const char *b)
{
    size_t length = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '.')
            length = i + 1;
    return length;
}

static void close_groups(const char *name, size_t open, FILE *out)
{
    for (const char *at = name + open; (at = strchr(at, '.')); at++)
        fputc('}', out);
}

static void print_member(const char *last, const struct figure *x, FILE *out)
{
    const size_t open = common(last, x->name);
    close_groups(last, open, out);
    if (*last)
        fputc(',', out);
    const char *at = x->name + open;
    for (const char *dot; (dot = strchr(at, '.')); at = dot + 1)
        fprintf(out, "\"%.*s\":{", (int)(dot - at), at);
    if (isfinite(x->value))
        fprintf(out, "\"%s\":%.17g", at, x->value);
    else
        fprintf(out, "\"%s\":null", at);
}

static void print_curves(const struct figures *f, FILE *out)
{
    fputs(",\"roc\":{", out);
    for (size_t i = 0; i < f->ncurves; i++) {
        const struct figures_curve *c = &f->curves[i];
        fprintf(out, "%s\"%s\":[", i ? "," : "", c->name);
        for (size_t k = 0; k < c->n; k++) {
            const struct roc_point *p = &c->points[k];
            fputs(k ? ",[" : "[", out);
            fprintf(out, isfinite(p->threshold) ? "%.17g" : "null", p->threshold);
            fprintf(out, ",%.17g,%.17g]", p->other, p->right);
        }
        fputc(']', out);
    }
    fputc('}', out);
}

static void print_absent(const struct figures *f, FILE *out)
{
    const char *comma = "";
    fputs(",\"absent\":{", out);
    for (size_t i = 0; i < f->count; i++)
        if (!isfinite(f->list[i].value)) {
            fprintf(out, "%s\"%s\":\"%s\"", comma, f->list[i].name, f->list[i].why);
            comma = ",";
        }
    fputs("},\"notes\":[", out);
    for (size_t i = 0; i < f->nnotes; i++)
        fprintf(out, "%s\"%s\"", i ? "," : "", f->notes[i]);
    fputs("]}\n", out);
}

void figures_json(const struct figures *f, FILE *out)
{
    const char *last = "";
    fputc('{', out);
    for (size_t i = 0; i < f->count; i++) {
        print_member(last, &f->list[i], out);
        last = f->list[i].name;
    }
    close_groups(last, 0, out);
    print_curves(f, out);
    print_absent(f, out);
}

/* --- requirements --------------------------------------------------------------- */

static const struct figure *find_figure(const struct figures *f, const char *name, size_t length)
{
    for (size_t i = 0; i < f->count; i++)
        if (strncmp(f->list[i].name, name, length) == 0 && !f->list[i].name[length])
            return &f->list[i];
    return NULL;
}

enum status figures_require(const struct figures *f, const char *text, bool *met, double *value,
                            struct error *e)
{
    const size_t length = strcspn(text, "<>");
    const bool more = text[length] == '>', equal = text[length] && text[length + 1] == '=';
    double limit = 0.0;
    *met = false;
    *value = NAN;
    if (!length || length >= FIGURE_NAME || !text[length])
        return error_set(e, STATUS_USAGE,
                         "--require: '%.60s' is not a requirement; expected METRIC>=X, METRIC<=X, "
                         "METRIC>X or METRIC<X",
                         text);
    const enum status s =
        parse_real(text + length + 1 + equal, -1e300, 1e300, "--require", &limit, e);
    if (s || !f)
        return s;
    const struct figure *x = find_figure(f, text, length);
    if (!x)
        return error_set(e, STATUS_USAGE,
                         "--require: unknown metric '%.*s'. --json prints the names of all metrics",
                         (int)length, text);
    *value = x->value;
    *met = more ? x->value > limit : x->value < limit;
    *met = *met || (equal && x->value == limit);
    return STATUS_OK;
}
