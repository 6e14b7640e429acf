/* Facts about frames: numbers and pictures, collected frame by frame and written as HTML. */
#include "frame_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "base/vec.h"
#include "page/document.h"

enum { SAMPLES = 100003, PICTURE_EDGE = 480, FIRST = 0, BRIGHTEST = 1, OTHERS = 2 };

double frame_mean(const struct image *image)
{
    const size_t step = 1 + image->count / SAMPLES;
    double sum = 0.0;
    size_t n = 0;
    for (size_t i = step / 2; i < image->count; i += step) {
        const double value = image_value(image, i);
        sum += isfinite(value) ? value : 0.0;
        n++;
    }
    return n ? sum / (double)n : 0.0;
}

void frame_facts_open(struct frame_facts *k, const struct experiment *x, int pictures)
{
    *k = (struct frame_facts){.x = x, .wanted = pictures, .bin_s = 0.05};
}

void frame_facts_free(struct frame_facts *k)
{
    for (int i = 0; i < k->npictures; i++)
        free(k->pictures[i].png);
    preview_free(&k->preview);
    *k = (struct frame_facts){0};
}

/* ---- numbers -------------------------------------------------------------------------- */

static int bin_of(double value)
{
    const double bin = FACTS_PER_DECADE * log10(value / FACTS_LEAST);
    return bin > 0.0 ? (int)fmin(bin, FACTS_BINS - 1) : 0;
}

static void count_value(struct facts_histogram *h, double value, bool hit)
{
    (hit ? h->hits : h->blanks)[bin_of(value)]++;
}

/* Adds up pairs of neighbouring bins. The sums fill the first half of bins[]; the second half
 * becomes 0. */
static void join_bins(uint64_t bins[FACTS_TIMES])
{
    for (int i = 0; i < FACTS_TIMES / 2; i++)
        bins[i] = bins[2 * i] + bins[2 * i + 1];
    memset(bins + FACTS_TIMES / 2, 0, FACTS_TIMES / 2 * sizeof *bins);
}

/* Makes the time bins twice as long, so that they cover a longer run. */
static void frame_facts_fold(struct frame_facts *k)
{
    join_bins(k->came);
    join_bins(k->came_hits);
    k->bin_s *= 2;
}

static void note_time(struct frame_facts *k, double time_s, bool hit)
{
    while (time_s >= k->bin_s * FACTS_TIMES)
        frame_facts_fold(k);
    const int bin = (int)(fmax(time_s, 0.0) / k->bin_s);
    k->came[bin]++;
    k->came_hits[bin] += hit;
    k->last_s = time_s;
}

/* ---- pictures ------------------------------------------------------------------------- */

static enum status draw_picture(struct frame_facts *k, const struct frame *f,
                                struct facts_picture *p, struct error *e)
{
    const struct preview_settings settings = {.large = true, .colors = COLORS_INVERTED};
    const struct picture_settings look = {.edge_max = PICTURE_EDGE, .saturation = k->x->saturation};
    FILE *out = open_memstream(&p->png, &p->size);
    if (!out)
        return error_memory(e, "a picture");
    const enum status s =
        preview_write(&k->preview, &settings, &look, k->x, f, out, "a picture", e);
    if (fclose(out) == 0 && s == STATUS_OK)
        return STATUS_OK;
    free(p->png);
    return s ? s : error_memory(e, "a picture");
}

/* Stores a picture at `place`. Replaces the picture that is there, or appends the picture if
 * there is none. */
static void store_picture(struct frame_facts *k, int place, struct facts_picture p)
{
    if (place < k->npictures)
        free(k->pictures[place].png);
    else
        k->npictures = place + 1;
    k->pictures[place] = p;
}

/* Returns the place for a picture that is neither the first nor the brightest. k->wanted: the
 * picture is not kept. The pictures of the frames whose numbers have the smallest hashes are
 * kept. All frames are therefore equally likely, and the same run always shows the same frames. */
static int place_of_other(const struct frame_facts *k, uint64_t rank)
{
    int worst = OTHERS;
    if (k->npictures < k->wanted)
        return k->npictures;
    for (int i = OTHERS; i < k->npictures; i++)
        if (k->pictures[i].rank > k->pictures[worst].rank)
            worst = i;
    return worst < k->wanted && k->pictures[worst].rank > rank ? worst : k->wanted;
}

/* Moves the picture that was the brightest until now to another place, if place_of_other selects
 * it like any other picture. */
static void keep_former_brightest(struct frame_facts *k)
{
    struct facts_picture former = k->pictures[BRIGHTEST];
    const int place = place_of_other(k, former.rank);
    if (place == k->wanted)
        return;
    k->pictures[BRIGHTEST].png = NULL;
    store_picture(k, place, former);
}

/* Returns the place for a picture. k->wanted: the picture is not kept. */
static int place_of(const struct frame_facts *k, const struct facts_picture *p)
{
    if (k->npictures <= BRIGHTEST)
        return k->npictures;
    return p->mean > k->pictures[BRIGHTEST].mean ? BRIGHTEST : place_of_other(k, p->rank);
}

enum status frame_facts_take(struct frame_facts *k, const struct frame *f, double time_s,
                             struct error *e)
{
    const bool hit = f->recipe.nlattices > 0;
    struct facts_picture p = {.id = f->recipe.id,
                              .rank = hash_finish(f->recipe.id + 1),
                              .lattices = f->recipe.nlattices,
                              .mean = frame_mean(&f->image),
                              .most = image_range(&f->image).most};
    const int place = place_of(k, &p);
    const enum status s = place < k->wanted ? draw_picture(k, f, &p, e) : STATUS_OK;
    if (s)
        return s;
    if (!image_is_intact(&f->image)) {
        free(p.png);
        k->torn++;
        return STATUS_OK;
    }
    k->frames++;
    k->hits += hit;
    k->saturated += k->x->saturation > 0.0 && p.most >= k->x->saturation;
    k->mean_sum += p.mean;
    k->brightest = k->frames == 1 ? p.most : fmax(k->brightest, p.most);
    count_value(&k->means, p.mean, hit);
    count_value(&k->peaks, p.most, hit);
    note_time(k, time_s, hit);
    if (place == BRIGHTEST && k->npictures > BRIGHTEST)
        keep_former_brightest(k);
    if (place < k->wanted)
        store_picture(k, place, p);
    return STATUS_OK;
}

/* ==== frames and experiment as HTML ====================================================== */

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
    row(out, "hits (frames with a lattice)", "%.0f", (double)k->hits, "");
    if (k->torn)
        row(out, "frames overwritten while they were read (not counted)", "%.0f", (double)k->torn,
            "");
    if (k->frames) {
        row(out, "mean pixel value", "%.4g", k->mean_sum / frames, unit_of(k->x));
        row(out, "brightest pixel", "%.6g", k->brightest, unit_of(k->x));
    }
    if (k->x->saturation > 0.0)
        row(out, "frames with saturated pixels", "%.0f", (double)k->saturated, "");
    if (k->last_s > 0.0) {
        row(out, "time from the first to the last frame", "%.3g", k->last_s, "s");
        row(out, "frame rate", "%.4g", (frames - 1) / k->last_s, "frames/s");
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
            "%s: %zu lattice%s, mean %.4g %s, brightest "
            "pixel %.6g %s</figcaption></figure>\n",
            p->id, why, p->lattices, p->lattices == 1 ? "" : "s", p->mean, unit_of(k->x), p->most,
            unit_of(k->x));
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

/* Plots frames per second, or the fraction of hits, against time.  If all frames or none are hits,
 * the fraction is not plotted. */
static void write_course(const struct frame_facts *of, bool of_hits, FILE *out)
{
    struct frame_facts course = *of, *k = &course;
    while (k->last_s > 0 && (double)k->frames * k->bin_s < LEAST_A_BIN * k->last_s)
        frame_facts_fold(k);
    const int last = (int)(k->last_s / k->bin_s);
    double most = 0.0;
    for (int i = 0; i <= last; i++)
        most = fmax(most, (double)k->came[i] / k->bin_s);
    const char *title = of_hits ? "Hit rate" : "Frame rate";
    const struct plot_axis x = {"seconds after the first frame", 0, (last + 1) * k->bin_s, false},
                           y = {of_hits ? "fraction of hits" : "frames/s", 0, of_hits ? 1.0 : most,
                                false};
    struct plot p;
    const bool varies = k->hits > 0 && k->hits < k->frames;
    if (!k->frames || !(most > 0.0) || (of_hits && !varies))
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
    write_histogram(k, &k->means, "Mean pixel values", "mean pixel value", out);
    write_histogram(k, &k->peaks, "Brightest pixels", "brightest pixel of a frame", out);
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
    row(out, "pixel size", "%.6g", m_to_mm(p->pixel_m), "mm");
    row(out, "distance", "%.6g", m_to_mm(p->distance_m), "mm");
    row(out, "beam centre along fast", "%.6g", p->beam_fast_m / p->pixel_m, "px");
    row(out, "beam centre along slow", "%.6g", p->beam_slow_m / p->pixel_m, "px");
    row(out, "wavelength", "%.6g", m_to_angstrom(x->beam.wavelength_m), "&#8491;");
    row(out, x->has_probe ? "kinetic energy" : "photon energy", "%.6g",
        probe_energy_eV(x->probe, x->beam.wavelength_m), "eV");
    row(out, "fluence", "%.4g", x->beam.fluence_ph_m2,
        x->probe == PROBE_ELECTRON  ? "electrons/m&#178;"
        : x->probe == PROBE_NEUTRON ? "neutrons/m&#178;"
                                    : "photons/m&#178;");
    fputs("</table></div>\n", out);
}

/* Writes a row with three values along the edges of a crystal. */
static void edges(FILE *out, const char *name, const double values[3], double scale,
                  const char *unit)
{
    fprintf(out, "<tr><td>%s</td><td>%.4g &#215; %.4g &#215; %.4g%s</td></tr>\n", name,
            scale * values[0], scale * values[1], scale * values[2], unit);
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
    if (c->has_size)
        edges(out, "size", c->size_m, 1e6, " &#181;m");
    edges(out,
          c->has_blocks ? "unit cells along the edges of a mosaic block"
                        : "unit cells along the edges",
          c->cells, 1.0, "");
    if (c->has_blocks)
        row(out, "mosaic blocks", "%.3g", c->blocks, "");
    if (c->has_ensemble && vec_dot(c->mosaic_rms_rad, c->mosaic_rms_rad) > 0.0)
        fprintf(out,
                "<tr><td>rotation of the mosaic blocks about a, c* &#215; a, c*, rms</td>"
                "<td>%.3g, %.3g, %.3g deg</td></tr>\n",
                rad_to_deg(c->mosaic_rms_rad[0]), rad_to_deg(c->mosaic_rms_rad[1]),
                rad_to_deg(c->mosaic_rms_rad[2]));
    fputs("</table></div>\n", out);
}

void frame_facts_write_experiment(const struct experiment *x, FILE *out)
{
    fputs("<h2>Experiment</h2>\n<div class=\"grid2\">\n", out);
    write_detector(x, out);
    for (size_t i = 0; i < x->ncrystals; i++)
        write_crystal(&x->crystals[i], out);
    fputs("</div>\n<div class=\"card\"><h3>Lineage ", out);
    html_text(out, x->lineage);
    fputs("</h3><p class=\"soft\">One line per stage, with all options that change the frames. "
          "Frames with the same number and the same lineage have the same bytes.</p><pre>",
          out);
    html_lines(out, x->history);
    fputs("</pre></div>\n", out);
}
