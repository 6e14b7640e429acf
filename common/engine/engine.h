/*
 * The interface of an engine, which computes the photons of every pixel from an experiment and a
 * recipe.
 *
 * Every engine is one `struct engine`: the readable reference, the CPU loops, the GPU.
 * stages/shared/engines.c has the list of the engines that were built.
 */
#ifndef BRAGG_ENGINE_ENGINE_H
#define BRAGG_ENGINE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
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
    double faint;                     // cpu: photons that a pixel may lose, see dense/faint.h; 0:
                                      // none
    bool sums;                        // `run` forms the checksum of the pixels, if the engine can:
                                      // see `sum`
    bool reflections;                 // `reflections` is called after each `run`: keep what it
                                      // needs
    int device;                       // cuda: number of the GPU, from 0
    bool device_by_turns;             // cuda: numbers beyond the last GPU start again at 0
    bool after;                       // cuda: only `go_on` is called; crystals need no data
};

/* A counter of data that a plan keeps from frame to frame: how often the data could be used
 * again. */
enum { ENGINE_COUNTS = 9 };
struct engine_count {
    const char *name;  // includes the unit, if there is one
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

/* The reflections and columns of a table that are wanted. */
struct reflections_wanted {
    double least_photons;  // a reflection gets a row if it has more photons than this; not negative
    bool labels;
    bool slopes;  // derivatives of the photons of pixels by structure factors
};

struct background_material;
struct noise;

/* Work on the photons that an engine may do before it returns them. */
struct engine_after {
    const struct background_material
        *materials;             // [nmaterials], see physics/background/background.h
    size_t nmaterials;          // 0: no background
    const struct noise *noise;  // see engine/detector/noise.h; NULL: return photons
    enum pixel_type type;       // type of the returned pixels; PIXEL_F32 without noise
};

struct derive_request;
struct crc32c_piece;

/* Takes the photons of a frame in parts, while they are in the cache: those of pixels `first` to
 * first + count - 1, where `first` is a multiple of ENGINE_PART.  May change photons[count], and
 * continues *sum, the checksum of what it makes of them.  Returns false if it cannot.  All threads
 * call it at once, in any order. */
enum { ENGINE_PART = 64 };
struct engine_taker {
    bool (*take)(void *context, int64_t first, int64_t count, float *photons,
                 struct crc32c_piece *sum);
    void *context;
};

struct plan;  // data that an engine prepares once per experiment

struct engine {
    const char *name;  // "reference", "cpu", "cuda"

    /* Prepares a plan for an experiment, which must outlive the plan.  On an error *plan is NULL.
     * STATUS_USAGE or STATUS_INPUT: the engine cannot do what is asked, such as an unknown `isa` or
     * an option that needs another engine; *e has one line of text. */
    enum status (*create)(struct plan **plan, const struct experiment *experiment,
                          const struct engine_options *options, struct error *e);

    /* Returns the identity class: "reference", "cpu-fma-5", "cpu-baseline-5", "cpu-fma-double",
     * "cpu-baseline-double", "cuda-2", "cuda-double".  Frames of one class are equal byte for byte
     * on every machine and with any number of threads.  The number is raised if a recipe gets other
     * bytes than before.  If all crystals are SQUARE (in double precision: SQUARE or ROUND), images
     * of the cuda engine have the class "cpu-fma-...". */
    const char *(*identity)(const struct plan *plan);

    /* Returns a text for the user about what was chosen at run time: "avx512, 2 threads". */
    const char *(*describe)(const struct plan *plan);

    /* Computes all pixels of one frame into pixels[experiment_pixels()], float32 photons.  Pixels
     * outside the ROI and masked pixels are set to 0.  `rows` counts finished rows, for the display
     * of progress; it may be NULL.  STATUS_INPUT: a bad recipe (crystal index, vectors that are not
     * finite), or photons that are not finite; the text names the first such pixel. */
    enum status (*run)(struct plan *plan, const struct recipe *recipe, float *pixels,
                       atomic_uint_fast64_t *rows, struct error *e);

    /* Computes a frame as `run` does, but gives the photons to *taker, and *sum the checksum of all
     * parts.  Returns false if the plan or the recipe needs the whole image, if the recipe is bad
     * or if *taker has refused a part: the caller then calls `run`, which has the errors.  taker
     * NULL: computes nothing, and returns false if parts are impossible.  NULL: the engine makes no
     * parts. */
    bool (*run_parts)(struct plan *plan, const struct recipe *recipe,
                      const struct engine_taker *taker, uint32_t *sum, atomic_uint_fast64_t *rows);

    /* Prepares the plan for `develop`.  Called at most once, after `create`.  The data that *after
     * points to must outlive the plan.  The engine accepts background and then noise, as far as it
     * can do them, and removes from *after what it accepts.  The caller must apply what is left:
     * background on a curved detector, noise with a point spread, and noise that follows a
     * background that is left.  NULL: the engine accepts neither. */
    enum status (*prepare)(struct plan *plan, struct engine_after *after, struct error *e);

    /* Computes a frame as `run` does, and applies what `prepare` accepted.  The bytes are those
     * of background_image, added in float32, and of noise_apply with this seed.
     * pixels[experiment_pixels()] have the type in engine_after.type, or PIXEL_F32 if `prepare`
     * left the noise to the caller.  STATUS_INPUT: as `run`, or photons that noise_apply
     * refuses. */
    enum status (*develop)(struct plan *plan, const struct recipe *recipe, uint64_t seed,
                           void *pixels, atomic_uint_fast64_t *rows, struct error *e);

    /* Announces the frame of *next: it is computed by the second call of `run`, `develop` or
     * `develop_there` from now.  During the first call the engine may begin it.  *next stays valid
     * until the first call has returned.  NULL: the engine begins no frame early. */
    void (*announce)(struct plan *plan, const struct recipe *next);

    /* Returns the GPU whose memory may hold the images, valid as long as the plan.  Returns NULL if
     * the images of this plan end in main memory.  NULL: the engine uses no GPU. */
    const struct card *(*card)(struct plan *plan);

    /* As `develop`, but writes the pixels to `there` in the memory of the GPU.  Also works without
     * `prepare`.  Only in engines that have `card`. */
    enum status (*develop_there)(struct plan *plan, const struct recipe *recipe, uint64_t seed,
                                 void *there, atomic_uint_fast64_t *rows, struct error *e);

    /* Applies what `prepare` accepted, which must be at least one step, to photons that are
     * computed already.  Reads *photons (float32) and writes the pixels of *to, which is other
     * memory.  Either image is in the memory of the GPU if its member `card` is set.  Bytes and
     * errors are those of `develop`.  Only in engines that have `card`. */
    enum status (*go_on)(struct plan *plan, const struct recipe *recipe, uint64_t seed,
                         const struct image *photons, const struct image *to, struct error *e);

    /* Announces that later calls may write frames to `pixels`, memory of `bytes` bytes that stays
     * mapped until `unpin`.  Called once for each place.  STATUS_FAILED: announcing the place gains
     * nothing.  NULL: all places are equally fast for this engine. */
    enum status (*pin)(struct plan *plan, void *pixels, size_t bytes, struct error *e);

    /* Releases all places that `pin` announced.  Only in engines that have `pin`. */
    void (*unpin)(struct plan *plan);

    /* Fills in the first items of counts[] and returns their number.  NULL: the engine counts
     * nothing. */
    size_t (*counts)(const struct plan *plan, struct engine_count counts[ENGINE_COUNTS]);

    /* Sets *sum to the CRC-32C of the pixels that the last `run`, `develop` or `go_on` wrote to
     * host memory.  It was formed while the pixels were in the cache or on the GPU.  Returns false
     * if there is no checksum.  NULL: the engine forms none. */
    bool (*sum)(const struct plan *plan, uint32_t *sum);

    /* Computes photons of a recipe, their derivatives, and sums of both, see
     * engine/derivatives/derive.h.  parameters_parse must have accepted the parameters for this
     * experiment.  The results are the same for any number of threads.
     *
     * The cpu engine is as close to the reference as its images are; derivative images are that
     * close relative to their root mean square.  The reference computes what the loop of the cpu
     * engine cannot (cpu_slopes.h), and closed.h computes crystals of very many domains.
     *
     * STATUS_INPUT: a bad recipe, or a request that the recipe cannot serve.  NULL: the engine has
     * no derivatives. */
    enum status (*derive)(struct plan *plan, const struct recipe *recipe,
                          const struct derive_request *request, struct error *e);

    /* Makes the table of reflections of the recipe of the last `run`, which wrote its photons to
     * `pixels`.  *table must be empty; the caller frees it, also after an error.  The reference
     * engine adds each term to the reflection that the term belongs to, which defines the table.
     * For reflections of 10 photons and more, the other engines agree with it within 1e-4 in
     * photons and 1e-3 pixels in centroids.  The bytes are the same for any number of threads.
     * STATUS_FAILED: memory cannot be allocated. */
    enum status (*reflections)(struct plan *plan, const struct recipe *recipe, const float *pixels,
                               const struct reflections_wanted *wanted,
                               struct reflection_table *table, struct error *e);

    /* Evaluates one pixel again and reports every intermediate value. */
    enum status (*trace)(struct plan *plan, const struct recipe *recipe,
                         const struct pixel_trace *trace, struct error *e);

    /* Frees the plan and sets the pointer to NULL. */
    void (*destroy)(struct plan **plan);
};

extern const struct engine engine_reference;  // double precision, one loop
extern const struct engine engine_cpu;        // blocks of pixels, vectorised, OpenMP

#endif
