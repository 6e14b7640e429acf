#include "io/detectors/shadows.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/text/textfile.h"

/* "shadow TRANSMISSION [DISTANCE]" */
static enum status add_polygon(const struct text_file *t, struct shadows *s, struct error *e)
{
    struct polygon *p = &s->polygons[s->npolygons];
    double distance_mm = 0.0;
    if (s->npolygons == SHADOWS_MAX)
        return text_error(t, e, "more than %d shadows", SHADOWS_MAX);
    if (t->nwords < 2 || t->nwords > 3)
        return text_error(t, e, "must be 'shadow TRANSMISSION' or 'shadow TRANSMISSION MM'");
    enum status status = text_real(t, 1, "transmission", 0.0, 1.0, &p->transmission, e);
    if (!status && t->nwords == 3)
        status = text_real(t, 2, "distance in mm", 1e-3, 1e6, &distance_mm, e);
    p->distance_m = mm_to_m(distance_mm);
    p->first = s->ncorners;
    p->count = 0;
    s->npolygons += !status;
    return status;
}

static enum status add_corner(const struct text_file *t, struct shadows *s, struct error *e)
{
    if (!s->npolygons)
        return text_error(t, e, "corners stand behind a line 'shadow TRANSMISSION'");
    if (s->ncorners == SHADOW_CORNERS_MAX)
        return text_error(t, e, "more than %d corners", SHADOW_CORNERS_MAX);
    if (t->nwords != 2)
        return text_error(t, e, "%d columns, must be two: mm from the beam along fast and slow",
                          t->nwords);
    static const char *const names[] = {"mm along fast", "mm along slow"};
    for (int i = 0; i < 2; i++) {
        double mm;
        const enum status status = text_real(t, i, names[i], -1e4, 1e4, &mm, e);
        if (status)
            return status;
        s->corners_m[s->ncorners][i] = mm_to_m(mm);
    }
    s->ncorners++;
    s->polygons[s->npolygons - 1].count++;
    return STATUS_OK;
}

/* The polygon that ends here. */
static enum status close_polygon(const struct text_file *t, const struct shadows *s,
                                 struct error *e)
{
    return s->npolygons && s->polygons[s->npolygons - 1].count < 3
               ? text_error(t, e, "the shadow before has %zu corners, must be at least 3",
                            s->polygons[s->npolygons - 1].count)
               : STATUS_OK;
}

static enum status read_lines(struct text_file *t, struct shadows *s, struct error *e)
{
    enum status status;
    while (!(status = text_line(t, TEXT_SPACE, '#', e)) && t->nwords) {
        const bool begins = strcmp(t->word[0], "shadow") == 0;
        status = begins ? close_polygon(t, s, e) : STATUS_OK;
        status = status ? status : begins ? add_polygon(t, s, e) : add_corner(t, s, e);
        if (status)
            return status;
    }
    if (!status && !s->npolygons)
        return error_set(e, STATUS_INPUT,
                         "%s: holds no shadow, must have a line 'shadow TRANSMISSION'", t->path);
    return status ? status : close_polygon(t, s, e);
}

enum status shadows_read(const char *path, struct shadows *s, struct error *e)
{
    struct text_file t;
    *s = (struct shadows){.polygons = mem_array(SHADOWS_MAX, sizeof *s->polygons),
                          .corners_m = mem_array(SHADOW_CORNERS_MAX, sizeof *s->corners_m)};
    if (!s->polygons || !s->corners_m)
        return error_memory(e, "the shadows");
    enum status status = text_open(&t, path, FILETYPE_SHADOWS, TEXT_BYTES_MAX, e);
    status = status ? status : read_lines(&t, s, e);
    text_close(&t);
    return status;
}

void shadows_free(struct shadows *s)
{
    mem_free(s->polygons);
    mem_free(s->corners_m);
    *s = (struct shadows){0};
}
