/*
 * testclient KIND ENDPOINT COUNT [FOLDER]: a client of bragg-serve, good or bad.
 *
 * KIND     what it does
 * req      asks for COUNT frames; the pixels of a frame become the file FOLDER/TRAIN
 * pull     the same with PULL
 * sub      the same with SUB, subscribed to everything
 * series   pulls COUNT messages of Stream V2, or fewer up to an end message; prints start, end and
 *          numbers of images, whose whole messages become the files FOLDER/NUMBER
 * peaks    asks for COUNT frames as CrystFEL does; prints the number of peaks of each frame
 * vanish   asks COUNT times, each time on a new connection that is cut at once
 * stall    asks, pulls and subscribes, and never reads (COUNT seconds)
 * slow     is subscribed to everything, has small buffers, and takes 20 ms for a frame; ends half a
 *          second after the last frame
 * topics   subscribes to COUNT prefixes of 1000 bytes, within FOLDER seconds
 * idle     opens COUNT connections of a REQ, or of the type FOLDER, that send nothing further;
 *          prints a line when all are open, and keeps them until it is ended
 * hoard    pulls, has small buffers, and never reads (COUNT seconds)
 * crowd    opens COUNT connections that send nothing, at the endpoint tcp://127.0.0.1:PORT; prints
 *          a line when one of them is refused, and keeps the others for a second
 * rubbish  sends COUNT messages that are no requests, and bytes that are not ZeroMQ
 *
 * If CLIENT_KEYS names a folder with keys, the program uses them.  Prints the number of frames that
 * it took.  Status 1: no frame came for 20 s.  Status 3: a message is not as karabo-bridge 2.2
 * defines it.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "link/keys.h"
#include "wire/msgpack.h"

enum { PATIENCE_MS = 20000, PARTS = 4 };

static void *context;
static struct curve curve;

static void *open_socket(int type, const char *endpoint)
{
    void *s = zmq_socket(context, type);
    const int none = 0, one = 1, patience = PATIENCE_MS;
    (void)zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none);
    (void)zmq_setsockopt(s, ZMQ_RCVHWM, &one, sizeof one);
    (void)zmq_setsockopt(s, ZMQ_RCVTIMEO, &patience, sizeof patience);
    if (type == ZMQ_SUB)
        (void)zmq_setsockopt(s, ZMQ_SUBSCRIBE, "", 0);
    if ((curve.keyed && curve_guard(&curve, s, false, endpoint, NULL) != STATUS_OK) ||
        zmq_connect(s, endpoint) != 0)
        exit(2);
    return s;
}

/* The number after "timestamp.tid" in the first part. */
static bool find_train(zmq_msg_t *header, int64_t *train)
{
    static const char key[] = "timestamp.tid";
    const char *bytes = zmq_msg_data(header);
    const size_t size = zmq_msg_size(header);
    for (size_t i = 0; i + sizeof key < size; i++) {
        if (memcmp(bytes + i, key, sizeof key - 1) != 0)
            continue;
        struct reader r = reader_over(bytes + i + sizeof key - 1, size - i - sizeof key + 1);
        return reader_int(&r, 0, INT64_MAX, train);
    }
    return false;
}

static void keep(const char *folder, int64_t train, zmq_msg_t *pixels)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%" PRId64, folder, train);
    FILE *out = fopen(path, "w");
    if (!out || fwrite(zmq_msg_data(pixels), 1, zmq_msg_size(pixels), out) != zmq_msg_size(pixels))
        exit(2);
    (void)fclose(out);
}

static void take(void *socket, const char *folder)
{
    zmq_msg_t parts[PARTS];
    int64_t train;
    for (int i = 0; i < PARTS; i++) {
        (void)zmq_msg_init(&parts[i]);
        if (zmq_msg_recv(&parts[i], socket, 0) < 0)
            exit(1);
        if (!zmq_msg_more(&parts[i]) != (i + 1 == PARTS))
            exit(3);
    }
    if (!find_train(&parts[0], &train))
        exit(3);
    if (folder)
        keep(folder, train, &parts[PARTS - 1]);
    for (int i = 0; i < PARTS; i++)
        (void)zmq_msg_close(&parts[i]);
}

/* A whole message of one part, "start", "end" or an image; true for the end. */
static bool take_of_series(void *socket, const char *folder)
{
    static const char key[] = "\x68image_id", types[][6] = {"start", "image", "end"};
    zmq_msg_t m;
    size_t type = 0;
    (void)zmq_msg_init(&m);
    if (zmq_msg_recv(&m, socket, 0) < 0)
        exit(1);
    const char *bytes = zmq_msg_data(&m);
    const size_t size = zmq_msg_size(&m);
    if (zmq_msg_more(&m) || size < 20 || memcmp(bytes, "\xd9\xd9\xf7", 3) != 0)
        exit(3);
    bytes = memmem(bytes, 12, "\x64type", 5);
    while (bytes && type < 3 && memcmp(bytes + 6, types[type], strlen(types[type])) != 0)
        type++;
    if (!bytes || type == 3)
        exit(3);
    if (type != 1) {
        puts(types[type]);
    } else {
        const unsigned char *id = memmem(zmq_msg_data(&m), size, key, sizeof key - 1);
        if (!id || id[sizeof key - 1] > 0x19)
            exit(3);
        id += sizeof key - 1;
        const int64_t number = *id < 24 ? *id : *id == 24 ? id[1] : id[1] * 256 + id[2];
        printf("%" PRId64 "\n", number);
        if (folder)
            keep(folder, number, &m);
    }
    (void)fflush(stdout);
    (void)zmq_msg_close(&m);
    return type == 2;
}

static void vanish(const char *endpoint, long count)
{
    for (long i = 0; i < count; i++) {
        void *s = open_socket(ZMQ_DEALER, endpoint);
        const int linger = 1000;
        (void)zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger);
        (void)zmq_send(s, "", 0, ZMQ_SNDMORE);
        (void)zmq_send(s, "next", 4, 0);
        (void)zmq_close(s);  // once the request has left
    }
}

/* A connection without ZeroMQ, where the endpoint is tcp://127.0.0.1:PORT; else -1. */
static int open_bare(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (strncmp(endpoint, "tcp:", 4) == 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Bytes that are no ZeroMQ. */
static void send_noise(const char *endpoint, long seed)
{
    unsigned char bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((size_t)seed * 2654435761u >> i % 24);
    const int fd = open_bare(endpoint);
    if (fd < 0)
        return;
    (void)!write(fd, bytes, sizeof bytes);
    (void)close(fd);
}

static void crowd(const char *endpoint, long count)
{
    struct pollfd *all = calloc((size_t)count, sizeof *all);
    if (!all)
        exit(2);
    for (long i = 0; i < count; i++)
        all[i] = (struct pollfd){.fd = open_bare(endpoint), .events = POLLRDHUP};
    if (poll(all, (nfds_t)count, PATIENCE_MS) > 0)
        (void)puts("turned away");
    (void)fflush(stdout);
    (void)sleep(1);
    free(all);
}

/* A socket with little room for frames. */
static void *open_narrow(int type, const char *endpoint, int patience)
{
    const int bytes = 4096, one = 1;
    void *s = zmq_socket(context, type);
    (void)zmq_setsockopt(s, ZMQ_RCVHWM, &one, sizeof one);
    (void)zmq_setsockopt(s, ZMQ_RCVBUF, &bytes, sizeof bytes);
    (void)zmq_setsockopt(s, ZMQ_RCVTIMEO, &patience, sizeof patience);
    if (type == ZMQ_SUB)
        (void)zmq_setsockopt(s, ZMQ_SUBSCRIBE, "", 0);
    if (zmq_connect(s, endpoint) != 0)
        exit(2);
    return s;
}

static void hoard(const char *endpoint, long seconds)
{
    void *s = open_narrow(ZMQ_PULL, endpoint, PATIENCE_MS);
    (void)sleep((unsigned)seconds);
    (void)zmq_close(s);
}

static void dawdle(const char *endpoint, long count, const char *folder)
{
    const int soon = 500;
    void *s = open_narrow(ZMQ_SUB, endpoint, PATIENCE_MS);
    for (long taken = 0; taken < count; taken++) {
        zmq_pollitem_t item = {.socket = s, .events = ZMQ_POLLIN};
        if (zmq_poll(&item, 1, taken ? soon : PATIENCE_MS) <= 0)
            break;
        take(s, folder);
        (void)usleep(20000);
    }
    (void)zmq_close(s);
}

/* Subscriptions as bytes, of which a socket of ZeroMQ would keep a list itself. */
static void subscribe_to_much(const char *endpoint, long count, long seconds)
{
    static char topic[1001];
    void *s = zmq_socket(context, ZMQ_XSUB);
    const int none = 0;
    (void)zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none);
    (void)zmq_setsockopt(s, ZMQ_SNDHWM, &none, sizeof none);
    if (zmq_connect(s, endpoint) != 0)
        exit(2);
    for (long i = 0; i < count; i++) {
        unsigned noise = (unsigned)i * 2654435761u;
        topic[0] = 1;
        for (size_t k = 1; k < sizeof topic; k++)
            topic[k] = (char)((noise = noise * 1664525u + 1013904223u) >> 24);
        (void)zmq_send(s, topic, sizeof topic, 0);
        if (i % 10 == 9)
            (void)usleep((unsigned)(seconds * 10000000 / count));
    }
    (void)zmq_close(s);
}

static void idle(const char *endpoint, long count, const char *type)
{
    static const unsigned char greeting[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                               1,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    char ready[] = "\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03...";
    memcpy(ready + sizeof ready - 4, type, 3);
    for (long i = 0; i < count; i++) {
        const int fd = open_bare(endpoint);
        if (fd < 0 || write(fd, greeting, sizeof greeting) < 0 ||
            write(fd, ready, sizeof ready - 1) < 0)
            exit(2);
    }
    (void)puts("idle");
    (void)fflush(stdout);
    (void)pause();
}

static void send_rubbish(const char *endpoint, long count)
{
    static char large[100000];
    void *s = open_socket(ZMQ_DEALER, endpoint);
    for (long i = 0; i < count; i++) {
        const int kind = (int)(i % 5);
        if (kind == 0)
            (void)zmq_send(s, "more", 4, ZMQ_DONTWAIT);
        else if (kind == 1)
            (void)zmq_send(s, "", 0, ZMQ_DONTWAIT);
        else if (kind == 2)
            for (int k = 0; k < 10; k++)
                (void)zmq_send(s, "next", 4, ZMQ_DONTWAIT | (k < 9 ? ZMQ_SNDMORE : 0));
        else if (kind == 3)
            send_noise(endpoint, i);
        else if (i % 50 == 49)
            (void)zmq_send(s, large, sizeof large, ZMQ_DONTWAIT);  // cuts the connection
        (void)usleep(1000);
    }
    (void)zmq_close(s);
}

static void stall(const char *endpoint, long seconds)
{
    static const int types[] = {ZMQ_DEALER, ZMQ_PULL, ZMQ_SUB};
    void *s[3];
    for (int i = 0; i < 3; i++)
        s[i] = open_socket(types[i], endpoint);
    for (int i = 0; i < 100; i++)
        (void)zmq_send(s[0], "next", 4, ZMQ_DONTWAIT);
    (void)sleep((unsigned)seconds);
    for (int i = 0; i < 3; i++)
        (void)zmq_close(s[i]);
}

/* The length of the list of peaks in a message of one part. */
static void take_peaks(void *socket)
{
    static const char key[] = "\xa9peak_list\x83\xa2"
                              "fs";
    zmq_msg_t m;
    (void)zmq_msg_init(&m);
    if (zmq_send(socket, "next", 4, 0) < 0 || zmq_msg_recv(&m, socket, 0) < 0)
        exit(1);
    const unsigned char *n = memmem(zmq_msg_data(&m), zmq_msg_size(&m), key, sizeof key - 1);
    if (!n || zmq_msg_more(&m))
        exit(3);
    n += sizeof key - 1;
    printf("%d\n", *n == 0xdc ? n[1] << 8 | n[2] : *n & 15);
    (void)zmq_msg_close(&m);
}

static void follow(const char *endpoint, long count, const char *folder)
{
    void *s = open_socket(ZMQ_PULL, endpoint);
    while (count-- > 0 && !take_of_series(s, folder))
        continue;
    (void)zmq_close(s);
}

static void count_peaks(const char *endpoint, long count)
{
    void *s = open_socket(ZMQ_REQ, endpoint);
    while (count-- > 0)
        take_peaks(s);
    (void)zmq_close(s);
}

static void run(const char *kind, const char *endpoint, long count, const char *folder)
{
    const bool asks = strcmp(kind, "req") == 0;
    void *s = open_socket(asks ? ZMQ_REQ : strcmp(kind, "sub") == 0 ? ZMQ_SUB : ZMQ_PULL, endpoint);
    for (long taken = 0; taken < count; taken++) {
        if (asks && zmq_send(s, "next", 4, 0) < 0)
            exit(1);
        take(s, folder);
        printf("%ld\n", taken + 1);
        (void)fflush(stdout);
    }
    (void)zmq_close(s);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const char *kind = argv[1], *endpoint = argv[2];
    const long count = strtol(argv[3], NULL, 10);
    const char *folder = getenv("CLIENT_KEYS");
    context = zmq_ctx_new();
    if (curve_open(&curve, folder && *folder ? folder : NULL, true, KEYS_STAGE, NULL) != STATUS_OK)
        return 2;
    if (strcmp(kind, "vanish") == 0)
        vanish(endpoint, count);
    else if (strcmp(kind, "stall") == 0)
        stall(endpoint, count);
    else if (strcmp(kind, "hoard") == 0)
        hoard(endpoint, count);
    else if (strcmp(kind, "slow") == 0)
        dawdle(endpoint, count, argc > 4 ? argv[4] : NULL);
    else if (strcmp(kind, "topics") == 0)
        subscribe_to_much(endpoint, count, argc > 4 ? strtol(argv[4], NULL, 10) : 1);
    else if (strcmp(kind, "idle") == 0)
        idle(endpoint, count, argc > 4 ? argv[4] : "REQ");
    else if (strcmp(kind, "crowd") == 0)
        crowd(endpoint, count);
    else if (strcmp(kind, "rubbish") == 0)
        send_rubbish(endpoint, count);
    else if (strcmp(kind, "peaks") == 0)
        count_peaks(endpoint, count);
    else if (strcmp(kind, "series") == 0)
        follow(endpoint, count, argc > 4 ? argv[4] : NULL);
    else
        run(kind, endpoint, count, argc > 4 ? argv[4] : NULL);
    (void)zmq_ctx_term(context);
    return 0;
}
