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
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
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

/* --- the layout of a recording, which bragg-recording(5) specifies ------- */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "recordings are little-endian");

enum { RECORDING_VERSION = 1, LAYOUT_UNIT = 64, INDEX_TYPE = 0 };

#define LAYOUT_HEADER_MAGIC \
    "\x89"                  \
    "bragg\r\n"
#define LAYOUT_RECORD_MAGIC "braggrec"
#define LAYOUT_END_MAGIC "braggend"

/* The first bytes of the file. */
struct layout_header {
    char magic[8];
    uint32_t version, kind;
    int64_t begun;  // ns since 1970
    uint8_t zero[36];
    uint32_t crc;  // checksum of all members above
};

/* The head of a record. */
struct layout_head {
    char magic[8];
    uint64_t length;    // bytes of the record with this head, a multiple of LAYOUT_UNIT
    uint64_t time_ns;   // time after `begun`
    uint64_t id;        // frame number; index: number of entries
    uint32_t type;      // type of the message; INDEX_TYPE
    uint32_t nparts;    // number of parts; index: 0
    uint32_t crc_meta;  // checksum of the part sizes and of parts 0 and 1; index: of the entries
    uint8_t zero[16];
    uint32_t crc;  // checksum of all members above
};

/* The last bytes of a file that is complete. */
struct layout_end {
    char magic[8];
    uint64_t index;  // offset of the index's head
    uint8_t zero[44];
    uint32_t crc;  // checksum of all members above
};

_Static_assert(sizeof(struct layout_header) == LAYOUT_UNIT, "a header is one unit");
_Static_assert(sizeof(struct layout_head) == LAYOUT_UNIT, "a head is one unit");
_Static_assert(sizeof(struct layout_end) == LAYOUT_UNIT, "an end is one unit");
_Static_assert(sizeof(struct recording_entry) == 24, "an entry is three numbers");

/* Returns the checksum of a header, head or end: that of all bytes except the last four. */
static inline uint32_t layout_sum(const void *unit)
{
    return crc32c(0, unit, LAYOUT_UNIT - sizeof(uint32_t));
}

static inline bool layout_is_good(const void *unit, const char *magic)
{
    uint32_t crc;
    memcpy(&crc, (const char *)unit + LAYOUT_UNIT - sizeof crc, sizeof crc);
    return memcmp(unit, magic, 8) == 0 && crc == layout_sum(unit);
}

/* Rounds up to a multiple of LAYOUT_UNIT.  `size` is at most UINT64_MAX / 2. */
static inline uint64_t layout_round(uint64_t size)
{
    return (size + LAYOUT_UNIT - 1) / LAYOUT_UNIT * LAYOUT_UNIT;
}

#endif
