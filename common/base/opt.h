/*
 * Parses and checks command-line options, with one table of options per program.
 *
 * The table has the type and the allowed range of each option.  An invalid option gives a
 * message of one line and status 2.  Abbreviated and repeated options are refused.  The text of
 * --help is made from the tables.
 */
#ifndef BRAGG_BASE_OPT_H
#define BRAGG_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/units.h"

enum opt_type {
    OPT_FLAG,    // bool; takes no value
    OPT_INT,     // int64_t within [min, max]
    OPT_REAL,    // double within [min, max]; never NaN or infinite
    OPT_REALS,   // `count` doubles, comma separated, each within [min, max]
    OPT_INTS,    // `count` int64_t, comma separated, each within [min, max]
    OPT_TEXT,    // const char *; must not be empty
    OPT_CHOICE,  // int: index into `choices`
    OPT_TEXTS,   // struct opt_texts; the only type that may be repeated
    OPT_GROUP,   // a heading of the rows below it in --help; only `doc` is used
    OPT_MARKS,   // ends the table; `offset` is the offset of a struct opt_marks
};

enum { OPT_TEXTS_MAX = 64, OPT_REALS_MAX = 8 };

/* Values of an option that may be repeated, in the order in which they were given. */
struct opt_texts {
    size_t count;
    const char *text[OPT_TEXTS_MAX];
};

enum {
    OPT_BYTES = 1,         // the value changes the bytes of the output; it is in the lineage
    OPT_REQUIRED = 2,      // the option must be given
    OPT_OPEN_MIN = 4,      // min itself is not allowed ("greater than")
    OPT_CONTENT = 8,       // names something whose content is in the output, such as a file
    OPT_WHOLE = 16,        // OPT_REALS: only whole numbers
    OPT_INPUT = 32,        // OPT_TEXT that names a file to be read: the value is its input_path
    OPT_ONE_FOR_ALL = 64,  // OPT_REALS, OPT_INTS: a single number sets all elements
    OPT_KEYS = 128,        // OPT_TEXTS: the rows below are also keys inside each value, and are
                           // checked for each value
    OPT_WHEN_SET = 512,    // OPT_BYTES: in the lineage only if the option is given
    OPT_RIGHT_ANGLES =
        1024,        // OPT_REALS: a unit cell; three numbers are its edges, and the angles are 90
    OPT_BARE = 256,  // --NAME without a value means the default; a value needs an =
};

/* One bit per row of a table, which is set if the option was given.  The marks are a member of
 * the program's options struct; OPT_END, the last row of the table, names that member. */
struct opt_marks {
    uint64_t bits[3];
};
#define OPT_END(options, member)                               \
    {                                                          \
        .type = OPT_MARKS, .offset = offsetof(options, member) \
    }

/* One option: a row of an option table. */
struct opt {
    const char *name;     // long option, full words: "distance"
    const char *metavar;  // unit or shape of the value: "MM", "X,Y,Z"
    const char *doc;      // one sentence for --help; a default in words ends it: "(all)"
    enum opt_type type;
    size_t offset;        // offset of the value in the program's options struct
    double min, max;      // inclusive limits of numbers, in the unit that is typed
    int count;            // OPT_REALS, OPT_INTS: number of elements, at most OPT_REALS_MAX
    const char *choices;  // OPT_CHOICE: "reference|cpu"
    unsigned flags;
    const char *unit;  // unit of numbers, if `metavar` does not begin with it: "mm"
    enum si si;        // converts the typed value to SI units; the lineage converts it back
    bool always;  // OPT_BYTES: giving the default is the same as not giving the option: the lineage
                  // has the value in both cases (with OPT_WHEN_SET in neither), opt_words omits it
    /* Names of other options, separated by blanks.  Names that are joined by | are alternatives:
     * "cell|matrix".  An OPT_CHOICE or OPT_TEXT may have a value: "engine=cuda". */
    const char *excludes, *needs;
    /* The program may choose the value of this option if none of these options is given, and then
     * calls opt_mark: opt_add_chosen lists the value.  NULL: it does not. */
    const char *chosen_without;
    bool first;  // --help lists it in the first group, "Most used options", instead of its own
    /* Default value, as a user would type it.  --help shows it after `doc`, unless `doc` ends in
     * parentheses.  NULL: 0, off, no text, or the first of `choices`.  "": NaN, or -1 for whole
     * numbers and choices. */
    const char *usual;
};

/* A program, apart from its options: its name, operands and texts of --help. */
struct opt_program {
    const char *name;      // "bragg-orient"
    const char *summary;   // one line for --help
    const char *operands;  // operands after [OPTION...], such as "TEMPLATE"; NULL: none
    int min_operands, max_operands;
    const char *details;   // text after the options; NULL: none
    const char *examples;  // last lines of --help; NULL: none
    /* If true, options that are not given keep the value that they have, instead of getting
     * their default, and `excludes` and `needs` are not checked: the caller calls opt_check
     * later. */
    bool partial;
    bool sets_stages;  // the program has --set=STAGE.OPTION=VALUE for options of other programs
};

/* Converts the text that was typed for an option, and stores the value in `options`.
 * STATUS_USAGE: the text is invalid; the error names the option and says what is wrong and what
 * is allowed. */
enum status opt_store(const struct opt *o, void *options, const char *text, struct error *e);

/* Sets the options that have a `usual` value to that value.  Other options stay unchanged.
 * STATUS_USAGE: a `usual` value is not allowed for its option. */
enum status opt_defaults(const struct opt *table, void *options, struct error *e);

/* Sets the defaults and parses argv with one or two tables.  Each table ends with an entry whose
 * name and doc are NULL.  Values of the first table are stored in `options`, and values of the
 * second table in `more`; both structs must be all 0 before, and both may be NULL.  Operands are
 * stored in operands[0..*noperands-1], at most `max_operands`.  --help and --version print to
 * stdout and end the program with status 0.  STATUS_USAGE: argv is invalid. */
enum status opt_parse(const struct opt_program *program, const struct opt *table, void *options,
                      const struct opt *more_table, void *more, int argc, char **argv,
                      const char **operands, int *noperands, struct error *e);

/* Writes the text of --help to `out`: usage, summary, options, details, examples.  The first group
 * has the options of `table` that are marked `first`; all other options follow in the order of the
 * rows, each group under its heading.  Lines have at most 79 columns.  `more_table` may be NULL. */
void opt_help(FILE *out, const struct opt_program *program, const struct opt *table,
              const struct opt *more_table);

/* Returns true if an option was given.  In a table without opt_marks, returns true if its value
 * is not 0, off or an empty text. */
bool opt_is_given(const struct opt *o, const void *options);

/* Returns true if any of the options `names` was given.  `names` has the form of `excludes`:
 * "cell|matrix". */
bool opt_given(const struct opt *table, const void *options, const char *names);

/* Sets the bit of an option in opt_marks to `given`.  Does nothing if the table has no
 * opt_marks. */
void opt_mark(const struct opt *o, void *options, bool given);

/* Checks `excludes` and `needs` of the given options, for `rows` of the table up to one with
 * OPT_KEYS.  The value of a needed option must not be 0.  STATUS_USAGE names the first two options
 * that exclude each other, or else the first option that needs another one that is missing. */
enum status opt_check(const struct opt *table, const struct opt *rows, const void *options,
                      struct error *e);

/* Checks `excludes` for a single option `name`, which was given.  STATUS_USAGE: an option that
 * it excludes was also given. */
enum status opt_exclude(const struct opt *table, const void *options, const char *name,
                        const char *excludes, struct error *e);

/* Returns the option whose name is the first `length` bytes of `name`; NULL: there is none. */
const struct opt *opt_find(const struct opt *table, const char *name, size_t length);

/* Returns the last row of the table that contains the option *o. */
const struct opt *opt_end(const struct opt *o);

/* Writes the lines "name=value\n" of all OPT_BYTES options for the lineage to text[size], in the
 * order of the table and in the units that are typed.  An option that was not given has no value
 * (see opt_marks).  Returns the length of the whole text, which is cut off if it does not fit. */
size_t opt_lineage(const struct opt *table, const void *options, char *text, size_t size);

/* Writes the options that were given and on which frames depend to text[size], as words for
 * words_split, in the order of the table.  The words give the same options again.  Returns false
 * if there is no room. */
bool opt_words(const struct opt *table, const void *options, char *text, size_t size);

/* Adds the options that the program has marked as given because it chose their values, see
 * `chosen_without`, to text[size].  The text contains words of opt_words; all words are then in the
 * order of the table.  Returns false, and does not change the text, if the words do not fit or if
 * memory runs out. */
bool opt_add_chosen(const struct opt *table, const void *options, char *text, size_t size);

/* Checks that the options in argv are only those on which frames depend, or those named in
 * `also` (names separated by blanks).  STATUS_USAGE: another option is given. */
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
