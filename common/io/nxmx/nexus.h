/*
 * What any NeXus file says, read from the HDF5 of whoever wrote it: groups by their class, numbers
 * with units, and where things stand (NXtransformations).  For the files of this folder.
 */
#ifndef BRAGG_IO_NEXUS_H
#define BRAGG_IO_NEXUS_H

#include <stdbool.h>
#include <stddef.h>

#include "io/hdf5/hdf5_read.h"

enum { NEXUS_PATH = 512, NEXUS_TEXT = 512 };

/* An open file and its name for errors. */
struct nexus {
    hid_t file;
    const char *path;  // borrowed
};

/* What a number is, and so its units: m, rad, eV, or none. */
enum nexus_kind { NEXUS_LENGTH, NEXUS_ANGLE, NEXUS_ENERGY, NEXUS_COUNT };

/* A motion: x becomes turn x + shift_m. */
struct nexus_pose {
    double turn[9];  // row-major
    double shift_m[3];
};

/* *child: path of the next child, by name, of group `of` that has the class (NULL: any), by
 * whatever links; *at is where to look, from 0, and then behind it.  False where there is none
 * among the first thousands. */
bool nexus_child(const struct nexus *n, const char *of, const char *nx_class, hsize_t *at,
                 char child[NEXUS_PATH]);

/* The first child of group `of` whose name contains `word`, that is a link and leads nowhere:
 * says which in `reason`.  False where all lead somewhere. */
bool nexus_broken(const struct nexus *n, const char *of, const char *word,
                  char reason[HDF5_REASON]);

/* *path = parent/name; false where no such data set is, or the name is too long. */
bool nexus_has(const struct nexus *n, const char *parent, const char *name, char path[NEXUS_PATH]);

/* Whether a name is there, but leads to nothing that can be read: STATUS_INPUT says why. */
enum status nexus_check(const struct nexus *n, const char *path, struct error *e);

/* STATUS_INPUT: the group has no such data set, or a link in its place that leads nowhere. */
enum status nexus_lacks(const struct nexus *n, const char *group, const char *name,
                        struct error *e);

/* A text data set or, with `attribute`, an attribute of the object, without blanks at its end;
 * false where there is none. */
bool nexus_text(const struct nexus *n, const char *path, const char *attribute,
                char text[NEXUS_TEXT]);

/* What the unit in an attribute (`units` or the like) of the object at a path is in m, rad or eV:
 * all readers of HDF5 take units from here, and so know the same ones.  STATUS_INPUT for units that
 * are missing, unknown, or of another kind. */
enum status nexus_unit(const struct nexus *n, const char *path, const char *attribute,
                       enum nexus_kind kind, double *factor, struct error *e);

/* The number of a data set in m, rad or eV, or as it stands.  A data set of several, one for each
 * frame, must hold one number again and again.  STATUS_INPUT where there is none, for units that
 * are unknown or missing, and for what is not finite. */
enum status nexus_real(const struct nexus *n, const char *path, enum nexus_kind kind, double *value,
                       struct error *e);

/* The first, the least and the largest number of a data set in the same way. */
struct nexus_range {
    size_t count;
    double first, least, most;
};
enum status nexus_reals(const struct nexus *n, const char *path, enum nexus_kind kind,
                        struct nexus_range *range, struct error *e);

/* All whole numbers of a data set of `most` at most; *count says how many. */
enum status nexus_wholes(const struct nexus *n, const char *path, size_t most, int64_t *values,
                         size_t *count, struct error *e);

/* The unit vector of a transformation, and the length of what stands there, which should be 1 and
 * is a factor of translations.  STATUS_INPUT where it has none. */
enum status nexus_vector(const struct nexus *n, const char *path, double v[3], double *length,
                         struct error *e);

/* The pose that a chain of depends_on makes, from the transformation `path` to the lab; with
 * `first`, values of the first frame where they differ from frame to frame.
 * STATUS_INPUT for chains that lead nowhere, or to themselves. */
enum status nexus_pose(const struct nexus *n, const char *path, bool first, struct nexus_pose *pose,
                       struct error *e);

/* The transformation that the one at `path` depends on; "" at the end of a chain.  STATUS_INPUT
 * where it leads nowhere. */
enum status nexus_next(const struct nexus *n, const char *path, char next[NEXUS_PATH],
                       struct error *e);

/* The path that a name means which stands in an object of group `folder`; "" where nothing is
 * there, or it is too long. */
void nexus_resolve(const struct nexus *n, const char *folder, const char *name,
                   char path[NEXUS_PATH]);

/* STATUS_INPUT with "FILE: PATH: " and the text. */
enum status nexus_error(const struct nexus *n, const char *path, struct error *e,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
