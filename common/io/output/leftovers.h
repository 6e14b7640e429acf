/* Temporary files that killed processes left. */
#ifndef BRAGG_IO_LEFTOVERS_H
#define BRAGG_IO_LEFTOVERS_H

#include "io/output/template.h"

/* Removes the temporary files of replace_open for files of this template that no living
 * process of this host writes to. */
void leftovers_remove(const struct template *t);

#endif
