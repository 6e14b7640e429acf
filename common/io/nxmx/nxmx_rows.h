/*
 * The ground truth of the frames of NXmx files, as two tables.  Every file has them as compound
 * data sets /entry/braggpipe/frames and /entry/braggpipe/lattices, whose members have the names
 * below (see bragg-formats(5)).  struct nxmx_rows also has the spectra of frames, which files store
 * with the beam.
 */
#ifndef BRAGG_IO_NXMX_ROWS_H
#define BRAGG_IO_NXMX_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"

/* The amounts of matter of a frame: thicknesses of water, air and ice in m, size of the ice
 * crystals in A, factor on all matter. */
enum { NXMX_MATTER = 5 };

struct nxmx_frame {
    uint64_t number;             // id
    uint64_t seed;               // of its random numbers
    uint64_t file;               // number of the data file that holds it
    double rotation_start;       // degrees
    double rotation_width;       // degrees, 0 for a still
    double wavelength;           // A, mean of its sources
    double fluence;              // photons per m^2
    uint64_t lattices;           // 0: a blank, else a hit
    double shift_m[3];           // of the detector; files store it in a table of its own
    double sample_m[2];          // where the beam meets the sample holder; in a table of its own
    double matter[NXMX_MATTER];  // amounts of matter of its own, NaN: none; in a table of its own
    /* Checksums of the frame, in a table of their own: of its images, and of its truth, see
     * nxmx_rows_sum. */
    uint32_t images_sum, truth_sum;
    uint64_t summed;    // 1: the checksums are known, else 0
    uint64_t channels;  // number of channels of its own spectrum, 0: it has the spectrum of
                        // the beam; not a member in files
};

/* Vectors are in the coordinates of NeXus: z along the beam. */
struct nxmx_lattice {
    uint64_t frame;         // id of the frame that holds it
    uint64_t crystal;       // from 0, as in /entry/braggpipe/crystal_0
    double share;           // weight: factor on its intensity
    double cell[6];         // given by the user: a, b, c in A, alpha, beta, gamma in degrees
    double orientation[9];  // row-major, from the crystal to NeXus, rotation angle 0
    double a_matrix[9];     // row-major; columns a*, b*, c* in 1/A, rotation angle 0
    double cells[3];        // its own unit cells along a, b, c; 0: those of its crystal.  Files
                            // store them in a table of their own
    double spread;          // its own mosaic spread in degrees, in a table of its own
    uint64_t has_spread;    // 1: it has one, else 0
    double b_factor;        // its own B factor in A^2, in a table of its own
    uint64_t has_b_factor;  // 1: it has one, else 0
};

/* Sizes of the rows of the tables in files: members that follow have tables of their own. */
enum {
    NXMX_FRAME_BYTES = offsetof(struct nxmx_frame, shift_m),
    NXMX_LATTICE_BYTES = offsetof(struct nxmx_lattice, cells)
};

/* A wavelength of the spectrum of a frame that has a spectrum of its own. */
struct nxmx_channel {
    uint64_t frame;     // id of the frame
    double wavelength;  // A
    double weight;      // relative; the mean over the channels of the frame is 1
};

/* Summary of the reflection_table of a frame.  All 0 if the frame has no table. */
struct nxmx_reflection_counts {
    uint64_t rows;    // number of rows
    uint64_t pixels;  // number of pixels that are listed for the rows, 0: none
    double least_photons, rest_photons;
};

/* The tables, in ascending order of frames.  The lattices of a frame are consecutive, and so are
 * its channels. */
struct nxmx_rows {
    size_t nframes, frames_room, nlattices, lattices_room;
    struct nxmx_frame *frames;      // owned
    struct nxmx_lattice *lattices;  // owned
    size_t nchannels, channels_room;
    struct nxmx_channel *channels;  // owned
    bool has_samples;               // read from a file: frames have places on a sample holder
    bool has_matter;                // likewise: frames have amounts of matter of their own
    bool has_reflections;           // one frame or more carries reflections
    size_t reflections_room;
    struct nxmx_reflection_counts *reflections;  // owned: [nframes]
};

/* Adds the rows of a frame.  Rows that have the same frame number are replaced. */
void nxmx_rows_add(struct nxmx_rows *rows, const struct experiment *x, const struct recipe *r,
                   uint64_t file);

/* Returns the spectrum of sources: one channel for each wavelength, in the order of the sources,
 * with the sum of its weights.  Sources that differ only in direction are one channel.  *count gets
 * the number of channels.  The caller frees them with mem_free. */
struct nxmx_channel *nxmx_merge_sources(const struct source *sources, size_t nsources,
                                        size_t *count);

/* Stores the spectrum of a frame that was added.  The frame gets a spectrum only if its recipe has
 * sources of more than one wavelength.  Programs that only compare frames need not call this. */
void nxmx_rows_note_spectrum(struct nxmx_rows *rows, const struct recipe *r);

/* Replaces the spectrum of a frame, which must exist, by `count` channels, whose `frame` is not
 * read.  Padding is removed: channels of weight 0 at the end with the wavelength of the channel
 * before them. */
void nxmx_rows_set_spectrum(struct nxmx_rows *rows, uint64_t number,
                            const struct nxmx_channel *channels, size_t count);

/* Returns the channels of a frame, which must exist.  Their number is `channels` of the frame. */
const struct nxmx_channel *nxmx_rows_spectrum(const struct nxmx_rows *rows, uint64_t number);

/* Stores the summary of the reflections of a frame, which must exist. */
void nxmx_rows_note(struct nxmx_rows *rows, uint64_t number,
                    const struct nxmx_reflection_counts *counts);

/* Continues the CRC-32C `sum` by rows[count].  Rows of files of previous versions have no orders;
 * their checksum does not contain the members that these files do not have. */
uint32_t nxmx_reflections_sum(uint32_t sum, const struct reflection_row *rows, size_t count);

/* Returns the CRC-32C of what the tables and *t have about the frame at index `place`: its row,
 * lattices, and reflections with their pixels. */
uint32_t nxmx_rows_sum(const struct nxmx_rows *rows, size_t place,
                       const struct reflection_table *t);

/* Adds those rows of `from` whose frames are not in *rows yet. */
void nxmx_rows_merge(struct nxmx_rows *rows, const struct nxmx_rows *from);

/* Removes a frame, if it exists. */
void nxmx_rows_remove(struct nxmx_rows *rows, uint64_t number);

/* Removes all frames of a data file. */
void nxmx_rows_drop(struct nxmx_rows *rows, uint64_t file);

/* Returns the index of a frame; -1: there is none. */
int64_t nxmx_rows_find(const struct nxmx_rows *rows, uint64_t number);

/* Returns true if both have the frame and store the same values for it.  The data file of the frame
 * and the shape of its spectrum may differ. */
bool nxmx_rows_agree(const struct nxmx_rows *a, const struct nxmx_rows *b, uint64_t number);

/* Sets the amounts of matter of a recipe to those of a frame. */
void nxmx_take_matter(const struct nxmx_frame *frame, struct recipe *r);

void nxmx_rows_free(struct nxmx_rows *rows);

#endif
