"""Intentions in German, Spanish, French and Polish: an order or a promise, and a time or a condition.

Less is understood than in English: a clause that begins with an order, or announces an action, with a time that the
date library reads, or after a conjunction. Denied ones are ignored.
"""

import re
from datetime import datetime, time, timedelta
from functools import cache
from typing import Any, NamedTuple

MORNING = time(9)
AT_CLOCK = re.compile(
    r"\b(?:um|gegen|a las?|à|vers|o|około)\s*(?P<h>\d{1,2})(?:[:.h](?P<m>\d{2}))?\s*(?:uhr|h\b|heures?\b)?",
    re.IGNORECASE,
)


class Tongue(NamedTuple):
    """How one language says that something is to be done, when, on what condition, and that it is not."""

    code: str
    order: re.Pattern[str]
    day: re.Pattern[str]
    condition: re.Pattern[str]
    denial: re.Pattern[str]


def _tongue(code: str, *, order: str, promise: str, day: str, condition: str, denial: str) -> Tongue:
    number = "[0-9]+"
    lead = rf"^\W*(?:(?:am|bis|el|w|we|do|le|ce|vor|antes del)\s+)?(?:{day.replace('N', number)})"
    lead += r"(?:\s+(?:um|a las|à|o)\s+\d\S*)?(?:\s+uhr|\s+rano)?\s+"
    said = rf"(?:(?:^\W*|[,:;]\s+|{lead})(?:bitte\s+|por favor,?\s+|proszę,?\s+|merci de\s+)?(?:{order})\b"
    said += rf"|\b(?:{promise})\b)"
    number = r"\d{1,4}"
    return Tongue(
        code,
        re.compile(said, re.IGNORECASE),
        re.compile(rf"\b(?:{day.replace('N', number)})(?!\w)", re.IGNORECASE),
        re.compile(rf"(?:^|(?<=[\s,]))(?:{condition})\b", re.IGNORECASE),
        re.compile(rf"\b(?:{denial})\b", re.IGNORECASE),
    )


TONGUES = (
    _tongue(
        "de",
        order=r"erinner\w*|ruf\w*|schick\w*|send\w*|prüf\w*|frag\w*|sag|gib|meld\w*|bestell\w*|bezahl\w*|überweis\w*"
        r"|buch\w*|vergiss nicht|informier\w*|benachrichtig\w*|leite\w*|stell\w*|mach\w*|schreib\w*|aktualisier\w*"
        r"|kündig\w*|lösch\w*|starte\w*|verschieb\w*|antworte\w*|bring\w*|hol\w*|kauf\w*|erneuer\w*",
        promise=r"bitte\s+\w+|(?:ich|wir) (?:werde|werden|muss|müssen|verspreche\w*)|wir sollten|(?:ich"
        r"|wir) \w+en? dich",
        day=r"übermorgen|morgen|heute(?: abend)?|in (?:einer|einem|zwei|drei|vier|fünf|N) (?:minuten?|stunden?"
        r"|tag(?:en)?"
        r"|wochen?|monat(?:en)?)|nächste[nrs]? (?:woche|monat|jahr)|(?:montag|dienstag|mittwoch|donnerstag"
        r"|freitag|samstag"
        r"|sonntag)|\d{1,2}\. ?(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)"
        r"(?: N)?",
        condition=r"wenn|sobald|falls",
        denial=r"(?<!vergiss )nicht|kein\w*|niemals|nie",
    ),
    _tongue(
        "es",
        order=r"recuérd\w*|recuerda\w*|ll[aá]m\w*|envía\w*|envíe\w*|manda\w*|av[ií]s\w*|preg[uú]nt\w*|rev[ií]s\w*"
        r"|comprueb[ae]\w*|di(?:le)?|paga\w*|res[eé]rv\w*|no olvides|confirma\w*|escr[ií]b\w*|actualiza\w*|renueva\w*"
        r"|notifi\w*|inf[oó]rm\w*|compra\w*|responde\w*|reinicia\w*|prepara\w*",
        promise=r"por favor,?\s+\w+|(?:tengo|tenemos) que \w+|(?:voy|vamos) a \w+|prometo \w+|hay que \w+",
        day=r"pasado mañana|mañana|hoy|en (?:un|una|dos|tres|cuatro|cinco|N) (?:minutos?|horas?|días?|semanas?"
        r"|mes(?:es)?)"
        r"|dentro de (?:un|una|dos|tres|N) (?:minutos?|horas?|días?|semanas?|mes(?:es)?)|la próxima semana"
        r"|la semana que viene|el próximo mes|(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)"
        r"|\d{1,2} de (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
        r"(?: de N)?",
        condition=r"cuando|en cuanto|tan pronto como|si",
        denial=r"ya no|nunca|no hace falta|no (?!olvides)\w+",
    ),
    _tongue(
        "fr",
        order=r"rappel\w*|appel\w*|envoie\w*|envoy\w*|préviens|prévenez|demand\w*|vérifi\w*|dis|dites|pay\w*"
        r"|réserv\w*"
        r"|n'oublie\w* pas|confirm\w*|écri\w*|mets|renouvel\w*|inform\w*|achèt\w*|répond\w*|redémarr\w*"
        r"|prépar\w*|avertis\w*",
        promise=r"(?:je dois|nous devons|il faut|je vais|nous allons|je promets|on doit|merci de) \w+",
        day=r"après-demain|demain|aujourd'hui|ce soir|dans (?:un|une|deux|trois|quatre|cinq|N) (?:minutes?"
        r"|heures?|jours?"
        r"|semaines?|mois)|la semaine prochaine|le mois prochain|(?:lundi|mardi|mercredi|jeudi|vendredi|samedi"
        r"|dimanche)"
        r"|\d{1,2}(?:er)? (?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre"
        r"|décembre)(?: N)?",
        condition=r"quand|lorsque|dès que|si",
        denial=r"ne (?:\w+ )?(?:pas|plus|jamais)|pas besoin|plus besoin|inutile",
    ),
    _tongue(
        "pl",
        order=r"przypomnij\w*|zadzwoń\w*|wyślij\w*|prześlij\w*|sprawdź\w*|zapytaj\w*|powiedz\w*|powiadom\w*|zapłać\w*"
        r"|zarezerwuj\w*|nie zapomnij|potwierdź\w*|napisz\w*|zaktualizuj\w*|odnów\w*|poinformuj\w*|kup\w*"
        r"|odpowiedz\w*"
        r"|zrestartuj\w*|przygotuj\w*|daj znać|zamów\w*|oddzwoń\w*",
        promise=r"proszę\s+\w+|(?:muszę|musimy|trzeba|obiecuję|zamierzam) \w+|(?:zadzwonię|wyślę|sprawdzę"
        r"|zapłacę|napiszę)",
        day=r"pojutrze|jutro|dziś|dzisiaj|za (?:godzinę|tydzień|miesiąc|dwa|trzy|cztery|pięć|N)(?: (?:minut\w*"
        r"|godzin\w*"
        r"|dni|dzień|tygodni\w*|miesiąc\w*))?|w przyszłym tygodniu|w przyszłym miesiącu|(?:poniedziałek|wtorek"
        r"|środę|czwartek"
        r"|piątek|sobotę|niedzielę)|\d{1,2} (?:stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września"
        r"|października|listopada|grudnia)(?: N)?",
        condition=r"gdy|kiedy|jak tylko|jeśli|jeżeli",
        denial=r"nie (?!zapomnij)\w+|już nie|nigdy",
    ),
)


class Meant(NamedTuple):
    """A time, or the clause that is waited for."""

    at: datetime | None
    clause: str


def may_hold_one(text: str) -> bool:
    return any(each.order.search(text) and (each.day.search(text) or each.condition.search(text)) for each in TONGUES)


def meant_by(sentence: str, local: datetime) -> Meant | None:
    """What a sentence in one of these languages asks for, as it was written at ``local``."""
    for tongue in TONGUES:
        if tongue.order.search(sentence) is None or tongue.denial.search(sentence):
            continue
        clause = _clause_of(tongue, sentence)
        main = sentence.replace(clause, " ", 1) if clause else sentence
        if tongue.order.search(main.strip(" ,")) is None:
            continue
        if found := tongue.day.search(main):
            at = _instant_of(tongue.code, found[0], main, local)
            return Meant(at, "") if at and at > local else None
        if clause:
            return Meant(None, tongue.condition.sub("", clause, count=1).strip(" ,."))
    return None


def _clause_of(tongue: Tongue, sentence: str) -> str:
    found = tongue.condition.search(sentence)
    if found is None:
        return ""
    end = sentence.find(",", found.end())
    return sentence[found.start() : end if end > 0 else len(sentence)]


def _instant_of(code: str, said: str, sentence: str, local: datetime) -> datetime | None:
    parsed = _parser(code, local).get_date_data(said).date_obj
    if not isinstance(parsed, datetime):
        return None
    clock = AT_CLOCK.search(sentence)
    if clock and int(clock["h"]) < 24 and int(clock["m"] or 0) < 60:
        return datetime.combine(parsed.date(), time(int(clock["h"]), int(clock["m"] or 0)))
    if abs(parsed - local) < timedelta(days=1) and parsed.date() == local.date() and parsed != local:
        return parsed  # in so many minutes or hours
    return datetime.combine(parsed.date(), MORNING)


@cache
def _library() -> Any:
    from dateparser.date import DateDataParser

    return DateDataParser


def _parser(code: str, local: datetime) -> Any:
    settings = {
        "PREFER_DATES_FROM": "future",
        "RELATIVE_BASE": local,
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": False,
        "DATE_ORDER": "DMY",
    }
    return _library()(languages=[code], settings=settings)
