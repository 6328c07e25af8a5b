"""What records and the contents in them make a rendering say: PF2xx and PF3xx."""

from __future__ import annotations

from .code import Code

CODES = {
    "PF201": Code(
        "warning",
        "a key of a record is unknown, missing or no text",
        "An unknown key is kept as metadata; what is missing is taken from what is there.",
        '{"content": "…", "scroe": 0.9}',
        "Correct the key; the message names the nearest one.",
    ),
    "PF202": Code(
        "warning",
        "a value of a record is of another type or range",
        "It was read as well as it could be, or left out.",
        '{"content": "…", "start_line": "three"}',
        "Write the type that the message names.",
    ),
    "PF203": Code(
        "warning",
        "metadata had to be made plain",
        "Metadata holds texts, numbers, lists and mappings; anything else was written as text or left out.",
        "a date in YAML metadata of Python objects",
        "Give plain values.",
    ),
    "PF204": Code(
        "warning",
        "a record was left out",
        "It cannot become an item, such as one with neither content nor summary.",
        '{"contnt": "…"}',
        "Correct the record; the message names file, line and field.",
    ),
    "PF205": Code(
        "warning",
        "front matter cannot be read",
        "The lines between --- and --- at the head of a document are no YAML, so they stay in its text.",
        "---\ntitle: a: b\n---",
        "Correct the YAML; texts with a colon go into quotes.",
    ),
    "PF206": Code(
        "warning",
        "a name or a piece of metadata was cut",
        "A label longer than 2,000 characters is no label.",
        "a whole file as an item's name",
        "Put long text into content or summary.",
    ),
    "PF207": Code(
        "note",
        "several items have the same id",
        "Accounts of the result cannot tell them apart.",
        'two records with "id": "a"',
        "Give each item an id of its own, or none.",
    ),
    "PF208": Code(
        "warning",
        "a message of the history could not be read",
        "It, or what of it cannot be carried over, was left out; the others stay.",
        '{"role": "user", "content": [{"type": "image"}]}',
        "Correct the message that is named.",
    ),
    "PF209": Code(
        "warning",
        "a call of a tool without its result, or a result without its call",
        "Providers refuse one without the other, so it was left out.",
        '{"role": "tool", "tool_call_id": "gone", "content": "7"}',
        "Give both, the result right after the call.",
    ),
    "PF210": Code(
        "warning",
        "a language is no tag of a fence",
        "A tag of a fence has letters, digits and _ + # . - alone, at the most 40; with anything else it has none.",
        '{"content": "…", "language": "c sharp"}',
        "Write the language as one word.",
    ),
    "PF211": Code(
        "warning",
        "an object of JSON has a key twice",
        "The last of the values is taken; other readers take the first, or refuse the file.",
        '{"content": "…", "content": "…"}',
        "Take one out.",
    ),
    "PF301": Code(
        "warning",
        "a file is not UTF-8 text",
        "Bytes that are no text were replaced.",
        "a file in Latin-1",
        "Save the file as UTF-8.",
    ),
    "PF302": Code(
        "warning",
        "characters were replaced by U+FFFD",
        "Half of a surrogate pair, NUL, or what XML cannot carry.",
        "a NUL character in a content",
        "Nothing, or clean the source.",
    ),
    "PF303": Code(
        "warning",
        "carriage returns became line ends",
        "A carriage return without a line feed moves the cursor back and hides what stood there.",
        "progress bars in a log",
        "Nothing, or clean the source.",
    ),
    "PF304": Code(
        "warning",
        "lines were prefixed in plain text",
        "A line of content that could be taken for a line of the template begins with `| `, such a value with `\\`.",
        "a content with the line `--- Code ---`",
        "Nothing; or use markdown or xml, where no prefix is needed.",
    ),
    "PF305": Code(
        "warning",
        "every line was prefixed in Markdown",
        "Runs of both fence marks are so long that no fence outdoes them.",
        "10,000 backticks and 10,000 tildes",
        "Nothing, or leave the item out.",
    ),
    "PF306": Code(
        "warning",
        "contents could not be kept between tags as they are",
        "The word in the tags is in no text by itself; yet a template or a filter put one together out of several.",
        "{{ item.metadata.a }}{{ item.metadata.b }} in plain text, with `<content-k41` and `7082>`",
        "Put a blank between two values in the template; the text was made with the format's own framing.",
    ),
}
