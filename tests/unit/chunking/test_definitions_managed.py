"""Definitions of our sample files in Java, Kotlin, Scala, C# and Haskell: kind, name, lines and scope of each."""

from __future__ import annotations

import subprocess
import sys
from inspect import cleandoc

import pytest

from hybrid.chunking.definitions import parse

SAMPLES = {
    "sample.java": (
        "java",
        """
        class       Store           7-60
        constant    LIMIT           8-8 Store
        field       size            9-9 Store
        field       used            9-9 Store
        constructor Store           15-17 Store
        method      add             26-35 Store
        method      run             30-32 Store.add
        class       Node            37-39 Store
        field       value           38-38 Store.Node
        enum        Mode            41-59 Store
        enum_member READ            42-42 Store.Mode
        enum_member WRITE           43-48 Store.Mode
        method      exclusive       45-47 Store.Mode.WRITE
        field       code            50-50 Store.Mode
        constructor Mode            52-54 Store.Mode
        method      exclusive       56-58 Store.Mode
        interface   Visitor         62-69
        constant    DEPTH           63-63 Visitor
        method      visit           65-65 Visitor
        method      done            67-68 Visitor
        interface   Marker          71-73
        method      value           72-72 Marker
        class       Point           75-83
        field       x               75-75 Point
        field       y               75-75 Point
        constructor Point           76-78 Point
        method      length          80-82 Point
        """,
    ),
    "sample.kt": (
        "kotlin",
        """
        constant    LIMIT           5-5
        variable    counter         6-6
        type        Handler         8-8
        class       Point           11-29
        property    x               11-11 Point
        property    y               11-11 Point
        property    length          12-13 Point
        constructor constructor     15-15 Point
        method      plus            21-23 Point
        object      Companion       25-28 Point
        constant    ORIGIN          26-26 Point.Companion
        method      origin          27-27 Point.Companion
        interface   Shape           31-33
        method      area            32-32 Shape
        enum        Color           35-40
        property    code            35-35 Color
        enum_member RED             36-36 Color
        enum_member GREEN           37-37 Color
        method      mixed           39-39 Color
        object      Registry        42-50
        property    items           43-43 Registry
        method      register        46-49 Registry
        class       Marker          52-52
        class       Base            54-59
        method      run             55-55 Base
        object      Factory         56-58 Base
        method      make            57-57 Base.Factory
        function    second          61-61
        function    outer           63-67
        function    inner           64-64 outer
        function    f               65-65 outer
        """,
    ),
    "sample.scala": (
        "scala",
        """
        trait       Shape           6-9
        method      area            7-7 Shape
        field       name            8-8 Shape
        class       Circle          11-15
        field       radius          11-11 Circle
        field       name            12-12 Circle
        method      area            13-13 Circle
        constructor this            14-14 Circle
        object      Circle          17-27
        field       Limit           18-18 Circle
        field       count           19-19 Circle
        type        Radius          20-20 Circle
        method      unit            22-26 Circle
        function    inner           24-24 Circle.unit
        object      Nothing         29-32
        field       name            30-30 Nothing
        method      area            31-31 Nothing
        class       Base            34-39
        field       item            34-34 Base
        field       cached          35-35 Base
        method      run             38-38 Base
        object      util            41-45
        class       Rich            42-44 util
        field       s               42-42 util.Rich
        method      shout           43-43 util.Rich
        enum        Color           47-50
        enum_member Red             48-48 Color
        enum_member Green           48-48 Color
        enum_member Custom          49-49 Color
        variable    ordering        51-51
        function    double          53-53
        function    topLevel        55-56
        """,
    ),
    "sample.cs": (
        "csharp",
        """
        namespace   Example.Store   3-68
        type        Changed         5-5 Example.Store
        class       Store           9-49 Example.Store
        constant    Limit           11-11 Example.Store.Store
        field       _size           12-12 Example.Store.Store
        field       _used           12-12 Example.Store.Store
        event       OnChanged       14-14 Example.Store.Store
        constructor Store           16-19 Example.Store.Store
        method      ~Store          21-21 Example.Store.Store
        property    Length          25-25 Example.Store.Store
        property    Size            27-27 Example.Store.Store
        property    this            29-32 Example.Store.Store
        method      Find            34-40 Example.Store.Store
        function    Inner           37-37 Example.Store.Store.Find
        method      operator +      42-42 Example.Store.Store
        enum        Mode            44-48 Example.Store.Store
        enum_member Read            46-46 Example.Store.Store.Mode
        enum_member Write           47-47 Example.Store.Store.Mode
        interface   IStore          51-55 Example.Store
        property    Size            53-53 Example.Store.IStore
        method      Clear           54-54 Example.Store.IStore
        struct      Point           57-60 Example.Store
        field       X               59-59 Example.Store.Point
        class       Person          62-62 Example.Store
        property    Name            62-62 Example.Store.Person
        property    Age             62-62 Example.Store.Person
        struct      Pair            64-67 Example.Store
        property    A               64-64 Example.Store.Pair
        property    B               64-64 Example.Store.Pair
        method      Sum             66-66 Example.Store.Pair
        """,
    ),
    "sample.hs": (
        "haskell",
        """
        module      Data.Shape      3-6
        type        Shape           11-14
        enum_member Circle          12-12 Shape
        enum_member Rect            13-13 Shape
        field       width           13-13 Shape.Rect
        field       height          13-13 Shape.Rect
        type        Name            16-16
        field       unName          16-16 Name
        type        Table           18-18
        class       Drawable        20-23
        method      draw            21-22 Drawable
        method      size            23-23 Drawable
        impl        Drawable        25-28
        method      draw            26-27 Drawable
        method      size            28-28 Drawable
        function    area            31-34
        constant    limit           36-37
        function    <+>             39-40
        function    twice           42-44
        function    go              44-44 twice
        constant    first           46-47
        constant    second          48-48
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


@pytest.mark.parametrize("end", ["@", '@Foo("x")', "@Foo(", "@a.B<C"])
def test_text_that_ends_inside_an_annotation_is_parsed_to_its_end(end):
    """The grammar's scanner looked for the end of the annotation for ever."""

    # The parser cannot be stopped from within: a process of its own can.
    program = "import sys; from hybrid.chunking.definitions import parse; print(*(d.name for d in parse(sys.stdin.read(), 'kotlin').definitions))"
    text = f"class Limits {{\n    val most = 1\n}}\nval least = 2\n{end}"

    done = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, timeout=60, check=True
    )

    assert {"Limits", "least"} <= set(done.stdout.split())
