/* What the trial process reads of NXmx files of bragg-write. */
#ifndef BRAGG_IO_NXMX_TRIAL_H
#define BRAGG_IO_NXMX_TRIAL_H

#include "io/hdf5/hdf5_read.h"

/* Tables, and where images and reflections are: a hdf5_reader for one file. */
void nxmx_try(struct hdf5_file *f);

/* The same of a master and of its data files, for those that read through the master. */
void nxmx_try_series(struct hdf5_file *f);

#endif
