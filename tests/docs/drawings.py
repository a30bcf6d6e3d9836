"""Draws the pictures of docs/concepts.md as SVG: plain shapes and text, with a title and a description in words.

A picture brings its own ground, and follows the colours that the reader's system prefers, light or dark. It needs no
font, script or file. `tests.docs.made` writes the pictures.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STYLE = """\
  <style>
    .ground { fill: #ffffff } .line { stroke: #5f6b7a; fill: none; stroke-width: 1.5 } .tip { fill: #5f6b7a }
    .box { fill: #eef1f8; stroke: #5c6bc0; stroke-width: 1.5 } .good { fill: #e3f2e4; stroke: #2e7d32; stroke-width: 1.5 }
    .none { fill: #f3f3f3; stroke: #9aa1ab; stroke-width: 1.5; stroke-dasharray: 5 4 } .gone { fill: #fbe6e4; stroke: #b3362b; stroke-width: 1.5 }
    .bar { stroke: #b3362b; stroke-width: 2.5; fill: none } .hill { fill: #c5cae9; fill-opacity: .75; stroke: #5c6bc0 } .wish { fill: #b9dfbb; fill-opacity: .75; stroke: #2e7d32 }
    text { font: 15px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1d2530 } .small { font-size: 13px; fill: #4a5563 } .bold { font-weight: 600 }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #1e2129 } .line { stroke: #9aa6b5 } .tip { fill: #9aa6b5 }
      .box { fill: #2a3045; stroke: #8c9eff } .good { fill: #1f3a24; stroke: #81c784 } .none { fill: #262a33; stroke: #737d8c } .gone { fill: #452421; stroke: #ef9a9a }
      .bar { stroke: #ef9a9a } .hill { fill: #3a4374; stroke: #8c9eff } .wish { fill: #2c5a33; stroke: #81c784 }
      text { fill: #e4e8ef } .small { fill: #b3bdca }
    }
  </style>
"""


class Drawing:
    """A picture that is being drawn; places and sizes are in pixels, from the upper left corner."""

    def __init__(self, width: int, height: int, title: str, told: str) -> None:
        self._size = (width, height)
        self._title, self._told = title, told
        self._parts: list[str] = []

    def box(self, x: float, y: float, w: float, h: float, *lines: str, kind: str = "box") -> None:
        """Draw a box with centred lines of text; the first is bold when there are several."""
        self._parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="7"/>')
        top = y + h / 2 + 5 - 9.5 * (len(lines) - 1)
        for at, line in enumerate(lines):
            style = "bold" if at == 0 and len(lines) > 1 else "small" if at else ""
            self.text(x + w / 2, top + 19 * at, line, style=style, anchor="middle")

    def text(self, x: float, y: float, text: str, *, style: str = "small", anchor: str = "start") -> None:
        """Write a line of text on a base line."""
        given = f' class="{style}"' if style else ""
        self._parts.append(f'<text{given} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def arrow(self, *points: tuple[float, float]) -> None:
        """Draw a line through points, with a tip at the last one; its last part is level or upright."""
        path = " L".join(f"{x:g} {y:g}" for x, y in points)
        self._parts.append(f'<path class="line" d="M{path}"/>')
        (x0, y0), (x, y) = points[-2:]
        dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
        left, right = (x - 8 * dx - 4.5 * dy, y - 8 * dy - 4.5 * dx), (x - 8 * dx + 4.5 * dy, y - 8 * dy + 4.5 * dx)
        tip = " ".join(f"{a:g},{b:g}" for a, b in ((x, y), left, right))
        self._parts.append(f'<polygon class="tip" points="{tip}"/>')

    def path(self, kind: str, data: str) -> None:
        """Draw any path."""
        self._parts.append(f'<path class="{kind}" d="{data}"/>')

    def svg(self) -> str:
        """Return the picture as a file."""
        width, height = self._size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img" aria-labelledby="title told">'
        )
        told = f'  <title id="title">{escape(self._title)}</title>\n  <desc id="told">{escape(self._told)}</desc>\n'
        ground = f'  <rect class="ground" width="{width}" height="{height}" rx="10"/>\n'
        return f"{head}\n{told}{_STYLE}{ground}" + "".join(f"  {part}\n" for part in self._parts) + "</svg>\n"


def prompt() -> str:
    """The way of a prompt."""
    told = (
        "The agent's hook hands the prompt to the service. Cleaning and rules may end it in silence. Then a search by meaning"
        " and a search by words run, and are fused. The gate may end in silence. The ranker orders files, floor, ledger and"
        " recheck drop what is weak, known or changed, and packing makes a text within the budget, which the agent gets."
    )
    d = Drawing(900, 400, "The way of a prompt", told)
    d.box(24, 40, 130, 60, "Agent", "types a prompt")
    d.box(204, 40, 130, 60, "Hook", "passes it on")
    d.box(384, 40, 190, 60, "Clean, rules", "talk? made by machine?")
    d.box(384, 158, 190, 46, "Search by meaning")
    d.box(624, 158, 190, 46, "Search by words")
    d.box(624, 250, 190, 54, "Fusion, ranking", "files, best first")
    d.box(384, 250, 190, 54, "Gate", "close enough?")
    d.box(204, 250, 130, 54, "Floor, ledger", "weak? known?")
    d.box(24, 250, 130, 54, "Pack", "within the budget")
    d.box(24, 340, 130, 40, "Agent gets text", kind="good")
    d.box(384, 340, 190, 40, "Silence", kind="none")
    d.box(664, 50, 150, 40, "Silence", kind="none")
    d.arrow((154, 70), (204, 70))
    d.arrow((334, 70), (384, 70))
    d.arrow((574, 70), (664, 70))
    d.text(619, 62, "yes", anchor="middle")
    d.arrow((479, 100), (479, 158))
    d.arrow((479, 128), (719, 128), (719, 158))
    d.text(489, 122, "no")
    d.arrow((479, 204), (479, 227), (690, 227), (690, 250))
    d.arrow((748, 204), (748, 250))
    d.arrow((624, 277), (574, 277))
    d.arrow((384, 277), (334, 277))
    d.text(359, 269, "yes", anchor="middle")
    d.arrow((479, 304), (479, 340))
    d.text(489, 327, "no")
    d.arrow((204, 277), (154, 277))
    d.arrow((89, 304), (89, 340))
    return d.svg()


def gate() -> str:
    """Where prompts fall on the scale of the gate."""
    told = (
        "A scale of scores. Small talk scores low, tasks of other projects a little higher, questions about this project high."
        " Two bars stand above nearly all of the first and of the second. A prompt opens the gate when its best piece rises"
        " above the higher bar; a few questions about the project fall short, a few others pass by chance."
    )
    d = Drawing(900, 330, "The two bars of the gate", told)
    base = 250
    d.path("hill", f"M60 {base} C140 {base} 165 90 225 90 C285 90 310 {base} 390 {base} Z")
    d.path("hill", f"M190 {base} C280 {base} 310 150 370 150 C430 150 460 {base} 550 {base} Z")
    d.path("wish", f"M400 {base} C520 {base} 570 110 660 110 C750 110 780 {base} 860 {base} Z")
    d.path("line", f"M40 {base} H880")
    d.text(225, 80, "small talk", style="", anchor="middle")
    d.text(367, 112, "tasks of", style="")
    d.text(367, 132, "other projects", style="")
    d.text(672, 100, "questions about this project", style="", anchor="middle")
    d.path("bar", f"M358 60 V{base + 8}")
    d.path("bar", f"M500 60 V{base + 8}")
    d.text(358, 50, "bar of talk", anchor="middle")
    d.text(500, 50, "bar of tasks", anchor="middle")
    d.text(40, base + 26, "score of the best piece: low")
    d.text(880, base + 26, "high", anchor="end")
    d.box(40, 288, 440, 30, "the gate stays closed: silence", kind="none")
    d.box(520, 288, 340, 30, "the gate opens", kind="good")
    return d.svg()


_FOUND = {"client.py": (1, 3), "store.py": (2, 1), "retry.md": (3, 4), "orders.py": (None, 2)}
"""Ranks of four chunks by meaning and by words; None: not found."""
_K = 60


def fusion() -> str:
    """How two rankings become one."""
    sums = {name: sum(1 / (_K + rank) for rank in ranks if rank) for name, ranks in _FOUND.items()}
    order = sorted(sums, key=lambda name: -sums[name])
    told = (
        "Two rankings of the same chunks, by meaning and by words. Each chunk gets one divided by sixty plus its rank from each"
        f" ranking that found it. Ordered by the sum: {', '.join(f'{name} {sums[name]:.4f}' for name in order)}."
    )
    d = Drawing(900, 330, "Fusion of two rankings", told)
    d.text(130, 40, "by meaning (cosine)", style="bold", anchor="middle")
    d.text(770, 40, "by words (BM25)", style="bold", anchor="middle")
    d.text(450, 40, "fused: 1 / (60 + rank), added up", style="bold", anchor="middle")
    for side, x in enumerate((40, 680)):
        for name, ranks in _FOUND.items():
            rank = ranks[side]
            if rank:
                y = 62 + 62 * (rank - 1)
                d.box(x, y, 180, 42, f"{rank}. {name}")
                target = 62 + 62 * order.index(name) + 21
                start, middle, end = (x + 180, 262, 300) if side == 0 else (x, 638, 600)
                d.path("line", f"M{start} {y + 21} C{middle} {y + 21} {middle} {target} {end} {target}")
    for at, name in enumerate(order):
        d.box(300, 62 + 62 * at, 300, 42, f"{at + 1}. {name}: {sums[name]:.4f}", kind="good")
    return d.svg()


def ledger() -> str:
    """What a session is given, and when again."""
    told = (
        "A session from left to right. The first prompt gets the piece A. The second prompt finds A and B: A is known, so only B"
        " is given. Then the client compacts its context, and what was given before may be gone. The next prompt gets A again."
        " A second session has a ledger of its own and gets A at its first prompt."
    )
    d = Drawing(900, 320, "The ledger of a session", told)
    d.text(24, 72, "prompt finds", style="small")
    d.text(24, 152, "agent gets", style="small")
    d.text(24, 222, "ledger", style="small")
    columns = ((130, "1st prompt", "A"), (310, "2nd prompt", "A, B"), (490, "compaction", ""), (670, "3rd prompt", "A"))
    gets = ("A", "B", "", "A again")
    keeps = ("A", "A, B", "forgets", "A")
    for (x, head, finds), given, kept in zip(columns, gets, keeps, strict=True):
        d.text(x + 70, 32, head, style="bold", anchor="middle")
        if finds:
            d.box(x, 48, 140, 38, finds)
            d.arrow((x + 70, 86), (x + 70, 128))
            d.box(x, 128, 140, 38, given, kind="good")
        d.box(x, 198, 140, 38, kept, kind="gone" if kept == "forgets" else "none")
    for x in (270, 450, 630):
        d.arrow((x, 217), (x + 40, 217))
    d.text(390, 112, "A is known")
    d.text(24, 284, "Another session has a ledger of its own: there A is new.", style="small")
    d.text(24, 304, "What the agent's own tools showed it counts as known, too.", style="small")
    return d.svg()


def segments() -> str:
    """What an edit does to an index."""
    told = (
        "The catalog, a SQLite database, knows every file and chunk and is the truth. Beside it lie segments with arrays for"
        " searching. A file is edited: its new chunks become a small new segment, and its old rows in an earlier segment are"
        " marked as gone. A new manifest names the segments that count; a search reads the snapshot that the manifest names."
        " Small segments are merged later."
    )
    d = Drawing(900, 340, "The segments of an index", told)
    d.box(24, 40, 180, 56, "File", "one is edited")
    d.box(24, 150, 180, 70, "Catalog (SQLite)", "files, chunks, vectors:", "the truth")
    d.arrow((114, 96), (114, 150))
    d.box(300, 40, 170, 66, "Segment 1", "62,000 chunks")
    d.box(300, 130, 170, 66, "Segment 2", "3 rows marked as gone", kind="gone")
    d.box(300, 220, 170, 66, "Segment 3", "the file's 4 new chunks", kind="good")
    d.arrow((204, 185), (252, 185), (252, 253), (300, 253))
    d.box(570, 130, 140, 66, "Manifest", "names 1, 2, 3")
    d.arrow((470, 73), (520, 73), (520, 150), (570, 150))
    d.arrow((470, 163), (570, 163))
    d.arrow((470, 253), (520, 253), (520, 176), (570, 176))
    d.box(760, 130, 116, 66, "Search", "one snapshot")
    d.arrow((710, 163), (760, 163))
    d.text(
        24,
        318,
        "A search that began keeps its snapshot; small segments are merged later, in the background.",
        style="small",
    )
    return d.svg()


def pages() -> dict[str, Callable[[], str]]:
    """Return what makes each picture, by its path."""
    every: Sequence[Callable[[], str]] = (prompt, gate, fusion, ledger, segments)
    return {f"docs/pictures/{draw.__name__}.svg": draw for draw in every}
