"""view_strangers.py ADDRESS: connections that bragg-view must refuse, and the page behind many silent ones."""
import socket
import sys
import urllib.parse

port = urllib.parse.urlsplit(sys.argv[1]).port
UPGRADE = ("GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n")
PROTOCOL = "Sec-WebSocket-Protocol: bragg-view\r\n"
H2C = ("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
       "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")


def status(request: str) -> str:
    """The status of the answer; "cut" where the connection ends without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
        s.sendall(request.encode())
        try:
            return s.recv(300)[9:12].decode() or "cut"
        except ConnectionResetError:
            return "cut"


def page(host: str) -> str:
    return status(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")


cases = [("the page", page("localhost"), "200"), ("a websocket", status(UPGRADE + PROTOCOL + "\r\n"), "101"),
         ("no protocol", status(UPGRADE + "\r\n"), "cut"),
         ("http as the protocol", status(UPGRADE + "Sec-WebSocket-Protocol: http\r\n\r\n"), "cut"),
         ("another origin", status(UPGRADE + PROTOCOL + "Origin: http://example.org\r\n\r\n"), "cut"),
         ("HTTP/2", status(H2C), "cut"), ("a port", page("127.0.0.1:80"), "200"), ("IPv6", page("[::1]:80"), "200")]
cases += [(host, page(host), "403") for host in ("[localhost]example.org", "localhost:8080:x", "127.0.0.1:80@example.org",
                                                "localhost:", "[::1]80", "[127.0.0.1]")]
silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(600)]
cases.append(("the page behind 600 silent connections", page("localhost"), "200"))
wrong = [case for case in cases if case[1] != case[2]]
print(wrong)
sys.exit(bool(wrong))
