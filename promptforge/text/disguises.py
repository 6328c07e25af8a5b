"""Disguises of a line: an eye sees through case, width, unseen characters and look-alikes.

`fold` is for comparing, never for printing: `Source`, `ＳＯＵＲＣＥ` and `Ѕоurсе` fold alike.
The table of look-alikes is data of Unicode; its licence is beside it, in `LICENSE-unicode.txt`.
"""

from __future__ import annotations

import re
import unicodedata

from .escape import INVISIBLE_CHARACTER

LINE_END_CHARACTERS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""Anything that a reader may take for a line end, as the inside of a character class."""
UNUSUAL = re.compile("[^\t\n\r\x20-\x7e]")
"""All but the visible characters of ASCII, the usual line ends and tab."""
_LINE_END = re.compile(f"[{LINE_END_CHARACTERS}]").match
LONG_S = "ſ"
"""It looks like an f and is an s, so it folds to itself."""
MAX_CHARACTERS_REMEMBERED = 50_000
# A character of ASCII, then all that look like it: Unicode Technical Standard #39, confusables.txt
# of Unicode 15.1, without those that NFKC folds.
_TABLE = r"""
! ǃⵑ
& ꝸ
' ´ʹʻʼʽʾˈˊˋ˴ʹ΄՚՝י׳ߴߵᑊᛌ᾽᾿´῾‘’‛′‵ꞌ𖽑𖽒
( ❨❲〔﴾
) ❩❳〕﴿
* ٭⁎∗𐌟
+ ᛭➕𐊛
, ¸؍٫‚ꓹ
- ˗۔‐‑‒–⁃−➖Ⲻ﹘
. ٠۰܁܂ꓸ꘎𐩐𝅭
/ ᜵⁁⁄∕╱⟋⧸Ⳇ⼃〳ノ㇓丿𝈺
2 ƧϨᒿꙄꛯꝚ
3 ƷȜЗӠⳌꝪꞫ𑣊𖼻𝈆
4 Ꮞ𑢯
5 Ƽ𑢻
6 бᏮⳒ𑣕
7 𐓒𑣆𝈒
8 Ȣȣ৪੪ଃ𐌚𞣋
9 ৭੧୨൭ⳊꝮ𑢬𑣌𑣖
: ː˸։׃܃܄ःઃ᛬᠃᠉⁚∶ꓽ꞉
< ˂ᐸᚲ‹❮𝈶
= ᐀⹀゠꓿
> ˃ᐳ›❯𖼿𝈷
? ɁʔॽᎮꛫ
\ ∖⟍⧵⧹⼂㇔丶𝈏𝈻
^ ˄ˆ
_ ߺ
a ɑΑαАаᎪᗅ⍺ꓮ𐊠𖽀𝚨𝛂𝛢𝛼𝜜𝜶𝝖𝝰𝞐𝞪
b ƄΒВЬᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁𝚩𝛣𝜝𝝗𝞑
c ϲϹСсᏟᴄⲤⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌
d ԁᎠᏧᑯᗞᗪꓒꓓ
e ΕЕеҽᎬ℮⋿ⴹꓰꬲ𐊆𑢦𑢮𝚬𝛦𝜠𝝚𝞔
f ϜքᖴẝꓝꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂𝈓𝟊
g ƍɡԌցᏀᏳᶃꓖ
h ΗНһհᎻᏂᕼⲎꓧ𐋏𝚮𝛨𝜢𝝜𝞖
i ıɩɪ˛ͺιіӏᎥι⍳ꙇꭵ𑣃𝚤𝛊𝜄𝜾𝝸𝞲
j ͿϳЈјᎫᒍꓙꞲ
k ΚКᏦᛕⲔꓗ𐔘𝚱𝛫𝜥𝝟𝞙
l ƖǀΙІӀ׀וןا١۱ߊᏞᒪᛁ∣⏽ⲒⳐⵏꓡꓲﺍﺎ￨𐊊𐌉𐌠𐐛𐔦𑢣𑢲𖼖𖼨𝈪𝚰𝛪𝜤𝝞𝞘𞣇𞸀𞺀
m ΜϺМᎷᗰᛖⲘꓟ𐊰𐌑𝚳𝛭𝜧𝝡𝞛
n ΝոռⲚꓠ𐔓𝚴𝛮𝜨𝝢𝞜
o ΟοσОоՕօסه٥ھہە۵߀०০੦૦ଠ୦௦ం౦ಂ೦ംഠ൦ං๐໐ဝ၀ჿዐᴏᴑⲞⲟⵔ〇ꓳꬽﮦﮧﮨﮩﮪﮫﮬﮭﻩﻪﻫﻬ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠𝚶𝛐𝛔𝛰𝜊𝜎𝜪𝝄𝝈𝝤𝝾𝞂𝞞𝞸𝞼𞸤𞹤𞺄
p ΡρϱРрᏢᑭ⍴Ⲣⲣꓑ𐊕𝚸𝛒𝛠𝛲𝜌𝜚𝜬𝝆𝝔𝝦𝞀𝞎𝞠𝞺𝟈
q ԛգզⵕ
r ƦгᎡᏒᖇᴦⲅꓣꭇꭈꮁ𐒴𖼵𝈖
s ƽЅѕՏᏕᏚꓢꜱꮪ𐊖𐐠𐑈𑣁𖼺
t ΤТᎢ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊𝚻𝛵𝜯𝝩𝞣🝨
u ʋυՍսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓎𐓶𑢸𑣘𖽂𝛖𝜐𝝊𝞄𝞾
v νѴѵט٧۷Ꮩᐯᴠ∨⋁ⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈𝈍𝛎𝜈𝝂𝝼𝞶
w ɯѡԜԝաᎳᏔᴡꓪꮃ𑜊𑜎𑜏𑣦𑣯
x ×ΧХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬𝚾𝛸𝜲𝝬𝞦
y ɣʏΥγϒУуҮүყᎩᎽᶌỿℽⲨꓬꭚ𐊲𑢤𑣜𖽃𝚼𝛄𝛶𝛾𝜰𝜸𝝪𝝲𝞤𝞬
z ΖᏃᴢꓜꮓ𐋵𑢩𑣄𑣥𝚭𝛧𝜡𝝛𝞕
{ ❴𝄔
} ❵
~ ˜῀⁓∼
"""
LOOK_ALIKES = {char: row[0] for row in _TABLE.strip("\n").split("\n") for char in row[2:]}
"""Characters that look like one of ASCII, each with that one."""
_MORE = {"-": "─━╌╍┄┅┈┉ー㇐ㅡ一", "=": "═", "'": "“”„‟″‶❝❞", "|": "│┃║", ":": "︰"}
_TO_ASCII = LOOK_ALIKES | {char: shown for shown, chars in _MORE.items() for char in chars}
# Letters that the table leaves out: small capitals, those with a stroke or hook, in circles, flags.
_NAMED_LETTER = re.compile(
    r"(?:LATIN (?:(?:CAPITAL|SMALL) )?LETTER (?:SMALL CAPITAL )?|REGIONAL INDICATOR SYMBOL LETTER "
    r"|(?:CROSSED )?(?:NEGATIVE )?(?:SQUARED|CIRCLED|PARENTHESIZED) LATIN (?:CAPITAL|SMALL) "
    r"LETTER )([A-Z])(?: WITH .*)?"
).fullmatch
# Letters and digits of ASCII that are one to the eye: `FI1E` is `File`. One character becomes one
# or none, so the interpreter folds a text of ASCII in one pass.
_ASCII = str.maketrans('ABCDEFGHIJKLMNOPQRSTUVWXYZi1|0"`', "abcdefghljklmnopqrstuvwxyzlllo''")
_BLANKS = "\t\u115f\u1160\u2800\u3164\uffa0"  # fillers of Hangul and Braille show as blanks
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Mn"}
_OVERSTRIKES = ("\b", "\x1b", "\x9b")
# Sequences that color a terminal's text, and letters that the next one overprints.
_OVERSTRUCK = re.compile(
    rf"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[^\[{LINE_END_CHARACTERS}]|[^{LINE_END_CHARACTERS}]\x08"
)
RIGHT_TO_LEFT = "\u202e"
_BACKWARDS = re.compile(f"{RIGHT_TO_LEFT}([^\u202c{LINE_END_CHARACTERS}]*)\u202c?")
_MIRRORED = str.maketrans("()<>[]{}", ")(><][}{")


def fold(text: str) -> str:
    """Return a text as the eye takes it, or a tokenizer that normalizes its text.

    It has no case, no unseen characters and no marks on letters. Look-alikes and wide letters are
    those of ASCII, every blank is a space, and every line end is a line feed.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if any(char in text for char in _OVERSTRIKES):
        text = _OVERSTRUCK.sub("", text)
    if text.isascii():
        return text.translate(_FOLDED_CODES)
    # Most lines of most texts are ASCII.
    return "\n".join(
        line.translate(_FOLDED_CODES) if line.isascii() else "".join(map(_FOLDED.__getitem__, line))
        for line in text.split("\n")
    )


def displayed(line: str) -> str:
    """Return a line as it is shown where U+202E makes a part of it run backwards."""
    return _BACKWARDS.sub(lambda found: found[1][::-1].translate(_MIRRORED), line)


class _Folded(dict[str, str]):
    """Character → its folded text, made when first met."""

    def __missing__(self, char: str) -> str:
        folded = _fold_character(char)
        if len(self) < MAX_CHARACTERS_REMEMBERED:
            self[char] = folded
        return folded


def _fold_character(char: str) -> str:
    if _LINE_END(char):
        return "\n"
    category = unicodedata.category(char)
    if category == "Zs" or char in _BLANKS:
        return " "
    if category in _UNSEEN_CATEGORIES or INVISIBLE_CHARACTER.match(char):
        return ""
    if category == "Lo" and char not in _TO_ASCII and not unicodedata.decomposition(char):
        return char  # most characters of Unicode
    return _fold_visible(char, category)


def _fold_visible(char: str, category: str) -> str:
    if char.isascii():
        return char.translate(_ASCII)
    # In small letters some look like their capitals: т, н, к.
    for letter in (char, char.lower(), char.upper()):
        if look := _TO_ASCII.get(letter):
            return look.translate(_ASCII)
    if category == "Pd":
        return "-"
    if named := _NAMED_LETTER(unicodedata.name(char, "")):
        return named[1].translate(_ASCII)
    parts = unicodedata.normalize("NFKD", char)
    if parts == char:
        parts = char.casefold()
    # Of a wide letter, or one with a mark, the plain one may be a look-alike.
    return parts if parts == char else "".join(map(_fold_character, parts))


_FOLDED = _Folded({LONG_S: LONG_S})
_FOLDED_CODES = {code: _FOLDED[chr(code)] or None for code in range(128)}
