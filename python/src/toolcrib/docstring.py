"""Descriptions of functions and of their parameters, from docstrings in Google, NumPy and reST style."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple, Optional

_PARAMETER_SECTIONS = {"args", "arguments", "attributes", "keyword args", "keyword arguments", "other parameters",
                       "parameters", "params"}
_OTHER_SECTIONS = {"example", "examples", "note", "notes", "raises", "references", "return", "returns", "see also",
                   "todo", "warning", "warnings", "warns", "yield", "yields"}

_GOOGLE_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_PARAMETER = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_REST_PARAMETER = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_REST_FIELD = re.compile(r"^:[a-zA-Z]+(?:\s[^:]*)?:")


class Docstring(NamedTuple):
    """A docstring taken apart."""

    description: str
    parameters: dict[str, str]


def parse(text: Optional[str]) -> Docstring:
    """Takes a docstring apart. What it says of results and exceptions is left out."""
    lines = inspect.cleandoc(text or "").splitlines()
    description: list[str] = []
    parameters: dict[str, str] = {}
    position = 0
    in_description = True
    while position < len(lines):
        line = lines[position]
        section = _section(lines, position)
        if section is not None:
            name, first = section
            end = _end_of_section(lines, first)
            if name in _PARAMETER_SECTIONS:
                body = lines[first:end]
                is_numpy = first == position + 2
                parameters.update(_numpy(body) if is_numpy else _google(body))
            in_description = False
            position = end
        elif _REST_FIELD.match(line):
            end = position + 1
            while end < len(lines) and (lines[end].startswith((" ", "\t"))):
                end += 1
            found = _REST_PARAMETER.match(line)
            if found:
                parameters[found.group(1)] = _joined([found.group(2), *lines[position + 1:end]])
            in_description = False
            position = end
        else:
            if in_description:
                description.append(line)
            position += 1
    return Docstring("\n".join(description).strip(), parameters)


def _section(lines: list[str], position: int) -> Optional[tuple[str, int]]:
    """Returns the name of the section that begins at a line and the number of its first line of content."""
    line = lines[position]
    if not line or line[0].isspace():
        return None
    name = line.rstrip().rstrip(":").lower()
    if name not in _PARAMETER_SECTIONS | _OTHER_SECTIONS:
        return None
    follows = lines[position + 1] if position + 1 < len(lines) else ""
    if re.fullmatch(r"-{3,}\s*", follows):
        return name, position + 2
    if line.rstrip().endswith(":") and (not follows or follows[0].isspace()):
        return name, position + 1
    return None


def _end_of_section(lines: list[str], first: int) -> int:
    """Returns the number of the line after a section: the next section, or a reST field."""
    is_numpy = first >= 2 and re.fullmatch(r"-{3,}\s*", lines[first - 1]) is not None
    for position in range(first, len(lines)):
        line = lines[position]
        if _section(lines, position) is not None or _REST_FIELD.match(line):
            return position
        if not is_numpy and line and not line[0].isspace():
            return position
    return len(lines)


def _google(lines: list[str]) -> dict[str, str]:
    """Reads ``name (type): text``, each followed by lines that are indented further."""
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    own = min(indents, default=0)
    found: dict[str, list[str]] = {}
    current: Optional[list[str]] = None
    for line in lines:
        matched = _GOOGLE_PARAMETER.match(line.strip()) if len(line) - len(line.lstrip()) == own else None
        if matched:
            current = found.setdefault(matched.group(1), [matched.group(2)])
        elif current is not None:
            current.append(line)
    return {name: _joined(text) for name, text in found.items()}


def _numpy(lines: list[str]) -> dict[str, str]:
    """Reads ``name : type``, each followed by indented lines."""
    found: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for line in lines:
        matched = _NUMPY_PARAMETER.match(line.rstrip()) if line and not line[0].isspace() else None
        if matched:
            names = [name.strip().lstrip("*") for name in matched.group(1).split(",")]
            current = [found.setdefault(name, []) for name in names]
        else:
            for text in current:
                text.append(line)
    return {name: _joined(text) for name, text in found.items()}


def _joined(lines: list[str]) -> str:
    """Makes one line of several."""
    return " ".join(line.strip() for line in lines if line.strip())
