/*
 * Compares an experiment list of DIALS with the first image that it names.
 */
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "geometry.h"
#include "io/dials/expt.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_geometry.h"
#include "model/experiment.h"

/* The number of pixels, the pixel size, the wavelength and the rotation of an image. 0: the image
 * does not contain the value. */
struct image_facts {
    int64_t pixels[2];
    double pixel_m, wavelength_m;
    double start_deg, width_deg;  // width_deg 0: the rotation is not known
    size_t images;                // of an NXmx file; 0: not known
};

/* Takes the number of images, and the rotation of the first image of a scan, from an NXmx file of
 * bragg-write, in which image n is frame n - 1. Other NXmx files leave both unknown. */
static void look_at_rotation(const struct expt *x, struct image_facts *seen)
{
    struct nxmx_rows rows = {0};
    char *history = mem_array(EXPERIMENT_HISTORY_SIZE, 1);
    const bool read = !nxmx_read_truth(x->image, history, &rows, NULL);
    const int64_t place = x->scan.first > 0 ? x->scan.first - 1 : 0;
    seen->images = read ? rows.nframes : 0;
    if (read && place < (int64_t)rows.nframes) {
        seen->start_deg = rows.frames[place].rotation_start;
        seen->width_deg = rows.frames[place].rotation_width;
    }
    if (read)
        nxmx_rows_free(&rows);
    mem_free(history);
}

/* Reads *seen from the first image of the list. Returns false if there is nothing to compare:
 * the image does not exist, cannot be read, or has several panels. Sets *s to STATUS_INPUT if an
 * NXmx file has another number of panels than the list. */
static bool look_at_image(const char *list, const struct expt *x, struct image_facts *seen,
                          enum status *s, struct error *e)
{
    struct stat st;
    struct nxmx_geometry g;
    struct image_header h;
    if (!*x->image || stat(x->image, &st) || !S_ISREG(st.st_mode))
        return false;
    if (!nxmx_is_hdf5(x->image)) {
        const bool alone = x->npanels == 1 || x->panels_placed;
        if (!alone || image_header_read(x->image, &h, NULL))
            return false;
        *seen = (struct image_facts){.pixels = {h.fast, h.slow},
                                     .pixel_m = h.pixel_m,
                                     .wavelength_m = h.wavelength_m,
                                     .start_deg = rad_to_deg(h.phi_rad),
                                     .width_deg = rad_to_deg(h.osc_rad)};
        return true;
    }
    const bool read = !nxmx_geometry_read(x->image, &g, NULL);
    if (read && g.npanels != x->npanels)
        *s = error_set(e, STATUS_INPUT, "--expt=%s has %zu panels, but its image %s has %zu", list,
                       x->npanels, x->image, g.npanels);
    const bool single = read && !*s && g.npanels == 1;
    if (single)
        *seen = (struct image_facts){.pixels = {g.panels->fast_pixels, g.panels->slow_pixels},
                                     .pixel_m = g.panels->pixel_m,
                                     .wavelength_m = g.wavelength_m};
    if (single)
        look_at_rotation(x, seen);
    if (read)
        nxmx_geometry_free(&g);
    return single;
}

/* Makes the width positive. DIALS reverses the axis of a scan that turns backwards. */
static void turn_forwards(double *start_deg, double *width_deg)
{
    *start_deg = *width_deg < 0 ? -*start_deg : *start_deg;
    *width_deg = fabs(*width_deg);
}

/* Warns if the first image of a scan starts at another angle than the scan, or rotates by another
 * angle. A full turn makes no difference. */
static void compare_rotation(const struct geometry_options *o, const struct expt *x,
                             const struct image_facts *seen)
{
    static const double ALIKE = 0.01;
    double start_deg = seen->start_deg, width_deg = seen->width_deg;
    struct expt_scan scan = x->scan;
    turn_forwards(&start_deg, &width_deg);
    turn_forwards(&scan.start_deg, &scan.width_deg);
    const double least_deg = ALIKE * width_deg;
    if (!scan.images || !(width_deg > 0) ||
        (fabs(remainder(start_deg - scan.start_deg, 360)) <= least_deg &&
         fabs(width_deg - scan.width_deg) <= least_deg))
        return;
    log_line(LOG_WARNING,
             "--expt=%s: the scan starts at %.6g deg and rotates by %.6g deg per image, but its "
             "first image %s starts at %.6g deg and rotates by %.6g deg. Check image_range and "
             "oscillation of the list",
             o->expt, x->scan.start_deg, x->scan.width_deg, x->image, seen->start_deg,
             seen->width_deg);
}

/* Warns if the scan has images that do not exist. */
static void compare_number(const struct geometry_options *o, const struct expt *x,
                           const struct image_facts *seen)
{
    const int64_t last = x->scan.first + x->scan.images - 1;
    struct stat st;
    if (x->scan.images && seen->images && last > (int64_t)seen->images)
        log_line(LOG_WARNING,
                 "--expt=%s: the last image of the scan is %" PRId64 ", but %s has %zu image%s",
                 o->expt, last, x->image, seen->images, seen->images == 1 ? "" : "s");
    else if (*x->last_image && stat(x->last_image, &st))
        log_line(LOG_WARNING,
                 "--expt=%s: the last image of the scan is %" PRId64 ", but the file %s is missing",
                 o->expt, last, x->last_image);
}

enum status geometry_compare_image(const struct geometry_options *o, const struct expt *x,
                                   struct error *e)
{
    static const double ALIKE = 0.01;
    struct image_facts seen = {0};
    enum status s = STATUS_OK;
    if (!look_at_image(o->expt, x, &seen, &s, e))
        return s;
    if (seen.pixels[0] != x->image_pixels[0] || seen.pixels[1] != x->image_pixels[1])
        return error_set(e, STATUS_INPUT,
                         "--expt=%s: image_size is %" PRId64 " x %" PRId64
                         ", but the image %s has %" PRId64 " x %" PRId64 " pixels",
                         o->expt, x->image_pixels[0], x->image_pixels[1], x->image, seen.pixels[0],
                         seen.pixels[1]);
    if (seen.pixel_m > 0 && !(fabs(seen.pixel_m / x->panels->pixel_m - 1) < ALIKE))
        return error_set(e, STATUS_INPUT,
                         "--expt=%s: pixel_size is %g mm, but the image %s has pixels of %g mm",
                         o->expt, m_to_mm(x->panels->pixel_m), x->image, m_to_mm(seen.pixel_m));
    if (seen.wavelength_m > 0 && !geometry_given(o, "wavelength|energy") &&
        !(fabs(seen.wavelength_m / x->wavelength_m - 1) < ALIKE))
        log_line(LOG_WARNING,
                 "--expt=%s: the wavelength is %.6g A, but the image %s has %.6g A. The list is "
                 "used; --wavelength replaces it",
                 o->expt, m_to_angstrom(x->wavelength_m), x->image,
                 m_to_angstrom(seen.wavelength_m));
    compare_rotation(o, x, &seen);
    compare_number(o, x, &seen);
    return STATUS_OK;
}
