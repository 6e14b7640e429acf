/*
 * Noise of a frame: chunks of pixels go to threads, a few at a time, and each passes through all
 * effects in the order of noise.h.
 */
#define FASTMATH_UNFUSED
#include "engine/detector/noise.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/cpu/threads.h"
#include "engine/detector/noise_loop.h"
#include "engine/detector/noise_pixel.h"
#include "engine/detector/readout.h"
#include "engine/detector/spread.h"
#include "engine/reflections/photons.h"

/* ---- pixels that do not read what falls on them --------------------------------------------- */

/* Returns the index of the first item of n->bad whose pixel is `pixel` or a later one. */
static size_t first_from(const struct noise *n, int64_t pixel)
{
    size_t low = 0, high = n->nbad;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (n->bad[middle].pixel < pixel)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns true if no light reaches the counter of a pixel. */
static bool is_dead(const struct noise *n, int64_t pixel)
{
    const size_t i = first_from(n, pixel);
    return i < n->nbad && n->bad[i].pixel == pixel && n->bad[i].dead;
}

static double own_counts(const struct noise *n, const struct noise_key *key,
                         const struct bad_pixel *b)
{
    const double mean = (double)b->dark;
    const uint32_t pixel = (uint32_t)b->pixel;
    if (!n->poisson || mean <= 0.0)
        return mean;
    return b->dark < (float)POISSON_SMALL_MEAN
               ? noise_count_small(key, pixel, noise_four(key, pixel, NOISE_REST), mean,
                                   poisson_table())
               : noise_count_large(key, pixel, mean);
}

/* Applies the bad pixels among the `count` pixels of *c, which contain photons. Dead pixels lose
 * their photons. Each bad pixel gets its own counts, which are drawn for this frame if
 * n->poisson is set. */
static void read_bad(const struct noise *n, uint64_t seed, uint64_t id, struct noise_chunk *c,
                     int count)
{
    const struct noise_key key = {seed, id, RNG_DARK};
    for (size_t i = first_from(n, c->first); i < n->nbad && n->bad[i].pixel < c->first + count;
         i++) {
        double *value = &c->value[n->bad[i].pixel - c->first];
        *value = (n->bad[i].dead ? 0.0 : *value) + own_counts(n, &key, &n->bad[i]);
    }
}

/* ---- frames --------------------------------------------------------------------------------- */

enum {
    SUM_BYTES = 1 << 14,  // that are summed up at once, while they are in the cache
    SUM_CHUNKS = SUM_BYTES / NOISE_CHUNK / sizeof(uint16_t),
};

struct noise_plan {
    struct noise noise;
    const struct experiment *experiment;
    const struct noise_kernels *kernels;
    int64_t count;                  // pixels
    float *sensitivity;             // of every pixel; NULL: all are 1
    double energy_keV;              // of a photon
    uint64_t cell;                  // of memory
    struct dead_time_table missed;  // where n->dead_time is set
    struct spread *spread;
    int64_t *halves;                       // of the point spread of the last frame's panels
    int64_t at_once;                       // number of chunks that a thread takes together
    size_t takes;                          // number of times that threads take chunks
    struct crc32c_piece *sums;             // of what is read out each of these times
    atomic_int_fast64_t saturated, below;  // pixels of the parts of a frame, see struct noise_cut
};

static int64_t chunks(const struct noise_plan *p)
{
    return (p->count + NOISE_CHUNK - 1) / NOISE_CHUNK;
}

/* Returns the number of pixels of the chunk that begins with pixel `first`. */
static int chunk_pixels(const struct noise_plan *p, int64_t first)
{
    return p->count - first < NOISE_CHUNK ? (int)(p->count - first) : NOISE_CHUNK;
}

/* Returns the number of threads that a frame gets. */
static int threads_of(const struct noise_plan *p)
{
    const double pixel_ns = 2.5;  // of a fast CPU, with Poisson noise alone
    return threads_for(p->noise.threads, pixel_ns * (double)p->count);
}

/* Prepares the checksums of a frame.  Its chunks are always taken in the same portions. */
static void open_sums(struct noise_plan *p)
{
    struct bands bands;
    bands_open(&bands, chunks(p), threads_of(p), SUM_CHUNKS);
    p->at_once = bands.at_once;
    p->takes = (size_t)bands_takes(&bands);
    p->sums = mem_array(p->takes, sizeof *p->sums);
    bands_close(&bands);
}

static void calibrate(struct noise_plan *p)
{
    const struct noise *n = &p->noise;
    const struct noise_key key = {n->calibration_seed, 0, RNG_CALIBRATION};
#pragma omp parallel for num_threads(n->threads) schedule(static)
    for (int64_t i = 0; i < chunks(p); i++) {
        struct noise_chunk c;
        c.first = i * NOISE_CHUNK;
        const int count = chunk_pixels(p, c.first);
        float *to = p->sensitivity + c.first;
        for (int k = 0; k < count; k++)
            to[k] = 1.0f;
        (void)p->kernels->load(&c, to, count);
        if (n->calibration > 0.0) {
            p->kernels->normals(&key, &c);
            p->kernels->vary(&c, n->calibration);
        }
        if (n->passes)
            p->kernels->scale(&c, n->passes + c.first, count);
        p->kernels->store_f32(&c, to, count);
    }
}

enum status noise_create(struct noise_plan **plan, const struct noise *n,
                         const struct experiment *x, struct error *e)
{
    *plan = NULL;
    const struct noise_kernels *kernels = noise_kernels_choose(n->isa, e);
    if (!kernels)
        return STATUS_USAGE;
    struct noise_plan *p = mem_array(1, sizeof *p);
    *p = (struct noise_plan){
        .noise = *n, .experiment = x, .kernels = kernels, .count = experiment_pixels(x)};
    if (n->dead_time)
        dead_time_tabulate(n->dead_time, &p->missed);
    enum status s = spread_create(&p->spread, &n->psf, n->isa, n->threads, e);
    open_sums(p);
    p->halves = mem_array(x->npanels, sizeof *p->halves);
    if (!s && (n->calibration > 0.0 || n->passes)) {
        p->sensitivity = mem_array((size_t)p->count, sizeof *p->sensitivity);
        calibrate(p);
    }
    if (s) {
        noise_destroy(&p);
        return s;
    }
    *plan = p;
    return STATUS_OK;
}

void noise_set_pulse(struct noise_plan *plan, double energy_keV, uint64_t cell)
{
    plan->energy_keV = energy_keV;
    plan->cell = cell;
}

void noise_destroy(struct noise_plan **plan)
{
    if (*plan) {
        mem_free((*plan)->sensitivity);
        mem_free((*plan)->sums);
        mem_free((*plan)->halves);
        spread_destroy(&(*plan)->spread);
    }
    mem_free(*plan);
    *plan = NULL;
}

/* Computes the photons that the `count` pixels of *c count, from photons[count]. Returns false if a
 * value is not a valid number of photons. */
static bool count_photons(const struct noise_plan *p, uint64_t seed, uint64_t id,
                          const float *photons, int count, struct noise_chunk *c)
{
    const struct noise *n = &p->noise;
    if (!p->kernels->load(c, photons, count))
        return false;
    if (n->flicker > 0.0) {
        p->kernels->normals(&(struct noise_key){seed, id, RNG_FLICKER}, c);
        p->kernels->vary(c, n->flicker);
    }
    if (p->sensitivity)
        p->kernels->scale(c, p->sensitivity + c->first, count);
    if (n->poisson)
        p->kernels->poisson(&(struct noise_key){seed, id, RNG_POISSON}, c);
    return true;
}

/* Converts the photons of a detector whose gain has several steps to ADU. */
static void read_steps(const struct noise_plan *p, uint64_t seed, uint64_t id,
                       struct noise_chunk *c, int count, struct noise_cut *cut)
{
    const struct noise *n = &p->noise;
    const struct cell_frame frame = {seed, id, p->cell, p->energy_keV, n->readout_adu};
    if (n->cells)
        memory_cells_read(n->cells, &frame, c, count, cut);
    else
        gain_stages_read(n->stages, p->energy_keV, n->readout_adu, c, count, cut);
}

/* Converts the photons of the `count` pixels of *c to ADU: bad pixels, dead time and readout. */
static void read_out(const struct noise_plan *p, uint64_t seed, uint64_t id, struct noise_chunk *c,
                     int count, const struct image *adu, struct noise_cut *cut)
{
    const struct noise *n = &p->noise;
    read_bad(n, seed, id, c, count);
    if (n->dead_time)
        dead_time_count(n->dead_time, &p->missed, p->kernels, !n->poisson, seed, id, c, count);
    if (n->readout_adu > 0.0)
        p->kernels->normals(&(struct noise_key){seed, id, RNG_READOUT}, c);
    if (n->cells || n->stages)
        read_steps(p, seed, id, c, count, cut);
    void *const to = (char *)adu->pixels + (size_t)c->first * pixel_size(adu->type);
    const struct readout_scale scale = {n->gain, n->offset_adu, n->readout_adu,
                                        floor(n->saturation_adu)};
    if ((n->cells || n->stages) && adu->type == PIXEL_U16)
        p->kernels->store_u16(c, to, count);
    else if (n->cells || n->stages)
        p->kernels->store_u32(c, to, count);
    else if (adu->type == PIXEL_U16)
        p->kernels->read_out_u16(c, &scale, to, count, cut);
    else
        p->kernels->read_out_u32(c, &scale, to, count, cut);
}

/* Continues the checksum of the pixels `first` to `end`, part of which is in it already, if many
 * pixels are missing or if these pixels are the last ones. */
static void sum_up(const struct image *adu, int64_t first, int64_t end, bool last,
                   struct crc32c_piece *piece)
{
    const size_t size = pixel_size(adu->type), bytes = (size_t)(end - first) * size - piece->bytes;
    if (bytes < SUM_BYTES && !last)
        return;
    const char *from = (const char *)adu->pixels + (size_t)first * size + piece->bytes;
    piece->sum = crc32c(piece->sum, from, bytes);
    piece->bytes += bytes;
}

/* Exposes the chunks `first` to `end` - 1, and reads them out if there is no point spread.  Returns
 * the first chunk with an invalid number of photons; chunks(): there is none. */
static int64_t expose_chunks(const struct noise_plan *p, uint64_t seed, uint64_t id, float *photons,
                             struct image *adu, int64_t first, int64_t end, struct noise_cut *cut)
{
    const bool reads = p->noise.psf.kind == PSF_NONE;
    struct crc32c_piece *sum = &p->sums[first / p->at_once];
    int64_t bad = chunks(p);
    *sum = (struct crc32c_piece){0};
    for (int64_t i = first; i < end; i++) {
        struct noise_chunk c;
        c.first = i * NOISE_CHUNK;
        const int count = chunk_pixels(p, c.first);
        if (!count_photons(p, seed, id, photons + c.first, count, &c))
            bad = i < bad ? i : bad;
        else if (!reads)
            p->kernels->store_f32(&c, photons + c.first, count);
        else
            read_out(p, seed, id, &c, count, adu, cut);
        if (reads)
            sum_up(adu, first * NOISE_CHUNK, c.first + count, i + 1 == end, sum);
    }
    return bad;
}

/* Counts the photons of all chunks, and reads the chunks out if there is no point spread.
 * Returns the first chunk with an invalid number of photons; chunks(): there is none. */
static int64_t expose(const struct noise_plan *p, uint64_t seed, uint64_t id, float *photons,
                      struct image *adu, struct noise_cut *cut)
{
    int64_t bad = chunks(p), saturated = 0, below = 0;
    struct bands bands;
    bands_open(&bands, chunks(p), threads_of(p), SUM_CHUNKS);
#pragma omp parallel num_threads(bands.count) reduction(min : bad) reduction(+ : saturated, below)
    {
        struct noise_cut mine = {0};
        int64_t first, end;
        while (bands_take(&bands, omp_get_thread_num(), &first, &end)) {
            const int64_t its = expose_chunks(p, seed, id, photons, adu, first, end, &mine);
            bad = its < bad ? its : bad;
        }
        saturated += mine.saturated;
        below += mine.below;
    }
    bands_close(&bands);
    *cut = (struct noise_cut){saturated, below};
    return bad;
}

static enum status refuse_photons(const struct noise_plan *p, uint64_t id, const float *photons,
                                  int64_t first, struct error *e)
{
    while (first + 1 < p->count && photons[first] >= 0.0f && photons[first] <= 3.4e38f)
        first++;
    return photons_refuse(p->experiment, id, first, photons[first], e);
}

static void spread(struct noise_plan *p, float *photons)
{
    for (size_t i = 0; i < p->experiment->npanels; i++) {
        const struct panel *panel = &p->experiment->panels[i];
        spread_apply(p->spread, photons + panel->first_pixel, panel->fast_pixels,
                     panel->slow_pixels);
        p->halves[i] = spread_last(p->spread);
    }
}

static void spread_panel(struct noise_plan *p, size_t panel, struct planes *planes)
{
    const struct panel *at = &p->experiment->panels[panel];
    for (size_t k = 0; k < planes->count; k++)
        spread_signed(p->spread, planes->items[k].values + at->first_pixel, at->fast_pixels,
                      at->slow_pixels, p->halves[panel]);
}

void noise_pixels(const struct noise_plan *p, const uint32_t *pixels, float *values, size_t count)
{
    const struct noise *n = &p->noise;
    for (size_t i = 0; i < count; i++) {
        if (p->sensitivity)
            values[i] *= p->sensitivity[pixels[i]];
        if (is_dead(n, pixels[i]))
            values[i] = 0.0f;
    }
}

void noise_planes(struct noise_plan *p, struct planes *planes)
{
    const struct noise *n = &p->noise;
    if (planes->pixels.listed && n->psf.kind == PSF_NONE) {
        for (size_t k = 0; k < planes->count; k++)
            noise_pixels(p, planes->pixels.numbers, planes->items[k].values, planes->pixels.count);
        return;
    }
    planes_expand(planes, (size_t)p->count);  // light of a spot leaves its list
    for (size_t k = 0; k < planes->count && p->sensitivity; k++)
        for (int64_t i = 0; i < p->count; i++)
            planes->items[k].values[i] *= p->sensitivity[i];
    for (size_t i = 0; i < p->experiment->npanels && n->psf.kind != PSF_NONE; i++)
        spread_panel(p, i, planes);
    for (size_t k = 0; k < planes->count; k++)
        for (size_t i = 0; i < n->nbad; i++)
            if (n->bad[i].dead)
                planes->items[k].values[n->bad[i].pixel] = 0.0f;
}

/* Reads out what the point spread has left. */
static void read_spread(const struct noise_plan *p, uint64_t seed, uint64_t id,
                        const float *photons, struct image *adu, struct noise_cut *cut)
{
    int64_t saturated = 0, below = 0;
#pragma omp parallel for num_threads(threads_of(p)) schedule(static) reduction(+ : saturated, below)
    for (int64_t i = 0; i < chunks(p); i++) {
        struct noise_chunk c;
        struct noise_cut its = {0};
        c.first = i * NOISE_CHUNK;
        const int count = chunk_pixels(p, c.first);
        (void)p->kernels->load(&c, photons + c.first, count);
        read_out(p, seed, id, &c, count, adu, &its);
        saturated += its.saturated;
        below += its.below;
    }
    *cut = (struct noise_cut){saturated, below};
}

enum status noise_apply(struct noise_plan *p, uint64_t seed, uint64_t id, float *photons,
                        struct image *adu, struct error *e)
{
    struct noise_cut cut;
    const int64_t bad = expose(p, seed, id, photons, adu, &cut);
    if (bad < chunks(p))
        return refuse_photons(p, id, photons, bad * NOISE_CHUNK, e);
    adu->has_sum = p->noise.psf.kind == PSF_NONE;
    if (adu->has_sum) {
        adu->sum = crc32c_join(p->sums, p->takes);
    } else {
        spread(p, photons);
        read_spread(p, seed, id, photons, adu, &cut);
    }
    if (p->noise.clipped)
        clipped_add(p->noise.clipped, (uint64_t)cut.saturated, (uint64_t)cut.below);
    return STATUS_OK;
}

/* ---- frames in parts ------------------------------------------------------------------------ */

void noise_parts_begin(struct noise_plan *p)
{
    atomic_store(&p->saturated, 0);
    atomic_store(&p->below, 0);
}

bool noise_part(struct noise_plan *p, uint64_t seed, uint64_t id, int64_t first, int64_t count,
                const float *photons, const struct image *adu, struct crc32c_piece *sum)
{
    struct noise_cut cut = {0};
    for (int64_t at = 0; at < count; at += NOISE_CHUNK) {
        struct noise_chunk c;
        c.first = first + at;
        const int pixels = count - at < NOISE_CHUNK ? (int)(count - at) : NOISE_CHUNK;
        if (!count_photons(p, seed, id, photons + at, pixels, &c))
            return false;
        read_out(p, seed, id, &c, pixels, adu, &cut);
        sum_up(adu, first, c.first + pixels, at + pixels == count, sum);
    }
    atomic_fetch_add(&p->saturated, cut.saturated);
    atomic_fetch_add(&p->below, cut.below);
    return true;
}

void noise_parts_end(struct noise_plan *p)
{
    if (p->noise.clipped)
        clipped_add(p->noise.clipped, (uint64_t)atomic_load(&p->saturated),
                    (uint64_t)atomic_load(&p->below));
}
