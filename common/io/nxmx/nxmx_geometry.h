/*
 * Reads the detector of an NXmx file of any program: positions of the modules from their chains of
 * depends_on, pixels, mask, sensor, and the wavelength.
 *
 * In NeXus' coordinate system z is along the beam and y is up.  Seen along the beam, x points to
 * the left.
 */
#ifndef BRAGG_IO_NXMX_GEOMETRY_H
#define BRAGG_IO_NXMX_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"

enum { NXMX_NOTES = 8, NXMX_NOTE = 320, NXMX_NAME = 128 };

/* A number that is not in the file is 0, if 0 is not a possible value. */
struct nxmx_geometry {
    size_t npanels;
    struct geom_panel *panels;  // owned; in the order of the data, in the beam's coordinate system
                                // of struct place: (-x, -y, z) of NeXus
    double thickness_m;         // of the sensor
    char material[MATERIAL_SIZE];  // "Si"; "": not in the file
    char name[NXMX_NAME];          // description of the detector; "": not in the file
    double saturation;             // largest value that is trusted
    double adc_offset, gain;       // of files of bragg-write: offset in ADU, ADU per photon; else 0
    bool names_probe;              // the file names the particles of the beam:
    enum probe probe;              // those of the source
    double wavelength_m;           // of the first frame; 0: not in an NXbeam or NXmonochromator
    double other_wavelength_m;     // contradicting value of another field; 0: all fields agree
    char wavelengths[NXMX_NOTE];   // why the file does not have a single wavelength; "": it has
    bool mask_unread;              // there is a mask, but it cannot be unpacked or is missing
    size_t nnotes;
    char notes[NXMX_NOTES][NXMX_NOTE];  // warnings: choices that the reader had to make
};

/* Returns true if a file is HDF5. */
bool nxmx_is_hdf5(const char *path);

/* Reads the first detector that has modules.  The default entry is searched first.  STATUS_INPUT,
 * with "FILE: PATH: ": something is missing or not possible.  nxmx_geometry_free frees *g, also
 * after an error. */
enum status nxmx_geometry_read(const char *path, struct nxmx_geometry *g, struct error *e);
void nxmx_geometry_free(struct nxmx_geometry *g);

/* --- inside: masks, and the shape of images (nxmx_mask.c) -------------------------------- */

struct nexus;

enum { NXMX_RANK = 3 };

/* Part of an array that a module has: its first item and size, slowest first. */
struct nxmx_slab {
    size_t rank;
    int64_t origin[NXMX_RANK], size[NXMX_RANK];
};

/* Reads the mask of a module from the data set at `path`.  p->mask gets a byte for each pixel,
 * which is 0 if the number in the file is not 0; NULL if no pixel is masked.  p->reasons gets the
 * reasons; NULL if the file gives no reason for any pixel.  The caller frees both.  *unread: the
 * compression of the data set is not supported.  STATUS_INPUT: an array of another shape. */
enum status nxmx_mask_read(const struct nexus *n, const char *path, const struct nxmx_slab *slab,
                           struct geom_panel *p, bool *unread, struct error *e);

/* Size of the array that the modules cover, slowest axis first. */
struct nxmx_shape {
    size_t rank;
    int64_t size[NXMX_RANK];
    bool may_swap;  // the last two axes may be in the other order
    bool swapped;   // they are, according to the images, the mask or the detector
};

/* Compares *shape with the images of the entry, the mask and the detector, and sets
 * shape->swapped.  STATUS_INPUT: all images, or the mask, have another size.  Images in files that
 * are missing are ignored. */
enum status nxmx_shape_compare(const struct nexus *n, const char *entry, const char *detector,
                               struct nxmx_shape *shape, struct error *e);

#endif
