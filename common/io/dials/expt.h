/*
 * Experiment lists of DIALS (.expt, JSON): what dials.import and the programs after it know of
 * detector, beam, goniometer, scan and crystal.  Either the models of the first experiment are
 * read, or all experiments: what an analysis found in which images (expt_list).
 *
 * Vectors come in the lab of the convention mosflm.  DIALS has its z against the beam and its
 * x along a horizontal spindle: its (x, y, z) is (-z, y, x) here.
 */
#ifndef BRAGG_IO_EXPT_H
#define BRAGG_IO_EXPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"

enum { EXPT_IMAGE_SIZE = 1024 };

/* What detector and beam are; 0 for what is not said, where 0 is no value. */
struct expt {
    size_t nexperiments;  // of the file
    size_t npanels;
    struct geom_panel *panels;     // owned; in our lab, groups applied
    double thickness_m;            // sensor, the same for all panels; 0: none
    double absorption_1_m;         // inverse attenuation depth
    char material[MATERIAL_SIZE];  // of the sensor; "": not said
    double saturation;             // largest trusted value of all panels, photons
    double wavelength_m;
    double direction[3];     // unit vector of propagation
    double polarization[3];  // unit vector of the E field
    double kahn;             // polarization factor, 0 = unpolarized
    bool has_kahn;           // it is said
    double flux_ph_s, exposure_s;
    double spindle[3];            // unit vector, as it is at the time of the scan
    bool has_spindle;             // there is a goniometer
    char image[EXPT_IMAGE_SIZE];  // the first image that the first experiment names; "": none
    int64_t image_pixels[2];      // fast, slow: what the panels cover of it
    bool panels_placed;           // ... where one panel or more is not at its first pixel
    char unused[64];  // files of its image set, such as a mask, that are not read; "": none
};

/* Reads detector, beam, spindle, the name of the first image and its exposure; the image itself is
 * neither read nor looked for.  The scan, if there is one, is checked as by expt_read_scan, and
 * must not rotate without a goniometer.  STATUS_INPUT with "FILE:
 * WHERE: " for what is missing, of another type or impossible; STATUS_FAILED when the file cannot
 * be read.  expt_free frees *x, also after an error. */
enum status expt_read(const char *path, struct expt *x, struct error *e);
void expt_free(struct expt *x);

/* Images of a scan, in degrees. */
struct expt_scan {
    int64_t first, images;  // number of the first one, and how many
    double start_deg, width_deg;
};

/* Reads the scan.  STATUS_INPUT where there is none, where its lists or the set of images have
 * another number of images, and where images are not evenly apart in angle. */
enum status expt_read_scan(const char *path, struct expt_scan *scan, struct error *e);

/* Reads the crystal, STATUS_INPUT where there is none: rows a*, b*, c* in 1/A, as they lie when
 * the goniometer's scan axis is at 0. */
enum status expt_read_crystal(const char *path, double reciprocal_A[9], struct error *e);

/* Whether `path` is called like an experiment list, .expt in any capitals. */
bool expt_is_named(const char *path);

/* --- all experiments of a list ------------------------------------------------------- */

enum { EXPT_TEXT_SIZE = 256 };

struct expt_experiment {
    char identifier[EXPT_TEXT_SIZE];
    int64_t imageset;           // number, -1: none
    char file[EXPT_TEXT_SIZE];  // of its first image, or the template of all; "": not said
    bool is_template;           // in `file` a number stands for #
    size_t nimages;             // of a still
    size_t nindices;            // images in a file that holds several ...
    const int64_t *indices;     // ... and their places in it; of the list
    struct expt_scan scan;      // images 0: a still
    double spindle[3];          // unit vector, in our lab
    double wavelength_m;        // of its beam, 0: not said
    double shift_m[3];          // how far its detector stands from that of the first, likewise
    bool has_crystal;
    double reciprocal_A[9];  // rows a*, b*, c* in 1/A, where the scan axis is at 0
    char centring;         // of its cell, as its Hall symbol says: P, A, B, C, I, R, F; 0: not said
    size_t npoints;        // of a crystal that changes, 0: it does not
    const double *points;  // [npoints * 9] the same at the edges of the images; of the list
};

struct expt_list {
    struct expt setup;  // of the first experiment; detectors of all differ by where they stand
    size_t count;
    struct expt_experiment *items;  // owned
    size_t nindices, indices_room, npoints, points_room;
    int64_t *indices;  // owned
    double *points;    // owned
};

/* Reads all experiments.  STATUS_INPUT with "FILE: WHERE: " for what cannot be, and for detectors
 * that differ; STATUS_FAILED when the file cannot be read.  expt_list_free frees *list, also after
 * an error. */
enum status expt_list_read(const char *path, struct expt_list *list, struct error *e);
void expt_list_free(struct expt_list *list);

#endif
