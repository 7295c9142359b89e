"""Tools for LLM agents, written in Python and run by Toolcrib."""

from .context import Context
from .errors import ToolError
from .registry import DuplicateToolError, FileToolLoader, Tool, ToolLoader, ToolRegistry, fingerprint
from .schema import Field
from .sdk import AsyncSdk, Sdk
from .declare import tool

__all__ = [
    "AsyncSdk",
    "Context",
    "DuplicateToolError",
    "Field",
    "FileToolLoader",
    "Sdk",
    "Tool",
    "ToolError",
    "ToolLoader",
    "ToolRegistry",
    "fingerprint",
    "tool",
]

__version__ = "0.1.0"
