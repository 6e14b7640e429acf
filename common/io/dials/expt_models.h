/*
 * Reads parts of an experiment list of DIALS: the models of goniometer and detector, and what the
 * readers of one experiment and of all experiments share.
 */
#ifndef BRAGG_IO_EXPT_MODELS_H
#define BRAGG_IO_EXPT_MODELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/dials/expt.h"
#include "io/dials/json_at.h"

/* --- models -------------------------------------------------------------------------- */

/* The goniometer, in the laboratory frame of DIALS.  It turns a crystal by the rotation
 * setting * R(axis, phi) * fixed. */
struct expt_goniometer {
    bool present;
    double axis[3];               // unit vector
    double fixed[9], setting[9];  // rotations, row by row
};

/* Reads the panels of *x.  STATUS_INPUT: the detector is not possible. */
enum status expt_detector(const struct json_at *detector, struct expt *x, struct error *e);

/* Reads the goniometer, with one axis or several.  A missing rotation is the identity. */
enum status expt_goniometer(const struct json_at *experiment, const struct json_at *root,
                            struct expt_goniometer *g, struct error *e);

/* Finds the model of an experiment.  The experiment gives the index of the model in the list
 * `kind`.  out->value is NULL if the experiment has no such model.  STATUS_INPUT: the index is
 * beyond the list, or the experiment names another file. */
enum status expt_model(const struct json_at *experiment, const struct json_at *root,
                       const char *kind, struct json_at *out, struct error *e);

/* Reads a member that is a direction, and normalises it.  STATUS_INPUT: its length is not from 1e-6
 * to 1e6. */
enum status expt_direction(const struct json_at *of, const char *key, double v[3], struct error *e);

/* Transforms a vector from the laboratory frame of DIALS to ours. */
void expt_to_lab(const double v[3], double out[3]);

/* --- an experiment of a list (expt.c) ------------------------------------------------------- */

/* An open experiment list, and the experiment in it that the following functions read. */
struct expt_json {
    struct json_at root, chosen;
    size_t experiments;  // number of experiments in the list
};

/* Opens a list and chooses its first experiment.  The caller calls json_at_close(&l->root), also
 * after an error.  Fails as json_at_open does.  STATUS_INPUT: not a list of experiments, or empty.
 */
enum status expt_open(struct expt_json *l, const char *path, struct error *e);

/* Reads the scan of the chosen experiment.  If the experiment has no scan, scan->images is 0.
 * STATUS_INPUT: as in expt_read_scan, or the scan rotates and the experiment has no goniometer. */
enum status expt_rotating_scan(const struct expt_json *l, const struct expt_goniometer *g,
                               struct expt_scan *scan, struct error *e);

/* Reads the crystal of the chosen experiment: rows a*, b*, c* in 1/A in our laboratory frame, with
 * the scan axis at angle 0.  STATUS_INPUT: there is no crystal, or its axes are in one plane. */
enum status expt_crystal(const struct expt_json *l, double reciprocal_A[9], struct error *e);

#endif
