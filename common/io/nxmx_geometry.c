#include "io/nxmx_geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/hdf5_file.h"
#include "io/nexus.h"
#include "io/nxmx_mask.h"
#include "io/trial.h"

enum { EDGE_MAX = 65536, MODULES_MAX = 1000 };
static const double PIXELS_MAX = 1 << 28;
/* What is trusted up to there, or more, has no limit; a sensor so thin stands for none. */
static const double COUNT_MAX = 4294967294.0, THIN_M = 1e-6;
static const double EV_J = 1.602176634e-19;

bool nxmx_is_hdf5(const char *path)
{
    static const char signature[8] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    char head[sizeof signature];
    struct stat st;
    FILE *in = stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : fopen(path, "rb");
    const bool good = in && fread(head, sizeof head, 1, in) == 1;
    if (in)
        (void)fclose(in);
    return good && memcmp(head, signature, sizeof head) == 0;
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

/* --- a module ------------------------------------------------------------------------- */

/* A panel and where its pixels are in the data. */
struct module {
    struct geom_panel panel;
    struct nxmx_slab slab;
};

static enum status read_slab(const struct nexus *n, const char *group, struct module *m,
                             struct error *e)
{
    char path[NEXUS_PATH];
    size_t rank = 0, sizes = 0;
    if (!nexus_has(n, group, "data_size", path))
        return nexus_error(n, group, e, "has no data_size");
    enum status s = nexus_wholes(n, path, NXMX_RANK, m->slab.size, &sizes, e);
    if (s)
        return s;
    if (sizes < 2)
        return nexus_error(n, path, e, "must hold the pixels along slow and fast");
    for (size_t i = 0; i < sizes; i++)
        if (m->slab.size[i] < 1 || m->slab.size[i] > EDGE_MAX ||
            (i + 2 < sizes && m->slab.size[i] != 1))
            return nexus_error(n, path, e,
                               "must hold pixels along slow and fast, from 1 to %d, behind 1s",
                               EDGE_MAX);
    if (!nexus_has(n, group, "data_origin", path))
        return nexus_error(n, group, e, "has no data_origin");
    s = nexus_wholes(n, path, NXMX_RANK, m->slab.origin, &rank, e);
    for (size_t i = 0; i < rank && !s; i++)
        if (rank != sizes || m->slab.origin[i] < 0 || m->slab.origin[i] > INT32_MAX)
            s = nexus_error(n, path, e, "must hold %zu whole numbers from 0", sizes);
    m->slab.rank = rank;
    m->panel.slow_pixels = m->slab.size[sizes - 2];
    m->panel.fast_pixels = m->slab.size[sizes - 1];
    return s;
}

/* The pose on which a data set stands: by its own chain, or else by that of the detector. */
static enum status pose_below(const struct nexus *n, const char *path, const char *detector,
                              struct nexus_pose *pose, struct error *e)
{
    char on[NEXUS_PATH], text[NEXUS_TEXT];
    *pose = (struct nexus_pose){.turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    if (nexus_next(n, path, on))
        return nexus_pose(n, on, pose, e);
    if (nexus_text(n, path, "depends_on", text) || !nexus_has(n, detector, "depends_on", on) ||
        !nexus_text(n, on, NULL, text) || strcmp(text, ".") == 0)
        return STATUS_OK;
    const bool fits = *text == '/' ? snprintf(on, sizeof on, "%s", text) < NEXUS_PATH
                                   : snprintf(on, sizeof on, "%s/%s", detector, text) < NEXUS_PATH;
    return fits ? nexus_pose(n, on, pose, e) : STATUS_OK;
}

/* From NeXus' lab to the frame of the beam. */
static void to_beam(const double v[3], double out[3])
{
    out[0] = 0.0 - v[0];
    out[1] = 0.0 - v[1];
    out[2] = v[2];
}

/* Length of a pixel along an axis, and the axis in the frame of the beam. */
static enum status read_axis(const struct nexus *n, const char *group, const char *name,
                             const char *detector, double *pixel_m, double axis[3],
                             double origin_m[3], struct error *e)
{
    char path[NEXUS_PATH];
    struct nexus_pose pose;
    double v[3], turned[3], length;
    if (!nexus_has(n, group, name, path))
        return nexus_error(n, group, e, "has no %s", name);
    enum status s = nexus_real(n, path, pixel_m, e);
    s = s ? s : nexus_vector(n, path, v, &length, e);
    s = s ? s : pose_below(n, path, detector, &pose, e);
    if (s)
        return s;
    *pixel_m *= length;
    if (!(*pixel_m >= 1e-7 && *pixel_m <= 1))
        return nexus_error(n, path, e, "a pixel of %g m, must be from 1e-7 to 1 m", *pixel_m);
    mat_apply(pose.turn, v, turned);
    to_beam(turned, axis);
    memcpy(origin_m, pose.shift_m, sizeof pose.shift_m);
    return STATUS_OK;
}

static enum status read_module(const struct nexus *n, const char *group, const char *detector,
                               struct module *m, struct error *e)
{
    char path[NEXUS_PATH];
    struct nexus_pose pose;
    double slow_m, origin_m[3], other_m[3];
    struct geom_panel *p = &m->panel;
    enum status s = read_slab(n, group, m, e);
    s = s ? s
          : read_axis(n, group, "fast_pixel_direction", detector, &p->pixel_m, p->fast, origin_m,
                      e);
    s = s ? s : read_axis(n, group, "slow_pixel_direction", detector, &slow_m, p->slow, other_m, e);
    if (!s && nexus_has(n, group, "module_offset", path) && !(s = nexus_pose(n, path, &pose, e)))
        memcpy(origin_m, pose.shift_m, sizeof origin_m);
    if (s)
        return s;
    to_beam(origin_m, p->corner_m);
    const double across =
        p->fast[0] * p->slow[0] + p->fast[1] * p->slow[1] + p->fast[2] * p->slow[2];
    if (!(fabs(slow_m / p->pixel_m - 1) < 1e-6) || !(fabs(across) < 1e-6))
        return nexus_error(n, group, e,
                           "pixels must be square, they are of %g and %g m with axes at %.6g deg",
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

static enum status read_modules(const struct nexus *n, const char *detector, struct module **list,
                                size_t *count, struct error *e)
{
    char group[NEXUS_PATH];
    double pixels = 0;
    size_t room = 0;
    hsize_t at = 0;
    enum status s = STATUS_OK;
    while (!s && nexus_child(n, detector, "NXdetector_module", &at, group)) {
        if (*count == MODULES_MAX)
            return nexus_error(n, detector, e, "has more than %d modules", MODULES_MAX);
        struct module *more = mem_grow(*list, *count, 1, sizeof **list, &room);
        if (!more)
            return error_memory(e, "the modules");
        *list = more;
        struct module *m = &(*list)[*count];
        memset(m, 0, sizeof *m);
        s = read_module(n, group, detector, m, e);
        pixels += (double)m->panel.fast_pixels * (double)m->panel.slow_pixels;
        (*count)++;
        if (!s && pixels > PIXELS_MAX)
            s = nexus_error(n, detector, e, "has more than %.0f pixels", PIXELS_MAX);
    }
    if (!s && !*count)
        s = nexus_error(n, detector, e, "has no NXdetector_module");
    if (!s)
        qsort(*list, *count, sizeof **list, by_origin);
    return s;
}

static enum status take_modules(const struct nexus *n, const char *detector,
                                const struct module *list, size_t count, struct nxmx_geometry *g,
                                struct error *e)
{
    char path[NEXUS_PATH];
    const bool masked = nexus_has(n, detector, "pixel_mask", path);
    g->mask_unread = !masked && H5Lexists(n->file, path, H5P_DEFAULT) > 0;  // in another file
    g->panels = mem_array(count, sizeof *g->panels);
    if (!g->panels)
        return error_memory(e, "the panels");
    g->npanels = count;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count && !s; i++) {
        g->panels[i] = list[i].panel;
        if (masked && !g->mask_unread)
            s = nxmx_mask_read(n, path, &list[i].slab, &g->panels[i], &g->mask_unread, e);
    }
    return s;
}

/* --- the rest ----------------------------------------------------------------------------- */

static enum status read_sensor(const struct nexus *n, const char *detector, struct nxmx_geometry *g,
                               struct error *e)
{
    char path[NEXUS_PATH], material[NEXUS_TEXT] = "";
    enum status s = STATUS_OK;
    if (nexus_has(n, detector, "sensor_thickness", path))
        s = nexus_real(n, path, &g->thickness_m, e);
    if (!s && !(g->thickness_m >= 0 && g->thickness_m <= 1))
        s = nexus_error(n, path, e, "a sensor of %g m, must be from 0 to 1 m", g->thickness_m);
    if (!(g->thickness_m >= THIN_M))
        g->thickness_m = 0;
    if (nexus_has(n, detector, "sensor_material", path))
        (void)nexus_text(n, path, NULL, material);
    const bool silicon = strcasecmp(material, "Silicon") == 0 || strcasecmp(material, "Si") == 0;
    (void)snprintf(g->material, sizeof g->material, "%.15s", silicon ? "Si" : material);
    if (!s && nexus_has(n, detector, "saturation_value", path))
        s = nexus_real(n, path, &g->saturation, e);
    if (!(g->saturation > 0 && g->saturation <= COUNT_MAX))
        g->saturation = 0;
    return s;
}

/* --- wavelength ------------------------------------------------------------------------ */

/* What a unit of energy is in eV; 0: unknown.  NeXus' own unit is J. */
static double energy_eV(const char *units)
{
    static const struct {
        const char *name;
        double eV;
    } known[] = {{"eV", 1}, {"keV", 1e3}, {"MeV", 1e6}, {"J", 1 / EV_J}, {"joule", 1 / EV_J}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(units, known[i].name) == 0)
            return known[i].eV;
    return 0;
}

/* A wavelength or an energy at `path`, in m. */
static enum status read_length_m(const struct nexus *n, const char *path, bool energy, double *m,
                                 struct error *e)
{
    char units[NEXUS_TEXT] = "";
    const bool has_units = nexus_text(n, path, "units", units);
    if (!energy) {
        const enum status s = nexus_real(n, path, m, e);
        *m *= has_units ? 1 : 1e-10;  // NeXus' own unit
        return s;
    }
    const double eV = energy_eV(units);
    double value = 0;
    if (!(eV > 0))
        return nexus_error(n, path, e, "units '%.40s' are not known, must be eV, keV or J", units);
    const enum status s = nexus_number(n, path, &value, e);
    *m = value > 0 ? ev_to_m(value * eV) : 0;
    return s;
}

/* The field of a group, if it is there: the first one counts. */
static enum status take_wavelength(const struct nexus *n, const char *group, const char *name,
                                   struct nxmx_geometry *g, struct error *e)
{
    char path[NEXUS_PATH], weights[NEXUS_PATH];
    double found_m = 0;
    if (!nexus_has(n, group, name, path))
        return STATUS_OK;
    if (nexus_has(n, group, "incident_wavelength_weights", weights))
        return nexus_error(n, path, e, "is a spectrum, must be one wavelength");
    const enum status s = read_length_m(n, path, strstr(name, "energy"), &found_m, e);
    if (s)
        return s;
    if (!(found_m >= 1e-14 && found_m <= 1e-6))
        return nexus_error(n, path, e, "a wavelength of %g m, must be from 1e-14 to 1e-6 m",
                           found_m);
    if (g->wavelength_m > 0 && !(fabs(found_m / g->wavelength_m - 1) < 1e-3))
        g->other_wavelength_m = found_m;
    g->wavelength_m = g->wavelength_m > 0 ? g->wavelength_m : found_m;
    return STATUS_OK;
}

/* Of the beam of the instrument, or else of the sample, or else of the monochromator. */
static enum status read_wavelength(const struct nexus *n, const char *entry,
                                   struct nxmx_geometry *g, struct error *e)
{
    static const char *const places[][4] = {
        {"NXinstrument", "NXbeam", "incident_wavelength", "incident_energy"},
        {"NXsample", "NXbeam", "incident_wavelength", "incident_energy"},
        {"NXinstrument", "NXmonochromator", "wavelength", "energy"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char group[NEXUS_PATH], below[NEXUS_PATH];
        hsize_t at[2] = {0, 0};
        if (!nexus_child(n, entry, places[i][0], &at[0], group) ||
            !nexus_child(n, group, places[i][1], &at[1], below))
            continue;
        for (int k = 2; k < 4; k++) {
            const enum status s = take_wavelength(n, below, places[i][k], g, e);
            if (s)
                return s;
        }
    }
    return STATUS_OK;
}

/* In our own files of a detector that moves: from where it stands in the first frame to where it
 * stands without a shift. */
static enum status take_back_shift(const struct nexus *n, const char *entry, const char *detector,
                                   struct nxmx_geometry *g, struct error *e)
{
    static const char *const names[] = {"transformations/shift_x", "transformations/shift_y",
                                        "transformations/shift_z"};
    char path[NEXUS_PATH];
    double nexus_m[3], by_m[3];
    if (!nexus_has(n, entry, "braggpipe/detector_shift", path))
        return STATUS_OK;
    for (int i = 0; i < 3; i++) {
        if (!nexus_has(n, detector, names[i], path))
            return STATUS_OK;
        const enum status s = nexus_real(n, path, &nexus_m[i], e);
        if (s)
            return s;
    }
    to_beam(nexus_m, by_m);
    for (size_t i = 0; i < 3 * g->npanels; i++)
        g->panels[i / 3].corner_m[i % 3] -= by_m[i % 3];
    return STATUS_OK;
}

static enum status read_all(const struct nexus *n, struct nxmx_geometry *g, struct error *e)
{
    char entry[NEXUS_PATH], instrument[NEXUS_PATH], detector[NEXUS_PATH];
    struct module *list = NULL;
    size_t count = 0;
    hsize_t at[3] = {0, 0, 0};
    if (!nexus_child(n, "/", "NXentry", &at[0], entry) ||
        !nexus_child(n, entry, "NXinstrument", &at[1], instrument) ||
        !nexus_child(n, instrument, "NXdetector", &at[2], detector))
        return error_set(e, STATUS_INPUT,
                         "%s: is no NXmx file: it has no NXentry with an NXinstrument with an "
                         "NXdetector",
                         n->path);
    enum status s = read_modules(n, detector, &list, &count, e);
    s = s ? s : take_modules(n, detector, list, count, g, e);
    s = s ? s : read_sensor(n, detector, g, e);
    s = s ? s : take_back_shift(n, entry, detector, g, e);
    s = s ? s : read_wavelength(n, entry, g, e);
    mem_free(list);
    return s;
}

static enum status read_file(const char *path, struct nxmx_geometry *g, struct error *e)
{
    struct hdf5_file f;
    *g = (struct nxmx_geometry){0};
    if (!hdf5_open(&f, path))
        return error_set(e, STATUS_INPUT, "%s: cannot be read as HDF5: truncated or damaged", path);
    const struct nexus n = {f.id, path};
    const enum status s = read_all(&n, g, e);
    hdf5_abort(&f);
    return s;
}

/* For the trial. */
static void read_once(const char *path)
{
    struct nxmx_geometry g;
    struct error ignored;
    (void)read_file(path, &g, &ignored);
}

enum status nxmx_geometry_read(const char *path, struct nxmx_geometry *g, struct error *e)
{
    *g = (struct nxmx_geometry){0};
    const enum status s = trial_read(path, read_once, e);
    return s ? s : read_file(path, g, e);
}
