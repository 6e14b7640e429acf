/*
 * A card for tests of what carries images there, named by a folder.  A file "no-reserve", "no-open"
 * or "no-fetch" in the folder makes it refuse; "log" tells where images were when frames came and
 * left.
 */
#ifndef BRAGG_TESTS_FOLDER_CARD_H
#define BRAGG_TESTS_FOLDER_CARD_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../hostgpu/shared_file.h"
#include "model/frame.h"

struct folder_card {
    struct card card;  // the first member
    const char *folder;
};

static bool folder_card_has(const struct folder_card *c, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", c->folder, name);
    return access(path, F_OK) == 0;
}

static enum status folder_card_reserve(const struct card *card, size_t bytes, void **memory,
                                       struct card_handle *handle, struct error *e)
{
    struct shared_file_name name;
    *memory = folder_card_has((const struct folder_card *)(const void *)card, "no-reserve")
                  ? NULL
                  : shared_file_make(bytes, &name);
    if (!*memory)
        return error_set(e, STATUS_FAILED, "card: it is full");
    memcpy(handle, &name, sizeof name);
    return STATUS_OK;
}

static enum status folder_card_open(const struct card *card, const struct card_handle *handle,
                                    size_t bytes, void **memory, struct error *e)
{
    struct shared_file_name name;
    size_t has;
    *memory = NULL;
    if (folder_card_has((const struct folder_card *)(const void *)card, "no-open"))
        return error_set(e, STATUS_FAILED, "card: it refuses");
    memcpy(&name, handle, sizeof name);
    *memory = shared_file_open(&name, bytes, &has);
    return *memory ? STATUS_OK : error_set(e, STATUS_FAILED, "card: no such memory");
}

static void folder_card_close(const struct card *card, void *memory)
{
    (void)card;
    shared_file_close(memory);
}

static void folder_card_release(const struct card *card, void *memory)
{
    (void)card;
    shared_file_free(memory);
}

static enum status folder_card_fetch(const struct card *card, void *to, const void *from,
                                     size_t bytes, struct error *e)
{
    (void)e;
    const struct folder_card *c = (const struct folder_card *)(const void *)card;
    if (folder_card_has(c, "no-fetch"))
        return error_set(e, STATUS_FAILED, "card: it has fallen out");
    memcpy(to, from, bytes);
    return STATUS_OK;
}

/* The card of a folder; those of the same folder name are the same. */
static const struct card *folder_card_of(struct folder_card *c, const char *folder)
{
    *c = (struct folder_card){.card = {.reserve = folder_card_reserve,
                                       .release = folder_card_release,
                                       .open = folder_card_open,
                                       .close = folder_card_close,
                                       .fetch = folder_card_fetch},
                              .folder = folder};
    memcpy(c->card.uuid, folder, strnlen(folder, CARD_UUID));
    return &c->card;
}

/* One line of the log: what did what to which frame, and where its pixels were or are. */
static void folder_card_log(const struct folder_card *c, const char *what, uint64_t id,
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

/* Makes a new image, on the card if possible, and returns where its pixels must be written.  If the
 * image is on the card, its memory here has other pixels. */
static float *folder_card_image(struct image *image, size_t count)
{
    if (image_reserve_on_card(image, PIXEL_F32, UNIT_PHOTONS, count)) {
        memset(image->pixels, 0x55, count * sizeof(float));
        return image->card;
    }
    image_allocate(image, PIXEL_F32, UNIT_PHOTONS, count);
    return image->pixels;
}

#endif
