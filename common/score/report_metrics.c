/*
 * The metrics in the report: a summary of the most important ones, and a table of all of them.
 */
#include "score/report.h"

#include <math.h>
#include <string.h>

#include "page/document.h"

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

void report_sources(FILE *out, const char *word, const struct score_sources *from)
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
            report_sources(out, " From ", from);
        fputs("</p><table>\n", out);
    } else {
        fputs("<div class=\"card\"><h3>", out);
        fwrite(name, 1, top_of(name), out);
        fputs("</h3><table>\n", out);
    }
}

void report_summary(FILE *out, const struct figures *f)
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

void report_figures(FILE *out, const struct score *s, const struct figures *f)
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
