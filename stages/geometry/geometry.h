/* Options of bragg-geometry, and the functions that make the detector, the crystals and the
 * structure factors from the options. */
#ifndef BRAGG_STAGES_GEOMETRY_GEOMETRY_H
#define BRAGG_STAGES_GEOMETRY_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "io/crystfel/geom.h"
#include "model/experiment.h"
#include "physics/detector/detector.h"
#include "physics/request.h"

struct geometry_options {
    struct request request;          // without its crystals, which `crystals` describes
    struct crystal_request crystal;  // the one crystal, or the defaults of all crystals
    struct opt_marks given;          // options that were given
    const char *detector, *geom, *expt, *write_geom, *mask, *source_file;
    struct opt_texts misalign;  // values of --misalign
    int64_t misalign_seed;
    const char *true_geom, *misalign_truth;
    bool overwrite;
    int shape;                        // index of --shape: an enum crystal_shape, or star
    int panels;                       // index of --panels: 0 is image, 1 is modules
    int sensor;                       // index of --sensor: 0 is auto, 1 is layers, 2 is smear
    int64_t cut[2];                   // number of panels along fast and slow
    struct steps_request divergence;  // --divergence: horizontal and vertical
    struct opt_texts crystals;        // values of --crystal
    double cell[6];                   // edges in A, angles in degrees
    const char *name, *matrix, *hkl, *mtz, *column, *spacegroup, *model, *sites, *fprime, *light;
    double light_occupancy;
    double wilson_B_A2, wilson_atoms;  // atoms: used only if it was given
    int64_t wilson_seed;
    double polarization_fraction;  // fraction of photons along the E vector, 0 to 1; used only if
                                   // it was given
    bool anomalous, diffuse_damp;
};

extern const struct opt geometry_table[];

/* Returns true if one of the options `names` was given; see opt_given. */
bool geometry_given(const struct geometry_options *o, const char *names);

/* Options that are errors if a file or a built-in detector sets the position of the panels; for
 * struct opt.excludes. */
#define GEOMETRY_PLACED                                                          \
    "detpixels|detsize pixel close-distance beam-center close-center orgx|orgy " \
    "fast-axis|slow-axis|normal pivot rotate|twotheta curved roi mask"

/* The panels of the detector, as --detector, --geom, --expt and --cut describe them. */
struct geometry_panels {
    struct geom file;                     // owned; --geom, for the groups of --misalign; else empty
    const struct preset_detector *named;  // built-in detector, likewise; NULL: none
    struct place *places;                 // owned, with their masks
    int64_t (*first)[2];   // owned: the first pixel of each panel in the array of the file, or 0, 0
    struct layout layout;  // how each panel is cut after it was made
    double saturation;     // photons at which a pixel saturates; 0: not known
    bool counts;           // the detector counts photons
};

/* Applies --detector, --geom, --expt and --cut to *r, which geometry_request has filled, and reads
 * their files.  The caller frees *p with geometry_panels_free, also after an error, and before
 * r->detector.mask, which moves to the experiment.  STATUS_USAGE: options contradict each other. */
enum status geometry_panels(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e);

struct expt;

/* Compares the list of --expt, which is in *x, with its first image, if this image exists. Warns if
 * wavelengths or rotations differ. Distance and detector angles are not compared, because DIALS
 * refines them. STATUS_INPUT: the numbers or sizes of pixels differ. */
enum status geometry_compare_image(const struct geometry_options *o, const struct expt *x,
                                   struct error *e);
void geometry_panels_free(struct geometry_panels *p, size_t nplaces);

/* Fills *r except r->crystals.  The option table has checked the options before.  The caller reads
 * the files of --mask and --source-file.  STATUS_USAGE: an axis with another convention than
 * custom, or an empty region of interest. */
enum status geometry_request(const struct geometry_options *o, struct request *r, struct error *e);

/* The options of one crystal: those of its --crystal, and for all others the common options of
 * all crystals. Texts of its --crystal point into `words`, so the struct must not be copied or
 * moved. */
struct crystal_options {
    struct geometry_options options;
    char words[8192];
};

/* Allocates *list with one item per --crystal, or with one item if there is none; *count is their
 * number.  The caller frees *list with mem_free.  STATUS_USAGE: a bad key or value. */
enum status geometry_crystals(const struct geometry_options *o, struct crystal_options **list,
                              size_t *count, struct error *e);

/* Fills *c from the options of one crystal.  The caller reads the files (matrix, structure
 * factors). STATUS_USAGE: options contradict each other. */
enum status geometry_crystal(const struct geometry_options *o, struct crystal_request *c,
                             struct error *e);

/* --- detector ------------------------------------------------------------------------ */

/* Moves `count` panels with their masks into p->places, and sets the fields of *r that follow from
 * them. */
void geometry_take_panels(struct geom_panel *panels, size_t count, struct request *r,
                          struct geometry_panels *p);

/* Sets the wavelength of the file `path`, unless an option gives it.  If the file has none
 * (wavelength_m 0), the default is kept and a warning is printed. */
void geometry_take_wavelength(const struct geometry_options *o, const char *path,
                              double wavelength_m, struct request *r);

/* Sets the sensor to silicon of the thickness in the file, unless --thickness replaces it.  If the
 * file names another material, prints a warning: its absorption is not known, so the sensor is
 * not simulated. */
void geometry_take_sensor(const struct geometry_options *o, double thickness_m,
                          const char *material, struct request *r);

/* Returns true if `path` is a regular file and an image with a header (SMV, CBF). */
bool geometry_is_image(const char *path);

struct image_header;

/* STATUS_INPUT: the arm of the detector is turned, and the header does not have the axis about
 * which it turns.  The error ends with `hint`. */
enum status geometry_image_axis(const char *path, const struct image_header *h, const char *hint,
                                struct error *e);

/* Sets *panel to the one that the header *h of the image `path` describes: where its axes place
 * it, or across the beam, with rows along the fast axis.  Pixels below 0, which are gaps and
 * defective pixels in CBF, are masked. The caller frees panel->mask with mem_free, also after an
 * error. */
enum status geometry_image_panel(const char *path, const struct image_header *h,
                                 struct geom_panel *panel, struct error *e);

/* Takes the detector, its position and the wavelength from the header of the image o->detector.
 * Pixels below 0 are masked.  If there are none, the gaps of the built-in detector of this size
 * are. STATUS_INPUT: the header does not have the pixel size, the distance or the beam position;
 * the detector arm is turned; or modules are asked for and not known. */
enum status geometry_image_detector(const struct geometry_options *o, struct request *r,
                                    struct geometry_panels *p, struct error *e);

/* What a file says about its detector. */
struct geometry_file_detector {
    const char *name;  // names of the detector and its panels; "": not in the file
    const char *type;  // as DIALS names it, such as SENSOR_PAD; "": not in the file
    bool scaled;       // pixels have a gain other than 1, or an offset
    int64_t image[2];  // fast, slow pixels of the image that all panels cover
    int64_t panel[2];  // fast, slow pixels of panel 0
    double pixel_m;
};

/* Sets p->counts: whether the detector of the file `path` counts photons.  Prints a warning if a
 * file of DIALS leaves this open. */
void geometry_take_counting(const char *path, const struct geometry_file_detector *file,
                            struct geometry_panels *p);

/* geometry_wants_list returns true if the command line has --detector=list. geometry_list prints
 * the built-in detectors to stdout. STATUS_FAILED: stdout cannot be written to. */
bool geometry_wants_list(int argc, char *const *argv);
enum status geometry_list(struct error *e);

/* --- misaligned panels (geometry_misalign.c) ------------------------------------------- */

/* The places of a misaligned detector. */
struct geometry_places {
    struct experiment nominal;  // of which only the panels are used
    struct panel *drawn;        // owned; true panels before the file of --write-true-geom rounds
                                // them; NULL: the detector is not misaligned
    struct {
        char text[128];  // such as "quadrants:1,modules:5"
    } * groups;          // owned; the groups of each panel
};

/* Checks the values of --misalign, apart from the names of groups.  STATUS_USAGE: a bad word, or
 * the same level twice. */
enum status geometry_misalign_check(const struct geometry_options *o, struct error *e);

/* Does the work of --misalign.  The nominal panels of *x, which are cut, move to places->nominal.
 * *x gets the true panels, which are made again from *r with their places as a geometry file has
 * them, so that frames are those of --geom with this file.  The caller frees *places with
 * geometry_places_free, also after an error. */
enum status geometry_misalign(const struct geometry_options *o, const struct geometry_panels *p,
                              const struct request *r, struct experiment *x,
                              struct geometry_places *places, struct error *e);

/* Moves the panels of *x to x->true_panels.  The nominal panels of *places become those of *x. */
void geometry_end_misalign(struct geometry_places *places, struct experiment *x);

/* Writes the table of --misalign-truth, if it is given. */
enum status geometry_write_misalign(const struct geometry_options *o,
                                    const struct geometry_panels *p,
                                    const struct geometry_places *places,
                                    const struct experiment *x, struct error *e);

void geometry_places_free(struct geometry_places *places);

/* --- electrons and neutrons (geometry_probe.c) ------------------------------------------ */

/* Options that set the wavelength. */
#define GEOMETRY_WAVELENGTH "wavelength|energy|voltage"

/* Limits of the voltage of electrons. */
#define GEOMETRY_LEAST_V 1e4
#define GEOMETRY_MOST_V 5e6

/* Sets the defaults of a beam of r->probe: fluence, voltage, no polarization.  STATUS_USAGE: an
 * option contradicts --probe. */
enum status geometry_set_probe(const struct geometry_options *o, struct request *r,
                               struct error *e);

/* Checks the options of one crystal.  STATUS_USAGE: an option contradicts --probe, or there are no
 * structure factors for the probe. */
enum status geometry_check_factors(const struct geometry_options *o, struct error *e);

/* Compares the particles that the file `path` names with those of the beam.  STATUS_INPUT: they
 * differ. */
enum status geometry_compare_probe(const struct request *r, const char *path, enum probe probe,
                                   struct error *e);

/* Checks the wavelength of electrons.  Removes a sensor of silicon, whose absorption is known for
 * X-rays only, so that all other particles are detected.  STATUS_USAGE: --thickness without
 * --absorption.  STATUS_INPUT: a wavelength that electrons of a microscope do not have. */
enum status geometry_probe_sensor(const struct geometry_options *o, struct request *r,
                                  struct error *e);

/* Converts structure factors in the unit of the probe (A, fm) to equivalent electrons. */
void geometry_scale_factors(const struct experiment *x, struct hkl_table *t);

/* Warns if the crystal is so thick that electrons are scattered several times.  Fails as
 * molecule_read does. */
enum status geometry_warn_thickness(const struct geometry_options *o, const struct experiment *x,
                                    const struct crystal *c, struct error *e);

/* --- crystals; the paths of files are those of the options ------------------------------ */

/* Reads the matrix, the cell and the structure factors of one crystal into *c. Without files,
 * the crystal is the built-in lysozyme. The detector and the beam of *x must be set up. The
 * caller frees c->table with hkl_free, also after an error. */
enum status geometry_read_crystal(const struct geometry_options *o, const struct experiment *x,
                                  struct crystal_request *c, struct error *e);

/* Sets *edge_A and *corner_A to the smallest d spacings, in A, of all panels: in the middle of
 * an edge and in a corner. */
void geometry_resolution(const struct experiment *x, double *edge_A, double *corner_A);

struct symmetry;

/* Makes the table of --wilson for the cell of *c: random F of all reflections to dmin_A that the
 * space group allows.  The caller frees c->table with hkl_free. */
enum status geometry_draw_wilson(const struct geometry_options *o, const struct symmetry *y,
                                 double dmin_A, struct crystal_request *c, struct error *e);

/* Structure factors with phases.  Anomalous scatterers and excited states are added before the
 * phases are dropped.  The files are those of the options of bragg-geometry. */

/* Returns true if these options need structure factors with phases. */
bool geometry_needs_phases(const struct geometry_options *o);

/* Makes the table *t of F(+) and F(-):
 *   - reads amplitudes and phases of --mtz, or computes those of --model to dmin_A;
 *   - adds f' and f'' of the atoms of --sites, or of the model from sodium on, at the energy of the
 *     beam of *x, and prints them with --verbose;
 *   - mixes the result with that of --light;
 *   - expands it by symmetry.
 * The cell is stored in cell_A (edges, A) and cell_rad (angles, rad).  The caller frees *t with
 * hkl_free. */
enum status geometry_read_phases(const struct geometry_options *o, const struct experiment *x,
                                 double dmin_A, struct hkl_table *t, double cell_A[3],
                                 double cell_rad[3], struct error *e);

#endif
