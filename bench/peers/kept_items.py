#!/usr/bin/env python3
"""Counts what a converted session kept of its source: the texts of the user and of the agent, the calls of tools with
their arguments, each equal and in order, and the results. Results may be in another order, because some converters move
them to their calls.

Usage: kept_items.py SOURCE-FORMAT SOURCE TARGET-FORMAT TARGET [--all]

The formats are claude, codex and pi. A source counts from its last compaction on, because the agent itself continues
there; with --all, from the beginning. Prints one JSON object. It shares no code with Tertulia.
"""

import collections
import difflib
import json
import sys


def lines(path):
    """Yields the JSON values of a file; two values may be on one line."""
    decoder = json.JSONDecoder()
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            line = line.strip()
            while line:
                try:
                    value, end = decoder.raw_decode(line)
                except json.JSONDecodeError:
                    break
                yield value
                line = line[end:].strip()


def text_of(content):
    """Returns the text of a result: one text, or the texts of its blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content if "text" in block)
    return "" if content is None else json.dumps(content, sort_keys=True)


def arguments_of(value):
    """Returns arguments in a form that does not depend on spaces and order."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            return value
    return json.dumps(value, sort_keys=True)


def blocks(role, content):
    """Yields the items of a message of Claude Code or pi."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content or []:
        kind = block.get("type")
        if kind == "text" and block.get("text", "").strip():
            yield (role, block["text"])
        elif kind == "tool_use":
            yield ("call", block["name"], arguments_of(block.get("input")))
        elif kind == "toolCall":
            yield ("call", block["name"], arguments_of(block.get("arguments")))
        elif kind == "tool_result":
            yield ("result", text_of(block.get("content")))


def claude(path):
    for record in lines(path):
        if record.get("subtype") == "compact_boundary":
            yield None
        kind = record.get("type")
        if kind not in ("user", "assistant") or record.get("isSidechain") or record.get("isMeta"):
            continue
        if not record.get("isCompactSummary"):
            yield from blocks(kind, record.get("message", {}).get("content"))


def codex(path):
    for record in lines(path):
        if record.get("type") == "compacted":
            yield None
        payload = record.get("payload") or {}
        if record.get("type") != "response_item":
            continue
        kind, role = payload.get("type"), payload.get("role")
        if kind == "message" and role in ("user", "assistant"):
            for block in payload.get("content") or []:
                if block.get("text", "").strip():
                    yield (role, block["text"])
        elif kind in ("function_call", "custom_tool_call"):
            yield ("call", payload["name"], arguments_of(payload.get("arguments", payload.get("input"))))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield ("result", text_of(payload.get("output")))


def pi(path):
    records = list(lines(path))
    # A compaction names the first record before it that stays.
    kept = [one.get("firstKeptEntryId") for one in records if one.get("type") == "compaction"]
    for record in records:
        if kept and record.get("id") == kept[-1]:
            yield None
        message = record.get("message") or {}
        if record.get("type") != "message":
            continue
        role = message.get("role")
        if role == "toolResult":
            yield ("result", text_of(message.get("content")))
        elif role in ("user", "assistant"):
            yield from blocks(role, message.get("content"))


FORMATS = {"claude": claude, "codex": codex, "pi": pi}


def main():
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    source_format, source, target_format, target = arguments
    items = list(FORMATS[source_format](source))
    if "--all" not in sys.argv and None in items:
        items = items[len(items) - items[::-1].index(None):]
    items = [item for item in items if item is not None]
    found = [item for item in FORMATS[target_format](target) if item is not None]
    figures = {}
    for kind in ("user", "assistant", "call", "result"):
        wanted = [item for item in items if item[0] == kind]
        there = [item for item in found if item[0] == kind]
        count = in_any_order if kind == "result" else in_order
        figures[kind] = {"source": len(wanted), "kept": count(wanted, there)}
    print(json.dumps(figures))


def in_any_order(wanted, there):
    """Returns how many items are there."""
    return sum((collections.Counter(wanted) & collections.Counter(there)).values())


def in_order(wanted, there):
    """Returns how many items are there in the same order, by blocks that both have."""
    matcher = difflib.SequenceMatcher(None, wanted, there, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


if __name__ == "__main__":
    main()
