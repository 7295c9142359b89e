"""The failure of a call, as the runtime reports it."""

from __future__ import annotations

from typing import Any, Optional


class ToolError(Exception):
    """A failure of a call, of this tool or of one that it calls.

    ``kind`` is one of the runtime's kinds, such as ``tool_failed``, ``not_found``, ``invalid_args`` or ``denied``.
    ``hint`` tells the model what to do next.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "tool_failed",
        hint: Optional[str] = None,
        retryable: Optional[bool] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hint = hint
        self.retryable = retryable

    @classmethod
    def from_dict(cls, error: dict[str, Any]) -> "ToolError":
        """Reads the error of a reply."""
        return cls(
            str(error.get("message", "the call failed")),
            kind=str(error.get("kind", "tool_failed")),
            hint=error.get("hint"),
            retryable=error.get("retryable"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the error as it is sent, without what is not known."""
        fields = {"kind": self.kind, "message": self.message, "hint": self.hint, "retryable": self.retryable}
        return {key: value for key, value in fields.items() if value is not None}
