/*
 * Files with a detector, for bragg-geometry.  The functions take panels, wavelength and sensor from
 * any format, read the detector of an image (--detector=FILE), and compare an experiment list of
 * DIALS with the first image that the list names.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "geometry.h"
#include "io/dials/expt.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_geometry.h"
#include "model/experiment.h"
#include "physics/detector/detector.h"

/* --- what all files have in common ---------------------------------------------------- */

void geometry_take_panels(struct geom_panel *panels, size_t count, struct request *r,
                          struct geometry_panels *p)
{
    p->places = mem_array(count, sizeof *p->places);
    p->first = mem_array(count, sizeof *p->first);
    for (size_t i = 0; i < count; i++) {
        struct geom_panel *from = &panels[i];
        struct place *to = &p->places[i];
        *to = (struct place){.pixels = {from->fast_pixels, from->slow_pixels},
                             .pixel_m = from->pixel_m,
                             .mask = from->mask};
        from->mask = NULL;
        memcpy(p->first[i], from->first, sizeof p->first[i]);
        memcpy(to->fast, from->fast, sizeof to->fast);
        memcpy(to->slow, from->slow, sizeof to->slow);
        memcpy(to->corner_m, from->corner_m, sizeof to->corner_m);
    }
    r->detector.nplaces = count;
    r->detector.pixel_m = p->places[0].pixel_m;
    r->detector.pixels[0] = r->detector.pixels[1] = 1;
}

void geometry_take_wavelength(const struct geometry_options *o, const char *path,
                              double wavelength_m, struct request *r)
{
    if (geometry_given(o, GEOMETRY_WAVELENGTH))
        return;
    if (wavelength_m > 0)
        r->beam.wavelength_m = wavelength_m;
    else
        log_line(LOG_WARNING,
                 "%s: the file has no wavelength; %g A is used. Give --wavelength or --energy",
                 path, m_to_angstrom(r->beam.wavelength_m));
}

void geometry_take_sensor(const struct geometry_options *o, double thickness_m,
                          const char *material, struct request *r)
{
    if (geometry_given(o, "thickness") || !(thickness_m > 0))
        return;
    if (strcmp(material, "Si") == 0)
        r->detector.thickness.range = thickness_m;
    else
        log_line(LOG_WARNING,
                 "%s: the absorption of a sensor of '%s' is not known, so the sensor detects all "
                 "photons. Give --thickness and --absorption",
                 o->detector, material);
}

/* --- photon counting ------------------------------------------------------------------- */

/*
 * Whether the detector of a file counts photons.
 *
 * A photon-counting detector has no pedestal, and its pixels get enough bits for its largest
 * count.  A file of DIALS or NXmx, or an image, has no field for this.  The answer follows from
 * the gain, the pedestal, the names and the sizes in the file.  If these leave it open, a warning
 * says so.
 */

enum answer { OPEN, COUNTS, INTEGRATES };

/* Answers from the words of a name, in upper or lower case. */
static enum answer answer_from_name(const char *name)
{
    static const char *const counting[] = {"pilatus", "eiger"};
    static const char *const integrating[] = {"jungfrau", "agipd", "cspad", "epix",
                                              "rayonix",  "mpccd", "adsc"};
    for (size_t i = 0; i < sizeof integrating / sizeof *integrating; i++)
        if (strcasestr(name, integrating[i]))
            return INTEGRATES;
    for (size_t i = 0; i < sizeof counting / sizeof *counting; i++)
        if (strcasestr(name, counting[i]))
            return COUNTS;
    return OPEN;
}

/* Returns true if a panel, or the image that all panels cover, is this detector as one image or
 * one of its modules. */
static bool has_size(const struct preset_detector *d, const int64_t pixels[2], bool module)
{
    const bool whole = pixels[0] == layout_pixels(&d->layout, 0) &&
                       pixels[1] == layout_pixels(&d->layout, 1) && !d->nplaces;
    return module ? pixels[0] == d->layout.pixels[0] && pixels[1] == d->layout.pixels[1] : whole;
}

/* Answers from the number and the size of the pixels, if these belong to built-in detectors of one
 * kind only. */
static enum answer answer_from_size(const int64_t pixels[2], double pixel_m, bool module)
{
    const struct preset_detector *d;
    enum answer found = OPEN;
    for (size_t i = 0; (d = preset_at(i)); i++) {
        if (!has_size(d, pixels, module) || !(fabs(pixel_m / d->pixel_m - 1) < 1e-3))
            continue;
        const enum answer answer = d->counts ? COUNTS : INTEGRATES;
        if (found != OPEN && found != answer)
            return OPEN;
        found = answer;
    }
    return found;
}

void geometry_take_counting(const char *path, const struct geometry_file_detector *file,
                            struct geometry_panels *p)
{
    enum answer answer = file->scaled ? INTEGRATES : answer_from_name(file->name);
    if (answer == OPEN && (strstr(file->type, "CCD") || strstr(file->type, "PLATE")))
        answer = INTEGRATES;
    for (int module = 0; module < 2 && answer == OPEN; module++)
        answer = answer_from_size(module ? file->panel : file->image, file->pixel_m, module);
    p->counts = answer == COUNTS;
    if (answer == OPEN && strcmp(file->type, "SENSOR_PAD") == 0)
        log_line(LOG_WARNING,
                 "%s: the file does not say whether the detector counts photons, so its pixels get "
                 "a pedestal. For a photon-counting detector give bragg-noise --adc-offset=0 "
                 "--bits=32",
                 path);
}

/* --- the detector of an image ---------------------------------------------------------- */

bool geometry_is_image(const char *path)
{
    struct stat st;
    FILE *in = stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : fopen(path, "rbe");
    if (!in)
        return false;
    const enum filetype type = filetype_of_file(in);
    (void)fclose(in);
    return type == FILETYPE_CBF || type == FILETYPE_SMV || type == FILETYPE_CBOR;
}

enum status geometry_image_axis(const char *path, const struct image_header *h, const char *hint,
                                struct error *e)
{
    static const double UPRIGHT_RAD = 1e-6;
    if (h->has_panel || fabs(h->twotheta_rad) <= UPRIGHT_RAD)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: the detector arm is turned by %.6g deg, about an axis that is not in "
                     "the header. %s",
                     path, rad_to_deg(h->twotheta_rad), hint);
}

/* Checks that the header says where the detector is. */
static enum status check_placed(const char *path, const struct image_header *h, struct error *e)
{
    const char *missing = !(h->pixel_m > 0)      ? "pixel size"
                          : !(h->distance_m > 0) ? "distance"
                          : !h->has_beam         ? "beam position"
                                                 : NULL;
    if (missing)
        return error_set(e, STATUS_INPUT,
                         "%s: the header does not have the %s. Give --detpixels, --pixel, "
                         "--distance and --beam-center instead of --detector",
                         path, missing);
    return geometry_image_axis(path, h, "dials.import makes an experiment list, for --expt", e);
}

/* Returns the built-in detector of this number and size of pixels; NULL: there is none. */
static const struct preset_detector *find_preset(const struct image_header *h)
{
    const struct preset_detector *d;
    for (size_t i = 0; (d = preset_at(i)); i++)
        if (!d->nplaces && layout_pixels(&d->layout, 0) == h->fast &&
            layout_pixels(&d->layout, 1) == h->slow && fabs(h->pixel_m / d->pixel_m - 1) < 1e-3)
            return d;
    return NULL;
}

enum status geometry_image_panel(const char *path, const struct image_header *h,
                                 struct geom_panel *panel, struct error *e)
{
    struct image_file f;
    *panel = (struct geom_panel){.fast_pixels = h->fast,
                                 .slow_pixels = h->slow,
                                 .pixel_m = h->pixel_m,
                                 .fast = {1, 0, 0},
                                 .slow = {0, 1, 0},
                                 .corner_m = {-h->beam_fast_m, -h->beam_slow_m, h->distance_m}};
    if (h->has_panel) {
        vec_copy(panel->fast, h->fast_axis);
        vec_copy(panel->slow, h->slow_axis);
        vec_copy(panel->corner_m, h->corner_m);
    }
    const enum status s = image_file_read(path, &f, e);
    if (s)
        return s;
    const int32_t *pixels = f.image.pixels;
    for (size_t i = 0; f.image.type == PIXEL_I32 && i < f.image.count; i++) {
        if (pixels[i] >= 0)
            continue;
        if (!panel->mask) {
            panel->mask = mem_array(f.image.count, 1);
            memset(panel->mask, 1, f.image.count);
        }
        panel->mask[i] = 0;
    }
    image_free(&f.image);
    return STATUS_OK;
}

/* Takes the modules of a built-in detector with --panels=modules, or its gaps. */
static enum status take_modules(const struct geometry_options *o, const struct preset_detector *d,
                                struct geom_panel *panel, struct geometry_panels *p,
                                struct error *e)
{
    const bool modules = geometry_given(o, "panels") ? o->panels == 1 : d && d->panels;
    if (!d && modules)
        return error_set(e, STATUS_INPUT,
                         "%s: --panels=modules: no built-in detector has %" PRId64 " x %" PRId64
                         " pixels of %g mm. Remove --panels",
                         o->detector, panel->fast_pixels, panel->slow_pixels,
                         m_to_mm(panel->pixel_m));
    if (modules)
        p->layout = d->layout;
    else if (d && !panel->mask)
        layout_mask(&d->layout, &panel->mask);
    return STATUS_OK;
}

/* Reports the rotation of the image, which is an option of another program. */
static void report_rotation(const char *path, const struct image_header *h)
{
    if (h->osc_rad != 0)
        log_line(LOG_INFO, "%s: the rotation is that of bragg-orient --phi0=%.9g --osc=%.9g", path,
                 rad_to_deg(h->phi_rad), rad_to_deg(h->osc_rad));
}

enum status geometry_image_detector(const struct geometry_options *o, struct request *r,
                                    struct geometry_panels *p, struct error *e)
{
    static const double SENSOR_LEAST_M = 1e-6;  // headers give a thinner sensor for none
    struct image_header h;
    enum status s = image_header_read(o->detector, &h, e);
    s = s ? s : check_placed(o->detector, &h, e);
    if (s)
        return s;
    const struct preset_detector *d = find_preset(&h);
    struct geom_panel panel;
    s = geometry_image_panel(o->detector, &h, &panel, e);
    s = s ? s : take_modules(o, d, &panel, p, e);
    if (!s) {
        geometry_take_counting(o->detector,
                               &(struct geometry_file_detector){.name = h.detector,
                                                                .type = "",
                                                                .scaled = h.adc_offset != 0,
                                                                .image = {h.fast, h.slow},
                                                                .panel = {h.fast, h.slow},
                                                                .pixel_m = h.pixel_m},
                               p);
        geometry_take_panels(&panel, 1, r, p);
        p->saturation = p->counts && h.saturation < INT32_MAX ? h.saturation : 0;
        geometry_take_wavelength(o, o->detector, h.wavelength_m, r);
        if (h.thickness_m > SENSOR_LEAST_M)
            geometry_take_sensor(o, h.thickness_m, h.material, r);
        else if (!*h.material && d)
            geometry_take_sensor(o, d->silicon_m, "Si", r);
        report_rotation(o->detector, &h);
    }
    mem_free(panel.mask);
    return s;
}

/* --- the first image of an experiment list ---------------------------------------------- */

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
    if (seen.wavelength_m > 0 && !geometry_given(o, GEOMETRY_WAVELENGTH) &&
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
