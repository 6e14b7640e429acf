/*
 * Writes the score as a single page of HTML: a table of all metrics, plots with explanations, and
 * pictures of the worst frames with their true and found spots.
 */
#include "score/score.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/images/picture.h"
#include "io/nxmx/nxmx.h"
#include "page/document.h"

/* --- table of metrics ----------------------------------------------------------- */

/* The files that a group of metrics is computed from. */
enum sources { FROM_NONE, FROM_ALL, FROM_SPOTS, FROM_LATTICES, FROM_MERGED };

static const struct {
    const char *name, *title, *text;
    enum sources from;
} groups[] = {
    {"frames", "Frames", "Frames of the ground truth with and without a result of the analysis.",
     FROM_ALL},
    {"hits", "Are hits found?",
     "A hit has a lattice with enough strong reflections. A false negative is a hit that the "
     "analysis rejected. A false positive is a blank frame that the analysis accepted.",
     FROM_ALL},
    {"spots", "Are spots found?",
     "Precision is the fraction of the found spots that are true. Recall is the fraction of the "
     "strong true spots that were found. A found spot is paired with the nearest true spot within "
     "1.5 px.",
     FROM_SPOTS},
    {"found_px", "Positions of found spots",
     "Mean of found minus true position, in pixels. It should be 0. Half a pixel is a different "
     "convention for the origin of pixel coordinates.",
     FROM_SPOTS},
    {"geometry_px", "Position of the detector",
     "True position of a ray on the detector minus its position in the detector model of the "
     "analysis, in pixels. It should be 0.",
     FROM_ALL},
    {"geometry", "Distance and tilt of the detector",
     "Errors of the detector model of the analysis: its camera length, its rotation about the "
     "beam, and its tilts about x and y. All should be 0.",
     FROM_ALL},
    {"wavelength", "Is the wavelength right?",
     "Mean of the wavelength of the analysis divided by the true one, minus 1.", FROM_ALL},
    {"predicted_px", "Positions of predicted spots",
     "Mean of predicted minus true position, in pixels, for the right lattices.", FROM_LATTICES},
    {"predicted", "Are spots predicted?",
     "The fraction of the reflections above 10 photons that the analysis predicted.",
     FROM_LATTICES},
    {"lattices", "Are lattices indexed?",
     "A lattice is right if its cell is the true cell, and its orientation differs from the true "
     "one by less than the limit of --angle.",
     FROM_LATTICES},
    {"angle_deg", "How well are they oriented?",
     "The angle between a right lattice and the true one, in degrees. x, y and z are components "
     "of this rotation: about the fast axis, about the axis perpendicular to it and to the beam, "
     "and about the beam.",
     FROM_LATTICES},
    {"cell", "Is the cell right?",
     "Edges in &#8491;, angles in degrees. A relative error of 0.01 means 1 % too long.",
     FROM_LATTICES},
    {"intensities", "Are intensities right?",
     "Measured against true photons. If the slope is 1, the scale is right. If chi2 is 1, the "
     "sigmas are right; if chi2 is above 1, they are too small. slope_median, slope_mad and "
     "chi2_robust are medians, which a few outliers do not change.",
     FROM_LATTICES},
    {"merged", "Is the merged set right?",
     "Merged intensities against the squares of the true structure factors, with one scale and one "
     "B factor. Mates: the differences of Friedel mates against the true differences.",
     FROM_MERGED},
    {"latency_s", "Latency",
     "Time in seconds from when a client took a frame to when its result was ready.", FROM_NONE},
    {"sent", "Sent frames",
     "Number of messages: taken by the client, taken by some clients, dropped, or withheld on "
     "purpose.",
     FROM_NONE},
    {"lost", "Lost frames",
     "Frames without a result: by_sender, no client got the frame; by_client, all clients took the "
     "frame; by_either, only some clients took the frame.",
     FROM_NONE},
    {"answers", "Are answers of good messages?",
     "Results whose frame has no number, and intact messages that were reported as corrupt.",
     FROM_NONE},
    {"faults", "What did the client do with faults?",
     "Messages of each kind of fault, and how many of their frames the client answered, ignored, "
     "answered wrongly, or reported as corrupt. died is 1 if the client answered no later frame.",
     FROM_NONE},
};

enum { GROUPS = sizeof groups / sizeof *groups };

/* Returns the length of the part of a name before the first dot. */
static size_t top_of(const char *name)
{
    return strcspn(name, ".");
}

static bool is_of(const char *name, const char *group)
{
    const size_t n = strlen(group);
    const bool many = strcmp(group, "frames") == 0 || strcmp(group, "answers") == 0;
    return strncmp(name, group, n) == 0 && (!name[n] || name[n] == '.' || (many && name[n] == '_'));
}

static bool same_card(const char *a, const char *b)
{
    for (size_t g = 0; g < GROUPS; g++)
        if (is_of(a, groups[g].name) || is_of(b, groups[g].name))
            return is_of(a, groups[g].name) && is_of(b, groups[g].name);
    return top_of(a) == top_of(b) && strncmp(a, b, top_of(a)) == 0;
}

static void write_name(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc(*name == '_' || *name == '.' ? ' ' : *name, out);
}

/* Writes a value: whole numbers with all digits, others with about three significant digits (five
 * from 1 on, as cell edges have), and rounding errors as 0. */
static void write_value(FILE *out, double value)
{
    const double size = fabs(value);
    fputs("</td><td>", out);
    if (size < 1e-9)
        fputs("0", out);
    else if (value == floor(value) && size < 1e15)
        fprintf(out, "%.0f", value);
    else if (size >= 1e4)
        fprintf(out, "%.0f", value);
    else
        fprintf(out, size >= 1.0 ? "%.5g" : "%.3g", value);
    fputs("</td></tr>\n", out);
}

static void write_row(FILE *out, const struct figure *x)
{
    const size_t top = top_of(x->name);
    fputs("<tr><td>", out);
    write_name(out, x->name[top] ? x->name + top + 1 : x->name);
    if (isfinite(x->value))
        write_value(out, x->value);
    else {
        fputs("</td><td class=\"absent\">", out);
        html_text(out, x->why ? x->why : "absent");
        fputs("</td></tr>\n", out);
    }
}

/* Returns the names of the files of a source.  Returns NULL if no name is shown. */
static const struct score_sources *sources_of(const struct score *s, enum sources from)
{
    switch (from) {
    case FROM_ALL:
        return &s->all_from;
    case FROM_SPOTS:
        return &s->spots_from;
    case FROM_LATTICES:
        return s->lattices_from.count ? &s->lattices_from : &s->all_from;
    case FROM_MERGED:
        return &s->merged_from;
    case FROM_NONE:
        break;
    }
    return NULL;
}

static void write_sources(FILE *out, const char *word, const struct score_sources *from)
{
    const size_t shown = from->count < SCORE_SOURCES ? from->count : SCORE_SOURCES;
    for (size_t i = 0; i < shown; i++) {
        fputs(i ? ", " : word, out);
        html_text(out, from->names[i]);
    }
    if (from->count > shown)
        fprintf(out, " and %zu other files", from->count - shown);
    if (shown)
        fputs(".", out);
}

static void begin_card(FILE *out, const struct score *s, const char *name)
{
    size_t g = 0;
    while (g < GROUPS && !is_of(name, groups[g].name))
        g++;
    if (g < GROUPS) {
        const struct score_sources *from = sources_of(s, groups[g].from);
        fprintf(out, "<div class=\"card\"><h3>%s</h3><p class=\"soft\">%s", groups[g].title,
                groups[g].text);
        if (from)
            write_sources(out, " From ", from);
        fputs("</p><table>\n", out);
    } else {
        fputs("<div class=\"card\"><h3>", out);
        fwrite(name, 1, top_of(name), out);
        fputs("</h3><table>\n", out);
    }
}

/* Writes the most important metrics as one table. */
static void write_summary(FILE *out, const struct figures *f)
{
    static const char *const chosen[][2] = {
        {"hits.true_positive", "hits found"},
        {"hits.false_negative", "hits missed"},
        {"spots.recall", "recall: fraction of the strong spots that were found"},
        {"spots.precision", "precision: fraction of the found spots that are true"},
        {"lattices.right", "right lattices"},
        {"lattices.missed", "missed lattices"},
        {"angle_deg.median", "median error of the orientations, deg"},
        {"intensities.cc", "correlation of measured with true intensities"},
        {"intensities.chi2_robust", "chi2 of the intensities, robust (1: the sigmas are right)"},
        {"merged.cc", "correlation of merged with true intensities"},
    };
    bool any = false;
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++)
        for (size_t i = 0; i < f->count; i++) {
            if (strcmp(f->list[i].name, chosen[k][0]) != 0 || !isfinite(f->list[i].value))
                continue;
            fputs(any ? "" : "<div class=\"card\"><h3>Summary</h3><table>\n", out);
            any = true;
            fprintf(out, "<tr><td>%s", chosen[k][1]);
            write_value(out, f->list[i].value);
        }
    fputs(any ? "</table></div>\n" : "", out);
}

/* Writes the tables of metrics.  Metrics by bins are shown as plots instead. */
static void write_figures(FILE *out, const struct score *s, const struct figures *f)
{
    const char *last = NULL;
    fputs("<h2>Metrics</h2>\n<details><summary>All metrics</summary>\n<div class=\"grid2\">\n",
          out);
    for (size_t i = 0; i < f->count; i++) {
        const char *name = f->list[i].name;
        if (strstr(name, ".by_"))
            continue;
        if (last && !same_card(last, name))
            fputs("</table></div>\n", out);
        if (!last || !same_card(last, name))
            begin_card(out, s, name);
        last = name;
        write_row(out, &f->list[i]);
    }
    fputs(last ? "</table></div>\n</div>\n</details>\n" : "</div>\n</details>\n", out);
}

/* --- plots ------------------------------------------------------------------------ */

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

/* Adds a missing plot and the reason to *m.  The page lists these reasons in one place instead
 * of empty boxes. */
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

/* Begins a box and draws a curve, from "all are accepted" to "none is accepted".  Returns false,
 * and writes nothing, if there is no curve. */
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

static void report_plots(FILE *out, struct score *s)
{
    struct missing missing = {0};
    fputs("<h2>At a glance</h2>\n<p class=\"soft names\">", out);
    write_sources(out, "Hits and spots are from ", &s->spots_from);
    write_sources(out, " Lattices and intensities are from ", &s->lattices_from);
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

enum { PICTURE_EDGE = 400 };

/* --- image ------------------------------------------------------------------------ */

/* Finds the pixels of a panel in an image that contains panels of equal size one after the other.
 * Returns false if the image does not match the panels. */
static bool cut_panel(const struct image *image, const struct geom_panel *panels, size_t npanels,
                      int32_t panel, struct image *part)
{
    const int64_t fast = panels->fast_pixels, slow = panels->slow_pixels;
    const size_t size = (size_t)(fast * slow);
    for (size_t i = 0; i < npanels; i++)
        if (panels[i].fast_pixels != fast || panels[i].slow_pixels != slow)
            return false;
    *part = (struct image){.type = image->type, .unit = image->unit, .count = size};
    part->pixels = (char *)image->pixels + (size_t)panel * size * pixel_size(image->type);
    return image->pixels && image->count == npanels * size;
}

static enum status write_png(FILE *out, const struct image *part, const struct panel *panel,
                             struct error *e)
{
    const struct picture_settings look = {.edge_max = PICTURE_EDGE};
    struct picture p;
    char *png = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&png, &size);
    if (!memory)
        return error_memory(e, "a picture");
    picture_make(&p, part, panel, &look);
    const enum status s = picture_write_png(memory, &p, "a picture", e);
    const bool good = !fclose(memory) && !s;
    if (good) {
        fprintf(out,
                "<image width=\"%" PRId64 "\" height=\"%" PRId64
                "\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,",
                p.width * p.factor, p.height * p.factor);
        html_base64(out, png, size);
        fputs("\"/>\n", out);
    }
    picture_free(&p);
    free(png);
    return good || s ? s : error_memory(e, "a picture");
}

/* Writes the image of a panel.  If the ground truth has no images, only the spots are shown. */
static enum status write_image(FILE *out, const struct truth *truth, const struct shown_frame *f,
                               int32_t panel, struct error *e)
{
    const struct geom_panel *g = &truth->detector->panels[panel];
    const struct panel whole = {
        .fast_pixels = g->fast_pixels,
        .slow_pixels = g->slow_pixels,
        .roi = {.fast_max = g->fast_pixels - 1, .slow_max = g->slow_pixels - 1},
        .mask = g->mask,
    };
    const size_t pixels = truth->detector->npanels * (size_t)(g->fast_pixels * g->slow_pixels);
    struct nxmx_one one = {0};
    struct image part;
    struct error ignored;
    enum status s = STATUS_OK;
    const bool has =
        nxmx_is_hdf5(f->path) && !nxmx_one_read(f->path, f->number, pixels, &one, &ignored);
    if (has)
        s = nxmx_one_check(f->path, f->number, &one, &one.rows, e);
    if (has && !s &&
        cut_panel(&one.image, truth->detector->panels, truth->detector->npanels, panel, &part))
        s = write_png(out, &part, &whole, e);
    nxmx_one_free(&one);
    return s;
}

/* --- spots -------------------------------------------------------------------------- */

static const char *const names[SHOWN_KINDS] = {"right", "missed", "wrong"};

/* Writes the mark of a spot with this radius: a circle if right, a square if missed, a cross if
 * wrong. */
static void write_mark(FILE *out, enum shown_kind kind, double x, double y, double r)
{
    if (kind == SHOWN_RIGHT)
        fprintf(out, "M%.1f %.1fa%g %g 0 1 0 %g 0a%g %g 0 1 0 %g 0", x - r, y, r, r, 2 * r, r, r,
                -2 * r);
    else if (kind == SHOWN_MISSED)
        fprintf(out, "M%.1f %.1fh%gv%gh%gz", x - r, y - r, 2 * r, 2 * r, -2 * r);
    else
        fprintf(out, "M%.1f %.1fl%g %gm0 %gl%g %g", x - r, y - r, 2 * r, 2 * r, -2 * r, -2 * r,
                2 * r);
}

static void write_marks(FILE *out, const struct shown_frame *f, int32_t panel, double radius)
{
    for (int kind = 0; kind < SHOWN_KINDS; kind++) {
        fprintf(out, "<path class=\"%s\" d=\"", names[kind]);
        for (size_t i = 0; i < f->nmarks; i++) {
            const struct shown_mark *m = &f->marks[i];
            if ((int)m->kind == kind && m->panel == panel)
                write_mark(out, m->kind, m->fast, m->slow, radius);
        }
        fputs("\"/>\n", out);
    }
}

/* Returns the panel with most faults. */
static int32_t worst_panel(const struct shown_frame *f, size_t npanels)
{
    size_t most = 0;
    int32_t worst = 0;
    for (size_t panel = 0; panel < npanels; panel++) {
        size_t faults = 0;
        for (size_t i = 0; i < f->nmarks; i++)
            faults += f->marks[i].kind != SHOWN_RIGHT && (size_t)f->marks[i].panel == panel;
        worst = faults > most ? (int32_t)panel : worst;
        most = faults > most ? faults : most;
    }
    return worst;
}

enum { FRAMES_OPEN = 2 };  // number of frames that are open at first; the others are folded

/* --- frames --------------------------------------------------------------------------- */

static enum status write_frame(FILE *out, const struct score *s, const struct shown_frame *f,
                               struct error *e)
{
    const int32_t panel = worst_panel(f, s->truth->detector->npanels);
    const struct geom_panel *g = &s->truth->detector->panels[panel];
    const double edge = (double)(g->fast_pixels > g->slow_pixels ? g->fast_pixels : g->slow_pixels);
    fprintf(out, "<div class=\"card frame\"><h3>Frame %" PRIu64, f->number);
    if (s->truth->detector->npanels > 1)
        fprintf(out, ", panel %d", panel);
    fprintf(out,
            "</h3><p class=\"soft\">strong spots missed: %zu, lattices missed: %zu, false spots: "
            "%zu</p>\n<svg viewBox=\"0 0 %" PRId64 " %" PRId64
            "\" role=\"img\" aria-label=\"Frame %" PRIu64 "\">\n",
            f->missed, f->lattices_missed, f->wrong, g->fast_pixels, g->slow_pixels, f->number);
    const enum status status = write_image(out, s->truth, f, panel, e);
    fprintf(out, "<path class=\"edge\" d=\"M0 0H%" PRId64 "V%" PRId64 "H0z\"/>\n", g->fast_pixels,
            g->slow_pixels);
    write_marks(out, f, panel, edge / 80.0);
    fputs("</svg></div>\n", out);
    return status;
}

static void write_legend(FILE *out)
{
    static const char *const words[SHOWN_KINDS] = {"true spot, found",
                                                   "strong true spot, not found", "false spot"};
    fputs("<p class=\"soft\">The frames with most errors: strong spots that were not found, false "
          "spots, and lattices that were missed. Frames without a result are not shown. Point at a "
          "picture to see it without marks.",
          out);
    for (int kind = 0; kind < SHOWN_KINDS; kind++) {
        fprintf(out,
                " <span class=\"frame\"><svg class=\"key\" viewBox=\"0 0 10 10\"><path "
                "class=\"%s\" d=\"",
                names[kind]);
        write_mark(out, (enum shown_kind)kind, 5, 5, 3.5);
        fprintf(out, "\"/></svg></span>&#160;%s%s", words[kind], kind + 1 < SHOWN_KINDS ? "," : "");
    }
    fputs(".</p>\n", out);
}

static enum status report_frames(FILE *out, const struct score *s, struct error *e)
{
    enum status status = STATUS_OK;
    fputs("<h2>The worst frames</h2>\n", out);
    if (!s->shown->nframes) {
        fputs("<p>No frame has an error.</p>\n", out);
        return STATUS_OK;
    }
    write_legend(out);
    fputs("<div class=\"grid2\">\n", out);
    for (size_t i = 0; i < s->shown->nframes && !status; i++) {
        if (i == FRAMES_OPEN)
            fprintf(out,
                    "</div>\n<details><summary>%zu more frames</summary>\n<div class=\"grid2\">\n",
                    s->shown->nframes - i);
        status = write_frame(out, s, &s->shown->frames[i], e);
    }
    fputs(s->shown->nframes > FRAMES_OPEN ? "</div>\n</details>\n" : "</div>\n", out);
    return status;
}

/* --- page ------------------------------------------------------------------------- */

static void write_head(FILE *out, const struct score *s, const struct figures *f,
                       const char *const results[], size_t nresults)
{
    char title[300];
    const char *first = nresults ? results[0] : "an analysis", *slash = strrchr(first, '/');
    (void)snprintf(title, sizeof title, "Score of %s", slash && slash[1] ? slash + 1 : first);
    document_begin(out, title);
    fputs("<p class=\"soft names\">", out);
    for (size_t i = 0; i < nresults; i++) {
        fputs(i ? ", " : "", out);
        html_text(out, results[i]);
    }
    fputs(", compared with the ground truth ", out);
    html_text(out, s->truth->path);
    fputs(". The frames were simulated, so every reflection of every frame is known.</p>\n", out);
    if (f->nnotes)
        fputs("<ul class=\"notes\">\n", out);
    for (size_t i = 0; i < f->nnotes; i++) {
        fputs("<li>", out);
        html_text(out, f->notes[i]);
        fputs("</li>\n", out);
    }
    if (f->nnotes)
        fputs("</ul>\n", out);
}

enum status report_write(FILE *out, struct score *s, const struct figures *f,
                         const char *const results[], size_t nresults, struct error *e)
{
    write_head(out, s, f, results, nresults);
    write_summary(out, f);
    enum status status = STATUS_OK;
    if (s->nanswered) {
        report_plots(out, s);
        status = report_frames(out, s, e);
    }
    write_figures(out, s, f);
    fputs("<p class=\"soft\">Made by bragg-score. The manual page bragg-score(1) defines each "
          "metric.</p>\n",
          out);
    document_end(out);
    return status;
}
