/*
 * A series of NXmx files that grows: images come in any order, and those of a file are
 * kept, packed, in a temporary file beside it until it is full.  Then it is written with
 * its frames in order, gets its name, and the master is written anew.  Frames of this
 * series that are in it already stay there, so several processes may fill it, one after the
 * other or at once.
 *
 * Each process has its own files, which it claims by their numbers.  One that is alone puts frame i
 * into file i / frames_per_file + 1, so the same frames make the same files.  Where another one has
 * claimed that, the frame goes into any file of this process that is not full, or into the next
 * one that is nobody's; the master says which.
 */
#ifndef BRAGG_IO_NXMX_SERIES_H
#define BRAGG_IO_NXMX_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "io/nxmx.h"
#include "io/nxmx_known.h"
#include "io/template.h"
#include "model/frame.h"

/* Files that are filled at a time; with one more the fullest is written as it is. */
enum { NXMX_OPEN_FILES = 16 };

struct nxmx_filling;

struct nxmx_series {
    const char *master;        // borrowed; path
    char *data_name;           // owned; of the data files, with a number
    struct template data;      // takes it apart
    uint64_t frames_per_file;  // at most
    uint64_t begin_s;          // when frame 0 begins, see base/utc.h
    bool replaces;             // files that are in the way are replaced
    bool sync;                 // wait for the disk
    const int *claims;   // borrowed: a descriptor for owners_claim; NULL: nobody else is there
    struct nxmx_hooks {  // called while no other process gives names; NULL: nothing is to do
        /* Whether what is there is of a former run and does not stay. */
        bool (*anew)(void *owner);
        /* Frames have become durable, see nxmx_series_take. */
        enum status (*durable)(void *owner, struct error *e);
        void *owner;
    } hooks;
    enum nxmx_compression compression;
    struct experiment experiment;  // that of the last frame; its arrays are borrowed
    struct nxmx_kind kind;         // from the first frame on
    size_t nfilling;
    struct nxmx_filling *filling[NXMX_OPEN_FILES + 1];  // owned
    struct nxmx_chunk chunk;
    struct id_set written;      // files of this process
    struct id_set unfinished;   // those of them that have room and are not being filled
    bool named;                 // some file has got its name
    struct id_set durable;      // frames, not yet taken by nxmx_series_take
    struct nxmx_known known;    // from nxmx_series_recall or the first file on
    struct nxmx_found {         // by nxmx_series_recall and nxmx_series_holds
        struct id_set lost;     // files that are there and are not of this lineage
        uint64_t file;          // looked at last, 0: none
        struct nxmx_rows rows;  // of it
    } found;
};

/* Prepares a series: nothing is written.  A master run_master.h5 or run.nxs has data files
 * run_data_000001.h5 and so on.  STATUS_USAGE for a name that does not do and for what utc_begin
 * refuses, STATUS_FAILED for a folder or device. */
enum status nxmx_series_open(struct nxmx_series *s, const char *master, struct error *e);

/* Before the first frame: others may fill it, too, see struct nxmx_series. */
void nxmx_series_share(struct nxmx_series *s, bool replaces, const int *claims,
                       const struct nxmx_hooks *hooks);

/* Takes a frame with an image, of the detector of *x and of the type of those before.  The
 * arrays of *x must stay until nxmx_series_close.
 * STATUS_INPUT when NXmx cannot hold it, STATUS_FAILED when a step fails. */
enum status nxmx_series_add(struct nxmx_series *s, const struct experiment *x, const char *lineage,
                            const struct frame *f, struct error *e);

/* Whether a file is full, or one more must be finished to make room. */
bool nxmx_series_is_due(const struct nxmx_series *s);

/* Writes the files that are due, or `all` that have frames, and the master. */
enum status nxmx_series_finish(struct nxmx_series *s, bool all, struct error *e);

/* Moves the ids of frames that have become durable into the empty *ids. */
void nxmx_series_take(struct nxmx_series *s, struct id_set *ids);

/* Before the first nxmx_series_add: takes in what the master says of frames of this lineage. */
void nxmx_series_recall(struct nxmx_series *s, const char *lineage);

/* Then whether a frame is in the file that the master says.  A file that is in the place of one,
 * and is of another lineage, is written anew with the frames to come.  Best asked in ascending
 * order. */
bool nxmx_series_holds(struct nxmx_series *s, const char *lineage, uint64_t id);

/* The number of the file that holds a frame, or is to, from 1 on; in lists of files NXMX_MASTER
 * stands for the master. */
enum { NXMX_MASTER = 0 };
uint64_t nxmx_series_number(const struct nxmx_series *s, uint64_t id);

/* Bytes of all frames so far: of files that are finished, the master too, and of packed images. */
uint64_t nxmx_series_bytes(const struct nxmx_series *s);

/* About how many of the bytes of all files, with the master, are not of single frames: when there
 * are so many frames, 0: of the files that are finished. */
double nxmx_series_heads(const struct nxmx_series *s, uint64_t frames);

/* How many data files so many frames, from 0 on, have where one process writes them; their numbers
 * begin with 1. */
uint64_t nxmx_series_files(const struct nxmx_series *s, uint64_t frames);

/* Puts the path of the data file of a frame into path[TEMPLATE_PATH_MAX]. */
void nxmx_series_file(const struct nxmx_series *s, uint64_t id, char *path);

/* Frees; frames that were not durable are lost. */
void nxmx_series_close(struct nxmx_series *s);

#endif
