"""What options and the budget make a rendering say: PF1xx."""

from __future__ import annotations

from .code import Code

CODES = {
    "PF101": Code(
        "warning",
        "an option has a value it does not take",
        "The value is left out and the option keeps the one it had; the text is made all the same.",
        "max_tokens=-5",
        "Give one of the values that the message names; `--strict` makes it an error.",
    ),
    "PF102": Code(
        "note",
        "the budget was lowered to the window",
        "The LLM takes context_window tokens in all, of which reserve are kept for its answer; no text may be larger.",
        "context_window: 8000, reserve: 2000, max_tokens: 9000",
        "Lower max_tokens, or correct context_window and reserve.",
    ),
    "PF103": Code(
        "warning",
        "min_score was not applied",
        "Scores outside of 0 to 1 are on a scale of their own, which a threshold between 0 and 1 cannot judge.",
        '{"content": "…", "score": 17.2, "origin": "similarity"}',
        "Scale the scores to 0 to 1, or say `min_score: none`.",
    ),
    "PF104": Code(
        "warning",
        "no item has the key of a section",
        "group_by or section_budgets name a metadata key or a section that no item has, so they do nothing.",
        "group_by: athor",
        "Correct the name; the message says which there are.",
    ),
    "PF105": Code(
        "note",
        "an option changes nothing here",
        "No template of this layout in this format uses it.",
        "render --scores --layout context",
        "Choose another layout or format, or use the variable in a template of yours.",
    ),
    "PF106": Code(
        "warning",
        "control_text: escape finds nothing to escape",
        "The profile lists no control_tokens, so none can be told from ordinary text.",
        "--control-text escape with --profile default",
        "Choose the profile of the LLM's family, or list control_tokens in one of your own.",
    ),
    "PF107": Code(
        "warning",
        "a framing that does not go with the format",
        "A fence is Markdown, escapes are XML, quotes are JSON; tags around a content as it is go with all but JSON, "
        "where asking for them is a note alone.",
        "format: xml, framing: fenced",
        "Say framing: auto, which is the format's own, or tagged; `promptforge list framings` has them all.",
    ),
    "PF110": Code(
        "warning",
        "the budget cannot hold even the frame of the page",
        "What the page prints without any item costs more than there is, so the text is empty.",
        "--max-tokens 1",
        "Raise max_tokens, or choose a layout with less around the items; `promptforge check` measures them.",
    ),
    "PF111": Code(
        "note",
        "items were cut or left out to keep the budget",
        "There is more than fits; the best came first.",
        "20 items into 500 tokens",
        "`promptforge explain` says which budget brings each of them back.",
    ),
    "PF112": Code(
        "note",
        "items past max_items",
        "max_items limits what a search found, however much room there is.",
        "max_items: 10 and 30 items found",
        "Raise max_items, or say `none`.",
    ),
    "PF113": Code(
        "note",
        "found items were left out by combine",
        "With combine: explicit_first, what a search found is shown only where nothing was named.",
        "--doc guide.md and items with origin similarity",
        "`--combine combined` shows both.",
    ),
    "PF114": Code(
        "warning",
        "there were items and none is in the text",
        "All were filtered out, or none fits.",
        "--kinds cod",
        "Read the reasons in the message; `promptforge explain` has them item by item.",
    ),
    "PF115": Code(
        "note",
        "there were no items",
        "The input is empty: a file with no records, a pattern without a match.",
        "[]",
        "Name a file that holds items, or sources with --file, --doc, --man.",
    ),
    "PF116": Code(
        "note",
        "turns of the history were left out",
        "History and context share one window; of a history whole turns go, the oldest first.",
        "a long --history in a small context_window",
        "Raise history_share or context_window, or lower reserve.",
    ),
    "PF117": Code(
        "warning",
        "a part has no place in the prompt",
        "prompt_order does not name it, so it was left out.",
        "prompt_order: [system, question] with items",
        "Name the part in prompt_order.",
    ),
    "PF118": Code(
        "note",
        "an option or a message has no equal in this shape",
        "The provider's shape has nothing to say it with.",
        "--cache-after system --to gemini",
        "Choose another shape, or leave the option out.",
    ),
    "PF119": Code(
        "warning",
        "a part is given and not printed",
        "The templates of the whole prompt leave it out: a loop or a condition in them does not reach it.",
        '{% if part.name == "qestion" %}',
        "Print {{ part.text }} of every part; `promptforge check` marks the template.",
    ),
    "PF120": Code(
        "note",
        "a text is shown once",
        "Another item holds the same text; it notes in its metadata (`also_in`) where the others are from.",
        "two items with the same content",
        "Nothing, if that is meant; dedupe: false shows each.",
    ),
}
