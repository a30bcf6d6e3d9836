"""Redaction of secrets whose names stand in other languages than English and German."""

from __future__ import annotations

import pytest

from hybrid.redact import find_secrets, mask, redact

# Made up, and put together from parts so that no scanner takes this file for a leak.
CHOSEN = "Kx9m" + "Q2vB"
KEY = "4f9a8b7c6d5e" + "4f3a2b1c0d9e"

FOUND = [
    *(pytest.param(text, CHOSEN, id=text.split(CHOSEN)[0].strip(" :=：＝")) for text in (
        f"パスワード: {CHOSEN}", f"データベースのパスワード＝{CHOSEN}", f"パスワードは{CHOSEN}です",
        f"密码: {CHOSEN}", f"密码是：{CHOSEN}", f"数据库密码是{CHOSEN}，请检查", f"密碼：{CHOSEN}",
        f"비밀번호: {CHOSEN}", f"비밀번호는 {CHOSEN}입니다", f"DB 비밀번호가 {CHOSEN}인데",
        f"пароль: {CHOSEN}", f"пароль {CHOSEN} не подходит", f"с паролем {CHOSEN}, но",
        f"hasło: {CHOSEN}", f"hasło to {CHOSEN}", f"heslo je {CHOSEN}", f"лозинка: {CHOSEN}",
        f"la parola è {CHOSEN}", f"parola este {CHOSEN}", f"şifre: {CHOSEN}", f"ŞİFRE={CHOSEN}",
        f"mot de passe : {CHOSEN}", f"Mot-de-passe={CHOSEN}", f"DB_MOT_DE_PASSE={CHOSEN}",
        f"le mot de passe de la base est {CHOSEN}", f"palavra-passe é {CHOSEN}", f"a senha é {CHOSEN}",
        f"la contraseña es {CHOSEN}", f"het wachtwoord is {CHOSEN}", f"lösenordet är {CHOSEN}",
        f"adgangskode: {CHOSEN}", f"passord: {CHOSEN}", f"jelszó: {CHOSEN}", f"salasana: {CHOSEN}",
        f"mật khẩu: {CHOSEN}", f"รหัสผ่าน: {CHOSEN}", f"पासवर्ड: {CHOSEN}", f"סיסמה: {CHOSEN}", f"كلمة المرور: {CHOSEN}",
    )),
    *(pytest.param(text, KEY, id=text.split(KEY)[0].strip(" :：")) for text in (
        f"API-Schlüssel: {KEY}", f"clé API : {KEY}", f"clé d'API: {KEY}", f"clave de API: {KEY}", f"ключ API: {KEY}",
        f"API密钥: {KEY}", f"APIキー：{KEY}", f"токен: {KEY}", f"访问令牌：{KEY}", f"토큰: {KEY}",
    )),
    *(pytest.param(text, "corinthians", id=text) for text in (
        "DB_SENHA=corinthians", "senha: corinthians", "senha = 'corinthians'", '"mot_de_passe": "corinthians"',
    )),
    pytest.param("пароль: МойСекрет123", "МойСекрет123", id="letters of Cyrillic"),
    pytest.param("密码：我的密码123", "我的密码123", id="letters of Han"),
]  # fmt: skip
"""Texts with a secret."""

KEPT = [
    *('"password": "パスワード"', '"password": "パスワードを入力してください"', "パスワード：8文字以上で入力してください"),
    *("パスワードは8文字以上です", "密码: 请输入密码", "密码：不能为空", "密码是必填项", "密码: ${DB_PASSWORD}"),
    *("最大令牌: 4096", "비밀번호: 필수", "비밀번호는 8자 이상이어야 합니다", "пароль: неверный", "Пароль: обязательное поле"),
    *("password: Восстановить мой пароль", "токен: 4096", "токенизатор: bpe32000", "парольная фраза: введите её"),
    *("hasło: wymagane", "parola: obbligatoria", "la parola chiave await è utile", "şifre: gerekli", "heslo: povinné"),
    *("mot de passe : obligatoire", '"mot de passe": "Mot de passe oublié ?"', "Mot de passe: doit contenir 8 caractères"),
    *("wachtwoord: verplicht", "lösenord: krävs", "jelszó: kötelező", "salasana: pakollinen", "senha: obrigatória"),
    *("la contraseña es mariposa", "a senha corinthians", "Contraseña: incorrecta", '"senha": "inválida"'),
    *("contraseña: obligatoria", '"password": "Mínimo 8 caracteres"', '"password": "wachtwoord"', "12 passed: 123456"),
    *("clé API : à définir", "пароль = settings.password", 'mot_de_passe = request.form["name"]', "mot_de_passe: str"),
]  # fmt: skip
"""Texts without one: labels, messages and code."""


@pytest.mark.parametrize(("text", "secret"), FOUND)
def test_a_secret_with_a_name_of_another_language_is_replaced(text: str, secret: str) -> None:
    """The whole value goes, and all around it stays as it was, full-width signs too."""
    assert text.replace(secret, "[redacted:secret]") == redact(text)
    assert [secret] == [text[one.start : one.end] for one in find_secrets(text)]


@pytest.mark.parametrize("text", KEPT)
def test_words_of_a_language_beside_the_name_stay(text: str) -> None:
    """Translations hold labels and messages beside the word for a password."""
    assert text == redact(text)


def test_lines_of_a_document_with_several_languages_stay_in_place() -> None:
    """Signs of other scripts have other widths in bytes, and one letter of Turkish has two in lower case."""
    text = f"İ\nпароль: {CHOSEN}\n密码：{CHOSEN}\nŞİFRE={CHOSEN}\npassword: {CHOSEN}\n"

    assert text.replace(CHOSEN, "[redacted:secret]") == mask(text)
