#include "model/incident.h"

struct incident incident_beam(const struct experiment *x, const struct recipe *r)
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    struct incident b = {.sources = r->nsources ? r->nsources : x->beam.nsources,
                         .mean_m = x->beam.wavelength_m,
                         .share = 1.0};
    double weights = 0.0, sum_m = 0.0;
    for (size_t i = 0; i < r->nsources; i++) {
        weights += r->sources[i].weight;
        sum_m += r->sources[i].weight * r->sources[i].wavelength_m;
    }
    if (r->nsources)
        b.share = weights / (double)r->nsources;
    if (weights > 0.0)
        b.mean_m = sum_m / weights;
    b.shortest_m = b.longest_m = b.sources ? sources[0].wavelength_m : b.mean_m;
    for (size_t i = 1; i < b.sources; i++) {
        const double wavelength_m = sources[i].wavelength_m;
        b.shortest_m = wavelength_m < b.shortest_m ? wavelength_m : b.shortest_m;
        b.longest_m = wavelength_m > b.longest_m ? wavelength_m : b.longest_m;
    }
    b.fluence_ph_m2 = x->beam.fluence_ph_m2 * b.share;
    return b;
}
