/* Figures with words below them. */
#include <math.h>
#include <string.h>

#include "page/plot.h"
#include "score/report.h"

enum { ANGLE_BINS = 24, NOTE = 100 };

static void begin(FILE *out, const char *title)
{
    fprintf(out, "<div class=\"card\"><h3>%s</h3>\n", title);
}

static void end(FILE *out, const char *text)
{
    fprintf(out, "<p class=\"soft\">%s</p></div>\n", text);
}

static void nothing(FILE *out, const char *title, const char *why)
{
    begin(out, title);
    end(out, why);
}

/* Bins of photons that are in use: [2^*first, 2^(*last + 1)); false: none. */
static bool bins_in_use(const size_t n[SCORE_BINS], int *first, int *last)
{
    *first = SCORE_BINS;
    for (int i = 0; i < SCORE_BINS; i++) {
        *first = n[i] && i < *first ? i : *first;
        *last = n[i] ? i : *last;
    }
    return *first < SCORE_BINS;
}

static struct plot_axis photons_axis(int first, int last)
{
    return (struct plot_axis){"photons of the reflection", ldexp(1, first), ldexp(1, last + 1),
                              .logarithmic = true};
}

static void recall(FILE *out, const struct score *s)
{
    const char *title = "Which spots are found";
    int first, last = 0;
    if (!bins_in_use(s->bin_true, &first, &last)) {
        nothing(out, title, "The key has no reflections in these frames.");
        return;
    }
    struct plot p;
    const struct plot_axis x = photons_axis(first, last), y = {"share", .from = 0, .to = 1.02};
    begin(out, title);
    plot_begin(&p, out, "Recall and precision of spots by photons", &x, &y);
    for (int i = first; i <= last; i++) {
        char note[NOTE];
        (void)snprintf(note, sizeof note, "%g to %g photons: %zu of %zu found", ldexp(1, i),
                       ldexp(1, i + 1), s->bin_found[i], s->bin_true[i]);
        if (s->bin_true[i])
            plot_bar(&p, ldexp(1, i), ldexp(1, i + 1),
                     (double)s->bin_found[i] / (double)s->bin_true[i], note);
    }
    for (int i = first; i <= last; i++) {
        const double precision = (double)s->found_right[i] / (double)s->found_bin[i];
        if (s->found_bin[i])
            plot_line(&p, ldexp(1, i), precision, ldexp(1, i + 1), precision, "precision");
    }
    plot_end(&p);
    fprintf(out,
            "<p class=\"soft\">Bars: recall, the share of the true spots that were found, by their "
            "photons. Weak spots are lost first; strong ones should all be there. Green lines: "
            "precision, the share of the found spots that are there, where the analysis says their "
            "photons. ");
    if (s->spots_found)
        fprintf(out, "Of all %zu found spots %.1f %% are there.</p></div>\n", s->spots_found,
                100.0 * (double)s->spots_right / (double)s->spots_found);
    else
        fputs("No spots were found.</p></div>\n", out);
}

static void angles(FILE *out, struct score *s)
{
    const char *title = "How far lattices are turned";
    const size_t n = values_kept(&s->angle_deg);
    size_t count[ANGLE_BINS] = {0}, most = 1;
    const double to = fmax(values_percentile(&s->angle_deg, 100.0), 1e-3) * 1.0001;
    if (!n) {
        nothing(out, title, "No right lattice was found.");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t bin = (size_t)fmin(s->angle_deg.v[i] / to * ANGLE_BINS, ANGLE_BINS - 1);
        most = ++count[bin] > most ? count[bin] : most;
    }
    struct plot p;
    const struct plot_axis x = {"angle to the true lattice, deg", .from = 0, .to = to},
                           y = {"lattices", .from = 0, .to = (double)most};
    begin(out, title);
    plot_begin(&p, out, "Histogram of angles", &x, &y);
    for (int i = 0; i < ANGLE_BINS; i++) {
        char note[NOTE];
        const double from = to * i / ANGLE_BINS, up = to * (i + 1) / ANGLE_BINS;
        (void)snprintf(note, sizeof note, "%.3g to %.3g deg: %zu lattices", from, up, count[i]);
        if (count[i])
            plot_bar(&p, from, up, (double)count[i], note);
    }
    plot_end(&p);
    fprintf(out,
            "<p class=\"soft\">The angle between each right lattice and the true one: half of them "
            "are within %.3g deg, 95 %% within %.3g deg.</p></div>\n",
            values_percentile(&s->angle_deg, 50.0), values_percentile(&s->angle_deg, 95.0));
}

static size_t kept(const struct shown_pairs *p)
{
    return p->n < SHOWN_PAIRS ? p->n : SHOWN_PAIRS;
}

static void residuals(FILE *out, const struct score *s)
{
    const char *title = "Where found spots lie";
    const struct shown_pairs *o = &s->shown->offsets_px;
    const struct plot_axis x = {"found &#8722; true along fast, px", .from = -1.5, .to = 1.5},
                           y = {"found &#8722; true along slow, px", .from = -1.5, .to = 1.5};
    struct plot p;
    if (!o->n) {
        nothing(out, title, "No found spot is a true one.");
        return;
    }
    begin(out, title);
    plot_begin(&p, out, "Found minus true places", &x, &y);
    plot_line(&p, -1.5, 0, 1.5, 0, "wanted");
    plot_line(&p, 0, -1.5, 0, 1.5, "wanted");
    (void)plot_dots(&p, o->pair, kept(o));
    plot_end(&p);
    end(out, "Each dot is a found spot, seen from the true one. The cloud should lie about the "
             "cross; a cloud half a pixel away is a convention, a wide one is noise.");
}

static void intensities(FILE *out, const struct score *s)
{
    const char *title = "Measured against true intensities";
    const struct shown_pairs *i = &s->shown->intensities;
    double most = 10.0, least = INFINITY;
    if (!i->n) {
        nothing(out, title, "No right lattice has a measured reflection of the key.");
        return;
    }
    for (size_t k = 0; k < kept(i); k++) {
        most = fmax(most, fmax(i->pair[k][0], i->pair[k][1]));
        least = fmin(least, i->pair[k][0]);
    }
    struct plot p;
    const double from = pow(10.0, floor(log10(fmax(least, 1e-3)))),
                 to = pow(10.0, ceil(log10(most)));
    const struct plot_axis x = {"true photons", from, to, true},
                           y = {"measured photons", from, to, true};
    begin(out, title);
    plot_begin(&p, out, "Measured against true photons", &x, &y);
    plot_line(&p, from, from, to, to, "wanted");
    const size_t outside = plot_dots(&p, i->pair, kept(i));
    plot_end(&p);
    fprintf(out,
            "<p class=\"soft\">Each dot is a measured reflection. On the line, it is right. "
            "%zu of %zu are not shown, for they were measured below %g.</p></div>\n",
            outside, kept(i), from);
}

static void chi2(FILE *out, const struct score *s)
{
    const char *title = "Are the sigmas honest?";
    size_t n[SCORE_BINS];
    double most = 2.0;
    int first, last = 0;
    for (int i = 0; i < SCORE_BINS; i++) {
        const double value = agreement_chi2(&s->by_photons[i].all);
        n[i] = isfinite(value) ? s->by_photons[i].all.n : 0;
        most = n[i] ? fmax(most, value) : most;
    }
    if (!bins_in_use(n, &first, &last)) {
        nothing(out, title, "No measured reflection of the key has a sigma.");
        return;
    }
    struct plot p;
    const struct plot_axis x = photons_axis(first, last), y = {"chi2", .from = 0, .to = most};
    begin(out, title);
    plot_begin(&p, out, "chi2 of intensities by photons", &x, &y);
    for (int i = first; i <= last; i++) {
        char note[NOTE];
        const double value = agreement_chi2(&s->by_photons[i].all);
        (void)snprintf(note, sizeof note, "%g to %g photons: chi2 %.3g of %zu", ldexp(1, i),
                       ldexp(1, i + 1), value, n[i]);
        if (n[i])
            plot_bar(&p, ldexp(1, i), ldexp(1, i + 1), value, note);
    }
    plot_line(&p, x.from, 1, x.to, 1, "wanted");
    plot_end(&p);
    end(out,
        "chi2: the mean of ((measured &#8722; true) / sigma)&#178;, by true photons. At the "
        "line, 1, the sigmas say how wrong the intensities are; above, they promise too much.");
}

/* A curve, from "all are taken" to "none is"; false: there is none. */
static bool curve(FILE *out, const char *name, struct roc *r, const struct plot_axis *x,
                  const struct plot_axis *y)
{
    struct roc_point points[ROC_POINTS];
    const size_t n = roc_points(r, points);
    struct plot p;
    if (!n)
        return false;
    plot_begin(&p, out, name, x, y);
    plot_line(&p, 0, 0, 1, 1, "wanted");
    for (size_t i = n; i-- > 0;) {
        const struct roc_point none = {0}, *next = i ? &points[i - 1] : &none;
        plot_line(&p, points[i].other, points[i].right, next->other, next->right, "precision");
    }
    plot_end(&p);
    return true;
}

static void roc_of_hits(FILE *out, struct score *s)
{
    const struct plot_axis x = {"share of other frames taken for hits", .from = 0, .to = 1},
                           y = {"share of hits found", .from = 0, .to = 1.02};
    begin(out, "Are hits told from other frames?");
    if (!curve(out, "ROC of hits by their found spots", &s->hits_by_spots, &x, &y)) {
        end(out, "The key has no frames of both kinds.");
        return;
    }
    end(out, "What if frames were hits from so many found spots on? The nearer to the corner above "
             "left, the better; dashed: by chance. hits.roc_area is the area below.");
    if (!s->nscores)
        return;
    begin(out, "Are hits told by their scores?");
    (void)curve(out, "ROC of hits by scores", &s->hits_by_score, &x, &y);
    end(out, "What if frames were hits from such a score of the analysis on? hits.score_roc_area "
             "is the area below.");
}

static void roc_of_spots(FILE *out, struct score *s)
{
    const struct plot_axis x = {"share of wrong spots kept", .from = 0, .to = 1},
                           y = {"share of right spots kept", .from = 0, .to = 1.02};
    begin(out, "Are right spots told from wrong ones?");
    end(out, curve(out, "ROC of found spots by their photons", &s->spots_by_photons, &x, &y)
                 ? "What if spots were kept from so many photons on, as the analysis counts them? "
                   "spots.roc_area is the area below."
                 : "Found spots have no photons, or all are right, or none is.");
}

void report_plots(FILE *out, struct score *s)
{
    fputs("<h2>At a glance</h2>\n<div class=\"grid2\">\n", out);
    recall(out, s);
    roc_of_hits(out, s);
    roc_of_spots(out, s);
    residuals(out, s);
    angles(out, s);
    intensities(out, s);
    chi2(out, s);
    fputs("</div>\n", out);
}
