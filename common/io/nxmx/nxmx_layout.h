/* The parts of NXmx files that are the same with and without images; see nxmx.h. */
#ifndef BRAGG_IO_NXMX_LAYOUT_H
#define BRAGG_IO_NXMX_LAYOUT_H

#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx.h"

#define NXMX_INSTRUMENT "/entry/instrument"
#define NXMX_DATA "/entry/data/data"
#define NXMX_TRUTH "/entry/braggpipe"
#define NXMX_SPECTRUM NXMX_INSTRUMENT "/beam/incident_wavelength_spectrum"

/* Everything but /entry/data/data. */
void nxmx_layout(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_rows *rows);

/* The group of the detector; nxmx_layout's. */
void nxmx_put_detector(struct hdf5_file *f, const struct nxmx_kind *kind,
                       const struct nxmx_rows *rows);

/* Makes a data set an axis along or about v; `on` is the one that it depends on. */
void nxmx_note_axis(struct hdf5_file *f, const char *path, const char *type, const double v[3],
                    const char *units, const char *on);

/* Slow and fast pixels of an image. */
void nxmx_image_size(const struct experiment *x, hsize_t size[2]);

/* A type of HDF5 that need not be closed. */
hid_t nxmx_pixel_type(enum pixel_type type);

/* The tables: written, with shifts where the detector `moves`, and read back (false when that
 * cannot be). */
void nxmx_put_rows(struct hdf5_file *f, const struct nxmx_rows *rows, bool moves);
bool nxmx_get_rows(struct hdf5_file *f, struct nxmx_rows *rows);

/* Reads the spectra of frames that have their own into rows that were read from the same file;
 * false when that cannot be. */
bool nxmx_get_spectra(struct hdf5_file *f, struct nxmx_rows *rows);

/* Reads the packed image at a place; false when that cannot be. */
bool nxmx_get_chunk(hid_t data, size_t place, struct nxmx_chunk *chunk);

#endif
