/*
 * All experiments of a list of DIALS (.expt): what an analysis found in which images.  Crystals
 * come in the lab of the convention mosflm, see io/dials/expt.h.
 */
#ifndef BRAGG_IO_EXPT_LIST_H
#define BRAGG_IO_EXPT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/dials/expt.h"

enum { EXPT_TEXT_SIZE = 256 };

struct expt_experiment {
    char identifier[EXPT_TEXT_SIZE];
    int64_t imageset;           // number, -1: none
    char file[EXPT_TEXT_SIZE];  // of its first image, or the template of all; "": not said
    bool is_template;           // in `file` a number stands for #
    size_t nimages;             // of a still
    size_t nindices;            // images in a file that holds several ...
    const int64_t *indices;     // ... and their places in it; of the list
    struct expt_scan scan;      // images 0: a still
    double spindle[3];          // unit vector, in our lab
    double wavelength_m;        // of its beam, 0: not said
    double shift_m[3];          // how far its detector stands from that of the first, likewise
    bool has_crystal;
    double reciprocal_A[9];  // rows a*, b*, c* in 1/A, where the scan axis is at 0
    char centring;         // of its cell, as its Hall symbol says: P, A, B, C, I, R, F; 0: not said
    size_t npoints;        // of a crystal that changes, 0: it does not
    const double *points;  // [npoints * 9] the same at the edges of the images; of the list
};

struct expt_list {
    struct expt setup;  // of the first experiment; detectors of all differ by where they stand
    size_t count;
    struct expt_experiment *items;  // owned
    size_t nindices, indices_room, npoints, points_room;
    int64_t *indices;  // owned
    double *points;    // owned
};

/* STATUS_INPUT with "FILE: WHERE: " for what cannot be, and for detectors that differ;
 * STATUS_FAILED when the file cannot be read.  expt_list_free frees *list, also after an error. */
enum status expt_list_read(const char *path, struct expt_list *list, struct error *e);
void expt_list_free(struct expt_list *list);

#endif
