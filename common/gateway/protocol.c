#include "gateway/protocol.h"

#include <string.h>

#include "base/alloc.h"
#include "gateway/guard.h"
#include "gateway/peaks.h"

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
    if (strcmp(o->image_key, "metadata") == 0)
        return error_set(e, STATUS_USAGE, "the image cannot have the key 'metadata'");
    return STATUS_OK;
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
    if (o->peaks && !peaks)
        return error_memory(e, "the peaks");
    d.peaks = peaks;
    s = peaks ? peaks_find(x, &f->image, peaks, (size_t)o->peaks, &d.npeaks, e) : STATUS_OK;
    p->describe(o, x, f, &d);
    if (s == STATUS_OK)
        s = guard_check(&d, p->allowed, e);
    if (s == STATUS_OK)
        s = fault_inject_into_delivery(injection, &d, p->allowed, e);
    if (s == STATUS_OK)
        s = p->encode(o, &d, m, e);
    if (s == STATUS_OK)
        fault_inject_into_message(injection, m);
    fault_injection_free(injection);
    mem_free(peaks);
    return s;
}
