#include "shared_file.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };  // bytes

/* Content of a struct shared_file_name: the process that made the memory, and its file. */
struct said {
    pid_t pid;
    int fd;  // file descriptor in that process
    ino_t inode;
    size_t bytes;
};

/* Header of the memory, in the page before it.  The rest of that page is not used. */
struct page {
    size_t bytes;
    int fd;  // file descriptor in the process that made the memory
};

static struct page *page_of(void *memory)
{
    return (struct page *)(void *)((char *)memory - PAGE);
}

static void *map(int fd, size_t bytes, int how)
{
    void *pages = mmap(NULL, PAGE + bytes, how, MAP_SHARED, fd, 0);
    return pages == MAP_FAILED ? NULL : (char *)pages + PAGE;
}

void *shared_file_make(size_t bytes, struct shared_file_name *name)
{
    struct stat about;
    const int fd = memfd_create("named", MFD_CLOEXEC);
    void *memory = NULL;
    if (fd >= 0 && bytes < SIZE_MAX / 4 && ftruncate(fd, (off_t)(PAGE + bytes)) == 0 &&
        fstat(fd, &about) == 0)
        memory = map(fd, bytes, PROT_READ | PROT_WRITE);
    if (!memory) {
        (void)(fd < 0 || close(fd));
        return NULL;
    }
    const struct said said = {getpid(), fd, about.st_ino, bytes};
    *name = (struct shared_file_name){0};
    _Static_assert(sizeof said <= sizeof *name, "a name fits");
    memcpy(name, &said, sizeof said);
    *page_of(memory) = (struct page){bytes, fd};
    return memory;
}

void shared_file_free(void *memory)
{
    if (memory)
        (void)close(page_of(memory)->fd);
    shared_file_close(memory);
}

bool shared_file_is_own(const struct shared_file_name *name)
{
    struct said said;
    memcpy(&said, name, sizeof said);
    return said.pid == getpid();
}

void *shared_file_open(const struct shared_file_name *name, size_t bytes, size_t *has)
{
    char path[64];
    struct said said;
    struct stat about;
    memcpy(&said, name, sizeof said);
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)said.pid, said.fd);
    const int fd = bytes <= said.bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *memory = NULL;
    if (fd >= 0 && fstat(fd, &about) == 0 && about.st_ino == said.inode &&
        (size_t)about.st_size == said.bytes + PAGE)
        memory = map(fd, said.bytes, PROT_READ);
    (void)(fd < 0 || close(fd));
    *has = said.bytes;
    return memory;
}

void shared_file_close(void *memory)
{
    if (memory)
        (void)munmap(page_of(memory), PAGE + page_of(memory)->bytes);
}
