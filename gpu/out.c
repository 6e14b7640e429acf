/* Buffers of pixels on the card: photons and, if `afterwards` has them, background and counts. */
#include "gpu/plan.h"

static void release(struct plan *p)
{
    for (int i = 0; i < GPU_OUTS; i++) {
        p->device->release(p->context, p->out[i]);
        p->out[i] = NULL;
    }
}

void gpu_drop_out(struct plan *p)
{
    release(p);
    p->afterwards.has_background = false;
}

/* All buffers of so many rows, or none. */
static enum status reserve(struct plan *p, int64_t rows, struct error *e)
{
    const size_t pixels = (size_t)(rows * p->widest);
    enum status s = STATUS_OK;
    for (int i = 0; i < GPU_OUTS && !s; i++)
        if (p->out_bytes[i])
            s = p->device->reserve(p->context, pixels * p->out_bytes[i], &p->out[i], e);
    if (s)
        release(p);
    return s;
}

/* 1/16 of the memory is left to other processes.  If another process has taken memory that was free
 * a moment ago, half as many rows are tried. */
enum status gpu_open_out(struct plan *p, struct error *e)
{
    size_t room, row = 0;
    p->counts.buffers_found += p->out[OUT_PHOTONS] != NULL;
    if (p->out[OUT_PHOTONS])
        return STATUS_OK;
    p->counts.buffers_made++;
    const enum status status = p->device->room(p->context, &room, e);
    if (status)
        return status;
    for (int i = 0; i < GPU_OUTS; i++)
        row += (size_t)p->widest * p->out_bytes[i];
    const size_t rows = (room - room / 16) / row;
    p->out_rows = rows < 1 ? 1 : rows < (size_t)p->rows ? (int64_t)rows : p->rows;
    while (p->out_rows > 1 && reserve(p, p->out_rows, NULL))
        p->out_rows /= 2;
    return p->out[OUT_PHOTONS] ? STATUS_OK : reserve(p, 1, e);
}
