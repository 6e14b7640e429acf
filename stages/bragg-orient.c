/*
 * bragg-orient: the source that numbers the frames.  Turns the crystal for every
 * frame and puts all rotated vectors and mosaic domains into the recipe, so that
 * no later stage evaluates a sine for it.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "io/orientations.h"
#include "physics/random_rotation.h"
#include "physics/sampling.h"
#include "physics/setup.h"
#include "stage/stage.h"

struct orient {
    /* options */
    int64_t frames, seed, phi_steps, mosaic_domains, mosaic_seed;
    double misset_deg[3], phi0_deg, osc_deg, mosaic_deg;
    const char *orientations;
    bool random;
    bool has_frames, has_misset, has_phi_steps, has_osc, has_mosaic, has_mosaic_domains;
    /* state */
    const struct experiment *experiment;
    double (*listed)[9];  // rotations from the file, owned
    size_t nlisted;
    char digest[17];  // of the list
};

#define AT(member) .offset = offsetof(struct orient, member)
#define GIVEN(member) .given = offsetof(struct orient, has_##member)

static const struct opt options[] = {
    {"frames", "N", "Number of frames (1, or the length of --orientations)", OPT_INT, AT(frames),
     .min = 1, .max = 1e9, GIVEN(frames)},
    {"seed", "N", "Of random orientations, and of all noise that sets none (1)", OPT_INT, AT(seed),
     .min = 0, .max = 0x1p63, .flags = OPT_BYTES},
    {.doc = "Orientation (as the cell lies, where nothing is said):", .type = OPT_GROUP},
    {"misset", "X,Y,Z", "Rotations about lab x, then y, then z, deg", OPT_REALS, AT(misset_deg),
     .min = -360, .max = 360, .count = 3, .flags = OPT_BYTES, GIVEN(misset)},
    {"orientations", "FILE", "One rotation a frame: 9 numbers (matrix) or 4 (quaternion) a line",
     OPT_TEXT, AT(orientations), .flags = OPT_BYTES},
    {"random", NULL, "A random orientation for every frame, uniform on SO(3)", OPT_FLAG, AT(random),
     .flags = OPT_BYTES},
    {.doc = "Rotation:", .type = OPT_GROUP},
    {"phi0", "DEG", "Where the first frame starts (0)", OPT_REAL, AT(phi0_deg), .min = -360000,
     .max = 360000, .flags = OPT_BYTES},
    {"osc", "DEG", "Rotation of a frame, and between frames (0)", OPT_REAL, AT(osc_deg),
     .min = -360, .max = 360, .flags = OPT_BYTES, GIVEN(osc)},
    {"phi-steps", "N", "Steps of a frame's rotation (2)", OPT_INT, AT(phi_steps), .min = 1,
     .max = 1e6, .flags = OPT_BYTES, GIVEN(phi_steps)},
    {.doc = "Mosaic:", .type = OPT_GROUP},
    {"mosaic", "DEG", "Half-width of the mosaic spread (0)", OPT_REAL, AT(mosaic_deg), .min = 0,
     .max = 360, .flags = OPT_BYTES, GIVEN(mosaic)},
    {"mosaic-domains", "N", "Mosaic domains, with --mosaic (10)", OPT_INT, AT(mosaic_domains),
     .min = 1, .max = 1e6, .flags = OPT_BYTES, GIVEN(mosaic_domains)},
    {"mosaic-seed", "N", "Of the domains, which are the same in every frame (12345678)", OPT_INT,
     AT(mosaic_seed), .min = 1, .max = 2147483647, .flags = OPT_BYTES},
    {0},
};

static void defaults(void *state)
{
    struct orient *o = state;
    o->seed = 1;
    o->mosaic_seed = 12345678;
}

static enum status open_orient(void *state, const char **operands, int noperands, struct error *e)
{
    struct orient *o = state;
    (void)operands;
    (void)noperands;
    if (o->has_misset + o->random + (o->orientations != NULL) > 1)
        return error_set(e, STATUS_USAGE,
                         "--misset, --orientations and --random exclude each other");
    if (o->has_mosaic_domains && !(o->mosaic_deg > 0))
        return error_set(e, STATUS_USAGE, "--mosaic-domains needs --mosaic");
    if (o->has_phi_steps && o->osc_deg == 0)
        return error_set(e, STATUS_USAGE, "--phi-steps needs --osc");
    if (!o->orientations) {
        o->frames = o->has_frames ? o->frames : 1;
        return STATUS_OK;
    }
    const enum status s = orientations_read(o->orientations, &o->listed, &o->nlisted, e);
    if (s)
        return s;
    if (!o->has_frames)
        o->frames = (int64_t)o->nlisted;
    if ((uint64_t)o->frames > o->nlisted)
        return error_set(e, STATUS_INPUT,
                         "%s: has %zu orientations, --frames=%" PRId64 " needs as many",
                         o->orientations, o->nlisted, o->frames);
    /* the lineage follows what the file holds, not its name */
    const uint64_t hash =
        hash_finish(hash_bytes(HASH_START, o->listed, o->nlisted * sizeof *o->listed));
    (void)snprintf(o->digest, sizeof o->digest, "%016" PRIx64, hash);
    o->orientations = o->digest;
    return STATUS_OK;
}

/* What setup needs to know for frame `id`. */
static struct orientation_request request(const struct orient *o, uint64_t id)
{
    const double osc_rad = deg_to_rad(o->osc_deg);
    const bool turns = o->osc_deg != 0;
    struct orientation_request r = {
        .has_misset = o->has_misset,
        .phi_rad = deg_to_rad(o->phi0_deg + o->osc_deg * (double)id),
        .phi = {.has_range = turns,
                .range = osc_rad,
                .has_count = o->has_phi_steps,
                .count = o->phi_steps},
        .has_mosaic_spread = o->has_mosaic,
        .mosaic_rad = deg_to_rad(o->mosaic_deg),
        .has_mosaic_domains = o->has_mosaic_domains,
        .mosaic_domains = o->mosaic_domains,
        .mosaic_seed = -o->mosaic_seed,
    };
    for (int i = 0; i < 3; i++)
        r.misset_rad[i] = deg_to_rad(o->misset_deg[i]);
    return r;
}

/* nanoBragg's random misset is not uniform; frame k has the seed plus k. */
static enum status make_faithful_random(const struct orient *o, uint64_t id,
                                        struct orientation_request *r, struct lattice *l,
                                        struct error *e)
{
    r->random_misset = true;
    r->misset_seed = -(int64_t)(((uint64_t)o->seed + id) & 0x7fffffff);
    return setup_lattice(o->experiment, 0, r, l, e);
}

static enum status make_lattice(const struct orient *o, uint64_t id, struct lattice *l,
                                struct error *e)
{
    struct orientation_request r = request(o, id);
    if (o->listed)
        return setup_lattice_rotated(o->experiment, 0, o->listed[id], &r, l, e);
    if (!o->random)
        return setup_lattice(o->experiment, 0, &r, l, e);
    if (o->experiment->physics == PHYSICS_FAITHFUL)
        return make_faithful_random(o, id, &r, l, e);
    double rotation[9];
    struct rng rng = rng_stream((uint64_t)o->seed, RNG_ORIENTATION, id, 0);
    random_rotation(&rng, rotation);
    return setup_lattice_rotated(o->experiment, 0, rotation, &r, l, e);
}

static uint64_t count(void *state)
{
    return (uint64_t)((struct orient *)state)->frames;
}

static enum status frame(void *state, struct frame *f, struct error *e)
{
    const struct orient *o = state;
    struct recipe *r = &f->recipe;
    const struct orientation_request request_k = request(o, r->id);
    r->seed = (uint64_t)o->seed;
    r->phi_rad = request_k.phi_rad;
    r->osc_rad = deg_to_rad(o->osc_deg);
    r->lattices = mem_array(1, sizeof *r->lattices);
    if (!r->lattices)
        return error_memory(e, "the lattice");
    r->nlattices = 1;
    return make_lattice(o, r->id, &r->lattices[0], e);
}

static void warn(const struct sampling_report *r)
{
    const double spot = rad_to_deg(r->spot_rad);
    if (r->pixels_coarse)
        log_line(LOG_WARNING,
                 "subpixels are %.3g deg wide, spots only %.3g: bragg-geometry --oversample=%.0f "
                 "or more",
                 rad_to_deg(r->subpixel_rad), spot, r->oversample);
    if (r->phi_coarse)
        log_line(LOG_WARNING,
                 "phi steps are %.3g deg apart, spots only %.3g wide: --phi-steps=%.0f or more",
                 rad_to_deg(r->phi_step_rad), spot, r->phi_steps);
    if (r->domains_coarse)
        log_line(LOG_WARNING,
                 "mosaic domains are %.3g deg apart, spots only %.3g wide: --mosaic-domains=%.0f "
                 "or more",
                 rad_to_deg(r->domain_rad), spot, r->domains);
}

/* The first frame stands for all: they differ in orientation only. */
static enum status begin(void *state, struct experiment *x, struct error *e)
{
    struct orient *o = state;
    o->experiment = x;
    struct frame first = {0};
    const enum status s = frame(state, &first, e);
    if (!s) {
        const struct lattice *l = &first.recipe.lattices[0];
        const struct sampling_report r = sampling_check(
            x, l, deg_to_rad(o->osc_deg), o->has_mosaic ? deg_to_rad(o->mosaic_deg) : 0.0);
        warn(&r);
        log_line(LOG_INFO, "%" PRId64 " frames, %zu phi steps, %zu domains, spots %.3g deg wide",
                 o->frames, l->nphi, l->ndomains, rad_to_deg(r.spot_rad));
    }
    frame_free(&first);
    return s;
}

static void close_orient(void *state)
{
    mem_free(((struct orient *)state)->listed);
}

static const struct stage stage = {
    .name = "bragg-orient",
    .summary = "Number the frames and orient the crystal for each of them.",
    .options = options,
    .wants = KIND_EXPERIMENT,
    .gives = KIND_RECIPE,
    .state_size = sizeof(struct orient),
    .defaults = defaults,
    .open = open_orient,
    .begin = begin,
    .count = count,
    .frame = frame,
    .close = close_orient,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
