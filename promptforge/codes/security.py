"""What could deceive a reader, an LLM or a program: PF7xx."""

from __future__ import annotations

from .code import Code

CODES = {
    "PF701": Code(
        "warning",
        "an item tries to pass for something else",
        "A link that leads out of the workspace, or a name with characters that hide or turn it.",
        "a file name with U+202E",
        "Look at the item; the text shows such characters as escapes.",
    ),
    "PF702": Code(
        "note",
        "invisible or direction-changing characters are in a content",
        "A reader does not see what an LLM reads.",
        "U+200B between letters",
        "Look at the item; contents are not changed.",
    ),
    "PF703": Code(
        "note",
        "terminal control characters are in a content",
        "They could move the cursor of a terminal on which the text is printed.",
        "colours in a log",
        "Look at the item, or strip the colours.",
    ),
    "PF704": Code(
        "warning",
        "control tokens were written apart",
        "A server may read such a spelling out of text, so a backslash stands in it.",
        "<|im_start|> in a document, with --profile qwen",
        "Look at the item; `control_text: keep` leaves it as it is.",
    ),
    "PF705": Code(
        "warning",
        "a control token was left on the page",
        "It comes about where two texts meet, and the syntax has no place for a backslash there.",
        "an XML tag that a template puts together of two fields",
        "Put something between the two fields in the template.",
    ),
    "PF706": Code(
        "warning",
        "templates or profiles came with the project and were not used",
        "They may be somebody else's, so they wait until the user has seen them.",
        "a cloned repository with .promptforge/templates",
        "`promptforge trust` lists them and lets them be used.",
    ),
    "PF707": Code(
        "note",
        "a content holds what some LLMs are told of turns or tools by",
        "It is ordinary text here. A server that reads such spellings out of text would begin a turn there.",
        "<|im_start|> in a document, with control_text: keep",
        "Look at the item; `control_text: escape` with the profile of the LLM's family writes its tokens apart.",
    ),
    "PF710": Code(
        "warning",
        "a part imitates a tag of the prompt's frame",
        "The frame's own tags carry a word then that is in no part.",
        "</user-message> in a document",
        "Nothing is to be done; look at the item if it comes from outside.",
    ),
}
