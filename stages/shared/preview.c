#include "preview.h"

#include "io/images/picture.h"
#include "model/recipe.h"
#include "preview_marks.h"

/* Smaller pictures have no room for marks; larger squares than ZOOM_MAX show nothing more. */
enum { MARKED_MIN = 128, ZOOM_MAX = 8 };

enum status preview_open(struct preview *p, const struct experiment *x, int64_t edge_max,
                         struct error *e)
{
    struct error ignored = {0};
    if (p->of == x)
        return STATUS_OK;
    preview_free(p);
    if (x->npanels > 1) {
        const enum status s = assembly_open(&p->assembly, x, &ignored);
        p->assembled = s == STATUS_OK;
        if (s) {
            assembly_free(&p->assembly);
            const enum status opened = preview_plane_open(&p->plane, x, edge_max, e);
            if (opened)
                return opened;
        }
    }
    p->of = x;
    return STATUS_OK;
}

const struct panel *preview_panel(const struct preview *p)
{
    if (p->of->npanels == 1)
        return p->of->panels;
    return p->assembled ? &p->assembly.panel : &p->plane.panel;
}

enum status preview_image(struct preview *p, const struct image *from, const struct image **image,
                          struct error *e)
{
    *image = from;
    if (p->of->npanels == 1)
        return STATUS_OK;
    *image = p->assembled ? &p->assembly.image : &p->plane.image;
    if (p->assembled)
        return assembly_image(&p->assembly, from, e);
    preview_plane_fill(&p->plane, p->of, from);
    return STATUS_OK;
}

/* Small detectors are shown larger; what is still small stays without marks. */
static enum status dress(struct picture *picture, int64_t edge_max, const struct experiment *x,
                         const struct panel *panel, const struct recipe *r, bool truth,
                         struct error *e)
{
    const int64_t edge = picture->width > picture->height ? picture->width : picture->height;
    const int64_t room = edge_max / edge, zoom = room < ZOOM_MAX ? room : ZOOM_MAX;
    enum status s = zoom > 1 ? picture_enlarge(picture, zoom, e) : STATUS_OK;
    if (s || edge * zoom < MARKED_MIN)
        return s;
    s = picture_ink(picture, e);
    return s ? s : preview_mark(picture, x, panel, r, truth, e);
}

enum status preview_write(struct preview *p, const struct preview_settings *settings,
                          const struct picture_settings *look, const struct experiment *x,
                          const struct frame *f, FILE *out, const char *path, struct error *e)
{
    const struct image *image;
    struct picture picture = {0};
    struct panel seen = {0};  // as the frame saw it
    enum status s = preview_open(p, x, look->edge_max, e);
    if (s == STATUS_OK)
        s = preview_image(p, &f->image, &image, e);
    if (s == STATUS_OK)
        s = picture_make(&picture, image, preview_panel(p), look, e);
    picture.colors = settings->colors;
    if (s == STATUS_OK) {
        seen = *preview_panel(p);
        panel_shift(x, &seen, f->recipe.shift_m);
        s = dress(&picture, look->edge_max, x, &seen, &f->recipe, settings->truth, e);
    }
    if (s == STATUS_OK)
        s = picture_write_png(out, &picture, path, e);
    picture_free(&picture);
    return s;
}

void preview_free(struct preview *p)
{
    assembly_free(&p->assembly);
    preview_plane_free(&p->plane);
    *p = (struct preview){0};
}
