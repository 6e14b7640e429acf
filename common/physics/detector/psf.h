/*
 * Point spread: the light of every pixel is spread over its neighbours, with a Gaussian or with the
 * profile of fiber-coupled CCD cameras, g / (2 pi (g^2 + r^2)^(3/2)).  Each profile is integrated
 * exactly over square pixels (J. M. Holton et al., J. Synchrotron Rad. 19 (2012) 995).
 *
 * Every pixel is spread up to a radius beyond which less than a tenth of its own counting noise
 * would fall.  The light outside this radius is given back evenly over the image.
 */
#ifndef BRAGG_PHYSICS_PSF_H
#define BRAGG_PHYSICS_PSF_H

#include <stdbool.h>
#include <stdint.h>

/* PSF_CHARGE: photons lie anywhere in their pixel, the charge of each is a Gaussian cloud. */
enum psf_kind { PSF_NONE, PSF_GAUSS, PSF_FIBER, PSF_CHARGE };

struct psf {
    enum psf_kind kind;
    double fwhm_px;     // full width at half maximum in pixels, > 0
    int64_t radius_px;  // of the spread; 0: chosen for every pixel
    /* Which pixels are inside.  false: 0 <= x < nx and 0 <= y < ny.  true: x = nx
     * and y = ny too, as in noisify, so that light over the right edge enters the
     * next row on the left; what is past the end of the image is lost. */
    bool loose_bounds;
};

/* Returns the fraction of the light of a pixel that falls into the pixel (dx, dy) away from it. */
double psf_share(const struct psf *psf, double dx, double dy);

/* Returns the radius in pixels for a pixel of `photons`: radius_px or, if this is 0, an automatic
 * radius of at least 1. */
int64_t psf_radius(const struct psf *psf, double photons);

/* Returns the fraction of the light that falls beyond `radius_px`. */
double psf_beyond(const struct psf *psf, double radius_px);

/* Spreads `image`, ny rows of nx pixels, in place.  Pixels that are not positive give no light, and
 * an image without light does not change.  The function is serial, so that the bytes are always the
 * same. */
void psf_apply(const struct psf *psf, float *image, int64_t nx, int64_t ny);

#endif
