#include "io/nxmx/nexus_images.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/image_data.h"
#include "io/nxmx/nexus.h"

#define OWN "/entry/braggpipe"
enum { FRAMES_MAX = 1 << 24, AXES_MAX = 100 };

/* A file whose images are listed. */
struct search {
    struct hdf5_file *file;
    const char *path;
    struct nexus nexus;
    struct nexus_images *images;
};

/* --- sources ------------------------------------------------------------------------ */

static void try_all(struct hdf5_file *f);

/* The data set that try_source reads.  A reader in a trial process has no argument for it. */
static const char *tried_name;

static void try_source(struct hdf5_file *f)
{
    struct image_data d;
    if (!image_data_open(f->id, "", tried_name, &d, NULL))
        image_data_try(&d);
    image_data_close(&d);
}

/* Opens the file of a source, which may be the master file itself. */
static enum status open_source(const char *master, const struct nexus_source *from,
                               struct hdf5_file *f, struct error *e)
{
    tried_name = from->name;
    return hdf5_open(f, from->path, strcmp(master, from->path) ? try_source : try_all, e);
}

/* Adds a source, and checks that its images are like those of the first one. */
static enum status add_source(const struct search *q, const struct nexus_source *from,
                              const struct image_data *d, struct error *e)
{
    struct nexus_images *n = q->images;
    const struct image_data first = {.slow = n->slow, .fast = n->fast, .type = n->type};
    if (n->nsources && !image_data_match(d, &first))
        return error_set(e, STATUS_INPUT, "%s: %s has images of another size or type than %s of %s",
                         from->path, from->name, n->sources->name, n->sources->path);
    if (from->first != n->frames || from->place + from->count > d->frames ||
        from->count > FRAMES_MAX - n->frames)
        return error_set(e, STATUS_INPUT,
                         "%s: %s: image %zu of the series is in no file, or in two", q->path,
                         from->name, n->frames);
    n->slow = d->slow;
    n->fast = d->fast;
    n->type = d->type;
    n->sources = mem_grow(n->sources, n->nsources, 1, sizeof *n->sources, &n->room);
    struct nexus_source *to = &n->sources[n->nsources++];
    *to = *from;
    to->path = mem_text("%s", from->path);
    to->name = mem_text("%s", from->name);
    n->frames += from->count;
    return STATUS_OK;
}

/* --- virtual data sets ------------------------------------------------------------------ */

/* Gets the first and the number of the whole images that a selection of a data set has.  Returns
 * false if it has parts of images, or images with gaps between them. */
static bool select_images(hid_t space, const struct image_data *d, size_t *first, size_t *count)
{
    hsize_t start[3], end[3];
    if (H5Sget_simple_extent_ndims(space) != 3 || H5Sget_select_bounds(space, start, end) < 0)
        return false;
    *first = (size_t)start[0];
    *count = (size_t)(end[0] - start[0] + 1);
    return !start[1] && !start[2] && end[1] + 1 == (hsize_t)d->slow &&
           end[2] + 1 == (hsize_t)d->fast &&
           H5Sget_select_npoints(space) == (hssize_t)(*count * (size_t)(d->slow * d->fast));
}

/* Gets the part of a virtual data set that comes from file number i.  Returns false if it is not
 * a number of whole images. */
static bool map_part(hid_t made, size_t i, const struct image_data *d, struct nexus_source *part)
{
    size_t count = 0;
    const hid_t to = H5Pget_virtual_vspace(made, i), from = H5Pget_virtual_srcspace(made, i);
    bool good = to >= 0 && from >= 0 && select_images(to, d, &part->first, &part->count);
    if (good && H5Sget_select_type(from) == H5S_SEL_ALL)
        part->place = 0;
    else if (good)
        good = select_images(from, d, &part->place, &count) && count == part->count;
    if (to >= 0)
        (void)H5Sclose(to);
    if (from >= 0)
        (void)H5Sclose(from);
    return good;
}

/* Opens the images of a part, and adds the part. */
static enum status add_part(const struct search *q, const struct nexus_source *part,
                            struct error *e)
{
    struct hdf5_file f;
    struct image_data d = {.data = -1};
    enum status s = open_source(q->path, part, &f, e);
    s = s ? s : image_data_open(f.id, part->path, part->name, &d, e);
    s = s ? s : add_source(q, part, &d, e);
    image_data_close(&d);
    hdf5_abort(&f);
    return s;
}

static int by_first(const void *a, const void *b)
{
    const struct nexus_source *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Reads the names of part number i of a virtual data set.  The caller frees both. */
static bool name_part(const struct search *q, hid_t made, size_t i, struct nexus_source *part)
{
    char name[PATH_MAX], path[PATH_MAX];
    if (H5Pget_virtual_filename(made, i, name, sizeof name) <= 0)
        return false;
    if (strcmp(name, ".") == 0)
        (void)snprintf(path, sizeof path, "%s", q->path);
    else
        hdf5_find_file(q->path, name, path);
    if (H5Pget_virtual_dsetname(made, i, name, sizeof name) <= 0)
        return false;
    part->path = mem_text("%s", path);
    part->name = mem_text("%s", name);
    return true;
}

static enum status add_virtual(const struct search *q, const char *name, const struct image_data *d,
                               struct error *e)
{
    const hid_t made = H5Dget_create_plist(d->data);
    size_t count = 0;
    (void)H5Pget_virtual_count(made, &count);
    count = count < FRAMES_MAX ? count : FRAMES_MAX;
    struct nexus_source *parts = mem_array(count ? count : 1, sizeof *parts);
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count && !s; i++)
        if (!map_part(made, i, d, &parts[i]) || !name_part(q, made, i, &parts[i]))
            s = error_set(e, STATUS_INPUT,
                          "%s: %s is put together from parts of images, or without a fixed "
                          "number of them; expected whole images. h5repack -f GZIP=1 %s NEW makes "
                          "one data set",
                          q->path, name, q->path);
    if (!s)
        qsort(parts, count, sizeof *parts, by_first);
    for (size_t i = 0; i < count && !s; i++)
        s = add_part(q, &parts[i], e);
    for (size_t i = 0; i < count; i++) {
        mem_free(parts[i].path);
        mem_free(parts[i].name);
    }
    if (!s && q->images->frames != d->frames)
        s = error_set(e, STATUS_INPUT, "%s: %s: image %zu of the series is in no file", q->path,
                      name, q->images->frames);
    mem_free(parts);
    (void)H5Pclose(made);
    return s;
}

/* --- the data sets of a file ---------------------------------------------------------- */

static enum status add_data(const struct search *q, char *name, struct error *e)
{
    struct image_data d;
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", q->path);
    enum status s = image_data_open(q->file->id, q->path, name, &d, e);
    const hid_t made = s ? -1 : H5Dget_create_plist(d.data);
    if (!s && H5Pget_layout(made) == H5D_VIRTUAL) {
        s = add_virtual(q, name, &d, e);
    } else if (!s) {
        const struct nexus_source from = {path, name, q->images->frames, d.frames, 0};
        s = add_source(q, &from, &d, e);
    }
    if (made >= 0)
        (void)H5Pclose(made);
    image_data_close(&d);
    return s;
}

/* Adds the images of a group.  Does nothing if there are none. */
static enum status add_group(const struct search *q, const char *group, struct error *e)
{
    char child[NEXUS_PATH];
    hsize_t at = 0;
    enum status s = STATUS_OK;
    if (nexus_has(&q->nexus, group, "data", child))
        return add_data(q, child, e);
    while (!s && nexus_child(&q->nexus, group, NULL, &at, child))
        if (strncmp(strrchr(child, '/') + 1, "data_0", 6) == 0)
            s = add_data(q, child, e);
    return s;
}

/* Adds the images of an entry: those of an NXdata, or of a detector. */
static enum status add_entry(const struct search *q, const char *entry, struct error *e)
{
    char group[NEXUS_PATH], detector[NEXUS_PATH];
    hsize_t at = 0, in = 0;
    enum status s = STATUS_OK;
    while (!s && !q->images->frames && nexus_child(&q->nexus, entry, "NXdata", &at, group))
        s = add_group(q, group, e);
    for (at = 0;
         !s && !q->images->frames && nexus_child(&q->nexus, entry, "NXinstrument", &at, group);
         in = 0)
        while (!s && !q->images->frames &&
               nexus_child(&q->nexus, group, "NXdetector", &in, detector))
            s = add_group(q, detector, e);
    return s;
}

/* --- rotation ------------------------------------------------------------------------- */

/* Reads the angles of an axis, one for each frame.  Returns NULL if it has not that many. */
static double *read_angles(const struct search *q, const char *path)
{
    const size_t frames = q->images->frames;
    double factor = 1, *angles = NULL;
    hsize_t size[1];
    const hid_t data = hdf5_open_data(q->file->id, path);
    if (hdf5_sizes(data, 1, 1, frames, size) == 1 && size[0] == frames &&
        !image_data_filter(data) &&
        !nexus_unit(&q->nexus, path, "units", NEXUS_ANGLE, &factor, NULL)) {
        angles = mem_array(frames, sizeof *angles);
        if (hdf5_read_numbers(data, q->path, path, H5T_NATIVE_DOUBLE, angles, NULL)) {
            mem_free(angles);
            angles = NULL;
        }
    }
    for (size_t i = 0; angles && i < frames; i++)
        angles[i] = isfinite(angles[i]) ? angles[i] * factor : 0;
    if (data >= 0)
        (void)H5Dclose(data);
    return angles;
}

/* Takes the rotation of an axis, if its angle changes from frame to frame.  The end of each frame
 * is in NAME_end, or is the start of the next frame. */
static bool take_axis(const struct search *q, const char *path)
{
    struct nexus_images *n = q->images;
    char other[NEXUS_PATH];
    double *start = read_angles(q, path), *end = NULL;
    bool turns = false;
    for (size_t i = 1; start && i < n->frames; i++)
        turns = turns || start[i] != start[0];
    if (start && snprintf(other, sizeof other, "%s_end", path) < (int)sizeof other)
        end = read_angles(q, other);
    turns = turns || (end && end[0] != start[0]);
    if (!turns) {
        mem_free(start);
        mem_free(end);
        return false;
    }
    n->start_rad = start;
    n->width_rad = mem_array(n->frames, sizeof *n->width_rad);
    for (size_t i = 0; i < n->frames; i++) {
        const size_t last = i + 1 < n->frames ? i : n->frames - 2;
        n->width_rad[i] = end ? end[i] - start[i] : start[last + 1] - start[last];
    }
    mem_free(end);
    return true;
}

/* Finds the axis that rotates, in the chain of the sample or, in files without a chain, among the
 * axes of its goniometer. */
static void find_rotation(const struct search *q, const char *entry)
{
    char sample[NEXUS_PATH], on[NEXUS_PATH], next[NEXUS_PATH], text[NEXUS_TEXT], axis[NEXUS_PATH];
    static const char *const axes[] = {"omega", "phi", "chi", "kappa"};
    hsize_t at = 0;
    if (!nexus_child(&q->nexus, entry, "NXsample", &at, sample))
        return;
    on[0] = 0;
    if (nexus_has(&q->nexus, sample, "depends_on", axis) &&
        nexus_text(&q->nexus, axis, NULL, text) && strcmp(text, ".") != 0)
        nexus_resolve(&q->nexus, sample, text, on);
    for (int i = 0; *on && i < AXES_MAX; i++) {
        if (nexus_text(&q->nexus, on, "transformation_type", text) && *text == 'r' &&
            take_axis(q, on))
            return;
        if (nexus_next(&q->nexus, on, next, NULL))
            return;
        memcpy(on, next, sizeof on);
    }
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        (void)snprintf(text, sizeof text, "goniometer/%s", axes[i]);
        if (nexus_has(&q->nexus, sample, text, axis) && take_axis(q, axis))
            return;
    }
}

/* --- files ------------------------------------------------------------------------------ */

static enum status take_all(struct hdf5_file *f, const char *path, void *what, struct error *e)
{
    const struct search q = {f, path, {f->id, path}, what};
    char entry[NEXUS_PATH];
    hsize_t at = 0;
    enum status s = STATUS_OK;
    while (!s && !q.images->frames && nexus_child(&q.nexus, "/", "NXentry", &at, entry))
        s = add_entry(&q, entry, e);
    if (!s && !q.images->frames)
        s = error_set(e, STATUS_INPUT,
                      "%s: has no images; expected an NXentry with an NXdata with data, or "
                      "data_000001 and so on",
                      path);
    if (!s)
        find_rotation(&q, entry);
    return s;
}

/* Lists the images, and reads the first of each data set, in the trial process. */
static void try_all(struct hdf5_file *f)
{
    char path[PATH_MAX] = "";
    struct nexus_images n = {0};
    (void)H5Fget_name(f->id, path, sizeof path);
    (void)take_all(f, path, &n, NULL);
    for (size_t i = 0; i < n.nsources; i++) {
        struct image_data d = {.data = -1};
        if (strcmp(n.sources[i].path, path) == 0 &&
            !image_data_open(f->id, path, n.sources[i].name, &d, NULL))
            image_data_try(&d);
        image_data_close(&d);
    }
    nexus_images_free(&n);
}

static enum status look(struct hdf5_file *f, const char *path, void *what, struct error *e)
{
    (void)path, (void)e;
    *(bool *)what = !hdf5_exists(f->id, OWN);
    return STATUS_OK;
}

static void try_look(struct hdf5_file *f)
{
    (void)hdf5_exists(f->id, OWN);
}

bool nexus_images_are(const char *path)
{
    bool found = false;
    return hdf5_take(path, try_look, look, &found, NULL) == STATUS_OK && found;
}

enum status nexus_images_read(const char *path, struct nexus_images *n, struct error *e)
{
    *n = (struct nexus_images){0};
    return hdf5_take(path, try_all, take_all, n, e);
}

enum status nexus_image_read(const char *path, const struct nexus_images *n, size_t i,
                             struct image *image, struct error *e)
{
    const struct nexus_source *from = n->sources;
    while (i >= from->first + from->count)
        from++;
    struct hdf5_file f;
    struct image_data d = {.data = -1};
    const struct image_data listed = {.slow = n->slow, .fast = n->fast, .type = n->type};
    enum status s = open_source(path, from, &f, e);
    s = s ? s : image_data_open(f.id, from->path, from->name, &d, e);
    if (!s && (!image_data_match(&d, &listed) || from->place + from->count > d.frames))
        s = error_set(e, STATUS_INPUT, "%s: the file has changed while it was being read",
                      from->path);
    s = s ? s
          : image_data_read(&d, from->path, from->name, i - from->first + from->place, image, e);
    image_data_close(&d);
    hdf5_abort(&f);
    return s;
}

void nexus_images_free(struct nexus_images *n)
{
    for (size_t i = 0; i < n->nsources; i++) {
        mem_free(n->sources[i].path);
        mem_free(n->sources[i].name);
    }
    mem_free(n->sources);
    mem_free(n->start_rad);
    mem_free(n->width_rad);
    *n = (struct nexus_images){0};
}
