#include "physics/crystal/population.h"

#include <inttypes.h>

#include "base/rng.h"
#include "base/text.h"

enum { STATE_DARK, STATE_LIGHT };
static const intmax_t FRAMES_MAX = 1000000;

enum status pump_open(struct pump *p, struct error *e)
{
    const char *at = p->pattern;
    intmax_t count[2] = {0, 0};
    if (!at)
        return STATUS_OK;
    for (int i = 0; i < 2 && at; i++) {
        const char *end;
        count[i] = number_whole(at, &end);
        const bool good =
            end != at && *end == (i ? '\0' : ':') && count[i] >= 0 && count[i] <= FRAMES_MAX;
        at = good ? end + 1 : NULL;
    }
    if (!at || count[0] + count[1] == 0)
        return error_set(e, STATUS_USAGE,
                         "--pump: '%s' must be two numbers of frames, LIGHT:DARK, up to %" PRIdMAX
                         " and not both 0",
                         p->pattern, FRAMES_MAX);
    p->light = (uint64_t)count[0];
    p->dark = (uint64_t)count[1];
    return STATUS_OK;
}

enum status pump_check(const struct pump *p, size_t ncrystals, int64_t lattices, double mean,
                       struct error *e)
{
    if (!pump_excites(p))
        return STATUS_OK;
    if (ncrystals != 2)
        return error_set(e, STATUS_USAGE,
                         "--pumped needs two crystals, the dark and the light state; there %s %zu",
                         ncrystals == 1 ? "is" : "are", ncrystals);
    if (lattices > LATTICES_MAX / 2 || mean > LATTICES_MAX / 4)
        return error_set(e, STATUS_USAGE,
                         "--pumped: lattices in two states are at most %d, or %d on average",
                         LATTICES_MAX / 2, LATTICES_MAX / 4);
    return STATUS_OK;
}

static double light_share(const struct pump *p, uint64_t seed, uint64_t id)
{
    struct rng random = rng_stream(seed, RNG_PUMP, id, 0);
    const double share = p->share + p->spread * rng_normal(&random);
    return share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
}

size_t pump_states(const struct pump *p, const struct pulse_ids *ids, uint64_t seed, uint64_t id,
                   uint32_t crystal, struct pump_state states[2])
{
    const double light = pump_excites(p) && pulse_lit(ids, id) ? light_share(p, seed, id) : 0.0;
    const struct pump_state both[2] = {{pump_excites(p) ? STATE_DARK : crystal, 1.0 - light},
                                       {STATE_LIGHT, light}};
    size_t n = 0;
    for (int i = 0; i < 2; i++)
        if (both[i].share > 0.0)
            states[n++] = both[i];
    return n;
}
