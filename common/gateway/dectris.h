/* The common parts of all messages of the Dectris protocol. */
#ifndef BRAGG_GATEWAY_DECTRIS_H
#define BRAGG_GATEWAY_DECTRIS_H

#include "gateway/cborpack.h"
#include "gateway/protocol.h"

enum { DECTRIS_METADATA_MAX = 65536 };  // bytes of a message without its arrays

/* The types of arrays, with their tags of RFC 8746. */
enum dectris_type { DECTRIS_U16 = 69, DECTRIS_U32 = 70, DECTRIS_F32 = 85 };

/* An array of slow x fast items, little-endian, whose fast axis varies fastest. */
struct dectris_array {
    size_t slow, fast;
    enum dectris_type type;
    const void *items;  // borrowed
};

/* Bytes that an array takes at most in a message with this compression (enum content_compression).
 * 0 if they exceed size_t. */
size_t dectris_room(const struct dectris_array *a, int compression);

/* Writes an array of two dimensions with this compression (enum content_compression). */
void dectris_put_array(struct cborpack *p, const struct dectris_array *a, int compression);

/* The number of channels of an image, at least one. */
size_t dectris_channels(const struct content_options *o);

/* Writes the name of a channel, counted from 0, into `name`, and returns `name`. */
enum { DECTRIS_NAME_SIZE = 80 };
const char *dectris_channel(const struct content_options *o, size_t channel,
                            char name[DECTRIS_NAME_SIZE]);

/* Returns STATUS_INPUT: a detector of several panels does not fit into an image of two
 * dimensions. */
enum status dectris_refuse_panels(size_t npanels, struct error *e);

/* Writes the first three pairs, which all messages have in common. */
void dectris_put_series(struct cborpack *p, const char *type, const struct series *s);

/* Makes the message before the first image, in *m, which was empty.  *f is the first frame.
 * STATUS_INPUT if the detector or a value does not fit the protocol, STATUS_FAILED when memory is
 * out. */
enum status dectris_start(const struct content_options *o, const struct experiment *x,
                          const struct frame *f, struct message *m, struct error *e);

#endif
