"""Counts the words of a text: the arguments are JSON on standard input, the result is JSON on standard output.

An expected failure is a result: {"status": "error", "error": "not_found"}. An exception fails the call, and the model
reads the end of its traceback. What goes to standard error is progress.
"""

import json
import sys

arguments = json.load(sys.stdin)
print(json.dumps({"words": len(arguments["text"].split())}))
