"""The decorator that makes a function a tool."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, Callable, Optional, Union, overload

from . import docstring
from .convert import ConversionError, convert
from .errors import ToolError
from .schema import SchemaBuilder, has_plain_default, hints_of, plain_default

# Parameters that the runtime fills in; they are in no schema.
INJECTED = ("sdk", "context")

RISKS = ("low", "medium", "high")

_ATTRIBUTE = "__toolcrib_tool__"


class DeclarationError(TypeError):
    """A function that cannot be a tool as it is declared."""


@dataclasses.dataclass
class Declaration:
    """A function as a tool."""

    function: Callable[..., Any]
    name: str
    description: str
    parameters: dict[str, Any]
    output_parameters: dict[str, Any]
    metadata: dict[str, Any]
    hints: dict[str, Any]
    injected: tuple[str, ...]

    @property
    def is_async(self) -> bool:
        """Tells whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(inspect.unwrap(self.function))

    def definition(self) -> dict[str, Any]:
        """Returns the tool as the runtime reads it."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "output_parameters": self.output_parameters,
            "metadata": self.metadata,
        }

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Makes the arguments of a call what the hints of the function ask for."""
        converted = {}
        for name, value in given.items():
            if name in self.injected:
                raise ToolError(f"`{name}` is not an argument of `{self.name}`", kind="invalid_args")
            try:
                converted[name] = convert(value, self.hints.get(name, Any))
            except ConversionError as error:
                raise ToolError(f"`{name}`: {error}", kind="invalid_args") from error
        return converted


def declaration_of(value: Any) -> Optional[Declaration]:
    """Returns the declaration of a function that ``@tool`` decorates."""
    found = getattr(value, _ATTRIBUTE, None)
    return found if isinstance(found, Declaration) else None


@overload
def tool(name: Callable[..., Any], /) -> Callable[..., Any]: ...
@overload
def tool(name: Optional[str] = None, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def tool(
    name: Union[str, Callable[..., Any], None] = None,
    *,
    title: Optional[str] = None,
    description: Optional[str] = None,
    input_schema: Optional[dict[str, Any]] = None,
    output_schema: Optional[dict[str, Any]] = None,
    confirmation_required: Optional[bool] = None,
    access: Optional[dict[str, Any]] = None,
    user_selectable: Optional[bool] = None,
    risk: Optional[str] = None,
    tags: Optional[list[str]] = None,
    aliases: Optional[list[str]] = None,
    examples: Optional[list[dict[str, Any]]] = None,
    side_effects: Optional[list[str]] = None,
    idempotent: Optional[bool] = None,
    cacheable: Union[bool, dict[str, Any], None] = None,
    timeout: Optional[float] = None,
) -> Any:
    """Makes a function a tool. The function itself stays as it is.

    The name is that of the function unless one is given. The description is the docstring, and the schema of the
    arguments is that of the signature. Parameters called ``sdk`` and ``context`` are filled in at each call.

    Args:
        name: The name of the tool in its module.
        title: A name for people.
        description: What the tool does, for the model.
        input_schema: JSON Schema of the arguments, instead of that of the signature.
        output_schema: JSON Schema of the result.
        confirmation_required: Whether a person is asked before each call.
        access: What the tool reaches outside of itself, as rules of the runtime.
        user_selectable: Whether the tool is in lists that people choose from.
        risk: ``low``, ``medium`` or ``high``.
        tags: Words that sort the tool under a subject.
        aliases: Other names by which the tool is found.
        examples: Arguments of exemplary calls.
        side_effects: What a call changes outside of itself.
        idempotent: Whether a second identical call does no more than the first.
        cacheable: Whether results may be used again.
        timeout: How many seconds a call may take.
    """
    metadata = {
        "title": title,
        "risk": risk,
        "aliases": aliases,
        "tags": tags,
        "side_effects": side_effects,
        "examples": examples,
        "access": access,
        "cacheable": cacheable,
        "confirmation_required": confirmation_required,
        "user_selectable": user_selectable,
        "idempotent": idempotent,
        "timeout_seconds": timeout,
    }
    metadata = {key: value for key, value in metadata.items() if value is not None}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own_name = name if isinstance(name, str) else None
        setattr(function, _ATTRIBUTE, _declare(function, own_name, description, input_schema, output_schema, metadata))
        return function

    return decorate(name) if callable(name) else decorate


def _declare(
    function: Callable[..., Any],
    name: Optional[str],
    description: Optional[str],
    input_schema: Optional[dict[str, Any]],
    output_schema: Optional[dict[str, Any]],
    metadata: dict[str, Any],
) -> Declaration:
    if not inspect.isroutine(function):
        raise DeclarationError(f"`@tool` goes on a function, not on {function!r}")
    name = name if name is not None else function.__name__
    documented = docstring.parse(function.__doc__)
    description = description if description is not None else documented.description
    if not description.strip():
        raise DeclarationError(f"the tool `{name}` has no description; write a docstring, or pass `description=`")
    _check_metadata(name, metadata)
    signature = inspect.signature(function)
    injected = tuple(key for key in signature.parameters if key in INJECTED)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise DeclarationError(
                f"the tool `{name}` has the positional parameter `{parameter.name}`; "
                "arguments are passed by name, so make it an ordinary one"
            )
    hints = hints_of(inspect.unwrap(function), without=(*INJECTED, "return"))
    if input_schema is None:
        parameters = _schema_of(signature, hints, documented.parameters)
    else:
        parameters = input_schema
        _check_schema(name, signature, input_schema)
    return Declaration(function, name, description, parameters, output_schema or {}, metadata, hints, injected)


def _schema_of(
    signature: inspect.Signature, hints: dict[str, Any], described: dict[str, str]
) -> dict[str, Any]:
    """Returns the schema of the arguments of a function."""
    builder = SchemaBuilder()
    fields: dict[str, Any] = {}
    required: list[str] = []
    defaults: dict[str, Any] = {}
    others: Optional[dict[str, Any]] = None
    for key, parameter in signature.parameters.items():
        hint = hints.get(key, inspect.Parameter.empty)
        if key in INJECTED:
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            others = builder.of(hint)
            continue
        # A default of None is a value that may be given, too.
        fields[key] = Optional[hint] if parameter.default is None and key in hints else hint
        if parameter.default is parameter.empty:
            required.append(key)
        elif has_plain_default(parameter.default):
            defaults[key] = plain_default(parameter.default)
    schema = builder.fields(fields, required, described, defaults)
    if others is not None:
        schema["additionalProperties"] = others or True
    if builder.definitions:
        schema["$defs"] = builder.definitions
    return schema


def _check_schema(name: str, signature: inspect.Signature, schema: dict[str, Any]) -> None:
    """Refuses a schema whose arguments the function would not take."""
    if not isinstance(schema, dict):
        raise DeclarationError(f"the `input_schema` of `{name}` is not a JSON Schema, which is a dict")
    parameters = signature.parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    properties = schema.get("properties", {})
    for key in properties:
        if key in INJECTED or key not in parameters:
            raise DeclarationError(
                f"the `input_schema` of `{name}` has `{key}`, which is not a parameter of the function"
            )
    always = schema.get("required", [])
    for key, parameter in parameters.items():
        if key not in INJECTED and parameter.default is parameter.empty and key not in always:
            raise DeclarationError(
                f"the function of `{name}` needs `{key}`, which its `input_schema` does not require; "
                "add it to `required`, or give it a default"
            )


def _check_metadata(name: str, metadata: dict[str, Any]) -> None:
    """Refuses options of the wrong type, which the runtime would otherwise read as if they were not there."""
    kinds: dict[str, tuple[Any, str]] = {
        "title": (str, "a text"),
        "access": (dict, "a dict"),
        "cacheable": ((bool, dict), "True, False or a dict"),
        "confirmation_required": (bool, "True or False"),
        "user_selectable": (bool, "True or False"),
        "idempotent": (bool, "True or False"),
    }
    for key, (kind, expected) in kinds.items():
        if key in metadata and not isinstance(metadata[key], kind):
            raise DeclarationError(f"`{key}` of the tool `{name}`: expected {expected}, found {metadata[key]!r}")
    for key, kind, expected in (
        ("aliases", str, "texts"), ("tags", str, "texts"), ("side_effects", str, "texts"), ("examples", dict, "dicts")
    ):
        value = metadata.get(key, [])
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, kind) for item in value):
            raise DeclarationError(f"`{key}` of the tool `{name}`: expected a list of {expected}, found {value!r}")
    if metadata.get("risk", "low") not in RISKS:
        raise DeclarationError(f"`risk` of the tool `{name}`: expected low, medium or high, found {metadata['risk']!r}")
    timeout = metadata.get("timeout_seconds", 1)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf"):
        raise DeclarationError(f"`timeout` of the tool `{name}`: expected a number of seconds, found {timeout!r}")
