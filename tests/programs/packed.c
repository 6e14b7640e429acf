/*
 * packed bslz4 SIZE: items of SIZE bytes on stdin, their chunk on stdout.
 * packed unbslz4 SIZE COUNT: a chunk on stdin, its COUNT items on stdout.
 * packed byte-offset: int32 on stdin, byte offsets on stdout.
 *
 * So that other implementations can be compared with ours.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "codec/bslz4.h"
#include "io/images/cbf.h"

enum { MOST = 1 << 26 };  // bytes of input

static size_t pack(const char *how, const uint8_t *in, size_t bytes, size_t size, size_t count,
                   uint8_t *out)
{
    struct error e;
    if (strcmp(how, "byte-offset") == 0)
        return byte_offset_kernels(isa_best())
            ->encode_i32((const int32_t *)(const void *)in, bytes / 4, 0, out);
    if (strcmp(how, "bslz4") == 0)
        return bslz4_compress(isa_best(), in, bytes / size, size, out);
    if (bslz4_decompress(in, bytes, out, count, size, &e) == STATUS_OK)
        return count * size;
    (void)fprintf(stderr, "packed: %s\n", e.text);
    exit(STATUS_INPUT);
}

int main(int argc, char **argv)
{
    uint8_t *in = mem_array(MOST, 1);
    const size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
    const size_t count = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    if (argc < 2 || !in || (size != 1 && size != 2 && size != 4))
        return STATUS_USAGE;
    const size_t bytes = fread(in, 1, MOST, stdin);
    uint8_t *out =
        mem_array(BYTE_OFFSET_WORST * (bytes / 4 + 2) + bslz4_bound(bytes, 1) + count * size, 1);
    const size_t n = out ? pack(argv[1], in, bytes, size, count, out) : 0;
    const bool whole = out && fwrite(out, 1, n, stdout) == n && fflush(stdout) == 0;
    mem_free(in);
    mem_free(out);
    return whole ? STATUS_OK : STATUS_FAILED;
}
