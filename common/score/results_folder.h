/* The files of a folder into which an analysis writes what it finds, one after the other. */
#ifndef BRAGG_SCORE_RESULTS_FOLDER_H
#define BRAGG_SCORE_RESULTS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "score/lines.h"
#include "score/results.h"

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
