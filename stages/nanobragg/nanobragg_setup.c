#include "nanobragg_setup.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "io/beam/nanobragg_text.h"
#include "io/structure_factors/hkl.h"
#include "physics/crystal/steps.h"
#include "physics/detector/detector.h"
#include "physics/setup.h"

/* -hkl reads text and leaves a dump behind, as nanoBragg does; -dump alone reads
 * one.  A dump that merely lies there is never read. */
static enum status read_factors(struct nanobragg *n, struct error *e)
{
    struct hkl_table *t = &n->crystal.table;
    t->default_F = n->default_F;
    if (n->hkl_file)
        return hkl_read(n->hkl_file, n->request.physics, NULL, HKL_MATES_APART, n->default_F, t, e);
    if (n->dump_file)
        return hkl_read_dump(n->dump_file, n->default_F, t, e);
    return STATUS_OK;
}

/* Missing columns of a source file are those of the plain beam, so the axes are
 * needed first. */
static enum status read_sources(struct nanobragg *n, struct source **sources, struct error *e)
{
    struct frame_axes axes;
    enum status s = detector_axes(&n->request, &axes, e);
    if (!s)
        s = sources_read(n->source_file, n->request.physics, axes.beam,
                         n->request.beam.wavelength_m, sources, &n->request.beam.nlisted, e);
    n->request.beam.listed = *sources;
    n->request.beam.weights =
        n->request.physics == PHYSICS_FAITHFUL ? WEIGHTS_IGNORE : WEIGHTS_APPLY;
    if (!s && !n->request.beam.nlisted)
        s = error_set(e, STATUS_INPUT, "%s: no source", n->source_file);
    return s;
}

/* A mask counts pixels by its own header, which flags may have overruled. */
static enum status check_mask(const struct nanobragg *n, const struct panel *p, struct error *e)
{
    if (!p->mask || (n->mask_pixels[0] == p->fast_pixels && n->mask_pixels[1] == p->slow_pixels))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: the mask has %" PRId64 " x %" PRId64 " pixels, must be %" PRId64
                     " x %" PRId64 " as the detector",
                     n->mask_file, n->mask_pixels[0], n->mask_pixels[1], p->fast_pixels,
                     p->slow_pixels);
}

enum status nanobragg_prepare(struct nanobragg *n, struct experiment *x, struct recipe *r,
                              struct source **sources, struct error *e)
{
    enum status s = STATUS_OK;
    double ignored[6];
    if (n->matrix_file) {
        n->crystal.has_matrix = true;
        s = matrix_read(n->matrix_file, PHYSICS_FAITHFUL, n->crystal.matrix, ignored, e);
    }
    if (!s && n->source_file)
        s = read_sources(n, sources, e);
    if (!s)
        s = read_factors(n, e);
    n->request.ncrystals = 1;
    n->request.crystals = &n->crystal;
    if (s) {
        mem_free(n->request.detector.mask);
        hkl_free(&n->crystal.table);
        return s;
    }
    if ((s = setup_experiment(&n->request, x, e)) || (s = check_mask(n, &x->panels[0], e)))
        return s;
    r->lattices = mem_array(1, sizeof *r->lattices);
    if (!r->lattices)
        return error_memory(e, "the lattice");
    r->nlattices = 1;
    return setup_lattice(x, 0, &n->orientation, &r->lattices[0], e);
}

double nanobragg_osc_rad(const struct orientation_request *o)
{
    struct steps s;
    return steps_phi(&o->phi, &s, NULL) == STATUS_OK ? s.range : 0.0;
}
