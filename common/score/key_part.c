#include "score/key.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/nxmx/nxmx_layout.h"
#include "io/nxmx/nxmx_read.h"

enum { BLOCK_ROWS = 1 << 23 };  // maximum number of rows that are read at a time

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

/* Reads the reflections of frames [first, last], and of some frames after them up to `most` rows.
 */
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
        return error_memory(e, "the reflections of the ground truth");
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
    /* answers arrive nearly in order, so that a frame slightly before this one is likely to be next
     */
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

/* --- a frame --------------------------------------------------------------------- */

static int by_hkl(const void *a, const void *b)
{
    const struct reflection_row *x = a, *y = b;
    for (int i = 0; i < 3; i++)
        if (x->hkl[i] != y->hkl[i])
            return x->hkl[i] < y->hkl[i] ? -1 : 1;
    return 0;
}

static enum status add_rows(struct key_part *k, const struct answer *a,
                            const struct answer_lattice *l, int32_t lattice, struct error *e)
{
    struct reflection_row *more =
        mem_grow(k->block, k->nblock, l->count + 1, sizeof *more, &k->block_room);
    if (!more)
        return error_memory(e, k->path);
    k->block = more;
    more += k->nblock;
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct answer_reflection *r = &a->reflections[l->first + i];
        if (!r->measured || !(r->intensity > 0.0))
            continue;
        more[n] = (struct reflection_row){.fast = r->fast,
                                          .slow = r->slow,
                                          .photons = r->intensity,
                                          .lattice = lattice,
                                          .panel = r->panel};
        memcpy(more[n++].hkl, r->hkl, sizeof r->hkl);
    }
    k->nblock += n;
    if (n)
        qsort(more, n, sizeof *more, by_hkl);
    return STATUS_OK;
}

enum status key_add_frame(struct key_part *k, uint64_t number, const struct answer *a,
                          struct error *e)
{
    struct nxmx_rows *r = &k->rows;
    struct nxmx_frame *frames = mem_grow(r->frames, r->nframes, 1, sizeof *frames, &r->frames_room);
    r->frames = frames ? frames : r->frames;
    struct nxmx_told *counts =
        mem_grow(r->reflections, r->nframes, 1, sizeof *counts, &r->reflections_room);
    r->reflections = counts ? counts : r->reflections;
    struct nxmx_lattice *lattices =
        mem_grow(r->lattices, r->nlattices, a->nlattices + 1, sizeof *lattices, &r->lattices_room);
    r->lattices = lattices ? lattices : r->lattices;
    if (!frames || !counts || !lattices)
        return error_memory(e, k->path);
    const size_t first = k->nblock;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < a->nlattices && !s; i++) {
        struct nxmx_lattice *l = &lattices[r->nlattices++];
        *l = (struct nxmx_lattice){.frame = number, .crystal = a->lattices[i].crystal};
        memcpy(l->a_matrix, a->lattices[i].a_matrix, sizeof l->a_matrix);
        for (int m = 0; m < 6; m++)
            l->a_matrix[m] = 0.0 - l->a_matrix[m];  // from the coordinate system of the beam to
                                                    // NeXus
        s = add_rows(k, a, &a->lattices[i], (int32_t)i, e);
    }
    frames[r->nframes] =
        (struct nxmx_frame){.number = number,
                            .lattices = a->nlattices,
                            .shift_m = {0.0 - a->shift_m[0], 0.0 - a->shift_m[1], a->shift_m[2]}};
    counts[r->nframes++] = (struct nxmx_told){.rows = k->nblock - first};
    return s;
}

enum status key_add_blanks(struct key_part *k, uint64_t number, struct error *e)
{
    const struct answer nothing = {0};
    const struct nxmx_rows *r = &k->rows;
    enum status s = STATUS_OK;
    for (uint64_t i = r->nframes ? r->frames[r->nframes - 1].number + 1 : 0; i < number && !s; i++)
        s = key_add_frame(k, i, &nothing, e);
    return s;
}

/* --- the detector ------------------------------------------------------------------ */

enum status key_add_panels(struct key_part *k, const struct geom_panel *panels, size_t npanels,
                           struct error *e)
{
    if (k->detector.npanels)
        return STATUS_OK;
    k->detector.panels = mem_copy(panels, npanels, sizeof *panels);
    if (!k->detector.panels)
        return error_memory(e, k->path);
    for (size_t i = 0; i < npanels; i++)
        k->detector.panels[i].mask = NULL;
    k->detector.npanels = npanels;
    return STATUS_OK;
}

enum status key_add_unknown_panels(struct key_part *k, size_t npanels, struct error *e)
{
    k->detector.panels = mem_array(npanels, sizeof *k->detector.panels);
    k->detector.npanels = npanels;
    k->tells.no_detector = "the ground truth does not contain the detector";
    return k->detector.panels ? STATUS_OK : error_memory(e, k->path);
}

/* --- the order --------------------------------------------------------------------- */

/* The first row and the first lattice of a frame in the order of adding. */
struct place {
    uint64_t number;
    size_t frame, row, lattice;
};

static int by_number(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

static struct place *find_places(const struct nxmx_rows *r)
{
    struct place *places = mem_array(r->nframes + 1, sizeof *places), at = {0};
    for (; places && at.frame < r->nframes; at.frame++) {
        at.number = r->frames[at.frame].number;
        places[at.frame] = at;
        at.row += (size_t)r->reflections[at.frame].rows;
        at.lattice += (size_t)r->frames[at.frame].lattices;
    }
    if (places && r->nframes)
        qsort(places, r->nframes, sizeof *places, by_number);
    return places;
}

/* Appends a copy of a frame to *to. */
static void copy_frame(struct key_part *to, const struct key_part *from, const struct place *p)
{
    struct nxmx_rows *r = &to->rows;
    const struct nxmx_frame *f = &from->rows.frames[p->frame];
    const size_t rows = (size_t)from->rows.reflections[p->frame].rows;
    r->frames[r->nframes] = *f;
    r->reflections[r->nframes++] = from->rows.reflections[p->frame];
    for (size_t i = 0; i < f->lattices; i++)
        r->lattices[r->nlattices++] = from->rows.lattices[p->lattice + i];
    for (size_t i = 0; i < rows; i++)
        to->block[to->nblock++] = from->block[p->row + i];
}

static enum status order(struct key_part *k, const struct place *places, struct error *e)
{
    struct nxmx_rows *r = &k->rows;
    struct key_part to = {.block = mem_array(k->nblock + 1, sizeof *to.block)};
    to.rows.frames = mem_array(r->nframes + 1, sizeof *r->frames);
    to.rows.reflections = mem_array(r->nframes + 1, sizeof *r->reflections);
    to.rows.lattices = mem_array(r->nlattices + 1, sizeof *r->lattices);
    enum status s = to.block && to.rows.frames && to.rows.reflections && to.rows.lattices
                        ? STATUS_OK
                        : error_memory(e, k->path);
    for (size_t i = 0; i < r->nframes && !s; i++) {
        const bool twice = i && places[i].number == places[i - 1].number;
        if (twice && !k->tells.sent)
            s = error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " occurs twice", k->path,
                          places[i].number);
        else if (!twice)
            copy_frame(&to, k, &places[i]);
    }
    nxmx_rows_free(r);
    mem_free(k->block);
    *r = to.rows;
    k->block = to.block;
    k->nblock = to.nblock;
    return s;
}

enum status key_add_end(struct key_part *k, struct error *e)
{
    struct place *places = find_places(&k->rows);
    const enum status s = places ? order(k, places, e) : error_memory(e, k->path);
    mem_free(places);
    k->rows.has_reflections = true;
    k->block_end = k->rows.nframes;
    return s;
}
