"""What a text says about the condition of a commitment: that it holds, that it does not, or nothing.

A condition is a few stems, all of which must be in one sentence (its entry's labels counted in). A wish, a plan, a
question or another condition asserts nothing; a sentence that denies says the opposite.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from memory.text import json_texts, patterns, search_words
from memory.text.encodings import normalized
from memory.text.intentions import documents, events, occurrences, references, verbs
from memory.text.intentions.verbs import stem
from memory.text.similarity.spelling import with_signs
from memory.text.similarity.values import NUMBER_WORDS

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
LONGEST_TEXT = 20_000
LONGEST = 400
MOST_SENTENCES = 500  # more of them, in a text of that length, are no prose
BREAK = patterns.late(r"[.!?]+(?=[\s\"')\]]|$)|;|\n+")
ABBREVIATION = patterns.late(
    r"(?:^|[\s(])(?:[a-z]|[ap]\.m|e\.g|i\.e|mr|mrs|ms|dr|st|no|vs|inc|ltd|co|approx"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu(?:rs)?|fri|sat|sun)$",
    re.IGNORECASE,
)
GERMAN_DATE = patterns.late(r"\d\. (?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|[a-zäöüß])")
QUOTED = patterns.late(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|`[^`\n]{0,400}`"
    r"|(?<![\w'])'(?=\w)(?:[^'\n]|(?<=\w)'(?=\w)){0,400}'(?!\w)"
)
URL = patterns.late(r"\b(?:https?|ftp)://[^\s>)\]]+")
QUOTED_LINE = patterns.late(r"^[ \t]*>[^\n]*", re.MULTILINE)
SINGLE_WORDS = patterns.late(r"\S+")
# What has a title: "ticket 'login loop'".
HAVE_TITLES = (
    r"(?:pr|mr|pull request|ticket|issue|task|card|epic|story|item|order|case|project|file|document|column|job|pipeline"
    r"|milestone|feature|branch|tab|folder|sheet|form|step|stage|phase|event|entry|row)"
)
TITLED = patterns.late(rf"\b(?:{HAVE_TITLES}|named|called|titled)\s*:?\s*$", re.IGNORECASE)
HAS_TITLE = patterns.late(rf"\s+{HAVE_TITLES}\b", re.IGNORECASE)
# Before what somebody says or answers: "Asked the bank. 'Yes, it is in.'", "Leo replied: 'Signed.'"
ANSWERED = patterns.late(
    r"(?:\b(?:he|she|they|(?-i:[A-Z][\w'-]+)|the (?:[\w-]+ )?[a-z]+(?:er|or|ist|ant|ent|man|woman)|support"
    r"|accounting|finance"
    r"|hr|legal|ops|team|office|bank|clinic|lab|school|customs) (?:just |then |has |now )?(?:said|says|wrote|writes"
    r"|replied"
    r"|replies|answered|answers|confirmed|confirms|reported|reports|texted|mailed|e-?mailed|messaged|told (?:me|us)"
    r"|posted"
    r"|announced|announces|wrote back|writes back)(?: (?:back|today|just now|me|us|yesterday|this morning))*"
    r"|\b(?:her|his|their|the) (?:answer|reply|response|message|text)(?: was| is| reads)?|(?:^|[.!\n])\s*(?:i "
    r"|we )?(?:asked|called"
    r"|phoned|pinged|texted|checked with)\b[^.?!\"]{2,60})\s*[,:.]\s*$",
    re.IGNORECASE,
)
NEARBY = 90  # characters
TITLE = 3  # so many words in quotation marks may be a name
WORD = patterns.late(r"(?:(?<![\w-])-)?\d+(?:[.,]\d+)+(?![\w])|(?<![\w-])-\d+\b|[^\W_]+(?:'[a-z]+)?")
THOUSANDS = patterns.late(r"(?<=\d),(?=\d{3}\b)")
FOREIGN_STEM = 6  # letters; endings of verbs change the last of a stem
MOST_WORDS = 12
# Before a word of a condition: whose it is, which need not be said again; who does it, which a passive may leave
# out; what it was called before, and that all of them have to.
OWNER_MARK, DOER_MARK, ASIDE_MARK = MARKS = "~", "^", "+"
PAID, OWED = "pay", frozenset(("deposit", "rent", "fe", "instalment", "sum", "fund"))
UNSAYING = """
a an the this that these those it its he she they we i you me us him her them my our your their his and or but so then
also just now already finally again because
is are was were be been being has have had having am do does to of in on at by for
from with into as got get gets getting there here which who whom whose
someone somebody anyone anybody something when once after if soon moment until before since
while very too some any each every all both can today yesterday tomorrow tonight morning successfully fully completely
entirely
totally properly definitely officially formally actually really safely 's
"""
STOP = frozenset(UNSAYING.split())
# Without one of these a text may be in another language.
ENGLISH = frozenset("the is are was were has have had been of with from this our my we i it to".split())
# A present tense with a time to come: "the trial expires in December", "Anna arrives on Monday".
AHEAD = patterns.late(
    r"\b(?:tomorrow|tonight|later|not before|(?<!heute )morgen|übermorgen|demain|jutro|pojutrze|(?<!esta )mañana"
    r"|(?:this coming|coming|next) (?:week|month|year|quarter|time|summer|winter|spring|autumn|fall|season|term"
    r"|semester"
    r"|morning|night|weekend|\w+day|january|february|march|april|may|june|july|august|september|october|november"
    r"|december)"
    r"|(?:every|each) (?:day|week|month|year|morning|night|spring|summer|autumn|winter|time|\w+day|may|june|july)"
    r"|(?:in|by|before|after) (?:the )?(?:spring|summer|autumn|winter|new year|holidays|weekend|end of"
    r"|beginning of|start of)"
    r"|at the (?:end|beginning|start) of|(?:starting|beginning|effective|as of|from) (?:mon|tues|wednes|thurs"
    r"|fri|satur|sun)day"
    r"|in (?:a|an|\d+|two|three|four"
    r"|five|six|ten)"
    r" (?:minutes?|hours?|days?|weeks?|months?|years?)|(?:on|by|this|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|at (?:\d{1,2}(?::\d\d|\s?[ap]m)|noon|midnight|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"|(?:in|on|by|until) (?:the )?(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? )?(?:january|february|march|april|may"
    r"|june|july|august"
    r"|september|october|november|december))\b",
    re.IGNORECASE,
)
# "Dinner is served at seven" is none.
PAST = patterns.late(
    rf"\b(?:was|were|has|have|had|been|did)\b"
    rf"|\b(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bgets )(?<!\bget )(?:{'|'.join(verbs.PASTS)}|\w{{2,}}ed)\b",
    re.IGNORECASE,
)
# What lies longer ago than what anyone waits for.
LONG_AGO = patterns.late(
    r"\b(?:in|since|until|around|during|of|by) (?:the (?:year |summer of |winter of |spring of "
    r"|autumn of )?)?(?:1[5-9]|20)\d\d\b"
    r"(?!-)|\bin the (?:19|20)?\d0'?s\b|\b(?:twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)\b"
    r"|\blast (?:year|decade|century|summer|winter|spring|autumn|fall|season|christmas|easter|term|semester|time)\b"
    r"|\b(?:years?|decades?|centuries|ages|months|generations?) (?:ago|earlier|before)\b|\blong ago\b"
    r"|\bas a (?:child|kid|boy|girl|student|teenager|baby|young \w+)\b|\b(?:back then|in the past|in those days"
    r"|at that time"
    r"|formerly|once upon|historically|in the old days|during the war|before the war|after the war|when (?:i|he"
    r"|she|we|they)"
    r" (?:was|were) (?:young|little|small|a \w+|\w+teen))\b|\b(?:used to)\b",
    re.IGNORECASE,
)
# "The heating at my sister's place", "the lift in the next house", "the website of a rival".
ELSEWHERE = patterns.late(
    r"\b(?:at|in|of|on|from|near|for|under|by) (?:(?:the|an?|my|our|your|his|her|their"
    r"|one of our) )?(?:[\w-]+ )?(?:other|next"
    r"|neighbou?ring|adjacent|opposite|rival|competing|different|another|second|competitors?|rivals?|neighbou?rs?)\b"
    r"(?! (?:\w+ )?(?:time|step|attempt|try|go|round|hour|day|night|week|month|year|quarter|term|season|decade)s?\b"
    r"| to\b)|\bnext door\b|\b(?:the|that|an?) [\w-]+ (?:upstairs|downstairs|opposite)\b|\bacross the (?:street|road"
    r"|river|border)\b"
    r"|\bin (?:a|the|my|his|her|our) (?:dream|film|movie|novel|story|drill|exercise|simulation|rehearsal"
    r"|video game|scenario"
    r"|soap|episode|series)s?\b",
    re.IGNORECASE,
)
# The next words after the thing say whose or which it is.
OF_ANOTHER = patterns.late(
    r"([\w-]+) (?:at|in|of|on|from|near) (?:(?:the|an?|my|our|your|his|her"
    r"|their) )?(?:(?:[\w-]+ )?([^\W\d_]+)'s(?: [\w-]+)?|[\w-]+ (\d+))\b",
    re.IGNORECASE,
)
# "A pipe at the school" is not the one that is known.
A_CERTAIN = patterns.late(
    r"\b(?:an?|some|one) ([\w-]+) (?:at|in|of|on|near|from) (?:the|an?|my|our|your|his|her|their) ([\w-]+)",
    re.IGNORECASE,
)
OWNED_BY_OTHERS = patterns.late(
    r"(?<!\bat )(?<!\bin )(?<!\bduring )\b(sister|brother|mother|father|mum|mom|dad|wife|husband|son|daughter|friend"
    r"|colleague|neighbou?r|cousin|aunt|uncle"
    r"|competitor|rival|predecessor|flatmate|roommate|niece|nephew|grandmother|grandfather|someone|somebody|yesterday"
    r"|tomorrow|year|month|week)(?:'s|s'|s's) ((?:[\w-]+ ){0,2}?[\w-]+)",
    re.IGNORECASE,
)
# "A body in the car", "an offer for the boiler": something else, which only has to do with it.
ABOUT_IT = patterns.late(
    r"\b(?:an?|some|another|no) ((?:[\w-]+ )?[\w-]+) (?:in|on|under|at|of|near|for|with|about|from|to|behind"
    r"|against|behind)"
    r" (?:the|our|my|your|his|her|their|its|this|that) ([\w-]+(?: [\w-]+)?)",
    re.IGNORECASE,
)
# "The footpath under the bridge": what happens, happens to the first.
BESIDE_IT = patterns.late(
    r"^\W*(?:the|an?|our|my|your|his|her|their|its|this|that|some|all) ((?:[\w-]+ )?[\w-]+) (?:under|over"
    r"|behind|beside|near|before"
    r"|next to|outside|opposite|around|to|for|with|about|of) (?:(?:the|our|my|your|his|her|their|its|this|that"
    r"|an?) )?([\w-]+(?: [\w-]+)?)",
    re.IGNORECASE,
)
# What is expressly not meant: "but no vaccine", "instead of the director".
NOT_IT = patterns.late(
    r"\b(?:no(?! (?:longer|more|doubt|problem|issue)\b)"
    r"|instead of|except(?: for)?|rather than|other than|apart from|without|but not|and not|not for"
    r"|not on|not in) "
    r"(?:(?:the|an?|any|all|our|my|your|his|her|their|its|this|that) )?([\w'-]+(?: [\w'-]+)?)",
    re.IGNORECASE,
)
# Behind it another clause begins, of which nothing belongs to the one before.
CONTRAST = patterns.late(
    r",?\s*\b(?:but|while|whereas|yet|although|though)\s+(?=(?:the|an?|my|our|your|his|her|their|its|this|that|these"
    r"|those|no|not"
    r"|it|he|she|they|we|i|you|there)\b|(?-i:[A-Z]))",
    re.IGNORECASE,
)
# Whoever is called does not call.
TOWARDS = frozenset("call phon ring visit".split())
WE_DO = patterns.late(r"^\W*(?:[\w']+\s+){0,3}?(?:i|we)\b", re.IGNORECASE)
WHO_DOES = patterns.late(
    r"\b(?:i|we|you|he|she|they|somebody|someone|(?-i:[A-Z]\w+)|(?:the|my|our|his|her) [\w-]+)(?: (?:have|has"
    r"|had|just|already"
    r"|finally|then|also|only))* (?:call|phon|rang|ring|visit)\w*(?! by\b| from\b)",
    re.IGNORECASE,
)
UNDONE = patterns.late(
    r"\bun(?=(?:paid|signed|filed|approved|cleared|delivered|resolved|confirmed|shipped)\b)", re.IGNORECASE
)
DENIAL = patterns.late(
    r"\b(?:not|never|no longer"
    r"|without(?! (?:an? |any )?(?:error|problem|issue|incident|delay|trouble|hitch|fault)s?\b)"
    r"|yet to|failed to|fails to|unable to|neither|nor|cannot|refused to|reopened"
    r"|\w+n't"
    r"|no (?!doubt|problem|issue)\w+ (?:has|have|was|were|is|are|had)"
    r"|(?:has|have|had|got|shows?) no (?!doubt|problem|issue|objection|complaint|concern|question|fault|defect"
    r"|comment|trouble|more\b))\b"
    r"|\b(?:has|have|is|are) still (?:to|un\w+|pending|outstanding|open|missing)\b"
    r"|\b(?:out of (?:stock|order|service)|sold out|nothing|nobody|lost|failed)\b"
    r"|\b(?:half|halfway|almost|nearly|partly|partially|mostly|largely|not quite)[ -]"
    r"(?:\w+ed|set|done|complete|ready|through|over|there|back|built|written|sent|paid|shut|dry|full|empty|gone)\b"
    r"|\b(?:nicht|ohne|kein\w*|(?:todavía|aún|ya) no|no (?:ha|han|hay|se|fue|está|llegó)|pas|nie)\b"
    r"|^\W*no \w+ \w+ed\b|\bonly (?:half|partly|partially)\b|\b(?:passed over|turned down|rejected) for\b"
    r"|\bmissed out on\b"
    r"|\b(?:half|part) of\b|\b(?:almost|nearly|not quite)\b|\bno (?=\w+(?:á|án|ó|aron|ieron)\b)|\bstill being\b"
    r"|\bin progress\b|\bunder ?way\b|\bongoing\b|\bagainst\b"
    r"|\b(?:hardly|barely|scarcely|by no means|far from|anything but)\b"
    r"|\b(?:pending|outstanding|overdue|rolled back|reversed|revoked|withdrawn)\b",
    re.IGNORECASE,
)
# After such a word there is no statement, up to the next comma. A copy of a condition says no more than the condition.
SUBORDINATE = patterns.late(
    r"\b(?:when|whenever|once|if|unless|until|till|before|as soon as|whether|the moment|after|provided that"
    r"|(?<=[,;(] )provided"
    r"|in case|as long as|(?:each|every|the next|next) time|wenn|sobald|sofern|nachdem|cuando|en cuanto|quand|lorsqu\w*"
    r"|dès qu\w*|gdy|kiedy|jeśli|jeżeli|(?-i:[Ss]i(?= [a-zé])))\b[^,]*"
    r"|\bfalls (?:der|die|das|dies\w*|ein\w*|es|sie|ich|wir|er)\b[^,]*",
    re.IGNORECASE,
)
NO_STATEMENT = patterns.late(
    r"\b(?:will|would|shall|should|may|might|could(?! not)|must|can)\b|\b\w+'(?:ll|d)\b|\b(?:have|has|had|is"
    r"|are|was|were|used) to\b|"
    r"\b(?:going|due|about|expect(?:s|ed|ing)?|hope[sd]?|hoping|want(?:s|ed|ing)?|plan(?:s|ned|ning)?|need(?:s|ed)?"
    r"|wait(?:s|ed"
    r"|ing)?"
    r"|supposed|meant|set|likely|try(?:ing)?|tries|tried|ready|scheduled?|ask(?:s|ed)?|promis(?:es|ed)|intend(?:s|ed)?"
    r"|ought)"
    r"\s+(?:[\w']+\s+){0,4}?(?:to|for|by)\b|"
    r"\b(?:forg[eo]t(?:s|ten)?|declin(?:es|ed)|agreed?|hesitat(?:es|ed)|offer(?:s|ed)?|invited|avoid(?:s|ed)"
    r"|refus(?:es|ed)"
    r"|stopp?(?:s|ed)?|prevent(?:s|ed)?)\s+(?:[\w']+\s+){0,3}?(?:to\s+(?!(?:the|an?|my|our|your|his|her|its|their"
    r"|this|that|these|those|it|all)\b)\w|from\s+\w+ing\b|\w+ing\b)"
    r"|\btoo \w+ to\b|\bwants? (?:[\w']+ ){1,4}\w+(?:ed|t|n)\b|"
    r"\b(?:hopes?|hoping|wish(?:es)?|guess|doubts?|wonders?|fears?) (?!to\b)|"
    r"\b(?:thinks?|believes?|assumes?|suspects?|claims?|predicts?|expects?|rumou?rs?) (?:that )?(?:the|an?|he|she"
    r"|it|we|they)\b|"
    r"\b(?:thinking|considering|planning|talking|dreaming) (?:of|about)\b|"
    r"\bon (?:their|its|his|her|the|our|my) way\b|\b(?:fast )?asleep\b|"
    r"\b(?:consider|discuss|suggest|recommend|propos|contemplat|mull)(?:s|es|ed|ing|e|ing over)? \w+ing\b|"
    r"\b(?:pense(?:nt)?|espère|compte|veut|veulent|souhaite|prévoit|envisage|hésite|piensa|espera|quiere|planea"
    r"|prevé|intenta"
    r"|denkt|hofft|plant|möchte|wollen|erwägt|überlegt|chce|planuje|zamierza|rozważa|devrait|devraient|va|vont|doit"
    r"|doivent|debería\w*|soll|sollte|sollten|wird|werden|muss|will bald|powin\w+"
    r"|ma|mają"
    r"|będzie|sera|seront|\w{3,}(?:ará|erá|irá|arán|erán|irán)|vielleicht|peut-être|quizás?|tal vez|może|pronto"
    r"|bientôt|bald|wkrótce)\b|"
    r"\b(?:chance|risk|probability|likelihood|danger|odds|verge|brink|threat|talk|hope|possibility|prospect|fear) of\b"
    r"|\bforecasts?\b|\b(?:up|appl(?:y|ies|ied)|calls|called|push(?:es|ed|ing)?|eligible|in line|candidate|runs"
    r"|running|looking"
    r"|searching|search|fight(?:s|ing)?|campaign(?:s|ed|ing)?|application|request|bid|preparing|prepares"
    r"|prepared) for\b"
    r"|\b(?:looks?|sounds?|seems?|seemed|appears?|appeared) (?:as (?:if|though)|like|to)\b"
    r"|\b(?:allegedly|supposedly|apparently|presumably|in theory|attempts?|attempted|threaten(?:s|ed)?|vow(?:s|ed)?"
    r"|pledg(?:es|ed)|struggl(?:es|ed|ing)|aims?|aimed|hop(?:es|ed|ing)|wish(?:es|ed)?|fail(?:s|ed)) to\b"
    r"|\b(?:allegedly|supposedly|apparently|presumably)\b|"
    r"\b(?:remind|don't forget|todo|to-do|please|let (?:me|us) know|make sure|expecting|awaiting|hopefully|probably"
    r"|perhaps"
    r"|maybe|soon)\b",
    re.IGNORECASE,
)


# Said of how it always is, of what would be good, or to one another: nothing has happened.
GENERALLY = patterns.late(
    r"\b(?:always|usually|often|generally|normally|sometimes|in general|tends? to|(?:every|each) (?:day|week|month"
    r"|year))\b"
    r"|\b(?:let's|let us)\b|\b(?:it's|it is|is|are) (?:so |very |super |really |always )*(?:important|essential"
    r"|crucial|key)\b"
    r"|^\W*(?:\w+:\s+)?\w{2,}ing\s+(?!is\b|are\b|was\b|were\b|has\b)[^,.;]*\b(?:is|are) (?:so |very |super |really )*"
    r"(?:great|good|fun|hard|tough|nice|amazing|what|a|an|my|something|worth)\b",
    re.IGNORECASE,
)
# "I", "we" and "I'm" in a condition: who it is that did it; a note without a subject is its writer's.
OWN = patterns.late(
    r"\b(?:i|we|our|us|my|me)\b|\b(?:the|this) (?:user|author|writer)\b"
    r"|^\W*(?:(?:now|just|finally|all|already)\s+)*(?:\w{2,}ed|done|home|back|here|there|sent|paid|made|read)\b",
    re.IGNORECASE,
)
# A note of so few words may have no verb: "CI green again".
SHORTEST_NOTE = 4
# A word that says by itself what is, and how many words before it say so.
BEING = frozenset(
    "is are was were am be been being it's that's he's she's there's they're we're i'm has have had got gets get went"
    " goes came comes became turned turns ran runs now again finished completed done".split()
)
NEAR = 4
# What brings an event that is told by a noun.
BRINGING = frozenset(
    "received got sent gave given made came arrived issued granted obtained took taken reached submitted"
    " tendered posted"
    " gotten announced".split()
)
WEATHER = frozenset(("rain", "snow", "freez", "storm", "hail", "drizzl"))
HAPPENS = frozenset(verbs.third_person(verb) for verb in verbs.ACTIONS | verbs.HAPPENING)
HAPPENING = frozenset(
    stem(verb) for verb in verbs.ACTIONS | verbs.HAPPENING | frozenset(verbs.BASES.values()) | occurrences.VERBS.keys()
)
THERE = patterns.late(
    r"(?:[\w'-]+ ){0,5}?(?:(?:is|are|was|were|has been|have been)(?: now| finally| already)? (?:on|under|here|in"
    r"|there|done"
    r"|complete|official|final|out|through|over|handed down|issued|announced|granted|published|delivered)"
    r"|came (?:down|in|through|as|out)|took effect|took place|happened|landed)\b"
)
NOT_DOING = frozenset("morning evening during nothing something everything anything".split())
CONTRACTED = patterns.late(r"(?:i|you|he|she|it|we|they|there|that|who)'(?:m|re|ve|d|ll|s)$")
# Behind an article these are things, and not what is done.
THINGS = frozenset("grant grants dock docks land patch patches mount mounts".split())
ARTICLES = frozenset("the a an my our your his her their this that these those for".split())
OBJECTS = ARTICLES - {"for"}
MEANT_FOR = frozenset("for pending awaiting before without until about".split())
UNITS = frozenset(
    "percent euro dollar pound degre kg km m cm mm gb mb tb ms bar volt watt hour minut day week litr liter".split()
)
CODE = patterns.late(r"\w*\d{3,}\w*$|[a-z]+\d\w*$")
LEAST_NEEDED = 2
# What a number changed by or from, and what there is too much of, is none to be held against a limit.
DIFFERENCE = patterns.late(
    r"\b(?:by|from)\s+(?:about |around |almost |nearly |up to )?[$€£]?\d[\d.,]*\s?(?:%|(?!to\b|and\b)[^\W\d]+)?"
    r"|[$€£]?\b\d[\d.,]*\s?(?:%|[^\W\d]+)?\s+(?:too|less|fewer|more|higher|lower|cheaper|short|off|extra)\b",
    re.IGNORECASE,
)
# What one or some of them did, what is put off, and what a relative did.
PARTLY = patterns.late(
    r"\b(?:only )?(?:one|some|most|two|three|a few|several|none) of (?:the|them|us|our|my|its|those)\b", re.IGNORECASE
)
SOME = patterns.late(
    r"\b(?P<first>an?|another|one|(?:the )?first|some|most|many|several|few|half|part|only|two|three|four"
    r"|five|six|seven|eight|nine|ten|eleven|twelve|\d+)(?: more| other)?(?: of| out of|/)?"
    r"(?:(?: (?:the|our|my|her|his|their))?(?: all)? ?(?P<last>\d+|two|three|four|five|six|seven|eight|nine|ten"
    r"|twelve)\b)?"
    r"(?P<whom>(?: [\w'-]+){0,3})",
    re.IGNORECASE,
)
EXCEPTED = patterns.late(
    r"\b(?:all but|except|apart from|save for|other than|everyone but|everybody but|but not|(?:is"
    r"|are) (?:still )?(?:missing"
    r"|outstanding|pending|open|to come)|still (?:missing|waiting|outstanding|owes?|needs?|has to|have to)"
    r"|the (?:others|rest))\b",
    re.IGNORECASE,
)
# A resignation that is talked about, demanded or turned down.
ONLY_TALKED_OF = patterns.late(
    r"\b(?:talk|talks|talked|talking|speculate|speculates|speculated|gossip|joke|jokes|joked|argue|argued|debate"
    r"|dream|dreams"
    r"|dreamt) about\b|\b[a-z]{3,}(?:tion|sion|ment|al|ance|ure|ery|ing) (?:was|were|is|has been)"
    r" (?:only |never |merely )?(?:rejected|refused|declined|denied|rumou?red|feared|expected|demanded|requested"
    r"|considered"
    r"|discussed|debated|questioned|contested|overturned)\b",
    re.IGNORECASE,
)
PUT_OFF = patterns.late(
    r"\b(?:postponed|delayed|deferred|rescheduled|suspended|on hold|put off|pushed back|held up|stalled|blocked"
    r"|(?:is|are|was|were|'s|'re) (?:\w+ly )?being(?! held\b)"
    r"|verschoben|aplazad[oa]s?|reporté\w*|przełożon\w+)\b",
    re.IGNORECASE,
)
OTHERS = patterns.late(
    r"\b(?:his|her|their|my|your|our) (?:\w+ )?(sister|brother|mother|father|mum|mom|dad|wife|husband|son|daughter"
    r"|child|friend"
    r"|colleague|boss|neighbou?r|cousin|aunt|uncle|partner|assistant|flatmate|roommate|niece|nephew|grandmother"
    r"|grandfather)s?\b",
    re.IGNORECASE,
)
# The parts of German verbs that stand at the end of a clause: "liegt vor" of "vorliegt".
APART = frozenset("ab an auf aus bei ein fest her hin los mit nach vor weg zu zurück zusammen statt".split())
# What was done and undone in one sentence has not happened.
REVERSED = patterns.late(
    r"\band (?:then |later |was |has been )*(?:reopened|reverted|rolled back|undone|withdrawn)\b", re.IGNORECASE
)
# Another one of the kind, or what only stands for it: "another package", "a copy of the contract".
ANOTHER = patterns.late(
    r"\b(?:another|a (?:different|second|further|third|similar|spare|previous|former)|(?:the|a) wrong|(?:some"
    r"|the|every|an) other"
    r"|someone else's|somebody else's|the (previous|former|earlier|old|rival"
    r"|neighbou?ring))\s+((?:[\w-]+ ){0,2}?[\w-]+)\b",
    re.IGNORECASE,
)
STANDS_IN = patterns.late(
    r"\b(copy|copies|draft|scan|photo|picture|page|excerpt|translation|summary|template|sample|mock-?up|replica"
    r"|version|part|first half)s?\s+of\s+(?:the|an?|our|my|your|his|her|their|this|that)\b"
    r"|\b(semi|quarter|half|pre|non|ex|vice|sub|mini|mock|pseudo|anti)-(?=([\w-]+))"
    r"|\b(draft|mock|sample|dummy|test|fake|preliminary|provisional|partial)\s+(?=([\w-]+))",
    re.IGNORECASE,
)
# "Passed on staging but failed in production"; with another subject, "but" says nothing of the first.
ON_BALANCE = patterns.late(
    r"\b(?:but|yet|although|though|however)\s+(?:(?:then|later|still|also|it|they|he|she)\s+)?"
    r"(?:(?:was|were|has|have|is|are|had|been|got)\s+)*(?:then |later |still |again |immediately )?"
    r"(?:fail(?:s|ed)?|broke|breaks|broken|crash(?:es|ed)|reject(?:s|ed)|refused|reverted|withdrawn|cancel(?:l?ed|s)"
    r"|undone|rolled back|reopened|invalid|void|not\b)",
    re.IGNORECASE,
)
OWNER = patterns.late(
    r"\b(?!(?i:it|he|she|that|there|what|who|let|here|year|month|week|season|yesterday"
    r"|tomorrow)'s)([^\W_]+)'s ((?:(?:new|old|own|first|last|next|current|final"
    r"|second|other) )*[\w-]+)"
)
# "The heating at my sister's place" says which.
BEHIND = patterns.late(r"\b(?:at|in|of|on|from|near) (?:(?:the|my|our|your|his|her|their) )?$", re.IGNORECASE)
POSSIBLE = patterns.late(r"\bcan\b", re.IGNORECASE)
PIECE_END = patterns.late(r",(?!\d)|\b(?:and|but)\b", re.IGNORECASE)


# It is hers, and of her that it is said.
LAST_DAY = patterns.late(r"(?:very )?(?:last|first|final) (?:working )?(?:day|shift|week|night|hour)\b")
# Who is in it arrives with it.
CARRYING = frozenset("plane flight train bus car taxi ship ferry boat cab coach".split())


class Sentence(NamedTuple):
    """From character ``starts`` to ``ends`` of the text; ``text`` has the same length."""

    starts: int
    ends: int
    text: str

    @property
    def asks(self) -> bool:
        return self.text.rstrip("\"') ]").endswith("?")


def sentences(text: str, *, quoted: bool = False) -> Iterator[Sentence]:
    """The first 500 sentences within 20,000 characters, in order; one of more than 400 characters is not looked at, so
    that to look at one takes a moment, whatever is written in it. With ``quoted``, what somebody is quoted to have
    answered is among them."""
    return islice(_all_sentences(text, quoted=quoted), MOST_SENTENCES)


def _all_sentences(text: str, *, quoted: bool) -> Iterator[Sentence]:
    said = documents.without_code(json_texts.in_place(text[:LONGEST_TEXT]))
    said = URL.sub(lambda found: " " * len(found[0]), said)
    plain = _unquoted(said.replace("\u2019", "'").replace("\u00a0", " "), quoted=quoted)
    begins = 0
    for ends in [*_breaks(plain), len(plain)]:
        piece = plain[begins:ends]
        starts = begins + len(piece) - len(piece.lstrip())
        stops = begins + len(piece.rstrip())
        if 0 < stops - starts <= LONGEST:
            yield Sentence(starts, stops, plain[starts:stops])
        begins = ends


def _breaks(text: str) -> Iterator[int]:
    for found in BREAK.finditer(text):
        before = text[max(0, found.start() - 10) : found.start()]
        if found[0] != "." or not (ABBREVIATION.search(before) or GERMAN_DATE.match(text, found.start() - 1)):
            yield found.end()


def _unquoted(text: str, *, quoted: bool) -> str:
    """Quotations are blanks; a name of up to three words in quotation marks loses only the marks, and so does, with
    ``quoted``, an answer."""
    lines = QUOTED_LINE.sub(lambda found: " " * len(found[0]), text)
    return QUOTED.sub(lambda found: _blank(found, quoted=quoted), lines)


def _blank(found: re.Match[str], *, quoted: bool) -> str:
    inside, before = found[0][1:-1], found.string[max(0, found.start() - NEARBY) : found.start()]
    is_short = len(SINGLE_WORDS.findall(inside)) <= TITLE
    is_title = is_short and (
        inside[:1].isupper() or TITLED.search(before) or HAS_TITLE.match(found.string, found.end())
    )
    is_answer = quoted and ANSWERED.search(before) is not None
    return f" {inside} " if is_title or is_answer else " " * len(found[0])


def _stems(text: str) -> list[str]:
    folded = normalized("NFKC", THOUSANDS.sub("", text.replace("%", " percent "))).casefold()
    plain = [word.removesuffix("'s") for word in WORD.findall(with_signs(folded)) if not CONTRACTED.match(word)]
    found = [
        stem(word) if word in THINGS and before in ARTICLES else _stands_for(stem(word))
        for before, word in pairwise(["", *plain])
        if word not in STOP
    ]
    return [each for each in found if each]


def foreign_stems(text: str, languages: int) -> list[str]:
    """The stems of a text in other languages, without stop words; what happens in English."""
    words = WORD.findall(normalized("NFKC", text).casefold())
    words += [part + word for part in APART.intersection(words) for word in words if len(word) > len(part)]
    said = [word for word in search_words.without_stop_words(words, languages) if word not in occurrences.HELPING]
    return [each for word in said for each in _foreign_forms(word, languages)]


def _foreign_forms(word: str, languages: int) -> set[str]:
    if word.endswith(("ła", "ło")):
        word = word[:-1]  # what she or it did, in Polish, is what he did
    stems = {
        FOREIGN.get(word) or FOREIGN.get(each[:FOREIGN_STEM], each[:FOREIGN_STEM])
        for each in search_words.stems_of(word, languages)
    }
    return stems or {word}


def _lines(words: str) -> Iterator[list[str]]:
    return (line.split() for line in words.replace("\n ", " ").strip().splitlines())


STANDS_FOR = {stem(word): stem(line[0]) for line in _lines(occurrences.ALIKE) for word in line}


def _stands_for(root: str) -> str:
    return STANDS_FOR.get(root, root)


FOREIGN = {
    form: STANDS_FOR.get(stem(line[0]), stem(line[0]))
    for line in _lines(occurrences.FOREIGN)
    for word in line[1:]
    for form in (word, *(each[:FOREIGN_STEM] for each in search_words.stems_of(word) if len(each) >= FOREIGN_STEM))
}
PASSIVE = patterns.late(
    r"\b(?:was|were|been|is|are|got)\s+(?:\w+ly |not |now |just |already |finally )*"
    rf"(?:\w+ed|{'|'.join(verbs.PASTS | verbs.LIKE_PAST)})\b",
    re.IGNORECASE,
)
BY_WHOM = patterns.late(r"\bby (?:the|an?|my|our|his|her|their|some|another|me|us|him|them|(?-i:[A-Z]))", re.IGNORECASE)
# "After months of talks the union agreed": a time, without a comma behind it.
FIRST_OF_ALL = patterns.late(
    r"^\W*(?:after|before|until)\s+(?:(?!(?:the|our|my|his|her|their|we|i|he|she|it|they)\b)[\w'-]+\s+){1,4}"
    r"(?=(?:the|our|my|his|her|their|we|i|he|she|it|they)\b[^,]*$)|^\W*(?:all at once|at once|once again|once more)\b",
    re.IGNORECASE,
)
# Numbers in words, from two: one may be anything.
COUNTED = {stem(word): number for word, number in NUMBER_WORDS.items() if number not in "01"} | {"dozen": "12"}
SIDES = tuple(
    (name, frozenset(map(stem, words)))
    for name, words in (("above", occurrences.ABOVE), ("below", occurrences.BELOW), ("least", occurrences.AT_LEAST))
)
DIRECTIONS = frozenset.union(occurrences.MOVING, *(words for _, words in SIDES))
# "The Porto team" is the people in Porto.
GROUPS = frozenset(map(stem, "team crew staff group department squad colleague".split()))
LEFT_OUT = frozenset(stem(word) for word in occurrences.LEFT_OUT.split())


def vocabulary(content: str, tags: Iterable[str] = ()) -> frozenset[str]:
    """Every word that a statement of the entry could be made of: what is not in here, it says nothing of."""
    said = " ".join([content[:LONGEST_TEXT], *map(_label, tags)]).replace("\u2019", "'")
    told = frozenset(_stands_for(each) for told in events.told_in(said) for each in told.events)
    plain, rewritten = (UNDONE.sub("not ", each) for each in (said, occurrences.rewritten(said)))
    over = occurrences.OVER.search(said) or occurrences.FOLLOWING.search(said) or occurrences.AFTERWARDS.search(said)
    done = _verbs_of_nouns(said) if over else frozenset()
    return told | done | _all_words(plain) | (_all_words(rewritten) if rewritten != plain else frozenset())


def _verbs_of_nouns(text: str) -> frozenset[str]:
    """What the nouns of a text are the doing of: "install" of "the installation"."""
    words = WORD.findall(text.casefold())
    return frozenset(_stands_for(stem(verb)) for word in words for verb in occurrences.verbs_of(word))


def _all_words(text: str) -> frozenset[str]:
    found = _stems(text)
    language = search_words.language_of(text.casefold().split())
    if language != search_words.ENGLISH:
        found += foreign_stems(text, language)
    elif ENGLISH.isdisjoint(text.casefold().split()):
        found += foreign_stems(text, search_words.ALL)  # too short to tell
    also = [each for word in found for each in occurrences.ALSO.get(word, ())]
    paid = [PAID, "transfer"] if any(one in OWED and following == "arriv" for one, following in pairwise(found)) else []
    return frozenset([*found, *also, *paid, *_of_payment(found)])


def words_of(text: str) -> tuple[str, ...]:
    """The stems that carry the sense of ``text``, in order, each once."""
    return tuple(dict.fromkeys(_of_payment(_stems(occurrences.rewritten(text)))))


def foreign_words_of(text: str, language: int) -> tuple[str, ...]:
    """The same of a text in another language."""
    return tuple(dict.fromkeys(foreign_stems(occurrences.rewritten(text), language)))


def _of_payment(found: list[str]) -> list[str]:
    """Treats "a payment arrives" and "a person pays" as the same."""
    paying = {"payment", "money", "transfer"} & set(found)
    coming = {"arriv", "come", "clear", "settl", "go", "book"} & set(found)
    if paying and coming:
        return [each for each in found if each not in paying | coming | {"through"}] + [PAID]
    return found


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be said: all of ``words``, and with a ``limit`` a number in its ``unit`` on that ``side`` of it.

    ``order`` are its words as they stand; ``said`` are the words of the condition, those that need not be said again
    among them; ``of`` is the first, of whom
    or what it is said; ``owner`` whose that is, if that is known; ``undergone`` is what a passive
    says without who does it."""

    words: frozenset[str]
    limit: float | None = None
    side: str = ""
    unit: str = ""
    said: frozenset[str] = frozenset()
    of: str = ""
    owner: frozenset[str] = frozenset()
    undergone: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()


@lru_cache(maxsize=1024)
def wanted_of(words: tuple[str, ...]) -> Wanted:
    """What a condition's words ask for; those that its other words say already are left out."""
    marked = {mark: frozenset(each[1:] for each in words if each[0] == mark) for mark in MARKS}
    if any(marked.values()):
        wanted = wanted_of(tuple(said_words(words)))
        left = wanted.words - marked[DOER_MARK]
        undergone = left if left != wanted.words and len(left) >= LEAST_NEEDED else frozenset()
        owner, aside = marked[OWNER_MARK], marked[ASIDE_MARK]
        return replace(wanted, owner=owner, said=wanted.said | owner | aside, undergone=undergone)
    said = frozenset(words)
    if words and words[0][0].isdigit() and (limit := _number(words[0])) is not None and len(words) > 1:
        return Wanted(_needed(words[1:]), limit, "least", said=said)  # "once we have 50 registrations"
    for at, word in enumerate(words[1:], 1):
        before = words[at - 1] if words[at - 1] != "than" else words[at - 2]
        side = next((name for name, given in SIDES if before in given), "")
        if side and (limit := _number(word)) is not None:
            rest = [each for each in words[:at] if each not in DIRECTIONS]
            behind = words[at + 1 : at + 2]
            unit = behind[0] if behind and behind[0] in UNITS else ""
            rest += [each for each in words[at + 1 :] if each != unit]
            return Wanted(_needed(rest, 1), limit, side, unit, said)
    return Wanted(_needed(words), said=said, of=words[0] if words else "", order=words)


def said_words(words: Iterable[str]) -> list[str]:
    """The words of a condition that are to be said, without whose it is and who does it."""
    return [each for each in words if not each.startswith(MARKS)]


def all_words(words: Iterable[str]) -> frozenset[str]:
    """Every word of a condition, also whose it is and who does it."""
    return frozenset(each[1:] if each.startswith(MARKS) else each for each in words)


def may_speak(words: Sequence[str], known: frozenset[str]) -> bool:
    """Whether an entry of this vocabulary may say anything of a condition."""
    wanted = wanted_of(tuple(words))
    return wanted.words <= known or (bool(wanted.undergone) and wanted.undergone <= known)


def _needed(words: Sequence[str], least: int = LEAST_NEEDED) -> frozenset[str]:
    kept = [
        word
        for at, word in enumerate(words)
        if word not in LEFT_OUT
        and not (at == 1 and word in GROUPS)
        and not (word.isalpha() and words[at + 1 : at + 2] and CODE.match(words[at + 1]))
    ]
    return frozenset(kept if len(kept) >= least else words)


def _number(word: str) -> float | None:
    try:
        return float(COUNTED.get(word) or word.replace(",", "."))
    except ValueError:
        return None


def verdict(words: Sequence[str], content: str, tags: Iterable[str] = (), *, own: bool = False) -> bool | None:
    """Whether an entry says that what ``words``, in their order, stand for holds; None when it says nothing of it.

    The last statement counts. A label alone may say it. ``own``: it is about whoever writes, "when I am home".
    """
    wanted = wanted_of(tuple(words))
    labels = [_label(tag) for tag in tags]
    shared = {word for label in labels for word in _all_words(label)}
    heard = (each for each in sentences(content, quoted=True) if not own or OWN.search(each.text))
    said = list(_answers(wanted, heard, shared))
    answers = [each for each in said if each is not None]
    if answers:
        return answers[-1]
    if wanted.words and wanted.words <= shared and wanted.limit is None:
        return not any(DENIAL.search(label) for label in labels)
    return None


def _answers(wanted: Wanted, heard: Iterable[Sentence], shared: set[str]) -> Iterator[bool | None]:
    """What each statement says, read with what is waited for in the place of a pronoun where it says nothing else."""
    before, left = "", references.MOST
    for each in heard:
        if not each.asks:
            said = _affirms(wanted, each, shared)
            if said is None and left and wanted.order and not wanted.words.isdisjoint(_all_words(each.text) | shared):
                for text in islice(_referring(wanted, before, each.text), left):
                    left -= 1
                    if (said := _affirms(wanted, each._replace(text=text), shared)) is not None:
                        break
            yield said
        before = each.text


def _referring(wanted: Wanted, before: str, text: str) -> Iterator[str]:
    for begins, clause in references.clauses_of(text):
        ahead = begins if begins.strip(" \"'-") else before
        known = _all_words(ahead)
        if not ahead or wanted.of not in known:
            continue
        subject = _of_subject(wanted, known)
        if name := references.named(ahead, subject, _stems):
            yield f"{name} {clause}"
    found = references.OBJECT.search(text) if before else None
    if found and wanted.of in _all_words(text):
        missing = wanted.words & _all_words(before) - _all_words(text)
        if missing and (name := references.named(before, missing, _stems, anywhere=True)):
            yield f"{text.rstrip(' .!')} {name}"


def _of_subject(wanted: Wanted, known: frozenset[str]) -> frozenset[str]:
    """The first words of a condition, as far as they are known: of whom or what it is."""
    subject: list[str] = []
    for each in wanted.order:
        if each not in known:
            break
        subject.append(each)
    return frozenset(subject if len(subject) < len(wanted.order) else ())


def _label(tag: str) -> str:
    return tag.replace("-", " ").replace("_", " ").replace(":", " ")


def _affirms(wanted: Wanted, sentence: Sentence, shared: set[str]) -> bool | None:
    main = FIRST_OF_ALL.sub(" ", sentence.text)
    if PAST.search(main) and not NO_STATEMENT.search(main):
        main = occurrences.AFTERWARDS.sub(r"\g<lead>since", main)
    main = UNDONE.sub("not ", SUBORDINATE.sub(" ", main))
    main = occurrences.OF_AN_EVENT.sub(lambda found: _without_event(wanted.said, found), main)
    main = occurrences.set_in(_of_itself(wanted.said, main))
    said = _told(wanted, main, sentence, shared)
    undergone = wanted.undergone and not BY_WHOM.search(main)
    if said is None and undergone and (PASSIVE.search(main) or occurrences.OVER.search(main)):
        # "The appeal was rejected", where it is to be the court that rejects it
        return _told(replace(wanted, words=wanted.undergone), main, sentence, shared)
    return said


def _told(wanted: Wanted, main: str, sentence: Sentence, shared: set[str]) -> bool | None:
    """Whether it is said: in its own words, in one verb for several, or by what tells it or its result."""
    literally = _speaks_of(wanted.words, main, shared)
    if literally and (said := _says(wanted, main, main, shared)) is not None:
        return said
    possible = POSSIBLE.search(main) and SUBORDINATE.search(sentence.text)  # "can be collected once it is paid"
    rewritten = main if possible else occurrences.rewritten(main)
    if not literally and _speaks_of(wanted.words, rewritten, shared):
        return _says(wanted, rewritten, main, shared, is_sure=True)
    texts = (
        []
        if possible
        else [each for text in {main, rewritten} for each in events.retellings(text, wanted.words, _stands_for)]
    )
    told = [_says(wanted, text, main, shared) for text in texts if _speaks_of(wanted.words, text, shared)]
    if not any(each is not None for each in told):
        return _follows(wanted, main, shared) if literally else _has_happened(wanted, main, rewritten, shared)
    return True in told


def _says(wanted: Wanted, main: str, plain: str, shared: set[str], *, is_sure: bool = False) -> bool | None:
    """What ``main``, which has all the words, says of it; ``plain`` is as it was written."""
    whole = next((each for each in CONTRAST.split(main) if _speaks_of(wanted.words, each, shared)), None)
    if whole is None:
        return None
    piece = next((each for each in PIECE_END.split(whole) if _speaks_of(wanted.words, each, shared)), whole)
    if (found := REVERSED.search(main)) and wanted.said.isdisjoint(_all_words(found[0])):
        return False
    if _is_of_others(wanted, piece) or _is_another(wanted.said, piece) or _is_elsewhere(wanted, piece):
        return None
    if "all" in wanted.said and _is_of_some(wanted, piece, main):
        return None
    if (found := ON_BALANCE.search(main)) and wanted.said.isdisjoint(_all_words(found[0])):
        return None
    if _states_nothing(wanted.said, piece) or (_lies_ahead(wanted.said, piece) and not PAST.search(plain)):
        return None
    if wanted.limit is not None:
        return _is_beyond(wanted, piece)
    if _denies(wanted.said, piece):
        return False
    if any(wanted.said.isdisjoint(_all_words(found[0].split()[-1])) for found in ONLY_TALKED_OF.finditer(piece)):
        return None
    if is_sure and not _is_only_to_happen(wanted.words, piece, plain):
        return True
    return True if _is_affirmed(wanted, piece, shared, main) else None


def _is_only_to_happen(wanted: frozenset[str], piece: str, plain: str) -> bool:
    """Whether what several words say stands behind "to": "was urged to step down"."""
    words = _stems_of(piece)
    told = wanted - _all_words(plain)
    return any(before == "to" and told & {word, *occurrences.ALSO.get(word, ())} for before, word in pairwise(words))


def _stems_of(text: str) -> list[str]:
    return [_stands_for(stem(word)) for word in WORD.findall(text.casefold())]


def _without_event(said: frozenset[str], found: re.Match[str]) -> str:
    """What is left of "release notes": the notes, which are not what is waited for, unless they are."""
    if said >= {*_stems(found[0])}:
        return found[0]
    last = found[0].split()[-1] if found["event"] else ""
    return "" if said & {*_stems(last)} else last


def _is_affirmed(wanted: Wanted, piece: str, shared: set[str], main: str) -> bool:
    """Whether what happens is said to happen, to have happened or to be: "the bug is fixed", and not "fix the bug"."""
    happens = wanted.words - shared
    words = WORD.findall(piece.casefold())
    is_note = len(main.split()) <= SHORTEST_NOTE and words[0] != "to" and words[0] not in verbs.ACTIONS
    if not happens or is_note or ENGLISH.isdisjoint(words):
        return True
    begins = "begin" in wanted.said
    for at, word in enumerate(words):
        root = STANDS_FOR.get(stem(word), stem(word))
        before = words[max(0, at - NEAR) : at]
        said = (root, *occurrences.ALSO.get(root, ()))
        if (before[-1:] == ["to"] and not begins) or wanted.said.isdisjoint(said):
            continue
        if word in verbs.PASTS or word.endswith("ed") or word in verbs.LIKE_PAST:
            return True
        if happens.isdisjoint(said):
            continue  # it need not be said
        if root == wanted.of and root not in WEATHER:
            continue  # "the tests"
        if word.endswith("ing") and root in occurrences.TELIC and not begins:
            continue  # "they are dismantling the crane"
        is_noun = not word.endswith(("ed", "ing")) and word not in verbs.PASTS
        if is_noun and before[-1:] and before[-1] in MEANT_FOR:
            continue  # "sent it for approval"
        if (
            word.endswith("ing")
            and not begins
            and not BEING.isdisjoint(before[-2:])
            and not OBJECTS.isdisjoint(words[at + 1 : at + 2])
        ):
            return False  # "they are moving the beds"
        is_event = root in HAPPENING or HAPPENING.isdisjoint(wanted.words)
        if is_noun and is_event and not BRINGING.isdisjoint(words[max(0, at - NEAR) : at + NEAR + 1]):
            return True  # "we received the approval"
        if word in occurrences.VERBS and THERE.match(" ".join(words[at + 1 : at + 2 * NEAR + 1])):
            return True  # "his signature is on the lease"
        doing = any(
            is_ in BEING and each.endswith("ing") and each not in NOT_DOING and stem(each) not in wanted.said
            for is_, each in pairwise(before)
        )
        if word in HAPPENS or (not BEING.isdisjoint(before) and "to" not in before and not (is_noun and doing)):
            return True
    return False


def _states_nothing(said: frozenset[str], piece: str) -> bool:
    """Whether a word other than those that are waited for keeps it from being a statement: "stops" where a stop is."""
    if any(said.isdisjoint(_all_words(found[0])) for found in GENERALLY.finditer(piece)):
        return True
    return any(said.isdisjoint(_all_words(found[0].split()[0])) for found in NO_STATEMENT.finditer(piece))


def _lies_ahead(said: frozenset[str], piece: str) -> bool:
    """Whether it speaks of a time to come that is not itself waited for."""
    return any(not (stems := {*_stems(found[0])}) or not said >= stems for found in AHEAD.finditer(piece))


def _denies(wanted: frozenset[str], piece: str) -> bool:
    """Whether the piece denies, by more than a word that is waited for: "lost" where a loss is."""
    return any(not found[0].isalpha() or wanted.isdisjoint(_all_words(found[0])) for found in DENIAL.finditer(piece))


def _is_of_others(wanted: Wanted, piece: str) -> bool:
    """Whether only some did it, another person did, it is another person's, or it is put off."""
    words = wanted.words
    if "on" not in words and "one" not in words and PARTLY.search(piece):
        return True
    if any(words.isdisjoint(_stems(found[0])) for found in PUT_OFF.finditer(piece)):
        return True
    if wanted.owner and any(wanted.owner.isdisjoint(_stems(found[1])) for found in OWNER.finditer(piece)):
        return True
    others = (found for found in OTHERS.finditer(piece) if words.isdisjoint(_stems(found[1])))
    # "My sister paid the invoice" where the invoice is to be paid, by whomever.
    return any(wanted.of not in _stems(piece[found.end() :].partition(",")[0]) for found in others)


def _is_of_some(wanted: Wanted, piece: str, main: str) -> bool:
    """Whether only some of those did it of whom all have to."""
    if EXCEPTED.search(main):
        return True
    for found in SOME.finditer(piece):
        first, last = found["first"], found["last"]
        if last and (_number(stem(first.casefold())) or 0) >= (_number(stem(last.casefold())) or 0):
            continue
        number = _number(stem(first.casefold()))
        if not last and number and any(number == _number(each) for each in wanted.said):
            continue
        if not wanted.said.isdisjoint(_stems(found["whom"] or "")) or last:
            return True
    return False


def _is_another(said: frozenset[str], piece: str) -> bool:
    """Whether it is said of another one than what is waited for, or of what only stands for it, a copy or a draft."""
    for found in ANOTHER.finditer(piece):
        which = "another" if found[1] is None else stem(found[1].casefold())
        if which not in said and not said.isdisjoint(_stems(found[2])):
            return True
    return any(
        said.isdisjoint(_stems(found[1] or found[2] or found[4]))
        and (not (which := found[3] or found[5]) or not said.isdisjoint(_stems(which)))
        for found in STANDS_IN.finditer(piece)
    )


def _is_elsewhere(wanted: Wanted, piece: str) -> bool:
    """Whether it is said of another place, owner or time, or of what only has to do with what is waited for."""
    said = wanted.said
    if any(not said >= {*_stems(found[0])} for rule in (LONG_AGO, ELSEWHERE) for found in rule.finditer(piece)):
        return True
    for found in OF_ANOTHER.finditer(piece):
        if not said.isdisjoint(_stems(found[1])) and said.isdisjoint(_stems(found[2] or found[3])):
            return True
    if any(
        not said.isdisjoint(_stems(found[1])) and said.isdisjoint(_stems(found[2]))
        for found in A_CERTAIN.finditer(piece)
    ):
        return True
    if any(
        said.isdisjoint(_stems(found[1])) and not said.isdisjoint(_stems(found[2]))
        for found in OWNED_BY_OTHERS.finditer(piece)
    ):
        return True
    if any(not wanted.words.isdisjoint(_stems(found[1])) for found in NOT_IT.finditer(piece)):
        return True
    for rule in (ABOUT_IT, BESIDE_IT):
        for found in rule.finditer(piece):
            beside = _all_words(found[1])
            if (
                said.isdisjoint(beside)
                and LEFT_OUT.isdisjoint(beside)
                and not wanted.words.isdisjoint(_stems(found[2]))
            ):
                return True
    return _is_done_to(wanted, piece)


def _is_done_to(wanted: Wanted, piece: str) -> bool:
    """Whether whoever is to call, pay or ask is called, paid or asked: "I called the garage"."""
    does = TOWARDS & wanted.words
    if not does or wanted.of in TOWARDS:
        return False
    found = _stems(piece)
    at = [place for place, word in enumerate(found) if word in does]
    if wanted.of not in found or not at or found.index(wanted.of) < at[0]:
        return False
    words = WORD.findall(piece.casefold())
    comes_from = any(
        stem(word) == wanted.of and {"from", "by"} & {*words[max(0, k - 3) : k]} for k, word in enumerate(words)
    )
    return not comes_from and (WHO_DOES.search(piece) is not None or WE_DO.search(piece) is not None)


def _has_happened(wanted: Wanted, said_as: str, main: str, shared: set[str]) -> bool | None:
    """Whether it is told by a noun, and a word that says that it is over: "the installation is complete"."""
    if not occurrences.OVER.search(said_as):
        return _follows(wanted, main, shared)
    if AHEAD.search(main) and not PAST.search(main):
        return None
    return _by_noun(wanted, main, main, shared)


def _follows(wanted: Wanted, main: str, shared: set[str]) -> bool | None:
    """Whether something is said to follow from it: "since the arrival of the truck the gate is blocked"."""
    found = occurrences.FOLLOWING.search(main)
    happened = found and (PAST.search(main) or not AHEAD.search(main))
    return _by_noun(wanted, found["what"], main, shared) if found and happened else None


def _by_noun(wanted: Wanted, piece: str, main: str, shared: set[str]) -> bool | None:
    if wanted.limit is not None or NO_STATEMENT.search(main) or GENERALLY.search(main):
        return None
    said = _all_words(piece) | _verbs_of_nouns(piece)
    others = _is_of_others(wanted, piece) or _is_another(wanted.said, piece) or _is_elsewhere(wanted, piece)
    if not (wanted.words & said and wanted.words <= said | shared) or others:
        return None
    return not _denies(wanted.said, piece)


def _of_itself(wanted: frozenset[str], text: str) -> str:
    """The text without owners of what is not waited for: of "Ewa's colleague" it is the colleague who acts."""

    def plain(found: re.Match[str]) -> str:
        whole = (
            wanted & _all_words(found[2])
            or found[2] in CARRYING
            or LAST_DAY.match(found.string, found.start(2))
            or BEHIND.search(text, 0, found.start())
        )
        return found[0] if whole else f" {found[2]}"

    return OWNER.sub(plain, text)


def _is_beyond(wanted: Wanted, piece: str) -> bool | None:
    """Whether the first number of the unit is on that side of the limit, or the limit itself is said to be passed."""
    said = _stems(DIFFERENCE.sub(" ", piece))
    for at, word in enumerate(said):
        number = _number(word)
        if number is None or word in wanted.words or (wanted.unit and wanted.unit not in said[at + 1 : at + 2]):
            continue
        limit = wanted.limit or 0.0
        if number == limit:
            passed = any(each in given for name, given in SIDES if name == wanted.side for each in said)
            return passed and not DENIAL.search(piece)
        return number > limit if wanted.side in ("above", "least") else number < limit
    return None


def _speaks_of(wanted: frozenset[str], text: str, shared: set[str]) -> bool:
    own = _all_words(text)
    return bool(wanted & own) and wanted <= own | shared
