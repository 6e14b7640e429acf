/* Checksums that the threads of the GPU form of pixels, on this CPU.  They equal those of crc32c
 * for every number of bytes: parts of a piece, whole pieces, whole blocks, and a large image. */
#include "../hostgpu/host_loop.h"
#include "unit.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "gpu/checksum.h"
#include "gpu/device.h"

enum { BLOCK = GPU_CHECKSUM_BYTES * GPU_THREADS, MOST = 40 * BLOCK + 17 };

static unsigned char *make_bytes(void)
{
    unsigned char *bytes = mem_array(MOST, 1);
    uint64_t state = 7;
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (unsigned char)(hash_finish(state++) >> 11);
    return bytes;
}

/* Returns the checksum that the GPU forms of the first `count` bytes. */
static uint32_t sum_by_gpu(const unsigned char *bytes, size_t count)
{
    static const struct gpu_after after = {.type = PIXEL_U16};
    struct gpu_run r = {.nparts = 1, .after = &after};
    struct gpu_checksum c = gpu_checksum_of(&r);
    uint32_t sum = 0;
    c.bytes = bytes;
    c.count = count;
    gpu_host_checksum(&c, 2, &sum);
    return gpu_checksum_finish(sum, count);
}

static void check(const unsigned char *bytes, size_t count)
{
    const uint32_t expected = crc32c(0, bytes, count), got = sum_by_gpu(bytes, count);
    if (got != expected)
        fail_msg("%zu bytes: %08x; expected %08x", count, got, expected);
}

static void every_size_near_a_boundary(void **state)
{
    unsigned char *bytes = make_bytes();
    (void)state;
    for (size_t count = 1; count < 3 * GPU_CHECKSUM_BYTES; count++)
        check(bytes, count);
    for (size_t blocks = 1; blocks < 4; blocks++)
        for (size_t i = 0; i < 40; i++)
            check(bytes, blocks * BLOCK - 20 + i);
    check(bytes, MOST);
    mem_free(bytes);
}

/* Zeros at the end of an image are part of it, although the kernel appends zeros itself. */
static void zeros_count(void **state)
{
    unsigned char *bytes = mem_array(2 * BLOCK, 1);
    (void)state;
    bytes[5] = 1;
    for (size_t count = 6; count < 2 * BLOCK; count += 1021)
        check(bytes, count);
    mem_free(bytes);
}

/* The checksum of CRC-32C that RFC 3720 names for the digits 1 to 9 is e3069283. */
static void a_known_text(void **state)
{
    static const unsigned char digits[] __attribute__((aligned(16))) = "123456789";
    (void)state;
    assert_int_equal(sum_by_gpu(digits, 9), 0xe3069283);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_near_a_boundary),
        cmocka_unit_test(zeros_count),
        cmocka_unit_test(a_known_text),
    };
    return unit_run(tests);
}
