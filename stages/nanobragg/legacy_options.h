/*
 * Command lines of the nanoBragg family: single-dash flags that take a fixed
 * or a variable number of values, repeat freely and act in the order in which
 * they stand.  One table per program.  Names match exactly.
 *
 *     struct legacy_args args = legacy_args(table, argc, argv);
 *     struct legacy_option o;
 *     while (!(status = legacy_next(&args, &o, e)) && o.id)
 *         switch (o.id) { ... }
 *     legacy_warn(&args);
 *
 * Arguments that begin with "--" are skipped here; legacy_split collects them
 * for opt_parse.
 */
#ifndef BRAGG_STAGES_LEGACY_OPTIONS_H
#define BRAGG_STAGES_LEGACY_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"

enum legacy_type { LEGACY_NONE, LEGACY_REAL, LEGACY_INT, LEGACY_TEXT };

enum { LEGACY_VALUES_MAX = 6, LEGACY_NO_EFFECT = -1 };

struct legacy_flag {
    const char *name;       // "-distance"; "-wave*" also takes every longer spelling
    int id;                 // > 0, the program's own; or LEGACY_NO_EFFECT
    enum legacy_type type;  // of all its values
    int min, max;           // how many values; those above min only while they are numbers
};

/* One flag as given. */
struct legacy_option {
    int id;            // 0: no more flags
    const char *name;  // as typed
    int count;         // values that follow
    const char *text[LEGACY_VALUES_MAX];
    double real[LEGACY_VALUES_MAX];      // LEGACY_REAL, finite
    int64_t integer[LEGACY_VALUES_MAX];  // LEGACY_INT
};

/* Besides the units of enum si: whole numbers that are typed as reals, and seeds that the
 * originals keep negated. */
enum { SI_WHOLE = 100, SI_NEGATED };

/* Where the values of a flag go. */
struct legacy_target {
    enum legacy_type type;
    int unit;       // enum si, or the above
    size_t offset;  // in the program's own struct: a bool, doubles, int64_t or const char *
};

struct legacy_args {
    const struct legacy_flag *table;  // ended by a row without a name
    int argc;
    char **argv;
    int next;
    char idle[256];  // flags met that have no effect
};

struct legacy_args legacy_args(const struct legacy_flag *table, int argc, char **argv);

/* The next flag that has an effect, or id 0 at the end.  Unknown flags, stray
 * arguments, missing values and values that are no number: STATUS_USAGE. */
enum status legacy_next(struct legacy_args *args, struct legacy_option *o, struct error *e);

/* Stores what was typed, of LEGACY_NONE true, where *t says in `options`. */
void legacy_store(const struct legacy_target *t, const struct legacy_option *o, void *options);

/* One warning that names the flags without effect; nothing if there were none. */
void legacy_warn(const struct legacy_args *args);

/* Copies argv[0] and all arguments that begin with "--" into `gnu` (argc + 1
 * items, ended by NULL); returns how many. */
int legacy_split(int argc, char **argv, char **gnu);

/* The main of programs whose only arguments with "--" are --help and --version: answers
 * those and exits, refuses all others, and calls `run`.  Returns the exit status. */
int legacy_main(const struct opt_program *program,
                enum status (*run)(int argc, char **argv, struct error *e), int argc, char **argv);

#endif
