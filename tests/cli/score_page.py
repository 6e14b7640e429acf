"""score_page.py PAGE FACT...: verifies a report of bragg-score.

A FACT is a text on the page, or one of these:
images=N, dots=FAST,SLOW   number of pictures of frames, and mean position of their dots about the cross
missed=N, wrong=N, lattices=N   sums over the worst frames
marks=KIND   the pictures contain marks of this kind only
"""
import base64
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "image", "br"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text, self.images, self.dots, self.marks, self.faults = [], "", [], [], {}, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag not in ("script", "link", "iframe", "img", "object") and not any(a.startswith("on") for a in attributes), tag
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith("data:image/png;base64,") or name not in attributes, attributes
        if tag == "image":
            self.images.append(base64.b64decode(attributes["href"].split(",")[1], validate=True))
        if tag == "path" and attributes.get("class") == "dots" and "Positions of found" in self.text[-400:]:
            self.dots = re.findall(r"M(\S+) (\S+)h0", attributes["d"])
        if tag == "path" and attributes.get("class") in ("right", "missed", "wrong") and "key" not in self.classes():
            self.marks[attributes["class"]] = self.marks.get(attributes["class"], 0) + attributes["d"].count("M")
        if tag not in VOID:
            self.open.append((tag, attributes.get("class", "")))

    def classes(self):
        return [c for _, c in self.open]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        last = self.open.pop()
        assert last[0] == tag, f"</{tag}> ends <{last[0]}>"
        self.text += " " if tag in ("td", "h3") else ""

    def handle_data(self, data):
        if self.open and self.open[-1][0] != "style":
            self.text += data


source = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(source)
page.close()
assert not page.open and source.startswith("<!DOCTYPE html>") and "http-equiv" in source and "url(" not in source
assert source.count("<svg class=\"plot\"") >= 1 or "At a glance" not in page.text
assert source.split("<h1")[0].count("<title>Score of ") == 1
glance = source.partition("At a glance")[2].partition("<h2>")[0]
assert glance.count('class="card"') == glance.count('<svg class="plot"'), "a card without a plot"
assert not re.search(r"<td>-?[0-9.]+e-(09|[1-9]\d)<", source), "a rounding error is shown"
assert not re.search(r"[\"\s-](nan|inf)\b", re.sub(r"base64,[^\"]*", "", source))
for png in page.images:
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and png[-8:-4] == b"IEND"
    assert len(set(png[200:])) > 10
faults = re.findall(r"strong spots missed: (\d+), lattices missed: (\d+), false spots: (\d+)", page.text)
sums = dict(zip(("missed", "lattices", "wrong"), [sum(map(int, column)) for column in zip(*faults)] or [0, 0, 0]))
worst = [int(missed) + int(wrong) + 15 * int(lattices) for missed, lattices, wrong in faults]
assert worst == sorted(worst, reverse=True) and 0 not in worst and len(worst) <= 10, worst
text = re.sub(r"\s+", " ", page.text)
for fact in sys.argv[2:]:
    name, _, value = fact.partition("=")
    if name == "images":
        assert len(page.images) == int(value), f"{len(page.images)} images"
    elif name == "dots":
        x, y = (sum(float(d[i]) for d in page.dots) / len(page.dots) for i in (0, 1))
        got = (x - 54) / (376 - 54) * 3 - 1.5, (222 - y) / (222 - 10) * 3 - 1.5
        assert all(abs(a - float(b)) < 0.01 for a, b in zip(got, value.split(","))), got
    elif name in sums:
        assert sums[name] == int(value), sums
    elif name == "marks":
        assert page.marks.pop(value) and not any(page.marks.values()), page.marks
    else:
        assert fact in text, f"'{fact}' is not in the page"
