/*
 * The stage to copy: it passes images on with all pixels times --factor.
 *
 * A stage is the table at the end.  Its callbacks get a state that begins with
 * its options; the runtime does everything else (see stage/stage.h).
 */
#include <stddef.h>

#include "stage/stage.h"

struct skeleton {
    double factor;  // option: what every pixel is multiplied by
};

/* Once, when the experiment has arrived: refuse here what cannot be done. */
static enum status skeleton_begin(void *state, struct experiment *x, struct error *e)
{
    (void)state;
    if (x->gain != 0 && x->gain != 1)
        return error_set(
            e, STATUS_INPUT,
            "the pixels are in ADU; expected photons. Put this stage before bragg-noise");
    return STATUS_OK;
}

/* Every frame: changes the image in place; nothing but *f, options and experiment may
 * matter.  A stage that only reads the pixels, or makes new ones, is spared a copy when its
 * table says .reads_only (see bragg-background). */
static enum status skeleton_frame(void *state, struct frame *f, struct error *e)
{
    const struct skeleton *s = state;
    if (f->image.type != PIXEL_F32)
        return error_set(
            e, STATUS_INPUT,
            "the pixels are integers; expected float32. Put this stage before bragg-noise");
    float *pixels = f->image.pixels;
    for (size_t i = 0; i < f->image.count; i++)
        pixels[i] *= (float)s->factor;
    return STATUS_OK;
}

/* OPT_BYTES: this option changes the pixels, so it belongs to the lineage. */
static const struct opt options[] = {
    {"factor", "X", "Multiply every pixel by X", OPT_REAL, offsetof(struct skeleton, factor),
     .min = 0, .max = 1e9, .always = true, .flags = OPT_BYTES, .usual = "1"},
    {0},
};

static const struct stage skeleton = {
    .role = {.name = "skeleton", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
    .summary = "Pass images on, multiplied by a factor.",
    .options = options,
    .state_size = sizeof(struct skeleton),
    .begin = skeleton_begin,
    .frame = skeleton_frame,
};

int main(int argc, char **argv)
{
    return stage_main(&skeleton, argc, argv);
}
