"""What happens, and the words for it: a condition is met by any of them. Data, and the rules that read it."""

import re

from memory.text import patterns
from memory.text.intentions import verbs
from memory.text.intentions.verbs import stem

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

# Words for the same, by the first of them.
ALIKE = """
finish complete finished succeed succeeds done ready conclude finalise finalize processed completion
arrive receive land dock come delivered deliver reach arrival receipt
mail email e-mail
custom client customer
reply answer respond response replied
return back
expire expiry end lapse ended
fail break crash outage unreachable offline
stock available free vacant
fix repair resolve solve mend patch
ship dispatch
publish launch live rollout release
approve approval acceptance accept grant greenlight authorise authorize ratify
begin start commence
rise raise increase grow climb
fall drop decrease decline sink
renew renewal extend prolong
cancel cancellation annul scrap abort
agree consent
sign countersign signature
reject rejection refusal refuse deny turndown dismiss
resign resignation quit
confirm confirmation acknowledge
move relocate
leave depart vanish disappear
buy purchase
collect fetch
wake awake
pass green
die dead deceased
invoice bill
physician doctor
apartment flat
film movie
lorry truck
baby infant
laptop notebook
install fit mount
dismantle disassemble
register enrol enroll registration enrolment enrollment
rain drizzle
close shut closure
hire recruit appoint
find locate
stop halt cease
marry wed
leak drip
guest visitor
kid child
quote offer quotation
indoors inside
outdoors outside
shop store
car vehicle
flight plane
exam test
manager boss
fridge refrigerator
parcel package packet
holiday vacation
contract agreement
photo picture
recover restore
refund reimburse
replace swap exchange
"""
# The same in German, Spanish, French and Polish, behind the English word.
FOREIGN = """
finish fertig abgeschlossen beendet fertiggestellt terminado terminar acabado acabar finalizado terminé terminer
 fini achevé zakończony zakończył skończył gotowe gotowy ukończony ukończył
arrive angekommen ankommt ankam eintraf einging eingegangen
 eingeht eingetroffen eintrifft geliefert llegado llega llegue llegó recibido entregado arrivé
 arrive livré reçu przyszła przyszedł przyjdzie dotarła dotarł dostarczona dostarczono
pay bezahlt bezahlen überwiesen beglichen pagado paga pague pagó abonado payé paie réglé zapłacił zapłaci zapłacona
 opłacona
sign unterschrieben unterschreibt unterzeichnet firmado firme firma firmó signé signe podpisał podpisze podpisana
 podpisany
reply antwortet geantwortet respondido responde responda respondió contestado répond répondu odpowie odpowiedział
 odpisał
confirm bestätigt bestätigen confirmado confirme confirmó confirmé potwierdzi potwierdził potwierdzona
approve genehmigt bewilligt freigegeben aprobado apruebe aprobó approuvé approuve validé valide zatwierdzi
 zatwierdzony zatwierdził
reject abgelehnt lehnt zurückgewiesen rechazado rechace rechazó refusé refuse rejeté odrzuci odrzucił odrzucony
 odmówił
return zurück zurückgegeben zurückgibt devuelva devuelto devolvió vuelva vuelto vuelve rendu rende rentré revient
 revenu zwróci zwrócił wróci wrócił
fail ausgefallen ausfällt fehlgeschlagen fehlschlägt abgestürzt falle fallado falló caído échoue échoué tombe tombé
 padnie padł
begin begonnen beginnt angefangen empiece empezado empezó comenzado commence commencé zacznie zaczął rozpoczął
publish veröffentlicht erschienen publicado publique publicó publié publie paru opublikuje opublikowano ukazał
cancel abgesagt storniert cancelado cancele canceló annulé annule odwołano odwoła anulowano
fix behoben repariert gelöst arreglado resuelto reparado réparé résolu naprawi naprawiony naprawił
expire abgelaufen abläuft caducado vencido caduque venza expiré expire wygaśnie wygasła wygasł
ship verschickt versandt enviado envíe envió expédié envoyé wysłano wyśle wysłał
more mehr más plus więcej ponad
less weniger menos moins mniej poniżej
open öffnet geöffnet aufgemacht abre abra abierto abrió ouvre ouvert otworzy otworzył otwarty otwarta
close schließt geschlossen zugemacht cierra cierre cerrado cerró ferme fermé zamknie zamknął zamknięty zamknięta
sell verkauft verkaufen vende venda vendido vendió vend vendu sprzeda sprzedał sprzedany sprzedana sprzedane
install eingebaut installiert einbaut instala instale instalado instaló installe installé
 zainstaluje zainstalował zainstalowany
find findet gefunden encuentra encuentre encontrado encontró trouve trouvé znajdzie znalazł znaleziono
win gewinnt gewonnen gana gane ganado ganó gagne gagné wygra wygrał
leave abreist abgereist verlässt verlassen marchó marchado part parti partie
 quitte quitté wyjedzie wyjechał
walk geht gegangen
born geboren nace nazca nacido nació naît né née urodzi urodził urodziła
available verfügbar lieferbar vorrätig disponible dispo dostępny dostępna dostępne
return heimkommt heimgekommen zurückkommt zurückgekommen regresa regrese regresó regresado
send schickt geschickt sendet gesendet manda mande mandó mandado envoie envoyé przyśle przysłał przesłał
invoice rechnung factura facture faktura fakturę faktury
"""
COMES, GOES, IS = r"(?:comes?|came|coming)", r"(?:go|goes|went|gone|going)", r"(?:is|are|was|were|be|been|'s)"
NOW = r"(?:now |finally |all |both |back |already |safely )*"
SOME = r"((?:\s+[\w'-]+){0,3}?)"
# Verbs that say the same with or without a particle.
FILLING = patterns.late(
    r"\b((?:fill|heat|warm|cool|dry|speed|slow|use|finish|wake|grow|melt|burn|load|boot|start|cheer|pack|clean|calm"
    r"|die|swell"
    r"|empt|tidy|slim|wrap|ripen|harden|thaw|freeze|freez|ship|pour)(?:s|es|ed|ped|ied|ies|ing)?)"
    r" (?:up|out|down|off)\b",
    re.IGNORECASE,
)
PARTICLES = (" up", " out", " down", " off")
# What is not yet done while it is being done.
TELIC = frozenset(map(stem, verbs.ACTIONS)) - frozenset(
    map(
        stem,
        "call phone ring burn bleed run work start stop move circulate walk talk boil melt grow drip"
        " travel answer reply"
        " apologise thank speak soak shop protest fight serve stir leak lead drink eat play join leave resign retire"
        " return wake"
        " finish play change rotate smoke".split(),
    )
)
# "Started to leak", "began raining": what happens is the second, unless it takes until its end.
SETTING_IN = patterns.late(
    r"\b(?P<way>start|begin|began|begun|manage|happen|proceed)(?:s|ed|d)? (?:to (?=(?!(?:the|an?|my|our|your"
    r"|his|her|their|this"
    r"|that|school)\b)(?P<to>[a-z]+))|(?=(?!\w*thing\b|morning|evening)(?P<doing>[a-z]{2,}ing)\b))",
    re.IGNORECASE,
)
GIVING_UP = patterns.late(r"\bquit(?:s|ted|ting)?(?= [a-z]{2,}ing\b)", re.IGNORECASE)
# Sets of words that say one verb, and the verb; what stands between them stays.
PHRASES = tuple(
    (patterns.late(rf"\b(?:{phrase})(?!\w)", re.IGNORECASE), rf" {verb} ")
    for phrase, verb in (
        (
            (
                r"had (?:her|a|the|their|our) baby(?=\s*(?:[.,;!]|$|today|yesterday|this|last|on\b|at\b))"
                r"|gave birth(?: to)?"
            ),
            "baby born",
        ),
        (r"(?:there(?:'s| is) )?no (?:more )?(?:space|room)(?: is)? left(?= on\b)", "full"),
        (r"(?:there(?:'s| is| are) )no (?:more )?([\w-]+(?: [\w-]+)?) left(?=\s*(?:[.,;!]|$))", r"\1 expire"),
        (
            (
                r"\b(?:we|they|i|you)(?:'re|'m| are| am| have run| ran| run)(?: all| completely| now)? out of"
                r" (\w+(?: \w+)?)(?=\s*(?:[.,;!]|$))"
            ),
            r"\1 expire",
        ),
        (
            (
                r"(?:there (?:is|are) )?no (?:more )?(?:jobs?|items?|messages?|requests?|orders?|tasks?|tickets?"
                r"|customers?|entries|mails?|people) (?:is |are )?(?:left |waiting |remaining )?in(?= (?:the|our|my)\b)"
            ),
            "empty in",
        ),
        (
            (
                r"(?:made|makes|make|took|takes|taken|reached|came to) (?:a|an|its|the|their|his|her) decision"
                r"(?: (?:on|about))?"
            ),
            "decide",
        ),
        (r"(?:reached|came to) an agreement", "agree"),
        (r"(?:judge?ment|verdict|ruling) (?:has been |was )?(?:handed down|delivered|issued)", "court rule"),
        (r"returned by (?:the|his|her|our|their) bank(?=\s*(?:[.,;!]|$))", "bounce"),
        (
            (
                r"can (?:now )?be (?:collected|picked up|fetched)"
                r"(?! (?:next|only|once|after|from|tomorrow|on|in|later|until|when|by|at|if)\b)"
                r"|(?:is|are) (?:now )?available for (?:collection|pick-?up)"
            ),
            "ready",
        ),
        (r"(?:you|we|one|people) can now register(?=\s*(?:[.,;!]|$|for\b|online\b))", "registration open"),
        (r"(?:you|we|one|people) can now (?:buy|get|order) ((?:the|our) \w+)", r"\1 available"),
        (r"(?:you|we|one|people) can (?:buy|get|order) ((?:the|our) \w+) now", r"\1 available"),
        (r"\b(tickets) (?:go|goes|went|going|gone|are) on sale", r"\1 available"),
        (r"(?:isn't|aren't|is not|are not|wasn't) (\w{3,}ing) any ?(?:more|longer)", r"\1 stop"),
        (
            (
                r"(?:no longer|stopped|has stopped|have stopped) (?!working|responding|running)(\w{3,}ing)"
                r"(?=\s*(?:[.,;!]|$|now\b|today\b))"
            ),
            r"\1 stop",
        ),
        (r"no longer (?:occupied|taken|booked|in use|reserved|busy)(?=\s*(?:[.,;!]|$))", "free"),
        (r"finished (?:building|setting up|assembling|putting up|installing)", "set up"),
        (r"(?:have|has|got) (\w+)'s signature(?=\s*(?:[.,;!]|$|under\b|below\b|on the\b))", r"\1 sign"),
        (r"back in (?:operation|service|action|business|use)", "online run"),
        (rf"{IS} {NOW}back from(?= (?:school|work|nursery|kindergarten|university)\b)", "home from"),
        (r"pulled in(?:to)?", "arrive"),
        (r"(?:fell|falls|has fallen) out(?! with\b| of\b)", "lose"),
        (
            r"with(?:drew|draws|drawn) (?:its|the|their|his|her) (order|application|offer|bid|complaint|claim)",
            r"cancel \1",
        ),
        (rf"back (?:up|online)|{GOES} online|{IS} {NOW}online", "online"),
        (rf"turn(?:s|ed)?{SOME} down", r"\1 reject"),
        (r"(?:filed|lodged)(?! (?:away|under|in)\b)", "submit"),  # "file" and "lodge" are things as well
        (r"v(\d+)(?:\.0)*(?![.\d])|version (\d+)(?:\.0)+(?![.\d])", r"version \1\2"),
        (rf"{IS} {NOW}out(?=\s*(?:[.,;!]|$|now|today|at last))", "publish"),
        (r"sign(?:s|ed|ing)? up|sign-ups?", "register"),
        (r"(?:pay|pays|paid) off|re(?:pay|pays|paid)", "pay"),
        (r"pull requests?", "pr"),
        (r"(?:make|makes|made) it(?= (?:to|home|back|here|there)\b)", "arrive"),
        (r"(?:leave|leaves|left) the (?:warehouse|depot|factory)", "ship"),
        (
            (
                r"put(?:s|ting)? in(?=\s+(?:the|a|an|our|new)\b)(?!\s+\w+ (?:offer|request|order|claim|bid|word|call"
                r"|complaint|effort|hours?))"
            ),
            "install",
        ),
        (rf"(?:take|takes|took|taken){SOME} (?:apart|to pieces)", r"\1 dismantle"),
        (rf"(?:take|takes|took|taken){SOME} down", r"\1 remove"),
        (r"(?:left|leaves|out of|home from) (?:the )?hospital", "discharge hospital"),
        (
            r"(?:got|gets|have|has|received) (?:the|an|his|her|their|our)? ?(?:ok|okay|go-ahead|green light|nod)",
            "approve",
        ),
        (r"down(?=\s*(?:[.,;!]|$|again\b|since\b))", "fail"),
        (
            rf"(?:turn|hand|send)(?:s|ed)?{SOME} in(?! (?:her|his|their|my|your|the)? ?notice)|sent{SOME} in",
            r"\1\2 submit",
        ),
        (rf"{GOES} through", "succeed"),
        (rf"pick(?:s|ed)?{SOME} up", r"\1 collect"),
        (r"open again|open(?:s|ed) (?:up )?again", "reopen"),
        (rf"call(?:s|ed)?{SOME} off", r"\1 cancel"),
        (
            r"(?:hand|give|gave|turn)(?:s|ed)?(?: in)? (?:(?:her|his|their|my) )?(?:notice|resignation)(?! of| that)",
            "resign",
        ),
        (r"(?:step|stand|stood|step)(?:s|ped)? down(?!\s+(?:the|a|an)\b)", "resign"),
        (r"(?:run|runs|ran) out|(?:is|are) no longer valid", "expire"),
        (rf"wrap(?:s|ped)?{SOME} up", r"\1 finish"),
        (r"(?:over|through|complete)(?=\s*(?:[.,;!]|$|now|at last))", "finish"),
        (rf"{COMES} to an end", "finish"),
        (rf"{COMES} back (?:green|clean|negative|clear|ok|okay)|{IS} {NOW}green", "pass"),
        (rf"{COMES} back (?:red|positive)|{IS} {NOW}red", "fail"),
        (rf"{COMES} back|{IS} {NOW}back|got back(?! (?:to|the|my|our|his|her|their|a)\b)", "return"),
        (rf"(?:get|gets|got) back to|(?:write|writes|wrote|written) back|{IS} in touch", "reply"),
        (
            (
                rf"{COMES} (?:in|through|up)|(?:show|turn)(?:s|ed)? up|(?:check|clock)(?:s|ed)? in|(?:get|gets"
                rf"|got) (?:in|here|there)"
            ),
            "arrive",
        ),
        (
            (
                r"(?:drop|stop|pop|swing|come|came)(?:s|ped)? (?:by|round)"
                r"(?=\s*(?:[.,;!:]|$|today|tomorrow|yesterday|the |our |my ))"
            ),
            "arrive",
        ),
        (rf"drop(?:s|ped)?{SOME} off|sen[dt]s? over|hand(?:s|ed)?{SOME} over|touch(?:es|ed)? down", r"\1 arrive"),
        (rf"{IS} {NOW}(?:here|in|there)(?=\s*(?:[.,;:!]|$|yet\b|already|at last))", "arrive"),
        (
            (
                rf"{IS} {NOW}(?:standing |waiting |sitting )?(?:in|at|on) (?:the|our|my|your) "
                r"(?:office|warehouse|building|mailbox|inbox|(?:front |help )?desk|counter|door"
                r"|reception|lobby|entrance|gate|(?:bank )?account)"
            ),
            "arrive",
        ),
        (r"(?:wake|wakes|woke|woken) up", "wake"),
        (r"da (?:ist|sind)|(?:ist|sind) (?:schon |jetzt |endlich )?da(?=\s*(?:[.,;!]|$))", "arrive"),
        (r"in stock", "available"),
        (
            (
                rf"(?:has|have|{IS}) gone(?: home)?"
                r"(?!\s+(?:mad|wrong|bad|missing|crazy|up|down|through|off|over|quiet|well|live|out)\b)"
                r"|(?:go|goes|went) home"
            ),
            "leave",
        ),
        (r"(?:move|moves|moved|moving)(?: house| out)(?: of)?", "moveout"),
        (rf"{GOES} live|{IS} {NOW}live|{COMES} out", "publish"),
        (r"sa(?:ys|id) yes(?: to)?|(?:give|gives|gave) (?:\w+ )?(?:consent|approval)(?: to)?", "approve"),
        (r"sa(?:ys|id) no(?: to)?", "reject"),
        (rf"{GOES} out", "ship"),
        (
            rf"{GOES} down|{IS} {NOW}down|broke down|break(?:s)? down|(?:stop|stops|stopped) (?:working|responding)",
            "fail",
        ),
        (rf"{GOES} up|(?:shoot|shot) up", "rise"),
        (
            (
                r"sign(?:s|ed)? off(?: on)?|g[ai]ve(?:s|n)? (?:\w+ ){0,3}(?:go-ahead|green light|thumbs up|blessing|nod"
                r"|ok|okay)"
            ),
            "approve",
        ),
        (rf"{IS} {NOW}(?:fine|happy|ok|okay) with", "approve"),
        (r"(?:pass|passes|passed) away", "die"),
        (r"(?:take|takes|took|taken) off", "depart"),
        (r"\bit(?:'s| is| was| has been| had been)?(?: been)?(?: \w+)? pour(?:s|ed|ing)", "rain"),
        (r"(?:pull|back)(?:s|ed)? out", "cancel"),
        (rf"(?:is|are|'s) {NOW}(?:up|online|up and running|working)(?: again)?(?=\s*(?:[.,;!]|$|since|now))", "online"),
        (r"set(?:s|ting)? off|head(?:s|ed)? off", "leave"),
        (rf"{GOES} off", "ring"),
        (r"(?:sell|sells|sold) out", "soldout"),
        (r"(?:has|have) (?:\w+ )?(?:the|a|an|our|your) (?:signed|approved) (\w+)", r"\1 sign"),
        (r"put(?:s)? (?:her|his|their) (?:name|signature) (?:to|on|under)|ink(?:s|ed)", "sign"),
    )
)
# A word of a statement says these as well.
ALSO = {
    "publish": ("clear",),
    "succeed": ("clear", "pass"),
    "finish": ("pass", "lift"),
    "arriv": ("return",),
    "leav": ("moveout", "remov"),
    "reject": ("fall",),
    "expir": ("finish", "soldout", "empty"),
    "transfer": ("pay",),
    "settl": ("pay",),
    "wir": ("pay",),
    "onlin": ("return",),
    "cancel": ("fail",),
    "fix": ("work",),
    "pass": ("succeed",),
    "cost": ("pric",),
}
# Words that a statement may leave out: what the thing is is said by the others.
LEFT_OUT = """
new old current latest final whole entire own little big small last replacement updated price value level amount number
guest member result people container usage rate temperature reading count total copy item delivery shipment
member side rest both all staff crew
"""
ABOVE = (
    "above",
    "beyond",
    "over",
    "exceed",
    "exceeds",
    "more",
    "higher",
    "greater",
    "longer",
    "larger",
    "bigger",
    "older",
    "warmer",
    "heavier",
    "tops",
    "surpass",
    "surpasses",
)
BELOW = ("below", "under", "less", "fewer", "lower", "shorter", "smaller", "colder", "younger", "lighter", "beneath")
AT_LEAST = ("hit", "hits", "reach", "reaches", "pass", "passes", "cross", "crosses", "arrive", "least")
MOVING = frozenset(
    (
        "ris",
        "fall",
        "go",
        "stay",
        "com",
        "get",
        "remain",
        "mov",
        "than",
        "to",
        "clim",
        "jump",
        "sit",
        "dip",
        "cost",
        "hover",
    )
)

# "The release notes", "a payment reminder": the event only says which notes.
OF_AN_EVENT = re.compile(
    r"\b(?P<event>release|approval|delivery|payment|launch|arrival|publication|renewal|refund|repair|acceptance"
    r"|[a-z]{3,}(?:tion|sion|ment))\s+"
    r"(?:candidates?|notes?|dates?|plans?|schedules?|requests?|reminders?|process(?:es)?|workflow|deadlines?|windows?"
    r"|forms?|terms|estimates?|forecasts?|branch|status|costs?|fees?|guides?|guidelines?|manuals?|instructions?|kits?"
    r"|scripts?|tools?|checklists?|reports?|documents?|documentation|training|videos?|tests?|teams?|packages?"
    r"|files?)\b"
    r"|\b(?:geht (?:es|um)|es geht|(?:fait|faire|fais|à|sa|ma|leur|quelque|nulle|autre) part|(?:la|une|cette) ferme"
    r"|(?:la|las|tiene|con) ganas?)\b",  # in other languages, what only looks like the verb
    re.IGNORECASE,
)
# What can only be said to have happened together with a word that says that it did.
OVER = patterns.late(
    r"\b(?:done|complete|completed|finished|took place|has taken place|received|went through|gone through"
    r"|successful|succeeded|in hand|is here|came (?:through|in|down|back)|is in|went (?:well|smoothly|fine|ahead"
    r"|off without)"
    r"|handed down|was (?:issued|announced|granted|confirmed|accepted|signed|celebrated|held|registered|recorded"
    r"|published"
    r"|delivered)|has been (?:issued|announced|granted|confirmed|accepted|signed|held|registered|recorded|published"
    r"|delivered)|(?:is|are) (?:now )?(?:official|final|a fact|behind (?:us|me|him|her|them)|history|public|in place)"
    r"|took effect|came as|surprised|shocked|stunned|saddened|caused|led to|triggered|landed|arrived|happened"
    r"|reached (?:us|me)"
    r"|passed (?:its|the|his|her|their|our|my)|is on (?:my|the|our) desk|(?:is|are) (?:out|over"
    r"|through)(?=\s*(?:[.,;:!)]|$|now\b|and\b|since\b)))\b"
    r"|\bover\b(?=\s*(?:[.,;!]|$|now\b|and\b))",
    re.IGNORECASE,
)
# What follows has happened: "since the arrival of the truck", "thanks to his promotion".
FOLLOWING = patterns.late(
    r"(?:^\W*|\b)(?:since|ever since|following|thanks to|because of|due to|owing to|as a result of|in the wake of"
    r"|with)\s+"
    r"(?=(?:the|his|her|their|our|my|your|its|(?-i:[A-Z])[\w'-]+'s?)\s)(?P<what>[^,;.]{3,80})",
    re.IGNORECASE,
)
# "After the arrival of the truck we had to move the van": what came later has come as well.
AFTERWARDS = patterns.late(
    r"^(?P<lead>\W*)after(?=\s+(?:the|his|her|their|our|my|your|its|(?-i:[A-Z])[\w'-]+'s?)\s)", re.IGNORECASE
)
# Endings of a noun for what a verb does, and what the verb may end in.
NOUNS_OF_VERBS = (
    ("ization", ("ize",)), ("isation", ("ise",)), ("ication", ("y", "icate")), ("ation", ("", "e", "ate")),
    ("ition", ("", "e")), ("ssion", ("t", "ss")), ("tion", ("t", "te")), ("sion", ("de", "d", "se")),
    ("ment", ("",)), ("al", ("", "e")), ("ance", ("", "e")), ("ure", ("", "e")), ("ery", ("er",)),
)  # fmt: skip
SHORTEST_NOUN = 6
# The others, behind their verb.
NOUNS = """
arrive arrival, depart departure, leave departure exit farewell, return return homecoming, resign resignation, elect
election,
renew renewal, approve approval, die death passing, born birth, sell sale, buy purchase acquisition, pay payment,
deliver delivery,
rule ruling verdict judgment, decide decision verdict, sign signing signature, launch launch, publish publication
release,
release release, close closure closing, open opening, reopen reopening, start start beginning, begin beginning start,
end end,
finish completion end, fail failure outage breakdown, lose loss defeat, win win victory, steal theft, arrest arrest,
dismiss
dismissal, fire dismissal, retire retirement, promote promotion, appoint appointment, choose choice, agree agreement,
refuse
refusal, reject rejection, accept acceptance, cancel cancellation, terminate termination, vaccinate vaccination,
graduate
graduation, marry wedding marriage, divorce divorce, engage engagement, collapse collapse, crash crash, recover
recovery, repair
repair, replace replacement, install installation, inspect inspection, visit visit, move move relocation, transfer
transfer,
merge merger merge, acquire acquisition, complain complaint, apologise apology, confess confession, confirm
confirmation, reply reply
response answer, answer answer reply, announce announcement, remove removal, withdraw withdrawal, shut shutdown, rise
rise
increase, fall fall drop, review review, test test, audit audit, certify certification, grant grant, hire hiring,
admit admission, discharge discharge, invite invitation, register registration, enrol enrolment, offer offer, receive
receipt, ship shipment shipping dispatch, book booking, order order, refund refund, cure cure, heal healing, operate
operation
surgery, deploy deployment rollout, migrate migration, upgrade upgrade, update update, restore restoration, renovate
renovation, demolish demolition, adopt adoption, ratify ratification, convict conviction, acquit acquittal, sentence
sentencing, strike strike, attack attack, explode explosion, flood flooding, burn fire, move-in move-in, hand handover,
inaugurate inauguration, defend defence defense, nominate nomination, succeed success, disappear disappearance, discover
discovery, expire expiry expiration, extend extension, lift lifting, suspend suspension, ban ban, evict eviction,
conclude
conclusion, settle settlement, vote vote, draw draw, hatch hatching, bloom bloom, land landing, sink sinking, rescue
rescue
"""
VERBS = {
    noun: [verb for verb, *nouns in (line.split() for line in NOUNS.split(",")) if noun in nouns]
    for line in NOUNS.split(",")
    for noun in line.split()[1:]
}


def verbs_of(word: str) -> list[str]:
    """What the verb of a noun such as "installation" may be."""
    if word in VERBS:
        return VERBS[word]
    for ending, instead in NOUNS_OF_VERBS:
        if len(word) >= SHORTEST_NOUN and word.endswith(ending):
            return [word[: -len(ending)] + each for each in instead]
    return []


# Verbs that only help another one, in other languages.
HELPING = frozenset(
    (
        "est sont esté está estén están es son ist sind hat haben jest są aura auront zostanie zostaną została zostało "
        "został zostały wird werden haya hayan sea sean soit"
    ).split()
)


def set_in(text: str) -> str:
    """The text with what has begun as what is, and what is given up as stopped."""
    text = GIVING_UP.sub("stopped", text)
    return SETTING_IN.sub(lambda found: found[0] if _goes_to_an_end(found) else "is ", text)


def _goes_to_an_end(found: re.Match[str]) -> bool:
    return found["way"][0] in "bsBS" and stem((found["to"] or found["doing"]).casefold()) in TELIC


def rewritten(text: str) -> str:
    """The text with one verb for several words that say it."""
    text = set_in(text)
    if any(particle in text for particle in PARTICLES):
        text = FILLING.sub(r"\1", text)
    for rule, verb in PHRASES:
        text = rule.sub(verb, text)
    return text
