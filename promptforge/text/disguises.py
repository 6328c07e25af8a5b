"""Disguises of a line: unseen characters, look-alikes, wide letters and unusual blanks.

The table of look-alikes is data of Unicode; its licence is beside it, in `LICENSE-unicode.txt`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import NamedTuple

from .escape import INVISIBLE_CHARACTER

UNUSUAL = re.compile("[^\t\n\r\x20-\x7e]")
"""All but the visible characters of ASCII, the usual line ends and tab."""
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


class _Patterns(NamedTuple):
    look_alike: re.Pattern[str]
    unseen: re.Pattern[str]
    """Characters without a width: unseen ones but tab and line ends, and marks on letters."""
    blank: re.Pattern[str]


@functools.cache
def _patterns() -> _Patterns:
    """Return the patterns, compiled when the first unusual text comes."""
    # A class with a character past U+FFFF would be searched one by one, a hundred times slower.
    alike = re.escape("".join(char for char in LOOK_ALIKES if char <= "\uffff"))
    unseen = INVISIBLE_CHARACTER.pattern.replace(
        "\x00-\x1f\x7f-\x9f", "\x00-\x08\x0e-\x1b\x1f-\x1f\x7f-\x84\x86-\x9f"
    )
    unseen = unseen.replace("\u2028-\u202e", "\u202a-\u202e")
    marks = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
    return _Patterns(
        re.compile(f"[{alike}]|[\U00010000-\U0010ffff]"),
        re.compile(unseen.replace("]", marks)),
        re.compile("[\t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]"),
    )


def unmask(text: str) -> str:
    """Return a text as the eye takes it, or a tokenizer that normalizes its text.

    It has no unseen characters and no marks on letters; look-alikes and wide letters are those of
    ASCII, and every blank is a space. Its line ends stay, so it has the same lines.
    """
    if UNUSUAL.search(text) is None:
        return text
    look_alike, unseen, blank = _patterns()
    for _ in range(2):  # of a wide letter, or one with a mark, the plain one may be a look-alike
        text = look_alike.sub(lambda found: LOOK_ALIKES.get(found[0], found[0]), text)
        text = unseen.sub("", unicodedata.normalize("NFKD", text))
    return blank.sub(" ", text)
