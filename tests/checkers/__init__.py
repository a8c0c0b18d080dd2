"""Independent judges of what yohaku sends: nothing here imports yohaku or looks at its source.

One module per wire format has `problems(body)` and `intact(before, after)`; `count` weighs, `trajectory` reads
recordings.
"""

from . import anthropic, gemini, ollama, openai_chat, openai_responses

DIALECTS = {
    "anthropic": anthropic,
    "gemini": gemini,
    "ollama": ollama,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
}
