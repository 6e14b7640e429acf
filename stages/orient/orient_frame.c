/* The recipe of one frame: its lattices, their orientations, and the pulse. */
#include "orient_frame.h"

#include "base/alloc.h"
#include "physics/crystal/orientation.h"
#include "physics/setup.h"

/* Draws the random misset of nanoBragg, which is not uniform.  Frame k has the seed plus k. */
static enum status make_faithful_random(const struct orient *o, uint64_t id,
                                        struct orientation_request *r, struct lattice *l,
                                        struct error *e)
{
    r->random_misset = true;
    r->misset_seed = -(int64_t)(((uint64_t)o->options.seed + id) & 0x7fffffff);
    return setup_lattice(o->experiment, 0, r, l, e);
}

/* Makes lattice number `index` of frame `id`.  Its orientation is that of --orientations or
 * --random, or else that of *r. */
static enum status make_lattice(const struct orient *o, const struct population *population,
                                uint64_t id, uint32_t index, uint32_t crystal,
                                struct orientation_request r, struct lattice *l, struct error *e)
{
    const struct orient_options *p = &o->options;
    const uint64_t seed = (uint64_t)p->seed;
    (void)population_strain(population, o->experiment->crystals[crystal].cell_A, seed, id, index,
                            r.strain);
    if (o->listed) {
        const uint64_t line = id * (uint64_t)population->lattices + index;
        return setup_lattice_rotated(o->experiment, crystal, o->listed[line], &r, l, e);
    }
    if (!p->random)
        return setup_lattice(o->experiment, crystal, &r, l, e);
    if (o->experiment->physics == PHYSICS_FAITHFUL)
        return make_faithful_random(o, id, &r, l, e);
    double rotation[9];
    struct rng rng = rng_stream(seed, RNG_ORIENTATION, id, index);
    random_rotation(&rng, rotation);
    return setup_lattice_rotated(o->experiment, crystal, rotation, &r, l, e);
}

/* Adds lattice number `index` to *r, which has room for it.  With --pumped a lattice has two
 * states, and each of them is a lattice of the recipe. */
static enum status add_lattice(const struct orient *o, const struct population *p,
                               const struct orientation_request *turned, uint32_t index,
                               struct recipe *r, struct error *e)
{
    struct pump_state states[2];
    const size_t n = pump_states(&o->options.pump, &o->experiment->pulse_ids, r->seed, r->id,
                                 population_crystal(p, r->seed, r->id, index), states);
    enum status s = STATUS_OK;
    for (size_t i = 0; i < n && !s; i++) {
        struct lattice *l = &r->lattices[r->nlattices++];
        s = make_lattice(o, p, r->id, index, states[i].crystal, *turned, l, e);
        l->weight *= population_share(p, r->seed, r->id, index) * states[i].share;
    }
    return s;
}

enum status orient_recipe(const struct orient *o, const struct orientation_request *turned,
                          struct recipe *r, struct error *e)
{
    const struct orient_options *p = &o->options;
    const struct orient_run *run = orient_runs_of(&o->runs, r->id);
    r->seed = (uint64_t)p->seed;
    shift_make(&o->shift, o->experiment, r);
    const size_t count = population_count(&run->population, r->seed, r->id);
    const size_t most = pump_excites(&p->pump) ? LATTICES_MAX / 2 : LATTICES_MAX;
    r->lattices = mem_array(2 * count, sizeof *r->lattices);
    if (!r->lattices)
        return error_memory(e, "the lattices");
    enum status s = pulse_make(&run->pulse, &o->experiment->beam, r, e);
    for (uint32_t i = 0; i < count && i < most && !s; i++)
        s = add_lattice(o, &run->population, turned, i, r, e);
    return s;
}
