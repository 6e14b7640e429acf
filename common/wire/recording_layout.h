/* The layout of a recording, for the files recording_*.c; bragg-recording(5) specifies it. */
#ifndef BRAGG_WIRE_RECORDING_LAYOUT_H
#define BRAGG_WIRE_RECORDING_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/crc32c.h"
#include "wire/recording.h"

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
