/* The engines that were linked in, and what all stages do with an engine that may be a GPU. */
#ifndef BRAGG_STAGES_ENGINES_H
#define BRAGG_STAGES_ENGINES_H

#include "base/opt.h"
#include "engine/engine.h"

/* All engines, ended by NULL. */
extern const struct engine *const engines[];

/* Returns the engine of that name; NULL: there is none. */
const struct engine *engine_find(const char *name);

/* The row of --device in the option table of such a stage.  The default is ENGINE_ANY_DEVICE. */
#define ENGINE_DEVICE(its_offset)                                                                \
    {                                                                                            \
        "device", "N",                                                                           \
            "GPU for --engine=cuda, from 0 (under bragg-run each process of the stage the next " \
            "one, "                                                                              \
            "else 0)",                                                                           \
            OPT_INT, .offset = its_offset, .min = 0, .max = 1023, .usual = "",                   \
                     .needs = "engine=cuda"                                                      \
    }

/* Sets the GPU in *how: number `asked`, or, if that is negative, the one that follows from the
 * number that bragg-run gave this process.  STATUS_USAGE: BRAGG_WORKER is no number. */
enum status engine_choose_device(int64_t asked, struct engine_options *how, struct error *e);

enum { ENGINE_PLACES = 64 };

/* Addresses of images that an engine has pinned. */
struct engine_pins {
    bool without;  // pinning has failed; it is not tried again
    size_t count;
    const void *place[ENGINE_PLACES];
};

/* Lets the engine pin the memory of an image to which it will copy repeatedly. */
void engine_pin(struct engine_pins *pins, const struct engine *engine, struct plan *plan,
                const struct image *image);

/* Writes the counts of an engine to text[] as members of a JSON object for --stats, each after a
 * comma. Returns the length, like snprintf. */
int engine_figures(const struct engine *engine, const struct plan *plan, char *text, size_t size);

#endif
