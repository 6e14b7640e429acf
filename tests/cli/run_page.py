"""run_page.py PAGE FACT...: verifies a page about a run.  A FACT is a text on the page, or pictures=N."""
import base64
import re
import struct
import sys
import zlib
from html.parser import HTMLParser


def is_drawn(png):
    """Returns True if a picture has many different values."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    return len(set(zlib.decompress(data))) > 2


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text, self.pictures = [], "", 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag not in ("script", "link", "iframe", "object") and not any(a.startswith("on") for a in attributes), tag
        if tag == "img":
            kind, data = attributes["src"].split(",")
            assert kind == "data:image/png;base64" and attributes["alt"] and is_drawn(base64.b64decode(data, validate=True))
            self.pictures += 1
        elif tag != "meta":
            self.open.append(tag)
        assert re.match(r"width:[0-9.]+%$", attributes.get("style", "width:0%")), attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text += data


page = Page()
with open(sys.argv[1], encoding="utf-8") as file:
    page.feed(file.read())
page.close()
assert not page.open, page.open
text = " ".join(page.text.split())
for fact in sys.argv[2:]:
    if fact.startswith("pictures="):
        assert page.pictures == int(fact[9:]), page.pictures
    else:
        assert fact in text, f"{fact!r} is not in {text[:3000]!r}"
