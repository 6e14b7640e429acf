/* Counts of the objects that a plan has made, found and copied on its GPU, for --stats. */
#include <string.h>

#include "gpu/plan.h"

size_t gpu_plan_counts(const struct plan *p, struct engine_count counts[ENGINE_COUNTS])
{
    const struct gpu_counts *c = &p->counts;
    const struct engine_count all[] = {
        {"card_tables_made", !p->after},
        {"card_tables_found", c->tables_found},
        {"card_buffers_made", c->buffers_made},
        {"card_buffers_found", c->buffers_found},
        {"card_backgrounds_made", c->backgrounds_made},
        {"card_backgrounds_found", c->backgrounds_found},
        {"card_upload_bytes", c->upload_bytes},
        {"card_places_pinned", c->places_pinned},
    };
    _Static_assert(sizeof all / sizeof *all <= ENGINE_COUNTS, "room for all");
    memcpy(counts, all, sizeof all);
    return sizeof all / sizeof *all;
}

enum status gpu_upload(struct plan *p, void *to, const void *from, size_t bytes, struct error *e)
{
    p->counts.upload_bytes += bytes;
    return p->device->upload(p->context, to, from, bytes, e);
}
