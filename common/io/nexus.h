/*
 * What any NeXus file says, read from the HDF5 of whoever wrote it: groups by their class, numbers
 * with units, and where things stand (NXtransformations).  For the files of this folder.
 */
#ifndef BRAGG_IO_NEXUS_H
#define BRAGG_IO_NEXUS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { NEXUS_PATH = 512, NEXUS_TEXT = 128 };

/* An open file and its name for errors. */
struct nexus {
    hid_t file;
    const char *path;  // borrowed
};

/* A motion: x becomes turn x + shift_m. */
struct nexus_pose {
    double turn[9];  // row-major
    double shift_m[3];
};

/* *child: path of the next child, by name, of group `of` that has the class; *at is where to look,
 * from 0, and then behind it.  False where there is none among the first thousands. */
bool nexus_child(const struct nexus *n, const char *of, const char *nx_class, hsize_t *at,
                 char child[NEXUS_PATH]);

/* *path = parent/name; false where no such data set is, or the name is too long. */
bool nexus_has(const struct nexus *n, const char *parent, const char *name, char path[NEXUS_PATH]);

/* A text data set or, with `attribute`, an attribute of the object; false where there is none. */
bool nexus_text(const struct nexus *n, const char *path, const char *attribute,
                char text[NEXUS_TEXT]);

/* The first number of a data set in m, rad, or as it stands where it has no units.  STATUS_INPUT
 * where there is none, for unknown units, and for what is not finite. */
enum status nexus_real(const struct nexus *n, const char *path, double *value, struct error *e);

/* The same in whatever units it has. */
enum status nexus_number(const struct nexus *n, const char *path, double *value, struct error *e);

/* All whole numbers of a data set of `most` at most; *count says how many. */
enum status nexus_wholes(const struct nexus *n, const char *path, size_t most, int64_t *values,
                         size_t *count, struct error *e);

/* The unit vector of a transformation, and the length of what stands there, which should be 1 and
 * is a factor of translations.  STATUS_INPUT where it has none. */
enum status nexus_vector(const struct nexus *n, const char *path, double v[3], double *length,
                         struct error *e);

/* The pose that a chain of depends_on makes, from the transformation `path` to the lab.
 * STATUS_INPUT for chains that lead nowhere, or to themselves. */
enum status nexus_pose(const struct nexus *n, const char *path, struct nexus_pose *pose,
                       struct error *e);

/* The transformation that the one at `path` depends on; false at the end of a chain. */
bool nexus_next(const struct nexus *n, const char *path, char next[NEXUS_PATH]);

/* STATUS_INPUT with "FILE: PATH: " and the text. */
enum status nexus_error(const struct nexus *n, const char *path, struct error *e,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
