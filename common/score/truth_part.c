/* One file of the ground truth: its reflections in memory, and frames that are added to it. */
#include "score/truth.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_layout.h"

enum { BLOCK_ROWS = 1 << 23 };  // maximum number of rows that are read at a time

static void close_file(struct truth_part *p)
{
    if (p->file.id >= 0)
        hdf5_abort(&p->file);
    p->file.id = -1;
}

void truth_part_close(struct truth_part *p)
{
    truth_part_forget(p);
    nxmx_rows_free(&p->rows);
    nxmx_geometry_free(&p->detector);
    mem_free(p->first);
    mem_free(p->sums);
    mem_free(p->place);
    *p = (struct truth_part){.file.id = -1};
}

/* --- reflections ----------------------------------------------------------------- */

/* Compares the checksums of the `end - first` frames in memory with what was read.  Skips a frame
 * whose first row has no photons: HDF5 returns zeros if a file of the series is missing, and
 * truth_frame says that. */
static enum status check_sums(struct truth_part *p, size_t first, size_t end, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = first; i < end && p->sums && !s; i++) {
        const struct truth_sum *known = &p->sums[i];
        const struct reflection_row *rows = p->block + (p->first[i] - p->first[first]);
        const size_t count = (size_t)(p->first[i + 1] - p->first[i]);
        uint32_t sum = known->front;
        if (count && !(rows->photons > 0.0))
            continue;
        if (!nxmx_columns_sum(&p->file, rows, count, known->first_pixel, known->npixels, &sum) ||
            sum != known->whole)
            s = nxmx_damaged(p->path, "ground truth", known->number, NXMX_WRITE_AGAIN, STATUS_INPUT,
                             e);
    }
    return s;
}

void truth_add_noise(struct reflection_row *rows, size_t count)
{
    static const double ROUNDED_Z = 1e-5;  // z is a float32
    for (size_t i = 0; i < count; i++) {
        struct reflection_row *row = &rows[i];
        const double z = (double)row->z, root = z > 0.0 ? row->photons / z : 0.0;
        const double known = row->photons + (double)row->background;
        if (root * root > known * (1.0 + ROUNDED_Z))
            row->background = (float)(root * root - row->photons);
    }
}

/* Reads the reflections of frames [first, last], and of some frames after them up to `most` rows.
 */
static enum status read_block(struct truth_part *p, size_t first, size_t last, size_t most,
                              uint64_t number, struct error *e)
{
    size_t end = last + 1;
    while (end < p->nframes && p->first[end + 1] - p->first[first] <= most)
        end++;
    const size_t count = (size_t)(p->first[end] - p->first[first]);
    if (count > BLOCK_ROWS)
        return error_set(e, STATUS_INPUT,
                         "%s: frame %" PRIu64 " has %zu reflections; expected %d "
                         "at most",
                         p->path, number, count, BLOCK_ROWS);
    mem_free(p->block);
    p->nblock = p->block_frame = p->block_end = 0;
    p->block = mem_array(count, sizeof *p->block);
    const enum status s =
        p->file.id >= 0 ? STATUS_OK : hdf5_open(&p->file, p->path, nxmx_try_series, e);
    if (s)
        return s;
    enum status good =
        nxmx_columns_get(&p->file, p->first[first], count, p->block)
            ? STATUS_OK
            : error_set(e, STATUS_INPUT, "%s: cannot read the reflections of frame %" PRIu64,
                        p->path, number);
    good = good ? good : check_sums(p, first, end, e);
    if (!good)
        truth_add_noise(p->block, count);
    if (!p->stays_open)
        close_file(p);
    if (good)
        return good;
    p->nblock = count;
    p->block_frame = first;
    p->block_end = end;
    return STATUS_OK;
}

enum status truth_part_reach(struct truth_part *p, size_t first, size_t last, size_t most,
                             uint64_t number, struct error *e)
{
    if (first >= p->block_frame && last < p->block_end)
        return STATUS_OK;
    /* answers arrive nearly in order, so that a frame slightly before this one is likely to be next
     */
    return read_block(p, first > 8 ? first - 8 : 0, last, most, number, e);
}

const struct reflection_row *truth_part_rows(const struct truth_part *p, size_t frame,
                                             size_t *nrows)
{
    *nrows = (size_t)(p->first[frame + 1] - p->first[frame]);
    return p->block + (p->first[frame] - p->first[p->block_frame]);
}

void truth_part_forget(struct truth_part *p)
{
    close_file(p);
    mem_free(p->block);
    p->block = NULL;
    p->nblock = p->block_frame = p->block_end = 0;
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

/* Background below this fraction of the photons is an error of rounding. */
static const double ROUNDED = 1e-9;

/* Returns the background of a reflection of ground truth, whose sigma^2 is the sum of photons and
 * background. */
static float background_of(const struct answer_reflection *r)
{
    const double background = r->sigma * r->sigma - r->intensity;
    return background > ROUNDED * r->intensity ? (float)background : 0.0F;
}

static void add_rows(struct truth_part *p, const struct answer *a, const struct answer_lattice *l,
                     int32_t lattice)
{
    struct reflection_row *more =
        mem_grow(p->block, p->nblock, l->count + 1, sizeof *more, &p->block_room);
    p->block = more;
    more += p->nblock;
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct answer_reflection *r = &a->reflections[l->first + i];
        if (!r->measured || !(r->intensity > 0.0))
            continue;
        more[n] = (struct reflection_row){.fast = r->fast,
                                          .slow = r->slow,
                                          .photons = r->intensity,
                                          .background = background_of(r),
                                          .lattice = lattice,
                                          .panel = r->panel};
        memcpy(more[n++].hkl, r->hkl, sizeof r->hkl);
    }
    p->nblock += n;
    if (n)
        qsort(more, n, sizeof *more, by_hkl);
}

void truth_add_frame(struct truth_part *p, uint64_t number, const struct answer *a)
{
    struct nxmx_rows *r = &p->rows;
    r->frames = mem_grow(r->frames, r->nframes, 1, sizeof *r->frames, &r->frames_room);
    r->reflections =
        mem_grow(r->reflections, r->nframes, 1, sizeof *r->reflections, &r->reflections_room);
    r->lattices = mem_grow(r->lattices, r->nlattices, a->nlattices + 1, sizeof *r->lattices,
                           &r->lattices_room);
    const size_t first = p->nblock;
    for (size_t i = 0; i < a->nlattices; i++) {
        struct nxmx_lattice *l = &r->lattices[r->nlattices++];
        *l = (struct nxmx_lattice){.frame = number, .crystal = a->lattices[i].crystal};
        memcpy(l->a_matrix, a->lattices[i].a_matrix, sizeof l->a_matrix);
        for (int m = 0; m < 6; m++)
            l->a_matrix[m] = 0.0 - l->a_matrix[m];  // from the coordinate system of the beam to
                                                    // NeXus
        add_rows(p, a, &a->lattices[i], (int32_t)i);
    }
    r->frames[r->nframes] =
        (struct nxmx_frame){.number = number,
                            .lattices = a->nlattices,
                            .shift_m = {0.0 - a->shift_m[0], 0.0 - a->shift_m[1], a->shift_m[2]}};
    r->reflections[r->nframes++] = (struct nxmx_reflection_counts){.rows = p->nblock - first};
}

void truth_add_blanks(struct truth_part *p, uint64_t number)
{
    const struct answer nothing = {0};
    const struct nxmx_rows *r = &p->rows;
    for (uint64_t i = r->nframes ? r->frames[r->nframes - 1].number + 1 : 0; i < number; i++)
        truth_add_frame(p, i, &nothing);
}

/* --- the detector ------------------------------------------------------------------ */

void truth_add_panels(struct truth_part *p, const struct geom_panel *panels, size_t npanels)
{
    if (p->detector.npanels)
        return;
    p->detector.panels = mem_copy(panels, npanels, sizeof *panels);
    for (size_t i = 0; i < npanels; i++)
        p->detector.panels[i].mask = NULL;
    p->detector.npanels = npanels;
}

void truth_add_unknown_panels(struct truth_part *p, size_t npanels)
{
    p->detector.panels = mem_array(npanels, sizeof *p->detector.panels);
    p->detector.npanels = npanels;
    p->facts.no_detector = "the ground truth does not contain the detector";
}

/* --- the order of frames ----------------------------------------------------------- */

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
    for (; at.frame < r->nframes; at.frame++) {
        at.number = r->frames[at.frame].number;
        places[at.frame] = at;
        at.row += (size_t)r->reflections[at.frame].rows;
        at.lattice += (size_t)r->frames[at.frame].lattices;
    }
    if (r->nframes)
        qsort(places, r->nframes, sizeof *places, by_number);
    return places;
}

/* Appends a copy of a frame to *to. */
static void copy_frame(struct truth_part *to, const struct truth_part *from, const struct place *p)
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

static enum status order(struct truth_part *p, const struct place *places, struct error *e)
{
    struct nxmx_rows *r = &p->rows;
    struct truth_part to = {.block = mem_array(p->nblock + 1, sizeof *to.block)};
    to.rows.frames = mem_array(r->nframes + 1, sizeof *r->frames);
    to.rows.reflections = mem_array(r->nframes + 1, sizeof *r->reflections);
    to.rows.lattices = mem_array(r->nlattices + 1, sizeof *r->lattices);
    enum status s = STATUS_OK;
    for (size_t i = 0; i < r->nframes && !s; i++) {
        const bool twice = i && places[i].number == places[i - 1].number;
        if (twice && !p->facts.sent)
            s = error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " occurs twice", p->path,
                          places[i].number);
        else if (!twice)
            copy_frame(&to, p, &places[i]);
    }
    nxmx_rows_free(r);
    mem_free(p->block);
    *r = to.rows;
    p->block = to.block;
    p->nblock = to.nblock;
    return s;
}

enum status truth_add_end(struct truth_part *p, struct error *e)
{
    struct place *places = find_places(&p->rows);
    const enum status s = order(p, places, e);
    mem_free(places);
    p->rows.has_reflections = true;
    p->block_end = p->rows.nframes;
    return s;
}
