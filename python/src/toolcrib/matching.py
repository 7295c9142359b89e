"""A check of values against JSON Schemas, as far as choosing between overloads needs it."""

from __future__ import annotations

import re
from typing import Any, Callable

_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: not isinstance(value, bool)
    and (isinstance(value, int) or (isinstance(value, float) and value.is_integer())),
    "number": lambda value: not isinstance(value, bool) and isinstance(value, (int, float)),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

# Keywords that say something of the schema and nothing of values. `format` is an annotation too.
_ANNOTATIONS = {
    "$anchor", "$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description", "example",
    "examples", "format", "readOnly", "title", "writeOnly",
}

# The deepest nesting of schemas that is followed.
MAX_DEPTH = 64


class UnsupportedSchemaError(ValueError):
    """A schema with a keyword that is not checked here."""


def accepts(schema: Any, value: Any) -> bool:
    """Tells whether a schema accepts a value. An unknown keyword is an error rather than ignored."""
    return _accepts(schema, value, schema, 0)


def _accepts(schema: Any, value: Any, root: Any, depth: int) -> bool:
    if isinstance(schema, bool):
        return schema
    if depth > MAX_DEPTH:
        raise UnsupportedSchemaError(f"the schema is nested deeper than {MAX_DEPTH}")

    def fits(part: Any, item: Any) -> bool:
        return _accepts(part, item, root, depth + 1)

    return all(_keyword(schema, key, part, value, root, fits) for key, part in schema.items())


def _keyword(
    schema: dict[str, Any], key: str, part: Any, value: Any, root: Any, fits: Callable[[Any, Any], bool]
) -> bool:
    if key in _ANNOTATIONS:
        return True
    if key == "type":
        return any(_TYPES[name](value) for name in ([part] if isinstance(part, str) else part))
    if key == "enum":
        return any(_equal(value, member) for member in part)
    if key == "const":
        return _equal(value, part)
    if key == "$ref":
        return fits(_resolved(part, root), value)
    if key in ("allOf", "anyOf", "oneOf"):
        accepted = sum(1 for branch in part if fits(branch, value))
        return accepted == 1 if key == "oneOf" else accepted >= (len(part) if key == "allOf" else 1)
    if key == "not":
        return not fits(part, value)
    if key in _OF_NUMBERS:
        return not _TYPES["number"](value) or _OF_NUMBERS[key](value, part)
    if key in _OF_STRINGS:
        return not isinstance(value, str) or _OF_STRINGS[key](value, part)
    if key in ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"):
        return not isinstance(value, list) or _array(schema, key, part, value, fits)
    if key in ("properties", "required", "additionalProperties", "patternProperties", "minProperties",
               "maxProperties"):
        return not isinstance(value, dict) or _object(schema, key, part, value, fits)
    raise UnsupportedSchemaError(f"the keyword `{key}` is not supported when overloads are chosen")


_OF_NUMBERS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
    "multipleOf": lambda value, bound: value % bound == 0,
}

_OF_STRINGS: dict[str, Callable[[Any, Any], bool]] = {
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "pattern": lambda value, pattern: re.search(pattern, value) is not None,
}


def _array(schema: dict[str, Any], key: str, part: Any, value: list[Any], fits: Callable[[Any, Any], bool]) -> bool:
    if key == "items":
        return all(fits(part, item) for item in value[len(schema.get("prefixItems", [])):])
    if key == "prefixItems":
        return all(fits(branch, item) for branch, item in zip(part, value))
    if key == "uniqueItems":
        return not part or not any(_equal(a, b) for at, a in enumerate(value) for b in value[:at])
    return len(value) >= part if key == "minItems" else len(value) <= part


def _object(
    schema: dict[str, Any], key: str, part: Any, value: dict[str, Any], fits: Callable[[Any, Any], bool]
) -> bool:
    if key == "properties":
        return all(fits(branch, value[name]) for name, branch in part.items() if name in value)
    if key == "required":
        return all(name in value for name in part)
    patterns = schema.get("patternProperties", {})
    if key == "patternProperties":
        return all(fits(branch, item) for pattern, branch in part.items() for name, item in value.items()
                   if re.search(pattern, name))
    if key == "additionalProperties":
        known = schema.get("properties", {})
        others = [item for name, item in value.items()
                  if name not in known and not any(re.search(pattern, name) for pattern in patterns)]
        return all(fits(part, item) for item in others)
    return len(value) >= part if key == "minProperties" else len(value) <= part


def _resolved(reference: str, root: Any) -> Any:
    if not reference.startswith("#"):
        raise UnsupportedSchemaError(f"`{reference}` refers to something outside of the schema")
    schema = root
    for step in reference[1:].split("/")[1:]:
        schema = schema[step.replace("~1", "/").replace("~0", "~")]
    return schema


def _equal(a: Any, b: Any) -> bool:
    """Compares as JSON does: ``True`` is not 1, and 1.0 is."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    return bool(a == b)
