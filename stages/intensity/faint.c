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
        log_line(
            LOG_WARNING,
            "frame %" PRIu64
            " expects no photon at all from its crystals: no reflection of theirs falls on the "
            "detector, or its structure factor is 0 (bragg-geometry --hkl, --mtz, --default-F)",
            f->recipe.id);
    else if (sum < 1.0)
        log_line(LOG_WARNING,
                 "frame %" PRIu64
                 " expects %.3g photons from its crystals, less than one: bragg-geometry "
                 "--fluence=PH/M2 (or --flux=PH/S, --exposure=S), --ncells and structure factors "
                 "make more",
                 f->recipe.id, sum);
}
