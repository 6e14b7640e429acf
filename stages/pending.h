/* Frames that a last stage has taken and whose files are not finished, with what the index says
 * of them. */
#ifndef BRAGG_STAGES_PENDING_H
#define BRAGG_STAGES_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pending {
    size_t count, room;
    struct pending_frame {
        uint64_t id;
        uint32_t crc;
        bool hit;
    } * frames;  // owned
};

/* False when memory is out. */
bool pending_add(struct pending *p, struct pending_frame frame);

/* Takes a frame out into *frame; false when it is not there. */
bool pending_take(struct pending *p, uint64_t id, struct pending_frame *frame);

void pending_free(struct pending *p);

#endif
