#include "physics/crystal/ensemble_waves.h"

#include "base/alloc.h"

/* A term of a group costs that many of a channel. */
static const double COST = 1.8;

/* Channels first .. end - 1. */
static struct ensemble_group join(const struct ensemble_channel *channels, size_t first, size_t end)
{
    struct ensemble_group g = {0};
    for (size_t i = first; i < end; i++) {
        g.moment[0] += channels[i].weight;
        g.per_A += channels[i].weight * (channels[i].per_A - channels[first].per_A);
    }
    g.per_A = channels[first].per_A + (g.moment[0] > 0.0 ? g.per_A / g.moment[0] : 0.0);
    for (size_t i = first; i < end; i++) {
        const double off = channels[i].per_A - g.per_A;
        double term = 0.5 * channels[i].weight * off * off;
        for (int k = 2; k < ENSEMBLE_MOMENTS; k++, term *= off / k)
            g.moment[k] += term;
    }
    return g;
}

/* Appends those of a level of so many parts. */
static void add_level(struct ensemble_waves *w, size_t parts)
{
    const double part = w->range / (double)parts, least = w->channels[0].per_A;
    size_t at = w->begin[w->levels];
    for (size_t first = 0, end; first < w->count; first = end) {
        size_t number = (size_t)((w->channels[first].per_A - least) / part);
        const double limit = least + part * (double)(number + 1);
        end = first + 1;
        while (end < w->count && (number + 1 >= parts || w->channels[end].per_A < limit))
            end++;
        w->groups[at++] = join(w->channels, first, end);
    }
    w->begin[++w->levels] = at;
}

bool ensemble_waves_open(struct ensemble_waves *w, const struct ensemble_channel *channels,
                         size_t count)
{
    *w = (struct ensemble_waves){.channels = channels, .count = count};
    w->range = count ? channels[count - 1].per_A - channels[0].per_A : 0.0;
    if (!(w->range > 0.0))
        return true;
    w->groups = mem_array(2 * count, sizeof *w->groups);
    for (size_t parts = 1; w->groups && w->levels < ENSEMBLE_LEVELS; parts *= 2) {
        if (!(COST * (double)parts < (double)count))
            break;
        add_level(w, parts);
    }
    return w->groups;
}

void ensemble_waves_close(struct ensemble_waves *w)
{
    mem_free(w->groups);
    *w = (struct ensemble_waves){0};
}
