/*
 * An HDF5 file that appears complete or not at all, and what is put into it by absolute
 * paths.  A step that fails is remembered: check once, at the end.  For the files of this
 * folder; the same calls make the same bytes.
 */
#ifndef BRAGG_IO_HDF5_FILE_H
#define BRAGG_IO_HDF5_FILE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/output/replace.h"

struct hdf5_file {
    hid_t id;
    char *path;              // owned
    struct replace replace;  // of a file that is written
    uint64_t bytes;          // of a file that is read
    bool failed;             // some step did
    int cause;               // errno of the first that did, 0: unknown
};

/* How files are opened: an access list, for the caller to close. */
hid_t hdf5_access(void);

/* A new file; `sync`: wait for the disk at the end.  Followed by hdf5_commit or hdf5_abort. */
enum status hdf5_create(struct hdf5_file *f, const char *path, bool sync, struct error *e);

/* Does all of hdf5_commit that may take long.  Optional; nothing more can be put into it. */
void hdf5_settle(struct hdf5_file *f);

/* Closes and renames.  STATUS_FAILED, and no file, if anything failed since hdf5_create. */
enum status hdf5_commit(struct hdf5_file *f, struct error *e);
void hdf5_abort(struct hdf5_file *f);

/* Notes the outcome of a call of the library; true when it is good. */
bool hdf5_good(struct hdf5_file *f, int64_t result);

/* A group of a NeXus class. */
void hdf5_group(struct hdf5_file *f, const char *path, const char *nx_class);

/* Another path to an object, which may be made later. */
void hdf5_link(struct hdf5_file *f, const char *path, const char *to);

/* Data sets: a line of text, one whole number, one yes or no, reals of any rank (0: one value). */
void hdf5_text(struct hdf5_file *f, const char *path, const char *text);
void hdf5_whole(struct hdf5_file *f, const char *path, uint64_t value);
void hdf5_flag(struct hdf5_file *f, const char *path, bool value);
void hdf5_reals(struct hdf5_file *f, const char *path, int rank, const hsize_t *dims,
                const double *values);
/* One number, with a unit unless that is NULL. */
void hdf5_real(struct hdf5_file *f, const char *path, double value, const char *units);

/* A data set of any type, contiguous or by the creation list `made` (H5P_DEFAULT: contiguous);
 * `values` may be NULL.  Returns it for the caller to close. */
hid_t hdf5_data(struct hdf5_file *f, const char *path, hid_t type, int rank, const hsize_t *dims,
                hid_t made, const void *values);
/* A creation list for data sets, for the caller to close. */
hid_t hdf5_creation(struct hdf5_file *f);

/* Attributes of the object at `path`. */
void hdf5_note_text(struct hdf5_file *f, const char *path, const char *name, const char *text);
/* The same as a text of variable length, which h5py gives as str and not as bytes. */
void hdf5_note_string(struct hdf5_file *f, const char *path, const char *name, const char *text);
void hdf5_note_reals(struct hdf5_file *f, const char *path, const char *name, hsize_t count,
                     const double *values);

#endif
