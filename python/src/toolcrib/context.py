"""The context of a call: identifiers that the runtime knows and no model supplies."""

from __future__ import annotations

from typing import Any

# Keys of the call message that tools also find under a second name.
_ID_KEYS = ("session", "conversation", "user", "agent", "message", "thread")


class Context(dict):
    """What the runtime knows of a call.

    It holds ``session``, ``conversation``, ``user``, ``agent``, ``message`` and ``thread``, each also with ``_id``
    appended (``conversation_id``). An identifier that is not known is ``None``. The entries of the application's own
    ``scope`` map are keys as well, unless they are named like one of these.
    """

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> "Context":
        """Builds the context from that of a ``call`` message."""
        scope = message.get("scope")
        context = cls(scope if isinstance(scope, dict) else {})
        context.update(message)
        context["scope"] = scope if isinstance(scope, dict) else {}
        for key in _ID_KEYS:
            context[key] = context[f"{key}_id"] = message.get(key)
        return context
