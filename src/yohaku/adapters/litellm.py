"""LiteLLM proxy: a hook that fits every chat request before it is sent.

    # hook.py, named in config.yaml under litellm_settings: callbacks: hook.fit
    from yohaku.adapters.litellm import FitHook

    fit = FitHook(window=8192, store="sqlite:///folds.db")

Many conversations pass through one hook: each is recognised by its content, its folds are kept in the store.
"""

from __future__ import annotations

from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from yohaku import stores
from yohaku.dialects.openai_responses import OpenAIResponses
from yohaku.session.session import Session

CALL_TYPES = ("completion", "acompletion", "responses", "aresponses", "anthropic_messages")

FITTED_FIELDS = ("messages", "input", "instructions", "system", "tools", *OpenAIResponses.state_fields)


class FitHook(CustomLogger):  # type: ignore[misc]
    def __init__(self, window: int | None = None, *, store: str = "memory:", **options: Any) -> None:
        """`window`: None for the window of each request's model. `options` are those of `Session`."""
        super().__init__()
        self.window, self.options = window, options
        self.store = stores.open(store)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> Any:
        if call_type not in CALL_TYPES:
            return data
        session = Session(self.window, model=data.get("model"), store=self.store, **self.options)
        fields = {name: data[name] for name in FITTED_FIELDS if name in data}
        fitted = await session.afit(fields)
        return {**data, **fitted}
