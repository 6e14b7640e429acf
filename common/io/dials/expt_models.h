/*
 * The models of an experiment list of DIALS: values of its JSON that know where they stand, so that
 * what is wrong with one can be said in a line ("FILE: detector[0].panels[3].origin: ..."), and of
 * these the goniometer and the detector.
 */
#ifndef BRAGG_IO_EXPT_MODELS_H
#define BRAGG_IO_EXPT_MODELS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/dials/expt.h"

/* --- JSON ---------------------------------------------------------------------------- */

enum { JSON_AT_PATH = 200 };

/* A value of a file, and where it stands. */
struct json_at {
    const char *file;          // borrowed
    json_t *value;             // borrowed, but that of json_at_open
    char where[JSON_AT_PATH];  // "detector[0].panels", "" for all of the file; may be cut off
};

/* *root of the file `path` (kept, not copied), an object.  STATUS_FAILED when it cannot be read,
 * STATUS_INPUT with "FILE:LINE: " when it is no JSON.  Always followed by json_at_close. */
enum status json_at_open(struct json_at *root, const char *path, struct error *e);
void json_at_close(struct json_at *root);

/* In what follows *out is another one than *of.  A member of an object that must be there
 * (STATUS_INPUT), or may be: false where it is absent or null, or *of no object. */
enum status json_at_member(const struct json_at *of, const char *key, struct json_at *out,
                           struct error *e);
bool json_at_optional(const struct json_at *of, const char *key, struct json_at *out);

/* *count of a list; STATUS_INPUT for anything else, and for less than `least` items.  Item i,
 * which must be there. */
enum status json_at_list(const struct json_at *at, size_t least, size_t *count, struct error *e);
void json_at_item(const struct json_at *of, size_t i, struct json_at *out);

/* A number within [min, max], a whole one, or a list of exactly `count`; STATUS_INPUT for
 * anything else.  Numbers in JSON are finite. */
enum status json_at_real(const struct json_at *at, double min, double max, double *out,
                         struct error *e);
enum status json_at_whole(const struct json_at *at, int64_t min, int64_t max, int64_t *out,
                          struct error *e);
enum status json_at_reals(const struct json_at *at, size_t count, double min, double max,
                          double *out, struct error *e);

/* The same for a member of *of that must be there. */
enum status json_at_member_real(const struct json_at *of, const char *key, double min, double max,
                                double *out, struct error *e);
enum status json_at_member_reals(const struct json_at *of, const char *key, size_t count,
                                 double min, double max, double *out, struct error *e);

/* STATUS_INPUT with "FILE: WHERE: " and the formatted text. */
enum status json_at_error(const struct json_at *at, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- models -------------------------------------------------------------------------- */

/* How the goniometer stands, in the lab of DIALS: a crystal turned by phi is
 * setting * R(axis, phi) * fixed of what it was. */
struct expt_goniometer {
    bool present;
    double axis[3];               // unit vector
    double fixed[9], setting[9];  // rotations, row by row
};

/* Fills in the panels of *x, STATUS_INPUT for a detector that cannot be. */
enum status expt_detector(const struct json_at *detector, struct expt *x, struct error *e);

/* Reads the goniometer, of one axis or several; the identity for a member that is absent. */
enum status expt_goniometer(const struct json_at *experiment, const struct json_at *root,
                            struct expt_goniometer *g, struct error *e);

/* Finds the model that the experiment names by its number in the list of `kind`; *out.value NULL
 * where there is none.  STATUS_INPUT for numbers beyond the list and for names of other files. */
enum status expt_model(const struct json_at *experiment, const struct json_at *root,
                       const char *kind, struct json_at *out, struct error *e);

/* A member that is a direction, made a unit vector: STATUS_INPUT unless it has a length from 1e-6
 * to 1e6. */
enum status expt_direction(const struct json_at *of, const char *key, double v[3], struct error *e);

/* From the lab of DIALS to ours. */
void expt_to_lab(const double v[3], double out[3]);

#endif
