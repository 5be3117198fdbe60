"""Pairs that a reader found to be merged, or one to replace the other, although each says something of its own."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from memory.text.similarity import Statement, reconcile

START = datetime(2026, 1, 5, tzinfo=UTC)
SWAPPED = [
    (
        "For Acme the discount is 10%, for Globex the discount is 20%.",
        "For Globex the discount is 10%, for Acme the discount is 20%.",
    ),
    (
        "In Berlin 5 desks are free, in Paris 10 desks are free.",
        "In Paris 5 desks are free, in Berlin 10 desks are free.",
    ),
    ("The manager of Anna is Ben.", "The manager of Ben is Anna."),
    ("Ship to Anna via Ben.", "Ship to Ben via Anna."),
    ("mysql replaced postgres", "postgres replaced mysql"),
    ("svc-a calls svc-b", "svc-b calls svc-a"),
    ("The frontend depends on the backend.", "The backend depends on the frontend."),
    ("sales reports to marketing", "marketing reports to sales"),
    ("Only admins can delete posts.", "Admins can delete only posts."),
    ("The admin may view, the guest may edit reports.", "The guest may view, the admin may edit reports."),
    ("Encrypt before upload, then compress.", "Compress before upload, then encrypt."),
    ("I owe you $50.", "You owe me $50."),
    ("He owes her money.", "She owes him money."),
]
OTHER_WORDS = [
    ("Alice is the CEO", "Alice was the CEO"),
    ("The office is in Berlin", "The office was in Berlin"),
    ("The shop will be closed", "The shop was closed"),
    ("We had backups", "We have backups"),
    ("The IT budget is tight", "The budget is tight"),
    ("US customers pay by card", "Our customers pay by card"),
    ("He takes Vitamin A", "He takes Vitamin"),
    ("Blood type A was ordered", "Blood type was ordered"),
    ("Add me to the list.", "Add the list."),
    ("Remove him from the group.", "Remove the group."),
    ("config.ac: Update.", "config.ac: Call it."),
    ("Nie podano adresu", "Teraz nie przeszukujemy."),
    ("The Plus plan costs $20", "The plan costs $20"),
    ("The Plus plan costs $20", "The plan costs $30"),
    ("Plan A was chosen by Ana", "The plan was chosen by Ana"),
    ("Ana drove from A to B", "Ana drove from B to A"),
    ("Ana drove in A to B", "Ana drove in B to A"),
    ("She joined US sales", "She joined us in sales"),
]
PARTS = [
    ("The log is rotated twice a day", "The log is rotated twice a week"),
    ("Die Kaution beträgt 900 Euro", "Die Miete beträgt 900 Euro"),
    ("Die Kaution beträgt 900 Euro", "Die Kaution betrug 900 Euro"),
    ("The rate is 5 %", "The rate was to be raised to 6 %"),
    ("The meeting is on Monday", "The meeting was to be moved to Friday"),
    ("Items 1,2 and 3 are missing", "Items 1.2 and 3 are missing"),
    ("See pages 4,5 or 6", "See pages 4.5 or 6"),
    ("Ports 8,9,10 and 11 are open", "Ports 8.9, 10 and 11 are open"),
    ("Use port 8080 for http", "Use port 8080 for https"),
    ("The server is blocking", "The server is blocked"),
    ("The table is called users", "The table is called user"),
    ("Ana is interesting", "Ana is interested"),
    ("Ana has a son", "Ana has sons"),
    ("The storage limit is 5 GB per user", "The storage limit is now 10 GB per tenant"),
    ("The timeout is 30 s in production", "The timeout was increased to 60 s in staging"),
    ("Entry is 40 euros for adults", "Entry is now 20 euros for children"),
    ("Ana works at Acme", "Ana now works at Beta on weekends"),
    ("Mia lives in Oslo", "Mia moved to Berlin for the summer"),
    ("The office is noisy", "The office moved to Bergen"),
    ("Ana's boss is Ben", "Ana is the boss of Ben"),
    ("Lars's mother is Ingrid", "Lars is the mother of Ingrid"),
    ("Ana handed the laptop to Ben", "Carl handed the laptop to Ben"),
    ("The parcel went from Ana to Ben", "The parcel went from Dora to Ben"),
    ("The budget is 500", "The budget will be raised to 700"),
]
AS_WRITTEN = [
    ("The password is aBcDeF", "The password is abcdef"),
    ("The token is QWErty", "The token is qweRTY"),
    ("Path is /var/log/app", "Path is var log app"),
    ("Use -v flag", "Use v flag"),
    ("Run rm * in tmp", "Run rm in tmp"),
    ("Data is in C:\\data\\x", "Data is in C data x"),
    ("Logs are in /var/Log/app", "Logs are in /var/log/app"),
    ("Delete *.py in tmp", "Delete py in tmp"),
    ("Run with --force today", "Run with force today"),
    ("The code is a1B2c", "The code is a1b2C"),
    ("Set MAX_SIZE first", "Set max_size first"),
    ("Read src/app/Main now", "Read src/app/main now"),
]
NAMES = [
    ("Always call Williams first", "Always call William first"),
    ("Adams owns the account", "Adam owns the account"),
    ("Marck approved the budget of the team", "Mark approved the budget of the team"),
    ("The user marck has admin rights", "The user mark has admin rights"),
]
# A value that only tells which one is meant, or of which there are several; a subject that only its own text names.
WHICH = [
    ("Ravi works for Philips.", "Ravi works at Eindhoven."),
    ("The viewer runs on Android 12", "The viewer runs on Android 14"),
    ("The official language of the fair is Dutch.", "The official language of the fair is German."),
    ("The plugin supports Django 4.2", "The plugin supports Django 5.1"),
    ("Dropped support for Node 16.2", "Dropped support for Node 18.1"),
    ("Updated chart 12", "Updated chart 40"),
    ("Lucía es de Lugo.", "Lucía es Lugo."),
    ("This helper is stable.", "This helper is deprecated."),
    ("It runs on MariaDB 10.", "It runs on MariaDB 11."),
    ("These checks are enabled.", "These checks are disabled."),
    ("Diese Regel ist aktiv.", "Diese Regel ist inaktiv."),
    ("Changes in this edition", "This edition changes that."),
]
TASTES = [
    ("Sam likes tea.", "Sam likes coffee."),
    ("The customer wants a red chair", "The customer wants a blue chair"),
    ("Anna likes to speak Spanish", "Anna likes to speak German"),
]
# One letter more, less or other makes another word, known to this program or not.
OTHER_LETTERS = [
    ("The sample holds sulfate", "The sample holds sulfite"),
    ("The bath holds nitrate", "The bath holds nitrite"),
    ("The law covers interstate traffic", "The law covers intrastate traffic"),
    ("We ordered stationery for the office", "We ordered stationary for the office"),
    ("The drug treats hypertension", "The drug treats hypotension"),
    ("The surface adsorbs the gas", "The surface absorbs the gas"),
    ("They prescribe the drug", "They proscribe the drug"),
    ("The bed is made of silver", "The bed is made of sliver"),
    ("The crew is taping the wall", "The crew is tapping the wall"),
    ("The gate was bared", "The gate was barred"),
    ("The claim is accepted", "The claim is excepted"),
    ("The server runs kubelet", "The server runs kubelat"),
    ("The customer wants monthly invoices", "The custome wants monthly invoices"),
    ("The customer wants monthly invoices", "The cuatomer wants monthly invoices"),
]

# By what tells the two apart.
APART = {
    "the order of Polish words": [
        ("Anna pije herbatę, a Piotr pije kawę.", "Anna pije kawę, a Piotr pije herbatę."),
        ("Kasa 1 jest otwarta, kasa 2 jest zamknięta.", "Kasa 1 jest zamknięta, kasa 2 jest otwarta."),
        ("Stary serwer jest szybki, nowy jest wolny.", "Stary serwer jest wolny, nowy jest szybki."),
        ("Brat Zofii lubi siostrę Piotra.", "Brat Piotra lubi siostrę Zofii."),
        ("Czerwony dom jest za białą szkołą.", "Biały dom jest za czerwoną szkołą."),
        ("Autobus wyprzedził żółty tramwaj.", "Tramwaj wyprzedził żółty autobus."),
    ],
    "what is said of each behind a label": [
        ("Project Alpha: client happy, team tired", "Project Alpha: client tired, team happy"),
        ("Site report: pump broken, valve fine", "Site report: pump fine, valve broken"),
        ("Wohnung: Küche neu, Bad alt", "Wohnung: Küche alt, Bad neu"),
        ("Oferta: precio alto, plazo corto", "Oferta: precio corto, plazo alto"),
        (
            "no se puede convertir una matriz asociativa a indexada",
            "no se puede convertir una matriz indexada en asociativa",
        ),
    ],
    "from whom and to whom": [
        ("Pago de Luis.", "Pago a Luis."),
        ("Carta de María", "Carta a María"),
        ("Brief an Anna", "Brief von Anna"),
        ("Das Paket von Anna ist da", "Das Paket an Anna ist da"),
        ("List Anny jest tutaj", "List do Anny jest tutaj"),
        ("Refund of Ana", "Refund to Ana"),
        ("The debt of Ana is 500 euros", "The debt to Ana is 500 euros"),
        ("The photo of Ben hangs in the hall", "The photo for Ben hangs in the hall"),
        ("local diversion of /bin/vi", "local diversion to: /bin/vi"),
    ],
    "what is done and what is still to be done": [
        ("The invoice is paid.", "The invoice is to be paid."),
        ("The hedge is trimmed.", "The hedge has to be trimmed."),
        ("Die Rechnung wird bezahlt.", "Die Rechnung ist bezahlt."),
        ("Der Vertrag wird gekündigt", "Der Vertrag wurde gekündigt"),
        ("Frau Berger ist krank", "Frau Berger wird krank"),
        ("La factura está pagada", "La factura fue pagada"),
        ("That'd be great for Maria!", "That's great for Maria!"),
    ],
    "of whom it is said": [
        ("It was late on Friday.", "I was late on Friday."),
        ("It's insured with Allianz.", "I'm insured with Allianz."),
        ("What inspired it?", "What inspired you?"),
        ("That's been paid in full.", "He's been paid in full."),
        ("The ladder is heavy and old.", "She is heavy and old."),
    ],
    "one word, and what stands around it": [
        ("Found it.", "We found this!"),
        ("Ready it is.", "I'm ready for you."),
        ("Marek, I think of you!", "Certainly, Marek."),
        ("That's paid.", "He's been paid."),
        ("This is the default.", "The default is on."),
    ],
    "how much of it": [
        ("The house is too small.", "The house is small."),
        ("The bug is very serious.", "The bug is serious."),
        ("Color name: Dark Blue", "Color name: Very Dark Blue"),
    ],
    "what it is, and what it is in or on": [
        ("Assert a is b", "Assert a in b"),
        ("Value is 3.", "Value in 3."),
        ("The app is on Android", "The app is in Android"),
        ("The kitchen light is on", "The kitchen light is in"),
        ("No commits yet", "No commits yet on"),
    ],
    "a sign, or a small word, as a value": [
        ('The list separator is ",".', 'The list separator is ";".'),
        ("The decimal separator is '.'", "The decimal separator is ','"),
        ('The root folder is "/"', 'The root folder is "~"'),
        ("The root folder is /", "The root folder is ~"),
        ("The `is` operator is slow", "The `in` operator is slow"),
        ("See L<Test2::Event>", "See L<Test2::Event::Ok>"),
    ],
    "what is being done and what has been done": [
        ("Task 12: state Doing", "Task 12: state Done"),
        ("Vera is doing the dishes", "Vera has done the dishes"),
        ("The bread is rising", "The bread has risen"),
        ("The report is with the board for approval.", "The board has approved the report."),
        ("The sofa is with the upholsterer for a repair.", "The upholsterer has repaired the sofa."),
    ],
    "what a verb acts on, and for whom, where or with whom": [
        ("Omar drives a Volvo.", "Omar drives for Volvo."),
        ("Omar runs the bakery.", "Omar runs to the bakery."),
        ("Omar loves to cook.", "Omar loves the cook."),
        ("Ana writes the paper.", "Ana writes for the paper."),
        ("Ana teaches the school.", "Ana teaches at the school."),
        ("Leo cooks the guests.", "Leo cooks for the guests."),
        ("Mia shot the target.", "Mia shot at the target."),
        ("The keys are with the porter.", "The keys are for the porter."),
        ("Mia votes on the board.", "Mia votes for the board."),
        ("Ana's brother is here.", "Ana and her brother are here."),
        ("Encrypt, then compress.", "Compress, then encrypt."),
    ],
    "what is to be done with a thing, and whether it did": [
        ("Add: reference/x", "Update: reference/x"),
        ('The glob should not match "sub/a/b", but it did.', 'The glob should not match "sub/a/b".'),
    ],
}


@pytest.mark.parametrize("cause", APART)
def test_two_that_small_words_tell_apart_are_not_one(cause: str) -> None:
    for one, other in APART[cause]:
        for pair in ((one, other), (other, one)):
            said = [Statement(UUID(int=n + 1), text, START + timedelta(minutes=n)) for n, text in enumerate(pair)]
            assert reconcile(said).merges == (), pair


# Each claims something of its own, by what makes it seem that the newer replaces the older.
UNRELATED = {
    "an event with a date": [
        ("The sofa was delivered on Monday.", "The sofa was signed off on Monday."),
        ("The permit was approved in March.", "The permit was returned in March."),
    ],
    "a subject that names nobody": [
        ("A colleague lives in Lyon.", "A colleague lives in Nantes."),
        ("Someone lives in Graz.", "Someone lives in Linz."),
        ("Another user prefers tea.", "Another user prefers coffee."),
        ("Some guests arrive at 5.", "Some guests arrive at 7."),
    ],
    "a name with and without its accents": [
        ("Tomas resides in Malmö.", "Tomas lives in Malmö."),
        ("Tomas resides in Malmö.", "Tomas lives in Malmo."),
    ],
    "a label alone": [
        ("# TODO(b/117299409):", "# TODO(b/78648703): Remove when the deprecated flag is gone."),
        ("Linux build:", "Windows build: The runner was fixed."),
        ("settings: upgraded to Python 3.11", "settings: changed dependency on Django to 5.2"),
        ("debian/rules: upgraded to Policy 1.17", "debian/rules: changed dependency on 'debhelper' to '(>= 4.1)'"),
    ],
    "states that do not exclude each other": [
        ("Certificate is required.", "Certificate was revoked"),
        ("The passport is required.", "The passport has expired."),
        ("The account is locked.", "The account is paid."),
        ("The document is signed", "The document is public"),
        ("The room is booked", "The room is locked"),
        ("The printer isn't available", "The printer is not locked"),
        ("The disk is encrypted", "The disk is full"),
        ("The library is supported", "The library is released"),
        ("There are running jobs.", "There are stopped jobs."),
    ],
    "one state in two words": [
        ("The audit is in progress", "The audit is ongoing"),
        ("The export is paused", "The export is on hold"),
        ("Bill 12 is unpaid", "Bill 12 is outstanding"),
        ("The bug is fixed", "The bug is resolved"),
        ("The house is for sale", "The house is on the market"),
    ],
    "instead of what another text says": [
        ("Configure with --enable-checking=release.", "Configure instead with --with-libphobos-druntime-only=yes."),
        ("Use CURSES_INCLUDE_DIRS instead.", "Use CURSES_LIBRARIES instead."),
        ("Call foo_bar() instead.", "Call baz_qux() instead."),
    ],
    "New in a name": [
        ("Jersey's tax rate is 20%", "New Jersey's tax rate is 6%"),
        ("The capital of Mexico is Mexico City", "The capital of New Mexico is Santa Fe"),
        ("The mayor of Orleans is Serge", "The mayor of New Orleans is LaToya"),
    ],
    "a negation of something else": [
        ("Implement the `~` operator.", "Implement the `IS NOT` operator."),
        ("No, Ana is in Rome.", "Ana is in Rome."),
        ("I can't close the door", "I can't open the door"),
        ("She won't open the window", "She won't close the window"),
        ("XXX not implemented", "XXX: implement"),
        ("premature eof (in CRC)", "premature eof (no CRC)"),
        ("syntax error: `((%s))'", "syntax error: expecting ')' instead of %s"),
        ("Things I'd like to see:", "Things I don't want to see."),
        ("People I trust", "People I don't trust"),
    ],
    "the number of a condition, or of a numbered thing": [
        ("Returns a true value if OBJ is ten characters.", "Returns a true value if OBJ is zero characters."),
        ("Fails if the count is 3", "Fails if the count is 4"),
        ("Read it when a module is loaded (method one)", "Read it when a module is loaded (method two)"),
        ("Fix PR ld/13302, taken from the trunk.", "Fix PR ld/28348, taken from the trunk. Closes: #994530."),
        ("Fixed in version: 0.45", "Fixed in version: 0.12"),
    ],
    "nothing that is named": [
        ("The default is 0.", "The default is 65536."),
        ("The default value in this file is 5.", "The default value in this file is 6."),
        ("El valor predeterminado es 10.", "El valor predeterminado es 20."),
        ("La valeur par défaut est 3.", "La valeur par défaut est 4."),
        ("Die Voreinstellung ist 3000.", "Voreinstellung ist 500."),
    ],
}


@pytest.mark.parametrize("cause", UNRELATED)
def test_what_only_seems_to_be_about_the_same_replaces_nothing(cause: str) -> None:
    for one, other in UNRELATED[cause]:
        for pair in ((one, other), (other, one)):
            said = [Statement(UUID(int=n + 1), text, START + timedelta(minutes=n)) for n, text in enumerate(pair)]
            found = reconcile(said)
            assert (found.merges, found.superseded) == ((), ()), pair


def test_each_of_the_two_is_kept() -> None:
    for one, other in (
        *SWAPPED,
        *OTHER_WORDS,
        *PARTS,
        *AS_WRITTEN,
        *NAMES,
        *WHICH,
        *TASTES,
        *OTHER_LETTERS,
    ):
        for pair in ((one, other), (other, one)):
            said = [Statement(UUID(int=n + 1), text, START + timedelta(minutes=n)) for n, text in enumerate(pair)]
            found = reconcile(said)
            assert (found.merges, found.superseded) == ((), ()), pair


@pytest.mark.parametrize(
    "text",
    [
        "It is worth noting that Ana works in sales.",
        "It is agreed that Ana leads sales.",
        "Ana works in sales, as is known.",
        "What is known: Ana works in sales.",
    ],
)
def test_what_cannot_be_read_is_left_alone_and_stops_nothing(text: str) -> None:
    said = [
        Statement(UUID(int=n + 1), each, START + timedelta(minutes=n))
        for n, each in enumerate((text, "Ana is in sales"))
    ]
    assert reconcile(said).superseded == ()


def test_what_is_a_matter_of_style_still_is() -> None:
    for one, other in (
        ("The IT budget is tight", "Please note that the IT budget is tight."),
        ("He takes Vitamin A", "He takes Vitamin A, as you know"),
        ("The customer wants a monthly invoice", "The Customer Wants A Monthly Invoice"),
        ("The customer is in the store", "THE CUSTOMER IS IN THE STORE"),
        ("The team uses GitHub and PostgreSQL", "the team uses github and postgresql"),
        ("The invoice was paid", "The invoice WAS paid"),
        ("The path is /var/log/app", "The path is `/var/log/app`."),
        ("The **plan** is *annual*", "The plan is annual"),
        ("Reports go by email/phone", "Reports go by email / phone"),
        ("Mark approved the budget", "Makr approved the budget"),
        ("nasz klient płaci fakturę kartą", "fakturę kartą płaci nasz klient"),
        ("Zamówienie zostało wysłane w piątek", "W piątek zostało wysłane zamówienie"),
        ("Allergy of Ana: latex", "Ana has a latex allergy"),
        ("I smoke.", "I smoke!"),
        ("Our customers pay by card", "Customers pay by card"),
        ("We ship on Monday", "Ship on Monday"),
        ("The review is on Monday", "The review is Monday"),
    ):
        for pair in ((one, other), (other, one)):
            said = [Statement(UUID(int=n + 1), text, START + timedelta(minutes=n)) for n, text in enumerate(pair)]
            assert len(reconcile(said).merges) == 1, pair


def test_what_there_is_one_of_around_an_entry_is_known_by_this() -> None:
    for older, newer in (
        ("This project runs on MariaDB 10", "This project runs on MariaDB 11"),
        ("The laptop runs on Fedora 38", "The laptop runs on Fedora 40"),
        ("Ravi works for Philips.", "Ravi now works for Siemens."),
        ("The language of the fair is Dutch.", "The language of the fair is German."),
    ):
        said = [Statement(UUID(int=n + 1), text, START + timedelta(days=n)) for n, text in enumerate((older, newer))]
        assert len(reconcile(said).superseded) == 1, older


def test_another_taste_replaces_one_where_a_word_says_that_it_changed() -> None:
    pair = ("Sam likes tea.", "Sam now likes coffee.")
    said = [Statement(UUID(int=n + 1), text, START + timedelta(minutes=n)) for n, text in enumerate(pair)]
    assert [each.why for each in reconcile(said).superseded] == ["preference"]
