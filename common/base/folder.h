/* Folders with all that is in them. */
#ifndef BRAGG_BASE_FOLDER_H
#define BRAGG_BASE_FOLDER_H

/* Removes a folder and all in it, as far as it can; follows no link. */
void folder_remove(const char *path);

#endif
