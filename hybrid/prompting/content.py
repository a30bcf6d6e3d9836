"""Finds what a prompt says: code, names and paths; places in code; content words; pieces and terms for the gate.

It reads text only: the index knows what of it is in the project. Places are frames of stack traces, lines of compilers,
links.

People wrap a request in greetings, deadlines and reasons. The wrapping pulls the vector of the whole prompt towards
talk; the request alone, a sentence or a clause of it, lies where its subject lies. A prompt in another language is
scored by its English terms too: code, documentation and most models speak English (`el rate limit con el token
bucket`). Terms are looked up here and in code at large: `models/background/terms.tsv` holds in how many documents of
public code each occurs; `lab/hybrid_lab/training/gate_terms.py` counted them.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.resources import shipped
from hybrid.base.text import compiled
from hybrid.base.tokens import query_tokens, tokens_of_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


# Names of products are spelled like identifiers and say nothing about the project's code.
_PRODUCTS = frozenset(
    """
    chatgpt github gitlab openai javascript typescript youtube linkedin whatsapp powerpoint iphone ipad macos ios
    ebay paypal openoffice deepseek playstation wikipedia duckduckgo icloud airpods macbook facetime
    """.split()
)
_PROSE_PAIRS = frozenset(
    """
    and/or either/or yes/no his/her he/she she/he him/her s/he w/o n/a i/o on/off true/false pass/fail start/stop
    before/after input/output read/write pros/cons his/hers
    """.split()
)
_ABBREVIATIONS = frozenset("e.g i.e a.m p.m u.s u.k vs.the etc.and".split())
FILE_EXTENSIONS = frozenset(
    """
    py pyi pyx ipynb js mjs cjs jsx ts mts cts tsx vue svelte go rs c h cc cpp cxx hh hpp hxx m mm java kt kts
    scala groovy gradle clj cljs rb erb rake gemspec php cs fs fsx vb swift zig nim hs lhs ml mli ex exs erl hrl
    lua r jl pl pm sh bash zsh fish ps1 bat cmd sql graphql proto thrift html htm css scss sass less xml xsl svg
    json jsonc json5 jsonl yaml yml toml ini cfg conf env properties lock md mdx rst adoc txt csv tsv tex dart d v
    sol tf hcl nix bzl cmake mk dockerfile pem crt key log patch diff wasm asm s
    """.split()
)

_FENCE = re.compile(r"```|~~~")
_BACKTICKED = re.compile(r"`([^`\n]{1,200})`")
_URL = re.compile(r"\b(?:https?|ftp|file)://[^\s<>\"'`)]{1,2000}")
_IDENTIFIER = re.compile(
    r"(?<![\w@/.#-])(?:"
    r"--[A-Za-z][\w-]+"  # --flag
    r"|[A-Za-z_]\w*(?:(?:\.|::|->|#|\\)[A-Za-z_]\w*)+(?:\(\))?"  # dotted.name, Scope::name, Class#method
    r"|\.[A-Za-z_]\w+(?=\()(?:\(\))?"  # .method()
    r"|\w+\(\)"  # call()
    r"|[A-Za-z_$@]\w*(?![\w/\\])"  # a word, judged by its spelling
    r")"
)
_COMPOUND = re.compile(
    r"_?[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*|__?[A-Za-z]\w+|[A-Za-z]\w*_"  # snake_case, _private, trailing_
    r"|[a-z][a-z0-9]*[A-Z]\w*"  # camelCase
    r"|[A-Z][a-z0-9]+[A-Z]\w*"  # PascalCase
    r"|[A-Z]{2,}[a-z]{2,}\w*"  # HTTPServer
    r"|[$@][A-Za-z_]\w+"  # $variable, @decorator
)
_PATH = re.compile(r"(?<![\w/\\.~@-])(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/|@)?[\w.@+-]+(?:[/\\][\w.@+\[\]-]+)*[/\\]?")
_BARE_FILES = frozenset("makefile dockerfile gemfile rakefile procfile jenkinsfile vagrantfile cmakelists.txt".split())
_SEPARATOR = r"\.|::|->|#|\\"
_CODE = (
    r"=>|==|!=|:=|\+=|-=|&&|\|\||\w\(\)|</?[A-Za-z][\w.-]{0,60}(?:\s[^<>\n]{0,200})?/?>"
    r"|(?m:[{}][^\S\n]*$|\)[;:][^\S\n]*$)"
    r"|\b(?:def|class|function|fn|func|struct|interface|enum)\s+\w+\s*[({:]|\b(?:const|let|var)\s+\w+\s*[=:]"
    r"|\bfrom\s+[\w.]+\s+import\b|\bimport\s+[{*]"
    r"|\bFile \"[^\"\n]{1,300}\", line \d+|(?m:^[^\S\n]*at [^\n]{1,300}:\d+\)?$)|\b[A-Z]\w{2,60}(?:Error|Exception)\b"
    r"|(?m:^[^\S\n]*\$ \w)|\b\w{1,60}\[[\w\"':-]{1,60}\]|\b\w{1,60} = [\w\"'\[{(]"
)


def has_code(text: str) -> bool:
    """Return whether a text holds a fenced block, a stack trace, or a piece of code or of a command line."""
    return bool(_FENCE.search(text) or _BACKTICKED.search(text) or re.search(_CODE, text))


def identifiers(text: str) -> tuple[str, ...]:
    """Return the names that can only come from code, each once: those in backticks, then the others, as they appear.

    camelCase, PascalCase, snake_case, dotted and scoped names, calls, `--flags`, `$variables`, and what stands in
    backticks when it is a single word. Addresses, file names and names of well-known products are not among them.
    The `()` of a call is left out.
    """
    quoted = (name for name in _BACKTICKED.findall(text) if not re.search(r"\s", name) and not _is_path(name))
    spelled = filter(_is_identifier, _IDENTIFIER.findall(_unusual(text)))
    return tuple(dict.fromkeys(name.removesuffix("()") for name in (*quoted, *spelled)))


def paths(text: str) -> tuple[str, ...]:
    """Return paths and file names, each once, in order, as typed without a leading `@` and closing punctuation."""
    written = (word.rstrip(".") for word in _PATH.findall(_unusual(text)))
    return tuple(dict.fromkeys(path.removeprefix("@") for path in written if _is_path(path)))


def _unusual(text: str) -> str:
    """Return the words of a text that are not spelled like prose, without URLs, so that patterns see few words."""
    without_urls = _URL.sub(" ", text) if "://" in text else text
    words = (word.rstrip(",.;:!?") for word in without_urls.split())
    return " ".join(
        word
        for word in words
        if not word.isalpha() or not (word.islower() or word.istitle()) or word.lower() in _BARE_FILES
    )


def _is_identifier(name: str) -> bool:
    """Return whether a name is spelled as only code spells it, and is no path and no product."""
    if name.startswith(("--", ".")) or name.endswith("()"):
        return True
    if re.search(_SEPARATOR, name):
        return not _is_path(name) and _is_dotted_name(name)
    return _COMPOUND.fullmatch(name) is not None and name.lower() not in _PRODUCTS


def _is_dotted_name(name: str) -> bool:
    """Return True unless the dot is a full stop without a space after it, or part of an abbreviation."""
    if name.lower() in _ABBREVIATIONS:
        return False
    parts = re.split(_SEPARATOR, name)
    if "." not in name or len(parts) > 2:
        return all(len(part) > 1 for part in parts[:-1]) or "::" in name
    first, second = parts
    is_sentence_end = second[:1].isupper() and first.islower() and second[1:].islower()
    return len(first) > 1 and len(second) > 1 and not is_sentence_end


def _is_path(word: str) -> bool:
    """Return whether a word is a path or the name of a file: by its extension, or by slashes between parts."""
    lower = word.lower().rstrip("/\\")
    if lower in _BARE_FILES:
        return True
    last = re.split(r"[/\\]", lower)[-1]
    stem, dot, extension = last.rpartition(".")
    if dot and extension in FILE_EXTENSIONS and len(stem) + len(extension) > 2 and (stem or extension == "env"):
        return True
    if last.startswith(".") and len(last) > 3 and last[1:].replace("-", "").isalpha():
        return True
    separators = word.count("/") + word.count("\\")
    if not separators or lower in _PROSE_PAIRS:
        return False
    pieces = [piece for piece in re.split(r"[/\\]", word) if piece]
    if not any(re.search(r"[A-Za-z]{2}", piece) for piece in pieces):
        return False
    if re.match(r"[A-Za-z]:[\\/]|~?/|\.{1,2}/|@", word) or word.endswith("/") or separators > 1:
        return True
    return all(len(piece) > 1 and not piece.isdigit() for piece in pieces) and not word.isupper()


# --- Places ----------------------------------------------------------------------------------------------------------


MAX_CHARS = 20_000
"""Characters of a text that are read: half from its beginning, half from its end, where a trace says what failed."""

MAX_PLACES = 100
"""Number of places of one text that are kept; of a trace the frames nearest to the failure."""

_GAP = 4
"""Number of lines from one frame of a trace to the next at most: code of a frame or a message stands between them."""

_MAX_LINE_ABOVE = 1_000
"""Characters of a line that may be the function of a frame; a longer line is none."""

_FILE = r"(?P<path>(?:[A-Za-z]:[\\/])?[^\s:\"'`()\[\]<>|,;=*?]+\.[A-Za-z]\w{0,9})"
# Without it, every character of a long word would be tried as the beginning of a path.
_BEGIN = r"(?<![^\s:\"'`()\[\]<>|,;=*?])"
_AT = r"(?P<line>\d{1,7})"
_MAYBE = re.compile(r"\.\w{1,10}(?:\"?,? line |:line |[:(]) ?\d|\.pyx?(?:\]?\(|\]? in \w)|/blob/|#L\d|\bFile \"")

_FORMATS = {
    "link": (
        r"https?://[^\s/]{1,200}/[^\s/]+/[^\s/]+/(?:-/)?(?:blob|src|raw)/[^\s/]+/"
        r"(?P<path>[^\s#?()\"'<>]{1,400})(?:#L(?P<line>\d{1,7}))?"
    ),
    "python": rf"\bFile \"(?P<path>[^\"\n]{{1,400}})\", line {_AT}(?:, in (?P<name>[\w.<>]+))?",
    "cell": rf"^\s*File (?P<path>[^\s:<>][^:\n]{{0,400}}):{_AT}, in (?P<name>[\w.<>]+)",
    "cell head": r"^\s*\[?(?P<path>[^\s()\[\]<>]{1,400}\.pyx?)\]?(?:\([^)]{0,400}\))? in (?P<name>[\w<>]+)",
    "jvm": (
        r"\bat (?:[\w.@-]*/)*(?P<class>[\w.$]+)\.(?P<name>[\w$<>]+)"
        rf"\((?P<path>[\w$-]+\.(?:java|kt|kts|scala|groovy|clj)):{_AT}\)"
    ),
    "dotnet": (
        r"\bat (?P<name>[^\s(]{1,300})\([^()]{0,1000}\) in "
        rf"(?P<path>(?:[A-Za-z]:)?[^\s:][^:]{{0,400}}):line {_AT}"
    ),
    "php": rf"^\s*#\d+ {_FILE}\({_AT}\): (?P<name>[^\s(]+)",
    "native": (rf"^\s*#\d+ +(?:0x[\da-f]+ in )?(?P<name>[\w:~<>.]+)(?![\w:~<>.]).{{0,1000}}?[\s(]{_FILE}:{_AT}"),
    "ruby": rf"{_BEGIN}{_FILE}:{_AT}:in [`'](?:[\w ]+ in )?(?P<name>[\w?!.#:]+)'",
    "node": (
        r"^\s*at (?:async )?(?:new )?(?:(?P<name>[^\s(]{1,200}) [^(]{0,100}\()?(?:[a-z-]+:/{0,3})?"
        rf"{_FILE}:{_AT}"
    ),
    "any": rf"{_BEGIN}{_FILE}(?:\"?,? line |:line |:|\(|#L){_AT}\b",
}
"""Name of a format → pattern of a frame or place; a line is of the first format that it matches."""
_LAST_IS_DEEPEST = ("python", "cell", "cell head")
_CELL_LINE = r"^\s*-+> ?(?P<line>\d{1,7})\b"
_CALLED_ABOVE = r"^(?!at )(?:\d+: )?(?P<name>[\w./<>:*&({})\[\], ]{1,300}?)(?:::h[\da-f]{16})?(?:\([^()]*\))?$"
"""Pattern of the function of a frame of Go or Rust, which stands on the line above its place."""

_NOT_OF_NAME = r"[^\w$?!~]+"
_BRACKETS = r"<[^<>]*>|\{[^{}]*\}"
_SLASHES = r"[/\\]+"
_SCHEME = r"^(?:[a-z][a-z-]{1,20}:/*|[A-Za-z]:(?=[\\/]))"
_VERSION = r"(?<=\w)[-@]v?\d+(?:\.\d+)+.*$"
_PACKAGES = ("site-packages", "dist-packages", "node_modules", "gems")
_STANDARD = (
    r"^<|^node:|/rustc/|/lib/python\d[\d.]*/(?!(?:site|dist)-packages/)|^/usr/include/|^/usr/lib/|/go/src/runtime/"
    r"|^[a-z]*(?:java|jdk)\.base/"
)


class SourceLine(Struct, frozen=True):
    """A place in code that a text names.

    Attributes:
        path: Path with `/`, without what only one machine has: a scheme, `.` and the folder of installed packages.
        line: Number of the line, from 1; None when the text says none.
        name: Name of the function there, as the trace spells it without its scope; empty when none is said.
        trace: Number of the trace that it is a frame of, from 0; None for a path in prose.
        is_installed: Whether it is a file of an installed package: of another project, unless this one was installed.
    """

    path: str
    line: int | None = None
    name: str = ""
    trace: int | None = None
    is_installed: bool = False


def places(text: str) -> tuple[SourceLine, ...]:
    """Return the places with a line number that a text names, each once; of a trace the frame that failed is first.

    Understood are traces of Python, IPython, Node and browsers, the JVM, Go, Rust, .NET, Ruby, PHP, gdb and sanitizers,
    and any `path:line`, `path(line)` and `path line 3`. Files of a language's own library are not among them.
    """
    if not _MAYBE.search(text):
        return ()
    lines: list[SourceLine] = []
    for number, (frames, is_last_deepest) in enumerate(_traces(_ends(text).split("\n"))):
        ordered = frames[::-1] if is_last_deepest else frames
        lines += [replace(frame, trace=number) for frame in ordered if frame.path]
    return tuple(dict.fromkeys(lines))[:MAX_PLACES]


def is_frame(line: str) -> bool:
    """Return True for a line that names a place in code, in whatever project."""
    return _MAYBE.search(line) is not None and any(compiled(form).search(line) for form in _FORMATS.values())


@lru_cache(1 << 10)
def parts_of_path(path: str) -> tuple[tuple[str, ...], bool]:
    """Return the parts of a path as a project would spell it, and whether it lies in a folder of installed packages.

    Versions are cut off: `/root/.cargo/registry/src/index/tokio-1.2.0/src/io.rs` gives tokio, src, io.rs. A path of a
    language's own library gives nothing.
    """
    if compiled(_STANDARD).search(compiled(_SLASHES).sub("/", path)):
        return (), False
    parts = [
        part
        for part in compiled(_SLASHES).split(compiled(_SCHEME).sub("", path.removeprefix("@")))
        if part not in ("", ".", "..", "~", "_", "@")
    ]
    start = _after_packages(parts)
    kept = parts[start:]
    return tuple(
        compiled(_VERSION).sub("", part) if place < len(kept) - 1 else part for place, part in enumerate(kept)
    ), start > 0


def _after_packages(parts: list[str]) -> int:
    """Return the number of the first part of a path below a folder of installed packages; 0 when it lies in none."""
    for place in range(len(parts) - 2, -1, -1):
        folder, above = parts[place], parts[place - 1] if place else ""
        if folder == "mod" and above == "pkg":
            return place + 1
        if folder == "src" and above == "registry":
            return place + 2
        if folder in _PACKAGES:
            return place + 1
    return 0


def _traces(lines: list[str]) -> list[tuple[list[SourceLine], bool]]:
    """Return the traces of a text in order: frames that stand together, and whether the last one is the deepest."""
    traces: list[tuple[list[SourceLine], bool]] = []
    last = 0
    for number, form, frames in _frames(lines):
        is_last_deepest = form in _LAST_IS_DEEPEST
        gap = 3 * _GAP if form in ("cell", "cell head") else _GAP  # Cells show code around each frame.
        if traces and number - last <= gap and traces[-1][1] == is_last_deepest:
            traces[-1][0].extend(frames)
        else:
            traces.append((frames, is_last_deepest))
        last = number
    return traces


def _frames(lines: list[str]) -> Iterator[tuple[int, str, list[SourceLine]]]:
    """Yield each line with frames: its number from 0, the format and the frames."""
    last = -1
    formats = [(form, compiled(pattern)) for form, pattern in _FORMATS.items()]
    for number, line in enumerate(lines):
        if not _MAYBE.search(line):
            continue
        for form, pattern in formats:
            matches = [match for match in pattern.finditer(line) if form == "python" or _is_code(match.group("path"))]
            if matches:
                above = lines[number - 1] if number - 1 > last and line[:1].isspace() else ""
                below = lines[number + 1 : number + 3 * _GAP]
                yield number, form, [_frame(form, match, above, below) for match in matches]
                last = number
                break


def _frame(form: str, match: re.Match[str], above: str, below: list[str]) -> SourceLine:
    """Return the place of a frame, without the number of its trace; its path is empty for a language's own library.

    Args:
        form: Name of the format that matched.
        match: The match.
        above: The line above, if it may name the function; else empty.
        below: The lines below.
    """
    groups = match.groupdict()
    path, name, line = groups["path"], groups.get("name") or "", groups.get("line")
    if form == "jvm":
        path = "/".join((*groups["class"].split(".")[:-1], path))
    elif form == "cell head":
        line = _line_of_cell(below)
    elif form in ("any", "node") and not name:
        name = _called(above)
    parts, is_installed = parts_of_path(path)
    return SourceLine("/".join(parts), int(line) if line else None, _last_name(name), is_installed=is_installed)


def _called(above: str) -> str:
    """Return the function that the line above a place names; empty when it names none."""
    called = compiled(_CALLED_ABOVE).match(above.strip()) if len(above) <= _MAX_LINE_ABOVE else None
    return called.group("name") if called else ""


def _line_of_cell(below: list[str]) -> str | None:
    """Return the number of the line that an arrow points at, in the code of one frame; None without an arrow."""
    for line in below:
        if match := compiled(_CELL_LINE).match(line):
            return match.group("line")
        if not line.strip():
            return None
    return None


def _is_code(path: str) -> bool:
    """Return whether a path names a file of code, unlike `np.random.rand(3)` and `example.com:80`."""
    return path.rpartition(".")[2].lower() in FILE_EXTENSIONS


def _last_name(name: str) -> str:
    """Return the last part of a name, `run` of `app::Server<T>::run`; empty for closures and other nameless things."""
    if not name:
        return ""
    words = [word for word in compiled(_NOT_OF_NAME).split(compiled(_BRACKETS).sub("", name)) if word]
    return words[-1] if words else ""


def _ends(text: str) -> str:
    """Return a text without the middle of what is longer than `MAX_CHARS`."""
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS // 2]}\n\n{text[-MAX_CHARS // 2 :]}"


# --- Content: words without politeness and grammar -------------------------------------------------------------------


# Words of grammar and politeness that say nothing about a subject, by language; data for `hybrid.prompting.content`.
#
# Written by hand: articles, pronouns, auxiliaries, prepositions and connectives, then what people put around a
# request: greetings, thanks, modal phrases, verbs of asking and showing, words of time that only say when something
# is due.

ENGLISH = """
a an the this that these those there here theres heres it its itself i me my mine myself im ive id ill we us our ours
were weve lets you your yours yourself youre youve youd youll u ur he him his she her hers they them their theirs
theyre themselves one ones someone somebody something somewhere anyone anybody anything everyone everybody everything
nobody nothing who whom whose which what whats whatever when whenever where wheres wherever why how hows however
am is are was be been being isnt arent wasnt werent aint do does did doing done dont doesnt didnt have has had having
havent hasnt hadnt can could cannot cant couldnt may might must mustnt shall should shouldnt will wont would wouldnt
ought and or but nor so yet if then than else because cause while whereas although though unless until till since as
at by for from in into of off on onto out over per through throughout to toward towards under up upon via with within
without about above across after against along among around before behind below beside besides between beyond during
near again also almost already always any away both each either enough especially even ever every few further just
lately least less likely little lot lots many maybe meanwhile merely more most mostly much namely nearly neither never
no none not now often once only other others otherwise own perhaps possibly quite rather really recently same several
some sometimes somehow soon still such thereby therefore thus together too usually very well yes yep yeah yup nope ok
okay etc eg ie btw fyi tbh imo imho afaik asap wanna gonna gotta lemme gimme kinda sorta
please pls plz kindly thanks thank thx ty cheers hi hey hello hiya morning evening afternoon dear folks guys team mate
buddy sorry welcome great good nice cool fine perfect awesome amazing wonderful appreciate appreciated glad happy
grateful congrats urgent urgently quick quickly briefly sure right exactly actually basically simply probably certainly
definitely obviously honestly apparently hopefully unfortunately currently
want wants wanted need needs needed wish hope hoping would like love prefer think thinking thought guess suppose
believe feel feels know knows knew wonder wondering mean means meant seem seems seemed let try tries tried trying give
gives gave given tell tells told say says said saying ask asks asked asking talk talked show shows shown look looks
looked looking see sees saw seen find help helps helping helped explain understand understood going go goes went gone
come comes came coming get gets got getting gotten take takes took taken keep keeps kept put make sure happen happens
happened happening expect expects expected supposed able possible possibly manage managed thing things stuff way ways
bit kind kinds sort sorts idea ideas case reason point works work worked working yesterday today tonight tomorrow
moment minute minutes while time times week weekend monday tuesday wednesday thursday friday saturday sunday first
next last later earlier long ago
"""

OTHERS = {
    "german": """
der die das den dem des ein eine einen einem einer eines und oder aber doch sondern denn weil dass ob wenn als wie wo
was wer wann warum wieso weshalb ich du er sie es wir ihr mich mir dich dir uns euch ihn ihm ihnen mein meine meinen
dein deine unser unsere ist sind war waren bin bist sein wird werden wurde hat haben habe hatte kann kannst können
könnte könntest konnte soll sollte muss müssen müsste darf will möchte würde würdest mal bitte danke hallo hi moin
guten morgen tag abend nicht kein keine nein ja auch noch nur schon sehr so dann da hier dort jetzt heute morgen
gestern gleich immer wieder zu zum zur von vom in im an am auf aus bei mit nach für über unter vor um durch gegen ohne
etwas alles nichts man mir gern gerne vielleicht eigentlich gerade einfach irgendwie diese dieser dieses diesen
""",
    "french": """
le la les l un une des du de d et ou mais donc car ni que qu qui quoi dont où quand comment pourquoi je j tu il elle on
nous vous ils elles me m te t se s lui leur mon ma mes ton ta tes son sa ses notre nos votre vos ce cet cette ces c ça
cela est sont suis es êtes était sera être été ai as a avons avez ont avait avoir peux peut peuvent pouvez pourrais
pourriez pourrait veux veut voudrais voudrait dois doit faut faudrait svp merci bonjour salut bonsoir ne n pas plus
non oui aussi encore déjà très bien si alors ici là maintenant aujourd hui demain hier à au aux en dans sur sous avec
sans pour par chez entre vers tout tous toute toutes rien quelque chose peu beaucoup juste plaît stp y
""",
    "spanish": """
el la los las lo un una unos unas de del y e o u pero sino porque pues que qué quien quién cual cuál cuando cuándo como
cómo donde dónde por para con sin sobre entre hasta desde en a al yo tú tu él ella nosotros ustedes ellos me te se nos
le les mi mis su sus nuestro nuestra este esta esto estos estas ese esa eso esos es son soy eres era fue ser está están
estoy estar ha han he hay haber había puedes puede pueden podrías podría puedo quiero quiere quisiera debo debe hola
gracias favor buenos buenas días tardes no sí si ya también muy más menos aquí ahí ahora hoy mañana ayer todo todos
toda todas algo nada alguien bien solo sólo
""",
    "portuguese": """
o a os as um uma uns umas de do da dos das e ou mas porque que quem qual quando como onde por para pra com sem sobre
entre até desde em no na nos nas ao à eu tu você ele ela nós vocês eles me te se lhe meu minha meus seu sua seus nosso
este esta isto esse essa isso é são sou era foi ser está estão estou estar tem têm tenho ter há pode podem poderia
posso quero quer queria deve preciso olá oi obrigado obrigada favor bom boa dia tarde não sim já também muito mais
menos aqui aí agora hoje amanhã ontem tudo todos algo nada bem só
""",
    "italian": """
il lo la i gli le l un uno una di del della dei delle dello e ed o ma perché che chi cui quale quando come dove per con
senza su sul sulla tra fra in nel nella a al alla da dal dalla io tu lui lei noi voi loro mi ti si ci vi ne mio mia tuo
tua suo sua nostro questo questa questi queste quello quella è sono sei era essere ho hai ha abbiamo hanno avere può
puoi possono potresti potrebbe posso voglio vorrei vuole devo deve ciao grazie favore buongiorno non sì no già anche
molto più meno qui lì ora adesso oggi domani ieri tutto tutti qualcosa niente bene solo
""",
    "dutch": """
de het een en of maar want omdat dat die dit deze wat wie waar wanneer waarom hoe ik jij je hij zij ze wij we jullie u
mij me hem haar ons hun mijn jouw zijn is ben bent was waren wordt worden heb hebt heeft hebben had kan kun kunt kunnen
kon zou zouden moet moeten mag wil willen graag alsjeblieft dank bedankt hallo hoi goedemorgen niet geen nee ja ook nog
alleen al heel erg zo dan daar hier nu vandaag morgen gisteren altijd weer te van in op aan bij met naar voor over
onder uit om door zonder iets alles niets even gewoon
""",
}


MAX_PIECES = 12
"""Number of pieces of one prompt besides the whole: each costs a column of the dense scan."""

_MIN_WORDS = 3
"""Number of content words of a piece, unless it names code: two words of a story are close to something anywhere."""

_HEAD_PIECES = 8
"""Number of pieces kept from the beginning of a prompt with more pieces than allowed; the rest is from its end."""

_MAX_WORD = 40
_FENCED = re.compile(r"^[ \t]*(```|~~~)[^`\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"`[^`\n]*`|\S+")
_EDGES = '.,;:!?¿¡()[]{}"“”„«»*_~'
_ACCENTED = re.compile("[\u00c0-\u024f]")
_SHORT_WORD = 2
_ENGLISH_TOO = frozenset(
    """
ben bin bon boa car chose com con cos cui dan das dat dem den der des dia die dim dos dove door em en era es fra han has
hat hem las le les los mag mal man mas met min mir mis mit mon nas no non nor nos os par para pas per plus por pos pour
pro sans se ser sie sim sin sol solo son sou sum sur tag tan ter tes ton tout tra uno van vers via vos war was wat wit
""".split()
)
"""Function words of other languages that an English prompt about code may have: words, programs, abbreviations."""
_APOSTROPHES = str.maketrans("", "", "'’‘ʼ´")
_SENTENCES = re.compile(r"(?<=[.!?;。！？；])\s+|\n+|(?<=\w):\s+")
_CLAUSES = re.compile(r",\s+|(?<!\s)\s+(?:[-–]{1,2}\s+|—\s*)|—\s*|[\"“”„«»]|\s\(|\)\s|[、，]")


def content_words(text: str) -> str:
    """Return a text without words of grammar and politeness; what stands in backticks is kept as it is.

    Words of another language than English are dropped only where that language prevails: `die` is German or a verb.
    """
    tokens: list[str] = _TOKEN.findall(text)
    plain = [_plain(token) for token in tokens]
    dropped = _function_words(plain)
    pairs = zip(tokens, plain, strict=True)
    return " ".join(token for token, word in pairs if token[0] == "`" or (word and word not in dropped))


def is_english(text: str) -> bool:
    """Return whether no other language has more of its function words in a text than English."""
    return _function_words([_plain(token) for token in _TOKEN.findall(text)]) is _sets()[0]


def foreign_grammar(text: str) -> frozenset[str] | None:
    """Return the function words of the language of a text, empty for an unknown one; None for English.

    A language is unknown when no function word of any says it, and a letter has an accent. Without an accent two words
    of two letters are asked for, or a longer one that English does not have: `os`, `io` and `man` stand in English
    prompts too.
    """
    words = [_plain(token) for token in _TOKEN.findall(text)]
    language, english = _function_words(words), _sets()[0]
    has_accent = _ACCENTED.search(text) is not None
    if language is not english:
        telling = language.intersection(words) - _ENGLISH_TOO
        if has_accent or any(len(word) > _SHORT_WORD for word in telling) or len(telling) > 1:
            return language
    return None if not has_accent or not english.isdisjoint(words) else frozenset()


def pieces(text: str) -> tuple[str, ...]:
    """Return the content of a whole prompt, then of its sentences and clauses and fenced blocks, each once.

    At most `MAX_PIECES` besides the whole: the first ones and the last ones, since a request stands at either end.
    A text without content words gives nothing. Fenced blocks are kept as they are: `if` and `not` mean something there.
    """
    prose, blocks = _FENCED.sub("\n", text), [" ".join(block.split()) for _, block in _FENCED.findall(text)]
    whole = " ".join(part for part in (content_words(prose), *blocks) if part)
    if not whole:
        return ()
    sentences = [part for part in _SENTENCES.split(prose) if part]
    clauses = [clause for sentence in sentences for clause in _clauses(sentence)]
    parts = [*(content_words(part) for part in (*sentences, *clauses)), *blocks]
    telling = [part for part in dict.fromkeys(parts) if part != whole and _is_telling(part)]
    if len(telling) > MAX_PIECES:
        telling = [*telling[:_HEAD_PIECES], *telling[_HEAD_PIECES - MAX_PIECES :]]
    return (whole, *telling)


def _clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence; nothing for one that is a single clause."""
    parts = [part for part in _CLAUSES.split(sentence) if part]
    return parts if len(parts) > 1 else []


def _is_telling(content: str) -> bool:
    """Return whether a piece has three words or names code, so that it may be searched for by itself."""
    n_words = sum(any(c.isalnum() for c in word) for word in content.split())
    return n_words >= _MIN_WORDS or bool(identifiers(content) or paths(content))


@lru_cache(1 << 12)
def _plain(token: str) -> str:
    """Return a token in lower case without apostrophes and marks at its ends; of a very long one the beginning."""
    return token[: 2 * _MAX_WORD].translate(_APOSTROPHES).lower().strip(_EDGES)


def _function_words(words: list[str]) -> frozenset[str]:
    """Return the words to drop from a text: the function words of the language with most of them in it."""
    distinct = set(words)
    english, others = _sets()
    best, most = english, len(distinct & english)
    for language in others:
        n_found = len(distinct & language)
        if n_found > most:
            best, most = language, n_found
    return best


@cache
def _sets() -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    """Return the function words of English, then those of each other language."""
    return frozenset(ENGLISH.split()), tuple(frozenset(text.split()) for text in OTHERS.values())


# --- Pieces and terms that the gate scores ---------------------------------------------------------------------------


TERMS = ("models", "background", "terms.tsv")
"""Path, as parts, of the counts of terms in code at large."""
_MOST_TERMS = 128
"""Terms, or words as they were typed, of a piece that are looked at: the cost of a pasted text is bounded. Chosen by
hand."""
_NAMES = re.compile(r"[A-Za-z_]\w+")


def terms_of_words(piece: str) -> tuple[str, ...]:
    """Return the terms of the words of a piece, each once, as the lexical leg counts them, at most 128.

    Numbers and words beyond ASCII are no words here: the generic counts know none.
    """
    terms = (term for term in query_tokens(piece)[:_MOST_TERMS] if term.isascii() and not term.isdigit())
    return tuple(dict.fromkeys(terms))


def terms_of_names(piece: str) -> tuple[str, ...]:
    """Return for each identifier of a piece the term that stands for it as a whole, each once."""
    return tuple(dict.fromkeys(whole for name in identifiers(piece) if (whole := _whole(name))))


def word_groups(piece: str) -> tuple[str, ...]:
    """Return the words of a piece as typed; words with the same terms are joined, those without a term left out."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for word in piece.split()[:_MOST_TERMS]:
        if terms := query_tokens(word):
            groups.setdefault(tuple(terms), []).append(word)
    return tuple(" ".join(group) for group in groups.values())


def _whole(name: str) -> str:
    """Return the term of the part of an identifier that has most words, the last of several; empty without one.

    `Client.retry_once` gives retry_once, and `CharRange.contains` charrange: a plain word is a name in any project.
    """
    parts: list[tuple[str, ...]] = [tokens_of_word(part) for part in _NAMES.findall(name)]
    found = max(reversed(parts), key=len, default=())
    return found[0] if found else ""


def generic_terms() -> tuple[int, Mapping[str, int]]:
    """Return a number of documents of code at large, and term → number of those that hold it; read once.

    Rare terms are not listed.
    """
    return _read(shipped(*TERMS))


@cache
def _read(path: Path) -> tuple[int, Mapping[str, int]]:
    _, _, n_documents, *rows = path.read_text(encoding="utf-8").split()  # "# documents", then terms and counts.
    return int(n_documents), dict(zip(rows[::2], map(int, rows[1::2]), strict=True))


_MIN_TERMS = 2
_WORD = re.compile(r"[A-Za-z]\w{2,}")


def gate_pieces(text: str, limit: int) -> tuple[str, ...]:
    """Return the whole prompt's content first, then at most `limit` more pieces; none for a text without content.

    The second piece of a text in another language is its English terms, if there are enough.
    """
    found = pieces(text)
    if not found:
        return ()
    whole, *rest = found
    borrowed = _borrowed(whole) if not is_english(text) else ""
    if borrowed and borrowed != whole:
        if len(rest) == MAX_PIECES:  # The first and the last of many are kept: room is made in between.
            del rest[MAX_PIECES // 2]
        rest.insert(0, borrowed)
    return (whole, *rest[:limit])


def _borrowed(content: str) -> str:
    """Return the identifiers of a text and the words that code at large knows, joined by spaces.

    Empty when there is no identifier and fewer than `_MIN_TERMS` such words.
    """
    _, known = generic_terms()
    names = set(identifiers(content))
    words: list[str] = _WORD.findall(content)
    kept = [word for word in words if word in names or any(term in known for term in tokens_of_word(word))]
    return " ".join(kept) if names or len(kept) >= _MIN_TERMS else ""
