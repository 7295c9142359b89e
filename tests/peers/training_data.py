"""Reads training data as programs of others do: `training_data.py FORMAT FILE`.

FORMAT is `openai`, `sharegpt` or `xlam`. The lines of `openai` are validated by the types of the official package, those
of the other formats by `training_data_schemas.json`, which follows their published descriptions. The calls of each
line, as names with arguments, are printed as JSON. A line that does not fit is an error.
"""

import functools
import json
import pathlib
import re
import sys

from jsonschema import Draft202012Validator

SCHEMAS = json.loads(pathlib.Path(__file__).with_name("training_data_schemas.json").read_text())


def check(name, value):
    Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMAS["$defs"]}).validate(value)


def whole(value):
    """Returns a validated value with its iterators, which are validated as they are read."""
    if isinstance(value, dict):
        return {key: whole(member) for key, member in value.items()}
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return value
    return [whole(item) for item in value]


@functools.cache
def types_of_openai():
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
    from pydantic import TypeAdapter

    return TypeAdapter(ChatCompletionMessageParam), TypeAdapter(ChatCompletionToolUnionParam)


def read_openai(row):
    message_type, tool_type = types_of_openai()
    schemas = {}
    for tool in row["tools"]:
        # The types ignore unknown members; a copy without them would differ.
        assert whole(tool_type.validate_python(tool, strict=True)) == tool, tool
        function = tool["function"]
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", function["name"]), function["name"]
        Draft202012Validator.check_schema(function["parameters"])
        schemas.setdefault(function["name"], []).append(function["parameters"])
    calls, waiting = [], []
    for message in row["messages"]:
        assert whole(message_type.validate_python(message)) == message, message
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        # The server refuses any other message while calls wait for their results.
        assert not waiting, message
        for call in message.get("tool_calls", []):
            waiting.append(call["id"])
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            assert any(Draft202012Validator(schema).is_valid(arguments) for schema in schemas[name]), call
            calls.append([name, arguments])
    assert not waiting and set(row) == {"messages", "tools"}, row
    return calls


def read_sharegpt(row):
    check("sharegpt", row)
    check("sharegpt_tools", json.loads(row["tools"]))
    calls = []
    for number, turn in enumerate(row["conversations"]):
        # Readers pair each turn at an even place with the one after it.
        assert turn["from"] in (["human", "observation"], ["gpt", "function_call"])[number % 2], turn
        if turn["from"] == "function_call":
            made = json.loads(turn["value"])
            check("sharegpt_calls", made)
            calls += [[call["name"], call["arguments"]] for call in (made if isinstance(made, list) else [made])]
    return calls


def read_xlam(row):
    check("xlam", row)
    tools, answers = json.loads(row["tools"]), json.loads(row["answers"])
    check("xlam_tools", tools)
    check("xlam_answers", answers)
    parameters = {tool["name"]: tool["parameters"] for tool in tools}
    for answer in answers:
        known = parameters[answer["name"]]
        assert set(answer["arguments"]) <= set(known), answer
        needed = {name for name, parameter in known.items() if not parameter["type"].endswith("optional")}
        assert needed <= set(answer["arguments"]), answer
    return [[answer["name"], answer["arguments"]] for answer in answers]


def main():
    kind, file = sys.argv[1:]
    read = {"openai": read_openai, "sharegpt": read_sharegpt, "xlam": read_xlam}[kind]
    with open(file) as lines:
        print(json.dumps([read(json.loads(line)) for line in lines]))


main()
