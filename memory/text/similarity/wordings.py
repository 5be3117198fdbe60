"""Wordings with room in them, each with the one that it is compared in: "no entry without a badge" is "entry needs it".

Data alone. A line is ``result = form / form``. In a form ``a|b`` is either word, ``a?`` may be missing, and behind
``a,`` there may be a comma. ``{x}`` is a noun with what belongs to it, ``{x:name}`` a name, ``{x:value}`` a value,
``{x:word}`` one word, ``{x:rest}`` whatever there is. In a result ``{x's}`` owns what follows, and of ``{x:base}`` and
``{x:ing}`` the first word is a verb without an ending or with that one.
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from dataclasses import dataclass

from memory.text.similarity.values import DEMONYMS
from memory.text.similarity.words import NEGATIONS, STOP

# Looked for before set phrases are: "is required to" is "must" elsewhere. Of ``~`` lines either may be ``a``.
FIRST = """
{r:base} needs {x} = a|an {x:thing} is needed|necessary|essential to|for {r:rest}
    / a|an {x:paper} is required to {r:rest} / a|an {x:thing} is required for {r:rest}
    / {x:thing} are needed|necessary|required for {r:rest} / {x:thing} is required|needed|necessary for {r:rest}
    / {x:thing} are needed|necessary to {r:rest}
{r:base} needs {x} = you|one|everyone|everybody|anyone need|needs|require {x:thing} to|for {r:rest}
    / to {r:rest}, you|one need|needs|require {x:thing} / you|one must have {x:thing} to {r:rest}
    / {r:gerund} requires|needs {x:thing} / {r:gerundial} requires|needs {x:thing}
{r:base} needs {x} = without {x}, you|one|nobody can|may not? {r:rest}
    / you|one|nobody|customers can|may|could not? {r:rest} without {x}
{s} needs {x} to {r} = {s} can|may not {r:rest} without {x} / without {x}, {s} can|may not {r:rest}
{r:ing} is allowed = it is allowed|permitted to {r:verbal} / it is not forbidden|prohibited to {r:verbal}
{r:ing} is forbidden = it is forbidden|prohibited to {r:verbal} / it is not allowed|permitted to {r:verbal}
{r:ing} is {a} = it is {a:adjective} to {r:rest}
{r:ing} {x} is {a} = {x} is|are {a:easy} to {r:word}
we {v} {y} with {x} = we use {x:name} to {v:word} {y}
no {x} left = we have run|ran out of {x} / we ran|are out of {x} / there is|are no {x} left
    / there is|are no more {x} / no {x} is|are left
{x's} phone is {v} = {x} can be reached at|on|under {v:phone} / {x} is reachable at|on|under {v:phone}
    / you can reach {x} at|on|under {v:phone} / {x} can be reached by phone at|on|under {v:phone}
{x's} email is {v} = {x} can be reached at|under|by {v:email} / {x} is reachable at|under {v:email}
    / you can reach {x} at|under {v:email} / write|email to? {x} at {v:email}
~{a} is married to {b} = {a's:name} husband|wife|spouse is {b:name} / {b:name} is {a's:name} husband|wife|spouse
    / {b:name} is the husband|wife of {a:name} / {a:name} is married to {b:name} / {a:name} and {b:name} are married
    / {a:name} and {b:name} are husband and wife
{x} is {y's} parent = {y:name} is {x's:name} son|daughter|child / {x:name} is {y's:name} father|mother|parent
    / {x:name} is the father|mother|parent of {y:name} / {y's:name} father|mother is {x:name}
    / {y:name} is the son|daughter|child of {x:name}
{x} is {y's} doctor = {y:name} is a patient of {x:name} / {y:name} is {x's:name} patient
{x} is {y's} teacher = {y:name} is a student|pupil of {x:name} / {y:name} is {x's:name} student|pupil
{x} is {y's} landlord = {y:name} is a tenant of {x:name} / {y:name} is {x's:name} tenant
{b} sold {x} to {a} = {a} bought|purchased {x} from {b:name} / {b} sold {a:name} {x:determined}
{b} lent {x} to {a} = {a} borrowed {x} from {b:name} / {b} lent {a:name} {x:determined}
{b} gave {x} to {a} = {a} got|received {x} from {b:name} / {b} gave {a:receiver} {x:determined}
{b} taught {x} to {a} = {a} learned|learnt {x} from {b:name}
{s} {v} {x} to {a} = {s} {v:giving} {a:receiver} {x:determined}
{x} is south of {y} = {y} is north of {x}
{x} is west of {y} = {y} is east of {x}
{x} is below {y} = {y} is above {x}
{x} is behind {y} = {y} is in front of {x}
~{a} is near {b} = {a} is near {b} / {a} is close to {b} / {a} is not far from {b} / {a} is in the vicinity of {b}
    / {b} is nearby {a}
~{a} is next to {b} = {a} is right? next to {b} / {a} is beside {b} / {a} is adjacent to {b}
    / {a} and {b} are next to each other
~{a} is opposite {b} = {a} is opposite {b} / {a} is across from {b} / {a} is across the street|road from {b}
    / {a} is directly opposite {b}
~{a} sits next to {b} = {a:name} sits next to {b:name} / {a:name} and {b:name} sit next to each other
~{a} and {b} share {x} = {a:name} shares a|an|the {x:shared} with {b:name}
    / {a:name} and {b:name} share a|an|the {x:shared}
~{a} and {b} live together = {a:name} lives with {b:name} / {a:name} and {b:name} live together
~{a} and {b} met {r} = {a:name} met {b:name} {r:place} / {a:name} and {b:name} met {r:place}
~{a} and {b} are siblings = {a:name} is {b's:name} brother|sister|sibling
    / {a:name} is the brother|sister of {b:name}
~{a} and {b} are cousins = {a:name} is {b's:name} cousin / {a:name} is the|a cousin of {b:name}
~{a} and {b} are colleagues = {a:name} is {b's:name} colleague / {a:name} is a colleague of {b:name}
~{a} and {b} are friends = {a:name} is {b's:name} friend / {a:name} is a friend of {b:name}
~{a} and {b} are neighbours = {a:name} is {b's:name} neighbour|neighbor
    / {a:name} is a neighbour|neighbor of {b:name}
{n} is a member of the {x} = {n:name} sits|is on the {x:body} / {n:name} is a|an {x:body} member
{x} has {v} inhabitants = {v:value} people live in {x}
{x} is fixed in version {v} = version|release {v:value} fixes {x}
{x} is licensed under {y} = {x} has a|an {y:licence} licence|license / {x} uses the {y:licence} licence|license
    / the licence|license of {x} is {y:licence}
{n} joined {x} = {n} started|began at {x:name} / {n} started|began working at|for {x}
{x} comes before {y} = {y} comes after {x} / {x} precedes {y}
{x} {r} = it is {x:known} who|that {r:rest} / {x} is the one who|that {r:rest}
    / the one|person who|that {r:rest} is {x:name}
only {x} {r} = {x} is the only one|person who|that|to {r:rest} / the only one|person who|that {r:rest} is {x:name}
{x} {v} {y} = what {x} {v:wanting} is {y}
keep {x} {a} = leave {x} {a:state}
{y} holds {v} {x} = {y} has|have room|space|capacity for {v:value} {x:word}
    / there is room|space for {v:value} {x:word} in {y} / {y} can hold|accommodate|seat {v:value} {x:word}
    / {y} accommodates|fits {v:value} {x:word} / {v:value} {x:word} fit in|into {y}
    / {y} is big|large enough for {v:value} {x:word}
{y} has {v} seats = {y} seats {v:value} people|guests?
{y} sleeps {v} = {y} has beds for {v:value} people|guests? / {y} sleeps {v:value} people|guests
the {x} has {v} {u:many} = it is a|an {v:value} {u:counting} {x}
the {x} lasts {v} {u} = it is a|an {v:value} {u:span} {x}
the {x} lasts {c} = it is a|an {c:compound} {x}
{x} pays for {y} = {y} costs is|are paid|borne|covered by {x} / {y} is|are paid for by {x} / {y} is|are borne by {x}
    / {x} covers|bears the cost|costs of {y} / {x} bears {y} costs|cost
{y} is accepted in {x} = {y:cash} is|are accepted|taken in|at {x} / {x} accepts|takes {y:cash}
{y} is allowed in {x} = {y:plain} is|are allowed|permitted in|at {x} / {y:admitted} is|are welcome in|at {x}
    / {x} allows|permits {y:plain} / {x} welcomes|accepts {y:admitted}
{s} {v:deed} {r} = {s:subject} {v:going} for a {d:outing} {r:object}
    / {s:subject} {v:placing} an {d:ordering} for {r:object} / {s:subject} {v:making} a|an {d:made_of} of {r:object}
    / {s:subject} {v:doing} a|an|the {d:done_of} of {r:object}
{s} {v:deed} to {r} = {s:subject} {v:making} a|an {d:made_to} to {r:object}
{s} {v:deed} = {s:subject} {v:making} a|an {d:made}
"""
# Looked for in what set phrases have left.
THEN = """
{r:base} needs {x} = no {r:rest} without {x} / without {x}, no {r:rest}
    / {r:rest} is|are possible|allowed only with {x} / {r:rest} is|are only possible|allowed with {x}
    / {r:rest} is|are forbidden|impossible without {x} / it is impossible to {r:rest} without {x}
    / {r:rest} only with {x}
{s} needs {x} to {r} = {s} must not {r:rest} without {x}
{r} is only for {x} = {r:rest} is|are reserved|restricted for|to {x:people}
    / {r:rest} is|are open|accessible|available only to|for {x:people}
    / {r:rest} is|are only open|accessible|available to|for {x:people} / {r:rest} is|are limited to {x:people}
    / only {x} may|can use|visit|enter|access {r:rest}
only {x} can see {r} = {r:rest} is|are visible only|solely to {x} / {r:rest} is|are only visible to {x}
    / {r:rest} is|are visible to {x} only|alone|exclusively
{x} is responsible for {y} = {y} is {x's:name} responsibility / responsibility for {y} lies with {x}
    / {x:name} looks after {y} / {x:name} handles {y}
{x} is up to {v} = {x} must|may|can not exceed {v:value} / {x} is|are limited|capped to|at {v:value}
    / the? maximum {x} size? is|are|= {v:value} / the? {x:word} limit is|= {v:value}
    / {x} can|must|may be up to {v:value}
{x} must be at least {v} years old = the? minimum age for|of|to {x} is|= {v:value} / {x} must be {v:value} or older
    / {x} must be at least {v:value} years? of? age?
{x} must have at least {v} {y} = {x} must be at least {v:value} {y:word} long
    / {x} must be {v:value} {y:word} or longer / the? minimum {x} length is|= {v:value} {y:word}
{x} has {y} = {x} suffers|suffer from {y:illness} / {x} was|is diagnosed with {y} / {x} owns|own {y:counted}
{x} was born in {y} = {x's:name} birthplace is {y:rest}
{x} works for {y} = {x's} employer is {y:rest}
{x} lasts {v} = the? duration of {x} is {v:lasting}
{x} period lasts {v} = {x} period is {v:lasting}
{x} has {v} people = {x} has|have {v:value} members
{x} has asthma = {x} is a|an? asthmatic
{x} has diabetes = {x} is a? diabetic
{x} has epilepsy = {x} is a|an? epileptic
{x} not eat meat = {x:who} is a? vegetarian / {x:who} eats no meat
{x} not drink alcohol = {x} is a? teetotal|teetotaller|teetotaler / {x} drinks no alcohol
{x} not smoke = {x} is a? non-smoker|nonsmoker
{x} has no siblings = {x} is an only child / {x} has no brothers or sisters / {x} has neither brothers nor sisters
{x} is unemployed = {x:who} is out of work / {x:who} is jobless / {x:who} has no job
{x} is left-handed = {x} is a left hander / {x} is a lefty / {x} writes with the|his|her left hand
{x} no longer {v:third} {r} = {x} stopped|quit {v:gerund} {r:timeless}
{x} no longer {v:third} = {x} stopped|quit {v:gerund} / {x} does|do not {v:word} anymore
{x} no longer {v:third} {r} = {x} does|do not {v:word} {r:object} anymore
{y} is kept in {x} = {x:name} holds|stores {y:plain}
{y} {v} with {x} = {y} {v:passive} using|via {x}
{y} {v:passive} with {x} = {x} is|are used to {v:word} {y}
the deadline for {x} is {v} = {x} must be submitted|delivered|handed by {v:date}
{x's} salary is {v} {r} = {x:who} earns {v:value} {r:periodic}
{x's} salary is {v} a {r} = {x:who} earns {v:value} a|per {r:span}
{x} costs {v} = you|one pay|pays {v:value} for {x}
{x} are free = {x} cost nothing
{r:ing} is free = you|one can|may {r:word} free
{x} is without {y} = {x} is|are free of|from {y:plain}
call {r} = please? phone|ring|telephone {r:whom} / give {r} a call|ring
inform {x} about {r} = let {x} know about|of {r:rest}
inform {x} {r} = let {x} know {r:rest}
{r:ing} {p} is forbidden = {r:gerund} is forbidden {p:place} / you|one must not {r:word} {p:place}
    / you|one may|can not {r:staying} {p:place} / no {r:banned} {p:place} / do? not|never {r:verbal} {p:place}
{r:ing} is forbidden = you|one must not {r:rest} / do? not|never {r:verbal} / no {r:banned}
{r:ing} {p} is allowed = {r:gerund} is allowed|permitted {p:place} / you|one can|may {r:staying} {p:place}
{y} is not accepted in {x} = {x} does|do? not accept|take {y:cash} / {y:plain} is|are not accepted|taken in|at {x}
{y} is forbidden in {x} = {x} does|do? not allow|permit|tolerate|accept {y:plain}
    / {x} forbids|bans|prohibits {y:plain} / {y:plain} is|are forbidden from {x}
    / {y:plain} is|are forbidden in|at {x}
{y} is not accepted = we do? not accept|take {y:cash}
{x} speaks {y} = {x} can speak {y}
{x} plays {y} = {x} can play {y}
{x} excludes {y} = {y:plain} is|are not included in {x} / {x} does|do? not include|cover {y:plain}
every {x:one} = all of? the? {x:subject}
{n's} {p} is {a} = {n:name} has {a:word} {p:hair}
{n's} {x} is {m} = {n:name} has a|an {x:named} called|named {m:name}
{n} has {v} children = {n:name} is a|the mother|father|parent of {v:value} children?
{n} is a {x} = {n} is a|an {x} by profession|trade
{x} not like {y} = {x} does|do? not care for {y} / {x} is not a fan of {y}
{x} likes {y} = {x} is a fan of {y}
{x} is too {a:opposite} = {x} is not {a:opposite} enough
{b} is {a:compared} than {x} = {x:people} is|are {a:compared} than {b:people}
{b} is cheaper than {x} = {x} is more expensive than {b}
{x} stays in {y} = {x} never leaves|leave {y:owned} / {x} always stays|stay in {y}
{x} is always open = {x} is never closed
{x} is always late = {x} is never on time
{n} has {v} {x} = the? number of {x} in|of {n} is|= {v:value}
{x} needs {y:base} = {x} needs {y:gerund}
{n} prefers {x} to {y} = {n} likes {x} better|more than {y} / {n} prefers {x} over {y}
    / {n} would rather have|drink|eat|use|take {x} than {y} / {n} prefers {x} rather than {y}
{x} kosztuje {v} = cena {x} to|wynosi {v:value}
{x} kostet {v} = der? preis für|von {x:rest} beträgt|ist|liegt {v:value}
{x} cuesta {v} = el precio de|del {x} es de? {v:value}
{y} leitet {x} = der|die? leiter|leiterin des|der|von {x:rest} ist {y:name}
    / {y:name} ist der|die? leiter|leiterin des|der|von {x:rest}
    / der|die? leitung des|der|von {x:rest} hat {y:name}
{x} ist {d} geschlossen = {x} hat {d:date} geschlossen|zu / {d:date} ist {x} zu|geschlossen / {x} ist {d:date} zu
    / {d:date} hat {x} geschlossen|zu
{n} teme {x} = a {n:name} le da|dan miedo {x:rest}
{x} is {a} = {x} is|are kept {a:state} / {x} comes|come {a:furnished}
the {x} runs every {v} {u} = there is a|an {x:word} every {v:value} {u:word}
{x} failed = {x} did not pass|succeed
{x} was built in {v} = {x:building} dates from {v:date} / {x:building} dates back to {v:date}
{x} was {v} late = {x} was not {v:word} on time
{x} fears {y} = {y} frightens|frighten|scares|scare {x:name}
{x} does not {v:base} {y} = {x} {v:consuming} no {y:plain}
{x} is {r} = {x:event} happens|happen {r:place}
{x} lasts {v} = {x:contract} is {v:lasting} / the? {x:word} time is {v:lasting}
{x} under {v} {r} = {x} younger than {v:value} {r:rest}
{x} over {v} {r} = {x} older than {v:value} {r:rest}
{x} returns {y} = {x:machine} responds|replies|answers with {y}
{x} listens on port {v} = {x} runs|is on port {v:value}
{r} = you|one must {r:verbal}
{n} must approve {x} = {x} needs|requires {n's:name} approval
{n} must sign {x} = {x} needs|requires {n's:name} signature
we {x:base} {p} = {x:deeds} happen|run {p:place}
{x} are sent to {y} = {x:papers} go to {y}
{x} prefers {y} = {x} would rather be contacted|reached by {y:word}
{x} is without {y} = {x} is|are {y:word} free / {x} contains|contain no {y:plain}
{n} comes from {x} = {n:name} is {x:demonym}
{x} was {v} {u} late = {x} came|arrived {v:value} {u:span} late / {x} was late by {v:value} {u:span}
{x} was {v} {u} early = {x} came|arrived {v:value} {u:span} early / {x} was early by {v:value} {u:span}
no {x:one} = none of the? {x:subject}
{x} expires on {v} = {x:contract} ends|expires on? {v:date} / {x:contract} runs|lasts until|till {v:date}
{x} {v} {y} = {y:plain} is|are {v:made} in|at {x}
"""

# What a statement of a change says of how it is now; it replaces what was so, and is not what the statement says.
IMPLIED = """
{a} now owns {x} = {b} sold {x} to {a:rest}
{x} now belongs to {a} = {b} sold {x} to {a:rest}
{y} now handles {x} = {x} was|were handed over? to {y:rest} / {x} has|have been handed over? to {y:rest}
    / {b} handed {x} over? to {y:rest}
{x} is now handled by {y} = {x} was|were handed over? to {y:rest} / {x} has|have been handed over? to {y:rest}
{x's} surname is now {y} = {x} took the surname {y:name} / {x} married and took the surname {y:name}
{x} now {r} = {x} changed his|her|their mind and|, {r:rest} / {x} changed his|her|their mind, he|she|they {r:rest}
    / {b:rest}, so {x} now? {r:presently}
{x} is now {w} = {x} {v:coded} has|was been? replaced by|with {w:coded}
    / {x} was|has been? replaced by|with {w:coded} / {b:rest}, so {x} is now? {w:rest}
{x} is now {b} = {x} is|are not {a:rest}, but {b:rest}
{x} now lives in {y} = {x} was moved to a room|flat|home in|on {y}
{x's} room is now on {y} = {x} was|has been? moved to a|the room on {y}
{x's} school is now {y} = {x} transferred|moved|switched to {y:school}
    / {x} transferred|moved|switched to {y:school} {r:place}
{x} no longer dates {y} = {x} split|broke up with {y:name} / {x} split|broke up with {y:name} {r:rest}
{x} is now signed = both|all parties have signed {x}
{x} is now accepted = {b:definite} has|have accepted {x}
{x} is now approved = {b:definite} has|have approved {x}
{x} is no longer {r} = {x} quit|left|resigned from? his|her|their job|post|position|role as {r:rest}
{x} is now {y} = {x} was|has been? appointed|elected {y:rest} / {x} was|has been? promoted to {y:rest}
"""

OPPOSITES = dict(
    pair.split("/")
    for pair in """
    big/small large/small long/short fast/slow hot/cold warm/cold strong/weak high/low wide/narrow early/late
    thick/thin loud/quiet small/big short/long tall/short slow/fast cold/hot weak/strong low/high narrow/wide
    late/early thin/thick quiet/loud cheap/expensive expensive/cheap heavy/light
    """.split()
)
# Of each pair the second is compared: "younger than" is "older than" the other way round.
COMPARED = dict(
    pair.split("/")
    for pair in """
    younger/older smaller/bigger lower/higher slower/faster poorer/richer weaker/stronger worse/better colder/warmer
    narrower/wider shallower/deeper thinner/thicker newer/older taller/shorter longer/shorter heavier/lighter
    louder/quieter nearer/farther closer/farther easier/harder safer/riskier
    """.split()
)
# The verbs of nouns for what is done, after a verb that says little.
# The verbs of nouns for what is done, by what stands around them.
DEEDS = {
    sort: dict(pair.split("/") for pair in pairs.split())
    for sort, pairs in {
        "outing": "walk/walk run/run swim/swim ride/ride drive/drive",
        "ordering": "order/order",
        "made_of": "reservation/reserve payment/pay copy/copy correction/correct donation/donate translation/translate",
        "made_to": "contribution/contribute",
        "made": "decision/decide complaint/complain promise/promise payment/pay",
        "done_of": "inspection/inspect check/check review/review test/test search/search translation/translate "
        "examination/examine analysis/analyze",
    }.items()
}
VERBS = {noun: verb for verbs in DEEDS.values() for noun, verb in verbs.items()}
# The words that a slot of the sort may hold; of those with a value another word is made.
CLOSED: dict[str, frozenset[str] | dict[str, str]] = {
    "opposite": OPPOSITES,
    "compared": COMPARED,
    **DEEDS,
    "demonym": DEMONYMS,
}
CLOSED |= {
    sort: frozenset(words.split())
    for sort, words in {
        "adjective": """
            possible impossible important essential necessary advisable
            recommended dangerous safe risky free hard difficult easy cheap expensive legal illegal mandatory
            compulsory
        """,
        "easy": "easy hard difficult simple",
        "wanting": "needs need wants want likes like prefers prefer hates hate requires require lacks",
        "giving": """
            gives give gave sends send sent shows show showed offers offer offered teaches teach taught pays pay
            paid sells sell sold hands hand handed brings bring brought owes owe owed grants grant granted tells
            tell told promises promise promised lends lend lent issues issue issued
        """,
        "placing": "place places placed",
        "making": "make makes made",
        "doing": "do does did perform performs performed",
        "paper": """
            badge ticket key card permit licence license visa passport password pin code token account invitation
            reservation booking receipt form signature approval appointment deposit certificate helmet mask voucher
            login subscription degree reference prescription
        """,
        "named": "dog cat horse rabbit parrot hamster pony boat company shop blog band",
        "shared": "office room flat desk house apartment bedroom kitchen table locker taxi car garage",
        "licence": "mit apache gpl agpl lgpl mpl bsd isc cc0 eupl",
        "admitted": """
            pets dogs cats children kids babies guests visitors walk-ins minors groups students wheelchairs
        """,
        "banned": """
            smoking parking swimming fishing camping diving skating eating drinking littering trespassing loitering
            climbing hunting cycling filming barbecuing cooking sleeping shouting dancing singing talking phoning
        """,
        "illness": """
            asthma diabetes migraine migraines allergies depression insomnia arthritis epilepsy eczema cancer
            anaemia anemia anxiety hypertension dementia headaches hayfever gout adhd autism tinnitus vertigo
        """,
        "machine": "api endpoint server service call request command script function method handler proxy bot",
        "state": "open closed shut on off locked unlocked",
        "made": "made manufactured produced sold taught served grown brewed baked printed built assembled",
        "hair": "hair eyes skin",
        "staying": "smoke park swim camp fish cycle eat drink sleep cook dive drive skate film stay",
        "going": "goes go went",
        "body": "board committee council jury panel commission",
        "consuming": "takes eats drinks uses needs wants sells serves makes speaks wears owns keeps",
        "furnished": "furnished assembled equipped packed wrapped loaded prepared heated unfurnished",
        "papers": """
            invoices bills reports mails emails letters complaints requests tickets orders payments copies forms
            receipts notes applications contracts parcels
        """,
        "span": "second minute hour day week month year",
        "cash": """
            cash cards card cheques cheque checks visa mastercard euros dollars payments bitcoin coins vouchers
        """,
        "contract": """
            contract agreement lease subscription licence license policy warranty membership trial permit visa
            passport offer voucher coupon certificate guarantee
        """,
    }.items()
}


@dataclass(frozen=True, slots=True)
class Element:
    """Words of which one stands there, or a slot of that name and sort."""

    words: frozenset[str] = frozenset()
    slot: str = ""
    sort: str = ""
    owns: bool = False
    optional: bool = False
    comma: bool = False


@dataclass(frozen=True, slots=True)
class Wording:
    """``even`` when the slots ``a`` and ``b`` may change places. A statement in it has no fewer tokens than ``fewest``,
    and of each set of ``needed`` words one."""

    even: bool
    form: tuple[Element, ...]
    result: tuple[Element, ...]
    fewest: int
    needed: tuple[frozenset[str], ...]

    @property
    def telling(self) -> frozenset[str]:
        """The words of the form of which most statements have none."""
        return max(
            self.needed,
            key=lambda words: (STOP.isdisjoint(words), NEGATIONS.keys().isdisjoint(words), min(map(len, words))),
        )


def _element(text: str) -> Element:
    comma, optional = text.endswith(","), text.endswith("?")
    text = text.rstrip(",?")
    if not text.startswith("{"):
        return Element(words=frozenset(text.split("|")), optional=optional, comma=comma)
    slot, _, sort = text.strip("{}").partition(":")
    return Element(slot=slot.removesuffix("'s"), sort=sort or "noun", owns=slot.endswith("'s"), comma=comma)


def _elements(text: str) -> tuple[Element, ...]:
    return tuple(map(_element, text.split()))


def _by_word(lines: str) -> dict[str, list[Wording]]:
    """The wordings by the words that tell of them."""
    found: dict[str, list[Wording]] = {}
    for line in lines.replace("\n    ", " ").strip().splitlines():
        result, _, forms = line.partition(" = ")
        for form in map(_elements, forms.split(" / ")):
            needed = [each.words or frozenset(CLOSED.get(each.sort, ())) for each in form if not each.optional]
            wording = Wording(
                result.startswith("~"),
                form,
                _elements(result.removeprefix("~")),
                len(needed),
                tuple(filter(None, needed)),
            )
            for word in wording.telling:
                found.setdefault(word, []).append(wording)
    return found


BEFORE_PHRASES, AFTER_PHRASES, CONSEQUENCES = map(_by_word, (FIRST, THEN, IMPLIED))
TELLING = frozenset({*BEFORE_PHRASES, *AFTER_PHRASES, *CONSEQUENCES})
