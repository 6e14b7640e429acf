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
#include "io/geom.h"

/* 0 for what is not said, where 0 is no value. */
struct nxmx_geometry {
    size_t npanels;
    struct geom_panel *panels;  // owned; by their places in the data, in the frame of the beam of
                                // struct place: (-x, -y, z) of NeXus
    double thickness_m;         // of the sensor
    char material[MATERIAL_SIZE];  // "Si"; "": not said
    double saturation;             // largest value that is trusted
    double wavelength_m;           // 0: not said by an NXbeam or NXmonochromator
    double other_wavelength_m;     // another field says this one; 0: all agree
    bool mask_unread;              // there is a mask that cannot be unpacked here
};

/* Whether a file is HDF5. */
bool nxmx_is_hdf5(const char *path);

/* Reads the first detector of the first entry.  STATUS_INPUT with "FILE: PATH: " for what is
 * missing or cannot be.  nxmx_geometry_free frees *g, also after an error. */
enum status nxmx_geometry_read(const char *path, struct nxmx_geometry *g, struct error *e);
void nxmx_geometry_free(struct nxmx_geometry *g);

#endif
