"""Bytes to text."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.sources.file_rules import decode, is_binary


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"caf\xc3\xa9", "café", id="UTF-8"),
        pytest.param(b"\xef\xbb\xbfcaf\xc3\xa9", "café", id="UTF-8 with a mark"),
        pytest.param(codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le"), "é\n", id="UTF-16 LE"),
        pytest.param(codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be"), "é\n", id="UTF-16 BE"),
        pytest.param(codecs.BOM_UTF32_LE + "é\n".encode("utf-32-le"), "é\n", id="UTF-32 LE"),
        pytest.param(codecs.BOM_UTF32_BE + "é\n".encode("utf-32-be"), "é\n", id="UTF-32 BE"),
        pytest.param(b"caf\xe9 \x80", "café €", id="Windows-1252"),
        pytest.param(b"caf\xe9 \x81", "café \x81", id="Latin-1"),
        pytest.param(codecs.BOM_UTF16_LE + b"a\0b", "a\ufffd", id="UTF-16 cut short"),
        pytest.param(b"a\r\nb\rc\n\r", "a\nb\nc\n\n", id="line ends"),
    ],
)
def test_bytes_become_text(data, text):
    """A mark decides, then UTF-8, then the single-byte encodings."""
    assert text == decode(data)


@given(st.binary(max_size=200))
def test_decoding_never_fails_and_leaves_no_carriage_return(data):
    """Any bytes have a text."""
    assert "\r" not in decode(data)


@given(st.text(alphabet=st.characters(exclude_characters="\r\ufeff", exclude_categories=["Cs"])))
def test_utf_8_is_kept(text):
    """Text that was written as UTF-8 comes back unchanged."""
    assert text == decode(text.encode())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"text", False, id="text"),
        pytest.param(b"a\0b", True, id="a NUL"),
        pytest.param(codecs.BOM_UTF16_LE + b"a\0", False, id="UTF-16 with a mark"),
        pytest.param(b"a" * 8191 + b"\0", True, id="a NUL at the end of the probe"),
        pytest.param(b"a" * 8192 + b"\0", False, id="a NUL after the probe"),
        pytest.param(b"", False, id="nothing"),
    ],
)
def test_a_nul_in_the_first_8_kib_means_binary(data, expected):
    """Unless a byte order mark explains it."""
    assert expected == is_binary(data)
