/*
 * The answer key of a frame: its reflections, where they are and how strong, before background and
 * noise.  Payload of the frame beside its pixels.
 */
#ifndef BRAGG_MODEL_REFLECTIONS_H
#define BRAGG_MODEL_REFLECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reflection of one lattice: what pixels get at steps whose nearest index is hkl.  Travels as it
 * lies here, 80 bytes. */
struct reflection_row {
    double fast, slow;  // px: centroid weighted by photons; pixel i covers [i, i+1)
    double photons;     // expected, in the frame
    double phi_deg;     // rotation angle weighted by photons; 0 in a still
    double s_1_A;       // of the lattice point from the Ewald sphere of the mean wavelength, at the
                        // middle of the rotation; positive inside
    int32_t lattice;    // number in the recipe
    int32_t hkl[3];
    int32_t panel;      // that gets most of the photons; the centroid is in it
    int32_t pixels;     // fewest that hold REFLECTION_SHARE of the photons, at least 1
    float peak;         // photons of the brightest pixel
    float F2;           // squared structure factor of hkl, electrons^2
    float background;   // photons of these pixels that are not the crystal's
    uint32_t reserved;  // 0
};

#define REFLECTION_SHARE 0.99

/* In labels, photons below which a pixel belongs to no reflection. */
#define LABEL_LEAST_PHOTONS 0.1

struct reflection_table {
    bool present;                 // false: nobody asked for it, all else is 0
    double least_photons;         // rows have more
    double rest_photons;          // of the frame, that are in no row
    size_t count;                 // rows, ascending by lattice, h, k, l
    struct reflection_row *rows;  // owned
    size_t npixels;               // the sum of the pixels of all rows, or 0: they are not listed
    uint32_t *pixels;             // owned: items of the image, row after row, ascending in each
    bool has_slopes;              // false: the next is NULL
    float *slopes;                // owned: [npixels], of each listed pixel the derivative of its
                                  // photons by |F| of the row, photons per electron
    size_t nlabels;               // 0, or pixels of the image
    uint32_t *labels;             // owned: for each pixel the number, from 1, of the row that gives
                                  // it most photons; 0: none gives LABEL_LEAST_PHOTONS
};

/* Frees the arrays and clears *t. */
void reflection_table_free(struct reflection_table *t);

/* Adds to each row's background the photons of its pixels, where these are listed, in
 * background[items], an image of as many pixels as the frame. */
void reflection_table_add(struct reflection_table *t, const float *background);

#endif
