/*
 * An engine turns experiment and recipe into photons per pixel.  Every engine
 * (the readable reference, the CPU loop, the GPU) is one `struct engine`; the
 * list of those that were built stands in stages/shared/engines.c.
 */
#ifndef BRAGG_ENGINE_ENGINE_H
#define BRAGG_ENGINE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/card.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"

/* The precision of the lattice factors; indices are always in double precision. */
enum engine_precision {
    PRECISION_MIXED,   // single, within 1e-5 of the reference for up to 20 cells along an axis
    PRECISION_DOUBLE,  // within 1e-9 of the reference (before it is rounded to float32)
};

struct engine_options {
    int threads;      // OpenMP threads, >= 1
    const char *isa;  // NULL: the best that this CPU has; else "baseline", "avx2", "avx512"
    enum engine_precision precision;  // of cpu and cuda; the reference is always double
    bool sums;                        // form the checksum of the pixels, if it can: see `sum`
    bool reflections;                 // they will be asked for after each `run`: keep what helps
    int device;                       // of cuda: which GPU, from 0
    bool device_by_turns;             // ... counted on from 0 behind the last one
    bool after;                       // ... nothing but `go_on` is wanted: crystals may lack all
};

/* What a plan keeps from frame to frame, and how often it was there. */
enum { ENGINE_COUNTS = 8 };
struct engine_count {
    const char *name;  // with its unit, if it has one
    uint64_t count;
};

/* Receives the intermediate values of a pixel, one call for each named quantity: `values` holds
 * `count` doubles, `unit` their unit ("m", "1/A", "" ...). */
struct pixel_trace {
    int64_t fast, slow;  // the pixel
    void (*value)(void *context, const char *name, int count, const double *values,
                  const char *unit);
    void *context;
};

/* What is asked of a table of reflections. */
struct reflections_wanted {
    double least_photons;  // rows have more; not negative
    bool labels;
    bool slopes;  // of the photons of pixels by structure factors
};

struct background_material;
struct noise;

/* What becomes of photons before they leave an engine that can do it. */
struct engine_after {
    const struct background_material
        *materials;             // [nmaterials], see physics/background/background.h
    size_t nmaterials;          // 0: no background
    const struct noise *noise;  // see engine/detector/noise.h; NULL: photons leave
    enum pixel_type type;       // of what leaves: PIXEL_F32 without noise
};

struct derive_request;

struct plan;  // what an engine prepares once per experiment

struct engine {
    const char *name;  // "reference", "cpu", "cuda"

    /* Prepares for an experiment, which must outlive the plan.  STATUS_USAGE or
     * STATUS_INPUT with one line when the engine cannot do what is asked
     * (unknown isa, an option that needs another engine); *plan is then NULL. */
    enum status (*create)(struct plan **plan, const struct experiment *experiment,
                          const struct engine_options *options, struct error *e);

    /* The identity class: frames of one class are equal byte for byte whatever
     * the machine and thread count ("reference", "cpu-fma-5",
     * "cpu-baseline-5", "cpu-fma-double", "cpu-baseline-double", "cuda-2", "cuda-double"); the
     * number is raised when the same recipe gets other bytes.  Where all crystals are SQUARE
     * (double precision: or ROUND) images of the cuda engine are of the class "cpu-fma-...". */
    const char *(*identity)(const struct plan *plan);

    /* What was chosen at run time, for people ("avx512, 2 threads"). */
    const char *(*describe)(const struct plan *plan);

    /* Computes all pixels of one frame into pixels[experiment_pixels()], float32
     * photons; pixels outside the ROI or masked are set to 0.  `rows`, when not
     * NULL, counts finished rows for whoever watches.  Bad recipes (crystal index,
     * non-finite vectors) are STATUS_INPUT, and so are photons that are not finite: the
     * first such pixel is named. */
    enum status (*run)(struct plan *plan, const struct recipe *recipe, float *pixels,
                       atomic_uint_fast64_t *rows, struct error *e);

    /* Prepares for `develop`, once, after create; what *after points to must outlive the plan.
     * Takes what it can of background, then noise, out of *after, which becomes what is left for
     * others to do: background on a curved detector, noise with a point spread, and noise behind
     * a background that is left.  NULL for an engine that does nothing of the kind. */
    enum status (*prepare)(struct plan *plan, struct engine_after *after, struct error *e);

    /* As `run`, and on with what `prepare` took: the bytes are those of background_image,
     * added in float32, and of noise_apply with that seed.  pixels[experiment_pixels()] are of
     * the type that `prepare` was asked for, PIXEL_F32 if it left the noise.  Photons that are
     * not finite, or that noise refuses, are STATUS_INPUT. */
    enum status (*develop)(struct plan *plan, const struct recipe *recipe, uint64_t seed,
                           void *pixels, atomic_uint_fast64_t *rows, struct error *e);

    /* The card that images may stay on, as long as the plan lives; NULL: those of this plan are
     * made here in the end.  NULL for an engine without. */
    const struct card *(*card)(struct plan *plan);

    /* As `develop`, also without `prepare`, into memory of the card.  With `card`. */
    enum status (*develop_there)(struct plan *plan, const struct recipe *recipe, uint64_t seed,
                                 void *there, atomic_uint_fast64_t *rows, struct error *e);

    /* What `prepare` took, which is not nothing, from photons on: those of *photons, float32, which
     * are only read, into the memory of *to, which is other.  Either is on the card if its `card`
     * is set.  Bytes and errors are those of `develop`.  With `card`. */
    enum status (*go_on)(struct plan *plan, const struct recipe *recipe, uint64_t seed,
                         const struct image *photons, const struct image *to, struct error *e);

    /* Frames to come may be asked for at `pixels`, in memory that stays mapped until `unpin`;
     * asked once for a place.  STATUS_FAILED when nothing is gained.  NULL for an engine to
     * which places are alike. */
    enum status (*pin)(struct plan *plan, void *pixels, size_t bytes, struct error *e);

    /* Lets go of all places.  With `pin`. */
    void (*unpin)(struct plan *plan);

    /* Fills in the first members of counts[]; returns how many.  NULL for an engine that counts
     * nothing. */
    size_t (*counts)(const struct plan *plan, struct engine_count counts[ENGINE_COUNTS]);

    /* The CRC-32C of the pixels of the last run, formed while they were in the cache; false
     * when there is none.  NULL for an engine that forms none. */
    bool (*sum)(const struct plan *plan, uint32_t *sum);

    /* Photons of a recipe and their derivatives, as engine/derivatives/derive.h says, and sums of
     * them; parameters_parse has taken the names for this experiment.  STATUS_INPUT for bad recipes
     * and for requests that they cannot serve.  The cpu engine's are those of the reference within
     * the same bounds as images, and of the root mean square of a plane; what its loop does not
     * take (cpu_slopes.h) the reference computes, and very many domains are closed.h's.  The
     * same numbers for any number of threads. NULL for an engine that has no derivatives. */
    enum status (*derive)(struct plan *plan, const struct recipe *recipe,
                          const struct derive_request *request, struct error *e);

    /* The reflections of the recipe of the last `run`, which put its photons at `pixels`, into the
     * empty *table, which the caller frees, after an error too.  The reference engine puts each
     * term into its reflection: that defines them.  Photons of others are within 1e-4 of these for
     * reflections of 10 photons and more, centroids within 1e-3 pixels.  Same bytes for any number
     * of threads.  STATUS_FAILED when memory is out. */
    enum status (*reflections)(struct plan *plan, const struct recipe *recipe, const float *pixels,
                               const struct reflections_wanted *wanted,
                               struct reflection_table *table, struct error *e);

    /* Evaluates one pixel again and reports every intermediate. */
    enum status (*trace)(struct plan *plan, const struct recipe *recipe,
                         const struct pixel_trace *trace, struct error *e);

    /* Frees the plan and sets the pointer to NULL. */
    void (*destroy)(struct plan **plan);
};

extern const struct engine engine_reference;  // plain double, one loop
extern const struct engine engine_cpu;        // blocks of pixels, vectorised, OpenMP

#endif
