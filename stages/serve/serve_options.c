/*
 * The options of bragg-serve, and the list of protocols.
 */
#include <stddef.h>
#include <stdint.h>

#include "serve.h"

#define PROTOCOLS \
    "karabo-bridge|crystfel|dectris1|dectris2|json-array|array-1.0|lclstreamer|jungfraujoch"
static const struct protocol *const protocols[] = {
    &protocol_karabo,     &protocol_crystfel,  &protocol_dectris1,    &protocol_dectris2,
    &protocol_json_array, &protocol_psi_array, &protocol_lclstreamer, &protocol_jungfraujoch};

/* For options of both Streams of Dectris, and of the protocols with the same series. */
#define DECTRIS "protocol=dectris1|protocol=dectris2"
#define SERIES DECTRIS "|protocol=jungfraujoch"
#define SPOTS "protocol=crystfel|protocol=array-1.0|protocol=jungfraujoch"

/* Data sets of a message of LCLStreamer, with the names of its example for MFX. */
#define FIELDS "timestamp:/timestamp,detector_data:/data,photon_wavelength:/wavelength"

static const double ENERGY_MAX_EV = 1e9;

/* Parses --inject.  STATUS_USAGE: the value is invalid, or the fault nan is requested without
 * --dtype=float32, because integers have no NaN. */
static enum status settle_faults(struct serve_options *o, const struct protocol *p, struct error *e)
{
    if (!o->inject)
        return STATUS_OK;
    o->faults.seed = (uint64_t)o->seed;
    enum status s = faults_parse(&o->faults, o->inject, e);
    if (s == STATUS_OK)
        s = faults_check(&o->faults, p->name, p->allowed, e);
    if (s == STATUS_OK && o->faults.probability[FAULT_NAN] > 0 && o->dtype != 1 + PIXEL_F32)
        s = error_set(
            e, STATUS_USAGE,
            "--inject: the fault nan needs --dtype=float32, because integers have no NaN");
    return s;
}

/* Checks --compression, which only some protocols have, and not all kinds of it. */
static enum status check_compression(const struct serve_options *o, const struct protocol *p,
                                     struct error *e)
{
    const int c = o->content.compression;
    const bool lclstreamer = p == &protocol_lclstreamer_hdf5;
    if (c == CONTENT_LZ4 && (p == &protocol_jungfraujoch || lclstreamer))
        return error_set(e, STATUS_USAGE,
                         "--compression=lz4: clients of %s do not read it; expected %s", p->name,
                         lclstreamer ? "bslz4, gzip or none" : "bslz4 or none");
    if (c == CONTENT_GZIP && !lclstreamer)
        return error_set(e, STATUS_USAGE,
                         "--compression=gzip: clients of %s do not read it; expected bslz4%s or "
                         "none",
                         p->name, p == &protocol_jungfraujoch ? "" : ", lz4");
    return STATUS_OK;
}

/* Finds the protocol of --payload, and opens the batch of its frames. */
static enum status settle_payload(struct serve_options *o, const struct protocol **p,
                                  struct batch **batch, struct error *e)
{
    static const enum nxmx_compression packed[] = {[CONTENT_BSLZ4] = NXMX_BSLZ4,
                                                   [CONTENT_LZ4] = NXMX_LZ4,
                                                   [CONTENT_PLAIN] = NXMX_NONE,
                                                   [CONTENT_GZIP] = NXMX_GZIP};
    const bool crystfel = *p == &protocol_crystfel;
    if (o->payload == (crystfel ? PAYLOAD_SIMPLON : PAYLOAD_MSGPACK))
        return error_set(
            e, STATUS_USAGE, "--payload=%s: %s has no such messages; expected %s or hdf5",
            crystfel ? "simplon" : "msgpack", (*p)->name, crystfel ? "msgpack" : "simplon");
    if (o->payload != PAYLOAD_HDF5)
        return STATUS_OK;
    *p = crystfel ? &protocol_crystfel_hdf5 : &protocol_lclstreamer_hdf5;
    if (crystfel)
        return STATUS_OK;
    if (o->batch > 1 && o->inject)
        return error_set(e, STATUS_USAGE,
                         "--inject: a fault concerns one frame, but a message has %d of them; "
                         "expected --batch=1",
                         (int)o->batch);
    const enum status s = batch_open(batch, o->fields ? o->fields : FIELDS, (size_t)o->batch,
                                     packed[o->content.compression], e);
    o->content.batch = *batch;
    return s;
}

enum status serve_options_settle(struct serve_options *o, const struct protocol **protocol,
                                 struct batch **batch, struct error *e)
{
    *protocol = protocols[o->protocol];
    enum status s = settle_payload(o, protocol, batch, e);
    const struct protocol *p = *protocol;
    if (s == STATUS_OK)
        s = check_compression(o, p, e);
    if (s)
        return s;
    if (o->socket < 0)
        o->socket = (int)p->socket;
    if (!o->bind && !o->connect.count)
        return error_set(e, STATUS_USAGE,
                         "give --bind=ENDPOINT for clients that connect, or --connect=ENDPOINT for "
                         "a client that has bound it");
    if (o->connect.count && o->socket == GATEWAY_REP)
        return error_set(e, STATUS_USAGE,
                         "--connect needs --socket=push or pub, because clients that ask connect "
                         "to bragg-serve");
    if (o->socket == GATEWAY_REP && !p->request)
        return error_set(e, STATUS_USAGE,
                         "--socket=rep: clients of %s never ask for frames; expected push or pub",
                         p->name);
    if (o->early_start && !o->dtype)
        return error_set(e, STATUS_USAGE,
                         "--early-start needs --dtype, because the start message has the type of "
                         "the pixels");
    struct content_options *c = &o->content;
    if (o->thresholds)
        s = parse_list(o->thresholds, p->channels, 1, ENERGY_MAX_EV, "EV", "--thresholds",
                       c->threshold_eV, &c->nthresholds, e);
    if (s == STATUS_OK)
        s = settle_faults(o, p, e);
    if (s == STATUS_OK && o->ramp)
        s = ramp_parse(&o->rise, o->ramp, e);
    return s ? s : protocol_settle(p, &o->content, e);
}

#define AT(member) offsetof(struct serve_options, member)

const struct opt serve_options[] = {
    {.doc = "Clients:", .type = OPT_GROUP},
    {"bind", "ENDPOINT",
     "Endpoint for clients, ipc:///PATH or tcp://127.0.0.1:PORT; port *: any free one", OPT_TEXT,
     .offset = AT(bind), .first = true},
    {"protocol", "NAME",
     "Protocol of the clients: karabo-bridge, crystfel, dectris1, dectris2, json-array, "
     "array-1.0, lclstreamer or jungfraujoch",
     OPT_CHOICE, AT(protocol), .choices = PROTOCOLS, .first = true},
    {"protocol-version", "V", "karabo-bridge: 2.2 or 1.0 (2.2)", OPT_TEXT,
     .offset = AT(content.version), .needs = "protocol=karabo-bridge"},
    {"payload", PAYLOADS,
     "Form of the messages: simplon or hdf5 for lclstreamer, msgpack or hdf5 for crystfel "
     "(simplon, msgpack)",
     OPT_CHOICE, AT(payload), .choices = PAYLOADS,
     .needs = "protocol=lclstreamer|protocol=crystfel", .usual = ""},
    {"socket", "rep|push|pub",
     "Answer requests, distribute frames, or publish frames (karabo-bridge and crystfel: rep; "
     "others: push)",
     OPT_CHOICE, AT(socket), .choices = "rep|push|pub", .usual = ""},
    {"connect", "ENDPOINT",
     "Endpoint that a client has bound, instead of --bind, for --socket=push or pub; may be "
     "repeated",
     OPT_TEXTS, .offset = AT(connect), .excludes = "bind"},
    {"topic", "TEXT", "pub: first part of each message, to which clients subscribe, up to 15 bytes",
     OPT_TEXT, .offset = AT(content.topic), .needs = "socket=pub"},
    {"client-keys", "DIR", "Serve only clients with the keys of DIR", OPT_TEXT,
     .offset = AT(client_keys)},
    {.doc = "Rate and lost frames:", .type = OPT_GROUP},
    {"policy", "wait|drop-new|drop-old",
     "When no client takes a frame: the pipeline waits, or bragg-serve drops a frame", OPT_CHOICE,
     AT(policy), .choices = "wait|drop-new|drop-old", .first = true},
    {"queue", "N", "Length of the queue in frames; when it is full, a frame is dropped", OPT_INT,
     AT(queue), .min = 1, .max = 65536, .needs = "policy=drop-new|policy=drop-old", .usual = "8"},
    {"rate", "HZ", "Send frames at a steady rate, in frames per second (as frames come)", OPT_REAL,
     AT(rate_hz), .min = 1e-6, .max = 1e6, .first = true},
    {"ramp", "FROM:TO:SECONDS",
     "Raise the rate (Hz) until clients fall behind, and print the rate that clients sustain",
     OPT_TEXT, .offset = AT(ramp), .excludes = "rate"},
    {"ramp-json", "FILE", "Write the result of --ramp as JSON", OPT_TEXT, .offset = AT(ramp_json),
     .needs = "ramp"},
    {"linger", "S", "Time that clients have at the end of the run for the last frames, in seconds",
     OPT_REAL, AT(linger_s), .min = 0, .max = 86400, .usual = "5"},
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores, at most 16)",
     OPT_INT, AT(threads), .min = 1, .max = 1024},
    {.doc = "Images:", .type = OPT_GROUP},
    {"dtype", "auto|float32|uint16|uint32|int32",
     "Type of the pixels; auto: a type of the protocol; a value without an exact form is an error",
     OPT_CHOICE, AT(dtype), .choices = "auto|float32|uint16|uint32|int32", .first = true},
    {"source", "NAME", "Name of the detector (depends on the protocol)", OPT_TEXT,
     .offset = AT(content.source)},
    {"image-key", "NAME", "Name of the image (depends on the protocol)", OPT_TEXT,
     .offset = AT(content.image_key),
     .excludes = "protocol=dectris1 protocol=jungfraujoch payload=hdf5"},
    {.doc = "CrystFEL:", .type = OPT_GROUP},
    {"geom", "FILE", "crystfel: write the matching geometry file", OPT_TEXT, .offset = AT(geom),
     .needs = "protocol=crystfel", .first = true},
    {"cell", "FILE", "crystfel: write the unit cell file", OPT_TEXT, .offset = AT(cell),
     .needs = "protocol=crystfel", .first = true},
    {"peaks", "N",
     "crystfel, array-1.0, jungfraujoch: send a list of at most N bright spots (none)", OPT_INT,
     AT(content.peaks), .min = 1, .max = 100000, .needs = SPOTS, .excludes = "payload=hdf5"},
    {"truth", NULL,
     "crystfel: send cell and orientation of the first lattice; array-1.0: send is_hit_frame; "
     "jungfraujoch: send indexing_result and the cell",
     OPT_FLAG, .offset = AT(content.truth), .needs = SPOTS},
    {.doc = "LCLStreamer:", .type = OPT_GROUP},
    {"batch", "N",
     "lclstreamer with --payload=hdf5: frames in a message; the last one may have fewer", OPT_INT,
     AT(batch), .min = 1, .max = BATCH_MAX, .needs = "payload=hdf5",
     .excludes = "protocol=crystfel", .usual = "1"},
    {"fields", "NAME:/PATH,...",
     "lclstreamer with --payload=hdf5: values of a frame, each with the path of its data set "
     "(timestamp:/timestamp, detector_data:/data, photon_wavelength:/wavelength)",
     OPT_TEXT, .offset = AT(fields), .needs = "payload=hdf5", .excludes = "protocol=crystfel"},
    {.doc = "karabo-bridge:", .type = OPT_GROUP},
    {"first-train", "N", "karabo-bridge: train number of frame 0", OPT_INT, AT(content.first_train),
     .min = 0, .max = 4e18, .needs = "protocol=karabo-bridge", .usual = "10000000000"},
    {.doc = "Dectris:", .type = OPT_GROUP},
    {"compression", CONTENT_COMPRESSIONS,
     "dectris1, dectris2, jungfraujoch, lclstreamer with --payload=hdf5: compression of images; "
     "lz4 is only in dectris1 and dectris2, gzip only in lclstreamer",
     OPT_CHOICE, AT(content.compression), .choices = CONTENT_COMPRESSIONS,
     .needs = SERIES "|payload=hdf5", .excludes = "protocol=crystfel"},
    {"series", "N", "dectris1, dectris2, lclstreamer, jungfraujoch: number of the series", OPT_INT,
     AT(number), .min = 0, .max = 4e18, .needs = SERIES "|protocol=lclstreamer",
     .excludes = "payload=hdf5", .usual = "1"},
    {"frame-time", "S",
     "dectris1, dectris2, jungfraujoch: time between two images that messages report, in s "
     "(1/--rate, or --exposure of bragg-geometry)",
     OPT_REAL, AT(frame_time_s), .min = 1e-6, .max = 3601, .needs = SERIES,
     .excludes = "rate|ramp"},
    {"count-time", "S",
     "dectris1, dectris2, jungfraujoch: exposure of an image that messages report, in s "
     "(--exposure of bragg-geometry, or --frame-time without 100 ns)",
     OPT_REAL, AT(count_time_s), .min = 1e-7, .max = 3601, .needs = "frame-time"},
    {"thresholds", "EV,...",
     "dectris2: one channel per energy, which counts photons above the energy; dectris1: one "
     "energy "
     "(one, half the beam's energy)",
     OPT_TEXT, .offset = AT(thresholds), .needs = DECTRIS},
    {"first-channel", "N", "dectris2: number in the name of the first channel", OPT_INT,
     AT(content.first_channel), .min = 1, .max = 8, .needs = "protocol=dectris2", .usual = "1"},
    {"header-detail", CONTENT_DETAILS,
     "dectris1, dectris2: start message with settings, mask and flat field, with settings, or with "
     "neither (dectris2: none means basic)",
     OPT_CHOICE, AT(content.detail), .choices = CONTENT_DETAILS, .needs = DECTRIS},
    {"pixel-mask", "FILE",
     "dectris1, dectris2, jungfraujoch: mask words that are added to the mask of the detector: raw "
     "little-endian uint32 (none)",
     OPT_TEXT, .offset = AT(pixel_mask), .flags = OPT_INPUT, .needs = SERIES},
    {"mask-to-zero", NULL, "dectris1, dectris2: masked pixels are 0 instead of the largest value",
     OPT_FLAG, .offset = AT(mask_to_zero), .needs = DECTRIS},
    {"early-start", NULL,
     "dectris1, dectris2, jungfraujoch: send the start message before the first frame, with axes "
     "at 0 and an unknown number of images (0)",
     OPT_FLAG, .offset = AT(early_start), .needs = SERIES, .excludes = "geom|cell"},
    {"header-appendix", "TEXT",
     "dectris1, dectris2, jungfraujoch: user data of the start message (none)", OPT_TEXT,
     .offset = AT(content.header_appendix), .needs = SERIES},
    {"image-appendix", "TEXT",
     "dectris1, dectris2, jungfraujoch: user data of each image (none; dectris2: the ground truth)",
     OPT_TEXT, .offset = AT(content.image_appendix), .needs = SERIES},
    {.doc = "Jungfraujoch:", .type = OPT_GROUP},
    {"metadata", "ENDPOINT",
     "jungfraujoch: endpoint of a second socket, which publishes the metadata of images without "
     "the images (none)",
     OPT_TEXT, .offset = AT(metadata), .needs = "protocol=jungfraujoch"},
    {"magic", "N", "jungfraujoch: magic number of the start message, which jfjoch_writer compares",
     OPT_INT, AT(content.magic), .min = 0, .max = 4e18, .needs = "protocol=jungfraujoch"},
    {.doc = "Ground truth and faults:", .type = OPT_GROUP},
    {"sent", "FILE",
     "Write the ground truth of all messages: a table, or with reflections if FILE ends in .stream",
     OPT_TEXT, .offset = AT(sent), .first = true},
    {"inject", "KIND:PROBABILITY,...",
     "Send frames with faults: duplicate, drop, swap, truncate, header, nan, type, shape, empty, "
     "stall:P:SECONDS, cut, large, lie (none)",
     OPT_TEXT, .offset = AT(inject)},
    {"mark-lost", NULL,
     "dectris1, dectris2: send the text 'lost' instead of an image that --inject drops or holds "
     "back",
     OPT_FLAG, .offset = AT(mark_lost), .needs = DECTRIS},
    {"inject-seed", "N", "Seed that selects the frames with faults", OPT_INT, AT(seed), .min = 0,
     .max = 4e18, .needs = "inject", .usual = "1"},
    {.doc = "Existing files:", .type = OPT_GROUP},
    {"overwrite", NULL, "Replace existing files of --geom, --cell, --sent and --ramp-json",
     OPT_FLAG, .offset = AT(overwrite), .needs = "geom|cell|sent|ramp-json", .first = true},
    OPT_END(struct serve_options, given),
};
