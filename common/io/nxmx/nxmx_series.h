/*
 * Writes a growing series of NXmx files.
 *
 * Images may arrive in any order.  Images of an unfinished data file are stored, compressed, in its
 * spool (io/hdf5/spool.h).  When the last image of the data file arrives, the spool becomes the
 * data file: groups, tables and the index of the images are added to it, and the images stay where
 * they are.  Then the master file is written again, and the spool loses its first name.  Several
 * processes can fill one series, at the same time or one after the other.  Frames that the series
 * already has are kept.
 *
 * Frame i belongs to data file i / frames_per_file + 1, whichever process writes it.  Equal frames
 * therefore make files of equal content.  Their bytes are equal if the frames also arrive in equal
 * order.  The master lists the file of each frame: a file that was written
 * with another frames_per_file keeps its frames.
 */
#ifndef BRAGG_IO_NXMX_NXMX_SERIES_H
#define BRAGG_IO_NXMX_NXMX_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_late.h"
#include "io/nxmx/nxmx_spool.h"
#include "io/output/output_file.h"
#include "model/frame.h"

/* Largest number of spools that are open at the same time. */
enum { NXMX_OPEN_FILES = 16 };

struct nxmx_open_file;
struct nxmx_note;

/* Filled in by the caller of nxmx_series_begin.  All zero: one process, a new series. */
struct nxmx_settings {
    const char *lineage;  // of the frames; a spool with another lineage is in the way
    uint64_t run;         // number of the run; equal in all processes that share the series
    bool resume;          // continue spools that exist
    bool replaces;        // replace files that are in the way
    /* Callbacks.  While one runs, no other process renames files.  NULL: do nothing. */
    /* Returns true if the existing files are from a previous run and must be removed. */
    bool (*anew)(void *owner);
    /* The data file of a frame is complete: adds the frame to the index. */
    enum status (*enter)(void *owner, const struct nxmx_note *note, struct error *e);
    void *owner;     // passed to the callbacks
    double least_z;  // peaks of CXI are the reflections with more z; 0: all reflections
};

struct nxmx_series {
    const char *master;        // borrowed; path
    char *data_name;           // owned; template of the names of data files
    char *spool_name;          // owned; template of the names of spools
    struct template data;      // data_name, parsed
    struct template spools;    // spool_name, parsed
    uint64_t frames_per_file;  // at most
    bool cxi;                  // the name ends in .cxi: files are also CXI, see nxmx_layout.h
    uint64_t begin_s;          // when frame 0 begins, see base/clock.h
    bool sync;                 // wait for the disk
    enum nxmx_compression compression;
    struct nxmx_settings settings;
    char spool_lineage[24];        // lineage of the frames, and their compression
    struct experiment experiment;  // its arrays are borrowed
    struct nxmx_masks masks;       // owned
    struct nxmx_kind kind;         // set by nxmx_series_begin, except for the members on images
    bool typed;                    // the members of `kind` on images are set, by the first frame
    size_t nopen;
    struct nxmx_open_file *open[NXMX_OPEN_FILES];  // owned; in the order of opening
    struct nxmx_chunk chunks[NXMX_LAYERS_MAX];     // owned: images of the frame packed last
    struct nxmx_rows rows;                         // rows of the frame packed last
    struct nxmx_late late;                         // frame that a thread is storing
    struct id_set given;                           // frames that this process put into spools
    struct id_set written;                         // data files that this process wrote
    uint64_t spooled;               // bytes from this process in spools of unfinished files
    bool named;                     // a file has got its final name
    struct nxmx_existing existing;  // set by nxmx_series_recall or with the first file
    struct nxmx_found {             // set by nxmx_series_recall and nxmx_series_holds
        struct id_set lost;         // existing files that have another lineage
        uint64_t file;              // file that was examined last, 0: none
        struct nxmx_rows rows;      // rows of that file
    } found;
};

/* Prepares a series.  Writes nothing.  A master run_master.h5 or run.nxs has data files
 * run_data_000001.h5 and so on; run.cxi has run_data_000001.cxi.  STATUS_USAGE: the name is not
 * possible, or utc_begin fails. STATUS_FAILED: the name is that of a folder or device. */
enum status nxmx_series_open(struct nxmx_series *s, const char *master, struct error *e);

/* Begins the series with frames of the detector of *x, whose arrays must stay valid until
 * nxmx_series_close.  STATUS_FAILED: a spool with other frames is in the way. */
enum status nxmx_series_begin(struct nxmx_series *s, const struct experiment *x,
                              const struct nxmx_settings *settings, struct error *e);

/* With `resume`: calls `visit` for each frame that a spool holds. */
typedef enum status nxmx_visit(void *owner, const struct nxmx_note *note, struct error *e);
enum status nxmx_series_visit(struct nxmx_series *s, nxmx_visit *visit, void *owner,
                              struct error *e);

/* Compresses the image of a frame.  The pixel type must be that of the previous frames.
 * STATUS_INPUT: NXmx cannot store the image.  STATUS_FAILED: any other failure. */
enum status nxmx_series_pack(struct nxmx_series *s, const struct frame *f, struct error *e);

/* Stores the frame that nxmx_series_pack compressed last, in two steps.  nxmx_series_keep begins to
 * store it, after it has settled the frame before.  *f may be freed afterwards.  When
 * nxmx_series_settle has returned, the frame is in the spool of its data file and survives a crash;
 * if the file is complete with this frame, the file and the master are written.
 * STATUS_FAILED: any failure, also of the frame before. */
enum status nxmx_series_keep(struct nxmx_series *s, const struct frame *f,
                             const struct nxmx_note *note, struct error *e);
enum status nxmx_series_settle(struct nxmx_series *s, struct error *e);

/* Ends the series: writes the files of all spools that no other process of the run has open.
 * STATUS_FAILED: writing failed, or a frame that this process stored is missing. */
enum status nxmx_series_end(struct nxmx_series *s, struct error *e);

/* Reads which frames of this lineage the master lists.  Call before the first frame. */
void nxmx_series_recall(struct nxmx_series *s);

/* Returns true if a frame is in the data file that the master lists for it.  Call after
 * nxmx_series_recall.  A data file of another lineage is noted, and is written again with the
 * coming frames.  Ascending order of frames is fastest. */
bool nxmx_series_holds(struct nxmx_series *s, uint64_t id);

/* Returns the number, from 1, of the data file that holds a frame or will hold it.  In lists of
 * files, NXMX_MASTER means the master. */
enum { NXMX_MASTER = 0 };
uint64_t nxmx_series_number(const struct nxmx_series *s, uint64_t id);

/* Returns the bytes that this process has written so far: data files, the master, and records in
 * spools. */
uint64_t nxmx_series_bytes(const struct nxmx_series *s);

/* Estimates how many bytes of all files, including the master, do not belong to single frames of
 * the data files.  `frames`: the number of frames of the complete series; 0: estimate for the
 * finished files.  The spectra of frames count with their size in the master.  For 0, less the size
 * that unfinished files do not have yet. */
double nxmx_series_heads(const struct nxmx_series *s, uint64_t frames);

/* Returns the number of data files of the frames 0 to frames - 1.  Data files are numbered from
 * 1. */
uint64_t nxmx_series_files(const struct nxmx_series *s, uint64_t frames);

/* Puts the path of the data file of a frame into path[TEMPLATE_PATH_MAX]. */
void nxmx_series_file(const struct nxmx_series *s, uint64_t id, char *path);

/* Frees *s.  Frames that are not in a data file yet stay in the spools. */
void nxmx_series_close(struct nxmx_series *s);

#endif
