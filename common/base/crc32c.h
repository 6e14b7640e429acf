/* The arithmetic of CRC-32C (Castagnoli) checksums, for the host and for GPUs.  base/hash.h has the
 * checksums themselves. */
#ifndef BRAGG_BASE_CRC32C_H
#define BRAGG_BASE_CRC32C_H

#include <stdint.h>

#include "base/portable_math.h"

/* The polynomial of Castagnoli without x^32.  A checksum is a polynomial over GF(2) with reversed
 * bits: its highest bit is the coefficient of 1. */
#define CRC32C_POLYNOMIAL UINT32_C(0x82f63b78)

/* The polynomial x^8.  The product of a checksum and x^8 is the checksum of the data with a zero
 * byte appended, if checksums begin with 0 and are not inverted. */
#define CRC32C_BYTE_MORE UINT32_C(0x00800000)

/* Returns the product of a polynomial and x, modulo the polynomial of Castagnoli. */
HD uint32_t crc32c_times_x(uint32_t a)
{
    return (a >> 1) ^ (a & 1 ? CRC32C_POLYNOMIAL : 0);
}

/* Returns the product of two polynomials, modulo the polynomial of Castagnoli. */
HD uint32_t crc32c_product(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = UINT32_C(1) << 31; bit; bit >>= 1) {
        product ^= a & bit ? b : 0;
        b = crc32c_times_x(b);
    }
    return product;
}

#endif
