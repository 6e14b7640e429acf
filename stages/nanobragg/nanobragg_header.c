#include "nanobragg_header.h"

#include "base/alloc.h"
#include "base/units.h"
#include "io/images/smv.h"

/* One number of the header in SI units: `unit` of the file make one of ours. */
static void take(const struct smv *smv, const char *key, double unit, double *value)
{
    double found;
    if (smv_value(smv, key, &found))
        *value = found / unit;
}

/* The mask counts Y from the other edge of the detector [4.1]. */
static void take_header(struct nanobragg *n, const struct smv *smv, bool is_mask)
{
    struct detector_request *d = &n->request.detector;
    const double mm = 1000.0;  // file lengths are divided by it
    d->pixels[0] = smv->fast_pixels;
    d->pixels[1] = smv->slow_pixels;
    take(smv, "PIXEL_SIZE", mm, &d->pixel_m);
    take(smv, "DISTANCE", mm, &d->distance_m);
    take(smv, "CLOSE_DISTANCE", mm, &d->close_distance_m);
    take(smv, "WAVELENGTH", 1e10, &n->request.beam.wavelength_m);
    take(smv, "BEAM_CENTER_X", mm, &d->beam_m[0]);
    double y;
    if (smv_value(smv, "BEAM_CENTER_Y", &y)) {
        const double slow_size_m = d->pixel_m * (double)smv->slow_pixels;
        d->beam_m[1] = is_mask ? slow_size_m - y / mm : y / mm;
    }
    take(smv, "ORGX", 1.0, &d->org_px[0]);
    take(smv, "ORGY", 1.0, &d->org_px[1]);
    take(smv, "PHI", DEGREES_PER_RADIAN, &n->orientation.phi_rad);
    take(smv, "OSC_RANGE", DEGREES_PER_RADIAN, &n->orientation.phi.range);
}

/* 0 in the image means: not computed. */
static enum status take_mask(struct nanobragg *n, const struct smv *smv, struct error *e)
{
    mem_free(n->request.detector.mask);
    n->mask_pixels[0] = smv->fast_pixels;
    n->mask_pixels[1] = smv->slow_pixels;
    return smv_mask(smv, &n->request.detector.mask, e);
}

enum status nanobragg_take_headers(struct nanobragg *n, struct error *e)
{
    const char *files[2] = {n->mask_file, n->header_file};
    for (int i = 0; i < 2; i++) {
        const bool is_mask = i == 0;
        if (!files[i])
            continue;
        struct smv smv;
        enum status s = smv_read(files[i], is_mask, &smv, e);
        if (!s)
            take_header(n, &smv, is_mask);
        if (!s && is_mask)
            s = take_mask(n, &smv, e);
        smv_free(&smv);
        if (s)
            return s;
    }
    return STATUS_OK;
}
