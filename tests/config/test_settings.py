"""What the user set is obeyed, or said to be unusable; never both, never neither."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from yohaku import messages
from yohaku.cli import main, parser
from yohaku.config import catalog
from yohaku.config.keys import KEYS
from yohaku.config.resolve import ProviderAddress, ResolvedWindow, provider_address, recipe_for, window_for
from yohaku.config.settings import Notice, Settings, list_settings, read, with_flags
from yohaku.core.errors import BadSetting, UnknownModel, UnknownRecipe
from yohaku.core.recipe import Question
from yohaku.recipes.auto import RECIPES
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

HOME = {"HOME": "/home/hana"}


def config(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return file


def texts(settings: Settings | ResolvedWindow) -> list[str]:
    return [notice.text for notice in settings.warnings]


def test_nothing_set_gives_the_defaults() -> None:
    assert read(HOME) == Settings(data=Path("/home/hana/.local/share/yohaku"))


def test_every_key_can_be_a_variable() -> None:
    values = {
        "MODEL": "gpt-4o",
        "WINDOW": "8192",
        "RESERVE": "0",
        "RECIPE": "layers",
        "LANG": "ja",
        "STRICT": "yes",
        "STORE": "sqlite:///tmp/x.db",
        "DATA": "/srv/yohaku",
        "CATALOG": "/srv/models.json",
        "PRESET": "Quality",
        "FORCE": "1",
        "TIER": "Small",
        "PERMISSIONS": "read_only",
        "SECRETS": "show",
        "CHAT": "on",
        "DEBUG": "true",
        "PLAIN": "yes",
        "THEME": "nord",
        "GGUF": "/srv/model.gguf",
        "TOKENIZER": "/srv/tokenizer.json",
        "STALL": "90.5",
        "HOOK_BEFORE": "./before.sh",
        "HOOK_AFTER": "./after.sh",
        "SUMMARY_MODELS": "gpt-4o=gpt-4o-mini, default=same",
    }
    assert set(values) == {key.name.upper() for key in KEYS.values() if not key.is_option}
    settings = read(HOME | {f"YOHAKU_{key}": value for key, value in values.items()})
    assert settings == Settings(
        model="gpt-4o",
        window=8192,
        reserve=0,
        recipe="layers",
        lang="ja",
        strict=True,
        store="sqlite:///tmp/x.db",
        data=Path("/srv/yohaku"),
        catalog=Path("/srv/models.json"),
        preset="quality",
        force=True,
        tier="small",
        permissions="read-only",
        secrets="show",
        chat=True,
        debug=True,
        plain=True,
        theme="nord",
        gguf=Path("/srv/model.gguf"),
        tokenizer=Path("/srv/tokenizer.json"),
        stall=90.5,
        hook_before="./before.sh",
        hook_after="./after.sh",
        summary_models={"gpt-4o": "gpt-4o-mini", "default": "same"},
        origin={key.name: key.variable for key in KEYS.values() if not key.is_option},
    )


def test_a_flag_beats_everything_and_says_so(tmp_path: Path) -> None:
    settings = read(HOME | {"YOHAKU_MODEL": "gpt-4o", "YOHAKU_LANG": "ja"})
    flagged = with_flags(settings, {"model": "qwen", "preset": "speed", "debug": None})
    assert (flagged.model, flagged.preset, flagged.lang, flagged.debug) == ("qwen", "speed", "ja", False)
    assert flagged.origin == {"model": "--model", "lang": "YOHAKU_LANG", "preset": "--preset"}
    with pytest.raises(BadSetting, match="--preset is 'slow', which is not speed, balanced or quality"):
        with_flags(settings, {"preset": "slow"})


def test_every_setting_is_told_with_where_it_came_from_and_no_password() -> None:
    settings = read(HOME | {"YOHAKU_STORE": "redis://u:hidden@host/1", "CLAUDE_MAX_CONTEXT_LENGTH": "9000"})
    rows = {name: (value, where) for name, value, where in list_settings(settings)}
    assert set(KEYS) < set(rows)
    assert rows["store"] == ("redis://…@host/1", "YOHAKU_STORE")
    assert rows["CLAUDE_MAX_CONTEXT_LENGTH"] == ("9000", "CLAUDE_MAX_CONTEXT_LENGTH")
    assert rows["model"] == ("-", "") and rows["debug"] == ("false", "")


def test_the_config_file_is_found_where_the_desktop_says(tmp_path: Path) -> None:
    folder = tmp_path / "yohaku"
    folder.mkdir()
    file = config(folder, 'model = "claude-sonnet-4-5"\nwindow = 32768\nstrict = true\n')
    settings = read(HOME | {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": "/data"})
    assert settings == Settings(
        model="claude-sonnet-4-5",
        window=32768,
        strict=True,
        data=Path("/data/yohaku"),
        origin={key: f"{file}: {key}" for key in ("model", "window", "strict")},
    )
    assert read(HOME | {"YOHAKU_CONFIG": str(file)}).model == "claude-sonnet-4-5"


def test_a_variable_beats_the_file_and_says_so(tmp_path: Path) -> None:
    file = config(tmp_path, 'window = 1000\nrecipe = "chat"\n')
    settings = read(HOME | {"YOHAKU_WINDOW": "2000"}, file)
    assert (settings.window, settings.recipe) == (2000, "chat")
    assert settings.origin == {"window": "YOHAKU_WINDOW", "recipe": f"{file}: recipe"}


def test_an_unusable_variable_leaves_the_value_of_the_file(tmp_path: Path) -> None:
    settings = read(HOME | {"YOHAKU_WINDOW": "lots"}, config(tmp_path, "window = 1000\n"))
    assert settings.window == 1000
    assert settings.warnings == (
        Notice(
            "bad_value",
            "YOHAKU_WINDOW is 'lots', which is not a positive whole number of tokens; going on as if it were not set",
            {
                "where": "YOHAKU_WINDOW",
                "value": "lots",
                "expected": "a positive whole number of tokens",
                "expects": "tokens",
            },
        ),
    )


def test_a_mistake_in_the_file_is_said_and_the_rest_is_used(tmp_path: Path) -> None:
    file = config(tmp_path, 'modle = "gpt-4o"\nwindow = true\nlang = "ja"\ncolour = 1\n')
    settings = read(HOME, file)
    assert (settings.model, settings.window, settings.lang) == (None, None, "ja")
    assert texts(settings) == [
        f"{file}: modle is no setting; did you mean model?",
        f"{file}: window is 'True', which is not a positive whole number of tokens; going on as if it were not set",
        f"{file}: colour is no setting; yohaku config lists all of them",
    ]


@pytest.mark.parametrize("content", [b"window = = 3", b"\xff\xfe", b"\x00"])
def test_a_broken_file_is_said_and_passed_over(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    settings = read(HOME, file)
    assert [notice.code for notice in settings.warnings] == ["bad_config"]
    assert settings.window is None


def test_a_file_asked_for_by_name_must_exist_and_the_usual_one_need_not(tmp_path: Path) -> None:
    missing = tmp_path / "no.toml"
    assert [notice.code for notice in read(HOME, missing).warnings] == ["bad_config"]
    assert read(HOME | {"XDG_CONFIG_HOME": str(tmp_path)}).warnings == ()


@pytest.mark.parametrize(
    ("environ", "lang"),
    [
        ({}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "POSIX"}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "ja_JP"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "YOHAKU_LANG": "en"}, "en"),
        ({"YOHAKU_LANG": "ja_JP.UTF-8"}, "ja"),
    ],
)
def test_the_language_is_the_locales_unless_set(environ: dict[str, str], lang: str) -> None:
    assert read(HOME | environ).lang == lang


def test_keys_of_providers_are_found_but_never_shown() -> None:
    settings = read(HOME | {"OPENAI_API_KEY": "sk-secret"})
    openai = catalog.load().provider("openai")
    assert openai is not None
    where = provider_address(openai, settings)
    assert where == ProviderAddress("https://api.openai.com/v1", "sk-secret")
    assert "sk-secret" not in repr(settings) + repr(where)


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("http://box:9999/", "http://box:9999"),
        ("box:9999", "http://box:9999"),
        ("box", "http://box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":9999", "http://127.0.0.1:9999"),
        ("", "http://127.0.0.1:11434"),
    ],
)
def test_ollama_is_called_where_its_own_variable_says(said: str, url: str) -> None:
    ollama = catalog.load().provider("ollama")
    assert ollama is not None
    assert provider_address(ollama, read(HOME | {"OLLAMA_HOST": said})) == ProviderAddress(url)


def test_a_dialect_the_provider_does_not_speak_is_refused() -> None:
    ollama = catalog.load().provider("ollama")
    assert ollama is not None
    assert provider_address(ollama, read(HOME), "openai_chat") == ProviderAddress("http://127.0.0.1:11434/v1")
    with pytest.raises(ValueError, match="does not speak gemini: use ollama"):
        provider_address(ollama, read(HOME), "gemini")


# C1: the variable of the provider, else the default's, else the catalogue, else 4,096; an explicit window beats all.

ALL = HOME | {"CHATGPT_MAX_CONTEXT_LENGTH": "9000", "DEFAULT_MAX_CONTEXT_LENGTH": "7000"}


def test_c1_the_window_comes_from_the_first_that_knows() -> None:
    default = HOME | {"DEFAULT_MAX_CONTEXT_LENGTH": "7000"}
    assert window_for("gpt-4o", read(ALL), window=5000) == ResolvedWindow(5000, "argument", 16384)
    assert window_for("gpt-4o", read(ALL | {"YOHAKU_WINDOW": "6000"})) == ResolvedWindow(6000, "YOHAKU_WINDOW", 16384)
    assert window_for("gpt-4o", read(ALL)) == ResolvedWindow(9000, "CHATGPT_MAX_CONTEXT_LENGTH", 16384)
    assert window_for("gpt-4o", read(default)) == ResolvedWindow(7000, "DEFAULT_MAX_CONTEXT_LENGTH", 16384)
    assert window_for("gpt-4o", read(HOME)) == ResolvedWindow(128000, "catalogue openai/gpt-4o", 16384)
    assert window_for("nobody-knows", read(HOME)) == ResolvedWindow(
        4096,
        "default",
        None,
        (
            Notice(
                "unknown_model",
                "unknown model 'nobody-knows': taking 4,096 tokens; give the window, or set DEFAULT_MAX_CONTEXT_LENGTH",
                {"model": "nobody-knows", "tokens": "4096", "variable": "DEFAULT_MAX_CONTEXT_LENGTH"},
            ),
        ),
    )


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("gpt-4o", "CHATGPT"),
        ("gemini-2.5-pro", "GEMINI"),
        ("claude-sonnet-4-5", "CLAUDE"),
        ("llama3.1:8b", "OLLAMA"),
        ("deepseek-chat", "DEEPSEEK"),
        ("groq/openai/gpt-oss-20b", "GROQ"),
        ("openrouter/anthropic/claude-sonnet-4.5", "OPENROUTER"),
    ],
)
def test_c1_each_provider_has_its_variable(model: str, variable: str) -> None:
    window = window_for(model, read(HOME | {f"{variable}_MAX_CONTEXT_LENGTH": "9000"}))
    assert (window.tokens, window.source) == (9000, f"{variable}_MAX_CONTEXT_LENGTH")


@pytest.mark.parametrize(
    ("dialect", "variable"),
    [("openai_chat", "CHATGPT"), ("anthropic", "CLAUDE"), ("gemini", "GEMINI"), ("ollama", "OLLAMA")],
)
def test_c1_an_unknown_model_has_the_variable_of_its_dialect(dialect: str, variable: str) -> None:
    settings = read(HOME | {f"{variable}_MAX_CONTEXT_LENGTH": "9000"})
    assert window_for("nobody-knows", settings, dialect=dialect).tokens == 9000


def test_c1_a_provider_nobody_knows_has_a_variable_too() -> None:
    settings = read(HOME | {"MY_HOUSE_MAX_CONTEXT_LENGTH": "9000"})
    assert window_for("x", settings, provider="my-house") == ResolvedWindow(9000, "MY_HOUSE_MAX_CONTEXT_LENGTH")


def test_c1_another_providers_variable_does_not_count() -> None:
    settings = read(HOME | {"CLAUDE_MAX_CONTEXT_LENGTH": "9000"})
    assert window_for("gpt-4o", settings).tokens == 128000
    assert window_for("claude-opus-4-5", settings, dialect="openai_chat").tokens == 9000


@pytest.mark.parametrize("value", ["0", "-1", "8k", "8,192", "8192.0", "1e5", "", " ", "eight", "9" * 5000, "²"])
def test_c1_a_value_that_is_no_positive_integer_is_said_once_and_skipped(value: str) -> None:
    settings = read(HOME | {"CHATGPT_MAX_CONTEXT_LENGTH": value, "DEFAULT_MAX_CONTEXT_LENGTH": "7000"})
    assert texts(settings) == [
        (
            f"CHATGPT_MAX_CONTEXT_LENGTH is {value!r}, which is not a positive whole number of tokens; "
            "going on as if it were not set"
        )
    ]
    assert window_for("gpt-4o", settings).tokens == 7000


@pytest.mark.parametrize("value", ["8192", " 8192 ", "08192", "８１９２"])
def test_c1_spaces_and_wide_digits_do_not_spoil_a_number(value: str) -> None:
    assert read(HOME | {"CLAUDE_MAX_CONTEXT_LENGTH": value}).maxima == {"CLAUDE": 8192}


def test_c1_the_maxima_may_stand_in_the_file(tmp_path: Path) -> None:
    file = config(tmp_path, "[max_context_length]\nchatgpt = 9000\ndefault = 7000\nclaude = -1\n")
    settings = read(HOME | {"DEFAULT_MAX_CONTEXT_LENGTH": "6000"}, file)
    assert settings.maxima == {"CHATGPT": 9000, "DEFAULT": 6000}
    assert [notice.facts["where"] for notice in settings.warnings] == [f"{file}: max_context_length.claude"]
    assert window_for("gpt-4o", settings).source == f"{file}: max_context_length.chatgpt"
    assert window_for("claude-opus-4-5", settings).source == "DEFAULT_MAX_CONTEXT_LENGTH"


def test_k3_an_unknown_model_is_an_error_in_strict_mode_unless_the_user_gave_a_window() -> None:
    strict = HOME | {"YOHAKU_STRICT": "1"}
    with pytest.raises(UnknownModel, match="nobody-knows"):
        window_for("nobody-knows", read(strict))
    with pytest.raises(UnknownModel):
        window_for(None, read(strict))
    assert window_for("gpt-4o", read(strict)).tokens == 128000
    assert window_for("nobody-knows", read(strict), window=5000).tokens == 5000
    assert window_for("nobody-knows", read(strict | {"DEFAULT_MAX_CONTEXT_LENGTH": "7000"})).tokens == 7000


def test_s7_a_gemini_newer_than_the_catalogue_has_the_window_of_its_family() -> None:
    window = window_for("gemini-9.5-pro", read(HOME))
    assert (window.tokens, window.source) == (1_048_576, "catalogue family")
    assert [notice.code for notice in window.warnings] == ["unknown_model"]
    with pytest.raises(UnknownModel):
        window_for("gemini-9.5-pro", read(HOME | {"YOHAKU_STRICT": "1"}))


@pytest.mark.parametrize("model", ["gemini-ultra-next", "gemini-7-nova-exp-1206", "models/gemini-experimental"])
def test_s7_every_unknown_gemini_has_the_default_of_its_document(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    body, report = tmp_path / "body.json", tmp_path / "report.json"
    body.write_text(json.dumps({"contents": [{"role": "user", "parts": [{"text": "Hello."}]}]}))
    monkeypatch.setenv("HOME", str(tmp_path))
    done = main.main(["fit", str(body), "--model", model, "--reserve", "0", "--report", str(report)])
    assert (done, json.loads(report.read_text())["limit"]) == (0, 1_048_576)
    assert "1,048,576" in capfd.readouterr().err
    assert window_for(f"{model}-tts", read(HOME)).tokens == 4_096, "not one of those that only speak"


def test_a_local_model_gets_little_until_its_server_or_its_user_says_more(tmp_path: Path) -> None:
    window = window_for("llama3.1:8b", read(HOME))
    assert (window.tokens, window.source) == (4096, "default")
    assert texts(window) == [
        (
            "llama3.1:8b runs with the window its server gives it: "
            "taking 4,096 tokens; give the window, or set OLLAMA_MAX_CONTEXT_LENGTH"
        )
    ]
    assert window_for("gpt-4o", read(HOME), provider="llamacpp").tokens == 4096
    own = tmp_path / "models.json"
    own.write_text('{"models": [{"id": "llama3.1", "provider": "ollama", "window": 32768}]}')
    assert window_for("llama3.1:8b", read(HOME | {"YOHAKU_CATALOG": str(own)})).tokens == 32768


def test_a_window_that_holds_nothing_is_misuse() -> None:
    with pytest.raises(BadSetting, match="give a positive number"):
        window_for("gpt-4o", read(HOME), window=0)


def test_importing_settings_reads_no_catalogue() -> None:
    program = "import sys, yohaku.config.settings; print('yohaku.config.catalog' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


# Recipes of one's own (K1, O7)

OWN = """
recipe = "careful"

[recipes.careful]
like = "cache"

[recipes.careful.options]
threshold_ratio = 0.7
max_line_length = 500
model = "gpt-4o-mini"
summary_directives = ["Name every file.", "数字は残すこと。"]

[recipes.quick]
rungs = [
    {level = "hot", pass = "clear_largest", args = ["result"], options = {keep = 0.2}, goal = 0.5},
    {level = "full", pass = "passes_of_hana:nothing", options = {share = 0.5}},
]
"""

PASSES = """
def nothing(share=1.0):
    def propose(view, room):
        return []
    return propose
number = 3
"""


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Somebody's module where Python finds it."""
    (tmp_path / "passes_of_hana.py").write_text(PASSES, encoding="utf-8")
    (tmp_path / "breaks.py").write_text("import sys\nraise RuntimeError('not today')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("passes_of_hana", None)


def test_recipes_of_the_file_are_kept_as_they_are_written_and_made_when_wanted(tmp_path: Path) -> None:
    settings = read(HOME, config(tmp_path, OWN))
    assert (settings.recipe, list(settings.recipes), settings.warnings) == ("careful", ["careful", "quick"], ())
    assert settings.recipes["careful"]["like"] == "cache"


def test_a_recipe_like_another_has_its_rungs_with_other_options(tmp_path: Path) -> None:
    settings = read(HOME, config(tmp_path, OWN))
    recipe = recipe_for(settings.recipe, settings)
    usual = RECIPES["cache"]
    assert recipe.name == "careful" and len(recipe.rungs) == len(usual.rungs)
    assert [rung.level for rung in recipe.rungs if rung.level == 0.7] == [0.7]


def test_directives_and_the_model_of_the_file_reach_the_question(tmp_path: Path) -> None:
    asked: list[Question] = []

    def model(question: Question) -> str:
        asked.append(question)
        return "The user counts."

    settings = read(HOME, config(tmp_path, OWN))
    s = Session(20_000, 0, "careful", meter=ByteMeter(), summarise=model, settings=settings)
    said = [{"role": role, "content": "one, two, three. " * 60} for role in ("user", "assistant") * 5]
    s.fit([*said, {"role": "user", "content": "And on?"}], fold=True)
    assert asked[0].model == "gpt-4o-mini"
    assert "- Name every file.\n- 数字は残すこと。" in asked[0].text


def test_passes_of_other_packages_are_imported(theirs: Path) -> None:
    recipe = recipe_for("quick", read(HOME, config(theirs, OWN)))
    assert [(rung.level, rung.goal) for rung in recipe.rungs[:2]] == [("hot", 0.5), ("full", "warm")]
    assert recipe.rungs[1].propose.__module__ == "passes_of_hana"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_package.passes:fold", "No module named 'no_such_package'; install it where yohaku is installed"),
        ("passes_of_hana:missing", "module 'passes_of_hana' has no attribute 'missing'"),
        ("breaks:anything", "not today"),
        ("passes_of_hana:number", "there is no pass 'passes_of_hana:number'"),
        (":x", "cannot be loaded"),
        ("passes_of_hana:", "cannot be loaded"),
    ],
)
def test_what_cannot_be_imported_is_one_clear_error(theirs: Path, name: str, said: str) -> None:
    settings = Settings(recipes={"mine": {"rungs": [{"level": "full", "pass": name}]}})
    with pytest.raises(BadSetting) as raised:
        recipe_for("mine", settings)
    assert str(raised.value).startswith("recipe 'mine', rung 1: ") and said in str(raised.value)
    assert said in messages.explain(raised.value, "ja")


def test_our_own_names_are_taken_and_what_is_no_table_is_said(tmp_path: Path) -> None:
    file = config(tmp_path, '[recipes]\nmine = 3\nauto = {like = "chat"}\nyours = {like = "chat"}\n')
    settings = read(HOME, file)
    assert list(settings.recipes) == ["yours"] and recipe_for("auto", settings) is RECIPES["auto"]
    assert texts(settings) == [
        f"{file}: recipes.mine is '3', which is not a table [recipes.mine]; going on as if it were not set",
        (
            f"{file}: recipes.auto is 'auto', which is not a name that is free: ours are {', '.join(RECIPES)}; "
            "going on as if it were not set"
        ),
    ]
    (told,) = texts(read(HOME, config(tmp_path, "recipes = 3\n")))
    assert "which is not a table [recipes]" in told


def test_an_unknown_recipe_is_told_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownRecipe) as raised:
        recipe_for("carefull", read(HOME, config(tmp_path, OWN)))
    assert raised.value.facts == {"name": "carefull", "known": ", ".join([*RECIPES, "careful", "quick"])}


def test_reading_settings_loads_no_recipes_unless_there_are_some() -> None:
    code = "import sys; from yohaku.config import settings; settings.read({'HOME': '/'}); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "yohaku.config.settings" in loaded and "yohaku.recipes.auto" not in loaded


# On the command line


def test_the_help_names_every_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(RECIPES) == parser.RECIPES
    for command in ("fit", "show"):
        with pytest.raises(SystemExit):
            main.main([command, "--help"])
        told = " ".join(capsys.readouterr().out.split()).replace("chat- ", "chat-")  # broken at the end of a line
        assert f"(default auto): {', '.join(RECIPES)}, or one of your own" in told


def test_folding_by_hand_on_the_command_line_keeps_what_the_words_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f"def handle_event_{number}(payload_{number}): ...\n" for number in range(1_600))
    named = lines + "def parse_invoice(total_amount): ...\n" + lines.replace("event", "other")
    said: list[dict[str, object]] = [{"role": "user", "content": "Look around."}]
    for number, text in enumerate([named, *["ok\n" * 200] * 9]):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        said.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"messages": said}))
    fit = ["fit", str(given), "--window", "60000", "--model", "gpt-4o"]
    assert main.main(fit) == 0 and json.loads(capsys.readouterr().out)["messages"] == said
    assert main.main([*fit, "--fold"]) == 0
    out, told = capsys.readouterr()
    assert json.loads(out)["messages"] != said and told.startswith("yohaku: folded: ")
    fit[3] = "3000"
    assert main.main([*fit, "--fold"]) == 0
    assert "parse_invoice" not in capsys.readouterr().out
    assert main.main([*fit, "--fold", "--words", "parse the invoice"]) == 0
    assert "parse_invoice" in capsys.readouterr().out
    assert main.main(["show", *fit[1:], "--fold"]) == 0
    assert "-- after" in capsys.readouterr().out


def test_a_recipe_of_the_file_is_known_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YOHAKU_CONFIG", str(config(tmp_path, OWN)))
    monkeypatch.setenv("YOHAKU_LANG", "en")
    given = tmp_path / "given.json"
    given.write_text('[{"role": "user", "content": "hi"}]')
    assert main.main(["fit", str(given), "--window", "8192", "--recipe", "careful"]) == 0
    assert main.main(["fit", str(given), "--window", "8192", "--recipe", "quick"]) == 2
    assert "cannot be loaded: No module named 'passes_of_hana'" in capsys.readouterr().err
    assert main.main(["fit", str(given), "--window", "8192", "--recipe", "nobody"]) == 2
    assert "unknown recipe 'nobody': use one of auto, " in capsys.readouterr().err
