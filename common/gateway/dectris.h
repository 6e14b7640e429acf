/* What the messages of the Dectris protocol have in common. */
#ifndef BRAGG_GATEWAY_DECTRIS_H
#define BRAGG_GATEWAY_DECTRIS_H

#include "gateway/cborpack.h"
#include "gateway/protocol.h"

enum { DECTRIS_METADATA_MAX = 65536 };  // bytes of a message beside its arrays

/* Typed arrays, by their tags of RFC 8746. */
enum dectris_type { DECTRIS_U16 = 69, DECTRIS_U32 = 70, DECTRIS_F32 = 85 };

/* Little-endian, the fast axis fastest. */
struct dectris_array {
    size_t slow, fast;
    enum dectris_type type;
    const void *items;
};

/* Room that an array may take in a message; 0 when that is beyond size_t. */
size_t dectris_room(const struct dectris_array *a, int compression);

/* Two dimensions, then the items, packed if asked for. */
void dectris_put_array(struct cborpack *p, const struct dectris_array *a, int compression);

/* Channels of an image, at least one, and the name of one. */
size_t dectris_channels(const struct content_options *o);
enum { DECTRIS_NAME_SIZE = 80 };
const char *dectris_channel(const struct content_options *o, size_t channel,
                            char name[DECTRIS_NAME_SIZE]);

/* STATUS_INPUT: images have two dimensions, so there is one panel. */
enum status dectris_refuse_panels(size_t npanels, struct error *e);

/* The first three pairs of every message. */
void dectris_put_series(struct cborpack *p, const char *type, const struct series *s);

/* The message before the first image. */
enum status dectris_start(const struct content_options *o, const struct experiment *x,
                          const struct frame *f, struct message *m, struct error *e);

#endif
