"""Corrections of a prompt: which ask for the same, and which only share their words."""

from datetime import UTC, datetime, timedelta

from proposals.learning.miners import sentences

START = datetime(2026, 1, 5, tzinfo=UTC)
SAME = """
Don't use emojis in newsletters.|Newsletters are to be free of emojis.|Newsletters without emojis, please.
Keine Fremdwörter in Angeboten verwenden.|Angebote sollen ohne Fremdwörter geschrieben werden.
No uses abreviaturas en los informes.|Los informes deben ir sin abreviaturas.
N'utilisez pas d'abréviations dans les rapports.|Les rapports doivent être rédigés sans abréviations.
Keep abstracts under 200 words.|An abstract must have fewer than two hundred words.
Sort the list with the newest on top.|The list should run from new to old.
Leave the raw logs untouched.|Never alter the raw logs.
Always mention the section number of a norm.|You cite the norm without its section number.
"""
DIFFERENT = """
Keep abstracts under 200 words.|Keep abstracts over 200 words.
Always link the ticket you mention.|Always close the ticket you mention.
Return the result as JSON.|Return the result as HTML.
Use JSON for the export.|Use YAML for the export.
Don't use emojis in newsletters.|Use emojis in newsletters.
Newsletters without emojis, please.|Newsletters with emojis, please.
Reports without tables, please.|Reports without charts, please.
Don't use emojis in newsletters.|Don't use links in newsletters.
Keine Fremdwörter in Angeboten verwenden.|Keine Fremdwörter in Rechnungen verwenden.
Angebote ohne Fremdwörter schreiben.|Angebote mit Fremdwörtern schreiben.
No uses abreviaturas en los informes.|No uses colores en los informes.
Usa abreviaturas en los informes.|No uses abreviaturas en los informes.
N'utilisez pas d'abréviations dans les rapports.|Utilisez des abréviations dans les rapports.
Keep abstracts under 200 words.|Keep abstracts under 300 words.
Sort the list with the newest on top.|Sort the list with the oldest on top.
Write headings in lower case.|Write headings in capital letters.
Leave the raw logs untouched.|Leave the raw tables untouched.
Leave the raw logs untouched.|Alter the raw logs.
Copy Bettina on mails to suppliers.|Keep Bettina out of mails to suppliers.
Copy Bettina on mails to suppliers.|Copy Marek on mails to suppliers.
Quiero los informes como tabla.|No quiero los informes como tabla.
Start with the outcome, then the history.|Start with the history, then the outcome.
Always name the SLA.|Always name the ETA.
You sent the offer without its date.|Send the offer without its date.
"""


def groups(*said: str) -> int:
    """In how many groups the corrections are."""
    keys = {sentences.folded(text): (text, START + timedelta(hours=at)) for at, text in enumerate(said)}
    stands, _ = sentences.groups_of(keys, reworded=True)
    return len(set(stands.values()))


def test_a_request_is_one_however_it_refuses() -> None:
    for line in SAME.strip().splitlines():
        assert groups(*line.split("|")) == 1, line


def test_another_thing_number_name_or_polarity_is_another_request() -> None:
    for line in DIFFERENT.strip().splitlines():
        assert groups(*line.split("|")) == 2, line
