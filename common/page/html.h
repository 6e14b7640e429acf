/* Parts of HTML pages that hold all they show. */
#ifndef BRAGG_PAGE_HTML_H
#define BRAGG_PAGE_HTML_H

#include <stddef.h>
#include <stdio.h>

/* Writes text of any origin as text: markup, quotes, control characters and what is not ASCII and
 * not good UTF-8 lose their meaning. */
void html_text(FILE *out, const char *text);

/* The same of several lines, for <pre>: tabs become blanks, carriage returns go. */
void html_lines(FILE *out, const char *text);

/* Writes bytes in base64 (RFC 4648). */
void html_base64(FILE *out, const void *data, size_t size);

#endif
