"""Words that programs have in place of those that people ask with.

Three tables: the irregular forms of one word, words of about one meaning, and plain words with the
terms of programs for them. The last leads one way only: who asks for a `visitor` is answered by a
`client`, who asks for a `client` knows the term.
"""

from collections import defaultdict
from functools import cache

from .words import stem

_FORMS = """
arise arose arisen; awake awoke; bear bore borne; beat beaten; become became; begin began begun;
bend bent; bind bound; bite bit bitten; blow blew blown; break broke broken; bring brought;
build built; burn burnt; buy bought; catch caught; choose chose chosen; come came; deal dealt;
dig dug; draw drew drawn; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten;
freeze froze frozen; get got gotten; give gave given; go went gone; grow grew grown; hang hung;
hear heard; hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led; leave left;
lend lent; lie lay lain; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden;
ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent;
shake shook shaken; shoot shot; show shown; shrink shrank shrunk; sink sank sunk; sit sat;
sleep slept; speak spoke spoken; spell spelt; spend spent; stand stood; steal stole stolen;
stick stuck; strike struck; sweep swept; swing swung; take took taken; teach taught; tear tore torn;
tell told; think thought; throw threw thrown; understand understood; wake woke woken;
wear wore worn; win won; wind wound; write wrote written; overwrite overwrote overwritten;
rewrite rewrote rewritten; override overrode overridden; rebuild rebuilt; resend resent;
withdraw withdrew withdrawn; undo undid undone; redo redone; misspell misspelt;
good better best; bad worse worst; far farther further farthest furthest; long longer longest;
short shorter shortest; old older oldest; new newer newest; large larger largest;
big bigger biggest; small smaller smallest; wide wider widest; narrow narrower narrowest;
high higher highest; low lower lowest; deep deeper deepest; near nearer nearest;
close closer closest; fast faster fastest; slow slower slowest; early earlier earliest;
late later latest; great greater greatest; strong stronger strongest; weak weaker weakest;
simple simpler simplest; safe safer safest; cheap cheaper cheapest; rare rarer rarest;
color colour; center centre; neighbor neighbour; behavior behaviour; favor favour; honor honour;
label labelled labelling; cancel cancelled cancelling; travel travelled; model modelled modelling;
signal signalled; catalog catalogue; dialog dialogue; license licence; gray grey; analyze analyse;
serialize serialise; normalize normalise; organize organise; recognize recognise;
optimize optimise; initialize initialise; synchronize synchronise; summarize summarise;
minimize minimise; maximize maximise; customize customise; tokenize tokenise; authorize authorise;
canonicalize canonicalise; capitalize capitalise; finalize finalise; fulfill fulfil;
judgment judgement; program programme; artifact artefact; child children; person people;
index indices; vertex vertices; matrix matrices; datum data; axis axes; half halves; leaf leaves;
life lives; foot feet; mouse mice
"""
_RELATED = """
folder directory dir; folder path; file path filename; delete remove unlink discard drop;
clean cleanup purge prune; picture image photo; sound audio; film video movie;
password secret credential auth token; user account login; wait sleep delay block pause;
slow timeout deadline; remember cache store memo; forget evict expire;
cut truncate shorten trim clip slice; error exception raise fail; complain warn warning;
wide width column; tall high height row; size length large big small bytes;
limit max maximum cap most; least min minimum; number count total amount;
find search lookup locate match; guess infer detect sniff; choose select pick;
change modify update mutate edit; changed mtime modified dirty;
old stale expired outdated previous; new fresh recent; again retry repeat redo;
same equal identical duplicate; differ difference diff; join merge combine concat;
split divide separate partition; keep retain preserve hold; start begin init launch open;
stop end finish close shutdown exit quit; kill terminate signal; send write emit post;
receive read recv accept; get fetch load retrieve; make create build generate construct;
child subprocess process fork spawn; print display show output render; say message log;
format repr; colour color; script program command; address host ip url; table grid frame;
put set assign store; undo restore revert reset rollback; job task; thread worker;
part piece chunk segment block; wrong invalid bad malformed; text string str;
number int float numeric; buffer memory; old age; nested depth recursion recursive;
rotate turn transpose; name identifier label key; environment environ env; variable var;
connection socket conn; answer response reply result; question query request; compare cmp equality;
allowed permit permission forbidden; protect guard secure safe;
sure check verify validate ensure assert; convert transform cast coerce; parse read decode;
encode serialize dump; pack compress zip; unpack decompress extract inflate; copy clone duplicate;
sort order rank; random seed shuffle; time clock date timestamp; language locale translation;
letter character char; word token; upper case capital; line newline; space whitespace blank indent;
empty none null missing; default fallback; option setting config parameter flag argument;
hidden private internal; secret hash digest; sign signature; page document;
link reference url href; header heading title; body content payload; comment docstring note;
list array sequence; dictionary dict mapping map; tree node; graph edge; parent ancestor base;
child descendant subclass; many several multiple batch bulk; few single one; first head top front;
last tail bottom end; middle center centre; lock mutex exclusive; share shared; queue pool;
listen subscribe handler callback hook event; notify trigger emit fire; database sql db;
row record entry; column field attribute; index position offset; network socket http;
web browser client; server host; test check spec; install setup package; version release;
dependency import require; terminal console tty shell; keyboard key input; mouse pointer cursor;
window screen view; button widget; width size; speed fast rate throughput; measure time metric;
average mean; round precision decimal; divide ratio fraction; ignore skip exclude omit;
include add append insert; replace substitute swap; enable on; disable off; visible show;
hide hidden; overwrite replace; temporary temp tmp; permanent persist save; backup copy
"""
_PLAIN = """
visitor: client user request session; guest: user anonymous; customer: user client;
website: url host http; site: url host; homepage: index root; browser: agent client http;
robot: agent bot crawler; crawler: bot agent; phone: mobile device;
bring: load fetch include import; carry: hold pass transport; throw: discard drop evict raise;
travel: send transport serialize pickle marshal; trip: request roundtrip; deliver: send dispatch;
hand: pass give send; swap: exchange replace; borrow: acquire checkout lease; lend: lease share;
alike: similar ratio equal same; similar: ratio distance close; likeness: similarity ratio;
propose: suggest hint; suggest: hint close; advise: suggest hint warn; hint: suggest;
misspell: typo similar close suggest; typo: similar close suggest; spell: name;
complain: warn error raise; complaint: error warn message; mistake: error exception;
fault: error exception; trouble: error exception; problem: error issue;
failure: error exception fail; crash: exception abort fatal signal; broken: invalid corrupt error;
damage: corrupt truncate invalid checksum; spoil: corrupt overwrite race; rot: stale corrupt;
tiny: small min; enormous: large huge max limit bomb; huge: large max limit; much: limit size count;
often: interval frequency count limit; long: timeout length duration max limit;
soon: delay timeout immediate; patience: timeout retry; second: timeout delay interval seconds;
minute: timeout interval seconds; hour: timeout seconds; day: seconds days; week: days seconds;
stick: deadlock hang timeout block; hang: deadlock timeout block; halt: stop abort;
asleep: idle sleep; idle: inactive timeout; unused: idle; awake: active alive;
alive: ping heartbeat; login: session authenticate; logged: login session; stay: keep persist;
stranger: untrusted; twice: duplicate repeat again second confirm; double: duplicate twice;
once: first unique; repeat: retry loop duplicate; anew: again retry reload refresh;
fresh: new reload; type: input enter; enter: input prompt; ask: prompt request query;
question: prompt; keyboard: interrupt input; ctrl: interrupt signal sigint;
interrupt: sigint signal keyboard; pipe: epipe sigpipe; disk: file filesystem storage;
drive: disk path; place: location path position; lie: location path; yesterday: previous last saved;
before: previous prior; earlier: previous prior; past: previous history; today: now current;
later: after next defer; current: now latest; newer: latest upgrade version;
outdated: stale version upgrade; ancient: old legacy deprecated; legacy: deprecated compat;
old: legacy deprecated; weak: insecure deprecated; modern: new; protection: limit guard check safe;
attack: unsafe limit guard hostile; danger: unsafe security; dangerous: unsafe security;
hostile: untrusted malicious unsafe; harmful: unsafe malicious;
harmless: escape safe quote sanitize; trick: spoof guard; forge: spoof csrf; thief: security;
trust: verify safe; certificate: ssl tls cert; encryption: tls ssl cipher; encrypt: cipher;
decrypt: decipher; lock: acquire; key: lock; fingerprint: hash digest; checksum: hash digest sha;
unpack: decompress extract inflate; packed: compress; shrink: compress reduce resize; swell: grow;
ending: suffix extension; extension: suffix; beginning: prefix start head; begin: prefix startswith;
end: suffix endswith; known: detect registered; notice: detect check; discover: detect find;
recognize: detect match; distinguish: detect differ; learn: detect train fit; sniff: peek;
cover: mask hide; disguise: mask obfuscate; blur: gaussian smooth; veil: mask;
form: format encoding; manner: mode strategy; way: method strategy mode; style: mode format;
busy: limit concurrency overload capacity; crowded: limit capacity; overload: limit retry capacity;
crowd: limit many concurrency; full: capacity limit overflow; burst: rate limit; hurry: fast;
serve: handle server connection; answer: return; reply: response; talk: send message protocol;
conversation: session chat; chat: message conversation; greet: hello handshake; handshake: hello;
together: join merge combine; apart: separate split delimiter; separate: boundary delimiter;
between: boundary separator; border: boundary edge margin; edge: boundary margin;
gap: space padding; margin: padding; corner: edge; inside: contains nested;
outside: beyond boundary; picture: pixel bitmap; photo: exif image pixel;
upright: orientation rotate transpose; camera: exif orientation; mirror: flip transpose;
flip: reverse transpose; sharp: filter; screen: terminal display; middle: truncate ellipsis;
omit: truncate skip; left: skip remain; shorten: ellipsis; dots: ellipsis; rest: remain remainder;
leftover: remain remainder; sheet: excel worksheet; spreadsheet: excel sheet worksheet cell;
chart: plot; curve: plot; side: left right; overlap: intersect conflict;
clash: conflict collision duplicate; collision: conflict duplicate; collide: conflict duplicate;
quarrel: conflict; meet: intersect; truth: bool; yes: true enable; no: false disable;
doubt: ambiguous; ambiguous: error; note: record log; write: save dump; diary: log history;
memory: cache buffer; trace: log stack; forget: clear; exist: defined undefined resolve;
mention: reference name; point: reference pointer; neighbor: adjacent adj; adjacent: neighbor;
shortest: path distance; road: path edge; network: graph flow edge; flow: capacity;
unlimited: infinite unbounded; infinite: inf unbounded; endless: infinite loop limit;
forever: infinite loop; circle: cycle recursion; loop: cycle; deep: depth recursion level;
floor: level; step: iteration level skip; stair: level; equal: eq hash; copied: deepcopy clone;
mutable: copy default; unchanged: same modified; demand: require expected; expect: require;
wrong: mismatch; mismatch: expected; download: fetch get; upload: put post push; success: pass ok;
succeed: pass ok; fine: ok; catch: capture except; prints: stdout stream; print: stdout write;
simultaneous: concurrent parallel; parallel: concurrent thread worker; crew: pool worker;
helper: util worker; colleague: worker peer; boss: master parent main; servant: worker daemon;
background: daemon thread async; blocking: sync thread; turn: order queue reject rotate;
queue: pending backlog; wait: pending; pause: suspend throttle; backoff: retry delay exponential;
throttle: rate limit; backup: copy; pass: skip; jump: skip seek; leap: skip;
rubbish: garbage trash gc; garbage: gc collect; tidy: clean purge; trash: garbage delete;
waste: unused garbage; host: resolve dns; telephone: dial; letter: char alpha;
digit: isdigit number; sign: symbol char; mark: flag marker sentinel; grade: score rank;
scale: normalize range; hit: result match; rank: score sort; best: score max relevance; worst: min;
winner: best priority; win: priority; top: header; foot: footer bottom; chapter: section;
sentence: text; paragraph: block; ancestor: base parent mro; descend: subclass;
inherit: base parent mro; family: hierarchy; sibling: neighbor; twin: duplicate copy;
heir: subclass; grandparent: ancestor; source: code; state: revision version; touch: modify;
revision: commit ref version; part: module component; box: container frame; bag: set container;
shelf: storage; rule: policy pattern; law: rule policy; forbid: disallow deny reject;
allow: accept permit; refuse: reject deny raise; reject: deny raise; blame: cause error;
reason: cause why; cause: reason; excuse: reason ignore; forgive: ignore suppress tolerate;
translate: convert map; meaning: semantics; alias: name; nickname: alias; title: heading; cut: wrap;
fold: wrap; break: wrap split; wrap: fold; glue: join; stitch: join merge; nothing: none empty;
teach: train; forecast: predict; spread: std variance; weigh: weight; heavy: weight large;
cost: weight price; price: cost; money: currency; cheap: cost; draw: render plot paint;
paint: draw render; shade: color gradient; loud: volume verbose; silent: quiet suppress;
quiet: silent suppress; noise: verbose random; talkative: verbose; mail: smtp message email;
postman: smtp; sender: from; recipient: to; lose: drop missing close disconnect;
lost: drop missing close; disconnect: close lost; vanish: close delete lost missing;
gone: close remove delete missing; away: close remove; safely: atomic lock; halfway: partial atomic;
race: lock atomic; partial: incomplete; startup: init boot launch; environment: environ;
surroundings: env; home: expanduser dir; machine: host platform; computer: host platform;
system: platform os; windows: win32 nt; mac: darwin; linux: posix; benchmark: timing;
stopwatch: timer; clock: monotonic; calendar: date; century: year; midnight: date;
zone: tz utc timezone; anniversary: date; birthday: created date; age: created expire ttl;
lifetime: ttl expire; expire: ttl; born: created init; die: exit kill; death: exit del;
dead: closed killed; ghost: zombie orphan; orphan: parent; zombie: wait reap; luck: random;
dice: random; chance: probability random; guess: heuristic; toss: random; understand: parse;
misunderstand: ambiguous; explain: describe help; describe: info help; help: usage doc;
manual: doc help; example: sample; hidden: internal; secretly: private silent
"""


@cache
def _table() -> dict[str, frozenset[str]]:
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    forms = _groups(_FORMS)
    for terms in (*forms, *_groups(_RELATED)):
        for term in terms:
            found[term] |= terms
    for entry in _PLAIN.split(";"):
        asked, _, written = entry.partition(":")
        found[stem(asked.strip())] |= frozenset(map(stem, written.split()))
    # `thrown` is answered by what answers `throw`.
    for terms in forms:
        together = frozenset[str]().union(*(found[term] for term in terms))
        found.update(dict.fromkeys(terms, together))
    return dict(found)


def _groups(table: str) -> list[frozenset[str]]:
    return [frozenset(map(stem, group.split())) for group in table.split(";")]


def related_terms(term: str) -> frozenset[str]:
    """Return the terms that programs may have in place of one, itself among them.

    Example: for `slow` these are `slow`, `timeout`, `deadlin` and more.
    """
    return _table().get(term, frozenset()) | {term}
