/* The files of the page, which are part of the program. */
#ifndef BRAGG_WEB_PAGE_H
#define BRAGG_WEB_PAGE_H

#include <stddef.h>

struct web_file {
    const char *path;  // in the address of the page
    const char *type;
    const char *begin, *end;
};

/* Finds the file with this path, which is static.  NULL if there is none. */
const struct web_file *web_page_find(const char *path);

#endif
