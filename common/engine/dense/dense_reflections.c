/* The shares of the dense loop: their memory, and the meaning of their keys. */
#include "engine/dense/dense_reflections.h"

#include <math.h>
#include <string.h>

#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_point.h"

bool lattice_turns(const struct recipe *r, size_t lattice)
{
    return r->lattices[lattice].nphi > 1 || r->osc_rad != 0.0;
}

/* Maximum number of lattices. More lattices would need more than 25 MiB per thread for the sums
 * of a block. */
enum { LATTICES_MAX = 256 };

/* Returns true if the dense loop can compute the shares of a job: all lattices are dense, and
 * keys and pixel numbers are below 2^32. */
static bool can_have(const struct cpu_job *job)
{
    double items = 0.0;
    for (size_t i = 0; i < job->ndense; i++)
        items += dense_box_items(job->dense[i].reach);
    return job->ndense && job->ndense == job->nlattices && job->ndense <= LATTICES_MAX &&
           items < DENSE_FREE && experiment_pixels(job->x) < (int64_t)UINT32_MAX;
}

void dense_shares_put(struct dense_shares *s, int i, uint32_t key, float photons, float turn)
{
    struct share_pack *p = &s->pack;
    if (s->full || !(photons > 0.0f))
        return;
    s->full = !share_pack_reserve(p, s->ending + 1);
    if (s->full)
        return;
    p->pieces[p->npieces++] = (struct share_piece){key + s->box, (uint32_t)i, 1, photons};
    p->photons[p->count] = photons;
    p->turn[p->count++] = turn;
}

void dense_shares_weigh(struct dense_shares *s, uint32_t pixel)
{
    struct share_pack *p = &s->pack;
    size_t to = s->begin, from = p->count - (p->npieces - s->begin);
    p->count = from;
    for (size_t i = s->begin; i < p->npieces; i++, from++) {
        const float once = s->weight[p->pieces[i].pixel], photons = p->photons[from] * once;
        if (!(photons > (float)CPU_SHARES_LEAST_PHOTONS))
            continue;
        p->pieces[to] = p->pieces[i];
        p->pieces[to].photons = photons;
        p->pieces[to++].pixel += pixel;
        p->photons[p->count] = photons;
        p->turn[p->count++] = p->turn[from] * once;
    }
    p->npieces = to;
}

void dense_shares_name(const struct cpu_job *job, uint32_t key, int32_t *lattice, int32_t hkl[3])
{
    size_t at = job->ndense - 1;
    while (job->dense[at].box > key)
        at--;
    *lattice = (int32_t)at;
    dense_box_indices(job->dense[at].reach, key - job->dense[at].box, hkl);
}

enum status dense_frame_open(struct dense_frame **f, size_t rows, int threads, struct error *e)
{
    struct dense_frame *made = *f = mem_array(1, sizeof *made);
    if (!made)
        return error_memory(e, "the reflections");
    made->threads = threads;
    made->nrows = rows;
    made->room = mem_array((size_t)threads, sizeof *made->room);
    made->rows = mem_array(rows, sizeof *made->rows);
    return made->room && made->rows ? STATUS_OK : error_memory(e, "the reflections");
}

void dense_frame_close(struct dense_frame **f)
{
    struct dense_frame *old = *f;
    *f = NULL;
    if (!old)
        return;
    for (int i = 0; old->room && i < old->threads; i++) {
        mem_free(old->room[i].held);
        share_pack_free(&old->room[i].pack);
    }
    share_room_free(&old->sorting);
    mem_free(old->room);
    mem_free(old->rows);
    mem_free(old);
}

/* Returns the number of keys that a pixel uses: DENSE_KEYS, or the number of terms of a lattice
 * in a pixel if that is less. All other keys remain DENSE_FREE, their initial value. */
static int count_keys(const struct cpu_job *job)
{
    const int oversample = job->x->sampling.oversample;
    double layers = 1.0, steps = 1.0;
    for (size_t i = 0; i < job->x->npanels; i++)
        layers = fmax(layers, job->x->panels[i].layers);
    for (size_t i = 0; i < job->ndense; i++)
        steps = fmax(steps, (double)job->dense[i].nsteps);
    return (int)fmin(DENSE_KEYS, layers * oversample * oversample * steps * (double)job->nsources);
}

/* Returns true if the keys of a pixel can be found before its terms are computed: pixels have no
 * subpixels, and all sources have the same direction. */
static bool can_know(const struct cpu_job *job)
{
    bool can = count_keys(job) > 1;
    for (size_t i = 0; i < job->x->npanels; i++)
        can = can && subpixels_of(&job->x->panels[i], job->x->sampling.oversample) == 1;
    for (size_t i = 1; i < job->nsources; i++)
        can = can && memcmp(job->sources[i].incident, job->sources[0].incident,
                            sizeof job->sources[0].incident) == 0;
    return can;
}

enum status dense_frame_begin(struct dense_frame *f, struct cpu_job *job, struct error *e)
{
    f->there = can_have(job);
    if (!f->there)
        return STATUS_OK;
    job->shares = f;
    for (int i = 0; i < f->threads; i++) {
        struct dense_shares *s = &f->room[i];
        mem_free(s->held);
        s->held = mem_array(job->ndense, sizeof *s->held);
        s->boxed = can_know(job);
        s->nkeys = s->boxed ? DENSE_KEYS : count_keys(job);
        s->pack.count = s->pack.npieces = 0;
        s->full = !s->held;
        if (s->full)
            return error_memory(e, "the reflections");
        for (size_t k = 0; k < job->ndense; k++)
            memset(s->held[k].key, 0xff, sizeof s->held[k].key);
    }
    for (size_t i = 0; i < f->nrows; i++)
        f->rows[i] = (struct share_run){0};
    return STATUS_OK;
}
