"""Turns values into HTML: templates, and what they call. Everything that a template prints is masked and escaped.

Records, prompts and file names are text of strangers. A text loses its secrets, its controls and invisible characters
become marks, and then it is escaped; only what this module makes itself is taken as it is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

import hybrid
from hybrid.redact import redact
from hybrid.render.numbers import LOWEST_BAR, amount, duration, local_time, number
from hybrid.render.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER = Path(__file__).parent

VIEWS = {
    "now": "Now",
    "search": "Search",
    "ask": "Ask",
    "gate": "Gate",
    "lessons": "Lessons",
    "lore": "Lore",
    "memory": "Memory",
    "index": "Index",
    "health": "Health",
}
"""Path of a view → its name in the navigation."""

_CACHED_CHARS = 300
"""Characters of a text that is worth keeping: names and numbers come again and again."""


def environment() -> Environment:
    """Return the templates with their functions."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions: dict[str, Any] = {
        "raw": raw,
        "link": link,
        "amount": amount,
        "local_time": local_time,
        "gate_bar": gate_bar,
        "told": told,
        "share_bar": share_bar,
        "views": VIEWS,
        "version": hybrid.__version__,
    }
    made.globals.update(functions)
    made.filters.update(code=_with_code, number=_number, percent=_percent, megabytes=_megabytes, seconds=in_seconds)
    return made


def _shown(value: Any) -> Any:
    """Return a value that a template prints: text without secrets and invisible characters, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return _safe(value) if len(value) <= _CACHED_CHARS else visible(redact(value))


@lru_cache(8_192)
def _safe(text: str) -> str:
    return visible(redact(text))


def raw(text: str) -> Markup:
    """Return a text that is only escaped: an id or a token that a form sends back as it is."""
    return escape(text)


def link(path: str, **values: object) -> Markup:
    """Return an address with parameters; those that are empty, None or False are left out."""
    kept = {name: value for name, value in values.items() if value not in ("", None, False, (), [])}
    query = urlencode({name: "1" if value is True else value for name, value in kept.items()}, doseq=True)
    return escape(f"{quote(path, safe='/')}{'?' if query else ''}{query}")


def _with_code(text: str) -> Markup:
    """Return a text in which what stands between back-ticks is set as code."""
    pieces = [escape(_shown(piece)) for piece in text.split("`")]
    if len(pieces) % 2 == 0:  # One has no partner.
        return escape(_shown(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if place % 2 else piece for place, piece in enumerate(pieces)
    )


def _number(value: object, digits: int = 2) -> str:
    return number(float(value), digits).replace("-", "−") if isinstance(value, (int, float)) else "–"


def _percent(value: object) -> str:
    return f"{round(float(value) * 100, 1):g} %" if isinstance(value, (int, float)) else "–"


def _megabytes(value: object) -> str:
    return f"{value / 1e6:,.1f} MB" if isinstance(value, (int, float)) else "–"


def in_seconds(value: object) -> str:
    """Return a duration in words; a dash for what is no number."""
    return duration(value) if isinstance(value, (int, float)) else "–"


# --- drawings ---------------------------------------------------------------------------------------------


_WIDTH = 240.0
_HEIGHT = 14.0


def gate_bar(score: object, bar: object) -> Markup:
    """Return a drawing of a score and the bar that it had to reach; empty without a score.

    What lies above the bar is drawn full, what stays below it hatched: it can be told apart without colours.
    """
    if not isinstance(score, (int, float)) or not math.isfinite(score):
        return Markup("")
    limit = float(bar) if isinstance(bar, (int, float)) and bar > LOWEST_BAR else None
    low, high = min(0.0, score, limit or 0.0), max(0.6, score, limit or 0.0)

    def at(value: float) -> str:
        return f"{(value - low) / (high - low) * _WIDTH:.1f}"

    is_open, begin = limit is None or score >= limit, min(0.0, score)
    width = float(at(score)) - float(at(begin))
    label = f"score {_number(score)}, {'no bar' if limit is None else f'bar {_number(limit)}'}"
    mark = (
        ""
        if limit is None
        else f'<line class="limit" x1="{at(limit)}" x2="{at(limit)}" y1="0" y2="{_HEIGHT:g}"></line>'
    )
    return Markup(
        f'<svg class="gatebar {"open" if is_open else "closed"}" role="img" aria-label="{label}" '
        f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" preserveAspectRatio="none">'
        f'<rect class="track" x="0" y="3" width="{_WIDTH:g}" height="8"></rect>'
        f'<rect class="fill" x="{at(begin)}" y="3" width="{width:.1f}" height="8"></rect>{mark}</svg>'
    )


def share_bar(value: object, most: float = 1.0) -> Markup:
    """Return a drawing of a part of something, to stand beside its number; negative values grow from the right."""
    if not isinstance(value, (int, float)) or not math.isfinite(value) or most <= 0:
        return Markup("")
    width = min(abs(value) / most, 1.0) * 100
    begin, kind = (100 - width, "minus") if value < 0 else (0.0, "plus")
    return Markup(
        f'<svg class="sharebar {kind}" aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none">'
        f'<rect class="track" width="100" height="8"></rect>'
        f'<rect class="fill" x="{begin:.1f}" width="{width:.1f}" height="8"></rect></svg>'
    )


def told(score: object, bar: object, is_open: bool | None = None) -> str:
    """Return a score and its bar in words, and whether it opened; that is told by the two where nobody says it."""
    if not isinstance(bar, (int, float)) or not isinstance(score, (int, float)):
        return f"score {_number(score)}"
    is_open = score >= bar if is_open is None else is_open
    return f"score {_number(score)}, bar {_number(bar)}: {'open' if is_open else 'closed'}"


_WIDE, _NARROW = 720.0, 360.0
_CURVE_H = 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 12.0, 10.0, 34.0
_DOT_ROWS = 6
_DOTS_H = 16.0 + _DOT_ROWS * 10.0
"""Height below the curve for the prompts."""


def curves(points: Sequence[Mapping[str, Any]]) -> Markup:
    """Return `_curve` for wide and for narrow screens, of which the style shows one."""
    return _curve(points, "wide", _WIDE) + _curve(points, "narrow", _NARROW)


def _curve(points: Sequence[Mapping[str, Any]], name: str, whole_w: float) -> Markup:
    """Return the curve of scores against the bar: how many of the last prompts reach how much more than they had to.

    Below it each prompt is drawn where it fell: full when text was given, hollow when not, with a tick beside it for a
    mark as good and a cross for noise.

    Args:
        points: Of each prompt `margin` (its score less its bar), `is_injected`, and `mark` (good, noise or empty).
        name: `wide` or `narrow`.
        whole_w: Width of the drawing.
    """
    margins = sorted(float(point["margin"]) for point in points)
    low, high = min(-0.3, margins[0]) - 0.02, max(0.3, margins[-1]) + 0.02
    inner_w, inner_h = whole_w - _LEFT - _RIGHT, _CURVE_H - _TOP - _BOTTOM - _DOTS_H

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * inner_w

    def y(share: float) -> float:
        return _TOP + (1 - share) * inner_h

    n = len(margins)
    steps = [f"M{x(low):.1f} {y(1):.1f}"]
    for place, margin in enumerate(margins):
        steps += [f"H{x(margin):.1f}", f"V{y((n - place - 1) / n):.1f}"]
    steps.append(f"H{x(high):.1f}")
    above = sum(margin >= 0 for margin in margins)
    parts = [_axes((low, high), whole_w, x, y), f'<path class="curve" d="{" ".join(steps)}"></path>']
    parts += [f'<line class="limit" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{_TOP:g}" y2="{_CURVE_H - _BOTTOM:g}"></line>']
    n_at: dict[int, int] = {}
    for point in points:
        at = x(float(point["margin"]))
        # Those in one place stand below each other; beyond the last row they share it.
        row = n_at[round(at / 7)] = n_at.get(round(at / 7), -1) + 1
        parts.append(_dot(at, _TOP + inner_h + 16 + min(row, _DOT_ROWS - 1) * 10, point))
    label = f"{above} of the last {n} prompts reached their bar"
    return Markup(
        f'<svg class="gatecurve {name}" role="img" aria-label="{label}" viewBox="0 0 {whole_w:g} {_CURVE_H:g}">'
        f"{''.join(parts)}</svg>"
    )


def _axes(ends: tuple[float, float], whole_w: float, x: Any, y: Any) -> str:
    low, high = ends
    parts = [f'<line class="axis" x1="{_LEFT:g}" x2="{whole_w - _RIGHT:g}" y1="{y(0):.1f}" y2="{y(0):.1f}"></line>']
    for share in (0.0, 0.5, 1.0):
        at, right = f"{y(share):.1f}", f"{whole_w - _RIGHT:g}"
        parts.append(f'<text x="{_LEFT - 6:g}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
        parts.append(f'<line class="grid" x1="{_LEFT:g}" x2="{right}" y1="{at}" y2="{at}"></line>')
    step = (0.1 if high - low < 1.2 else 0.2) * (1 if whole_w == _WIDE else 2)
    for count in range(math.ceil(low / step), math.floor(high / step) + 1):
        text = "bar" if count == 0 else f"{'+' if count > 0 else '−'}{abs(count * step):.1f}"
        parts.append(f'<text x="{x(count * step):.1f}" y="{_CURVE_H - 12:g}" text-anchor="middle">{text}</text>')
    return "".join(parts)


def _dot(x: float, y: float, point: Mapping[str, Any]) -> str:
    kind = "given" if point["is_injected"] else "silent"
    mark = {"good": "M-4 0 L-1 3 L4 -4", "noise": "M-3 -3 L3 3 M-3 3 L3 -3"}.get(str(point["mark"]), "")
    drawn = f'<path class="mark" transform="translate({x + 9:.1f} {y:.1f})" d="{mark}"></path>' if mark else ""
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"></circle>{drawn}'
