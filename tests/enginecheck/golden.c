/* Compares images of nanoBragg's command lines. */
#include "../../stages/nanobragg/nanobragg_options.h"
#include "check.h"
#include "engine/reference/recipe_check.h"

static double limit_of_crystals(const struct experiment *x)
{
    const double *cells = x->crystals[0].cells;
    return cells[0] > 20.0 || cells[1] > 20.0 || cells[2] > 20.0 ? 1e-4 : 1e-5;
}

static enum status golden_as(struct run *run, const char *label, enum physics physics, int argc,
                             char **argv, bool *quirky, struct error *e)
{
    struct nanobragg n;
    struct experiment x = {0};
    struct recipe r = {0};
    struct source *sources = NULL;
    nanobragg_defaults(&n, physics);
    enum status s = nanobragg_parse(&n, argc, argv, e);
    if (s)
        mem_free(n.request.detector.mask);
    else
        s = nanobragg_prepare(&n, &x, &r, &sources, e);
    *quirky = !s && faithful_check(&x, &r, run->engine->name, NULL);
    char name[80];
    (void)snprintf(name, sizeof name, "%.60s, %s", label,
                   physics == PHYSICS_FAITHFUL ? "faithful" : "physical");
    if (!s && !*quirky)
        s = hold(run, name, &x, &r, limit_of_crystals(&x), true, e);
    mem_free(sources);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

enum status check_golden(struct run *run, const char *label, int argc, char **argv, struct error *e)
{
    bool quirky;
    enum status s = golden_as(run, label, PHYSICS_PHYSICAL, argc, argv, &quirky, e);
    return s ? s : golden_as(run, label, PHYSICS_FAITHFUL, argc, argv, &quirky, e);
}
