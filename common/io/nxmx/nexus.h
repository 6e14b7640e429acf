/*
 * Reads NeXus files of any program: groups by their class, numbers with units, and positions as
 * chains of transformations (NXtransformations).
 */
#ifndef BRAGG_IO_NEXUS_H
#define BRAGG_IO_NEXUS_H

#include <stdbool.h>
#include <stddef.h>

#include "io/hdf5/hdf5_file.h"

enum { NEXUS_PATH = 512, NEXUS_TEXT = 512 };

/* An open file and its name for errors. */
struct nexus {
    hid_t file;
    const char *path;  // borrowed
};

/* The quantity of a number, which decides its unit after reading: m, rad, eV, or none. */
enum nexus_kind { NEXUS_LENGTH, NEXUS_ANGLE, NEXUS_ENERGY, NEXUS_COUNT };

/* A motion: x becomes turn x + shift_m. */
struct nexus_pose {
    double turn[9];  // row-major
    double shift_m[3];
};

/* Finds the next child of group `of` that has the class (NULL: any), in the order of names.
 * Follows all links.  `child` gets the path.  *at is the place from which to search, at first 0,
 * and is moved after the child.  Returns false if there is no further child.  Only the first 5000
 * children are searched. */
bool nexus_child(const struct nexus *n, const char *of, const char *nx_class, hsize_t *at,
                 char child[NEXUS_PATH]);

/* Finds the first child of group `of` that is a broken link and whose name contains `word`.
 * `reason` gets the name of the link.  Returns false if there is no such link. */
bool nexus_broken(const struct nexus *n, const char *of, const char *word,
                  char reason[HDF5_REASON]);

/* Sets `path` to parent/name.  Returns false if there is no such data set, or the name is too long.
 */
bool nexus_has(const struct nexus *n, const char *parent, const char *name, char path[NEXUS_PATH]);

/* STATUS_INPUT: the name exists, but cannot be read; *e says why. */
enum status nexus_check(const struct nexus *n, const char *path, struct error *e);

/* Sets *e to the error that the group has no such data set, or only a broken link of that name.
 * Returns STATUS_INPUT. */
enum status nexus_lacks(const struct nexus *n, const char *group, const char *name,
                        struct error *e);

/* Reads a text data set or, with `attribute`, an attribute of the object, without trailing blanks.
 * Returns false if there is none. */
bool nexus_text(const struct nexus *n, const char *path, const char *attribute,
                char text[NEXUS_TEXT]);

/* Sets *factor to the size, in m, rad or eV, of the unit that an attribute (such as `units`) of the
 * object at `path` names.  All readers of HDF5 use this function and therefore support the same
 * units.  STATUS_INPUT: the unit is missing, unknown, or of another kind. */
enum status nexus_unit(const struct nexus *n, const char *path, const char *attribute,
                       enum nexus_kind kind, double *factor, struct error *e);

/* Reads the number of a data set, in m, rad or eV; NEXUS_COUNT is not converted.  If the data set
 * has a number for each frame, all numbers must be equal.  STATUS_INPUT: there is no number, it is
 * not finite, or its unit is unknown or missing. */
enum status nexus_real(const struct nexus *n, const char *path, enum nexus_kind kind, double *value,
                       struct error *e);

/* The first, the smallest and the largest number of a data set, with the units of nexus_real. */
struct nexus_range {
    size_t count;
    double first, least, most;
};
enum status nexus_reals(const struct nexus *n, const char *path, enum nexus_kind kind,
                        struct nexus_range *range, struct error *e);

/* Reads the whole numbers of a data set, which has at most `most`.  *count gets their number. */
enum status nexus_wholes(const struct nexus *n, const char *path, size_t most, int64_t *values,
                         size_t *count, struct error *e);

/* Reads the direction of a transformation as a unit vector v.  *length gets the length of the
 * vector in the file.  It should be 1; otherwise it is a factor on translations.  STATUS_INPUT: the
 * transformation has no direction. */
enum status nexus_vector(const struct nexus *n, const char *path, double v[3], double *length,
                         struct error *e);

/* Computes the pose of a chain of depends_on, from the transformation `path` to the laboratory
 * frame.  `first`: if values differ from frame to frame, use those of the first frame.
 * STATUS_INPUT: the chain is broken or has a loop. */
enum status nexus_pose(const struct nexus *n, const char *path, bool first, struct nexus_pose *pose,
                       struct error *e);

/* Sets `next` to the transformation on which the one at `path` depends; "" at the end of a chain.
 * STATUS_INPUT: there is no such transformation. */
enum status nexus_next(const struct nexus *n, const char *path, char next[NEXUS_PATH],
                       struct error *e);

/* Resolves a name that is stored in an object of group `folder`.  `path` gets the absolute path; ""
 * if there is no such object, or if the path is too long. */
void nexus_resolve(const struct nexus *n, const char *folder, const char *name,
                   char path[NEXUS_PATH]);

/* Sets *e to "FILE: PATH: " and the formatted text.  Returns STATUS_INPUT. */
enum status nexus_error(const struct nexus *n, const char *path, struct error *e,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
