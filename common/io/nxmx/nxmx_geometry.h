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

#include "base/error.h"
#include "io/crystfel/geom.h"

enum { NXMX_NOTES = 8, NXMX_NOTE = 320 };

/* A number that is not in the file is 0, if 0 is not a possible value. */
struct nxmx_geometry {
    size_t npanels;
    struct geom_panel *panels;  // owned; in the order of the data, in the beam's coordinate system
                                // of struct place: (-x, -y, z) of NeXus
    double thickness_m;         // of the sensor
    char material[MATERIAL_SIZE];  // "Si"; "": not in the file
    double saturation;             // largest value that is trusted
    double adc_offset, gain;       // of files of bragg-write: offset in ADU, ADU per photon; else 0
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

#endif
