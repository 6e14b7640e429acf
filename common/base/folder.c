#include "base/folder.h"

#include <ftw.h>
#include <stdio.h>

enum { OPEN_FILES_MAX = 16 };

static int remove_one(const char *path, const struct stat *what, int type, struct FTW *place)
{
    (void)what;
    (void)type;
    (void)place;
    (void)remove(path);
    return 0;
}

void folder_remove(const char *path)
{
    (void)nftw(path, remove_one, OPEN_FILES_MAX, FTW_DEPTH | FTW_PHYS);
}
