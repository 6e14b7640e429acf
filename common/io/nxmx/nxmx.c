#include "io/nxmx/nxmx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx_layout.h"

enum { NAME_BYTES = 4096 };

enum status nxmx_check(const struct experiment *x, const struct image *image, struct error *e)
{
    int64_t pixels = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        if (p->fast_pixels != x->panels->fast_pixels || p->first_pixel != pixels)
            return error_set(e, STATUS_INPUT,
                             "panels have different widths (%" PRId64 " and %" PRId64
                             " pixels), but NXmx stores them one below the other",
                             x->panels->fast_pixels, p->fast_pixels);
        pixels += p->fast_pixels * p->slow_pixels;
    }
    if (!image->pixels || (int64_t)image->count != pixels || !pixels)
        return error_set(e, STATUS_INPUT, "the image has %zu pixels, but its panels have %" PRId64,
                         image->pixels ? image->count : 0, pixels);
    return STATUS_OK;
}

/* --- files ---------------------------------------------------------------- */

/* Writes the images and the reflections of frame number i of the file.  `source` provides them. */
static enum status put_frame(struct hdf5_file *f, struct nxmx_layers *layers,
                             struct nxmx_columns *columns, struct nxmx_peaks *peaks,
                             const struct nxmx_rows *rows, size_t i, struct nxmx_chunk *chunks,
                             nxmx_source *source, void *owner, struct error *e)
{
    const uint64_t number = rows->frames[i].number;
    struct reflection_table t = {0};
    enum status s = nxmx_table_reserve(&t, &rows->reflections[i])
                        ? source(owner, number, chunks, &t, e)
                        : error_memory(e, "the reflections");
    if (s == STATUS_OK) {
        nxmx_layers_put(layers, f, i, chunks);
        nxmx_columns_put(columns, f, number, &t);
        s = nxmx_peaks_put(peaks, f, number, &t, e);
    }
    reflection_table_free(&t);
    return s;
}

struct nxmx_written {
    struct hdf5_file hdf5;
};

static enum status put_frames(struct hdf5_file *f, const struct nxmx_kind *kind,
                              const struct nxmx_rows *rows, nxmx_source *source, void *owner,
                              struct error *e)
{
    struct nxmx_chunk chunks[NXMX_LAYERS_MAX] = {{0}};
    struct nxmx_layers layers;
    struct nxmx_columns columns;
    struct nxmx_peaks peaks;
    enum status s = STATUS_OK;
    nxmx_layout(f, kind, rows);
    nxmx_layers_create(&layers, f, kind, rows->nframes);
    nxmx_columns_create(&columns, f, rows);
    nxmx_peaks_create(&peaks, f, kind, rows);
    for (size_t i = 0; i < rows->nframes && !f->failed && !s; i++)
        s = put_frame(f, &layers, &columns, &peaks, rows, i, chunks, source, owner, e);
    nxmx_peaks_close(&peaks, f);
    nxmx_columns_close(&columns);
    nxmx_layers_close(&layers);
    return s;
}

_Static_assert((int)SPOOL_FRONT >= (int)HDF5_FRONT, "the superblock fits before the records");

enum status nxmx_write(const char *path, struct spool *spool, const struct nxmx_kind *kind,
                       const struct nxmx_rows *rows, nxmx_source *source, void *owner,
                       struct nxmx_written **file, struct error *e)
{
    struct nxmx_written *made = mem_array(1, sizeof *made);
    enum status s =
        hdf5_complete(&made->hdf5, path, spool->path, spool->file, spool->end, kind->sync, e);
    if (s) {
        free(made);
        return s;
    }
    made->hdf5.replace.guarded = kind->guarded;
    s = put_frames(&made->hdf5, kind, rows, source, owner, e);
    if (s == STATUS_OK) {
        hdf5_settle(&made->hdf5);
        *file = made;
    } else {
        nxmx_drop(made);
    }
    return s;
}

enum status nxmx_give_name(struct nxmx_written *file, struct error *e)
{
    const enum status s = hdf5_commit(&file->hdf5, e);
    free(file);
    return s;
}

void nxmx_drop(struct nxmx_written *file)
{
    if (!file)
        return;
    hdf5_abort(&file->hdf5);
    free(file);
}

/* --- the master ---------------------------------------------------------- */

enum status nxmx_write_master(const char *path, const struct nxmx_kind *kind,
                              const struct nxmx_rows *rows, nxmx_name *name, const void *owner,
                              struct error *e)
{
    struct hdf5_file f;
    struct nxmx_map map;
    const enum status s = hdf5_create(&f, path, kind->sync, e);
    if (s)
        return s;
    f.replace.guarded = kind->guarded;
    nxmx_layout(&f, kind, rows);
    nxmx_map_make(&map, rows, name, owner);
    nxmx_layers_map(&f, kind, &map);
    nxmx_columns_map(&f, rows, &map);
    nxmx_peaks_map(&f, kind, rows, &map);
    nxmx_map_free(&map);
    return hdf5_commit(&f, e);
}

void nxmx_masks_free(struct nxmx_masks *m)
{
    mem_free(m->nexus.bytes);
    mem_free(m->cxi.bytes);
    *m = (struct nxmx_masks){0};
}

/* --- reading ------------------------------------------------------------- */

struct nxmx_file {
    struct hdf5_file hdf5;
    const struct nxmx_kind *kind;  // borrowed
    struct nxmx_layers layers;
    char path[NAME_BYTES];
};

static bool is_of_lineage(struct hdf5_file *f, const char *lineage)
{
    char found[32];
    return hdf5_read_text(f, NXMX_TRUTH "/lineage", found, sizeof found) &&
           strcmp(found, lineage) == 0;
}

/* Returns true if the chunks and frames of the file can be part of a file of this kind. */
static bool is_of_kind(struct nxmx_file *file, const struct nxmx_kind *kind, struct nxmx_rows *rows)
{
    char compression[16];
    if (!is_of_lineage(&file->hdf5, kind->lineage) ||
        !hdf5_read_text(&file->hdf5, NXMX_TRUTH "/compression", compression, sizeof compression) ||
        strcmp(compression, nxmx_compression_name(kind->compression)) != 0)
        return false;
    return nxmx_has_cxi(&file->hdf5) == kind->cxi &&
           nxmx_layers_open(&file->layers, &file->hdf5, kind) && nxmx_get_rows(&file->hdf5, rows) &&
           nxmx_get_spectra(&file->hdf5, rows);
}

enum status nxmx_open(const char *path, const struct nxmx_kind *kind, struct nxmx_file **file,
                      struct nxmx_rows *rows, struct error *e)
{
    *rows = (struct nxmx_rows){0};
    *file = NULL;
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    struct nxmx_file *opened = mem_array(1, sizeof *opened);
    (void)snprintf(opened->path, sizeof opened->path, "%s", path);
    opened->kind = kind;
    if (!hdf5_open(&opened->hdf5, path, nxmx_try, e) && is_of_kind(opened, kind, rows)) {
        *file = opened;
        return STATUS_OK;
    }
    nxmx_close(opened);
    return error_set(e, STATUS_FAILED,
                     "%s exists and was not written by this run, or has another compression or "
                     "other derivatives. Use --overwrite to replace it, or another name",
                     path);
}

bool nxmx_read_rows(const char *path, const char *lineage, struct nxmx_rows *rows)
{
    struct hdf5_file f;
    struct error ignored;
    *rows = (struct nxmx_rows){0};
    if (hdf5_open(&f, path, nxmx_try, &ignored))
        return false;
    const bool good =
        is_of_lineage(&f, lineage) && nxmx_get_rows(&f, rows) && nxmx_get_spectra(&f, rows);
    hdf5_abort(&f);
    return good;
}

/* Compares the checksums of the frame at index `place` with what was read. */
static enum status check_sums(const struct nxmx_file *file, const struct nxmx_rows *rows,
                              size_t place, const struct nxmx_chunk *chunks,
                              const struct reflection_table *t, struct error *e)
{
    const struct nxmx_frame *frame = &rows->frames[place];
    uint32_t sum;
    if (!frame->summed)
        return STATUS_OK;
    const bool images = nxmx_layers_sum(file->kind, chunks, &sum) && sum == frame->images_sum;
    if (images && nxmx_rows_sum(rows, place, t) == frame->truth_sum)
        return STATUS_OK;
    return nxmx_damaged(file->path, images ? "ground truth" : "image", frame->number,
                        NXMX_REMOVE_FILE, STATUS_FAILED, e);
}

enum status nxmx_read(struct nxmx_file *file, const struct nxmx_rows *rows, uint64_t frame,
                      struct nxmx_chunk *chunks, struct reflection_table *t, struct error *e)
{
    const size_t place = (size_t)nxmx_rows_find(rows, frame);
    if (!nxmx_layers_get(&file->layers, place, chunks) ||
        !nxmx_table_get(&file->hdf5, rows, place, t))
        return error_set(e, STATUS_FAILED, "%s: cannot read image %zu", file->path, place);
    return check_sums(file, rows, place, chunks, t, e);
}

void nxmx_close(struct nxmx_file *file)
{
    if (!file)
        return;
    nxmx_layers_close(&file->layers);
    hdf5_abort(&file->hdf5);
    free(file);
}
