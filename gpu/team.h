/*
 * The threads of a block, which prepare together what all of them read.  The same text is compiled
 * as CUDA, where each thread is one of a team, and for the CPU, where one thread does the work of
 * the whole team, or OpenMP has the threads.
 */
#ifndef BRAGG_GPU_TEAM_H
#define BRAGG_GPU_TEAM_H

#include "engine/cpu/cpu_point.h"
#include "gpu/frame.h"

/* GPU_ROLLED before a loop: the compiler does not unroll the loop, because the unrolled loop
 * would need more registers.  GPU_UNROLLED(8): the unrolled loop does eight turns in one. */
#ifdef __CUDA_ARCH__
#define GPU_PRAGMA(text) _Pragma(#text)
#define GPU_UNROLLED(turns) GPU_PRAGMA(unroll turns)
#define GPU_ROLLED GPU_UNROLLED(1)
#else
#define GPU_UNROLLED(turns)
#define GPU_ROLLED
#endif

struct gpu_team {
    int thread, threads;  // index of this thread, 0 to threads - 1; number of threads
};

/* Number of shares of a thread, if a team of GPU_THREADS threads, on the CPU of one thread, divides
 * GPU_THREADS shares. */
#ifdef __CUDA_ARCH__
enum { GPU_THREADS_EACH = 1 };
#else
enum { GPU_THREADS_EACH = GPU_THREADS };
#endif

/* Barrier: returns when all threads of the block have called it. */
INLINE void gpu_team_wait(struct gpu_team team)
{
#ifdef __CUDA_ARCH__
    (void)team;
    __syncthreads();
#elif !defined(__CUDACC__)
    if (team.threads > 1) {
#pragma omp barrier
    }
#endif
}

/* Returns the same value in all threads: true if `mine` is true in at least one thread.  On the CPU
 * with several threads it is always true. */
INLINE bool gpu_team_any(struct gpu_team team, bool mine)
{
#ifdef __CUDA_ARCH__
    (void)team;
    return __syncthreads_or(mine);
#else
    return mine || team.threads > 1;
#endif
}

/* Threads that run each instruction together are the lanes of a warp.  On the GPU a thread is one
 * lane.  On the CPU one thread does the work of all lanes. */
enum { GPU_LANES = 32 };

/* The lanes of a thread: first, first + step ... below GPU_LANES, GPU_LANES_EACH of them. */
struct gpu_lanes {
    int first, step;
};

#ifdef __CUDA_ARCH__
enum { GPU_LANES_EACH = 1 };
#else
enum { GPU_LANES_EACH = GPU_LANES };
#endif

INLINE struct gpu_lanes gpu_lanes_of(int thread)
{
#ifdef __CUDA_ARCH__
    const struct gpu_lanes lanes = {thread % GPU_LANES, GPU_LANES};
#else
    (void)thread;
    const struct gpu_lanes lanes = {0, 1};
#endif
    return lanes;
}

/* Barrier: returns when all lanes of the warp have called it. */
INLINE void gpu_lanes_wait(void)
{
#ifdef __CUDA_ARCH__
    __syncwarp();
#endif
}

#endif
