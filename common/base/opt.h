/*
 * Typed, range-checked command-line options: one table per program.  Bad options give one line
 * and status 2; abbreviated and repeated options are refused.  glibc's argp writes the help.
 */
#ifndef BRAGG_BASE_OPT_H
#define BRAGG_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"

enum opt_type {
    OPT_FLAG,    // bool; takes no value
    OPT_INT,     // int64_t within [min, max]
    OPT_REAL,    // double within [min, max]; never NaN or infinite
    OPT_REALS,   // `count` doubles, comma separated, each within [min, max]
    OPT_INTS,    // the same of whole numbers: int64_t
    OPT_TEXT,    // const char *; must not be empty
    OPT_CHOICE,  // int: index into `choices`
    OPT_TEXTS,   // struct opt_texts; the one type that may be repeated
    OPT_GROUP,   // a heading in --help; only `doc` is used
    OPT_MARKS,   // ends the table; `offset` is that of a struct opt_marks
};

enum { OPT_TEXTS_MAX = 64, OPT_REALS_MAX = 8 };

struct opt_texts {
    size_t count;
    const char *text[OPT_TEXTS_MAX];
};

enum {
    OPT_BYTES = 1,         // a change of this option changes the bytes of the output (lineage)
    OPT_REQUIRED = 2,      // refused when missing
    OPT_OPEN_MIN = 4,      // min itself is not allowed ("greater than")
    OPT_CONTENT = 8,       // names something whose content is in the output, such as a file
    OPT_WHOLE = 16,        // OPT_REALS: only whole numbers
    OPT_INPUT = 32,        // OPT_TEXT that names a file to be read: the value is its input_path
    OPT_ONE_FOR_ALL = 64,  // OPT_REALS, OPT_INTS: a single number stands for all
    OPT_KEYS = 128,  // OPT_TEXTS: the rows after it are keys of its values, too, and are checked
                     // with each value
    OPT_WHEN_SET = 512,  // OPT_BYTES: in the lineage only when it is given
    OPT_BARE = 256,      // --NAME alone stands for the default; a value follows an =
};

/* One bit per row of a table: whether the option was given.  It is a member of the program's
 * options struct; OPT_END, the last row of the table, names the member. */
struct opt_marks {
    uint64_t bits[3];
};
#define OPT_END(options, member)                               \
    {                                                          \
        .type = OPT_MARKS, .offset = offsetof(options, member) \
    }

struct opt {
    const char *name;     // long option, full words: "distance"
    const char *metavar;  // unit or shape of the value: "MM", "X,Y,Z"
    const char *doc;      // one sentence for --help; a default in words ends it: "(all)"
    enum opt_type type;
    size_t offset;        // of the value in the program's options struct
    double min, max;      // inclusive limits of numbers, in the unit that is typed
    int count;            // OPT_REALS, OPT_INTS: how many, OPT_REALS_MAX at most
    const char *choices;  // OPT_CHOICE: "reference|cpu"
    unsigned flags;
    const char *unit;  // of numbers, where `metavar` does not begin with it: "mm"
    enum si si;        // converts the value to the unit of its place; the lineage converts it back
    bool always;  // OPT_BYTES: typing the default is the same as not typing it: the lineage has it
                  // either way (never with OPT_WHEN_SET), and opt_words never
    /* Names of other options, separated by blanks; a|b where any of them counts: "cell|matrix".  An
     * OPT_CHOICE or OPT_TEXT may stand with a value: "engine=cuda". */
    const char *excludes, *needs;
    /* The default, as it would be typed; --help shows it after `doc`, unless `doc` ends in
     * brackets. NULL: 0, off, nothing, the first of `choices`; "": NaN, or -1 for whole numbers and
     * choices. */
    const char *usual;
};

/* A program, besides its options. */
struct opt_program {
    const char *name;      // "bragg-orient"
    const char *summary;   // one line for --help
    const char *operands;  // shown after [OPTION...], e.g. "TEMPLATE"; NULL for none
    int min_operands, max_operands;
    const char *details;   // shown after the options; NULL for none
    const char *examples;  // lines that end --help; NULL for none
    /* Options that are not given keep the value that they have, instead of their default, and
     * `excludes` and `needs` are left to a later call of opt_check. */
    bool partial;
};

/* Stores what was typed at the place of an option.  STATUS_USAGE names the option, says what is
 * wrong and what is allowed. */
enum status opt_store(const struct opt *o, void *options, const char *text, struct error *e);

/* Sets the options that have a `usual` value to it; the others stay.  Errors: STATUS_USAGE for a
 * value that its own option refuses. */
enum status opt_defaults(const struct opt *table, void *options, struct error *e);

/* Sets the defaults in `options`, otherwise all 0, and parses argv into it by one
 * or two tables, each ended by an entry whose name and doc are NULL.  Values
 * of the first table go into `options`, of the second into `more` (both may be
 * NULL).  --help and --version print to stdout and exit 0.  Operands go to
 * operands[0..*noperands-1], at most `max_operands`.  Errors: STATUS_USAGE. */
enum status opt_parse(const struct opt_program *program, const struct opt *table, void *options,
                      const struct opt *more_table, void *more, int argc, char **argv,
                      const char **operands, int *noperands, struct error *e);

/* Whether an option was given.  In a table without opt_marks: whether its value is not 0, off or
 * nothing. */
bool opt_is_given(const struct opt *o, const void *options);

/* Whether any of `names` was given, which are as in `excludes`: "cell|matrix". */
bool opt_given(const struct opt *table, const void *options, const char *names);

/* Sets the bit of an option in opt_marks, where the table has them. */
void opt_mark(const struct opt *o, void *options, bool given);

/* Checks `excludes` and `needs` of the given options, for `rows` of the table up to one with
 * OPT_KEYS.  The value of a needed option must not be 0.  STATUS_USAGE names the first two options
 * that exclude each other, or else the first option that needs another one that is missing. */
enum status opt_check(const struct opt *table, const struct opt *rows, const void *options,
                      struct error *e);

/* The same check for a single option `name`, with these `excludes`. */
enum status opt_exclude(const struct opt *table, const void *options, const char *name,
                        const char *excludes, struct error *e);

/* Returns the option whose name is the first `length` bytes of `name`; NULL: there is none. */
const struct opt *opt_find(const struct opt *table, const char *name, size_t length);

/* Returns the last row of the table of an option. */
const struct opt *opt_end(const struct opt *o);

/* Writes the lines "name=value\n" of all OPT_BYTES options for the lineage, in the order of the
 * table and in the units that are typed.  An option that was not given has no value (see
 * opt_marks).  Cuts off at `size`; returns the length that was needed. */
size_t opt_lineage(const struct opt *table, const void *options, char *text, size_t size);

/* Returns whether frames depend on an option: OPT_BYTES or OPT_CONTENT. */
bool opt_matters(const struct opt *o);

/* Writes the options that frames depend on and that were given into `text`, for words_split: as
 * words that give them again, in the order of the table.  False when there is no room. */
bool opt_words(const struct opt *table, const void *options, char *text, size_t size);

/* STATUS_USAGE when an option is given on which frames do not depend and that is not named in
 * `also` (names separated by blanks). */
enum status opt_restrict(const struct opt *table, const char *also, int argc, char *const *argv,
                         struct error *e);

/* Parsers of numbers that do not come from options.  The whole text must be one finite number
 * within [min, max].  `what` names the number in the error, e.g. "--distance".  A whole number with
 * min >= 0 must not have a sign. */
enum status parse_real(const char *text, double min, double max, const char *what, double *value,
                       struct error *e);
enum status parse_int(const char *text, int64_t min, int64_t max, const char *what, int64_t *value,
                      struct error *e);

/* Parses 1 to `most` numbers within [min, max], separated by commas; *count is their number.  With
 * `unit`, such as "A", a number may have a unit of the same kind and is converted; NULL: none. */
enum status parse_list(const char *text, int most, double min, double max, const char *unit,
                       const char *what, double *values, int *count, struct error *e);

#endif
