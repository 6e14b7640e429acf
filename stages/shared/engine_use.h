/* What stages with an engine that may be a GPU do alike. */
#ifndef BRAGG_STAGES_ENGINE_USE_H
#define BRAGG_STAGES_ENGINE_USE_H

#include "base/opt.h"
#include "engine/engine.h"

/* The option --device of such a stage, whose default is ENGINE_ANY_DEVICE. */
#define ENGINE_DEVICE(its_offset)                                                                  \
    {                                                                                              \
        "device", "N",                                                                             \
            "Of cuda: which GPU, from 0 (under bragg-run each process of the stage the next one, " \
            "else 0)",                                                                             \
            OPT_INT, .offset = its_offset, .min = 0, .max = 1023, .usual = "",                     \
                     .needs = "engine=cuda"                                                        \
    }

/* Which GPU: as asked for, or, where that is negative, by the number that bragg-run gives the
 * process. */
enum status engine_choose_device(int64_t asked, struct engine_options *how, struct error *e);

/* Places that an engine knows. */
enum { ENGINE_PLACES = 64 };
struct engine_pins {
    bool without;  // it gains nothing by them
    size_t count;
    const void *place[ENGINE_PLACES];
};

/* Tells the engine of the place of an image to which it will copy again and again. */
void engine_pin(struct engine_pins *pins, const struct engine *engine, struct plan *plan,
                const struct image *image);

/* Writes the counts of an engine to text[], as snprintf, as members for --stats, each behind a
 * comma. */
int engine_figures(const struct engine *engine, const struct plan *plan, char *text, size_t size);

#endif
