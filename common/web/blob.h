/* Messages for pages.  Several pages can share one message. */
#ifndef BRAGG_WEB_BLOB_H
#define BRAGG_WEB_BLOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum web_what { WEB_TILE = 1, WEB_MASK, WEB_MARKS, WEB_GONE };

/* The head of each binary message, little-endian, in this layout. */
struct web_head {
    uint32_t what;          // enum web_what
    uint32_t type;          // enum pixel_type of a tile's values
    uint64_t number;        // of the frame, counted by the server
    uint64_t id;            // of the frame in the stream
    int32_t x, y;           // first block, of `factor` x `factor` pixels
    int32_t width, height;  // blocks
    int32_t factor;
    uint32_t mean;        // 0: a block shows its largest pixel; 1: its mean
    uint32_t items;       // number of marks that follow, each a struct web_mark
    uint32_t lattices;    // in the frame
    double time_s;        // when the frame came, since the program started
    double wavelength_A;  // mean of the frame
};

/* A reflection, in pixels of the picture. */
struct web_mark {
    float x, y;
    float photons;  // 0 for a predicted reflection, whose photons are not known
    int32_t lattice, hkl[3];
};

struct web_blob {
    atomic_uint users;
    bool text;    // true for JSON, false for binary data
    size_t size;  // of data
    unsigned char data[];
};

/* Makes a message of `size` bytes with one user.  NULL when memory is out. */
struct web_blob *web_blob_new(size_t size);

/* Makes a message of text with one user.  NULL when memory is out. */
struct web_blob *web_blob_text(const char *text);

/* The total size of all existing messages, bytes. */
size_t web_blob_bytes(void);

/* Ends the use of a message.  The last user frees it.  NULL is allowed. */
void web_blob_drop(struct web_blob *b);

#endif
