/* Values of options: numbers with units and lists of them, as people type them. */
#ifndef BRAGG_BASE_OPT_VALUE_H
#define BRAGG_BASE_OPT_VALUE_H

#include "base/opt.h"

/* What an option takes. */
struct opt_number {
    const char *what;  // names it in errors, e.g. "--distance"
    double min, max;   // inclusive limits
    unsigned flags;    // OPT_OPEN_MIN, OPT_WHOLE
    const char *unit;  // its metavariable, such as MM; NULL: numbers without a unit
};

/* One number, perhaps with a unit of that kind behind it, which is converted. */
enum status opt_real(const char *text, const struct opt_number *rule, double *value,
                     struct error *e);

/* One whole number, also as 1e6. */
enum status opt_whole(const char *text, const struct opt_number *rule, int64_t *value,
                      struct error *e);

/* Numbers parted by commas or blanks, whole ones by x, too (1024x2048): all are counted, the first
 * `most` are kept. */
enum status opt_numbers(const char *text, int most, const struct opt_number *rule, double *values,
                        int *count, struct error *e);

/* One number, which stands for all, or exactly `count`. */
enum status opt_one_or_all(const char *text, int count, const struct opt_number *rule,
                           double *values, struct error *e);

#endif
