/*
 * Recordings: the messages of one edge in a file, in the format of
 * bragg-recording(5).  A file is only appended to, so that whatever a killed
 * process leaves can be read up to its last whole record.
 */
#ifndef BRAGG_WIRE_RECORDING_H
#define BRAGG_WIRE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "wire/message.h"

/* Where a frame lies. */
struct recording_entry {
    uint64_t id;
    uint64_t offset;   // bytes from the beginning of the file
    uint64_t time_ns;  // when it came, after the recording began
};

struct recording_list {
    size_t count, capacity;
    struct recording_entry *entries;  // owned
};

/* Appends an entry; false when memory is out. */
bool recording_list_add(struct recording_list *l, struct recording_entry entry);

/* Sorts by id; the entry of a frame in a sorted list, NULL when it is not there. */
void recording_list_sort(struct recording_list *l);
const struct recording_entry *recording_list_find(const struct recording_list *l, uint64_t id);

void recording_list_clear(struct recording_list *l);

/* --- reading ------------------------------------------------------------- */

enum { RECORDING_IMAGES = 3 };

struct recording {
    char *path;                    // owned, for errors
    int file;                      // descriptor, -1: closed
    int kind;                      // what flowed: 1 experiment, 2 recipes, RECORDING_IMAGES
    int64_t begun;                 // when, ns since 1970
    uint64_t size;                 // bytes of the file
    uint64_t whole;                // bytes up to the end of the last whole record
    bool finished;                 // its index is there and good
    struct recording_list frames;  // ids ascend
};

/* Opens a recording.  By its index; without one (the recorder was killed, or the end of
 * the file is lost) by a pass over the heads of all records, which drops what a killed
 * recorder may have left behind the last whole one.  Takes 24 bytes of memory a frame.
 * STATUS_FAILED when it cannot be read, STATUS_INPUT for what is no recording, or
 * damaged.  Always followed by recording_close. */
enum status recording_open(struct recording *r, const char *path, struct error *e);
void recording_close(struct recording *r);

/* The experiment, or the frame of an entry, as it travelled, all sums checked.
 * STATUS_INPUT for what is damaged.  The caller frees *m, after an error too. */
enum status recording_experiment(const struct recording *r, struct route *route, struct message *m,
                                 struct error *e);
enum status recording_frame(const struct recording *r, const struct recording_entry *entry,
                            struct route *route, struct message *m, struct error *e);

/* --- writing ------------------------------------------------------------- */

struct recorder {
    char *path;                    // owned: the file in the end
    char *temporary;               // owned: its name until then, PATH.part; NULL: written in place
    FILE *stream;                  // NULL: not open
    int file;                      // below it
    bool ours;                     // what the file holds is of this recording
    bool replaces;                 // in the end: whatever has that name
    bool renamed;                  // PATH was finished before, and became PATH.part again
    bool sync;                     // may be set at any time: wait for the disk after each frame
    uint64_t size;                 // bytes of whole records
    uint64_t base_ns, start_ns;    // time of a frame: base + clock - start
    struct recording before;       // what the file held already, read through its own descriptor
    struct recording_list frames;  // in the order of the file, at the end by id
};

/* What becomes of a recording that exists; a PATH.part of the same experiment is continued,
 * unless it is replaced. */
enum recorder_mode { RECORDER_NEW, RECORDER_REPLACE, RECORDER_RESUME };

/* Begins a recording of frames behind an experiment, as PATH.part; a device or a pipe is
 * written in place.  A PATH.part is continued behind its last whole record, with
 * RECORDER_RESUME also an existing PATH.  An existing PATH with RECORDER_NEW, or another
 * experiment, is STATUS_FAILED and stays as it is.  Always followed by recorder_close. */
enum status recorder_open(struct recorder *r, const char *path, enum recorder_mode mode,
                          const struct route *route, const struct message *experiment,
                          struct error *e);

/* STATUS_FAILED when `path` is a folder, or a file that must not be replaced. */
enum status recorder_check(const char *path, enum recorder_mode mode, struct error *e);

/* Appends a frame; when it returns it survives a death of this process.  One that is
 * there already must have the same payload, else STATUS_FAILED. */
enum status recorder_add(struct recorder *r, const struct route *route, const struct message *frame,
                         struct error *e);

/* Takes all but the first `count` of r->frames back, which turned out not to be what came. */
void recorder_withdraw(struct recorder *r, size_t count);

/* Appends the index, closes the file and gives it its name; STATUS_FAILED, and the frames stay in
 * PATH.part, when something has got that name meanwhile and the recording does not replace it. */
enum status recorder_finish(struct recorder *r, struct error *e);

/* Without recorder_finish before: closes PATH.part, cut to whole records; true when it is
 * kept, because there are frames in it. */
bool recorder_close(struct recorder *r);

#endif
