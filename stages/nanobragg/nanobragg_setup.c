/* The files that the flags of nanoBragg name, and the experiment and the recipe that the flags
 * describe. */
#include "nanobragg_options.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/beam/nanobragg_text.h"
#include "io/images/smv.h"
#include "io/structure_factors/hkl.h"
#include "physics/detector/detector.h"
#include "physics/setup.h"

/* --- the headers of -mask and -img ------------------------------------------- */

/* Reads one number of the header and converts it to SI units: `unit` is the number of file units in
 * one SI unit. */
static void read_number(const struct smv *smv, const char *key, double unit, double *value)
{
    double found;
    if (smv_value(smv, key, &found))
        *value = found / unit;
}

/* Takes the geometry from a header. In the header of a mask, the Y of the beam centre is
 * measured from the other edge of the detector [4.1]. */
static void apply_header(struct nanobragg *n, const struct smv *smv, bool is_mask)
{
    struct detector_request *d = &n->request.detector;
    const double mm = 1000.0;  // the lengths in the file are divided by this factor
    d->pixels[0] = smv->fast_pixels;
    d->pixels[1] = smv->slow_pixels;
    read_number(smv, "PIXEL_SIZE", mm, &d->pixel_m);
    read_number(smv, "DISTANCE", mm, &d->distance_m);
    read_number(smv, "CLOSE_DISTANCE", mm, &d->close_distance_m);
    read_number(smv, "WAVELENGTH", 1e10, &n->request.beam.wavelength_m);
    read_number(smv, "BEAM_CENTER_X", mm, &d->beam_m[0]);
    double y;
    if (smv_value(smv, "BEAM_CENTER_Y", &y)) {
        const double slow_size_m = d->pixel_m * (double)smv->slow_pixels;
        d->beam_m[1] = is_mask ? slow_size_m - y / mm : y / mm;
    }
    read_number(smv, "ORGX", 1.0, &d->org_px[0]);
    read_number(smv, "ORGY", 1.0, &d->org_px[1]);
    read_number(smv, "PHI", DEGREES_PER_RADIAN, &n->orientation.phi_rad);
    read_number(smv, "OSC_RANGE", DEGREES_PER_RADIAN, &n->orientation.phi.range);
}

/* Reads a mask.  Pixels that are 0 in its image are not computed. */
static enum status read_mask(struct nanobragg *n, const struct smv *smv, struct error *e)
{
    mem_free(n->request.detector.mask);
    n->mask_pixels[0] = smv->fast_pixels;
    n->mask_pixels[1] = smv->slow_pixels;
    return smv_mask(smv, &n->request.detector.mask, e);
}

enum status nanobragg_read_headers(struct nanobragg *n, struct error *e)
{
    const char *files[2] = {n->mask_file, n->header_file};
    for (int i = 0; i < 2; i++) {
        const bool is_mask = i == 0;
        if (!files[i])
            continue;
        struct smv smv;
        enum status s = smv_read(files[i], is_mask, &smv, e);
        if (!s)
            apply_header(n, &smv, is_mask);
        if (!s && is_mask)
            s = read_mask(n, &smv, e);
        smv_free(&smv);
        if (s)
            return s;
    }
    return STATUS_OK;
}

/* --- to an experiment and a recipe ------------------------------------------- */

/* Reads the structure factors.  As in nanoBragg, -hkl reads text and writes a dump, and -dump alone
 * reads a dump.  A dump that merely exists is never read. */
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

/* Reads the source file. Missing columns get the values of the beam without a source file, which
 * needs the axes of the convention. */
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
        s = error_set(e, STATUS_INPUT, "%s: no sources found; expected lines of X Y Z",
                      n->source_file);
    return s;
}

/* Checks that the mask has the size of the detector.  The header of the mask sets this size, but
 * flags may overrule it. */
static enum status check_mask(const struct nanobragg *n, const struct panel *p, struct error *e)
{
    if (!p->mask || (n->mask_pixels[0] == p->fast_pixels && n->mask_pixels[1] == p->slow_pixels))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: the mask has %" PRId64 " x %" PRId64 " pixels; expected %" PRId64
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
    r->nlattices = 1;
    return setup_lattice(x, 0, &n->orientation, &r->lattices[0], e);
}

double nanobragg_osc_rad(const struct orientation_request *o)
{
    struct steps s;
    return steps_phi(&o->phi, &s, NULL) == STATUS_OK ? s.range : 0.0;
}
