"""Registries of tools, and their agreement with the runtime."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from typing import Any, Iterator

import pytest

from toolcrib import DuplicateToolError, FileToolLoader, Tool, ToolRegistry, fingerprint
from toolcrib.matching import UnsupportedSchemaError, accepts
from toolcrib.registry import canonical_json, load_yaml

SHARED = os.environ.get("TOOLCRIB_SHARED")

needs_vectors = pytest.mark.skipif(SHARED is None, reason="TOOLCRIB_SHARED does not name the shared data sets")

WEATHER = """
weather_api:
  - name: get_weather
    description: Get current weather for a location.
    parameters:
      type: object
      properties: {location: {type: string}}
      required: [location]
    risk: low
"""


def compat(name: str) -> Any:
    return json.loads((pathlib.Path(SHARED or "") / "data" / "compat" / name).read_text(encoding="utf-8"))


@needs_vectors
def test_fingerprints_are_those_of_the_runtime() -> None:
    cases = compat("fingerprint_edge.json")
    assert len(cases) > 10
    for case in cases:
        schema = json.loads(case["schema_json"])
        assert (canonical_json(schema), fingerprint(schema)) == (case["canonical"], case["sha256"])


@needs_vectors
def test_tool_files_have_the_names_and_fingerprints_of_the_runtime() -> None:
    folder = pathlib.Path(SHARED or "") / "data" / "compat" / "fms_files"
    known = {pathlib.Path(entry["file"]).name: entry["tools"] for entry in compat("fms_test_data.json")}
    compared = 0
    for path in sorted(folder.iterdir()):
        registry = ToolRegistry.from_file(path)
        assert len(registry) > 0, path
        if path.name in known:
            found = sorted((tool.qualified_name, tool.fingerprint) for tool in registry)
            assert found == sorted((tool["qualified_name"], tool["fingerprint"]) for tool in known[path.name])
            compared += 1
    assert compared > 0


@needs_vectors
def test_overloads_are_chosen_as_the_runtime_chooses() -> None:
    cases = compat("overload_resolution.json")
    assert len(cases) == 39
    for number, case in enumerate(cases):
        tools = [Tool("b", "a", parameters=schema) for schema in case["overloads"]]
        registry = ToolRegistry.from_tools(tools)
        chosen = registry.match("a::b", case["arguments"])
        assert [tool is chosen for tool in tools].index(True) == case["chosen_index"], (number, case)


def test_identical_schemas_under_one_name_are_an_error() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    first, same = Tool("t", "n", parameters=schema), Tool("t", "n", "Other.", dict(reversed(list(schema.items()))))
    with pytest.raises(DuplicateToolError, match="duplicate tool: n::t with identical input schema registered twice"):
        ToolRegistry.from_tools([first, same])
    registry = ToolRegistry.from_tools([first, Tool("t", "n"), Tool("t", "m", parameters=schema)])
    assert len(registry) == 3 and len(registry.overloads("n::t")) == 2 and "m::t" in registry


def shapes() -> Iterator[tuple[Any, dict[str, Any], str]]:
    body = {"description": "D.", "parameters": {"type": "object"}}
    yield {"n": [{"name": "t", **body}]}, {}, "n::t"
    yield {"n": [{"name": "t", **body}]}, {"namespace": "arg"}, "arg::t"
    yield [{"name": "t", **body}], {}, "default::t"
    yield [{"name": "t", "namespace": "own", **body}], {"namespace": "arg"}, "own::t"
    yield {"t": {"name": "t", **body}}, {}, "default::t"
    yield {"t": body}, {}, "default::t"
    yield {"namespace": "f", "tools": [{"name": "t", **body}]}, {}, "f::t"
    yield {"name": "q::t", **body}, {}, "q::t"
    yield [{"type": "function", "function": {"name": "t", **body}}], {}, "default::t"
    yield [{"name": "t", "description": "D.", "inputSchema": {"type": "object"}}], {}, "default::t"


@pytest.mark.parametrize(("value", "options", "expected"), list(shapes()))
def test_tool_files_of_every_shape_are_read(value: Any, options: Any, expected: str) -> None:
    [tool] = ToolRegistry.from_json(json.dumps(value), **options)
    assert (tool.qualified_name, tool.description, tool.parameters) == (expected, "D.", {"type": "object"})


def test_yaml_is_read_by_its_core_schema() -> None:
    [tool] = ToolRegistry.from_yaml(WEATHER)
    assert (tool.qualified_name, tool.metadata) == ("weather_api::get_weather", {"risk": "low"})
    expected = hashlib.sha256(
        b'{"properties":{"location":{"type":"string"}},"required":["location"],"type":"object"}').hexdigest()
    assert tool.fingerprint == expected
    text = "[yes, on, No, true, 0o17, 017, 0x1F, 1_000, 1e3, 1.5, 12:30:45, 2024-01-01, ~, .inf, '1']"
    assert load_yaml(text) == ["yes", "on", "No", True, 15, 17, 31, "1_000", 1000.0, 1.5, "12:30:45", "2024-01-01",
                               None, float("inf"), "1"]


@pytest.mark.parametrize("text", ['[{"description": "D."}]', '[{"name": " "}]', '[{"name": "t", "parameters": 1}]',
                                  '{"t": 1}', "3", "[1]"])
def test_what_is_no_tool_file_is_an_error(tmp_path: pathlib.Path, text: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="tools.json: "):
        ToolRegistry.from_file(path)


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"type": "integer", "minimum": 1}, [1, 2.0], [0, 1.5, True, "1"]),
        ({"enum": [1, "a", None]}, [1.0, "a", None], [True, "b"]),
        ({"anyOf": [{"type": "string", "pattern": "^a"}, {"const": {"b": [1]}}]}, ["ab", {"b": [1.0]}],
         ["b", {"b": []}]),
        ({"items": {"type": "integer"}, "minItems": 1, "uniqueItems": True}, [[1, 2]], [[], [1, 1], ["a"]]),
        ({"required": ["a"], "additionalProperties": False, "properties": {"a": {}}}, [{"a": 1}],
         [{}, {"a": 1, "b": 1}]),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"not": {"type": "null"}}}}, [1], [None]),
        (False, [], [1]),
    ],
)
def test_values_are_checked_against_schemas(schema: Any, accepted: list, refused: list) -> None:
    assert all(accepts(schema, value) for value in accepted)
    assert not any(accepts(schema, value) for value in refused)


def test_a_keyword_that_is_not_checked_is_an_error_and_not_ignored() -> None:
    with pytest.raises(UnsupportedSchemaError, match="`dependentRequired`"):
        accepts({"dependentRequired": {"a": ["b"]}}, {})


def test_several_loaders_make_one_registry_and_a_refresh_reads_them_again(tmp_path):
    weather, people = tmp_path / "weather.json", tmp_path / "people.json"
    weather.write_text('[{"name": "forecast"}]')
    people.write_text('[{"name": "find"}]')
    registry = ToolRegistry.from_loaders(
        [FileToolLoader(weather, namespace="weather_api"), FileToolLoader(people, namespace="hr_api")]
    )
    assert [tool.qualified_name for tool in registry] == ["weather_api::forecast", "hr_api::find"]
    people.write_text('[{"name": "find"}, {"name": "hire"}]')
    registry.refresh()
    assert "hr_api::hire" in registry
    people.write_text('[{"name": "find"}, {"name": "find"}]')
    with pytest.raises(DuplicateToolError):
        registry.refresh()
    assert "hr_api::hire" in registry
