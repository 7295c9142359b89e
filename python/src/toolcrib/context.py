"""The context of a call: identifiers that the runtime knows and no model supplies."""

from __future__ import annotations

from typing import Any

# Keys of the call message that tools also find under a second name.
_ID_KEYS = ("session", "conversation", "user", "agent", "message", "thread")


class Context(dict):
    """What the runtime knows of a call.

    It holds ``session``, ``conversation``, ``user``, ``agent``, ``message`` and ``thread``, each also with ``_id``
    appended (``conversation_id``). The entries of the application's own ``scope`` map are keys as well; what the runtime
    knows comes before an entry of the same name. An identifier that neither of them has is ``None``.
    """

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> "Context":
        """Builds the context from that of a ``call`` message."""
        scope = message.get("scope")
        scope = scope if isinstance(scope, dict) else {}
        context = cls(scope)
        context.update((key, value) for key, value in message.items() if value is not None)
        context["scope"] = scope
        for key in _ID_KEYS:
            known = message.get(key)
            for name in (key, f"{key}_id"):
                if known is not None:
                    context[name] = known
                else:
                    context.setdefault(name)
        return context
