/*
 * Image files that are played: opens them, makes their experiment, and compares their headers.
 *
 * The experiment comes from the first file, or from the file of --geometry-from.  All other files
 * must have the same detector.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "io/images/image_file.h"
#include "stages/geometry/geometry.h"
#include "stages/replay/replay_images.h"

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

/* An image file whose own geometry is missing or damaged can be played with that of another file.
 */
static enum status hint_other_geometry(const struct replay_geometry *g, const char *path,
                                       enum status s, struct error *e)
{
    const struct error cause = *e;
    return strcmp(g->path, path) == 0 ? error_set(e, s, "%s. Give --geometry-from=FILE", cause.text)
                                      : s;
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
    if (!s && (s = replay_geometry_setup(g, &r->setup, e)))
        s = hint_other_geometry(g, path, s, e);
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
        s = geometry_image_axis(entry->path, h, REPLAY_NO_AXIS, e);
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
    enum status s = replay_list_find_start(r, paths, count, e);
    for (size_t i = 0; i < count && !s; i++)
        s = replay_list_add(r, paths[i], count, &hash, e);
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
