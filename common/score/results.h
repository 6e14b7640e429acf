/* Reads the results of an analysis frame by frame, in any of the supported formats, and watches a
 * folder for new result files. */
#ifndef BRAGG_SCORE_RESULTS_H
#define BRAGG_SCORE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "score/answer.h"
#include "score/crystfel_stream.h"
#include "score/dials_files.h"
#include "score/lines.h"
#include "score/peak_table.h"

enum results_kind { RESULTS_STREAM, RESULTS_DIALS, RESULTS_PEAKS };

/* The files of a result: `path` and, for a table of DIALS, its experiment list `expt`.  Both are
 * borrowed.  `made` is the one of both that results_pair allocated, or NULL. */
struct results_files {
    const char *path, *expt;
    char *made;
    enum dials_level level;     // set by results_join; DIALS_INTEGRATED if it opened no table
    struct dials_files *found;  // owned: the table, if results_join opened it
};

/* Groups `npaths` file names into results.  A table (.refl) goes with the list (.expt) of the same
 * name or, if there is none, with the last list named before it.  A list alone goes with the table
 * of the same name.
 *
 * Fills files[npaths + 1] and sets *count to the number of results.  The caller must call
 * results_unpair, also after an error.  STATUS_INPUT: a table or a list has no partner. */
enum status results_pair(const char *const paths[], size_t npaths, struct results_files files[],
                         size_t *count, struct error *e);
void results_unpair(struct results_files files[], size_t count);

/* Prepares tables of DIALS of several levels, such as strong.refl and integrated.refl.  Tables of a
 * frame are one answer: its spots are those of the table of the lowest level, and its lattices
 * and intensities those of the highest.
 *
 * Sets .level of all files.  Opens the tables below the highest level, which stay in memory.  The
 * caller reads results in descending order of levels, and calls results_take_found for each answer.
 *
 * STATUS_INPUT: a table cannot be read, or tables have different detectors. */
enum status results_join(struct results_files files[], size_t count, struct error *e);

struct results {
    const char *path;
    enum results_kind kind;
    enum dials_level level;  // see struct results_files
    struct crystfel_stream stream;
    struct dials_files dials, *table;  // table: &dials, or the `found` of the files
    struct peak_table peaks;
};

/* Opens the files of a result.  `follow`: see lines.h.  The caller must call results_close, also
 * after an error.  STATUS_INPUT: a file is not a result. */
enum status results_open(struct results *r, const struct results_files *files,
                         const struct follow *follow, struct error *e);

/* Reads the answer to the next frame into *a.  Sets *more to false at the end. */
enum status results_next(struct results *r, struct answer *a, bool *more, struct error *e);

/* Replaces the spots of an answer that results_next read from *r by those of the lowest table below
 * the level of *r that contains the frame.  All such tables then skip the frame. */
enum status results_take_found(const struct results_files files[], size_t count,
                               const struct results *r, struct answer *a, struct error *e);

/* Returns the panels of the detector model of the analysis, in the coordinate system of the beam,
 * and sets *count.  Valid after the first answer.  Returns NULL if the results contain no detector.
 */
const struct geom_panel *results_panels(const struct results *r, size_t *count);

/* Returns true if the result is of a rotation series as a whole. */
bool results_of_rotation(const struct results *r);

void results_close(struct results *r);

/* --- a folder of results ---------------------------------------------------------------- */

/* A result file.  A table of DIALS and its list are one item. */
struct results_folder_file {
    char *path, *expt;  // owned; expt: NULL if the file is not a table of DIALS
    uint64_t stamp;     // hash of file sizes and modification times; 0: a file, such as the list,
                        // is missing
    uint64_t since_ns;  // when `stamp` was first seen
    bool taken;
};

struct results_folder {
    const char *path;                   // borrowed
    const struct follow *follow;        // borrowed; NULL: all files are complete
    struct results_folder_file *files;  // owned: sorted by name
    size_t count, room;
    uint64_t looked_ns;   // time of the latest scan of the folder; 0: none
    size_t next;          // first file that has not been offered since that scan
    uint64_t changed_ns;  // when a file was last created or changed
    bool ending;          // the wait for more files is over
};

/* Returns true if a path is a folder. */
bool results_folder_is(const char *path);

/* Starts to read a folder.  `follow`: see lines.h.  The caller must call results_folder_close. */
void results_folder_open(struct results_folder *f, const char *path, const struct follow *follow);

/* Finds the next result, in the order of names: .refl with the .expt of the same name, .tsv, .txt
 * and .stream.  If the folder is followed, a file is used once it has not changed for a second.
 * Streams come last, when no other files arrive.
 *
 * Sets *more to false at the end.  *files is valid until results_folder_close.  STATUS_INPUT: the
 * folder has no results, or a table has no list. */
enum status results_folder_next(struct results_folder *f, struct results_files *files, bool *more,
                                struct error *e);

void results_folder_close(struct results_folder *f);

#endif
