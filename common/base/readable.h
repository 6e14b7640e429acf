/* Amounts for people. */
#ifndef BRAGG_BASE_READABLE_H
#define BRAGG_BASE_READABLE_H

enum { READABLE_SIZE = 24 };  // of a text, with the terminator

/* "512 bytes", "42.3 MB": three digits, in powers of 1000. */
void readable_bytes(double bytes, char text[READABLE_SIZE]);

/* "0:15", "2:03:00", rounded to seconds. */
void readable_time(double s, char text[READABLE_SIZE]);

#endif
