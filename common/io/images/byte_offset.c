#include "io/images/byte_offset.h"

#include <string.h>

const struct byte_offset_kernels *byte_offset_kernels(enum isa isa)
{
    static const struct byte_offset_kernels *const all[ISA_COUNT] = {
        &byte_offset_baseline, &byte_offset_avx2, &byte_offset_avx512};
    return all[isa];
}

/* Decodes one difference.  Returns its length in bytes.  Returns 0 if the difference is cut off
 * or has more than 32 bits. */
static size_t take_difference(const uint8_t *bytes, size_t size, int32_t *difference)
{
    int16_t two;
    int64_t eight;
    if (size >= 1 && bytes[0] != 0x80) {
        *difference = (int8_t)bytes[0];
        return 1;
    }
    if (size < 3)
        return 0;
    memcpy(&two, bytes + 1, sizeof two);
    *difference = two;
    if (two != INT16_MIN)
        return 3;
    if (size < 7)
        return 0;
    memcpy(difference, bytes + 3, sizeof *difference);
    if (*difference != INT32_MIN)
        return 7;
    if (size < BYTE_OFFSET_WORST)
        return 0;
    memcpy(&eight, bytes + 7, sizeof eight);
    return eight == INT32_MIN ? BYTE_OFFSET_WORST : 0;
}

enum status byte_offset_decode(const uint8_t *bytes, size_t size, int32_t *pixels, size_t count,
                               struct error *e)
{
    uint32_t value = 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t difference;
        const size_t length = take_difference(bytes + at, size - at, &difference);
        if (!length)
            return error_set(e, STATUS_INPUT,
                             "byte offsets: pixel %zu of %zu is truncated or exceeds 32 bits", i,
                             count);
        at += length;
        value += (uint32_t)difference;
        pixels[i] = (int32_t)value;
    }
    if (at != size)
        return error_set(e, STATUS_INPUT,
                         "byte offsets: %zu bytes remain after %zu pixels; expected none",
                         size - at, count);
    return STATUS_OK;
}
