/* Messages for pages, which several of them may be getting at once. */
#ifndef BRAGG_WEB_BLOB_H
#define BRAGG_WEB_BLOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum web_what { WEB_TILE = 1, WEB_MASK, WEB_MARKS, WEB_GONE };

/* Begins each binary message, little-endian as it lies here. */
struct web_head {
    uint32_t what;          // enum web_what
    uint32_t type;          // enum pixel_type of a tile's values
    uint64_t number;        // of the frame, as the server counts
    uint64_t id;            // as the stream does
    int32_t x, y;           // first block, of `factor` x `factor` pixels
    int32_t width, height;  // blocks
    int32_t factor;
    uint32_t mean;        // 0: a block shows its largest pixel; 1: the mean
    uint32_t items;       // of marks, each a struct web_mark
    uint32_t lattices;    // in the frame
    double time_s;        // when it came, since the program started
    double wavelength_A;  // mean of the frame
};

/* A reflection, in pixels of the picture. */
struct web_mark {
    float x, y;
    float photons;  // 0: predicted, not counted
    int32_t lattice, hkl[3];
};

struct web_blob {
    atomic_uint users;
    bool text;    // JSON; else binary
    size_t size;  // of data
    unsigned char data[];
};

/* Room for so many bytes, with one user; NULL when memory is out. */
struct web_blob *web_blob_new(size_t size);

/* The same as text. */
struct web_blob *web_blob_text(const char *text);

/* Bytes of all blobs that are there. */
size_t web_blob_bytes(void);

/* One user less; the last one frees it.  NULL is fine. */
void web_blob_drop(struct web_blob *b);

#endif
