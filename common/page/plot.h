/* Plots as inline SVG.  Their colours come from the style sheet of the page, see document.h. */
#ifndef BRAGG_PAGE_PLOT_H
#define BRAGG_PAGE_PLOT_H

#include <stdbool.h>
#include <stdio.h>

struct plot_axis {
    const char *label;  // as HTML
    double from, to;    // range: from < to; a logarithmic axis requires from > 0
    bool logarithmic;
};

struct plot {
    FILE *out;
    struct plot_axis x, y;
};

/* Begins a plot: writes the frame with the numbers of its axes.  `title` describes the plot for
 * readers who cannot see it.  Everything that is drawn afterwards stays inside the frame. */
void plot_begin(struct plot *p, FILE *out, const char *title, const struct plot_axis *x,
                const struct plot_axis *y);
void plot_end(struct plot *p);

/* Draws a bar from x0 to x1, and from the lower edge up to y.  A browser shows `note` if the
 * pointer is over the bar. */
void plot_bar(struct plot *p, double x0, double x1, double y, const char *note);

/* Draws a line from (x0, y0) to (x1, y1).  `name` is its class in the style sheet. */
void plot_line(struct plot *p, double x0, double y0, double x1, double y1, const char *name);

/* Draws `n` dots at (x, y).  Dots outside the frame are omitted.  Returns the number of omitted
 * dots. */
size_t plot_dots(struct plot *p, const double (*at)[2], size_t n);

#endif
