/* Marks for functions that C and CUDA compile from the same text. */
#ifndef BRAGG_BASE_HD_H
#define BRAGG_BASE_HD_H

#ifdef __CUDACC__
#define HD static inline __host__ __device__
#else
#define HD static inline
#endif

#endif
