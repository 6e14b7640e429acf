/*
 * Teams of GPU threads, and their barriers.  The threads of a team prepare data together, and then
 * all of them read these data.  A block of threads is a team, and so is a warp.
 *
 * The same text is also compiled for the CPU.  There one thread does the work of a whole team, or
 * the threads of the team are those of OpenMP.
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

/* Number of shares of each thread, if a block divides GPU_THREADS shares.  On the CPU the block has
 * one thread, which gets all shares. */
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

/* A warp is GPU_LANES threads of a block, the lanes, which run each instruction together.  It is a
 * smaller team, whose threads divide GPU_LANES shares: GPU_LANES_EACH for each thread. */
enum { GPU_LANES = 32 };

#ifdef __CUDA_ARCH__
enum { GPU_LANES_EACH = 1 };
#else
enum { GPU_LANES_EACH = GPU_LANES };
#endif

/* Barrier: returns when all lanes of the warp have called it. */
INLINE void gpu_warp_wait(void)
{
#ifdef __CUDA_ARCH__
    __syncwarp();
#endif
}

/* Returns the value of the next lane of the warp: `mine` is the value of this lane, and all lanes
 * call the function together.  On the CPU it is *next. */
INLINE float gpu_lane_next(float mine, const float *next)
{
#ifdef __CUDA_ARCH__
    (void)next;
    return __shfl_down_sync(0xffffffffu, mine, 1);
#else
    (void)mine;
    return *next;
#endif
}

#endif
