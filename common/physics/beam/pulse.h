/*
 * What differs from pulse to pulse of a free-electron laser: fluence, wavelength, direction and
 * spectrum.  They make the sources of one frame.
 *
 * A spectrum says how the photons of a pulse are spread over energies.  It is drawn anew for every
 * frame and merged into channels, each of which becomes a source.  braggpipe-physics(7), "Spectra
 * of pulses", has the formulas.
 */
#ifndef BRAGG_PHYSICS_PULSE_H
#define BRAGG_PHYSICS_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/beam.h"
#include "model/experiment.h"
#include "model/recipe.h"

#define SPECTRUM_KINDS "none|sase|seeded|gauss|tophat|pink|twocolour"

enum spectrum_kind {
    SPECTRUM_NONE,  // the beam as it is
    SPECTRUM_SASE,
    SPECTRUM_SEEDED,
    SPECTRUM_GAUSS,
    SPECTRUM_TOPHAT,
    SPECTRUM_PINK,
    SPECTRUM_TWOCOLOUR,
    SPECTRUM_LISTED,  // measured: `listed`
};

enum { SPECTRUM_CHANNELS_MAX = 1000 };

struct spectrum {
    int kind;                   // enum spectrum_kind
    double bandwidth_percent;   // FWHM of the envelope, of the mean energy; top hat: its full width
    double pulse_fs;            // FWHM of the pulse
    double pedestal;            // seeded: share of the photons that is SASE
    double separation_percent;  // two-colour: the second above the first
    double second;              // two-colour: share of the photons in the second
    int64_t channels;           // at most
    struct listed_spectra listed;
};

/* Energies that the spectrum covers for a beam of `mean_eV`. */
void spectrum_range(const struct spectrum *s, double mean_eV, double *low_eV, double *high_eV);

/* Whether shots can be drawn: STATUS_USAGE for too many spikes, or for energies that are not
 * positive; STATUS_INPUT for measured spectra far from the beam's energy. */
enum status spectrum_check(const struct spectrum *s, double mean_eV, struct error *e);

struct spectrum_channel {
    double energy_eV;  // centre of mass of its photons
    double photons;    // relative to those of a mean pulse
};

/* The shot of frame `id`, a pure function of the arguments, in channels[*n] of rising energy,
 * s->channels at most, none of which is dark; channels[] has room for so many.  Together they
 * have 1 photon on average over frames. */
enum status spectrum_shot(const struct spectrum *s, double mean_eV, uint64_t seed, uint64_t id,
                          struct spectrum_channel *channels, size_t *n, struct error *e);

/* Sources of a frame, at most. */
enum { PULSE_SOURCES_MAX = 100000 };

/* Options; 0 leaves every frame as the beam is. */
struct pulse {
    double fluence_jitter;        // rms; log-normal, the mean is the beam's
    double wavelength_jitter;     // rms; normal, one factor for all sources
    double direction_jitter_rad;  // rms about each axis across the beam; normal
    double fluence,
        wavelength;  // factors of a run on the values of the beam; 0: the value of the beam
    struct spectrum spectrum;
};

/* Whether any option makes frames differ from the beam of the experiment. */
bool pulse_varies(const struct pulse *p);

/* Whether a beam can have the spectrum: STATUS_USAGE when its sources differ in wavelength or
 * are too many, and as spectrum_check. */
enum status pulse_check(const struct pulse *p, const struct beam *beam, struct error *e);

/* Gives *r sources of its own, where pulses vary: those of the beam with the fluence,
 * wavelength and direction of frame r->id, a pure function of (r->seed, r->id).  With a spectrum
 * there are its channels for each of them. */
enum status pulse_make(const struct pulse *p, const struct beam *beam, struct recipe *r,
                       struct error *e);

#endif
