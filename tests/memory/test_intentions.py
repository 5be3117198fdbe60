"""What is an intention in a text, when it is due, and what a later statement says of a condition (RFC 0068 C)."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.host import cron
from memory.text.intentions import DENIAL, Intention, called_off, found_in, verdict, vocabulary, wanted_of, words_of
from memory.text.intentions.finding import LAST
from tests.budgets import cpu_within, tries

BERLIN = "Europe/Berlin"
WEDNESDAY = datetime(2026, 11, 18, 10, 30, tzinfo=UTC)


def one(text: str, *, zone: str = BERLIN, at: datetime = WEDNESDAY) -> Intention:
    found = found_in(text, zone=zone, written_at=at)
    assert len(found) == 1, f"{text!r} holds {len(found)} intentions"
    return found[0]


def local(text: str, *, zone: str = BERLIN, at: datetime = WEDNESDAY) -> str:
    """When it is due, as the clock on the wall says it."""
    due = one(text, zone=zone, at=at).at
    assert due is not None, text
    return due.astimezone(ZoneInfo(zone)).strftime("%a %Y-%m-%d %H:%M")


def test_a_time_in_words_is_an_instant_in_the_zone_of_the_tenant() -> None:
    for text, due in (
        ("Follow up next Monday", "Mon 2026-11-23 09:00"),
        ("remind me in 3 days", "Sat 2026-11-21 09:00"),
        ("Please ping me in 20 minutes.", "Wed 2026-11-18 11:50"),
        ("- call back in two hours", "Wed 2026-11-18 13:30"),
        ("call Ana on 12 December at 14:00", "Sat 2026-12-12 14:00"),
        ("We will email Dr. Smith on Dec. 12 about it.", "Sat 2026-12-12 09:00"),
        ("Schedule the review for 2026-12-01 at 2 pm", "Tue 2026-12-01 14:00"),
        ("Don't forget to renew the domain on the 3rd of January", "Sun 2027-01-03 09:00"),
        ("We need to check the backups tomorrow at 7 am", "Thu 2026-11-19 07:00"),
        ("TODO: rotate the key next week", "Mon 2026-11-23 09:00"),
        ("Remind us to pay the rent by end of month", "Mon 2026-11-30 17:00"),
        ("Remind me after 2 weeks", "Wed 2026-12-02 09:00"),
        ("remind me tonight", "Wed 2026-11-18 20:00"),
        ("Call Ana today", "Wed 2026-11-18 17:00"),
        ("I'll call Ana on Wednesday at 8", "Wed 2026-11-25 08:00"),
        ("Call Ana on 2026-11-18", "Wed 2026-11-18 17:00"),
        ("Send the quote next month", "Tue 2026-12-01 09:00"),
        ("We need to ship it by the end of the week", "Fri 2026-11-20 17:00"),
        ("Renew the policy by the end of the year", "Thu 2026-12-31 17:00"),
        ("Call Ana tomorrow at half past nine", "Thu 2026-11-19 09:30"),
        ("Call Ana by 12 December", "Sat 2026-12-12 09:00"),
        ("Call Ana next Friday", "Fri 2026-11-27 09:00"),
        ("Call Ana tomorrow evening at 8", "Thu 2026-11-19 20:00"),
        ("Send the list on the 5th", "Sat 2026-12-05 09:00"),
        ("The customer asked to be called back the day after tomorrow", "Fri 2026-11-20 09:00"),
        ("Send the plan by end of day Friday", "Fri 2026-11-20 17:00"),
        ("Send the plan on the first Monday of next month", "Mon 2026-12-07 09:00"),
        ("Send the plan on the last Friday of March", "Fri 2027-03-26 09:00"),
        ("Renew the passport in March", "Mon 2027-03-01 09:00"),
        ("After the launch on Friday, delete the old flags", "Fri 2026-11-20 09:00"),
        ("I'll have the plan ready by Friday", "Fri 2026-11-20 09:00"),
        ("Tomorrow at 8 the team has to restart the relay", "Thu 2026-11-19 08:00"),
        ("You need to lock the gate at 17:00", "Wed 2026-11-18 17:00"),
        ("It's my turn to feed the cat while Ana is away next week", "Mon 2026-11-23 09:00"),
        ("The vendor commits to patching the relay by Friday", "Fri 2026-11-20 09:00"),
    ):
        assert local(text) == due, (text, due)
        assert one(text).cron == "", (text, due)


def test_a_time_that_comes_again_is_a_cron_expression() -> None:
    for text, expression, first in (
        ("Every Friday send the report", "0 9 * * 5", "Fri 2026-11-20 09:00"),
        ("every weekday at 18:00 check the inbox", "0 18 * * 1-5", "Wed 2026-11-18 18:00"),
        ("Remind me daily at 8 am to look at the queue", "0 8 * * *", "Thu 2026-11-19 08:00"),
        ("On Mondays and Thursdays send the list", "0 9 * * 1,4", "Thu 2026-11-19 09:00"),
        ("Send the report on the 1st of every month", "0 9 1 * *", "Tue 2026-12-01 09:00"),
        ("Check the queue every 2 hours", "0 */2 * * *", "Wed 2026-11-18 12:00"),
        ("Send the newsletter weekly", "0 9 * * 3", "Wed 2026-11-25 09:00"),
        ("Send the plan on the last day of the month", "0 9 L * *", "Mon 2026-11-30 09:00"),
        ("Send the plan on the last working day of every month", "0 9 LW * *", "Mon 2026-11-30 09:00"),
        ("Send the plan at the end of each month", "0 9 L * *", "Mon 2026-11-30 09:00"),
        ("Send the plan on the first Monday of each month", "0 9 * * 1#1", "Mon 2026-12-07 09:00"),
        ("Send the plan on the last Friday of every month at 14:00", "0 14 * * 5L", "Fri 2026-11-27 14:00"),
        ("Every quarter send the plan", "0 9 1 1,4,7,10 *", "Fri 2027-01-01 09:00"),
    ):
        assert (one(text).cron, local(text)) == (expression, first), (text, expression, first)
        assert cron.problem_of(expression) == "", (text, expression, first)


@pytest.mark.parametrize(
    ("text", "expression", "every"),
    [
        ("Every other Friday send the report", "0 9 * * 5", 2),
        ("Send the report every other week", "0 9 * * 3", 2),
        ("Fortnightly: send the report", "0 9 * * 3", 2),
        ("Send the report every 3 weeks on Monday", "0 9 * * 1", 3),
        ("Water the plants every second day", "0 9 * * *", 2),
        ("Check the queue every other hour", "0 */2 * * *", 1),
        ("Send the report every week", "0 9 * * 3", 1),
    ],
)
def test_every_other_time_is_each_second_tick_of_a_cron_expression(text: str, expression: str, every: int) -> None:
    assert (one(text).cron, one(text).every) == (expression, every)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("Unless Ana confirms by Friday, cancel the order.", "Fri 2026-11-20 09:00"),
        ("Cancel the order tomorrow unless Ana confirms.", "Thu 2026-11-19 09:00"),
        ("Unless Ana objects, cancel the order.", ""),
    ],
)
def test_what_an_exception_may_spare_is_in_doubt_and_due_by_its_time(text: str, due: str) -> None:
    found = found_in(text, zone=BERLIN, written_at=WEDNESDAY, doubtful=True)
    assert [each.doubtful for each in found] == ([True] if due else [])
    assert [f"{each.at.astimezone(ZoneInfo(BERLIN)):%a %Y-%m-%d %H:%M}" for each in found if each.at] == [due] * bool(
        due
    )


@pytest.mark.parametrize(
    ("text", "words", "negated"),
    [
        ("When the invoice clears, tell finance", "invoice clear", False),
        ("When the invoice clears tell finance", "invoice clear", False),
        ("Remind me when the SOC2 report is filed", "soc2 report filed", False),
        ("The user asked to be reminded when the contract is signed.", "contract signed", False),
        ("Once payment arrives, notify the warehouse", "payment arrives", False),
        ("After the contract is signed, send the welcome pack", "contract signed", False),
        ("Let Bob know when the shipment is delivered", "shipment delivered", False),
        ("Tell me if the server is no longer reachable", "server reachable", True),
        ("Notify ops as soon as the nightly-report run fails", "nightly report run fails", False),
    ],
)
def test_a_clause_is_a_condition_that_later_memory_may_fulfil(text: str, words: str, negated: bool) -> None:
    found = one(text)
    assert (found.at, set(found.words), found.negated) == (None, set(words_of(words)), negated)


def test_facts_past_times_denials_questions_and_quotations_are_no_intentions() -> None:
    for text in (
        "The invoice cleared on Monday.",
        "We met last Tuesday.",
        "The store opens every Monday.",
        "Do not remind me on Friday.",
        "No need to follow up next week.",
        "We never need to call on Friday.",
        "We won't call on Friday.",
        "Should we call Ana on Friday?",
        "Did you remind Ana on Friday",
        '"Remind me on Monday" is what he wrote.',
        'He said: "call me in 3 days".',
        "> Remind me in 3 days",
        "We called Ana on Monday.",
        "Call Ana on 12 December 2020.",
        "Remind me yesterday.",
        "Call volumes rose on Friday.",
        "Review meeting is on Friday.",
        "We send the report every Friday.",
        "The customer prefers email on Mondays.",
        "I told Ana to call me on Friday.",
        "When the invoice cleared, we told finance.",
        "Ana was reminded on Monday.",
        "Remind me when possible.",
        "Ask Ana when the report is due.",
        "If a customer asks about refunds, tell them the policy.",
        "I will call you.",
        "Sales always drop in March.",
        "You should see the logs in two days.",
        "The vendor committed the change on Friday.",
        "After the storm on Monday the roof leaked.",
        "Check the queue every 20 weeks",
        "Check the queue every 2 minutes",
        "Check the queue every 7 minutes",
        "Call Ana on 31 February",
        "Send the list on the 45th",
        "Call Ana at 13 pm",
        "",
    ):
        assert found_in(text, zone=BERLIN, written_at=WEDNESDAY) == [], text


@pytest.mark.parametrize(
    "text",
    [
        "return q1 << half | q2, rest",
        "if isinstance(item, Box):  return item",
        "return None if count < -limit else total // 10**-limit",
        "return pipe.read() if not shell.run(line) else None",
        "- remind(user, when=friday);",
        "Notes:\n```\nsend the deck on Friday\n```\n",
        "~~~ sh\ncall Ana tomorrow",
        "drwxr-xr-x  6 root wheel 1024 Sep 13 19:07 call",
    ],
)
def test_code_holds_no_commitment(text: str) -> None:
    assert found_in(text, zone="UTC", written_at=WEDNESDAY, doubtful=True) == []


def test_what_stands_beside_code_is_read_where_it_stands() -> None:
    text = "```\nx = 1\n```\nSend Ana the log on Friday."
    [found] = found_in(text, zone="UTC", written_at=WEDNESDAY)
    assert text[found.starts : found.ends] == "Send Ana the log on Friday."


@pytest.mark.parametrize(
    "text",
    [
        # lists of changes
        "Fix stuttering after closing two panels on Linux.",
        "Stop adding blanks when saving a transcript.",
        "Handle a missing field when parsing the record.",
        "Fix crash when the connection is reset.",
        "otter 1.4.2: Do not fail if the linker cannot be found.",
        "gh-4711: Include prompts when saving the shell.",
        "- http: drop the timer when data arrives",
        "Fix CVE-2030-1234: Use-after-free issue in writeReport.",
        "Backport the fix for when the pool is drained.",
        "Patch to add a test when the screen scrolls.",
        "(merge 12ab34cd56 ot/stop-when-push-is-killed later to main).",
        # documentation
        "When using a cursor, you must specify a page size.",
        "If width is None, copy the whole row.",
        "Compute the sum when text is a simple number.",
        "Raise an error if the value is negative.",
        "Use the default port if none is given.",
        "When creating a branch, also store its folds.",
        "Set it to false if using dynamic settings.",
        "Remove this after its default is True.",
        "Run the tests after changing the parser.",
        "After installing the module, restart the shell.",
        "When $HOME contains special characters, escape them.",
        "Overwrite each row after removing any suffix.",
        "If your configuration writes many lines, use w+.",
        "# When the local dict is deleted, remove the attribute.",
        "Test 12 fails when language set to Danish.",
        "Fail to edit the file after failed access.",
        "Return everything after the final slash.",
        "The reader stops when inside a for loop, add a check.",
        # concessions
        "Call the next one even if the first one has answered.",
        "Run all the checks even when one has failed.",
        # what may always be
        "Whenever you need help, just let me know.",
        "If we need help, we'll let you know.",
        "Let me know if there's anything else I can do.",
        "It's important to stay calm even when life's tough.",
        "When times get hard, keep going.",
        "It's important to help each other when we're feeling down.",
        "Giving it my all every time I'm on the pitch.",
        "I'll need new boots after all these hikes though.",
        # the past
        "I'll always remember our walk last year when we saw the comet fall.",
        # other languages
        "Es ist der Normalwert, er wird angenommen, falls das Feld fehlt.",
        "Verwenden Sie dies, wenn nur ein Paket gebaut werden soll.",
        "Si se indica una parte, man mirará solo en esa parte del manual.",
        "forzar la copia incluso si el destino existe",
        "Debe indicar la opción --salida cuando use --todo.",
        "Veuillez vérifier si le paquet est installé.",
        "Si ce motif est défini, lire affichera la page.",
    ],
)
def test_documentation_and_lists_of_changes_wait_for_nothing(text: str) -> None:
    assert found_in(text, zone="UTC", written_at=WEDNESDAY, doubtful=True) == []


@pytest.mark.parametrize(
    "text",
    [
        "When PR #512 is merged, deploy it to staging.",
        "Tell Ana when ticket OPS-412 is closed.",
        "Once the migration finishes, delete the old bucket.",
        "As soon as the API returns 200 again, close the incident.",
        "Once the feature flag is enabled in production, tell support.",
        "Fix the heater once the spare part has come.",
        "Stop the campaign when the budget is spent.",
        "Test the backup when the new disk is installed.",
        "Return the deposit when the flat has been inspected.",
        "Add Noor to the group when she has signed.",
        "When school starts, order the books.",
        "After the audit is over, archive the folder.",
        "If Globex accepts the offer, create the project.",
        "Remind me to ring Leo when he is back from Lisbon.",
        "Whenever a customer from Acme calls, forward the call to Lena.",
        "The moment tickets go on sale, buy two.",
        "Wenn der Vertrag unterschrieben ist, schicke ich ihn an die Bank.",
        "Cuando Marta confirme la cita, reserva la sala.",
        "Quand le colis arrive, préviens Luc.",
        "Gdy faktura zostanie opłacona, wyślij towar.",
    ],
)
def test_what_waits_for_one_event_is_armed(text: str) -> None:
    [found] = found_in(text, zone="UTC", written_at=WEDNESDAY)
    assert found.words


@pytest.mark.parametrize(
    "text",
    [
        "(Nora Wiik, 2013 Jan 16, update Jan 17)",
        "Update Sep 7.",
        "Release Sep 7.",
        "Patch for the pump by Ida Holm, March 7.",
        "Also need to run the importer (Ida Holm, 2015 Nov 4)",
        "example Nov 26) Add a column for the weight",
        "Invoice paid 2025 Nov 20.",
        "Test passed 2020 Feb 3.",
        "Call with Ana, 3 March",
        "Call with Helios on 2 June: they want a discount.",
        "Patch by Ida Holm, 2019 Jan 10, send it again Jan 12.",
        "fix the typo in the manual (report by Jan Holm)",
        "importer 2025-06-24 14:39:43: run with two workers",
        "Log ended: 2026-11-18  17:31:27",
    ],
)
def test_a_date_that_something_bears_is_not_one_by_which_to_do_it(text: str) -> None:
    assert found_in(text, zone="UTC", written_at=WEDNESDAY, doubtful=True) == []


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("Pay the invoice on 2028 Mar 3.", "Fri 2028-03-03 09:00"),
        ("Renew the domain by 2028 3 March.", "Fri 2028-03-03 09:00"),
        ("Update the wiki on Dec 7.", "Mon 2026-12-07 09:00"),
        ("Call Ana Dec 7.", "Mon 2026-12-07 09:00"),
        ("Send the list (2 pages) on 5 December.", "Sat 2026-12-05 09:00"),
        ("Review the contract (Ana, by Friday).", "Fri 2026-11-20 09:00"),
        ("Restart the importer at 14:30.", "Wed 2026-11-18 14:30"),
        ("I'll come over tomorrow if that's fine.", "Thu 2026-11-19 09:00"),
        ("print invoices (2 copies) tomorrow", "Thu 2026-11-19 09:00"),
        ("call Ana tomorrow {urgent}", "Thu 2026-11-19 09:00"),
    ],
)
def test_a_date_by_which_to_do_it_is_due(text: str, due: str) -> None:
    assert local(text, zone="UTC") == due


def test_tonight_written_in_the_evening_is_late_that_evening() -> None:
    evening = datetime(2026, 11, 18, 20, 40, tzinfo=UTC)
    assert local("You have my word: the fix goes out tonight.", zone="UTC", at=evening) == "Wed 2026-11-18 23:00"
    assert found_in("Call Ana tonight at 8 pm.", zone="UTC", written_at=evening) == []


@pytest.mark.parametrize(
    "text",
    [
        "Enjoy the day off tomorrow, you earned it!",
        "Let's make tomorrow unforgettable, Ida.",
        "Let's live it up and make some great memories tomorrow.",
        "Otto is looking forward to meeting the band this month.",
    ],
)
def test_a_pleasantry_asks_for_nothing(text: str) -> None:
    assert found_in(text, zone="UTC", written_at=WEDNESDAY, doubtful=True) == []


def test_what_lies_farther_ahead_than_ten_years_is_none() -> None:
    assert found_in("Remind me on 5 March 2044", zone="UTC", written_at=WEDNESDAY) == []
    assert one("Remind me in 4 months").at == datetime(2027, 3, 18, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "due"),
    [
        ("Send the deck on 11/30/2026.", "America/New_York", "2026-11-30 09:00"),
        ("Send the deck on 4/12/2026.", "America/Chicago", None),
        ("Send the deck on 4/12/2026.", "Europe/London", "2026-12-04 09:00"),
        ("Send the deck on 30.11.2026 at noon.", "UTC", "2026-11-30 12:00"),
        ("Send the deck on 31.11.2026.", "UTC", None),
        ("Send the deck on 0001-01-01.", BERLIN, None),
        ("Send the deck on 31.12.9999 at 11 pm.", "America/New_York", None),
        ("Restart the importer at midnight.", "UTC", "2026-11-19 00:00"),
    ],
)
def test_dates_in_digits_are_read_as_the_zone_writes_them(text: str, zone: str, due: str | None) -> None:
    found = found_in(text, zone=zone, written_at=WEDNESDAY)
    times = [f"{each.at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}" for each in found if each.at]
    assert times == ([due] if due else [])


def test_orders_promises_and_other_languages_are_intentions() -> None:
    for text in (
        "Repaint the north hall on Friday.",
        "If the audit passes, laminate the certificate.",
        "I promise to mend your chair by Monday.",
        "Leo owes us the floor plan by Friday.",
        "The agent will transcribe the interview tomorrow.",
        "On weekdays at 8, ventilate the lab.",
        "Water the orchids twice a week.",
        "Whenever a parcel comes in, weigh it.",
        "Bitte ruf Frau Kern am Montag an.",
        "Recuérdame mañana a las 9 pagar el alquiler.",
        "Rappelle-moi demain d'appeler Luc.",
        "Przypomnij mi jutro o fakturze.",
        '{"note": "Ping the harbour office on Friday about the crane."}',
        "We have to vacate the flat by the end of June.",
        "All badges must be returned by Friday.",
        "By Friday at the latest, the roof has to be sealed.",
        "I promised Ada that she would get the maps on Friday.",
        "Remember that the permit has to be renewed before 3 December.",
        "Ada delivers the maps by Friday.",
        "Ada is sending the maps on Friday.",
        "I'm calling the museum tomorrow.",
        "I'll be shipping the samples on Friday.",
        "Will send the samples on Friday.",
        "Ben to send the samples by Friday.",
        "We'd better inform the museum tomorrow.",
        "Get Ben to sign the lease by Friday.",
        "Am Freitag schick den Plan an Ada.",
        "El viernes llama a Marta.",
        "W piątek wyślij plan do Ady.",
        "Je rappelle Madame Petit demain matin.",
        "Waiting for Lena to approve the draft by Thursday.",
        "Need the slides from Omar before Monday's call.",
        "Omar: slides by Monday.",
        "Handing over the keys to the new tenant on the 1st.",
        "Dr. Weiss wants to see the blood results next Tuesday.",
        "Nadia said to ring her back tomorrow.",
        "The customer was promised a callback by 5 pm.",
        "We're to hand in the tax return by Friday.",
        "The plumber is coming on Monday to fix the sink.",
    ):
        assert len(found_in(text, zone="UTC", written_at=WEDNESDAY)) == 1, text


def test_what_happens_or_is_called_off_is_no_intention() -> None:
    for text in (
        "Cancel the reminder for Friday.",
        "No need to ring the museum on Monday.",
        "Der Zug fährt morgen um 9 Uhr.",
        "Ruf mich morgen nicht an.",
        "El museo abre mañana a las 9.",
        "Le train part demain.",
        "J'aime Paris en décembre.",
        "Waiting for the bus took until Thursday.",
        "I need the night to think, said Omar on Monday.",
        "Note: office closed by Monday.",
        "Omar: slides sent by Monday.",
        "Handing over the keys on the 1st went well.",
        "Running the tests at 5 pm today crashed the server.",
        "Dr. Weiss wanted to see the results last Tuesday.",
        "The customer was promised a callback and got it by 5 pm.",
        "We're to blame for Friday.",
        "The plumber is coming on Monday.",
        "J'appelais Paul le vendredi.",
        "Je mange une pomme chaque matin.",
        "Je ne rappelle pas Paul demain.",
        "Je vais bien demain.",
        "Painting the house takes until Friday.",
        "Booking a room by Friday saves 10 percent.",
        "Losing the match on Friday hurt.",
        "Enjoying the sun on Friday.",
        "Rome: warm by Friday.",
        "Ben wants to have a party on Friday.",
        "Lunch: at the bistro by noon.",
        "Herr Maier wird am Freitag heiraten.",
        "Ella ganará el premio el viernes.",
        "The customer asked for a reply on Monday and got one.",
        "Room 5 opens on Monday.",
        "It will snow tomorrow in Davos.",
        "We sold the van on Monday and sent the keys on Tuesday.",
        "On Sundays the doors must be locked.",
        "The doors must be locked by the guard.",
        "He said the lease must be signed by Friday.",
        "Is the lease to be signed by Friday?",
        "Harbour Books paid 90 euros on 18 January by card.",
        "The node ap-south is patched on Friday.",
        "The samples must have been lost on Friday.",
        "Ada was sending the maps on Friday.",
        '{"quote": "He wrote: \\"call me on Friday\\" in his mail"}',
    ):
        assert found_in(text, zone="UTC", written_at=WEDNESDAY) == [], text


MEANT = """
Don't forget the spare bulbs when you pass the hardware shop tomorrow.
I gave my word to Ida that I would water the ferns on Sunday.
- Next time you see Noor, ask her about the lamp.
To do on my side: get two more quotes by Tuesday.
Count on us: the tent will be standing by noon on Friday.
To do tomorrow: oil the hinges.
I've committed to proofreading the brochure by Friday.
Rake the gravel at the start of every week.
Put the bins out tonight.
Swap the summer tyres for winter ones this weekend.
Tomorrow 8am - restart node 7.
Mondays and Thursdays: empty the compost.
Once a month, defrost the freezer in the break room.
At 3 o'clock, turn off the sprinklers.
Pick Leon up from judo at half past five on Wednesday.
I'll have the contract reviewed by Wednesday evening.
We promise delivery of the remaining chairs before the 15th.
You'll get my comments on the thesis by Sunday night.
Sven offered to drive the band to the venue on Saturday at 15:00.
The landlord said he would fix the radiator by the weekend.
Marketing has to approve the banner by tomorrow noon.
Grandma wants the photos printed by her birthday on 9 December.
Final version of the poster needed by Thursday morning.
Schedule a dentist appointment for Emil the week after next.
Priya's going to upload the recordings tonight.
Amara said she'd have the translations ready on Monday.
The plumber swore he'd be here by noon tomorrow.
You can expect the signed copy from me on Tuesday.
To do by Friday: renew the parking permit.
It is important that the samples are frozen by 18:00 today.
On working days at 7:30 start the boiler.
No te olvides de regar las plantas el sábado.
On se charge de livrer le piano vendredi.
Bring two copies of the form to the embassy on Monday, 9:00.
Alina is to present the results at the board meeting on 9 December.
Mr. Ito will have the samples couriered to Basel on Thursday.
Wir liefern die Küche am 14. Dezember.
Könntest du bitte am Freitag die Blumen gießen?
¿Puedes llamar al fontanero mañana?
Nous vous livrerons le canapé jeudi.
Jutro rano odbiorę dzieci z przedszkola.
Renew the domain in March 2031.
In five working days, ask for the receipt.
Should the courier not show up, phone the depot.
The minute the embargo lifts, publish the press release.
Could you prepare the agenda for Monday's board meeting?
Wir melden uns am Donnerstag mit einem Angebot bei Ihnen.
Heute Abend noch die Heizung in Saal 3 abdrehen.
Denk am 5. Januar an die Steuererklärung.
Jeden Montag um 8 Uhr die Sicherung prüfen.
Die Rechnung ist bis zum 30. November zu bezahlen.
Enviaré las facturas antes del viernes.
Cuando llegue el técnico, ábrele la puerta.
Cada lunes revisa las copias de seguridad.
Te mando el presupuesto el jueves.
Réservez une table pour vendredi à 20 h.
Envoyer le contrat à Luc d'ici jeudi.
Claire doit nous rendre les clés avant mardi.
Gdy klient zapłaci, wyślij mu licencję.
Do końca miesiąca trzeba odnowić umowę.
Napiszę do ciebie w środę.
"""
NOT_MEANT = """
I promised Leo I'd mend the gate by Monday, and I did.
Back then the porter locked the gate every evening.
Scrap my note about ringing the museum tomorrow.
I said I would ring the museum on Monday but forgot.
Ana promised to send the keys on Friday, but she kept them.
Je déjeune avec les voisins dimanche.
Je visite le musée le lundi.
I'm waiting for the paint to dry by Friday.
We need a break before Friday.
Book club meets on the second Thursday of every month.
Fix for the login bug went live on Monday.
Leave requests for December close on Friday.
Test runs start at midnight.
Call centre hours: Monday to Friday, 9 am to 5 pm.
Order 5512 will arrive on Friday.
The plumber kept his promise and sent the pump on Monday.
Ben promised a call on Tuesday and kept it.
We will have been here for ten years in May.
He will turn sixty on Thursday.
Customers must return goods within 14 days.
Forget the call with Brandt on Thursday, he resolved it himself.
Noor is going to Paris on Wednesday.
Train drivers strike on Thursday.
Fix or not, the demo went ahead on Friday.
Am Freitag haben wir die Blumen gegossen.
Morgen soll es schneien.
The manual says to replace the filter every six months.
I had promised to call on Friday, but the line was dead.
Admins can schedule exports for any day of the month.
Users get a notification once their order has shipped.
When a payment fails, the system retries it after 24 hours.
Am Freitag kommt die neue Chefin.
Wenn es regnet, ist der Keller feucht.
Herr Braun wollte sich am Mittwoch melden, hat es aber vergessen.
La reunión del martes fue un desastre.
Los domingos cocina mi padre.
Si hubiera sabido, te habría avisado el viernes.
Le concert a lieu samedi à 20 heures.
Reçu le colis lundi matin.
Jutro ma padać.
Kiedy pada, dach przecieka.
"""


FRAMED = """
The roofer will reseal the skylight on Tuesday.
Our locksmith promised to rekey the shed by Friday.
Jonah agreed to babysit the twins on Saturday.
Told Mia I'd water her cactus on Sunday.
Must descale the kettle before Thursday.
Will mow the lawn on Saturday.
pls reboot the relay at 8 pm
The hall needs repainting before May.
You have my word: the crates are gone by Friday.
Nina has until Friday to hand in the essay.
Don't let me miss the dentist on Monday at 9.
From now on Ravi empties the bins every Monday.
The tax return is due on 30 November.
Library books: due back on Friday.
Finish the mural this week.
Send the plan in spring 2028.
The customer asked for a callback on Monday at 4 pm.
Annual report: must go out by the 12th.
Ben to unclog the drain by Friday.
Ana has to reupholster the sofa by Friday.
I told the landlord we'd vacate the garage by Friday.
We promised Kim we'd translate the leaflet by Monday.
She is going to varnish the deck tomorrow.
Morgen bringe ich dir die Schlüssel.
Die Unterlagen sind bis zum 5. Dezember einzureichen.
Die Rate ist am 10. Dezember fällig.
Herr Braun wird am Montag die Heizung reparieren.
Bitte bis zum 12. überweisen.
El viernes recojo a los niños.
El electricista cambiará los enchufes el martes.
Lucía quedó en enviar las fotos mañana.
Paga el alquiler antes del 5.
Le serrurier changera la serrure mardi.
Merci de rendre les clés avant le 15.
Le loyer est dû le 5.
Tomek ma wysłać paczkę w piątek.
Wyślij raport do 15.
W kwietniu trzeba odnowić umowę.
"""
NOT_FRAMED = """
The baby is due on 5 March.
The train is due at 8.
The bill that was due on Friday was paid.
Harbour Books will celebrate its birthday on Friday.
Noor will enjoy the concert on Saturday.
Ana will love the present on Friday.
Leo will miss the match on Friday.
Ana will be in Oslo on Friday.
The printer will print the labels on Friday.
The river will flood the meadow on Friday.
The town needs training by Friday.
Told Ana I'd called on Friday.
I said I'd sent the parcel on Friday.
The customer has until recently paid on Mondays.
Old wing: closed on Friday, desks already moved.
New pump: put in on Friday.
Tests: run on Friday.
Backup: set up on Monday, nothing left to do.
We sold more this month than last year.
Sales grew this quarter.
Ben to Oslo on Friday.
From Ana to Ben on Friday.
The shop has until now opened at 8.
Weekly report says that rates must rise.
The road will need repair by Friday.
Tickets must not be sold before Friday.
Ada wins this week.
Visitors must wear a badge on Mondays.
They will have left by Friday.
The moon will rise at 9 pm.
The team will lose the sponsor in May.
The contract needs nothing before Friday.
From now on the shop opens at 8.
From now on the shop is closed on Mondays.
Ana used to water the plants every Tuesday.
From now on prices include tax.
He said he would have called on Friday.
Ana and Ben will marry the following Friday.
Our office will turn ten on Friday.
The committee will have its meeting on Friday.
Die Ferien beginnen im April.
Am Montag wird es regnen.
Der Zug wird um 9 Uhr abfahren.
Die Preise sind im Mai gestiegen.
Das Museum ist am 5. Dezember geschlossen.
Die Rechnung war am 10. Mai fällig.
Frau Braun wird am Montag 50 Jahre alt.
Frau Braun wird am Montag in Rom sein.
Herr Braun wird am Freitag operiert.
El banco abrirá el lunes.
El lunes será festivo.
Mañana vuelo a Roma.
Todo el equipo descansa mañana.
Mañana lloverá en Bilbao.
La obra empezará el martes.
El tren llegará el martes a las 8.
El precio subirá en abril.
Le train partira mardi.
Il fera beau jeudi.
L'opéra de Lyon ferme mardi.
La caméra filme jeudi la rue.
Le magasin ouvrira ses portes mardi.
Luc aura trente ans mardi.
Le prix augmentera en avril.
Jutro ma być zimno.
Koncert ma się odbyć w piątek.
Sklep ma otwarcie w piątek.
W kwietniu spadł śnieg.
Do 15. stopni było ciepło.
The plant needs watering once a week.
Die Rechnung ist innerhalb von 30 Tagen fällig.
"""


def test_a_deadline_on_a_day_is_an_intention_and_one_counted_or_past_is_none() -> None:
    assert local("The deadline for the appeal is next Friday.").startswith("Fri 2026-11-27")
    assert local("Friday is the deadline for the budget.").startswith("Fri 2026-11-20")
    assert local("30 November is our deadline for the tender.").startswith("Mon 2026-11-30")
    assert local("Our deadline to object is tomorrow at noon.") == "Thu 2026-11-19 12:00"
    for text in (
        "The deadline for the budget was last Friday.",
        "The deadline for claims is 14 days after delivery.",
        "The deadline for timesheets is noon every Friday.",
        "Friday is not the deadline for the budget.",
        "Is Friday the deadline for the budget?",
        "Leo asked whether Friday is the deadline for the budget.",
    ):
        assert not found_in(text, zone=BERLIN, written_at=WEDNESDAY), text


def test_in_the_frame_of_a_promise_any_verb_promises_but_what_happens_to_its_subject() -> None:
    for said, times in ((FRAMED, 1), (NOT_FRAMED, 0)):
        for text in said.strip().splitlines():
            assert len(found_in(text, zone="UTC", written_at=WEDNESDAY)) == times, text


def test_a_verb_of_two_words_orders_and_an_hour_or_a_means_promises_nothing() -> None:
    said = "Follow up with the shop in Fremantle about the replacement seals next Monday at nine."
    assert found_in(said, zone="UTC", written_at=WEDNESDAY)
    for fact in (
        "We open at seven and we have the Chamber of Commerce on Thursday.",
        "The agent keeps its page by a tool: this node wrote the entry, when the model asked for it.",
        "Cut flowers cost 5 euros on Friday.",
        "Return trips take two hours on Monday.",
        "If I had time I would call Ana when she lands.",
    ):
        assert not found_in(fact, zone="UTC", written_at=WEDNESDAY, doubtful=True), fact


def test_what_people_and_agents_order_and_promise_is_told_from_how_things_are() -> None:
    for said, times in ((MEANT, 1), (NOT_MEANT, 0)):
        for text in said.strip().splitlines():
            assert len(found_in(text, zone="UTC", written_at=WEDNESDAY)) == times, text


def test_times_are_read_as_people_say_them() -> None:
    for text, due in (
        ("In five working days, ask for the receipt.", "2026-11-25 09:00"),
        ("Send the list by the end of next week.", "2026-11-27 17:00"),
        ("Send the list by the end of the quarter.", "2026-12-31 17:00"),
        ("Send the list in a couple of days.", "2026-11-20 09:00"),
        ("Send the list before the weekend.", "2026-11-20 09:00"),
        ("Send the list by close of business on the 27th.", "2026-11-27 17:00"),
        ("Send the list by the end of Q1.", "2027-03-31 09:00"),
        ("Send the list in Q2 2028.", "2028-04-01 09:00"),
        ("Service the boiler before winter.", "2026-12-01 09:00"),
        ("Send the list in March 2031.", "2031-03-01 09:00"),
        ("Send the list on the third of December.", "2026-12-03 09:00"),
        ("Send the list on Christmas Eve at quarter past nine.", "2026-12-24 09:15"),
        ("Send the list at Friday's meeting.", "2026-11-20 09:00"),
        ("Schick Ada übermorgen um 15 Uhr den Plan.", "2026-11-20 15:00"),
        ("Envía el plan a Ada pasado mañana a las 15:30.", "2026-11-20 15:30"),
        ("Envoie le plan à Ada après-demain à 15 h.", "2026-11-20 15:00"),
        ("Wyślij plan do Ady pojutrze o 15:00.", "2026-11-20 15:00"),
    ):
        found = found_in(text, zone="UTC", written_at=WEDNESDAY)
        assert [f"{each.at:%Y-%m-%d %H:%M}" for each in found if each.at] == [due], (text, due)


def test_the_start_and_the_end_of_every_week_are_its_days_and_the_start_of_a_month_its_first() -> None:
    for when, expression in (
        ("start of every week", "0 9 * * 1"),
        ("end of each week", "0 9 * * 5"),
        ("beginning of every month", "0 9 1 * *"),
    ):
        [found] = found_in(f"Rake the gravel at the {when}.", zone="UTC", written_at=WEDNESDAY)
        assert found.cron == expression, when


def test_what_is_called_off_is_told_by_its_words() -> None:
    assert called_off("Fine. No need to ring the museum on Monday.") == [words_of("ring museum Monday")]
    assert called_off("Ring the museum on Monday.") == []


def test_each_sentence_is_an_intention_of_its_own_and_says_where_it_stands() -> None:
    text = "Ana was angry. Call her back in 3 days; when the refund is booked, tell her. Follow up on Monday?"
    found = found_in(text, zone="UTC", written_at=WEDNESDAY)
    assert [text[each.starts : each.ends] for each in found] == [
        "Call her back in 3 days;",
        "when the refund is booked, tell her.",
    ]


@pytest.mark.parametrize(
    ("text", "zone", "written", "due"),
    [
        ("Remind me tomorrow at 02:30", BERLIN, "2026-03-28T12:00+01:00", "2026-03-29T01:00+00:00"),
        ("Remind me tomorrow at 02:30", BERLIN, "2026-10-24T12:00+02:00", "2026-10-25T00:30+00:00"),
        ("Remind me tomorrow", "America/New_York", "2026-03-07T12:00-05:00", "2026-03-08T13:00+00:00"),
        ("Remind me in 24 hours", BERLIN, "2026-03-28T12:00+01:00", "2026-03-29T11:00+00:00"),
        ("Remind me tomorrow", "Pacific/Auckland", "2026-11-18T11:30+00:00", "2026-11-19T20:00+00:00"),
    ],
)
def test_a_day_is_a_day_of_the_zone_whatever_its_clock_does(text: str, zone: str, written: str, due: str) -> None:
    found = one(text, zone=zone, at=datetime.fromisoformat(written))
    assert found.at == datetime.fromisoformat(due)


PIECES_OF_TEXT = (
    "remind me|call|Ana|don't|not|every|each|next|last|on|at|in|after|when|once|if|the|invoice|clears|Monday|Fridays"
    "|friday|31|12|0|99|february|December|2020|9999|minutes|days|months|14:00|25:99|noon|tomorrow|today|weekly|and|,|."
    "|unless|whether|that|from|half past|nine|Ana said|the meeting|so|reminder"
    "|0001-01-01|31.12.9999|1/1/0001|30 February|11 pm|\u00b2|\u00bd|1,000|every 2nd"
    '|?|;|\n|"|:|\u2014|need to|we will|please|\U0001f41b|\u00e9|[REDACTED:crm]|%|@|month|of|end'
)
PIECES = st.sampled_from(PIECES_OF_TEXT.split("|"))


@tries()
@given(
    st.one_of(st.lists(PIECES, max_size=25).map(" ".join), st.text(max_size=200)),
    st.sampled_from([BERLIN, "UTC", "Pacific/Apia", "America/Sao_Paulo"]),
)
def test_any_text_has_intentions_that_lie_ahead_within_the_horizon_and_the_same_every_time(
    text: str, zone: str
) -> None:
    found = found_in(text, zone=zone, written_at=WEDNESDAY)
    assert found == found_in(text, zone=zone, written_at=WEDNESDAY)
    for each in found:
        assert 0 <= each.starts < each.ends <= len(text)
        assert (each.at is None) == bool(each.words)
        assert each.at is None or WEDNESDAY < each.at <= WEDNESDAY + LAST
        assert not each.cron or cron.problem_of(each.cron) == ""


@pytest.mark.parametrize(
    "text",
    [
        "when " * 5000,
        "\n" * 65_000,
        " " * 65_000,
        "in " * 9000 + "remind",
        "a," * 20_000 + " call on monday",
        '"' * 30_000,
        f"{'please call my review with a ' * 13}on monday. " * 25,
        "we need to call on friday " * 700,
    ],
)
def test_a_silly_text_costs_no_time_to_speak_of(text: str) -> None:
    with cpu_within(2):
        found_in(text, zone="UTC", written_at=WEDNESDAY)


ODD = {
    name: (unit * 65_000)[:65_000]
    for name, unit in {
        "slashes": "/", "backticks": "`", "quotes": "'", "dots": ".", "dashes": "-", "spaces": " ", "lines": "\n",
        "digits": "7", "numbers": "7 ", "letters": "a", "parts": "a;", "colons": "a:", "short lines": "a\n",
        "paragraphs": "x\n\n", "if": "if ", "when": "when ", "please": "please ", "if and call": "if Call ",
        "long orders": "if " + "Call " * 78 + ";", "long slashes": "/" * 399 + ";", "orders": "Call Ana tomorrow. ",
        "tasks": "Remind me on Friday; ", "mixed": "/`a;if when 7 \n", "words": "call if when by on at / ' \" ",
        "german": "wenn ", "accents": "é",
    }.items()
}  # fmt: skip


def test_a_long_row_of_helping_verbs_says_nothing_and_is_read_in_a_moment() -> None:
    text = "has been is be had " * 900 + "out of bed, with a degree"
    with cpu_within(0.3):
        assert "graduat" not in vocabulary(text)


@pytest.mark.parametrize("name", ODD)
def test_what_a_text_of_any_kind_says_is_found_in_a_moment(name: str) -> None:
    text = f"{ODD[name]}1"
    readings = (
        lambda text: found_in(text, zone="UTC", written_at=WEDNESDAY, doubtful=True),
        called_off,
        vocabulary,
        lambda text: verdict(("invoice", "clear"), text),
        lambda text: verdict(("a", "call"), text),
        DENIAL.search,
    )
    for read in readings:
        read("If possible call Ana tomorrow. We might. The invoice did not clear.")  # compiles the patterns
        with cpu_within(0.3 if name.startswith("long") else 0.15):
            read(text)


def test_no_more_sentences_are_looked_at_than_a_text_has() -> None:
    assert one("a;" * 499 + "Call Ana tomorrow.").starts == 998
    assert not found_in("a;" * 500 + "Call Ana tomorrow.", zone=BERLIN, written_at=WEDNESDAY)


def test_a_statement_fulfils_a_condition_denies_it_or_says_nothing_of_it() -> None:
    for condition, statement, said in (
        ("the invoice clears", "The invoice cleared this morning.", True),
        ("the invoice clears", "Invoice 4411 clears.", True),
        ("the invoice clears", "The invoice has been cleared by finance.", True),
        ("the invoice clears", "The invoice has not cleared yet.", False),
        ("the invoice clears", "The invoice hasn\u2019t cleared.", False),
        ("the invoice clears", "The invoice will clear soon.", None),
        ("the report is finished", "The report is half finished.", False),
        ("the report is finished", "The report is almost finished.", False),
        ("the report is finished", "The report is finished.", True),
        ("the invoice clears", "When the invoice clears, tell finance.", None),
        ("the invoice clears", "We expect the invoice to clear on Friday.", None),
        ("the invoice clears", "Has the invoice cleared?", None),
        ("the invoice clears", "The contract is signed.", None),
        ("the SOC2 report is filed", "Filed the SOC2 report with the auditor.", True),
        ("the SOC2 report is filed", "The SOC1 report was filed.", None),
        ("the report is submitted", "The report was filed.", True),
        ("the report is submitted", "Ana opened the report file.", None),
        ("payment arrives", "Payment was received.", True),
        ("payment arrives", "Acme paid.", True),
        ("payment arrives", "Payment is due on Friday.", None),
        ("payment arrives", "Payment has still not arrived.", False),
        ("the contract is signed", "Contract signed by Ana after the meeting.", True),
        ("the contract is signed", "The contract is unsigned.", False),
        ("Anna arrives", "Anna arrives on Monday.", None),
        ("Anna arrives", "Anna arrived on Monday.", True),
        ("the permit expires", "The permit lapsed last night.", True),
        ("the permit expires", "The permit expires in March.", None),
        ("the lamp is in stock", "The lamp is out of stock.", False),
        ("Omar replies", "We have an answer from Omar.", True),
        ("Hanna signs the lease", "The lease was signed by Hanna.", True),
        ("Hanna signs the lease", "Hanna's brother signed the lease.", None),
        ("Hanna signs the lease", "I hope Hanna signs the lease.", None),
        ("the supplier cancels the order", "The supplier called our order off.", True),
        ("Marek gets back from holiday", "Marek is back from holiday.", True),
        ("the parcel from Lisbon gets here", "The parcel from Lisbon is stuck at customs.", None),
        ("the temperature in the greenhouse drops below 5 degrees", "The greenhouse is at 3 degrees.", True),
        ("the temperature in the greenhouse drops below 5 degrees", "The greenhouse is at 7 degrees.", False),
        ("the temperature of freezer 2 goes above minus 20", "Freezer 2 is at -17.5.", True),
        ("the queue grows beyond 1,500", "The queue is at 1,200 jobs.", False),
        ("we have 50 registrations", "We now have 53 registrations.", True),
        ("more than 5 people sign up", "7 people have signed up.", True),
        ("more than 5 people sign up", "3 people have signed up.", False),
        ("the board votes for the merger", "The board voted against the merger.", False),
        ("the refund has gone through", "The refund is still being processed.", False),
        ("the refund has gone through", "The refund was processed.", True),
        ("the concert is sold out", "The concert sold out within an hour.", True),
        ("the concert is sold out", "The concert is almost sold out.", False),
        ("Pia turns in her report", "Pia has submitted her report.", True),
        ("the judge grants the extension", "The lawyer thinks the judge grants the extension.", None),
        ("the tiler is done with the bathroom", "The tiler has done half of the bathroom.", False),
        ("Mr. Petrov picks up his car", "Mr. Petrov collected his car.", True),
        ("the school confirms the place", "We have the school's confirmation of the place.", True),
        ("the courier delivers the vase", "The courier could not deliver the vase.", False),
        ("the ferry leaves", "The ferry leaves at nine.", None),
        ("the ferry leaves", "The ferry has just left.", True),
        ("container AX 4471 clears customs", "Customs released AX 4471.", True),
        ("container AX 4471 clears customs", "Container AX 4417 cleared customs.", None),
        ("the invoice clears", "The invoice has not cleared. Later: the invoice cleared.", True),
        ("the price drops below 200 euros", "The price dropped from 250 to 184 euros.", True),
        ("the price drops below 200 euros", "The price rose by 20 euros.", None),
        ("the price drops below 200 euros", "The price is 20 euros too high.", None),
        ("Ben sends the report", "Ben forgot to send the report.", None),
        ("Ben sends the report", "It is too early to send the report, says Ben.", None),
        ("Anna agrees to the price", "Anna agreed to the price.", True),
        ("the ticket is closed", "The ticket was closed by mistake and reopened.", False),
    ):
        wanted = words_of(condition)
        assert verdict(wanted, statement) is said, (condition, statement, said)
        assert said is None or wanted_of(wanted).words <= vocabulary(statement), (condition, statement, said)


@pytest.mark.parametrize(
    ("order", "met", "not_met"),
    [
        (
            "Sobald die Rechnung bezahlt ist, schicke die Ware.",
            "Die Rechnung wurde überwiesen.",
            "Die Rechnung ist offen.",
        ),
        ("Cuando llegue el pedido, avisa a Marta.", "El pedido llegó esta mañana.", "El pedido no ha llegado."),
        ("Dès que Luc signe le contrat, envoie-le.", "Le contrat a été signé par Luc.", "Luc doit signer le contrat."),
        ("Gdy klient zapłaci fakturę, wyślij towar.", "Klient zapłacił fakturę.", "Klient nie zapłacił faktury."),
    ],
)
def test_conditions_of_other_languages_are_met_in_them(order: str, met: str, not_met: str) -> None:
    [found] = found_in(order, zone="UTC", written_at=WEDNESDAY)
    assert verdict(found.words, met) is True
    assert verdict(found.words, not_met) is not True


# Commitments, and behind a sign what is said later: whether it fires.
LATER = """
Sobald das Museum öffnet, ruf Anna an.
+Das Museum hat heute geöffnet.
-Das Museum hat noch nicht geöffnet.
-Das Museum wird morgen geöffnet.
-Der Laden hat heute geöffnet.
-Das Museum hat heute geschlossen.
Cuando se venda el piso, avisa a Luis.
+El piso se vendió ayer.
-El piso no se vendió.
-El piso se venderá mañana.
-El coche se vendió ayer.
Quand le magasin ouvre, appelle Luc.
+Le magasin a ouvert ce matin.
-Le magasin n'a pas ouvert.
-Le magasin va ouvrir demain.
-Le magasin a fermé ce matin.
Quand Ana part, appelle Luc.
+Ana est partie ce matin.
-Ana a fait part de ses doutes.
Wenn Ana geht, ruf Ben an.
+Ana ist gegangen.
-Ana geht es gut.
Wenn Ana abreist, ruf Ben an.
-Es geht um Ana.
-Ana geht zum Arzt.
When Ewa resigns, tell the board.
+Ewa gave notice.
-Ewa gave notice of the meeting.
-Ewa stepped down the voltage.
When Marek returns, call me.
+Marek got back last night.
When Ben leaves, lock the door.
+Ben has gone.
-Ben has gone mad.
-Ben has gone through the list.
When Ben loses his key, change the lock.
+Ben lost his key.
-Ben almost lost his key.
-Ben has not lost his key.
-Ben lost the match.
-Ben's sister lost her key.
-Ben might lose his key.
When the boiler is installed, cancel the rental.
+The installation of the boiler is complete.
+They put in the boiler yesterday.
-The installation of the boiler costs 900 euros.
-The installation of the boiler starts on Monday.
-The installation of the boiler is not finished.
-The boiler installation form is here.
-The installation guide of the boiler is complete.
-We put in an offer for the boiler.
-The installation of the pump is complete.
Once both partners have signed, send the deed.
+Both partners have signed.
-One of the partners has signed.
-Only one of the partners has signed.
-Some of the partners signed.
-None of the partners signed.
When version 3 is released, update the guide.
+Version 3 was released today.
+v3.0.0 is out.
-The release notes for version 3 are ready.
-The release of version 3 was postponed.
-The release candidate of version 3 is available.
-Version 3.1 is released.
-v3.0.1 is out.
-The release date of version 3 is confirmed.
As soon as the stress test passes, let the crew start.
+The stress test has passed.
-The stress test has not passed.
-The stress test was delayed.
-Not all stress tests passed yet.
If it snows on Sunday, book the hall.
+It snowed on Sunday.
+On Sunday it snowed all day.
-It snowed on Monday.
-It will snow on Sunday.
-It did not snow on Sunday.
-It snows.
Once Mia is engaged, order flowers.
-Her sister is engaged, says Mia.
-Mia said that her sister is engaged.
+Mia is engaged.
-Mia's brother is engaged.
When more than 20 guests sign up for the tour, rent a bus.
+26 guests have signed up for the tour.
+Registrations for the tour: 31.
-Registrations for the tour: 14.
-Twelve guests signed up for the tour.
+Thirty guests signed up for the tour.
Once the crane is dismantled, open the gate.
+They took the crane apart.
-They will take the crane apart on Monday.
-The crane is being dismantled.
-They took the shed apart near the gate.
-The crane was not dismantled.
When Mr. Sorel is discharged, call the nurse.
+Mr. Sorel has left hospital.
-Mr. Sorel will leave hospital on Friday.
-Mr. Sorel has not left the hospital.
-Mrs. Sorel was discharged.
-Mr. Sorel left for the hospital.
Once Dr. Lee approves the budget, tell Ana.
+We got the OK for the budget from Dr. Lee.
-Dr. Lee has not approved the budget.
-Dr. Lee's approval of the budget is pending.
-We have no OK for the budget from Dr. Lee.
-Dr. Lee got the budget.
Sobald die Genehmigung vorliegt, bestell den Bagger.
+Die Genehmigung liegt vor.
-Die Genehmigung liegt noch nicht vor.
-Die Genehmigung soll am Montag vorliegen.
-Der Antrag liegt vor.
-Ohne Genehmigung liegt nichts vor.
Sobald das Paket ankommt, ruf Anna an.
+Das Paket kam heute an.
-Das Paket kommt morgen an.
-Das Paket kam nicht an.
-Die Rechnung kam heute an.
Dès que le plan est accepté, appelle Luc.
+Le plan est accepté.
-La mairie pense accepter le plan.
-Le plan sera accepté demain.
-Le plan n'est pas accepté.
-La mairie hésite à accepter le plan.
Cuando el horno esté en marcha, avisa a Luis.
+El horno está en marcha.
-El horno no está en marcha.
-El horno estará en marcha mañana.
-El motor está en marcha.
When the board hands down the decision, tell Ana.
-The board was down.
-The server is down.
-The board turned down the decision.
When the pier closes because of fog, call me.
-The pier closed because of a fair.
+The pier is closed because of fog.
-The pier closed.
When the refund arrives, tell Ana.
-The refund request arrived.
+The refund has arrived.
-The refund was held up.
-The refund form arrived.
When Tom registers for the course, send the book.
+Tom signed up for the course.
-Tom signed the course book.
-Tom might sign up for the course.
-Tom's wife signed up for the course.
When the parcel lands, call Ana.
+The parcel landed.
-Another parcel landed.
-The wrong parcel landed.
-Someone else's parcel landed.
When the lease is signed, order the keys.
+The lease was signed.
+The lease was signed, but the keys are not here.
-A copy of the lease was signed.
-The draft lease was signed.
When another lease is signed, tell Ben.
+Another lease was signed.
When the copy of the deed is approved, tell Ben.
+The copy of the deed was approved.
Applaud Noor when she wins the debate.
+Noor won the debate.
-Ida won the debate.
Frame the certificates as soon as they are signed.
+The certificates were signed by the dean.
-The lease was signed by the dean.
Ask Omar about the boat when it is repaired.
+The boat has been repaired.
-The bike has been repaired.
If the cellar gets warmer than minus two, tell Ben.
+The cellar has risen to +1.
-The cellar is at minus six.
When more than four pupils are absent, tell Ben.
+Seven pupils are absent.
-Three pupils are absent.
When the baker raises his prices, tell Ben.
+The baker's prices rose by a tenth.
-The butcher's prices rose by a tenth.
When the alarm in hall 2 goes off, tell Ben.
+The alarm in hall 2 is ringing.
When Ida has a fever, tell Ben.
+Ida has a fever.
-Ida has no fever.
Once the packing note is signed, tell Ben.
+The packing note is signed.
-The packing note has not been signed yet.
When the import finishes, tell Ben.
+The import finished without errors.
-The job ended without an import.
Reorder white chalk when it runs out.
+The white chalk ran out.
-The green chalk ran out.
When Noor pays the deposit, tell Ben.
+Noor's deposit has arrived.
Let Ida know when Noor is discharged from hospital.
+Noor left the hospital.
When traffic drops by 20 percent, tell Ben.
+Traffic fell by 20 percent.
When the parcel from Faro arrives, tell Ben.
-The parcel rate from Faro dropped by 5 percent.
When the rent for hall 2 is paid, tell Ben.
+The rent for hall 2 was paid.
-The rent reminder for hall 2 arrived.
When the team develops the app, tell Ben.
-The team uses the app.
Send the parcel to Berlin when she has signed the lease.
+Ida signed the lease.
Once the loan is paid off, tell Ben.
+The loan was repaid.
When the pull request from Ida is merged, tell Ben.
+Ida's PR was merged.
When Noor reaches Faro, tell Ben.
+Noor made it to Faro.
When the lamp for hall 3 ships, tell Ben.
+The lamp for hall 3 left the warehouse.
-The lamp for hall 4 left the warehouse.
If the nightly export fails, tell Ben.
+The nightly export aborted at four.
Keep the parcel until the fee is paid, then give it to Ida.
+The fee was paid.
-The fee is due.
Each time a new tenant moves in, label the mailbox.
+A new tenant has moved in.
When the migration succeeds, tell Leo.
+The migration succeeded.
-The migration succeeded on staging but failed in production.
If the case is reopened, tell the lead.
+The case was reopened.
-The case is still closed.
Thank the helpers when the bazaar is over.
+The bazaar ended on Sunday.
-The bazaar is ending soon.
Let the night shift know when press 3 is running again.
+Press 3 is back in operation.
-Press 3 is on hold.
Ask Noor for her badge as soon as she resigns.
+Noor handed in her notice this morning.
-Ivo resigned.
Let Ivo know when his badge has been printed.
+Ivo's badge has been printed.
-Noor's badge has been printed.
Tell the office when the paper runs out.
+We are out of paper.
+There is no paper left.
-We are out of town.
Call Noor when the baby is born.
+Ida had her baby yesterday.
-Ida had a baby shower.
Collect the suit when it is ready.
+The suit can be picked up.
-The suit can be picked up only after payment.
-The suit can be picked up once it is ready.
Clean the hall when the hall is empty.
-There is no smoking in the hall.
Tell Noor when the lease expires.
-The lease is out of the folder.
Tell Noor when Ivo arrives.
-Ivo has sent us a mail.
Remind me when the court is free again to book it.
+The court is no longer occupied.
-The court will be free again.
Tell the crew when the tent is set up.
+They finished building the tent and set up everything.
-The tent is only half set up.
When Noor is promoted, update the chart.
+Noor has been promoted.
-Noor was passed over for promotion.
Tell the guests if the concert is moved indoors.
+The concert was moved inside.
-They are considering moving the concert indoors.
Call the debtor whenever a payment bounces.
+A payment bounced today.
-No payment bounced this week.
Text me when the kids get home from school.
+Both children are back from school.
-The kids are on their way home from school.
When the passport is ready, book the flight.
+The passport can be collected now.
-The passport is not ready.
"""


def test_what_is_partly_done_put_off_or_done_by_another_fires_nothing() -> None:
    for line in LATER.strip().splitlines():
        if line[0] not in "+-":
            (found,) = found_in(line, zone="UTC", written_at=WEDNESDAY)
        else:
            assert (verdict(found.words, line[1:]) is True) == (line[0] == "+"), (found.clause, line)


@pytest.mark.parametrize(
    ("order", "said", "met"),
    [
        ("I'll tell you once I'm done reading it.", "I feel rested and ready to read on.", None),
        ("I'll tell you once I'm done reading it.", "Otto has finished reading it.", None),
        ("I'll tell you once I'm done reading it.", "I finished reading it last night.", True),
        ("When I'm back home, remind me of the ferns.", "Otto is back home since noon.", None),
        ("When I'm back home, remind me of the ferns.", "The user is back home.", True),
        ("When the bug is fixed, tell the team.", "Fix the bug in the parser of the log.", None),
        ("When the bug is fixed, tell the team.", "Let's get the bug fixed, it is worth it.", None),
        ("When the bug is fixed, tell the team.", "The bug of the parser has been fixed.", True),
        ("Once the package is installed, tell Ops.", "To install the package, run the script.", None),
        ("Once the package is installed, tell Ops.", "The package was installed on the host.", True),
        ("When the key is found, give it back to Tom.", "Finding the key of a good talk is hard.", None),
        ("When the key is found, give it back to Tom.", "We found the key of the shed.", True),
        ("When Ida gets the job, send her flowers.", "Ida always gets the job of the driver.", None),
        ("When the fee is paid, tell Ana.", "Copies are made provided that the fee is paid.", None),
        ("When the parcel arrives, tell Ana.", "The bell rings every time the parcel arrives.", None),
        ("When the parcel arrives, tell Ana.", "It is important that the parcel arrives.", None),
        ("If it rains, cover the bikes.", "Utilisez la clef pour ouvrir le local.", None),
        ("If it rains, cover the bikes.", "It's been pouring here since dawn.", True),
        ("Wenn die Rechnung bezahlt ist, gib bitte Nord Bescheid.", None, None),
        ("Cuando llegue el pedido, avisa al cliente.", None, None),
        ("Gdy przyjdzie paczka, powiadom pana Nowaka.", None, None),
        ("Quand le colis arrive, préviens Luc.", None, None),
    ],
)
def test_only_a_statement_that_it_has_happened_meets_a_condition(
    order: str, said: str | None, met: bool | None
) -> None:
    found = one(order)
    assert verdict(found.words, said or order, own=found.own) is met


def test_a_label_may_say_it_too() -> None:
    wanted = words_of("the invoice clears")
    assert verdict(wanted, "Done.", ["invoice-cleared"]) is True
    assert verdict(wanted, "Cleared.", ["invoice"]) is True
    assert verdict(wanted, "Done.", ["invoice-not-cleared"]) is False


@tries()
@given(st.lists(PIECES, max_size=20).map(" ".join))
def test_a_condition_is_never_judged_by_a_text_without_its_words(text: str) -> None:
    wanted = words_of("the invoice clears")
    assert verdict(wanted, text) is None or set(wanted) <= vocabulary(text)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("I will call Ana on 2026-12-05 20:42.", "2026-12-06T01:42"),
        ("Remind me to call Ana on 2026-12-05 9:00", "2026-12-05T14:00"),
        ("I will call Ana on 5 December 2026 8 pm.", "2026-12-06T01:00"),
        ("I will call Ana tomorrow at 20:42 UTC.", "2026-11-30T20:42"),
        ("I will call Ana on 2026-12-05 at 20:42 (UTC).", "2026-12-05T20:42"),
        ("I will call Ana on 5 December at 8 pm CET.", "2026-12-05T19:00"),
        ("Call Ana at 2026-12-05T20:42:00Z.", "2026-12-05T20:42"),
        ("Call Ana at 2026-12-05T20:42+02:00.", "2026-12-05T18:42"),
    ],
)
def test_an_hour_belongs_to_the_day_before_it_and_to_the_zone_behind_it(text: str, due: str) -> None:
    written = datetime(2026, 11, 29, 21, 2, tzinfo=UTC)
    [found] = found_in(text, zone="America/New_York", written_at=written)
    assert found.at == datetime.fromisoformat(f"{due}+00:00")
