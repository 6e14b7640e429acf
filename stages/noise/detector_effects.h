/* Effects of a real detector on an image, which options of bragg-noise select: point spread, dead
 * and hot pixels, shadows, and raw pixel words of detectors that switch their gain. */
#ifndef BRAGG_STAGES_DETECTOR_EFFECTS_H
#define BRAGG_STAGES_DETECTOR_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/detector/noise.h"
#include "engine/detector/readout.h"
#include "io/detectors/detector_maps.h"
#include "model/experiment.h"
#include "physics/detector/psf.h"

/* ---- point spread -------------------------------------------------------------------------- */

/* The point spread that the options of bragg-noise ask for. */

#define POINT_SPREAD_KINDS "none|gauss|fiber|charge"  // in the order of enum psf_kind

/* Defaults of --psf-fwhm and --bias. */
#define POINT_SPREAD_FWHM_UM 46.0
#define POINT_SPREAD_BIAS_V 200.0

struct point_spread {
    int kind;           // enum psf_kind
    double fwhm_m;      // PSF_GAUSS, PSF_FIBER: full width at half maximum
    double bias_V;      // PSF_CHARGE: voltage across the sensor
    int64_t radius_px;  // half width of the square that light reaches; 0: automatic
};

/* Returns the point spread in pixels of a panel. Light does not cross from one panel to another. */
struct psf point_spread_on(const struct point_spread *p, const struct panel *panel);

/* Returns the point spread that bragg-noise applied to frames with this history
 * (base/history.h). If there is none, the kind is PSF_NONE. */
struct point_spread point_spread_told(const char *history);

/* ---- defects and shadows ------------------------------------------------------------------- */

/* Detector defects and shadows: dead and hot pixels, beam stop, other shadows, transmission. */

struct defects {
    /* options */
    double dead, hot;          // fractions of the pixels
    double hot_photons;        // mean photons that a hot pixel adds per frame
    const char *file;          // path of --bad-pixels; after defects_open it is `digest`
    const char *shadow;        // path of --shadow; after defects_open it is `shadow_digest`
    const char *transmission;  // path of --transmission; after defects_open it is `map_digest`
    double stop_m[2];          // diameters of the beam stop along fast and slow; 0: no stop
    double stop_offset_m[2];   // centre relative to the beam, along fast and slow
    double stop_distance_m;    // distance from the sample; 0: that of the detector
    double stop_transmission;  // fraction of the light that passes stop and arm
    double arm_m;              // width of the arm; 0: no arm
    double arm_rad;            // direction of the arm, from fast towards slow
    int stop_shape;            // enum stop_shape
    bool unmasked;             // do not mask the affected pixels
    /* state */
    uint8_t *kinds;                    // owned: value of each pixel in `file`; NULL: no file
    int64_t fast_pixels, slow_pixels;  // size of the image in `file`
    double pixel_m;                    // pixel size in the header of `file`; 0: the header has none
    char digest[17];                   // hash of the content of `file`
    struct shadows shadows;            // owned: content of `shadow`
    char shadow_digest[17];            // hash of `shadows`
    struct transmission map;           // owned: content of `transmission`
    char map_digest[17];               // hash of `map`
    float *passes;                     // owned: as in struct noise; NULL: all light passes
    struct bad_pixel *bad;             // owned: [nbad], ascending
    size_t nbad;
};

/* Reads the files.  On return d->file, d->shadow and d->transmission are hashes of their content,
 * because the lineage depends on the content and not on the name.
 * STATUS_FAILED: a file cannot be read.  STATUS_INPUT: its content is wrong. */
enum status defects_open(struct defects *d, struct error *e);

/* Sets passes, bad and nbad for the frames of *x.  Without `unmasked`, masks the affected pixels in
 * *x and stores the reasons.  STATUS_INPUT: a file does not have the pixels of the detector. */
enum status defects_make(struct defects *d, uint64_t seed, struct experiment *x, struct error *e);

void defects_free(struct defects *d);

/* ---- gain switching ------------------------------------------------------------------------ */

/* bragg-noise --gain-switching: raw pixel words of detectors that switch their gain.  A "stage" in
 * the code is a gain level of a pixel. */

/* Layouts of a word: engine/detector/readout.h. */
enum words { WORDS_JUNGFRAU, WORDS_AGIPD };

struct gain_switching {
    /* options */
    bool on;                           // --gain-switching was given
    int words;                         // enum words
    double gain_adu_keV[GAIN_STAGES];  // mean gain of each level
    double pedestal_adu[GAIN_STAGES];  // mean ADC value of each level without charge
    double spread[2];                  // relative standard deviations of gain and pedestal
    double cell_spread_adu;            // standard deviation of the pedestals between memory cells
    const char *files;                 // prefix of the calibration files; NULL: write none
    /* state */
    struct gain_stages stages;  // gains and pedestals of each pixel
    struct memory_cells cells;  // WORDS_AGIPD only
};

/* Sets gains and pedestals that were not given to the defaults of the layout w->words. Call this
 * after the options are parsed. STATUS_USAGE: a gain is 0. */
enum status gain_switching_check(struct gain_switching *w, bool has_gains, bool has_pedestals,
                                 struct error *e);

/* Makes gains and pedestals for the pixels of *x, and writes the calibration files. Sets the
 * offset, the gain and the saturation of *x to the values for raw words. STATUS_USAGE: a train
 * has more pulses than there are memory cells. */
enum status gain_switching_make(struct gain_switching *w, uint64_t seed, int threads,
                                struct experiment *x, struct error *e);

/* Returns the energy of a photon of this frame in keV, at the mean wavelength. */
double gain_switching_energy_keV(const struct experiment *x, const struct recipe *r);

/* Returns the word of a pixel whose charge is too large for all levels. For AGIPD, returns the
 * analog value of this word. */
double gain_switching_full_word(const struct gain_switching *w);

void gain_switching_free(struct gain_switching *w);

#endif
