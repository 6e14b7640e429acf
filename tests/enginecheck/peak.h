/* The peak performance of a GPU, measured by kernels that only load it. */
#ifndef BRAGG_TESTS_ENGINECHECK_PEAK_H
#define BRAGG_TESTS_ENGINECHECK_PEAK_H

#ifdef __cplusplus
extern "C" {
#endif

/* 0 where it is not known. */
struct card_peak {
    double flops, flops_double;  // 1/s: fused multiply-adds in registers, two operations each
    double bytes;                // 1/s: two arrays of the card's memory added into a third one
    double bus_bytes;            // 1/s: from the card to pinned memory here
};

/* Returns the peak performance of the current GPU of this thread. */
struct card_peak card_peak(void);

#ifdef __cplusplus
}
#endif

#endif
