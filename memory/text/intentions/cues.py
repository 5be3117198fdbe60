"""What makes a sentence an order or a resolution, and what keeps it from being one."""

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from memory.text import patterns
from memory.text.intentions import times, verbs
from memory.text.intentions.times import CLOCK, HOUR

READY = "ready|done|finished|sent|signed|fixed|checked|prepared|packed|cleaned"
THINGS = r"(?:it|them|this|that|(?:the|my|our|your|his|her|their|an?|all)(?: [\w'-]+){1,3})"
# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
KNOWN_DEED = rf"(?:(?:[a-z]+-)?(?:{verbs.PHRASES}|{verbs.listed(verbs.ACTIONS)}))"
DEED = rf"(?:{KNOWN_DEED}\b|{verbs.ANY_VERB}(?={verbs.DETERMINED}))"
DEED_NOW, DEED_DOING = rf"(?:{verbs.listed(verbs.DOES)})", rf"(?:{verbs.listed(verbs.DOING)})"
PAST_FORM = (
    r"(?:(?!feed\b|need\b|weed\b|seed\b|speed\b|embed\b)\w+ed|been|sent|done|made|left|said|had|gone|got|paid|told"
    r"|held|known|met"
    r"|bought|brought|lost|won|found|written|taken|given|seen|spoken|already)"
)
ORDERS = (
    r"remind|follow[ -]up|call|phone|ring|check|send|resend|tell|notify|schedule|e-?mail|ping|ask|confirm|submit"
    r"|contact"
    r"|reach out|escalate|inform|alert|let\s+(?:[\w']+\s+){1,4}know"
    r"|let (?:him|her|them|(?:the|our|my|your) [\w'-]+|(?-i:[A-Z])\w+) (?!be\b|alone\b|down\b)[a-z]+|get back"
    r"|revisit|chase|renew|verify|ensure"
    r"|make sure"
    r"|prepare|book|arrange|cancel|pay|review|forward|share|recheck|retry|upload|refund|rotate|publish|invite|update"
    rf"|have {THINGS} (?:{READY}|\w+ed)"
    rf"|get (?:[\w']+ ){{1,3}}?to (?={DEED})|have (?:(?:the|our|my|your|an?) )?[\w']+ (?={KNOWN_DEED}\b)"
    rf"|get {THINGS} (?:\w+ed|done|sent|cut|ready)"
    r"|give|write|message|answer|reply|respond|deliver|look (?:at|into)|remember|restart|rerun|nudge|collect|pick up"
)
CUE = patterns.late(
    rf"\b(?:(?:please|pls|plz)\s+(?!(?:do )?not\b|don't\b|never\b)\w+|(?:{ORDERS})\b"
    r"|(?:don't|do not|never) (?:(?:let \w+ )?forget|let (?:me|us|him|her|them) \w+)|be sure to|let's\s+(?!not\b)\w+"
    r"|(?:set|create)(?: up)? a reminder|reminder\s*:"
    r"|(?:to[- ]?do|action item|next step)s?(?:\s+(?:(?:for|by|before|until|on (?:my|our))\s+"
    r"|(?=this |next |today|tomorrow))[\w ]{1,20}?)?\s*[:\-]\s*(?:(?:i|we)\b)?"
    r"|(?:i|we)(?:'ve| have)? (?:promise|promised|pledge|undertake|commit|intend)(?:\s+\w+)? to\s+\w+"
    r"|(?:i|we) owe\s+\w+|(?:it's|it is) (?:(?:on|up to) (?:me|us)"
    r"|(?:my|our) (?:job|task|turn|duty|responsibility)) to\s+\w+|my (?:task|job|plan)[^:.]{0,20}:\s*"
    r"|(?:i|we) agreed that \w+ \w+"
    r"|(?:you have|i gave \w+|i gave) my word\b"
    r"|(?:(?:i|we) |^\W*)(?:told|said|promised|assured|informed)\b(?:\s+[\w']+){0,4}?\s+(?:i|we)(?:'d| would| will)"
    rf"\s+(?!{PAST_FORM}\b)\w+"
    r"|it(?:'s| is) (?:important|crucial|vital|essential|imperative|critical|urgent|necessary) (?:that|to)\s+\w+"
    r"|let me\s+(?!know\b|in\b|be\b|tell you\b|see (?:if|whether)\b)\w+"
    r"|(?:(?:on )?(?:our|my) (?:side|end|team|part))(?:'ll| will)\s+\w+"
    r"|(?:i|we)(?:'ll| (?:will|shall|must|should|need to|have to|have got to|ought to|want to|plan to|aim to"
    r"|promised to"
    r"|agreed to))\s+\w+"
    r"|(?:i|we)'ve (?:got )?to\s+\w+|(?:i am|i'm|we are|we're) (?:going|supposed) to\s+\w+"
    r"|(?:someone|somebody|one) (?:must|should|has to|needs to)\s+\w+|needs? to\s+\w+"
    r"|you (?:should|must|need to|have to|are to)\s+(?!see|get|receive|expect|find|notice|hear|know|have"
    r"|be (?!reminded))\w+"
    r"|(?:i|we|i'm|i am|we are|we're|i've|i have|we've|we have) (?:commit|committed|agreed|pledged) to\s+\w+"
    r"|(?:i am|i'm|we are|we're) (?:responsible for|in charge of)\s+\w+"
    r"|(?:asked|asks|requested) for (?:a|an|another) (?:\w+ )?(?:call ?back|call|reminder|reply|answer)"
    rf"|needs? (?!training\b|planning\b|building\b|heating\b){DEED_DOING}"
    r"|(?:has|have)(?: only)? (?:until|till) (?!recently\b|now\b|then\b)"
    r"|(?:asked|asks|wants?|wanted|would like|'d like|requested|wishes|expects) to be"
    r" (?:reminded|called|told|notified|contacted|informed|e-?mailed|updated)"
    r"|(?:asked|asks|wants?|would like|'d like|expects|requested) (?:me|us|you|the team|support|someone"
    r"|somebody) to\s+\w+"
    r"|(?:task|action|ai|deliverable)s?\s*:\s*(?:(?:i|we)\b)?|(?:i|we)(?:'d| had) better\s+\w+"
    rf"|(?:^|(?<=[-*:;] ))(?:will|gonna|gotta|must|should|have to|need to|got to)\s+{DEED}"
    rf"|(?:i'm|i am|we're|we are|i'll be|i will be|we'll be|we will be) {DEED_DOING}"
    r"(?!\s+(?:about|regarding|because|to|from)\b)"
    r"|(?:promised|promises|assured|guaranteed)\s+(?:[\w']+\s+){0,3}?(?:that\s+)?(?:i|we|he|she|they|it|the \w+)"
    r"(?:'ll|'d| would| will)\s+\w+"
    r"|remind(?:er)?)\b",
    re.IGNORECASE,
)
ORDER = patterns.late(rf"(?:{ORDERS})\b", re.IGNORECASE)
BEFORE_ORDER = patterns.late(
    r"(?:^\W*|[,;:(\u2013\u2014]|\s-|\b(?:please|pls|plz|then|and|also|so|but|now|just|kindly|must|should|remember to"
    r"|be sure to)|[*\u2022]"
    r"|\[[ x]?\])\s*$",
    re.IGNORECASE,
)
NEGATION = patterns.late(
    r"\b(?:do not|don't|dont|never|no need|need not|needn't|not|no longer|won't|shan't|shouldn't|mustn't|cannot|can't"
    r"|stop|avoid|without|instead of|doesn't|didn't|isn't|wasn't|unnecessary|wouldn't)\b",
    re.IGNORECASE,
)
# What is denied before such a word is not what follows it: "no answer, so call again".
ANOTHER = patterns.late(r"\b(?:so|but|instead|then)\b(?!\s+(?:that|do not|don't)\b)", re.IGNORECASE)
# Something to be done by a day is a duty; something that must always hold is a rule.
OBLIGED = patterns.late(
    r"\b(?:(?:must|has to|have to|ought to|needs? to|is to|are to)\s+(?:be\s+[\w-]+|go|come|reach|arrive|get"
    rf"|{verbs.listed(verbs.ACTIONS)})"
    r"|should\s+be\s+(?:\w+(?:ed|en)|sent|paid|done|made|sold|put|cut|built|bought|brought|told))\b",
    re.IGNORECASE,
)
BY_A_DAY = patterns.late(r"\b(?:by|before|until|till|no later than|not later than|on)\s", re.IGNORECASE)
KEPT_IN_MIND = patterns.late(r"^\W*(?:please )?(?:remember|note|keep in mind|bear in mind) that\b", re.IGNORECASE)
UNFORGOTTEN = patterns.late(
    r"\b(?:don't|do not|never) (?:(?:let \w+ )?forget|let (?:me|us|him|her|them))\b", re.IGNORECASE
)
OBJECT_BEGINS = (
    r"(?:\s+(?:up|down|out|off|back|over|away|for))?\s+(?:the|an?|my|our|your|his|her|their|its|this|these|those|it"
    r"|them"
    r"|him|us|me|you|all|both|everyone|[\w-]+'s|(?!(?:at|on|in|by|for|from|to|until|with)\b)[A-Z][\w'-]+)\b"
)
# Who keeps a promise in the third person, and what they do for it; what merely happens is no promise.
ROLES = (
    "agent|assistant|bot|team|crew|support|user|customers?|clients?|vendor|supplier|managers?|operators?|owner|courier"
    "|lawyer|accountants?|engineers?|host|reviewers?|side|office|desk|department|partner|landlord|landlady|tenants?"
    "|neighbours?|neighbors?|colleagues?|boss|doctor|nurse|dentist|surgeon|vet|pharmacist|therapist|patient|teacher"
    "|tutor|coach|trainer|student|intern|apprentice|contractors?|builders?|plumber|electrician|carpenter|painter"
    "|gardener|mechanic|technicians?|driver|carrier|forwarder|printer's|agency|broker|banker|bank|insurer|auditors?"
    "|advis[eo]r|consultant|solicitor|notary|translator|editor|author|publisher|designer|developers?|programmer|tester"
    "|admins?|administrator|analyst|secretary|receptionist|librarian|caretaker|cleaners?|caterer|florist|photographer"
    "|organi[sz]ers?|speaker|chair|director|head|lead|buyer|seller|agent|representative|rep|guys|people|parents|mother"
    "|father|mum|mom|dad|wife|husband|brother|sister|son|daughter|friend|cousin|aunt|uncle|committee|board|council"
    "|company|firm|workshop|garage|lab|laboratory|warehouse"
)
# What ends like one who does something, and is a thing.
MACHINES = (
    "printer|server|computer|router|scanner|container|boiler|freezer|cooler|heater|dryer|washer|mower|filter|loader"
    "|counter|meter|timer|marker|folder|poster|letter|paper|number|order|offer|tender|layer|cover|corner|center|river"
    "|water|weather|winter|summer|power|tower|shower|dinner|supper|paper|butter|matter|border|ladder|timber|rubber"
    "|silver|fever|cluster|adapter|docker|worker|scheduler|parser|importer|exporter|crawler|balancer|controller|helper"
    "|trigger|header|footer|banner|browser|user|trailer|trawler|freighter|steamer|helicopter|quarter|sensor|motor"
    "|monitor"
    "|elevator|door|floor|error|mirror|colou?r|harbou?r|factor|sector|vector|generator|compressor|processor|reactor"
    "|tractor"
    "|projector|detector|indicator|simulator|list|mist|waist|fist|gist|checklist|playlist|wishlist|backlist|other"
    "|either"
    "|latter|former|newsletter|wrapper|runner|buffer|pointer|handler|ledger|register|folder|charger|transformer"
)
GROUPS = (
    "support|legal|finance|accounting|accounts|hr|it|ops|sales|marketing|procurement|purchasing|engineering|facilities"
    "|payroll|logistics|maintenance|reception|management|security|devops|design|compliance|counsel|dispatch"
    "|housekeeping"
    "|admissions|communications|production|catering|qa|pr|someone|everyone|everybody"
)
# No person's name, though followed by "to" and a verb: "Patch to add the event", "Fail to edit the file".
NO_DOERS = (
    "Patch|Fail|Fails|Failure|Need|Needs|Code|Script|Tool|Program|Command|Option|Attempt|Proposal|Suggestion|Idea"
    "|Plan|Way"
    "|Ways|Ability|Function|Method|How|Where|Also|Try|Unable|Able|Due|Thanks|Similar|Next|Back|Easy|Easier|Hard"
    "|Difficult"
    "|Link|Guide|Welcome|Want|Request|Feature|Reason|Test|Tests|Hook|Set|Make|Possible|Better|Nice|Good|Important|Add"
    "|Change|Changes|Fix|Update|Expectation|Attacker|Attackers|Redistribution"
)
NAMED_ONE = (
    r"(?:(?!(?:Will|Must|Should|Shall|Could|May|Might|This|That|These|Those|There|It|Nothing|Nobody|No|What|Who|If"
    r"|When"
    r"|Please|Customers|Users|Clients|Employees|Guests|Tenants|Members|Students|Applicants"
    rf"|{NO_DOERS}"
    r"|Visitors|People|Anyone|Sellers|Buyers|Drivers|Staff|The|Our|My|Your|Their|I|We|You)\b)(?:(?:Dr|Mrs?|Ms|Prof"
    r"|St)\. ?)?[A-Z][\w'-]+(?: (?:[A-Z][\w'-]+"
    r"|and [A-Z][\w'-]+)){0,2})"
)
SOMEONE = (
    rf"(?i:he|she|they|(?:the|our|my|your|their|his|her) (?:[\w'-]+ ){{0,2}}?(?:{ROLES}"
    rf"|(?!(?:{MACHINES})\b)[a-z]{{3,}}(?:smith|ist|ian|er|or|man|woman|wife)\b)|{GROUPS})"
)
WHO = rf"(?:{NAMED_ONE}|{SOMEONE})"
DOING = r"(?:\w{3,}ing)"
NO_NAMES = (
    "Note|Notes|Update|News|Status|Info|Result|Results|Warning|Fact|Summary|Today|Tomorrow|Yesterday|Agenda|Example"
    "|Hint"
    "|Tip|Question|Answer|Plan|Goal|Decision|Reason|Cause|Problem|Fix|Error|Deadline|Due|Expires|Valid|Open|Closed"
    "|Weather"
    "|Forecast|Holiday|Birthday|Event|Meeting|Location|Address|Price|Total"
)
NO_DEEDS = (
    "during|according|regarding|concerning|including|following|starting|beginning|being|having|nothing|something"
    "|anything"
    "|everything|morning|evening|waiting|expecting|assuming|given|looking|depending|considering|barring|opening|closing"
    "|running|building|meeting|parking|training|missing|using|spring|string|king|ring|thing|bring|sing|ping"
    "|celebrating|enjoying|loving|liking|hating|feeling|owning|losing|winning|turning|growing|wedding|outstanding"
    "|fearing"
    "|hoping|seeing|hearing|knowing|dreading|leaving"
)
PROMISED = patterns.late(
    rf"(?:^\s*|(?<=[,;:]\s)|(?<=\b(?i:and|but)\s)){WHO}(?:(?:'ll|'s going to|\s+(?i:will|shall|must|has to|have to"
    rf"|needs? to|is to"
    r"|is going to|are going to|agreed to|promised to|promises to|committed to|offered to|undertook to|is supposed to"
    r"|are supposed to|has agreed to|has promised to|has offered to|volunteered to|has undertaken to))"
    rf"\s+(?:then |also |still )?(?!turn (?:\d|\w+(?:ty|teen)\b|{HOUR}\b))(?i:{DEED})\b"
    rf"|\s+(?i:said|promised|says|promises|confirmed|agreed|swore|vowed|guaranteed|assured \w+"
    rf"|told \w+) (?:that )?(?i:he|she|they)"
    r"(?i: would| will|'ll|'d) "
    rf"(?:(?i:{DEED})\b|(?i:be (?:here|there|at|in|back|done|ready)|have {THINGS} (?:{READY}|\w+ed))\b)"
    rf"|\s+(?i:commits?|committed|agreed|agrees|pledges|pledged|is committed|are committed) to (?i:{DEED}\b|{DOING})"
    rf"|\s+to (?i:{DEED})\b|\s+(?P<now>{DEED_NOW})\b(?=[^.;]*\b(?:by|before|until|no later than)\s)"
    rf"|\s+(?i:is|are) (?!looking forward)(?i:{DEED_DOING})\b"
    r"(?!\s+(?:to|from|on|at|in|for|by|into|until|home|away|tomorrow|today|next|this)\b|\s*[.,;]"
    r"|\s*$)(?!.*\b(?:every|each|daily|weekly|monthly)\b)"
    r"|(?:\s+will|'ll) have (?:the|our|my|your|all|both|a|an)(?: [\w'-]+){1,3}? \w+ed\b|\s+(?i:owes?)\s+(?:us|me"
    r"|you|him|her|them|[Tt]he \w+|[A-Z]\w+)\b"
    r"|\s+(?i:(?:has |have )?(?:promised|guaranteed|pledged)|promises|guarantees|(?:has|have) committed to)\s+"
    r"(?:(?:us|me|you|him|her|them|[A-Z]\w+)\s+)?(?i:the|an?|my|our|your|his|her|their|its|to have|delivery|payment"
    r"|\d+)\b"
    r"(?=[^.;]*\b(?:by|before|for|within|until|no later than|at the latest)\s))"
)
# "The adviser wants the receipts by Friday": what is wanted by a day is to be done until then.
WANTED_BY = patterns.late(
    rf"^\s*(?:I|We|{WHO})\s+(?i:wants?|needs|requires|expects?|(?:has|have) asked for|(?:is|are) asking for"
    r"|would like|must have)\s+(?!to\b)(?=[^,;:]*\b(?:by|before|no later than|at the latest)\s)"
)
# "I promise the crash will be found": the thing promised has a clause of its own.
PROMISED_CLAUSE = patterns.late(
    r"\b(?:i|we)(?:'ll| will| can| hereby)? (?:promise|promised|guarantee|guaranteed|swear|vow|vowed|assure \w+)"
    r"(?: (?:you|him|her|them|[a-z]+))? ?(?:that )?(?:[\w'-]+ ){1,5}?(?:will|would|'ll|'d|is going to|are going to)\b"
    r"|^\W*(?:committed|promised|pledged|guaranteed|owed)\b(?! by\b)(?=[^.;]*\b(?:by|before|no later than|for)\s)"
    r"|\b(?:i|we)(?: have|'ve)? (?:promised?|guaranteed?)\s+(?!to\b|that\b)\w+"
    r"|^\W*(?:you can )?count on (?:me|us)[:,]? (?:[\w'-]+ ){1,5}?(?:will|is going to|are going to)\b"
    r"|\b(?:will|'ll) be (?:ready|done|finished|fixed|sent|delivered|with you|(?:in|on|at) your)\b(?=[^.;]*\b(?:by"
    r"|before)\s)"
    r"|\byou(?:'ll| will| can| may) (?:get|have|receive|hear|expect)\b",
    re.IGNORECASE,
)
# "Flu shots to be booked for May", "the form is to go back by Friday".
TO_BE_DONE = patterns.late(
    r"^\W*(?:[\w'&#/-]+ ){1,8}?(?:(?:is|are|needs?|has|have) )?to be (?:\w+(?:ed|en)|sent|paid|done|made|held|sold"
    r"|put|cut"
    r"|built|bought|brought|told|run|read|set|shut|split|spent|swept|taught|rebuilt|redone)\b"
    r"|^\W*(?:(?!(?:is|are|was|were)\b)[\w'&#/-]+ ){1,8}?(?:needed|required|wanted|due back)\s+(?:by|before"
    r"|no later than)\b",
    re.IGNORECASE,
)
# "Deposit for the hall: due on 10 December, still unpaid": what is to be handed in or paid, and by when.
DUE = patterns.late(
    r"^(?!.*\b(?:was|were|paid|settled|filed|handed in)\b)\W*(?:[\w'.&#/-]+ ){0,6}?(?:payment|rent|invoice|fee|fees"
    r"|deposit|tax|taxes|bill|return|report|renewal|inspection|form|application|response|reply|answer|draft|review"
    r"|filing"
    r"|submission|assignment|homework|essay|instal?lment|premium|loan|contribution|audit|service|check-up|books?)\b"
    r"[^,;]{0,40}?[ (:]due (?:back )?(?=(?:on|by|before|in|at|no later than|this|next|tomorrow|today|\d|\w+day)\b)",
    re.IGNORECASE,
)
# "The deadline for the appeal is next Friday", "Friday is the deadline for the budget".
DEADLINE = patterns.late(
    r"^\W*(?:(?:the|our|my|your) )?deadline (?:for|to|of) [^,;:]{1,60}? is"
    r" (?=(?:on|this|next|tomorrow|today|\d|\w+day)\b)(?!\d+ (?:minutes?|hours?|days?|weeks?|months?|years?)\b)"
    r"|^\W*[\w ]{3,20} is (?:the|our|my|your) deadline (?:for|to)\b",
    re.IGNORECASE,
)
# "We send the second part on Friday": a present tense that is no habit.
FIRST_PRESENT = patterns.late(
    rf"(?:^\W*|[,;:]\s+|\band\s+)(?:i|we)\s+(?:then |also )?(?!(?:read|put|cut|set|shut"
    rf"|let)\b){KNOWN_DEED}(?={OBJECT_BEGINS})",
    re.IGNORECASE,
)
# What is told of a place, a time or a person, and is nothing to hand in: "Rome: warm by Friday".
NO_TASK = (
    "at|in|on|from|until|till|about|around|near|with|without|under|over|no|not|away|out|off|back|home|up|down|open"
    "|closed"
    "|free|busy|sick|ill|well|fine|ready|stable|warm|cold|hot|dry|wet|sunny|cloudy|rainy|windy|foggy|rain|snow|sun|late"
    "|early|full|empty|available|gone|asleep|awake|happy|sad|tired|better|worse|the same|as|if|when|while|because|since"
)
# Verbs by which it is said how that is, and not what one is about to do: "painting the house takes until Friday".
TELLING = (
    "went|was|were|is|are|took|takes?|made|makes?|costs?|helps?|saves?|hurts?|seems?|would|will|could|can|may|might"
    "|must"
    "|should|remains?|suffices|means|requires|becomes|has|have|had|does|did|we|i|he|she|they|you"
)
# What is waited for or was promised, who is named for what by a day, what a person asked for, and a note of what one is
# about to do.
AWAITED = patterns.late(
    r"^\W*(?:(?i:[a-z]+ \d+ ?: ))?(?i:(?:i'm |we're |i am |we are |still )*waiting for) [^,;:]{1,60}? to"
    rf" (?!(?:{verbs.listed(verbs.HAPPENING)}|dry|melt|cool|heal|load|boot|ripen|settle|start)\b)\w+"
    r"|^\W*(?:(?i:i|we) )?(?i:(?:still )?need) (?i:the|an?|my|our|his|her|their|your)\b"
    r"(?! (?:\w+ )?(?:break|rest|nap|coffee|tea|drink|holiday|vacation|hand|minute|moment|sleep|toilet|bathroom|loo|win"
    r"|miracle|walk|hug|laugh|shower|snack|meal)\b)"
    r"(?=[^,;:]*\b(?:by|before|no later than|at the latest)\s)"
    r"|(?i:\b(?:was|were|has been|have been) promised)\b(?! by\b)(?=[^,;:]*\b(?:by|before|within)\s)"
    rf"|^\W*(?i:i'm|we're|i am|we are) to (?i:{DEED})"
    rf"|^\s*{WHO} (?:(?i:said|says|asked|asks|told me|told us|reminded me|reminds me)(?: (?:me|us))? to {DEED}"
    r"|(?i:wants) to (?:see|(?:have|get)(?=[^,;:]*\b(?:by|before|no later than)\s)))"
    rf"(?={OBJECT_BEGINS})"
    rf"|^\s*{WHO} (?i:is|are) (?i:coming|stopping by|dropping by)\b[^.,;:]*\bto (?i:{DEED})"
    rf"|^\s*(?!(?:{NO_NAMES})\b)[A-Z]\w+(?: [A-Z]\w+)?: (?!(?:{NO_TASK})\b)"
    rf"(?=[a-z][^,;:]*\b(?:by|before|no later than)\s)"
    rf"(?!.*\b{PAST_FORM}\b)"
    rf"|^\W*(?!(?i:{NO_DEEDS})\b)[A-Z]?[a-z]{{2,}}ing(?: (?:up|over|off|out|back|in|down))?"
    rf"(?= (?:the|my|our|his|her|their|an?|it|them|[A-Z]\w+)\b)(?!.*\b(?:{PAST_FORM}|{TELLING})\b)"
    rf"(?!.*(?:day|\d|noon|week|month|tomorrow|today) [a-z]+(?:s|rt)\b)"
)
# A word in the place of an order that is none: it begins a clause, names a thing, or only sets a scene.
NO_ORDERS = """
the a an i we you he she it they this that these those there here my our your his her their its what which who whose
when where why how if whether is are was were am be been has have had do does did will would shall should can could
may might must not no yes and or but so then because since until during before after above below about against among
around at by down for from in into like near of off on onto out over past per plus than through to toward under
unlike up upon via with within without despite except both either neither each every all some any most many much few
several one two three note see assume suppose imagine consider say given think hope believe guess know want need
wish love like hate maybe perhaps also just only even still already now today tomorrow yesterday tonight please
thank thanks sorry hello hi ok okay well right sure great good fine let remember everyone everybody nobody someone
anyone people half once twice cancel
"""
THANKED = patterns.late(r"\s+(?!you\b|god\b|goodness\b|heavens?\b|for\b)\w+", re.IGNORECASE)
UNORDERED = frozenset(NO_ORDERS.split())
OBJECT = (
    r"(?P<particle>(?:\s+(?:up|down|out|off|back|over|in|on|away|again|with|for|to|about|at|through|around"
    r"|along)){0,2})"
    r"\s+(?:(?P<determined>the|an?|my|our|your|his|her|their|its|this|these|those|it|them|him|us|me|all|both|every"
    r"|each"
    r"|any|another|no|everyone|everybody|someone|[\w-]+'s)|(?P<name>[A-Z][\w'-]+)"
    r"|(?P<number>\d+|two|three|four|five|six|ten))\b"
)
IMPERATIVE = patterns.late(
    r"(?:^\W*|[,:;\u2013\u2014]\s+|\s-\s+|\b(?P<joined>and|then|also|please|so|but|or|just|kindly|now)\s+)"
    r"(?:(?:please|then|also|always|just|[Oo]nly|kindly|so|and)\s+)*(?P<verb>[A-Za-z][a-z-]+)\b"
)
WITH_OBJECT = patterns.late(OBJECT)
# "Follow up with the shop": a verb of two words, which names no thing.
PHRASAL = patterns.late(r"\s+(?:up|out|back)\s+(?:with|to|on|about|for)\b")
# What tells that the word before was the subject of a sentence: "post offices close", "book sales rise".
FINITE = patterns.late(
    r"\b(?:is|are|was|were|has|have|had|will|would|can|could|may|might|must|should|shall|does|do|did|isn't|aren't"
    r"|wasn't|weren't|hasn't|won't|went|came|took|rose|fell|began|got|goes|comes|rises?|falls?|begins?|starts|ends?"
    r"|happens?|arrives?|departs?|expires?|closes|opens|occurs?|increases?|decreases?|peaks?|continues?|remains?"
    r"|stays|lasts|costs?|tends?|burst|works|means|includes|takes|needs?|requires?|shows|runs|moved|changed)\b"
    r"|\b(?:close|open|start|end|work|run)\s+(?:on|at|in|from|early|late|until)\b"
    r"|^\s+\w+ed\s+(?:on|at|in|by|to|from|for|this|last|the|yesterday)\b",
    re.IGNORECASE,
)
# "Call from Ana", "call centre hours: nine to five".
NOUN_BEHIND = patterns.late(
    r"\s+[a-z]+s\s+(?:take|go|apply|vary|come|drop|grow|double|cause|make)\b|\s+then\s+(?:the|an?|i|we|he|she|they)\b"
    r"|\s+(?:of|from|by|or|and|says?|said|tells|told|showed|states|stated|claims|claimed)\b"
    r"|\s+[a-z]+s\s+[a-z]{3,}\s+(?:on|at|in|from|until|every|early|late|next)\b|\s*(?:$"
    r"|[,.;:])|\s+(?:[a-z]+ ){0,2}[a-z]+s:"
)
MAIN_ENDS = patterns.late(
    r"[,;:(\u2013\u2014]|\b(?:sure|before|after|when|once|if|that|because|while|until|till|so|as|since|unless|whether"
    r"|which|who"
    r"|what|how|where|why|to)\b",
    re.IGNORECASE,
)
UNVERBAL = patterns.late(r"(?:ly|ing|ed|ness|(?<!s)s)$")
# "No need to follow up", "cancel the reminder": what was to be done is not.
CALLED_OFF = patterns.late(
    r"^\W*(?:please\s+)?(?:(?:cancel|drop|delete|remove|disregard|ignore|scrap|skip|forget(?: about)?)\s+(?:the"
    r"|my|that|this"
    r"|our|your)\s+(?:[\w'-]+\s+){0,3}?(?:reminder|follow-?up|to-?do|alarm|task|request|commitment|note|plan)s?"
    r"|(?:there is |there's )?no (?:longer (?:any )?|more )?need (?:to|for)|(?:you|we|i) (?:don't|do not"
    r"|no longer) (?:have|need)"
    r" to|never mind)\b",
    re.IGNORECASE,
)
# A question in form that asks for a deed.
REQUESTING = patterns.late(r"^\W*(?:can|could|would|will) you (?:please |kindly )?(?=\w)", re.IGNORECASE)
ASKING = patterns.late(
    r"^\W*(?:did|does|do|can|could|should|shall|will|would|is|are|have|has|may)\s+(?:i|we|you|he|she|they|it|there)\b",
    re.IGNORECASE,
)
# "We will be closed", "please note", "suppose we need to", "she said we should": no one is asked to act.
IDLE = patterns.late(
    rf"(?:(?:i|we)(?:'ll| will| shall) (?:be(?! {DEED_DOING}\b)"
    rf"|have(?!\s+(?!been\b)(?:\w+(?:ed|en|ne|nt|de)|{THINGS} (?:{READY}|\w+ed))\b)|probably"
    r"|likely|maybe|perhaps"
    r"|not|never|see|know)"
    r"|(?:i|we) (?:have to|must|should|need to|want to) (?:admit|say|confess|assume|believe|understand|thank)"
    r"|(?:i|we) (?:should|must|ought to) have (?:\w+e[dn]|sent|done|made|left|said|had|gone|got|paid|told|held|known)"
    r"|please (?:find|note|be|see|excuse|accept|bear|feel))\b",
    re.IGNORECASE,
)
NOUN_BEGINS = frozenset("the a an my our your and new all two three four five six ten both".split())
FROM_NOW = patterns.late(r"^\W*(?:from (?:now|today) on|starting (?:now|today)|as of (?:now|today)),?", re.IGNORECASE)
# "A weekly report must go out by noon": what recurs is the thing.
RECURRING_THING = patterns.late(
    r"(?:^\W*|\b(?:the|a|an|our|my|this|next) )(?:daily|weekly|monthly|quarterly|yearly|annual)(?= \w)", re.IGNORECASE
)
MISSED = patterns.late(
    r"\bbut\s+(?:\w+\s+)?(?:got|received|forgot|missed|did not|didn't|never|failed)\b"
    r"|,? and (?:i|we|he|she|they) (?:was|were|did|had)\s*[.!]?$"
    r"|\band\s+(?:\w+\s+)?(?:kept|did|delivered|(?:got|received) (?:one|it))\b",
    re.IGNORECASE,
)
REPORTED = patterns.late(
    r"\b(?:said|says|saying|told|mentioned|wrote|writes|thinks?|thought|believe[sd]?|claim(?:s|ed)?|wonder(?:s|ed)?"
    r"|explained|suggest(?:s|ed)?|suppose|imagine|assum(?:e|ed|ing)|what if|in case|perhaps|maybe|might|could|would"
    r"|hypothetically|according to|whether|if|why|how|who|which|that)\b[^,;:]*[,:]?\s*$",
    re.IGNORECASE,
)
FILLING = """
please then and also now just kindly at on by in the around about of note self starting from for next step action item
first thing sharp again so ok
okay hi hello early late latest no than end todo to-do reminder task or always
"""
FILLER = frozenset(FILLING.split())
PIECE = patterns.late(r"\w[\w'&-]*")
VERB = patterns.late(r"\b(?:is|are|was|were|has|had|have|will|would|does|did|\w{2,}ed)\b", re.IGNORECASE)
MOST_SUBJECT = 4
MOST_CUES, MOST_OTHERS = 8, 3  # in one sentence; what follows is not looked at
BEFORE_REMINDER = patterns.late(r"^\W*$|\b(?:a|need|want)\s+$", re.IGNORECASE)
# "Ana needs to leave at four on Fridays" is how it is with Ana.
HABIT = patterns.late(r"(?:needs?|has|have) to (?!be\b)|needs? \w+ing", re.IGNORECASE)
# After such a word another clause begins, with a verb of its own.
INNER_CLAUSE = patterns.late(
    r"\b(?:whether|if|which|who|whose|whom|what|why|how|where|when|because|since|although|though|whereas"
    r"|that(?!\s+(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|day|morning|afternoon|evening)\b)"
    r"|is|are|was|were|has|had|will|would|isn't|aren't|wasn't|weren't|hasn't|won't"
    r"|starts|begins|ends|opens|closes|falls|lasts|leaves|departs|arrives|expires|comes|goes|happens|arrived"
    r"|(?:i|we|he|she|they)(?:'\w+)?"
    r"|(?:you|it)(?:'\w+|\s+(?:\w+ed|are|were|have|sent|said|made|came|left|goes|does|did)))\b",
    re.IGNORECASE,
)
# A time after it applies to both: "feed the cat while Ana is away next week".
FRAME = patterns.late(r"\bwhile\b", re.IGNORECASE)
# What is made sure of is itself what is to be done.
ENSURING = patterns.late(
    r"\b(?:make sure|making sure|my word|ensure|be sure|see to it|important|crucial|vital|essential|imperative"
    r"|critical)\b(?:\s+that\b)?",
    re.IGNORECASE,
)
NEXT_ORDER = patterns.late(r"(?:[,;:\u2013\u2014]|\b(?:and|then|so|but|also|please))\s+$", re.IGNORECASE)
OF_A_NOUN = patterns.late(
    r"\b(?:from|(?<!as )of|dated|(?<![\u2013\u2014:,(-] )(?<!\()(?<!is )(?<!are )due|between|(?<!later )than"
    r"|regarding|covering|versus|vs\.?)\s+$",
    re.IGNORECASE,
)
DETERMINER = patterns.late(
    r"\b(?:the|an?|my|our|your|their|his|her|its|all|these|those|any|every|each|\w+'s)\s+$", re.IGNORECASE
)
PARTICIPLE = patterns.late(
    r"\b(?:[a-z]{2,}[a-df-z]ed|sent|made|left|paid|held|taken|given|bought|sold|written)"
    r"(?:\s+(?:back|up|out|off|in|over|here|there|together))?\s+$"
)
PASSIVE = patterns.late(r"\b(?:is|are|be|been|being|get|gets|getting|have|having|keep|leave)\b(?:\s+[\w'-]+){0,5}\s*$")
EVENTS = (
    r"(?:meeting|call|appointment|review|demo|conference|flight|anniversary|birthday|party|webinar|interview|workshop"
    r"|dinner|lunch|launch|deadline|visit|session|event|training|trip|delivery|outage|incident)s?"
)
EVENT = patterns.late(
    r"\b(?:about|for|of|from|regarding|concerning|to|attend|in|cancel|confirm|decline|accept|move)\s+"
    rf"(?:the|an?|my|our|your|their|his|her|this|that)\s+(?:[\w'-]+\s+){{0,2}}?{EVENTS}\s+$",
    re.IGNORECASE,
)
EVENT_WITH = patterns.late(
    rf"\b(?:the|my|our|your|their|his|her)\s+(?:[\w'-]+\s+){{0,2}}?{EVENTS}\s+(?:with|at|in)\s+(?:[\w'-]+\s+){{1,3}}$",
    re.IGNORECASE,
)
# For these it is the time that matters, not which one of several is meant.
ARRANGED = patterns.late(
    r"\b(?:remind\w*|reminder|schedule|re-?schedule|book|arrange|plan|set|create|prepare|reserve|invite|hold|join"
    r"|promised?|promises|guaranteed?|guarantees|booked|scheduled|arranged|planned|owes?)\b",
    re.IGNORECASE,
)
# "At Monday's meeting" says when, "Monday's meeting" which one.
MEANWHILE = patterns.late(r"\b(?:at|during|in|before|by|until|for)\s+(?:\w+day|today|tomorrow)$", re.IGNORECASE)
PREPOSITION = patterns.late(r"\b(?:on|at|in|for)\s+$", re.IGNORECASE)
# "The night shift" is no time.
SHIFT = patterns.late(
    r"(?:in the )?(?:night|day|morning|evening|weekend) (?:shift|crew|team|nurse|manager|porter|guard|bus|train|class)"
    r"\b",
    re.IGNORECASE,
)
NEARBY = 100  # characters
FOR = patterns.late(r"\bfor\s+$", re.IGNORECASE)
BARE = patterns.late(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\d", re.IGNORECASE)
FUNCTION_WORDS = """
at to and or about with by on in for so then please if when because after before regarding concerning again latest via
as that once unless until whether from next first but sharp every each around between of the a an my our your is are
morning afternoon evening night noon
"""
AFTER_A_TIME = frozenset(FUNCTION_WORDS.split())
FOLLOWING = patterns.late(r"\s+([\w'-]+)")


class Cue(NamedTuple):
    """Where the words of an order or a resolution stand."""

    starts: int
    ends: int
    is_order: bool


def may_cue(text: str) -> bool:
    """Whether there is any cue in ``text``, a sentence, in any context."""
    words = {word.strip(".,:;!-") for word in text.casefold().split()}
    return not verbs.ACTIONS.isdisjoint(words) or any(
        rule.search(text) for rule in (CUE, IMPERATIVE, PROMISED, OBLIGED, *ANNOUNCED)
    )


def cues_in(clause: str) -> Iterator[Cue]:
    """What makes the main clause of a sentence an order or a resolution, in order. An order may follow words of time
    ("every Friday at nine send the report")."""
    clause = REQUESTING.sub(lambda found: " " * len(found[0]), clause)
    if ASKING.search(clause) or MISSED.search(clause) or CALLED_OFF.search(clause):
        return
    if begun := FROM_NOW.match(clause):
        clause = " " * begun.end() + clause[begun.end() :]
        if assigned := ASSIGNED.match(clause):
            yield Cue(assigned.start(), assigned.end(), is_order=False)
    seen: set[int] = set()
    for found in islice(CUE.finditer(clause), MOST_CUES):
        seen.update(range(found.start(), found.end()))
        if _is_cue(clause, found):
            yield Cue(found.start(), found.end(), ORDER.match(found[0]) is not None)
    plain = _without_lead(clause)
    for found in islice(PROMISED.finditer(plain), MOST_OTHERS):
        if found["now"] and not times.spans(plain[found.end() :]):
            continue  # "the agent keeps its page by a tool"
        if not (NEGATION.search(clause) or REPORTED.search(clause[: found.start()]) or _is_habit(clause, found)):
            yield Cue(found.start(), found.end(), is_order=False)
    for rule in ANNOUNCED:
        said = rule.search(plain)
        if said and not (NEGATION.search(clause) or REPORTED.search(clause[: said.start()]) or times.is_meant(clause)):
            yield Cue(said.start(), said.end(), is_order=False)
    for found in islice(OBLIGED.finditer(clause), MOST_OTHERS):
        if _is_duty(clause, found):
            yield Cue(found.start(), found.end(), is_order=False)
    for found in islice(IMPERATIVE.finditer(plain), MOST_OTHERS):
        if found.start("verb") not in seen and _is_imperative(plain, found):
            yield Cue(found.start("verb"), found.end("verb"), is_order=True)


def _is_habit(clause: str, found: re.Match[str]) -> bool:
    """Whether a promise says what always is: "Ana needs to leave at four on Fridays"."""
    return HABIT.search(found[0]) is not None and times.is_meant(clause)


def _is_duty(clause: str, found: re.Match[str]) -> bool:
    """Whether an obligation has a single due day: named after it, or before the clause."""
    ahead = KEPT_IN_MIND.sub(" ", clause[: found.start()])
    recurs = times.is_meant(RECURRING_THING.sub(" ", clause))
    if NEGATION.search(ahead) or REPORTED.search(ahead) or IDLE.search(clause) or recurs:
        return False
    leads = BY_A_DAY.match(clause.lstrip()) is not None and _without_lead(clause) != clause
    return leads or BY_A_DAY.search(clause, found.end()) is not None


# "From now on Ravi empties the bins every Monday"
ASSIGNED = patterns.late(rf"^\s*{WHO}\s+(?i:{DEED_NOW})\b")
ANNOUNCED = (WANTED_BY, PROMISED_CLAUSE, TO_BE_DONE, DUE, DEADLINE, FIRST_PRESENT, AWAITED)
LEAD_END = patterns.late(r"^\s*,")


def _without_lead(clause: str) -> str:
    """The clause with blanks for the words of time that it begins with."""
    for first, last in times.spans(clause):
        if not clause[:first].strip(" ,"):
            clause = " " * last + LEAD_END.sub(" ", clause[last:])
    return clause


def _is_imperative(clause: str, found: re.Match[str]) -> bool:
    """Whether a word is in the place of an order and a verb in its bare form: a known one that has no subject's verb
    behind it, or any other with an object."""
    verb, ahead = found["verb"], clause[: found.start("verb")]
    begins, behind = not ahead.strip(" -*,"), clause[found.end("verb") :]
    thanked = verb.casefold() == "thank" and THANKED.match(behind)
    if (
        (verb.casefold() in UNORDERED and not thanked)
        or NEGATION.search(ahead)
        or REPORTED.search(ahead)
        or IDLE.search(ahead)
    ):
        return False
    if verb[0].isupper() and not begins and ahead.rstrip()[-1:] != ":":
        return False
    object_ = WITH_OBJECT.match(behind)
    if verb.casefold() in verbs.LIKE_PAST and not begins and not (object_ and object_["determined"]):
        return False  # "Old wing: shut on Friday"
    if verbs.is_action(verb):
        return _is_order(clause, found, behind, object_)
    if object_ is None or verb.casefold() in verbs.BASES or UNVERBAL.search(verb):
        return False
    if verb[0].isupper() and (object_["number"] or object_["name"]):
        return False  # "Lena Marek", "Room 5"
    return not (begins and re.match(r"\s+(?:[\w']+\s+){0,3}?(?:is|are|was|were|will|has|had)\b", behind))


def _is_order(clause: str, found: re.Match[str], behind: str, object_: re.Match[str] | None) -> bool:
    """Whether a known verb orders: "and clean" after another verb goes on with that, "post office" names a thing."""
    if not behind.strip(" .!") and clause.lstrip().startswith(","):
        return True  # "if the stock falls below four, reorder"
    if found["joined"] in ("and", "or") and FINITE.search(clause[: found.start()]):
        return False
    return not _is_thing(behind, object_)


def _is_thing(behind: str, object_: re.Match[str] | None) -> bool:
    """Whether a word that may order names a thing here: "post offices close", "call from Ana"."""
    if object_ is not None and object_["determined"] and (not object_["particle"] or PHRASAL.match(behind)):
        return False
    ends = MAIN_ENDS.search(behind)
    main = behind[: ends.start()] if ends else behind
    return bool(NOUN_BEHIND.match(behind) or FINITE.search(main) or _has_verb(main))


def _has_verb(main: str) -> bool:
    """Whether a word in the third person follows words without an article: "Mark calls", "test result shows"."""
    words = main.casefold().split()
    pairs = pairwise(words)
    return any(word in verbs.DOES and before not in NOUN_BEGINS for before, word in pairs if not before.isdigit())


def _is_cue(clause: str, found: re.Match[str]) -> bool:
    before = UNFORGOTTEN.sub(" ", clause[: found.end()])
    ahead = KEPT_IN_MIND.sub(" ", clause[: found.start()])
    if NEGATION.search(ANOTHER.split(before)[-1]) or IDLE.match(clause, found.start()) or REPORTED.search(ahead):
        return False
    if found[0].casefold() == "reminder":
        return bool(BEFORE_REMINDER.search(ahead)) and not FINITE.search(clause, found.end())
    if not ORDER.match(found[0]):
        return not (ahead.strip() and HABIT.match(found[0]) and times.is_meant(clause))
    order = IMPERATIVE.match(clause[found.start() :])
    behind = clause[found.start() + order.end("verb") :] if order else ""
    if order and _is_thing(behind, WITH_OBJECT.match(behind)):
        return False
    return bool(BEFORE_ORDER.search(ahead) or (times.spans(ahead) and only_time_and_filler(ahead, True)))


def only_time_and_filler(ahead: str, is_order: bool) -> bool:
    """Whether everything before a cue is words of time, so that these say when; before a resolution its subject is
    allowed too ("next Friday the certificate needs to be renewed")."""
    for first, last in times.spans(ahead):
        ahead = ahead[:first] + " " * (last - first) + ahead[last:]
    lead, _, rest = ahead.partition(",")
    if not [each for each in PIECE.findall(lead) if each.casefold() not in FILLER]:
        ahead = rest or lead  # "By Monday at the latest, ..."
    others = [each for each in PIECE.findall(ahead) if each.casefold() not in FILLER]
    subject = not is_order and len(others) <= MOST_SUBJECT and not {",", ":"} & set(ahead)
    return not others or (subject and not VERB.search(ahead))


def own_times(main: str, cue: Cue) -> str:
    """``main`` with every time blanked that does not say when the order of ``cue`` is to be done."""
    inner = _inner_clauses(main, cue)
    ahead = only_time_and_filler(main[: cue.starts], cue.is_order)
    kept = main
    for first, last in _phrases(main):
        elsewhere = last <= cue.starts and not ahead
        if elsewhere or any(begins <= first < stops for begins, stops in inner) or _of_noun(main, first, last, cue):
            kept = kept[:first] + " " * (last - first) + kept[last:]
    return "" if _has_lost_its_day(main, kept, cue, ahead) else kept


def _has_lost_its_day(main: str, kept: str, cue: Cue, ahead: bool) -> bool:
    """Whether an hour is left of which the day stood in another clause: "tomorrow is the launch, call me at 8"."""
    left = times.spans(kept)
    hours = bool(left) and all(CLOCK.fullmatch(kept[first:last]) for first, last in left)
    return hours and not ahead and any(last <= cue.starts for _, last in times.spans(main))


def _phrases(text: str) -> list[tuple[int, int]]:
    """The words of time, those that overlap or name the hour of a day together as one."""
    joined: list[tuple[int, int]] = []
    for first, last in times.spans(text):
        if joined and (first < joined[-1][1] or _goes_on(text, joined[-1][1], first)):
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


# The hour of the date before it: "on 5 December 20:42".
BARE_CLOCK = patterns.late(r"\d{1,2}:\d{2}(?![:\d])|\d{1,2}(?::\d{2})?\s?[ap]\.?m\b", re.IGNORECASE)


def _goes_on(text: str, last: int, first: int) -> bool:
    beside = not text[last:first].strip()
    return beside and (
        text[first : first + 3].casefold() in ("at ", "mor", "aft", "eve", "noo") or bool(BARE_CLOCK.match(text, first))
    )


def _inner_clauses(main: str, cue: Cue) -> list[tuple[int, int]]:
    """The clauses after the cue: each ends where the next order begins."""
    begins, found, framed = cue.ends, [], FRAME.search(main, cue.ends)
    if ensured := ENSURING.search(main, cue.starts):
        begins = _next_order(main, ensured.end())
    while inner := INNER_CLAUSE.search(main, begins, framed.start() if framed else len(main)):
        begins = _next_order(main, inner.end())
        found.append((inner.start(), begins))
    return found


def _next_order(main: str, begins: int) -> int:
    places = (found.start() for found in CUE.finditer(main, begins))
    return next((place for place in places if NEXT_ORDER.search(main[:place])), len(main))


def _of_noun(main: str, first: int, last: int, cue: Cue) -> bool:
    """Whether the time says which thing is meant, not when to do something."""
    if SHIFT.match(main[first:]):
        return True
    if cue.starts <= first and last <= cue.ends:  # "Todo for tomorrow:"
        return False
    nearby = max(0, first - NEARBY)
    before, behind = main[nearby:first], main[last:]
    if behind[:2] == "'s" and MEANWHILE.search(main[nearby:last]):
        return False
    if last > cue.starts and (behind[:2] == "'s" or _names_a_thing(before, main[first:last], behind)):
        return True
    noun = PREPOSITION.sub("", before)
    participle = PARTICIPLE.search(noun)
    if participle and nearby + participle.start() >= cue.ends and not PASSIVE.search(noun[: participle.start()]):
        return True
    if OF_A_NOUN.search(noun) or ARRANGED.search(main, cue.starts, first):
        return OF_A_NOUN.search(noun) is not None
    meant_for = FOR.search(before) or main[first : first + 4].casefold() == "for "
    return bool(meant_for or EVENT.search(noun) or EVENT_WITH.search(noun))


def _names_a_thing(before: str, said: str, behind: str) -> bool:
    """As in "the Monday meeting", "Friday deliveries", "the daily report"; but not "a daily report"."""
    adverb = times.ADVERB.fullmatch(said) is not None
    following = FOLLOWING.match(behind)
    noun = following is not None and following[1].casefold() not in AFTER_A_TIME
    determined = DETERMINER.search(before)
    if adverb:
        return noun and determined is not None and determined[0].strip().casefold() not in ("a", "an")
    return noun and BARE.match(said) is not None
