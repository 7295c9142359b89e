"""Tool definitions and registries of them, with the names and fingerprints that the runtime gives them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
from typing import Any, Iterable, Iterator, Optional, Protocol, Union

from . import matching

SEPARATOR = "::"

DEFAULT_NAMESPACE = "default"

_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_OUTPUT_KEYS = ("output_parameters", "output_schema", "outputSchema")
_TOOL_KEYS = ("name", "description", *_SCHEMA_KEYS, "function")


class DuplicateToolError(ValueError):
    """Two tools of one name with identical schemas."""


def canonical_json(value: Any) -> str:
    """Writes a value in the form that fingerprints are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def fingerprint(schema: Any) -> str:
    """Returns the SHA-256 of a schema in its canonical form, in hexadecimal digits."""
    return hashlib.sha256(canonical_json(schema).encode()).hexdigest()


@dataclasses.dataclass
class Tool:
    """The definition of a tool."""

    name: str
    namespace: str = DEFAULT_NAMESPACE
    description: str = ""
    parameters: Any = dataclasses.field(default_factory=dict)
    output_parameters: Any = dataclasses.field(default_factory=dict)
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def qualified_name(self) -> str:
        """The full name, ``namespace::name``."""
        return f"{self.namespace}{SEPARATOR}{self.name}"

    @property
    def fingerprint(self) -> str:
        """The digest of the schema of the arguments, which tells overloads apart."""
        return fingerprint(self.parameters)

    @property
    def title(self) -> Optional[str]:
        """A name for people."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the tool as JSON holds it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(
        cls,
        value: Any,
        *,
        key: Optional[str] = None,
        namespace: Optional[str] = None,
        file_namespace: Optional[str] = None,
    ) -> "Tool":
        """Reads a tool in any of the forms that tool files have.

        The namespace is the tool's own, else ``namespace``, else that of the file.
        """
        if not isinstance(value, dict):
            raise ValueError(f"expected a tool, which is a mapping, found {value!r}")
        fields = dict(value)
        function = fields.pop("function", None)
        if isinstance(function, dict):
            fields.pop("type", None)
            fields.update(function)
        name = fields.pop("name", key)
        if not isinstance(name, str) or not name.strip():
            raise ValueError("the tool has no `name`")
        own = fields.pop("namespace", None)
        if SEPARATOR in name:
            before, after = name.split(SEPARATOR, 1)
            if own is None or own == before:
                own, name = before, after
        if SEPARATOR in name:
            raise ValueError(f"the name `{name}` contains `{SEPARATOR}`, which separates the namespace")
        schema = _first(fields, _SCHEMA_KEYS, name)
        output = _first(fields, _OUTPUT_KEYS, name)
        description = fields.pop("description", None) or ""
        if not isinstance(description, str):
            raise ValueError(f"the `description` of `{name}` is not a text")
        metadata = dict(fields.pop("metadata", None) or {})
        metadata.update(fields)
        place = own or namespace or file_namespace or DEFAULT_NAMESPACE
        return cls(name, place, description, schema, output, metadata)


def _first(fields: dict[str, Any], keys: tuple[str, ...], name: str) -> Any:
    for key in keys:
        if key in fields:
            schema = fields.pop(key)
            if schema is None:
                return {}
            if not isinstance(schema, (dict, bool)):
                raise ValueError(f"`{key}` of `{name}` is not a JSON Schema, which is a mapping")
            return schema
    return {}


class ToolLoader(Protocol):
    """A source of tools that can be read again."""

    def load(self) -> Iterable[Tool]:
        """Returns the tools as they are now."""


@dataclasses.dataclass
class FileToolLoader:
    """A loader of one tool file, in JSON where its name ends with ``.json`` and else in YAML."""

    path: Union[str, pathlib.Path]
    namespace: Optional[str] = None

    def load(self) -> list[Tool]:
        """Reads the file. Errors are ``OSError`` and ``ValueError``, the latter with the path."""
        path = pathlib.Path(self.path)
        data = path.read_bytes()
        try:
            document = json.loads(data) if path.suffix.lower() == ".json" else load_yaml(data)
            return tools_of(document, namespace=self.namespace)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


class ToolRegistry:
    """Tools by name. A name may have several tools with different schemas, but no two with identical ones."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._loaders: list[ToolLoader] = []
        self._replace(tools)

    @classmethod
    def from_loaders(cls, loaders: Iterable[ToolLoader]) -> "ToolRegistry":
        """Makes a registry of what several loaders load, in their order."""
        registry = cls()
        registry._loaders = list(loaders)
        registry.refresh()
        return registry

    def refresh(self) -> None:
        """Runs all loaders again. Where one fails, or two tools collide, the registry stays as it was."""
        if self._loaders:
            self._replace([tool for loader in self._loaders for tool in loader.load()])

    @classmethod
    def from_tools(cls, tools: Iterable[Tool]) -> "ToolRegistry":
        """Makes a registry of tools that name their namespaces themselves."""
        return cls(tools)

    @classmethod
    def from_yaml(cls, text: Union[str, bytes], *, namespace: Optional[str] = None) -> "ToolRegistry":
        """Reads the text of a tool file in YAML, for which PyYAML is needed."""
        return cls(tools_of(load_yaml(text), namespace=namespace))

    @classmethod
    def from_json(cls, text: Union[str, bytes], *, namespace: Optional[str] = None) -> "ToolRegistry":
        """Reads the text of a tool file in JSON."""
        return cls(tools_of(json.loads(text), namespace=namespace))

    @classmethod
    def from_file(cls, path: Union[str, pathlib.Path], *, namespace: Optional[str] = None) -> "ToolRegistry":
        """Reads a tool file, in JSON where its name ends with ``.json`` and else in YAML."""
        try:
            return cls.from_loaders([FileToolLoader(path, namespace)])
        except DuplicateToolError as error:
            raise DuplicateToolError(f"{path}: {error}") from error

    def _replace(self, tools: Iterable[Tool]) -> None:
        tools = list(tools)
        by_name: dict[str, list[Tool]] = {}
        for tool in tools:
            overloads = by_name.setdefault(tool.qualified_name, [])
            if any(other.fingerprint == tool.fingerprint for other in overloads):
                raise DuplicateToolError(
                    f"duplicate tool: {tool.qualified_name} with identical input schema registered twice"
                )
            overloads.append(tool)
        self._by_name = by_name
        self._tools = tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def overloads(self, name: str) -> list[Tool]:
        """Returns the tools of a qualified name, in the order of their registration."""
        return list(self._by_name.get(name, []))

    def match(self, name: str, arguments: dict[str, Any]) -> Tool:
        """Returns the overload that a call with these arguments means.

        Of those whose schema accepts the arguments (of all, where none does) it is the one with the most argument
        names in common; of equals the first. ``KeyError`` says that there is no tool of the name.
        """
        overloads = self._by_name.get(name)
        if not overloads:
            raise KeyError(f"there is no tool `{name}`")
        if len(overloads) == 1:
            return overloads[0]
        accepting = [tool for tool in overloads if matching.accepts(tool.parameters, arguments)]
        return max(accepting or overloads, key=lambda tool: _names_in_common(tool, arguments))


def _names_in_common(tool: Tool, arguments: dict[str, Any]) -> int:
    properties = tool.parameters.get("properties", {}) if isinstance(tool.parameters, dict) else {}
    return sum(1 for key in arguments if key in properties)


def tools_of(value: Any, *, namespace: Optional[str] = None) -> list[Tool]:
    """Reads the tools of a file: a list, a mapping of namespaces to lists, or a mapping of names to tools."""
    if isinstance(value, list):
        return [Tool.from_dict(item, namespace=namespace) for item in value]
    if not isinstance(value, dict):
        raise ValueError("expected a list of tools or a mapping")
    own = value.get("namespace")
    file_namespace = own if isinstance(own, str) else None

    def read(item: Any, key: Optional[str] = None, group: Optional[str] = file_namespace) -> Tool:
        return Tool.from_dict(item, key=key, namespace=namespace, file_namespace=group)

    if isinstance(value.get("tools"), list):
        return [read(item) for item in value["tools"]]
    is_function = value.get("type") == "function" and any(key in value for key in _TOOL_KEYS)
    if isinstance(value.get("name"), str) or is_function:
        return [read(value)]
    tools = []
    for key, item in value.items():
        if isinstance(item, list):
            tools.extend(read(tool, group=key) for tool in item)
        elif isinstance(item, dict):
            tools.append(read(item, key))
        elif key != "namespace":
            raise ValueError(f"`{key}` should hold a list of tools or one tool")
    return tools


def load_yaml(text: Union[str, bytes]) -> Any:
    """Reads YAML by the 1.2 core schema, as the runtime does: ``yes`` and ``on`` are texts."""
    try:
        import yaml
    except ImportError as error:
        raise ImportError("reading YAML needs PyYAML: pip install 'toolcrib[yaml]'; JSON needs nothing") from error

    class CoreLoader(yaml.SafeLoader):  # type: ignore[misc]
        """A loader whose plain scalars mean what they mean in YAML 1.2."""

    CoreLoader.yaml_implicit_resolvers = {}
    for tag, pattern, first in _CORE_SCALARS:
        CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", pattern, first)
    CoreLoader.add_constructor("tag:yaml.org,2002:int", _integer)
    CoreLoader.add_constructor("tag:yaml.org,2002:float", _number)
    return yaml.load(text, Loader=CoreLoader)  # noqa: S506 - the base class is the safe loader


def _integer(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node)
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _number(loader: Any, node: Any) -> float:
    text = loader.construct_scalar(node).lower().replace(".inf", "inf").replace(".nan", "nan")
    return float(text)


def _core_scalars() -> list[tuple[str, Any, list[str]]]:
    import re

    number = "-+0123456789."
    return [
        ("null", re.compile(r"^(?:null|Null|NULL|~|)$"), ["n", "N", "~", ""]),
        ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
        ("int", re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list(number)),
        (
            "float",
            re.compile(
                r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
                r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
            ),
            list(number),
        ),
        ("merge", re.compile(r"^(?:<<)$"), ["<"]),
    ]


_CORE_SCALARS = _core_scalars()
