/*
 * libFuzzer: every parser of ours in common/io.  The first byte chooses the
 * parser, the rest is the file, which lies in memory (memfd) and is opened by
 * its name under /proc.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/expt.h"
#include "io/geom.h"
#include "io/hkl.h"
#include "io/image_file.h"
#include "io/matrix.h"
#include "io/orientations.h"
#include "io/smv.h"
#include "io/sources.h"
#include "io/stol.h"
#include "limit.h"

enum { TABLE_MAX = 64 << 20 };  // bytes

/* The linker puts this in place of aligned_alloc: where the limit of limit.h is lifted, no
 * table is larger than TABLE_MAX.  One of half a GiB is legal for a few lines of text, but takes
 * 1000 times longer to fill than they take to parse. */
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return allocated.on || size <= TABLE_MAX ? __real_aligned_alloc(alignment, size) : NULL;
}

static void read_hkl(const char *path, enum physics physics)
{
    struct hkl_table table = {0};
    limit_end();  // a table has room for all indices between the extreme ones
    (void)hkl_read(path, physics, 1.0, &table, NULL);
    hkl_free(&table);
}

static void read_dump(const char *path)
{
    struct hkl_table table = {0};
    limit_end();  // likewise
    (void)hkl_read_dump(path, 1.0, &table, NULL);
    hkl_free(&table);
}

static void read_sources(const char *path, enum physics physics)
{
    const double beam[3] = {1, 0, 0};
    struct source *list = NULL;
    size_t n = 0;
    (void)sources_read(path, physics, beam, 1e-10, &list, &n, NULL);
    mem_free(list);
}

static void read_orientations(const char *path)
{
    double(*rotations)[9] = NULL;
    size_t n = 0;
    (void)orientations_read(path, &rotations, &n, NULL);
    mem_free(rotations);
}

static void read_stol(const char *path, bool faithful)
{
    struct stol_table table = {0};
    (void)stol_read(path, STOL_STOL, faithful, &table, NULL);
    stol_free(&table);
}

static void read_smv(const char *path)
{
    struct smv smv = {0};
    (void)smv_read(path, true, &smv, NULL);
    smv_free(&smv);
}

static void read_image(const char *path)
{
    struct image_file file = {0};
    if (image_file_read(path, &file, NULL) == STATUS_OK)
        image_free(&file.image);
}

static void read_expt(const char *path)
{
    struct expt expt;
    struct expt_scan scan;
    double reciprocal_A[9];
    limit_end();  // masks are as large as panels
    (void)expt_read(path, &expt, NULL);
    expt_free(&expt);
    (void)expt_read_scan(path, &scan, NULL);
    (void)expt_read_crystal(path, reciprocal_A, NULL);
}

static void read_geom(const char *path)
{
    struct geom geom;
    limit_end();  // a mask has room for all pixels of a panel
    (void)geom_read(path, 0.1, &geom, NULL);
    geom_free(&geom);
}

static void read_file(uint8_t which, const char *path)
{
    double matrix[9];
    switch (which % 12) {
    case 0:
        read_hkl(path, PHYSICS_PHYSICAL);
        break;
    case 1:
        read_hkl(path, PHYSICS_FAITHFUL);
        break;
    case 2:
        read_dump(path);
        break;
    case 3:
        (void)matrix_read(path, matrix, NULL);
        break;
    case 4:
        read_sources(path, PHYSICS_PHYSICAL);
        break;
    case 5:
        read_sources(path, PHYSICS_FAITHFUL);
        break;
    case 6:
        read_orientations(path);
        break;
    case 7:
        read_stol(path, which & 0x80);
        break;
    case 8:
        read_image(path);
        break;
    case 9:
        read_geom(path);
        break;
    case 10:
        read_expt(path);
        break;
    default:
        read_smv(path);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
        return 0;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    limit_begin(size);
    read_file(data[0], path);
    limit_end();
    (void)close(fd);
    return 0;
}
