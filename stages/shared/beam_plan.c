#include "beam_plan.h"

#include "base/alloc.h"
#include "harmonic_image.h"

struct beam_plan {
    const struct engine *engine;
    struct plan *plan;
    struct harmonic_image harmonic;
};

enum status beam_plan_create(struct beam_plan **p, const struct engine *engine,
                             const struct experiment *x, const struct engine_options *how,
                             struct error *e)
{
    struct beam_plan *both = *p = mem_array(1, sizeof *both);
    if (!both)
        return error_memory(e, "the plans");
    both->engine = engine;
    enum status s = engine->create(&both->plan, x, how, e);
    s = s ? s : harmonic_image_open(&both->harmonic, engine, x, how, e);
    if (s)
        beam_plan_destroy(p);
    return s;
}

const char *beam_plan_identity(const struct beam_plan *p)
{
    return p->engine->identity(p->plan);
}

enum status beam_plan_run(struct beam_plan *p, const struct recipe *r, float *pixels,
                          struct error *e)
{
    double all;
    const enum status s = p->engine->run(p->plan, r, pixels, NULL, e);
    return s ? s : harmonic_image_photons(&p->harmonic, r, pixels, &all, NULL, e);
}

enum status beam_plan_derive(struct beam_plan *p, const struct recipe *r,
                             const struct derive_request *request, struct error *e)
{
    return harmonic_image_derive(&p->harmonic, p->engine, p->plan, r, request, e);
}

void beam_plan_destroy(struct beam_plan **p)
{
    if (!*p)
        return;
    if ((*p)->plan)
        (*p)->engine->destroy(&(*p)->plan);
    harmonic_image_close(&(*p)->harmonic);
    mem_free(*p);
    *p = NULL;
}
