/* A scratch folder for unit tests: group set-up and tear-down, and files in it. */
#ifndef BRAGG_TESTS_SCRATCH_H
#define BRAGG_TESTS_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch_folder[] = "/tmp/bragg-test-XXXXXX";

/* Group set-up. */
static inline int scratch_enter(void **state)
{
    (void)state;
    return mkdtemp(scratch_folder) ? 0 : -1;
}

/* Group tear-down: removes the files and the folder. */
static inline int scratch_leave(void **state)
{
    (void)state;
    char path[512];
    DIR *folder = opendir(scratch_folder);
    for (struct dirent *d = folder ? readdir(folder) : NULL; d; d = readdir(folder)) {
        (void)snprintf(path, sizeof path, "%s/%s", scratch_folder, d->d_name);
        (void)unlink(path);
    }
    if (folder)
        (void)closedir(folder);
    return rmdir(scratch_folder);
}

/* "FOLDER/NAME", good until the next call but three. */
static inline const char *scratch_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", scratch_folder, name);
    return path;
}

/* Writes n bytes to `path`, which it returns; aborts when it cannot. */
static inline const char *scratch_put(const char *path, const void *bytes, size_t n)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, n, out) != n || fclose(out))
        abort();
    return path;
}

static inline const char *scratch_text(const char *path, const char *text)
{
    return scratch_put(path, text, strlen(text));
}

/* Number of files in the folder. */
static inline int scratch_count(void)
{
    int n = 0;
    DIR *folder = opendir(scratch_folder);
    for (struct dirent *d = folder ? readdir(folder) : NULL; d; d = readdir(folder))
        n += d->d_name[0] != '.';
    if (folder)
        (void)closedir(folder);
    return n;
}

#endif
