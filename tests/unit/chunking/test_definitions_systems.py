"""Definitions of our sample files in C, C++, Rust, Go, Zig and Swift: kind, name, lines and scope of each."""

from __future__ import annotations

from inspect import cleandoc

import pytest

from hybrid.chunking.definitions import parse

SAMPLES = {
    "sample.c": (
        "c",
        """
        macro       RING_MAX        5-5
        macro       RING_NEXT       6-7
        macro       RING_DEBUG      8-8
        type        ring_size       10-10
        type        ring_compare    11-11
        struct      node            13-17
        field       value           14-14 node
        field       next            15-15 node
        field       previous        15-15 node
        field       free            16-16 node
        struct      ring            19-22
        field       items           20-20 ring
        field       head            21-21 ring
        type        ring_t          22-22
        struct      point           24-26
        field       x               25-25 point
        field       y               25-25 point
        enum        state           28-29
        enum_member IDLE            28-28 state
        enum_member BUSY            28-28 state
        enum_member STOPPED         29-29 state
        enum        level           31-34
        enum_member LOW             32-32 level
        enum_member HIGH            33-33 level
        union       bits            36-39
        field       i               37-37 bits
        field       f               38-38 bits
        variable    counter         41-41
        variable    names           42-45
        variable    shared          46-46
        prototype   ring_push       48-48
        prototype   ring_pop        49-49
        function    ring_push       52-60
        function    ring_pop        62-65
        function    ring_dump       68-70
        """,
    ),
    "sample.cpp": (
        "cpp",
        """
        macro       SHAPE_LIMIT     5-5
        namespace   geo::flat       7-68
        constant    kPi             9-9 geo.flat
        type        Points          10-10 geo.flat
        enum        Color           12-12 geo.flat
        enum_member Red             12-12 geo.flat.Color
        enum_member Green           12-12 geo.flat.Color
        struct      Vec             15-21 geo.flat
        field       x               16-16 geo.flat.Vec
        field       y               16-16 geo.flat.Vec
        constructor Vec             17-17 geo.flat.Vec
        constructor Vec             18-18 geo.flat.Vec
        method      dot             19-19 geo.flat.Vec
        prototype   operator==      20-20 geo.flat.Vec
        class       Shape           23-43 geo.flat
        field       count           25-25 geo.flat.Shape
        prototype   Shape           26-26 geo.flat.Shape
        method      ~Shape          27-27 geo.flat.Shape
        prototype   area            28-28 geo.flat.Shape
        method      each            30-35 geo.flat.Shape
        class       Builder         36-38 geo.flat.Shape
        field       sides_          37-37 geo.flat.Shape.Builder
        field       name_           41-41 geo.flat.Shape
        field       points_         42-42 geo.flat.Shape
        variable    count           45-45 geo.flat.Shape
        constructor Shape           47-49 geo.flat.Shape
        method      area            51-54 geo.flat.Shape
        method      operator==      57-59 geo.flat.Vec
        function    operator<<      61-63 geo.flat
        type        Drawable        66-66 geo.flat
        function    hidden          71-71
        function    exported        75-75
        union       Raw             78-78
        field       i               78-78 Raw
        field       f               78-78 Raw
        function    lambda          79-79
        """,
    ),
    "sample.rs": (
        "rust",
        """
        constant    LIMIT           4-4
        variable    COUNTER         5-5
        type        Result          7-7
        enum        Error           12-17
        enum_member Eof             14-14 Error
        enum_member Unexpected      15-15 Error
        enum_member At              16-16 Error
        field       line            16-16 Error.At
        struct      Parser          19-22
        field       input           20-20 Parser
        field       position        21-21 Parser
        struct      Pair            24-24
        union       Bits            26-29
        field       int             27-27 Bits
        field       float           28-28 Bits
        trait       Visit           31-39
        type        Output          32-32 Visit
        constant    DEPTH           33-33 Visit
        method      visit           35-35 Visit
        method      done            36-38 Visit
        impl        Parser          41-55
        constant    START           42-42 Parser
        method      new             46-49 Parser
        method      step            51-54 Parser
        function    helper          52-52 Parser.step
        impl        Parser          57-61
        method      fmt             58-60 Parser
        macro       square          63-67
        module      inner           69-71
        function    raw             70-70 inner
        function    external        74-74
        variable    ENV             75-75
        module      tests           79-86
        function    squares         83-85 tests
        """,
    ),
    "sample.go": (
        "go",
        """
        constant    MaxSize         9-9
        constant    Idle            12-12
        constant    Busy            13-13
        constant    Stopped         15-15
        variable    ErrFull         19-19
        variable    first           20-20
        variable    second          20-20
        function    handler         23-23
        struct      Queue           26-31
        field       mu              27-27 Queue
        field       items           28-28 Queue
        field       size            29-29 Queue
        field       limit           29-29 Queue
        field       Locker          30-30 Queue
        interface   Store           34-37
        method      Get             35-35 Store
        method      Put             36-36 Store
        type        ID              40-40
        type        Names           41-41
        function    New             45-49
        method      Push            52-58 Queue
        method      String          60-60 ID
        """,
    ),
    "sample.zig": (
        "zig",
        """
        constant    limit           5-5
        variable    counter         6-6
        struct      Ring            9-29
        field       items           10-10 Ring
        field       head            11-11 Ring
        type        Error           13-13 Ring
        method      init            17-20 Ring
        method      next            22-24 Ring
        struct      Node            26-28 Ring
        field       value           27-27 Ring.Node
        enum        Color           31-38
        enum_member red             32-32 Color
        enum_member green           33-33 Color
        method      isRed           35-37 Color
        union       Value           40-43
        field       int             41-41 Value
        field       none            42-42 Value
        function    List            45-54
        field       head            47-47 List
        method      push            49-52 List
        function    external        56-56
        function    ring wraps      58-61
        """,
    ),
    "sample.swift": (
        "swift",
        """
        constant    limit           3-3
        variable    counter         4-4
        type        Handler         6-6
        protocol    Shape           9-14
        type        Unit            10-10 Shape
        property    area            11-11 Shape
        method      scale           12-12 Shape
        constructor init            13-13 Shape
        class       Store           17-50
        property    shared          18-18 Store
        property    items           19-19 Store
        property    count           20-22 Store
        constructor init            24-27 Store
        method      deinit          29-31 Store
        method      add             34-39 Store
        function    inner           35-35 Store.add
        function    twice           36-36 Store.add
        method      subscript       41-43 Store
        enum        Mode            45-49 Store
        enum_member read            46-46 Store.Mode
        enum_member write           47-47 Store.Mode
        enum_member append          47-47 Store.Mode
        enum_member custom          48-48 Store.Mode
        struct      Point           52-57
        property    x               53-53 Point
        property    y               53-53 Point
        method      +               54-56 Point
        extension   Point           59-62
        property    description     60-60 Point
        method      moved           61-61 Point
        class       Bank            64-66
        method      pay             65-65 Bank
        function    top             68-70
        function    double          72-72
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
