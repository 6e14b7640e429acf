/* What bragg-fisher says: tables and a page. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fisher.h"
#include "page/document.h"
#include "page/plot.h"

/* The other one that the parameter goes with most; itself when there is none. */
static size_t partner_of(const struct fisher *f, const struct fisher_design *d, size_t of)
{
    const size_t n = f->free.count;
    size_t best = of;
    double most = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double r = fabs(d->bounds.correlation[of * n + k]);
        if (k != of && r > most) {
            most = r;
            best = k;
        }
    }
    return best;
}

static void describe(const struct fisher_design *d, char text[200])
{
    const struct information_bounds *b = &d->bounds;
    (void)snprintf(text, 200,
                   "%zu frame%s with error bars, %zu blank, %zu that cannot tell; %.4g photons of "
                   "crystals in a frame, %g mm",
                   b->good, b->good == 1 ? "" : "s", b->blank, b->vague, b->photons,
                   d->distance_mm);
}

static void print_design(const struct fisher *f, const struct fisher_design *d, FILE *out)
{
    const size_t n = f->free.count;
    const bool shares = f->free.local < n;
    char text[200];
    describe(d, text);
    fprintf(out, "%s\n%-18s %-8s %10s%s %12s  %s\n", text, "parameter", "unit", "one frame",
            shares ? " all frames" : "", "others known", "goes with");
    for (size_t i = 0; i < n; i++) {
        const size_t k = partner_of(f, d, i);
        fprintf(out, "%-18s %-8s %10.3g", f->free.name[i], *f->free.unit[i] ? f->free.unit[i] : "-",
                d->bounds.one[i]);
        if (shares)
            fprintf(out, " %10.3g", d->bounds.all[i]);
        fprintf(out, " %12.3g", d->bounds.alone[i]);
        if (k != i)
            fprintf(out, "  %s %+.2f", f->free.name[k], d->bounds.correlation[i * n + k]);
        fputc('\n', out);
    }
}

void fisher_print(const struct fisher *f, FILE *out)
{
    for (size_t i = 0; i < f->ndesigns; i++) {
        if (i)
            fputc('\n', out);
        print_design(f, &f->design[i], out);
    }
}

/* ---- a line for each frame --------------------------------------------------------------- */

static void write_frame(const struct fisher *f, const struct fisher_design *d,
                        const struct information_frame *r, FILE *out)
{
    char names[400] = "";
    if (r->weakest)
        free_parameters_name(&f->free, r->weakest, names, sizeof names);
    for (char *c = names; *c; c++)
        if (*c == ' ')
            memmove(c, c + 1, strlen(c));
    fprintf(out, "%g\t%" PRIu64 "\t%zu\t%.6g\t%s%s", d->distance_mm, r->id, r->lattices, r->photons,
            r->error     ? "good"
            : r->weakest ? "cannot tell: "
                         : "blank",
            names);
    for (size_t i = 0; i < f->free.count; i++) {
        if (r->error && isfinite(r->error[i]))
            fprintf(out, "\t%.6g", r->error[i]);
        else
            fputs("\t-", out);
    }
    fputc('\n', out);
}

void fisher_write_table(const struct fisher *f, FILE *out)
{
    fputs("distance_mm\tframe\tlattices\tphotons\tverdict", out);
    for (size_t i = 0; i < f->free.count; i++)
        fprintf(out, "\t%s%s%s", f->free.name[i], *f->free.unit[i] ? "_" : "", f->free.unit[i]);
    fputc('\n', out);
    for (size_t i = 0; i < f->ndesigns; i++)
        for (size_t k = 0; k < f->design[i].frames.count; k++)
            write_frame(f, &f->design[i], &f->design[i].frames.frames[k], out);
}

/* ---- a page ------------------------------------------------------------------------------ */

static void write_design(const struct fisher *f, const struct fisher_design *d, FILE *out)
{
    const size_t n = f->free.count;
    char text[200];
    describe(d, text);
    fprintf(out,
            "<h2>%g mm</h2><p class=\"soft\">%s</p><div class=\"wide\"><table><tr><th>parameter"
            "</th><th>unit</th><th>error bar of one frame</th><th>by all frames</th><th>if "
            "others were known</th><th>goes with</th></tr>\n",
            d->distance_mm, text);
    for (size_t i = 0; i < n; i++) {
        const size_t k = partner_of(f, d, i);
        fprintf(out, "<tr><th>%s</th><td>%s</td><td>%.3g</td><td>", f->free.name[i],
                f->free.unit[i], d->bounds.one[i]);
        if (i >= f->free.local)
            fprintf(out, "%.3g", d->bounds.all[i]);
        fprintf(out, "</td><td>%.3g</td><td>", d->bounds.alone[i]);
        if (k != i)
            fprintf(out, "%s %+.2f", f->free.name[k], d->bounds.correlation[i * n + k]);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

static int by_distance(const void *a, const void *b)
{
    const double one = **(const double *const *)a, two = **(const double *const *)b;
    return (one > two) - (one < two);
}

/* The error bar of one frame over the distance. */
static void write_plot(const struct fisher *f, size_t of, FILE *out)
{
    double at[FISHER_DISTANCES_MAX][2], most = 0.0;
    const double *order[FISHER_DISTANCES_MAX];
    const size_t n = f->ndesigns;
    for (size_t i = 0; i < n; i++)
        order[i] = &f->design[i].distance_mm;
    qsort(order, n, sizeof *order, by_distance);
    for (size_t i = 0; i < n; i++) {
        const struct fisher_design *d =
            (const void *)((const char *)order[i] - offsetof(struct fisher_design, distance_mm));
        at[i][0] = d->distance_mm;
        at[i][1] = d->bounds.one[of];
        most = fmax(most, at[i][1]);
    }
    if (!isfinite(most))
        return;
    const struct plot_axis x = {"distance, mm", 0.0, 1.05 * at[n - 1][0], false};
    const struct plot_axis y = {"", 0.0, 1.1 * most, false};
    struct plot p;
    fprintf(out, "<div class=\"card\"><h3>%s%s%s</h3>", f->free.name[of],
            *f->free.unit[of] ? ", " : "", f->free.unit[of]);
    plot_begin(&p, out, f->free.name[of], &x, &y);
    for (size_t i = 1; i < n; i++)
        plot_line(&p, at[i - 1][0], at[i - 1][1], at[i][0], at[i][1], "precision");
    (void)plot_dots(&p, (const double(*)[2])at, n);
    plot_end(&p);
    fputs("</div>\n", out);
}

void fisher_write_page(const struct fisher *f, FILE *out)
{
    document_begin(out, "Error bars before the experiment");
    fputs("<p>Cramer-Rao bounds: what no unbiased analysis of these frames can beat, with a model "
          "that is right and structure factors that are known.</p>\n",
          out);
    if (f->ndesigns > 1) {
        fputs("<h2>Error bars of one frame, over the distance</h2><div class=\"grid3\">\n", out);
        for (size_t i = 0; i < f->free.count; i++)
            write_plot(f, i, out);
        fputs("</div>\n", out);
    }
    for (size_t i = 0; i < f->ndesigns; i++)
        write_design(f, &f->design[i], out);
    document_end(out);
}
