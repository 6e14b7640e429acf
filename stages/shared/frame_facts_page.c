/* Frames and experiment as HTML. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "frame_facts.h"
#include "page/document.h"
#include "page/plot.h"

enum { NOTE = 120, LEAST_A_BIN = 5 };

static const char *unit_of(const struct experiment *x)
{
    return x->gain != 1 || x->adc_offset != 0 || x->saturation > 0 ? "ADU" : "photons";
}

static void row(FILE *out, const char *name, const char *format, double value, const char *unit)
{
    fprintf(out, "<tr><td>%s</td><td>", name);
    fprintf(out, format, value);
    fprintf(out, "%s%s</td></tr>\n", *unit ? " " : "", unit);
}

/* ---- frames --------------------------------------------------------------------------- */

static void write_numbers(const struct frame_facts *k, FILE *out)
{
    const double frames = (double)k->frames;
    fputs("<div class=\"card\"><h3>Frames</h3><table>\n", out);
    row(out, "frames seen", "%.0f", frames, "");
    row(out, "with a crystal in the beam (hits)", "%.0f", (double)k->hits, "");
    if (k->torn)
        row(out, "replaced while they were looked at, not counted here", "%.0f", (double)k->torn,
            "");
    if (k->frames) {
        row(out, "mean of a pixel", "%.4g", k->mean_sum / frames, unit_of(k->x));
        row(out, "brightest pixel", "%.6g", k->brightest, unit_of(k->x));
    }
    if (k->x->saturation > 0.0)
        row(out, "frames with saturated pixels", "%.0f", (double)k->saturated, "");
    if (k->last_s > 0.0) {
        row(out, "from the first to the last", "%.3g", k->last_s, "s");
        row(out, "rate", "%.4g", (frames - 1) / k->last_s, "frames/s");
    }
    fputs("</table></div>\n", out);
}

static void write_picture(const struct frame_facts *k, int place, FILE *out)
{
    const struct facts_picture *p = &k->pictures[place];
    const char *why = place == 0 ? ", the first" : place == 1 ? ", the brightest" : "";
    fprintf(out,
            "<figure class=\"card\"><img alt=\"frame %" PRIu64 "\" src=\"data:image/png;base64,",
            p->id);
    html_base64(out, p->png, p->size);
    fprintf(out,
            "\"><figcaption class=\"soft\">Frame %" PRIu64
            "%s: %zu lattice%s, mean %.4g, brightest "
            "pixel %.6g</figcaption></figure>\n",
            p->id, why, p->lattices, p->lattices == 1 ? "" : "s", p->mean, p->most);
}

static double edge(int bin)
{
    return FACTS_LEAST * pow(10.0, (double)bin / FACTS_PER_DECADE);
}

static void write_histogram(const struct frame_facts *k, const struct facts_histogram *h,
                            const char *title, const char *of, FILE *out)
{
    int first = FACTS_BINS, last = 0;
    uint64_t most = 1;
    for (int i = 0; i < FACTS_BINS; i++) {
        const uint64_t n = h->hits[i] + h->blanks[i];
        if (!n)
            continue;
        first = i < first ? i : first;
        last = i;
        most = n > most ? n : most;
    }
    if (first > last)
        return;
    char label[NOTE];
    (void)snprintf(label, sizeof label, "%s, %s", of, unit_of(k->x));
    first = first > FACTS_PER_DECADE ? first - FACTS_PER_DECADE : 0;
    const struct plot_axis x = {label, edge(first), edge(last + FACTS_PER_DECADE), true},
                           y = {"frames", 0, (double)most, false};
    struct plot p;
    fprintf(out, "<div class=\"card\"><h3>%s</h3>\n", title);
    plot_begin(&p, out, title, &x, &y);
    for (int i = first; i <= last; i++) {
        const uint64_t n = h->hits[i] + h->blanks[i];
        char note[NOTE];
        (void)snprintf(note, sizeof note, "%.3g to %.3g: %" PRIu64 " frames, %" PRIu64 " hits",
                       edge(i), edge(i + 1), n, h->hits[i]);
        if (n)
            plot_bar(&p, edge(i), edge(i + 1), (double)n, note);
    }
    plot_end(&p);
    fputs("</div>\n", out);
}

/* Frames/s, and the share of hits, over the time. */
static void write_course(const struct frame_facts *of, bool of_hits, FILE *out)
{
    struct frame_facts course = *of, *k = &course;
    while (k->last_s > 0 && (double)k->frames * k->bin_s < LEAST_A_BIN * k->last_s)
        frame_facts_fold(k);
    const int last = (int)(k->last_s / k->bin_s);
    double most = 0.0;
    for (int i = 0; i <= last; i++)
        most = fmax(most, (double)k->came[i] / k->bin_s);
    const char *title = of_hits ? "Hit rate" : "Frames a second";
    const struct plot_axis x = {"seconds after the first frame", 0, (last + 1) * k->bin_s, false},
                           y = {of_hits ? "share of hits" : "frames/s", 0, of_hits ? 1.0 : most,
                                false};
    struct plot p;
    if (!k->frames || !(most > 0.0))
        return;
    fprintf(out, "<div class=\"card\"><h3>%s</h3>\n", title);
    plot_begin(&p, out, title, &x, &y);
    for (int i = 0; i <= last; i++) {
        const double n = (double)k->came[i];
        char note[NOTE];
        (void)snprintf(note, sizeof note, "%.3g s: %.0f frames, %" PRIu64 " hits", i * k->bin_s, n,
                       k->came_hits[i]);
        if (n > 0.0)
            plot_bar(&p, i * k->bin_s, (i + 1) * k->bin_s,
                     of_hits ? (double)k->came_hits[i] / n : n / k->bin_s, note);
    }
    plot_end(&p);
    fputs("</div>\n", out);
}

void frame_facts_write(const struct frame_facts *k, FILE *out)
{
    fputs("<h2>Pictures</h2>\n", out);
    if (!k->npictures)
        fputs("<p>No frame was seen.</p>\n", out);
    fputs("<div class=\"grid3\">\n", out);
    for (int i = 0; i < k->npictures; i++)
        write_picture(k, i, out);
    fputs("</div>\n<h2>Frames</h2>\n<div class=\"grid2\">\n", out);
    write_numbers(k, out);
    write_histogram(k, &k->means, "How bright frames are", "mean of a pixel", out);
    write_histogram(k, &k->peaks, "Their brightest pixels", "largest pixel of a frame", out);
    write_course(k, false, out);
    write_course(k, true, out);
    fputs("</div>\n", out);
}

/* ---- experiment ----------------------------------------------------------------------- */

static void write_detector(const struct experiment *x, FILE *out)
{
    const struct panel *p = x->panels;
    fputs("<div class=\"card\"><h3>Detector and beam</h3><table>\n", out);
    if (x->npanels == 1)
        fprintf(out, "<tr><td>pixels</td><td>%" PRId64 " &#215; %" PRId64 "</td></tr>\n",
                p->fast_pixels, p->slow_pixels);
    else
        fprintf(out, "<tr><td>panels, pixels</td><td>%zu, %" PRId64 "</td></tr>\n", x->npanels,
                experiment_pixels(x));
    row(out, "edge of a pixel", "%.6g", m_to_mm(p->pixel_m), "mm");
    row(out, "distance", "%.6g", m_to_mm(p->distance_m), "mm");
    row(out, "beam along fast", "%.6g", p->beam_fast_m / p->pixel_m, "px");
    row(out, "beam along slow", "%.6g", p->beam_slow_m / p->pixel_m, "px");
    row(out, "wavelength", "%.6g", m_to_angstrom(x->beam.wavelength_m), "&#8491;");
    row(out, "photon energy", "%.6g", m_to_ev(x->beam.wavelength_m), "eV");
    row(out, "fluence", "%.4g", x->beam.fluence_ph_m2, "photons/m&#178;");
    fputs("</table></div>\n", out);
}

static void write_crystal(const struct crystal *c, FILE *out)
{
    double cell[6];
    crystal_cell(c, cell);
    fputs("<div class=\"card\"><h3>Crystal ", out);
    html_text(out, c->name);
    fputs("</h3><table>\n", out);
    if (c->has_cell)
        fprintf(out,
                "<tr><td>cell</td><td>%.6g %.6g %.6g &#8491;</td></tr>\n"
                "<tr><td>angles</td><td>%.6g %.6g %.6g deg</td></tr>\n",
                cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]);
    fprintf(out, "<tr><td>unit cells along the edges</td><td>%g &#215; %g &#215; %g</td></tr>\n",
            c->cells[0], c->cells[1], c->cells[2]);
    fputs("</table></div>\n", out);
}

void frame_facts_write_experiment(const struct experiment *x, FILE *out)
{
    fputs("<h2>Recipe</h2>\n<div class=\"grid2\">\n", out);
    write_detector(x, out);
    for (size_t i = 0; i < x->ncrystals; i++)
        write_crystal(&x->crystals[i], out);
    fputs("</div>\n<div class=\"card\"><h3>Lineage ", out);
    html_text(out, x->lineage);
    fputs(
        "</h3><p class=\"soft\">What made the frames: a line for each stage, with the options that "
        "decide their bytes. Frames of one lineage are the same.</p><pre>",
        out);
    html_lines(out, x->history);
    fputs("</pre></div>\n", out);
}
