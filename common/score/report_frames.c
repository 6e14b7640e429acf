/*
 * Pictures of the frames with most errors in the report, with their true and found spots.
 */
#include "score/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/images/picture.h"
#include "io/nxmx/nxmx.h"
#include "page/document.h"
#include "score/report_samples.h"

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

enum status report_frames(FILE *out, const struct score *s, struct error *e)
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
