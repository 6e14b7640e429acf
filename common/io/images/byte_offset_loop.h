/* What byte_offset.c chooses from: byte_offset_loop.c, compiled once per instruction set. */
#ifndef BRAGG_IO_BYTE_OFFSET_LOOP_H
#define BRAGG_IO_BYTE_OFFSET_LOOP_H

#include "io/images/byte_offset.h"

extern const struct byte_offset_kernels byte_offset_baseline, byte_offset_avx2, byte_offset_avx512;

#endif
