#include "web/websocket.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <string.h>

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, CONTROL = 0x08, MASK = 0x80, SIZE = 0x7f };

/* Ends the connection with this code and reason. */
static enum ws_event end_connection(struct ws_reader *r, enum ws_code code, const char *why)
{
    r->code = code;
    r->why = why;
    return WS_EVENT_END;
}

/* --- UTF-8 --------------------------------------------------------------------- */

enum utf8 { UTF8_WHOLE, UTF8_CUT, UTF8_BAD };

/* Returns the number of bytes of a character that begins with `first`.  Returns 0 if no character
 * begins with it.  Also sets the limits *low and *high of the second byte.  They exclude overlong
 * forms, surrogates and characters beyond U+10FFFF. */
static size_t utf8_size(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    *high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return first < 0x80                     ? 1
           : first >= 0xc2 && first <= 0xdf ? 2
           : first >= 0xe0 && first <= 0xef ? 3
           : first >= 0xf0 && first <= 0xf4 ? 4
                                            : 0;
}

/* Returns UTF8_WHOLE if the text is UTF-8, UTF8_CUT if it ends inside a character, and UTF8_BAD
 * if it is not UTF-8. */
static enum utf8 utf8_check(const void *text, size_t length)
{
    const unsigned char *t = text;
    unsigned char low, high;
    for (size_t at = 0; at < length;) {
        const size_t size = utf8_size(t[at], &low, &high);
        if (!size)
            return UTF8_BAD;
        for (size_t i = 1; i < size; i++) {
            if (at + i == length)
                return UTF8_CUT;
            if (t[at + i] < (i == 1 ? low : 0x80) || t[at + i] > (i == 1 ? high : 0xbf))
                return UTF8_BAD;
        }
        at += size;
    }
    return UTF8_WHOLE;
}

/* --- frames of the client ------------------------------------------------------ */

static enum ws_opcode opcode_of(const struct ws_reader *r)
{
    return (enum ws_opcode)(r->head[0] & OPCODE);
}

static bool is_final(const struct ws_reader *r)
{
    return r->head[0] & FIN;
}

static bool is_control(const struct ws_reader *r)
{
    return r->head[0] & CONTROL;
}

/* Returns the number of bytes of the field with the size of the payload.  It is 0 for sizes up to
 * 125, which need no such field. */
static size_t size_bytes(const struct ws_reader *r)
{
    const unsigned size = r->head[1] & SIZE;
    return size == 127 ? 8 : size == 126 ? 2 : 0;
}

/* Checks the first two bytes of a frame.  Returns WS_EVENT_END if they are not allowed. */
static enum ws_event check_start(struct ws_reader *r)
{
    const enum ws_opcode opcode = opcode_of(r);
    if (r->head[0] & RESERVED)
        return end_connection(r, WS_CODE_PROTOCOL, "a reserved bit is set");
    if ((opcode > WS_BINARY && opcode < WS_CLOSE) || opcode > WS_PONG)
        return end_connection(r, WS_CODE_PROTOCOL, "the opcode is reserved");
    if (!(r->head[1] & MASK))
        return end_connection(r, WS_CODE_PROTOCOL, "the frame is not masked");
    if (is_control(r) && !is_final(r))
        return end_connection(r, WS_CODE_PROTOCOL, "the control frame is fragmented");
    if (is_control(r) && (r->head[1] & SIZE) > WS_CONTROL_MAX)
        return end_connection(r, WS_CODE_PROTOCOL, "the control frame has more than 125 bytes");
    if (!is_control(r) && r->in_message != (opcode == WS_CONTINUATION))
        return end_connection(r, WS_CODE_PROTOCOL,
                              r->in_message ? "the previous message is not complete"
                                            : "there is no message to continue");
    if (opcode == WS_BINARY)
        return end_connection(r, WS_CODE_TYPE, "requests are text");
    return WS_EVENT_NONE;
}

/* Reads the size of the payload from a complete head, and prepares to read the payload.  Returns
 * WS_EVENT_END if the size is not allowed. */
static enum ws_event begin_payload(struct ws_reader *r)
{
    const size_t more = size_bytes(r);
    r->left = more ? 0 : r->head[1] & SIZE;
    for (size_t i = 0; i < more; i++)
        r->left = r->left << 8 | r->head[2 + i];
    if (more && r->left <= (more == 2 ? 125 : 65535))
        return end_connection(r, WS_CODE_PROTOCOL, "the size is not in its shortest form");
    if (r->left >> 63)
        return end_connection(r, WS_CODE_PROTOCOL, "the size has its highest bit set");
    if (!is_control(r) && r->left > WEB_REQUEST_MAX - r->length)
        return end_connection(r, WS_CODE_TOO_LARGE, "the request is too long");
    r->in_payload = true;
    r->at = 0;
    if (is_control(r))
        r->ncontrol = 0;
    return WS_EVENT_NONE;
}

/* Adds a byte to the head of a frame.  Returns WS_EVENT_NONE, or WS_EVENT_END if the head is not
 * allowed. */
static enum ws_event take_head(struct ws_reader *r, unsigned char byte)
{
    r->head[r->nhead++] = byte;
    if (r->nhead == 2)
        return check_start(r);
    return r->nhead > 2 && r->nhead == 2 + size_bytes(r) + 4 ? begin_payload(r) : WS_EVENT_NONE;
}

/* Removes the mask from `n` bytes of a payload, and stores them. */
static void take_payload(struct ws_reader *r, const unsigned char *bytes, size_t n)
{
    const unsigned char *key = r->head + 2 + size_bytes(r);
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = bytes[i] ^ key[r->at++ % 4];
        if (is_control(r))
            r->control[r->ncontrol++] = byte;
        else
            r->message[r->length++] = (char)byte;
    }
    r->left -= n;
}

/* Returns true if a client may send this code.  The RFC, IANA, libraries and programs define such
 * codes. */
static bool is_code(unsigned code)
{
    return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) ||
           (code >= 3000 && code <= 4999);
}

/* Reads the close frame of a client.  The server answers with the same code if the frame is
 * valid, and otherwise with the code of the error. */
static enum ws_event end_close(struct ws_reader *r)
{
    const unsigned code = r->ncontrol < 2 ? 0U : (unsigned)r->control[0] << 8 | r->control[1];
    if (r->ncontrol == 0)
        return end_connection(r, WS_CODE_NONE, "");
    if (r->ncontrol == 1)
        return end_connection(r, WS_CODE_PROTOCOL, "the close frame has one byte");
    if (!is_code(code))
        return end_connection(r, WS_CODE_PROTOCOL, "the code of the close frame is not allowed");
    if (utf8_check(r->control + 2, r->ncontrol - 2) != UTF8_WHOLE)
        return end_connection(r, WS_CODE_TEXT, "the reason of the close frame is not UTF-8");
    return end_connection(r, (enum ws_code)code, "");
}

/* Ends a frame whose payload is complete.  Returns its event. */
static enum ws_event end_frame(struct ws_reader *r)
{
    r->in_payload = false;
    r->nhead = 0;
    if (is_control(r))
        return opcode_of(r) == WS_CLOSE  ? end_close(r)
               : opcode_of(r) == WS_PING ? WS_EVENT_PING
                                         : WS_EVENT_PONG;
    r->in_message = !is_final(r);
    return r->in_message ? WS_EVENT_NONE : WS_EVENT_MESSAGE;
}

/* Returns WS_EVENT_END as soon as the bytes of the message so far cannot be UTF-8; otherwise
 * `event`. */
static enum ws_event check_text(struct ws_reader *r, enum ws_event event)
{
    const enum utf8 text = utf8_check(r->message, r->length);
    const bool bad = text == UTF8_BAD || (text == UTF8_CUT && event == WS_EVENT_MESSAGE);
    return bad ? end_connection(r, WS_CODE_TEXT, "the text is not UTF-8") : event;
}

size_t ws_take(struct ws_reader *r, const unsigned char *bytes, size_t n, enum ws_event *event)
{
    size_t used = 0;
    if (!r->in_message && !r->in_payload)
        r->length = 0;
    *event = WS_EVENT_NONE;
    while (used < n && *event == WS_EVENT_NONE) {
        if (!r->in_payload)
            *event = take_head(r, bytes[used++]);
        if (*event != WS_EVENT_NONE || !r->in_payload)
            continue;
        const size_t part = r->left < n - used ? (size_t)r->left : n - used;
        take_payload(r, bytes + used, part);
        used += part;
        const bool ends = r->left == 0, data = !is_control(r);
        if (ends)
            *event = end_frame(r);
        if (data)
            *event = check_text(r, *event);
    }
    return used;
}

/* --- frames of the server ------------------------------------------------------ */

size_t ws_head(unsigned char head[WS_HEAD_MAX], enum ws_opcode opcode, bool final, size_t n)
{
    const size_t more = n > 65535 ? 8 : n > 125 ? 2 : 0;
    head[0] = (unsigned char)((final ? FIN : 0) | (int)opcode);
    head[1] = (unsigned char)(more == 8 ? 127 : more == 2 ? 126 : n);
    for (size_t i = 0; i < more; i++)
        head[2 + i] = (unsigned char)((uint64_t)n >> 8 * (more - 1 - i));
    return 2 + more;
}

size_t ws_close_payload(unsigned char payload[WS_CONTROL_MAX], enum ws_code code, const char *why)
{
    const size_t n = strnlen(why, WS_CONTROL_MAX - 2);
    if (code == WS_CODE_NONE)
        return 0;
    payload[0] = (unsigned char)((unsigned)code >> 8);
    payload[1] = (unsigned char)code;
    memcpy(payload + 2, why, n);
    return 2 + n;
}

bool ws_accept(const char *key, char accept[WS_ACCEPT_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char joined[24 + 37];
    unsigned char digest[20];
    if (strlen(key) != 24 || strspn(key, digits) != 22 || strcmp(key + 22, "==") != 0)
        return false;
    (void)snprintf(joined, sizeof joined, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    (void)lws_SHA1((const unsigned char *)joined, strlen(joined), digest);
    return lws_b64_encode_string((const char *)digest, sizeof digest, accept, WS_ACCEPT_SIZE) > 0;
}
