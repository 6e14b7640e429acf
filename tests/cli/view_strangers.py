"""view_strangers.py ADDRESS: connections that bragg-view must refuse, and a page beside many silent connections."""
import socket
import sys
import urllib.parse

port = urllib.parse.urlsplit(sys.argv[1]).port
UPGRADE = ("GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n")
PROTOCOL = "Sec-WebSocket-Protocol: bragg-view\r\n"
H2C = ("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
       "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
GET = "GET / HTTP/1.1\r\nHost: localhost\r\n"


def status(request: str) -> str:
    """Returns the status of the answer; "cut" if the connection ends without an answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
        s.sendall(request.encode())
        try:
            return s.recv(300)[9:12].decode() or "cut"
        except ConnectionResetError:
            return "cut"


def page(host: str) -> str:
    return status(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")


def pipelined() -> str:
    """Sends a frame without a mask in the packet of the request.  Returns the code of the close frame."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
        s.sendall((UPGRADE + PROTOCOL + "\r\n").encode() + b"\x81\x07look no")
        data = b""
        while piece := s.recv(4096):
            data += piece
    return str(int.from_bytes(data[data.rindex(b"\x03\xea"):][:2], "big"))


cases = [("the page", page("localhost"), "200"), ("a websocket", status(UPGRADE + PROTOCOL + "\r\n"), "101"),
         ("no protocol", status(UPGRADE + "\r\n"), "400"),
         ("http as the protocol", status(UPGRADE + "Sec-WebSocket-Protocol: http\r\n\r\n"), "400"),
         ("two protocols", status(UPGRADE + "Sec-WebSocket-Protocol: http, bragg-view\r\n\r\n"), "101"),
         ("another origin", status(UPGRADE + PROTOCOL + "Origin: http://example.org\r\n\r\n"), "403"),
         ("two origins", status(UPGRADE + PROTOCOL + "Origin: http://localhost\r\nOrigin: http://example.org\r\n\r\n"), "400"),
         ("another version", status(UPGRADE.replace("n: 13", "n: 8") + PROTOCOL + "\r\n"), "426"),
         ("no version", status(UPGRADE.replace("Sec-WebSocket-Version: 13\r\n", "") + PROTOCOL + "\r\n"), "426"),
         ("no key", status(UPGRADE.replace("Key: A", "Kay: A") + PROTOCOL + "\r\n"), "400"),
         ("a short key", status(UPGRADE.replace("AAAA==", "==") + PROTOCOL + "\r\n"), "400"),
         ("no Connection", status(UPGRADE.replace("Connection: Upgrade", "Connection: close") + PROTOCOL + "\r\n"), "400"),
         ("a frame behind the request", pipelined(), "1002"),
         ("HTTP/2", status(H2C), "400"), ("HTTP/2 at once", status("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "505"),
         ("two hosts", status(GET + "Host: example.org\r\n\r\n"), "400"), ("no host", status("GET / HTTP/1.1\r\n\r\n"), "403"),
         ("a folded header", status(GET + " x\r\n\r\n"), "400"), ("a blank before a colon", status(GET + "A : b\r\n\r\n"), "400"),
         ("no colon", status(GET + "A\r\n\r\n"), "400"), ("a NUL", status(GET + "A: \0\r\n\r\n"), "400"),
         ("no version of HTTP", status("GET /\r\nHost: localhost\r\n\r\n"), "400"), ("no method", status("\r\n\r\n"), "400"),
         ("100 headers", status(GET + "A: b\r\n" * 100 + "\r\n"), "400"), ("a long header", status(GET + "A: " + "b" * 9000), "431"),
         ("HEAD", status(GET.replace("GET", "HEAD") + "\r\n"), "405"), ("no such file", status(GET.replace("/ ", "/x ") + "\r\n"), "404"),
         ("a port", page("127.0.0.1:80"), "200"), ("IPv6", page("[::1]:80"), "200")]
cases += [(host, page(host), "403") for host in ("[localhost]example.org", "localhost:8080:x", "127.0.0.1:80@example.org",
                                                "localhost:", "[::1]80", "[127.0.0.1]")]
silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(600)]
cases.append(("the page behind 600 silent connections", page("localhost"), "200"))
wrong = [case for case in cases if case[1] != case[2]]
print(wrong)
sys.exit(bool(wrong))
