/*
 * Properties of a pulse of a free-electron laser that differ from pulse to pulse: fluence,
 * wavelength, direction and spectrum.  They determine the sources of one frame.
 *
 * A spectrum says how the photons of a pulse are distributed over energies.  A new spectrum is
 * drawn for every frame and merged into channels, each of which becomes a source.
 * braggpipe-physics(7), "Spectra of pulses", has the formulas.
 */
#ifndef BRAGG_PHYSICS_PULSE_H
#define BRAGG_PHYSICS_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/beam/synchrotron.h"

#define SPECTRUM_KINDS "none|sase|seeded|gauss|tophat|pink|twocolour|wiggler"

enum spectrum_kind {
    SPECTRUM_NONE,  // the beam as it is
    SPECTRUM_SASE,
    SPECTRUM_SEEDED,
    SPECTRUM_GAUSS,
    SPECTRUM_TOPHAT,
    SPECTRUM_PINK,
    SPECTRUM_TWOCOLOUR,
    SPECTRUM_WIGGLER,
    SPECTRUM_LISTED,  // measured: `listed`
};

/* Largest number of channels; above the second one only where spots have a closed form, which sums
 * only the channels within the reflecting range of a spot. */
enum { SPECTRUM_CHANNELS_MAX = 10000, SPECTRUM_CHANNELS_DENSE = 1000 };

/* Largest bandwidth of spectra other than top hats, percent. */
#define SPECTRUM_BANDWIDTH_MAX 20.0

struct spectrum {
    int kind;                   // enum spectrum_kind
    double bandwidth_percent;   // FWHM of the envelope, of the mean energy; top hat: its full width
    double pulse_fs;            // FWHM of the pulse
    double pedestal;            // seeded: fraction of the photons that is SASE
    double separation_percent;  // two-colour: energy of the second colour above the first
    double second;              // two-colour: fraction of the photons in the second colour
    int64_t channels;           // largest number of channels
    double range_eV[2];         // top hat, wiggler: lowest and highest energy; 0: the bandwidth
    double critical_eV;         // wiggler: critical energy
    int collected;              // wiggler: 0 on the axis, 1 summed over the vertical angle
    struct filter filters[FILTERS_MAX];  // top hat, wiggler: behind these
    int nfilters;
    struct listed_spectra listed;
};

/* Sets *low_eV and *high_eV to the range of energies of the spectrum for a beam of `mean_eV`. */
void spectrum_range(const struct spectrum *s, double mean_eV, double *low_eV, double *high_eV);

/* Returns true if a spectrum is a wide band: one that is the same in all frames, with options that
 * narrow spectra do not have.  spectrum_fix can give it to the beam. */
bool spectrum_is_wide(const struct spectrum *s);

/* Replaces the sources of *beam by one source for each channel of a wide band.  The recipes of the
 * frames then have no sources: all frames use those of the beam. */
void spectrum_fix(const struct spectrum *s, struct beam *beam);

/* Checks that shots can be drawn.  STATUS_USAGE: too many spikes, or energies that are not
 * positive.  STATUS_INPUT: measured spectra that are far from the energy of the beam. */
enum status spectrum_check(const struct spectrum *s, double mean_eV, struct error *e);

struct spectrum_channel {
    double energy_eV;  // centre of mass of its photons
    double photons;    // relative to those of a mean pulse
};

/* Draws the shot of frame `id`, a pure function of the arguments.  Sets channels[n] with rising
 * energy; every channel has photons.  Returns n, which is at most s->channels, and channels[] must
 * have room for s->channels items.  The sum of all channels is 1 photon in the mean over frames. */
size_t spectrum_shot(const struct spectrum *s, double mean_eV, uint64_t seed, uint64_t id,
                     struct spectrum_channel *channels);

/* Largest number of sources of a frame. */
enum { PULSE_SOURCES_MAX = 100000 };

/* Options.  With 0 everywhere, every frame has the beam of the experiment. */
struct pulse {
    double fluence_jitter;        // rms; log-normal, the mean is the beam's
    double wavelength_jitter;     // rms; normal, one factor for all sources
    double direction_jitter_rad;  // rms about each axis across the beam; normal
    double fluence,
        wavelength;  // factors on the values of the beam for the whole run; 0: the value of the
                     // beam
    struct spectrum spectrum;
};

/* Returns true if any option makes frames differ from the beam of the experiment. */
bool pulse_varies(const struct pulse *p);

/* Checks that a beam can have the spectrum.  STATUS_USAGE: the sources of the beam differ in
 * wavelength, or there are too many.  Also fails as spectrum_check does. */
enum status pulse_check(const struct pulse *p, const struct beam *beam, struct error *e);

/* Gives *r its own sources if pulses vary: the sources of the beam with the fluence, wavelength and
 * direction of frame r->id, a pure function of (r->seed, r->id).  With a spectrum each source is
 * replaced by its channels. */
void pulse_make(const struct pulse *p, const struct beam *beam, struct recipe *r);

#endif
