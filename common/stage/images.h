/*
 * Images of the main thread: where those that leave get their memory, and whether
 * those that came may be written to.
 */
#ifndef BRAGG_STAGE_IMAGES_H
#define BRAGG_STAGE_IMAGES_H

#include "base/error.h"
#include "link/links.h"

struct images {
    struct image_memory memory;  // for image_reserve
    bool given_up;               // the system had no memory for slots
    struct part lease;           // pixels at hand that lie in memory of another process
    void *leased_card;           // they lie there, on the card; NULL: they do not
    bool expects;                // their sum is to be formed, and compared with this one
    uint32_t expected, sum;      // the latter of the first summed_bytes
    size_t summed_bytes;
    struct links *links;  // those of the process, with the pool; without one the heap does
};

/* From here on images of up to image_bytes come from a pool, that of *links, if that is worth it
 * and the system has one; else one line says so.  Images of the heap do as well, then.  They may
 * lie on the card of *links, too. */
void images_open(struct images *m, struct links *links, size_t image_bytes);

/* What image_reserve is to use; NULL: the heap. */
struct image_memory *images_memory(struct images *m);

/* Copies the pixels of *image into memory that may be written to and sent, unless they lie
 * in such: in the pool, or on the heap while there is none.  Those on a card come from there,
 * unless it is the pool's.  STATUS_FAILED when memory is out or the pixels were replaced
 * meanwhile. */
enum status images_make_own(struct images *m, struct image *image, struct error *e);

/* Takes the pixels of a frame's message out of it if another process lent them, before
 * anything reads them; the frame that is decoded from it must then be marked. */
void images_borrow(struct images *m, struct message *message);
void images_mark(struct images *m, struct image *image);

/* Between the two: where on the card they lie, if they do.  STATUS_FAILED when they do and cannot
 * be read. */
enum status images_find_on_card(struct images *m, struct error *e);

/* Borrowed pixels are intact only with this sum, which is formed when somebody asks, or says
 * that they have been read: then they may lie in the caches. */
void images_expect(struct images *m, uint32_t sum);

/* How borrowed pixels were until they went back. */
enum images_were { IMAGES_INTACT, IMAGES_REPLACED, IMAGES_DAMAGED };

/* Gives borrowed pixels, if there are any, back. */
enum images_were images_return(struct images *m);

#endif
