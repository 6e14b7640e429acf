/* Plots as inline SVG; colours come from the classes of the page around them. */
#ifndef BRAGG_PAGE_PLOT_H
#define BRAGG_PAGE_PLOT_H

#include <stdbool.h>
#include <stdio.h>

struct plot_axis {
    const char *label;  // good as it stands in HTML
    double from, to;    // from < to, and above 0 on a logarithmic axis
    bool logarithmic;
};

struct plot {
    FILE *out;
    struct plot_axis x, y;
};

/* Writes the frame with its numbers.  `title` is for those who cannot see it.  All that comes after
 * is cut to the frame. */
void plot_begin(struct plot *p, FILE *out, const char *title, const struct plot_axis *x,
                const struct plot_axis *y);
void plot_end(struct plot *p);

/* From the lower edge up to y; `note` is shown to a pointer over it. */
void plot_bar(struct plot *p, double x0, double x1, double y, const char *note);

/* A line of class `name`. */
void plot_line(struct plot *p, double x0, double y0, double x1, double y1, const char *name);

/* `n` dots; those outside are left out.  Returns how many these are. */
size_t plot_dots(struct plot *p, const double (*at)[2], size_t n);

#endif
