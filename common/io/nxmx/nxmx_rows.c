#include "io/nxmx/nxmx_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/beam.h"

/* --- axes ---------------------------------------------------------------- */

/* The unit vector of -v without its part along the unit vector z; false for v along z. */
static bool against(const double v[3], const double z[3], double out[3])
{
    const double along = v[0] * z[0] + v[1] * z[1] + v[2] * z[2];
    for (int i = 0; i < 3; i++)
        out[i] = along * z[i] - v[i];
    const double length = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    for (int i = 0; i < 3; i++)
        out[i] /= length;
    return length > 1e-6;
}

void nxmx_axes(const struct experiment *x, double axes[9])
{
    double *X = axes, *Y = axes + 3, *Z = axes + 6;
    memcpy(Z, x->beam.direction, 3 * sizeof *Z);
    if (!against(x->spindle, Z, X) && !against(x->panels->fast, Z, X))
        (void)against(x->panels->slow, Z, X);
    for (int i = 0; i < 3; i++)
        Y[i] = Z[(i + 1) % 3] * X[(i + 2) % 3] - Z[(i + 2) % 3] * X[(i + 1) % 3];
}

/* --- rows ---------------------------------------------------------------- */

/* How many of `count` rows of `size` bytes, which begin with the number of a frame, have lower
 * numbers. */
static size_t below(const void *rows, size_t count, size_t size, uint64_t number)
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
    return below(rows->frames, rows->nframes, sizeof *rows->frames, number);
}

static size_t lattices_below(const struct nxmx_rows *rows, uint64_t number)
{
    return below(rows->lattices, rows->nlattices, sizeof *rows->lattices, number);
}

int64_t nxmx_rows_find(const struct nxmx_rows *rows, uint64_t number)
{
    const size_t at = frames_below(rows, number);
    return at < rows->nframes && rows->frames[at].number == number ? (int64_t)at : -1;
}

/* --- spectra ------------------------------------------------------------- */

static size_t channels_below(const struct nxmx_rows *rows, uint64_t number)
{
    return below(rows->channels, rows->nchannels, sizeof *rows->channels, number);
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

/* Files fill up a spectrum of fewer channels than others with a repeated wavelength of weight 0,
 * so such channels at the end are none. */
static size_t trim_spectrum(const struct nxmx_channel *c, size_t count)
{
    while (count > 1 && c[count - 1].weight == 0.0 &&
           c[count - 1].wavelength == c[count - 2].wavelength)
        count--;
    return count;
}

enum status nxmx_rows_set_spectrum(struct nxmx_rows *rows, uint64_t number,
                                   const struct nxmx_channel *channels, size_t count,
                                   struct error *e)
{
    struct nxmx_frame *frame = &rows->frames[nxmx_rows_find(rows, number)];
    remove_spectrum(rows, number, (size_t)frame->channels);
    frame->channels = 0;
    count = trim_spectrum(channels, count);
    if (!count)
        return STATUS_OK;
    struct nxmx_channel *grown =
        mem_grow(rows->channels, rows->nchannels, count, sizeof *grown, &rows->channels_room);
    if (!grown)
        return error_memory(e, "the spectra of frames");
    rows->channels = grown;
    struct nxmx_channel *first = &grown[channels_below(rows, number)];
    memmove(first + count, first, (rows->nchannels - (size_t)(first - grown)) * sizeof *first);
    for (size_t i = 0; i < count; i++)
        first[i] = (struct nxmx_channel){number, channels[i].wavelength, channels[i].weight};
    rows->nchannels += count;
    frame->channels = count;
    return STATUS_OK;
}

/* A source on the way to its channel: `first` is the place of the first one of its wavelength. */
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
    struct nxmx_channel *channels = list ? mem_array(nsources, sizeof *channels) : NULL;
    size_t n = 0;
    for (size_t i = 0; i < nsources && channels; i++)
        list[i] = (struct merged){i, sources[i].wavelength_m, sources[i].weight};
    if (channels)
        qsort(list, nsources, sizeof *list, by_wavelength);
    for (size_t i = 0; i < nsources && channels; i++)
        if (n && list[n - 1].wavelength_m == list[i].wavelength_m)
            list[n - 1].weight += list[i].weight;
        else
            list[n++] = list[i];
    if (channels)
        qsort(list, n, sizeof *list, by_first);
    for (size_t i = 0; i < n; i++)
        channels[i] = (struct nxmx_channel){.wavelength = m_to_angstrom(list[i].wavelength_m),
                                            .weight = list[i].weight};
    mem_free(list);
    *count = n;
    return channels;
}

enum status nxmx_rows_note_spectrum(struct nxmx_rows *rows, const struct recipe *r, struct error *e)
{
    double sum = 0.0;
    bool differ = false;
    for (size_t i = 0; i < r->nsources; i++) {
        sum += r->sources[i].weight;
        differ |= r->sources[i].wavelength_m != r->sources[0].wavelength_m;
    }
    if (!differ || !(sum > 0.0))
        return nxmx_rows_set_spectrum(rows, r->id, NULL, 0, e);
    size_t n;
    struct nxmx_channel *channels = nxmx_merge_sources(r->sources, r->nsources, &n);
    if (!channels)
        return error_memory(e, "the spectrum of a frame");
    for (size_t i = 0; i < n; i++)
        channels[i].weight = channels[i].weight * (double)n / sum;
    const enum status s = nxmx_rows_set_spectrum(rows, r->id, channels, n, e);
    mem_free(channels);
    return s;
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
    struct nxmx_told *reflections = &rows->reflections[at];
    remove_spectrum(rows, number, (size_t)frame->channels);
    rows->nframes--;
    memmove(frame, frame + 1, (rows->nframes - (size_t)at) * sizeof *frame);
    memmove(reflections, reflections + 1, (rows->nframes - (size_t)at) * sizeof *reflections);
    rows->nlattices -= n;
    if (n)
        memmove(first, first + n,
                (rows->nlattices - (size_t)(first - rows->lattices)) * sizeof *first);
}

/* Makes place for a frame without reflections and copies its row; its lattices are to be filled in
 * at *lattices. */
static enum status insert(struct nxmx_rows *rows, const struct nxmx_frame *frame,
                          struct nxmx_lattice **lattices, struct error *e)
{
    const size_t n = frame->lattices;
    struct nxmx_frame *frames =
        mem_grow(rows->frames, rows->nframes, 1, sizeof *frames, &rows->frames_room);
    rows->frames = frames ? frames : rows->frames;
    struct nxmx_told *reflections =
        mem_grow(rows->reflections, rows->nframes, 1, sizeof *reflections, &rows->reflections_room);
    rows->reflections = reflections ? reflections : rows->reflections;
    struct nxmx_lattice *grown =
        n ? mem_grow(rows->lattices, rows->nlattices, n, sizeof *grown, &rows->lattices_room)
          : rows->lattices;
    if (!frames || !reflections || (n && !grown))
        return error_memory(e, "the truth about frames");
    rows->lattices = grown;
    const size_t at = frames_below(rows, frame->number),
                 first = lattices_below(rows, frame->number);
    memmove(&rows->frames[at + 1], &rows->frames[at], (rows->nframes - at) * sizeof *rows->frames);
    rows->frames[at] = *frame;
    rows->frames[at].channels = 0;
    memmove(&reflections[at + 1], &reflections[at], (rows->nframes - at) * sizeof *reflections);
    reflections[at] = (struct nxmx_told){0};
    rows->nframes++;
    *lattices = NULL;
    if (!n)
        return STATUS_OK;
    *lattices = &rows->lattices[first];
    memmove(*lattices + n, *lattices, (rows->nlattices - first) * sizeof **lattices);
    rows->nlattices += n;
    return STATUS_OK;
}

static struct nxmx_lattice lattice_row(const double axes[9], const struct experiment *x,
                                       const struct recipe *r, const struct lattice *l)
{
    struct nxmx_lattice row = {.frame = r->id, .crystal = l->crystal, .share = l->weight};
    if (l->crystal < x->ncrystals)
        lattice_cell(x, l, row.cell);
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

enum status nxmx_rows_add(struct nxmx_rows *rows, const struct experiment *x,
                          const struct recipe *r, uint64_t file, struct error *e)
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
    struct nxmx_lattice *lattices;
    double axes[9];
    nxmx_axes(x, axes);
    mat_apply(axes, r->shift_m, frame.shift_m);
    nxmx_rows_remove(rows, r->id);
    const enum status s = insert(rows, &frame, &lattices, e);
    for (size_t i = 0; i < r->nlattices && !s; i++)
        lattices[i] = lattice_row(axes, x, r, &r->lattices[i]);
    return s;
}

void nxmx_rows_note(struct nxmx_rows *rows, uint64_t number, const struct nxmx_told *told)
{
    rows->reflections[nxmx_rows_find(rows, number)] = *told;
    rows->has_reflections = true;
}

enum status nxmx_rows_merge(struct nxmx_rows *rows, const struct nxmx_rows *from, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < from->nframes && !s; i++) {
        const struct nxmx_frame *frame = &from->frames[i];
        struct nxmx_lattice *lattices;
        if (nxmx_rows_find(rows, frame->number) >= 0)
            continue;
        s = insert(rows, frame, &lattices, e);
        if (!s && from->has_reflections)
            nxmx_rows_note(rows, frame->number, &from->reflections[i]);
        if (!s && frame->channels)
            s = nxmx_rows_set_spectrum(rows, frame->number, nxmx_rows_spectrum(from, frame->number),
                                       (size_t)frame->channels, e);
        if (!s && frame->lattices)
            memcpy(lattices, &from->lattices[lattices_below(from, frame->number)],
                   frame->lattices * sizeof *lattices);
    }
    return s;
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
    return memcmp(&frame, &b->frames[in_b], offsetof(struct nxmx_frame, channels)) == 0 &&
           (!frame.lattices ||
            memcmp(&a->lattices[lattices_below(a, number)], &b->lattices[lattices_below(b, number)],
                   frame.lattices * sizeof *a->lattices) == 0);
}

void nxmx_rows_free(struct nxmx_rows *rows)
{
    mem_free(rows->frames);
    mem_free(rows->lattices);
    mem_free(rows->channels);
    mem_free(rows->reflections);
    *rows = (struct nxmx_rows){0};
}
