/* Frames of websockets, as RFC 6455 section 5 defines them for a server. */
#ifndef BRAGG_WEB_WEBSOCKET_H
#define BRAGG_WEB_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "web/request.h"

enum {
    WS_HEAD_MAX = 10,      // maximum number of bytes before the payload of a frame that the server
                           // sends
    WS_CONTROL_MAX = 125,  // maximum number of bytes in the payload of a ping, pong or close frame
    WS_ACCEPT_SIZE = 32    // size of the text that answers a key
};

enum ws_opcode {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10
};

/* Codes of close frames, RFC 6455 section 7.4.1. */
enum ws_code {
    WS_CODE_NONE = 0,  // a close frame without a code
    WS_CODE_GOING_AWAY = 1001,
    WS_CODE_PROTOCOL = 1002,   // a frame that violates the RFC
    WS_CODE_TYPE = 1003,       // binary data, where only text is allowed
    WS_CODE_TEXT = 1007,       // text that is not UTF-8
    WS_CODE_POLICY = 1008,     // text that is not a request
    WS_CODE_TOO_LARGE = 1009,  // a request of more than WEB_REQUEST_MAX bytes
};

/* Results of ws_take. */
enum ws_event {
    WS_EVENT_NONE,     // the bytes end within a frame or a message
    WS_EVENT_MESSAGE,  // `message` holds `length` bytes of text
    WS_EVENT_PING,     // `control` holds the `ncontrol` bytes to send back
    WS_EVENT_PONG,
    WS_EVENT_END  // the client closed the connection or violated a rule: the server must close
                  // with `code`
};

/* The state of one connection.  All bytes must be 0 at the start. */
struct ws_reader {
    unsigned char head[14];  // head of the current frame; `nhead` bytes have arrived
    size_t nhead;
    uint64_t left;    // number of bytes of the payload that have not arrived
    uint64_t at;      // number of bytes of the payload that have arrived
    bool in_payload;  // the head is complete
    bool in_message;  // a message has begun, and its last frame has not arrived yet
    char message[WEB_REQUEST_MAX];
    size_t length;
    unsigned char control[WS_CONTROL_MAX];
    size_t ncontrol;
    enum ws_code code;  // for WS_EVENT_END: code for the close frame
    const char *why;    // for WS_EVENT_END: static text for the close frame, never NULL
};

/* Reads `n` bytes of a client up to the first event, which goes into *event.  Returns the number
 * of bytes that were used; the caller must repeat the call with the remaining bytes.  After
 * WS_EVENT_END the reader must not be used. */
size_t ws_take(struct ws_reader *r, const unsigned char *bytes, size_t n, enum ws_event *event);

/* Writes the head of a frame with a payload of `n` bytes.  The server sends frames without a
 * mask.  Returns the number of bytes of the head. */
size_t ws_head(unsigned char head[WS_HEAD_MAX], enum ws_opcode opcode, bool final, size_t n);

/* Writes the payload of a close frame.  Returns the number of its bytes. */
size_t ws_close_payload(unsigned char payload[WS_CONTROL_MAX], enum ws_code code, const char *why);

/* Computes the answer to the Sec-WebSocket-Key of a client (RFC 6455 section 4.2.2).  Returns
 * false if the key is not 16 bytes in base64. */
bool ws_accept(const char *key, char accept[WS_ACCEPT_SIZE]);

#endif
