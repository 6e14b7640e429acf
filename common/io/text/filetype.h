/*
 * Recognizes the type of a file from its first bytes.  If a user gives a file of the wrong type,
 * the error says what the file is and how it can be used.
 */
#ifndef BRAGG_IO_FILETYPE_H
#define BRAGG_IO_FILETYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* One line per type: symbol, name in errors, and a hint how to use such a file if another type is
 * expected.  Lists of numbers, pipelines and pixels can be expected, but are never recognized. */
#define FILETYPE_MAP(X)                                                              \
    X(OTHER, "", "")                                                                 \
    X(HKL, "lines of h k l F", "")                                                   \
    X(MATRIX, "a matrix of nine numbers", "")                                        \
    X(SOURCES, "lines of X Y Z weight wavelength", "")                               \
    X(STOL, "lines of two numbers", "")                                              \
    X(ORIENTATIONS, "lines of orientations", "")                                     \
    X(SPECTRA, "lines of an energy and weights", "")                                 \
    X(FPRIME, "lines of f' and f''", "")                                             \
    X(SITES, "lines of atoms", "")                                                   \
    X(SHADOWS, "lines of corners of shadows", "")                                    \
    X(RUNS, "lines of runs", "")                                                     \
    X(PIPELINE, "a pipeline", "")                                                    \
    X(PIXELS, "an image (SMV, CBF or float32 pixels)", "")                           \
    X(MTZ, "an MTZ file", "bragg-geometry --mtz reads it")                           \
    X(MODEL, "a model of atoms (PDB or mmCIF)",                                      \
      "bragg-geometry --model computes structure factors from it with gemmi sfcalc") \
    X(REFLN, "a list of reflections (mmCIF)",                                        \
      "gemmi cif2mtz converts it to an MTZ file for bragg-geometry --mtz")           \
    X(XDS, "a list of intensities (XDS)",                                            \
      "xdsconv converts it to amplitudes for bragg-geometry --mtz")                  \
    X(CRYSTFEL, "a list of intensities (CrystFEL)",                                  \
      "get_hkl and ctruncate convert it to amplitudes for bragg-geometry --mtz")     \
    X(STREAM, "a CrystFEL stream", "")                                               \
    X(REFL, "a table of reflections (DIALS)", "")                                    \
    X(GEOM, "a geometry file of CrystFEL", "bragg-geometry --geom reads it")         \
    X(EXPT, "an experiment list of DIALS",                                           \
      "bragg-geometry --expt reads its detector, --matrix=FILE.expt its crystal")    \
    X(PONI, "a geometry file of pyFAI", "bragg-geometry --detector reads it")        \
    X(HDF5, "an HDF5 file", "")                                                      \
    X(CBF, "an image (CBF)", "")                                                     \
    X(SMV, "an image (SMV)", "")                                                     \
    X(EDF, "an image (EDF)", "")                                                     \
    X(NPY, "a NumPy array", "array.astype('<f4').tofile(...) writes float32 pixels") \
    X(TIFF, "an image (TIFF)", "")                                                   \
    X(PNG, "an image (PNG)", "")                                                     \
    X(GZIP, "compressed", "gunzip unpacks it")                                       \
    X(ZIP, "compressed", "unzip unpacks it")                                         \
    X(XZ, "compressed", "unxz unpacks it")                                           \
    X(BZIP2, "compressed", "bunzip2 unpacks it")

enum filetype {
#define X(symbol, name, advice) FILETYPE_##symbol,
    FILETYPE_MAP(X)
#undef X
};

/* Returns the type of a file that begins with these bytes.  Only the first 16 KiB are used.
 * FILETYPE_OTHER: not recognized. */
enum filetype filetype_of(const char *bytes, size_t n);

/* Returns the type of an open file, which must be seekable.  Changes the file position. */
enum filetype filetype_of_file(FILE *in);

/* STATUS_INPUT, with "PATH: what it is, must be what is wanted; what to do": the type is recognized
 * and is not `wanted`. */
enum status filetype_check(const char *path, enum filetype type, enum filetype wanted,
                           struct error *e);

/* Recognizes the type of the file `path` and calls filetype_check.  Returns STATUS_OK if `path` is
 * not a regular file or cannot be opened: the reader of the file reports that. */
enum status filetype_check_file(const char *path, enum filetype wanted, struct error *e);

/* Returns true if `path` is a regular file that can be opened and begins with these n <= 64
 * bytes. */
bool filetype_begins(const char *path, const void *bytes, size_t n);

#endif
