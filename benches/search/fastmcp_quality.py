"""NDCG@10 in percent of FastMCP's BM25 tool search on labelled sets: the counterpart of `bench search quality`.

Usage: python fastmcp_quality.py FOLDER SET...

FOLDER has one folder per set with `tools.json` and `queries.jsonl`. Requires the package `fastmcp`.
"""

import json
import math
import sys
from pathlib import Path

from fastmcp.server.transforms.search.base import _extract_searchable_text
from fastmcp.server.transforms.search.bm25 import _BM25Index
from fastmcp.tools.base import Tool

DEPTH = 10


def ndcg(ranked, needed):
    """Returns the NDCG at DEPTH of a ranking in which each needed tool counts once."""
    gain = sum(1 / math.log2(rank + 1) for rank, tool in enumerate(ranked[:DEPTH], 1) if tool in needed)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(DEPTH, len(needed)) + 1))
    return gain / ideal


def measure(folder):
    """Returns the mean NDCG of a set, its number of queries, and its number of tools."""
    definitions = json.loads((folder / "tools.json").read_text())
    names = [f"{tool['namespace']}::{tool['name']}" for tool in definitions]
    tools = [
        Tool(name=tool["name"], description=tool["description"], parameters=tool["parameters"] or {"type": "object"})
        for tool in definitions
    ]
    index = _BM25Index()
    index.build([_extract_searchable_text(tool) for tool in tools])
    figures = []
    for line in (folder / "queries.jsonl").read_text().splitlines():
        query = json.loads(line)
        needed = query["relevant"]
        if not needed:
            continue
        if any(isinstance(group, list) for group in needed):
            raise SystemExit(f"{folder.name}: groups of equivalent tools are not supported")
        ranked = [names[at] for at in index.query(query["query"], DEPTH)]
        # Overloads of a tool share its name and count once.
        figures.append(ndcg(list(dict.fromkeys(ranked)), set(needed)))
    return 100 * sum(figures) / len(figures), len(figures), len(tools)


def main():
    """Prints one line for each set, and the mean."""
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    means = []
    for name in sys.argv[2:]:
        mean, queries, tools = measure(Path(sys.argv[1]) / name)
        means.append(mean)
        print(f"{name}, {queries} queries to {tools} tools: {mean:.1f}")
    print(f"mean: {sum(means) / len(means):.1f}")


main()
