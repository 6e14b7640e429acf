"""Tests bragg-view without a browser, with Python's standard library only.

It tests what the server sends, what it refuses, and values of pixels against files.  The output is TAP.
The first argument names the part of the test, the second is the address.
"""
import array
import base64
import json
import os
import re
import select
import socket
import struct
import sys
import time

HEAD = struct.Struct('<IIQQiiiiiIIIdd')
count = failed = 0


def check(name, good, note=''):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}")
    if not good:
        print(f'# {count} {name}: {note}', file=sys.stderr)


def split(address):
    host, port, query = re.fullmatch(r'http://([^:/]+):(\d+)/(\S*)', address.strip()).groups()
    return host, int(port), query


def ask(address, path='/', method='GET', **headers):
    """Returns status, headers and body.  `headers` has _ instead of -; Host=None sends no Host."""
    host, port, _ = split(address)
    headers = {'Host': f'{host}:{port}', 'Connection': 'close', **headers}
    lines = [f'{method} {path} HTTP/1.1'] + [f"{k.replace('_', '-')}: {v}" for k, v in headers.items() if v is not None]
    with socket.create_connection((host, port), 20) as s:
        s.sendall(('\r\n'.join(lines) + '\r\n\r\n').encode())
        data = b''
        try:
            while piece := s.recv(1 << 16):
                data += piece
        except ConnectionError:
            pass
    head, _, body = data.partition(b'\r\n\r\n')
    status = int(head.split()[1]) if head else 0
    return status, head.decode().lower(), body


class Socket:
    """A websocket that sends and receives text and binary messages, as a browser does."""

    def __init__(self, address, buffer=None, **headers):
        host, port, _ = split(address)
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(60)
        self.socket.connect((host, port))
        headers = {'Host': f'{host}:{port}', 'Upgrade': 'websocket', 'Connection': 'Upgrade', 'Sec-WebSocket-Version': '13',
                   'Sec-WebSocket-Key': base64.b64encode(os.urandom(16)).decode(), 'Sec-WebSocket-Protocol': 'bragg-view',
                   **headers}
        self.socket.sendall(('GET / HTTP/1.1\r\n' + ''.join(f'{k}: {v}\r\n' for k, v in headers.items()) + '\r\n').encode())
        self.data = b''
        while b'\r\n\r\n' not in self.data:
            piece = self.socket.recv(4096)
            if not piece:
                raise ConnectionError('refused')
            self.data += piece
        head, _, self.data = self.data.partition(b'\r\n\r\n')
        if not head.startswith(b'HTTP/1.1 101'):
            raise ConnectionError(head.split(b'\r\n')[0].decode())

    def _take(self, n):
        pieces, have = [self.data], len(self.data)
        while have < n:
            piece = self.socket.recv(1 << 18)
            if not piece:
                raise ConnectionError('closed')
            pieces.append(piece)
            have += len(piece)
        data = b''.join(pieces)
        self.data = data[n:]
        return data[:n]

    def message(self):
        """Returns the next message: (True, text) or (False, bytes)."""
        whole, text = b'', False
        while True:
            first, second = self._take(2)
            n = second & 127
            if n > 125:
                n = int.from_bytes(self._take(2 if n == 126 else 8), 'big')
            piece = self._take(n)
            if first & 15 == 8:
                raise ConnectionError('closed')
            if first & 15 in (9, 10):
                continue
            if first & 15:
                text = first & 15 == 1
            whole += piece
            if first & 128:
                return text, whole

    def say(self, text, opcode=1):
        data = text.encode() if isinstance(text, str) else text
        size = bytes([128 | len(data)]) if len(data) < 126 else bytes([254]) + len(data).to_bytes(2, 'big')
        self.socket.sendall(bytes([128 | opcode]) + size + b'\0\0\0\0' + data)

    def answer(self, text):
        """Sends `text`.  Returns the head of the next binary message, and the bytes after the head."""
        self.say(text)
        while True:
            is_text, data = self.message()
            if not is_text:
                return HEAD.unpack_from(data), data[HEAD.size:]

    def wait_text(self, what):
        """The next text of this kind, as a dictionary.  Other kinds may contain the same words: the text
        of the pipeline counts "frames", too, and comes before the first frame on a slow machine."""
        while True:
            is_text, data = self.message()
            if is_text and (text := json.loads(data))['what'] == what:
                return text

    def is_closed(self):
        try:
            while True:
                self.message()
        except (ConnectionError, TimeoutError):
            return True


def refused(address, **headers):
    try:
        Socket(address, **headers)
    except ConnectionError:
        return True
    return False


def part_http(address):
    host, port, _ = split(address)
    status, head, body = ask(address)
    check('the page is there', status == 200 and b'<canvas' in body, status)
    check('the page loads nothing from other hosts', "default-src 'none'" in head and b'//' not in body.replace(b'<!doctype', b''), head)
    names = re.findall(rb'(?:src|href)="([a-z.]+)"', body)
    check('the files of the page are served', names and all(ask(address, '/' + n.decode())[0] == 200 for n in names), names)
    for path in ('/etc/passwd', '/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/style.css/', '/page/style.css',
                 '/main.js%00', '/' + 'a' * 3000):
        status, _, body = ask(address, path)
        check(f'no path leads elsewhere: {path[:30]}', status != 200 and b'root:' not in body, status)
    for name in ('evil.example', f'evil.example:{port}', 'localhost.evil.example', '127.0.0.1.evil.example', '', '[', ':', None):
        check(f'a Host of {name} is refused', ask(address, Host=name)[0] != 200)
        if name:
            check('the websocket refuses a Host of {name}', refused(address, Host=name, Origin=f'http://{name}'))
    check('localhost and other addresses are not', all(ask(address, Host=h)[0] == 200 for h in ('localhost:1', '[::1]:80', '10.0.0.1')))
    for origin in ('http://evil.example', 'null', f'http://{host}:{port}.evil.example', f'http://{host}', 'x' * 2000):
        check(f'a websocket from {origin[:30]} is refused', refused(address, Origin=origin))
    check('one from the page is not', not refused(address, Origin=f'http://{host}:{port}'))
    check('the page accepts no POST', ask(address, method='POST', Content_Length='4')[0] != 200)


def part_token(address):
    host, port, query = split(address)
    check('the address has the token', re.fullmatch(r'\?token=[\w-]{16,}', query), query)
    check('an address without the token gives no page', ask(address)[0] == 403 and refused(address))
    check('a wrong token gives no page', ask(address, '/?token=' + 'x' * 32)[0] == 403)
    status, head, _ = ask(address, '/' + query)
    cookie = re.search(r'set-cookie: ([^;]+); path=/; httponly; samesite=strict', head)
    check('an address with the token sets the cookie', status == 303 and cookie, head)
    cookie = cookie.group(1)
    check('the cookie gives the page', ask(address, Cookie='a=b; ' + cookie)[0] == 200)
    check('the cookie gives a websocket', not refused(address, Cookie=cookie))
    check('a part is not enough', ask(address, Cookie=cookie[:-1])[0] == 403 and refused(address, Cookie=cookie + 'x'))
    check('a token is refused under another name of the host', ask(address, '/' + query, Host='evil.example')[0] == 403)


def read_smv(path):
    with open(path, 'rb') as file:
        data = file.read()
    fields = dict(re.findall(rb'(\w+)=([^;]*);', data[:512]))
    width = int(fields[b'SIZE1'])
    values = array.array('H', data[int(fields[b'HEADER_BYTES']):])
    return width, len(values) // width, values


def blocks(pixels, width, height, x0, y0, w, h, factor, of):
    for y in range(y0, y0 + h):
        for x in range(x0, x0 + w):
            yield of([pixels[s * width + f] for s in range(y * factor, min(height, (y + 1) * factor))
                      for f in range(x * factor, min(width, (x + 1) * factor))])


def part_values(address, template):
    s = Socket(address)
    s.wait_text('end')
    for number in (0, 2, 1):
        head, data = s.answer(f'tile {number} 0 0 4000 4000 1 max')
        width, height, pixels = read_smv(template % head[3])
        check(f'frame {number} has the pixels of its file', data == pixels.tobytes() and head[6:8] == (width, height), head)
    for region in ((0, 0, 1, 1, 1), (5, 7, 3, 2, 1), (2, 1, 4, 6, 7), (0, 0, 999, 999, 7), (0, 0, 9, 9, 100000)):
        for mode, of, code in (('max', max, 'H'), ('mean', lambda v: struct.unpack('f', struct.pack('f', sum(v) / len(v)))[0], 'f')):
            head, data = s.answer('tile 1 %d %d %d %d %d %s' % (*region, mode))
            want = list(blocks(pixels, width, height, *head[4:8], head[8], of))
            got = list(array.array(code, data))
            check(f'blocks {region} {mode}', got == want and head[4:6] == region[:2], (head, got[:4], want[:4]))
    check('a frame that is not there', s.answer('tile 99 0 0 1 1 1 max')[0][0] == 4)
    head, data = s.answer('marks 1')
    marks = [struct.unpack_from('<fffiiii', data, 28 * i) for i in range(head[10])]
    bright = max(marks, key=lambda m: m[2])
    near = [pixels[y * width + x] for y in range(max(0, int(bright[1]) - 1), min(height, int(bright[1]) + 2))
            for x in range(max(0, int(bright[0]) - 1), min(width, int(bright[0]) + 2))]
    check('the brightest true reflection is where the image is bright', max(near) > sorted(pixels)[-len(pixels) // 50], (bright, near))


def part_marks(address, table, limit):
    """Tests that the marks of each frame are the rows of a table of reflections whose z is above a limit."""
    rows = [line.rstrip('\n').split('\t') for line in open(table)]
    at = {name: i for i, name in enumerate(rows[0])}
    s = Socket(address)
    s.wait_text('end')
    for number in range(3):
        head, data = s.answer(f'marks {number}')
        got = sorted(struct.unpack_from('<iiii', data, 28 * i + 12) for i in range(head[10]))
        frame = [r for r in rows[1:] if int(r[at['frame']]) == head[3]]
        want = sorted(tuple(int(r[at[name]]) for name in ('lattice', 'h', 'k', 'l')) for r in frame if float(r[at['z']]) > float(limit))
        check(f'frame {head[3]}', got == want and 0 < len(want) <= len(frame) and (len(want) < len(frame)) == (float(limit) > 0),
              (len(got), len(want), len(frame)))


def part_files(address, template):
    """Tests frames without ground truth, of each pixel type."""
    s = Socket(address)
    s.wait_text('end')
    for number in range(3):
        head, data = s.answer(f'tile {number} 0 0 4000 4000 1 max')
        width, height, pixels = read_smv(template % head[3])
        got = list(array.array('fHIi'[head[1]], data))
        check(f'frame {number} of the raw file has the pixels of its file', got == list(pixels) and head[6:8] == (width, height), head)
    check('no reflection is known', s.answer('marks 1')[0][10] == 0)


def frame(data=b'', opcode=1, final=1, reserved=0, mask=True, size=None):
    """A frame of a client; `size`: the bytes of the field that holds the size."""
    data = data.encode() if isinstance(data, str) else data
    size = (8 if len(data) > 65535 else 2 if len(data) > 125 else 0) if size is None else size
    short = {0: len(data), 2: 126, 8: 127}[size]
    head = bytes([final << 7 | reserved << 4 | opcode, mask << 7 | short]) + (len(data).to_bytes(size, 'big') if size else b'')
    return head + (b'\x11\x22\x33\x44' + bytes(b ^ (17, 34, 51, 68)[i % 4] for i, b in enumerate(data)) if mask else data)


def code(value, reason=b''):
    return frame(value.to_bytes(2, 'big') + reason, 8)


TILE = 'tile 0 0 0 1 1 1 max'
BEGIN, REST = frame('tile 0 0 0 ', final=0), '1 1 1 max'
# bytes of a client, and the code with which RFC 6455 has the server close; None: without a code
FRAMES = [(f'opcode {n}', frame('', n), 1002) for n in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)] + [
    (f'code {n}', code(n), 1002) for n in (0, 999, 1004, 1005, 1006, 1015, 1100, 2999, 5000, 65535)] + [
    (f'code {n}', code(n, b'bye'), n) for n in (1000, 1001, 1003, 1007, 1011, 1014, 3000, 4999)] + [
    (f'not masked: opcode {n}', frame('', n, mask=False), 1002) for n in (1, 2, 8, 9, 10)] + [
    (f'reserved bit {n}: opcode {o}', frame('', o, reserved=n), 1002) for n in (1, 2, 4, 7) for o in (1, 8, 9, 10)] + [
    (f'fragment of opcode {o}', frame('', o, final=0), 1002) for o in (8, 9, 10)] + [
    (f'126 bytes of opcode {o}', frame(b'\x03\xe8' + b'x' * 124, o), 1002) for o in (8, 9, 10)] + [
    ('a request without a mask', frame(TILE, mask=False), 1002), ('after one with a mask', frame('look no') + frame(TILE, mask=False), 1002),
    ('the rest of one', BEGIN + frame(REST, 0, mask=False), 1002), ('a reserved bit there', BEGIN + frame(REST, 0, reserved=1), 1002),
    ('a ping of 70000 bytes', frame('x' * 70000, 9), 1002), ('a ping of 3 bytes in a long form', frame('abc', 9, size=2), 1002),
    ('a message within another', BEGIN + frame(TILE), 1002), ('a rest of nothing', frame(TILE, 0), 1002),
    ('a rest of a complete message', frame('look no') + frame('', 0), 1002),
    ('20 bytes with a size of 2', frame(TILE, size=2), 1002), ('of 8', frame(TILE, size=8), 1002),
    ('a size of 2^63', b'\x81\xff\x80' + b'\0' * 11, 1002), ('of 2^63 - 1', b'\x81\xff\x7f' + b'\xff' * 7 + b'\0' * 4, 1009),
    ('129 bytes', frame('x' * 129), 1009), ('129 in two frames', frame('x' * 128, final=0) + frame('x', 0), 1009),
    ('binary data', frame(TILE, 2), 1003), ('no request', frame('hello'), 1008), ('nothing', frame(''), 1008),
    ('no request beyond ASCII', frame('\u00e9\u20ac\U0001d11e'), 1008),
    ('a character in two frames', frame(b'\xc3', final=0) + frame(b'\xa9', 0), 1008),
    ('an empty close frame', frame('', 8), None), ('one byte', frame('\3', 8), 1002), ('its reason is not UTF-8', code(1000, b'\xff'), 1007),
    ('its reason is cut', code(1000, b'\xe2\x82'), 1007), ('frames after it', code(1000) + frame(TILE, mask=False), 1000)] + [
    (f'text {text!r}', frame(text), 1007) for text in
    (b'\xff', b'\x80', b'\xc0\x80', b'\xc1\xbf', b'\xe0\x9f\xbf', b'\xed\xa0\x80', b'\xf0\x8f\xbf\xbf', b'\xf4\x90\x80\x80', b'\xf5\x80\x80\x80',
     b'\xe2\x82', b'look \xfe')] + [
    ('in the first of two frames', frame(b'\xff', final=0), 1007), ('in the second', frame(b'\xc3', final=0) + frame('(', 0), 1007)]


def closes(address, raw, step):
    """The codes of the close frames that answer `raw`, sent `step` bytes at a time; then the end must come."""
    s, codes = Socket(address), []
    s.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.socket.settimeout(5)
    try:
        for at in range(0, len(raw), step):
            s.socket.sendall(raw[at:at + step])
        while True:
            first, second = s._take(2)
            data = s._take(second & 127 if second & 127 < 126 else int.from_bytes(s._take(2 if second & 127 == 126 else 8), 'big'))
            if first == 0x88:
                codes.append(int.from_bytes(data[:2], 'big') if data else None)
                data[2:].decode()
    except ConnectionError as e:
        return codes if 'closed' in str(e) else (codes, e)
    except TimeoutError:
        return codes, 'no end'


def part_frames(address):
    """A frame that RFC 6455 forbids ends its own connection, with a code, and no other connection."""
    witness = Socket(address)
    for step in (1 << 20, 3):
        got = [(name, want, closes(address, raw, step)) for name, raw, want in FRAMES if step > 3 or len(raw) < 200]
        check(f'{len(got)} sorts of frames end their connection with the right code, {step} bytes at a time',
              all([want] == codes for _, want, codes in got), [g for g in got if [g[1]] != g[2]])
    for name, raw, pongs in (('one frame', frame(TILE), 0), ('two', BEGIN + frame(REST, 0), 0), ('three, and a ping', BEGIN + frame('1 1 ', 0, final=0)
                             + frame('p' * 125, 9) + frame('', 10) + frame('1 max', 0), 1), ('another mask', frame(TILE)[:2] + b'\0\0\0\0' + TILE.encode(), 0)):
        s, seen = Socket(address), []
        s.socket.sendall(raw)
        while 2 not in seen or seen.count(10) < pongs:
            first, second = s._take(2)
            s._take(second & 127 if second & 127 < 126 else int.from_bytes(s._take(2), 'big'))
            seen.append(first & 15)
        check(f'a request in {name} is answered', seen.count(10) == pongs, seen)
    check('a page that was open before is served', witness.answer(TILE)[0][0] == 1)


BAD = ('', ' ', 'tile', 'tile 0 0 0 1 1 0 max', 'tile 0 0 0 1 1 1 min', 'tile 0 -1 0 1 1 1 max', 'tile 0 0 0 1 1 1 max ',
       'tile 0  0 0 1 1 1 max', 'tile 0 0 0 1 1 1e3 max', 'tile 0 0 0 1 1 99999999999 max', 'tile 99999999999999999999 0 0 1 1 1 max',
       'look maybe', 'mask 0 0 1 1', 'marks', 'marks 1 2', 'look yes no', 'x' * 128, 'x' * 5000, 'tile 0 0 0 1 1 1 max\0', '\0', 'GET /')


def part_hostile(address):
    for text in BAD:
        s = Socket(address)
        s.say(text)
        check(f'{text[:40]!r} ends the connection', s.is_closed())
    s = Socket(address)
    s.socket.sendall(b'\x81\xfe\xff\xff' + b'\0' * 100)
    s.socket.close()
    s = Socket(address)
    s.socket.sendall(b'\xff' * 4096)
    check('a message that is no frame ends the connection', s.is_closed())
    s = Socket(address)
    for text in ('tile 0 4000000 0 1 1 1 max', 'tile 0 0 0 0 0 1 max', 'mask 2147483647 0 1 1 2147483647', 'tile 7 0 0 1 1 1 max'):
        check(f'{text!r}: there is no such', s.answer(text)[0][0] == 4)
    check('a mask without end is cut', s.answer('mask 0 0 2147483647 2147483647 1')[0][6:8] == (61, 40))
    check('other clients go on after a mask without end', Socket(address).answer('tile 0 0 0 1 1 1 max')[0][0] == 1)


def part_crowd(address):
    """Pages that show frames, and one that reads nothing, until the stream has ended."""
    stalled = Socket(address, buffer=4096)
    stalled.wait_text('frames')
    for _ in range(50):
        stalled.say('tile 0 0 0 4000 4000 1 max')
    pages = [Socket(address) for _ in range(50)]
    for s in pages:
        s.wait_text('frames')
        s.say('look yes')
        s.say('tile 0 0 0 4000 4000 2 max')
    begun = time.monotonic()
    good = sum(HEAD.unpack_from(next(d for t, d in iter(s.message, None) if not t))[0] == 1 for s in pages)
    check('50 pages are served beside one that stalls', good == 50, (good, time.monotonic() - begun))
    more = []
    try:
        for _ in range(30):
            s = Socket(address)
            s.message()
            more.append(s)
    except ConnectionError:
        pass
    live = 0
    for s in [stalled, *pages]:
        try:
            s.answer('marks 0')
            live += 1
        except OSError as e:
            print('#', s is stalled, e, file=sys.stderr)
    check('all of the clients go on', live == 51, live)
    check('at most 64 clients are served', len(more) in (12, 13), len(more))


def part_hoard(address, process):
    """As many pages as are allowed.  Each asks for 16 MB of its own and reads nothing."""
    pages = [Socket(address, buffer=4096) for _ in range(64)]
    for i, s in enumerate(pages):
        s.say(f'tile 0 {i} 0 2000 2000 1 mean')
    high, end = 0, time.monotonic() + 1
    while time.monotonic() < end:
        with open(f'/proc/{process}/status') as file:
            high = int(re.search(r'VmHWM:\s*(\d+)', file.read()).group(1))
        time.sleep(0.1)
    check('clients that read nothing take little memory', high < 150000 or os.environ.get('BRAGG_SANITIZED'), high)
    for s in pages:
        s.socket.close()
    last = Socket(address)
    last.say('tile 0 0 0 10 10 1 max')
    while last.message()[0]:
        pass
    check('a client that reads is served after those that do not', True)


def part_follow(address):
    """Asks for each new frame until the stream has ended, and prints the number of frames."""
    s = Socket(address)
    s.say('look yes')
    seen, there, asked = set(), False, False
    while True:
        text, data = s.message()
        what = json.loads(data)['what'] if text else ''
        if what == 'end':
            break
        there |= what == 'frames'
        if not text:
            seen.add(HEAD.unpack_from(data)[3])
            asked = False
        if there and not asked:
            s.say('tile 0 0 0 4000 4000 1 max')
            asked = True
            time.sleep(0.02)
    print(len(seen))


def part_last(address, count):
    """A page that comes after the end has the last frame and the whole history."""
    s = Socket(address)
    end = s.wait_text('end')
    frames = Socket(address).wait_text('frames')
    check('the last frame is kept', frames['id'] == int(count) - 1, frames)
    times = [point[0] for point in end['history']]
    check('the history ends with it', times == sorted(times) and end['history'][-1][1] == frames['came'] == end['frames'], end)


def part_course(address):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            s = Socket(address)
            break
        except OSError:
            time.sleep(0.05)
    s.say('look yes')
    frames = s.wait_text('frames')
    check('frames, hits and brightness', 0 < frames['hits'] == frames['came'] and frames['brightness'] > 0, frames)
    stages = set()
    while len(stages) < 3:
        processes = s.wait_text('pipeline')['run']['processes']
        stages = {p['stage'] for p in processes}
    check('stages in their order', processes[0]['stage'] == 'bragg-replay' and stages >= {'bragg-view', 'bragg-write'}, processes)


globals()['part_' + sys.argv[1]](*sys.argv[2:])
if count:
    print(f'1..{count}')
sys.exit(failed > 0)
