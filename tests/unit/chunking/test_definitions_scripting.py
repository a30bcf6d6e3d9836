"""Definitions of our sample files in Python, JavaScript, TypeScript, PHP, Ruby, Lua, Bash and Elixir: kind, name, lines and scope of each."""

from __future__ import annotations

from inspect import cleandoc

import pytest

from hybrid.chunking.definitions import parse

SAMPLES = {
    "sample.py": (
        "python",
        """
        constant    MAX_ATTEMPTS    9-9
        variable    default_pause   10-10
        function    double          11-11
        enum        Outcome         14-18
        enum_member DONE            17-17 Outcome
        enum_member GAVE_UP         18-18 Outcome
        class       Attempt         25-31
        field       number          26-26 Attempt
        field       error           27-27 Attempt
        method      failed          30-31 Attempt
        class       Client          34-46
        field       timeout_s       35-35 Client
        constructor __init__        37-38 Client
        method      fetch           40-43 Client
        class       Session         45-46 Client
        method      close           46-46 Client.Session
        function    retry           49-59
        function    pause           53-54 retry
        function    conditional     64-65
        """,
    ),
    "sample.js": (
        "javascript",
        """
        constant    MAX_LISTENERS   3-3
        variable    counter         4-4
        function    createBus       7-14
        function    emit            9-12 createBus
        function    pipe            16-16
        function    compose         18-20
        constant    Status          22-29
        property    OK              23-23 Status
        property    NOT_FOUND       24-24 Status
        method      describe        25-27 Status
        method      isOk            28-28 Status
        class       Emitter         31-48
        field       instances       32-32 Emitter
        field       secret          33-33 Emitter
        method      handle          34-34 Emitter
        constructor constructor     36-39 Emitter
        method      size            41-43 Emitter
        method      stream          45-47 Emitter
        function    numbers         50-52
        method      legacy          54-56 Emitter
        function    helper          58-58
        function    other           59-59
        method      run             64-64
        """,
    ),
    "sample.ts": (
        "typescript",
        """
        type        Id              3-3
        interface   Shape           5-9
        property    name            6-6 Shape
        method      area            7-7 Shape
        property    onResize        8-8 Shape
        enum        Color           11-14
        enum_member Red             12-12 Color
        enum_member Green           13-13 Color
        module      outside         16-18
        function    hidden          17-17 outside
        namespace   Geometry        20-25
        constant    PI              21-21 Geometry
        function    degrees         22-24 Geometry
        class       Base            27-44
        field       cache           28-28 Base
        constant    LIMIT           29-29 Base
        constructor constructor     31-31 Base
        method      area            33-33 Base
        method      compute         36-39 Base
        method      handler         41-43 Base
        function    overload        46-46
        function    overload        47-47
        function    overload        48-50
        function    build           52-54
        constant    options         56-61
        property    retries         57-57 options
        method      onError         58-60 options
        constant    VERSION         63-63
        """,
    ),
    "sample.tsx": (
        "tsx",
        """
        interface   Props           3-5
        property    label           4-4 Props
        constant    DEFAULT_LABEL   7-7
        function    Button          9-13
        function    handleClick     11-11 Button
        function    Panel           15-21
        class       Legacy          23-29
        field       state           24-24 Legacy
        method      render          26-28 Legacy
        constant    Wrapped         31-33
        function    Inner           31-33 Wrapped
        """,
    ),
    "sample.php": (
        "php",
        r"""
        namespace   Example\Store   5-5
        constant    LIMIT           9-9
        class       Store           14-39
        constant    MAX             18-18 Store
        constant    MIN             18-18 Store
        field       size            19-19 Store
        field       items           20-20 Store
        constructor __construct     22-25 Store
        method      count           29-36 Store
        function    add             32-34 Store.count
        method      make            38-38 Store
        interface   Shape           41-44
        method      area            43-43 Shape
        trait       Logs            46-51
        method      log             48-50 Logs
        enum        Suit            53-62
        enum_member Hearts          55-55 Suit
        enum_member Spades          56-56 Suit
        method      label           58-61 Suit
        function    helper          64-68
        function    inner           66-66 helper
        function    double          70-70
        """,
    ),
    "sample.rb": (
        "ruby",
        """
        module      Shop            5-61
        constant    VERSION         6-6 Shop
        class       Basket          9-56 Shop
        constant    LIMIT           11-11 Shop.Basket
        property    items           12-12 Shop.Basket
        property    owner           12-12 Shop.Basket
        property    note            13-13 Shop.Basket
        constructor initialize      16-19 Shop.Basket
        method      <<              22-26 Shop.Basket
        method      empty?          28-30 Shop.Basket
        method      build           32-34 Shop.Basket
        method      default         37-39 Shop.Basket
        method      secret          42-42 Shop.Basket
        method      dynamic         44-46 Shop.Basket
        method      size            48-48 Shop.Basket
        method      length          49-49 Shop.Basket
        class       Line            51-55 Shop.Basket
        method      total           52-54 Shop.Basket.Line
        method      helper          60-60 Shop
        class       Error           63-63 Shop
        function    top_level       65-68
        function    square          66-66 top_level
        function    double          70-70
        """,
    ),
    "sample.lua": (
        "lua",
        """
        variable    M               2-2
        constant    LIMIT           3-3
        variable    counter         4-4
        function    new             7-14 M
        function    helper          9-11 M.new
        method      greet           16-18 M
        function    twice           20-22 M
        constant    VERSION         24-24 M
        function    hidden          26-29
        function    inner           27-27 hidden
        function    square          31-31
        function    global_one      33-35
        variable    Config          37-42
        property    size            38-38 Config
        method      open            39-41 Config
        """,
    ),
    "sample.sh": (
        "bash",
        """
        constant    LIMIT           5-5
        variable    TARGET          6-6
        variable    VERBOSE         7-7
        variable    HOSTS           8-8
        function    die             11-16
        function    deploy          18-22
        function    rollback        24-27
        function    inner           25-25 rollback
        variable    CONFIRM         30-30
        function    confirm         31-31
        """,
    ),
    "sample.ex": (
        "elixir",
        """
        module      Shop.Basket     1-45
        constant    limit           8-8 Shop.Basket
        struct      Basket          9-9 Shop.Basket
        type        t               11-11 Shop.Basket
        function    start           15-18 Shop.Basket
        function    size            20-20 Shop.Basket
        function    handle_call     23-25 Shop.Basket
        function    handle_call     27-30 Shop.Basket
        function    secret          32-32 Shop.Basket
        macro       unless_empty    34-36 Shop.Basket
        macro       is_small        38-38 Shop.Basket
        module      Line            40-42 Shop.Basket
        function    total           41-41 Shop.Basket.Line
        function    count           44-44 Shop.Basket
        protocol    Shop.Price      47-50
        function    price           49-49 Shop.Price
        impl        Shop.Price      52-54
        function    price           53-53 Shop.Price
        module      Shop.Error      56-58
        struct      Error           57-57 Shop.Error
        """,
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_definition_of_the_sample_is_found(name, sample_text, definition_table):
    """Kind, name, first and last line and scope of every definition in the sample are as a reader would give them."""
    language, expected = SAMPLES[name]

    actual = definition_table(parse(sample_text(name), language))

    assert cleandoc(expected) == actual


@pytest.mark.parametrize("name", SAMPLES)
def test_no_definition_of_the_sample_is_a_local_value(name, sample_text):
    """Variables inside function bodies, all called `local` in the samples, are not definitions."""
    language, _expected = SAMPLES[name]

    found = [definition for definition in parse(sample_text(name), language).definitions if definition.name == "local"]

    assert [] == found
