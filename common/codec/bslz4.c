/*
 * Compresses and decompresses chunks in two formats: bitshuffle with LZ4, and LZ4 in blocks.
 * bslz4.h describes both layouts.
 *
 * Both formats begin with the same head, and the length of each block comes before the block.
 * The decompressors check every length before they use it, because chunks come from files and
 * networks.
 */
#include "codec/bslz4.h"

#include <endian.h>
#include <lz4.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/program.h"

enum {
    CHUNK_HEAD = 12,  // bytes of the head of a chunk
    LENGTH = 4,       // bytes of the length before a block
};

/* --- the head, and lengths -------------------------------------------------- */

static void write_be32(uint8_t *out, size_t value)
{
    const uint32_t big = htobe32((uint32_t)value);
    memcpy(out, &big, sizeof big);
}

static size_t read_be32(const uint8_t *from)
{
    uint32_t big;
    memcpy(&big, from, sizeof big);
    return be32toh(big);
}

/* Writes the head of a chunk into out[CHUNK_HEAD]. */
static void write_head(uint8_t *out, size_t bytes, size_t block)
{
    const uint64_t total = htobe64((uint64_t)bytes);
    memcpy(out, &total, sizeof total);
    write_be32(out + sizeof total, block);
}

/* Reads the head of a chunk of `length` bytes.  The chunk must contain `bytes` bytes of data.
 * *block gets the size of a block: a multiple of `unit`, at most `block_max`, and not 0 unless
 * the chunk is empty.  `name` is the name of the format in errors.  STATUS_INPUT: the head is not
 * of this form. */
static enum status read_head(const uint8_t *chunk, size_t length, const char *name, size_t bytes,
                             size_t unit, size_t block_max, size_t *block, struct error *e)
{
    uint64_t total;
    *block = 0;
    if (length < CHUNK_HEAD)
        return error_set(e, STATUS_INPUT,
                         "%s: truncated: %zu bytes; expected at least %d, the size of the header",
                         name, length, CHUNK_HEAD);
    memcpy(&total, chunk, sizeof total);
    *block = read_be32(chunk + sizeof total);
    if (be64toh(total) != bytes)
        return error_set(e, STATUS_INPUT, "%s: header: %zu bytes; expected %zu", name,
                         (size_t)be64toh(total), bytes);
    if ((bytes && !*block) || *block > block_max || *block % unit)
        return error_set(e, STATUS_INPUT,
                         "%s: header: blocks of %zu bytes; expected a multiple of %zu up to %zu",
                         name, *block, unit, block_max);
    return STATUS_OK;
}

/* --- pieces for several threads ----------------------------------------------- */

/* How the data of a chunk are compressed. */
struct packing {
    /* Compresses `bytes` bytes into out, and returns the length of the result.  *sum, if it is
     * not NULL, gets the CRC-32C of these bytes. */
    size_t (*put)(const struct packing *p, const uint8_t *from, size_t bytes, uint8_t *out,
                  uint32_t *sum);
    size_t block, room;                 // bytes of a block; largest length of a compressed block
    enum isa isa;                       // of bitshuffle
    size_t size;                        // bytes of an item of bitshuffle
    const uint8_t *items;               // all items, for the numbers of blanks
    const struct bslz4_blanks *blanks;  // NULL: none
};

enum { PIECES_MAX = 256, PIECE_BYTES_MIN = 1 << 18 };

/* Returns the number of blocks in a piece of data of `bytes` bytes.  0: the data are one piece. All
 * pieces but the last have the same length, so that their checksums are joined fast. */
static size_t blocks_at_once(size_t bytes, size_t block)
{
    const size_t pieces = bytes / PIECE_BYTES_MIN, blocks = block ? bytes / block : 0;
    const size_t wanted = pieces < PIECES_MAX ? pieces : PIECES_MAX;
    return wanted ? (blocks + wanted - 1) / wanted : 0;
}

/* Compressed pieces that are moved together while later pieces are being compressed. */
struct joint {
    uint8_t *out;
    size_t places[PIECES_MAX], lengths[PIECES_MAX];  // where a piece was compressed, and its length
    atomic_bool done[PIECES_MAX];
    atomic_flag moving;  // a thread moves pieces; this thread owns the members below
    size_t count, moved, length;
};

/* Moves the pieces that are compressed, up to the first one that is not, to the end of the pieces
 * before.  A piece moves towards the beginning, where no piece that is being compressed is. */
static void move_pieces(struct joint *j)
{
    for (; j->moved < j->count && atomic_load(&j->done[j->moved]); j->moved++) {
        memmove(j->out + j->length, j->out + j->places[j->moved], j->lengths[j->moved]);
        j->length += j->lengths[j->moved];
    }
}

/* Notes that piece i is compressed, and moves pieces unless another thread does. */
static void add_piece(struct joint *j, size_t i, size_t length)
{
    j->lengths[i] = length;
    atomic_store(&j->done[i], true);
    if (atomic_flag_test_and_set(&j->moving))
        return;
    move_pieces(j);
    atomic_flag_clear(&j->moving);
}

/* Does what p->put does, in all threads of program_threads, distributed as OMP_SCHEDULE says
 * (threads_start): a benchmark distributes them equally.  Each piece of whole blocks is first
 * compressed to the place where it would be if no block before it became shorter.  The bytes of the
 * result do not depend on the threads. */
static size_t put_pieces(const struct packing *p, const uint8_t *from, size_t bytes, uint8_t *out,
                         uint32_t *sum)
{
    struct joint j = {.out = out, .moving = ATOMIC_FLAG_INIT};
    struct crc32c_piece sums[PIECES_MAX];
    const int threads = program_threads();
    const size_t at_once = blocks_at_once(bytes, p->block);
    const size_t step = at_once * p->block, count = at_once ? bytes / step : 0;
    if (threads == 1 || count < 2)
        return p->put(p, from, bytes, out, sum);
    j.count = count;
#pragma omp parallel for num_threads(threads) schedule(runtime)
    for (size_t i = 0; i < count; i++) {
        const size_t n = i + 1 == count ? bytes - i * step : step;
        j.places[i] = i * at_once * p->room;
        sums[i] = (struct crc32c_piece){.bytes = n};
        add_piece(&j, i,
                  p->put(p, from + i * step, n, out + j.places[i], sum ? &sums[i].sum : NULL));
    }
    move_pieces(&j);
    if (sum)
        *sum = crc32c_join(sums, count);
    return j.length;
}

/* --- bitshuffle and LZ4 ----------------------------------------------------- */

enum {
    BLOCK_MAX = 1 << 24,          // bytes of a block that is read
    BLOCK_BYTES_MAX = 16384,      // bytes of a block that is written
    SUM_BYTES = 3 * BSLZ4_BLOCK,  // bytes that are added to a checksum at a time: they are still in
                                  // the caches, and crc32c is slower for one block alone
};

size_t bslz4_bound(size_t count, size_t size)
{
    size_t bytes;
    if (!size_multiply(count, size, &bytes) || bytes > PTRDIFF_MAX / 2)
        return 0;
    /* LZ4 makes a block longer by at most 1/255 of its size plus 16 bytes */
    return CHUNK_HEAD + bytes + (bytes / BSLZ4_BLOCK + 1) * (LENGTH + BSLZ4_BLOCK / 255 + 16);
}

/* Returns the first run of blanks that ends after item number `first`. */
static const struct bslz4_run *find_run(const struct bslz4_blanks *b, size_t first)
{
    size_t low = 0, high = b->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (b->runs[middle].end <= first)
            low = middle + 1;
        else
            high = middle;
    }
    return b->runs + low;
}

/* Returns `bytes` bytes of items in which blanks have their value: `from` itself if it has none,
 * otherwise a copy in copy[bytes]. */
static const uint8_t *blanked(const struct packing *p, const uint8_t *from, size_t bytes,
                              uint8_t *copy)
{
    if (!p->blanks)
        return from;
    const struct bslz4_run *const last = p->blanks->runs + p->blanks->count;
    const size_t first = (size_t)(from - p->items) / p->size, end = first + bytes / p->size;
    const struct bslz4_run *run = find_run(p->blanks, first);
    if (run == last || run->first >= end)
        return from;
    memcpy(copy, from, bytes);
    for (; run < last && run->first < end; run++) {
        const size_t begin = run->first > first ? run->first - first : 0;
        const size_t stop = (run->end < end ? run->end : end) - first;
        memset(copy + begin * p->size, p->blanks->byte, (stop - begin) * p->size);
    }
    return copy;
}

/* Compresses whole blocks, and copies the last items. */
static size_t put_shuffled(const struct packing *p, const uint8_t *from, size_t bytes, uint8_t *out,
                           uint32_t *sum)
{
    static bitshuffle_loop *const shuffles[ISA_COUNT] = {bitshuffle_baseline, bitshuffle_avx2,
                                                         bitshuffle_avx512};
    const size_t group = BITSHUFFLE_GROUP * p->size;
    uint8_t *const start = out;
    uint8_t scratch[BLOCK_BYTES_MAX], bits[BLOCK_BYTES_MAX], copy[BLOCK_BYTES_MAX];
    const uint8_t *unsummed = from;
    uint32_t crc = 0;
    while (bytes >= group) {
        const size_t n = bytes < p->block ? bytes - bytes % group : p->block;
        shuffles[p->isa](blanked(p, from, n, copy), n / p->size, p->size, scratch, bits);
        const int length = LZ4_compress_default((const char *)bits, (char *)out + LENGTH, (int)n,
                                                LZ4_COMPRESSBOUND(BLOCK_BYTES_MAX));
        write_be32(out, (size_t)length);
        out += LENGTH + length;
        from += n;
        bytes -= n;
        if (sum && from - unsummed >= SUM_BYTES) {
            crc = crc32c(crc, unsummed, (size_t)(from - unsummed));
            unsummed = from;
        }
    }
    memcpy(out, blanked(p, from, bytes, copy), bytes);
    if (sum)
        *sum = crc32c(crc, unsummed, (size_t)(from + bytes - unsummed));
    return (size_t)(out - start) + bytes;
}

size_t bslz4_compress_blanked(enum isa isa, const void *items, size_t count, size_t size,
                              const struct bslz4_blanks *blanks, uint8_t *out, uint32_t *sum)
{
    const struct packing p = {.put = put_shuffled,
                              .block = BSLZ4_BLOCK,
                              .room = LENGTH + LZ4_COMPRESSBOUND(BSLZ4_BLOCK),
                              .isa = isa,
                              .size = size,
                              .items = items,
                              .blanks = blanks};
    write_head(out, count * size, BSLZ4_BLOCK);
    return CHUNK_HEAD + put_pieces(&p, items, count * size, out + CHUNK_HEAD, sum);
}

size_t bslz4_compress_summed(enum isa isa, const void *items, size_t count, size_t size,
                             uint8_t *out, uint32_t *sum)
{
    return bslz4_compress_blanked(isa, items, count, size, NULL, out, sum);
}

size_t bslz4_compress(enum isa isa, const void *items, size_t count, size_t size, uint8_t *out)
{
    return bslz4_compress_summed(isa, items, count, size, out, NULL);
}

size_t bslz4_compress_bare(enum isa isa, const void *items, size_t count, size_t size,
                           size_t block_items, uint8_t *out)
{
    const struct packing p = {.put = put_shuffled,
                              .block = block_items * size,
                              .room = LENGTH + LZ4_COMPRESSBOUND(block_items * size),
                              .isa = isa,
                              .size = size};
    return put_pieces(&p, items, count * size, out, NULL);
}

/* --- back ---------------------------------------------------------------- */

static enum status cut_off(size_t left, struct error *e)
{
    return error_set(e, STATUS_INPUT,
                     "bslz4: a block is truncated or corrupt, with %zu bytes of pixels missing",
                     left);
}

/* A part of a chunk that is decompressed: whole blocks, and after the last block the last items. */
struct unpacking {
    const uint8_t *from, *end;  // the compressed bytes
    uint8_t *to;
    size_t left, block, size;  // bytes of the part when it is decompressed, of a block, of an item
};

/* Decompresses a part.  `bits` has room for two blocks.  *sum, if it is not NULL, gets the CRC-32C
 * of the items. */
static enum status read_blocks(struct unpacking u, uint8_t *bits, uint32_t *sum, struct error *e)
{
    static bitunshuffle *const unshuffles[ISA_COUNT] = {bitunshuffle_baseline, bitunshuffle_avx2,
                                                        bitunshuffle_avx512};
    bitunshuffle *const unshuffle = unshuffles[isa_best()];
    const size_t group = BITSHUFFLE_GROUP * u.size;
    const uint8_t *unsummed = u.to;
    uint32_t crc = 0;
    while (u.left >= group) {
        const size_t bytes = u.left < u.block ? u.left - u.left % group : u.block;
        const size_t room = (size_t)(u.end - u.from);
        const size_t packed = room >= LENGTH ? read_be32(u.from) : SIZE_MAX;
        if (packed > room - LENGTH || packed > INT32_MAX)
            return cut_off(u.left, e);
        u.from += LENGTH;
        if (LZ4_decompress_safe((const char *)u.from, (char *)bits, (int)packed, (int)bytes) !=
            (int)bytes)
            return cut_off(u.left, e);
        unshuffle(bits, bytes / u.size, u.size, bits + bytes, u.to);
        u.from += packed;
        u.to += bytes;
        u.left -= bytes;
        if (sum && u.to - unsummed >= SUM_BYTES) {
            crc = crc32c(crc, unsummed, (size_t)(u.to - unsummed));
            unsummed = u.to;
        }
    }
    if ((size_t)(u.end - u.from) != u.left)
        return error_set(e, STATUS_INPUT, "bslz4: %zu bytes after the blocks; expected %zu",
                         (size_t)(u.end - u.from), u.left);
    memcpy(u.to, u.from, u.left);
    if (sum)
        *sum = crc32c(crc, unsummed, (size_t)(u.to + u.left - unsummed));
    return STATUS_OK;
}

/* Finds where pieces of a part begin, of `at_once` blocks each.  The last piece ends with the part.
 * Returns false if a block is cut off. */
static bool find_pieces(const struct unpacking *u, size_t at_once, struct unpacking *pieces,
                        size_t count)
{
    const uint8_t *from = u->from;
    for (size_t i = 0; i < count; i++) {
        const size_t done = i * at_once * u->block;
        pieces[i] = *u;
        pieces[i].from = from;
        pieces[i].to += done;
        pieces[i].left = i + 1 < count ? at_once * u->block : u->left - done;
        for (size_t k = 0; k < at_once && i + 1 < count; k++) {
            if (u->end - from < LENGTH || read_be32(from) > (size_t)(u->end - from) - LENGTH)
                return false;
            from += LENGTH + read_be32(from);
        }
        pieces[i].end = i + 1 < count ? from : u->end;
    }
    return true;
}

/* Decompresses a part in all threads of program_threads.  Returns false if the part is corrupt, or
 * if it must be decompressed as a whole because it is small or its blocks are large. */
static bool read_pieces(const struct unpacking *u, uint32_t *sum)
{
    struct unpacking pieces[PIECES_MAX];
    struct crc32c_piece sums[PIECES_MAX];
    const int threads = program_threads();
    const size_t at_once = blocks_at_once(u->left, u->block);
    const size_t count = at_once ? u->left / (at_once * u->block) : 0;
    if (threads == 1 || count < 2 || u->block > BLOCK_BYTES_MAX)
        return false;
    atomic_bool good = find_pieces(u, at_once, pieces, count);
    if (!good)
        return false;
#pragma omp parallel for num_threads(threads) schedule(runtime)
    for (size_t i = 0; i < count; i++) {
        uint8_t bits[2 * BLOCK_BYTES_MAX];
        sums[i] = (struct crc32c_piece){.bytes = pieces[i].left};
        if (read_blocks(pieces[i], bits, sum ? &sums[i].sum : NULL, NULL))
            atomic_store(&good, false);
    }
    if (good && sum)
        *sum = crc32c_join(sums, count);
    return good;
}

static enum status get_head(const uint8_t *chunk, size_t length, size_t count, size_t size,
                            size_t *block, struct error *e)
{
    return read_head(chunk, length, "bslz4", count * size, BITSHUFFLE_GROUP * size, BLOCK_MAX,
                     block, e);
}

enum status bslz4_check(const uint8_t *chunk, size_t length, size_t count, size_t size,
                        struct error *e)
{
    size_t block;
    return get_head(chunk, length, count, size, &block, e);
}

enum status bslz4_decompress_summed(const uint8_t *chunk, size_t length, void *items, size_t count,
                                    size_t size, uint32_t *sum, struct error *e)
{
    size_t block;
    enum status s = get_head(chunk, length, count, size, &block, e);
    if (s)
        return s;
    const struct unpacking all = {.from = chunk + CHUNK_HEAD,
                                  .end = chunk + length,
                                  .to = items,
                                  .left = count * size,
                                  .block = block,
                                  .size = size};
    if (read_pieces(&all, sum))
        return STATUS_OK;
    uint8_t *bits = mem_try_array(block < count * size ? block : count * size, 2);
    if (!bits)
        return error_memory(e, "a block");
    s = read_blocks(all, bits, sum, e);  // also finds the error of a corrupt chunk
    mem_free(bits);
    return s;
}

enum status bslz4_decompress(const uint8_t *chunk, size_t length, void *items, size_t count,
                             size_t size, struct error *e)
{
    return bslz4_decompress_summed(chunk, length, items, count, size, NULL, e);
}

/* --- LZ4 in blocks ---------------------------------------------------------- */

size_t lz4_blocks_bound(size_t bytes)
{
    if (bytes > PTRDIFF_MAX / 2)
        return 0;
    const size_t nblocks = (bytes + LZ4_BLOCKS_BLOCK - 1) / LZ4_BLOCKS_BLOCK;
    return CHUNK_HEAD + nblocks * (LENGTH + LZ4_COMPRESSBOUND(LZ4_BLOCKS_BLOCK));
}

/* Compresses one block, or copies it if the compressed block would not be shorter.  Returns the
 * length of the result. */
static size_t put_block(const uint8_t *from, size_t bytes, uint8_t *out)
{
    const int length = LZ4_compress_default((const char *)from, (char *)out, (int)bytes,
                                            LZ4_COMPRESSBOUND(LZ4_BLOCKS_BLOCK));
    if ((size_t)length < bytes)
        return (size_t)length;
    memcpy(out, from, bytes);
    return bytes;
}

static size_t put_plain(const struct packing *p, const uint8_t *from, size_t bytes, uint8_t *out,
                        uint32_t *sum)
{
    if (sum)
        *sum = crc32c(0, from, bytes);
    uint8_t *const start = out;
    while (bytes) {
        const size_t n = bytes < p->block ? bytes : p->block;
        const size_t length = put_block(from, n, out + LENGTH);
        write_be32(out, length);
        out += LENGTH + length;
        from += n;
        bytes -= n;
    }
    return (size_t)(out - start);
}

size_t lz4_blocks_compress(const void *data, size_t bytes, uint8_t *out)
{
    const struct packing p = {.put = put_plain,
                              .block = LZ4_BLOCKS_BLOCK,
                              .room = LENGTH + LZ4_COMPRESSBOUND(LZ4_BLOCKS_BLOCK)};
    write_head(out, bytes, bytes < LZ4_BLOCKS_BLOCK ? bytes : LZ4_BLOCKS_BLOCK);
    return CHUNK_HEAD + put_pieces(&p, data, bytes, out + CHUNK_HEAD, NULL);
}

/* Decompresses the next block, which has `bytes` bytes, from chunk[*at], and moves *at to its
 * end.  Returns false if the block is cut off or corrupt. */
static bool get_block(const uint8_t *chunk, size_t *at, size_t length, uint8_t *to, size_t bytes)
{
    const size_t packed = length - *at >= LENGTH ? read_be32(chunk + *at) : SIZE_MAX;
    if (packed > length - *at - LENGTH || packed > bytes)
        return false;
    const uint8_t *from = chunk + *at + LENGTH;
    *at += LENGTH + packed;
    if (packed == bytes) {
        memcpy(to, from, bytes);
        return true;
    }
    return LZ4_decompress_safe((const char *)from, (char *)to, (int)packed, (int)bytes) ==
           (int)bytes;
}

enum status lz4_blocks_decompress(const uint8_t *chunk, size_t length, void *data, size_t bytes,
                                  struct error *e)
{
    uint8_t *to = data;
    size_t block;
    const enum status s = read_head(chunk, length, "lz4", bytes, 1, LZ4_MAX_INPUT_SIZE, &block, e);
    if (s)
        return s;
    size_t at = CHUNK_HEAD;
    for (size_t left = bytes; left;) {
        const size_t n = left < block ? left : block;
        if (!get_block(chunk, &at, length, to, n))
            return error_set(
                e, STATUS_INPUT,
                "lz4: a block is truncated or corrupt, with %zu bytes of pixels missing", left);
        to += n;
        left -= n;
    }
    if (at != length)
        return error_set(e, STATUS_INPUT, "lz4: %zu bytes remain after the blocks; expected none",
                         length - at);
    return STATUS_OK;
}

/* --- one LZ4 block ----------------------------------------------------------- */

size_t lz4_block_bound(size_t bytes)
{
    return bytes > LZ4_MAX_INPUT_SIZE ? 0 : (size_t)LZ4_COMPRESSBOUND(bytes);
}

size_t lz4_block_compress(const void *data, size_t bytes, uint8_t *out)
{
    return (size_t)LZ4_compress_default(data, (char *)out, (int)bytes,
                                        LZ4_compressBound((int)bytes));
}

bool lz4_block_decompress(const uint8_t *block, size_t length, void *data, size_t bytes)
{
    return length <= INT32_MAX && bytes <= INT32_MAX &&
           LZ4_decompress_safe((const char *)block, data, (int)length, (int)bytes) == (int)bytes;
}
