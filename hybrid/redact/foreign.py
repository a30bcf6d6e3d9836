"""Knows the names of secrets in other languages than English, and the signs of other scripts.

`assigned_values` judges `mot de passe` and `пароль` as it judges `password`: each word here stands for an English name.
German words that are spelled like English ones stand in `names`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled

if TYPE_CHECKING:
    import re

_SPACED = {
    "password": (
        "mot de passe, mot-de-passe, mot_de_passe, motdepasse, contraseña, contrasena, senha, palavra-passe, parola"
        ", parolă, wachtwoord, lösenord, passord, adgangskode, salasana, hasł, heslo, jelszó, jelszo, şifre, sifre"
        ", mật khẩu, парол, лозинка, κωδικός πρόσβασης, סיסמה, كلمة المرور, كلمة السر"
    ),
    "api_key": (
        "api-schlüssel, api schlüssel, clé api, clé d'api, clave de api, chave de api, ключ api, api-ключ, api ключ"
    ),
    "private_key": "clé secrète, clé privée, секретный ключ, закрытый ключ, приватный ключ",
    "token": "токен",
}
"""English name → words that are judged as it is, of languages with spaces between words; endings are left out."""

_UNSPACED = {
    "password": "密码, 密碼, 口令, パスワード, 暗証番号, 비밀번호, 암호, รหัสผ่าน, पासवर्ड",
    "api_key": "apiキー, api キー, api密钥, api 密钥, api密鑰, api 密鑰, api키, api 키",
    "private_key": "密钥, 密鑰, 私钥, 私鑰, 秘密鍵, 비밀키, 개인키",
    "token": "令牌, トークン, 토큰",
}
"""The same of languages that put no space between words, or none before what a word is in its sentence."""

MESSAGES = frozenset(
    "obligatoire requis requise incorrecte invalide nouveau actuel manquant faible confirmer changer modifier"
    " obligatoria obligatorio requerida requerido incorrecta olvidada nueva confirmar cambiar incorreta esquecida"
    " atual vazia fraca alterar obbligatoria obbligatorio richiesta errata sbagliata dimenticata nuova attuale"
    " vuota debole conferma modifica verplicht vereist onjuist ongeldig vergeten nieuw huidig bevestigen wijzigen"
    " obligatoriskt felaktigt ogiltigt nuvarande forkert ugyldig glemt skift gjeldende bekreft endre pakollinen"
    " vaaditaan virheellinen unohtunut nykyinen vahvista vaihda wymagane wymagany obecne puste potvrdit helytelen"
    " elfelejtett jelenlegi gyenge gerekli zorunlu unuttum mevcut onayla obligatorie".split()
)
"""Words that a form or a message has beside such a name, such as `required` and `wrong`: no value."""


def _by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: name for name, words in table.items() for word in words.split(", ")}


_NAME_OF_SPACED = _by_word(_SPACED)
_NAME_OF_UNSPACED = _by_word(_UNSPACED)
FOREIGN_WORDS = frozenset((*_NAME_OF_SPACED, *_NAME_OF_UNSPACED))
ASCII_WORDS = tuple(word for word in _NAME_OF_SPACED if word.isascii())
OTHER_WORDS = tuple(word for word in (*_NAME_OF_SPACED, *_NAME_OF_UNSPACED) if not word.isascii())

_FOREIGN_SIGNS = "：＝（）。，、；！？「」『』«»│┃║\u00a0\u202f\u3000"
_SIGNS = str.maketrans(_FOREIGN_SIGNS, ':=()      """"""|||   ')
"""Signs and quotes of other scripts → those of ASCII; a space for other spaces and what ends part of a sentence."""
_ANY_UNSPACED = "|".join(_NAME_OF_UNSPACED)
_IS = rf"(?i:({_ANY_UNSPACED}))(?:是|为|為|は|が|는|은|가|이)(?P<sign>[^\S\n]{{0,3}}[:=])?"
"""Pattern of such a word with the syllable that says `is`, and a sign behind it."""
_LETTERS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_AFTER_VALUE = rf"(?<=[A-Za-z0-9!@#$%^&*])(?!キー|키|{_ANY_UNSPACED})[{_LETTERS}]"
_REST_OF_NAME = r"(?P<ending>[^\W\d_]{0,2})(?![^\W\d_])[\w-]*"
"""Pattern of what a name has behind its word: an ending, as in `паролем` and `lösenordet`, then parts as `_2`."""


def with_ascii_signs(text: str) -> str:
    """Return a text with the signs of other scripts as ASCII has them; every offset stays.

    Where a script has no spaces, the syllable `is` behind a telling word becomes a colon, and a space ends a value that
    a letter of the script follows.
    """
    if text.isascii():
        return text
    if compiled(f"[{_FOREIGN_SIGNS}]").search(text) is not None:
        text = text.translate(_SIGNS)
    lower = text.lower()
    if not any(word in lower for word in _NAME_OF_UNSPACED):
        return text

    def with_colon(match: re.Match[str]) -> str:
        return f"{match[1]} {match['sign']}" if match["sign"] else f"{match[1]}:"

    return compiled(_AFTER_VALUE).sub(" ", compiled(_IS).sub(with_colon, text))


def foreign_name(text: str, word: str, start: int, begin: int) -> tuple[str, int]:
    """Return the English name for a name in another language, and the offset where that ends.

    The name is empty where the telling word is part of another word.

    Args:
        text: The text.
        word: The telling word, of `FOREIGN_WORDS`.
        start: Offset where it begins.
        begin: Offset where the name around it begins: `DB_` stays before it.
    """
    end = start + len(word)
    if word in _NAME_OF_UNSPACED:
        return _NAME_OF_UNSPACED[word], end
    rest = compiled(_REST_OF_NAME).match(text, end)
    before, first = text[start - 1 : start], text[start]
    is_part = before.isalpha() and not (before.islower() and first.isupper())
    if is_part or rest is None:
        return "", end
    name = _NAME_OF_SPACED[word]
    if text[start:end].isupper():
        name = name.upper()
    return text[begin:start] + name + text[rest.end("ending") : rest.end()], rest.end()
