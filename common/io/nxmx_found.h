/* What is there already of a series of NXmx files. */
#ifndef BRAGG_IO_NXMX_FOUND_H
#define BRAGG_IO_NXMX_FOUND_H

#include "io/nxmx_series.h"

/* Others that fill the same series wait until it is unlocked, where the file system has such locks.
 * Returns what nxmx_series_unlock takes. */
int nxmx_series_lock(const struct nxmx_series *s);
void nxmx_series_unlock(int lock);

/* The series is locked: takes in what is in it by now. */
enum status nxmx_series_look(struct nxmx_series *s, struct error *e);

#endif
