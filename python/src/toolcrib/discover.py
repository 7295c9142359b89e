"""Finding the tools of a module: every file in its folder ``tools`` is imported."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pathlib
import sys
import traceback
from types import ModuleType
from typing import Any, Optional

from .declare import Declaration, declaration_of

FOLDER = "tools"


@dataclasses.dataclass
class Discovered:
    """The tools of a module, and what could not be loaded."""

    description: Optional[str] = None
    tools: dict[str, Declaration] = dataclasses.field(default_factory=dict)
    rejected: list[dict[str, str]] = dataclasses.field(default_factory=list)


def discover(folder: pathlib.Path) -> Discovered:
    """Imports the tools of the module in a folder. A file that cannot be imported hides no other."""
    found = Discovered()
    folder = folder.absolute()
    tools = folder / FOLDER
    if not tools.is_dir():
        raise FileNotFoundError(f"`{folder}` has no folder `{FOLDER}`; the tools of a module are in {FOLDER}/*.py")
    package = _package(folder)
    files = sorted(path for path in tools.glob("*.py") if path.stem.isidentifier())
    for path in tools.glob("*.py"):
        if path not in files:
            reason = f"{_shown(path)}:1: `{path.stem}` cannot be the name of a module; use letters, digits and `_`"
            found.rejected.append({"name": path.name, "kind": "invalid_tool", "reason": reason})
    for path in files:
        name = f"{package}.{FOLDER}" if path.stem == "__init__" else f"{package}.{FOLDER}.{path.stem}"
        module = _imported(name, path, folder, found)
        if module is not None:
            _collect(module, path, found)
    found.description = _description(package)
    return found


def _package(folder: pathlib.Path) -> str:
    """Returns the name by which the folder is imported: from where the worker runs, else from beside the folder."""
    root = pathlib.Path.cwd()
    resolved = folder.resolve()
    try:
        parts = resolved.relative_to(root.resolve()).parts
    except ValueError:
        parts = ()
    if not parts or not all(part.isidentifier() for part in parts):
        if not resolved.name.isidentifier():
            raise ValueError(f"`{resolved.name}` cannot be the name of a package; use letters, digits and `_`")
        root, parts = resolved.parent, (resolved.name,)
    _search_last(str(root))
    _check_packages(root, (*parts, FOLDER))
    return ".".join(parts)


def _search_last(root: str) -> None:
    """Has modules looked for in a folder after all other places, so that no file there hides an installed module."""
    if not getattr(sys.flags, "safe_path", False) and sys.path[:1] in ([""], [root]):
        # `python -m` puts the folder first unless PYTHONSAFEPATH is set, which versions before 3.11 do not know.
        del sys.path[0]
    if root not in sys.path:
        sys.path.append(root)


def _check_packages(root: pathlib.Path, parts: tuple[str, ...]) -> None:
    """Raises an error where a part of a dotted name is not the folder of that name, before anything of it runs."""
    folder, name = root, ""
    for part in parts:
        folder, name = folder / part, f"{name}.{part}" if name else part
        try:
            spec = importlib.util.find_spec(name)
        except KeyboardInterrupt:
            raise
        except BaseException:  # Its parent cannot be imported, which the import of each file reports with its line.
            return
        places = (spec.submodule_search_locations or []) if spec is not None else []
        if not any(pathlib.Path(place).resolve() == folder.resolve() for place in places):
            origin = spec.origin if spec is not None else None
            raise ValueError(f"`{name}` is another module already, {origin}; rename the folder")


def _imported(name: str, path: pathlib.Path, folder: pathlib.Path, found: Discovered) -> Optional[ModuleType]:
    try:
        module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A file that calls `sys.exit` hides no other either.
        place = _place(error, path, folder)
        kind = "syntax" if isinstance(error, SyntaxError) else "invalid_tool"
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        reason = f"{place}: {type(error).__name__}: {message}".rstrip(": ")
        found.rejected.append({"name": path.name, "kind": kind, "reason": reason})
        print(f"{path} cannot be imported", file=sys.stderr)
        traceback.print_exception(type(error), error, error.__traceback__)
        return None
    imported = getattr(module, "__file__", None)
    if imported is None or pathlib.Path(imported).resolve() != path.resolve():
        reason = f"{_shown(path)}:1: `{name}` is another module already, {imported}; rename the folder"
        found.rejected.append({"name": path.name, "kind": "invalid_tool", "reason": reason})
        return None
    return module


def _collect(module: ModuleType, path: pathlib.Path, found: Discovered) -> None:
    """Takes the tools that a file declares, in its order, and not those that it imports."""
    seen: set[int] = set()
    for value in vars(module).values():
        declaration = declaration_of(value)
        if declaration is None or id(value) in seen or getattr(value, "__module__", None) != module.__name__:
            continue
        seen.add(id(value))
        if declaration.name in found.tools:
            line = _line_of(value)
            reason = f"{_shown(path)}:{line}: the module already has a tool `{declaration.name}`; rename one of them"
            found.rejected.append({"name": declaration.name, "kind": "duplicate", "reason": reason})
            continue
        found.tools[declaration.name] = declaration


def _line_of(function: Any) -> int:
    code = getattr(function, "__code__", None)
    return code.co_firstlineno if code is not None else 1


def _place(error: BaseException, path: pathlib.Path, folder: pathlib.Path) -> str:
    """Returns the file and the line of an error: the innermost of the module's own."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(pathlib.Path(error.filename))}:{error.lineno or 1}"
    own = folder.resolve()
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        file = pathlib.Path(frame.filename)
        if own in file.resolve().parents:
            return f"{_shown(file)}:{frame.lineno}"
    return f"{_shown(path)}:1"


def _shown(path: pathlib.Path) -> str:
    """Returns a path as people read it: from where the worker runs."""
    try:
        return str(path.resolve().relative_to(pathlib.Path.cwd().resolve()))
    except ValueError:
        return str(path)


def _description(package: str) -> Optional[str]:
    """Returns the docstring of the module, or of its tools."""
    for name in (package, f"{package}.{FOLDER}"):
        module = sys.modules.get(name)
        text = getattr(module, "__doc__", None)
        if text and text.strip():
            return text.strip()
    return None
