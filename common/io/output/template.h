/* Names of numbered files, such as 'lyso_%04d.img'. */
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
    size_t start, end;  // of the conversion in text; equal when there is none
    int width;          // least number of digits, filled up with `fill`
    char fill;          // '0' or ' '
};

/* Takes `text` apart.  It may hold one conversion, `%d` or with a width up to 18
 * as in `%4d` or `%04d`, in the last part of the path; any other `%`, an empty
 * name, one that ends in `/` or is too long is STATUS_USAGE. */
enum status template_parse(struct template *t, const char *text, struct error *e);

static inline bool template_is_numbered(const struct template *t)
{
    return t->end > t->start;
}

/* Puts the name of file number `id` into name[TEMPLATE_PATH_MAX]. */
void template_name(const struct template *t, uint64_t id, char *name);

/* Whether `name` is what template_name gives for some *number. */
bool template_number(const struct template *t, const char *name, uint64_t *number);

/* Adds the numbers of all names in its folder, of a template that is numbered; false when memory is
 * out. */
bool template_list(const struct template *t, struct id_set *numbers);

/* The name without the number and the separator before it: 'lyso_%04d.img' gives
 * "lyso.img", a bare '%d.img' "frames.img", both followed by `suffix`. */
void template_stem(const struct template *t, const char *suffix, char *name);

#endif
