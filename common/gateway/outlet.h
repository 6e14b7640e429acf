/*
 * The sockets of a virtual detector: one PUSH socket for clients of each Stream, which stay open
 * for many series, and a PULL socket that takes the messages of the bragg-serve of one series.
 */
#ifndef BRAGG_GATEWAY_OUTLET_H
#define BRAGG_GATEWAY_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum outlet_stream { OUTLET_V1, OUTLET_V2, OUTLET_STREAMS };
enum outlet_kind { OUTLET_NOTHING, OUTLET_START, OUTLET_IMAGE, OUTLET_LOST, OUTLET_END };

/* The message of bragg-serve --mark-lost. */
#define OUTLET_MARK "lost"

struct outlet;

/* Binds the sockets of both Streams at ADDRESS:PORT.  A client that stalls has at most `queue`
 * messages in memory.  The caller must call outlet_close, also after an error.  Returns
 * STATUS_FAILED if a port is not free. */
enum status outlet_open(struct outlet **o, const char *address, const int64_t *ports, int queue,
                        struct error *e);
void outlet_close(struct outlet *o);

/* Connects to the bragg-serve at an endpoint, which need not exist yet.  Returns STATUS_FAILED if
 * libzmq refuses the endpoint. */
enum status outlet_connect(struct outlet *o, const char *endpoint, struct error *e);

/* Takes no further message from that bragg-serve, and releases the current message. */
void outlet_disconnect(struct outlet *o);

/* Does what outlet_disconnect does, but keeps the connection, because a bragg-serve whose last
 * messages no client takes does not end.  Returns an outlet for these messages, which has only
 * outlet_message, outlet_drop and outlet_close.  NULL: not connected, or the current message ends
 * the series. */
struct outlet *outlet_leave(struct outlet *o);

/* Returns the file descriptor that becomes readable when messages arrive.  -1: not connected, or
 * there is a current message. */
int outlet_file(const struct outlet *o);

/* Returns the kind of the current message.  If there is no current message, the next message that
 * has arrived becomes the current one.  OUTLET_NOTHING: no message has arrived.  OUTLET_LOST: an
 * image does not come (--mark-lost of bragg-serve).  Each other message is an image, also a
 * malformed one (--inject). */
enum outlet_kind outlet_message(struct outlet *o);

/* Returns true if the current message is an image whose number can be read, and sets *number. */
bool outlet_number(struct outlet *o, uint64_t *number);

/* Returns the bytes of a part of the current message; NULL if it has no such part. */
const char *outlet_part(struct outlet *o, size_t part, size_t *size);

/* Replaces a part of the current message by a copy of these bytes. */
void outlet_replace(struct outlet *o, size_t part, const void *bytes, size_t size);

/* Overwrites bytes of the first part of the current message, from the byte `at` on.  Does nothing
 * if they are not all within the part. */
void outlet_overwrite(struct outlet *o, size_t at, const void *bytes, size_t size);

/* Sends the current message to a client, and releases it.  Returns false if no client took it. */
bool outlet_send(struct outlet *o, enum outlet_stream stream);

/* --- images that are kept --------------------------------------------------------- */

/* An image, packed as in its message. */
struct outlet_image;

/* The pixels of an image: unsigned integers of `size` bytes, 2 or 4. */
struct outlet_pixels {
    size_t fast, slow, size;
    void *pixels;  // owned
};

/* Returns the image of the current message, which must be one.  Its memory is shared with the
 * message.  The caller frees it with outlet_image_free. */
struct outlet_image *outlet_image_keep(struct outlet *o);
void outlet_image_free(struct outlet_image *image);  // NULL: does nothing

/* Returns the bytes of an image in memory. */
size_t outlet_image_bytes(struct outlet_image *image);

/* Unpacks a channel of an image, counted from 0, into *p.  The caller frees p->pixels with
 * mem_free.  STATUS_INPUT: the image has no such channel, or its message is malformed. */
enum status outlet_image_unpack(struct outlet_image *image, size_t channel, struct outlet_pixels *p,
                                struct error *e);

/* --------------------------------------------------------------------------------- */

/* Releases the current message. */
void outlet_drop(struct outlet *o);

/* Sends clients the message that ends a series.  `unique` is the unique id of V2. */
bool outlet_end(struct outlet *o, enum outlet_stream stream, uint64_t series, const char *unique);

#endif
