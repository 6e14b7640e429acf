/* What is there already of a series of NXmx files. */
#ifndef BRAGG_IO_NXMX_FOUND_H
#define BRAGG_IO_NXMX_FOUND_H

#include "io/nxmx/nxmx_series.h"

/* Others that fill the same series wait until it is unlocked, where the file system has such locks.
 * *lock is what nxmx_series_unlock takes, -1 for none.  An error names the folder, whose lock
 * another process does not give back. */
enum status nxmx_series_lock(const struct nxmx_series *s, int *lock, struct error *e);
void nxmx_series_unlock(int lock);

/* The series is locked: takes in what is in it by now. */
enum status nxmx_series_look(struct nxmx_series *s, struct error *e);

#endif
