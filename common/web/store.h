/* The latest frames, to which pages can go back.  Their number and their bytes are limited. */
#ifndef BRAGG_WEB_STORE_H
#define BRAGG_WEB_STORE_H

#include <pthread.h>

#include "base/error.h"
#include "model/frame.h"
#include "web/blob.h"

enum { WEB_FRAMES_MAX = 100 };

struct web_frame {
    uint64_t number;  // from 1, as they were kept
    uint64_t id;
    double time_s;        // when it came, since the program started
    double wavelength_A;  // mean
    size_t lattices;
    uint64_t came, hits;  // of the stream so far, and those with a lattice
    double brightness;    // mean value of a pixel
    struct image image;   // owned: one panel, row by row
    size_t nmarks;
    struct web_mark *marks;  // owned
    int users;               // the store is one
};

struct web_store {
    pthread_mutex_t lock;
    size_t bytes_max, bytes;  // of pixels and marks
    size_t first, count;      // of the ring
    uint64_t number;          // of the newest, 0: none
    struct web_frame *frames[WEB_FRAMES_MAX];
    struct web_frame *spare;  // its memory is used again
};

/* Opens an empty store for bytes_max bytes.  It keeps the newest frame even if that is larger. */
void web_store_open(struct web_store *s, size_t bytes_max);
void web_store_close(struct web_store *s);

/* A frame for the caller to fill in, with room for such an image.  Older ones make place for it.
 * NULL when memory is out. */
struct web_frame *web_store_new(struct web_store *s, enum pixel_type type, enum pixel_unit unit,
                                size_t count);

/* Makes it the newest one: the store takes it over. */
void web_store_put(struct web_store *s, struct web_frame *f);

/* Frame `number`, 0 for the newest; NULL: it is not there (any more).  Let go of it by
 * web_store_drop, from any thread. */
struct web_frame *web_store_use(struct web_store *s, uint64_t number);
void web_store_drop(struct web_store *s, struct web_frame *f);

/* The numbers that are there, both 0 for none, and what the newest one says. */
struct web_span {
    uint64_t oldest, newest, id, came, hits;
    double time_s, brightness;
};
struct web_span web_store_span(struct web_store *s);

#endif
