/* Random cases. */
#include <math.h>

#include "check.h"

/* The next draw of splitmix64, uniform in [0, 1). */
static double roll(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static int one_of(uint64_t *d, int count)
{
    return (int)(roll(d) * count);
}

/* The width factor that lights part of the image, whatever the size of the crystal: spots as
 * wide as those of 4 to 16 cells. */
static double random_fudge(uint64_t *d, const struct engine_case *c)
{
    const double cells = cbrt(c->cells[0] * c->cells[1] * c->cells[2]);
    if (c->shape == SHAPE_SQUARE || c->shape == SHAPE_ROUND)
        return 0.5 + roll(d);
    return pow(4.0 * pow(4.0, roll(d)) / cells, 2.0);
}

static void random_detector(uint64_t *d, struct engine_case *c)
{
    c->pixels = 32 + one_of(d, 40);
    c->pixel_mm = (0.5 + roll(d)) * 102.4 / c->pixels;
    for (int i = 0; i < 3; i++)
        c->tilt_deg[i] = one_of(d, 2) ? 20.0 * roll(d) - 10.0 : 0.0;
    c->twotheta_deg = one_of(d, 3) ? 0.0 : 30.0 * roll(d);
    c->curved = !one_of(d, 4);
    c->point_pixel = !one_of(d, 6);
    c->roi = !one_of(d, 5);
    c->mask = !one_of(d, 5);
    c->panels = 1 + !one_of(d, 5);
    c->layers = one_of(d, 3) ? 0 : 1 + one_of(d, 3);
    c->oversample = 1 + one_of(d, 3);
    c->each = !one_of(d, 3);
    c->dmin_A = one_of(d, 5) ? 0.0 : 1.5 + 2.0 * roll(d);
}

static void random_beam(uint64_t *d, struct engine_case *c)
{
    c->divergence = one_of(d, 3) ? 0 : 2 + one_of(d, 2);
    c->wavelengths = one_of(d, 3) ? 0 : 2 + one_of(d, 3);
    c->weights = (c->divergence || c->wavelengths) && one_of(d, 2);
    c->no_polarization = !one_of(d, 6);
    c->unpolarized = !one_of(d, 6);
    c->water_um = one_of(d, 5) ? 0.0 : 0.1;
}

static struct engine_case random_case(int64_t seed, int64_t number, char *name, size_t size)
{
    uint64_t state = (uint64_t)seed << 32 ^ (uint64_t)number, *d = &state;
    struct engine_case c = {.name = name};
    static const int most[] = {20, 20, 20, 1000, 3000};
    const int cells = most[one_of(d, 5)];
    random_detector(d, &c);
    random_beam(d, &c);
    for (int i = 0; i < 3; i++)
        c.cells[i] = 1 + one_of(d, cells);
    c.shape = (enum crystal_shape)one_of(d, 4);
    c.fudge = random_fudge(d, &c);
    c.table = (enum case_table)one_of(d, 3);
    c.interpolate = c.table != TABLE_NONE && !one_of(d, 3);
    c.domains = one_of(d, 2) ? 0 : 2 + one_of(d, 6);
    c.mosaic_deg = c.domains ? 0.1 + roll(d) : 0.0;
    c.phi_steps = one_of(d, 3) ? 0 : 2 + one_of(d, 4);
    c.lattices = 1 + !one_of(d, 4);
    (void)snprintf(name, size, "%s %g x %g x %g, seed %d number %d",
                   (const char *[]){"square", "round", "gauss", "tophat"}[c.shape], c.cells[0],
                   c.cells[1], c.cells[2], (int)seed, (int)number);
    return c;
}

enum status check_random(struct run *run, const int64_t *numbers, struct error *e)
{
    const int64_t count = numbers[0], seed = numbers[1];
    enum status s = STATUS_OK;
    for (int64_t i = 0; i < count && !s; i++) {
        char name[80];
        const struct engine_case c = random_case(seed, i, name, sizeof name);
        s = hold_case(run, &c, false, e);
    }
    if (!s && (double)run->unsteady > 1e-4 * (double)run->pixels)
        s = error_set(e, STATUS_FAILED, "%zu of %zu pixels left out, too many", run->unsteady,
                      run->pixels);
    return s;
}
