"""What is no commitment whatever its form: code, documentation, lists of changes, advice and pleasantries.

A commitment is about something that happens once: a thing that is known, a person, an event. Documentation says what
always is: of any file, of any function, of every reader. Code holds none at all. Where the two cannot be told apart,
a person decides (``DOUBTFUL``).
"""

import re

from memory.text import patterns

FENCED = patterns.late(r"^[ \t]*(?P<fence>```|~~~)[^\n]*\n.*?(?:^[ \t]*(?P=fence)[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
LINE = patterns.late(r"[^\n]+")
# Any of these makes a line code.
CODE = patterns.late(
    r"(?<![=!<>])(?:==|!=)(?!=)|<<|:=|&&|\|\||[+|-]=\s|\w\*\*[-\w(]"
    r"|^\s*(?:async\s+)?def\s+\w+|^\s*class\s+\w+\s*[(:]|^\s*from\s+[\w.]+\s+import\b"
    r"|^\s*(?:import|#include)\s+[\w.<>\"/]+(?:\s+as\s+\w+)?\s*;?\s*$"
    r"|^\s*(?:(?:const|let|var|static|final|export|int|char"
    r"|auto)\s+)?[a-z_][\w.]*(?:\[[^\]]*\])?\s*[-+*/|&]?=\s*[^\s=>]"
    r"|\w\((?!(?:e?s|e?n|in|r)\))[^()\n]*\)\s*[:{;](?=\s|$)"
    r"|(?:\s\{|^\s*\}|[)}\]];)\s*$"
    r"|^\s*(?:return|raise|yield|assert|await|print)\b(?!\s+(?:the|an?|my|our|your|his|her|their|it|them|to)\b)"
    r"[^.!?]*(?:\w\(|[\[\]{}=<>|&*])"
    r"|^\s*(?:>>>|\$\s+[a-z]|[dl-](?:[r-][w-][xsS-]){2})|\w::\w|\b(?:None|True|False|NULL|nullptr)\s+(?:if|else)\b"
    r"|\belse\s+(?:None|True|False|NULL)\b"
)
# More than two of these do.
CODE_MARKS = tuple(
    patterns.late(mark)
    for mark in (
        r"\w\.\w+\(",
        r"\b[a-z_]\w*\([^()\s]*\)",
        r"\w\[[^\]\s]*\](?!\()",
        r"(?<=\s)(?:<=|>=|=>|=|%|\||&)(?=\s)",
        r";\s*$",
        r"\b[a-z]\w*_\w+\b",
        r"^\s*(?:return|if|elif|for|while|else|raise|yield|not)\b",
        r"[{}]",
    )
)
MARKS = 2


def without_code(text: str) -> str:
    """The text with blanks for its fenced blocks and its lines of code."""
    plain = FENCED.sub(_blank, text) if "```" in text or "~~~" in text else text
    return LINE.sub(lambda found: _blank(found) if is_code(found[0]) else found[0], plain)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def is_code(line: str) -> bool:
    """Whether a line is code: an assignment, a call that begins a block, operators of a programming language."""
    if CODE.search(line):
        return True
    return sum(mark.search(line) is not None for mark in CODE_MARKS) > MARKS


# A list of changes: what was done to a program, by its version or by the number of its report.
CHANGES = patterns.late(
    r"^\s*[*+-]\s+(?!(?:todo|note|task|reminder|action|urgent|important|next|reminder):)[a-z][\w.,/-]*:\s"
    r"|\([0-9a-f]{7,}\)|\(#\d+\)\W*$"
    r"|^\W*(?:(?:[a-z][\w.+-]*\s+)?(?:\d+:)?v?\d+(?:\.\d+)+[\w.+~-]*:\s|(?:bpo|gh|lp|cve|jira)-\d|\w[\w./-]*\.\w{1,4}"
    r"(?:\s+[\w.]+\(\))?:\s|[\w-]+(?:\(\d\w?\)|/[\w./-]+):\s)"
    r"|\bCVE-\d|\b(?:closes|fixes|see|lp):?\s+#\d|https?://\S+/(?:pull|issues?|bugs?)/\d|\bbugreport\.cgi"
    r"|\(merge [0-9a-f]{6,}\b|\bbackport(?:s|ed)?\b|\bcherry-?pick|\bfrom upstream\b|\bupstream (?:fix|patch"
    r"|changes)\b",
    re.IGNORECASE,
)
TROUBLE = (
    r"(?:crash(?:es|ing)?|hang(?:s|ing)?|freez(?:es?|ing)|leaks?|errors?|failures?|bugs?|regressions?|handling|parsing"
    r"|overflows?|overruns?|underflows?|dereference|typos?|warnings?|exceptions?|races?|deadlocks?|corruption|build"
    r"|builds|compilation|behaviou?r|detection|display|flicker|glitch(?:es)?|misuse|assertion|issues?|problems?)"
)
# "Fix freezing after", "stop adding newline", "don't fail if": what a program does from now on.
CHANGED = patterns.late(
    r"^\W*(?:\d\s+)?(?:patch|fix(?:es)?|workaround|code|support|handling|idea|expectation)\s+(?:for|to|of|from)\s"
    rf"|^\W*(?:fix(?:es|ed)?|handle[sd]?|prevent(?:s|ed)?|avoid(?:s|ed)?|correct(?:s"
    rf"|ed)?)\b(?:\s+\S+){{0,5}}?\s+{TROUBLE}\b"
    r"|^\W*(?:prevent|avoid|skip|fix|allow|drop)\s+(?:\w+ing)\b"
    r"|^\W*(?:do not|don't|never)\s+(?:fail|crash|abort|run|install|build|emit|print|use|try|assume|rely)\b"
    r"|\b(?:so that (?:it|they)|to avoid|in order not to)\b",
    re.IGNORECASE,
)
# Names that a program is written in, not a person's or a thing's.
IDENTIFIER = patterns.late(
    r"\b[A-Za-z]\w*_\w+|\b_\w+|\b[a-z]{2,}[a-z0-9]*[A-Z]\w*|\w\(\d?\)|(?<![\w-])(?:--?[a-z][\w-]*=?|-[A-Z]\b)"
    r"|\$[A-Z{<]\w*"
    r"|(?<![\w.:/])/[a-z][\w.-]*/|(?<![\w@])[\w-]*\.(?:py|c|h|cpp|js|ts|sh|rs|go|in|conf|cfg|ini|toml|ya?ml|json|txt|md"
    r"|html|desktop|service|pc|so|patch|test|mk|vimrc|env|pth|list)\b|::|\b0x[0-9a-f]+"
    r"|\b(?:None|True|False|NULL|nil|stdin|stdout|stderr|OSError|\w+(?:Error|Exception))\b|<[\w:-]+>"
    r"|\w\[\w*\]|\*{2}_"
)
# What a program is made of. What has a use outside of one ("the file", "the key", "the window") is none of these.
PARTS = """
" argument arguments parameter parameters buffer buffers byte bytes cursor mutex pathname filename subdirectory
directory directories symlink symlinks prefix suffix regex syntax tuple dict array arrays pointer pointers callback
boolean null string strings integer namespace checksum daemon compiler parser parsing encoding locale charset
viewport heap bytecode runtime linker makefile struct enum macro macros typedef identifier identifiers newline
newlines whitespace autocommand cmd keyword keywords variable variables metadata subclass submodule codepath
fallback multibyte lockfile testsuite preinst postinst configure debconf mantissa operand opcode mapping mappings
popup redrawing markup executable binaries compression decoder encoder parsers lexer iterator iterable thread
threads loop recursion stack subcommand subprocess sub-process stdio readonly tabline autopkgtest redraw filesystem
filesystems umount uid gid http function functions method methods module modules attribute attributes constructor
default defaults config dialog dialogs shell command commands socket input output cterm codec tty typeahead openssl
char chars
"""
PART = frozenset(PARTS.split())
DOCUMENTED = patterns.late(
    r"\b(?:by default|default value|e\.g\.?|i\.e\.?|for example|for instance|such as|see also|see below|see above"
    r"|otherwise|automatically"
    r"|respectively|deprecated|obsolete|implementation|in such (?:a )?cases?|must specify|instead of"
    r"|under such|as described|regardless of|recommended|optional(?:ly)?|supported|unsupported|zum beispiel|por ejemplo"
    r"|par exemple|na przykład)\b",
    re.IGNORECASE,
)
# To whoever reads it: "you must", "you can"; or of a thing that has to be so.
RULE = patterns.late(
    r"\b(?:you|one|users?|callers?|(?-i:[Ii]t)|they) (?:can|may|must|should|might|need(?:s)? to|have to|has to|will"
    r"|are able to)\b"
    r"|\b(?:must|should|shall|need|needs|ought)(?: not| to)? be\b|\b(?:is|are|gets?) (?:always|never|only|automatically"
    r"|not) \w+|\bmake(?:s)? (?:it|them) \w+|\bit(?:'s| is) (?:important|crucial|vital|essential|good|best|better"
    r"|helpful"
    r"|useful|possible|okay|ok|worth|all|a) ",
    re.IGNORECASE,
)

# What a program does, and what it says by it.
BY_PROGRAM = patterns.late(
    r"^\W*(?:then\s+|and\s+|also\s+|always\s+)*(?:raise(?! (?:the|my|our|your)\b| an? (?:ticket|alarm|issue"
    r"|flag|glass|toast|query"
    r"|question|invoice|dispute)\b)|throw(?! an? (?:party|farewell|celebration)\b)|emit|print|ignore"
    r"|treat(?! (?:your|our|my|him|her|them)(?:self|selves)?\b)|assume|fall back|retry|skip"
    r"|yield|exit|abort"
    r"|redraw|parse|execute|invoke|append|overwrite|reset|clear|try|wait for)\b",
    re.IGNORECASE,
)
SIGNALLED = patterns.late(
    r"\b(?:raise|throw|emit|print|show|display|return|send|issue|log|add|give"
    r"|report)s?\s+(?:an?\s+)?(?:[\w-]+\s+)?(?:error|warning"
    r"|exception|notice|message|tooltip|sig[a-z]+|signal|event|true|false|value|dialog|banner|status|note)s?\b",
    re.IGNORECASE,
)
NAMED = (
    r"(?:me|us|him|her|them|everyone|everybody|@\w+|(?-i:(?!None\b|True\b|False\b)[A-Z][a-z]+)\b|legal|finance"
    r"|support|sales"
    r"|ops|marketing|accounting|hr|facilities|procurement|security|engineering|billing|purchasing|payroll|logistics"
    r"|dispatch|reception|on-?call|(?:the|our|my|your|his|her|their)\s+(?:[a-z]+\s+)?(?:team|customers?|clients?"
    r"|users?|manager"
    r"|tenants?|landlord|supplier|vendor|boss|board|family|owner|patient|bank|office|neighbou?rs?|crew|staff|group))"
)
PERSON = rf"(?:{NAMED}|(?:the|our|my|your|his|her|their)\s+(?!\w+_)[a-z][\w-]+)"
# Who is to be told, or who has taken it upon themselves.
ADDRESSED = patterns.late(
    rf"\b(?:tell|remind|ask|inform|notify|thank|brief|escalate to|report to|write to|reply to|get back to"
    rf"|reach out to)\s+{PERSON}"
    r"|\b(?:alert|ping|call|phone|ring|e-?mail|mail|message|text|warn|nudge|contact|page|update|follow up with"
    r"|check with)"
    rf"\s+{NAMED}"
    rf"|\blet\s+{PERSON}(?:\s+\w+)?\s+know\b|\b(?:send|forward|give|hand|show|bring|pay|invoice|refund|mail|return)\s+"
    rf"(?:it |them )?(?:to )?{NAMED}",
    re.IGNORECASE,
)
OWN = patterns.late(
    r"\b(?:i|we)(?:'ll| will| shall| promise| promised|'m going to|'re going to| am going to| are going to)\s"
    r"|\bremind(?:er)?\b|\b(?:i|we) (?:have|need|want) to\b|\b(?:wants?|asked|would like) to be\b",
    re.IGNORECASE,
)

# In a clause: whoever or whatever it may be.
ANYTHING = patterns.late(
    r"^(?:there(?:'s| is| are| aren't| isn't)\s+)?(?:\W*)(?:any\b|an?\b|each\b|every\b|some\b|no\b|multiple\b"
    r"|several\b|only\b|that\b\s+\w+s\b|all\b(?! (?:of )?(?:the|my|our|his|her|their|these|those|\d+|two|three|four"
    r"|five|six|seven|eight|nine|ten|eleven|twelve|twenty)\b| (?:[\w'-]+ ){0,2}?(?:guests|players|members|votes|runners"
    r"|passengers|tenants|students|children|parents|orders|invoices|staff|teams|crews|colleagues|employees|people"
    r"|partners"
    r"|departments|branches|firms|companies|suppliers|vendors|pupils|kids|classes|candidates|applicants|applications"
    r"|volunteers|neighbours|neighbors|owners|residents|reviewers|managers|drivers|trainees|participants|attendees"
    r"|speakers|exhibitors|houses|flats|rooms|chairs|tables|parcels|boxes|payments|signatures|replies|quotes|bids"
    r"|offers"
    r"|customers|clients|answers|results|essays|seats|shareholders|stakeholders|directors|nurses|doctors"
    r"|patients)\b)|one\b\s+(?:is|has|of)\b|(?:any|some|no|every)(?:one|body|thing)\b"
    r"|people\b"
    r"|the following\b|your (?:configuration|company|system|project|application|app|code|program|version|distribution"
    r"|browser|setup|site|device|machine|computer|shell|editor|platform|data|input|function|test|tests)\b|dos o más"
    r"|un\b|una\b|eine?\b|mehrere|plusieurs|varios|varias|kilka|un[ea]?\b|algun[oa]s?\b|alg[uo]n\b"
    r"|nur\b|ya existe)"
    r"|\b(?:any(?:thing|one|body)?|something else|somebody|someone)\b",
    re.IGNORECASE,
)
# What one may always need or feel: "if you need help", "when we're feeling down", "if I can".
MAY_ALWAYS = patterns.late(
    r"^\W*(?:i|you|we|one|life|times|things)\b(?:'re|'m|'ve|'s)?\s*(?:\w+ly |ever |also |just |only |still )*"
    r"(?:need|want|wish|like|prefer|feel|feeling|think|can|can't|could|may|might|would|should|must"
    r"|gets?(?! (?:the|my|our|his|her|their|home|back|there|married|engaged)\b| (?:[a-z]+ )?(?:permission"
    r"|approval|confirmation"
    r"|feedback|funding|clearance|consent|results)\b)|got"
    r"|struggle"
    r"|(?:are|is|am) (?:feeling|hard|tough|rough|sad|down|able|interested|unsure|not|in|on|looking|trying|going)"
    r"|hard|tough|rough|sad|down|able|interested|unsure|in|on|looking|trying|going|run out|runs out|end up|ends up"
    r"|have (?:a |any |some |more |other )?(?:questions?|problems?|issues?|time|doubts?|concerns?|ideas?|suggestions?)"
    r"|use|face)\b",
    re.IGNORECASE,
)
# What a thing always is or has, as against what happens to it.
PROPERTY = patterns.late(
    r"\b(?:is|are|was|were|be|been|being|isn't|aren't)\s+(?:not\s+|also\s+|already\s+|exactly\s+|only\s+|still\s+)*"
    r"(?:an?\b|equal|set to|unset|specified|defined|undefined|omitted|null|true|false|none|part of|called|named"
    r"|mapped|desired"
    r"|missing|present|absent|different|identical|representable|incomplete|invalid|visible|invoked|one of|able to"
    r"|in use"
    r"|simple|common|supported|allowed|needed|used|like|the (?:same|case)|installed as|built with)\b"
    r"|\b(?:contains?|includes?|consists?|exists?|equals?|supports?|requires?|refers?|lacks?|belongs?|differs?"
    r"|begins? with"
    r"|starts? with|ends? (?:in|with)|ending in|set to|(?:is|are) not (?:set|used|given|installed|found)|(?:do"
    r"|does)(?:n't| not) (?:exist|use|contain|match|have|support|include)"
    r"|has (?:an? (?!fever\b|accident\b|baby\b|temperature\b|stroke\b|relapse\b|breakdown\b|sale\b"
    r"|puncture\b)\w+|no|any|not$))\b"
    r"|\b(?:contiene|existe|contenga|es una?|está (?:vac|indefinid|establecid|suci|definid)\w*|falta|est (?:défini"
    r"|vide|un)\w*"
    r"|c'est|fehlt|enthält|est (?:non|désactiv|utilis|employ|considér)\w*|correspond\w*|ist (?:gesetzt|leer|eine?)"
    r"|existiert|verlässt|benötigen|sollen?|jest (?:pust|ustawion)\w*|tienen?"
    r"|hubiera)\b",
    re.IGNORECASE,
)
# No subject of its own: "when using", "if available", "when compared to", "after closing".
SUBJECTLESS = patterns.late(
    r"^\W*(?:not\s+|only\s+|first\s+|just\s+|\w+ly\s+|via\s+)?"
    r"(?:(?:building|testing|training|planning|meeting)\s+(?:with|on|for|from|against|in|under)\b|(?:out of|in|on|at"
    r"|by|from|with|under|to|for|of|due|as)\b"
    r"|(?!feed|need|weed|seed|speed|hundred|red\b|bed\b|shed\b)[a-z]{3,}ed\b|(?!(?:nothing|something|anything"
    r"|everything|morning|evening"
    r"|king|ring|thing|spring|string|building|wedding|meeting|training|parking|funding|billing|housing|clothing"
    r"|planning"
    r"|pricing|testing|lightning|ceiling|wing|during)\b)[a-z]{2,}ing\b(?!\s+(?:is|are|was|has|have|goes|gets)\b)"
    r"|(?:available|missing|possible|necessary|present|empty|needed|required|used|given|set|compared|written"
    r"|converted|read"
    r"|called|invoked|run|inside|outside|within|done|asked|unset|absent|applicable|appropriate|built|started|specified"
    r"|be|be able|is|are|was|has|have|use|cuando|configured|installed|enabled|provided)\b(?!,?\s+(?:and|or)?\s*(?:i"
    r"|we|he|she)\b))",
    re.IGNORECASE,
)
# The past of what was: these are no participles.
WAS = patterns.late(
    r"^\W*(?:i|you|he|she|we|they|it|(?:the|my|our|his|her|their|that|this)(?:\s+[\w'-]+){1,3}?"
    r"|[A-Z]\w+)\s+(?:\w+ly\s+)?"
    r"(?:saw|went|came|took|wrote|gave|began|did|ate|drove|knew|grew|flew|chose|stole|swam"
    r"|sang|woke|wore)\b|^\W*(?:i|we)\s+(?:created|modified|changed|added|removed)\b"
    r"|\b(?:yesterday|ago|last (?:year|month|week|night|summer|winter|spring|autumn|fall|time|\w+day)|back then)\b",
    re.IGNORECASE,
)
OUGHT = patterns.late(r"\b(?:must|should|can be|cannot be|may be)\b", re.IGNORECASE)
LONG_AGO = patterns.late(
    r"\b(?:yesterday|\w+ ago|last (?:year|month|week|night|summer|winter|spring|autumn|fall)|used to|back then)\b",
    re.IGNORECASE,
)
BARE_SUBJECT = patterns.late(
    r"^\W*(?!(?:the|my|our|your|his|her|their|its|this|that|these|those|all|both|it|he|she|they|we|i|you|nobody"
    r"|everyone|everybody|nothing|one"
    r"|two|three|four|five|six|ten|someone)\b)(?-i:[a-z])[\w'-]*\b(?!\s+#?\d)(?:\s+(?-i:[a-z])[\w-]*)*?\s+"
    r"(?:is|are|was|were|isn't|aren't|does|do|doesn't|don't|has|have|had|gets?|goes|makes?|'s)\b",
    re.IGNORECASE,
)
# It may be of anything: "if it is locked", "if this handler is activated".
OF_THIS = patterns.late(r"^\W*(?:if\s+it|\w+\s+(?:this|these|last|two))\s", re.IGNORECASE)
COMMENT = patterns.late(r"^\s*(?:#|//|/\*|<!--|\"\"\"|%)(?!\d)")
# A line that goes on elsewhere.
CUT_OFF = patterns.late(
    r"\b(?:the|an?|of|or|and|to|in|on|with|for|from|by|as|at|that|which|if|is|are|it|its|not|has|be|into|when)\s*$",
    re.IGNORECASE,
)

# What begins a clause: each time, the next time; in general; and what may have no verb.
EACH = patterns.late(r"\W*(?:whenever|(?:each|every|the next|next) time)\b", re.IGNORECASE)
WHILE = patterns.late(r"\W*(?:when|whenever|if|while|in case|(?:each|every) time)\b", re.IGNORECASE)
AFTER = patterns.late(r"\W*(?:after|upon)\b", re.IGNORECASE)
VERBAL = patterns.late(
    r"\b(?:is|are|was|were|has|have|had|gets?|got|goes|comes|can|will)\b|\w'(?:s|re|ve) \w+(?:ed|en|ing|n|t)\b"
    r"|^\W*(?:he|she|it|they|we|i|you|who|that)\b|\b[a-z]{2,}(?:[^\W\dsu]s|ed)\b(?=\s|\W*$)"
    r"|\b(?:sent|paid|signed|done|made|left|built|spent|kept|met|lost|bought|brought|went|came|said|won|found|held)\b",
    re.IGNORECASE,
)
DETERMINED = patterns.late(r"^\W*(?:the|my|our|your|his|her|their|this|that|these|those|[A-Z][\w'-]+)\b")
EVENT = patterns.late(
    r"\b(?:meeting|call|appointment|review|demo|conference|flight|anniversary|birthday|party|webinar|interview|workshop"
    r"|breakfast|dinner|lunch|launch|deadline|visit|session|event|training|trip|delivery|outage|incident|exam|match"
    r"|fair"
    r"|wedding|funeral|surgery|operation|holidays?|vacation|concert|lesson|class|election|release|deploy|merge|sprint"
    r"|audit|move|sale|show|game|race|festival|hearing|trial|storm|season|test|check-?up|handover|kick-?off|stand-?up"
    r"|reading|ceremony|vote|talks?|speech|lecture|round|tour|rehearsal|premiere|opening|closing|signing|screening"
    r"|viewing"
    r"|hearing|briefing|walk-?through|photo ?shoot|recording|fitting|tasting|draw|count|census|parade|march|tournament"
    r"|retro|shift|break|work|school|receipt|sign-?off|(?P<perhaps>[a-z]{3,}(?:tion|sion|ment|val|sal|ance|ence|ery)))s?\b",
    re.IGNORECASE,
)
MONTH_DAY = (
    r"(?:\d{4},?\s+)?(?:(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?\s+\d{1,2}(?:st|nd|rd|th)?\b"
    r"|\d{1,2}(?:st|nd|rd|th)?\s+(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\b)(?:,?\s+\d{4}\b)?"
)
NAME = r"(?-i:[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,3})"
# A date that something bears: behind a name, in what is left of a parenthesis, alone behind the word for what was done.
NOTED = patterns.late(
    rf"(?:\b(?:by|from|via|with)\s+{NAME}|\({NAME}),\s*{MONTH_DAY}|\bby\s+[\w.'-]+\s+\({MONTH_DAY}"
    rf"|^[^()]*{MONTH_DAY}[^()]*\)|^\W*[a-z]+(?:\s+(?-i:[a-z]+))?\s+{MONTH_DAY}\s*[.,;)]*$"
    rf"|^\W*(?:call|chat|meeting|interview|demo|visit|lunch|dinner|talk)\s+with\s+{NAME}\b(?:\s+(?:on|,)|,)"
    r"|\b(?:in the (?:morning|evening|afternoon)s?|at night|on \w+days) only\W*$",
    re.IGNORECASE,
)
# A wish, or cheer: there is nothing to be done.
PLEASANTRY = patterns.late(
    r"^\W*(?:[A-Z]\w+:\s+)?(?:(?:so|and|please|just|now|well|ok|okay|then)\s*,?\s+)*(?:enjoy|good luck|cheers"
    r"|congrat\w*|happy"
    r"|have (?:an? |some |the )?(?:(?:very|really|super)\s+)?(?:fun|great|good|nice|lovely|wonderful|amazing"
    r"|fantastic|awesome|blast"
    r"|happy|safe|relaxing|beautiful|ball|best)|take care|cheer up|chill|relax|believe|dream|shine|cherish|savou?r"
    r"|live it up"
    r"|(?:let's|let us|we'll|we will|gonna)\s+(?:keep|stay|live|rock|cherish|dream|shine|enjoy|have (?:fun|a (?:great"
    r"|good|blast)))"
    r"|stay (?:positive|strong|safe|tuned|true|motivated|hungry)|keep (?:going|it up|up the|pushing|shining|dreaming"
    r"|your))\b"
    r"|\bmake (?:it |the |this |some |more |great |awesome |new |lasting |many |our |a |an )*(?:memor\w+|magic"
    r"|history|difference"
    r"|impact|unforgettable|special|memorable|amazing|count)\b|\bmake (?:today|tomorrow|tonight|this \w+"
    r"|\w+day)\b(?!'s)",
    re.IGNORECASE,
)


# Whoever it is, it happens once: "the moment someone finds his wallet", "if a nurse calls in sick".
ROLES = (
    r"(?:tenant|nurse|doctor|colleague|teacher|pupil|child|kid|player|member"
    r"|volunteer|neighbou?r|supplier|driver|courier|speaker|investor|bidder"
    r"|reporter|journalist|inspector|auditor|parent|waiter|cook|runner|donor|payment|cheque|check|storm|fire|flood"
    r"|strike|thunderstorm|parcel|letter|invoice|complaint|tree"
    r"|table|room|seat|place|slot|spot|ticket|bidder|offer|vacancy)"
)
WHOEVER = patterns.late(
    rf"^\W*(?:(?:some|any)(?:one|body)(?: else)?\s|(?:an?|another) (?:[a-z]+ )?{ROLES}s?\s"
    r"|one of (?:the|our|my) |every(?:one|body)\s|there(?:'s| is) (?:an? )?(?:[a-z]+ )?(?:leak|fire|power cut"
    r"|outage|strike|storm"
    r"|delay|vacancy|offer|accident|flood|frost|snow|storm|thunderstorm|blackout|puncture|emergency|alarm"
    r"|cancellation)\b)",
    re.IGNORECASE,
)
# Said of people: "reset it for her".
OF_PEOPLE = patterns.late(r"\b(?:she|he|her|his|him)\b", re.IGNORECASE)


# Done to a known thing, which no program is said to do: "skip the demo".
TO_KNOWN = patterns.late(
    r"^\W*(?:then\s+|also\s+)*(?:raise|skip|reset|clear|print|try|append|treat|throw|retry|show|display)\s+(?:the|my"
    r"|our|your|all|new|his|her|another)\b"
    r"(?! (?:message|error|value|output|result|cursor|screen|cache|buffer|exception|warning|list|line|field"
    r"|form|flag|counter|state"
    r"|test|tests|request|default|current|previous|first|last|next|same)s?\b)",
    re.IGNORECASE,
)


def is_noted(sentence: str) -> bool:
    """Whether the date is one that something bears, or that is said of what one prefers."""
    return NOTED.search(sentence) is not None


def is_pleasantry(main: str) -> bool:
    """Whether it wishes well, and asks for nothing."""
    return PLEASANTRY.search(main) is not None


THERE_IS = patterns.late(r"^\W*there(?:'s| is)\b", re.IGNORECASE)
ARMED, DOUBTFUL, NOTHING = "armed", "doubtful", "nothing"


def is_event(noun: str) -> bool:
    """Whether it is over at some time: "the spring concert", not "the payment department"."""
    found = list(EVENT.finditer(noun))
    return bool(found) and found[-1].end() == len(noun) and not found[-1]["perhaps"]


def standing(sentence: str, clause: str, main: str, *, begun: str) -> str:
    """What becomes of an order that waits for a clause: armed, for a person to say, or nothing.

    ``clause`` is what is waited for, without the words that begin it, ``begun``."""
    told = ADDRESSED.search(main) is not None
    own = told or OWN.search(main) is not None
    if MAY_ALWAYS.match(clause) or OUGHT.search(clause) or WAS.search(clause) or LONG_AGO.search(main):
        return NOTHING
    whoever = WHOEVER.match(clause) is not None and not (
        is_technical(sentence) or RULE.search(main) or PROPERTY.search(THERE_IS.sub("", clause))
    )
    if not whoever and ANYTHING.search(clause) and not EACH.match(begun):
        return NOTHING
    if CHANGES.search(sentence) or CHANGED.search(main):
        return NOTHING
    technical = is_technical(sentence) and not (OF_PEOPLE.search(sentence) and not IDENTIFIER.search(sentence))
    if SUBJECTLESS.match(clause) or DOCUMENTED.search(sentence):
        return DOUBTFUL if own and not technical and not WHILE.match(begun) else NOTHING
    has_property = PROPERTY.search(clause) and not (whoever and THERE_IS.match(clause))
    if (has_property and not (told and not technical)) or (technical and RULE.search(main)):
        return DOUBTFUL if own and not technical else NOTHING
    if AFTER.match(begun) and not VERBAL.search(clause) and not EVENT.search(clause):
        return DOUBTFUL if DETERMINED.match(clause) and not technical else NOTHING
    if SIGNALLED.search(main) and not told:
        return NOTHING
    of_people = OF_PEOPLE.search(sentence) is not None
    known_thing = DETERMINED.match(clause) is not None and not technical and TO_KNOWN.match(main) is not None
    if not own and not of_people and ((BY_PROGRAM.match(main) and not known_thing) or OF_THIS.match(begun)):
        return DOUBTFUL
    if technical or CUT_OFF.search(sentence) or COMMENT.match(sentence):
        known = DETERMINED.match(clause) is not None and not COMMENT.match(sentence) and not IDENTIFIER.search(sentence)
        return DOUBTFUL if own or known or not technical else NOTHING
    if BARE_SUBJECT.match(clause) and not told:
        return DOUBTFUL
    return DOUBTFUL if RULE.search(main) else ARMED


# In other languages: what makes no difference, what is asked about, and a reader who may want something.
FOREIGN_CONCEDED = patterns.late(
    r"\b(?:incluso|aun|aunque|hasta|excepto|salvo|même|sauf|selbst|auch|außer|nawet|comme|como)\s+\S+\s*$"
    r"|\b(?:vérifi\w+|compr[ou]\w*eb\w+|comprobar|verific\w+|revis\w+|sprawd\w+|savoir|saber|demand\w+"
    r"|pregunt\w+)\s+s[ií]\s*$",
    re.IGNORECASE,
)
FOREIGN_READER = patterns.late(
    r"^\W*(?:Sie\b.*\b(?:wollen|möchten|benötigen|brauchen|wünschen|haben)\b|vous (?:désirez|voulez|avez|souhaitez"
    r"|laissez|êtes)"
    r"|(?:no )?se \w+ (?:un[ao]?s?|[\w]+s)\b|(?:usted )?(?:desea|quiere|necesita)\b|użyto\b|ces\b|des\b|nur\b)",
    re.IGNORECASE,
)
# How a thing is or works, and what a reader is to do: an article before the verb, or the polite form of a manual.
FOREIGN_STATEMENT = patterns.late(
    r"^\W*(?:[\w-]+ (?:ist|sind|wird|werden|est|sont|es|son|jest|są)\b|(?:dieses?|dieser|der|die|das|es|er|ein"
    r"|eine)\b(?!.*[a-zäöüß](?:en|ern|eln)\W*$)|(?:el|las?|los"
    r"|une?|les?|cette?|ces|una?|toda|cada)\b|(?:beachten|verwenden|nutzen|benutzen) Sie|(?:utilisez|veuillez|notez"
    r"|utilice"
    r"|use|puede|debe|brak|musi)\b|\w+ (?:refusera|affichera|mirará|prüft|échouera)\b)"
    r"|^\W*(?:wird|werden)\b.*(?:\bge\w+(?:t|en)|iert)\b|\b(?:lesen|müssen|können) Sie\b|\b(?:se mostrará|affichera"
    r"|traitera|utilisera"
    r"|utilizará|consultez|véase|angenommen)\b|\b(?:sollten Sie|muszą być|musi być|powinna być|entonces l[ao]s?"
    r"|s'appliquera|échouera|automatiquement|automatisch"
    r"|automáticamente|nur vorhanden|seulement nécessaire|sans effet)\b",
    re.IGNORECASE,
)


FOREIGN_PART = patterns.late(
    r"\b(?:opci[oó]n(?:es)?|options?|opcj\w+|fich(?:ero|ier)s?|archivos?|datei(?:en)?|dateiname\w*|pliki?|plikiem|pliku"
    r"|comandos?|befehle?|polece\w+|directorios?|répertoires?|verzeichnis\w*|katalogu?|parámetros?|paramètres?"
    r"|standardwert"
    r"|mot-clé|terminal|entrée standard|sortie standard|l'erreur standard|feld|felder|champs?|listado|manual"
    r"|podręcznik\w*"
    r"|trigger\w*)\b",
    re.IGNORECASE,
)
CONJUNCTION = 3  # words


def foreign_standing(sentence: str, clause: str) -> str:
    """The same of a sentence in another language."""
    before, _, behind = sentence.partition(clause)
    main = before if len(before.split()) > CONJUNCTION else behind
    if FOREIGN_CONCEDED.search(before) or FOREIGN_READER.match(clause):
        return NOTHING
    if ANYTHING.search(clause) or PROPERTY.search(clause):
        return NOTHING
    if is_technical(sentence) or DOCUMENTED.search(sentence) or FOREIGN_PART.search(sentence):
        return NOTHING
    return NOTHING if FOREIGN_STATEMENT.search(main.lstrip(" ,")) else ARMED


def is_technical(sentence: str) -> bool:
    """Whether it is about the parts of a program."""
    if IDENTIFIER.search(sentence):
        return True
    return not PART.isdisjoint(re.findall(r"[a-z][a-z-]+", sentence.casefold()))
