import pytest

from hybrid_lab.peer.figures import PeerReport, RepoFigures, Round, SideFigures, side_figures


def built(build_s: float, seconds: float, peak_bytes: int | None) -> Round:
    """A build of two files."""
    answer = {"start_s": 0.1, "build_s": build_s, "files": ["a.py", "b.py"], "chunks": 5, "index_bytes": 900}
    return Round(answer, seconds, peak_bytes)


def asked(*times_ms: float, open_s: float = 0.5, peak_bytes: int | None = 70) -> Round:
    """A process that asked queries."""
    return Round({"times_ms": list(times_ms), "open_s": open_s, "rankings": []}, 2.0, peak_bytes)


def side(build_s: float, ndcg: float, *, query_peak_bytes: int | None = 70, files: tuple[str, ...] = ()) -> SideFigures:
    """Figures of one side, all from one round."""
    figures = side_figures(
        [built(build_s, build_s, 100)], [asked(build_s, peak_bytes=query_peak_bytes)], {"nDCG@10": ndcg}
    )
    return SideFigures(
        **{name: getattr(figures, name) for name in SideFigures.__struct_fields__} | {"files": frozenset(files)}
    )


def report(*pairs: tuple[SideFigures, SideFigures]) -> PeerReport:
    """A report of one repository a pair."""
    repos = {f"repo-{n}": RepoFigures(3, ours, theirs) for n, (ours, theirs) in enumerate(pairs)}
    return PeerReport(repos, "hybrid 1", "peer 2", ("3.11", "3.12"), "hashing-64", "rrf", rounds=1)


def test_rounds_are_summed_up_by_their_medians() -> None:
    """Times of queries are pooled over the rounds first; one slow round moves no figure."""
    figures = side_figures(
        [built(1.0, 2.0, 10), built(9.0, 30.0, 90), built(2.0, 3.0, 20)],
        [asked(1.0, 2.0, 50.0, open_s=0.1), asked(2.0, 3.0, open_s=0.2, peak_bytes=None)],
        {"nDCG@10": 0.5},
    )

    assert (2.0, 3.0, 20) == (figures.build_s, figures.build_process_s, figures.build_peak_bytes)
    assert (2.0, 50.0) == (figures.query_ms, figures.query_p95_ms)
    assert pytest.approx(0.15) == figures.open_s
    assert (70, 900, 5) == (figures.query_peak_bytes, figures.index_bytes, figures.chunks)


def test_a_ratio_is_ours_by_theirs() -> None:
    """Below 1 we need less; what is not known has none."""
    ratios = RepoFigures(3, side(1.0, 0.9), side(4.0, 0.8, query_peak_bytes=None)).ratios

    assert (0.25, 0.25, 1.0, None) == tuple(
        ratios[cost] for cost in ("build_s", "query_ms", "build_peak_bytes", "query_peak_bytes")
    )


def test_means_weigh_repositories_alike() -> None:
    """Figures have arithmetic means; ratios geometric ones, so that twice and half even out."""
    means = report((side(2.0, 0.9), side(1.0, 0.8)), (side(3.0, 0.5), side(6.0, 0.6))).means()

    assert pytest.approx((0.7, 0.7)) == (means["hybrid"]["nDCG@10"], means["peer"]["nDCG@10"])
    assert (2.5, 3.5) == (means["hybrid"]["build_s"], means["peer"]["build_s"])
    assert pytest.approx(1.0) == means["ratios"]["build_s"]


def test_means_of_what_is_not_known_are_not_known() -> None:
    """A system that does not tell memory gives dashes, not an error."""
    means = report((side(2.0, 0.9, query_peak_bytes=None), side(1.0, 0.8))).means()

    assert (None, 70, None) == (
        means["hybrid"]["query_peak_bytes"],
        means["peer"]["query_peak_bytes"],
        means["ratios"]["query_peak_bytes"],
    )


def test_json_names_files_of_one_side_only() -> None:
    """The first twenty of them, in order of name."""
    many = tuple(f"x{n:02d}.py" for n in range(25))
    form = report((side(2.0, 0.9, files=("a.py", "b.py")), side(1.0, 0.8, files=("b.py", *many)))).as_json()
    only = form["repositories"]["repo-0"]["only_in"]

    assert {"files": 1, "first": ["a.py"]} == only["hybrid"]
    assert {"files": 25, "first": list(many[:20])} == only["peer"]
    assert ("hybrid 1", "3.11", "rrf") == tuple(form["hybrid"].values())
