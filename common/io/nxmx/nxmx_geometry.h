/*
 * Where the detector of an NXmx file stands, whoever wrote it: its modules by their chains of
 * depends_on, pixels, mask, sensor, and the wavelength.
 *
 * NeXus' lab has z along the beam and y up; seen along the beam its x goes to the left.
 */
#ifndef BRAGG_IO_NXMX_GEOMETRY_H
#define BRAGG_IO_NXMX_GEOMETRY_H

#include <stdbool.h>

#include "base/error.h"
#include "io/crystfel/geom.h"

enum { NXMX_NOTES = 8, NXMX_NOTE = 320 };

/* 0 for what is not said, where 0 is no value. */
struct nxmx_geometry {
    size_t npanels;
    struct geom_panel *panels;  // owned; by their places in the data, in the frame of the beam of
                                // struct place: (-x, -y, z) of NeXus
    double thickness_m;         // of the sensor
    char material[MATERIAL_SIZE];  // "Si"; "": not said
    double saturation;             // largest value that is trusted
    double wavelength_m;           // of the first frame; 0: no NXbeam or NXmonochromator says it
    double other_wavelength_m;     // another field says this one; 0: all agree
    char wavelengths[NXMX_NOTE];   // "", or why one wavelength is not all that the file says
    bool mask_unread;              // there is a mask that cannot be unpacked, or is not here
    size_t nnotes;
    char notes[NXMX_NOTES][NXMX_NOTE];  // what had to be chosen, a warning each
};

/* Whether a file is HDF5. */
bool nxmx_is_hdf5(const char *path);

/* Reads the first detector with modules, of the default entry if that has one.  STATUS_INPUT with
 * "FILE: PATH: " for what is missing or cannot be.  nxmx_geometry_free frees *g, also after an
 * error. */
enum status nxmx_geometry_read(const char *path, struct nxmx_geometry *g, struct error *e);
void nxmx_geometry_free(struct nxmx_geometry *g);

#endif
