"""Values between JSON and Python: arguments on the way in, results on the way out."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import pathlib
import typing
import uuid
from typing import Any

from . import schema


# How much of a value is shown in an error, in characters.
MAX_SHOWN = 200


class ConversionError(ValueError):
    """A value that does not fit its type hint."""


def convert(value: Any, hint: Any) -> Any:
    """Makes a JSON value what a type hint asks for. What needs no conversion is returned as it is."""
    hint = schema.unwrapped(hint)
    if hasattr(hint, "__metadata__") and typing.get_origin(hint) is not None:
        return convert(value, hint.__origin__)
    if hint is Any or hint is object or hint is inspect.Parameter.empty or hint is None or value is None:
        return value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return _literal(value, arguments)
    if schema.is_union(hint):
        return _union(value, arguments)
    if origin is tuple:
        return _tuple(value, arguments)
    if origin in schema.SEQUENCES:
        return [convert(item, arguments[0]) for item in _checked(value, list, hint)]
    if origin in schema.SETS:
        items = [convert(item, arguments[0]) for item in _checked(value, list, hint)]
        return frozenset(items) if origin is frozenset else set(items)
    if origin in schema.MAPPINGS:
        return {key: convert(item, arguments[1]) for key, item in _checked(value, dict, hint).items()}
    return _plain(value, hint) if origin is None and isinstance(hint, type) else value


def _checked(value: Any, kind: type, hint: Any) -> Any:
    if not isinstance(value, kind):
        raise ConversionError(f"expected {hint}, found {json.dumps(value, default=repr)[:MAX_SHOWN]}")
    return value


def _plain(value: Any, hint: type) -> Any:
    try:
        if issubclass(hint, enum.Enum):
            return hint(value)
        if dataclasses.is_dataclass(hint):
            return _dataclass(_checked(value, dict, hint), hint)
        if schema.is_typed_dict(hint):
            hints = schema.hints_of(hint)
            return {key: convert(item, hints.get(key, Any)) for key, item in _checked(value, dict, hint).items()}
        if hasattr(hint, "model_validate"):
            return hint.model_validate(value)
        if issubclass(hint, datetime.datetime):
            return hint.fromisoformat(_utc(_checked(value, str, hint)))
        if issubclass(hint, (datetime.date, datetime.time)):
            return hint.fromisoformat(_utc(_checked(value, str, hint)))
        if issubclass(hint, (uuid.UUID, pathlib.PurePath)):
            return hint(_checked(value, str, hint))
        if issubclass(hint, decimal.Decimal):
            return hint(str(value))
        if issubclass(hint, (set, frozenset, tuple)):
            return hint(_checked(value, list, hint))
        if hint is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if hint is int and isinstance(value, float) and value.is_integer():
            return int(value)
    except ConversionError:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:
        found = json.dumps(value, default=repr)[:MAX_SHOWN]
        raise ConversionError(f"expected {hint.__name__}, found {found}: {error}") from error
    return value


def _utc(text: str) -> str:
    """Writes the time zone as Python before 3.11 reads it."""
    return text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text


def _literal(value: Any, members: tuple[Any, ...]) -> Any:
    return next((member for member in members if isinstance(member, enum.Enum) and member.value == value), value)


def _union(value: Any, members: tuple[Any, ...]) -> Any:
    for member in members:
        if not _may_be(value, member):
            continue
        try:
            return convert(value, member)
        except ConversionError:
            continue
    return value


def _may_be(value: Any, hint: Any) -> bool:
    """Tells by the JSON type alone whether a value can be of a type."""
    try:
        kinds = schema.SchemaBuilder().of(hint).get("type")
    except schema.UnsupportedHintError:
        return True
    if kinds is None:
        return True
    kinds = [kinds] if isinstance(kinds, str) else kinds
    known = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    kind = known.get(type(value), "null")
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _tuple(value: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    items = _checked(value, list, tuple)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(convert(item, arguments[0]) for item in items)
    return tuple(convert(item, hint) for item, hint in zip(items, arguments))


def _dataclass(value: dict[str, Any], hint: type) -> Any:
    hints = schema.hints_of(hint)
    known = {field.name for field in dataclasses.fields(hint) if field.init}
    unknown = [key for key in value if key not in known]
    if unknown:
        raise ConversionError(f"`{hint.__name__}` has no field `{unknown[0]}`")
    return hint(**{key: convert(item, hints[key]) for key, item in value.items()})


def to_plain(value: Any) -> Any:
    """Makes a value that ``json`` does not know one that it does. For ``json.dumps(default=…)``."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, pathlib.PurePath)):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if isinstance(value, (collections.abc.KeysView, collections.abc.ValuesView, collections.abc.Iterator)):
        return list(value)
    kind = type(value).__name__
    raise TypeError(f"a value of the type `{kind}` is not JSON; return a dict, a list, a text or a number")


def dumps(value: Any) -> bytes:
    """Writes a value as one line of JSON in UTF-8, without the line break."""
    text = json.dumps(value, default=to_plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair is no character, and no JSON that others read.
    return text.encode("utf-8", "replace")
