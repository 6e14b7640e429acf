/*
 * HTML pages that contain everything they show: they have no script, and load nothing from outside.
 * They have a light and a dark style, and a single column on a telephone.
 *
 * Classes for the content of a page, besides those of plots:
 *   `card`             a box with a border
 *   `grid2`, `grid3`   boxes next to each other
 *   `soft`             small text
 *   `names`            names of files
 *   `wide`             a table with a heading row; on a telephone each row becomes a block, in
 *                      which cells have the name of their column from the attribute data-name
 *   `notes`            a list of warnings
 *   `shares`           bars that show parts of a whole
 */
#ifndef BRAGG_PAGE_DOCUMENT_H
#define BRAGG_PAGE_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Comment in a page, on a line of its own.  Another program may replace the line by more
 * content. */
#define DOCUMENT_GAP "<!-- gap -->\n"

/* Checks that a page can be written to `path`.  Call the function before long work.
 *
 * STATUS_FAILED: the page cannot be written, or the file exists and is not such a page. */
enum status document_check(const char *path, struct error *e);

/* document_begin writes the beginning of a page with its heading, and document_end writes its
 * end.  `title` is plain text: the heading, and the name of the page in the browser. */
void document_begin(FILE *out, const char *title);
void document_end(FILE *out);

/* --- the content of a page ---------------------------------------------------------------- */

/* Writes text of any origin, so that a browser shows it as plain text.  Characters of markup and
 * quotes are escaped.  Control characters and bytes that are not valid UTF-8 become U+FFFD. */
void html_text(FILE *out, const char *text);

/* Writes several lines of text for <pre>, like html_text.  Tabs become blanks, and carriage returns
 * are removed. */
void html_lines(FILE *out, const char *text);

/* Writes bytes in base64 (RFC 4648). */
void html_base64(FILE *out, const void *data, size_t size);

/* --- plots as inline SVG ---------------------------------------------------- */

/* The colours of a plot come from the style sheet of the page. */

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
