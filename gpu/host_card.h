#ifndef BRAGG_GPU_HOST_CARD_H
#define BRAGG_GPU_HOST_CARD_H

#include "model/card.h"

/* That of gpu_device_host. */
extern const struct card host_card;

#endif
