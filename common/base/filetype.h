/*
 * Recognizes the type of a file from its first bytes.  If a user gives a file of the wrong type,
 * the error says what the file is, what was expected, and which command reads the file.
 */
#ifndef BRAGG_BASE_FILETYPE_H
#define BRAGG_BASE_FILETYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* One line per type: its symbol, and its name in messages, after "is" or "expected".  The types
 * before PIPELINE can be expected, but are never recognized. */
#define FILETYPE_MAP(X)                                                                      \
    X(OTHER, "a text file of another kind")                                                  \
    X(HKL, "lines of h k l F")                                                               \
    X(MATRIX, "a matrix of nine numbers")                                                    \
    X(SOURCES, "lines of X Y Z weight wavelength")                                           \
    X(STOL, "lines of two numbers")                                                          \
    X(RINGS, "lines of d and the sum of F squared")                                          \
    X(ORIENTATIONS, "lines of orientations")                                                 \
    X(HOLDER, "lines of x and y in um")                                                      \
    X(SHIFTS, "lines of displacements in mm")                                                \
    X(SPECTRA, "lines of an energy and weights, or HDF5 (/energies and /weights)")           \
    X(FPRIME, "lines of element, energy, f' and f''")                                        \
    X(SITES, "lines of atoms")                                                               \
    X(SHADOWS, "lines of corners of shadows")                                                \
    X(RUNS, "lines of runs")                                                                 \
    X(VARY, "a table of quantities of frames")                                               \
    X(PIXELS, "an image (SMV, CBF, TIFF, EDF or float32 pixels)")                            \
    X(DETECTOR, "a geometry file of pyFAI (.poni), an NXmx file or an image (CBF, SMV)")     \
    X(FRAMES, "a recording of bragg-tap, or images of bragg-write (SMV, CBF, NXmx)")         \
    X(INDEXED, "an experiment list or a table of DIALS, or a stream of CrystFEL")            \
    X(RESULTS, "results: a stream of CrystFEL, a table of DIALS, MTZ or peaks")              \
    X(GROUND_TRUTH, "ground truth: an NXmx file of bragg-write, a recording, or a table or " \
                    "stream of reflections or lattices")                                     \
    X(PEAKS, "a table of peaks")                                                             \
    X(SENT, "a file of bragg-serve --sent=FILE")                                             \
    X(PIPELINE, "a pipeline file")                                                           \
    X(RECORDING, "a recording of bragg-tap")                                                 \
    X(TRUTH, "a table of ground truth")                                                      \
    X(MTZ, "an MTZ file")                                                                    \
    X(MODEL, "a model of atoms (PDB or mmCIF)")                                              \
    X(REFLN, "a list of reflections (mmCIF)")                                                \
    X(XDS, "a list of intensities (XDS)")                                                    \
    X(CRYSTFEL, "a list of intensities (CrystFEL)")                                          \
    X(STREAM, "a CrystFEL stream")                                                           \
    X(CELL, "a unit cell file of CrystFEL")                                                  \
    X(REFL, "a table of reflections (DIALS)")                                                \
    X(GEOM, "a geometry file of CrystFEL")                                                   \
    X(EXPT, "an experiment list of DIALS")                                                   \
    X(PONI, "a geometry file of pyFAI")                                                      \
    X(HDF5, "an HDF5 file")                                                                  \
    X(CBF, "an image (CBF)")                                                                 \
    X(SMV, "an image (SMV)")                                                                 \
    X(EDF, "an image (EDF)")                                                                 \
    X(CBOR, "a message of Stream V2 of DECTRIS")                                             \
    X(NPY, "a NumPy array")                                                                  \
    X(TIFF, "an image (TIFF)")                                                               \
    X(PNG, "a picture (PNG)")                                                                \
    X(GZIP, "compressed")                                                                    \
    X(ZIP, "compressed")                                                                     \
    X(XZ, "compressed")                                                                      \
    X(BZIP2, "compressed")

enum filetype {
#define X(symbol, name) FILETYPE_##symbol,
    FILETYPE_MAP(X)
#undef X
};

/* Returns the type of a file that begins with these bytes.  Only the first 16 KiB are used.
 * FILETYPE_OTHER: not recognized. */
enum filetype filetype_of(const char *bytes, size_t n);

/* Returns the type of an open file, which must be seekable.  Changes the file position. */
enum filetype filetype_of_file(FILE *in);

/* Checks that a reader of `wanted` accepts a file of the type `type`.  If the reader does not,
 * returns STATUS_INPUT with the message "PATH: is TYPE; expected WANTED. HINT".  Returns STATUS_OK
 * for FILETYPE_OTHER, because the type of the file is not known. */
enum status filetype_check(const char *path, enum filetype type, enum filetype wanted,
                           struct error *e);

/* Recognizes the type of the file `path` and calls filetype_check.  Returns STATUS_OK if `path` is
 * not a regular file or cannot be opened: the reader of the file reports that. */
enum status filetype_check_file(const char *path, enum filetype wanted, struct error *e);

/* Writes what the file `path` is, and how it can be used, to text[size]: ": is TYPE.  What to
 * type next".  The text is empty if `path` is not a regular file, or if its type is not
 * recognized. */
void filetype_tell(const char *path, char *text, size_t size);

/* Returns true if `path` is a regular file that can be opened and begins with these n <= 64
 * bytes. */
bool filetype_begins(const char *path, const void *bytes, size_t n);

#endif
