/* The stage bragg-background.  Two programs run it: bragg-background, and bragg-intensity with
 * --fuse. */
#ifndef BRAGG_STAGES_BACKGROUND_H
#define BRAGG_STAGES_BACKGROUND_H

#include "physics/background/background_pixel.h"
#include "stage/stage.h"

extern const struct stage stage_background;

/* Call before `begin`: `begin` then does not prepare for frames.  Either an engine does the work of
 * the frames, or the caller calls background_start later. */
void background_defer(void *state);

/* Computes the background of the experiment.  STATUS_FAILED: out of memory. */
enum status background_start(void *state, struct error *e);

/* Sets *photons to the background of a frame, which the stage owns until the next frame.  Call
 * after `begin` without background_defer. */
enum status background_of(void *state, const struct recipe *recipe, const float **photons,
                          struct error *e);

/* Returns true if the background differs between frames with equal sources, or is flat.  Only the
 * stage itself can add such a background. */
bool background_varies(const void *state);

/* Returns, after `begin`, the number of materials that scatter, and the materials in *materials.
 * The stage owns them. */
size_t background_materials(const void *state, const struct background_material **materials);

/* --- powder rings (powder.c) --- */

/* All reflections with the same d. */
struct powder_ring {
    double s_1_A;  // 1/d
    double F2;     // sum of F squared over the reflections, electrons^2
};

struct powder {
    struct powder_ring *rings;  // owned, in ascending order of s
    size_t nrings;
    double cell_A3;    // volume of the unit cell
    double crystal_A;  // size of the crystals
    double strain;     // rms
    double least_1_A;  // smallest width of a ring, 1/A
    enum probe probe;  // particles of the beam
    double unit;       // electrons of one unit of F of these particles
};

/* Sets the rings and the cell of *p to those of a calibrant (lab6, ceo2, si, agbh) or of a model of
 * atoms, up to s = most_1_A; powder_free frees *p.  digest[] gets a hash of the rings of a model,
 * and stays as it was for a calibrant.  Errors are those of sfcalc_read.  STATUS_INPUT: there is no
 * ring. */
enum status powder_read(const char *name, double most_1_A, struct powder *p, char digest[17],
                        struct error *e);

/* Returns a table of rings: sin(theta)/lambda in 1/m of all rows, then F of all rows in electrons
 * per cell, which is 0 away from rings.  *nrows is the number of rows.  The caller frees the table
 * with mem_free. */
double *powder_table(const struct powder *p, size_t *nrows);

void powder_free(struct powder *p);

#endif
