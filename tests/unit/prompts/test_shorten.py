"""A text of a history is shortened by its kind and its question, and remembered."""

import json

import yaml

from promptforge.prompts.shorten import shortener_of
from promptforge.tokenizers.registry import get_tokenizer

COUNTER = get_tokenizer("o200k_base")
SHORTENER = shortener_of(COUNTER, "[cut]")


def test_letters_that_json_escapes_are_found() -> None:
    rows = [{"job": f"job-{n}", "msg": "订单退款包裹"} for n in range(200)]
    rows[120] = {"job": "红隼九一", "msg": "磁盘配额已超出"}
    for text in (json.dumps(rows), json.dumps(rows, ensure_ascii=False)):
        assert "磁盘配额已超出" in SHORTENER.shorten(text, "红隼九一为什么失败？", 200)


def test_what_answers_the_question_stays_and_json_stays_json() -> None:
    rows = [{"id": n, "name": f"part {n}", "note": "spare " * 20} for n in range(60)]
    short = SHORTENER.shorten(json.dumps(rows), "where is part 41?", 200)
    assert COUNTER.count(short) <= 200 and "part 41" in short and json.loads(short)


def test_several_documents_of_yaml_stay_yaml_and_keep_the_one_asked_for() -> None:
    names = [f"kettle-{n}" for n in range(40)]
    text = "".join(
        f"---\nkind: Deployment\nname: {name}\nspec:\n  replicas: 2\n  image: shop/{name}:{n}.4\n"
        for n, name in enumerate(names)
    )
    short = SHORTENER.shorten(text, "which image does kettle-27 run?", 200)
    assert COUNTER.count(short) <= 200 and "shop/kettle-27:27.4" in short
    assert {"kind": "Deployment"}.items() <= list(yaml.safe_load_all(short))[-1].items()


def test_no_line_is_marked_and_nothing_is_left_where_nothing_has_room() -> None:
    text = "- see (x)\n[file name]: a\n\n---\n# b\n"
    assert SHORTENER.shorten(text, "", 100) == text.rstrip("\n")
    assert SHORTENER.shorten("word " * 50, "", 0) == ""


def test_all_prompts_of_a_process_share_a_shortener() -> None:
    shortener, text = shortener_of(COUNTER, "[cut]"), "word " * 500
    short = shortener.shorten(text, "q", 50)
    assert shortener_of(COUNTER, "[cut]").shorten(text + "", "q", 50) is short


def test_data_between_the_words_of_the_user_stay_data() -> None:
    rows = json.dumps([{"id": n, "state": "ok" if n != 170 else "broken"} for n in range(300)])
    words = "We export this each night.\n\nWhich one is broken?"
    for pasted in (rows, json.dumps(json.loads(rows), indent=1)):
        shown = SHORTENER.shorten_pasted(f"{words}\n\n{pasted}\nThank you.", 200)
        assert shown.startswith(words) and shown.endswith("\nThank you.")
        data = shown.removeprefix(words).removesuffix("Thank you.")
        assert "170" in data and "broken" in data and json.loads(data)


def test_words_that_take_more_than_half_of_the_room_are_shortened_too() -> None:
    text = "word " * 70 + "\n" + "INFO a line of a log\n" * 900
    shown = SHORTENER.shorten_pasted(text, 60)
    assert shown and COUNTER.count(shown) <= 60
    assert SHORTENER.shorten_pasted("x" * 9000, 60)
