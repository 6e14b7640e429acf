/* The files of the page, which are part of the program. */
#ifndef BRAGG_WEB_PAGE_H
#define BRAGG_WEB_PAGE_H

#include <stddef.h>

struct web_file {
    const char *path;  // in the address
    const char *type;
    const char *begin, *end;
};

/* The file of exactly this path; NULL for none. */
const struct web_file *web_page_find(const char *path);

#endif
