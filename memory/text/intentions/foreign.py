"""Intentions in German, Spanish, French and Polish: an order or a promise, and a time or a condition.

Words of time are put into English, and ``times`` reads them. An order is told by the form of its verb: an imperative
at the beginning of its clause, or an infinitive where nothing else is a verb. What is denied is ignored, and so is what
says how things are.
"""

import calendar
import re
from typing import NamedTuple

from memory.text import patterns, search_words
from memory.text.intentions import times

# What a rule of time may stand before, once days and numbers are in English.
AHEAD = (
    r"(?=\s*(?:\d|noon|midnight|tomorrow|today|the day after|end of|(?:mon|tues|wednes|thurs|fri|satur|sun)day|next))"
)
MONTHS = tuple(month for month in calendar.month_name if month)
MONTH = rf"(?=\s+(?:{'|'.join(MONTHS)}))"
SPAN = r"(?=\s+(?:minute|hour|day|week|month|year)s?\b)"


class Tongue(NamedTuple):
    """How one language says that something is to be done, when, on what condition, and that it is not.

    ``order`` begins a clause, unless ``statement`` begins it; ``promise`` stands anywhere. ``last`` is an infinitive at
    the end of a clause, an order where there is no ``finite`` verb. ``times`` are applied in turn, where a ``hint``
    tells that one of them or a condition may be there.
    """

    hint: re.Pattern[str]
    order: re.Pattern[str]
    statement: re.Pattern[str]
    promise: re.Pattern[str]
    last: re.Pattern[str]
    finite: re.Pattern[str]
    condition: re.Pattern[str]
    denial: re.Pattern[str]
    times: tuple[tuple[re.Pattern[str], str], ...]
    language: int


NEVER = r"(?!)"
UNITS = ("minute", "hour", "day", "week", "month", "year")
NUMBERS = ("one", "two", "three", "four", "five", "six", "ten")


def _tongue(
    *,
    spoken: str,
    polite: str,
    order: str,
    statement: str,
    promise: str,
    condition: str,
    denial: str,
    days: str,
    months: str,
    units: str,
    numbers: str,
    phrases: dict[str, str],
    last: str = NEVER,
    finite: str = NEVER,
) -> Tongue:
    """``days``, ``months``, ``units`` and ``numbers`` are patterns for the words, in their order; ``phrases`` put into
    English what is made of them."""
    begins = r"(?:^\W*|[,:;\u2013\u2014]\s*)"
    named = [*zip(days.split(), times.DAYS, strict=True), *zip(months.split(), MONTHS, strict=True)]
    named += [(word, f"{unit}s") for word, unit in zip(units.split(), UNITS, strict=True)]
    counted = [(word + SPAN, number) for word, number in zip(numbers.split(), NUMBERS, strict=True)]
    rules = [*named, *counted, *phrases.items()]
    hints = "|".join([*(rule for rule, _ in rules), condition])
    return Tongue(
        patterns.late(rf"(?<!\w)(?:{hints})(?!\w)", re.IGNORECASE),
        patterns.late(rf"{begins}(?:(?:{polite})(?!\w)[,:]?\s*)*(?:{order})", re.IGNORECASE),
        patterns.late(rf"{begins}(?:(?:{polite})(?![\w-])[,:]?\s*)*(?:{statement})(?!\w)", re.IGNORECASE),
        patterns.late(rf"(?<!\w)(?:{promise})(?!\w)", re.IGNORECASE),
        patterns.late(last),
        patterns.late(finite),
        patterns.late(rf"(?:^|(?<=[\s,]))(?:{condition})(?!\w)", re.IGNORECASE),
        patterns.late(rf"(?<!\w)(?:{denial})(?!\w)", re.IGNORECASE),
        tuple((patterns.late(rf"(?<!\w)(?:{rule})(?!\w)", re.IGNORECASE), words) for rule, words in rules),
        search_words.language_of([spoken]),
    )


GERMAN = _tongue(
    spoken="nicht",
    polite=r"bitte|dringend|erinnerung|aufgabe|wichtig|todo|nicht vergessen|vergiss nicht|und|dann",
    order=r"\w+(?:en|n) sie\b|erinner\w*|ruf\w*|schick\w*|send\w*|sag|gib|meld\w*|leg\w*|stell\w*|hol\w*|lass\w*"
    r"|denk\w*"
    r"|nimm|kümmer\w*|vergiss nicht|(?!\w*(?:t|st|en)\b)\w{3,}\s+(?:mich|mir|uns|ihn|ihm|ihr|den|das|dem|einen|ein"
    r"|eine"
    r"|bitte|herrn|frau|alle|noch|rechtzeitig)\b(?! (?:am|um|in|ist|wird))",
    statement=r"(?:der|die|das|ein|eine|einen|am|im|um|auf|mit|nach|vor|für|bei|wegen|ohne|gegen|seit|ab|zum|zur|als"
    r"|wie"
    r"|und|oder|aber|es|er|sie|wir|ich|man|du|ihr|heute|gestern|habe?|bin|war|wurde|hatte|danke|diese\w?|jede\w?|alle"
    r"|mein\w*|unser\w*|sein\w*|welche\w?|keine?)",
    promise=r"(?<!\w )(?:ich|wir) (?!die|eine|keine|alle|gerne?|bin|sind|habe|haben|hatte|war|gehe|gehen|fahre"
    r"|fahren|fliege|fliegen|komme|kommen|denke"
    r"|glaube"
    r"|hoffe|hoffen|weiß|wissen|finde|freue|freuen|arbeite|wohne|feiere|feiern|brauche|möchte|würde|könnte|kann|können"
    r"|mag|heiße|reise|sehe|verstehe|liebe|bleibe|bleiben|esse|treffe|treffen|soll(?:te)?s?t?\b)\w+(?:e|e?n)"
    r"|(?:schicke|sende|melde|rufe|bringe|mache|erledige|prüfe|liefere|bezahle|überweise|kläre|gebe|hole|kümmere|buche"
    r"|schreibe|informiere|bereite|lege|stelle|repariere|liefern|schicken|senden|melden|bringen|machen"
    r"|prüfen) (?:ich|wir)"
    r"|(?:ist|sind)\b.*\b(?:zu \w+e?n|(?:ab|an|auf|aus|bei|ein|her|hin|mit|nach|vor|weg|weiter|zurück|zusammen|um"
    r"|frei|fertig)zu\w+e?n)|(?:ist|sind|wird|werden)\b.*\bfällig|(?:herr|frau|er|sie|team|firma) (?:\w+ )?(?:wird"
    r"|werden)\b(?!.*\b(?:sein|haben|bleiben|heiraten|bekommen|erhalten|gewinnen|verlieren|\w*kommen|fehlen"
    r"|sterben|werden|verreisen|abreisen|können|müssen|dürfen|wollen|\d+)\b).*\w+en|(?:schickt|sendet|liefert|bringt|bezahlt|überweist|gibt"
    r"|prüft|klärt) (?:sich|uns"
    r"|mir|dir|ihnen|den|die|das|dem)"
    r"|(?:muss|müssen|soll|sollen)(?! (?:es|man)\b)|(?:hat zugesagt|haben zugesagt|hat versprochen"
    r"|haben versprochen|schuldet)"
    r"|\w+ (?:wird|werden) (?:dir|ihnen|uns|mir|euch|den|das|die)",
    last=r"(?<![A-ZÄÖÜ])\b[a-zäöüß]{2,}(?:en|ern|eln)\s*(?:\bund\b.*)?[.!]*$",
    finite=r"(?i:\b(?:beginnen|starten|enden|öffnen|schließen|kommen|steigen|sinken|fallen|bleiben|gelten|ist|sind"
    r"|war|waren|wird|werden|wurde|wurden|hat|haben|hatte|hatten|kann|können|konnte|will"
    r"|wollen"
    r"|darf|dürfen|möchte|ich|wir|er|es|man|dass|weil|ob)\b)"
    r"|\b(?!mit\b|nicht\b|jetzt\b|seit\b|sofort\b|direkt\b|bereit\b|fest\b|gut\b|spät\b|erst\b|fort\b|kurzfristig\b)"
    r"[a-zäöüß]{2,}t\b",
    condition=r"wenn|sobald|falls|sofern|nachdem",
    denial=r"(?<!vergiss )nicht(?! vergessen)|kein\w*|niemals|nie|unnötig|erledigt|(?:innerhalb|binnen)\b.*\bfällig",
    days=r"montags? dienstags? mittwochs? donnerstags? freitags? (?:samstags?|sonnabends?) sonntags?",
    months="januar februar märz april mai juni juli august september oktober november dezember",
    units=r"minuten? stunden? (?:tage?n?|werktage?n?) wochen? monate?n? jahre?n?",
    numbers=r"eine[rnm]? zwei drei vier fünf sechs zehn",
    phrases={
        r"(?:vom|von|seit|letzten|letzter|vergangenen) (?:\w+day|tomorrow)": " ",
        r"übermorgen": "the day after tomorrow",
        r"morgen früh": "tomorrow at 9:00",
        r"(?<!guten )(?<!am )(?<!jeden )morgen": "tomorrow",
        r"heute abend|heute nacht": "tonight",
        r"heute nachmittag": "this afternoon",
        r"heute": "today",
        r"(?:zum |am )?(?:monatsende|ende des monats)": "end of month",
        r"(?:zum |am )?(?:quartalsende|ende des quartals)": "end of quarter",
        r"(?:zum |am )?(?:jahresende|ende des jahres)": "end of year",
        r"ende der weeks|ende dieser weeks": "end of week",
        r"(?:am |übers |dieses )wochenende": "this weekend",
        r"feierabend|dienstschluss|geschäftsschluss": "end of day",
        r"ende" + MONTH: "end of",
        r"(?:nächste|kommende)[rnsm]? weeks": "next week",
        r"(?:nächste|kommende)[rnsm]? months": "next month",
        r"(?:nächste|kommende)[rnsm]? years": "next year",
        r"(?:nächste|kommende)[rnsm]?(?= \w+day)": "next",
        r"jede[nrs]? zweite[nrs]?(?= \w+day)": "every other",
        r"alle(?= \w+ \w+s\b)": "every",
        r"jede[nrs]?(?= (?:\w+day|days|weeks|months))": "every",
        r"täglich": "daily",
        r"wöchentlich": "weekly",
        r"monatlich": "monthly",
        r"(?:um|gegen|bis|ab) (\d{1,2})[:.](\d\d)(?: uhr)?": r"at \1:\2",
        r"(?:um|gegen|bis|ab)? ?(\d{1,2})[:.](\d\d) uhr": r"at \1:\2",
        r"(?:um|gegen|bis|ab)? ?(\d{1,2}) uhr": r"at \1:00",
        r"(\d{1,2})\." + MONTH: r"\1",
        r"(?:bis|spätestens|vor)(?: zum| spätestens| am| dem)?" + AHEAD: "by",
        r"(?:am|diesen|den|zum)" + AHEAD: "on",
        r"(?:bis zum|bis|spätestens am|vor dem) (\d{1,2})\.(?!\d|" + MONTH + ")": r"by the \1th",
        r"(?:am|zum) (\d{1,2})\.(?!\d|" + MONTH + ")": r"on the \1th",
        r"(?:im|anfang|mitte|noch im)" + MONTH: "in",
        r"(?:bis|vor)(?: anfang| mitte)?" + MONTH: "by",
        r"mittags?": "noon",
        r"mitternacht": "midnight",
        r"(?:innerhalb von|binnen)": "within",
    },
)
SPANISH = _tongue(
    spoken="también",
    polite=r"por favor|recordatorio|tarea|pendiente|importante|urgente|y|luego|después|entonces",
    order=r"no (?:te |se |os )?olvid\w+|(?:recuerd[ae]|procur[ae]|aseg[uú]r[ae]te)\b|(?:\w*[áéíóú]\w*(?:me|l[eoa]s?"
    r"|nos|se|melo|selo)"
    r"|(?:di|haz|pon|da|ve|ten)(?:me|l[eoa]s?|nos))\b"
    r"|(?:\w+[ae]n?|pon|haz|ten|ven|sal|di|pida|ponga|haga|traiga|diga|tenga)\s+(?:al?|el|los?|las?|una?|otr[oa]s?"
    r"|tod[oa]s?|unos"
    r"|por|con|que|de)\b(?! (?:\w+day|las? \d))|\w{2,}(?:ar|er|ir)(?:me|l[eoa]s?|se|nos)?\s+(?!es\b"
    r"|era\b)\w+(?!.*\b(?:es|era|fue)\b)|(?:manda|llama|envía|paga|avisa|compra|revisa|prepara|confirma|reserva"
    r"|recoge|escribe)\b",
    statement=r"(?:llega|sale|abre|cierra|empieza|comienza|termina|viene|vuelve|es|está|hay|tiene|hace|cuesta|parece"
    r"|falta"
    r"|queda|vence|caduca|cumple|ayer|una?|la|el|los|las|para|hasta|desde|antes|durante|sobre|entre|esta|este|ese"
    r"|esa|cada"
    r"|toda|donde|aunque|porque|como|que|quiere|puede|debe|suele|va|vive|trabaja|gana|había|era|fue|hoy|mañana|cerca"
    r"|menos"
    r"|tarde|parte|gente|se|me|te|le|nos|mujer|ayer|taller|lugar)",
    promise=r"(?:te|os|le|les|lo|la|los|las) (?!\w+(?:amos|imos)\b)\w{2,}o|(?:te|os|le|les) \w+(?:amos|emos|imos)"
    r"|(?<!\w )(?!pero|como|todo|s[oó]lo|cuando|tanto|mucho|poco|otro|mismo|dentro|junto|hecho|nuevo|bueno|cierto"
    r"|salgo|vivo|tengo|creo|quiero|puedo|espero|pienso|trabajo|vengo|viajo|vuelo|veo|celebro|cumplo|estoy|conozco"
    r"|prefiero|necesito|recuerdo\b)\w{2,}o (?:al?|el|la|los|las|una?|mi|tu|su|con)\b|(?:se )?(?!\w*(?:llegar|saldr"
    r"|abrir|cerrar|empezar|comenzar|terminar|llover|nevar|podr|costar|durar|subir|bajar|cumplir|nacer|vencer"
    r"|caducar|ganar|perder|recibir|morir|faltar|ser|habr|estar|tendr|vendr|har)[áé]n?\b)\w{3,}(?:ará|erá|irá|drá"
    r"|arán|erán|irán|drán) (?!en\b)\w+"
    r"|quedó en \w+|(?:se ofreció|aceptó) a? ?\w+|\w{2,}(?:aré|eré|iré|dré|aremos|eremos|iremos|dremos)|(?:voy"
    r"|vamos) a \w+(?:ar|er|ir)\w*"
    r"|(?:tengo|tenemos|tiene|tienen) que \w+|(?:debo|debemos|debe|deben) \w+(?:ar|er|ir)\w*|hay que \w+|prometo \w+"
    r"|(?:me comprometo|nos comprometemos|se comprometió|se ha comprometido) a \w+|(?:prometió|ha prometido) \w+"
    r"|(?:me encargo|nos encargamos) de",
    condition=r"cuando|en cuanto|tan pronto como|si|una vez que|después de que|en caso de que",
    denial=r"ya no|nunca|jamás|no hace falta|no (?!(?:te |se |os )?olvid)\w+|habría\w*|hubiera\w*|hubiese\w*",
    days=r"lunes martes mi[ée]rcoles jueves viernes s[áa]bados? domingos?",
    months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    units=r"minutos? horas? d[íi]as? semanas? mes(?:es)? años?",
    numbers=r"una? dos tres cuatro cinco seis diez",
    phrases={
        r"(?:(?<!antes )(?<!partir )del|desde el|el pasado) \w+day(?: pasado)?|\w+day pasado": " ",
        r"pasado mañana": "the day after tomorrow",
        r"mañana por la mañana": "tomorrow at 9:00",
        r"mañana por la tarde": "tomorrow afternoon",
        r"(?<!la )mañana": "tomorrow",
        r"esta noche": "tonight",
        r"esta tarde": "this afternoon",
        r"hoy": "today",
        r"(?:a )?(?:final|finales|fin) de(?:l)? months": "end of month",
        r"(?:a )?(?:final|finales|fin) de (?:years|año)": "end of year",
        r"(?:a )?(?:final|finales) de" + MONTH: "end of",
        r"(?:este|el) fin de weeks": "this weekend",
        r"la (?:próxima weeks|weeks (?:que viene|próxima))": "next week",
        r"el (?:próximo months|months (?:que viene|próximo))": "next month",
        r"(?:el )?(?:próximo (\w+day)|(\w+day) (?:que viene|próximo))": r"on \1\2",
        r"(?:cada dos|un) (\w+day) (?:sí y otro no)?": r"every other \1",
        r"(?:cada|todos los|todas las)(?= (?:\w+day|days|weeks|months|\w+ \w+s\b))": "every",
        r"los(?= \w+day)": "every",
        r"(?:a diario|diariamente)": "daily",
        r"(?:semanalmente)": "weekly",
        r"(?:mensualmente)": "monthly",
        r"(?:a|sobre) las? (\d{1,2})[:.](\d\d)(?: ?h(?:oras)?)?": r"at \1:\2",
        r"(?:a|sobre) las? (\d{1,2})(?: ?h| hours)?": r"at \1:00",
        r"a las? (?:una|one)": "at 1:00",
        r"a las (dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)": r"at \1",
        r"(?:antes del|para el|hasta el)(?: día)? (\d{1,2})(?! de\b|[:.]?\d)": r"by the \1th",
        r"el(?: día)? (\d{1,2})(?! de\b|[:.]?\d|\w| \w+s\b)": r"on the \1th",
        r"(?:en|a principios de|a mediados de)" + MONTH: "in",
        r"al mediodía": "at noon",
        r"a medianoche": "at midnight",
        r"(?:dentro de|en)" + r"(?=\s+(?:\d+|one|two|three|four|five|six|ten)\s+\w+s\b)": "in",
        r"(\d{1,2}) de" + MONTH: r"\1",
        r"(\w+) de (\d{4})": r"\1 \2",
        r"(?:antes del?|para el?|hasta el?|a más tardar el?)" + AHEAD: "by",
        r"(?:el|este)" + AHEAD: "on",
    },
)
FRENCH = _tongue(
    spoken="avec",
    polite=r"s'il (?:te|vous) plaît|svp|stp|merci d[e']|veuillez|prière de|rappel|tâche|à faire|important|urgent|et"
    r"|puis"
    r"|ensuite|alors|pensez? à|n'oubliez? pas (?:de|d')|n'oublie pas (?:de|d')",
    order=r"pensez? à|n'oubli\w+ pas|veillez? à|merci d[e']|veuillez|\w+-(?:moi|l[ea]s?|lui|leur|nous|en|y)\b"
    r"|(?!assez\b|chez\b|rendez-vous\b|nez\b)\w{3,}ez\b|(?!\w+(?:é|ée|és|ées|u|ue|us|ment|tion)\b)\w{2,}(?:e|s|ds|ts"
    r"|is|x)"
    r"\s+(?:l[ea]s?\b|l'|une?\b|des?\b|d'|du\b|mon\b|ma\b|mes\b|ton\b|ta\b|tes\b|son\b|sa\b|ses\b|notre\b|nos\b"
    r"|leurs?\b"
    r"|aux?\b|à\b|que\b|qu'|tout\w*\b|M\.|Mme\b|moi\b|(?-i:[A-ZÉ])\w)(?! (?:\w+day|\d))|\w{2,}(?:er|ir|re"
    r"|oir)\s+(?:l[ea]s?\b|l'"
    r"|une?\b"
    r"|des?\b|d'|du\b|mon\b|ma\b|mes\b|son\b|sa\b|ses\b|notre\b|nos\b|aux?\b|à\b|que\b|tou\w+\b|M\.|Mme\b)",
    statement=r"(?:les?|la|une?|des|du|dans|sous|sans|après|depuis|entre|contre|comme|tous|toutes?|elles?|ils?|nous"
    r"|vous|je"
    r"|ce|cette|ces|c'est|notre|nos|votre|mes|ses|leurs?|plus|moins|près|hors|vers|dès|lors|autre|mais|très|suite"
    r"|chaque"
    r"|une fois|avec|pour|par|pendant|avant|hier|fils|mars|quelques?|plusieurs|même|malgré|grâce|face|mère|père"
    r"|entre|être)",
    promise=r"(?!(?:sera|aura|fera)(?:ont)?\b|\w*(?:partira|commencera|ouvrira|fermera|pleuvra|finira|durera"
    r"|arrivera|débutera|tombera|faudra|viendra|neigera|coûtera|opéra|caméra)(?:ont)?\b)(?<!il )\w{3,}(?:era"
    r"|ira|dra|eront|iront|dront)\b (?!en\b)\w+|(?:est|sont|à) (?:dû|due|dus|dues)\b|(?:s'engage"
    r"|s'est engagée?) à \w+|je (?:vous |te |lui |leur |l[ea]s? |en |y )+(?!ai\b|a\b|avais\b|étais\b)\w+"
    r"|je (?:t'|l'|vous l'|te l'"
    r"|m'en)"
    r"\s?(?!ai\b|avais\b)\w+|(?:je |j')(?!\w*(?:aime|préfère|adore|déteste|pense|cherche|trouve|habite|utilise|mange"
    r"|déjeune|dîne|fête|joue|regarde|écoute|porte|passe|visite|rencontre|fume|ais)\b)"
    r"\w{2,}(?:e|ds|ts)\s+(?:l[ea]s?\b|l'|une?\b|des?\b|du\b|mon\b|ma\b|mes\b|notre\b|nos\b|M\.|Mme\b|(?-i:[A-ZÉ])[\w-]+)"
    r"(?! ?(?:\w+day|\d))(?!.*\b(?:every|daily|chaque|habituellement|souvent)\b)"
    r"|(?:je|j')\s?\w+rai|nous (?:vous |te |lui |leur |l[ea]s? )*\w+rons|on (?:vous |te "
    r"|lui )\w+|(?:je|on) (?:vais|va|dois"
    r"|doit) (?!bien\b|mal\b|mieux\b)\w+"
    r"|nous (?:allons|devons) \w+|je promets de \w+|(?:je m'engage|nous nous engageons|s'est engagée?) à \w+"
    r"|je m'occupe d\w+|(?:on se charge|je me charge|nous nous chargeons) d\w+|il faut(?: que)? \w+|(?:a"
    r"|ont) promis d\w*|(?:doit|doivent) (?:être |nous |me )?\w+",
    condition=r"quand|lorsque|dès que|une fois que|aussitôt que|après que|si|s'il|au cas où",
    denial=r"n(?:e |')(?:\w+ )?(?:pas|plus|jamais|rien)(?<!n'oublie pas)(?<!n'oubliez pas)|pas besoin|plus besoin"
    r"|inutile"
    r"|aurait|auraient|aurions|aurais|toujours",
    days=r"lundis? mardis? mercredis? jeudis? vendredis? samedis? dimanches?",
    months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    units=r"minutes? heures? jours? semaines? mois (?:ans?|années?)",
    numbers=r"une? deux trois quatre cinq six dix",
    phrases={
        r"(?:du|de|depuis) \w+day|\w+day (?:dernier|passé)": " ",
        r"après-demain": "the day after tomorrow",
        r"demain matin": "tomorrow at 9:00",
        r"demain après-midi": "tomorrow afternoon",
        r"demain soir": "tomorrow evening",
        r"demain": "tomorrow",
        r"ce soir|cette nuit": "tonight",
        r"cet après-midi": "this afternoon",
        r"aujourd'hui": "today",
        r"(?:à )?(?:la )?fin (?:du|de) months": "end of month",
        r"(?:à )?(?:la )?fin (?:de l'|d')years": "end of year",
        r"(?:à )?(?:la )?fin" + MONTH: "end of",
        r"(?:ce|le) week-?end": "this weekend",
        r"la weeks prochaine": "next week",
        r"le months prochain": "next month",
        r"(\w+day) prochain": r"on \1",
        r"un (\w+day) sur (?:deux|two)": r"every other \1",
        r"(?:tous les|toutes les|chaque)(?= (?:\w+day|days|weeks|months|hours|\w+ \w+s\b))": "every",
        r"le(?= \w+days\b)": "every",
        r"(?:quotidiennement)": "daily",
        r"(?:à|vers) (\d{1,2}) ?[h:] ?(\d\d)": r"at \1:\2",
        r"(?:à|vers) (\d{1,2}) ?(?:h|hours)": r"at \1:00",
        r"(?:d'ici le|avant le|pour le|jusqu'au|au plus tard le) (\d{1,2})(?! ?h|[:.]?\d|"
        + MONTH
        + ")": r"by the \1th",
        r"le (\d{1,2})(?! ?h|[:.]?\d|\w|" + MONTH + r"| \w+s\b)": r"on the \1th",
        r"(?:en|début|mi-)" + MONTH: "in",
        r"à midi": "at noon",
        r"à minuit": "at midnight",
        r"matin": "morning",
        r"dans|d'ici|sous" + r"(?=\s+(?:\d+|one|two|three|four|five|six|ten)\s+\w+s\b)": "in",
        r"1er" + MONTH: "1",
        r"(?:d'ici(?: au| le| à)?|avant(?: le| la)?|pour(?: le)?|jusqu'(?:au|à)|au plus tard(?: le)?)" + AHEAD: "by",
        r"le(?= \w+day(?! \d))": "every",
        r"(?:le|ce)" + AHEAD: "on",
    },
)
POLISH = _tongue(
    spoken="się",
    polite=r"proszę|prosze|przypomnienie|zadanie|ważne|pilne|i|oraz|potem|nie zapomnij",
    order=r"nie zapomnij\w*|pamiętaj\w*|daj\w*|idź|weź\w*|kup\w*|płać\w*|dzwoń\w*|pisz\w*|pytaj\w*|(?:za|wy|przy|s|ś"
    r"|po|pod|na"
    r"|od|o|u|prze"
    r"|roz|ze|z|do|w|wz|ws)\w*(?:j|ń|dź|ź|ć|isz|rz|ów|edz|aw|óż|ób|up|iadom|awcie|jcie|ńcie|dźcie|źcie|szcie|ał)"
    r"(?:my)?,?\s+\w|\w{3,}ć\s+\w",
    statement=r"(?:wtorek|środa|czwartek|piątek|styczeń|grudzień|kwiecień|tydzień|dzień|wczoraj|dzisiaj|dziś|zawsze"
    r"|podróż"
    r"|pokój|nasz|wasz|przed|poprzez|przez|przy|teraz|dotąd|odkąd|urodzaj|przyjaciel|spał|pisał|\w+ał|\w+ił|\w+ył)",
    promise=r"(?:ma|mają|mam|mamy) (?!padać|być|mieć|wiać|spaść|świecić|zacząć|rozpocząć|odbyć|przyjść"
    r"|przyjechać)\w+ć|(?:muszę|musimy|musi|muszą|trzeba|należy|obiecuję|obiecał\w*|zobowiązał\w*|zamierzam"
    r"|powinien|powinna"
    r"|powinni"
    r"|powinniśmy)(?: się)? \w+|(?:za|wy|przy|s|po|pod|na|od|o|u|prze|roz|ze|z|do|w)\w{1,12}(?:ślę|szę|dzę"
    r"|acę|wię|nię|pię|bię|iorę|uję|tam|dam|mię|rzę|czę|ślemy|imy|ujemy|amy|damy)",
    condition=r"gdy|kiedy|jak tylko|skoro tylko|jeśli|jeżeli|po tym,? jak|w razie",
    denial=r"nie (?!zapomnij)\w+|już nie|nigdy|niepotrzebn\w*",
    days=r"poniedział(?:ek|ku|ki) wtor(?:ek|ku|ki) środ[aęyę] czwart(?:ek|ku|ki) piąt(?:ek|ku"
    r"|ki) sobot[aęy] niedziel[aęię]",
    months="stycz(?:nia|niu) lut(?:ego|ym) marc(?:a|u) kwiet(?:nia|niu) maj(?:a|u) czerwc(?:a|u) lipc(?:a"
    "|u) sierp(?:nia|niu) wrze(?:śnia|śniu)"
    r" październik[au] listopad(?:a|zie) grud(?:nia|niu)",
    units=r"minut\w* godzin\w* (?:dni\w*|dzień|dnia) (?:tygodni\w*|tydzień) (?:miesi[ąę]c\w*) (?:rok\w*|lata?)",
    numbers=r"jed\w+ dw[aie]\w* trzy cztery pięć sześć dziesięć",
    phrases={
        r"(?:z|od) \w+day|zesz\w+ \w+day": " ",
        r"pojutrze": "the day after tomorrow",
        r"jutro rano": "tomorrow at 9:00",
        r"jutro po południu": "tomorrow afternoon",
        r"jutro wieczorem": "tomorrow evening",
        r"(?:do )?jutr[oa]": "tomorrow",
        r"dziś wieczorem|dzisiaj wieczorem": "tonight",
        r"dzisiaj|dziś": "today",
        r"(?:do |na )?(?:koniec|końca|koniec) months": "end of month",
        r"(?:do |na )?(?:koniec|końca|koniec) weeks": "end of week",
        r"(?:do |na )?(?:koniec|końca|koniec) years": "end of year",
        r"(?:do |pod )?(?:koniec|końca)" + MONTH: "end of",
        r"w (?:ten )?weekend": "this weekend",
        r"w przyszłym weeks|w przyszłym tygodniu": "next week",
        r"w przyszłym months|w przyszłym miesiącu": "next month",
        r"w przyszł[yąe]m?(?= \w+day)": "on",
        r"w co drug[iąie]+ (\w+day)|co drug[iąie]+ (\w+day)": r"every other \1\2",
        r"(?:w )?(?:każd[yąe]m?|co)(?= (?:\w+day|days|weeks|months|\w+ \w+s\b))": "every",
        r"codziennie": "daily",
        r"co tydzień": "weekly",
        r"o (\d{1,2})[:.](\d\d)": r"at \1:\2",
        r"o (?:hours )?(\d{1,2})": r"at \1:00",
        r"(?:do|przed) (\d{1,2})\.(?!\d|" + MONTH + ")": r"by the \1th",
        r"we?" + MONTH: "in",
        r"w południe": "at noon",
        r"o północy": "at midnight",
        r"rano": "morning",
        r"za" + r"(?=\s+(?:\d+|one|two|three|four|five|six|ten)\s+\w+s\b)": "in",
        r"za (minute|hour|day|week|month|year)s": r"in one \1",
        r"(?:do|przed|najpóźniej w|najpóźniej do)" + AHEAD: "by",
        r"(?:we?|na)" + AHEAD: "on",
    },
)
TONGUES = (GERMAN, SPANISH, FRENCH, POLISH)


# A question in form that asks for a deed.
REQUEST = re.compile(
    r"\W*(?:(?:kannst|könntest|würdest) du|(?:können|könnten|würden) sie|puedes?|podrías?|podría usted|peux-tu"
    r"|pourrais-tu"
    r"|pouvez-vous|pourriez-vous|(?:czy )?(?:możesz|mógłbyś|mogłabyś|może pan|może pani))\b",
    re.IGNORECASE,
)


class Meant(NamedTuple):
    """The words of time in English, or the clause that is waited for, in its ``language`` (``search_words``)."""

    time: str
    clause: str
    language: int


def may_hold_one(text: str) -> bool:
    """Whether a time or a condition of these languages is in the text."""
    return any(each.hint.search(text) for each in TONGUES)


def meant_by(sentence: str) -> Meant | None:
    """What a sentence in one of these languages asks for."""
    for tongue in TONGUES:
        if not tongue.hint.search(sentence) or tongue.denial.search(sentence):
            continue
        clause = _clause_of(tongue, sentence)
        main = sentence.replace(clause, " ", 1).strip(" ,") if clause else sentence
        said = in_english(tongue, main)
        found = times.spans(said) if said != main or times.NUMERIC.search(main) else []
        if (found or clause) and _is_order(tongue, _blanked(said, found), recurs=times.is_meant(said)):
            waited = "" if found else tongue.condition.sub("", clause, count=1).strip(" ,.")
            return Meant(said if found else "", waited, tongue.language)
    return None


def in_english(tongue: Tongue, text: str) -> str:
    """The text with its words of time in English."""
    for rule, words in tongue.times:
        text = rule.sub(words, text)
    return text


def _is_order(tongue: Tongue, text: str, *, recurs: bool) -> bool:
    """Whether the text, without its words of time, orders, or promises what does not recur."""
    text = " ".join(text.split()).strip(" ,")
    if REQUEST.match(text) or (tongue.promise.search(text) and not recurs):
        return True
    if tongue.order.match(text) and not tongue.statement.match(text):
        return True
    ordered = next((each for each in tongue.order.finditer(text) if each.start() and text[each.start()] in ",:;"), None)
    if ordered and not tongue.statement.match(text[ordered.start() :]):
        return True
    return bool(tongue.last.search(text)) and not tongue.finite.search(text)


def _blanked(text: str, taken: list[tuple[int, int]]) -> str:
    for first, last in reversed(taken):
        text = text[:first] + " " + text[last:]
    return text


def _clause_of(tongue: Tongue, sentence: str) -> str:
    found = tongue.condition.search(sentence)
    if found is None:
        return ""
    end = sentence.find(",", found.end())
    return sentence[found.start() : end if end > 0 else len(sentence)]
