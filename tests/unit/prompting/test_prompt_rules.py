import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.clean import clean
from hybrid.prompting.rules import PromptVerdict, prompt_verdict

TURNS = [
    "yes, go on with that please",
    "that all looks very good to me",
    "ok perfect, thanks a lot for your help",
    "no, leave it the way it was before",
    "great work, please keep going",
    "run all the tests one more time",
    "please commit everything and push it now",
    "undo what you just did there",
    "could you say that again, but shorter?",
    "why are you doing it like this?",
    "what have you changed so far?",
    "let's do the second one first",
    "hmm, I am not sure about this",
    "stop please, this is going the wrong way",
    "rerun the build and the linter",
    "squash these commits and merge the pr",
    "thank you so much, this is awesome!!! 🎉🎉🎉",
    "👍👍👍 👍👍👍 👍👍👍 👍👍👍 👍👍👍 👍👍👍",
    "thaaaanks, that looks goooood to me",
    "pls contineu with teh rest of it",
    "sounds god, comit and pussh it please",
    "same problem as before, try again",
    "wait a moment, I need to think about that",
    "explain your last answer in simpler words",
    "go with option 3 and then stop",
    "are you done with all of this yet?",
    "good morning, how are you today?",
    "bye for now, talk to you tomorrow",
    "revert the last two commits please",
    "danke, das passt so, mach bitte weiter",
    "ja genau, bitte noch einmal die tests",
    "merci beaucoup, c'est parfait, continue",
    "oui vas-y, relance les tests encore une fois",
    "sí, está muy bien, sigue por favor",
    "obrigado, está perfeito, pode continuar",
    "grazie mille, va bene così, vai avanti",
    "bedankt, ga maar door met de tests",
    "tack så mycket, fortsätt med nästa steg",
    "dziękuję bardzo, proszę dalej, jeszcze raz",
    "спасибо, всё отлично, продолжай дальше",
    "дякую, все добре, продовжуй далі",
    "teşekkürler, çok güzel, devam et lütfen",
    "terima kasih banyak, lanjutkan sekarang",
    "谢谢你,非常好,请继续,然后提交代码",
    "ありがとうございます、続けてください",
    "네, 감사합니다. 계속 진행해 주세요",
    "شكرا جزيلا، ممتاز، استمر من فضلك",
    "soudns good, porceed with the nxt step",
    "this is not waht I wanetd, undo it pelase",
    "make a new commit with a good message",
    "merge the pull request when everything is green",
    "du hast den letzten Schritt vergessen",
    "das hat leider nicht funktioniert, versuch es anders",
    "ca ne marche toujours pas, essaie autre chose",
    "tu as oublié la dernière étape",
    "todavia no funciona, intentalo otra vez",
    "nao funcionou, tenta de novo por favor",
    "il tuo ultimo passaggio era sbagliato, annulla",
    "nie rozumiem twojej odpowiedzi, wyjasnij prosciej",
    "ты забыл про последний шаг",
    "son adimi unuttun, geri al",
    "daleee perfectooo, seguimos",
    "हाँ ठीक है, ऐसे ही आगे बढ़ते रहो",
    "bahut accha bhai, aise hi karte raho",
    "jag förstår inte ditt svar",
    "hienoa, jatka samaan malliin",
    "τέλεια, συνέχισε έτσι παρακαλώ",
    "מעולה, תמשיך בבקשה ככה",
    "خیلی خوب بود، لطفا ادامه بده",
    "foarte bine, continuă te rog așa",
    "nagyon jó, folytasd kérlek",
    "还是不行，再试一次看看",
    "最後のステップを忘れていますよ",
    "마지막 단계를 빼먹었어요",
]

SEARCHES = [
    "why does the importer skip empty rows?",
    "add a cache in front of the price lookup",
    "the nightly report is one hour late since March",
    "where is the discount rounded?",
    "how do I run the tests in this project?",
    "how are failed pushes retried?",
    "which tests cover the merge of two branches?",
    "where do we keep the error messages?",
    "fix the error message when a merge fails",
    "improve the output of the build command",
    "add a test for the empty basket",
    "thanks! now make the scheduler skip holidays",
    "ok, next: the login form loses its focus",
    "great, please continue with the invoice export",
    "rename the old branch handling in the deploy script",
    "does a session survive a restart of the server?",
    "list open files in the status bar",
    "support resuming an interrupted download",
    "what happens when two writers hold the lock",
    "speed up the tokenizer for long lines",
    "use UTC for all timestamps in exports",
    "the tooltip flickers on hover in dark mode",
    "make commit hooks optional in the installer",
    "Act as a senior developer and refactor the payment module",
    "imagine you are the maintainer: is the queue bounded?",
    "can you please look into why checkout hangs",
    "wie wird der Rabatt auf Rechnungen berechnet?",
    "où est calculé le total de la facture ?",
    "¿dónde se valida el número de la tarjeta?",
    "支付客户端在失败之后如何重新尝试请求?",
    "支払いクライアントはどのように再試行しますか",
    "结算页面为什么会重复扣款两次",
    "guests can approve their own requests, that's wrong",
    "show the number of guests",
    "list all releases by date",
    "show who approved a request",
    "tests for the planner please",
    "make commits show their branch",
    "save the draft every minute",
    "die Liste zeigt alles zweimal",
    "список показывает всё два раза",
    "wie laufen die Tests hier lokal?",
    "comment lancer les tests ?",
    "¿cómo se ejecutan las pruebas aquí?",
    "как запустить тесты локально?",
    "nasıl çalıştırılır bu testler",
    "テストの実行方法を教えてください",
    "테스트는 어떻게 실행하나요?",
    "如何运行我们的测试代码",
    "지도에서 위치가 안 보여요",
    "yes, go on with `render_page` please",
    "ok now do the same for parseConfig",
    "please continue with user_index next",
    "looks good, now src/app/main.ts please",
    "thanks, run it again with --no-cache",
    "now the same again for Client.retry please",
    "commit only README.md and push it",
    "try again:\n```\nraise ValueError\n```",
    "still not: x = foo[1] is wrong here",
    'same again: File "a.py", line 3, in f',
]


def verdict(prompt: str, **options: object) -> PromptVerdict:
    """The verdict on a prompt with the shipped minimum length unless another is given."""
    return prompt_verdict(clean(prompt), **{"min_prompt_length": 20, **options})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("prompt", TURNS)
def test_turns_of_a_conversation_are_silent(prompt: str):
    """Agreement, thanks, refusal and session commands search for nothing, in any common language, with slips too."""
    assert verdict(prompt, min_prompt_length=0).reason in {"acknowledgement", "session_turn"}


@pytest.mark.parametrize("prompt", SEARCHES)
def test_prompts_about_a_project_are_searched(prompt: str):
    """A prompt that names something of a project, or holds code, an identifier or a path, is never lost."""
    assert PromptVerdict(True, "search") == verdict(prompt)


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param(" \n\t ", "empty", id="white-space"),
        pytest.param("<private>how does the payment client retry</private>", "empty", id="all-private"),
        pytest.param("how does it cache?", "too_short", id="short"),
        pytest.param("parse_args", "too_short", id="short-identifier"),
        pytest.param("/review", "slash_command", id="bare-command"),
        pytest.param("/plugin:review  ", "slash_command", id="bare-plugin-command"),
        pytest.param("/why payments", "too_short", id="command-with-short-argument"),
        pytest.param("<teammate-message>retry the payment client</teammate-message>", "machine_made", id="machine"),
        pytest.param(
            "<task-notification><result>The client retries.</result></task-notification>",
            "subagent_report",
            id="report",
        ),
        pytest.param("how does the client retry? [no-hybrid]", "opted_out", id="opt-out"),
        pytest.param("internationalization everywhere", "too_few_words", id="two-words"),
        pytest.param("?!?! ... ?!?! ... ?!?! ... ?!?!", "acknowledgement", id="no-words"),
        pytest.param("Act as a tour guide for people who visit Rome", "role_play", id="act-as"),
        pytest.param("I want you to act as a chef and suggest a soup", "role_play", id="want-you-to-act"),
        pytest.param("pretend you are a pirate and sing of treasure", "role_play", id="pretend"),
    ],
)
def test_every_silence_has_its_reason(prompt: str, reason: str):
    """Each rule names itself, so that the log can explain why nothing was said."""
    assert PromptVerdict(False, reason) == verdict(prompt)


def test_role_play_with_code_is_searched():
    """A role with an identifier in the task is a wish about the project."""
    assert verdict("act as a chef and call `stir_soup` until it is done").is_searchable


def test_a_slash_command_with_a_real_question_is_searched():
    """The arguments are judged like a prompt."""
    assert verdict("/why does the payment client retry twice").is_searchable


@pytest.mark.parametrize(
    ("prompt", "prefixes"),
    [
        pytest.param("ship: the new invoice export today", ["ship:"], id="word"),
        pytest.param("/deploy the invoice export to staging", ["/deploy"], id="command"),
        pytest.param("//note the invoice export is slow", ["x", "//"], id="second-of-two"),
    ],
)
def test_configured_prefixes_are_skipped(prompt: str, prefixes: list[str]):
    """A prompt that begins with a configured prefix, as typed, is left alone."""
    assert PromptVerdict(False, "skip_prefix") == verdict(prompt, skip_prefixes=prefixes)


def test_an_empty_prefix_skips_nothing():
    """An empty string in the settings does not silence everything."""
    assert verdict("how does the payment client retry?", skip_prefixes=["", " "]).is_searchable


@pytest.mark.parametrize(("length", "expected"), [(19, False), (20, True)])
def test_the_minimum_length_counts_characters_after_cleaning(length: int, expected: bool):
    """Nineteen characters are silent and twenty are not, whatever was cut around them."""
    prompt = "where is vat computed in it"[:length].strip().ljust(length, "s")

    assert expected == verdict(f"<private>long and secret</private>   {prompt}   ").is_searchable


def test_a_full_width_character_counts_as_two():
    """Ten Chinese characters say as much as twenty letters."""
    assert verdict("退款金额在哪里计算的").is_searchable


@given(
    st.text(max_size=300), st.sampled_from(["parse_args", "loadConfig", "src/app.py", "`x`", "--dry-run", "a.b.c()"])
)
def test_a_name_from_code_is_never_silenced_by_words(words: str, name: str):
    """Whatever else is said, a prompt with code, an identifier or a path that is long enough is searched."""
    prompt = f"please go on with {name} now, thanks a lot"
    tail = "" if words.strip().startswith("/") else words.replace("<", "").replace("[", "").replace("-", "")

    assert PromptVerdict(True, "search") == verdict(f"{prompt} {tail}")


@given(st.text())
def test_any_prompt_gets_a_verdict(prompt: str):
    """No string breaks the gate, and a searchable prompt is exactly one with the reason `search`."""
    result = verdict(prompt, min_prompt_length=0)

    assert result.is_searchable == (result.reason == "search")


@pytest.mark.parametrize(
    "prompt",
    [
        "imagine that you are a user with no permissions, why does the login fail",
        "pretend to be a client and reproduce the timeout in the poll job",
        "play the role of the carrier in the integration test of the label service",
    ],
)
def test_a_role_that_software_knows_is_searched(prompt: str):
    """A test may play a user or a client; that is no conversation with a chef."""
    assert PromptVerdict(True, "search") == verdict(prompt)
