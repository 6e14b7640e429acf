/*
 * Recordings: the messages of one link in a file, in the format of bragg-recording(5).  A recording
 * only grows at its end.  If its writer is killed, it can be read up to its last whole record.
 */
#ifndef BRAGG_WIRE_RECORDING_H
#define BRAGG_WIRE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "wire/message.h"

/* The place of a frame in a recording. */
struct recording_entry {
    uint64_t id;
    uint64_t offset;   // bytes from the beginning of the file
    uint64_t time_ns;  // when the frame arrived, after the begin of the recording
};

struct recording_list {
    size_t count, capacity;
    struct recording_entry *entries;  // owned
};

/* Appends an entry.  Returns false if memory runs out. */
bool recording_list_add(struct recording_list *l, struct recording_entry entry);

/* recording_list_sort sorts by id.  recording_list_find returns the entry of a frame in a sorted
 * list; NULL: the frame is not in the list. */
void recording_list_sort(struct recording_list *l);
const struct recording_entry *recording_list_find(const struct recording_list *l, uint64_t id);

void recording_list_clear(struct recording_list *l);

/* --- reading ------------------------------------------------------------- */

enum { RECORDING_IMAGES = 3 };

struct recording {
    char *path;                    // owned; named in error messages
    int file;                      // file descriptor; -1: closed
    int kind;                      // content: 1 experiment, 2 recipes, RECORDING_IMAGES
    int64_t begun;                 // when it began, ns since 1970
    uint64_t size;                 // bytes of the file
    uint64_t whole;                // bytes up to the end of the last whole record
    bool finished;                 // it has a valid index
    struct recording_list frames;  // in ascending order of ids
};

/* Opens a recording.  Reads its index.  If there is no valid index, because the recorder was killed
 * or the end of the file is lost, it reads the heads of all records, and ignores a torn record
 * after the last whole one.  Uses 24 bytes of memory per frame.
 * STATUS_FAILED: the file cannot be read.  STATUS_INPUT: it is not a recording, or is corrupt.
 * The caller always calls recording_close. */
enum status recording_open(struct recording *r, const char *path, struct error *e);
void recording_close(struct recording *r);

/* Read the experiment, or the frame of an entry, as it was received, and verify all checksums.
 * STATUS_INPUT: the record is corrupt.  The caller frees *m, after an error too. */
enum status recording_experiment(const struct recording *r, struct route *route, struct message *m,
                                 struct error *e);
enum status recording_frame(const struct recording *r, const struct recording_entry *entry,
                            struct route *route, struct message *m, struct error *e);

/* --- writing ------------------------------------------------------------- */

struct recorder {
    char *path;                    // owned: name of the finished file
    char *temporary;               // owned: name until it is finished, PATH.part; NULL: none
    FILE *stream;                  // NULL: not open
    int file;                      // file descriptor of `stream`
    bool ours;                     // the content of the file belongs to this recording
    bool replaces;                 // an existing file PATH is replaced at the end
    bool renamed;                  // PATH was a finished recording, and was renamed to PATH.part
    bool sync;                     // wait for the disk after each frame; may change at any time
    uint64_t size;                 // bytes of whole records
    uint64_t base_ns, start_ns;    // time of a frame: base + clock - start
    struct recording before;       // what the file held at the start; has its own descriptor
    struct recording_list frames;  // in the order of the file; at the end sorted by id
};

/* What happens to an existing recording: refuse, replace or continue.  A PATH.part of the same
 * experiment is continued, except with RECORDER_REPLACE. */
enum recorder_mode { RECORDER_NEW, RECORDER_REPLACE, RECORDER_RESUME };

/* Begins a recording of frames of an experiment, in PATH.part.  A device or a pipe is written in
 * place.  An existing PATH.part is continued after its last whole record; with RECORDER_RESUME also
 * an existing PATH.  STATUS_FAILED, with the file unchanged: PATH exists with RECORDER_NEW, or the
 * file has another experiment.  The caller always calls recorder_close. */
enum status recorder_open(struct recorder *r, const char *path, enum recorder_mode mode,
                          const struct route *route, const struct message *experiment,
                          struct error *e);

/* Checks that a recording can be written to `path`.  STATUS_FAILED: `path` is a folder, or a file
 * that must not be replaced. */
enum status recorder_check(const char *path, enum recorder_mode mode, struct error *e);

/* Appends a frame.  After the return the frame survives a crash of this process.  A frame that is
 * recorded already must have the same payload; otherwise STATUS_FAILED. */
enum status recorder_add(struct recorder *r, const struct route *route, const struct message *frame,
                         struct error *e);

/* Removes all frames of r->frames except the first `count`, because their payload was wrong. */
void recorder_withdraw(struct recorder *r, size_t count);

/* Appends the index, closes the file and gives it its name.  STATUS_FAILED, with the frames in
 * PATH.part: a file got that name in the meantime, and the recording does not replace it. */
enum status recorder_finish(struct recorder *r, struct error *e);

/* Does nothing after recorder_finish.  Otherwise closes PATH.part, cut to whole records, and
 * returns true if it is kept because it contains frames. */
bool recorder_close(struct recorder *r);

#endif
