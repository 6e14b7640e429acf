#include "serve_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gateway/gateway.h"

#define PROTOCOLS "karabo-bridge|crystfel|dectris2"
static const struct protocol *const protocols[] = {&protocol_karabo, &protocol_crystfel,
                                                   &protocol_dectris};

static const double ENERGY_MAX_EV = 1e9;

/* Reads --inject.  Pixels that are not a number need a type of real numbers. */
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

enum status serve_options_settle(struct serve_options *o, const struct protocol **protocol,
                                 struct error *e)
{
    const struct protocol *p = *protocol = protocols[o->protocol];
    if (o->socket < 0)
        o->socket = (int)p->socket;
    if (o->socket == GATEWAY_REP && !p->request)
        return error_set(e, STATUS_USAGE,
                         "--socket=rep: clients of %s never ask for frames; expected push or pub",
                         p->name);
    struct content_options *c = &o->content;
    enum status s = STATUS_OK;
    if (o->thresholds)
        s = parse_list(o->thresholds, CONTENT_THRESHOLDS_MAX, 1, ENERGY_MAX_EV, "--thresholds",
                       c->threshold_eV, &c->nthresholds, e);
    o->content.brief = o->header;
    if (s == STATUS_OK)
        s = settle_faults(o, p, e);
    if (s == STATUS_OK && o->ramp)
        s = ramp_parse(&o->rise, o->ramp, e);
    return s ? s : protocol_settle(p, &o->content, e);
}

#define AT(member) offsetof(struct serve_options, member)

const struct opt serve_options[] = {
    {"protocol", PROTOCOLS, "Protocol of the clients", OPT_CHOICE, AT(protocol),
     .choices = PROTOCOLS},
    {"protocol-version", "V", "karabo-bridge: 2.2 or 1.0 (2.2)", OPT_TEXT,
     .offset = AT(content.version), .needs = "protocol=karabo-bridge"},
    {"bind", "ENDPOINT",
     "Endpoint for clients, required: ipc:///PATH or tcp://127.0.0.1:PORT; port *: any free one",
     OPT_TEXT, .offset = AT(bind), .flags = OPT_REQUIRED},
    {"client-keys", "DIR", "Accept only clients with the key DIR/client.key_secret", OPT_TEXT,
     .offset = AT(client_keys)},
    {"socket", "rep|push|pub",
     "Answer requests, distribute frames, or publish them (rep; dectris2: push)", OPT_CHOICE,
     AT(socket), .choices = "rep|push|pub", .usual = ""},
    {"policy", "wait|drop-new|drop-old",
     "When no client takes a frame: the pipeline waits, or a frame is dropped", OPT_CHOICE,
     AT(policy), .choices = "wait|drop-new|drop-old"},
    {"queue", "N", "Length of the queue in frames; when it is full, a frame is dropped", OPT_INT,
     AT(queue), .min = 1, .max = 65536, .needs = "policy=drop-new|policy=drop-old", .usual = "8"},
    {"geom", "FILE", "crystfel: write the matching geometry file", OPT_TEXT, .offset = AT(geom),
     .needs = "protocol=crystfel"},
    {"cell", "FILE", "crystfel: write the unit cell file", OPT_TEXT, .offset = AT(cell),
     .needs = "protocol=crystfel"},
    {"overwrite", NULL, "Replace existing files of --geom, --cell, --key and --ramp-json", OPT_FLAG,
     .offset = AT(overwrite), .needs = "geom|cell|key|ramp-json"},
    {"peaks", "N", "crystfel: send a list of at most N bright spots (none)", OPT_INT,
     AT(content.peaks), .min = 1, .max = 100000, .needs = "protocol=crystfel"},
    {"truth", NULL, "crystfel: send cell and orientation of the first lattice", OPT_FLAG,
     .offset = AT(content.truth), .needs = "protocol=crystfel"},
    {"linger", "S", "Time that clients have at the end for the frames that are left", OPT_REAL,
     AT(linger_s), .min = 0, .max = 86400, .usual = "5"},
    {"rate", "HZ", "Steady rate, frames per second (as frames come)", OPT_REAL, AT(rate_hz),
     .min = 1e-6, .max = 1e6},
    {"ramp", "FROM:TO:SECONDS",
     "Raise the rate (Hz) until clients fall behind, and print the rate that they sustain",
     OPT_TEXT, .offset = AT(ramp), .excludes = "rate"},
    {"ramp-json", "FILE", "Write the result of --ramp as JSON", OPT_TEXT, .offset = AT(ramp_json),
     .needs = "ramp"},
    {"source", "NAME", "Name of the detector (depends on the protocol)", OPT_TEXT,
     .offset = AT(content.source)},
    {"image-key", "NAME", "Name of the image (depends on the protocol)", OPT_TEXT,
     .offset = AT(content.image_key)},
    {"key", "FILE",
     "Write the ground truth of all messages: a table, or with reflections if FILE ends in .stream",
     OPT_TEXT, .offset = AT(key)},
    {"inject", "KIND:PROBABILITY,...",
     "Send frames with faults: duplicate, drop, swap, truncate, header, nan, type, shape, empty, "
     "stall:P:SECONDS, cut, large (none)",
     OPT_TEXT, .offset = AT(inject)},
    {"inject-seed", "N", "Seed that selects the frames with faults", OPT_INT, AT(seed), .min = 0,
     .max = 4e18, .needs = "inject", .usual = "1"},
    {"first-train", "N", "karabo-bridge: train number of frame 0", OPT_INT, AT(content.first_train),
     .min = 0, .max = 4e18, .needs = "protocol=karabo-bridge", .usual = "10000000000"},
    {"dtype", "auto|float32|uint16|uint32|int32",
     "Type of the pixels; auto: a type of the protocol; a value without an exact form is an error",
     OPT_CHOICE, AT(dtype), .choices = "auto|float32|uint16|uint32|int32"},
    {"compression", CONTENT_COMPRESSIONS, "dectris2: compression of arrays", OPT_CHOICE,
     AT(content.compression), .choices = CONTENT_COMPRESSIONS, .needs = "protocol=dectris2"},
    {"series", "N", "dectris2: number of the series", OPT_INT, AT(number), .min = 0, .max = 4e18,
     .needs = "protocol=dectris2", .usual = "1"},
    {"thresholds", "EV,...",
     "dectris2: one channel per energy; it counts photons above it (one, half the beam's energy)",
     OPT_TEXT, .offset = AT(thresholds), .needs = "protocol=dectris2"},
    {"header-detail", "all|basic", "dectris2: start message with or without mask and flat field",
     OPT_CHOICE, AT(header), .choices = "all|basic", .needs = "protocol=dectris2"},
    {"header-appendix", "TEXT", "dectris2: user data of the start message (none)", OPT_TEXT,
     .offset = AT(content.appendix), .needs = "protocol=dectris2"},
    OPT_END(struct serve_options, given),
};
