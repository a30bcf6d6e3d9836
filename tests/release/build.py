"""Builds the source archive and the wheel so that anyone gets the same bytes: `make wheel`.

What could differ is taken away first. The files are those of the last commit, copied with the modes that archives keep;
the time of every entry is that of the commit; the tools are those of `constraints.txt`, not whatever is newest.

python -m tests.release.build [--outdir dist]
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[2]

BASE_BYTES = 31_649_072
"""Bytes of the wheel before it brought tools and pages (version 0.2.0, November 2026)."""
MORE_BYTES = 800_000
"""Bytes that the wheel without extras may have beyond that; 463,000 are vectors that each machine had to make."""

_AREAS = (
    ("hybrid/shipped/models/all-MiniLM-L6-v2-int8/", "model that reads records"),
    ("hybrid/shipped/models/static-v1/", "embedding model"),
    ("hybrid/shipped/models/background/", "background of the gate"),
    ("hybrid/shipped/models/lexicon/", "lexicon"),
    ("hybrid/shipped/", "settings, schema, manifests"),
    ("hybrid/", "code"),
    ("", "metadata, with the list of parts"),
)
"""Beginning of a path, what lies there; the first that fits counts."""

_LEFT_OUT = {".git", "__pycache__", "dist", "build"}


class Built(NamedTuple):
    """What a build made.

    Attributes:
        sdist: The source archive.
        wheel: The wheel, made from the source archive alone.
    """

    sdist: Path
    wheel: Path


def build(source: Path, outdir: Path, epoch_s: int) -> Built:
    """Build both archives from a copy of a folder.

    Args:
        source: A folder with pyproject.toml; it is only read.
        outdir: Where the archives go; it must hold none yet.
        epoch_s: Time of every entry, seconds since 1970.

    Raises:
        subprocess.CalledProcessError: The build failed; its output was shown.
    """
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        _copy(source, tree)
        environ = os.environ | {"SOURCE_DATE_EPOCH": str(epoch_s), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(outdir), str(tree)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.stderr.write(done.stdout + done.stderr)
            done.check_returncode()
    [sdist], [wheel] = outdir.glob("*.tar.gz"), outdir.glob("*.whl")
    return Built(sdist, wheel)


def _copy(source: Path, target: Path) -> None:
    """Copy a folder without what a build leaves, all files with one mode."""
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith(".venv"))
        place = target / Path(folder).relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o755)
        for name in sorted(names):
            shutil.copyfile(Path(folder) / name, place / name)
            (place / name).chmod(0o644)


def by_area(wheel: Path) -> dict[str, int]:
    """Return area → bytes in the wheel, packed; what archives need beside their entries is not counted."""
    sizes = dict.fromkeys((name for _, name in _AREAS), 0)
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            area = next(name for start, name in _AREAS if entry.filename.startswith(start))
            sizes[area] += entry.compress_size
    return sizes


def size_table(wheel: Path) -> str:
    """Return the size of a wheel and of its parts, as lines."""
    size = wheel.stat().st_size
    lines = [f"{n_bytes:>12,}  {area}" for area, n_bytes in by_area(wheel).items()]
    grown = f"{size - BASE_BYTES:+,} beside the {BASE_BYTES:,} of before; {MORE_BYTES:,} more are allowed"
    return "\n".join([*lines, f"{size:>12,}  the wheel ({grown})"])


def sums(built: Built) -> str:
    """Return the SHA-256 of both archives, in the form that `sha256sum --check` reads."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in built)


def main() -> int:
    """Build from the last commit, or from an unpacked source archive, and show sums and sizes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--outdir", type=Path, default=CHECKOUT / "dist", help="folder for the archives (default: dist)"
    )
    outdir: Path = parser.parse_args().outdir
    outdir.mkdir(parents=True, exist_ok=True)
    for old in (*outdir.glob("*.tar.gz"), *outdir.glob("*.whl")):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        source = _source(Path(scratch))
        built = build(source, outdir, _epoch_s())
    (outdir / "SHA256SUMS").write_text(sums(built), encoding="ascii", newline="\n")
    sys.stdout.write(f"{sums(built)}{size_table(built.wheel)}\n")
    return 0


def _source(scratch: Path) -> Path:
    """Return the folder to build from: the files of the last commit, or this folder where there is no git."""
    if not (CHECKOUT / ".git").exists():
        return CHECKOUT
    if _git("status", "--porcelain").strip():
        sys.stdout.write("what is not committed is left out\n")
    with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", "HEAD"))) as archive:
        archive.extractall(scratch / "commit", filter="data")
    return scratch / "commit"


def _epoch_s() -> int:
    """Return the time for the entries: as SOURCE_DATE_EPOCH says, of the last commit, or of the unpacked archive."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    if (CHECKOUT / ".git").exists():
        return int(_git("log", "-1", "--format=%ct"))
    return int((CHECKOUT / "pyproject.toml").stat().st_mtime)


def _git(*args: str) -> bytes:
    return subprocess.run(["git", "-C", str(CHECKOUT), *args], capture_output=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
