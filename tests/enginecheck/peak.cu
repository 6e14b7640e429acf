#include "peak.h"

#include <cuda_runtime.h>

enum { TRIES = 5, CHAINS = 8, REPEATS = 1 << 14, BLOCK = 256, BLOCKS_PER_SM = 16 };
static const float WARM_MS =
    300.0f;  // a card that idles raises its clock within tenths of a second
static const size_t ITEMS = (size_t)1 << 26;       // of an array of float4: 1 GiB
static const size_t BUS_BYTES = (size_t)64 << 20;  // a float32 image of 4096 x 4096

template <typename real> __global__ void add_up(real *sink, real factor, real term)
{
    real sum[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        sum[c] = (real)(threadIdx.x + c);
    for (int r = 0; r < REPEATS; r++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            sum[c] = fma(sum[c], factor, term);
    for (int c = 1; c < CHAINS; c++)
        sum[0] += sum[c];
    if (sum[0] == (real)-1)  // never, which the compiler cannot know
        *sink = sum[0];
}

__global__ void add_arrays(const float4 *a, const float4 *b, float4 *sum, size_t items)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < items)
        sum[i] = make_float4(a[i].x + b[i].x, a[i].y + b[i].y, a[i].z + b[i].z, a[i].w + b[i].w);
}

/* Work per second of the fastest of some tries; 0 after an error. */
template <typename Work> static double best_rate(double work, Work start_work)
{
    cudaEvent_t from, to;
    float best = 0.0f, spent = 0.0f, ms = 0.0f;
    if (cudaEventCreate(&from) != cudaSuccess || cudaEventCreate(&to) != cudaSuccess)
        return 0.0;
    for (int i = 0; i < TRIES; spent += ms) {
        (void)cudaEventRecord(from);
        start_work();
        (void)cudaEventRecord(to);
        if (cudaEventSynchronize(to) != cudaSuccess ||
            cudaEventElapsedTime(&ms, from, to) != cudaSuccess || !(ms > 0.0f))
            break;
        if (spent < WARM_MS)
            continue;
        best = i == 0 || ms < best ? ms : best;
        i++;
    }
    (void)cudaEventDestroy(from);
    (void)cudaEventDestroy(to);
    return cudaGetLastError() == cudaSuccess && best > 0.0f ? work / best * 1e3 : 0.0;
}

template <typename real> static double flops(void *sink, int blocks)
{
    const double work = 2.0 * CHAINS * REPEATS * BLOCK * blocks;
    return best_rate(work, [=] { add_up<real><<<blocks, BLOCK>>>((real *)sink, 0.999f, 0.001f); });
}

static double memory_rate(void)
{
    float4 *a = nullptr;
    double rate = 0.0;
    if (cudaMalloc((void **)&a, 3 * ITEMS * sizeof *a) == cudaSuccess &&
        cudaMemset(a, 0, 3 * ITEMS * sizeof *a) == cudaSuccess)
        rate = best_rate(3.0 * ITEMS * sizeof *a, [=] {
            add_arrays<<<(unsigned)(ITEMS / BLOCK), BLOCK>>>(a, a + ITEMS, a + 2 * ITEMS, ITEMS);
        });
    (void)cudaFree(a);
    (void)cudaGetLastError();
    return rate;
}

static double bus_rate(void)
{
    void *there = nullptr, *here = nullptr;
    double rate = 0.0;
    if (cudaMalloc(&there, BUS_BYTES) == cudaSuccess &&
        cudaMemset(there, 0, BUS_BYTES) == cudaSuccess &&
        cudaHostAlloc(&here, BUS_BYTES, cudaHostAllocDefault) == cudaSuccess)
        rate = best_rate((double)BUS_BYTES, [=] {
            (void)cudaMemcpyAsync(here, there, BUS_BYTES, cudaMemcpyDeviceToHost);
        });
    (void)cudaFree(there);
    (void)cudaFreeHost(here);
    (void)cudaGetLastError();
    return rate;
}

struct card_peak card_peak(void)
{
    struct card_peak peak = {0.0, 0.0, 0.0, 0.0};
    int card = 0, multiprocessors = 0;
    void *sink = nullptr;
    if (cudaGetDevice(&card) == cudaSuccess &&
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, card) ==
            cudaSuccess &&
        cudaMalloc(&sink, sizeof(double)) == cudaSuccess) {
        peak.flops = flops<float>(sink, multiprocessors * BLOCKS_PER_SM);
        peak.flops_double = flops<double>(sink, multiprocessors * BLOCKS_PER_SM);
    }
    (void)cudaFree(sink);
    peak.bytes = memory_rate();
    peak.bus_bytes = bus_rate();
    return peak;
}
