#!/usr/bin/env python3
"""Prints which words of a text are there most often, as JSON."""

import collections
import json
import re
import sys


def most_frequent(text, count):
    words = re.findall(r"\w+", text.casefold())
    if not words:
        return {"status": "error", "error": "no_words"}
    print(f"counting {len(words)} words", file=sys.stderr)
    top = collections.Counter(words).most_common(count)
    return {"words": len(words), "most_frequent": [{"word": word, "times": times} for word, times in top]}


if __name__ == "__main__":
    json.dump(most_frequent(**json.load(sys.stdin)), sys.stdout)
