"""The server of llama.cpp with a model that it makes of nothing: `llama_server.py MODEL [GRAMMAR]`.

The model is written to the file MODEL: one layer of random weights over the 256 bytes, always the same. What it says is
noise, so it shows what holds whatever a model says. A grammar of the server's can still force it to call tools, and the one
in the file GRAMMAR forces all that it says. When the server listens, its address goes to standard output.
"""

import random
import struct
import sys
import time
from array import array

import xllamacpp

# The most tokens of an answer, of which each is a byte. Noise has no end of its own.
ANSWER_TOKENS = 400
CONTEXT_TOKENS = 32768

WIDTH, FORWARD, HEADS = 32, 64, 2

# The type of a grammar that is the user's, in place of one that follows from a request.
FOR_ALL = 1

# The tags are tokens of their own, as in models that are trained for them.
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
CONTROL, USER_DEFINED, NORMAL = 3, 4, 1
END, CALL = 258, 259

# The first number of each token is the same and larger than the others, so that weights on it make a token likely: what
# begins a call and what ends a message come before long.
CONSTANT, LIKELY = 6.0, 1.2

# Messages between marks, the tools in the system message, calls as JSON in tags: what many models are trained with.
TEMPLATE = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- '# Tools\\n\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}
{{- '\\n</tools>\\n\\nCall one as\\n<tool_call>{"name": <name>, "arguments": <object>}</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or message.role == 'system' and not loop.first %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant' }}
{%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
{{- '}</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


def byte_tokens():
    """The characters that stand for the 256 bytes in vocabularies of the kind `gpt2`."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(byte if byte in shown else next(spare)) for byte in range(256)]


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


# The numbers of the types in a GGUF file, with how their values are written.
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
WRITTEN = {
    U32: lambda value: struct.pack("<I", value),
    I32: lambda value: struct.pack("<i", value),
    F32: lambda value: struct.pack("<f", value),
    BOOL: lambda value: struct.pack("<?", value),
    STRING: text,
}


def entry(key, kind, value, of=None):
    """One line of the metadata."""
    if kind == ARRAY:
        items = b"".join(WRITTEN[of](item) for item in value)
        return text(key) + struct.pack("<IIQ", kind, of, len(value)) + items
    return text(key) + struct.pack("<I", kind) + WRITTEN[kind](value)


def write_model(path):
    """A model in the format GGUF, version 3."""
    tokens = byte_tokens() + SPECIAL
    kinds = [NORMAL] * 256 + [CONTROL] * 3 + [USER_DEFINED] * 2
    metadata = [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, "noise"),
        entry("llama.context_length", U32, CONTEXT_TOKENS),
        entry("llama.embedding_length", U32, WIDTH),
        entry("llama.block_count", U32, 1),
        entry("llama.feed_forward_length", U32, FORWARD),
        entry("llama.attention.head_count", U32, HEADS),
        entry("llama.attention.head_count_kv", U32, HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        entry("llama.rope.dimension_count", U32, WIDTH // HEADS),
        entry("llama.vocab_size", U32, len(tokens)),
        entry("tokenizer.ggml.model", STRING, "gpt2"),
        entry("tokenizer.ggml.pre", STRING, "default"),
        entry("tokenizer.ggml.tokens", ARRAY, tokens, of=STRING),
        entry("tokenizer.ggml.token_type", ARRAY, kinds, of=I32),
        entry("tokenizer.ggml.merges", ARRAY, [], of=STRING),
        entry("tokenizer.ggml.bos_token_id", U32, 256),
        entry("tokenizer.ggml.eos_token_id", U32, END),
        entry("tokenizer.ggml.add_bos_token", BOOL, False),
        entry("tokenizer.chat_template", STRING, TEMPLATE),
    ]
    square, tall = (WIDTH, WIDTH), (WIDTH, len(tokens))
    shapes = {
        "token_embd.weight": tall,
        "output_norm.weight": (WIDTH,),
        "output.weight": tall,
        "blk.0.attn_norm.weight": (WIDTH,),
        "blk.0.attn_q.weight": square,
        "blk.0.attn_k.weight": square,
        "blk.0.attn_v.weight": square,
        "blk.0.attn_output.weight": square,
        "blk.0.ffn_norm.weight": (WIDTH,),
        "blk.0.ffn_gate.weight": (WIDTH, FORWARD),
        "blk.0.ffn_up.weight": (WIDTH, FORWARD),
        "blk.0.ffn_down.weight": (FORWARD, WIDTH),
    }
    chance = random.Random(7)
    infos, data = b"", b""
    for name, shape in shapes.items():
        count = 1
        for side in shape:
            count *= side
        infos += text(name) + struct.pack("<I", len(shape))
        infos += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, len(data))
        is_norm = len(shape) == 1
        # What the layer adds is small beside that.
        spread = 0.05 if name in ("blk.0.attn_output.weight", "blk.0.ffn_down.weight") else 0.4
        values = array("f", [1.0 if is_norm else chance.gauss(0, spread) for _ in range(count)])
        for token in range(len(tokens)) if shape == tall else []:
            likely = LIKELY if token in (END, CALL) else 0.0
            values[token * WIDTH] = CONSTANT if name == "token_embd.weight" else likely
        data += values.tobytes()
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(shapes), len(metadata)) + b"".join(metadata) + infos
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32) + data)


path = sys.argv[1]
write_model(path)
params = xllamacpp.CommonParams()
params.model.path = path
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = CONTEXT_TOKENS
params.n_predict = ANSWER_TOKENS
params.n_parallel = 1
params.sampling.seed = 7
params.cpuparams.n_threads = 1
params.use_jinja = True
if len(sys.argv) > 2:
    with open(sys.argv[2]) as file:
        params.sampling.grammar = xllamacpp.CommonGrammar(FOR_ALL, file.read())
params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
while True:
    time.sleep(3600)
