/*
 * Computes rows of a frame with the CUDA runtime.  Each part has a stream of its own, so that the
 * next part fills the GPU while the last blocks of a part finish.  One more stream copies the
 * finished parts to the host.
 *
 * If the destination is pinned, pixels are copied directly to it.  Otherwise they go in bands
 * through a ring of pinned memory: threads copy a band to its destination while the next ones are
 * on the bus.
 */
#include <string.h>

#include "base/clock.h"
#include "gpu/cuda_context.h"
#include "gpu/kernel.h"

enum {
    BANDS = 16,             // number of bands of a frame, within the limits of their size
    BAND_LEAST = 1 << 14,   // smallest band, in bytes
    BAND_BYTES = 4 << 20,   // largest band, in bytes
    SLICE_BYTES = 1 << 18,  // bytes that one thread copies at a time
};

enum status cuda_failed(cudaError_t code, const char *what, struct error *e)
{
    if (code == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError();
    return error_set(e, STATUS_FAILED, "GPU, %s: %s", what, cudaGetErrorString(code));
}

/* Enlarges the pinned memory at c->pinned to at least `bytes`. */
static enum status cuda_grow_pinned(struct cuda *c, size_t bytes, struct error *e)
{
    if (bytes <= c->pinned_bytes)
        return STATUS_OK;
    (void)cudaFreeHost(c->pinned);
    c->pinned = NULL;
    c->pinned_bytes = 0;
    const enum status status = cuda_failed(
        cudaHostAlloc((void **)&c->pinned, bytes, cudaHostAllocDefault), "pinned memory", e);
    if (!status)
        c->pinned_bytes = bytes;
    return status;
}

bool cuda_is_pinned(const struct cuda *c, const char *at, size_t bytes)
{
    for (int i = 0; i < c->nplaces; i++)
        if (at >= c->place[i].at && at + bytes <= c->place[i].at + c->place[i].bytes)
            return true;
    return false;
}

/* Records an event for the times of a frame, if `timed`. */
static cudaError_t record_event(bool timed, cudaEvent_t event, cudaStream_t stream)
{
    return timed ? cudaEventRecord(event, stream) : cudaSuccess;
}

/* Queues the kernels of the pixels of a smeared sensor in these rows of the frame; NULL: in all. */
static cudaError_t smear_pixels(const struct gpu_smear_job *job, const struct gpu_rows *rows,
                                cudaStream_t stream)
{
    cudaError_t code = cudaSuccess;
    for (size_t i = 0; i < job->nbands && code == cudaSuccess; i++) {
        const struct gpu_smear_band *b = &job->here[i];
        struct gpu_smear_part part;
        if (gpu_smear_cut(b, rows, &part))
            code = (cudaError_t)gpu_smear_pixels_launch(job->smear, i, b, &part, stream);
    }
    return code;
}

/* Queues the photons of a part: the kernel, or, if they are given in host memory, their copy.  If
 * the photons are the output, the kernel also checks them. */
static cudaError_t make_photons(struct cuda *c, const struct gpu_run *r, const struct gpu_part *p,
                                cudaStream_t stream)
{
    if (r->smear)
        return smear_pixels(r->smear, &p->rows, stream);
    if (!r->given)
        return (cudaError_t)gpu_kernel_launch(r->frame, &p->rows, r->photons,
                                              gpu_is_bare(r) ? &c->verdict->bad : NULL, stream);
    if (!r->here)
        return cudaSuccess;
    return cudaMemcpyAsync(r->photons + p->first, r->here + p->first,
                           (size_t)(p->end - p->first) * sizeof *r->photons, cudaMemcpyHostToDevice,
                           stream);
}

/* Queues the kernels of part i.  If photons are the output, kernels of several parts run at the
 * same time.  Otherwise all parts share one stream: on separate streams the background and noise of
 * the first part would wait for the photons of all parts, and the bus would be idle until then.
 * `timed`: records events around each kernel. */
static cudaError_t launch(struct cuda *c, const struct gpu_run *r, int i, bool timed)
{
    const struct gpu_part *p = &r->part[i];
    const cudaEvent_t *mark = c->mark[i];
    const bool beside = gpu_is_bare(r) && !r->apart;
    const cudaStream_t stream = c->part[beside ? i : 0];
    cudaError_t code = cudaStreamWaitEvent(stream, c->ready, 0);
    if (code == cudaSuccess)
        code = record_event(timed, mark[MARK_BEGUN], stream);
    if (code == cudaSuccess)
        code = make_photons(c, r, p, stream);
    if (code == cudaSuccess)
        code = record_event(timed, mark[MARK_PHOTONS], stream);
    if (code == cudaSuccess && r->scene)
        code = (cudaError_t)gpu_background_launch(r->frame, r->scene, &p->rows,
                                                  r->after->background, stream);
    if (code == cudaSuccess)
        code = record_event(timed, mark[MARK_BACKGROUND], stream);
    if (code == cudaSuccess && !gpu_is_bare(r))
        code = (cudaError_t)gpu_after_launch(r->after, p->rows.first_pixel, p->first, p->end,
                                             c->verdict, stream);
    if (code == cudaSuccess)
        code = record_event(timed, mark[MARK_COUNTS], stream);
    return code == cudaSuccess ? cudaEventRecord(c->done[i], stream) : code;
}

/* The output pixels of a run, and how they leave the GPU. STAYS: they stay on the GPU. STRAIGHT:
 * they are copied directly to pinned memory. RING: they are copied through the ring of pinned
 * memory. */
enum way { STAYS, STRAIGHT, RING };
struct cargo {
    const struct gpu_run *run;
    enum way way;
    const char *from;
    char *to;
    size_t size, bytes;  // size of a pixel and of all pixels, in bytes
    bool timed;
};

/* Queues the copy of all pixels of part i to their destination, after its kernels. */
static cudaError_t send_part(struct cuda *c, const struct cargo *x, int i)
{
    const struct gpu_part *p = &x->run->part[i];
    const size_t at = (size_t)p->first * x->size, end = (size_t)p->end * x->size;
    const cudaEvent_t *mark = c->mark[i];
    cudaError_t code = cudaStreamWaitEvent(c->copies, c->done[i], 0);
    if (x->way == STAYS)
        return code;
    if (code == cudaSuccess)
        code = record_event(x->timed, mark[MARK_COPYING], c->copies);
    if (code == cudaSuccess)
        code =
            cudaMemcpyAsync(x->to + at, x->from + at, end - at, cudaMemcpyDeviceToHost, c->copies);
    return code == cudaSuccess ? record_event(x->timed, mark[MARK_COPIED], c->copies) : code;
}

/* Queues what follows the kernels of all parts: the event `computed` and, if it is wanted, the
 * kernel of the checksum.  The pixels are copied at the same time. */
static cudaError_t finish_parts(struct cuda *c, const struct gpu_run *r)
{
    cudaError_t code = cudaSuccess;
    for (int i = 0; i < r->nparts && code == cudaSuccess; i++)
        code = cudaStreamWaitEvent(c->part[0], c->done[i], 0);
    if (code == cudaSuccess)
        code = cudaEventRecord(c->computed, c->part[0]);
    if (code != cudaSuccess || !r->sums)
        return code;
    const struct gpu_checksum checksum = gpu_checksum_of(r);
    code = (cudaError_t)gpu_checksum_launch(&checksum, &c->verdict->sum, c->part[0]);
    return code == cudaSuccess ? cudaEventRecord(c->summed, c->part[0]) : code;
}

/* Queues the upload of the verdict, then the kernels of all parts, and what follows them.  Queues
 * the copy of each part after its kernels, except for copies through the ring. */
static cudaError_t queue(struct cuda *c, const struct cargo *x)
{
    const struct gpu_run *r = x->run;
    const struct cuda *behind = r->behind;
    cudaError_t code = cudaMemcpyAsync(c->verdict, c->pinned_verdict, sizeof *c->verdict,
                                       cudaMemcpyHostToDevice, c->stream);
    if (code == cudaSuccess && behind)
        code = cudaStreamWaitEvent(c->stream, behind->computed, 0);
    if (code == cudaSuccess)
        code = cudaEventRecord(c->ready, c->stream);
    for (int i = 0; i < r->nparts && code == cudaSuccess; i++) {
        code = launch(c, r, i, x->timed);
        if (code == cudaSuccess && x->way != RING)
            code = send_part(c, x, i);
    }
    return code == cudaSuccess && (r->sums || r->meanwhile) ? finish_parts(c, r) : code;
}

/* ---- through the ring ----------------------------------------------------------------- */

static size_t band_bytes(size_t bytes)
{
    const size_t size = (bytes + BANDS - 1) / BANDS;
    return size < BAND_LEAST ? BAND_LEAST : size > BAND_BYTES ? BAND_BYTES : size;
}

/* Sets *b to band number `number`, which begins at byte `at` of the output.  A band never contains
 * pixels of two parts. */
static void begin_band(const struct cargo *x, size_t at, size_t number, struct band *b)
{
    const size_t size = band_bytes(x->bytes);
    b->at = at;
    b->part = 0;
    while ((size_t)x->run->part[b->part].end * x->size <= at)
        b->part++;
    const size_t left = (size_t)x->run->part[b->part].end * x->size - at;
    b->bytes = left < size ? left : size;
    b->place = number % CUDA_RING * size;
}

/* Queues the copy of a band from the GPU to its place in the ring. */
static cudaError_t send_band(struct cuda *c, const struct cargo *x, const struct band *b)
{
    const struct gpu_part *p = &x->run->part[b->part];
    const bool first = b->at == (size_t)p->first * x->size;
    const bool last = b->at + b->bytes == (size_t)p->end * x->size;
    const cudaEvent_t *mark = c->mark[b->part];
    cudaError_t code = cudaStreamWaitEvent(c->copies, c->done[b->part], 0);
    if (code == cudaSuccess)
        code = record_event(x->timed && first, mark[MARK_COPYING], c->copies);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(c->pinned + b->place, x->from + b->at, b->bytes,
                               cudaMemcpyDeviceToHost, c->copies);
    if (code == cudaSuccess)
        code = record_event(x->timed && last, mark[MARK_COPIED], c->copies);
    return code == cudaSuccess ? cudaEventRecord(b->copied, c->copies) : code;
}

static void copy(char *to, const char *from, size_t bytes, int threads)
{
    /* Waking threads would take longer than copying one slice. */
#pragma omp parallel for num_threads(bytes > SLICE_BYTES ? threads : 1)
    for (size_t at = 0; at < bytes; at += SLICE_BYTES)
        memcpy(to + at, from + at, bytes - at < SLICE_BYTES ? bytes - at : SLICE_BYTES);
}

/* Copies all bands to the destination. Up to CUDA_RING bands, one for each place of the ring,
 * are being copied at the same time. */
static cudaError_t pass_bands(struct cuda *c, const struct cargo *x)
{
    cudaError_t code = cudaSuccess;
    size_t sent = 0, end = 0;  // number of bands that were queued, and bytes in these bands
    for (size_t taken = 0, at = 0; at < x->bytes && code == cudaSuccess; taken++) {
        for (; code == cudaSuccess && end < x->bytes && sent < taken + CUDA_RING; sent++) {
            struct band *next = &c->band[sent % CUDA_RING];
            begin_band(x, end, sent, next);
            end += next->bytes;
            code = send_band(c, x, next);
        }
        const struct band *b = &c->band[taken % CUDA_RING];
        if (code == cudaSuccess)
            code = cudaEventSynchronize(b->copied);
        if (code == cudaSuccess)
            copy(x->to + at, c->pinned + b->place, b->bytes, c->threads);
        at += b->bytes;
    }
    return code;
}

/* ---- a run ---------------------------------------------------------------------------- */

/* Adds the time between two events, in ms, to *ms. */
static cudaError_t add_time(cudaEvent_t from, cudaEvent_t to, double *ms)
{
    float between = 0.0f;
    const cudaError_t code = cudaEventElapsedTime(&between, from, to);
    *ms += (double)between;
    return code;
}

/* Adds the times between two marks, in ms, of all parts to *ms. */
static cudaError_t add_times(const struct cuda *c, int nparts, enum mark from, enum mark to,
                             double *ms)
{
    cudaError_t code = cudaSuccess;
    for (int i = 0; i < nparts && code == cudaSuccess; i++)
        code = add_time(c->mark[i][from], c->mark[i][to], ms);
    return code;
}

/* Adds the times of a finished run to *times.  The kernels' time ends with the last of all parts,
 * because the part that begins first may end last.  `left`: pixels were copied to the host. */
static cudaError_t take_times(const struct cuda *c, const struct gpu_run *r, bool left,
                              struct gpu_times *times)
{
    double last = 0.0;
    cudaError_t code = cudaSuccess;
    for (int i = 0; i < r->nparts && code == cudaSuccess; i++) {
        double end = 0.0;
        code = add_time(c->mark[0][MARK_BEGUN], c->mark[i][MARK_COUNTS], &end);
        last = end > last ? end : last;
    }
    times->kernels += last;
    if (code == cudaSuccess && left)
        code = add_times(c, r->nparts, MARK_COPYING, MARK_COPIED, &times->to_host);
    if (code != cudaSuccess || !r->apart)
        return code;
    code = add_times(c, r->nparts, MARK_BEGUN, MARK_PHOTONS, &times->photons);
    if (code == cudaSuccess)
        code = add_times(c, r->nparts, MARK_PHOTONS, MARK_BACKGROUND, &times->background);
    if (code == cudaSuccess)
        code = add_times(c, r->nparts, MARK_BACKGROUND, MARK_COUNTS, &times->counts);
    return code;
}

/* Runs the kernels and the copies.  Returns when all pixels have arrived at their destination, and
 * when the verdict has arrived in host memory.  x->run->later: returns when all this is queued. */
static cudaError_t carry(struct cuda *c, const struct cargo *x)
{
    range_begin("launches");
    cudaError_t code = queue(c, x);
    range_end();
    if (code == cudaSuccess && x->run->meanwhile)
        x->run->meanwhile(x->run->plan);
    range_begin(x->way == RING ? "wait and copy" : "wait");
    if (code == cudaSuccess && x->way == RING)
        code = pass_bands(c, x);
    if (code == cudaSuccess && x->run->sums)
        code = cudaStreamWaitEvent(c->copies, c->summed, 0);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(c->pinned_verdict, c->verdict, sizeof *c->verdict,
                               cudaMemcpyDeviceToHost, c->copies);
    if (code == cudaSuccess)
        code = cudaEventRecord(c->copied, c->copies);
    if (code == cudaSuccess && !x->run->later)
        code = cudaEventSynchronize(c->copied);
    range_end();
    return code;
}

/* Waits for all streams, so that no copy writes to memory of the caller afterwards. */
static void wait_for_all(struct cuda *c)
{
    (void)cudaStreamSynchronize(c->stream);
    for (int i = 0; i < GPU_PARTS; i++)
        (void)cudaStreamSynchronize(c->part[i]);
    (void)cudaStreamSynchronize(c->copies);
}

enum status cuda_run(void *context, const struct gpu_run *r, void *to, struct gpu_times *times,
                     struct gpu_verdict *verdict, struct error *e)
{
    struct cuda *c = context;
    struct cargo x = {.run = r, .to = to, .timed = times != NULL};
    const void *from;
    x.size = pixel_size(gpu_leaving(r, &from));
    x.from = from;
    x.bytes = (size_t)r->part[r->nparts - 1].end * x.size;
    x.way = !to ? STAYS : cuda_is_pinned(c, to, x.bytes) ? STRAIGHT : RING;
    const enum status status =
        x.way == RING ? cuda_grow_pinned(c, CUDA_RING * band_bytes(x.bytes), e) : STATUS_OK;
    if (status)
        return status;
    *c->pinned_verdict = *verdict;
    cudaError_t code = carry(c, &x);
    if (code == cudaSuccess && times)
        code = take_times(c, r, x.way != STAYS, times);
    if (code != cudaSuccess)
        wait_for_all(c);
    if (!r->later)
        *verdict = *c->pinned_verdict;
    return cuda_failed(code, "a frame", e);
}

enum status cuda_settle(void *context, struct gpu_verdict *verdict, struct error *e)
{
    struct cuda *c = context;
    const cudaError_t code = cudaEventSynchronize(c->copied);
    *verdict = *c->pinned_verdict;
    return cuda_failed(code, "a frame", e);
}

/* Derivatives, reflections and closed forms with the CUDA runtime.  The kernels run one after the
 * other, and the results of each are copied to pinned host memory. */

/* See struct gpu_device. The results of a batch are copied to the host while the kernel of the next
 * batch runs. */
enum status cuda_slopes(void *context, const struct gpu_slopes *frame,
                        const struct gpu_slopes_batch *batch, size_t room, int place,
                        const void **values, struct error *e)
{
    struct cuda *c = context;
    const bool planes = batch->planes;
    const size_t each =
        planes ? frame->count * sizeof *batch->planes : (1 + frame->count) * sizeof *batch->values;
    gpu_slopes_launch *run =
        frame->frame.kind.precise ? gpu_slopes_double_launch : gpu_slopes_mixed_launch;
    const enum status status = cuda_grow_pinned(c, 2 * room * each, e);
    if (status)
        return status;
    char *to = c->pinned + (size_t)place * room * each;
    const void *from = planes ? (const void *)batch->planes : batch->values;
    const cudaEvent_t computed = c->mark[place][MARK_COUNTS];
    range_begin("derivatives");
    cudaError_t code = (cudaError_t)run(frame, batch, c->stream);
    if (code == cudaSuccess)
        code = cudaEventRecord(computed, c->stream);
    if (code == cudaSuccess)
        code = cudaStreamWaitEvent(c->copies, computed, 0);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(to, from, batch->count * each, cudaMemcpyDeviceToHost, c->copies);
    if (code == cudaSuccess)
        code = cudaEventRecord(c->band[place].copied, c->copies);
    range_end();
    *values = to;
    return cuda_failed(code, "derivatives", e);
}

enum status cuda_slopes_wait(void *context, int place, struct error *e)
{
    const struct cuda *c = context;
    const cudaError_t code = cudaEventSynchronize(c->band[place].copied);
    if (code != cudaSuccess) {
        (void)cudaStreamSynchronize(c->stream);
        (void)cudaStreamSynchronize(c->copies);
    }
    return cuda_failed(code, "derivatives", e);
}

enum status cuda_smear(void *context, const struct gpu_smear_job *job, bool pixels, double *ms,
                       struct error *e)
{
    struct cuda *c = context;
    const struct cuda *before = job->after;
    const uint64_t start = clock_ns();
    range_begin("smear");
    cudaError_t code = cudaStreamWaitEvent(c->stream, before->copied, 0);
    for (size_t i = 0; i < job->nbands && code == cudaSuccess; i++)
        code = (cudaError_t)gpu_smear_sums_launch(job->smear, i, &job->here[i], c->stream);
    if (code == cudaSuccess && pixels)
        code = smear_pixels(job, NULL, c->stream);
    if (code == cudaSuccess && ms)
        code = cudaStreamSynchronize(c->stream);
    range_end();
    if (ms)
        *ms += (double)(clock_ns() - start) * 1e-6;
    return cuda_failed(code, "the smear of the sensor", e);
}

enum status cuda_closed(void *context, const struct gpu_closed *frame,
                        const struct gpu_closed_batch *batch, float *to, struct error *e)
{
    struct cuda *c = context;
    range_begin("closed form");
    cudaError_t code = (cudaError_t)gpu_closed_launch(frame, batch, c->stream);
    if (code == cudaSuccess && to)
        code = cudaMemcpyAsync(to, batch->pixels, batch->count * sizeof *to, cudaMemcpyDeviceToHost,
                               c->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(c->stream);
    range_end();
    return cuda_failed(code, "closed form", e);
}

/* Copies the runs and the pieces from the GPU to pinned host memory, one array after the other,
 * and sets *here to the copies. If the pinned memory is too small, allocates a quarter more than
 * needed, for the next frame. */
static enum status receive_pieces(struct cuda *c, size_t runs, const struct gpu_pieces *there,
                                  struct gpu_pieces_here *here, struct error *e)
{
    const struct gpu_pieces_used *used = &here->used;
    const void *from[] = {there->runs, there->pieces, there->photons, there->turn};
    const size_t bytes[] = {runs * sizeof *there->runs, used->pieces * sizeof *there->pieces,
                            used->photons * sizeof *there->photons,
                            there->turn ? used->photons * sizeof *there->turn : 0};
    const size_t all = bytes[0] + bytes[1] + bytes[2] + bytes[3];
    void *to[4];
    size_t at = 0;
    enum status status = all > c->pinned_bytes ? cuda_grow_pinned(c, all + all / 4, e) : STATUS_OK;
    for (int i = 0; i < 4 && !status; at += bytes[i++]) {
        to[i] = c->pinned + at;
        if (bytes[i])
            status = cuda_failed(
                cudaMemcpyAsync(to[i], from[i], bytes[i], cudaMemcpyDeviceToHost, c->stream),
                "reflections", e);
    }
    if (!status)
        status = cuda_failed(cudaStreamSynchronize(c->stream), "reflections", e);
    if (status)
        return status;
    here->runs = to[0];
    here->pack = (struct share_pack){.pieces = to[1],
                                     .npieces = used->pieces,
                                     .photons = to[2],
                                     .turn = to[3],
                                     .count = used->photons};
    return STATUS_OK;
}

enum status cuda_shares(void *context, const struct gpu_shares *frame,
                        const struct gpu_shares_batch *all, const struct gpu_pieces *there,
                        struct gpu_pieces_here *here, struct error *e)
{
    struct cuda *c = context;
    cudaError_t code = cudaSuccess;
    range_begin("reflections");
    for (size_t i = 0; i < all->count && code == cudaSuccess; i += GPU_SHARES_BATCH) {
        struct gpu_pieces pieces;
        const struct gpu_shares_batch batch = gpu_shares_cut(all, i, there, &pieces);
        code = (cudaError_t)gpu_shares_launch(frame, &batch, &pieces, c->stream);
    }
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(&here->used, there->used, sizeof here->used, cudaMemcpyDeviceToHost,
                               c->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(c->stream);
    const size_t runs = (all->count + GPU_SHARES_RUN - 1) / GPU_SHARES_RUN;
    enum status status = cuda_failed(code, "reflections", e);
    if (!status && gpu_pieces_fit(there, &here->used))
        status = receive_pieces(c, runs, there, here, e);
    range_end();
    return status;
}
