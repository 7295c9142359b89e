"""Asks a scripted server through the official SDK of a format: `model_sdks.py FORMAT BASE_URL`, or checks requests by the
types of the SDK: `model_sdks.py FORMAT -`.

Each request is made twice, streamed and not. What the SDK has parsed is printed as JSON: the thought, the text, the calls,
the reason of the end, and the tokens. Events that the SDK does not know raise an error.

Requests are read from standard input, as a list of bodies. They are printed as the types have read them: without what these
do not know.
"""

import json
import sys

SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}}
TOOL = {"name": "shop__price", "description": "What an item costs."}
PROMPT = "What is a lamp?"


def chat_completions(base_url):
    import openai

    client = openai.OpenAI(base_url=base_url, api_key="sk", max_retries=0)
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": PROMPT}],
        "tools": [{"type": "function", "function": {**TOOL, "parameters": SCHEMA}}],
    }
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        for event in stream:
            assert type(event).__name__.endswith("Event"), event
        try:
            streamed = stream.get_final_completion()
        except openai.LengthFinishReasonError as error:
            streamed = error.completion
    for reply in streamed, client.chat.completions.create(**asked):
        message = reply.choices[0].message
        calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
        usage = reply.usage and [reply.usage.prompt_tokens, reply.usage.completion_tokens]
        thought = getattr(message, "reasoning_content", None)
        yield thought, message.content, calls, reply.choices[0].finish_reason, usage


def messages(base_url):
    import anthropic

    # The SDK adds the version itself.
    client = anthropic.Anthropic(base_url=base_url.removesuffix("/v1"), api_key="sk", max_retries=0)
    asked = {
        "model": "m",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": PROMPT}],
        "tools": [{**TOOL, "input_schema": SCHEMA}],
    }
    with client.messages.stream(**asked) as stream:
        for event in stream:
            assert type(event).__name__.endswith("Event"), event
        streamed = stream.get_final_message()
    for reply in streamed, client.messages.create(**asked):
        blocks = {kind: [block for block in reply.content if block.type == kind] for kind in ("thinking", "text", "tool_use")}
        assert all(block.signature for block in blocks["thinking"])
        thought = "".join(block.thinking for block in blocks["thinking"])
        text = "".join(block.text for block in blocks["text"])
        calls = [(call.id, call.name, call.input) for call in blocks["tool_use"]]
        yield thought, text, calls, reply.stop_reason, [reply.usage.input_tokens, reply.usage.output_tokens]


def responses(base_url):
    import openai

    client = openai.OpenAI(base_url=base_url, api_key="sk", max_retries=0)
    asked = {
        "model": "m",
        "store": False,
        "input": [{"role": "user", "content": PROMPT}],
        "tools": [{"type": "function", **TOOL, "parameters": SCHEMA, "strict": False}],
    }
    with client.responses.stream(**asked) as stream:
        for event in stream:
            assert type(event).__name__.endswith("Event"), event
        # The SDK has a method for responses that are complete only.
        streamed = event.response
    for reply in streamed, client.responses.create(**asked):
        items = {kind: [item for item in reply.output if item.type == kind] for kind in ("reasoning", "function_call")}
        assert all(item.encrypted_content for item in items["reasoning"])
        thought = "".join(part.text for item in items["reasoning"] for part in item.summary)
        calls = [(call.call_id, call.name, json.loads(call.arguments)) for call in items["function_call"]]
        searches = [item for item in reply.output if item.type == "tool_search_call"]
        assert all(search.execution == "client" for search in searches)
        calls += [(search.call_id, "tool_search", search.arguments) for search in searches]
        yield thought, reply.output_text, calls, reply.status, [reply.usage.input_tokens, reply.usage.output_tokens]


def generate_content(base_url):
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=base_url.removesuffix("/v1"), api_version="v1")
    client = genai.Client(api_key="sk", http_options=options)
    declaration = types.FunctionDeclaration(**TOOL, parameters=types.Schema.model_validate(SCHEMA))
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declaration])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    asked = {"model": "m", "contents": PROMPT, "config": config}
    streamed = list(client.models.generate_content_stream(**asked))
    for chunks in streamed, [client.models.generate_content(**asked)]:
        parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
        thought = "".join(part.text for part in parts if part.text and part.thought)
        text = "".join(part.text for part in parts if part.text and not part.thought)
        calls = [(part.function_call.id, part.function_call.name, part.function_call.args) for part in parts if part.function_call]
        assert all(part.thought_signature for part in parts if part.function_call)
        usage = chunks[-1].usage_metadata
        reason = chunks[-1].candidates[0].finish_reason.name
        yield thought, text, calls, reason, [usage.prompt_token_count, usage.candidates_token_count]


def checked(name, bodies):
    import pydantic

    if name == "messages":
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Params
    else:
        from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as Params
    adapter = pydantic.TypeAdapter(Params)
    for body in bodies:
        # Lists are read when they are written.
        read = adapter.validate_python({**body, "stream": False})
        yield {**json.loads(json.dumps(read, default=list)), "stream": body["stream"]}


name, url = sys.argv[1:]
if url == "-":
    print(json.dumps(list(checked(name, json.load(sys.stdin)))))
    sys.exit()
formats = {function.__name__: function for function in (chat_completions, messages, responses, generate_content)}
print(json.dumps(list(formats[name](url))))
