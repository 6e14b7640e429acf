/*
 * The memory of the web server: the latest frames, to which pages can go back, and messages for
 * pages.  The number of frames and their memory are limited.  Several pages can share a message.
 */
#ifndef BRAGG_WEB_STORE_H
#define BRAGG_WEB_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/frame.h"

/* --- messages ------------------------------------------------------------------ */

enum web_what { WEB_TILE = 1, WEB_MASK, WEB_MARKS, WEB_GONE };

/* The head of each binary message.  Messages have this layout, little-endian. */
struct web_head {
    uint32_t what;          // enum web_what
    uint32_t type;          // enum pixel_type of a tile's values
    uint64_t number;        // number of the frame, counted by the server
    uint64_t id;            // number of the frame in the stream
    int32_t x, y;           // first block
    int32_t width, height;  // number of blocks
    int32_t factor;         // a block has `factor` x `factor` pixels
    uint32_t mean;          // 0: a block shows its largest pixel; 1: its mean
    uint32_t items;         // number of marks that follow, each a struct web_mark
    uint32_t lattices;      // number of lattices in the frame
    double time_s;          // time from the start of the program to the arrival of the frame
    double wavelength_A;    // mean wavelength of the frame
};

/* A reflection.  Positions are in pixels of the picture. */
struct web_mark {
    float x, y;
    float photons;  // 0 for a predicted reflection, whose photons are not known
    int32_t lattice, hkl[3];
};

/* A message that is sent.  Several users may share it. */
struct web_blob {
    atomic_uint users;  // number of users; the last one frees the message
    bool text;          // true for JSON, false for binary data
    size_t size;        // number of bytes of `data`
    unsigned char data[];
};

/* Makes a message of `size` bytes with one user. */
struct web_blob *web_blob_new(size_t size);

/* Makes a message of text with one user. */
struct web_blob *web_blob_text(const char *text);

/* Returns the total size of all existing messages, in bytes. */
size_t web_blob_bytes(void);

/* Ends the use of a message.  The last user frees it.  NULL: does nothing. */
void web_blob_drop(struct web_blob *b);

/* --- frames -------------------------------------------------------------------- */

enum { WEB_FRAMES_MAX = 100 };

struct web_frame {
    uint64_t number;      // counted from 1 in the order of the calls of web_store_put
    uint64_t id;          // number of the frame in the stream
    double time_s;        // time from the start of the program to the arrival of the frame
    double wavelength_A;  // mean wavelength of the frame
    size_t lattices;
    uint64_t came, hits;  // frames of the stream so far, and those with a lattice
    double brightness;    // mean value of a pixel
    struct image image;   // owned: one panel, row by row
    size_t nmarks;
    struct web_mark *marks;  // owned
    int users;               // number of users, of which the store is one; the last one frees the
                             // frame
};

struct web_store {
    pthread_mutex_t lock;
    size_t bytes_max, bytes;  // limit and current size of all pixels and marks
    size_t first, count;      // index of the oldest frame in the ring; number of frames
    uint64_t number;          // number of the newest frame; 0: no frame yet
    struct web_frame *frames[WEB_FRAMES_MAX];  // ring buffer
    struct web_frame *spare;  // owned: a frame without users, whose memory is used for the next
                              // frame
};

/* Opens an empty store for `bytes_max` bytes.  The newest frame is kept even if it is larger. */
void web_store_open(struct web_store *s, size_t bytes_max);
void web_store_close(struct web_store *s);

/* Makes a frame with room for an image of `count` pixels.  Old frames are removed to make room.
 * The caller fills in the frame, and gives it to web_store_put or web_store_drop. */
struct web_frame *web_store_new(struct web_store *s, enum pixel_type type, enum pixel_unit unit,
                                size_t count);

/* Makes a frame the newest one.  The store takes ownership of it. */
void web_store_put(struct web_store *s, struct web_frame *f);

/* Returns frame number `number`, or the newest frame if `number` is 0.  Returns NULL if the frame
 * does not exist, or no longer exists.  The caller must call web_store_drop.  Any thread may call
 * both functions. */
struct web_frame *web_store_use(struct web_store *s, uint64_t number);
void web_store_drop(struct web_store *s, struct web_frame *f);

/* The numbers of the oldest and of the newest frame, which are 0 if there is no frame, and some
 * members of the newest frame (struct web_frame). */
struct web_span {
    uint64_t oldest, newest, id, came, hits;
    double time_s, brightness;
};
struct web_span web_store_span(struct web_store *s);

#endif
