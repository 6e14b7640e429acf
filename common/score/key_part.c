#include "score/key_part.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "io/nexus.h"
#include "io/nxmx_read.h"
#include "io/nxmx_reflections.h"
#include "io/nxmx_trial.h"
#include "score/key_recording.h"
#include "score/key_stream.h"
#include "score/key_tables.h"
#include "score/key_text.h"

enum { BLOCK_ROWS = 1 << 23 };  // that are read at a time, at most

/* Frames of a rotation series say about what they turn. */
static enum status read_spindle(struct key_part *k, struct error *e)
{
    struct hdf5_file file;
    char path[NEXUS_PATH];
    double length, step = 0.0;
    vec_set(k->spindle, -1.0, 0.0, 0.0);
    enum status s = hdf5_open(&file, k->path, nxmx_try_series, e);
    if (s)
        return s;
    const struct nexus n = {file.id, k->path};
    if (nexus_has(&n, "/entry/sample/transformations", "omega", path))
        s = nexus_vector(&n, path, k->spindle, &length, e);
    if (!s && nexus_has(&n, "/entry/sample/transformations", "omega_increment_set", path))
        s = nexus_real(&n, path, NEXUS_ANGLE, &step, e);
    hdf5_abort(&file);
    for (int i = 0; i < 2; i++)  // NeXus' x and y seen from the other side: the frame of the beam
        k->spindle[i] = 0.0 - k->spindle[i];
    if (step * k->rows.frames->rotation_width < 0.0)  // bragg-write has inverted the axis
        for (int i = 0; i < 3; i++)
            k->spindle[i] = 0.0 - k->spindle[i];
    return s;
}

static enum status count_rows(struct key_part *k, struct error *e)
{
    const struct nxmx_rows *rows = &k->rows;
    if (!rows->nframes)
        return error_set(e, STATUS_INPUT, "%s: holds no frames", k->path);
    if (!rows->has_reflections)
        return error_set(e, STATUS_INPUT,
                         "%s: holds no reflections: bragg-intensity --reflections makes them",
                         k->path);
    k->nframes = rows->nframes;
    k->first = mem_array(rows->nframes + 1, sizeof *k->first);
    k->place = mem_array(rows->nframes, sizeof *k->place);
    if (!k->first || !k->place)
        return error_memory(e, "the answer key");
    for (size_t i = 0; i < rows->nframes; i++)
        if (__builtin_add_overflow(k->first[i], rows->reflections[i].rows, &k->first[i + 1]))
            return error_set(e, STATUS_INPUT, "%s: is damaged", k->path);
    return STATUS_OK;
}

enum status key_part_open(struct key_part *k, const char *path, struct error *e)
{
    *k = (struct key_part){.path = path, .file.id = -1};
    if (key_tables_named(path)) {
        const enum status status = key_tables_read(k, e);
        return status ? status : count_rows(k, e);
    }
    if (access(path, R_OK))
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    enum status (*const read)(struct key_part *, struct error *) =
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
    enum status s = nxmx_read_key(path, &k->rows, e);
    s = s ? s : count_rows(k, e);
    s = s ? s : nxmx_geometry_read(path, &k->detector, e);
    k->on_disk = true;
    return s ? s : read_spindle(k, e);
}

static void close_file(struct key_part *k)
{
    if (k->file.id >= 0)
        hdf5_abort(&k->file);
    k->file.id = -1;
}

void key_part_close(struct key_part *k)
{
    key_part_forget(k);
    nxmx_rows_free(&k->rows);
    nxmx_geometry_free(&k->detector);
    mem_free(k->first);
    mem_free(k->place);
    *k = (struct key_part){.file.id = -1};
}

/* --- reflections ----------------------------------------------------------------- */

/* Reads those of frames [first, last], and of some behind them. */
static enum status read_block(struct key_part *k, size_t first, size_t last, size_t most,
                              uint64_t number, struct error *e)
{
    size_t end = last + 1;
    while (end < k->nframes && k->first[end + 1] - k->first[first] <= most)
        end++;
    const size_t count = (size_t)(k->first[end] - k->first[first]);
    if (count > BLOCK_ROWS)
        return error_set(e, STATUS_INPUT,
                         "%s: frame %" PRIu64 " has %zu reflections; expected %d "
                         "at most",
                         k->path, number, count, BLOCK_ROWS);
    mem_free(k->block);
    k->nblock = k->block_frame = k->block_end = 0;
    k->block = mem_array(count, sizeof *k->block);
    if (!k->block)
        return error_memory(e, "the reflections of the answer key");
    const enum status s =
        k->file.id >= 0 ? STATUS_OK : hdf5_open(&k->file, k->path, nxmx_try_series, e);
    if (s)
        return s;
    const bool good = nxmx_columns_get(&k->file, k->first[first], count, k->block);
    if (!k->stays_open)
        close_file(k);
    if (!good)
        return error_set(e, STATUS_INPUT, "%s: cannot read the reflections of frame %" PRIu64,
                         k->path, number);
    k->nblock = count;
    k->block_frame = first;
    k->block_end = end;
    return STATUS_OK;
}

enum status key_part_reach(struct key_part *k, size_t first, size_t last, size_t most,
                           uint64_t number, struct error *e)
{
    if (first >= k->block_frame && last < k->block_end)
        return STATUS_OK;
    /* answers come nearly in order: a little back is likely */
    return read_block(k, first > 8 ? first - 8 : 0, last, most, number, e);
}

const struct reflection_row *key_part_rows(const struct key_part *k, size_t frame, size_t *nrows)
{
    *nrows = (size_t)(k->first[frame + 1] - k->first[frame]);
    return k->block + (k->first[frame] - k->first[k->block_frame]);
}

void key_part_forget(struct key_part *k)
{
    close_file(k);
    mem_free(k->block);
    k->block = NULL;
    k->nblock = k->block_frame = k->block_end = 0;
}
