/* Merged intensities as CrystFEL writes them: reflection lists, version 2.0. */
#ifndef BRAGG_IO_CRYSTFEL_HKL_H
#define BRAGG_IO_CRYSTFEL_HKL_H

#include "base/error.h"
#include "model/experiment.h"

/* Reads intensities into *t (overwritten; hkl_free frees it), expanded by the point group that the
 * file names; those of groups with an inversion stand for both Friedel mates.  NaN where there is
 * none.  STATUS_INPUT for anything else, with "FILE:LINE: ". */
enum status crystfel_hkl_read(const char *path, struct hkl_table *t, struct error *e);

#endif
