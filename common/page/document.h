/*
 * HTML pages that hold all they show: no script, nothing from outside; light and dark, one column
 * on a telephone.  Classes for what stands in them: card, grid2 and grid3 (cards side by side),
 * soft (small text), names (of files), notes (warnings), shares (bars of parts), and those of
 * plot.h.
 */
#ifndef BRAGG_PAGE_DOCUMENT_H
#define BRAGG_PAGE_DOCUMENT_H

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

#endif
