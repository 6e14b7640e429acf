/*
 * libFuzzer: the reader of recordings.  The input is the file.  It is read as it is, and once more
 * with right checksums, so that the code after the checksums is reached.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "limit.h"
#include "wire/codec.h"
#include "wire/recording.h"

static void read_frames(const struct recording *r)
{
    struct route route;
    struct message m;
    struct experiment x = {0};
    if (recording_experiment(r, &route, &m, NULL) == STATUS_OK)
        (void)codec_experiment_decode(&x, &m, NULL);
    message_free(&m);
    const struct codec_expected expected = codec_expect(&x);
    for (size_t i = 0; i < r->frames.count; i++) {
        struct frame f = {0};
        if (recording_frame(r, &r->frames.entries[i], &route, &m, NULL) == STATUS_OK)
            (void)codec_frame_decode(&f, &expected, &m, NULL);
        frame_free(&f);
        message_free(&m);
    }
    experiment_free(&x);
}

static void read_file(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[64];
    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct recording r;
    limit_begin(size);
    if (recording_open(&r, path, NULL) == STATUS_OK)
        read_frames(&r);
    recording_close(&r);
    limit_end();
}

/* What the head at `at` sums up behind itself, where that lies in the file. */
static uint32_t sum_meta(const struct layout_head *head, const uint8_t *data, size_t size,
                         size_t at)
{
    uint64_t sizes[2];
    const uint8_t *behind = data + at + sizeof *head;
    const size_t left = size - at - sizeof *head;
    if (head->type == INDEX_TYPE)
        return head->id <= left / sizeof(struct recording_entry)
                   ? crc32c(0, behind, (size_t)head->id * sizeof(struct recording_entry))
                   : 0;
    const size_t list = head->nparts * sizeof *sizes;
    const size_t start = (size_t)layout_round(sizeof *head + list) - sizeof *head;
    if (head->nparts < 2 || head->nparts > MESSAGE_PARTS_MAX || start > left)
        return 0;
    memcpy(sizes, behind, sizeof sizes);
    const uint64_t second = start + layout_round(sizes[0] & 0xffff);
    if (sizes[0] > left || sizes[1] > left || second + sizes[1] > left || start + sizes[0] > left)
        return 0;
    const uint32_t sum = crc32c(crc32c(0, behind, list), behind + start, (size_t)sizes[0]);
    return crc32c(sum, behind + second, (size_t)sizes[1]);
}

/* Makes the sums of all units right that begin as one of the three kinds do. */
static void seal(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + LAYOUT_UNIT <= size; at += LAYOUT_UNIT) {
        struct layout_head head;
        memcpy(&head, data + at, sizeof head);
        if (memcmp(head.magic, LAYOUT_RECORD_MAGIC, 8) == 0)
            head.crc_meta = sum_meta(&head, data, size, at);
        else if (memcmp(head.magic, LAYOUT_HEADER_MAGIC, 8) != 0 &&
                 memcmp(head.magic, LAYOUT_END_MAGIC, 8) != 0)
            continue;
        head.crc = layout_sum(&head);
        memcpy(data + at, &head, sizeof head);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    read_file(data, size);
    uint8_t *copy = mem_copy(data, size, 1);
    if (copy) {
        seal(copy, size);
        read_file(copy, size);
    }
    mem_free(copy);
    return 0;
}
