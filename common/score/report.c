#include "score/report.h"

#include <math.h>
#include <string.h>

#include "page/document.h"
#include "page/html.h"

/* --- table of figures ----------------------------------------------------------- */

static const struct {
    const char *name, *title, *text;
} groups[] = {
    {"frames", "Frames", "Frames of the key with and without an answer of the analysis."},
    {"hits", "Are hits found?",
     "A hit holds a lattice with enough strong reflections. A false negative is a hit that the "
     "analysis threw away, a false positive an empty frame that it kept."},
    {"spots", "Are spots found?",
     "Precision: the share of the found spots that are there. Recall: the share of the strong "
     "spots that were found. A found spot belongs to the nearest true one within 1.5 px."},
    {"found_px", "Found spots: where?",
     "Mean of found minus true place, in pixels. It should be 0; half a pixel is a convention "
     "about where a pixel begins."},
    {"geometry_px", "The detector: where?",
     "True place minus the place where the detector model of the analysis puts the same ray, in "
     "pixels. It should be 0."},
    {"geometry", "The detector: how far, how turned?",
     "What the camera length of the detector model of the analysis is off by, and how the model is "
     "turned about the beam and tilted about x and y. All should be 0."},
    {"wavelength", "Is the wavelength right?",
     "Mean of the wavelength of the analysis divided by the true one, minus 1."},
    {"predicted_px", "Predicted spots: where?",
     "Mean of predicted minus true place, in pixels, of the lattices that are right."},
    {"predicted", "Are spots predicted?",
     "The share of the reflections above 10 photons that the analysis predicted."},
    {"lattices", "Are lattices indexed?",
     "A lattice is right when it is turned from the true one by less than the limit."},
    {"angle_deg", "How well are they oriented?",
     "The angle between a right lattice and the true one, in degrees; x, y and z are its parts "
     "about the axes of the beam's frame."},
    {"cell", "Is the cell right?",
     "Edges in angstrom, angles in degrees. A relative error of 0.01 is 1 % too long."},
    {"intensities", "Are intensities right?",
     "Measured against true photons. Slope 1: the scale is right. chi2 1: the sigmas are honest; "
     "above 1 they are too small, below 1 too large. slope_median, slope_mad and chi2_robust are "
     "the same by medians: a few wild ones do not change them."},
    {"merged", "Is the merged set right?",
     "Merged intensities against the squares of the structure factors that went in, scaled by one "
     "factor and one B; mates: the differences of Friedel mates against theirs."},
    {"latency_s", "In time?", "Seconds from the sending of a frame to its result."},
    {"sent", "What was sent", "Frames by what became of them on their way to the client."},
    {"lost", "Who lost frames", "Frames without a result that were never sent, or were sent."},
    {"answers", "Are answers of good messages?",
     "Answers whose frame has no number, and messages without a fault that were called damaged."},
    {"faults", "What was done with faults?",
     "Messages of each kind of fault, and their frames: answered or ignored, answered wrongly, "
     "reported as damaged; died: the client answered none behind it."},
};

enum { GROUPS = sizeof groups / sizeof *groups };

/* The length of the name's part before the first dot. */
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

static void write_row(FILE *out, const struct figure *x)
{
    const size_t top = top_of(x->name);
    fputs("<tr><td>", out);
    write_name(out, x->name[top] ? x->name + top + 1 : x->name);
    if (isfinite(x->value))
        fprintf(out, "</td><td>%.6g</td></tr>\n", x->value);
    else {
        fputs("</td><td class=\"absent\">", out);
        html_text(out, x->why ? x->why : "absent");
        fputs("</td></tr>\n", out);
    }
}

static void begin_card(FILE *out, const char *name)
{
    size_t g = 0;
    while (g < GROUPS && !is_of(name, groups[g].name))
        g++;
    if (g < GROUPS)
        fprintf(out, "<div class=\"card\"><h3>%s</h3><p class=\"soft\">%s</p><table>\n",
                groups[g].title, groups[g].text);
    else {
        fputs("<div class=\"card\"><h3>", out);
        fwrite(name, 1, top_of(name), out);
        fputs("</h3><table>\n", out);
    }
}

/* Figures by bins are shown as plots. */
static void write_figures(FILE *out, const struct figures *f)
{
    const char *last = NULL;
    fputs("<h2>Figures</h2>\n<div class=\"grid2\">\n", out);
    for (size_t i = 0; i < f->count; i++) {
        const char *name = f->list[i].name;
        if (strstr(name, ".by_"))
            continue;
        if (last && !same_card(last, name))
            fputs("</table></div>\n", out);
        if (!last || !same_card(last, name))
            begin_card(out, name);
        last = name;
        write_row(out, &f->list[i]);
    }
    fputs(last ? "</table></div>\n</div>\n" : "</div>\n", out);
}

/* --- page ------------------------------------------------------------------------- */

static void write_head(FILE *out, const struct score *s, const struct figures *f,
                       const char *const results[], size_t nresults)
{
    document_begin(out, "Score of an analysis");
    fputs("<p class=\"soft names\">", out);
    for (size_t i = 0; i < nresults; i++) {
        fputs(i ? ", " : "", out);
        html_text(out, results[i]);
    }
    fputs(", against the answer key ", out);
    html_text(out, s->key->path);
    fputs(". The key knows every reflection of every frame, for the frames were computed.</p>\n",
          out);
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
    enum status status = STATUS_OK;
    if (s->nanswered) {
        report_plots(out, s);
        status = report_frames(out, s, e);
    }
    write_figures(out, f);
    fputs("<p class=\"soft\">Made by bragg-score; its manual page defines each figure.</p>\n", out);
    document_end(out);
    return status;
}
