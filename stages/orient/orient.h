/* The options of bragg-orient, its runs, and the recipe of a frame. */
#ifndef BRAGG_STAGES_ORIENT_ORIENT_H
#define BRAGG_STAGES_ORIENT_ORIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "base/opt.h"
#include "io/beam/frame_lists.h"
#include "io/beam/vary_table.h"
#include "link/run.h"
#include "model/experiment.h"
#include "physics/beam/pulse.h"
#include "physics/crystal/population.h"
#include "physics/detector/detector.h"
#include "physics/request.h"

/* Largest number of frames of a run. */
enum { ORIENT_FRAMES_MAX = 1000000000 };

/* Values of --steps.  Without the option, numbers that are not given are chosen in physical mode,
 * up to a limit. */
enum steps_choice { STEPS_GIVEN, STEPS_AUTO };

/* A crystal on the sample holder. */
struct site {
    double at_m[2];    // middle of the crystal, along the width and the height of the beam
    uint32_t crystal;  // index into experiment.crystals
};

/* A sample holder with crystals, and the points at which the beam meets it in a mesh scan. */
struct mesh {
    /* options */
    int64_t points[2];   // columns and rows; 0: all frames are of one point
    double step_m[2];    // 0: the size of the beam
    double middle_m[2];  // middle of the mesh
    int64_t crystals;    // number of crystals at random places; 0: a list has them
    double facing_rad;   // start angle of frame 0, at which the holder faces the beam
    bool snake;          // odd rows run backwards
    /* derived */
    struct site *sites;  // owned; NULL: there is no sample holder
    size_t nsites;
    double axes[9];   // rows: directions of x, of y and of the beam, in the laboratory frame
    char digest[17];  // hash of a list, for the lineage
};

/* Values of the options, in SI units.  Phi is in degrees, because phi0 + k osc is computed in
 * degrees. */
struct orient_options {
    struct opt_marks given;
    int64_t frames, seed;
    double apart_rad;  // rms angle between the first lattice of a frame and the others; NaN: none
    double misset_rad[3], mount_rad[3], phi0_deg, osc_deg, exposed, mosaic_rad, ripple;
    int64_t phi_steps, mosaic_domains, mosaic_seed;
    int steps;  // enum steps_choice, if the option is given
    const char *sites, *only, *orientations, *scan, *truth, *spectra, *runs, *shifts, *gate,
        *vary_file;
    bool overwrite, random, gate_z;
    struct population population;
    struct pulse pulse;
    const char *filter;
    struct pump pump;
    struct shift shift;
    struct mesh mesh;
    int facility;
    int64_t first_pulse, pulse_step, train_pulses, run_start_s;
};

extern const struct opt orient_table[];

/* Returns true if one of the options `names` was given; see opt_given. */
bool orient_given(const struct orient_options *o, const char *names);

/* Marks an option as given, so that its value is stored in the lineage. */
void orient_mark(struct orient_options *o, const char *name);

/* Checks that the options do not contradict each other, and completes o->pump and o->population.
 * STATUS_USAGE: two options contradict each other. */
enum status orient_check(struct orient_options *o, struct error *e);

/* Adds the frames of --only, if it is given, to *only. If --frames is not given as well, the run
 * ends with the last of these frames. STATUS_USAGE: the list is malformed, or a frame is out of
 * range. */
enum status orient_read_only(struct orient_options *o, struct id_set *only, struct error *e);

/* Refuses options that need X-rays if the beam consists of other particles.  STATUS_USAGE: there is
 * one. */
enum status orient_check_probe(const struct orient_options *o, enum probe probe, struct error *e);

/* Refuses options that contradict the orientations of a stream.  STATUS_USAGE: there is one. */
enum status orient_check_stream(const struct orient_options *o, struct error *e);

/* Warns about angles that are probably not in degrees. */
void orient_warn_units(const struct orient_options *o);

/* Returns how pulses are numbered, with the defaults of the facility. */
struct pulse_ids orient_pulse_ids(const struct orient_options *o);

/* Gives quantities the values of the table of --vary-file, if there is one, and the run as many
 * frames as it has, unless options say how many.  Checks that the options of mosaic domains agree
 * with the quantities that vary.  Call it after orient_check.
 * STATUS_USAGE: options contradict each other. */
enum status orient_use_table(struct orient_options *o, const struct vary_table *t, struct error *e);

/* Returns the half-width of the mosaic domains in rad: that of --mosaic, or the largest one that
 * --vary=mosaic draws or a table has. */
double orient_mosaic_rad(const struct orient_options *o);

/* Returns the rotation and the mosaic spread of frame `id`, in SI units. */
struct orientation_request orient_request(const struct orient_options *o, uint64_t id);

/* --- runs: groups of consecutive frames that are drawn with the same parameters --------------- */

/* One run, which ends with the frame before the next run begins. */
struct orient_run {
    uint64_t first;     // number of its first frame
    const char *label;  // name of the run; "": none
    struct population population;
    struct pulse pulse;
};

struct orient_runs {
    struct run_line *lines;  // lines of the file, owned; NULL: no file
    size_t nlines;
    struct orient_run *runs;  // owned; without a file there is one run
    size_t nruns;
    const char *path;  // path of the file; NULL: no file
    char digest[17];   // hash of the lines, for the lineage
};

/* Reads the file of --runs at `path`. NULL: there is no file. */
enum status orient_runs_read(struct orient_runs *r, const char *path, struct error *e);

/* Checks that frames may have this photon energy.  `what` names its origin in the message.
 * STATUS_INPUT: it is more than 10 % from the energy of the beam, for which absorption and sampling
 * are computed, or the beam does not consist of X-rays. */
enum status orient_check_energy(const struct experiment *x, double energy_eV, const char *what,
                                struct error *e);

/* Makes the runs. Each run has the values of its line in the file, and the values of *population
 * and *pulse that its line does not give. population_begin must have been called for
 * *population, with the same `turned_alike`. STATUS_INPUT, with a message that begins with
 * "FILE:LINE: ": a line does not fit this beam or these crystals. */
enum status orient_runs_begin(struct orient_runs *r, const struct population *population,
                              const struct pulse *pulse, const struct experiment *x,
                              bool turned_alike, struct error *e);

/* Returns the run that contains a frame. */
const struct orient_run *orient_runs_of(const struct orient_runs *r, uint64_t frame);

void orient_runs_free(struct orient_runs *r);

/* --- mesh scans (orient_mesh.c) -------------------------------------------------------------- */

/* Reads the list of crystals at `path` into *m; mesh_free frees it.  NULL: there is no list.
 * STATUS_INPUT, with FILE:LINE: a line is not two numbers in um, and the number of a crystal that
 * may follow them. */
enum status mesh_read(struct mesh *m, const char *path, struct error *e);

/* Places crystals at random, if the options say so, and sets the steps if no option does.
 * STATUS_USAGE: a crystal or the beam has no size.  STATUS_INPUT: the list has a crystal that the
 * experiment does not have. */
enum status mesh_begin(struct mesh *m, const struct experiment *x, uint64_t seed, struct error *e);

/* Stores where the beam meets the sample holder in frame `id`.  `middle_m`: middle of the mesh, or
 * the place without a mesh. */
void mesh_point(const struct mesh *m, uint64_t id, const double middle_m[2], double at_m[2]);

/* Stores where the middle of a crystal is at phi 0, from the middle of the beam, in the laboratory
 * frame.  Returns false if the beam certainly misses the crystal of a recipe whose sample_m,
 * phi_rad and osc_rad are set. */
bool mesh_reaches(const struct mesh *m, const struct experiment *x, const struct recipe *r,
                  size_t site, double aside_m[3]);

void mesh_free(struct mesh *m);

/* --- orientations of a CrystFEL stream (orient_recipe.c) ---------------------------------------
 */

/* A frame of the stream. */
struct stream_frame {
    uint64_t id;
    long line;            // line of the stream on which the frame begins
    size_t first, count;  // its crystals
};

/* All frames of a stream, in ascending order of their numbers.  {0}: there is no stream. */
struct orient_stream {
    const char *path;             // borrowed
    struct stream_frame *frames;  // owned
    size_t nframes, frames_room;
    double (*axes)[9];  // owned: columns a*, b*, c* of each crystal in 1/A, in the coordinate
                        // system of the beam
    size_t ncrystals, axes_room;
};

/* Reads the stream `path`.  Frames have the numbers of the chunks.  If chunks have no numbers or
 * two have the same number, chunks are numbered from 0 in their order, and a warning says so.
 * orient_stream_free frees *s, also after an error.
 * STATUS_INPUT: the stream is damaged, or has no crystals. */
enum status orient_stream_read(struct orient_stream *s, const char *path, struct error *e);

/* Adds the numbers of all frames below `frames` to *ids. */
void orient_stream_ids(const struct orient_stream *s, uint64_t frames, struct id_set *ids);

/* Finds the rotations of all crystals from the crystal of *x to the laboratory.  The caller frees
 * *rotations with mem_free.  STATUS_INPUT: *x has several crystals, or a crystal of the stream has
 * another cell. */
enum status orient_stream_rotations(const struct orient_stream *s, const struct experiment *x,
                                    double (**rotations)[9], struct error *e);

void orient_stream_free(struct orient_stream *s);

/* --- recipes ----------------------------------------------------------------------------- */

/* The state of the stage. */
struct orient {
    struct orient_options options;
    const struct experiment *experiment;
    struct id_set only;           // frames of --only or of a stream; empty: all frames
    struct orient_stream stream;  // --orientations, if it is a stream
    double (*listed)[9];          // rotations of --orientations, owned; NULL: none
    size_t nlisted;
    char digest[17];         // hash of `listed`, for the lineage
    struct pulse pulse;      // options of the pulse, with the spectra of --spectra
    char spectra[17];        // hash of the spectra
    struct shift shift;      // options of the detector position; the list is owned
    char shifts[17];         // hash of this list
    struct vary_table vary;  // --vary-file, owned
    char varies[17];         // hash of this table
    struct orient_runs runs;
    struct mesh mesh;
    struct gate *gate;  // lines of --gate, owned; NULL: none
    bool advised;       // a message has named what makes frames faster
};

/* What a line of --gate says about its frame. */
struct gate_line {
    double fluence;       // factor on the fluence
    bool moves, rotates;  // the line has a place, and an angle
    double at_m[2];       // place on the sample holder that the beam meets
    double phi_deg;       // angle at which the frame begins
    double along_m;       // how far the sample is moved towards the detector
};

/* Fills in *r for frame r->id. *turned contains the rotation and the mosaic spread of the
 * lattices.  `line` is the line of --gate for this frame, or NULL. Call orient_runs_begin first.
 * The result depends only on *o, *turned, the id and the line. */
enum status orient_recipe(const struct orient *o, const struct orientation_request *turned,
                          const struct gate_line *line, struct recipe *r, struct error *e);

/* --- sampling of the spots (orient_sampling.c) ------------------------------------------------ */

/* Chooses the numbers of steps, domains and wavelengths that were not given, and raises the
 * oversampling of *x with --steps=auto, for the detector as photons find it.  A wide band becomes
 * the beam of *x.  Prints warnings about numbers that are too few or need long.  STATUS_USAGE: too
 * many terms or wavelengths, or a spectrum that does not suit the beam.  STATUS_INPUT: the detector
 * is at an impossible place. */
enum status orient_check_detector(struct orient *o, struct experiment *x, struct error *e);

/* Writes the option that makes frames faster, and what the option changes, to `text`. */
void orient_propose_faster(const struct orient_options *o, const struct experiment *x,
                           char text[OUTLOOK_FASTER_SIZE]);

/* --- quantities of whole frames that vary (orient_vary.c) ------------------------------------ */

/* Return true if a quantity moves the detector, or is an amount of matter. */
bool orient_vary_moves(const struct orient_options *o);
bool orient_vary_matter(const struct orient_options *o);

/* Checks that quantities of frames agree with other options.  STATUS_USAGE: they do not. */
enum status orient_vary_check(const struct orient_options *o, struct error *e);

/* Checks that their limits suit the experiment.  STATUS_USAGE: the beam has particles for which
 * there is no table of this matter.  STATUS_INPUT: an energy is refused by orient_check_energy, or
 * a distance puts a panel in front of the sample. */
enum status orient_vary_begin(const struct orient *o, const struct experiment *x, struct error *e);

/* Adds the place of the detector in frame `id` to *shift, its fluence and its energy to *pulse. */
void orient_vary_shift(const struct orient *o, uint64_t id, struct shift *shift);
void orient_vary_pulse(const struct orient *o, uint64_t id, struct pulse *pulse);

/* Sets the amounts of matter of frame r->id. */
void orient_vary_recipe(const struct orient *o, struct recipe *r);

/* Returns the rms angle between the first lattice of frame `id` and the others.  NaN: orientations
 * do not depend on the first one. */
double orient_vary_apart_rad(const struct orient *o, uint64_t id);

/* Turns a rotation about a random axis by a normal angle of rms apart_rad, a pure function of the
 * arguments. */
void orient_turn_apart(double apart_rad, uint64_t seed, uint64_t id, uint32_t index,
                       double rotation[9]);

/* Moves the view *x of the experiment to the smallest distance and the largest energy of all
 * frames, where spots need the finest subpixels.  Returns false if these do not vary. */
bool orient_vary_extreme(const struct orient *o, struct experiment *x);

/* --- exposures that are known only when a frame begins (orient_gate.c) --------------------- */

/* Opens the file of --gate, to which another program appends one line per frame.  The caller passes
 * *gate to gate_close.  STATUS_FAILED: the file cannot be opened. */
enum status gate_open(struct gate **gate, const char *path, struct error *e);

/* Waits until the file has the line of frame `id`, and stores it.  `holder`: there is a sample
 * holder, so that the line can have another place than 0 0.  `along`: the sample can move along the
 * beam (--gate-z).  STATUS_INPUT, with FILE:LINE: the line is malformed, or a number is out of
 * range.  STATUS_FAILED: the file cannot be read.  After gate_cancel, returns STATUS_FAILED with *e
 * unchanged. */
enum status gate_await(struct gate *gate, uint64_t id, bool holder, bool along,
                       struct gate_line *line, struct error *e);

/* Ends gate_await of another thread.  gate NULL: no effect. */
void gate_cancel(struct gate *gate);

/* Closes the file and frees *gate.  gate NULL: no effect. */
void gate_close(struct gate *gate);

#endif
