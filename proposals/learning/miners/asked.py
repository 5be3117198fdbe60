"""What reviewers ask of a text: the same request in other words, told by what it is about.

A request is the things that it names, in one word each ("to the point", "too wordy" and "brief" are one), whether it
asks for them or against them, and what has to agree: numbers with what they count, names, and which of several values
("surname", "first name").
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory.text import patterns, search_words
from memory.text.encodings import normalized
from memory.text.similarity.words import CANONICAL

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
# Things that reviewers ask for, and how they say them.
THINGS = {
    "short": r"too (?:long|wordy|much text|lengthy|verbose)|long-winded|wordy|verbose|ramble|rambling|short(?:er|en"
    r"|ened)?"
    r"|brief(?:er|ly)?|concise(?:ly)?|succinct(?:ly)?|crisp|terse|tighten|cut (?:it |this |that |them )?(?:down|short)"
    r"|trim(?:med)?|condense|fewer words|to the point|less text|compact|keep (?:it|this|them|answers?|replies) to"
    r"|at most|no more than|not more than|maximum of|max",
    "detail": r"too (?:short|brief|terse|thin|vague)|more details?|detailed|elaborate|longer|in (?:more )?depth"
    r"|thorough(?:ly)?"
    r"|flesh out|not enough|go deeper|specifics?|be specific|more specific|concrete",
    "list": r"bullets?(?: points?| lists?)?|bulleted|bullet-point|as a list|in a list|itemi[sz]ed?",
    "prose": r"prose|full sentences|running text|flowing text|complete sentences",
    "step": r"numbered(?: lists?| steps?)?|step[- ]by[- ]step|steps?|number (?:the|each|your) (?:steps?|points?"
    r"|items?)",
    "table": r"tables?|tabular|columns?",
    "heading": r"headings?|headlines?|titles?|section titles?",
    "subject": r"subject(?: lines?)?|subject of the (?:mail|email|message)",
    "greeting": r"greet(?:ings?)?|salutations?|hello|hi|dear|address(?= (?:the )?(?:customers?|clients?|people|them"
    r"|him|her))|say hello",
    "closing": r"sign[- ]offs?|closing|regards|signatures?|sign (?:the|your|it|off|with)"
    r"|sign(?= (?:\w+ ){0,2}(?:mails?|messages?))",
    "last-name": r"last names?|surnames?|family names?|mr\.?(?:/\s?m(?:r)?s\.?)?|ms\.?|mrs\.?",
    "first-name": r"first names?|given names?|forenames?",
    "full-name": r"full names?|first and last names?",
    "uk": r"british|uk|bre|organise|colour|england",
    "us": r"american|us (?:english|spelling)|american english|color|organize",
    "celsius": r"celsius|degrees? c|°\s?c|centigrade",
    "fahrenheit": r"fahrenheit|degrees? f|°\s?f",
    "metric": r"metric|kilomet(?:er|re)s?|km|met(?:er|re)s?|kilograms?|kilos?|kg|centimet(?:er|re)s?|cm|lit(?:er"
    r"|re)s?",
    "imperial": r"imperial|miles?|pounds?|lbs?|feet|inch(?:es)?|ounces?",
    "iso-date": r"iso(?: 8601)?(?: format| dates?)?|year[- ]month[- ]day|year first|y{4}-m{2}-d{2}|\d{4}-\d\d-\d\d",
    "day-first": r"day[- ]month[- ]year|day first|d{2}[./]m{2}[./]y{2,4}|day before (?:the )?month",
    "24-hour": r"24[- ]?h(?:our)?s?(?: clock| times?| format)?|military time|1[3-9]:\d\d|2[0-3]:\d\d",
    "12-hour": r"12[- ]?h(?:our)?s?(?: clock)?|am/pm|\d{1,2} ?(?:am|pm)|am or pm|am and pm",
    "time-zone": r"time[- ]?zones?|utc|gmt|cet|local time",
    "rounding": r"round(?:ed|ing)?|whole (?:numbers?|euros?|dollars?|amounts?)|nearest (?:\w+)",
    "decimals": r"decimals?|decimal (?:places?|points?)|digits after|cents|exact (?:amounts?|numbers?|figures?)"
    r"|to the cent",
    "percent": r"percent(?:ages?)?|%",
    "currency": r"currenc(?:y|ies)(?: (?:codes?|signs?|symbols?))?|euros?|dollars?|€|\$|eur|usd|gbp|chf",
    "source": r"sources?|citations?|cite|references?|where(?= (?:\w+ ){1,5}(?:comes?|came|is|are) from)|origins?"
    r"|footnotes?"
    r"|c(?:omes?|ame) from|where (?:you|it|they) (?:found|got|took)(?: (?:it|them|this|that))?|got (?:it|this|that"
    r"|them) from|back(?:ed)? up|evidence",
    "figure": r"figures?|numbers?|statistics?|stats|amounts?|values?",
    "abbreviation": r"abbreviations?|acronyms?|initialisms?|short forms?",
    "explain": r"spell(?:ed)? out|in full|explain(?:ed)?|define[ds]?|definitions?|write(?= (?:\w+ ){0,3}out\b)"
    r"|expand(?:ed)?"
    r"|(?:readers?|customers?|people|clients?|users?|they) (?:do(?:es)?n't|do not|does not|won't|can't) (?:know"
    r"|understand)"
    r"|nobody (?:knows|understands)|no one (?:knows|understands)",
    "first-use": r"(?:the )?first (?:time|use|mention|occurrence)(?: they appear)?|once",
    "jargon": r"jargon|technical (?:terms?|language|words)|tech[- ]speak|buzzwords?|lingo",
    "plain": r"plain (?:english|language|words)|simple (?:words|language|terms)|layman'?s?(?: terms)?|non-technical"
    r"|everyday (?:words|language)|simpler words",
    "formal": r"formal(?:ly)?|professional(?:ly)?|too (?:casual|informal|chatty|familiar)|more serious",
    "casual": r"casual|informal|friendl(?:y|ier)|relaxed|chatty|warm(?:er)?|too (?:formal|stiff|cold)|conversational",
    "newest-first": r"(?:newest|latest|most recent)(?: \w+){0,2} (?:first|on top|at the top)"
    "|from new(?:est)? to old(?:est)?"
    r"|newest to oldest|descending|reverse chronological",
    "oldest-first": r"(?:oldest|earliest)(?: \w+){0,2} (?:first|on top|at the top)|from old(?:est)? to new(?:est)?"
    r"|oldest to newest|ascending|(?:in )?chronological(?:ly)?",
    "lower-case": r"lower[- ]?case|small letters|uncapitali[sz]ed",
    "upper-case": r"upper[- ]?case|capital(?:s| letters)?|all caps|capitali[sz]ed?",
    "emoji": r"emojis?|emoticons?|smileys?|smilies",
    "exclamation": r"exclamation (?:marks?|points?)|!",
    "passive": r"passive(?: voice)?",
    "active": r"active(?: voice)?|say who (?:did|does)",
    "apology": r"apolog(?:y|ies|ise|ize|ising|izing)|sorr(?:y|ys|ies)|excuse ourselves",
    "fault": r"faults?|(?:did|does|done|doing) (?:something|anything) wrong|mistakes?|errors?|blame|to blame",
    "attachment": r"attachments?|attach(?:ed)?|enclos(?:e|ed|ures?)|attached files?",
    "link": r"links?|urls?|hyperlinks?|web address(?:es)?",
    "copy": r"cc|bcc|cop(?:y|ied)(?= (?:\w+ ){0,3}in\b)|on copy|in copy|copied|keep(?= (?:\w+ ){1,3}in the loop)"
    r"|in the loop|copy(?= (?:\w+ ){1,3}(?:on|in)\b)|copy(?= (?:her|his|their|the|my))",
    "boss": r"boss(?:es)?|managers?|supervisors?|superiors?|line managers?",
    "customer": r"customers?|clients?|buyers?|shoppers?|guests?",
    "colleague": r"colleagues?|co-?workers?|teammates?",
    "order-number": r"order (?:numbers?|ids?|nos?\.?)|id of the order|number of the order",
    "ticket-number": r"(?:ticket|case|reference|request) (?:numbers?|ids?|nos?\.?|references?)|(?:id"
    r"|number) of the (?:ticket|case)",
    "invoice-number": r"invoice (?:numbers?|ids?)|number of the invoice",
    "deadline": r"deadlines?|due dates?|by when|cut-?off(?: dates?)?|when (?:it|this|that|something) is due",
    "next-step": r"next steps?|what (?:happens|comes|to do) next|action items?|follow-ups?|what (?:we|they"
    r"|you) (?:will )?do next",
    "owner": r"owners?|responsible|who (?:does|will do|is doing|is in charge|takes care)|assignees?|name a person",
    "summary": r"summar(?:y|ies|ise|ize)|tl;?dr|gist|bottom line|key points?|main points?|conclusions?|takeaways?"
    r"|upshot|result"
    r"|nutshell|the answer|outcome|verdict",
    "start": r"(?:at|in) the (?:very )?(?:start|beginning|top)|begin(?: with)?|start(?: with)?|open with|lead with"
    r"|up front|upfront"
    r"|comes? first|goes first|put(?= (?:\w+ ){1,4}first)|first line|first sentence|opening|first, then|first",
    "end": r"(?:at|to|in) the (?:very )?(?:end|bottom)|end (?:with|by)|finish (?:with|by)|clos(?:e|ing) (?:with|by)"
    r"|comes? last|goes last|last line"
    r"|put(?= (?:\w+ ){1,4}last)",
    "after": r"behind|after|follows?|then",
    "price": r"prices?|costs?|fees?|charges?",
    "net": r"net|without (?:vat|tax)|excluding (?:vat|tax)|before tax|excl\.?",
    "gross": r"gross|with (?:vat|tax)|including (?:vat|tax)|after tax|incl\.?|tax included",
    "internal": r"internal(?:ly)?|confidential|private|sensitive|in-house|between us|for our eyes",
    "phone": r"(?:a|to) (?:phone )?call|call (?:them|him|her|me|us)(?: back)?|phoning|(?:tele)?phone(?: numbers?)?"
    r"|mobile(?: numbers?)?|number to call",
    "guess": r"guess(?:es|ing|work)?|speculat(?:e|ion|ing)|assum(?:e|ptions?|ing)|invent(?:ed|ing)?|mak(?:e"
    r"|ing) (?:\w+ )?up"
    r"|made[- ]up|hallucinat\w+|fabricat\w+",
    "unsure": r"(?:you )?(?:don't|do not) know|unsure|not sure|uncertain|in doubt|admit|no idea|not certain|unknown"
    r"|(?:is not|isn't) known",
    "promise": r"promis(?:e|es|ing)|commit(?:s|ted|ting)?(?: to)?|guarantee[ds]?|pledge",
    "confirm": r"confirm(?:ed|s|ation)?|verif(?:y|ied)|said so|checked|signed off|approved|approval",
    "delivery-date": r"delivery (?:dates?|times?|days?)|when (?:it|they|the \w+) (?:will |is going to )?(?:arrives?"
    r"|come|be delivered)"
    r"|arrival(?: dates?)?|eta|ship(?:ping)? dates?|dates? of (?:the )?delivery",
    "verbatim": r"quot(?:e|es|ed)(?: (?:\w+ )?(?:exactly|directly))?|verbatim|exact (?:words|wording)|word for word"
    r"|original wording"
    r"|as (?:they|he|she) (?:said|wrote) it|literally",
    "paraphrase": r"paraphras(?:e|ed|ing)|own words|reword(?:ed)?|rephrase",
    "example": r"examples?|samples?|for instance|e\.g\.?|illustrat(?:e|ion)",
    "image": r"screenshots?|images?|pictures?|photos?|visuals?",
    "code-block": r"code blocks?|backticks?|monospaced?|fenced|code formatting|code font",
    "bold": r"bold(?:ed|face)?|highlight(?:ed)?|emphasi[sz]e",
    "capitals": r"all[- ]caps|capitals?|capital letters|upper ?case|shout(?:ing)?|capitali[sz]ed?",
    "thanks": r"thank(?:s|ing)?(?: \w+)?|gratitude|appreciat\w+",
    "repeat": r"repeat(?:ed|ing|s)?|repetiti(?:on|ve)|duplicat\w+|redundan\w+|twice|say (?:things|it) once"
    r"|restat(?:e|es|ed|ing)"
    r"|over again",
    "log": r"logs?|stack ?traces?|tracebacks?",
    "relevant": r"relevant|(?:that )?matters?(?: most)?|(?:most )?important(?: (?:points?|things?|parts?))?"
    r"|failing (?:bit|part|lines?)|key lines|excerpts?"
    r"|only (?:the )?(?:lines?|parts?|bits?)"
    r"|just the (?:lines?|parts?|bits?)|needed part",
    "only-if": r"unless|before(?= (?:you|we|they|\w+ing)\b)|ask(?:ing)? first|check(?:ing)? first"
    r"|only(?= (?:\w+ ){0,8}(?:if|when|once|after)\b)|not until"
    r"|without(?= (?:an? )?(?:\w+ )?(?:confirmation|approval|permission|proof|asking|checking|confirming)\b)"
    r"|until (?:it|they|the \w+) (?:is|has|have|are)|before (?:it|they|the \w+) (?:is|has|have|are)",
    "gender": r"gender(?:ed|s)?|gender-neutral|sex",
    "they": r"they/them|['\"\u2018\u201c]they['\"\u2019\u201d]|singular they",
    "he": r"['\"\u2018\u201c]he['\"\u2019\u201d]|he or she|he/she|his or her",
    "weekday": r"weekdays?|days? of the week|which day it is",
    "date": r"dates?",
    "their-language": r"(?:in )?(?:the )?(?:same |own )?language (?:of the (?:customer|client|reader|sender)"
    r"|(?:that )?(?:they|he|she) \w+)"
    r"|in their (?:own )?language|same language|in (\w+) if (?:they|he|she|the customer) \w+(?: in)? \w+",
    "english": r"in english",
    "german": r"in german",
    "french": r"in french",
    "spanish": r"in spanish",
    "polish": r"in polish",
    "hours": r"(?:opening|business|office|shop) (?:hours|times)|hours of (?:business|opening)|when (?:we|you"
    r"|they) (?:are|'re) open",
    "humour": r"humou?r(?:ous)?|jok(?:e|es|ing)|funny|puns?|witty",
    "question": r"(?:the|their|his|her) questions?|what (?:they|he|she|the customer|was) (?:have |has )?asked",
    "sorting": r"sort(?:ed)?|group(?:ed)?|one section|arrange[ds]?|order(?:ed)?(?= by)",
    "by-owner": r"(?:by|per) (?:person|owner|assignee|people|name)",
    "by-date": r"(?:by|per) (?:date|day|deadline|due date)",
    "net-and-gross": r"(?:with|before|including) and (?:without|after|excluding) (?:vat|tax)|net and (?:the )?gross"
    r"|gross and (?:the )?net",
    "second-person": r"second person|['\"]you['\"]|(?:address|speak to|talk to) the (?:readers?|customers?"
    r"|users?) directly",
    "first-person": r"first person|['\"](?:i|we)['\"]",
    "mask": r"mask(?:ed)?|redact(?:ed)?|obscure[ds]?|last (?:four|4) digits|never show (?:\w+ ){0,2}full|asterisks",
    "flag-guess": r"(?:say|mark|flag|label|note|tell|make clear)\b[^.;]{0,30}\b(?:guess(?:es)?|assumptions?|(?:not"
    r"|n't) sure|unsure|uncertain)"
    r"(?: about| of)?",
    "in-words": r"(?:as|in) words|spell out(?= (?:small |all )?numbers)|written out",
    "digits": r"digits|numerals|as numbers",
    "duration": r"how long|durations?|waiting times?|expected time|time it (?:takes|will take)|turnaround|lead times?",
    "serial-comma": r"(?:oxford|serial) commas?|commas? before (?:the )?(?:final |last )?['\"]?and['\"]?",
    "total": r"(?:grand )?totals?(?: amounts?| sums?)?|sums?",
    "past-tense": r"past tense|in the past",
    "present-tense": r"present tense|in the present",
    "contact": r"contact(?: details?| persons?| info\w*)?|who to (?:call|ask|contact|write to)|whom to contact"
    r"|point of contact",
    "paragraph": r"paragraphs?|wall of text|blocks? of text|line breaks?|break (?:it|this|the text) up|white ?space",
    "hedge": r"hedg(?:e|ing)|maybe|perhaps|probably|might|wishy-washy|vague|clear(?:ly)? (?:yes|no)"
    r"|commit to an answer|i think",
    "reason": r"reasons?|caus(?:e|es|ed|ing)|why|rationale|justif\w+",
    "positive": r"positive(?:ly)?|upbeat|optimistic|good news",
    "compare": r"compar(?:e|ed|ison|isons)|previous (?:month|year|week|period)|last (?:month|year|week)(?:'s)?"
    r"|year[- ]on[- ]year|trend",
    "blame": r"blam(?:e|ing)|point(?:ing)? (?:\w+ )?fingers?|accus\w+",
    "mention-competitor": r"competitors?|rivals?|other (?:vendors?|companies|brands?)|competing",
    "opinion": r"opinions?|what you think|editorial\w*|comment(?:ary|s)?|judg(?:e|ment|ements?)",
}
# Of these a text has one or the other; of the first ones, who refuses one wants the other.
EITHER = (
    "uk us",
    "celsius fahrenheit",
    "metric imperial",
    "24-hour 12-hour",
    "short detail",
    "formal casual",
    "net gross",
    "active passive",
    "plain jargon",
    "verbatim paraphrase",
    "rounding decimals",
)
VALUES = (
    *EITHER,
    "last-name first-name",
    "iso-date day-first",
    "start end",
    "boss customer colleague",
    "list prose table paragraph",
    "they he",
    "order-number ticket-number invoice-number",
    "next-step deadline owner",
    "their-language english german french spanish polish",
    "by-owner by-date",
    "second-person first-person",
    "past-tense present-tense",
    "in-words digits",
    "newest-first oldest-first",
    "lower-case upper-case",
)
OTHER = {one: other for pair in EITHER for one, other in (pair.split(), pair.split()[::-1])}
# Where something stands, or whose it is: what is asked of it is the request.
PLACES = frozenset(
    "greeting closing heading subject figure date customer colleague boss price currency start end after log"
    " table".split()
)
SLOTS = {value: slot for slot, values in enumerate(VALUES) for value in values.split()}
PATTERN = patterns.late(
    r"|".join(rf"(?P<t{number}>(?<!\w)(?:{pattern})(?!\w))" for number, pattern in enumerate(THINGS.values())),
    re.IGNORECASE,
)
NAMES_OF_THINGS = tuple(THINGS)
WORD = patterns.late(r"[^\W_]+(?:['\u2019][^\W_]+)?")
# Where another part of a request begins, and what makes it one against something.
PARTS = patterns.late(
    r"[,;:.!?()\u2013\u2014]+(?:\s+|$)|\s(?=(?:but|rather than|instead of|not|never|sondern|sino|statt|pero|mais"
    r"|ale)\s)",
    re.IGNORECASE,
)
AGAINST = patterns.late(
    r"\b(?:not|no|never|don't|dont|doesn't|shouldn't|mustn't|can't|cannot|isn't|aren't|won't|avoid|stop|without|skip"
    r"|drop"
    r"|remove|hide|delete|omit|exclude|cut out|take out|leave (?:\w+ ){0,4}(?:out|off)|leave out|less|fewer"
    r"|instead of|rather than"
    r"|kein\w*|nicht|niemals|ohne|vermeid\w*|verzicht\w*|hör\w* auf|lass(?:t|en sie)? (?:\w+ ){0,4}weg|weglassen"
    r"|sin|deja(?:d|r)? de|deje[ns]? de|evit\w+|nunca|jamás|nada de|elimin\w+|quit(?:a|ar|e|en)|pas|sans|arrêt\w+"
    r"|évit\w+"
    r"|jamais|supprim\w+|n'\w+ pas|ne \w+ (?:pas|jamais|plus)|nie|bez|nigdy|unikaj\w*|przesta\w+|żadn\w+|usuń\w*"
    r"|free (?:of|from)|keep (?:\w+ ){0,4}(?:out|off)|nobody|no one|too (?:many|much)|refrain|get rid of|ban"
    r"|lose the|please no|unnecessary|needless)\b",
    re.IGNORECASE,
)
LACKING = patterns.late(r"\b(?:without|free (?:of|from)|ohne|sin|sans|bez)\b", re.IGNORECASE)
INNER = patterns.late(r"\b(?:when|if|because|since|whose|who|that|until|where|although|for things)\b", re.IGNORECASE)
# "Leave the files untouched", "hands off the files"
UNTOUCHED = patterns.late(
    r"\b(?:leave|keep)\s+((?:[\w'-]+\s+){1,6}?)(?:untouched|unchanged|unaltered|unmodified|alone|as (?:it is"
    r"|they are|is))\b"
    r"|\bhands off\b",
    re.IGNORECASE,
)
# "Convert miles to kilometres": the first is not wanted.
TURNING = patterns.late(
    r"\b(?:convert|change|turn|switch|replace|translate)\s+((?:\w+\s+){1,5}?)(?:to|into|by|with)\b", re.IGNORECASE
)
FOR = patterns.late(
    r"\b(?:(?:fewer|less|no later|not later) than|no olvid\w+|nicht vergessen|vergiss nicht|n'oubli\w+ pas|nie zapom\w+"
    r"|you \w+ (?:[\w']+ ){0,5}without|you (?:forgot"
    r"|missed|left out"
    r"|omitted|skipped)|forget to|do not forget|don't forget|no less|not only|no longer than|no more than|not more than"
    r"|(?:doesn't|don't|does not|do not|won't|can't|nobody|no one) (?:knows?|understands?|follows?))\b",
    re.IGNORECASE,
)
# Words of a request that say nothing of what it is about.
EMPTY = frozenset(
    """
    a an the this that these those it its they them their he she his her we us our you your i me my and or but so if as
    is are was were be been being has have had do does did will would shall should can could may might must of to in on
    at by for with from into about use using used keep stick write written mention include add give given state put say
    show make made sure remember prefer want need like try ensure always ever every each all any both please just really
    very more most only also too still again when where there here what who how one answer answers reply replies text
    texts message messages mail mails email emails prompt output response responses thing things way form format people
    person reader readers customer-facing name names word words line lines part bit piece get go let see tell call know
    think than then not no never without instead rather don't nobody s t out up over much many lot
    leave needs need tells reads belongs plus our ours your yours nobody two three four english use-case whole entire
    forgot whenever wherever off under below max missing along such place convert something per goes go contain contains
    must take takes finish end ending
    """.split()
)
# The same in German, Spanish, French and Polish.
WITH_SIGNS = patterns.late(r"[^\w'\u2019]+")
ELISION = patterns.late(r"\b(?:[ldnsjcmt]|qu)['\u2019](?=\w)", re.IGNORECASE)
EMPTY_ABROAD = patterns.late(
    r"(?:(?:verwend|benutz|nutz|schreib|geschrieb|nehm|nimm|mach|gib|geb|zeig|setz|bleib|halt|nenn|soll|muss|müss"
    r"|dürf)(?:e|en|t|st|te|ten|et)?"
    r"|(?:utiliz|utilis|us|escrib|escrit|pon|pong|muestr|met|mett|met|écri|écriv|rédig|montr|donn|présent|present"
    r"|quier|prefier|préfér"
    r"|veuill|deb|doiv)(?:e|a|o|as|es|an|en|ar|er|ir|ez|ent|os|és|é|ée|ées|ons)?(?:me|nos)?"
    r"|mets|doit|veux|pisz|pisz\w{0,3}|pisan\w{1,2}|używa\w{1,4}|stosuj\w{0,3}|poda[jw]\w{0,4}|proszę|zawsze"
    r"|siempre|toujours|immer|bitte"
    r"|por|favor|plaît|svp|stp|como|comme|als|wie|jako)$"
)
EMPTY_ABROAD_WORDS = frozenset(
    "ir van va vaya estar ser être sein werden form forma forme format formato być ma mają cada chaque jede jeden"
    " jeder jedes"
    " każdy każdej mots words wörter palabras słowa todo todos toda todas tout toute tous toutes alle alles nos"
    " nuestro notre".split()
)
COUNTED = patterns.late(
    r"(?<!nobody needs )(?<!no one needs )(?<!not need )\b(\d+|one|two|three|four|five|six|seven|eight|nine"
    r"|ten)[ -](?:\w+ )?(sentence|word|line|paragraph|bullet|page|item|point"
    r"|decimal|place|digit|day|minute|example|option|week)s?\b",
    re.IGNORECASE,
)
NO_MORE = patterns.late(r"\b(?:nobody|no one|too many|too much|too long)\b", re.IGNORECASE)
AT_LEAST = patterns.late(
    r"\b(?:over|above|(?<!no )(?<!not )more than|at least|minimum(?: of)?|no (?:fewer|less) than)\s+(?:\d|\w+[ -]\w+)",
    re.IGNORECASE,
)
NUMBERS = dict(zip("one two three four five six seven eight nine ten".split(), map(str, range(1, 11)), strict=True))
A_HUNDRED = patterns.late(r"\b(?:(a|one|two|three|four|five)[ -])?(hundred|thousand|dozen)\b", re.IGNORECASE)
NUMBER = patterns.late(r"(?<![\w/.-])\d+(?![\w/-])")
CAPITALS = patterns.late(r"(?<![\w-])[A-Z]{2,}[A-Z0-9]*(?![\w-])")
NAME = patterns.late(r"(?<=[^.!?:\s] )[A-Z][a-z][\w-]*")
LANGUAGES = frozenset("english german french spanish polish british american".split())
CONDITION, FOLLOWING = "only-if", "after"
ACCENTS = str.maketrans("áéíóú", "aeiou")
MEASURES = frozenset(("metric", "imperial"))
GERMAN = search_words.language_of(["nicht", "wir"])
THING, PLAIN, PLACE = 1.5, 1.0, 0.8
LEAST, OF_LESS, OF_MORE = 1.5, 0.5, 0.4


@dataclass(frozen=True, slots=True)
class Request:
    """What a request names, what of it is asked for, whether it is against all of it, and what must agree."""

    about: frozenset[str]
    wanted: frozenset[str]
    against: bool
    counted: frozenset[str]
    names: frozenset[str]
    weight: float
    order: tuple[str, ...]

    def is_same_as(self, other: "Request") -> bool:
        """Whether both ask for the same."""
        if len(self.order) == len(other.order) > 2:
            apart = [pair for pair in zip(self.order, other.order, strict=True) if pair[0] != pair[1]]
            if len(apart) == 1:
                return False  # "always link the ticket", "always close the ticket"
        if self.against != other.against or self.counted != other.counted or self._differs_from(other):
            return False
        if self.about == other.about and FOLLOWING in self.about and self.order != other.order:
            return False  # "start with the result, then the background", and the other way round
        shared = _weight(self.about & other.about)
        less, more = sorted((self.weight, other.weight))
        return (shared >= LEAST and shared >= OF_LESS * less and shared >= OF_MORE * more) or shared == less == more > 0

    def _differs_from(self, other: "Request") -> bool:
        """Whether one wants what the other refuses, another value of something, or only one of them on a condition."""
        if (CONDITION in self.about) != (CONDITION in other.about):
            return True
        if self.names and other.names and self.names.isdisjoint(other.names):
            return True
        refused, theirs = self.about - self.wanted, other.about - other.wanted
        if not self.against and (THINGS.keys() - PLACES) & (self.wanted & theirs | other.wanted & refused):
            return True
        here, there = self.wanted or self.about, other.wanted or other.about
        if (here - other.about) & PLACES and (there - self.about) & PLACES:
            return True
        mine, others = _values(here), _values(there)
        return any(mine[slot].isdisjoint(others[slot]) for slot in mine.keys() & others.keys())


def _digits(found: re.Match[str]) -> str:
    """ "100" of "a hundred"."""
    many = int(NUMBERS.get((found[1] or "a").casefold(), "1"))
    return str(many * {"hundred": 100, "thousand": 1000, "dozen": 12}[found[2].casefold()])


def _values(things: frozenset[str]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for thing in things:
        if thing in SLOTS:
            found.setdefault(SLOTS[thing], set()).add(thing)
    return found


def _weight(things: frozenset[str]) -> float:
    return sum(PLACE if thing in PLACES else THING if thing in THINGS else PLAIN for thing in things)


def request(text: str) -> Request:
    """What a request asks for."""
    said = UNTOUCHED.sub(lambda found: f"do not modify {found[1] or ''}", text)
    said = A_HUNDRED.sub(_digits, normalized("NFKC", said).replace("\u2019", "'"))
    about: set[str] = set()
    wanted: set[str] = set()
    refused: set[str] = set()
    order: list[str] = []
    language = search_words.language_of(ELISION.sub("", WITH_SIGNS.sub(" ", said)).casefold().split())
    for part, denied in _parts(said):
        named = list(_things(part, language))
        order += named
        things = set(named)
        kept = FOR.sub(" ", part)
        if denied and (lacking := LACKING.search(kept)):
            # "Reports without emojis": neither for reports nor against them.
            of = set(_things(kept[: lacking.start()], language))
            about |= of
            things -= of
        turned = {OTHER[thing] for thing in things if denied and thing in OTHER}
        wanted |= turned
        things = {thing for thing in things if not (denied and thing in OTHER)}
        (refused if denied else wanted).update(things)
        about |= things | turned
    counted = frozenset(
        f"{NUMBERS.get(count.casefold(), count)} {unit.casefold()}" for count, unit in COUNTED.findall(said)
    )
    counted |= {"at least"} if counted and AT_LEAST.search(said) and not NO_MORE.search(said) else set()
    plain = PATTERN.sub(" ", COUNTED.sub(" ", said))
    proper = [*NUMBER.findall(plain), *CAPITALS.findall(plain)]
    proper += NAME.findall(plain) if language != GERMAN else []  # where every noun has a capital
    names = frozenset(word.casefold() for word in proper) - LANGUAGES
    wanted |= about if CONDITION in about else set()
    against = bool(refused) and not wanted
    return Request(
        frozenset(about), frozenset(wanted), against, counted, names, _weight(frozenset(about)), tuple(order)
    )


def _plain(word: str) -> str:
    """Without the accent that "preséntame" has for what is joined to it."""
    return word.translate(ACCENTS) if word.endswith(("me", "nos")) else word


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a request, and whether each is against what it names."""
    for part in PARTS.split(TURNING.sub(r" not \1, ", text)):
        yield part, AGAINST.search(FOR.sub(" ", INNER.split(part)[0])) is not None


def _things(part: str, language: int) -> Iterator[str]:
    rest = part
    for found in PATTERN.finditer(part):
        thing = NAMES_OF_THINGS[int((found.lastgroup or "t0")[1:])]
        if language != search_words.ENGLISH and thing in MEASURES:
            continue  # Spanish "meter" is to put in
        yield thing
        rest = rest[: found.start()] + " " * (found.end() - found.start()) + rest[found.end() :]
    words = WORD.findall(AGAINST.sub(lambda found: " " * len(found[0]), COUNTED.sub(r"\2", rest)))
    if language != search_words.ENGLISH:
        words = search_words.without_stop_words([ELISION.sub("", word.casefold()) for word in words], language)
    for word in words:
        folded = word.casefold().removesuffix("'s")
        known = CANONICAL.get(folded, folded).split("+")[0]
        said = next(iter(search_words.stems_of(known, language)), known)
        if language != search_words.ENGLISH and (EMPTY_ABROAD.match(_plain(folded)) or folded in EMPTY_ABROAD_WORDS):
            continue
        if not EMPTY & {folded, said} and not folded.isdigit() and len(folded) > 1 and "'" not in folded:
            yield said
