"""The schemas that signatures and docstrings make."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import pathlib
import uuid
from typing import Annotated, Any, Dict, List, Literal, NewType, Optional, Tuple, TypedDict, Union

import pytest

from toolcrib import Field, tool
from toolcrib.convert import ConversionError, convert, dumps
from toolcrib.declare import Declaration, DeclarationError, declaration_of
from toolcrib.docstring import parse
from toolcrib.schema import SchemaBuilder, UnsupportedHintError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    """A point.

    Attributes:
        x: The first coordinate.
    """

    x: int
    y: float = 0.5
    tags: List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    label: str
    children: List["Tree"] = dataclasses.field(default_factory=list)


class Filter(TypedDict, total=False):
    author: str
    year: int


class Query(Filter):
    text: str


UserId = NewType("UserId", int)


def declared(function: Any) -> Declaration:
    found = declaration_of(function)
    assert found is not None
    return found


def schema(hint: Any) -> Any:
    return SchemaBuilder().of(hint)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, {"type": "integer"}),
        (Any, {}),
        (Optional[int], {"type": ["integer", "null"]}),
        (Union[int, str], {"type": ["integer", "string"]}),
        (Union[int, List[str], None],
         {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]}),
        (List[int], {"type": "array", "items": {"type": "integer"}}),
        (list, {"type": "array"}),
        (list[dict[str, int]],
         {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}),
        (Dict[str, Any], {"type": "object"}),
        (Tuple[int, str],
         {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}),
        (Tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Optional[Literal["a"]], {"type": ["string", "null"], "enum": ["a", None]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (UserId, {"type": "integer"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (pathlib.Path, {"type": "string"}),
        (Annotated[int, "How many.", Field(ge=1, le=20)],
         {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 20}),
        (Annotated[str, Field("A name.", min_length=1, max_length=9, pattern="^a")],
         {"type": "string", "description": "A name.", "minLength": 1, "maxLength": 9, "pattern": "^a"}),
        (Annotated[List[int], Field(min_length=1)], {"type": "array", "items": {"type": "integer"}, "minItems": 1}),
        (Annotated[int, {"multipleOf": 5}], {"type": "integer", "multipleOf": 5}),
        (Query, {"type": "object", "properties": {"author": {"type": "string"}, "year": {"type": "integer"},
                                                  "text": {"type": "string"}},
                 "required": ["text"], "additionalProperties": False}),
        (Point, {"type": "object",
                 "properties": {"x": {"type": "integer", "description": "The first coordinate."},
                                "y": {"type": "number", "default": 0.5},
                                "tags": {"type": "array", "items": {"type": "string"}}},
                 "required": ["x"], "additionalProperties": False}),
    ],
)
def test_hints_have_schemas(hint: Any, expected: Any) -> None:
    assert schema(hint) == expected


def test_a_type_that_contains_itself_is_referred_to() -> None:
    @tool
    def plant(tree: Tree) -> None:
        """Plants a tree."""

    parameters = declared(plant).parameters
    assert parameters["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    children = parameters["$defs"]["Tree"]["properties"]["children"]
    assert children == {"type": "array", "items": {"$ref": "#/$defs/Tree"}}


def test_a_hint_without_a_schema_says_what_to_do() -> None:
    with pytest.raises(UnsupportedHintError, match="make it a dataclass, or pass `input_schema`"):
        schema(threading_lock())


def threading_lock() -> type:
    class Lock:
        pass

    return Lock


def test_a_signature_and_its_docstring_make_the_definition() -> None:
    @tool
    def find(query: str, limit: Annotated[int, Field(ge=1, le=50)] = 10, kind: Optional[Color] = None, *,
             sdk: Any, context: Optional[dict] = None, **more: int) -> list:
        """Finds reports.

        Looks at titles only.

        Args:
            query (str): What to look for,
                in words.
            limit: How many at most.

        Returns:
            The reports.
        """
        return []

    assert declared(find).definition() == {
        "name": "find",
        "description": "Finds reports.\n\nLooks at titles only.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for, in words."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many at most.",
                          "default": 10},
                "kind": {"type": ["string", "null"], "enum": ["red", "blue", None], "default": None},
            },
            "required": ["query"],
            "additionalProperties": {"type": "integer"},
        },
        "output_parameters": {},
        "metadata": {},
    }
    assert declared(find).injected == ("sdk", "context")


def test_a_default_of_none_may_be_given_too() -> None:
    @tool
    def find(limit: int = None, kind=None):  # type: ignore[assignment]
        """Finds."""

    assert declared(find).parameters["properties"] == {
        "limit": {"type": ["integer", "null"], "default": None}, "kind": {"default": None}}


def test_options_are_metadata() -> None:
    @tool("get-report", title="Get report", description="Loads a report.", confirmation_required=True,
          user_selectable=False, risk="high", tags=["a"], aliases=["b"], examples=[{"report_id": 1}],
          access={"network": []}, idempotent=True, timeout=5, input_schema={
              "type": "object", "properties": {"report_id": {"type": "integer"}}, "required": ["report_id"]})
    async def get_report(report_id: int, *, sdk: Any, context: Any = None) -> None:
        pass

    definition = declared(get_report).definition()
    assert (definition["name"], definition["description"]) == ("get-report", "Loads a report.")
    assert definition["parameters"]["required"] == ["report_id"]
    assert definition["metadata"] == {
        "title": "Get report", "risk": "high", "aliases": ["b"], "tags": ["a"], "examples": [{"report_id": 1}],
        "access": {"network": []}, "confirmation_required": True, "user_selectable": False, "idempotent": True,
        "timeout_seconds": 5,
    }
    assert declared(get_report).is_async


@pytest.mark.parametrize(
    ("options", "function", "message"),
    [
        ({}, lambda: None, "has no description"),
        ({"description": "D.", "risk": "huge"}, lambda: None, "expected low, medium or high, found 'huge'"),
        ({"description": "D.", "tags": "one"}, lambda: None, "expected a list of texts, found 'one'"),
        ({"description": "D.", "confirmation_required": "no"}, lambda: None, "expected True or False, found 'no'"),
        ({"description": "D.", "timeout": 0}, lambda: None, "expected a number of seconds"),
        ({"description": "D."}, lambda *all: None, "arguments are passed by name"),
        ({"description": "D.", "input_schema": {"properties": {"b": {}}}}, lambda a=1: None,
         "has `b`, which is not a parameter"),
        ({"description": "D.", "input_schema": {"properties": {"a": {}}}}, lambda a: None,
         "needs `a`, which its `input_schema` does not require"),
        ({"description": "D.", "input_schema": {"properties": {"sdk": {}}}}, lambda sdk: None, "has `sdk`"),
    ],
)
def test_a_declaration_that_is_wrong_says_so_when_it_is_imported(options: Any, function: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message.replace("(", r"\(")):
        tool("t", **options)(function)


def test_a_tool_is_still_the_function() -> None:
    @tool
    def double(n: int) -> int:
        """Doubles."""
        return 2 * n

    assert double(4) == 8


@pytest.mark.parametrize(
    "text",
    [
        "Sums.\n\nArgs:\n    a (int): First,\n        of two.\n    b: Second.\n\nRaises:\n    ValueError: never.",
        "Sums.\n\nParameters\n----------\na : int\n    First,\n    of two.\nb\n    Second.\n\n"
        "Returns\n-------\nint\n    It.",
        "Sums.\n\n:param int a: First,\n    of two.\n:param b: Second.\n:returns: It.",
    ],
)
def test_docstrings_of_three_styles_describe_parameters(text: str) -> None:
    assert parse(text) == ("Sums.", {"a": "First, of two.", "b": "Second."})


def test_a_docstring_without_sections_is_the_description() -> None:
    assert parse("One line.\n\nNote that: it has more.").description == "One line.\n\nNote that: it has more."
    assert parse(None) == ("", {})


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        ({"x": 1, "y": 2}, Point, Point(1, 2.0)),
        ([{"x": 1}], List[Point], [Point(1)]),
        ({"label": "a", "children": [{"label": "b"}]}, Tree, Tree("a", [Tree("b")])),
        ("red", Optional[Color], Color.RED),
        (None, Optional[Color], None),
        ([1, 2], Tuple[int, ...], (1, 2)),
        (["a"], set[str], {"a"}),
        ("2024-05-01", datetime.date, datetime.date(2024, 5, 1)),
        ("2024-05-01T10:00:00Z", datetime.datetime,
         datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.timezone.utc)),
        ("a/b", pathlib.Path, pathlib.Path("a/b")),
        ({"x": 3}, Union[str, Point], Point(3)),
        ("text", Union[Point, str], "text"),
        (3, Annotated[float, Field(ge=0)], 3.0),
    ],
)
def test_arguments_become_what_hints_ask_for(value: Any, hint: Any, expected: Any) -> None:
    converted = convert(value, hint)
    assert converted == expected and type(converted) is type(expected)


def test_an_argument_that_cannot_be_converted_says_so() -> None:
    with pytest.raises(ConversionError, match="expected Color, found \"green\""):
        convert("green", Color)


def test_results_are_json() -> None:
    value = {"point": Point(1), "color": Color.RED, "when": datetime.date(2024, 5, 1), "set": {2, 1},
             "id": uuid.UUID(int=1), "half": "\ud800"}
    assert dumps(value) == (
        b'{"point":{"x":1,"y":0.5,"tags":[]},"color":"red","when":"2024-05-01","set":[1,2],'
        b'"id":"00000000-0000-0000-0000-000000000001","half":"?"}'
    )
    with pytest.raises(ValueError):
        dumps(float("nan"))
    with pytest.raises(TypeError, match="return a dict, a list, a text or a number"):
        dumps(object())
