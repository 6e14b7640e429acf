/*
 * HTML pages that hold all they show: no script, nothing from outside; light and dark, one column
 * on a telephone.  Classes for what stands in them: card, grid2 and grid3 (cards side by side),
 * soft (small text), names (of files), notes (warnings), shares (bars of parts), and those of
 * plot.h.
 */
#ifndef BRAGG_PAGE_DOCUMENT_H
#define BRAGG_PAGE_DOCUMENT_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Where another program may put more into a page: a line of its own. */
#define DOCUMENT_GAP "<!-- gap -->\n"

/* Before the work: such a page can be written there.  STATUS_FAILED, also for a file that is
 * something else than a page of ours. */
enum status document_check(const char *path, struct error *e);

/* Writes all up to the heading, which is `title`, good as it stands in HTML. */
void document_begin(FILE *out, const char *title);
void document_end(FILE *out);

/* --- what stands in a page ---------------------------------------------------------------- */

/* Writes text of any origin as text: markup, quotes, control characters and what is not ASCII and
 * not good UTF-8 lose their meaning. */
void html_text(FILE *out, const char *text);

/* The same of several lines, for <pre>: tabs become blanks, carriage returns go. */
void html_lines(FILE *out, const char *text);

/* Writes bytes in base64 (RFC 4648). */
void html_base64(FILE *out, const void *data, size_t size);

#endif
