/* The pieces that make the reader of experiment lists. */
#ifndef BRAGG_IO_EXPT_MODELS_H
#define BRAGG_IO_EXPT_MODELS_H

#include "io/dials/expt.h"
#include "io/text/json_at.h"

/* How the goniometer stands, in the lab of DIALS: a crystal turned by phi is
 * setting * R(axis, phi) * fixed of what it was. */
struct expt_goniometer {
    bool present;
    double axis[3];               // unit vector
    double fixed[9], setting[9];  // rotations, row by row
};

/* An open list, and the experiment of it that the functions below read. */
struct expt_json {
    struct json_at root, chosen;
    size_t experiments;
};

/* Chooses the first.  To be followed by json_at_close(&l->root), also after an error. */
enum status expt_json_open(struct expt_json *l, const char *path, struct error *e);

/* See expt_read_scan and expt_read_crystal. */
enum status expt_json_scan(const struct expt_json *l, struct expt_scan *scan, struct error *e);
enum status expt_json_crystal(const struct expt_json *l, double reciprocal_A[9], struct error *e);

/* The scan of an experiment that need not have one: images 0 then.  STATUS_INPUT, too, for one that
 * rotates where there is no goniometer. */
enum status expt_json_rotation(const struct expt_json *l, const struct expt_goniometer *g,
                               struct expt_scan *scan, struct error *e);

/* Fills in the panels of *x, STATUS_INPUT for a detector that cannot be. */
enum status expt_detector(const struct json_at *detector, struct expt *x, struct error *e);

/* One axis or several; the identity for a member that is absent. */
enum status expt_goniometer(const struct json_at *experiment, const struct json_at *root,
                            struct expt_goniometer *g, struct error *e);

/* The model that the experiment names by its number in the list of `kind`; *out.value NULL where
 * there is none.  STATUS_INPUT for numbers beyond the list and for names of other files. */
enum status expt_model(const struct json_at *experiment, const struct json_at *root,
                       const char *kind, struct json_at *out, struct error *e);

/* A direction, made a unit vector: STATUS_INPUT unless it has a length from 1e-6 to 1e6. */
enum status expt_read_direction(const struct json_at *at, double v[3], struct error *e);
enum status expt_direction(const struct json_at *of, const char *key, double v[3], struct error *e);

/* From the lab of DIALS to ours. */
void expt_to_lab(const double v[3], double out[3]);

#endif
