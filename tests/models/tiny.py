"""A model of half a megabyte that follows a script, for a real llama.cpp server: tests need no weights from anywhere.

Law: every byte of a prompt is one token. The transformer block is zero, so the next token is a function of the last
one alone; the chat template looks at the conversation and ends the prompt with the token that begins a script.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SUMMARY = "The user wants a change in app.py; the file was read, and the next step is to run the tests."
SNAPSHOT = (
    "<overall_goal>\nThe change in app.py the user asked for.\n</overall_goal>\n"
    "<key_knowledge>\nThe tests are not run yet.\n</key_knowledge>\n"
    "<current_plan>\n[IN PROGRESS] Change app.py\n[TODO] Run the tests\n</current_plan>"
)
SCRIPTS = {
    "sum": ("<summary>\n", f"{SUMMARY}\n</summary>"),
    "snap": ("<scratchpad>\nWhat matters?\n</scratchpad>\n", f"<state_snapshot>\n{SNAPSHOT}\n</state_snapshot>"),
    "tool": ('<tool_call>\n{"name": "read_file", "arguments": {"path": "app.py"}}\n</tool_call>',),
    "done": ("I have read the file.",),
    "chat": ("Hello! I am a tiny scripted model.",),
}
"""What is said, by the name of the token that begins it."""

BEGUN = ">", "sum"
"""The sign that an answer begun for the model ends with, and the script that goes on from its second piece."""

REFUSES = "every call needs its result"
WANTS_RESULTS = f"""\
{{%- for said in messages %}}
{{%- if said.tool_calls and (loop.last or messages[loop.index].role != 'tool') %}}
{{{{- raise_exception('{REFUSES}') }}}}
{{%- endif %}}
{{%- endfor %}}
"""
"""What the templates of some models begin with."""

ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
WANTS_TURNS = f"""\
{{%- set turn = namespace(count=0) %}}
{{%- for said in messages %}}
{{%- if said.role == 'user' or (said.role == 'assistant' and not said.tool_calls) %}}
{{%- if (said.role == 'user') != (turn.count % 2 == 0) %}}{{{{- raise_exception('{ALTERNATE}') }}}}{{%- endif %}}
{{%- set turn.count = turn.count + 1 %}}
{{%- endif %}}
{{%- endfor %}}
"""
"""As Mistral's: user and model take turns, but for calls and their results."""

WANTS_TWO_ROLES = f"""\
{{%- if messages[0].role == 'system' %}}{{{{- raise_exception('System role not supported') }}}}{{%- endif %}}
{{%- for said in messages %}}
{{%- if (said.role == 'user') != (loop.index0 % 2 == 0) %}}{{{{- raise_exception('{ALTERNATE}') }}}}{{%- endif %}}
{{%- endfor %}}
"""
"""As Gemma's and Llama 2's: there is nothing but the user and the model."""

TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for said in messages %}
{%- if said.role == 'tool' %}<|im_start|>user
<tool_response>
{{ said.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ said.role }}
{{ said.content or '' }}
{%- for call in said.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% set asked = (messages[0].content ~ messages[-1].content) | lower %}
{%- set reminded = messages[-1].role == 'user' and messages[-1].content.startswith('[The task:') %}
{%- set said = messages[-2] if reminded else messages[-1] %}
{%- if said.role == 'tool' or 'Result of read_file:' in said.content %}<|go_done|>
{%- elif tools and messages[-1].role == 'user' %}<|go_tool|>
{%- elif 'state_snapshot' in asked %}<|go_snap|>
{%- elif 'summar' in asked %}<|go_sum|>
{%- else %}<|go_chat|>{% endif %}{% endif %}"""
"""The task said again, behind results, is no new prompt: as at the result itself, the file has been read."""

WIDTH, HEADS = 64, 1
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def build(path: Path, wants: str = "") -> None:
    """Writes the model as a GGUF file; `wants` is a check that its template begins with."""
    import gguf

    tokens, follows = _vocabulary()
    end = tokens.index("<|im_end|>")
    special = [token in CONTROL or token.startswith("<|go_") for token in tokens]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny scripted agent")
    writer.add_context_length(131_072)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if each else gguf.TokenType.NORMAL for each in special])
    writer.add_token_merges(["\u00ff \u00fe"])  # one is wanted, and these bytes stand in no text
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_pad_token_id(tokens.index("<|endoftext|>"))
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(wants + TEMPLATE)
    for name, weights in _weights(len(tokens), follows).items():
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _vocabulary() -> tuple[list[str], dict[int, int]]:
    """Bytes, control tokens, and the scripts in pieces that occur only once; with what follows each of them."""
    letters = _letters()
    tokens = [letters[byte] for byte in range(256)] + list(CONTROL)
    follows: dict[int, int] = {}
    for name, pieces in SCRIPTS.items():
        last = len(tokens)
        tokens.append(f"<|go_{name}|>")
        for number, piece in enumerate(pieces):
            for cut in _cuts("".join(letters[byte] for byte in piece.encode()), set(tokens)):
                follows[last] = last = len(tokens)
                tokens.append(cut)
            if number == 0 and name == BEGUN[1]:
                follows[tokens.index(letters[ord(BEGUN[0])])] = last + 1
        follows[last] = tokens.index("<|im_end|>")
    assert len(set(tokens)) == len(tokens)
    return tokens, follows


def _cuts(text: str, known: set[str]) -> list[str]:
    cuts: list[str] = []
    while text:
        size = next((n for n in range(3, len(text)) if text[:n] not in known and len(text) - n >= 12), len(text))
        cuts.append(text[:size])
        known.add(text[:size])
        text = text[size:]
    return cuts


def _letters() -> dict[int, str]:
    """The printable sign that each byte is written as in vocabularies of this kind."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = (byte for byte in range(256) if byte not in plain)
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + number) for number, byte in enumerate(rest)}


def _weights(count: int, follows: dict[int, int]) -> dict[str, Any]:
    """A random code for each token; the output of a token is the sum of the codes of those it follows."""
    import numpy

    def zeros(*shape: int) -> Any:
        return numpy.zeros(shape, numpy.float32)

    codes = numpy.random.default_rng(0).choice([-1.0, 1.0], size=(count, WIDTH)).astype(numpy.float32)
    output = zeros(count, WIDTH)
    for token, following in follows.items():
        output[following] += codes[token] * 2.5  # far above the noise of other codes, whatever the temperature
    ones, block, width, narrow = numpy.ones(WIDTH, numpy.float32), "blk.0.", WIDTH, WIDTH // HEADS
    return {
        "token_embd.weight": codes,
        "output.weight": output,
        "output_norm.weight": ones,
        f"{block}attn_norm.weight": ones,
        f"{block}ffn_norm.weight": ones,
        f"{block}attn_q.weight": zeros(width, width),
        f"{block}attn_k.weight": zeros(narrow, width),
        f"{block}attn_v.weight": zeros(narrow, width),
        f"{block}attn_output.weight": zeros(width, width),
        f"{block}ffn_gate.weight": zeros(32, width),
        f"{block}ffn_up.weight": zeros(32, width),
        f"{block}ffn_down.weight": zeros(width, 32),
    }
