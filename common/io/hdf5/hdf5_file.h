/*
 * Writes an HDF5 file that appears complete or not at all.  Groups, data sets and attributes are
 * added by their absolute paths.  If a step fails, the file stores the failure, and hdf5_commit
 * reports it: callers check only once, at the end.  Equal calls make equal bytes.
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
    struct replace replace;  // of a file that is being written: its temporary file
    uint64_t bytes;          // of a file that is being read: its size
    bool failed;             // a step has failed
    int cause;               // errno of the first step that failed, 0: unknown
};

/* Returns the access property list with which files are opened.  The caller closes it. */
hid_t hdf5_access(void);

/* Creates a file.  `sync`: wait for the disk at the end.  The caller calls hdf5_commit or
 * hdf5_abort. */
enum status hdf5_create(struct hdf5_file *f, const char *path, bool sync, struct error *e);

/* Does the slow part of hdf5_commit.  Optional.  Nothing can be added to the file afterwards. */
void hdf5_settle(struct hdf5_file *f);

/* Closes and renames.  STATUS_FAILED, and no file, if anything failed since hdf5_create. */
enum status hdf5_commit(struct hdf5_file *f, struct error *e);
void hdf5_abort(struct hdf5_file *f);

/* Checks the result of a call of the HDF5 library, which is negative after an error, and stores an
 * error in *f.  Returns true if there was none. */
bool hdf5_good(struct hdf5_file *f, int64_t result);

/* Adds a group of a NeXus class. */
void hdf5_group(struct hdf5_file *f, const char *path, const char *nx_class);

/* Adds another path to the object `to`, which may be added later. */
void hdf5_link(struct hdf5_file *f, const char *path, const char *to);

/* Add a data set: a line of text, a whole number, a truth value, or reals of any rank (0: one
 * value). */
void hdf5_text(struct hdf5_file *f, const char *path, const char *text);
void hdf5_whole(struct hdf5_file *f, const char *path, uint64_t value);
void hdf5_flag(struct hdf5_file *f, const char *path, bool value);
void hdf5_reals(struct hdf5_file *f, const char *path, int rank, const hsize_t *dims,
                const double *values);
/* Adds one real number, with a unit unless `units` is NULL. */
void hdf5_real(struct hdf5_file *f, const char *path, double value, const char *units);

/* Adds a data set of any type, with the creation property list `made` (H5P_DEFAULT: contiguous).
 * `values` may be NULL.  Returns the data set.  The caller closes it. */
hid_t hdf5_data(struct hdf5_file *f, const char *path, hid_t type, int rank, const hsize_t *dims,
                hid_t made, const void *values);
/* Returns a creation property list for data sets.  The caller closes it. */
hid_t hdf5_creation(struct hdf5_file *f);

/* Add an attribute to the object at `path`. */
void hdf5_note_text(struct hdf5_file *f, const char *path, const char *name, const char *text);
/* Adds the attribute as a text of variable length, which h5py returns as str and not as bytes. */
void hdf5_note_string(struct hdf5_file *f, const char *path, const char *name, const char *text);
void hdf5_note_reals(struct hdf5_file *f, const char *path, const char *name, hsize_t count,
                     const double *values);

#endif
