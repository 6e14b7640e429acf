/* The common code of the programs of the nanoBragg family: command lines and files. */
#ifndef BRAGG_STAGES_NANOBRAGG_LEGACY_H
#define BRAGG_STAGES_NANOBRAGG_LEGACY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "io/images/smv.h"
#include "model/experiment.h"
#include "physics/noise/ran1.h"

/* The output files of nanoBragg and nonBragg, and their scales. */
struct legacy_files {
    const char *float_path, *int_path, *pgm_path, *noise_path;  // NULL: not written
    double scale, pgm_scale;  // scale of the ideal image and of the preview; <= 0: automatic
    double adc;               // ADU of a pixel without photons
    long seed;                // seed of the noise: the seed of the user, negated
};

/* Writes the four files, then prints one line of statistics of the float image to stdout. This
 * is the last step of nanoBragg and nonBragg. The image has one panel of fast_pixels *
 * slow_pixels floats. `random` is the generator of the whole run: the numbers for the misset and
 * for the mosaic domains have already been drawn from it. */
enum status legacy_files_write(const struct legacy_files *files, const struct panel *p,
                               const float *pixels, const struct header_text *header,
                               struct ran1 *random, struct error *e);

/*
 * Parses command lines of the nanoBragg family.  Flags have a single dash and a fixed or variable
 * number of values.  They may be repeated, and act in the order in which they are given.  Each
 * program has a table of its flags.  Names match exactly.
 *
 *     struct legacy_args args = legacy_args(table, argc, argv);
 *     struct legacy_option o;
 *     while (!(status = legacy_next(&args, &o, e)) && o.id)
 *         switch (o.id) { ... }
 *     legacy_warn(&args);
 *
 * Arguments that begin with "--" are skipped here; legacy_split collects them for opt_parse.
 */

enum legacy_type { LEGACY_NONE, LEGACY_REAL, LEGACY_INT, LEGACY_TEXT };

enum { LEGACY_VALUES_MAX = 6, LEGACY_NO_EFFECT = -1 };

struct legacy_flag {
    const char *name;       // "-distance"; "-wave*" also takes every longer spelling
    int id;                 // number > 0 that the program chooses, or LEGACY_NO_EFFECT
    enum legacy_type type;  // type of all its values
    int min, max;           // number of values.  Values beyond min are read only while they are
                            // numbers
};

/* The number of values of a flag that stores one: 0 for LEGACY_NONE. */
#define LEGACY_ONE(type) (LEGACY_##type != LEGACY_NONE)

/* One flag of the command line, with its values. */
struct legacy_option {
    int id;            // 0: no more flags
    const char *name;  // as typed
    int count;         // number of values that follow
    const char *text[LEGACY_VALUES_MAX];
    double real[LEGACY_VALUES_MAX];      // LEGACY_REAL, finite
    int64_t integer[LEGACY_VALUES_MAX];  // LEGACY_INT
};

/* Units in addition to those of enum si. SI_WHOLE: whole numbers that are typed as reals.
 * SI_NEGATED: seeds, which the original programs store negated. */
enum { SI_WHOLE = 100, SI_NEGATED };

/* The place in the options struct where the values of a flag are stored. */
struct legacy_target {
    enum legacy_type type;
    int unit;       // enum si, SI_WHOLE or SI_NEGATED
    size_t offset;  // offset in the options struct of the program: of a bool, doubles, int64_t or
                    // const char *
};

struct legacy_args {
    const struct legacy_flag *table;  // ends with a row without a name
    int argc;
    char **argv;
    int next;
    char idle[256];  // names of the flags without effect so far
};

struct legacy_args legacy_args(const struct legacy_flag *table, int argc, char **argv);

/* Reads the next flag that has an effect. o->id is 0 at the end.  STATUS_USAGE: an unknown flag, an
 * argument without a flag, a missing value, or a value that is not a number. */
enum status legacy_next(struct legacy_args *args, struct legacy_option *o, struct error *e);

/* Stores the values of a flag in `options` at the place *t. For LEGACY_NONE, stores true. */
void legacy_store(const struct legacy_target *t, const struct legacy_option *o, void *options);

/* Prints one warning with the names of flags without effect, if there were any. */
void legacy_warn(const struct legacy_args *args);

/* Copies argv[0] and all arguments that begin with "--" to `gnu`, which has argc + 1 items and ends
 * with NULL.  Returns their number. */
int legacy_split(int argc, char **argv, char **gnu);

/* The main function of programs whose only arguments with "--" are --help and --version.  Answers
 * these and exits, rejects all others, and calls `run`.  Returns the exit status. */
int legacy_main(const struct opt_program *program,
                enum status (*run)(int argc, char **argv, struct error *e), int argc, char **argv);

#endif
