/*
 * Reads experiment lists of DIALS (.expt, JSON): detector, beam, goniometer, scan and crystal, as
 * dials.import and later programs store them.  expt_read and similar functions read the models of
 * the first experiment.  expt_list_read reads all experiments, which are the results of an analysis
 * and the images that they belong to.
 *
 * Vectors are returned in the laboratory frame of the convention mosflm.  In DIALS' frame, z points
 * against the beam and x is along a horizontal spindle: DIALS' (x, y, z) is (-z, y, x) here.
 */
#ifndef BRAGG_IO_EXPT_H
#define BRAGG_IO_EXPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"

enum { EXPT_IMAGE_SIZE = 1024, EXPT_WORD = 24, EXPT_NAME = 128 };

/* The images of a scan and their rotation angles. */
struct expt_scan {
    int64_t first, images;        // number of the first image, and number of images
    double start_deg, width_deg;  // angle at the start of the first image, and width of an image
};

/* Detector and beam of an experiment.  A number that is not in the file is 0, if 0 is not a
 * possible value. */
struct expt {
    size_t nexperiments;  // of the file
    size_t npanels;
    struct geom_panel *panels;     // owned; in our laboratory frame, groups applied
    double thickness_m;            // sensor, the same for all panels; 0: none
    double absorption_1_m;         // inverse attenuation depth
    char material[MATERIAL_SIZE];  // of the sensor; "": not in the file
    double saturation;             // largest trusted value of all panels, photons
    char type[EXPT_WORD];          // of panel 0, such as SENSOR_PAD; "": not in the file
    char name[EXPT_NAME];          // identifier and name of panel 0
    bool scaled;                   // a panel has a gain other than 1, or a pedestal
    double wavelength_m;
    bool names_probe;  // the file names the particles of the beam:
    enum probe probe;
    double direction[3];     // unit vector of propagation
    double polarization[3];  // unit vector of the E field
    double kahn;             // polarization factor, 0 = unpolarized
    bool has_kahn;           // the file gives the polarization factor
    double flux_ph_s, exposure_s;
    double spindle[3];                 // unit vector of the scan axis during the scan
    bool has_spindle;                  // there is a goniometer
    char image[EXPT_IMAGE_SIZE];       // the first image that the first experiment names; "": none
    char last_image[EXPT_IMAGE_SIZE];  // the last image of the scan, which has a file for each
                                       // image; "": not known
    struct expt_scan scan;             // no scan: .images is 0
    int64_t image_pixels[2];  // fast, slow: size of the part of an image that the panels cover
    bool panels_placed;       // a panel does not begin at the first pixel of the image
    char unused[64];          // files of the image set that are not read, such as a mask; "": none
};

/* Reads detector, beam, spindle, the name of the first image and its exposure time.  The image
 * itself need not exist.  A scan is checked as by expt_read_scan, and must not rotate without a
 * goniometer.  STATUS_INPUT, with "FILE: WHERE: ": a value is missing, has another type or is not
 * possible.  STATUS_FAILED: the file cannot be read.  expt_free frees *x, also after an error. */
enum status expt_read(const char *path, struct expt *x, struct error *e);
void expt_free(struct expt *x);

/* Reads the scan.  STATUS_INPUT: there is no scan, its lists or the image set have another number
 * of images, or the images are not equally spaced in angle. */
enum status expt_read_scan(const char *path, struct expt_scan *scan, struct error *e);

/* Reads the crystal: rows a*, b*, c* in 1/A, with the scan axis of the goniometer at angle 0.
 * STATUS_INPUT: there is no crystal. */
enum status expt_read_crystal(const char *path, double reciprocal_A[9], struct error *e);

/* Returns true if the name of `path` ends in .expt, in upper or lower case. */
bool expt_is_named(const char *path);

/* --- all experiments of a list ------------------------------------------------------- */

enum { EXPT_TEXT_SIZE = 256 };

struct expt_experiment {
    char identifier[EXPT_TEXT_SIZE];
    int64_t imageset;           // number, -1: none
    char file[EXPT_TEXT_SIZE];  // of the first image, or the template of all; "": not in the file
    bool is_template;           // each # in `file` is replaced by a digit of the image number
    size_t nimages;             // of a still
    size_t nindices;            // number of images in a file that holds several images
    const int64_t *indices;     // positions of these images in the file; part of list->indices
    struct expt_scan scan;      // images 0: a still
    double spindle[3];          // unit vector, in our laboratory frame
    double wavelength_m;        // of the beam, 0: not in the file
    double shift_m[3];          // of the detector from that of the first experiment, likewise
    bool has_crystal;
    double reciprocal_A[9];  // rows a*, b*, c* in 1/A, with the scan axis at angle 0
    char centring;           // of the cell, from the Hall symbol: P, A, B, C, I, R, F; 0: not known
    size_t npoints;          // scan points of a crystal that varies during the scan; 0: constant
    const double *points;    // [npoints * 9] reciprocal_A at the edges of the images; part of
                             // list->points
};

struct expt_list {
    struct expt setup;  // of the first experiment; the other detectors may only be shifted
    size_t count;
    struct expt_experiment *items;  // owned
    size_t nindices, indices_room, npoints, points_room;
    int64_t *indices;  // owned
    double *points;    // owned
};

/* Reads all experiments.  STATUS_INPUT, with "FILE: WHERE: ": a value is not possible, or detectors
 * differ in more than their position.  STATUS_FAILED: the file cannot be read.  expt_list_free
 * frees *list, also after an error. */
enum status expt_list_read(const char *path, struct expt_list *list, struct error *e);
void expt_list_free(struct expt_list *list);

#endif
