/*
 * The truth about the frames of NXmx files as two tables.  They stand in every file as
 * compound data sets /entry/braggpipe/frames and lattices, with the members below by
 * these names (see bragg-formats(5)).  The spectra of frames are kept beside them, for the beam.
 */
#ifndef BRAGG_IO_NXMX_ROWS_H
#define BRAGG_IO_NXMX_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

struct nxmx_frame {
    uint64_t number;        // id
    uint64_t seed;          // of its random numbers
    uint64_t file;          // number of the data file that holds it
    double rotation_start;  // degrees
    double rotation_width;  // degrees, 0 for a still
    double wavelength;      // A, mean of its sources
    double fluence;         // photons per m^2
    uint64_t lattices;      // 0: a blank, else a hit
    double shift_m[3];      // of the detector; no member in files, but in a table of its own
    uint64_t channels;      // of its own spectrum, 0: it has the beam's; no member in files
};

/* Vectors are in the coordinates of NeXus: z along the beam. */
struct nxmx_lattice {
    uint64_t frame;         // id of the frame that holds it
    uint64_t crystal;       // from 0, as in /entry/braggpipe/crystal_0
    double share;           // factor on its intensity
    double cell[6];         // as asked for: a, b, c in A, alpha, beta, gamma in degrees
    double orientation[9];  // row-major, from the crystal to NeXus, rotation angle 0
    double a_matrix[9];     // row-major; columns a*, b*, c* in 1/A, rotation angle 0
};

/* A wavelength of the spectrum of a frame that has a spectrum of its own. */
struct nxmx_channel {
    uint64_t frame;     // id of the frame
    double wavelength;  // A
    double weight;      // relative; the mean over the channels of the frame is 1
};

/* What a frame's reflection_table says beside its rows; all 0 where it brought none. */
struct nxmx_told {
    uint64_t rows;    // number of rows
    uint64_t pixels;  // that are listed for them, 0: none
    double least_photons, rest_photons;
};

/* Rows in ascending order of frames; the lattices of a frame follow one another, as do its
 * channels. */
struct nxmx_rows {
    size_t nframes, frames_room, nlattices, lattices_room;
    struct nxmx_frame *frames;      // owned
    struct nxmx_lattice *lattices;  // owned
    size_t nchannels, channels_room;
    struct nxmx_channel *channels;  // owned
    bool has_reflections;           // some frame brought them along
    size_t reflections_room;
    struct nxmx_told *reflections;  // owned: [nframes]
};

/* Rotation from the lab of an experiment to NeXus' (McStas): rows are its x, y and z.  z
 * goes along the beam and the spindle, seen along the beam, is -x; from MOSFLM's convention
 * (x, y, z) becomes (-z, y, x). */
void nxmx_axes(const struct experiment *x, double axes[9]);

/* Puts in the rows of a frame, instead of former ones with its number; STATUS_FAILED when
 * memory is out. */
enum status nxmx_rows_add(struct nxmx_rows *rows, const struct experiment *x,
                          const struct recipe *r, uint64_t file, struct error *e);

/* The spectrum of sources: wavelengths in the order in which the sources have them, each of them
 * once with the sum of its weights; *count of them, in new memory for mem_free.  Sources that
 * differ in direction alone are one channel.  NULL when memory is out. */
struct nxmx_channel *nxmx_merge_sources(const struct source *sources, size_t nsources,
                                        size_t *count);

/* Notes the spectrum of such a frame if the recipe has sources of its own, but for a single
 * wavelength.  Programs that only compare frames do without.  STATUS_FAILED when memory is out. */
enum status nxmx_rows_note_spectrum(struct nxmx_rows *rows, const struct recipe *r,
                                    struct error *e);

/* Replaces the spectrum of a frame that is there by `count` channels, whose frame is set here. */
enum status nxmx_rows_set_spectrum(struct nxmx_rows *rows, uint64_t number,
                                   const struct nxmx_channel *channels, size_t count,
                                   struct error *e);

/* The channels of a frame that is there: frame.channels of them. */
const struct nxmx_channel *nxmx_rows_spectrum(const struct nxmx_rows *rows, uint64_t number);

/* Notes that such a frame brought reflections along. */
void nxmx_rows_note(struct nxmx_rows *rows, uint64_t number, const struct nxmx_told *told);

/* Puts in those rows of `from` whose frames are not there yet. */
enum status nxmx_rows_merge(struct nxmx_rows *rows, const struct nxmx_rows *from, struct error *e);

/* Takes out a frame, if it is there. */
void nxmx_rows_remove(struct nxmx_rows *rows, uint64_t number);

/* Takes out all frames of a data file. */
void nxmx_rows_drop(struct nxmx_rows *rows, uint64_t file);

/* The place of a frame, or -1. */
int64_t nxmx_rows_find(const struct nxmx_rows *rows, uint64_t number);

/* True when both say the same of a frame that they have, but for the file that holds it and the
 * shape of its spectrum. */
bool nxmx_rows_agree(const struct nxmx_rows *a, const struct nxmx_rows *b, uint64_t number);

void nxmx_rows_free(struct nxmx_rows *rows);

#endif
