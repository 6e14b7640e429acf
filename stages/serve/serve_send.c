#include "serve_send.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

void sender_warn(const struct sender *s, const char *text)
{
    if (s->injects)
        log_line(LOG_WARNING, "--inject=%s, seed %" PRIu64 ": clients get frames with faults", text,
                 s->faults.seed);
}

enum fault sender_draw(const struct sender *s, uint64_t frame)
{
    const enum fault fault = s->injects ? faults_draw(&s->faults, frame) : FAULT_NONE;
    const bool holds = s->held.message.nparts;
    return fault == FAULT_SWAP && holds ? FAULT_NONE
                                        : fault;  // the frame is part of a swap already
}

void outgoing_free(struct outgoing *o)
{
    message_free(&o->message);
    key_row_free(o->row);
    *o = (struct outgoing){0};
}

static enum status offer(struct sender *s, struct outgoing *o, struct error *e)
{
    const enum status status = serve_key_offer(s->key, o->row, e);
    o->row = NULL;
    if (status)
        outgoing_free(o);
    return status ? status : gateway_offer(s->gateway, &o->message, e);
}

enum status sender_flush(struct sender *s, struct error *e)
{
    struct outgoing held = s->held;
    s->held = (struct outgoing){0};
    return held.message.nparts ? offer(s, &held, e) : STATUS_OK;
}

static enum status withhold(struct sender *s, struct outgoing *o, struct error *e)
{
    const enum status status = serve_key_withhold(s->key, o->row, e);
    o->row = NULL;
    outgoing_free(o);
    return status;
}

enum status sender_send(struct sender *s, struct outgoing *o, enum fault fault, struct error *e)
{
    s->counts[fault]++;
    if (fault == FAULT_SWAP) {
        s->held = *o;
        return STATUS_OK;
    }
    if (fault == FAULT_STALL)
        gateway_wait_until(s->gateway, clock_ns() + (uint64_t)(s->faults.stall_s * 1e9));
    if (fault == FAULT_CUT)
        gateway_cut(s->gateway);
    const enum status status = fault == FAULT_DROP ? withhold(s, o, e) : offer(s, o, e);
    return status ? status : sender_flush(s, e);
}

void sender_report(const struct sender *s)
{
    char text[300] = "";
    size_t n = 0;
    for (int i = 1; i < FAULT_KINDS; i++)
        if (s->faults.probability[i] > 0 && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %" PRIu64, n ? ", " : "",
                                  fault_name((enum fault)i), s->counts[i]);
    if (s->injects)
        log_line(LOG_WARNING, "--inject: faults in %s", n ? text : "no frame");
}
