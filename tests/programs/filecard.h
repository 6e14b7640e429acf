/*
 * A card for tests of what carries images there: its memory is files of a folder, whose names are
 * their handles, mapped by who opens them.  A file "no-reserve" or "no-open" in the folder makes
 * it refuse; "log" tells where images were when frames came and left.
 */
#ifndef BRAGG_TESTS_FILECARD_H
#define BRAGG_TESTS_FILECARD_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "model/card.h"
#include "model/frame.h"

/* Before each piece of memory, in its file. */
enum { FILECARD_HEAD = 4096 };
struct filecard_head {
    size_t bytes;  // of the file
    struct card_handle handle;
};

struct filecard {
    struct card card;  // the first member
    const char *folder;
    unsigned pieces;
};

static bool filecard_has(const struct filecard *c, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", c->folder, name);
    return access(path, F_OK) == 0;
}

/* Maps a whole file behind its head. */
static enum status filecard_map(int file, size_t bytes, int how, void **memory, struct error *e)
{
    char *at = file < 0 ? MAP_FAILED : mmap(NULL, FILECARD_HEAD + bytes, how, MAP_SHARED, file, 0);
    if (file >= 0)
        (void)close(file);
    *memory = at == MAP_FAILED ? NULL : at + FILECARD_HEAD;
    return *memory ? STATUS_OK : error_errno(e, STATUS_FAILED, "card: no such memory");
}

static enum status filecard_reserve(const struct card *card, size_t bytes, void **memory,
                                    struct card_handle *handle, struct error *e)
{
    struct filecard *c = (struct filecard *)(uintptr_t)card;
    char path[600];
    *memory = NULL;
    if (filecard_has(c, "no-reserve"))
        return error_set(e, STATUS_FAILED, "card: it is full");
    memset(handle, 0, sizeof *handle);
    (void)snprintf((char *)handle->bytes, sizeof handle->bytes, "%d-%u", (int)getpid(),
                   c->pieces++);
    (void)snprintf(path, sizeof path, "%s/%s", c->folder, (const char *)handle->bytes);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && ftruncate(file, (off_t)(FILECARD_HEAD + bytes)) != 0)
        return error_errno(e, STATUS_FAILED, "%s", path);
    const enum status s = filecard_map(file, bytes, PROT_READ | PROT_WRITE, memory, e);
    if (s == STATUS_OK)
        *(struct filecard_head *)(void *)((char *)*memory - FILECARD_HEAD) =
            (struct filecard_head){FILECARD_HEAD + bytes, *handle};
    return s;
}

static enum status filecard_open(const struct card *card, const struct card_handle *handle,
                                 size_t bytes, void **memory, struct error *e)
{
    const struct filecard *c = (const struct filecard *)(const void *)card;
    char path[600];
    struct stat what;
    *memory = NULL;
    if (filecard_has(c, "no-open"))
        return error_set(e, STATUS_FAILED, "card: it refuses");
    (void)snprintf(path, sizeof path, "%s/%.*s", c->folder, CARD_HANDLE,
                   (const char *)handle->bytes);
    if (stat(path, &what) != 0 || (size_t)what.st_size < FILECARD_HEAD + bytes)
        return error_set(e, STATUS_FAILED, "card: no such memory");
    return filecard_map(open(path, O_RDONLY | O_CLOEXEC), (size_t)what.st_size - FILECARD_HEAD,
                        PROT_READ, memory, e);
}

static void filecard_close(const struct card *card, void *memory)
{
    (void)card;
    struct filecard_head *head = (void *)((char *)memory - FILECARD_HEAD);
    (void)munmap(head, head->bytes);
}

static void filecard_release(const struct card *card, void *memory)
{
    const struct filecard *c = (const struct filecard *)(const void *)card;
    const struct filecard_head *head = (const void *)((char *)memory - FILECARD_HEAD);
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", c->folder, (const char *)head->handle.bytes);
    (void)unlink(path);
    filecard_close(card, memory);
}

static enum status filecard_fetch(const struct card *card, void *to, const void *from, size_t bytes,
                                  struct error *e)
{
    (void)e;
    const struct filecard *c = (const struct filecard *)(const void *)card;
    if (filecard_has(c, "no-fetch"))
        return error_set(e, STATUS_FAILED, "card: it has fallen out");
    memcpy(to, from, bytes);
    return STATUS_OK;
}

/* The card of a folder; those of the same folder name are the same. */
static const struct card *filecard_of(struct filecard *c, const char *folder)
{
    *c = (struct filecard){.card = {.reserve = filecard_reserve,
                                    .release = filecard_release,
                                    .open = filecard_open,
                                    .close = filecard_close,
                                    .fetch = filecard_fetch},
                           .folder = folder};
    memcpy(c->card.uuid, folder, strnlen(folder, CARD_UUID));
    return &c->card;
}

/* One line of the log: what did what to which frame, and where its pixels were or are. */
static void filecard_log(const struct filecard *c, const char *what, uint64_t id,
                         const struct image *image)
{
    char path[600];
    if (!c->folder)
        return;
    (void)snprintf(path, sizeof path, "%s/log", c->folder);
    FILE *log = fopen(path, "a");
    if (!log)
        return;
    fprintf(log, "%s %llu %s\n", what, (unsigned long long)id, image->card ? "card" : "memory");
    (void)fclose(log);
}

/* A new image, on the card if that may be; *pixels is where its pixels are to go.  In this memory
 * are others then. */
static bool filecard_image(struct image *image, size_t count, float **pixels)
{
    if (image_reserve_on_card(image, PIXEL_F32, UNIT_PHOTONS, count)) {
        memset(image->pixels, 0x55, count * sizeof(float));
        *pixels = image->card;
        return true;
    }
    if (!image_reserve(image, PIXEL_F32, UNIT_PHOTONS, count))
        return false;
    *pixels = image->pixels;
    return true;
}

#endif
