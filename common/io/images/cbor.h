/*
 * Reads CBOR (RFC 8949) in memory: items one after the other, and values of maps by their keys.
 * Bytes may be hostile.  Strings in parts are not read.
 */
#ifndef BRAGG_IO_IMAGES_CBOR_H
#define BRAGG_IO_IMAGES_CBOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place of an item, and the end of the bytes. */
struct cbor {
    const uint8_t *at, *end;
};

enum cbor_major {
    CBOR_WHOLE,
    CBOR_NEGATIVE,
    CBOR_BYTES,
    CBOR_TEXT,
    CBOR_ARRAY,
    CBOR_MAP,
    CBOR_TAG,
    CBOR_OTHER
};

struct cbor_item {
    enum cbor_major major;
    uint64_t value;        // of a whole number or a tag; length of a text, an array or a map
    bool endless;          // an array or a map that ends with a break; value is 0
    bool is_real;          // a number of CBOR_OTHER, in `real`
    double real;           // of all numbers
    const uint8_t *bytes;  // of bytes or a text
};

/* Reads the head of an item, and the content of bytes and texts, and moves *c after them.  Returns
 * false if the bytes end, or are no item. */
bool cbor_next(struct cbor *c, struct cbor_item *item);

/* Moves *c after an item with all that is in it.  Returns false as cbor_next does. */
bool cbor_skip(struct cbor *c);

/* Finds a key in the map that begins at c, after its tags if it has some.  Sets *value to the place
 * of the value of this key.  `key` NULL: finds the first key of the map.  Returns false if no map
 * begins at c, or if the map does not have the key. */
bool cbor_find(struct cbor c, const char *key, struct cbor *value);

/* Return the number or the text of a key.  They return false if the key is missing or of another
 * kind.  A text is cut to size - 1 bytes. */
bool cbor_find_real(struct cbor c, const char *key, double *value);
bool cbor_find_text(struct cbor c, const char *key, char *text, size_t size);

#endif
