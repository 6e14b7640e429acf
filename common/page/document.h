/*
 * HTML pages that contain everything they show: they have no script, and load nothing from outside.
 * They have a light and a dark style, and a single column on a telephone.
 *
 * Classes for the content of a page, besides those of plot.h:
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

#endif
