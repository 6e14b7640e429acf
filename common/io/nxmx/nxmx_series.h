/*
 * A series of NXmx files that grows: images come in any order, and those of a file are kept,
 * packed, in its spool (io/hdf5/spool.h) until all are there.  Then it is written with its frames
 * in order and gets its name, and the master is written anew.  Frames of this series that are in it
 * already stay there, so several processes may fill it, one after the other or at once.
 *
 * Frame i goes into file i / frames_per_file + 1, whoever brings it, so the same frames make the
 * same files.  The master says which file holds a frame: one that was written with other frames per
 * file keeps its frames.
 */
#ifndef BRAGG_IO_NXMX_NXMX_SERIES_H
#define BRAGG_IO_NXMX_NXMX_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_existing.h"
#include "io/output/template.h"
#include "model/frame.h"

/* Spools that are open at a time. */
enum { NXMX_OPEN_FILES = 16 };

struct nxmx_open_file;
struct nxmx_note;

/* Set by the caller of nxmx_series_begin; all 0: alone, and for once. */
struct nxmx_settings {
    const char *lineage;
    uint64_t run;
    bool resume;    // what spools hold is continued
    bool replaces;  // files that are in the way are replaced
    /* Called while no other process gives names; NULL: nothing is to do. */
    /* Whether what is there is of a former run and does not stay. */
    bool (*anew)(void *owner);
    /* The file of a frame is there: it is to be entered in the index. */
    enum status (*enter)(void *owner, const struct nxmx_note *note, struct error *e);
    void *owner;
};

struct nxmx_series {
    const char *master;    // borrowed; path
    char *data_name;       // owned; of the data files, with a number
    char *spool_name;      // owned; of their spools
    struct template data;  // these take them apart
    struct template spools;
    uint64_t frames_per_file;  // at most
    uint64_t begin_s;          // when frame 0 begins, see base/clock.h
    bool sync;                 // wait for the disk
    enum nxmx_compression compression;
    struct nxmx_settings settings;
    char spool_lineage[24];        // that of the frames, and how they are packed
    struct experiment experiment;  // its arrays are borrowed
    struct nxmx_kind kind;         // from nxmx_series_begin on ...
    bool typed;                    // ... and what of it tells of images, from the first frame on
    size_t nopen;
    struct nxmx_open_file *open[NXMX_OPEN_FILES];  // owned; the last was opened last
    struct nxmx_chunk chunks[NXMX_LAYERS_MAX];     // owned: the frame that was packed last ...
    struct nxmx_rows rows;                         // ... alone
    struct id_set given;                           // frames that this process put into spools
    struct id_set written;                         // files of this process
    uint64_t spooled;               // bytes of it, in spools of files that are not written
    bool named;                     // some file has got its name
    struct nxmx_existing existing;  // from nxmx_series_recall or the first file on
    struct nxmx_found {             // by nxmx_series_recall and nxmx_series_holds
        struct id_set lost;         // files that are there and are not of this lineage
        uint64_t file;              // looked at last, 0: none
        struct nxmx_rows rows;      // of it
    } found;
};

/* Prepares a series: nothing is written.  A master run_master.h5 or run.nxs has data files
 * run_data_000001.h5 and so on.  STATUS_USAGE for a name that does not do and for what utc_begin
 * refuses, STATUS_FAILED for a folder or device. */
enum status nxmx_series_open(struct nxmx_series *s, const char *master, struct error *e);

/* Begins it with frames of the detector of *x, whose arrays must stay until nxmx_series_close.
 * STATUS_FAILED when a spool is in the way that is not of these frames. */
enum status nxmx_series_begin(struct nxmx_series *s, const struct experiment *x,
                              const struct nxmx_settings *settings, struct error *e);

/* With `resume`: tells of each frame that a spool holds. */
typedef enum status nxmx_visit(void *owner, const struct nxmx_note *note, struct error *e);
enum status nxmx_series_visit(struct nxmx_series *s, nxmx_visit *visit, void *owner,
                              struct error *e);

/* Packs a frame with an image, of the type of those before.  STATUS_INPUT when NXmx cannot hold it,
 * STATUS_FAILED when a step fails. */
enum status nxmx_series_pack(struct nxmx_series *s, const struct frame *f, struct error *e);

/* Keeps this frame, which was packed: when this returns it is in the spool of its file.  When that
 * has all frames the file is written, and the master.  STATUS_FAILED when a step fails. */
enum status nxmx_series_keep(struct nxmx_series *s, const struct frame *f,
                             const struct nxmx_note *note, struct error *e);

/* At the end of the run: writes the files of all spools that no other process of the run has open.
 * STATUS_FAILED when that fails, or a frame that this process kept is gone. */
enum status nxmx_series_end(struct nxmx_series *s, struct error *e);

/* Before the first frame: takes in what the master says of frames of this lineage. */
void nxmx_series_recall(struct nxmx_series *s);

/* Then whether a frame is in the file that the master says.  A file that is in the place of one,
 * and is of another lineage, is written anew with the frames to come.  Best asked in ascending
 * order. */
bool nxmx_series_holds(struct nxmx_series *s, uint64_t id);

/* The number of the file that holds a frame, or is to, from 1 on; in lists of files NXMX_MASTER
 * stands for the master. */
enum { NXMX_MASTER = 0 };
uint64_t nxmx_series_number(const struct nxmx_series *s, uint64_t id);

/* Bytes of all frames of this process so far: of files that it wrote, the master too, and in
 * spools. */
uint64_t nxmx_series_bytes(const struct nxmx_series *s);

/* About how many of the bytes of all files, with the master, are not of single frames of the data
 * files: when there are so many frames, 0: of the files that are finished.  The spectra of frames
 * count as in the master, and with 0 for what they take more in spools. */
double nxmx_series_heads(const struct nxmx_series *s, uint64_t frames);

/* How many data files so many frames, from 0 on, have; their numbers begin with 1. */
uint64_t nxmx_series_files(const struct nxmx_series *s, uint64_t frames);

/* Puts the path of the data file of a frame into path[TEMPLATE_PATH_MAX]. */
void nxmx_series_file(const struct nxmx_series *s, uint64_t id, char *path);

/* Frees; frames that are in no file yet stay in the spools. */
void nxmx_series_close(struct nxmx_series *s);

#endif
