"""Writes made-up tokens of real forms, seeded; what `hybrid eval redaction` fills its samples with.

No secret stands in the source: `ghp_{A36}` becomes 36 random letters and digits when a sample is made.
"""

from __future__ import annotations

import base64
import random
import re
import string
import uuid

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "a": string.ascii_lowercase + string.digits,
    "b": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
    "d": string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "l": string.ascii_lowercase,
    "n": "qpzry9x8gf2tvdw0s3jn54khce6mua7l".upper(),
    "u": string.ascii_uppercase + "234567",
    "U": string.ascii_uppercase + string.digits,
}
_WORDS = (
    "account amber anchor archive arrow basket beacon billing bridge buffer cactus candle canvas cargo castle channel"
    " cluster compass copper coral cotton cursor daemon delta desert dragon driver ember engine event falcon feather"
    " filter forest garden gateway ginger glacier harbor header helmet index island jacket journal kernel ladder"
    " lantern ledger lemon magnet manager marble meadow message mirror module mountain needle network nickel ocean"
    " orchard packet parser pepper pillow planet pocket policy profile quartz queue rabbit record report request"
    " river router saddle sample schema season session shadow signal silver socket spider stream sunset table"
    " tiger tower tunnel update vector velvet violin walnut window winter worker yellow zebra"
).split()
_FIELD = re.compile(r"\{([A-Za-z])(\d+)\}")


class Writer:
    """Fills templates with random characters; equal seeds give equal texts.

    A field is a letter and a number in braces. Letters: `A` letters and digits, `a` the same in lower case, `b`
    base64url, `B` base64, `d` digits, `h` and `H` hexadecimal, `l` lower case, `n` bech32, `u` base32, `U` capitals and
    digits, each that many characters long; that many words, with spaces (`w`), `-` (`k`), `_` (`s`), `.` (`p`), as
    camelCase (`c`) or CONSTANT_CASE (`C`); a UUID (`g`); a number of so many digits without a leading zero (`i`). In
    base64 without padding: such a number (`z`), a password (`y`), a user and a password with a colon between (`x`).
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def fill(self, template: str) -> str:
        """The template with every field filled anew."""
        return _FIELD.sub(lambda match: self._field(match.group(1), int(match.group(2))), template)

    def words(self, n: int) -> list[str]:
        """So many words, each from a list of plain ones."""
        return [self._random.choice(_WORDS) for _ in range(n)]

    def choice(self, values: tuple[str, ...]) -> str:
        """One of the values."""
        return self._random.choice(values)

    def _field(self, letter: str, size: int) -> str:
        joiner = {"w": " ", "k": "-", "s": "_", "p": ".", "C": "_"}.get(letter)
        if joiner is not None:
            joined = joiner.join(self.words(size))
            return joined.upper() if letter == "C" else joined
        if letter == "c":
            first, *others = self.words(size)
            return first + "".join(map(str.capitalize, others))
        if letter == "g":
            return str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        if letter == "i":
            return str(self._random.randint(10 ** (size - 1), 10**size - 1))
        if letter in "xyz":
            plain = self.fill({"x": f"{{w1}}:{{A{size}}}", "y": f"{{A{size}}}", "z": f"{{i{size}}}"}[letter])
            return base64.b64encode(plain.encode("ascii")).decode("ascii").rstrip("=")
        return "".join(self._random.choice(_ALPHABETS[letter]) for _ in range(size))
