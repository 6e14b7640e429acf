/*
 * Plays image files as frames.
 *
 * The experiment comes from the header of the first file: its detector, beam and crystals.  Entries
 * that are missing get plain values and a warning.  All other files must have the same detector.
 */
#include "replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/filetype.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "io/images/image_file.h"
#include "io/images/stream2.h"
#include "io/nxmx/cxi_images.h"
#include "io/nxmx/nexus_images.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_geometry.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/experiment.h"
#include "physics/setup.h"
#include "stages/geometry/geometry.h"

/* --- the experiment, from the headers of image files --------------------------------- */

/* Values that replace missing entries of a file.  Most of them do not affect how an image looks. */
static const double WAVELENGTH_M = 1e-10, DISTANCE_M = 0.1, KAHN = 0.98, FLUENCE_PH_M2 = 1e25;

/* Returns a request that contains the values above. */
static struct request plain_request(void)
{
    struct request q;
    request_clear(&q);
    q.detector.distance_m = DISTANCE_M;
    q.beam.kahn = KAHN;
    q.beam.fluence_ph_m2 = FLUENCE_PH_M2;
    q.oversample = 1;
    return q;
}

/* Makes the panel that the header of an image describes, with plain values for missing ones. */
static enum status place_header(const char *path, struct image_header *h, struct request *q,
                                struct geometry_panels *p, struct error *e)
{
    static const double PIXEL_M = 1e-4;
    struct geom_panel panel;
    h->pixel_m = h->pixel_m > 0 ? h->pixel_m : PIXEL_M;
    h->distance_m = h->distance_m > 0 ? h->distance_m : DISTANCE_M;
    if (!h->has_beam) {
        h->beam_fast_m = 0.5 * (double)h->fast * h->pixel_m;
        h->beam_slow_m = 0.5 * (double)h->slow * h->pixel_m;
    }
    const enum status s = geometry_image_panel(path, h, &panel, e);
    if (!s)
        geometry_take_panels(&panel, 1, q, p);
    mem_free(panel.mask);
    return s;
}

#define NO_AXIS "Give --geometry-from=FILE, such as the .expt of dials.import"

static void tell_missing(const char *path, const struct image_header *h)
{
    if (!(h->pixel_m > 0 && h->distance_m > 0 && h->wavelength_m > 0 && h->has_beam))
        log_line(LOG_WARNING,
                 "%s: the header does not contain%s%s%s%s so resolutions are wrong (used instead: "
                 "0.1 mm, 100 mm, "
                 "1 A, the middle)",
                 path, h->pixel_m > 0 ? "" : " the pixel size,",
                 h->distance_m > 0 ? "" : " the distance,",
                 h->wavelength_m > 0 ? "" : " the wavelength,",
                 h->has_beam ? "" : " the beam centre,");
}

static enum status use_header(const char *path, struct request *q, struct geometry_panels *p,
                              struct experiment *x, struct error *e)
{
    struct image_header h;
    enum status s = image_header_read(path, &h, e);
    if (s)
        return s;
    s = geometry_image_axis(path, &h, NO_AXIS, e);
    if (s)
        return s;
    tell_missing(path, &h);
    q->beam.wavelength_m = h.wavelength_m > 0 ? h.wavelength_m : WAVELENGTH_M;
    s = place_header(path, &h, q, p, e);
    q->detector.places = p->places;
    s = s ? s : setup_laboratory(q, x, e);
    x->saturation = h.saturation;
    x->adc_offset = h.adc_offset;
    return s;
}

/* Makes the crystals of an NXmx file.  Each crystal gets the unit cell of its first lattice. */
static enum status use_crystals(const struct nxmx_rows *rows, struct request *q,
                                struct experiment *x, struct error *e)
{
    size_t count = 0;
    for (size_t i = 0; rows && i < rows->nlattices; i++)
        if (rows->lattices[i].crystal >= count)
            count = (size_t)rows->lattices[i].crystal + 1;
    if (!count || count > rows->nlattices)
        return STATUS_OK;
    struct crystal_request *crystals = mem_array(count, sizeof *crystals);
    for (size_t i = rows->nlattices; i-- > 0;) {
        const struct nxmx_lattice *l = &rows->lattices[i];
        struct crystal_request *c = &crystals[l->crystal];
        *c = (struct crystal_request){.has_cell = true, .cells = {1, 1, 1}, .fudge = 1};
        for (int k = 0; k < 3; k++) {
            c->cell_A[k] = l->cell[k];
            c->cell_rad[k] = deg_to_rad(l->cell[3 + k]);
        }
    }
    bool whole = true;
    for (size_t i = 0; i < count; i++)
        whole = whole && crystals[i].has_cell;
    q->crystals = crystals;
    q->ncrystals = count;
    const enum status s = whole ? setup_crystals(q, x, e) : STATUS_OK;
    mem_free(crystals);
    return s;
}

static bool moves(const struct nxmx_rows *rows)
{
    bool any = false;
    for (size_t i = 0; rows && i < 3 * rows->nframes; i++)
        any = any || rows->frames[i / 3].shift_m[i % 3] != 0.0;
    return any;
}

/* Copies the reasons for which pixels are masked, if the file contains them for at least one
 * panel. */
static void take_reasons(const struct nxmx_geometry *g, struct experiment *x)
{
    for (size_t i = 0; i < g->npanels; i++)
        x->has_reasons = x->has_reasons || g->panels[i].reasons;
    if (!x->has_reasons)
        return;
    x->reasons = mem_array((size_t)experiment_pixels(x), 1);
    for (size_t i = 0; i < g->npanels; i++)
        if (g->panels[i].reasons)
            memcpy(x->reasons + x->panels[i].first_pixel, g->panels[i].reasons,
                   (size_t)(x->panels[i].fast_pixels * x->panels[i].slow_pixels));
}

static enum status use_nxmx(const char *path, const struct nxmx_rows *rows, struct request *q,
                            struct geometry_panels *p, struct experiment *x, struct error *e)
{
    struct nxmx_geometry g;
    enum status s = nxmx_geometry_read(path, &g, e);
    if (!s)
        geometry_take_panels(g.panels, g.npanels, q, p);
    q->detector.places = p->places;
    q->probe = g.names_probe ? g.probe : PROBE_XRAY;
    q->beam.no_polarization = q->probe != PROBE_XRAY;
    q->beam.wavelength_m = g.wavelength_m > 0 ? g.wavelength_m : WAVELENGTH_M;
    if (!s && !(g.wavelength_m > 0))
        log_line(LOG_WARNING,
                 "%s: no wavelength found, so resolutions are wrong (used instead: 1 A)", path);
    if (!s && g.other_wavelength_m > 0)
        log_line(LOG_WARNING,
                 "%s: contains two wavelengths, %.6g and %.6g A; the first one is used", path,
                 m_to_angstrom(g.wavelength_m), m_to_angstrom(g.other_wavelength_m));
    s = s ? s : setup_laboratory(q, x, e);
    x->saturation = s ? 0.0 : g.saturation;
    if (!s)
        take_reasons(&g, x);
    nxmx_geometry_free(&g);
    if (s)
        return s;
    return use_crystals(rows, q, x, e);
}

/* Makes the experiment *x from an SMV or CBF file.  The detector is one panel, with pixels below 0
 * masked.  Warns about missing entries.  STATUS_INPUT: the file is invalid, or has a turned arm
 * without its axis. */
static enum status replay_setup_header(const char *path, struct experiment *x, struct error *e)
{
    struct request q = plain_request();
    struct geometry_panels p = {0};
    const enum status s = use_header(path, &q, &p, x, e);
    geometry_panels_free(&p, q.detector.nplaces);
    x->gain = 1;
    return s;
}

/* Makes the experiment *x from an NXmx file.  The crystals come from the lattices of *rows, if
 * there are any.  Sets axes[9] to the axes of NeXus in the laboratory frame, one per row.
 * STATUS_INPUT: the file is invalid. */
static enum status replay_setup_nxmx(const char *path, const struct nxmx_rows *rows,
                                     struct experiment *x, double axes[9], struct error *e)
{
    struct request q = plain_request();
    struct geometry_panels p = {0};
    const enum status s = use_nxmx(path, rows, &q, &p, x, e);
    geometry_panels_free(&p, q.detector.nplaces);
    x->gain = 1;
    x->detector_moves = moves(rows);
    x->sample_moves = rows && rows->has_samples;
    x->matter_varies = rows && rows->has_matter;
    x->sizes_vary = rows && rows->nlattices && rows->lattices->cells[0] > 0.0;
    x->spreads_vary = rows && rows->nlattices && rows->lattices->has_spread;
    x->b_factors_vary = rows && rows->nlattices && rows->lattices->has_b_factor;
    if (s == STATUS_OK)
        nxmx_axes(x, axes);
    return s;
}

/* Image files that are played, and the experiment that was made from the first one. */
struct replay_images {
    struct image_entry *entries;  // owned
    size_t count, room;
    struct replay_geometry geometry;  // another file has detector and beam; no path: it does not
    struct cxi_images cxi;            // the only file, if it is CXI of another program
    struct image_header start;        // of the start message of Stream V2; else 0
    struct nexus_images nexus;        // the only file, if it is NXmx of another program
    bool numbered;            // there is one file, and it is NXmx: frames keep their numbers
    struct nxmx_rows rows;    // metadata of that file
    double axes[9];           // axes of NeXus in the laboratory frame, one per row
    struct experiment setup;  // experiment from replay_images_open; replay_images_begin moves it
    char digest[17];
};

static enum filetype type_of(const char *path)
{
    char first[512];
    struct stat st;
    FILE *in = stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : fopen(path, "rbe");
    if (!in)
        return FILETYPE_OTHER;
    const size_t got = fread(first, 1, sizeof first, in);
    (void)fclose(in);
    return filetype_of(first, got);
}

bool replay_images_are(const char *path)
{
    const enum filetype type = type_of(path);
    return type == FILETYPE_SMV || type == FILETYPE_CBF || type == FILETYPE_HDF5 ||
           type == FILETYPE_TIFF || type == FILETYPE_EDF || type == FILETYPE_CBOR;
}

/* ---- the list ------------------------------------------------------------------------- */

static void add_entry(struct replay_images *r, struct image_entry entry)
{
    struct image_entry *grown = mem_grow(r->entries, r->count, 1, sizeof *grown, &r->room);
    r->entries = grown;
    r->entries[r->count++] = entry;
}

/* Adds a frame for each image of an NXmx file.  `entry` has the path and the identity. */
static enum status add_nxmx(struct replay_images *r, struct image_entry entry, struct error *e)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    nxmx_rows_free(&r->rows);
    const enum status s = nxmx_read_truth(entry.path, history, &r->rows, e);
    entry.nxmx = true;
    for (size_t i = 0; !s && i < r->rows.nframes; i++) {
        const struct nxmx_frame *frame = &r->rows.frames[i];
        entry.number = frame->number;
        entry.header.phi_rad = deg_to_rad(frame->rotation_start);
        entry.header.osc_rad = deg_to_rad(frame->rotation_width);
        add_entry(r, entry);
    }
    return s;
}

/* Adds a frame for each image of a CXI file of another program. */
static enum status add_cxi(struct replay_images *r, struct image_entry entry, size_t files,
                           struct error *e)
{
    if (files > 1)
        return error_set(e, STATUS_INPUT,
                         "%s: is a CXI file, and %zu files are given; expected one CXI file",
                         entry.path, files);
    const enum status s = cxi_images_read(entry.path, &r->cxi, e);
    entry.cxi = true;
    for (size_t i = 0; !s && i < r->cxi.frames; i++) {
        entry.number = i;
        add_entry(r, entry);
    }
    return s;
}

/* Adds a frame for each image of an NXmx file of another program.  Its geometry is its own, unless
 * another file has one. */
static enum status add_nexus(struct replay_images *r, struct image_entry entry, size_t files,
                             struct error *e)
{
    if (files > 1)
        return error_set(e, STATUS_INPUT,
                         "%s: is an NXmx file of another program, and %zu files are given; "
                         "expected one, such as the master file of the series",
                         entry.path, files);
    const enum status s = nexus_images_read(entry.path, &r->nexus, e);
    const struct nexus_images *n = &r->nexus;
    r->geometry.path = r->geometry.path ? r->geometry.path : entry.path;
    entry.nexus = true;
    for (size_t i = 0; !s && i < n->frames; i++) {
        entry.number = i;
        entry.header.phi_rad = n->start_rad ? n->start_rad[i] : 0;
        entry.header.osc_rad = n->width_rad ? n->width_rad[i] : 0;
        add_entry(r, entry);
    }
    return s;
}

/* Adds an image of Stream V2.  The other messages are no frames. */
static void add_message(struct replay_images *r, struct image_entry entry)
{
    const enum stream2_kind kind = stream2_kind_of(entry.path, &entry.number);
    entry.message = true;
    if (kind != STREAM2_START && kind != STREAM2_END)
        add_entry(r, entry);
}

/* Takes the detector from a start message of Stream V2, unless another file has it.  STATUS_INPUT:
 * there are several start messages. */
static enum status find_start(struct replay_images *r, const char *const *paths, size_t count,
                              struct error *e)
{
    uint64_t number;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count && !s; i++) {
        if (type_of(paths[i]) != FILETYPE_CBOR ||
            stream2_kind_of(paths[i], &number) != STREAM2_START)
            continue;
        s = r->start.fast
                ? error_set(e, STATUS_INPUT, "%s: is a second start message; expected one series",
                            paths[i])
                : image_header_read(paths[i], &r->start, e);
        r->geometry.path = r->geometry.path ? r->geometry.path : paths[i];
    }
    return s;
}

/* What wrote an HDF5 file. */
enum writer { WRITER_BRAGG, WRITER_CXI, WRITER_NEXUS };

static enum writer writer_of(const char *path)
{
    return cxi_images_are(path) ? WRITER_CXI : nexus_images_are(path) ? WRITER_NEXUS : WRITER_BRAGG;
}

/* Checks that an image has a geometry, in its header or in another file.  STATUS_INPUT: it has
 * none, or two. */
static enum status check_geometry(const char *path, enum filetype type, enum writer writer,
                                  const char *geometry, struct error *e)
{
    const bool bare = type == FILETYPE_TIFF || type == FILETYPE_EDF || type == FILETYPE_CBOR ||
                      writer == WRITER_CXI;
    if (bare && !geometry)
        return error_set(e, STATUS_INPUT,
                         "%s: the file has no geometry of its detector. Give "
                         "--geometry-from=FILE, a file of CrystFEL (.geom), DIALS (.expt), pyFAI "
                         "(.poni) or NXmx, or an image",
                         path);
    if (geometry && type == FILETYPE_HDF5 && writer == WRITER_BRAGG)
        return error_set(e, STATUS_INPUT,
                         "%s: is not a file of another program. Remove --geometry-from: an "
                         "NXmx file of bragg-write contains its geometry",
                         path);
    return STATUS_OK;
}

static enum status add_file(struct replay_images *r, const char *path, size_t files, uint64_t *hash,
                            struct error *e)
{
    struct stat st;
    if (stat(path, &st))
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    if (!replay_images_are(path))
        return error_set(e, STATUS_INPUT,
                         "%s: not an image; expected SMV, CBF, NXmx, TIFF, EDF, CXI or messages of "
                         "Stream V2. Play a "
                         "recording alone",
                         path);
    const int64_t facts[3] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
    *hash = hash_bytes(hash_text(*hash, path), facts, sizeof facts);
    const struct image_entry entry = {.path = path, .device = st.st_dev, .inode = st.st_ino};
    const enum filetype type = type_of(path);
    const enum writer writer = type == FILETYPE_HDF5 ? writer_of(path) : WRITER_BRAGG;
    const enum status s = check_geometry(path, type, writer, r->geometry.path, e);
    if (s)
        return s;
    if (type == FILETYPE_HDF5)
        return writer == WRITER_CXI     ? add_cxi(r, entry, files, e)
               : writer == WRITER_NEXUS ? add_nexus(r, entry, files, e)
                                        : add_nxmx(r, entry, e);
    if (type == FILETYPE_CBOR)
        add_message(r, entry);
    else
        add_entry(r, entry);
    return STATUS_OK;
}

static void add_ids(const struct replay_images *r, struct id_set *ids)
{
    for (size_t i = 0; i < r->count; i++)
        id_set_add(ids, r->numbered ? r->entries[i].number : i);
}

/* Returns the mean of `count` numbers, and warns if they differ by more than 0.1 %.  0: there are
 * none. */
static double mean_of(const char *path, const char *name, const char *unit, const double *numbers,
                      size_t count)
{
    static const double ALIKE = 1e-3;
    double sum = 0, least = INFINITY, most = 0;
    for (size_t i = 0; numbers && i < count; i++) {
        sum += numbers[i];
        least = fmin(least, numbers[i]);
        most = fmax(most, numbers[i]);
    }
    if (!numbers)
        return 0;
    const double mean = sum / (double)count;
    if (most - least > ALIKE * mean)
        log_line(LOG_WARNING,
                 "%s: the %s differs from %.6g to %.6g %s, but all frames are sent with the mean, "
                 "%.6g %s",
                 path, name, least, most, unit, mean, unit);
    return mean;
}

/* Returns a mask of the pixels of -1 and -2, which mean gaps and bad pixels in images of Pilatus,
 * if the image has no other values below 0: those mean that a background was subtracted.  The
 * caller frees the mask.  NULL: no pixel is masked. */
static uint16_t *mask_of(const struct image *image)
{
    const int32_t *pixels = image->pixels;
    size_t masked = 0;
    if (image->type != PIXEL_I32)
        return NULL;
    for (size_t i = 0; i < image->count; i++) {
        if (pixels[i] < -2)
            return NULL;
        masked += pixels[i] < 0;
    }
    uint16_t *mask = masked ? mem_array(image->count, sizeof *mask) : NULL;
    for (size_t i = 0; masked && i < image->count; i++)
        mask[i] = pixels[i] < 0;
    return mask;
}

/* Masks the pixels of an NXmx file without a mask that have the largest value of their type in the
 * first image: detectors of DECTRIS store it in pixels without data. */
static enum status mask_nexus(struct replay_images *r, struct error *e)
{
    struct image first = {0};
    for (size_t i = 0; i < r->setup.npanels; i++)
        if (r->setup.panels[i].mask)
            return STATUS_OK;
    const enum status s = nexus_image_read(r->entries->path, &r->nexus, 0, &first, e);
    const bool whole = !s && (first.type == PIXEL_U16 || first.type == PIXEL_U32);
    uint16_t *mask = whole ? mem_array(first.count, sizeof *mask) : NULL;
    size_t masked = 0;
    for (size_t i = 0; mask && i < first.count; i++) {
        mask[i] = image_value(&first, i) >= (first.type == PIXEL_U16 ? UINT16_MAX : UINT32_MAX);
        masked += mask[i];
    }
    if (masked)
        replay_geometry_mask(&r->geometry, &r->setup, mask);
    mem_free(mask);
    image_free(&first);
    return s;
}

/* Masks the pixels without data of the first image, or those of the mask of a CXI file. */
static enum status mask_elsewhere(struct replay_images *r, const char *path, struct error *e)
{
    struct image_file first = {0};
    if (r->entries->nexus)
        return mask_nexus(r, e);
    if (r->entries->cxi) {
        replay_geometry_mask(&r->geometry, &r->setup, r->cxi.mask);
        return STATUS_OK;
    }
    const enum status s = image_file_read(path, &first, e);
    uint16_t *mask = s ? NULL : mask_of(&first.image);
    replay_geometry_mask(&r->geometry, &r->setup, mask);
    mem_free(mask);
    image_free(&first.image);
    return s;
}

/* Makes the experiment from the file of the geometry. */
static enum status set_up_elsewhere(struct replay_images *r, const char *path, struct error *e)
{
    struct replay_geometry *g = &r->geometry;
    const bool series = r->entries->cxi || r->entries->nexus;
    struct image_header h = {.fast = r->cxi.fast + r->nexus.fast,
                             .slow = r->cxi.slow + r->nexus.slow};
    const double energy_eV = mean_of(path, "photon energy", "eV", r->cxi.energy_eV, r->cxi.frames);
    g->wavelength_m = energy_eV > 0 ? ev_to_m(energy_eV) : 0;
    g->distance_m = mm_to_m(mean_of(path, "distance", "mm", r->cxi.distance_mm, r->cxi.frames));
    enum status s = series ? STATUS_OK : image_header_read(path, &h, e);
    s = s ? s : replay_geometry_setup(g, &r->setup, e);
    s = s ? s : replay_geometry_fit(g, &r->setup, path, h.fast, h.slow, e);
    s = s ? s : mask_elsewhere(r, path, e);
    if (!s && g->wavelength_m > 0 &&
        !(fabs(g->wavelength_m / r->setup.beam.wavelength_m - 1) < 0.01))
        log_line(LOG_WARNING,
                 "%s: the wavelength is %.6g A, but all frames are sent with %.6g A of %s", path,
                 m_to_angstrom(g->wavelength_m), m_to_angstrom(r->setup.beam.wavelength_m),
                 g->path);
    return s;
}

static enum status set_up(struct replay_images *r, struct error *e)
{
    const char *path = r->entries->path;
    if (r->geometry.path)
        return set_up_elsewhere(r, path, e);
    return r->entries->nxmx
               ? replay_setup_nxmx(path, r->numbered ? &r->rows : NULL, &r->setup, r->axes, e)
               : replay_setup_header(path, &r->setup, e);
}

/* ---- images with different setups -------------------------------------------------------- */

/* Checks that the experiment of another NXmx file has the same panels as the first file.
 * STATUS_INPUT: it does not. */
static enum status check_panels(const struct experiment *x, const char *first, const char *path,
                                const struct experiment *other, struct error *e)
{
    if (other->npanels != x->npanels)
        return error_set(e, STATUS_INPUT, "%s: has %zu panels; expected %zu as in %s", path,
                         other->npanels, x->npanels, first);
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *a = &other->panels[i], *b = &x->panels[i];
        if (a->fast_pixels != b->fast_pixels || a->slow_pixels != b->slow_pixels)
            return error_set(e, STATUS_INPUT,
                             "%s: panel %zu has %" PRId64 " x %" PRId64 " pixels; expected %" PRId64
                             " x %" PRId64 " as in %s",
                             path, i, a->fast_pixels, a->slow_pixels, b->fast_pixels,
                             b->slow_pixels, first);
    }
    return STATUS_OK;
}

/* Copies the detector and the beam of an experiment to a header.  The rotation stays. */
static void take_setup(struct image_header *h, const struct experiment *x)
{
    const struct panel *p = x->panels;
    h->pixel_m = p->pixel_m;
    h->distance_m = p->distance_m;
    h->wavelength_m = x->beam.wavelength_m;
    h->has_beam = true;
    h->beam_fast_m = p->beam_fast_m;
    h->beam_slow_m = p->beam_slow_m;
}

/* Reads the detector of an NXmx file, and checks it. */
static enum status look_at_nxmx(const struct replay_images *r, struct image_entry *entry,
                                struct error *e)
{
    struct experiment other = {0};
    double axes[9];
    enum status s = replay_setup_nxmx(entry->path, NULL, &other, axes, e);
    s = s ? s : check_panels(&r->setup, r->entries->path, entry->path, &other, e);
    if (!s)
        take_setup(&entry->header, &other);
    experiment_free(&other);
    return s;
}

/* Reads the header of an SMV or CBF file, and checks the size of the image. */
static enum status look_at_header(const struct replay_images *r, struct image_entry *entry,
                                  struct error *e)
{
    const struct experiment *x = &r->setup;
    struct image_header *h = &entry->header;
    enum status s = image_header_read(entry->path, h, e);
    const struct replay_geometry *g = &r->geometry;
    if (!s && entry->message) {
        h->phi_rad = r->start.phi_rad + (double)entry->number * r->start.osc_rad;
        h->osc_rad = r->start.osc_rad;
    }
    if (!s && g->path && (h->fast != g->fast || h->slow != g->slow))
        return error_set(e, STATUS_INPUT,
                         "%s: %" PRId64 " x %" PRId64 " pixels; expected %" PRId64 " x %" PRId64
                         " as in %s",
                         entry->path, h->fast, h->slow, g->fast, g->slow, r->entries->path);
    if (!s && !g->path)
        s = geometry_image_axis(entry->path, h, NO_AXIS, e);
    if (s || g->path ||
        (x->npanels == 1 && h->fast == x->panels->fast_pixels && h->slow == x->panels->slow_pixels))
        return s;
    return error_set(e, STATUS_INPUT,
                     "%s: %" PRId64 " x %" PRId64 " pixels; expected %" PRId64 " x %" PRId64
                     " as in %s",
                     entry->path, h->fast, h->slow, x->panels->fast_pixels, x->panels->slow_pixels,
                     r->entries->path);
}

enum status replay_images_compare(struct replay_images *r, const struct id_set *ids,
                                  struct error *e)
{
    const bool series = r->entries->cxi || r->entries->nexus;
    const char *latest = r->entries->nxmx || series ? r->entries->path : NULL;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < r->count && !s; i++) {
        struct image_entry *entry = &r->entries[i];
        entry->played = id_set_has(ids, r->numbered ? entry->number : i);
        entry->leads = entry->path != latest;
        if (!entry->played || series || (entry->nxmx && !entry->leads))
            continue;
        latest = entry->path;
        s = entry->nxmx ? look_at_nxmx(r, entry, e) : look_at_header(r, entry, e);
    }
    if (!s)
        compare_images(r->entries, r->count, r->geometry.path, &r->setup);
    return s;
}

struct replay_images *replay_images_open(const char *const *paths, size_t count,
                                         const char *geometry, struct id_set *ids, struct error *e)
{
    struct replay_images *r = mem_array(1, sizeof *r);
    struct stat st;
    r->geometry.path = geometry;
    uint64_t hash = HASH_START;
    enum status s = find_start(r, paths, count, e);
    for (size_t i = 0; i < count && !s; i++)
        s = add_file(r, paths[i], count, &hash, e);
    if (geometry && !stat(geometry, &st)) {
        const int64_t facts[3] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
        hash = hash_bytes(hash_text(hash, geometry), facts, sizeof facts);
    }
    if (!s && !r->count)
        s = error_set(e, STATUS_INPUT, "%s: contains no frames", paths[0]);
    r->numbered = !s && count == 1 && r->entries->nxmx;
    (void)snprintf(r->digest, sizeof r->digest, "%016" PRIx64, hash_finish(hash));
    add_ids(r, ids);
    s = s ? s : set_up(r, e);
    if (!s)
        return r;
    replay_images_close(r);
    return NULL;
}

const char *replay_images_digest(const struct replay_images *r)
{
    return r->digest;
}

void replay_images_close(struct replay_images *r)
{
    if (!r)
        return;
    nxmx_rows_free(&r->rows);
    cxi_images_free(&r->cxi);
    nexus_images_free(&r->nexus);
    replay_geometry_free(&r->geometry);
    experiment_free(&r->setup);
    mem_free(r->entries);
    mem_free(r);
}

void replay_images_begin(struct replay_images *r, struct experiment *x)
{
    *x = r->setup;
    r->setup = (struct experiment){0};
}

/* ---- frames --------------------------------------------------------------------------- */

static const struct image_entry *entry_of(const struct replay_images *r, uint64_t id)
{
    if (!r->numbered)
        return &r->entries[id];
    return &r->entries[nxmx_rows_find(&r->rows, id)];
}

/* Copies the pixels of a file, unchanged, into the image of a frame.  STATUS_INPUT: the number
 * of pixels is not that of the detector. */
static enum status take_pixels(const char *path, const struct image *from,
                               const struct experiment *x, struct image *to, struct error *e)
{
    if (from->count != (size_t)experiment_pixels(x))
        return error_set(e, STATUS_INPUT,
                         "%s: the image has %zu pixels; expected %" PRId64 " as in the detector",
                         path, from->count, experiment_pixels(x));
    if (!image_reserve(to, from->type, UNIT_ADU, from->count))
        return error_memory(e, "a frame");
    memcpy(to->pixels, from->pixels, from->count * pixel_size(from->type));
    return STATUS_OK;
}

/* Sets the edges and the size of the crystal of a lattice.  STATUS_INPUT: the file is damaged. */
static enum status take_cell(const struct experiment *x, const struct nxmx_lattice *l,
                             struct orientation_request *o, struct error *e)
{
    bool good = l->crystal < x->ncrystals;
    for (int k = 0; k < 3 && good; k++) {
        o->strain[k] = l->cell[k] / x->crystals[l->crystal].cell_A[k] - 1.0;
        o->cells[k] = l->cells[k];
        good = o->strain[k] > -1.0 && isfinite(o->strain[k]);
    }
    o->has_cells = x->sizes_vary;
    o->has_spread = x->spreads_vary;
    o->spread_rad = deg_to_rad(l->spread);
    o->has_b_factor = x->b_factors_vary;
    o->b_factor_A2 = l->b_factor;
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "frame %" PRIu64 " has a lattice with an impossible crystal or cell",
                            l->frame);
}

/* Adds the lattices of a frame of an NXmx file to the recipe, in their orientation at the start
 * of the frame. */
static enum status take_lattices(const struct replay_images *r, const struct experiment *x,
                                 const struct nxmx_frame *frame, struct recipe *recipe,
                                 struct error *e)
{
    const struct nxmx_rows *rows = &r->rows;
    struct orientation_request still = {
        .phi_rad = deg_to_rad(frame->rotation_start + 0.5 * frame->rotation_width),
        .phi = NO_STEPS};
    if (!x->ncrystals || !frame->lattices || frame->lattices > rows->nlattices)
        return STATUS_OK;
    recipe->lattices = mem_try_array((size_t)frame->lattices, sizeof *recipe->lattices);
    if (!recipe->lattices)
        return error_memory(e, "the lattices");
    enum status s = STATUS_OK;
    for (size_t i = 0; i < rows->nlattices && !s && recipe->nlattices < frame->lattices; i++) {
        const struct nxmx_lattice *l = &rows->lattices[i];
        double rotation[9];
        if (l->frame != frame->number)
            continue;
        for (int row = 0; row < 3; row++)
            for (int column = 0; column < 3; column++)
                rotation[3 * row + column] = r->axes[row] * l->orientation[column] +
                                             r->axes[3 + row] * l->orientation[3 + column] +
                                             r->axes[6 + row] * l->orientation[6 + column];
        s = take_cell(x, l, &still, e);
        s = s ? s
              : setup_lattice_rotated(x, (uint32_t)l->crystal, rotation, &still,
                                      &recipe->lattices[recipe->nlattices++], e);
    }
    return s;
}

static enum status read_nxmx(const struct replay_images *r, const struct experiment *x,
                             const struct image_entry *entry, struct frame *f, struct error *e)
{
    struct nxmx_one one;
    enum status s =
        nxmx_one_read(entry->path, entry->number, (size_t)experiment_pixels(x), &one, e);
    s = s ? s
          : nxmx_one_check(entry->path, entry->number, &one, r->numbered ? &r->rows : &one.rows, e);
    s = s ? s : take_pixels(entry->path, &one.image, x, &f->image, e);
    if (!s && r->numbered) {
        f->reflections = one.reflections;
        f->planes = one.planes;
        one.reflections = (struct reflection_table){0};
        one.planes = (struct planes){0};
    }
    nxmx_one_free(&one);
    if (s || !r->numbered)
        return s;
    const size_t place = (size_t)nxmx_rows_find(&r->rows, entry->number);
    const struct nxmx_frame *frame = &r->rows.frames[place];
    f->recipe.seed = frame->seed;
    f->recipe.phi_rad = deg_to_rad(frame->rotation_start);
    f->recipe.osc_rad = deg_to_rad(frame->rotation_width);
    for (int i = 0; i < 3; i++) {
        f->recipe.shift_m[i] = r->axes[i] * frame->shift_m[0] + r->axes[3 + i] * frame->shift_m[1] +
                               r->axes[6 + i] * frame->shift_m[2];
        f->recipe.has_shift = f->recipe.has_shift || frame->shift_m[i] != 0.0;
    }
    if (x->matter_varies)
        nxmx_take_matter(frame, &f->recipe);
    f->recipe.has_sample = x->sample_moves;
    memcpy(f->recipe.sample_m, frame->sample_m, sizeof f->recipe.sample_m);
    return take_lattices(r, x, frame, &f->recipe, e);
}

static enum status read_image(const struct replay_images *r, const struct experiment *x,
                              const struct image_entry *entry, struct frame *f, struct error *e)
{
    struct image_file file = {0};
    enum status s = entry->cxi ? cxi_image_read(entry->path, &r->cxi, entry->number, &file.image, e)
                    : entry->nexus
                        ? nexus_image_read(entry->path, &r->nexus, entry->number, &file.image, e)
                        : image_file_read(entry->path, &file, e);
    if (!s && r->geometry.path)
        s = replay_geometry_pixels(&r->geometry, x, entry->path, &file.image, &f->image, e);
    else if (!s)
        s = take_pixels(entry->path, &file.image, x, &f->image, e);
    image_free(&file.image);
    f->recipe.phi_rad = entry->header.phi_rad;
    f->recipe.osc_rad = entry->header.osc_rad;
    return s;
}

enum status replay_images_frame(struct replay_images *r, const struct experiment *x,
                                struct frame *f, struct error *e)
{
    const struct image_entry *entry = entry_of(r, f->recipe.id);
    return entry->nxmx ? read_nxmx(r, x, entry, f, e) : read_image(r, x, entry, f, e);
}
