"""Reads one file of a project: a path that does not lead out, bytes as text, and the reason to leave a file out.

A reason is a word that is counted, or None to go on. Names decide without letter case. The rules are conservative: a
file that a person may have written is not left out.
"""

from __future__ import annotations

import codecs
import errno
import os
import re

from hybrid.base.text import compiled


class OutsideError(OSError):
    """A path leads out of the project."""


def resolve_inside(root: str, path: str) -> str:
    """Return the real path of a file of the project.

    Args:
        root: Real path of the project.
        path: Relative to it, with forward slashes.

    Raises:
        OutsideError: The path, or a link on it, leads out of the project.
        OSError: The path cannot be resolved.
    """
    try:
        real = os.path.realpath(join(root, path))
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, "not a path", path) from error
    if not real.startswith(_with_separator(root)):
        raise OutsideError(errno.EACCES, "leads out of the project", path)
    return real


def join(root: str, path: str) -> str:
    """Return the absolute path of a relative one; faster than `pathlib` and the same on every platform."""
    return _with_separator(root) + path


def _with_separator(root: str) -> str:
    return root if root.endswith(os.sep) else root + os.sep


# --- Bytes to text -------------------------------------------------------------------------------------------------

BINARY_PROBE_BYTES = 8192
"""Bytes looked at for a NUL; git looks at 8,000."""

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def is_binary(data: bytes) -> bool:
    """Return whether the first 8 KiB hold a NUL and no byte order mark explains it."""
    return b"\0" in data[:BINARY_PROBE_BYTES] and not any(data.startswith(mark) for mark, _ in _MARKS)


def decode(data: bytes) -> str:
    """Decode bytes: by byte order mark, else as UTF-8, else as Windows-1252, else as Latin-1.

    The mark is dropped, and CR LF and lone CR become LF. Never raises: after a UTF-16 or UTF-32 mark, what cannot
    be decoded becomes U+FFFD; Latin-1 knows every byte.
    """
    text = _decode(data)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _decode(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    body = data.removeprefix(codecs.BOM_UTF8)
    for encoding in ("utf-8", "cp1252"):
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    return body.decode("latin-1")


# --- Reasons to leave a file out: name and size before it is opened, its first lines after -------------------------

MAX_DATA_BYTES = 64 * 1024
"""Bytes above which a file of JSON, CSV, XML and the like is left out as data; configuration is smaller."""

_MINIFIED_MEAN_CHARS = 200
_MINIFIED_LONGEST_CHARS = 5000
_MINIFIED_MIN_CHARS = 2000
_HEAD_LINES = 10
_HEAD_CHARS = 4000


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BINARY_SUFFIXES = _words("""
    7z a aab aac aar aiff apk ar arrow avi avif bin blend bmp br bz2 cab class cr2 crx dat db db3 deb dex dll dmg doc
    docx dwg dylib ear egg eot epub exe fbx feather fig flac flv gif glb gz h5 hdf5 heic heif ico icns ipa iso jar jp2
    jpeg jpg ko lib lz4 lzma m4a m4v mdb mid mkv mobi mov mp3 mp4 mpeg mpg msi mxf nib node npy npz nupkg o obj odp
    ods odt ogg ogv onnx opus orc otf parquet pb pbf pdb pdf pickle pkl png ppt pptx psd pt pth pyc pyd pyo rar raw rlib
    rpm safetensors sketch so sqlite sqlite3 stl swf tar tgz tif tiff tflite ttc ttf vsix war wasm wav webm webp whl
    wma wmv woff woff2 xls xlsb xlsx xz zip zst
""")

_LOCK_NAMES = _words("""
    bun.lock bun.lockb cargo.lock cartfile.resolved composer.lock conan.lock deno.lock flake.lock gemfile.lock
    go.sum go.work.sum gradle.lockfile mix.lock module.bazel.lock npm-shrinkwrap.json package-lock.json
    package.resolved packages.lock.json paket.lock pdm.lock pipfile.lock pixi.lock pnpm-lock.yaml podfile.lock
    poetry.lock project.assets.json pubspec.lock pylock.toml rebar.lock shard.lock stack.yaml.lock uv.lock yarn.lock
    .terraform.lock.hcl .package-lock.json
""")

_GENERATED_ENDINGS = (
    *("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi", ".pb.go", ".pb.gw.go", "_grpc.pb.go", ".pb.cc", ".pb.h"),
    *(".pb.swift", ".pb.dart", ".pbenum.dart", ".pbjson.dart", ".pbgrpc.dart", "_pb.js", "_pb.d.ts", "_pb.ts"),
    *("_pb.rb", ".g.dart", ".gr.dart", ".freezed.dart", ".designer.cs", ".designer.vb", ".g.cs", ".g.i.cs"),
    *(".generated.cs", ".generated.ts", ".generated.tsx", ".generated.js", ".gen.go", ".gen.ts", ".gen.tsx"),
    *("_generated.go", "_generated.rs", "_generated.h", ".js.map", ".mjs.map", ".cjs.map", ".css.map", ".d.ts.map"),
)
_GENERATED_BEGINNING = "zz_generated."
_MINIFIED_ENDINGS = (
    *(".min.js", ".min.mjs", ".min.cjs", ".min.css", ".min.html", ".min.json", "-min.js", "-min.css"),
    *(".bundle.js", ".bundle.css"),
)
_DATA_SUFFIXES = _words(
    "json jsonl ndjson json5 geojson topojson csv tsv psv xml svg ipynb har plist xlf xliff tmx arff gml gpx kml"
)

_SECRET_NAMES = _words("""
    id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .npmrc .pypirc .netrc _netrc .pgpass .my.cnf
    .htpasswd .git-credentials .dockercfg .dockerconfigjson .s3cfg .boto .vault-token .vault_pass .terraformrc
    credentials .credentials secrets .secrets credentials.tfrc.json application_default_credentials.json kubeconfig
    .kubeconfig pgpass.conf .rclone.conf rclone.conf service-account.json service_account.json serviceaccount.json
""")
_SECRET_SUFFIXES = _words("pem key p12 pfx p8 pkcs12 jks keystore kdbx kdb ppk gpg pgp tfvars tfstate ovpn age")
_SECRET_STEMS = _words("credentials credential secrets secret .secrets client_secret client_secrets passwords")
_SECRET_STEM_SUFFIXES = _words("json yaml yml toml ini cfg conf properties xml txt csv env")
_SECRET_FOLDERS = _words(".ssh .gnupg .password-store")
_SECRET_PATH_ENDINGS = ("/.docker/config.json", "/.kube/config")
_ENVIRONMENT = re.compile(r"\.env(?:rc)?(?:$|[._-](?!example|sample|template))")
_EXAMPLE_ENDINGS = (".example", ".sample", ".template", ".dist", ".defaults", ".default", ".tpl", ".tmpl")

_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:")

# Only lines that a comment sign opens tell that a file is generated: a program that writes such lines into other
# files holds them in strings.
_COMMENT = r"\s*(?:///?|#+|/?\*+|--+|;+|%+|<!--|\(\*|\{-|rem\b)\s*"
_GENERATED = (
    r"(?:^|\bis )@generated\b"
    r"|^Code generated by\b"
    r"|^<auto-generated"
    r"|\bDO NOT (?:EDIT|MODIFY)\b(?:\s*(?:$|[^\w\s])|(?i:\s+(?:this file|by hand|manually|directly)\b))"
    r"|(?i:\bgenerated\b.*\bdo not (?:edit|modify|change)\b)"
    r"|(?i:\bfile (?:is|was|has been) (?:auto(?:matically )?[- ]?|machine[- ])?generated\b)"
    r"|^(?i:auto(?:matically )?[- ]?generated\b)"
)


def reason_by_name(path: str) -> str | None:
    """Return `binary`, `secret_file`, `lock_file`, `minified` or `generated` by the path alone; else None."""
    lowered = path.lower()
    name = lowered.rpartition("/")[2]
    if suffix(name) in _BINARY_SUFFIXES:
        return "binary"
    if _is_secret(lowered, name):
        return "secret_file"
    if name in _LOCK_NAMES:
        return "lock_file"
    if name.endswith(_MINIFIED_ENDINGS):
        return "minified"
    return "generated" if name.endswith(_GENERATED_ENDINGS) or name.startswith(_GENERATED_BEGINNING) else None


def reason_by_size(path: str, size_bytes: int, *, max_bytes: int) -> str | None:
    """Return `empty`, `too_large` or `data` by the size of a file, and its suffix; else None."""
    if size_bytes == 0:
        return "empty"
    if size_bytes > max_bytes:
        return "too_large"
    if size_bytes > MAX_DATA_BYTES and suffix(path) in _DATA_SUFFIXES:
        return "data"
    return None


def reason_by_text(text: str, *, is_code: bool) -> str | None:
    """Return `empty`, `secret_file`, or for code `generated` or `minified`, by the text of a file; else None.

    Args:
        text: Decoded, with LF line ends.
        is_code: True for a programming language; other text is never `generated` or `minified`.
    """
    if not text or text.isspace():
        return "empty"
    if _PRIVATE_KEY.match(text.lstrip()):
        return "secret_file"
    if is_code and _is_generated(text):
        return "generated"
    return "minified" if is_code and _is_minified(text) else None


def is_secret_name(path: str) -> bool:
    """Return whether a file is made to hold keys or passwords, by its name or folder; examples are not."""
    lowered = path.lower()
    return _is_secret(lowered, lowered.rpartition("/")[2])


def suffix(name: str) -> str:
    """Return the part after the last dot of a name or path, in lower case; empty for none, and for `.name`."""
    stem, _, ending = name.rpartition(".")
    return ending.lower() if stem and "/" not in ending and not stem.endswith("/") else ""


def _is_secret(lowered: str, name: str) -> bool:
    # Every file of a scan comes here: what costs is asked only of names and paths that hold a dot in its place.
    if name.startswith(".env") and _ENVIRONMENT.match(name) and not name.endswith(_EXAMPLE_ENDINGS):
        return True
    if name in _SECRET_NAMES:
        return True
    stem, _, ending = name.rpartition(".")
    if stem and ending in _SECRET_SUFFIXES:
        return True
    if ending in _SECRET_STEM_SUFFIXES and (stem in _SECRET_STEMS or stem.startswith("client_secret")):
        return True
    return (lowered.startswith(".") or "/." in lowered) and _is_in_secret_folder(f"/{lowered}")


def _is_in_secret_folder(path: str) -> bool:
    return path.endswith(_SECRET_PATH_ENDINGS) or not _SECRET_FOLDERS.isdisjoint(path.split("/")[:-1])


def _is_generated(text: str) -> bool:
    head = text[:_HEAD_CHARS].split("\n", _HEAD_LINES)[:_HEAD_LINES]
    comment, generated = compiled(_COMMENT, re.IGNORECASE), compiled(_GENERATED)
    comments = (line[sign.end() :] for line in head if (sign := comment.match(line)) is not None)
    return any(generated.search(text) for text in comments)


def _is_minified(text: str) -> bool:
    """Return whether lines have more than 200 characters on average, or one beyond 5,000 is most of the text.

    A short text is never minified.
    """
    if len(text) < _MINIFIED_MIN_CHARS:
        return False
    lengths = [len(line) for line in text.split("\n") if line]
    longest = max(lengths)
    is_one_line = longest > _MINIFIED_LONGEST_CHARS and 2 * longest > len(text)
    return is_one_line or len(text) > _MINIFIED_MEAN_CHARS * len(lengths)
