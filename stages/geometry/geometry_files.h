/* Input files of bragg-geometry.  Paths are those of the options. */
#ifndef BRAGG_STAGES_GEOMETRY_FILES_H
#define BRAGG_STAGES_GEOMETRY_FILES_H

#include "base/error.h"
#include "geometry_options.h"
#include "io/images/smv.h"
#include "physics/request.h"

/* Reads --mask into r->detector.mask (0: masked, 1: computed), which the caller frees with
 * mem_free, and *smv, which the caller frees with smv_free.  If no option gives the size of the
 * detector, it becomes that of the mask. */
enum status geometry_read_mask(const struct geometry_options *o, struct request *r, struct smv *smv,
                               struct error *e);

/* Reads --source-file into r->beam.listed, which the caller frees with mem_free. */
enum status geometry_read_sources(const struct geometry_options *o, struct request *r,
                                  struct error *e);

/* Reads matrix, cell and structure factors of one crystal into *c; without files they are those of
 * the built-in lysozyme.  Detector and beam of *x must be set up.  The caller frees c->table with
 * hkl_free, also after an error. */
enum status geometry_read_crystal(const struct geometry_options *o, const struct experiment *x,
                                  struct crystal_request *c, struct error *e);

/* Smallest d spacings in A of all panels: in the middle of an edge, and in a corner. */
void geometry_resolution(const struct experiment *x, double *edge_A, double *corner_A);

#endif
