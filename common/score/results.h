/* Reads the results of an analysis frame by frame, in any of the supported formats, and watches a
 * folder for new result files. */
#ifndef BRAGG_SCORE_RESULTS_H
#define BRAGG_SCORE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"
#include "io/dials/expt.h"
#include "io/dials/refl.h"
#include "io/nxmx/nxmx_rows.h"
#include "score/answer.h"
#include "score/lines.h"

/* --- files of DIALS: an experiment list and a reflection table (dials_files.c) ------------
 *
 * A frame is identified in one of three ways: by the place of its image in a file with several
 * images, by the number in the name of a file with one image, or by the experiment identifier in
 * files that bragg-write made without images.
 */

/* How far the analysis went that wrote a table. */
enum dials_level {
    DIALS_FOUND,      // spots without indices
    DIALS_INDEXED,    // at least one row is of a lattice
    DIALS_INTEGRATED  // at least one row has an integrated intensity
};

/* One statement about an image: an experiment contains it, or a row of the table refers to it. */
struct dials_entry {
    uint64_t image;
    uint32_t experiment;
    uint32_t row;   // row of the table, from 1; 0: the entry is about the experiment
    int32_t place;  // place of the image in its sequence, from 0
};

struct dials_files {
    const char *expt_path, *refl_path;  // borrowed
    struct expt_list list;
    struct refl table;
    struct geom_panel *panels;  // owned: panels of the list, in the coordinate system of the beam
    bool by_place;              // `image` is the place of an image in a file; otherwise it is a
                                // frame number
    bool all_measured;          // intensities are used even without a flag, because the table is an
                                // ground truth
    enum dials_level level;
    bool all_indexed;  // all rows are of lattices
    size_t nentries, entries_room, next;
    struct dials_entry *entries;  // owned: sorted by image
    bool *taken;  // owned: [nentries], true at the first entry of an image whose spots were taken
                  // by dials_take_spots; NULL: none
    size_t nids, nsets;
    int64_t *experiment_of;         // owned: [nids], experiment of each id of the table; -1: none
    int64_t *experiment_of_images;  // owned: [nsets], first experiment of each set of images
    const struct refl_column *id, *imageset, *panel, *flags, *observed, *predicted, *hkl, *box,
        *sum, *sum_variance, *profile, *profile_variance;
};

/* Opens a table and its experiment list.  The caller must call dials_close, also after an error.
 * Messages name the file.
 *
 * STATUS_INPUT: a file is of another type, the files do not belong together, or they do not
 * identify their frames. */
enum status dials_open(struct dials_files *f, const char *expt_path, const char *refl_path,
                       struct error *e);

/* Sets *level to that of a table.  STATUS_INPUT: the file is not a reflection table. */
enum status dials_level_read(const char *refl_path, enum dials_level *level, struct error *e);

/* Sets *has to true if *f contains the frame of an answer from another table.  In this case
 * dials_next skips this frame, and with `replace` the spots of the answer are replaced by those
 * of *f.
 *
 * STATUS_INPUT: a row of *f is not possible. */
enum status dials_take_spots(struct dials_files *f, struct answer *a, bool replace, bool *has,
                             struct error *e);

/* Reads the next frame into *a, in ascending order.  Sets *more to false at the end. */
enum status dials_next(struct dials_files *f, struct answer *a, bool *more, struct error *e);

void dials_close(struct dials_files *f);

/* Reads the frame number from an identifier of bragg-write, LINEAGE-FRAME-LATTICE.  Returns false
 * for other identifiers. */
bool dials_told_frame(const char *identifier, uint64_t *frame);

/* --- streams of CrystFEL, format 2.x, chunk by chunk (crystfel_stream.c) -------------------
 *
 * A chunk contains what was found in one frame.  The laboratory frame of CrystFEL is the coordinate
 * system of the beam.
 */

struct crystfel_stream {
    struct lines lines;
    char *geometry;  // owned: text of the geometry file
    size_t geometry_length, geometry_room;
    long geometry_line;  // line of the file on which the geometry begins
    bool has_detector;   // `detector` is set; true after the head of the first chunk
    struct geom detector;
    /* The next four members describe the chunk that is being read.  0: not given. */
    double distance_m, energy_eV;
    char event[64];  // name of the event if it is not a number; "": none
    double gain;     // ADU per photon
    bool has_fate;   // at least one chunk is from bragg-serve --sent
};

/* Opens a stream.  A file that is followed may grow.  The caller must call crystfel_stream_close,
 * also after an error.  Messages begin with "FILE:LINE: ".
 *
 * STATUS_INPUT: the file is not a stream, or ends too early. */
enum status crystfel_stream_open(struct crystfel_stream *s, const char *path,
                                 const struct follow *follow, struct error *e);

/* Reads the next chunk into *a.  At the end of the stream sets *more to false and leaves *a empty.
 */
enum status crystfel_stream_next(struct crystfel_stream *s, struct answer *a, bool *more,
                                 struct error *e);

void crystfel_stream_close(struct crystfel_stream *s);

/* --- peak tables -----------------------------------------------------------------------------
 *
 * Reads peak tables, a simple text format that any analysis program can write.  Each line contains
 * items separated by blanks or tabs.  The lines of a frame follow each other.  The first line names
 * the columns:
 *
 *     frame            frame number
 *     panel            panel number from 0, as in the ground truth (default: 0)
 *     fast, slow       px; pixel i covers [i, i+1).  `-`: nothing was found in the frame
 *     intensity        photons
 *     score            confidence that the frame is a hit, in any unit; more is surer
 *     hit              1: the analysis classifies the frame as a hit, 0: it does not
 *     time_s           Unix time at which the result was complete
 *     damaged          1: the analysis reports that the message is corrupt, 0: it does not
 *
 * If there are no columns fast and slow, each line is an answer.  Columns with other names are
 * skipped.  A line with more items than columns is an error.  If the first line does not name
 * columns, the columns are frame, fast, slow, intensity.  Text after # is ignored.
 */

enum { PEAK_COLUMNS = 9 };

struct peak_table {
    struct lines lines;
    int at[PEAK_COLUMNS];  // place of each known column; -1: missing
    int columns;           // number of columns that the first line names
    bool waiting;          // the current line has been read but not used
};

/* Opens a table.  The caller must call peak_table_close, also after an error.  STATUS_INPUT: the
 * file is not a peak table. */
enum status peak_table_open(struct peak_table *t, const char *path, const struct follow *follow,
                            struct error *e);

/* Reads the next frame into *a.  Sets *more to false at the end.  STATUS_INPUT, with "FILE:LINE: ":
 * a line is not valid. */
enum status peak_table_next(struct peak_table *t, struct answer *a, bool *more, struct error *e);

void peak_table_close(struct peak_table *t);

/* --- results of any kind ----------------------------------------------------------------- */

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

/* Finds the frame numbers of answers that have only the place of the image in a file.  Holds the
 * frames of the file that was read last.  Begins as {0}. */
struct results_numbers {
    char file[ANSWER_FILE_SIZE];
    struct nxmx_rows rows;
};

/* Returns the frame number of an answer.  If the answer contains only the place of the image in a
 * file, the number is read from this NXmx file.  If that is not possible, the place is the number.
 */
uint64_t results_number(struct results_numbers *n, const struct answer *a);
void results_numbers_free(struct results_numbers *n);

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
