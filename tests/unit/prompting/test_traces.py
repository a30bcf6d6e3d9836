from __future__ import annotations

import pytest

from hybrid.prompting.traces import MAX_PLACES, SourceLine, is_frame, parts_of_path, places

PYTHON = """
Traceback (most recent call last):
  File "/home/ana/.venvs/shop/bin/shop", line 8, in <module>
    sys.exit(main())
  File "/home/ana/code/shop/shop/cart.py", line 41, in total
    return tax(self.net)
  File "/home/ana/.venvs/shop/lib/python3.11/site-packages/taxes/rates.py", line 7, in tax
    return RATES[country]
  File "/usr/lib/python3.11/collections/__init__.py", line 1, in __missing__
KeyError: 'no'
"""
CELLS = """
KeyError                                  Traceback (most recent call last)
~/envs/py/lib/python3.8/site-packages/shop/cart.py in total(self, country)
     40         # The net sum.
---> 41         return tax(self.net)
     42

File ~/code/shop/shop/rates.py:7, in tax(country)
      6 def tax(country):
----> 7     return RATES[country]
"""
NODE = """
TypeError: x is not a function
    at fetchCart (file:///app/node_modules/shop/lib/cart.js:12:21)
    at new Promise (<anonymous>)
    at async Cart.total (/app/src/pages/total.ts:3:10)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at /app/src/main.js:40:3
"""
JAVA = """
java.lang.IllegalStateException: no rate
	at org.acme.shop.tax.Rates$Table.of(Rates.java:77)
	at app//org.acme.shop.Cart.total(Cart.kt:41)
	at java.base/java.util.ArrayList.forEach(ArrayList.java:1625)
"""
GO = """
panic: runtime error: invalid memory address
goroutine 1 [running]:
github.com/acme/shop.(*Cart).Total(0xc0000f6000)
	/home/u/go/pkg/mod/github.com/acme/shop@v1.7.0/cart.go:41 +0x1a1
main.main()
	/home/u/src/tool/main.go:14 +0x1e
"""
RUST = """
thread 'main' panicked at 'overflow', src/cart.rs:41:27
stack backtrace:
   0: core::panicking::panic_fmt
             at /rustc/84c898d65adf/library/core/src/panicking.rs:64:14
   1: shop::cart::Cart<T>::total
             at /root/.cargo/registry/src/github.com-1ecc6299db9ec823/shop-1.2.3/src/cart.rs:41:27
"""
DOTNET = """
System.InvalidOperationException: no rate
   at Acme.Shop.Cart.Total(String country) in /_/Src/Shop/Cart.cs:line 41
   at Acme.Program.Main(String[] args) in C:\\work\\app\\Program.cs:line 5
"""
RUBY = """
/usr/bundle/gems/shop-2.2.6.4/lib/shop/cart.rb:41:in `block in total'
/app/bin/run.rb:3:in 'Object#main'
"""
PHP = """
#0 /var/www/vendor/acme/shop/src/Cart.php(41): Acme\\Shop\\Rates->tax('no')
#1 /var/www/index.php(9): Acme\\Shop\\Cart::total()
#2 {main}
"""
GDB = """
#0  cartTotal (cart=0x7f31a0, country=0x0) at cart.c:41
#1  0x000000000045b001 in main (argc=2, argv=0x7ffd) at main.c:90
"""
ASAN = """
==1==ERROR: AddressSanitizer: heap-buffer-overflow
    #0 0x4c3f2a in cart_total /build/shop/src/cart.c:41:13
    #1 0x7f3c in __libc_start_main (/lib/x86_64-linux-gnu/libc.so.6+0x23d09)
"""


def _told(text: str) -> list[tuple[str, int | None, str]]:
    return [(place.path, place.line, place.name) for place in places(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            PYTHON,
            [
                ("taxes/rates.py", 7, "tax"),
                ("home/ana/code/shop/shop/cart.py", 41, "total"),
                ("home/ana/.venvs/shop/bin/shop", 8, ""),
            ],
            id="python",
        ),
        pytest.param(CELLS, [("code/shop/shop/rates.py", 7, "tax"), ("shop/cart.py", 41, "total")], id="ipython"),
        pytest.param(
            NODE,
            [
                ("shop/lib/cart.js", 12, "fetchCart"),
                ("app/src/pages/total.ts", 3, "total"),
                ("app/src/main.js", 40, ""),
            ],
            id="node",
        ),
        pytest.param(
            JAVA,
            [
                ("org/acme/shop/tax/Rates.java", 77, "of"),
                ("org/acme/shop/Cart.kt", 41, "total"),
                ("java/util/ArrayList.java", 1625, "forEach"),
            ],
            id="jvm",
        ),
        pytest.param(
            GO, [("github.com/acme/shop/cart.go", 41, "Total"), ("home/u/src/tool/main.go", 14, "main")], id="go"
        ),
        pytest.param(RUST, [("src/cart.rs", 41, ""), ("shop/src/cart.rs", 41, "total")], id="rust"),
        pytest.param(DOTNET, [("Src/Shop/Cart.cs", 41, "Total"), ("work/app/Program.cs", 5, "Main")], id="dotnet"),
        pytest.param(RUBY, [("shop/lib/shop/cart.rb", 41, "total"), ("app/bin/run.rb", 3, "main")], id="ruby"),
        pytest.param(
            PHP, [("var/www/vendor/acme/shop/src/Cart.php", 41, "tax"), ("var/www/index.php", 9, "total")], id="php"
        ),
        pytest.param(GDB, [("cart.c", 41, "cartTotal"), ("main.c", 90, "main")], id="gdb"),
        pytest.param(ASAN, [("build/shop/src/cart.c", 41, "cart_total")], id="sanitizer"),
        pytest.param("src/cart.ts(41,5): error TS2339: no total", [("src/cart.ts", 41, "")], id="tsc"),
        pytest.param("look at src/cart.py:41, please", [("src/cart.py", 41, "")], id="path and line"),
        pytest.param("@src/cart.py#L41-50 is wrong", [("src/cart.py", 41, "")], id="path and hash"),
        pytest.param(
            "see https://github.com/acme/shop/blob/main/src/cart.py#L41", [("src/cart.py", 41, "")], id="link"
        ),
    ],
)
def test_the_frame_that_failed_comes_first(text: str, expected: list[tuple[str, int, str]]) -> None:
    """Traces of every language give path, line and function, from the failure outwards; standard libraries are left out."""

    assert expected == _told(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a sentence with 3 words.",
        "np.random.rand(100)",
        "http://example.com:8080",
        "version 1.2:3",
        "10:30 in the morning",
    ],
)
def test_other_text_names_no_place(text: str) -> None:
    """Calls, addresses, versions and times are not places in code."""

    assert () == places(text)


def test_frames_know_their_trace() -> None:
    """Two traces with a story in between are two, and a frame of a package knows that it was installed."""
    story = "\n".join(["And then I changed something else, which took me a while."] * 6)
    found = places(f"{PYTHON}\n{story}\n{PHP}")

    assert [0, 0, 0, 1, 1] == [place.trace for place in found]
    assert SourceLine("taxes/rates.py", 7, "tax", 0, True) == found[0]
    assert not found[1].is_installed


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("./src/../src/cart.py", ("src", "src", "cart.py")),
        ("C:\\work\\shop\\cart.cs", ("work", "shop", "cart.cs")),
        ("webpack:///./src/cart.ts", ("src", "cart.ts")),
        ("/x/site-packages/shop-2.3.0-py2.7.egg/shop/cart.py", ("shop", "shop", "cart.py")),
        ("/x/node_modules/a/node_modules/b/index.js", ("b", "index.js")),
        ("/root/go/pkg/mod/github.com/a/b@v1.0.5/flag.go", ("github.com", "a", "b", "flag.go")),
        ("/r/.cargo/registry/src/index.crates.io-6f17/shop-1.2.3/src/io.rs", ("shop", "src", "io.rs")),
        ("/usr/lib/python3.11/json/decoder.py", ()),
        ("node:internal/timers", ()),
        ("<string>", ()),
    ],
)
def test_paths_lose_what_one_machine_has(path: str, expected: tuple[str, ...]) -> None:
    """A path is told from where its package begins, without version; a language's own library has none."""

    assert expected == parts_of_path(path)[0]


def test_a_log_gives_a_bounded_number_of_places() -> None:
    """However long a log is, so many places are kept."""
    log = "\n".join(f"src/file{number}.py:{number}: error" for number in range(1, 600))

    assert MAX_PLACES == len(places(log))


def test_a_line_is_a_frame_or_not() -> None:
    """Frames of standard libraries are frames, too."""

    assert is_frame("             at /rustc/84c8/library/core/src/panicking.rs:64:14")
    assert not is_frame("    return RATES[country]")


@pytest.mark.parametrize("text", ["auth/hashers.py line 95", "auth/hashers.py, line 95", "auth/hashers.py:95"])
def test_a_line_as_people_say_it(text: str) -> None:
    """A path and a line in words are a place, with or without a comma."""
    (place,) = places(f"what happens in {text} when the salt is empty?")

    assert ("auth/hashers.py", 95) == (place.path, place.line)


@pytest.mark.parametrize(
    "line",
    [
        "a.py " * 4_000,
        ".py in " * 3_000,
        "/blob/" + "a.b" * 6_000,
        "at a() in " * 2_000 + ".py:",
        " #1 " + "a." * 9_000,
        'File "' * 3_000,
        " " * 20_000,
    ],
    ids=["py", "in", "word", "dotnet", "native", "file", "blanks"],
)
def test_a_long_line_hides_no_place(line: str) -> None:
    """What looks like the beginning of a frame over and over is none, and the place after it is found."""

    assert ("src/cart.py", 41) in [(place.path, place.line) for place in places(f"{line}\nsrc/cart.py:41")]
    assert not is_frame(line)


def test_a_header_of_a_cell_is_a_frame() -> None:
    """A path and `in` begin a frame in notebooks, with the link that some write; `.py` elsewhere does not."""

    assert is_frame("~/shop/cart.py in total(self)")
    assert is_frame("[~/shop/cart.py](file:///shop/cart.py) in total(self)")
    assert not is_frame("the total of cart.py (old) is in euros")


def test_a_generic_function_keeps_its_name() -> None:
    """Its type is not its name."""

    assert [("cart.cc", 41, "total")] == _told("#0  total<Cart> (cart=0x7f31a0) at cart.cc:41")
