/*
 * CrystFEL geometry files: where the panels of a detector stand.
 *
 * CrystFEL's lab has z along the beam, y up and x such that x, y, z are right-handed; it is
 * taken as the frame of the beam of struct place, whose x is the fast axis of the axis
 * convention.
 */
#ifndef BRAGG_IO_GEOM_H
#define BRAGG_IO_GEOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"

/* Bad regions of a file; bytes of the name of a panel, with the terminator. */
enum { GEOM_BAD_MAX = 100000, GEOM_NAME_SIZE = 64 };

/* A panel as a file has it, in the file's order; lengths in m in CrystFEL's lab, or as said. */
struct geom_panel {
    char name[GEOM_NAME_SIZE];  // "": it has none
    int64_t first[2];           // min_fs, min_ss: pixel (0,0) in the array of the data
    int64_t fast_pixels, slow_pixels;
    double pixel_m;
    double fast[3], slow[3];  // unit vectors
    double corner_m[3];       // outer corner of pixel (0,0)
    uint8_t *mask;            // owned; 0 in bad regions; NULL: there are none
    uint8_t *reasons;         // owned; enum mask_reason of each pixel; NULL: not known
};

struct geom {
    size_t npanels;
    struct geom_panel *panels;    // owned
    double wavelength_m;          // 0: not in the file
    char wavelength_unread[256];  // what is wrong with the line that should say it, as in errors;
                                  // "": nothing is
    double adu_per_photon;        // of panel 0; 0: not in the file
    double adu_per_eV;            // in its place; 0: not in the file
    bool gains_differ;            // other panels have others
    double max_adu;               // largest value that is not saturated, the least of all panels;
                                  // INFINITY: not in the file
    char unused[256];             // settings without effect here, parted by commas
    char hidden[160];             // "NAME and NAME": two panels, one behind the other; "": none
};

/* Reads `path`: panels with corner_x, corner_y, fs, ss, min_ and max_fs and ss, res, coffset;
 * clen or, if `distance_m` is not 0, that; photon_energy or wavelength where it is a number with
 * a unit, else `wavelength_unread` says why it is not taken; adu_per_photon or adu_per_eV;
 * max_adu; bad regions, in data or lab coordinates; mask_edge_pixels.  Rigid groups,
 * data locations and the peak list say nothing about the detector and are passed over;
 * what else has no effect is listed in `unused`.  A setting of a panel that stands there twice with
 * two values, and panels that share pixels of the data, are refused; panels that hide others are
 * listed in `hidden`.  Errors carry "FILE:LINE: ":
 * STATUS_INPUT, STATUS_FAILED when the file cannot be read.  geom_free frees *g, also
 * after an error. */
enum status geom_read(const char *path, double distance_m, struct geom *g, struct error *e);

/* The same for `length` bytes that stand in another file from line `line` on. */
enum status geom_parse(const char *path, long line, const char *bytes, size_t length,
                       double distance_m, struct geom *g, struct error *e);

void geom_free(struct geom *g);

/* ADU of a photon of `wavelength_m`: 1 where the file does not say it. */
double geom_gain(const struct geom *g, double wavelength_m);

/* How the frames that a geometry file is for are stored. */
struct geom_style {
    const char *data;  // key of the array; panels are slabs of it, one after the other along slow
    bool live;  // an array for each frame, with beam_energy in eV and detector_distance in mm; else
                // one for all, [frame, slow, fast], as in NXmx
    bool peaks;  // and a peak_list
};

/* Warns of what the beam of *x has and a geometry file `path` cannot say: several wavelengths, a
 * divergence, a harmonic. */
void geom_warn_of_unsaid(const char *path, const struct experiment *x);

/* Writes the geometry of *x: what is never computed as bad regions, max_adu, above which values
 * are saturated, one below the saturation.  `frame`: rows x, y, z of CrystFEL's lab in ours.
 * STATUS_INPUT for curved panels, for panels of unlike widths and for masks of more than
 * GEOM_BAD_MAX rectangles; write errors stay in the stream. */
enum status geom_write(FILE *out, const struct experiment *x, const struct geom_style *style,
                       const double frame[9], struct error *e);

#endif
