/* What is written is what msgpack-c writes, byte for byte, and what the reader reads. */
#include "unit.h"

#include <msgpack.h>
#include <stdio.h>
#include <string.h>

#include "wire/reader.h"
#include "wire/writer.h"

struct both {
    struct writer w;
    msgpack_sbuffer buffer;
    msgpack_packer packer;
};

static struct both *open_both(void)
{
    static struct both b;
    b = (struct both){.w = {0}};
    msgpack_sbuffer_init(&b.buffer);
    msgpack_packer_init(&b.packer, &b.buffer, msgpack_sbuffer_write);
    return &b;
}

/* True when both have the same bytes, which are freed. */
static bool is_same(struct both *b)
{
    const bool same = !b->w.full && b->w.size == b->buffer.size &&
                      memcmp(b->w.bytes, b->buffer.data, b->w.size) == 0;
    mem_free(b->w.bytes);
    msgpack_sbuffer_destroy(&b->buffer);
    return same;
}

/* Around every power of two, of both signs. */
static void integers(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++)
        for (int64_t near = -2; near <= 2; near++) {
            const uint64_t value = (UINT64_C(1) << bit) + (uint64_t)near;
            struct both *b = open_both();
            writer_uint(&b->w, value);
            writer_int(&b->w, (int64_t)value);
            writer_int(&b->w, -(int64_t)(value / 2) - 1);
            msgpack_pack_uint64(&b->packer, value);
            msgpack_pack_int64(&b->packer, (int64_t)value);
            msgpack_pack_int64(&b->packer, -(int64_t)(value / 2) - 1);
            assert_true(is_same(b));
        }
}

static void other_scalars(void **state)
{
    (void)state;
    static const double reals[] = {0.0, -0.0, 1.0, -2.5e-308, 1e300, 0x1p-1074};
    struct both *b = open_both();
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        writer_real(&b->w, reals[i]);
        msgpack_pack_double(&b->packer, reals[i]);
    }
    writer_nil(&b->w);
    writer_bool(&b->w, true);
    writer_bool(&b->w, false);
    msgpack_pack_nil(&b->packer);
    msgpack_pack_true(&b->packer);
    msgpack_pack_false(&b->packer);
    assert_true(is_same(b));
}

/* Where the head becomes longer. */
static void texts_and_heads(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 15, 16, 31, 32, 127, 128, 255, 256, 65535, 65536, 70000};
    static char text[70001];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct both *b = open_both();
        memset(text, 'x', sizes[i]);
        text[sizes[i]] = 0;
        writer_text(&b->w, text);
        writer_array(&b->w, sizes[i]);
        writer_map(&b->w, sizes[i]);
        msgpack_pack_str(&b->packer, sizes[i]);
        msgpack_pack_str_body(&b->packer, text, sizes[i]);
        msgpack_pack_array(&b->packer, sizes[i]);
        msgpack_pack_map(&b->packer, sizes[i]);
        assert_true(is_same(b));
    }
}

/* A key as the writer has it, and as others may write it. */
static void keys(void **state)
{
    (void)state;
    static const uint8_t wide[] = {0xd9, 3, 'i', 'd', 's'};
    struct writer w = {0};
    struct reader key;
    writer_text(&w, "ids");
    writer_uint(&w, 7);
    struct reader r = reader_over(w.bytes, w.size);
    assert_false(reader_key_is(&r, "idt", 3, &key));
    assert_false(reader_key_is(&r, "id", 2, &key));
    assert_false(reader_key_is(&r, "idsx", 4, &key));
    assert_true(reader_key_is(&r, "ids", 3, &key));
    assert_int_equal(key.end - key.at, 3);
    assert_int_equal(w.bytes + w.size - r.at, 1);
    for (size_t size = 1; size < 4; size++) {  // cut off
        struct reader less = reader_over(w.bytes, size);
        assert_false(reader_key_is(&less, "ids", 3, &key));
        assert_false(reader_key(&less, &key));
    }
    r = reader_over(wide, sizeof wide);
    assert_false(reader_key_is(&r, "ids", 3, &key));
    assert_true(reader_key(&r, &key));
    assert_memory_equal(key.at, "ids", 3);
    mem_free(w.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(other_scalars),
        cmocka_unit_test(texts_and_heads),
        cmocka_unit_test(keys),
    };
    return unit_run(tests);
}
