#include "gateway/outlet.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "base/alloc.h"
#include "codec/bslz4.h"
#include "gateway/pack.h"

enum { OUTLET_PARTS = 12, OUTLET_AHEAD = 40, SELF = 55799 };  // SELF: the tag of CBOR

struct outlet {
    void *context, *source, *streams[OUTLET_STREAMS];
    zmq_msg_t parts[OUTLET_PARTS];
    size_t nparts;
    enum outlet_kind kind;
};

static void set_option(void *socket, int option, int value)
{
    (void)zmq_setsockopt(socket, option, &value, sizeof value);
}

static enum status bind_stream(struct outlet *o, int stream, const char *address, int64_t port,
                               int queue, struct error *e)
{
    char endpoint[64];
    void *socket = o->streams[stream] = zmq_socket(o->context, ZMQ_PUSH);
    if (!socket)
        return error_memory(e, "a socket");
    set_option(socket, ZMQ_SNDHWM, queue);
    set_option(socket, ZMQ_LINGER, 0);
    (void)snprintf(endpoint, sizeof endpoint, "tcp://%s:%" PRId64, address, port);
    if (zmq_bind(socket, endpoint) == 0)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED, "--%s-port=%" PRId64 ": cannot listen at %s: %s%s",
                     stream == OUTLET_V1 ? "legacy" : "cbor", port, endpoint,
                     zmq_strerror(zmq_errno()),
                     zmq_errno() == EADDRINUSE ? ". Give another port" : "");
}

enum status outlet_open(struct outlet **opened, const char *address, const int64_t *ports,
                        int queue, struct error *e)
{
    struct outlet *o = *opened = mem_array(1, sizeof *o);
    o->context = zmq_ctx_new();
    if (!o->context)
        return error_memory(e, "the sockets");
    enum status s = STATUS_OK;
    for (int i = 0; i < OUTLET_STREAMS && s == STATUS_OK; i++)
        s = bind_stream(o, i, address, ports[i], queue, e);
    return s;
}

void outlet_close(struct outlet *o)
{
    if (!o)
        return;
    outlet_disconnect(o);
    for (int i = 0; i < OUTLET_STREAMS; i++)
        if (o->streams[i])
            (void)zmq_close(o->streams[i]);
    if (o->context)
        (void)zmq_ctx_term(o->context);
    mem_free(o);
}

enum status outlet_connect(struct outlet *o, const char *endpoint, struct error *e)
{
    outlet_disconnect(o);
    o->source = zmq_socket(o->context, ZMQ_PULL);
    if (!o->source)
        return error_memory(e, "a socket");
    set_option(o->source, ZMQ_RCVHWM, OUTLET_AHEAD);
    set_option(o->source, ZMQ_LINGER, 0);
    set_option(o->source, ZMQ_RECONNECT_IVL, 10);
    return zmq_connect(o->source, endpoint) == 0
               ? STATUS_OK
               : error_set(e, STATUS_FAILED, "cannot connect to %s: %s", endpoint,
                           zmq_strerror(zmq_errno()));
}

void outlet_disconnect(struct outlet *o)
{
    outlet_drop(o);
    if (o->source)
        (void)zmq_close(o->source);
    o->source = NULL;
}

struct outlet *outlet_leave(struct outlet *o)
{
    struct outlet *rest = NULL;
    if (o->source && o->kind != OUTLET_END) {
        rest = mem_array(1, sizeof *rest);
        rest->source = o->source;
        o->source = NULL;
    }
    outlet_disconnect(o);
    return rest;
}

int outlet_file(const struct outlet *o)
{
    int file = -1;
    size_t size = sizeof file;
    if (o->source && !o->kind)
        (void)zmq_getsockopt(o->source, ZMQ_FD, &file, &size);
    return file;
}

/* --- the current message ------------------------------------------------------- */

/* Returns true if the first part begins with a text, apart from the bytes before it. */
static bool begins_with(struct outlet *o, const char *text)
{
    enum { BEFORE = 32 };
    const size_t size = zmq_msg_size(&o->parts[0]);
    return memmem(zmq_msg_data(&o->parts[0]), size < BEFORE ? size : BEFORE, text, strlen(text));
}

static enum outlet_kind find_kind(struct outlet *o)
{
    if (begins_with(o, "dheader-1.0") || begins_with(o, "dtype\x65start"))
        return OUTLET_START;
    if (begins_with(o, "dseries_end-1.0") || begins_with(o, "dtype\x63"
                                                            "end"))
        return OUTLET_END;
    const size_t size = zmq_msg_size(&o->parts[0]);
    return o->nparts == 1 && size == sizeof OUTLET_MARK - 1 &&
                   memcmp(zmq_msg_data(&o->parts[0]), OUTLET_MARK, size) == 0
               ? OUTLET_LOST
               : OUTLET_IMAGE;
}

enum outlet_kind outlet_message(struct outlet *o)
{
    if (o->kind || !o->source)
        return o->kind;
    for (bool more = true; more && o->nparts < OUTLET_PARTS;) {
        zmq_msg_t *part = &o->parts[o->nparts];
        (void)zmq_msg_init(part);
        if (zmq_msg_recv(part, o->source, ZMQ_DONTWAIT) < 0) {
            (void)zmq_msg_close(part);
            break;
        }
        more = zmq_msg_more(part);
        o->nparts++;
    }
    return o->kind = o->nparts ? find_kind(o) : OUTLET_NOTHING;
}

const char *outlet_part(struct outlet *o, size_t part, size_t *size)
{
    *size = part < o->nparts ? zmq_msg_size(&o->parts[part]) : 0;
    return part < o->nparts ? zmq_msg_data(&o->parts[part]) : NULL;
}

void outlet_replace(struct outlet *o, size_t part, const void *bytes, size_t size)
{
    zmq_msg_t copy;
    if (part >= o->nparts || zmq_msg_init_size(&copy, size) != 0)
        return;
    memcpy(zmq_msg_data(&copy), bytes, size);
    (void)zmq_msg_close(&o->parts[part]);
    o->parts[part] = copy;
}

void outlet_overwrite(struct outlet *o, size_t at, const void *bytes, size_t size)
{
    const size_t whole = o->nparts ? zmq_msg_size(&o->parts[0]) : 0;
    if (at <= whole && size <= whole - at)
        memcpy((char *)zmq_msg_data(&o->parts[0]) + at, bytes, size);
}

void outlet_drop(struct outlet *o)
{
    for (size_t i = 0; i < o->nparts; i++)
        (void)zmq_msg_close(&o->parts[i]);
    o->nparts = 0;
    o->kind = OUTLET_NOTHING;
}

bool outlet_send(struct outlet *o, enum outlet_stream stream)
{
    bool sent = true;
    for (size_t i = 0; sent && i < o->nparts; i++) {
        const int more = i + 1 < o->nparts ? ZMQ_SNDMORE : 0;
        sent = zmq_msg_send(&o->parts[i], o->streams[stream], ZMQ_DONTWAIT | more) >= 0;
    }
    outlet_drop(o);
    return sent;
}

/* --- images that are kept ------------------------------------------------------- */

struct outlet_image {
    bool cbor;  // V2: one part, else the form and the pixels of V1
    zmq_msg_t parts[2];
};

struct outlet_image *outlet_image_keep(struct outlet *o)
{
    struct outlet_image *image = mem_array(1, sizeof *image);
    image->cbor = o->nparts < 3;
    for (size_t i = 0; i < 2; i++) {
        const size_t part = image->cbor ? 0 : 1 + i;
        (void)zmq_msg_init(&image->parts[i]);
        (void)zmq_msg_copy(&image->parts[i], &o->parts[part]);
    }
    return image;
}

void outlet_image_free(struct outlet_image *image)
{
    for (size_t i = 0; image && i < 2; i++)
        (void)zmq_msg_close(&image->parts[i]);
    mem_free(image);
}

size_t outlet_image_bytes(struct outlet_image *image)
{
    return zmq_msg_size(&image->parts[1]);
}

/* Packed pixels: bytes, and the name of their compression in V1. */
struct packed_pixels {
    const uint8_t *bytes;
    size_t length;
    const char *coding;
    bool framed;  // LZ4 in blocks, as in V2
};

static enum status malformed(struct error *e)
{
    return error_set(e, STATUS_INPUT, "the message of the image is malformed");
}

/* Unpacks pixels, whose numbers and size in *p are known.  LZ4 packs at most 255 bytes into one, so
 * a size that is damaged needs no memory. */
static enum status unpack(const struct packed_pixels *from, struct outlet_pixels *p,
                          struct error *e)
{
    enum { RATIO_MAX = 256 };
    size_t count, bytes;
    if ((p->size != 2 && p->size != 4) || !size_multiply(p->fast, p->slow, &count) || !count ||
        !size_multiply(count, p->size, &bytes) || bytes / RATIO_MAX > from->length ||
        !(p->pixels = mem_try_room(bytes)))
        return malformed(e);
    enum status s = STATUS_OK;
    if (strncmp(from->coding, "bs", 2) == 0)
        s = bslz4_decompress(from->bytes, from->length, p->pixels, count, p->size, e);
    else if (strncmp(from->coding, "lz4", 3) == 0 && from->framed)
        s = lz4_blocks_decompress(from->bytes, from->length, p->pixels, bytes, e);
    else if (strncmp(from->coding, "lz4", 3) == 0)
        s = lz4_block_decompress(from->bytes, from->length, p->pixels, bytes) ? STATUS_OK
                                                                              : malformed(e);
    else if (from->length == bytes)
        memcpy(p->pixels, from->bytes, bytes);
    else
        s = malformed(e);
    if (s) {
        mem_free(p->pixels);
        p->pixels = NULL;
    }
    return s;
}

static enum status unpack_v1(struct outlet_image *image, struct outlet_pixels *p, struct error *e)
{
    json_int_t fast, slow;
    const char *type;
    struct packed_pixels from = {.bytes = zmq_msg_data(&image->parts[1]),
                                 .length = zmq_msg_size(&image->parts[1])};
    json_t *form =
        json_loadb(zmq_msg_data(&image->parts[0]), zmq_msg_size(&image->parts[0]), 0, NULL);
    enum status s = malformed(e);
    if (json_unpack(form, "{s:[II],s:s,s:s}", "shape", &fast, &slow, "type", &type, "encoding",
                    &from.coding) == 0 &&
        fast > 0 && slow > 0) {
        p->fast = (size_t)fast;
        p->slow = (size_t)slow;
        p->size = strcmp(type, "uint16") == 0 ? 2 : strcmp(type, "uint32") == 0 ? 4 : 0;
        s = unpack(&from, p, e);
    }
    json_decref(form);
    return s;
}

/* Goes to the value of a key of the map that follows. */
static void find_key(struct cborread *r, const char *key)
{
    size_t size;
    for (uint64_t left = cborread_item(r, CBORREAD_MAP); left && !r->failed; left--) {
        const uint8_t *name = cborread_string(r, CBORREAD_TEXT, &size);
        if (size == strlen(key) && memcmp(name, key, size) == 0)
            return;
        cborread_skip(r);
    }
    r->failed = true;
}

/* Reads an array of two dimensions with the tags of RFC 8746 and of Dectris. */
static void read_array(struct cborread *r, struct outlet_pixels *p, struct packed_pixels *from)
{
    enum { DIMENSIONS = 40, U16 = 69, U32 = 70, COMPRESSED = 56500 };
    size_t size;
    r->failed |= cborread_item(r, CBORREAD_TAG) != DIMENSIONS ||
                 cborread_item(r, CBORREAD_ARRAY) != 2 || cborread_item(r, CBORREAD_ARRAY) != 2;
    p->slow = (size_t)cborread_item(r, CBORREAD_UINT);
    p->fast = (size_t)cborread_item(r, CBORREAD_UINT);
    const uint64_t type = cborread_item(r, CBORREAD_TAG);
    p->size = type == U16 ? 2 : type == U32 ? 4 : 0;
    from->coding = "";
    from->framed = true;
    if (!r->failed && r->at < r->end && *r->at >> 5 == CBORREAD_TAG) {
        r->failed |=
            cborread_item(r, CBORREAD_TAG) != COMPRESSED || cborread_item(r, CBORREAD_ARRAY) != 3;
        const uint8_t *name = cborread_string(r, CBORREAD_TEXT, &size);
        from->coding = size == 5 && memcmp(name, "bslz4", 5) == 0 ? "bs" : "lz4";
        (void)cborread_item(r, CBORREAD_UINT);
    }
    from->bytes = cborread_string(r, CBORREAD_BYTES, &from->length);
}

static enum status unpack_v2(struct outlet_image *image, size_t channel, struct outlet_pixels *p,
                             struct error *e)
{
    struct packed_pixels from;
    const uint8_t *begin = zmq_msg_data(&image->parts[0]);
    struct cborread r = {.at = begin, .end = begin + zmq_msg_size(&image->parts[0])};
    r.failed = cborread_item(&r, CBORREAD_TAG) != SELF;
    find_key(&r, "data");
    r.failed |= channel >= cborread_item(&r, CBORREAD_MAP);
    for (size_t i = 0; i < channel && !r.failed; i++) {
        cborread_skip(&r);
        cborread_skip(&r);
    }
    cborread_skip(&r);
    read_array(&r, p, &from);
    return r.failed ? malformed(e) : unpack(&from, p, e);
}

enum status outlet_image_unpack(struct outlet_image *image, size_t channel, struct outlet_pixels *p,
                                struct error *e)
{
    *p = (struct outlet_pixels){0};
    return image->cbor ? unpack_v2(image, channel, p, e)
           : channel   ? malformed(e)
                       : unpack_v1(image, p, e);
}

/* --- the number of an image ------------------------------------------------------ */

static bool number_v1(struct outlet *o, uint64_t *number)
{
    json_t *head = json_loadb(zmq_msg_data(&o->parts[0]), zmq_msg_size(&o->parts[0]), 0, NULL);
    const json_t *frame = json_object_get(head, "frame");
    const bool known = json_is_integer(frame) && json_integer_value(frame) >= 0;
    *number = known ? (uint64_t)json_integer_value(frame) : 0;
    json_decref(head);
    return known;
}

static bool number_v2(struct outlet *o, uint64_t *number)
{
    const uint8_t *begin = zmq_msg_data(&o->parts[0]);
    struct cborread r = {.at = begin, .end = begin + zmq_msg_size(&o->parts[0])};
    r.failed = cborread_item(&r, CBORREAD_TAG) != SELF;
    find_key(&r, "image_id");
    *number = cborread_item(&r, CBORREAD_UINT);
    return !r.failed;
}

bool outlet_number(struct outlet *o, uint64_t *number)
{
    return o->kind == OUTLET_IMAGE && (o->nparts < 3 ? number_v2 : number_v1)(o, number);
}

/* --- the end of a series --------------------------------------------------------- */

/* Writes a number of CBOR with eight bytes. */
static size_t put_number(unsigned char *to, uint64_t value)
{
    to[0] = 0x1b;
    for (int i = 0; i < 8; i++)
        to[1 + i] = (unsigned char)(value >> (56 - 8 * i));
    return 9;
}

static size_t put_bytes(unsigned char *to, const char *bytes, size_t size)
{
    memcpy(to, bytes, size);
    return size;
}

bool outlet_end(struct outlet *o, enum outlet_stream stream, uint64_t series, const char *unique)
{
    static const char head[] = "\xd9\xd9\xf7\xa3\x64type\x63"
                               "end\x69series_id";
    static const char middle[] = "\x70series_unique_id\x78";
    unsigned char text[160];
    size_t n = 0;
    if (stream == OUTLET_V1) {
        n = (size_t)snprintf((char *)text, sizeof text,
                             "{\"htype\":\"dseries_end-1.0\",\"series\":%" PRIu64 "}", series);
    } else {
        n += put_bytes(text, head, sizeof head - 1);
        n += put_number(text + n, series);
        n += put_bytes(text + n, middle, sizeof middle - 1);
        text[n++] = (unsigned char)strlen(unique);
        n += put_bytes(text + n, unique, strlen(unique));
    }
    return zmq_send(o->streams[stream], text, n, ZMQ_DONTWAIT) >= 0;
}
