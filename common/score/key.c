#include "score/key.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/input.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/nexus.h"
#include "io/nxmx_read.h"
#include "io/nxmx_reflections.h"
#include "score/key_recording.h"
#include "score/key_stream.h"
#include "score/key_tables.h"
#include "score/key_text.h"

/* Reflections that are read at a time, and the frame that has more of them is read alone. */
enum { BLOCK_ROWS = 1 << 16 };

/* NeXus' x and y seen from the other side: the frame of the beam. */
static void to_beam(double v[3])
{
    v[0] = 0.0 - v[0];
    v[1] = 0.0 - v[1];
}

/* Frames of a rotation series say about what they turn. */
static enum status read_spindle(struct key *k, struct error *e)
{
    const struct nexus n = {k->file.id, k->path};
    char path[NEXUS_PATH];
    double length;
    vec_set(k->spindle, -1.0, 0.0, 0.0);
    if (nexus_has(&n, "/entry/sample/transformations", "omega", path)) {
        const enum status s = nexus_vector(&n, path, k->spindle, &length, e);
        if (s)
            return s;
    }
    to_beam(k->spindle);
    return STATUS_OK;
}

static enum status count_rows(struct key *k, struct error *e)
{
    const struct nxmx_rows *rows = &k->rows;
    if (!rows->nframes)
        return error_set(e, STATUS_INPUT, "%s: holds no frames", k->path);
    if (!rows->has_reflections)
        return error_set(e, STATUS_INPUT,
                         "%s: holds no reflections: bragg-intensity --reflections makes them",
                         k->path);
    k->first = mem_array(rows->nframes + 1, sizeof *k->first);
    if (!k->first)
        return error_memory(e, "the answer key");
    for (size_t i = 0; i < rows->nframes; i++)
        if (__builtin_add_overflow(k->first[i], rows->reflections[i].rows, &k->first[i + 1]))
            return error_set(e, STATUS_INPUT, "%s: is damaged", k->path);
    return STATUS_OK;
}

enum status key_open(struct key *k, const char *path, struct error *e)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    *k = (struct key){.path = path, .file.id = -1};
    if (key_tables_named(path)) {
        const enum status status = key_tables_read(k, e);
        return status ? status : count_rows(k, e);
    }
    if (access(path, R_OK))
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    enum status (*const read)(struct key *, struct error *) =
        key_recording_is(path) ? key_recording_read
        : key_stream_is(path)  ? key_stream_read
        : key_text_is(path)    ? key_text_read
                               : NULL;
    if (read) {
        const enum status status = read(k, e);
        return status ? status : count_rows(k, e);
    }
    if (!nxmx_is_hdf5(path))
        return error_set(e, STATUS_INPUT,
                         "%s: is no answer key: must be an NXmx file of bragg-write, a recording, "
                         "or a table or stream of reflections or lattices",
                         path);
    enum status s = nxmx_read_truth(path, history, &k->rows, e);
    s = s ? s : count_rows(k, e);
    s = s ? s : nxmx_geometry_read(path, &k->detector, e);
    if (!s && !hdf5_open(&k->file, path))
        s = error_set(e, STATUS_INPUT, "%s: cannot be read as HDF5", path);
    return s ? s : read_spindle(k, e);
}

void key_close(struct key *k)
{
    if (k->file.id >= 0)
        hdf5_abort(&k->file);
    nxmx_rows_free(&k->rows);
    nxmx_geometry_free(&k->detector);
    mem_free(k->first);
    mem_free(k->block);
    *k = (struct key){.file.id = -1};
}

/* Reads the reflections of frames [first, last], and of some behind them. */
static enum status read_block(struct key *k, size_t first, size_t last, struct error *e)
{
    size_t end = last + 1;
    while (end < k->rows.nframes && k->first[end + 1] - k->first[first] <= BLOCK_ROWS)
        end++;
    const size_t count = (size_t)(k->first[end] - k->first[first]);
    mem_free(k->block);
    k->block_frame = k->block_end = 0;
    k->block = mem_array(count, sizeof *k->block);
    if (!k->block)
        return error_memory(e, "the reflections of the answer key");
    if (!nxmx_columns_get(&k->file, k->first[first], count, k->block))
        return error_set(e, STATUS_INPUT, "%s: cannot read the reflections of frame %llu", k->path,
                         (unsigned long long)k->rows.frames[first].number);
    k->block_frame = first;
    k->block_end = end;
    return STATUS_OK;
}

/* The first lattice of a frame. */
static const struct nxmx_lattice *lattices_of(const struct nxmx_rows *rows, uint64_t frame)
{
    size_t low = 0, high = rows->nlattices;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (rows->lattices[middle].frame < frame)
            low = middle + 1;
        else
            high = middle;
    }
    return rows->lattices + low;
}

/* Rows that HDF5 cannot find, in a master without its files, come as zeros. */
static enum status check_rows(const struct key *k, const struct key_frame *f, struct error *e)
{
    for (size_t i = 0; i < f->nrows; i++) {
        const struct reflection_row *r = &f->rows[i];
        if (!(r->photons > 0.0) || !isfinite(r->fast + r->slow))
            return error_set(e, STATUS_INPUT,
                             "%s: cannot read the reflections of frame %llu: is a file of the "
                             "series missing?",
                             k->path, (unsigned long long)f->frame->number);
        if (r->lattice < 0 || (uint64_t)r->lattice >= f->frame->lattices || r->panel < 0 ||
            (size_t)r->panel >= k->detector.npanels)
            return error_set(e, STATUS_INPUT,
                             "%s: frame %llu has a reflection of a lattice or a panel that is not "
                             "there",
                             k->path, (unsigned long long)f->frame->number);
    }
    return STATUS_OK;
}

enum status key_frame(struct key *k, size_t place, size_t reach, struct key_frame *f,
                      struct error *e)
{
    const size_t first = place > reach ? place - reach : 0,
                 last = reach < k->rows.nframes - 1 - place ? place + reach : k->rows.nframes - 1;
    if (first < k->block_frame || last >= k->block_end) {
        /* answers come nearly in order: a little back is likely */
        const enum status s = read_block(k, first > 8 ? first - 8 : 0, last, e);
        if (s)
            return s;
    }
    f->frame = &k->rows.frames[place];
    f->lattices = lattices_of(&k->rows, f->frame->number);
    f->rows = k->block + (k->first[place] - k->first[k->block_frame]);
    f->nrows = (size_t)k->rows.reflections[place].rows;
    return check_rows(k, f, e);
}

/* Order of the rows of a frame. */
static int compare(const struct reflection_row *r, int32_t lattice, const int32_t hkl[3])
{
    if (r->lattice != lattice)
        return r->lattice < lattice ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (r->hkl[i] != hkl[i])
            return r->hkl[i] < hkl[i] ? -1 : 1;
    return 0;
}

const struct reflection_row *key_find(const struct key *k, size_t place, int32_t lattice,
                                      const int32_t hkl[3])
{
    const struct reflection_row *rows = k->block + (k->first[place] - k->first[k->block_frame]);
    size_t low = 0, high = (size_t)k->rows.reflections[place].rows;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = compare(&rows[middle], lattice, hkl);
        if (!order)
            return &rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void key_a_matrix(const struct key *k, const struct nxmx_frame *f, const struct nxmx_lattice *l,
                  double a_matrix[9])
{
    const double middle_deg = f->rotation_start + 0.5 * f->rotation_width;
    for (int column = 0; column < 3; column++) {
        double v[3] = {l->a_matrix[column], l->a_matrix[3 + column], l->a_matrix[6 + column]};
        to_beam(v);
        if (middle_deg != 0.0)
            vec_rotate_axis(v, k->spindle, deg_to_rad(middle_deg));
        for (int i = 0; i < 3; i++)
            a_matrix[3 * i + column] = v[i];
    }
}
