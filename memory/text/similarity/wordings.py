"""Wordings with room in them, each with the one that it is compared in: "no entry without a badge" is "entry needs it".

Data alone. A line is ``result = form / form``. In a form ``a|b`` is either word, ``a?`` may be missing, and behind
``a,`` there may be a comma. ``{x}`` is a noun with what belongs to it, ``{x:name}`` a name, ``{x:value}`` a value,
``{x:word}`` one word, ``{x:rest}`` whatever there is. In a result ``{x's}`` owns what follows, and of ``{x:base}`` and
``{x:ing}`` the first word is a verb without an ending or with that one, in the word for all synonyms; of ``{x:gerund}``
the verb itself with that one.
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from dataclasses import dataclass

from memory.text.similarity.values import CHANGES, DEMONYMS
from memory.text.similarity.words import NEGATIONS, STOP

# Looked for before set phrases are: "is required to" is "must" elsewhere. Of ``~`` lines either may be ``a``.
FIRST = """
{r} {v} ago = it is been? {v:lasting} since {r} / it has been {v:lasting} since {r}
    / {v:lasting} have|has passed|elapsed since {r} / {v:lasting} have|has gone by since {r}
delivery to {x} takes {v} = parcels|packages|shipments|orders|deliveries to {x} take|takes {v:lasting}
    / it takes {v:lasting} to deliver|ship to {x} / a|the parcel|package|shipment|order to {x} takes {v:lasting}
    / it takes {v:lasting} for parcels|packages|shipments|orders to reach {x}
{x} goes to {r} by {m} = {x} takes|catches the {m:transit} to {r:rest}
    / {x} travels|gets|commutes to {r:rest} by {m:transit}
{x} goes to work by {m} = {x} commutes by {m:transit}
{x} enter free = admission|entry|entrance is free for {x:people} / {x:people} get|gets in|into free|free
    / {x:people} get|gets in for free / {x:people} get|gets in free of charge
    / {x:people} pay|pays no admission|entry|entrance fee?
    / {x:people} can enter free / there is no entrance|admission|entry fee|charge for {x:admitted}
{x} is sold out = there are no more? tickets left for {x} / there are no more tickets for {x}
    / tickets for {x} are sold out / no tickets are left for {x}
{x} is {p} = {x} is|are situated|located|positioned {p:beside}
{x} is the {a:superlative} in {y} = nobody in {y} is {a:superlative} than {x}
    / no one in {y} is {a:superlative} than {x}
{r} at most {v} {u} = {r:rest} {v:value} {u:word} at most / {r:rest} no more than {v:value} {u:word}
{r} at least {v} {u} = {r:rest} {v:value} {u:word} at least / {r:rest} no less|fewer than {v:value} {u:word}
{m} is served {r} = you can have|get|eat {m:meal} {r:rest}
our {y} is {x} = we use {x:name} as our|the|a {y:plain}
the notice period for {x} lasts {v} = {x:thing} must|has|have to? give {v:lasting} notice
    / the notice period for|of {x} is {v:lasting}
{x} has no {y} = {x:thing} is|are without a|an|any {y:word} / {x:thing} is|are without {y:supply}
{y} has no {x} left = {y:thing} is|are out of {x:supply} / {y:thing} has|have run out of {x:word}
    / {y:thing} ran out of {x:word}
{x} needs {y} = {x:thing} not work|function|run|start without {y}
    / {x:thing} does|do not work|function|run|start without {y}
{r:base} needs {x} = you|one can only {r} with {x}
not use {x} = avoid {x:plural} / avoid using {x:rest}
{x} is fixed in version {v} = {x} was|is fixed in version|release? {v:value}
    / {x} has been fixed in version|release? {v:value}
{s} needs {x} to {r} = a|an {x:thing} is required|needed|necessary for {s:people} to {r:verbal}
{s} needs {x} = no {s:plain} can|may be used|accessed|opened|started|issued|shipped|merged|deployed without {x}
{r:base} not needs {x} = a|an {x:thing} is not required|needed|necessary for {r:rest}
    / {x:thing} is|are not required|needed|necessary for {r:rest}
{r:base} needs {x} = a|an {x:thing} is needed|necessary|essential to|for {r:rest}
    / a|an {x:paper} is required to {r:rest} / a|an {x:thing} is required for {r:rest}
    / {x:thing} are needed|necessary|required for {r:rest} / {x:thing} is required|needed|necessary for {r:rest}
    / {x:thing} are needed|necessary to {r:rest}
{r:base} needs {x} = you|one|everyone|everybody|anyone need|needs|require {x:thing} to|for {r:rest}
    / to {r:rest}, you|one need|needs|require {x:thing} / you|one must have {x:thing} to {r:rest}
    / {r:gerund} requires|needs {x:thing} / {r:gerundial} requires|needs {x:thing}
{r:base} needs {x} = without {x}, you|one|nobody can|may not {r:rest} / without {x}, nobody can|may {r:rest}
    / you|one|nobody|customers can|may|could not {r:rest} without {x} / nobody can|may|could {r:rest} without {x}
{s} needs {x} to {r} = {s} can|may not {r:rest} without {x} / without {x}, {s} can|may not {r:rest}
{r:ing} is allowed = it is allowed|permitted to {r:verbal} / it is not forbidden|prohibited to {r:verbal}
{r:ing} is forbidden = it is forbidden|prohibited to {r:verbal} / it is not allowed|permitted to {r:verbal}
you must {r} = it is necessary|mandatory|compulsory|obligatory to {r:verbal}
{r:ing} is {a} = it is {a:adjective} to {r:rest}
{r:ing} {x} is {a} = {x} is|are {a:easy} to {r:word}
{x} {v:third} {y} = we use {x:name} to {v:serving} {y}
{y} are {v:done} with {x} = we use {x:tool} to {v:word} {y}
{x} are sold out = there are no more? {x:seats} left / there are no more {x:seats} / no {x:seats} left
    / we? have no {x:word} in stock
{x} are available = there are still? {x:seats} left
{x} are in stock = we? have {x:word} in stock
no {x} left = we have run|ran out of {x} / we ran|are out of {x} / there is|are no {x} left
    / there is|are no more {x} / no {x} is|are left
{x's} phone is {v} = {x} can be reached at|on|under {v:phone} / {x} is reachable at|on|under {v:phone}
    / you can reach {x} at|on|under {v:phone} / {x} can be reached by phone at|on|under {v:phone}
{x's} email is {v} = {x} can be reached at|under|by {v:email} / {x} is reachable at|under {v:email}
    / you can reach {x} at|under {v:email} / write|email to? {x} at {v:email}
{n} is the {r:led} of {x} = {x:determined} is {r:led} by {n:name}
{x} handles {y} = {y:determined} is|are handled by {x:name} / {y:word} is|are handled by {x:name}
    / {x:name} takes|take care of {y}
everyone except {x} {r} = all|everybody|everyone except|but {x:name} {r:rest}
only {y} is accepted in {x} = only {y:cash} is|are accepted|taken in|at {x} / {x} accepts|takes {y:cash} only
    / {x} accepts|takes only {y:cash} / {x} only accepts|takes {y:cash}
{y} is forbidden in {x} = {x} is|are closed to {y:traffic} / {y:traffic} may|can not use|enter {x:determined}
    / {x} is|are off limits to|for {y:traffic}
{y} is allowed in {x} = {x} is|are open to {y:traffic} / {y:traffic} may|can use|enter {x:determined}
{x} is a native speaker of {y} = {x:name} is a native {y:demonym} speaker
{x's} native language is {y} = {y:demonym} is {x's:name} first|native language
    / {x's:name} first language is {y:demonym}
{x} is late = {x} is|are behind schedule / {x} is|are running late|behind / {x} is|are running behind schedule
we use {x} for {g} = {g:gerund} is|are done in|using|through {x} / {g:gerund} is|are done with {x:name}
    / we {g:word} using {x}
{n} {v:doer} at {x} = {n:who} is a|an {v:doer} at {x:name} / {n:who} works at|for {x:name} as a|an {v:doer}
{n} prefers {x:gerund} to {y:gerund} = {n:who} would rather {x:verbal} than {y:verbal}
{n's} {k} is {x} = {n:name} has a|an {k:word} called|named {x:name}
{r:ing} is forbidden = you|one must not {r:verbal}
{g} {p} is forbidden = {g:gerund} is forbidden|prohibited {p:object} / {g:gerund} is not allowed|permitted {p:object}
you must {g:base} = {g:gerundial} is required|mandatory|compulsory|obligatory
only {x} may enter = entry|admission|access is? for {x:plural} only
{y} has {v} {x} = there are {v:value} {x:word} in {y:determined}
{y} contains {x} = there are {x:plural} in {y:determined}
{x} is open from {v} to {w} = {x's} opening|business hours are from? {v:value} to {w:value}
    / {x} opens at {v:value} and closes at {w:value}
{n} studies at {x} = {n:who} is a student at {x:school}
{x} fears {y} = {x} has|have a fear of {y}
{x} cycles to {r} = {x:who} rides his|her|their|a bike|bicycle to {r:rest}
{x} drives to {r} = {x:who} drives his|her|their car to {r:rest}
{x} moved to {y} = {x} relocated to {y:rest}
{v:base} {x} {r} = {x:determined} needs|need {v:gerund} {r:often}
{v:base} {x} every {r} = {x:determined} needs|need {v:gerund} every {r:span}
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
~{a} is next to {b} = {a} is right|just|directly? next to {b} / {a} is right|just|directly? beside {b}
    / {a} and {b} are side by side / {a} is adjacent to {b}
    / {a} and {b} are next to each other
~{a} is opposite {b} = {a} is opposite {b} / {a} is across from {b} / {a} is across the street|road from {b}
    / {a} is directly opposite {b}
~{a} sits next to {b} = {a:name} sits next to {b:name} / {a:name} and {b:name} sit next to each other
~{a} and {b} share {x} = {a:name} and {b:name} are|sit|work|live in the same {x:shared}
    / {a:name} shares a|an|the {x:shared} with {b:name}
    / {a:name} and {b:name} share a|an|the {x:shared}
~{a} and {b} live together = {a:name} lives with {b:name} / {a:name} and {b:name} live together
~{a} and {b} met {r} = {a:name} met {b:name} {r:place} / {a:name} and {b:name} met {r:place}
~{a} and {b} are siblings = {a:name} is {b's:name} brother|sister|sibling
    / {a:name} is the brother|sister of {b:name} / {b's:name} brother|sister is called|named? {a:name}
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
{x} {v} {r} = it was {x:known} who {v:past} {r:rest}
{x} {r} = it is {x:known} who|that {r:rest} / {x} is the one who|that {r:rest}
    / the one|person who|that {r:rest} is {x:name}
only {x} {r} = {x} is the only one|person who|that|to {r:rest} / the only one|person who|that {r:rest} is {x:name}
{x} {v} {y} = what {x} {v:wanting} is {y}
keep {x} {a} = leave {x} {a:state}
{y} holds {v} {x} = {y} has|have room|space|capacity for {v:value} {x:word}
    / there is room|space for {v:value} {x:word} in {y} / {y} can hold|accommodate|seat {v:value} {x:word}
    / {y} accommodates|fits {v:value} {x:word} / {v:value} {x:word} fit in|into {y}
    / {y} is big|large enough for {v:value} {x:word}
{y} holds {v} people = {y} seats {v:value} people|guests|passengers? / {y:thing} has|have {v:value} seats
    / {y} has|have room|space|seating for {v:value} people|guests|passengers
    / {y} has|have a|an seating? capacity of {v:value} people|guests|passengers
    / {y's} seating? capacity is {v:value} people|guests|passengers
    / the seating? capacity of {y} is {v:value} people|guests|passengers
    / {v:value} people|guests|passengers fit in|into {y}
{y} sleeps {v} = {y} has beds for {v:value} people|guests? / {y} sleeps {v:value} people|guests
the {x} has {v} {u:many} = it is a|an {v:value} {u:counting} {x}
the {x} lasts {v} {u} = it is a|an {v:value} {u:span} {x}
the {x} lasts {c} = it is a|an {c:compound} {x}
{x} pays for {y} = {y} costs is|are paid|borne|covered by {x} / {y} is|are paid for by {x} / {y} is|are borne by {x}
    / {x} covers|bears the cost|costs of {y} / {x} bears {y} costs|cost
{y} is accepted in {x} = {y:cash} is|are accepted|taken in|at {x} / {x} accepts|takes {y:cash}
{y} is allowed in {x} = {y:plain} is|are allowed|permitted in|at {x} / {y:admitted} is|are welcome in|at {x}
    / {x} allows|permits {y:plain} / {x} welcomes|accepts {y:admitted}
{x} is called {y} = the? name of {x} is {y:word} / {x} has|have the name {y:word}
    / {y:word} is the name of {x:definite}
{s} {r} {y} = {y} is what {s:plain} {r:rest}
{s} {r} in {y} = {y} is where {s:plain} {r:rest}
the default {x} is {y} = {x} defaults|default to {y:rest} / by default, {x} is|are {y:amount}
    / {x} is|are {y:amount} by default / the default value|setting of|for {x} is {y:rest}
    / {x's} default value|setting is {y:rest}
{x} is disabled by default = {x} is|are off by default / {x} is|are turned|switched off by default
{x} is enabled by default = {x} is|are on by default / {x} is|are turned|switched on by default
{x} meets {d} = {x} has|have|holds|hold {d:often} meetings / {x} meetings are|happen|happens {d:often}
{x} faces {d} = {x} is|are {d:direction} facing / {x} look|looks {d:direction}
{y} is {a} for {x} = {x} finds|find {y} {a:easy}
{y} is too {a} for {x} = {x} finds|find {y} too {a:word}
~{a} is {v} from {b} = {a} is|are {v:value} from {b} / the? distance from|between {a} to|and {b} is {v:value}
    / {a} is|are {v:value} away from {b} / {a} and {b} are {v:value} apart
{x} belongs to {y} = {x:determined} is|are the property of {y}
"""
# Looked for in what set phrases have left.
THEN = """
{s} {v:deed} {r} = {s:subject} {v:taking} a {d:taken} {r:object} / {s:subject} {v:going} for a {d:outing} {r:object}
    / {s:subject} {v:going} {d:activity} {r:object} / {s:subject} {v:placing} an {d:ordering} for {r:object}
    / {s:subject} {v:making} a|an {d:made_of} of {r:object}
    / {s:subject} {v:doing} a|an|the {d:done_of} of {r:object} / {s:subject} {v:taking} a|the {d:taken_of} of {r:object}
    / {s:subject} {v:giving_out} a|an {d:given_of} of {r:object}
    / {s:subject} {v:making} a|an {d:made_for} for {r:object}
    / {s:subject} {v:having} a|an {d:had} about {r:object} / {s:subject} {v:having} a|an? {d:had_with} with {r:object}
    / {s:subject} {v:paying} a|an {d:paid_to} to {r:object} / {s:subject} {v:giving} a|an {d:sent_to} to {r:object}
    / {s:subject} {v:making} a|an {d:made_at} {r:aimed} / {s:subject} {v:lodging} a|an {d:lodged} {r:aimed}
    / {s:subject} {v:giving_out} a|an {d:given_at} {r:aimed} / {s:subject} {v:taking} a|the {d:taken_at} {r:aimed}
    / {s:subject} {v:having} a|an {d:had_at} {r:aimed}
    / {s:subject} {v:doing} the|some|his|her|their {d:chore} {r:object}
{s} {v:deed} = {s:subject} {v:going} {d:activity} / {s:subject} {v:taking} a {d:taken}
    / {s:subject} {v:making} a|an {d:made_alone}
    / {s:subject} {v:doing} the|some|his|her|their {d:chore}
{n} is the {v:founded} of {x} = {n:name} {v:founded} {x:determined}
{n} is the {v:wrote} of {x} = {n:name} {v:wrote} {x:work}
{n} is the author of {x} = {n:name} is the writer of {x:work} / {n:name} is {x's:work} writer
{n's} age is {v} = {n:called} is {v:age}
{x} was {v:participle} {p} = they|somebody|someone {v:deed_past} {x:determined} {p:place}
    / {p:place} they|somebody|someone {v:deed_past} {x:determined}
{x} is free = there is|are no entrance|admission|entry fee|charge for {x:venue}
    / {x:venue} charges no entrance|admission|entry fee? / admission|entrance|entry to {x:venue} is free
{x} is not free = {x:venue} charges an? entrance|admission|entry fee?
    / admission|entrance|entry to {x:venue} is not free
    / there is an? entrance|admission|entry fee|charge for {x:venue}
{x} allows up to {v} {r} = {x} allows|allow at most {v:value} {r:rest}
    / {x} allows|allow a maximum of {v:value} {r:rest} / {x} is|are rate limited to {v:value} {r:rest}
pay {x} within {v} = {x:payment} is|are due within|in {v:lasting}
    / {x:payment} is|are payable within|in {v:lasting}
{x's} payment terms are {v} = {x's} payment term|terms is|are {v:lasting} / {x} has|have {v:lasting} to pay
    / {x} has|have payment terms of {v:lasting}
{x} are sent to {y} = {y} gets|get|receives|receive the|all {x:notices} / the|all {x:papers} go|goes|are|is sent? to {y}
{x} costs {v} a {p} = {x:priced} is {v:money} a|an|per|each|every {p:span} / {x} costs {v:value} an|each|every {p:span}
    / {x's} price is {v:value} a|an|per {p:span}
    / the? price of|for {x:word} is {v:value} a|an|per {p:span}
{x} costs {v} a {p:adverbial} = {x} costs {v:value} {p:adverbial} / {x:priced} is {v:money} {p:adverbial}
    / the|our|its {p:adverbial} {x:priced} is {v:money}
{x} is forbidden = no {x:admitted} / {x:admitted} are not allowed|permitted|admitted|welcome
    / we do? not allow|accept|admit|take {x:admitted} / you may|can not bring {x:admitted}
{x} is allowed = {x:admitted} are welcome|allowed|permitted|admitted / we allow|accept|admit|welcome {x:admitted}
    / you may|can bring {x:admitted}
{x} is {r} = you will|can find {x:determined} {r:place}
the {x} is {v} = use {v:coded} as the|your {x:credential}
{x} is self-employed = {x:who} works for himself|herself|themselves / {x:who} is|are his|her|their own boss
{n} has {v} children = {n} are the? parents of {v:value} children?
    / {n:rest} are the? parents of {v:value} children?
{x} excludes {y} = {x:prices} is|are without {y:tax} / {x:prices} does|do? not include {y:tax}
    / {y:tax} is|are not included in {x:prices} / {y:tax} comes|come on top of {x:prices}
{x} includes {y} = {y:tax} is|are included in {x:prices}
{x} is {v} = {x:metering} shows|reads|displays|indicates {v:amount}
{x} jest na emeryturze = {x} jest emerytem|emerytką
{x} jest {v} = {x:attribute_pl} to {v:coded}
{x} lasts {v} = {x:probation} period is|lasts {v:lasting}
{r:base} needs {x} = no {r:rest} without {x} / without {x}, no {r:rest}
    / {r:rest} is|are possible|allowed only with {x} / {r:rest} is|are only possible|allowed with {x}
    / {r:rest} is|are forbidden|impossible without {x} / it is impossible to {r:rest} without {x}
    / {r:rest} only with {x}
{s} needs {x} to {r} = {s} must not {r:rest} without {x}
{r} is only for {x} = {r:rest} is|are reserved|restricted for|to {x:people}
    / {r:rest} is|are open|accessible|available only to|for {x:people}
    / {r:rest} is|are only open|accessible|available to|for {x:people} / {r:rest} is|are limited to {x:people}
    / only {x} may|can use|visit|enter|access {r:rest}
    / nobody but|except {x:entitled} can|may use|visit|enter|access {r:rest}
    / no one but|except {x:entitled} can|may use|visit|enter|access {r:rest}
    / only {x:entitled} can|may use|visit|enter|access {r:rest}
{r:ing} is only for {x} = only {x:entitled} can|may {r:verbal} / nobody but|except {x:entitled} can|may {r:verbal}
    / no one but|except {x:entitled} can|may {r:verbal}
only {x} can see {r} = {r:rest} is|are visible only|solely to {x} / {r:rest} is|are only visible to {x}
    / {r:rest} is|are visible to {x} only|alone|exclusively
{x} is responsible for {y} = {y} is {x's:name} responsibility / responsibility for {y} lies with {x}
    / {x:name} looks after {y} / {x:name} handles {y}
{x} is up to {v} = {x} must|may|can not exceed {v:value} / {x} must|may|can not be {a:exceeding} than {v:value}
    / {x} must|may|can be no {a:exceeding} than {v:value} / {x} is|are limited|capped to|at {v:value}
    / {x} can|must|may be up to {v:value}
a {x} is up to {v} = the? maximum {x:plain} size? is|are|= {v:value} / the? {x:word} limit is|= {v:value}
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
the deadline for {x} is {v} = {x} must be submitted|delivered|handed|paid|filed|returned|completed by {v:date}
{x's} salary is {v} {r} = {x:who} earns {v:value} {r:periodic}
{x's} salary is {v} a {r} = {x:who} earns {v:value} a|per {r:span}
{x} costs {v} = you|one|we pay|pays {v:value} for {x}
{x} costs {v} a {p} = you|one|we pay|pays {v:value} a|per|each|every {p:span} for {x}
{r:gerund} {x} costs {v} = {x} costs {v:value} to {r:word} / it costs {v:value} to {r:word} {x}
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
{y} is not accepted = we do? not accept|take {y:cash}
{y} is not accepted in {x} = {x:thing} does|do? not accept|take {y:cash} / {y:plain} is|are not accepted|taken in|at {x}
{y} is allowed in {x} = you|one|guests|tenants|employees|visitors may|can bring {y:plain} to|into|in {x}
{y} is forbidden in {x} = you|one|nobody may|can|must not bring {y:plain} into|to|in {x}
    / {x} does|do? not allow|permit|tolerate|accept {y:plain}
    / {x} forbids|bans|prohibits {y:plain} / {y:plain} is|are forbidden from {x}
    / {y:plain} is|are forbidden in|at {x}
{x} speaks {y} = {x} can speak {y}
{x} plays {y} = {x} can play {y}
{x} excludes {y} = {y:plain} is|are not included in {x} / {y:plain} is|are excluded from {x}
    / {y:plain} is|are not covered by|in {x} / {x} does|do? not include|cover {y:plain}
{x} = all {x:generic}
every {x:one} = all of? the? {x:subject}
{n's} {p} is {a} = {n:name} has {a:word} {p:hair}
{n's} {x} is {m} = {n:people} has|have a|an {x:named} called|named {m:name}
{n} has {v} children = {n:name} is a|the mother|father|parent of {v:value} children?
{n} is a {x} = {n} is a|an {x} by profession|trade
{x} not like {y} = {x} does|do? not care for {y} / {x} is not a fan of {y}
{x} likes {y} = {x} is a|an? big|great? fan|lover of {y} / {x} is a|an {y} fan|lover
{x} is too {a:opposite} = {x} is not {a:opposite} enough
{b} is {a:compared} than {x} = {x:people} is|are {a:compared} than {b:people}
{b} is cheaper than {x} = {x} is more expensive than {b}
{x} stays in {y} = {x} never leaves|leave {y:owned} / {x} always stays|stay in {y}
{x} is always open = {x} is never closed
{x} is always late = {x} is never on time
{x} is always on time = {x} is never late / {x} is always punctual
{n} has {v} {x} = the? number of {x} in|of {n} is|= {v:value}
    / the? number of {x:word} {n:plain} has|have is {v:value}
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
{x} fears {y} = {y} frightens|frighten|scares|scare|terrifies|terrify {x:people}
{x} does not {v:base} {y} = {x} {v:consuming} no {y:plain}
{x} is {r} = {x:event} happens|happen {r:place} / {x:event} will happen {r:place}
{x} was cancelled = {x:event} is off / {x:event} has been cancelled / {x:event} is cancelled
{x} lasts {v} = {x:contract} covers|cover {v:lasting} / {x:contract} expires|expire after {v:lasting}
    / {x} has|have a|an {v:lasting} term|duration|runtime
    / it takes {v:lasting} to run|complete|finish|execute|rebuild {x}
{x} lasts {v} = {x:contract} is {v:lasting} / the? {x:word} time is {v:lasting}
{x} under {v} {r} = {x} younger than {v:value} {r:rest}
{x} over {v} {r} = {x} older than {v:value} {r:rest}
{x} returns {y} = {x:machine} responds|replies|answers with {y}
{x} listens on port {v} = {x} runs|is on port {v:value}
{r} = you|one must {r:verbal}
{n} must approve {x} = {x} needs|need|requires|require {n's:name} approval
    / {x} needs|need|requires|require the? approval of|from {n}
{n} must sign {x} = {x} needs|need|requires|require {n's:name} signature
    / {x} needs|need|requires|require the? signature|signatures of|from {n}
we {x:base} {p} = {x:deeds} happen|run {p:place}
{x} are sent to {y} = {x:papers} go to {y}
send {x} to {v} = {x:papers} goes|go to {v:name} / {x} goes|go to {v:email} / {x} is|are|must be sent to {v:email}
{x} prefers {y} = {x} would rather be contacted|reached by {y:word}
{x} is without {y} = {x} is|are {y:word} free / {x} contains|contain no {y:plain}
{n} comes from {x:nation} = {n:name} is {x:nation}
{n} works in {y} = {n:name} is in the? {y:department} department|team?
{n} is good at {y} = {n:who} plays {y:game} well
{x} is leaking = {x:determined} has|have a leak / {x:determined} leaks|leak
{v} of {x} {r:base} = {v:percent} of the {x:plural} {r:presently}
{x} was {v} {u} late = {x} came|arrived {v:value} {u:span} late / {x} was late by {v:value} {u:span}
{x} was {v} {u} early = {x} came|arrived {v:value} {u:span} early / {x} was early by {v:value} {u:span}
no {x:one} = none of the? {x:subject}
{x} expires on {v} = {x:contract} ends|expires on? {v:date} / {x:contract} runs|lasts until|till {v:date}
{x} {v} {y} = {y:plain} is|are {v:made} in|at {x}
{x} lives in {y} = {x's} home is in {y:name}
{x} is responsible for {y} = {x:name} runs {y:unit}
our {y} supplier is {x} = {x:name} supplies our {y:plain} / we get|buy|source|order our {y:plain} from {x:name}
    / {x:name} supplies us with {y:plain}
    / the {y:word} supplier|provider is {x:name}
{x} is written in {y} = the? language of {x} is {y:word} / {x's} language is {y:word}
    / {y:word} is the language {x} is written in / {y:word} is the language of {x}
admission to {x} costs {v} = {x} charges {v:value} for admission|entry
    / {x's} admission|entrance|entry fee|price|charge is {v:value}
    / entry|entrance|admission to {x} costs {v:value}
    / the admission|entrance|entry fee|price for|to|of {x} is {v:value}
{x} was {v:participle} = they|somebody|someone {v:past} {x:determined}
{x} opens at {v} = {x's} opening time is {v:value} / the? opening time of {x} is {v:value}
{x} closes at {v} = {x's} closing time is {v:value} / the? closing time of {x} is {v:value}
{x} leaves at {v} = {x's} departure time? is at? {v:value} / the? departure time? of {x} is at? {v:value}
{x} starts at {v} = {x's} start|starting time is {v:value} / the? start|starting time of {x} is {v:value}
the notice period lasts {v} = {v:lasting} notice is required|needed|necessary
    / you|we|tenants|employees must give {v:lasting} notice
the minimum {x:single} is {v} = {x:word} must be for at least {v:amount}
    / the? minimum {x:word} size|quantity is {v:amount}
{s} needs {x} = {s:subject} must have a|an {x:paper}
{x} is free = there is|are no charge|charges|fee|fees|cost for {x} / no charge|fee is made for {x}
{x} costs extra = there is|are a|an additional|extra charge|fee|cost for {x} / {x} is|are charged extra
{x's} discount is {v} = {x} get|gets|receive|receives {v:percent} off
    / {x} get|gets|receive|receives a|an {v:percent} discount
the {x} is {v} {p:period} = the|our|its {p:period} {x:word} is {v:value}
{x} rose to {v} = {x} was|were raised|increased to {v:value}
{x} fell to {v} = {x} was|were lowered|reduced|cut to {v:value}
{n} has {v} of vacation = {n's:name} annual leave|vacation is {v:lasting}
    / {n:people} has|gets|have|get {v:lasting} of? holiday|vacation|leave annually
    / {n:people} is|are entitled to {v:lasting} of? annual? holiday|vacation|leave
    / {n:name} has|gets {v:lasting} of? annual leave|vacation
    / {n:name} has|gets {v:lasting} of? holiday|vacation|leave a|per|each|every year
{x} works part time = {x} has a|an part time job / {x} has part time work / {x} is employed part time
{x} works full time = {x} has a|an full time job / {x} is employed full time
{x} works {v} weekly = {x} has|works a|an {v:lasting} week
{x} prefers to {r} = {x} would rather {r:alone}
we rent {z} from {x} = {x:name} is the landlord of {z:owned}
{o's} {t} {r} is {n} = {n:name} is the {r:role} of {o's:name} {t:word}
{x} is broken = {x:determined} is not working|functioning / {x:determined} does not work
{x} is working = {x:determined} works
{n} is the {x} = {n:name} holds|has the position|post|role|job|office of {x}
ask {x} about {y} = {x:name} is the person|one to ask about {y:rest} / questions about {y} go to {x:name}
{x} is {y's} {r} = {x:name} works|serves|acts as {y's:name} {r:word}
{x} is one of our {y:many} = {x:name} is a|an {y:word} of ours
{x} is {p:undone} = {x} has|have not been {p:undone} yet?
{x} has access to {y} = {x} can access {y:rest}
{x} not have access to {y} = {x} can not access {y:rest} / {x} has|have no access to {y:rest}
    / {x} do|does not have access to {y:rest}
{n} was born in {v} = {n's:name} year of birth is {v:date} / {n's:name} birth year is {v:date}
{x} is {r} = you find {x:determined} {r:place}
{x} lasts {v} = {x} life is {v:lasting}
pay {x} {r} = {x:payment} is|are due {r:place}
{x's} salary is {v} {p:period} = {x's} {p:period} pay|salary|wage|wages is {v:value}
{x's} payment method is {y} = {x} pays|pay by {y:means}
{x} has a {v} fee = {x} carries|carry|incurs|incur|attracts|attract|has|have a|an {v:value} fee|charge|surcharge
    / there is a|an {v:value} fee|charge|surcharge on|for {x} / a|an {v:value} fee|charge|surcharge applies to {x}
{x} has {v} interest = {x} incurs|incur {v:value} interest / interest of {v:value} is charged on {x}
    / {v:value} interest is charged on {x}
{x} can be {v:doable} = {x} is|are {v:doable}
can not {v:able} {x} = {x} is|are not {v:able}
can not {v:unable} {x} = {x} is|are {v:unable}
{x} {d:third} automatically = {x:people} {d:deed_noun} is automatic
our insurer is {x} = we are insured with|by {x:name}
the {x} rate is {v} = {x:word} is charged|levied at {v:value}
{x} are exempt from tax = tax is not charged|levied on {x} / {x} are|is tax exempt / {x} are|is tax free
{x} was founded in {v} = {x} has existed since {v:date} / {x} has been in business since {v:date}
{y} is the parent company of {x} = {x:name} is a|the subsidiary of {y:name} / {y:name} is {x's:name} parent company
    / {x's:name} parent company is {y:name}
{x} has {v} of the shares = {x} has|holds|owns a|an {v:percent} stake|share
{n} joined the company in {v} = {n:name} has worked|been here since {v:date}
    / {n:name} has worked for the company since {v:date} / {n:name} has been with the company|us since {v:date}
{x} is now the {r} = {x:name} is {y's:name} successor as {r:rest}
{x's} lead time is {v} = {x} needs|need|requires|require {v:lasting} lead time / {x} has a lead time of {v:lasting}
{x} are in {c} = we store|save|record|keep {x:word} in {c:zone}
    / {x:word} are|is quoted|stated|given|expressed|stored|recorded|shown|displayed in {c:zone}
    / {x:word} use|uses {c:zone}
{x} are unpaid = {x} do not receive|get a|any? salary|pay|wages / {x} get|receive no salary|pay|wages
{x} is compatible with {y} = {x:determined} works|work with {y:rest}
{x} allows up to {v} {r} = {x's} limit is {v:value} {r:rest} / {x} is|are limited to {v:value} {r:rest}
{x} came out before {y} = {y} came out after {x} / {x} was released before {y} / {y} was released after {x}
{a} beat {b} = {b:people} lost to {a:people}
{a} beat {b} {v} = {b:people} lost {v:coded} to {a:people} / {b:people} lost to {a:people} {v:coded}
{y} holds {v} = {y} has a|an capacity of {v:amount} / {y's} capacity is {v:amount}
{x} is code named {y} = {y:name} is the code name of|for {x} / the code name of|for {x} is {y:name}
{x:many} are kept for {v} = the? {x:word} retention period? lasts|is {v:lasting}
    / the? retention period for|of {x:word} lasts|is {v:lasting}
{x} caused {y} = {x} was|were the cause of {y} / the cause of {y} was {x}
{y} failed because of {x} = {x} made {y} fail / {x} caused {y} to fail
{x} replaced {y} with {z} = {x} switched|changed|migrated|moved from {y} to {z:name}
{x} has {y} = {y:counting_many} make|makes up {x}
{x} has {v} {y} = {x} contains|contain|includes|include {v:value} {y:word}
{x} is optional = {x} may|can be left empty|blank|out / {x} may|can be skipped|omitted / {x} is|are not mandatory
{x} is mandatory = complete {x:field} / {x:field} is required
{x} {v:third} well = {x} is good at {v:gerund}
{x} is {y} intolerant = {x} is intolerant to|of {y:word} / {x} can not digest|tolerate {y:word}
    / {x} has a|an {y:word} intolerance
{x} is allergic to {y:single} = {x} has|have a|an {y:word} allergy / {x} suffers|suffer from a|an {y:word} allergy
    / {x} is|are allergic to {y:word}
{x} is vegan = {x} eats no animal products / {x} does not eat animal products / {x} follows a vegan diet
{x} not eat meat = {x:who} follows|eats a vegetarian diet
{x} works offline = can use {x} offline
{x} drives {y} = {x:name} is the driver of {y}
{x} made {y} = {x:name} is the manufacturer|maker of {y}
{x} is {v} = {x:meter} shows|reads|displays|indicates {v:amount}
{x's} colour is {y} = {x} is|are painted {y:rest} / the? colour of {x} is {y:rest}
{s} takes {v} parameters = {s} takes|has|accepts|expects {v:value} arguments|parameters|params
the address of {x} is {y} = can reach {x} at {y:web} / {x} is|are available|reachable|hosted|found at {y:web}
{x} is hosted at {y} = {y:name} hosts {x:determined} / {x} is|are hosted on|with {y:name}
    / {x's} host|hoster is {y:name}
{x} has a staff of {v} = {x} employs|employ {v:value} people|staff? / {x} has|have {v:value} employees
{x} needs {y} = you|we need {y:amount_of} for {x} / {x} calls|call for {y:amount_of}
    / {x} requires|require {y:amount_of}
{x} is retired = {x} is a|an? pensioner|retiree
{x} has not {r} = {x} has|have not {r:rest} yet
{x} must not {r} = {x:name} may not {r:verbal} / {x:allowed} may not {r:verbal}
{x} does not {v:infinitive} well = {x} {v:acts} badly|poorly
{x} has {m} {r} = {x} eats|takes {m:meal} {r:rest}
{n} drinks {x} with {y} = {n} takes|drinks|has his|her|their {x:beverage} with {y:word}
    / {n} takes {y:word} in his|her|their {x:beverage}
{x} works at {y} = {x's} workplace|job is at? {y:determined}
{x} contains no {y} = there is|are no {y:word} in {x:determined} / {x} is|are made without {y:plain}
{x} {v:provided} {y} = you can {v:provided} {y:plain} at|in|from {x:determined}
{x} meets {r} = there is a|an {x:word} meeting {r:rest} / {x's} meeting is|happens {r:often}
{x} was founded in {v} = {x} has been around|going since {v:date}
{x} has {v} people = {v:value} people belong to {x:determined}
{r} by {v} = {r:rest} on|by|in? {v:date} at the latest
{x} opens at {v} = {x} does not open until|before {v:value}
{x} starts at {v} = {x} does not start|begin until|before {v:value}
{x} is {a} {r} = {x} remains|stays|remain|stay {a:state} {r:rest} / {x} is|are kept {a:state} {r:rest}
{x} is {a} = {x} remains|stays|remain|stay {a:state}
{x} was {v} {u} late = {x} was|were delayed by {v:value} {u:span} / {x} had a delay of {v:value} {u:span}
{n} studies {y} = {n:who} is a|an {y:discipline} student
{x} works nights = {x} works|has the? night shift|shifts
{x} does not work on {d} = {x} has|have {d:date} off / {x} is off on {d:date}
{x} has {v} pages = {x} is {v:value} pages long / {x} runs to {v:value} pages
{x} costs {v} = {x:sold} is|are {v:money}
{x} is on {v} = {x:event} happens on {v:date} / {x:event} will happen on {v:date}
{x} listens on port {v} = {x's} port is {v:value}
the {x} lasts {c} = there is a|an {c:compound} {x}
{x} excludes {y} = {x:prices} is|are net of {y:tax}
you can {r} = you may {r:verbal} / may|can {r:verbal}
{x} can {r} = {x:allowed} may {r:verbal}
{x} arbeitet bei {y} = {x} ist bei {y:rest} beschäftigt|angestellt|tätig
{x} ist {y} = {x:name} arbeitet als {y:word} / {x:name} ist {y:word} von beruf / {x:name} ist von beruf {y:word}
{x} pracuje w {y} = {x} jest zatrudniony|zatrudniona w {y:rest}
{x} jest {y} = {x} pracuje jako {y:word} / {x} jest z zawodu {y:word}
{x} es {y} = {x} trabaja de|como {y:word}
{x} was moved from {a} to {b} = {x:thing} is|happens in|on|at {b:date} instead of in|on|at? {a:date}
    / {x:thing} is|happens in|on|at {b:date} rather than in|on|at? {a:date}
{x} does not hear well = {x} is hard of hearing / {x} has bad|poor hearing
    / {x's} hearing is bad|poor
{x} does not see well = {x} has bad|poor|weak eyesight|vision
    / {x's} eyesight|vision is bad|poor|weak
{x} speaks fluently {y} = {x:who} speaks {y:demonym} fluently / {x's:name} {y:demonym} is fluent
{x} speaks {y} well = {x:who} speaks good {y:demonym} / {x's:name} {y:demonym} is good
    / {x:who} speaks a good {y:demonym} / {x:who} has a good command of {y:demonym}
only {x} {r} = {x:determined} is the only one|person {r:rest} / {x:known} alone {r:modal}
only {x} has {r} = {x:known} is the only one|person with {r:rest}
{x} stopped drinking = {x} stopped|quit alcohol|booze
{x} stopped drinking {r} = {x} stopped|quit alcohol|booze {r:rest}
{x} no longer smokes = {x} stopped|quit cigarettes|tobacco
{x} stopped smoking {r} = {x} stopped|quit cigarettes|tobacco {r:rest}
{x} stopped {g} {r} = {x} quit {g:gerund} {r:rest}
{x} quit {j} = {x} stopped|left {j:post}
{n} {v} {a} {x} = {n} {v:liking} {x:plural} to be {a:word} / {n} {v:liking} his|her|their {x:word} {a:served}
{n} drinks {a} {x} = {n} takes|drinks|has his|her|their {x:word} {a:served}
{x} prefers to be called {y} = {x} prefers|likes|wants|wishes|asks to be called|addressed as? {y:name}
    / {x} would rather be called|addressed as? {y:name} / {x} prefers|likes being called|addressed as? {y:name}
{x} is unavailable = can not contact|reach {x:who} / {x:who} can not be contacted|reached
{x} is unavailable {p} = can not contact|reach {x:who} {p:place} / {x:who} is not reachable {p:place}
{x} is available {p} = can contact|reach {x:who} {p:place} / {x:who} is reachable {p:place}
{n} works for {y} = {y:name} employs {n:name} / {y:determined} employs {n:name}
{x} has a staff of {v} = {v:value} people work at|for {x:name}
{n} {v:wrote} {x} = the {v:wrote} of {x:work} is {n:name}
{n} {v:founded} {x} = the {v:founded} of {x:determined} is {n:name}
{x} runs on {y} = {x} uses {y:fuel} / {x} is powered|driven|fuelled by {y:fuel} / {x} uses {y:fuel} fuel
    / {x} runs on {y:fuel} fuel
{x} serves {v} = {x} is|are for {v:value} people|persons / {x} serves|feeds {v:value} people|persons
    / {x} is|are enough for {v:value} people|persons
{x} {v:producer} {y} = {x} is a|the {v:producer} of {y}
{x} are kept for {v} = {x} is|are deleted|erased|removed|purged after {v:lasting}
{x} has no children = {x} is|are childless
{n} has {v} {c} = {n:name} is the|a mother|father|parent of {v:value} {c:offspring}
{x} returns {r} = {x:who} is|will back {r:back_at} / {x:who} will be back {r:back_at} / {x:who} will return {r:back_at}
{x} was cancelled = {x:event} is not happening / {x:event} will not happen / {x:event} does not happen
{r:ing} is forbidden = you|one may|can not {r:staying}
{r:ing} is free {p} = you|one can|may {r:word} free {p:rest}
replace {x's} {y} = {x} needs|need new {y:plural}
our {y} supplier is {x} = our supplier for|of {y:plain} is {x:name}
{y} is forbidden in {x} = {y:plain} is|are forbidden on {x:determined}
{x} lasts {v} = {x} has|have a|an term|duration|runtime of {v:lasting}
{x} must have at least {v} {y} = {x} needs|need|requires|require at least {v:value} {y:word}
the minimum order is {v} = you? must? order at least {v:amount}
{v} people must approve {x} = {x} needs|need|requires|require {v:value} approvals
{x} drives a {y} = {x's:name} car is a|an {y:name}
{x} retired {r} = {x:who} has been retired since {r:rest}
{x} lives {r} = {x's} home|flat|house|apartment is {r:beside}
{x} starts work {r} = {x's} working|work? day|shift starts|begins {r:place}
"""

# What a statement of a change says of how it is now; it replaces what was so, and is not what the statement says.
IMPLIED = """
{x} is now the {r} = {x:name} took|takes over as the? {r:rest} / {x:name} has taken over as the? {r:rest}
    / {x:name} took over from {b:name} as the? {r:rest} / {x:name} has taken over from {b:name} as the? {r:rest}
    / {b:name} handed over to {x:name} as the? {r:rest}
    / {x:name} became the? {r:word} / {x:name} has become the? {r:word}
{x} is now in {y} = {x} had to be relocated|moved to {y:rest} / {x} was|were relocated to {y:rest}
    / {x} has|have been relocated to {y:rest}
{x} is now called {y} = {x} was|were renamed to? {y:word} / {x} has|have been renamed to? {y:word}
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
a {x} is now up to {v} = the? maximum {x:plain} size? was? has? been? {c:changed} to {v:value}
    / the? {x:word} limit was? has? been? {c:changed} to {v:value} / the? {x:word} limit is now {v:value}
    / the? maximum {x:plain} size? is now {v:value}
{x} is no longer in {y} = {x} was|were|has|have been? {f:fetched} up? from {y} / {x} has? came|come back from {y}
    / {x} is|are back from {y} / {x} has? returned from {y} / {x} has? moved|checked out of {y}
{x} is no longer in training = {x} has? finished|completed {t:trained}
    / {x} has? finished|completed his|her|their|the {t:trained}
{x} is no longer an apprentice = {x} has? finished|completed {t:trained}
    / {x} has? finished|completed his|her|their|the {t:trained}
{x} is no longer a trainee = {x} has? finished|completed {t:trained}
    / {x} has? finished|completed his|her|their|the {t:trained}
{x} is no longer in university = {x} has? graduated / {x} has? graduated from {y:rest}
{x} is no longer a student = {x} has? graduated / {x} has? graduated from {y:rest}
{x} is no longer pregnant = {x} has? gave|given birth / {x} has? gave|given birth {y:rest}
    / {x} has? had her|a|the baby / {x} has? had her|a|the baby {y:rest}
{x} is no longer expecting {y} = {x} has? gave|given birth to {y}
{x} is no longer on {l} = {x} is back from his|her|their|the {l:leave} / {x} is back from {l:leave}
    / {x} has? returned from his|her|their|the {l:leave} / {x} has? returned from {l:leave}
{x} is no longer on parental leave = {x} is back at|to work / {x} has? returned to work
{x} is no longer on maternity leave = {x} is back at|to work / {x} has? returned to work
{x} is no longer on sick leave = {x} is back at|to work / {x} has? returned to work
{x} is no longer on vacation = {x} is back in|at|to work|office / {x} has? returned to work
{x} is no longer on leave = {x} is back at|to work / {x} has? returned to work
{x} is no longer applying to {y} = {x} was? has? been? {a:decided} at|by|to {y:name}
tickets for {x} are now sold out = {x:determined} is sold out
{x} no longer takes {y} = {d:definite} has? took|taken {x} off {y}
    / {d:definite} has? took|taken {x} off {y} and {r:rest}
    / {x} was? has? been? taken off {y}
{x} no longer dates {y} = {x} split|broke up with {y:name} / {x} split|broke up with {y:name} {r:rest}
{x} is now signed = both|all parties have signed {x}
{x} is now accepted = {b:definite} has|have accepted {x}
{x} is now approved = {b:definite} has|have approved {x}
{x} is no longer {r} = {x} quit|left|resigned from? his|her|their job|post|position|role as {r:rest}
{x} is now {y} = {x} was|has been? appointed|elected {y:rest} / {x} was|has been? promoted to {y:rest}
{x} is now a {y} = {x} was|has been? promoted to {y:rest}
{x's} title is now {y} = {x:name} was|has been? promoted to {y:rest}
{x's} {a} is now {v} = {x:name} has a new {a:word}, {v:value}
{x} is now in {y} = {x:name} switched|transferred to {y:determined}
{x} is now written in {y} = {x} was|has been? rewritten in {y:name}
{x} now lasts {v} = {x} was|has been? extended|prolonged|lengthened|shortened|cut to {v:lasting}
    / {x} was|has been? extended|prolonged|lengthened|shortened|cut from {w:value} to {v:lasting}
    / we|they extended|prolonged|shortened|cut {x:determined} to {v:lasting}
    / we|they extended|prolonged|shortened|cut {x:determined} from {w:value} to {v:lasting}
{x} now has {v} = {x} grew|shrank|expanded to {v:amount_of} / {x} has grown|shrunk|expanded to {v:amount_of}
    / {x} grew|shrank|expanded from {w:value} to {v:amount_of}
    / {x} has grown|shrunk|expanded from {w:value} to {v:amount_of}
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
# The verbs of nouns for what is done, by what stands around them.
DEEDS = {
    sort: dict(pair.split("/") for pair in pairs.split())
    for sort, pairs in {
        "taken": "walk/walk shower/shower nap/nap swim/swim stroll/stroll ride/ride",
        "outing": "walk/walk run/run swim/swim ride/ride drive/drive",
        "activity": "jogging/jog running/run swimming/swim hiking/hike cycling/cycle skiing/ski sailing/sail "
        "fishing/fish climbing/climb dancing/dance riding/ride camping/camp skating/skate surfing/surf",
        "ordering": "order/order",
        "made_of": "reservation/reserve payment/pay copy/copy correction/correct donation/donate translation/translate "
        "announcement/announce purchase/purchase recommendation/recommend calculation/calculate estimate/estimate "
        "drawing/draw recording/record summary/summarize booking/book",
        "made_for": "request/request suggestion/suggest proposal/propose",
        "made_at": "decision/decide complaint/complain apology/apologize comment/comment contribution/contribute "
        "donation/donate promise/promise attempt/attempt bid/bid appeal/appeal investment/invest reference/refer",
        "made_alone": "decision/decide complaint/complain promise/promise payment/pay",
        "lodged": "complaint/complain application/apply appeal/appeal protest/protest",
        "given_of": "description/describe explanation/explain demonstration/demonstrate presentation/present",
        "given_at": "lecture/lecture talk/talk apology/apologize",
        "taken_of": "photo/photograph picture/photograph photograph/photograph",
        "taken_at": "vote/vote decision/decide look/look",
        "had": "discussion/discuss",
        "had_with": "meeting/meet appointment/meet",
        "had_at": "complaint/complain argument/argue quarrel/quarrel chat/chat conversation/talk talk/talk look/look",
        "paid_to": "visit/visit",
        "sent_to": "invitation/invite reminder/remind call/call ring/call warning/warn email/email",
        "chore": "cleaning/clean cooking/cook ironing/iron shopping/shop gardening/garden baking/bake "
        "translating/translate filming/film",
        "done_of": "inspection/inspect check/check review/review test/test search/search translation/translate "
        "examination/examine analysis/analyze audit/audit survey/survey investigation/investigate study/study "
        "evaluation/evaluate assessment/assess calculation/calculate demonstration/demonstrate",
    }.items()
}
# What has not been done is this: "has not been paid" is "is unpaid".
UNDONE = dict(
    pair.split("/")
    for pair in """
    paid/unpaid signed/unsigned verified/unverified confirmed/unconfirmed answered/unanswered resolved/unresolved
    tested/untested finished/unfinished used/unused closed/open opened/unopened
    """.split()
)
# What can be done with it: "refundable" is "can be refunded".
ABLE = dict(
    pair.split("/")
    for pair in """
    refundable/refund transferable/transfer washable/wash renewable/renew editable/edit removable/remove
    adjustable/adjust reusable/reuse exchangeable/exchange returnable/return cancellable/cancel cancelable/cancel
    extendable/extend extensible/extend negotiable/negotiate reversible/reverse recyclable/recycle
    searchable/search configurable/configure downloadable/download printable/print customizable/customize
    customisable/customise reachable/reach repairable/repair bookable/book payable/pay
    usable/use drinkable/drink accessible/access deductible/deduct
    """.split()
)
UNABLE = {
    f"{start}{adjective}": verb for adjective, verb in ABLE.items() for start in ("non", "non-", "un", "ir", "in")
}
# What they are of it who did that, whatever it is; and by a word that elsewhere is a post.
MAKERS = dict(
    pair.split("/")
    for pair in """
    founded/founder invented/inventor created/creator discovered/discoverer won/winner illustrated/illustrator
    """.split()
)
WORKERS = dict(
    pair.split("/")
    for pair in """
    wrote/author directed/director designed/designer composed/composer built/builder produced/producer
    published/publisher translated/translator developed/developer sculpted/sculptor
    """.split()
)
# In whose hands it is, by what is done with it.
LED = dict(
    pair.split("/")
    for pair in """
    led/leader managed/manager headed/head chaired/chair coordinated/coordinator maintained/maintainer
    coached/coach supervised/supervisor trained/trainer organized/organizer organised/organizer
    moderated/moderator represented/representative sponsored/sponsor
    """.split()
)
# Where people come from, by what they are.
NATIONS = dict(
    pair.split("/")
    for pair in """
    american/usa british/britain english/england scottish/scotland welsh/wales irish/ireland german/germany
    french/france spanish/spain italian/italy portuguese/portugal polish/poland dutch/netherlands swedish/sweden
    danish/denmark norwegian/norway finnish/finland icelandic/iceland czech/czechia slovak/slovakia slovenian/slovenia
    croatian/croatia serbian/serbia bosnian/bosnia albanian/albania macedonian/macedonia montenegrin/montenegro
    bulgarian/bulgaria romanian/romania hungarian/hungary austrian/austria swiss/switzerland belgian/belgium
    luxembourgish/luxembourg greek/greece turkish/turkey cypriot/cyprus maltese/malta russian/russia ukrainian/ukraine
    belarusian/belarus moldovan/moldova estonian/estonia latvian/latvia lithuanian/lithuania georgian/georgia
    armenian/armenia azerbaijani/azerbaijan kazakh/kazakhstan uzbek/uzbekistan mongolian/mongolia chinese/china
    taiwanese/taiwan japanese/japan korean/korea vietnamese/vietnam thai/thailand cambodian/cambodia laotian/laos
    burmese/burma malaysian/malaysia singaporean/singapore indonesian/indonesia filipino/philippines indian/india
    pakistani/pakistan bangladeshi/bangladesh nepalese/nepal nepali/nepal afghan/afghanistan iranian/iran iraqi/iraq
    syrian/syria lebanese/lebanon jordanian/jordan israeli/israel palestinian/palestine yemeni/yemen kuwaiti/kuwait
    qatari/qatar egyptian/egypt libyan/libya tunisian/tunisia algerian/algeria moroccan/morocco sudanese/sudan
    ethiopian/ethiopia eritrean/eritrea somali/somalia kenyan/kenya ugandan/uganda tanzanian/tanzania rwandan/rwanda
    congolese/congo angolan/angola zambian/zambia zimbabwean/zimbabwe mozambican/mozambique namibian/namibia
    botswanan/botswana nigerian/nigeria ghanaian/ghana senegalese/senegal malian/mali cameroonian/cameroon
    liberian/liberia gambian/gambia canadian/canada mexican/mexico guatemalan/guatemala honduran/honduras
    nicaraguan/nicaragua panamanian/panama cuban/cuba jamaican/jamaica haitian/haiti colombian/colombia
    venezuelan/venezuela ecuadorian/ecuador peruvian/peru bolivian/bolivia chilean/chile argentinian/argentina
    argentine/argentina uruguayan/uruguay paraguayan/paraguay brazilian/brazil australian/australia
    """.split()
)
PRODUCERS = dict(
    pair.split("/")
    for pair in """
    producer/produces manufacturer/manufactures maker/makes supplier/supplies exporter/exports importer/imports
    grower/grows breeder/breeds collector/collects seller/sells distributor/distributes
    """.split()
)
# Who is so most of all, and what nobody else is more.
PROVIDERS = {"buy": "sells", "borrow": "lends", "hire": "rents"}
SUPERLATIVES = dict(
    pair.split("/")[::-1]
    for pair in """
    youngest/younger oldest/older tallest/taller smallest/smaller biggest/bigger largest/larger fastest/faster
    slowest/slower strongest/stronger richest/richer cheapest/cheaper heaviest/heavier longest/longer best/better
    """.split()
)
DOERS = dict(pair.split("/") for pair in "teacher/teaches lecturer/lectures".split())
SPANNED = dict(
    pair.split("/") for pair in "hourly/hour daily/day weekly/week monthly/month yearly/year annually/year".split()
)
ADVERBS = dict(
    pair.split("/")
    for pair in "annual/annually yearly/annually monthly/monthly weekly/weekly daily/daily quarterly/quarterly".split()
)
VERBS = {noun: verb for verbs in DEEDS.values() for noun, verb in verbs.items()}
# The words that a slot of the sort may hold; of those with a value another word is made.
CLOSED: dict[str, frozenset[str] | dict[str, str]] = {
    "opposite": OPPOSITES,
    "compared": COMPARED,
    "undone": UNDONE,
    "able": ABLE,
    "doable": ABLE,
    "unable": UNABLE,
    "period": ADVERBS,
    "founded": MAKERS,
    "wrote": WORKERS,
    "nation": NATIONS,
    "led": LED,
    "doer": DOERS,
    "producer": PRODUCERS,
    "provided": PROVIDERS,
    "superlative": SUPERLATIVES,
    "adverbial": SPANNED,
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
        "changed": " ".join(sorted(CHANGES - {"brought", "forward"})),
        "trained": "apprenticeship training traineeship internship",
        "leave": "leave vacation vacations holiday holidays sabbatical",
        "fetched": "picked collected fetched retrieved removed released discharged recovered",
        "decided": "admitted accepted rejected refused declined",
        "placing": "place places placed",
        "making": "make makes made",
        "doing": "do does did perform performs performed conduct conducts conducted undertake undertakes",
        "giving_out": "give gives gave",
        "having": "have has had hold holds held",
        "paying": "pay pays paid make makes made",
        "lodging": "lodge lodges lodged file files filed submit submits submitted make makes made",
        "paper": """
            badge ticket key card permit licence license visa passport password pin code token account invitation
            reservation booking receipt form signature approval appointment deposit certificate helmet mask voucher
            login subscription degree reference prescription po id name email address number label barcode backup owner
        """,
        "named": "dog cat horse rabbit parrot hamster pony boat company shop blog band",
        "shared": "office room flat desk house apartment bedroom kitchen table locker taxi car garage",
        "licence": "mit apache gpl agpl lgpl mpl bsd isc cc0 eupl",
        "admitted": """
            pets dogs cats children kids babies guests visitors walk-ins minors groups students wheelchairs members
            residents pensioners seniors
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
        "hair": "hair eyes skin fur",
        "staying": "smoke park swim camp fish cycle eat drink sleep cook dive drive skate film stay",
        "going": "goes go went",
        "taking": "takes take took",
        "often": "daily weekly monthly quarterly annually yearly annual",
        "direction": "north south east west northwest northeast southwest southeast",
        "exceeding": "larger bigger greater longer heavier more higher",
        "serving": "process handle manage deliver send host ship print clean audit sell distribute",
        "probation": "trial probation warranty guarantee rental lease",
        "role": "teacher coach manager trainer captain tutor mentor supervisor editor guide",
        "unit": "office team department project branch shop store programme program campaign desk workshop group lab",
        "traffic": """
            cars trucks lorries vehicles motorbikes motorcycles cyclists pedestrians bikes bicycles traffic buses
            coaches caravans drones visitors hikers swimmers
        """,
        "entitled": """
            admins administrators members staff employees residents owners managers customers subscribers editors
            moderators users guests tenants drivers visitors holders teachers students contractors
        """,
        "work": """
            film movie documentary play series novel book poem song album opera musical symphony ballet game app website
            site logo poster house building bridge tower church chapel mural portrait statue sculpture painting cover
            font tool report article study paper thesis guide manual screenplay
        """,
        "supply": """
            ink paper toner milk coffee bread fuel gas petrol diesel water salt sugar power electricity heating internet
            memory space
        """,
        "discipline": """
            law medicine physics chemistry biology maths mathematics history economics engineering music art
            architecture philosophy psychology sociology geography linguistics journalism theology nursing business
        """,
        "sold": """
            ticket tickets seat seats trip tour course lesson lessons haircut meal menu entry admission coffee beer
            bottle book books membership
        """,
        "beverage": "tea coffee cocoa espresso cappuccino porridge",
        "transit": "bus train tram metro ferry underground subway",
        "meal": "breakfast lunch dinner brunch supper",
        "liking": "likes like liked prefers prefer preferred loves love hates hate",
        "served": "strong weak hot cold black white sweet cool warm iced mild spicy plain rare medium",
        "fuel": "diesel petrol gas electricity batteries gasoline lpg hydrogen ethanol",
        "offspring": "sons daughters kids boys girls twins",
        "venue": """
            museum zoo exhibition gallery festival concert park garden gardens castle fair pool market beach cathedral
            tower show event
        """,
        "seats": "tickets seats",
        "department": "marketing sales finance accounting engineering purchasing procurement logistics hr payroll",
        "game": "chess tennis football soccer basketball volleyball badminton golf hockey rugby piano guitar violin",
        "credential": "password passphrase pin code username login key port",
        "notices": """
            alerts alarms notifications newsletters reports mails emails letters complaints invoices bills copies
            results updates warnings minutes
        """,
        "priced": """
            parking membership subscription plan rent rental hire storage hosting tuition insurance ticket room desk
            locker bike car boat garage
        """,
        "prices": "prices price rates rate quotes quote fees fee amounts amount costs cost",
        "tax": "vat gst tax taxes shipping delivery postage packaging breakfast tip tips service",
        "zone": "utc gmt cet cest est pst celsius fahrenheit euros dollars francs pounds chf usd eur gbp metric",
        "meter": "meter odometer counter gauge thermometer scale scales barometer speedometer display",
        "means": "card cash transfer cheque check invoice debit paypal wire",
        "field": "field fields section form box",
        "body": "board committee council jury panel commission",
        "consuming": "takes eats drinks uses needs wants sells serves makes speaks wears owns keeps",
        "furnished": "furnished assembled equipped packed wrapped loaded prepared heated unfurnished",
        "payment": "rent fee invoice invoices bill tax taxes premium instalment installment deposit fine fees bills",
        "papers": """
            feedback questions drafts invoices bills reports mails emails letters complaints requests tickets orders
            payments copies forms receipts notes applications contracts parcels alerts alarms notifications messages
            newsletters minutes results updates warnings
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
