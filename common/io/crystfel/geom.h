/*
 * Reads and writes files of CrystFEL: geometry files, which hold the positions of the panels of a
 * detector, unit cell files, and lists of merged reflections.
 *
 * CrystFEL's laboratory frame has z along the beam, y up, and x such that x, y, z are right-handed.
 * It is identified with the beam's coordinate system of struct place, whose x is the fast axis of
 * the axis convention.
 */
#ifndef BRAGG_IO_GEOM_H
#define BRAGG_IO_GEOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"

/* Largest number of bad regions in a file; bytes of the name of a panel, with the terminator. */
enum { GEOM_BAD_MAX = 100000, GEOM_NAME_SIZE = 64 };

/* A panel of a file.  Panels keep the order of the file.  Lengths are in m, and vectors are in
 * CrystFEL's laboratory frame, unless the reader of another format says otherwise. */
struct geom_panel {
    char name[GEOM_NAME_SIZE];  // "": the panel has no name
    int64_t first[2];           // min_fs, min_ss: pixel (0,0) in the array of the data
    int64_t fast_pixels, slow_pixels;
    double pixel_m;
    double fast[3], slow[3];  // unit vectors
    double corner_m[3];       // outer corner of pixel (0,0)
    uint8_t *mask;            // owned; 0 in bad regions; NULL: no bad regions
    uint8_t *reasons;         // owned; enum mask_reason of each pixel; NULL: not known
};

/* A group of panels: a line rigid_group_NAME, rigid_group_collection_NAME or group_NAME. */
struct geom_group {
    char name[GEOM_NAME_SIZE];
    bool is_collection;  // its names are those of groups, each of which moves by itself
    char *names;         // owned; separated by commas, as in the file
};

struct geom {
    size_t npanels;
    struct geom_panel *panels;    // owned
    size_t ngroups, groups_room;  // in the order of the file
    struct geom_group *groups;    // owned
    double wavelength_m;          // 0: not in the file
    bool has_electrons;           // the file has electron_voltage
    char wavelength_unread[256];  // error text of the line that should give the wavelength;
                                  // "": the line is good or does not exist
    double adu_per_photon;        // of panel 0; 0: not in the file
    double adu_per_eV;            // alternative to adu_per_photon; 0: not in the file
    bool gains_differ;            // the panels have different gains
    double max_adu;               // largest value that is not saturated: the smallest max_adu of
                                  // all panels; INFINITY: not in the file
    char unused[256];             // settings without effect here, separated by commas
    char hidden[160];             // "NAME and NAME": two panels, one behind the other; "": none
};

/* Reads the geometry file `path` into *g:
 *   - panels with corner_x, corner_y, fs, ss, min_fs, max_fs, min_ss, max_ss, res and coffset;
 *   - clen, or `distance_m` instead if it is not 0;
 *   - photon_energy, electron_voltage or wavelength, if it is a number with a unit; otherwise
 * `wavelength_unread` says why it is not used;
 *   - adu_per_photon or adu_per_eV, and max_adu;
 *   - bad regions, in coordinates of the data or of the laboratory frame; mask_edge_pixels.
 *
 * Groups of panels are stored as they are, and only geom_group_members checks their names.  Data
 * locations and the peak list do not describe the detector and are skipped.  All
 * other settings without effect are listed in `unused`.  Panels that hide others are listed in
 * `hidden`.
 *
 * STATUS_INPUT, with "FILE:LINE: ": a setting that is wrong, a setting that a panel has twice with
 * different values, or panels that share pixels of the data.  STATUS_FAILED: the file cannot be
 * read.  geom_free frees *g, also after an error. */
enum status geom_read(const char *path, double distance_m, struct geom *g, struct error *e);

/* Parses a geometry that is part of another file: `length` bytes, from line `line` of `path`.
 * Otherwise like geom_read. */
enum status geom_parse(const char *path, long line, const char *bytes, size_t length,
                       double distance_m, struct geom *g, struct error *e);

void geom_free(struct geom *g);

/* Stores a group: the setting `key`, such as "rigid_group_q0", with its value.  Does nothing if the
 * name does not fit or if there are too many groups (geom_groups.c). */
void geom_group_add(struct geom *g, const char *key, const char *value);

/* Sets member[g->npanels] to the number of the member that each panel belongs to, or -1, and
 * *nmembers to the number of members: those of the collection `name`, or 1 for a group with this
 * name.  STATUS_INPUT: there is no such group, a name in it is not that of a panel or of an earlier
 * group, or two members share a panel.  `path` is the file, for messages. */
enum status geom_group_members(const struct geom *g, const char *path, const char *name,
                               int32_t *member, size_t *nmembers, struct error *e);

/* Returns the ADU per photon of `wavelength_m`; 1 if the file does not give it. */
double geom_gain(const struct geom *g, double wavelength_m);

/* Data sets of a frame that is a whole HDF5 file: the image, the energy in eV and the distance in
 * mm. */
#define GEOM_HDF5_IMAGE "/entry_1/data_1/data"
#define GEOM_HDF5_ENERGY "/LCLS/photon_energy_eV"
#define GEOM_HDF5_DISTANCE "/LCLS/detector_1/EncoderValue"

/* How the frames that belong to a geometry file are stored. */
struct geom_style {
    const char *data;  // key of the array; panels are slabs of it, one after the other along slow
    bool live;  // each frame has its own array, with beam_energy in eV and detector_distance in mm;
                // else all frames are in one array [frame, slow, fast], as in NXmx
    bool peaks;  // the file also names a peak_list
    bool hdf5;   // each frame is an HDF5 file with energy and distance, see GEOM_HDF5_ENERGY
    bool exact;  // the size of pixels and the photon energy have as many digits as they need to be
                 // read back unchanged
};

/* Warns about properties of the beam of *x that the geometry file `path` cannot hold: the
 * shape of a spectrum, a divergence, a harmonic. */
void geom_warn_of_unsaid(const char *path, const struct experiment *x);

/* Writes the geometry of *x.  The bandwidth is the rms width of the wavelengths of the beam,
 * relative to their mean, if there are several.  Pixels that are never computed are bad regions.
 * max_adu, above which CrystFEL treats values as saturated, is one below the saturation.  The rows
 * of `frame` are the axes x, y and z of CrystFEL, as vectors in the laboratory frame of *x.
 * STATUS_INPUT: panels are curved or have different widths, or the mask needs more than
 * GEOM_BAD_MAX rectangles.  The caller checks `out` for write errors. */
enum status geom_write(FILE *out, const struct experiment *x, const struct geom_style *style,
                       const double frame[9], struct error *e);

/* Sets *p to panel number `i` of *x as geom_read finds it in the file that geom_write writes with
 * the style `exact`: its position and its axes are rounded.  p->mask is NULL.  STATUS_FAILED:
 * memory runs out. */
enum status geom_panel_rounded(const struct experiment *x, size_t i, const double frame[9],
                               struct geom_panel *p, struct error *e);

/* --- cells and merged reflections (crystfel.c) --------------------------------------- */

/* Writes a unit cell file: a primitive cell, with the lattice type that its lengths and angles
 * have.  STATUS_INPUT: the cell is not known.  The caller checks `out` for write errors. */
enum status crystfel_write_cell(FILE *out, const struct crystal *c, struct error *e);

/* Reads the merged intensities of a reflection list, version 2.0, into *t, which is overwritten.
 * hkl_free frees *t.  The list is expanded by the point group that the file names.  If the group
 * has an inversion, an intensity belongs to both Friedel mates.  A reflection without an intensity
 * is NaN.  STATUS_INPUT, with "FILE:LINE: ": anything else. */
enum status crystfel_hkl_read(const char *path, struct hkl_table *t, struct error *e);

#endif
