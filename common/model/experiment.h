/*
 * The experiment: the data that all frames of a run share, which is sent once.  Lengths are in m,
 * angles in rad.  Directions are unit vectors in the laboratory frame of the chosen convention.  An
 * experiment owns its arrays.
 */
#ifndef BRAGG_MODEL_EXPERIMENT_H
#define BRAGG_MODEL_EXPERIMENT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/probe.h"

/*
 * Pulse numbers of free-electron lasers.  Each frame takes one pulse, and its numbers are pure
 * functions of the frame number:
 *
 *     EuXFEL    trainId counts ten trains a second; pulseId is the place in the train, in slots of
 *               4.5 MHz
 *     LCLS      seconds and nanoseconds; fiducial counts the 360 Hz of the mains and starts again
 *               at 0 after PULSE_FIDUCIALS
 *     SwissFEL  pulse_id counts 100 Hz
 *     SACLA     tag counts 60 Hz
 *
 * A detector may store the pulses of a train in memory cells.  cellId then is the place of the
 * frame's pulse in its train, counted from 0.  It is 0 if there are no trains.
 *
 * With a pump laser, `laser` is 1 for pump_light frames, then 0 for pump_dark frames, and so on.
 */

enum facility {
    FACILITY_NONE,
    FACILITY_EUXFEL,
    FACILITY_LCLS,
    FACILITY_SWISSFEL,
    FACILITY_SACLA,
};

enum {
    PULSE_NUMBERS_MAX = 5,
    PULSE_FIDUCIALS = 131040,  // 0x1ffe0
    PULSE_TRAIN_SLOTS = 2700,
};

struct pulse_ids {
    enum facility facility;
    uint64_t first;         // trainId, fiducial, pulse_id or tag of frame 0
    uint64_t step;          // ticks from one pulse to the next: of a train, or of the machine
    uint64_t train_pulses;  // EuXFEL: pulses in a train; 0 means 1
    uint64_t start_s;       // LCLS: Unix time of frame 0
    bool has_cells;         // the detector has memory cells
    bool has_pump;          // a pump laser is used
    uint64_t pump_light;    // number of consecutive frames with laser light
    uint64_t pump_dark;     // number of consecutive frames without it, which follow
};

struct pulse_number {
    const char *name;  // name that the facility uses, or cellId, or laser
    uint64_t value;
};

/* Returns the place of the frame's pulse in its train, counted from 0. */
uint64_t pulse_place(const struct pulse_ids *p, uint64_t frame);

/* Returns true if the pump laser illuminates the frame. */
bool pulse_lit(const struct pulse_ids *p, uint64_t frame);

/* Stores the numbers of a frame in list[], in the order of the table above.  Returns how many there
 * are.  FACILITY_NONE has no numbers of a facility. */
size_t pulse_numbers(const struct pulse_ids *p, uint64_t frame,
                     struct pulse_number list[PULSE_NUMBERS_MAX]);

enum { EXPERIMENT_HISTORY_SIZE = 16384, LINEAGE_SIZE = 17, MATERIAL_SIZE = 16 };

/* The physics of a run: `faithful` repeats every deviation of nanoBragg, `physical` is correct. */
enum physics { PHYSICS_PHYSICAL, PHYSICS_FAITHFUL };

/* The axis conventions of detector software (names as nanoBragg's flags). */
enum convention {
    CONVENTION_MOSFLM,
    CONVENTION_DENZO,
    CONVENTION_ADXV,
    CONVENTION_XDS,
    CONVENTION_DIALS,
    CONVENTION_CUSTOM,
};

enum pivot { PIVOT_BEAM, PIVOT_SAMPLE };

/* A rectangle of pixels, both ends inclusive. */
struct roi {
    int64_t fast_min, fast_max, slow_min, slow_max;
};

/*
 * One flat (or curved) rectangle of square pixels.  Pixel (f, s) is item
 * first_pixel + s * fast_pixels + f of a frame.
 *
 * Panels that were cut from one plane share its grid.  Pixel (0,0) of such a panel is pixel
 * (grid_fast, grid_slow) of the plane, and the corner of the plane is grid_m.  Engines count pixels
 * from that corner, so that a cut changes no bit of the result.  All other code uses origin_m.
 */
struct panel {
    int64_t fast_pixels, slow_pixels;
    int64_t first_pixel;             // index of this panel's pixel (0,0) in the frame
    int64_t grid_fast, grid_slow;    // both 0: the corner of the plane is that of the panel
    double grid_m[3];                // corner of the plane; not used if both are 0
    double pixel_m;                  // edge of a pixel
    double fast[3], slow[3];         // unit vectors along growing f and s
    double normal[3];                // unit vector "odet", away from the sample
    double origin_m[3];              // outer corner of pixel (0,0) ("pix0")
    double distance_m;               // along the beam, from sample to the panel
    double close_distance_m;         // shortest, along the normal
    bool curved;                     // pixels lie on a sphere about the sample
    bool point_pixel;                // solid angle 1/r^2, no pixel area and no obliquity
    int layers;                      // sensor layers, 1 when the thickness is 0
    double thickness_m;              // 0: no absorption is modelled
    double layer_m;                  // thickness of a layer
    double layer_depth_m;            // from the front of a layer to the point that represents it
    double absorption_1_m;           // mu, inverse attenuation depth
    double harmonic_absorption_1_m;  // mu for photons of the third harmonic, if there are any
    char material[MATERIAL_SIZE];    // of the sensor, "Si"; "": not known
    struct roi roi;                  // pixels outside stay 0; empty: all
    uint8_t *mask;                   // fast_pixels * slow_pixels, 0 = not computed; NULL: none
    /* Values for headers and clients. */
    double beam_fast_m, beam_slow_m;    // position of the beam, from the outer corner
    double close_fast_m, close_slow_m;  // point nearest to the sample, from the outer corner
    double beam_x_mm, beam_y_mm;        // Xbeam, Ybeam as typed or defaulted
    double twotheta_rad;
};

/* One incoming plane wave. */
struct source {
    double direction[3];  // unit vector from the sample towards the source
    double wavelength_m;
    double weight;  // relative; the mean over the list is 1
};

struct beam {
    double direction[3];     // unit vector of propagation
    double polarization[3];  // unit vector of the E field ("polar_vector")
    double kahn;             // polarization factor K, 0 = unpolarized
    bool no_polarization;    // polarization factor 1 everywhere
    double wavelength_m;     // central
    double fluence_ph_m2;    // photons per m^2 and frame
    bool has_exposure;       // a frame is exposed for exposure_s; otherwise for 1 s
    double exposure_s;
    double harmonic_share;   // photons of a third of the wavelength, per photon of the wavelength
    double harmonic_signal;  // signal of one of them in a pixel, in photons of the wavelength
    bool adds_energy;        // pixels add up energies: the signal of a photon is its energy,
                             // relative to that of wavelength_m; otherwise each photon is one
    double size_m;           // edge of the square beam; negative: wider than the sample
    bool has_height;         // the beam is a rectangle: size_m is its width along E ...
    double height_m;         // and height_m is its height across E
    size_t nsources;
    struct source *sources;  // owned; every pair of direction and wavelength
};

/* The shapes of crystals.  CRYSTAL_SHAPES(EACH) expands EACH for every shape: for a switch or a
 * table that has a line for each shape.  physics/crystal/shape.h defines the properties of shapes.
 */
#define CRYSTAL_SHAPES(EACH) \
    EACH(SHAPE_SQUARE)       \
    EACH(SHAPE_ROUND)        \
    EACH(SHAPE_GAUSS)        \
    EACH(SHAPE_TOPHAT)
#define CRYSTAL_SHAPE_NAME(shape) shape,
#define CRYSTAL_SHAPE_ONE(shape) +1
enum crystal_shape { CRYSTAL_SHAPES(CRYSTAL_SHAPE_NAME) };
enum { CRYSTAL_SHAPES_COUNT = CRYSTAL_SHAPES(CRYSTAL_SHAPE_ONE) };

/* Marks a place where the properties of a shape choose its formula.  The code does not compile
 * with a new shape until each of these places has a formula for it. */
#define CRYSTAL_SHAPES_ARE(number) \
    static_assert(CRYSTAL_SHAPES_COUNT == (number), "a new crystal shape needs its formula here")

/* |F| on a dense box of indices, and default_F outside.  F(h,k,l) is
 * F[((h-min[0])*count[1] + (k-min[1]))*count[2] + (l-min[2])]. */
struct hkl_table {
    int min[3];
    int count[3];      // all 0: no table, default_F everywhere
    double default_F;  // electrons
    double *F;         // owned, count[0]*count[1]*count[2] items, electrons
};

struct crystal {
    char name[64];           // name for messages and headers, e.g. "lysozyme"
    double cell_A[3];        // a, b, c as requested
    double cell_rad[3];      // alpha, beta, gamma as requested
    bool has_cell;           // lengths and angles were given (or derived, physical)
    double reciprocal_A[9];  // rows a*, b*, c* in 1/A before any misset
    double cells[3];         // Na, Nb, Nc: unit cells along a, b, c
    bool has_size;           // spots depend on its size (physics/crystal/illuminated_volume.h):
    double size_m[3];        // edges along a, b, c of the whole crystal
    bool has_blocks;         // it consists of blocks of `cells`, which scatter incoherently:
    double blocks;           // number of blocks, at least 1
    enum crystal_shape shape;
    double fudge;               // width factor of ROUND, GAUSS and TOPHAT
    bool interpolate;           // tricubic F between the indices
    bool has_ensemble;          // GAUSS: mean over very many domains (physics/crystal/ensemble.h):
    double mosaic_rms_rad[3];   // rms of their rotations about a, c* x a and c*
    double strain_rms[3];       // relative rms of their edges a, b, c
    double divergence_rms_rad;  // rms of the beam directions, about each axis across the beam
    double cells_across[3];     // Nd, Ne, Nf: off-diagonal elements of the matrix of cells
    bool has_diffuse;           // diffuse halos about reflections (engine/crystal/diffuse.h):
    double diffuse_sigma_A[3];  // rms displacement along a, c* x a and c*
    double diffuse_gamma_A[3];  // correlation length of the displacements, along the same axes
    struct hkl_table table;
};

/* How finely a pixel is sampled. */
struct sampling {
    int oversample;          // subpixels along an edge
    bool each_thickness;     // absorption for every term, not once per pixel
    bool each_polarization;  // polarization for every term, not once per pixel
    bool each_solid_angle;   // solid angle for every term, not once per pixel
    bool smears;             // a thick sensor has no layers: the image of a thin one is smeared
                             // along the rays (physics/detector/smear.h)
};

/* Why a pixel is masked, as bits.  0: the pixel has no sensor. */
enum mask_reason { REASON_DEAD = 1, REASON_NOISY = 2, REASON_SHADOW = 4 };

struct experiment {
    enum physics physics;
    bool has_probe;    // the particles of the beam are not X-ray photons but `probe`
    enum probe probe;  // names with "photons" then mean these particles, see model/probe.h
    enum convention convention;
    double spindle[3];  // unit vector of the rotation axis
    double dmin_m;      // resolution cut-off, 0 = none
    double water_m;     // nanoBragg's -water: edge of a cube of water, 0 = none
    struct sampling sampling;
    struct beam beam;
    size_t npanels;
    struct panel *panels;       // owned.  These are the places that files and clients describe
    bool is_misaligned;         // photons find the panels at other places:
    size_t ntrue_panels;        // npanels, or 0 if the detector is not misaligned
    struct panel *true_panels;  // owned, in the order of `panels`, without masks.  Programs that
                                // compute photons use them by experiment_take_true and
                                // experiment_view_true.  All others see only `panels`
    size_t ncrystals;
    struct crystal *crystals;  // owned
    bool has_pulse_ids;        // frames also have pulse numbers
    struct pulse_ids pulse_ids;
    bool counts_photons;  // the detector counts photons, so its pixels have no offset
    bool sample_moves;    // frames have places on a sample holder, see struct recipe
    bool detector_moves;  // frames may have shifts, see struct recipe
    bool sizes_vary;      // lattices have numbers of cells of their own, see struct lattice
    bool spreads_vary;    // lattices have mosaic spreads of their own, see struct lattice
    bool b_factors_vary;  // lattices have B factors of their own, see struct lattice
    bool matter_varies;   // frames have amounts of matter of their own, see struct matter
    bool has_reasons;     // reasons for masked pixels are known:
    uint8_t *reasons;     // owned; enum mask_reason for each pixel of the frame; else NULL
    /* Values that later stages set for headers and clients. */
    double adc_offset;                      // ADU of a pixel without photons (0 before noise)
    double gain;                            // ADU per photon (1 before noise)
    bool has_readout;                       // pixels have readout noise:
    double readout_adu;                     // its standard deviation
    double saturation;                      // largest value in ADU; 0: none
    bool gain_switches;                     // values are words of several gain levels.  gain
                                            // and adc_offset are those of the first level;
                                            // calibration files have those of all levels
    char lineage[LINEAGE_SIZE];             // 16 hex digits, see bragg-wire(5)
    char history[EXPERIMENT_HISTORY_SIZE];  // the lineage as text, see base/history.h
};

/* Returns how long a frame is exposed, in s, which files and clients report. */
double beam_exposure_s(const struct beam *b);

/* Returns the height of the beam across E: height_m, or size_m if the beam is a square. */
double beam_height_m(const struct beam *b);

/* Stores the cell as requested in cell[]: a, b, c in A, then alpha, beta, gamma in degrees. */
void crystal_cell(const struct crystal *c, double cell[6]);

/* Returns true if the pixel of the panel is computed: it is in the region of interest and not
 * masked. */
bool panel_computes(const struct panel *p, int64_t fast, int64_t slow);

/* Returns true if all pixels of the panel are computed. */
bool panel_is_whole(const struct panel *p);

/* Returns the word of a masked pixel in the masks of NeXus and of Dectris detectors.  Value 1 is a
 * gap, 2 a dead pixel, 16 a noisy pixel, 256 a pixel that the user masked, such as a shadow. */
uint32_t experiment_mask_word(const struct experiment *x, int64_t pixel);

/* Returns true if item `pixel` of the image is on the panel. */
bool panel_holds(const struct panel *p, int64_t pixel);

/* Returns the number of pixels of a frame: the sum over panels, 0 without panels. */
int64_t experiment_pixels(const struct experiment *x);

/* Returns the thickness of the sensor in m, for programs that correct positions for the depth at
 * which photons are detected.  Returns 0 if all photons are detected in the plane of the panel,
 * whatever its absorption.  This is the case without a sensor, on a curved panel, and in faithful
 * mode with one layer. */
double panel_depth_m(const struct panel *p);

/* Returns the sensor material, for formats that must name one.  The default is silicon. */
const char *panel_material(const struct panel *p);

/* Returns the number of rows of a frame: the sum over panels, 0 without panels. */
int64_t experiment_rows(const struct experiment *x);

/* Sets the rows of `axes` to x, y and z of NeXus (McStas), in the laboratory frame of *x: z is
 * along the beam, and x is against the part of the spindle that is perpendicular to the beam.  So
 * MOSFLM's (x, y, z) becomes (-z, y, x).  If the spindle is along the beam, fast or slow of the
 * first panel takes its place. */
void experiment_nexus_axes(const struct experiment *x, double axes[9]);

/* Replaces the panels of *x by the true panels, with the masks and the regions of interest of the
 * panels.  *x then describes a detector that is not misaligned, as photons find it.  Does nothing
 * if *x is not misaligned. */
void experiment_take_true(struct experiment *x);

/* Sets *view to a shallow copy of *x whose detector is as photons find it: its own panels are the
 * true ones, if *x is misaligned.  All other arrays, and the masks, belong to *x, which must
 * outlive the view.  The caller calls experiment_view_close, not experiment_free. */
void experiment_view_true(struct experiment *view, const struct experiment *x);
void experiment_view_close(struct experiment *view);

/* Frees the true panels of *x, which then is not misaligned. */
void experiment_drop_true(struct experiment *x);

/* Sets all members of the true panel *p that do not depend on its place to those of the panel *of:
 * pixels, region of interest, sensor.  Its mask becomes NULL. */
void panel_complete_true(struct panel *p, const struct panel *of);

/* Frees the arrays and clears *x. */
void experiment_free(struct experiment *x);

/* Frees the tables of F, which later stages do not need. */
void experiment_drop_tables(struct experiment *x);

/* Makes a deep copy in *to, whose old content is overwritten and not freed. */
void experiment_copy(struct experiment *to, const struct experiment *from);

#endif
