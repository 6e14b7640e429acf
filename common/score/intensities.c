#include "score/intensities.h"

/* Below it a ratio says little. */
static const double RATIO_PHOTONS = 10.0;

/* The median of chi2 with one degree of freedom. */
static const double CHI2_MEDIAN = 0.45493642311957;

bool intensities_add(struct intensities *i, double photons, double measured, double sigma)
{
    const double pull = (measured - photons) / sigma;
    agreement_add(&i->all, photons, measured, sigma);
    return (photons < RATIO_PHOTONS || values_add(&i->ratios, measured / photons)) &&
           (!(sigma > 0.0) || values_add(&i->chi2s, pull * pull));
}

double intensities_chi2_robust(struct intensities *i)
{
    return values_percentile(&i->chi2s, 50.0) / CHI2_MEDIAN;
}

void intensities_free(struct intensities *i)
{
    values_free(&i->ratios);
    values_free(&i->chi2s);
}
