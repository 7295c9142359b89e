"""Tools that look at texts."""

from typing import Annotated

from toolcrib import Field, tool


@tool(risk="low", idempotent=True)
def count_words(text: Annotated[str, Field("The text.", max_length=100_000)]) -> int:
    """Counts the words of a text."""
    return len(text.split())
