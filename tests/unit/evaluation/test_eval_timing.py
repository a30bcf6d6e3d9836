from hybrid.evaluation.timing import Times, alternate, machine, sum_up, time_each


def test_times_are_summed_up() -> None:
    """Median, nearest-rank 95th percentile and minimum of a hundred times, and of one."""
    assert Times(100, 50.5, 95.0, 1.0) == sum_up([float(n) for n in range(100, 0, -1)])
    assert Times(1, 2.5, 2.5, 2.5) == sum_up([2.5])


def test_a_ratio_stands_under_its_name() -> None:
    """It is the ratio of the medians, and none when there is nothing to divide by."""
    form = sum_up([4.0]).as_json(per_start=2.0, per_nothing=0.0)

    assert {"n": 1, "median_ms": 4.0, "p95_ms": 4.0, "min_ms": 4.0, "per_start": 2.0, "per_nothing": None} == form


def test_two_actions_take_turns() -> None:
    """One round is not counted, and whatever slows the machine meets both."""
    calls: list[str] = []
    first, second = alternate(lambda: calls.append("a"), lambda: calls.append("b"), 3)

    assert ["a", "b"] * 4 == calls
    assert (3, 3) == (len(first), len(second))


def test_each_argument_is_timed_once() -> None:
    """The first one is also called before, to warm up."""
    calls: list[int] = []

    assert 3 == len(time_each(calls.append, [1, 2, 3]))
    assert [1, 1, 2, 3] == calls


def test_the_machine_is_named() -> None:
    """A figure without its machine says little."""
    assert {"python", "numpy", "system", "cpus", "load_average"} <= machine().keys()
