/*
 * bragg-skeleton: a small stage to copy.  It multiplies all pixels by --factor.
 *
 * A stage is the table at the end of this file.  The runtime parses the options, receives and sends
 * the frames, and calls the callbacks of the table.  stage/stage.h describes all of them, in the
 * order of the calls.
 *
 * For a stage of your own:
 *   1. copy this file to stages/NAME/bragg-NAME.c, which the Makefile finds, with its page
 *      bragg-skeleton.1 and its test tests/cli/skeleton.t;
 *   2. set name, input and output in .role, the summary, and two examples;
 *   3. write the callbacks and the option table.
 *
 * stages/README.md lists the other places that know the programs.  A copy in any other folder is
 * compiled with the installed headers and library, see STAGES IN C in braggpipe(7).
 *
 * Rules for pixels: the result may depend on options, experiment and frame only.  It must not
 * depend on time, threads, addresses or earlier frames, because a frame that is computed again
 * after a crash must have the same bytes.  Draw random numbers from the seed and number of the
 * frame (f->recipe.seed, f->recipe.id).
 */
#include <stddef.h>

#include "stage/stage.h"

/* State of the stage.  The runtime allocates and clears it, and stores the options in it.  Buffers
 * that callbacks need between frames belong here as well; a callback `close` frees them. */
struct skeleton {
    double factor;  // --factor, without unit
};

/* Called once, when the experiment has arrived and before the first frame.  This is the place to
 * refuse an experiment that the stage cannot process. STATUS_INPUT: the pixels are not photons. */
static enum status skeleton_begin(void *state, struct experiment *x, struct error *e)
{
    (void)state;
    if (x->gain != 0 && x->gain != 1)
        return error_set(
            e, STATUS_INPUT,
            "the pixels are in ADU; expected photons. Put this stage before bragg-noise");
    return STATUS_OK;
}

static void multiply(float *values, size_t count, double factor)
{
    for (size_t i = 0; i < count; i++)
        values[i] *= (float)factor;
}

/* Called for every frame.  The callback changes the image in place and returns; the runtime then
 * sends the frame.  A stage that only reads the pixels, or makes new ones, sets .reads_only in its
 * table and so avoids a copy (see stages/background). STATUS_INPUT: the pixels are integers.  The
 * runtime adds the name of the program to the message. */
static enum status skeleton_frame(void *state, struct frame *f, struct error *e)
{
    const struct skeleton *s = state;
    if (f->image.type != PIXEL_F32)
        return error_set(
            e, STATUS_INPUT,
            "the pixels are integers; expected float32. Put this stage before bragg-noise");
    multiply(f->image.pixels, f->image.count, s->factor);
    // Derivatives are those of the pixels, so a stage that changes pixels changes them, too.
    for (size_t i = 0; i < f->planes.count; i++)
        multiply(f->planes.items[i].values, f->planes.items[i].count, s->factor);
    if (f->reflections.has_slopes)
        multiply(f->reflections.slopes, f->reflections.npixels, s->factor);
    return STATUS_OK;
}

/* The option table: name, unit or form of the value, help text, type, place in the state, limits.
 * OPT_BYTES: the option changes the pixels, so its value is part of the lineage.
 * .always: giving the default is the same as not giving the option.  base/opt.h has all fields. */
static const struct opt options[] = {
    {.doc = "Pixels:", .type = OPT_GROUP},
    {"factor", "X", "Multiply every pixel by X, 0 to 1e9", OPT_REAL,
     offsetof(struct skeleton, factor), .min = 0, .max = 1e9, .always = true, .flags = OPT_BYTES,
     .usual = "1"},
    {0},
};

/* The stage.  .role has its name, what it reads and what it sends; unused callbacks stay NULL. */
static const struct stage skeleton = {
    .role = {.name = "bragg-skeleton", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
    .summary = "Multiply all pixels of the images by a factor.",
    .examples = "... | bragg-intensity | bragg-skeleton --factor=0.5 | bragg-noise | ...\n"
                "... | bragg-skeleton --factor=2 | bragg-write 'twice_%04d.raw'",
    .options = options,
    .state_size = sizeof(struct skeleton),
    .begin = skeleton_begin,
    .frame = skeleton_frame,
};

int main(int argc, char **argv)
{
    return stage_main(&skeleton, argc, argv);
}
