/* Warns about frames with less than one photon. */
#include "faint.h"

#include <inttypes.h>

#include "base/log.h"

void faint_warn(const struct frame *f)
{
    const float *photons = f->image.pixels;
    double sum = 0.0;
    for (size_t i = 0; i < f->image.count && sum < 1.0; i++)
        sum += (double)photons[i];
    if (sum == 0.0)
        log_line(LOG_WARNING,
                 "frame %" PRIu64
                 ": the crystals give no photons. Either no reflection hits the detector, or its "
                 "structure factor is 0 (check --hkl, --mtz and --default-F of bragg-geometry)",
                 f->recipe.id);
    else if (sum < 1.0)
        log_line(LOG_WARNING,
                 "frame %" PRIu64
                 ": the crystals give %.3g photons in total, less than one. Increase --fluence (or "
                 "--flux and --exposure) or --ncells of bragg-geometry, or check the structure "
                 "factors",
                 f->recipe.id, sum);
}
