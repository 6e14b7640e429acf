/* Finds the number of pixels of an image from the options of bragg-geometry. */
#include "stages/run/image_size.h"

#include <stdio.h>
#include <string.h>

#include "physics/detector/detector.h"

enum { USUAL_EDGE = 1024 };  // pixels along each edge, if no option gives them

/* Returns the only bragg-geometry of a pipeline.  NULL: there is none, or there are several. */
static const struct pipeline_stage *only_geometry(const struct pipeline *p)
{
    const struct pipeline_stage *found = NULL;
    for (size_t i = 0; i < p->nstages; i++)
        if (pipeline_is_program(&p->stages[i], "bragg-geometry")) {
            if (found)
                return NULL;
            found = &p->stages[i];
        }
    return found;
}

/* Returns the number of pixels of a detector that --detector names.  0: the text is not a name. */
static int64_t pixels_of_detector(const char *name)
{
    const struct preset_detector *d = preset_named(name);
    if (!d)
        return 0;
    const int64_t module = layout_pixels(&d->layout, 0) * layout_pixels(&d->layout, 1);
    return d->nplaces ? (int64_t)d->nplaces * module : module;
}

/* Returns the number of pixels that --detpixels gives, as N or FAST,SLOW.  0: the text is
 * malformed, which bragg-geometry reports. */
static int64_t pixels_of_edges(const char *text)
{
    int fast = 0, slow = 0;
    const int n = sscanf(text, "%9d,%9d", &fast, &slow);
    return n == 2 ? (int64_t)fast * slow : n == 1 ? (int64_t)fast * fast : 0;
}

int64_t image_pixels(const struct pipeline *p)
{
    static const char *const unknown[] = {"geom", "expt", "detsize", "roi"};
    const struct pipeline_stage *s = only_geometry(p);
    for (size_t i = 0; s && i < sizeof unknown / sizeof *unknown; i++)
        if (pipeline_has(s, unknown[i]))
            return 0;
    const char *detector = s ? pipeline_value(s, "detector") : NULL,
               *edges = s ? pipeline_value(s, "detpixels") : NULL;
    if (!s || (detector && edges))
        return 0;
    return detector ? pixels_of_detector(detector)
           : edges  ? pixels_of_edges(edges)
                    : (int64_t)USUAL_EDGE * USUAL_EDGE;
}
