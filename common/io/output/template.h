/* Makes and parses the names of numbered files, such as 'lyso_%04d.img'. */
#ifndef BRAGG_IO_TEMPLATE_H
#define BRAGG_IO_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"

enum { TEMPLATE_PATH_MAX = 4096 };  // bytes of a name, with the terminator

struct template
{
    const char *text;   // borrowed
    size_t start, end;  // of the conversion in `text`; equal if there is none
    int width;          // least number of digits, padded with `fill`
    char fill;          // '0' or ' '
};

/* Parses `text`.  The last part of the path may hold one conversion: `%d`, or with a width up to
 * 18, as in `%4d` or `%04d`.  STATUS_USAGE: any other `%`, or a name that is empty, ends in `/` or
 * is too long. */
enum status template_parse(struct template *t, const char *text, struct error *e);

static inline bool template_is_numbered(const struct template *t)
{
    return t->end > t->start;
}

/* Puts the name of file number `id` into name[TEMPLATE_PATH_MAX]. */
void template_name(const struct template *t, uint64_t id, char *name);

/* Returns true if `name` is the name of a numbered file, and sets *number to its number. */
bool template_number(const struct template *t, const char *name, uint64_t *number);

/* Adds the numbers of all existing files of a numbered template to *numbers.  Returns false if out
 * of memory. */
bool template_list(const struct template *t, struct id_set *numbers);

/* Sets `name` to the name without the number and the separator before it, followed by `suffix`.
 * 'lyso_%04d.img' gives "lyso.img"; a bare '%d.img' gives "frames.img". */
void template_stem(const struct template *t, const char *suffix, char *name);

#endif
