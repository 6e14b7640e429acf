/* What bragg-geometry reads from files, as its options say. */
#ifndef BRAGG_STAGES_GEOMETRY_FILES_H
#define BRAGG_STAGES_GEOMETRY_FILES_H

#include "base/error.h"
#include "geometry_options.h"
#include "io/images/smv.h"
#include "physics/request.h"

/* --mask: r->detector.mask, which the caller frees with mem_free, and *smv, which it frees with
 * smv_free.  Its pixels become 0 and 1; its size is the detector's where none was given. */
enum status geometry_read_mask(const struct geometry_options *o, struct request *r, struct smv *smv,
                               struct error *e);

/* --source-file: r->beam.listed, which the caller frees with mem_free. */
enum status geometry_read_sources(const struct geometry_options *o, struct request *r,
                                  struct error *e);

/* Matrix, cell and structure factors of one crystal, or the lysozyme that ships, where detector and
 * beam of *x are set up.  The caller frees c->table with hkl_free, also after an error. */
enum status geometry_read_crystal(const struct geometry_options *o, const struct experiment *x,
                                  struct crystal_request *c, struct error *e);

/* The best resolutions, in A, in the middle of an edge and in a corner of any panel. */
void geometry_resolution(const struct experiment *x, double *edge_A, double *corner_A);

#endif
