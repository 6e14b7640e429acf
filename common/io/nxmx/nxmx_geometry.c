#include "io/nxmx/nxmx_geometry.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nexus.h"

enum { EDGE_MAX = 65536, MODULES_MAX = 1000, USER_BLOCK_MAX = 1 << 16 };
static const double PIXELS_MAX = 1 << 28;
/* COUNT_MAX: a larger saturation value means that there is no limit.  THIN_M: if the thickness
 * of a sensor is below this value, the file has it only because a reader requires one. */
static const double COUNT_MAX = 4294967294.0, THIN_M = 1e-6;

bool nxmx_is_hdf5(const char *path)
{
    static const char signature[8] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    char head[sizeof signature];
    struct stat st;
    bool found = false;
    FILE *in = stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : fopen(path, "rbe");
    /* The signature may follow a user block, whose size is 512 bytes times a power of 2. */
    for (long at = 0; in && !found && at <= USER_BLOCK_MAX; at = at ? 2 * at : 512)
        found = !fseek(in, at, SEEK_SET) && fread(head, sizeof head, 1, in) == 1 &&
                memcmp(head, signature, sizeof head) == 0;
    if (in)
        (void)fclose(in);
    return found;
}

void nxmx_geometry_free(struct nxmx_geometry *g)
{
    for (size_t i = 0; i < g->npanels; i++) {
        mem_free(g->panels[i].mask);
        mem_free(g->panels[i].reasons);
    }
    mem_free(g->panels);
    *g = (struct nxmx_geometry){0};
}

/* Adds a warning for the user about a choice that the reader had to make.  Does nothing if there
 * are NXMX_NOTES warnings already. */
__attribute__((format(printf, 2, 3))) static void add_note(struct nxmx_geometry *g,
                                                           const char *format, ...)
{
    va_list list;
    if (g->nnotes == NXMX_NOTES)
        return;
    va_start(list, format);
    (void)vsnprintf(g->notes[g->nnotes++], NXMX_NOTE, format, list);
    va_end(list);
}

/* --- one module ----------------------------------------------------------------------- */

/* A panel, and the part of the image array that has its pixels. */
struct module {
    struct geom_panel panel;
    struct nxmx_slab slab;
};

/* The detector that is read, and the entry that contains it. */
struct chosen {
    char entry[NEXUS_PATH], detector[NEXUS_PATH];
    bool ours;  // the file was written by bragg-write: if a value differs between frames, use the
                // first
};

static enum status read_slab(const struct nexus *n, const char *group, struct module *m,
                             struct error *e)
{
    char path[NEXUS_PATH];
    size_t rank = 0, sizes = 0;
    if (!nexus_has(n, group, "data_size", path))
        return nexus_lacks(n, group, "data_size", e);
    enum status s = nexus_wholes(n, path, NXMX_RANK, m->slab.size, &sizes, e);
    if (s)
        return s;
    if (sizes < 2)
        return nexus_error(n, path, e,
                           "has another shape; expected the pixels along slow and fast");
    for (size_t i = 0; i < sizes; i++)
        if (m->slab.size[i] < 1 || m->slab.size[i] > EDGE_MAX ||
            (i + 2 < sizes && m->slab.size[i] != 1))
            return nexus_error(
                n, path, e,
                "has another shape; expected 1s, then the pixels along slow and fast, from 1 to %d",
                EDGE_MAX);
    if (!nexus_has(n, group, "data_origin", path))
        return nexus_lacks(n, group, "data_origin", e);
    s = nexus_wholes(n, path, NXMX_RANK, m->slab.origin, &rank, e);
    for (size_t i = 0; i < rank && !s; i++)
        if (rank != sizes || m->slab.origin[i] < 0 || m->slab.origin[i] > INT32_MAX)
            s = nexus_error(n, path, e, "is not %zu integers from 0", sizes);
    m->slab.rank = rank;
    m->panel.slow_pixels = m->slab.size[sizes - 2];
    m->panel.fast_pixels = m->slab.size[sizes - 1];
    return s;
}

/* Computes the pose on which a data set depends: that of its own chain of depends_on or, if it
 * has none, that of the chain of the detector.  STATUS_INPUT: a chain is broken or has a loop. */
static enum status pose_below(const struct nexus *n, const char *path, const struct chosen *from,
                              struct nexus_pose *pose, struct error *e)
{
    char on[NEXUS_PATH], text[NEXUS_TEXT];
    *pose = (struct nexus_pose){.turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    enum status s = nexus_next(n, path, on, e);
    if (s)
        return s;
    if (*on)
        return nexus_pose(n, on, from->ours, pose, e);
    if (nexus_text(n, path, "depends_on", text))
        return STATUS_OK;
    if (!nexus_has(n, from->detector, "depends_on", on))
        return nexus_check(n, on, e);
    if (!nexus_text(n, on, NULL, text))
        return nexus_error(n, on, e, "is not a text of at most %d bytes", NEXUS_TEXT - 1);
    if (!*text || strcmp(text, ".") == 0)
        return STATUS_OK;
    nexus_resolve(n, from->detector, text, on);
    return *on ? nexus_pose(n, on, from->ours, pose, e)
               : nexus_error(n, from->detector, e, "depends_on is %.200s, which is missing", text);
}

/* Converts a vector from NeXus' coordinate system to that of the beam (struct place). */
static void to_beam(const double v[3], double out[3])
{
    out[0] = 0.0 - v[0];
    out[1] = 0.0 - v[1];
    out[2] = v[2];
}

/* Reads the pixel vector `name` of a module.  *pixel_m gets the length of a pixel along the
 * axis, and `axis` the direction in the coordinate system of the beam.  origin_m gets the
 * origin, in NeXus' coordinate system, of the transformation on which the vector depends. */
static enum status read_axis(const struct nexus *n, const char *group, const char *name,
                             const struct chosen *from, double *pixel_m, double axis[3],
                             double origin_m[3], struct error *e)
{
    char path[NEXUS_PATH];
    struct nexus_pose pose;
    double v[3], turned[3], length;
    if (!nexus_has(n, group, name, path))
        return nexus_lacks(n, group, name, e);
    enum status s = nexus_real(n, path, NEXUS_LENGTH, pixel_m, e);
    s = s ? s : nexus_vector(n, path, v, &length, e);
    s = s ? s : pose_below(n, path, from, &pose, e);
    if (s)
        return s;
    *pixel_m *= length;
    if (!(*pixel_m >= 1e-7 && *pixel_m <= 1))
        return nexus_error(n, path, e, "a pixel edge of %g m; expected a value from 1e-7 to 1 m",
                           *pixel_m);
    mat_apply(pose.turn, v, turned);
    to_beam(turned, axis);
    memcpy(origin_m, pose.shift_m, sizeof pose.shift_m);
    return STATUS_OK;
}

static enum status read_module(const struct nexus *n, const char *group, const struct chosen *from,
                               struct module *m, struct error *e)
{
    char path[NEXUS_PATH];
    struct nexus_pose pose;
    double slow_m, origin_m[3], other_m[3];
    struct geom_panel *p = &m->panel;
    enum status s = read_slab(n, group, m, e);
    s = s ? s
          : read_axis(n, group, "fast_pixel_direction", from, &p->pixel_m, p->fast, origin_m, e);
    s = s ? s : read_axis(n, group, "slow_pixel_direction", from, &slow_m, p->slow, other_m, e);
    if (!s && nexus_has(n, group, "module_offset", path)) {
        s = nexus_pose(n, path, from->ours, &pose, e);
        memcpy(origin_m, pose.shift_m, sizeof origin_m);
    } else if (!s) {
        s = nexus_check(n, path, e);
    }
    if (s)
        return s;
    to_beam(origin_m, p->corner_m);
    const double across =
        p->fast[0] * p->slow[0] + p->fast[1] * p->slow[1] + p->fast[2] * p->slow[2];
    if (!(fabs(slow_m / p->pixel_m - 1) < 1e-6) || !(fabs(across) < 1e-6))
        return nexus_error(
            n, group, e,
            "pixels are not square (got edges of %g and %g m, with axes at %.6g deg); "
            "expected equal edges and axes at 90 deg",
            p->pixel_m, slow_m, acos(across) * 180 / M_PI);
    return STATUS_OK;
}

/* --- all modules ------------------------------------------------------------------------ */

static int by_origin(const void *a, const void *b)
{
    const struct nxmx_slab *x = &((const struct module *)a)->slab;
    const struct nxmx_slab *y = &((const struct module *)b)->slab;
    for (size_t i = 0; i < NXMX_RANK; i++)
        if (x->origin[i] != y->origin[i])
            return x->origin[i] < y->origin[i] ? -1 : 1;
    return 0;
}

static enum status read_modules(const struct nexus *n, const struct chosen *from,
                                struct module **list, size_t *count, struct error *e)
{
    const char *const detector = from->detector;
    char group[NEXUS_PATH], reason[HDF5_REASON];
    double pixels = 0;
    size_t room = 0;
    hsize_t at = 0;
    enum status s = STATUS_OK;
    while (!s && nexus_child(n, detector, "NXdetector_module", &at, group)) {
        if (*count == MODULES_MAX)
            return nexus_error(n, detector, e, "has too many modules; expected at most %d",
                               MODULES_MAX);
        *list = mem_grow(*list, *count, 1, sizeof **list, &room);
        struct module *m = &(*list)[*count];
        memset(m, 0, sizeof *m);
        s = read_module(n, group, from, m, e);
        pixels += (double)m->panel.fast_pixels * (double)m->panel.slow_pixels;
        (*count)++;
        if (!s && pixels > PIXELS_MAX)
            s = nexus_error(n, detector, e, "has too many pixels; expected at most %.0f",
                            PIXELS_MAX);
    }
    if (!s && nexus_broken(n, detector, *count ? "module" : "", reason))
        s = error_set(e, STATUS_INPUT, "%s: %s", n->path, reason);
    if (!s && !*count)
        s = nexus_error(n, detector, e, "has no NXdetector_module");
    if (!s)
        qsort(*list, *count, sizeof **list, by_origin);
    return s;
}

/* Compares the size of the modules with the size of the images and of the mask.  If they show
 * that data_size has the fast axis first, swaps the axes of the module and adds a warning: files
 * of the EIGER2 have this order.  STATUS_INPUT: the sizes differ. */
static enum status compare_sizes(const struct nexus *n, const struct chosen *from,
                                 struct module *list, size_t count, struct nxmx_geometry *g,
                                 struct error *e)
{
    struct nxmx_shape shape = {.rank = list->slab.rank};
    struct nxmx_slab *slab = &list->slab;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < shape.rank && list[i].slab.rank == shape.rank; k++) {
            const int64_t end = list[i].slab.origin[k] + list[i].slab.size[k];
            shape.size[k] = end > shape.size[k] ? end : shape.size[k];
        }
    const size_t fast = shape.rank - 1, slow = fast - 1;
    shape.may_swap = count == 1 && !slab->origin[fast] && !slab->origin[slow];
    const enum status s = nxmx_shape_compare(n, from->entry, from->detector, &shape, e);
    if (s || !shape.swapped)
        return s;
    const int64_t first = slab->size[slow];
    list->panel.slow_pixels = slab->size[slow] = slab->size[fast];
    list->panel.fast_pixels = slab->size[fast] = first;
    add_note(g,
             "data_size is %" PRId64 ", %" PRId64
             " (fast, slow), but the images have slow first; %" PRId64 " x %" PRId64
             " pixels (fast x slow) are used",
             slab->size[fast], slab->size[slow], slab->size[fast], slab->size[slow]);
    return STATUS_OK;
}

static enum status take_modules(const struct nexus *n, const char *detector,
                                const struct module *list, size_t count, struct nxmx_geometry *g,
                                struct error *e)
{
    char path[NEXUS_PATH];
    struct error why;
    const bool masked = nexus_has(n, detector, "pixel_mask", path);
    g->mask_unread = nexus_check(n, path, &why) != STATUS_OK;  // the mask file may be missing
    g->panels = mem_array(count, sizeof *g->panels);
    g->npanels = count;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count && !s; i++) {
        const struct nxmx_slab *slab = &list[i].slab;
        g->panels[i] = list[i].panel;
        for (size_t k = 0; k < 2; k++)
            g->panels[i].first[k] = slab->origin[slab->rank - 1 - k];
        if (masked && !g->mask_unread)
            s = nxmx_mask_read(n, path, &list[i].slab, &g->panels[i], &g->mask_unread, e);
    }
    return s;
}

/* --- sensor and consistency checks -------------------------------------------------------- */

/* Reads the number of a data set of a group.  *value is unchanged if there is no such data set.
 * STATUS_INPUT: the data set exists, but cannot be read. */
static enum status read_optional(const struct nexus *n, const char *group, const char *name,
                                 enum nexus_kind kind, double *value, struct error *e)
{
    char path[NEXUS_PATH];
    return nexus_has(n, group, name, path) ? nexus_real(n, path, kind, value, e)
                                           : nexus_check(n, path, e);
}

/* Compares x_pixel_size and y_pixel_size of the detector, if the file has them, with the pixels
 * of the first module.  STATUS_INPUT: they differ by 0.1% or more. */
static enum status compare_pixels(const struct nexus *n, const struct chosen *from,
                                  const struct nxmx_geometry *g, struct error *e)
{
    static const char *const names[] = {"x_pixel_size", "y_pixel_size"};
    enum status s = STATUS_OK;
    for (int i = 0; i < 2 && !s; i++) {
        double size_m = 0;
        s = read_optional(n, from->detector, names[i], NEXUS_LENGTH, &size_m, e);
        if (!s && size_m > 0 && !(fabs(size_m / g->panels->pixel_m - 1) < 1e-3))
            s = nexus_error(n, from->detector, e, "%s is %g m, but pixels of the modules have %g m",
                            names[i], size_m, g->panels->pixel_m);
    }
    return s;
}

/* Adds a warning if `distance` of the detector differs by 1% or more from the distance that
 * follows from the transformations, which is used.  Only detectors of a single panel
 * perpendicular to the beam are compared. */
static void compare_distance(const struct nexus *n, const struct chosen *from,
                             struct nxmx_geometry *g)
{
    double said_m = 0;
    struct error ignored;
    const struct geom_panel *p = g->panels;
    const double tilt = fmax(fabs(p->fast[2]), fabs(p->slow[2]));
    if (from->ours || g->npanels > 1 || tilt > 1e-3 ||
        read_optional(n, from->detector, "distance", NEXUS_LENGTH, &said_m, &ignored) ||
        !(said_m > 0) || fabs(p->corner_m[2] / said_m - 1) < 0.01)
        return;
    add_note(g, "%.200s/distance is %g m, but its transformations lead to %g m, which are used",
             from->detector, said_m, p->corner_m[2]);
}

/* Computes where the beam meets the plane of a panel, in pixels from the corner of the first
 * pixel.  Returns false if the plane is parallel to the beam. */
static bool find_beam(const struct geom_panel *p, double px[2])
{
    const double det = p->fast[0] * p->slow[1] - p->fast[1] * p->slow[0];
    if (!(fabs(det) > 1e-6))
        return false;
    px[0] = (p->corner_m[1] * p->slow[0] - p->corner_m[0] * p->slow[1]) / det / p->pixel_m;
    px[1] = (p->corner_m[0] * p->fast[1] - p->corner_m[1] * p->fast[0]) / det / p->pixel_m;
    return true;
}

/* Reads one coordinate of the beam centre, in pixels.  Some programs write the coordinate as a
 * length, which is then converted.  Returns false if the file does not have it. */
static bool read_centre(const struct nexus *n, const char *detector, const char *name,
                        double pixel_m, double *px)
{
    char path[NEXUS_PATH], units[NEXUS_TEXT];
    double factor;
    struct error ignored;
    if (!nexus_has(n, detector, name, path) || nexus_real(n, path, NEXUS_COUNT, px, &ignored))
        return false;
    if (!nexus_text(n, path, "units", units) ||
        nexus_unit(n, path, "units", NEXUS_LENGTH, &factor, &ignored))
        factor = pixel_m;
    *px *= factor / pixel_m;
    return true;
}

/* Adds a warning if beam_center_x and beam_center_y of the detector differ by more than 2 pixels
 * from the centre that follows from the transformations, which is used.  Only detectors of a
 * single panel are compared.  0, 0 is ignored: programs write it if they do not know the centre. */
static void compare_centre(const struct nexus *n, const struct chosen *from,
                           struct nxmx_geometry *g)
{
    double said[2], found[2];
    const struct geom_panel *p = g->panels;
    if (from->ours || g->npanels > 1 || !find_beam(p, found) ||
        !read_centre(n, from->detector, "beam_center_x", p->pixel_m, &said[0]) ||
        !read_centre(n, from->detector, "beam_center_y", p->pixel_m, &said[1]) ||
        (said[0] == 0 && said[1] == 0) || hypot(said[0] - found[0], said[1] - found[1]) <= 2)
        return;
    add_note(g,
             "%.120s/beam_center_x and _y are %.6g, %.6g pixels, but its transformations lead to "
             "%.6g, %.6g, which are used",
             from->detector, said[0], said[1], found[0], found[1]);
}

/* Adds a warning if the photon energy for which the detector was configured differs by more than
 * 1% from that of the beam, which is used. */
static void compare_energy(const struct nexus *n, const struct chosen *from,
                           struct nxmx_geometry *g)
{
    char path[NEXUS_PATH];
    double said_eV = 0;
    struct error ignored;
    if (!(g->wavelength_m > 0) || (g->names_probe && g->probe != PROBE_XRAY) ||
        !nexus_has(n, from->detector, "detectorSpecific/photon_energy", path) ||
        nexus_real(n, path, NEXUS_ENERGY, &said_eV, &ignored) || !(said_eV > 0) ||
        fabs(said_eV / m_to_ev(g->wavelength_m) - 1) <= 0.01)
        return;
    add_note(g, "%.200s is %.6g eV, but the beam has %.6g eV, which is used", path, said_eV,
             m_to_ev(g->wavelength_m));
}

static enum status read_sensor(const struct nexus *n, const char *detector, struct nxmx_geometry *g,
                               struct error *e)
{
    char path[NEXUS_PATH], material[NEXUS_TEXT] = "", name[NEXUS_TEXT] = "";
    enum status s =
        read_optional(n, detector, "sensor_thickness", NEXUS_LENGTH, &g->thickness_m, e);
    if (!s && !(g->thickness_m >= 0 && g->thickness_m <= 1))
        s = nexus_error(n, detector, e, "sensor_thickness is %g m; expected 0 to 1 m",
                        g->thickness_m);
    if (!(g->thickness_m >= THIN_M))
        g->thickness_m = 0;
    if (!s && nexus_has(n, detector, "sensor_material", path) &&
        !nexus_text(n, path, NULL, material))
        s = nexus_error(n, path, e, "is not a text");
    const bool silicon = strcasecmp(material, "Silicon") == 0 || strcasecmp(material, "Si") == 0;
    (void)snprintf(g->material, sizeof g->material, "%.15s", silicon ? "Si" : material);
    if (nexus_has(n, detector, "description", path) && nexus_text(n, path, NULL, name))
        (void)snprintf(g->name, sizeof g->name, "%.127s", name);
    s = s ? s : read_optional(n, detector, "saturation_value", NEXUS_COUNT, &g->saturation, e);
    if (!s && g->saturation < 0)
        add_note(g, "%.200s/saturation_value is %g, so no pixel counts as saturated", detector,
                 g->saturation);
    if (!(g->saturation > 0 && g->saturation <= COUNT_MAX))
        g->saturation = 0;
    return s;
}

/* --- wavelength ------------------------------------------------------------------------ */

/* Reads a wavelength or an energy from one data set, which has one number for all frames or one per
 * frame.  The first data set that has a wavelength is used.  If a later one differs, its value is
 * stored in other_wavelength_m. */
static enum status take_wavelength(const struct nexus *n, const char *path, bool energy, bool ours,
                                   struct nxmx_geometry *g, struct error *e)
{
    struct nexus_range range;
    const enum status s = nexus_reals(n, path, energy ? NEXUS_ENERGY : NEXUS_LENGTH, &range, e);
    if (s)
        return s;
    if (energy) {
        const double first_m = range.first > 0 ? ev_to_m(range.first) : 0;
        const double least_m = range.most > 0 ? ev_to_m(range.most) : 0;
        const double most_m = range.least > 0 ? ev_to_m(range.least) : 0;
        range = (struct nexus_range){range.count, first_m, least_m, most_m};
    }
    if (!(range.least >= 1e-14 && range.most <= 1e-6))
        return nexus_error(n, path, e,
                           "a wavelength of %g m; expected a value from 1e-14 to 1e-6 m",
                           range.least >= 1e-14 ? range.most : range.least);
    if (g->wavelength_m > 0) {
        if (!(fabs(range.first / g->wavelength_m - 1) < 1e-3))
            g->other_wavelength_m = range.first;
        return STATUS_OK;
    }
    g->wavelength_m = range.first;
    if (!ours && range.most - range.least > 1e-6 * range.most)
        (void)snprintf(g->wavelengths, sizeof g->wavelengths,
                       "%.200s: %zu numbers from %.6g to %.6g A; expected one", path, range.count,
                       range.least * 1e10, range.most * 1e10);
    return STATUS_OK;
}

/* Reads the wavelength of the beam of the instrument, of the beam of the sample, and of the
 * monochromator, in this order. */
static enum status read_wavelength(const struct nexus *n, const struct chosen *from,
                                   struct nxmx_geometry *g, struct error *e)
{
    static const char *const places[][4] = {
        {"NXinstrument", "NXbeam", "incident_wavelength", "incident_energy"},
        {"NXsample", "NXbeam", "incident_wavelength", "incident_energy"},
        {"NXinstrument", "NXmonochromator", "wavelength", "energy"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char group[NEXUS_PATH], beam[NEXUS_PATH], path[NEXUS_PATH], reason[HDF5_REASON];
        hsize_t at[2] = {0, 0};
        if (!nexus_child(n, from->entry, places[i][0], &at[0], group))
            continue;
        if (!nexus_child(n, group, places[i][1], &at[1], beam)) {
            if (nexus_broken(n, group, i < 2 ? "beam" : "mono", reason))
                return error_set(e, STATUS_INPUT, "%s: %s", n->path, reason);
            continue;
        }
        for (int k = 2; k < 4; k++) {
            char weights[NEXUS_PATH];
            enum status s = STATUS_OK;
            if (!nexus_has(n, beam, places[i][k], path)) {
                if ((s = nexus_check(n, path, e)))
                    return s;
                continue;
            }
            if (nexus_has(n, beam, "incident_wavelength_weights", weights))
                return nexus_error(n, path, e, "is a spectrum; expected one wavelength");
            if ((s = take_wavelength(n, path, k == 3, from->ours, g, e)))
                return s;
        }
    }
    return STATUS_OK;
}

/* Reads the particles of the beam from the source, which is in the entry or in the instrument.
 * Names that are not known are ignored. */
static void read_probe(const struct nexus *n, const char *entry, struct nxmx_geometry *g)
{
    char group[NEXUS_PATH], source[NEXUS_PATH], path[NEXUS_PATH], name[NEXUS_TEXT];
    hsize_t at = 0, first = 0, second = 0;
    const bool found = nexus_child(n, entry, "NXsource", &at, source) ||
                       (nexus_child(n, entry, "NXinstrument", &first, group) &&
                        nexus_child(n, group, "NXsource", &second, source));
    if (found && nexus_has(n, source, "probe", path) && nexus_text(n, path, NULL, name))
        g->names_probe = probe_named(name, &g->probe);
}

/* Subtracts the shift of the first frame from the positions of the panels, which then are those
 * of the detector without a shift.  Only files of bragg-write with a moving detector have such
 * shifts; does nothing for other files. */
static enum status take_back_shift(const struct nexus *n, const char *entry, const char *detector,
                                   struct nxmx_geometry *g, struct error *e)
{
    struct nexus_range range;
    static const char *const names[] = {"transformations/shift_x", "transformations/shift_y",
                                        "transformations/shift_z"};
    char path[NEXUS_PATH];
    double nexus_m[3], by_m[3];
    if (!nexus_has(n, entry, "braggpipe/detector_shift", path))
        return STATUS_OK;
    for (int i = 0; i < 3; i++) {
        if (!nexus_has(n, detector, names[i], path))
            return STATUS_OK;
        const enum status s = nexus_reals(n, path, NEXUS_LENGTH, &range, e);
        if (s)
            return s;
        nexus_m[i] = range.first;
    }
    to_beam(nexus_m, by_m);
    for (size_t i = 0; i < 3 * g->npanels; i++)
        g->panels[i / 3].corner_m[i % 3] -= by_m[i % 3];
    return STATUS_OK;
}

/* Finds the next detector of an entry that has modules or, if `bare`, any next detector.
 * `detector` gets the path.  at[] has the search positions among the instruments and among the
 * detectors of one instrument, at first 0.  Returns false if there is no further detector. */
static bool next_detector(const struct nexus *n, const char *entry, bool bare, hsize_t at[2],
                          char detector[NEXUS_PATH])
{
    char instrument[NEXUS_PATH], module[NEXUS_PATH];
    for (; nexus_child(n, entry, "NXinstrument", &at[0], instrument); at[1] = 0) {
        while (nexus_child(n, instrument, "NXdetector", &at[1], detector)) {
            hsize_t first = 0;
            if (bare || nexus_child(n, detector, "NXdetector_module", &first, module)) {
                at[0]--;  // the instrument may have more detectors: search it again
                return true;
            }
        }
    }
    return false;
}

/* Chooses the first detector with modules or, if `bare`, the first detector.  Prefers a detector
 * in the default entry.  *others gets the number of further detectors.  Returns false if there
 * is no detector. */
static bool choose_detector(const struct nexus *n, bool bare, struct chosen *from, size_t *others)
{
    char usual[NEXUS_TEXT] = "", entry[NEXUS_PATH], detector[NEXUS_PATH];
    hsize_t at = 0;
    size_t count = 0;
    bool by_default = false;
    (void)nexus_text(n, "/", "default", usual);
    while (nexus_child(n, "/", "NXentry", &at, entry)) {
        const bool is_usual = strcmp(entry + 1, usual) == 0;
        hsize_t in[2] = {0, 0};
        for (size_t k = 0; next_detector(n, entry, bare, in, detector); k++) {
            if (!count++ || (is_usual && !by_default)) {
                memcpy(from->entry, entry, sizeof entry);
                memcpy(from->detector, detector, sizeof detector);
                by_default = is_usual;
            }
        }
    }
    *others = count ? count - 1 : 0;
    return count;
}

/* Sets *e to the error that the file has no detector.  If a link to a group is broken, the error
 * names the link, because it is the probable reason.  Returns STATUS_INPUT. */
static enum status no_detector(const struct nexus *n, struct error *e)
{
    static const char *const classes[] = {"NXentry", "NXinstrument", NULL};
    char here[NEXUS_PATH] = "/", next[NEXUS_PATH], reason[HDF5_REASON];
    for (int i = 0; i < 3; i++) {
        hsize_t at = 0;
        if (nexus_broken(n, here, "", reason))
            return error_set(e, STATUS_INPUT, "%s: %s", n->path, reason);
        if (!classes[i] || !nexus_child(n, here, classes[i], &at, next))
            break;
        memcpy(here, next, sizeof here);
    }
    return error_set(
        e, STATUS_INPUT,
        "%s: not an NXmx file: it has no NXentry with an NXinstrument with an NXdetector", n->path);
}

static enum status read_all(const struct nexus *n, struct nxmx_geometry *g, struct error *e)
{
    struct chosen from = {0};
    struct module *list = NULL;
    char path[NEXUS_PATH];
    size_t count = 0, others = 0;
    if (!choose_detector(n, false, &from, &others) && !choose_detector(n, true, &from, &others))
        return no_detector(n, e);
    if (others)
        add_note(g, "has %zu detectors; %.200s is used", others + 1, from.detector);
    from.ours = nexus_has(n, from.entry, "braggpipe/frames", path);
    enum status s = read_modules(n, &from, &list, &count, e);
    s = s ? s : compare_sizes(n, &from, list, count, g, e);
    s = s ? s : take_modules(n, from.detector, list, count, g, e);
    s = s ? s : compare_pixels(n, &from, g, e);
    s = s ? s : read_sensor(n, from.detector, g, e);
    if (!s && from.ours)
        s = read_optional(n, from.entry, "braggpipe/adc_offset", NEXUS_COUNT, &g->adc_offset, e);
    if (!s && from.ours)
        s = read_optional(n, from.entry, "braggpipe/gain", NEXUS_COUNT, &g->gain, e);
    s = s ? s : take_back_shift(n, from.entry, from.detector, g, e);
    s = s ? s : read_wavelength(n, &from, g, e);
    if (!s)
        read_probe(n, from.entry, g);
    if (!s) {
        compare_distance(n, &from, g);
        compare_centre(n, &from, g);
        compare_energy(n, &from, g);
    }
    mem_free(list);
    return s;
}

/* hdf5_reader for the trial process: reads the geometry once and discards it. */
static void read_once(struct hdf5_file *f)
{
    const struct nexus n = {f->id, ""};
    struct nxmx_geometry g = {0};
    struct error ignored;
    (void)read_all(&n, &g, &ignored);
    nxmx_geometry_free(&g);
}

enum status nxmx_geometry_read(const char *path, struct nxmx_geometry *g, struct error *e)
{
    struct hdf5_file f;
    *g = (struct nxmx_geometry){0};
    enum status s = hdf5_open(&f, path, read_once, e);
    if (s)
        return s;
    const struct nexus n = {f.id, path};
    s = read_all(&n, g, e);
    hdf5_abort(&f);
    return s;
}
