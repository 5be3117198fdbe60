"""Words for values: times, units, and what makes a number a name (order 1001) or a count (30 seats). Data alone."""
# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from decimal import Decimal

MONTHS = "january february march april may june july august september october november december".split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()

NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
} | {
    word: str(number)
    for words, numbers in (
        ("zwei drei vier fünf sechs sieben acht neun zehn zwölf", (2, 3, 4, 5, 6, 7, 8, 9, 10, 12)),
        ("zwanzig dreissig vierzig fünfzig sechzig siebzig achtzig neunzig", range(20, 100, 10)),
        ("dos tres cuatro cinco seis siete ocho nueve diez", range(2, 11)),
        ("veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa", range(20, 100, 10)),
        ("deux trois quatre cinq huit neuf dix onze douze treize quatorze quinze", (2, 3, 4, 5, *range(8, 16))),
        ("vingt trente quarante cinquante soixante", range(20, 70, 10)),
        ("doce trece catorce quince", range(12, 16)),
        ("dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn", range(13, 20)),
        ("dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć", range(2, 11)),
        ("jedenaście dwanaście trzynaście czternaście piętnaście", range(11, 16)),
        ("dwadzieścia trzydzieści czterdzieści pięćdziesiąt", range(20, 60, 10)),
    )
    for word, number in zip(words.split(), numbers, strict=True)
}  # fmt: skip
# The code of each is that of its digits.
ORDINALS = (
    {
        word: f"v {digits}"
        for word, digits in zip(
            "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth".split(),
            "3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th 13th".split(),
            strict=True,
        )
    }
    | {"first": "v 1st"}
    | {
        f"{tens}-{ones}": f"v {number}{end}"
        for tens, ten in (("twenty", 20), ("thirty", 30))
        for number, ones, end in zip(
            range(ten + 1, ten + 10),
            "first second third fourth fifth sixth seventh eighth ninth".split(),
            "st nd rd th th th th th th".split(),
            strict=True,
        )
    }
)
# After a day.
FOREIGN_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "januar jänner janvier enero stycznia styczeń gennaio", "februar février febrero lutego luty febbraio",
            "märz mars marzo marca marzec", "avril abril kwietnia kwiecień aprile", "mai mayo maja maj maggio",
            "juni juin junio czerwca czerwiec giugno", "juli juillet julio lipca lipiec luglio",
            "août agosto sierpnia sierpień", "septembre septiembre września wrzesień settembre",
            "oktober octobre octubre października październik ottobre",
            "novembre noviembre listopada listopad", "dezember décembre diciembre grudnia grudzień dicembre",
        ), 1,
    )
    for name in names.split()
}  # fmt: skip

SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12} | {
    word: number
    for number, words in (
        (10**6, "mn mio mln"),
        (10**9, "bn mrd mld"),
        (1000, "tausend tysiąc tysiące tysięcy mil mille"),
        (10**6, "millionen millones millón milion miliony milionów"),
    )
    for word in words.split()
}
MONEY = {
    sign: code
    for code, signs in {
        "usd": "$ usd us$ dollar dollars",
        "eur": "€ eur euro euros",
        "gbp": "£ gbp pound pounds",
        "jpy": "¥ jpy yen",
        "inr": "₹ inr rupee rupees",
        "pln": "pln zł zloty zlotys złotych złote",
        "chf": "chf franken",
        **{code: code for code in "czk sek nok dkk huf ron cad aud nzd cny sgd hkd brl mxn zar".split()},
    }.items()
    for sign in signs.split()
}
# Units written before the amount as well as after it.
CODES = frozenset(sign for sign in MONEY if len(sign) == 3 and sign != "yen") | {"€", "$", "£", "us$"}
# What is counted in: how many of the smallest unit of its line it is, and the name of that unit.
MEASURES = {
    name: (Decimal(factor), unit)
    for unit, factor, names in (
        ("milligram", "1000", "g gram grams gramme grammes gramm gramos"),
        ("milligram", "1000000", "kg kilo kilos kilogram kilograms kilogramm kilogramos"),
        ("milligram", "1000000000", "tonne tonnes t"),
        ("milligram", "1", "mg milligram milligrams"),
        ("millimeter", "1", "mm millimeter millimeters millimetre millimetres"),
        ("millimeter", "10", "cm centimeter centimeters centimetre centimetres zentimeter"),
        ("millimeter", "1000", "meter meters metre metres metros"),
        ("millimeter", "1000000", "km kilometer kilometers kilometre kilometres kilómetros"),
        ("millimeter", "1000", "m"),
        ("foot", "1", "ft foot feet"),
        ("inch", "1", "inch inches"),
        ("mile", "1", "mi mile miles"),
        ("lb", "1", "lb lbs"),
        ("milliliter", "10", "cl centiliter centiliters centilitre centilitres"),
        ("milliliter", "100", "dl deciliter deciliters decilitre decilitres"),
        ("milliliter", "1", "ml milliliter milliliters millilitre millilitres"),
        ("milliliter", "1000", "l liter liters litre litres litros"),
        ("ms", "1", "ms millisecond milliseconds millisekunden"),
        ("ms", "1000", "s sec secs second seconds sekunde sekunden segundos"),
        ("ms", "60000", "min mins minute minutes minuten minutos minut"),
        ("ms", "3600000", "h hr hrs hour hours stunde stunden horas godzin"),
        ("day", "1", "day days tag tage tagen día días dni"),
        ("day", "7", "week weeks woche wochen semana semanas tygodni"),
        ("month", "1", "month months monat monate monaten mes meses"),
        ("month", "12", "year years jahr jahre jahren año años"),
        ("kb", "1", "kb kilobyte kilobytes"),
        ("kb", "1000", "mb megabyte megabytes"),
        ("kb", "1000000", "gb gigabyte gigabytes"),
        ("kb", "1000000000", "tb terabyte terabytes"),
        ("watt", "1", "w watt watts"),
        ("watt", "1000", "kw kilowatt kilowatts"),
        ("volt", "1", "v volt volts"),
        ("hz", "1", "hz hertz"),
        ("celsius", "1", "°c celsius"),
    )
    for name in names.split()
}
NAMED_TIMES = {"noon": "12:00", "midday": "12:00", "midnight": "0:00"}
TO = frozenset("to bis do à a al through".split())
FROM = frozenset("from von od de between".split())
SPAN_WORDS = frozenset("to bis through à between until till".split())
SHORT_DAYS = {name[:3]: name for name in (*WEEKDAYS, *MONTHS)} | {
    "tues": "tuesday", "wednes": "wednesday", "thur": "thursday", "thurs": "thursday", "sept": "september",
}  # fmt: skip
# Short for a day or month, and words or names as well.
SHORT_WEEKDAYS = frozenset(["sat", "sun"])
UNSURE_DATES = SHORT_WEEKDAYS | {"mar"}
PARTS_OF_A_DAY = frozenset("morning mornings afternoon afternoons evening evenings night nights".split())
PERIODS = {
    "night": "nightly",
    "hour": "hourly",
    "day": "daily",
    "week": "weekly",
    "month": "monthly",
    "quarter": "quarterly",
    "year": "annually",
}

CURRENCIES = frozenset(
    "usd eur gbp chf jpy pln czk sek nok dkk huf ron cad aud nzd inr cny sgd hkd brl mxn zar "
    "dollar dollars euro euros pound pounds yen cents cent".split()
)
PERCENT = frozenset({"percent", "pct"})

# Written against their number: 5kg is 5 kg.
UNITS = frozenset(
    """
    kg g mg km m cm mm gb mb tb kb gib mib ms s sec secs h hr hrs min mins lb lbs oz l cl dl ml t bn mn mio
    kwh kw mw hz ghz mhz px pt ft
    in mi yd usd eur gbp am pm
    """.split()
)

# After one of these comes a name made of digits, never a count.
NAMED_BY_NUMBER = frozenset(
    """
    order invoice ticket customer account case contract room floor unit item sku id no nr number number: store branch
    gate platform pier bay dock line phase step stage batch lot server node host cluster rack port extension ext version
    release build chapter section page table figure article paragraph track lane zone district route flight train bus
    seat apartment suite building warehouse project task issue bug story sprint shipment package parcel tracking serial
    model part license policy claim account: member employee user device terminal machine meter tenant asset po rfc iso
    centre center quarter week day level tier grade class type option plan question lesson module unit: site region
    """.split()
)

# A time is the value of a statement with one of these, and belongs to its name in any other.
DATED = frozenset(
    """
    deadline due renews renewal renew expires expire expiry expiration ends end start starts launch launches
    scheduled arrival arrives arrive departure departs closes close opens open cutoff cut-off eta delivery go-live
    goes live rollout kickoff migration valid anniversary maintenance begins begin delivered livrée livré geliefert
    entregado entregará consegnato vence expira scade
    """.split()
)

# A number after one of these describes a state.
STATES = frozenset(
    """
    is are be has have had costs cost price priced fee rate limit quota budget discount salary balance total threshold
    cap capped limited takes take lasts last contains contain includes include supports support employs employ needs
    need uses use allows allow offers offer charges charge pays gets receives requires require within every up reaches
    stands set at equals amounts share margin tax vat interest target goal minimum maximum min max retention headcount
    capacity size weight height width length age count seats term period allowance stock
    runs run weighs weigh holds hold keeps kept serves owns full notice delivers deliver agreed promised guaranteed
    wynosi kosztuje kosztują cuesta wynoszą coûte zahlt kostet beträgt ist liegt coûte paie est cuesta paga es costa
    """.split()
)

# Something happened, once: another value is another event, not a newer one.
EVENTS = frozenset(
    """
    paid sent bought sold met spoke got took went left wrote saw came began ran lost won hit told rang brought drove
    flew read ate drank ordered zahlte bezahlte kaufte pagó payé comprado
    """.split()
)
# These end like the past and are none.
STANDING = frozenset(
    """
    based located scheduled priced limited capped entitled required allowed fixed assigned enabled disabled called
    named need feed speed seed shared unlimited dedicated managed preferred advanced limited fixed-price used needed
    expected planned estimated hundred red embed exceed proceed indeed included
    """.split()
)
CHANGES = frozenset(
    """
    moved changed raised increased updated switched renamed rescheduled postponed lowered reduced decreased set
    dropped risen rose fell adjusted revised extended shortened upgraded downgraded migrated relocated transferred
    grew cut grown shrunk doubled pushed brought forward modified upped bumped slashed hiked climbed jumped sank
    rises scaled expanded trimmed slipped renewed halved tripled reassigned prolonged promoted trasladó advanced
    delayed swapped shifted redirected rerouted tightened loosened relaxed lengthened widened narrowed stretched
    heightened
    geändert erhöht gesenkt verschoben verlängert verkürzt verlegt gestiegen gesunken angehoben
    reduziert cambió cambiado subió subido bajó bajado aumentó aumentado aplazó aplazado pasó adelantado prolongado
    changé augmenté baissé reporté déplacé avancé passé prolongé reportée décalé décalée avancée déplacée augmentée
    aplazada adelantada retrasado retrasada pospuesto pospuesta vorgezogen przeniesiono przesunięta przełożona
    zmieniona zmieniono wzrosła wzrósł wzrosło spadła spadł spadło przesunięto przełożono przedłużono zmienił
    zmieniła
    """.split()
)
EXPECTED = frozenset("planned scheduled expected slated".split())
NOW = frozenset(
    """
    now currently presently nowadays instead henceforth anymore jetzt nun ahora teraz maintenant adesso
    inzwischen mittlerweile künftig actualmente désormais dorénavant obecnie odtąd
    """.split()
)

# A preference for one of a line is replaced by one for another of the same line, and by nothing else.
KINDS_OF_PREFERENCE = {
    word: kind
    for kind, words in {
        "channel": "email e-mail phone sms text chat slack teams whatsapp telegram signal fax post letter call "
        "telephone texting calls emails texts messenger zoom",
        "part of the day": "morning mornings afternoon afternoons evening evenings noon night nights",
        "theme": "dark light",
        "drink": "tea coffee espresso cappuccino latte decaf water",
        "seat": "window aisle",
        "format": "bullet bullets prose tables plain pdf csv excel xlsx json xml paper html markdown word docx "
        "spreadsheet slides",
        "language": "english german french spanish italian portuguese polish dutch swedish danish norwegian finnish "
        "czech japanese chinese korean russian ukrainian turkish arabic hebrew hindi greek hungarian romanian",
        "diet": "vegetarian vegan kosher halal pescatarian gluten-free",
        "pace": "daily weekly biweekly fortnightly monthly quarterly yearly annually annual",
        "payment": "card cash invoice transfer paypal cheque check debit credit",
        "place": "remote onsite on-site in-person office home video",
        "carrier": "ups fedex dhl usps dpd gls",
        "shipping": "express standard overnight ground economy",
        "units": "metric imperial celsius fahrenheit",
        "color": "red blue green black white yellow purple orange pink grey brown",
        "day": "monday tuesday wednesday thursday friday saturday sunday",
        "currency": "usd eur gbp chf jpy dollars euros pounds",
        "distance": "short long",
    }.items()
    for word in words.split()
}
PREFERS = frozenset(
    "prefer prefers preferred preference favor favors favour favours favorite favourite likes wants chooses".split()
)
# What is liked or wanted once more is no change of mind, unless a word says so.
TASTES = frozenset("likes wants chooses".split())
PREFERENCE_NOUNS = frozenset("text message messages call calls".split())
REACHES = frozenset("go goes reach reaches call use uses".split())

# Attributes with a single value, so that "is now" gives the newer one.
ATTRIBUTES = frozenset(
    """
    address owner contact manager lead leader head status plan tier package level channel language currency color
    colour format location office headquarters name title role supplier vendor carrier provider method timezone region
    edition theme phone mobile email number representative rep sponsor assignee approver reviewer password-policy
    frequency schedule slot venue position department team employer nickname extension terms stage priority severity
    surname forename birthday hometown wifi password pin code port nickname girlfriend boyfriend wife husband spouse
    treasurer president chair chairman chairwoman chairperson captain coach secretary maintainer editor administrator
    principal dean mayor landlord accountant auditor deputy leader boss chief spokesperson moderator organizer organiser
    mentor adviser advisor trainer dentist physician liaison steward warden delegate locale tutor locator successor
    supervisor director ceo cto cfo coordinator host hosting account-manager backup default engine framework
    database goal motto slogan conductor caretaker janitor insurer vet paediatrician gardener nanny hairdresser
    instructor publisher therapist optician passcode combination tracker
    """.split()
)
# An office by the word for a woman, and the one for a man: with whoever holds it, there is one.
OFFICES_OF_WOMEN = {
    f"{start}{man}in": f"{start}{man}"
    for start in ("", "haus", "schul", "projekt", "abteilungs", "team", "filial", "vize", "chef", "klassen", "bundes")
    for man in """
        leiter trainer direktor präsident manager verwalter meister betreuer ansprechpartner sekretär schatzmeister
        bürgermeister geschäftsführer steuerberater berater vermieter makler lehrer sprecher redakteur moderator
        intendant dirigent koordinator organisator gärtner pfleger hausmeister minister kanzler
    """.split()
} | dict(
    pair.split("/")
    for pair in """
    hausärztin/hausarzt zahnärztin/zahnarzt tierärztin/tierarzt kinderärztin/kinderarzt anwältin/anwalt chefin/chef
    köchin/koch vorsitzende/vorsitzender hausmeisterin/hausmeister
    unsere/unser meine/mein nuestra/nuestro
    directora/director presidenta/presidente jefa/jefe entrenadora/entrenador coordinadora/coordinador
    profesora/profesor administradora/administrador secretaria/secretario tesorera/tesorero alcaldesa/alcalde
    encargada/encargado médica/médico veterinaria/veterinario abogada/abogado dueña/dueño propietaria/propietario
    portera/portero capitana/capitán tutora/tutor supervisora/supervisor casera/casero gestora/gestor
    directrice/directeur présidente/président entraîneuse/entraîneur coordinatrice/coordinateur gérante/gérant
    trésorière/trésorier cheffe/chef gardienne/gardien rédactrice/rédacteur
    dyrektorka/dyrektor kierowniczka/kierownik trenerka/trener dyrektorką/dyrektorem kierowniczką/kierownikiem
    trenerką/trenerem opiekunką/opiekunem sekretarką/sekretarzem księgową/księgowym przewodniczącą/przewodniczącym
    wychowawczynią/wychowawcą koordynatorką/koordynatorem
    """.split()
)
PLACES = frozenset("in at on to en w".split())
LIVES = frozenset(
    "live lives based located headquartered reside resides sits situated stored hosted wohnt lebt vive mieszka".split()
)
COPULAS = frozenset("is are ist sind es está están jest są est sont è é".split())
# Of one alone.
IS = frozenset("is ist es está jest est è é".split())
# They have a capital and are no names.
DEMONYMS = frozenset(
    """
    american british english german french spanish italian portuguese polish dutch swedish danish norwegian finnish
    czech slovak japanese chinese korean russian ukrainian turkish arabic hebrew hindi greek hungarian romanian swiss
    austrian belgian irish scottish welsh canadian mexican brazilian argentinian indian pakistani thai vietnamese
    european asian african australian israeli egyptian iranian iraqi croatian serbian slovenian bulgarian catalan
    catholic protestant christian jewish muslim hindu buddhist orthodox
    """.split()
)
MOVES = frozenset("moved relocated transferred migrated rescheduled postponed".split())
TURNS = COPULAS | MOVES | LIVES | CHANGES
STATUSES = {
    phrase: sort
    for sort, phrases in {
        "status": """
            open, closed, reopened, resolved, active, inactive, suspended, paused, enabled, disabled, on
            hold, blocked, unblocked, available, unavailable, online, offline, healthy, degraded, down,
            running, stopped, invalid, expired, valid, in testing, in progress, in review, in production, in
            transit, in stock, out of stock, in trial, on trial, under review, under repair, under
            construction, awaiting payment, awaiting approval, awaiting delivery, pending, shipped,
            dispatched, sent, delivered, returned, packed, processing, processed, cancelled, canceled,
            completed, done, draft, approved, rejected, accepted, published, archived, paid, unpaid,
            overdue, signed, unsigned, confirmed, live, deprecated, retired, planned, escalated, waiting,
            waiting for the customer, waiting for customer, waiting for us, ready, failed, passed, trial,
            churned, occupied, vacant, full, empty, true, false, on, off, lost, won, merged, deployed,
            released, launched, ordered, installed, fixed, repaired, broken, working, refunded, delayed,
            postponed, finished, complete, incomplete, sold, sold out, reserved, booked, cleared, settled,
            under investigation, under way, out of order, out of service, in service, in preparation, on
            leave, on vacation, on schedule, on track, at risk, assigned, unassigned, terminated,
            unresolved, unfixed, placed, up, free, busy, missing, found, arrived, filled, for sale, clear,
            todo, to do, in negotiation, under negotiation, under discussion, not started, on sale, on
            order, on strike, on display, over, ongoing, still ongoing, taken, gone, back, in place, under
            maintenance, back in stock, back in service, back online, back up, up and running, in operation,
            operational, up for review, in the mail, in the post, on its way, en route, out for delivery,
            handed over, picked up, put down, worked out, underway, awaiting signature, awaiting review,
            awaiting feedback, awaiting shipment, waiting for approval, waiting for review, waiting for
            shipment, waiting for delivery, waiting for payment, pending approval, pending review, pending
            payment, halted, resumed, frozen, finalized, finalised, abandoned, quarantined, contained,
            extinguished, evacuated, demolished, rebuilt, restored, recovered, issued, applied for, half
            finished, half done, under evaluation, scrapped, shelved, decommissioned, reverted, rolled back,
            discontinued, ratified, repealed, dismissed, acquitted, laid off, ready to ship, ready for
            pickup, blocked off, passable, impassable, on duty, off duty, at large, in custody, at home, at
            sea, in hospital, out of hospital, in force, in effect, revoked, granted, requested, submitted,
            scheduled, started, uninstalled, received, answered, unanswered, unfinished, awarded, at
            customs, in customs, drafted, ready for review, ready for use, ready for collection, ready for
            delivery, ready for testing, ready for production, ready for approval, ready for release, ready
            for sale, w toku, w realizacji, w trakcie realizacji, discharged from hospital, discharged from
            the hospital, connected, disconnected, shortlisted, reproduced, countersigned, written off,
            advertised, boarding, departed, landed, in surgery, in intensive care, in treatment, recovering,
            admitted, on the market, under offer, announced, called off, filed, graded, in beta, in alpha,
            in development, in design, in planning, in training, in quarantine, in arbitration, in
            mediation, refused, denied, declined, turned down, outstanding, leaking, stuck, stuck in
            customs, stuck at customs, parked, final, renewed, collapsed, successful, unsuccessful, stalled,
            concluded, come through, gone to print, broken down, back home, half written, half built, in
            print, out of print, under legal review, under embargo, under attack, on standby, in the works,
            in the queue, in quality control, on appeal, in appeal, in probate, in escrow, in arrears, in
            default, in liquidation, in administration, bankrupt, insolvent, on parole, on bail, on remand,
            on backorder, on back order, on probation, in remission, in labour, in labor, waitlisted,
            expelled, grounded, airborne, docked, moored, sunk, salvaged, stranded, derailed, impounded,
            recalled, backordered, repossessed, foreclosed, evicted, mothballed, disbursed, reimbursed,
            amortised, proofread, typeset, embargoed, declassified, adjourned, convicted, sentenced,
            paroled, pardoned, overturned, upheld, enacted, vetoed, hospitalised, hospitalized, sedated,
            anaesthetised, intubated, stabilised, stabilized, triaged, backlogged, in code review, in
            staging, in canary, rolled out, hotfixed, patched, unpatched, mitigated, remediated, on fire,
            flooded, without power, back on, switched on, switched off, turned on, turned off, plugged in,
            unplugged, charging, jammed, unjammed, clogged, unclogged, blocked up, boarded up, fenced off,
            cordoned off, snowed in, iced over, sown, planted, harvested, felled, defrosting, defrosted,
            thawed, stable, unstable, undecided, decided, activated, reactivated, deactivated, offen, geschlossen,
            erledigt, aktiv, inaktiv, bezahlt, unbezahlt,
            storniert, geliefert, versandt, bestellt, repariert, freigegeben, angenommen, aufgehoben,
            kaputt, in ordnung, in arbeit, in prüfung, reparado, reparada, averiado, averiada, en curso, en
            revisión, approuvé, approuvée, rejeté, rejetée, envoyé, envoyée, résolu, résolue, réparé,
            réparée, zatwierdzony, zatwierdzona, zatwierdzone, verfügbar, ausverkauft, genehmigt, abgelehnt,
            fertig, in bearbeitung, gelöst, behoben, defekt, abierto, abierta, cerrado, cerrada, pendiente,
            entregado, entregada, enviado, enviada, pagado, pagada, cancelado, cancelada, activo, activa,
            inactivo, inactiva, disponible, agotado, agotada, aprobado, aprobada, rechazado, rechazada,
            resuelto, resuelta, terminado, terminada, otwarty, otwarta, otwarte, zamknięty, zamknięta,
            zamknięte, aktywny, aktywna, aktywne, nieaktywny, nieaktywna, opłacony, opłacona, opłacone,
            nieopłacony, nieopłacona, nieopłacone, dostarczony, dostarczona, dostarczone, wysłany, wysłana,
            wysłane, anulowany, anulowana, anulowane, gotowy, gotowa, gotowe, zakończony, zakończona,
            zakończone, dostępny, dostępna, dostępne, niedostępny, niedostępna, niedostępne, ouvert,
            ouverte, fermé, fermée, livré, livrée, payé, payée, annulé, annulée, expédié, expédiée, terminé,
            terminée, en cours, en attente, actif, inactif
        """,
        "requirement": "required, optional, mandatory",
        "permission": "allowed, forbidden",
        "visibility": "public, private",
        "knowledge": "known, unknown",
        "encryption": "encrypted, unencrypted",
        "verification": "verified, unverified",
        "lock": "locked, unlocked, gesperrt, entsperrt",
        "currency": "up to date, outdated",
        "licence": "open source, closed source",
        "support": "supported, unsupported",
        "time kept": "behind schedule, ahead of schedule",
        "budget": "over budget, under budget, on budget",
        "compatibility": "compatible, incompatible",
        "safety": "safe, unsafe",
        "satisfaction": "satisfied, dissatisfied",
        "arming": "armed, disarmed",
        "legality": "legal, illegal",
        "possibility": "possible, impossible",
        "reliability": "reliable, unreliable",
        "readability": "readable, unreadable",
        "reach": "reachable, unreachable",
        "tests": "tested, untested",
        "load": "loaded, unloaded",
        "cover": "covered, uncovered",
        "presence": "present, absent",
        "life": "alive, dead",
        "sleep": "awake, asleep",
        "employment": "employed, unemployed, self employed",
        "health": "sick, recovered",
        "view": "hidden, visible",
        "insurance": "insured, uninsured",
        "solution": "solved, unsolved",
        "use": "in use, unused",
        "sound": "muted, unmuted",
        "marriage": "single, engaged, married, divorced, widowed, separated",
        "tier": "bronze, silver, gold, platinum, diamond, basic, standard, premium, pro, enterprise, starter",
        "level": "low, medium, high, normal, urgent, critical, minor, major, moderate",
        "color": "red, green, amber, yellow, white, black, blue, grey, brown, orange, pink, purple, beige",
    }.items()
    for phrase in " ".join(phrases.split()).split(", ")
}
# States that are one in other words: neither replaces the other.
SAME_STATE = {
    phrase: names.split(", ")[0].strip()
    for names in """
        in progress, under way, underway, ongoing, still ongoing
        paused, on hold
        done, finished, completed, complete, concluded
        free, available
        vacant, empty
        down, offline
        up, online, live, launched, up and running
        published, released
        unpaid, outstanding, not paid
        paid, settled, cleared
        pending, waiting
        fixed, resolved, repaired
        on leave, on vacation
        broken, out of order, broken down
        rejected, denied, declined, refused, turned down
        filled, taken, occupied
        booked, reserved
        on, enabled, active, switched on, turned on
        off, disabled, inactive, switched off, turned off
        for sale, on the market
        sold out, gone, out of stock
        cancelled, canceled, called off
        shipped, dispatched, sent
        accepted, approved
        urgent, critical
        moderate, medium
        required, mandatory
    """.strip().splitlines()
    for phrase in names.strip().split(", ")
}
# Steps that something takes once and that stay: "was shipped" says how it is.
PROGRESS = frozenset(
    """
    delivered shipped dispatched sent returned cancelled canceled completed resolved fixed merged deployed released
    approved rejected paid refunded signed published archived launched finished installed repaired sold confirmed
    received answered awarded issued retired deprecated lost won settled accepted granted revoked submitted escalated
    processed verified cleared filled taken placed terminated closed reopened unlocked locked blocked unblocked
    activated reactivated deactivated enabled disabled suspended restored discharged discontinued abandoned scrapped
    decommissioned lifted reverted shortlisted reproduced countersigned graded filed refused denied declined renewed
    announced called turned written landed admitted waitlisted expelled adjourned convicted sentenced overturned upheld
    enacted vetoed patched mitigated remediated fulfilled finalized finalised halted resumed ratified repealed dismissed
    genehmigt abgelehnt versandt versendet storniert bezahlt geliefert geschlossen gelöst behoben erledigt repariert
    angenommen aufgehoben freigegeben gesperrt entsperrt aprobado aprobada rechazado rechazada enviado enviada
    pagado pagada entregado entregada cancelado cancelada cerrado cerrada resuelto resuelta reparado reparada
    approuvé approuvée rejeté rejetée envoyé envoyée livré livrée annulé annulée payé payée fermé fermée résolu
    résolue réparé réparée zatwierdzony zatwierdzona zatwierdzone wysłany wysłana wysłane opłacony opłacona opłacone
    zamknięty zamknięta zamknięte anulowany anulowana anulowane dostarczony dostarczona dostarczone
    """.split()
)
# In front of a step that was taken, in German, Spanish, French and Polish too.
BECOME = frozenset("been wurde wurden worden sido fue été został została zostało zostały".split())
ENDED = frozenset(
    """
    arrived failed finished expired started stopped ended closed opened left gone resumed departed landed collapsed
    succeeded stalled concluded come recovered broken sunk docked
    """.split()
)
STATUS_NOUNS = frozenset("status state priority severity level tier plan customer client risk stage phase".split())
# Keys of records whose values change, and those of records of what happened.
CHANGING = frozenset(
    """
    status state priority severity level tier seats count limit quota price amount fee cost version replicas stage phase
    owner manager assignee enabled active balance discount rate percent deadline due expires expiry renewal renews phone
    email address city channel language frequency timeout size weight capacity threshold budget stock quantity paused
    locked verified blocked availability total score temperature retention interval days hours minutes months
    """.split()
)
HAPPENING = frozenset("event timestamp paid happened occurred transaction payment refund logged visit created".split())
DROPPED = NOW | CHANGES
# Reported, asked, supposed or promised statements are not taken as facts.
REPORTING = frozenset(
    """
    say says said wrote writes asked asks ask claims claimed believes believe believed thinks think thought hopes hope
    hoped supposes suppose supposed assume assumes assumed imagine suggests suggested promises promised promise
    proposes proposed considers considered considering wonders wondered expects rumor rumour allegedly
    reportedly might would could maybe perhaps possibly probably if whether pretend quote quoted told tells
    """.split()
)
CONDITIONAL = frozenset("if when whenever once while unless until".split())
REPLACING = (
    CHANGES
    | MOVES
    | frozenset(
        """
        superseded succeeded instead rather not switched upgraded downgraded stopped quit ceased finished left
        replaced dropped abandoned handed passed took taken turned exchanged traded went resigned revoked withdrawn
        terminated dissolved removed lifted
        discontinued scrapped abolished axed ditched unsubscribed unfollowed uninstalled withdrew fired dismissed sacked
        expelled discharged laid
        mehr ya plus już
        """.split()
    )
)
UNEVENTFUL = STANDING | CHANGES | STATES | LIVES | DATED
