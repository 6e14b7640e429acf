/*
 * The plots of the report, each with an explanation.
 */
#include "score/report.h"

#include <math.h>
#include <string.h>

#include "page/document.h"
#include "score/report_samples.h"

enum { ANGLE_BINS = 24, NOTE = 100, MISSING_MAX = 8 };

/* Plots that cannot be drawn, and the reasons. */
struct missing {
    size_t count;
    struct missing_plot {
        const char *title, *why;
    } list[MISSING_MAX];
};

static void begin_plot_card(FILE *out, const char *title)
{
    fprintf(out, "<div class=\"card\"><h3>%s</h3>\n", title);
}

static void end_card(FILE *out, const char *text)
{
    fprintf(out, "<p class=\"soft\">%s</p></div>\n", text);
}

/* Notes in *m that a plot cannot be drawn, and why.  The page has no box for such a plot.  A list
 * below the plots gives the reasons. */
static void nothing(struct missing *m, const char *title, const char *why)
{
    if (m->count < MISSING_MAX)
        m->list[m->count++] = (struct missing_plot){title, why};
}

static void write_missing(FILE *out, const struct missing *m)
{
    if (!m->count)
        return;
    fputs("<p class=\"soft\">Plots that are not shown:</p>\n<ul class=\"soft\">", out);
    for (size_t i = 0; i < m->count; i++)
        fprintf(out, "<li>%s: %s</li>", m->list[i].title, m->list[i].why);
    fputs("</ul>\n", out);
}

/* Finds the bins of photons that are in use: [2^*first, 2^(*last + 1)).  Returns false if there are
 * none. */
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

enum { STRONG_SIZE = 48 };

/* Writes what strong reflections have, such as "more than 30 photons". */
static void write_strong(const struct score_settings *settings, char words[STRONG_SIZE])
{
    if (settings->strong_sigma > 0.0)
        (void)snprintf(words, STRONG_SIZE, "I/sigma above %g", settings->strong_sigma);
    else
        (void)snprintf(words, STRONG_SIZE, "more than %g photons", settings->strong_photons);
}

static void recall(FILE *out, const struct score *s, struct missing *m)
{
    const char *title = "Which spots are found";
    char strong[STRONG_SIZE];
    int first, last = 0;
    if (!bins_in_use(s->bin_true, &first, &last)) {
        nothing(m, title, "The ground truth has no reflections in these frames.");
        return;
    }
    struct plot p;
    const struct plot_axis x = photons_axis(first, last), y = {"fraction", .from = 0, .to = 1.02};
    begin_plot_card(out, title);
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
    write_strong(s->settings, strong);
    fprintf(
        out,
        "<p class=\"soft\">Bars: recall, the fraction of the true spots that were found, for each "
        "number of photons. Weak spots are lost first. All strong spots (%s) should be found. "
        "Green "
        "lines: "
        "precision, the fraction of the found spots that are true, if the analysis reports "
        "photons. ",
        strong);
    if (s->spots_found)
        fprintf(out, "%.1f %% of the %zu found spots are true.</p></div>\n",
                100.0 * (double)s->spots_right / (double)s->spots_found, s->spots_found);
    else
        fputs("No spots were found.</p></div>\n", out);
}

static void angles(FILE *out, struct score *s, struct missing *m)
{
    const char *title = "Errors of orientations";
    const size_t n = values_kept(&s->angle_deg);
    size_t count[ANGLE_BINS] = {0}, most = 1;
    const double to = fmax(values_percentile(&s->angle_deg, 100.0), 1e-3) * 1.0001;
    if (!n) {
        nothing(m, title, "No right lattice was found.");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t bin = (size_t)fmin(s->angle_deg.v[i] / to * ANGLE_BINS, ANGLE_BINS - 1);
        most = ++count[bin] > most ? count[bin] : most;
    }
    struct plot p;
    const struct plot_axis x = {"angle to the true lattice, deg", .from = 0, .to = to},
                           y = {"lattices", .from = 0, .to = (double)most};
    begin_plot_card(out, title);
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
            "<p class=\"soft\">The angle between each right lattice and the true one. Half of the "
            "angles are below %.3g deg, 95 %% below %.3g deg.</p></div>\n",
            values_percentile(&s->angle_deg, 50.0), values_percentile(&s->angle_deg, 95.0));
}

static size_t kept(const struct shown_pairs *p)
{
    return p->n < SHOWN_PAIRS ? p->n : SHOWN_PAIRS;
}

static void residuals(FILE *out, const struct score *s, struct missing *m)
{
    const char *title = "Positions of found spots";
    const struct shown_pairs *o = &s->shown->offsets_px;
    const struct plot_axis x = {"found &#8722; true along fast, px", .from = -1.5, .to = 1.5},
                           y = {"found &#8722; true along slow, px", .from = -1.5, .to = 1.5};
    struct plot p;
    if (!o->n) {
        nothing(m, title, "No found spot is a true spot.");
        return;
    }
    begin_plot_card(out, title);
    plot_begin(&p, out, "Found minus true positions", &x, &y);
    plot_line(&p, -1.5, 0, 1.5, 0, "wanted");
    plot_line(&p, 0, -1.5, 0, 1.5, "wanted");
    (void)plot_dots(&p, o->pair, kept(o));
    plot_end(&p);
    end_card(
        out,
        "Each dot is the position of a found spot relative to the true spot. The dots should be "
        "centred on the cross. An offset of half a pixel is a different convention for pixel "
        "coordinates. The width of the cloud is noise.");
}

static void intensities(FILE *out, const struct score *s, struct missing *m)
{
    const char *title = "Measured against true intensities";
    const struct shown_pairs *i = &s->shown->intensities;
    double most = 10.0, least = INFINITY;
    if (!i->n) {
        nothing(m, title, "No right lattice has a measured reflection of the ground truth.");
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
    begin_plot_card(out, title);
    plot_begin(&p, out, "Measured against true photons", &x, &y);
    plot_line(&p, from, from, to, to, "wanted");
    const size_t outside = plot_dots(&p, i->pair, kept(i));
    plot_end(&p);
    fprintf(
        out,
        "<p class=\"soft\">Each dot is a measured reflection. Dots on the line are right. %zu of "
        "%zu are not shown because their measured value is below %g.</p></div>\n",
        outside, kept(i), from);
}

static void chi2(FILE *out, const struct score *s, struct missing *m)
{
    const char *title = "Are the sigmas right?";
    size_t n[SCORE_BINS];
    double most = 2.0;
    int first, last = 0;
    for (int i = 0; i < SCORE_BINS; i++) {
        const double value = agreement_chi2(&s->by_photons[i].all);
        n[i] = isfinite(value) ? s->by_photons[i].all.n : 0;
        most = n[i] ? fmax(most, value) : most;
    }
    if (!bins_in_use(n, &first, &last)) {
        nothing(m, title, "No measured reflection of the ground truth has a sigma.");
        return;
    }
    struct plot p;
    const struct plot_axis x = photons_axis(first, last), y = {"chi2", .from = 0, .to = most};
    begin_plot_card(out, title);
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
    end_card(out,
             "chi2: the mean of ((measured &#8722; true) / sigma)&#178;, for each number of true "
             "photons. At 1 (line) the sigmas are right. Above 1 they are too small.");
}

/* Begins a box and draws a curve.  At one end of the curve a finder accepts all candidates, at the
 * other end it accepts none.  If there is no curve, returns false and writes nothing. */
static bool curve(FILE *out, const char *title, const char *name, struct roc *r,
                  const struct plot_axis *x, const struct plot_axis *y)
{
    struct roc_point points[ROC_POINTS];
    const size_t n = roc_points(r, points);
    struct plot p;
    if (!n)
        return false;
    begin_plot_card(out, title);
    plot_begin(&p, out, name, x, y);
    plot_line(&p, 0, 0, 1, 1, "wanted");
    for (size_t i = n; i-- > 0;) {
        const struct roc_point none = {0}, *next = i ? &points[i - 1] : &none;
        plot_line(&p, points[i].other, points[i].right, next->other, next->right, "precision");
    }
    plot_end(&p);
    return true;
}

static void roc_of_hits(FILE *out, struct score *s, struct missing *m)
{
    const struct plot_axis x = {"fraction of other frames accepted as hits", .from = 0, .to = 1},
                           y = {"fraction of hits found", .from = 0, .to = 1.02};
    const char *title = "Separation of hits and blanks";
    if (!curve(out, title, "ROC of hits by their found spots", &s->hits_by_spots, &x, &y)) {
        nothing(m, title, "The ground truth does not have both hits and blanks.");
        return;
    }
    end_card(out,
             "ROC curve of frames ranked by their number of spots. The nearer the curve is to the "
             "upper left corner, the better. Dashed: chance. hits.roc_area is the area below the "
             "curve.");
    if (!s->nscores)
        return;
    title = "Separation of hits and blanks by their scores";
    if (!curve(out, title, "ROC of hits by scores", &s->hits_by_score, &x, &y)) {
        nothing(m, title, "The scored frames do not have both hits and blanks.");
        return;
    }
    end_card(out,
             "ROC curve of frames ranked by the score of the analysis. hits.score_roc_area is the "
             "area below the curve.");
}

static void roc_of_spots(FILE *out, struct score *s, struct missing *m)
{
    const struct plot_axis x = {"fraction of false spots accepted", .from = 0, .to = 1},
                           y = {"fraction of true spots accepted", .from = 0, .to = 1.02};
    const char *title = "Separation of true and false spots";
    if (!curve(out, title, "ROC of found spots by their photons", &s->spots_by_photons, &x, &y)) {
        nothing(m, title,
                "This plot needs true and false spots, and an analysis that reports photons.");
        return;
    }
    end_card(out, "ROC curve of spots ranked by their photons, as the analysis counts them. "
                  "spots.roc_area is the area below the curve.");
}

void report_plots(FILE *out, struct score *s)
{
    struct missing missing = {0};
    fputs("<h2>At a glance</h2>\n<p class=\"soft names\">", out);
    report_sources(out, "Hits and spots are from ", &s->spots_from);
    report_sources(out, " Lattices and intensities are from ", &s->lattices_from);
    fputs("</p>\n<div class=\"grid2\">\n", out);
    recall(out, s, &missing);
    roc_of_hits(out, s, &missing);
    roc_of_spots(out, s, &missing);
    residuals(out, s, &missing);
    angles(out, s, &missing);
    intensities(out, s, &missing);
    chi2(out, s, &missing);
    fputs("</div>\n", out);
    write_missing(out, &missing);
}
