"""Reads streams of CrystFEL (format 2.3) and the geometry file at their start."""
import lzma
import re

import numpy as np

FRAME = "header/int/frame_id = "  # by --copy-header=frame_id; "Event: //N" is CrystFEL's own counter


def read_rows(lines, end, columns, where):
    """Reads rows of a table up to the line `end`: numbers in these columns, then the name of the panel."""
    next(lines)  # the heading
    rows = []
    for line in lines:
        if line == end:
            return rows
        words = line.split()
        rows.append((*(float(words[c]) for c in columns), words[-1]))
    raise SystemExit(f"{where}: the stream ends before '{end}'")


def read_geometry(lines):
    """Returns the settings of the whole file, by name, and of panels, by panel and name."""
    top, panels = {}, {}
    for line in lines:
        if line == "----- End geometry file -----":
            return top, {name: p for name, p in panels.items() if not name.startswith("bad")}
        name, _, value = (part.strip() for part in line.split(";")[0].partition("="))
        panel, _, key = name.rpartition("/")
        if key:
            (panels.setdefault(panel, {}) if panel else top)[key] = value
    raise SystemExit("the stream ends in its geometry file")


class Stream:
    """geometry: as above; frames: number, hit, peaks (fast, slow, panel), crystals with `axes`,
    rows a*, b*, c* in 1/nm, and `cell`, a, b, c in nm."""

    def __init__(self, path):
        file = lzma.open(path, "rt") if path.endswith(".xz") else open(path)
        lines = (line.rstrip("\n") for line in file)
        self.frames, self.geometry, frame = [], None, None
        for line in lines:
            if line == "----- Begin geometry file -----":
                self.geometry = read_geometry(lines)
            elif line == "----- Begin chunk -----":
                frame = {"number": None, "hit": None, "peaks": [], "crystals": []}
            elif line == "----- End chunk -----":
                self.frames.append(self.checked(frame))
                frame = None
            elif frame is not None:
                self.take(frame, line, lines)
        if frame is not None or not self.geometry:
            raise SystemExit("the stream ends in the middle of a frame, or has no geometry file")

    def take(self, frame, line, lines):
        """One line of a frame, or a table of it."""
        if line.startswith(FRAME):
            frame["number"] = int(line[len(FRAME):])
        elif line.startswith("hit = "):
            frame["hit"] = line == "hit = 1"
        elif match := re.match(r"header/float/(beam_energy|detector_distance) = (\S+)", line):
            frame[match.group(1)] = float(match.group(2))
        elif line == "Peaks from peak search":
            frame["peaks"] = read_rows(lines, "End of peak list", (0, 1), "peaks")
        elif line == "--- Begin crystal":
            frame["crystals"].append({"axes": {}})
        elif match := re.match(r"Cell parameters (\S+) (\S+) (\S+) nm, ", line):
            frame["crystals"][-1]["cell"] = [float(n) for n in match.groups()]
        elif match := re.match(r"([abc])star = (\S+) (\S+) (\S+) nm\^-1$", line):
            frame["crystals"][-1]["axes"][match.group(1)] = [float(n) for n in match.groups()[1:]]
        elif line == "Reflections measured after indexing":
            read_rows(lines, "End of reflections", (7, 8), "reflections")

    @staticmethod
    def checked(frame):
        if frame["number"] is None:
            raise SystemExit(f"a frame has no '{FRAME}N': indexamajig needs --copy-header=frame_id")
        for crystal in frame["crystals"]:
            crystal["axes"] = np.array([crystal["axes"][a] for a in "abc"])
        return frame


class Panel:
    """Returns the positions of the pixels of a panel, in pixels along CrystFEL's x, y, z."""

    def __init__(self, top, settings, distance_mm):
        number = lambda key: float(settings.get(key, top.get(key, 0)))
        vector = lambda key: np.array([sum(float(n.replace(" ", "")) for n in re.findall(
            rf"([+-]?\s*[\d.]+)\s*{x}", settings[key])) for x in "xyz"])
        self.first = np.array([number("min_fs"), number("min_ss")])
        away = (distance_mm / 1000 + number("coffset")) * number("res")
        self.plane = np.stack([vector("fs"), vector("ss"),
                               [number("corner_x"), number("corner_y"), away]], axis=1)
