/*
 * Experiment lists of DIALS (.expt, JSON): what dials.import and the programs after it know of
 * detector, beam, goniometer, scan and crystal.  The models of the first experiment are read.
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

#endif
