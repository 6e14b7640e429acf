#include "gateway/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "gateway/delivery.h"
#include "gateway/pack.h"

enum { TOPIC_BYTES = 15 };

enum status protocol_settle(const struct protocol *p, struct content_options *o, struct error *e)
{
    const char *const *version = p->versions;
    while (o->version && *version && strcmp(*version, o->version) != 0)
        version++;
    if (!*version)
        return error_set(e, STATUS_USAGE, "%s has no version '%.20s'; the newest is %s", p->name,
                         o->version, p->versions[0]);
    o->version = *version;
    o->source = o->source ? o->source : p->source;
    o->image_key = o->image_key ? o->image_key : p->image_key;
    const size_t topic = o->topic ? strlen(o->topic) : 1;
    if (topic < 1 || topic > TOPIC_BYTES)
        return error_set(e, STATUS_USAGE,
                         "--topic has %zu bytes; expected 1 to %d, because CrystFEL takes a longer "
                         "part for a frame",
                         topic, TOPIC_BYTES);
    if (strcmp(o->image_key, "metadata") == 0)
        return error_set(
            e, STATUS_USAGE,
            "--image-key=metadata: messages have metadata of this name; expected another "
            "name");
    return STATUS_OK;
}

enum status protocol_topic(const struct content_options *o, struct message *m, struct error *e)
{
    const enum status s = o->topic ? pack_copy(m, o->topic, strlen(o->topic), e) : STATUS_OK;
    if (s || !o->topic)
        return s;
    const struct part topic = m->parts[m->nparts - 1];
    memmove(m->parts + 1, m->parts, (m->nparts - 1) * sizeof *m->parts);
    m->parts[0] = topic;
    return STATUS_OK;
}

enum status protocol_start(const struct protocol *p, const struct content_options *o,
                           const struct experiment *x, const struct frame *f, struct message *m,
                           struct error *e)
{
    const enum status s = p->start(o, x, f, m, e);
    return s ? s : protocol_topic(o, m, e);
}

enum status protocol_end(const struct protocol *p, const struct content_options *o,
                         struct message *m, struct error *e)
{
    const enum status s = p->end ? p->end(o, m, e) : STATUS_OK;
    return s || !p->end ? s : protocol_topic(o, m, e);
}

enum status protocol_message(const struct protocol *p, const struct content_options *o,
                             const struct experiment *x, const struct frame *f, uint64_t time_ns,
                             struct fault_injection *injection, struct message *m, struct error *e)
{
    struct delivery d;
    enum status s = delivery_start(&d, o->image_key, x, f, time_ns, e);
    if (s)
        return s;
    struct peak *peaks = o->peaks ? mem_array((size_t)o->peaks, sizeof *peaks) : NULL;
    d.peaks = peaks;
    if (peaks)
        d.npeaks = peaks_find(x, &f->image, peaks, (size_t)o->peaks);
    p->describe(o, x, f, &d);
    s = delivery_check(&d, p->allowed, e);
    if (s == STATUS_OK)
        s = fault_inject_into_delivery(injection, &d, p->allowed, e);
    if (s == STATUS_OK)
        s = p->encode(o, &d, m, e);
    if (s == STATUS_OK && m->nparts) {
        fault_inject_into_message(injection, m);
        s = protocol_topic(o, m, e);
    }
    fault_injection_free(injection);
    mem_free(peaks);
    return s;
}

/* --- series -------------------------------------------------------------------- */

enum { TIME_DIGITS = 10, OTHER_DIGITS = 16, BITS = 5 };

/* Writes the lowest `count` digits of a number in Crockford's base 32, most significant first,
 * without a terminator. */
static void put_digits(char *to, unsigned __int128 value, int count)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    while (count--) {
        to[count] = digits[(unsigned)value % (1u << BITS)];
        value >>= BITS;
    }
}

void series_start(struct series *s, uint64_t now_ns, const char *lineage)
{
    const uint64_t ms = now_ns / 1000000, below_ms = now_ns % 1000000 / 16;  // 16 bits
    const uint64_t recipe = strtoull(lineage, NULL, 16);
    s->start_ns = now_ns;
    put_digits(s->unique_id, ms, TIME_DIGITS);
    put_digits(s->unique_id + TIME_DIGITS, (unsigned __int128)below_ms << 64 | recipe,
               OTHER_DIGITS);
    s->unique_id[TIME_DIGITS + OTHER_DIGITS] = '\0';
}
