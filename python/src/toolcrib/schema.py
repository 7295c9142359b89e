"""JSON Schemas of type hints."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import sys
import types
import typing
import uuid
from typing import Any, Optional

from . import docstring

# Markers around a hint that say nothing of its values.
_MARKERS = {"Required", "NotRequired", "ReadOnly", "Final", "ClassVar", "InitVar"}

_PLAIN: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    decimal.Decimal: {"type": "number"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    pathlib.Path: {"type": "string"},
    pathlib.PurePath: {"type": "string"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    dict: {"type": "object"},
    type(None): {"type": "null"},
}

SEQUENCES = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable,
             collections.abc.Collection)
SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)

# Attributes of annotations, those of `annotated_types` among them, with the keywords that they stand for.
_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


@dataclasses.dataclass(frozen=True, eq=False)
class Field:
    """A description and bounds of a parameter or a field: ``Annotated[int, Field("How many.", ge=1, le=20)]``."""

    description: Optional[str] = None
    ge: Optional[float] = None
    gt: Optional[float] = None
    le: Optional[float] = None
    lt: Optional[float] = None
    multiple_of: Optional[float] = None
    min_length: Optional[int] = None
    max_length: Optional[int] = None
    pattern: Optional[str] = None
    format: Optional[str] = None
    examples: Optional[list[Any]] = None


class UnsupportedHintError(TypeError):
    """A type hint without a JSON Schema."""


def is_union(hint: Any) -> bool:
    """Tells whether a hint is a union, in either notation."""
    origin = typing.get_origin(hint)
    return origin is typing.Union or (hasattr(types, "UnionType") and origin is types.UnionType)


def unwrapped(hint: Any) -> Any:
    """Returns a hint without the markers, aliases and new types around it. ``Annotated`` stays."""
    while True:
        if isinstance(hint, dataclasses.InitVar):
            hint = hint.type
            continue
        origin = typing.get_origin(hint)
        if getattr(origin, "_name", None) in _MARKERS:
            hint = typing.get_args(hint)[0]
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        elif isinstance(hint, typing.TypeVar):
            hint = hint.__bound__ if hint.__bound__ is not None else Any
        else:
            return hint


def is_typed_dict(hint: Any) -> bool:
    """Tells whether a hint is a ``TypedDict``."""
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__total__")


def hints_of(owner: Any, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns the resolved hints of a function or a class, with their annotations; some names are not looked at."""
    subject, globals_ = owner, None
    if not isinstance(owner, type):
        # What is not looked at may name what this version of Python cannot resolve.
        annotations = getattr(owner, "__annotations__", {})
        subject, globals_ = types.FunctionType((lambda: None).__code__, {}), getattr(owner, "__globals__", {})
        subject.__annotations__ = {key: hint for key, hint in annotations.items() if key not in without}
    try:
        return typing.get_type_hints(subject, globals_, include_extras=True)
    except NameError as error:
        raise UnsupportedHintError(
            f"a type hint of `{owner.__name__}` names something unknown: {error}; import it outside of TYPE_CHECKING"
        ) from error
    except TypeError as error:
        version = ".".join(map(str, sys.version_info[:2]))
        raise UnsupportedHintError(
            f"a type hint of `{owner.__name__}` cannot be read by Python {version}: {error}; "
            "write Optional[X] for `X | None`"
        ) from error


class SchemaBuilder:
    """Builds the schemas of one tool. Types that contain themselves end up in ``definitions``."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}
        self._open: list[Any] = []
        self._recursive: set[Any] = set()

    def of(self, hint: Any) -> dict[str, Any]:
        """Returns the schema of a hint."""
        hint = unwrapped(hint)
        if hint is Any or hint is object or hint is inspect.Parameter.empty:
            return {}
        if hint is None:
            hint = type(None)
        if hasattr(hint, "__metadata__") and typing.get_origin(hint) is not None:
            return self._annotated(hint)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is None and isinstance(hint, type) and hint in _PLAIN:
            return dict(_PLAIN[hint])
        if origin is typing.Literal:
            return _enumeration([value.value if isinstance(value, enum.Enum) else value for value in arguments])
        if is_union(hint):
            return self._union(arguments)
        if origin is tuple:
            return self._tuple(arguments)
        if origin in SEQUENCES:
            return _with("array", "items", self.of(arguments[0]))
        if origin in SETS:
            return {**_with("array", "items", self.of(arguments[0])), "uniqueItems": True}
        if origin in MAPPINGS:
            return _with("object", "additionalProperties", self.of(arguments[1]))
        if hint in SEQUENCES:
            return {"type": "array"}
        if hint in SETS:
            return {"type": "array", "uniqueItems": True}
        if hint in MAPPINGS:
            return {"type": "object"}
        if origin is None and isinstance(hint, type):
            return self._class(hint)
        raise UnsupportedHintError(f"there is no JSON Schema for {hint!r}; use other types, or pass `input_schema`")

    def fields(self, hints: dict[str, Any], required: list[str], described: dict[str, str],
               defaults: dict[str, Any]) -> dict[str, Any]:
        """Returns the schema of an object with these fields and no others."""
        properties = {}
        for name, hint in hints.items():
            schema = self.of(hint)
            if name in described:
                schema.setdefault("description", described[name])
            if name in defaults:
                schema["default"] = defaults[name]
            properties[name] = schema
        result: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            result["required"] = required
        result["additionalProperties"] = False
        return result

    def _class(self, hint: type) -> dict[str, Any]:
        if issubclass(hint, enum.Enum):
            return _enumeration([member.value for member in hint])
        if dataclasses.is_dataclass(hint):
            return self._named(hint, self._dataclass)
        if is_typed_dict(hint):
            return self._named(hint, self._typed_dict)
        if hasattr(hint, "model_json_schema"):
            schema = dict(hint.model_json_schema(ref_template="#/$defs/{model}"))
            self.definitions.update(schema.pop("$defs", {}))
            return schema
        for base, schema in _PLAIN.items():
            if base is not type(None) and issubclass(hint, base):
                return dict(schema)
        raise UnsupportedHintError(
            f"there is no JSON Schema for the class `{hint.__name__}`; make it a dataclass, or pass `input_schema`"
        )

    def _named(self, hint: type, build: Any) -> dict[str, Any]:
        reference = {"$ref": f"#/$defs/{hint.__name__}"}
        if hint in self._open:
            self._recursive.add(hint)
            return reference
        self._open.append(hint)
        try:
            schema = build(hint)
        finally:
            self._open.pop()
        if hint not in self._recursive:
            return schema
        known = self.definitions.setdefault(hint.__name__, schema)
        if known != schema:
            raise UnsupportedHintError(f"two recursive types are called `{hint.__name__}`; rename one of them")
        return reference

    def _dataclass(self, hint: type) -> dict[str, Any]:
        hints = hints_of(hint)
        documented = docstring.parse(hint.__doc__).parameters
        fields = [field for field in dataclasses.fields(hint) if field.init]
        described = {**documented, **{field.name: field.metadata["description"] for field in fields
                                      if "description" in field.metadata}}
        required = [field.name for field in fields
                    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING]
        defaults = {field.name: plain_default(field.default) for field in fields if has_plain_default(field.default)}
        return self.fields({field.name: hints[field.name] for field in fields}, required, described, defaults)

    def _typed_dict(self, hint: type) -> dict[str, Any]:
        hints = hints_of(hint)
        # With annotations as texts, the class itself does not see `Required` and `NotRequired`.
        markers = {name: getattr(typing.get_origin(value), "_name", None) for name, value in hints.items()}
        optional = getattr(hint, "__optional_keys__", frozenset())
        required = [name for name in hints
                    if markers[name] == "Required" or (name not in optional and markers[name] != "NotRequired")]
        return self.fields(hints, required, docstring.parse(hint.__doc__).parameters, {})

    def _annotated(self, hint: Any) -> dict[str, Any]:
        schema = self.of(hint.__origin__)
        for extra in hint.__metadata__:
            _apply(schema, extra)
        return schema

    def _union(self, members: tuple[Any, ...]) -> dict[str, Any]:
        others = [member for member in members if member is not type(None)]
        schemas = [self.of(member) for member in others]
        is_nullable = len(others) < len(members)
        if len(schemas) == 1 and is_nullable:
            return _nullable(schemas[0])
        if all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
            names = list(dict.fromkeys(schema["type"] for schema in schemas))
            return {"type": [*names, "null"] if is_nullable else names}
        return {"anyOf": [*schemas, {"type": "null"}] if is_nullable else schemas}

    def _tuple(self, arguments: tuple[Any, ...]) -> dict[str, Any]:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _with("array", "items", self.of(arguments[0]))
        items = [] if arguments == ((),) else [self.of(argument) for argument in arguments]
        bounds = {"minItems": len(items), "maxItems": len(items)}
        return {"type": "array", **({"prefixItems": items} if items else {}), **bounds}


def has_plain_default(value: Any) -> bool:
    """Tells whether a default can stand in a schema."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, float):
        return value == value and value not in (float("inf"), float("-inf"))
    if isinstance(value, (list, tuple)):
        return all(has_plain_default(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and has_plain_default(item) for key, item in value.items())
    return value is None or isinstance(value, (bool, int, str))


def plain_default(value: Any) -> Any:
    """Returns a default as JSON holds it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain_default(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_default(item) for key, item in value.items()}
    return value


def _with(kind: str, keyword: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, keyword: schema} if schema else {"type": kind}


def _enumeration(values: list[Any]) -> dict[str, Any]:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    kinds = list(dict.fromkeys(names.get(type(value), "") for value in values))
    if "" in kinds:
        raise UnsupportedHintError(f"the values {values!r} cannot stand in JSON; use texts, numbers or booleans")
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if not schema:
        return schema
    if not isinstance(kind, (str, list)):
        return {"anyOf": [schema, {"type": "null"}]}
    kinds = [kind] if isinstance(kind, str) else list(kind)
    if "null" not in kinds:
        kinds.append("null")
    result = {**schema, "type": kinds}
    if "enum" in schema and None not in schema["enum"]:
        result["enum"] = [*schema["enum"], None]
    return result


def _apply(schema: dict[str, Any], extra: Any) -> None:
    """Adds what an annotation says to a schema."""
    if isinstance(extra, str):
        schema["description"] = extra
        return
    if isinstance(extra, dict):
        schema.update(extra)
        return
    documentation = getattr(extra, "description", None) or getattr(extra, "documentation", None)
    if isinstance(documentation, str):
        schema["description"] = documentation
    for attribute, keyword in _BOUNDS.items():
        value = getattr(extra, attribute, None)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            schema[keyword] = value
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    noun = next((_LENGTHS[kind] for kind in kinds if kind in _LENGTHS), None)
    for attribute, prefix in (("min_length", "min"), ("max_length", "max")):
        value = getattr(extra, attribute, None)
        if isinstance(value, int) and noun is not None:
            schema[prefix + noun] = value
    for attribute in ("pattern", "format", "examples"):
        value = getattr(extra, attribute, None)
        if isinstance(value, (str, list)):
            schema[attribute] = value
