/* What an analysis wrote, in any of the formats that are read, frame by frame. */
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

/* A result: `path`, and for a table of DIALS its experiments.  Both are borrowed, but for the one
 * that `made` is. */
struct results_files {
    const char *path, *expt;
    char *made;
};

/* The files of each result among `npaths` names.  A table (.refl) goes with the list (.expt) of the
 * same name, or else with the last one named before it; a list alone with the table of the same
 * name.  Fills files[npaths + 1], of which *count are used and freed by results_unpair, also after
 * an error.  STATUS_INPUT for tables and lists that are alone. */
enum status results_pair(const char *const paths[], size_t npaths, struct results_files files[],
                         size_t *count, struct error *e);
void results_unpair(struct results_files files[], size_t count);

struct results {
    const char *path;
    enum results_kind kind;
    struct crystfel_stream stream;
    struct dials_files dials;
    struct peak_table peaks;
};

/* STATUS_INPUT for files that are none; results_close frees *r, also after an error.  `follow`: see
 * crystfel_stream_open. */
enum status results_open(struct results *r, const struct results_files *files,
                         const struct follow *follow, struct error *e);

/* Reads what is said about the next frame; *more is false at the end. */
enum status results_next(struct results *r, struct answer *a, bool *more, struct error *e);

/* Panels of the analysis's detector in the frame of the beam, once there was an answer; NULL where
 * it says nothing about it. */
const struct geom_panel *results_panels(const struct results *r, size_t *count);

/* Whether it is of a rotation series as a whole. */
bool results_of_rotation(const struct results *r);

void results_close(struct results *r);

/* --- a folder into which an analysis writes what it finds ------------------------------- */

/* A file; a table of DIALS stands for its list, too. */
struct results_folder_file {
    char *path, *expt;  // owned; expt: NULL for others than tables
    uint64_t stamp;     // of sizes and times; 0: the list is not there
    uint64_t since_ns;  // when the stamp was seen first
    bool taken;
};

struct results_folder {
    const char *path;                   // borrowed
    const struct follow *follow;        // borrowed; NULL: all files are there
    struct results_folder_file *files;  // owned, by their names
    size_t count, room;
    uint64_t looked_ns;   // the last look at all of them, 0: there was none
    size_t next;          // the first one that has not been offered since
    uint64_t changed_ns;  // when a file came, or grew
    bool ending;          // nothing more is waited for
};

/* Whether a path is that of a folder. */
bool results_folder_is(const char *path);

/* `follow`: see lines.h.  Followed by results_folder_close. */
void results_folder_open(struct results_folder *f, const char *path, const struct follow *follow);

/* The next result, in the order of names: .refl with the .expt of the same name, .tsv, .txt and
 * .stream.  A file that may be growing is waited for until it has not changed for a second; streams
 * come last, when nothing else does.  *more is false at the end; *files lasts until
 * results_folder_close. STATUS_INPUT for a folder without results, and for tables without their
 * list. */
enum status results_folder_next(struct results_folder *f, struct results_files *files, bool *more,
                                struct error *e);

void results_folder_close(struct results_folder *f);

#endif
