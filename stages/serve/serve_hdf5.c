/*
 * Messages that are whole HDF5 files, made in memory: those of LCLStreamer with its serializer
 * hdf5, and those of CrystFEL with --data-format=hdf5.
 *
 * A file of LCLStreamer has several frames.  They wait in a batch until it is full: the first
 * dimension of all data sets counts the frames of the batch.  A file of CrystFEL has one frame.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/crystfel/geom.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_layout.h"
#include "serve.h"

#define IMAGE "detector_data"
#define FRAME_ID "/entry_1/frame_id"
#define OTHERS "/braggpipe/"

enum { PATH_SIZE = 128, TEXT_SIZE = 64 };

/* A value of the frames of a batch: a data set. */
struct column {
    char name[TEXT_SIZE], path[PATH_SIZE];
    enum value_type type;
    size_t count;  // VALUE_REALS: numbers of a frame
    double reals[BATCH_MAX][DELIVERY_NUMBERS_MAX];
    int64_t integers[BATCH_MAX];
    char texts[BATCH_MAX][TEXT_SIZE];
};

struct batch {
    size_t most, count;  // frames of a full batch, and frames so far
    enum nxmx_compression compression;
    enum pixel_type type;  // of the pixels of all frames so far
    size_t slow, fast;
    struct nxmx_chunk chunks[BATCH_MAX];
    size_t ncolumns;
    struct column *columns;  // owned; that of the image has only a name and a path
};

/* --- the fields ------------------------------------------------------------------- */

/* Returns true if one of the paths is the other one or a group above it. */
static bool paths_collide(const char *a, const char *b)
{
    const size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return strncmp(a, b, n) == 0 && (!a[n] || a[n] == '/') && (!b[n] || b[n] == '/');
}

static bool path_is_good(const char *path)
{
    const size_t n = strlen(path);
    return path[0] == '/' && n > 1 && path[n - 1] != '/' && !strstr(path, "//") &&
           !strstr(path, "/./") && !strstr(path, "/../");
}

/* Parses one NAME:/PATH into a new column. */
static enum status parse_field(struct batch *b, const char *text, int length, struct error *e)
{
    struct column *c = &b->columns[b->ncolumns];
    const char *colon = memchr(text, ':', (size_t)length);
    const int name = colon ? (int)(colon - text) : 0, path = length - name - 1;
    if (!colon || name < 1 || name >= TEXT_SIZE || path >= PATH_SIZE)
        return error_set(e, STATUS_USAGE,
                         "--fields: '%.*s' is malformed; expected NAME:/PATH, such as " IMAGE
                         ":/data",
                         length < 40 ? length : 40, text);
    (void)snprintf(c->name, sizeof c->name, "%.*s", name, text);
    (void)snprintf(c->path, sizeof c->path, "%.*s", path, colon + 1);
    if (!path_is_good(c->path))
        return error_set(e, STATUS_USAGE,
                         "--fields: the path of %s is malformed (got %s); expected an absolute "
                         "path, such as /data",
                         c->name, c->path);
    for (size_t i = 0; i < b->ncolumns; i++) {
        if (strcmp(b->columns[i].name, c->name) == 0)
            return error_set(e, STATUS_USAGE, "--fields: %s is given twice; give it once", c->name);
        if (paths_collide(b->columns[i].path, c->path))
            return error_set(e, STATUS_USAGE,
                             "--fields: the paths of %s and %s exclude each other (got %s and %s)",
                             b->columns[i].name, c->name, b->columns[i].path, c->path);
    }
    b->ncolumns++;
    return STATUS_OK;
}

/* Returns the column of a name; NULL: there is none. */
static struct column *column_of(const struct batch *b, const char *name)
{
    for (size_t i = 0; i < b->ncolumns; i++)
        if (strcmp(b->columns[i].name, name) == 0)
            return &b->columns[i];
    return NULL;
}

enum status batch_open(struct batch **batch, const char *fields, size_t most,
                       enum nxmx_compression compression, struct error *e)
{
    struct batch *b = *batch = mem_array(1, sizeof *b);
    b->most = most;
    b->compression = compression;
    b->columns = mem_array(DELIVERY_VALUES_MAX, sizeof *b->columns);
    for (const char *at = fields; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (b->ncolumns == DELIVERY_VALUES_MAX)
            return error_set(e, STATUS_USAGE, "--fields: too many names; expected at most %d",
                             DELIVERY_VALUES_MAX);
        const enum status s = parse_field(b, at, (int)strcspn(at, ","), e);
        if (s)
            return s;
    }
    return column_of(b, IMAGE) ? STATUS_OK
                               : error_set(e, STATUS_USAGE,
                                           "--fields: the image is missing; expected " IMAGE
                                           ":/PATH and other names");
}

size_t batch_frames(const struct batch *b)
{
    return b ? b->count : 0;
}

void batch_close(struct batch *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->most; i++)
        nxmx_chunk_free(&b->chunks[i]);
    mem_free(b->columns);
    mem_free(b);
}

/* --- files ------------------------------------------------------------------------- */

/* Adds a data set below groups that are made if necessary. */
static void put_data(struct hdf5_file *f, const char *path, hid_t type, int rank,
                     const hsize_t *dims, const void *values)
{
    hdf5_groups_above(f, path);
    const hid_t data = hdf5_data(f, path, type, rank, dims, H5P_DEFAULT, values);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
}

/* Closes the file and makes it the only part of *m. */
static enum status finish_file(struct hdf5_file *f, struct message *m, struct error *e)
{
    void *bytes;
    size_t size;
    const enum status s = hdf5_take_bytes(f, &bytes, &size, e);
    return s ? s : message_add(m, (struct part){bytes, size, mem_free, bytes}, e);
}

/* --- LCLStreamer ------------------------------------------------------------------- */

/* Adds what LCLStreamer and the ground truth say about a frame, and keeps what --fields names. */
static void lclstreamer_describe(const struct content_options *o, const struct experiment *x,
                                 const struct frame *f, struct delivery *d)
{
    size_t kept = 0;
    delivery_real(d, "photon_energy", m_to_ev(d->beam.mean_m));
    delivery_real(d, "photon_wavelength", m_to_angstrom(d->beam.mean_m));
    delivery_real(d, "timestamp", (double)f->recipe.id);
    delivery_int(d, "frame_id", (int64_t)f->recipe.id);
    delivery_real(d, "unix_time", (double)d->time_ns / 1e9);
    delivery_real(d, "detector_distance", x->panels[0].distance_m);
    delivery_real(d, "sum", image_range(&f->image).sum);
    delivery_truth(d, x, &f->recipe);
    for (size_t i = 0; i < d->nvalues && d->nvalues <= DELIVERY_VALUES_MAX; i++)
        if (column_of(o->batch, d->values[i].key))
            d->values[kept++] = d->values[i];
    d->nvalues = d->nvalues <= DELIVERY_VALUES_MAX ? kept : d->nvalues;
}

/* Stores a value of frame number b->count. */
static enum status add_value(struct batch *b, uint64_t frame, const struct value *v,
                             struct error *e)
{
    struct column *c = column_of(b, v->key);
    if (!b->count) {
        c->type = v->type;
        c->count = v->count;
    }
    if (c->type != v->type || c->count != v->count)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 ": %s has another type than in the frames before", frame,
                         v->key);
    c->integers[b->count] = v->integer;
    memcpy(c->reals[b->count], v->reals, sizeof v->reals);
    memset(c->texts[b->count], 0, TEXT_SIZE);
    if (v->text)
        (void)snprintf(c->texts[b->count], TEXT_SIZE, "%s", v->text);
    return STATUS_OK;
}

/* Stores the image of frame number b->count. */
static enum status add_image(struct batch *b, const struct delivery *d, struct error *e)
{
    const size_t fast = d->shape[d->ndims - 1], slow = d->pixel_bytes / pixel_size(d->type) / fast;
    if (!b->count) {
        b->type = d->type;
        b->slow = slow;
        b->fast = fast;
    }
    if (b->type != d->type || b->slow != slow || b->fast != fast)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 ": %s pixels differ from the frames before (%s), and one "
                         "message cannot have both. Give --dtype",
                         d->id, delivery_dtype(d->type), delivery_dtype(b->type));
    const struct image image = {
        .type = d->type, .count = slow * fast, .pixels = (void *)(uintptr_t)d->pixels};
    return nxmx_pack(b->compression, &image, &b->chunks[b->count], e);
}

/* Checks that the frame has all values that --fields names. */
static enum status check_fields(const struct batch *b, const struct delivery *d, struct error *e)
{
    for (size_t i = 0; i < b->ncolumns; i++) {
        const char *name = b->columns[i].name;
        bool found = strcmp(name, IMAGE) == 0;
        for (size_t k = 0; k < d->nvalues && !found; k++)
            found = strcmp(d->values[k].key, name) == 0;
        if (!found)
            return error_set(e, STATUS_USAGE,
                             "--fields: frame %" PRIu64
                             " has no %s; bragg-serve(1) lists the names",
                             d->id, name);
    }
    return STATUS_OK;
}

static void put_images(struct hdf5_file *f, const struct batch *b, const char *path)
{
    const hsize_t dims[3] = {b->count, b->slow, b->fast}, chunk[3] = {1, b->slow, b->fast};
    hdf5_groups_above(f, path);
    const hid_t made = hdf5_creation(f);
    (void)hdf5_good(f, H5Pset_chunk(made, 3, chunk));
    (void)hdf5_good(f, H5Pset_fill_time(made, H5D_FILL_TIME_NEVER));
    nxmx_declare_filter(f, made, b->compression, b->type);
    const hid_t data = hdf5_data(f, path, nxmx_pixel_type(b->type), 3, dims, made, NULL);
    for (size_t i = 0; data >= 0 && i < b->count; i++)
        (void)hdf5_good(f, H5Dwrite_chunk(data, H5P_DEFAULT, 0, (const hsize_t[]){i, 0, 0},
                                          b->chunks[i].length, b->chunks[i].bytes));
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    (void)H5Pclose(made);
}

static void put_column(struct hdf5_file *f, size_t frames, struct column *c)
{
    const int rank = c->type == VALUE_REALS ? 2 : 1;
    const hsize_t dims[2] = {frames, c->count};
    const size_t width = c->type == VALUE_REALS ? c->count : 1;
    if (c->type == VALUE_TEXT) {
        const hid_t type = H5Tcopy(H5T_C_S1);
        (void)H5Tset_size(type, TEXT_SIZE);
        put_data(f, c->path, type, 1, dims, c->texts);
        (void)H5Tclose(type);
    } else if (c->type == VALUE_INT || c->type == VALUE_BOOL) {
        put_data(f, c->path, H5T_NATIVE_INT64, 1, dims, c->integers);
    } else {
        double *values = mem_array(frames * width, sizeof *values);
        for (size_t i = 0; i < frames; i++)
            memcpy(values + i * width, c->reals[i], width * sizeof *values);
        put_data(f, c->path, H5T_NATIVE_DOUBLE, rank, dims, values);
        mem_free(values);
    }
}

enum status batch_finish(struct batch *b, struct message *m, struct error *e)
{
    struct hdf5_file f;
    hdf5_create_in_memory(&f);
    for (size_t i = 0; i < b->ncolumns; i++) {
        struct column *c = &b->columns[i];
        if (strcmp(c->name, IMAGE) == 0)
            put_images(&f, b, c->path);
        else
            put_column(&f, b->count, c);
    }
    b->count = 0;
    return finish_file(&f, m, e);
}

static enum status lclstreamer_encode(const struct content_options *o, const struct delivery *d,
                                      struct message *m, struct error *e)
{
    struct batch *b = o->batch;
    enum status s = check_fields(b, d, e);
    if (s == STATUS_OK)
        s = add_image(b, d, e);
    for (size_t i = 0; i < d->nvalues && s == STATUS_OK; i++)
        s = add_value(b, d->id, &d->values[i], e);
    if (s == STATUS_OK && ++b->count == b->most)
        s = batch_finish(b, m, e);
    return s;
}

const struct protocol protocol_lclstreamer_hdf5 = {
    .name = "lclstreamer",
    .versions = (const char *const[]){"1", NULL},
    .image_key = IMAGE,
    .source = "braggpipe",
    .allowed = 1 << PIXEL_F32 | 1 << PIXEL_U16 | 1 << PIXEL_U32 | 1 << PIXEL_I32,
    .otherwise = PIXEL_I32,
    .socket = GATEWAY_PUSH,
    .describe = lclstreamer_describe,
    .encode = lclstreamer_encode,
};

/* --- CrystFEL ------------------------------------------------------------------------ */

static void crystfel_describe(const struct content_options *o, const struct experiment *x,
                              const struct frame *f, struct delivery *d)
{
    protocol_crystfel.describe(o, x, f, d);
}

/* Writes the path at which CrystFEL finds a value. */
static void path_of(const char *key, char path[PATH_SIZE])
{
    static const char *const places[][2] = {{"beam_energy", GEOM_HDF5_ENERGY},
                                            {"detector_distance", GEOM_HDF5_DISTANCE},
                                            {"frame_id", FRAME_ID}};
    (void)snprintf(path, PATH_SIZE, OTHERS "%s", key);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(places[i][0], key) == 0)
            (void)snprintf(path, PATH_SIZE, "%s", places[i][1]);
}

static void put_value(struct hdf5_file *f, const struct value *v)
{
    char path[PATH_SIZE];
    path_of(v->key, path);
    if (v->type == VALUE_TEXT) {
        hdf5_groups_above(f, path);
        hdf5_text(f, path, v->text);
    } else if (v->type == VALUE_INT || v->type == VALUE_BOOL) {
        put_data(f, path, H5T_NATIVE_INT64, 0, NULL, &v->integer);
    } else {
        put_data(f, path, H5T_NATIVE_DOUBLE, v->type == VALUE_REALS, &(hsize_t){v->count},
                 v->reals);
    }
}

static enum status crystfel_encode(const struct content_options *o, const struct delivery *d,
                                   struct message *m, struct error *e)
{
    struct hdf5_file f;
    (void)o;
    const size_t fast = d->shape[d->ndims - 1];
    const hsize_t dims[2] = {d->pixel_bytes / pixel_size(d->type) / fast, fast};
    hdf5_create_in_memory(&f);
    put_data(&f, GEOM_HDF5_IMAGE, nxmx_pixel_type(d->type), 2, dims, d->pixels);
    for (size_t i = 0; i < d->nvalues; i++)
        put_value(&f, &d->values[i]);
    return finish_file(&f, m, e);
}

const struct protocol protocol_crystfel_hdf5 = {
    .name = "crystfel",
    .versions = (const char *const[]){"1", NULL},
    .image_key = GEOM_HDF5_IMAGE,
    .source = "braggpipe",
    .allowed = 1 << PIXEL_F32 | 1 << PIXEL_U16 | 1 << PIXEL_U32 | 1 << PIXEL_I32,
    .otherwise = PIXEL_I32,
    .socket = GATEWAY_REP,
    .request = "next",
    .describe = crystfel_describe,
    .encode = crystfel_encode,
};
