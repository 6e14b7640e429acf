/* Tests whether an image is the expected one. */
#include <math.h>

#include "bench.h"

struct agreement image_compare(const float *image, const float *believed, size_t count)
{
    double sum = 0.0, expected = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)image[i];
        expected += (double)believed[i];
    }
    const double floor_photons = 1e-3 * expected / (double)count;
    struct agreement a = {.sum_error = sum == expected ? 0.0 : sum / expected - 1.0};
    size_t jumps = 0;
    for (size_t i = 0; i < count; i++) {
        const double difference = fabs((double)image[i] - (double)believed[i]);
        const double scale = fmax((double)believed[i], floor_photons);
        const double error = difference == 0.0 ? 0.0 : difference / scale;
        if (!(error <= IMAGE_ERROR_MAX))  // NaN too
            jumps++;
        else if (error > a.worst)
            a.worst = error;
    }
    a.jumps = (double)jumps / (double)count;
    return a;
}

enum status image_believe(const struct agreement *a, const char *who, struct error *e)
{
    if (a->jumps <= IMAGE_JUMPS_MAX && fabs(a->sum_error) <= IMAGE_SUM_MAX)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED,
                     "the image of %s is not the reference's: %.3g of the pixels differ by more "
                     "than %g (allowed %g), the sum by %.3g (allowed %g); its time means nothing",
                     who, a->jumps, IMAGE_ERROR_MAX, IMAGE_JUMPS_MAX, a->sum_error, IMAGE_SUM_MAX);
}
