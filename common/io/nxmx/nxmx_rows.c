#include "io/nxmx/nxmx_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/recipe.h"

/* --- rows ---------------------------------------------------------------- */

/* Returns how many of `count` rows belong to frames with lower numbers than `number`.  The rows
 * have `size` bytes, begin with the number of their frame, and are in ascending order. */
static size_t rows_below(const void *rows, size_t count, size_t size, uint64_t number)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        uint64_t found;
        memcpy(&found, (const char *)rows + middle * size, sizeof found);
        if (found < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t frames_below(const struct nxmx_rows *rows, uint64_t number)
{
    return rows_below(rows->frames, rows->nframes, sizeof *rows->frames, number);
}

static size_t lattices_below(const struct nxmx_rows *rows, uint64_t number)
{
    return rows_below(rows->lattices, rows->nlattices, sizeof *rows->lattices, number);
}

int64_t nxmx_rows_find(const struct nxmx_rows *rows, uint64_t number)
{
    const size_t at = frames_below(rows, number);
    return at < rows->nframes && rows->frames[at].number == number ? (int64_t)at : -1;
}

/* --- spectra ------------------------------------------------------------- */

static size_t channels_below(const struct nxmx_rows *rows, uint64_t number)
{
    return rows_below(rows->channels, rows->nchannels, sizeof *rows->channels, number);
}

const struct nxmx_channel *nxmx_rows_spectrum(const struct nxmx_rows *rows, uint64_t number)
{
    return rows->nchannels ? &rows->channels[channels_below(rows, number)] : NULL;
}

static void remove_spectrum(struct nxmx_rows *rows, uint64_t number, size_t count)
{
    if (!count)
        return;
    const size_t first = channels_below(rows, number);
    rows->nchannels -= count;
    memmove(&rows->channels[first], &rows->channels[first + count],
            (rows->nchannels - first) * sizeof *rows->channels);
}

/* Returns the number of channels without padding.  In files all spectra have the same number of
 * channels: shorter ones are padded with copies of the last wavelength that have weight 0. */
static size_t trim_spectrum(const struct nxmx_channel *c, size_t count)
{
    while (count > 1 && c[count - 1].weight == 0.0 &&
           c[count - 1].wavelength == c[count - 2].wavelength)
        count--;
    return count;
}

void nxmx_rows_set_spectrum(struct nxmx_rows *rows, uint64_t number,
                            const struct nxmx_channel *channels, size_t count)
{
    struct nxmx_frame *frame = &rows->frames[nxmx_rows_find(rows, number)];
    remove_spectrum(rows, number, (size_t)frame->channels);
    frame->channels = 0;
    count = trim_spectrum(channels, count);
    if (!count)
        return;
    rows->channels = mem_grow(rows->channels, rows->nchannels, count, sizeof *rows->channels,
                              &rows->channels_room);
    const size_t at = channels_below(rows, number);
    struct nxmx_channel *first = &rows->channels[at];
    memmove(first + count, first, (rows->nchannels - at) * sizeof *first);
    for (size_t i = 0; i < count; i++)
        first[i] = (struct nxmx_channel){number, channels[i].wavelength, channels[i].weight};
    rows->nchannels += count;
    frame->channels = count;
}

/* A source, and after merging all sources of one wavelength.  `first` is the index of the first
 * source of that wavelength. */
struct merged {
    size_t first;
    double wavelength_m, weight;
};

static int by_wavelength(const void *a, const void *b)
{
    const struct merged *x = a, *y = b;
    if (x->wavelength_m != y->wavelength_m)
        return x->wavelength_m < y->wavelength_m ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static int by_first(const void *a, const void *b)
{
    const struct merged *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

struct nxmx_channel *nxmx_merge_sources(const struct source *sources, size_t nsources,
                                        size_t *count)
{
    struct merged *list = mem_array(nsources, sizeof *list);
    struct nxmx_channel *channels = mem_array(nsources, sizeof *channels);
    size_t n = 0;
    for (size_t i = 0; i < nsources; i++)
        list[i] = (struct merged){i, sources[i].wavelength_m, sources[i].weight};
    qsort(list, nsources, sizeof *list, by_wavelength);
    for (size_t i = 0; i < nsources; i++)
        if (n && list[n - 1].wavelength_m == list[i].wavelength_m)
            list[n - 1].weight += list[i].weight;
        else
            list[n++] = list[i];
    qsort(list, n, sizeof *list, by_first);
    for (size_t i = 0; i < n; i++)
        channels[i] = (struct nxmx_channel){.wavelength = m_to_angstrom(list[i].wavelength_m),
                                            .weight = list[i].weight};
    mem_free(list);
    *count = n;
    return channels;
}

void nxmx_rows_note_spectrum(struct nxmx_rows *rows, const struct recipe *r)
{
    double sum = 0.0;
    bool differ = false;
    for (size_t i = 0; i < r->nsources; i++) {
        sum += r->sources[i].weight;
        differ |= r->sources[i].wavelength_m != r->sources[0].wavelength_m;
    }
    if (!differ || !(sum > 0.0)) {
        nxmx_rows_set_spectrum(rows, r->id, NULL, 0);
        return;
    }
    size_t n;
    struct nxmx_channel *channels = nxmx_merge_sources(r->sources, r->nsources, &n);
    for (size_t i = 0; i < n; i++)
        channels[i].weight = channels[i].weight * (double)n / sum;
    nxmx_rows_set_spectrum(rows, r->id, channels, n);
    mem_free(channels);
}

/* --- frames and lattices ------------------------------------------------- */

void nxmx_rows_remove(struct nxmx_rows *rows, uint64_t number)
{
    const int64_t at = nxmx_rows_find(rows, number);
    if (at < 0)
        return;
    struct nxmx_frame *frame = &rows->frames[at];
    struct nxmx_lattice *first = &rows->lattices[lattices_below(rows, number)];
    const size_t n = frame->lattices;
    struct nxmx_reflection_counts *reflections = &rows->reflections[at];
    remove_spectrum(rows, number, (size_t)frame->channels);
    rows->nframes--;
    memmove(frame, frame + 1, (rows->nframes - (size_t)at) * sizeof *frame);
    memmove(reflections, reflections + 1, (rows->nframes - (size_t)at) * sizeof *reflections);
    rows->nlattices -= n;
    if (n)
        memmove(first, first + n,
                (rows->nlattices - (size_t)(first - rows->lattices)) * sizeof *first);
}

/* Inserts the row of a frame, without reflections and without a spectrum of its own, and makes
 * room for its lattices.  Returns their place, which the caller fills; NULL: the frame has no
 * lattices. */
static struct nxmx_lattice *insert_frame(struct nxmx_rows *rows, const struct nxmx_frame *frame)
{
    const size_t n = frame->lattices;
    rows->frames =
        mem_grow(rows->frames, rows->nframes, 1, sizeof *rows->frames, &rows->frames_room);
    rows->reflections = mem_grow(rows->reflections, rows->nframes, 1, sizeof *rows->reflections,
                                 &rows->reflections_room);
    rows->lattices =
        mem_grow(rows->lattices, rows->nlattices, n, sizeof *rows->lattices, &rows->lattices_room);
    struct nxmx_reflection_counts *reflections = rows->reflections;
    const size_t at = frames_below(rows, frame->number),
                 first = lattices_below(rows, frame->number);
    memmove(&rows->frames[at + 1], &rows->frames[at], (rows->nframes - at) * sizeof *rows->frames);
    rows->frames[at] = *frame;
    rows->frames[at].channels = 0;
    memmove(&reflections[at + 1], &reflections[at], (rows->nframes - at) * sizeof *reflections);
    reflections[at] = (struct nxmx_reflection_counts){0};
    rows->nframes++;
    if (!n)
        return NULL;
    struct nxmx_lattice *lattices = &rows->lattices[first];
    memmove(lattices + n, lattices, (rows->nlattices - first) * sizeof *lattices);
    rows->nlattices += n;
    return lattices;
}

static struct nxmx_lattice lattice_row(const double axes[9], const struct experiment *x,
                                       const struct recipe *r, const struct lattice *l)
{
    struct nxmx_lattice row = {.frame = r->id, .crystal = l->crystal, .share = l->weight};
    if (l->crystal < x->ncrystals)
        lattice_cell(x, l, row.cell);
    for (int i = 0; i < 3 && l->has_cells; i++)
        row.cells[i] = l->cells[i];
    row.has_spread = l->has_spread;
    row.spread = l->has_spread ? rad_to_deg(l->spread_rad) : 0.0;
    row.has_b_factor = l->has_b_factor;
    row.b_factor = l->has_b_factor ? l->b_factor_A2 : 0.0;
    for (int column = 0; column < 3; column++) {
        const double u[3] = {l->rotation[column], l->rotation[3 + column], l->rotation[6 + column]};
        double turned[3];
        mat_apply(axes, u, turned);
        for (int i = 0; i < 3; i++)
            row.orientation[3 * i + column] = turned[i];
        mat_apply(axes, &l->reciprocal_A[3 * column], turned);
        for (int i = 0; i < 3; i++)
            row.a_matrix[3 * i + column] = turned[i];
    }
    return row;
}

/* Sets the amounts of a frame: NaN for those that its recipe does not say. */
static void set_matter(const struct recipe *r, double amounts[NXMX_MATTER])
{
    const struct matter *m = &r->matter;
    const double none = (double)NAN;
    if (!r->has_matter)
        return;
    amounts[0] = m->has_water ? m->water_m : none;
    amounts[1] = m->has_air ? m->air_m : none;
    amounts[2] = m->has_ice ? m->ice_m : none;
    amounts[3] = m->has_ice_crystal ? m->ice_crystal_A : none;
    amounts[4] = m->has_scale ? m->scale : none;
}

void nxmx_rows_add(struct nxmx_rows *rows, const struct experiment *x, const struct recipe *r,
                   uint64_t file)
{
    const struct incident beam = incident_beam(x, r);
    struct nxmx_frame frame = {.number = r->id,
                               .seed = r->seed,
                               .file = file,
                               .rotation_start = rad_to_deg(r->phi_rad),
                               .rotation_width = rad_to_deg(r->osc_rad),
                               .wavelength = m_to_angstrom(beam.mean_m),
                               .fluence = beam.fluence_ph_m2,
                               .lattices = r->nlattices};
    double axes[9];
    experiment_nexus_axes(x, axes);
    mat_apply(axes, r->shift_m, frame.shift_m);
    memcpy(frame.sample_m, r->sample_m, sizeof frame.sample_m);
    set_matter(r, frame.matter);
    nxmx_rows_remove(rows, r->id);
    struct nxmx_lattice *lattices = insert_frame(rows, &frame);
    for (size_t i = 0; i < r->nlattices; i++)
        lattices[i] = lattice_row(axes, x, r, &r->lattices[i]);
}

void nxmx_rows_note(struct nxmx_rows *rows, uint64_t number,
                    const struct nxmx_reflection_counts *counts)
{
    rows->reflections[nxmx_rows_find(rows, number)] = *counts;
    rows->has_reflections = true;
}

void nxmx_rows_merge(struct nxmx_rows *rows, const struct nxmx_rows *from)
{
    for (size_t i = 0; i < from->nframes; i++) {
        const struct nxmx_frame *frame = &from->frames[i];
        if (nxmx_rows_find(rows, frame->number) >= 0)
            continue;
        struct nxmx_lattice *lattices = insert_frame(rows, frame);
        if (from->has_reflections)
            nxmx_rows_note(rows, frame->number, &from->reflections[i]);
        if (frame->channels)
            nxmx_rows_set_spectrum(rows, frame->number, nxmx_rows_spectrum(from, frame->number),
                                   (size_t)frame->channels);
        if (lattices)
            memcpy(lattices, &from->lattices[lattices_below(from, frame->number)],
                   frame->lattices * sizeof *lattices);
    }
}

void nxmx_rows_drop(struct nxmx_rows *rows, uint64_t file)
{
    for (size_t i = rows->nframes; i-- > 0;)
        if (rows->frames[i].file == file)
            nxmx_rows_remove(rows, rows->frames[i].number);
}

bool nxmx_rows_agree(const struct nxmx_rows *a, const struct nxmx_rows *b, uint64_t number)
{
    const int64_t in_a = nxmx_rows_find(a, number), in_b = nxmx_rows_find(b, number);
    if (in_a < 0 || in_b < 0)
        return false;
    struct nxmx_frame frame = a->frames[in_a];
    frame.file = b->frames[in_b].file;
    return memcmp(&frame, &b->frames[in_b], offsetof(struct nxmx_frame, images_sum)) == 0 &&
           (!frame.lattices ||
            memcmp(&a->lattices[lattices_below(a, number)], &b->lattices[lattices_below(b, number)],
                   frame.lattices * sizeof *a->lattices) == 0);
}

uint32_t nxmx_reflections_sum(uint32_t sum, const struct reflection_row *rows, size_t count)
{
    if (count && rows->orders)
        return crc32c(sum, rows, count * sizeof *rows);
    for (size_t i = 0; i < count; i++)
        sum = crc32c(sum, &rows[i], REFLECTION_ROW_BEFORE);
    return sum;
}

uint32_t nxmx_rows_sum(const struct nxmx_rows *rows, size_t place, const struct reflection_table *t)
{
    struct nxmx_frame frame = rows->frames[place];
    frame.file = 0;
    uint32_t sum = crc32c(0, &frame, NXMX_FRAME_BYTES);
    const size_t first = lattices_below(rows, frame.number);
    for (size_t i = 0; i < frame.lattices; i++) {
        const struct nxmx_lattice *l = &rows->lattices[first + i];
        sum = crc32c(sum, l, NXMX_LATTICE_BYTES);
        if (l->cells[0] > 0.0)
            sum = crc32c(sum, l->cells, sizeof l->cells);
        if (l->has_spread)
            sum = crc32c(sum, &l->spread, sizeof l->spread);
        if (l->has_b_factor)
            sum = crc32c(sum, &l->b_factor, sizeof l->b_factor);
    }
    sum = nxmx_reflections_sum(sum, t->rows, t->count);
    return crc32c(sum, t->pixels, t->npixels * sizeof *t->pixels);
}

/* Sets *to to an amount.  Returns false, and sets it to 0, if the amount is NaN. */
static bool take_amount(double amount, double *to)
{
    *to = isnan(amount) ? 0.0 : amount;
    return !isnan(amount);
}

void nxmx_take_matter(const struct nxmx_frame *frame, struct recipe *r)
{
    const double *a = frame->matter;
    struct matter *m = &r->matter;
    r->has_matter = true;
    m->has_water = take_amount(a[0], &m->water_m);
    m->has_air = take_amount(a[1], &m->air_m);
    m->has_ice = take_amount(a[2], &m->ice_m);
    m->has_ice_crystal = take_amount(a[3], &m->ice_crystal_A);
    m->has_scale = take_amount(a[4], &m->scale);
}

void nxmx_rows_free(struct nxmx_rows *rows)
{
    mem_free(rows->frames);
    mem_free(rows->lattices);
    mem_free(rows->channels);
    mem_free(rows->reflections);
    *rows = (struct nxmx_rows){0};
}
