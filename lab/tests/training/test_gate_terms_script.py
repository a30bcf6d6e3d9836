"""The script that counts terms is run by hand; its counting is tested here."""

from collections import Counter
from pathlib import Path


def test_a_document_counts_once_and_a_term_once_in_it() -> None:
    """Terms are those of the lexical leg; a repeated word and a repeated document add nothing."""
    from hybrid_lab.training.gate_terms import count_documents

    counted = count_documents(["retryCount = retryCount + 1", "def retry(): ...", "def retry(): ...\n"])

    assert (2, {"retrycount": 1, "retri": 2, "count": 1, "1": 1, "def": 1}) == counted


def test_rare_terms_numbers_and_other_scripts_are_left_out() -> None:
    """What is left stands by falling count, then by term."""
    from hybrid_lab.training.gate_terms import common_terms

    counts = Counter({"retri": 30, "rare": 19, "200": 90, "naïve": 50, "x": 20, "loop": 30, "v2_x": 20})

    assert [("loop", 30), ("retri", 30), ("v2_x", 20), ("x", 20)] == common_terms(1_000, counts)


def test_the_more_documents_the_more_of_them_must_have_a_term() -> None:
    """The file does not grow with the number of documents."""
    from hybrid_lab.training.gate_terms import common_terms

    assert [("loop", 100)] == common_terms(400_000, {"loop": 100, "retry": 99})


def test_the_file_opens_with_the_number_of_documents(tmp_path: Path) -> None:
    """Then follows a line a term."""
    from hybrid_lab.training.gate_terms import write_terms

    write_terms(tmp_path / "terms.tsv", 1_000, [("retry", 30), ("x", 20)])

    assert b"# documents\t1000\nretry\t30\nx\t20\n" == (tmp_path / "terms.tsv").read_bytes()
