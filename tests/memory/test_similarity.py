"""What says the same, what differs although it looks alike, and which newer value replaces an older one.

Pairs that a reader found merged although they differ stand in ``test_never_merged.py``: every one of them must be kept.
"""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.text.similarity import Reading, Reconciliation, Signatures, Statement, packed, reconcile, resolved
from tests.budgets import cpu_within, tries

START = datetime(2026, 1, 5, tzinfo=UTC)


def statements(*texts: str, **common: object) -> list[Statement]:
    """One a minute, in that order."""
    return [
        Statement(UUID(int=number + 1), text, START + timedelta(minutes=number), **common)  # type: ignore[arg-type]
        for number, text in enumerate(texts)
    ]


def merged(found: Reconciliation) -> int:
    return sum(len(each.merged) for each in found.merges)


def left(said: Sequence[Statement], found: Reconciliation) -> list[Statement]:
    gone = {each for merge in found.merges for each in merge.merged} | {each.older for each in found.superseded}
    return [each for each in said if each.id not in gone]


def test_restatements_are_one() -> None:
    for one, other in (
        ("Ana prefers email for invoices", "ana prefers e-mail for invoices."),
        ("The customer wants monthly invoices", "THE CUSTOMER WANTS MONTHLY INVOICES"),
        ("The customer wants monthly invoices", "Customer wants monthly invoices"),
        ("The customer wants monthly invoices", "Please note that the customer wants monthly invoices."),
        ("The customer wants monthly invoices", "The customer basically wants monthly invoices, as you know"),
        ("The customer wants monthly invoices", "The cusotmer wants monthly invoices"),
        ("The customer wants monthly invoices", "The customer wnats monthly invoices"),
        ("The customer wants monthly invoices", "teh customer wants monthly invoices"),
        ("The customer wants monthly invoices", "The client wants monthly bills"),
        ("Ana bought 3 seats in March", "Ana purchased three seats in March"),
        ("The price was $49 on May 3", "On May 3, the price was $49.00"),
        ("The filter is rinsed twice a day", "The filter is rinsed two times a day"),
        ("Die Kaution beträgt 900 Euro", "Kaution: 900 Euro"),
        ("Marta at Globex prefers email", "At Globex, Marta prefers email"),
        ("Acme requires a signed NDA before onboarding", "As discussed, Acme needs a signed NDA before onboarding"),
        ("Ana does not like phone calls", "Ana doesn't like phone calls"),
        ("The door in Leeds closes at 18:00", "Just to confirm: the door in Leeds closes at 18:00"),
        ("The parcel weighs 5kg", "The parcel weighs 5 kg"),
        ("Key: [REDACTED:crm]", "key: <REDACTED:crm>"),
        ("私は猫が好きです。", "私は猫が好きです"),
        ("…", "…"),
        ("The customer wants\nmonthly invoices", "> - the customer wants monthly invoices\n"),
        ("Acme paid $59 on July 18 by bank transfer", "On July 18 Acme paid $59 by bank transfer"),
        ("The annual agreement with the supplier", "The yearly contract with the vendor"),
        ("Ana takes deliveries at home and lives in Leeds", "Ana lives in Leeds and takes deliveries at home"),
        ("The lawyer of Acme in Oslo is Teresa Gallo", "Teresa Gallo is the attorney of Acme in Oslo"),
        ("Le 17 June sera livrée la commande 4711 de Acme", "La commande 4711 de Acme sera livrée le 17 June"),
        ("plan=pro; seats=3", "seats=3; plan=pro"),
        ('{"a": 1, "b": "x"}', '{"b": "x", "a": 1}'),
    ):
        assert merged(reconcile(statements(one, other))) == 1, (one, other)
        assert merged(reconcile(statements(other, one))) == 1, (one, other)


def test_what_looks_alike_and_differs_stays_apart() -> None:
    for one, other in (
        ("Ana prefers email", "Ben prefers email"),
        ("Call before shipping", "Call after shipping"),
        ("Call before shipping", "Shipping before call"),
        ("Load will increase", "Load will decrease"),
        ("Alice reports to Bob", "Bob reports to Alice"),
        ("Shipped from Berlin to Paris", "Shipped from Paris to Berlin"),
        ("Refund in 30 days", "Refund in 30 hours"),
        ("Marta Kowalska left", "Marta Kowalski left"),
        ("marta kowalska left", "marta kowalski left"),
        ("Smith prefers email", "Smyth prefers email"),
        ("Anna prefers email", "Anne prefers email"),
        ("Marc prefers email", "Mark prefers email"),
        ("The employer pays", "The employee pays"),
        ("Order 1001 was paid", "Order 1002 was paid"),
        ("Send on Monday", "Send on Tuesday"),
        ("Open in March", "Open in May"),
        ("ana@x.org likes tea", "ann@x.org likes tea"),
        ("Ana does not prefer email but phone", "Ana prefers email but not phone"),
        ("Is the plan active?", "The plan is active."),
        ("10 seats for Acme and 20 for Globex", "20 seats for Acme and 10 for Globex"),
        ("Ask my manager", "Ask your manager"),
        ("Due by Friday", "Due on Friday and Friday"),
        ('{"a":"x","b":"y"}', '{"a":"y","b":"x"}'),
        ("Write C++", "Write C#"),
        ("👍 for the plan", "👎 for the plan"),
        ("私は猫が好きです", "私は犬が好きです"),
        ("Собака кусает человека", "Человек кусает собака"),
        ("Key: [REDACTED:crm]", "Key: [REDACTED:erp]"),
        ("The deposit is 5 %", "The deposit is 5"),
        ("Steps:\n1. load\n2. ship", "Steps:\n1. ship\n2. load"),
        ("the invoice was paid by acme", "the invoice was paid for acme"),
        ("acme supplies globex", "globex supplies acme"),
        ("She paid him", "He paid her"),
        ("The order will be paid", "The order was paid"),
        ("Load the truck and ship the goods", "Ship the goods and load the truck"),
        ("If the alarm rings, the door opens", "If the door opens, the alarm rings"),
        ("Ana in Oslo writes to Ben in Bergen", "Ana in Bergen writes to Ben in Oslo"),
        ("Ana, the boss, met Ben, the clerk", "Ana, the clerk, met Ben, the boss"),
        ("On Monday Ana calls Ben", "Ben calls Ana on Monday"),
        ("cats are animals", "animals are cats"),
        ("brook travel closes early", "brooks travel closes early"),
        ("browne prefers tea", "brown prefers tea"),
        ("louise ito left", "louise left"),
        ("admins=5; users=10", "admins=10; users=5"),
        ("The call is held by Ana", "The call is held for Ana"),
        ("Ben switched off the boiler", "Ben turned on the boiler"),
        ("The filled form is here", "The filed form is here"),
        ("Half of the seats are taken", "Half of the seats are blue"),
        ("The desk is in the fourth row", "The desk is in the fourteenth row"),
        ("Am 3. März ruft Ana an", "Am 3. Mai ruft Ana an"),
        ("The ferry departs from pier 2", "The ferry departed from pier 2"),
        ("Our treasurer is Ana Roth", "Ana Roth is your treasurer"),
        ("The ship is called Aurora", "The boat yard is called Aurora"),
        ("Badges can only be issued by guards", "Badges can be issued by guards"),
        ("Orders must be signed by Ana", "Ana may sign orders"),
        ("Orders must be signed by Ana", "Orders must sign Ana"),
        ("Every 30 days the filter is changed", "The filter is changed every other day"),
        ("Ana and Ben pay Cleo", "Ana and Cleo pay Ben"),
        ("Ana Weber and Schmidt called", "Ana Schmidt and Weber called"),
        ("Ana and Ben got 3 and 5 seats", "Ben and Ana got 3 and 5 seats"),
        ("Groups of 10 or more pay less", "Groups of 10 or fewer pay less"),
        ("Ben likes aisle seats best", "Ben likes aisle seats"),
        ("Call me when Ana lands", "Call me if Ana lands"),
        ("The alarm rings if the door opens", "If the alarm rings, the door opens"),
        ("The alarm rings when the door opens", "When the alarm rings, the door opens"),
    ):
        found = reconcile(statements(one, other))
        assert (merged(found), found.superseded) == (0, ()), (one, other)


def test_a_newer_value_replaces_an_older_one() -> None:
    for old, new, why in (
        ("The Pro plan costs $49 per month", "The Pro plan now costs $59 per month", "amount"),
        ("The price of the Pro plan is $49", "The Pro plan costs $59", "amount"),
        ("The fee is $49", "The fee was raised from $49 to $59", "amount"),
        ("The discount for Acme is 5%", "The discount for Acme is 7%", "percentage"),
        ("Acme has 30 seats", "Acme has 45 seats", "number"),
        ("The renewal deadline for Acme is May 3", "The renewal deadline for Acme is June 4", "date"),
        ("The meeting is on Monday", "The meeting was moved to Friday", "date"),
        ("Ana prefers email", "Ana now prefers phone over email", "preference"),
        ("Ana lives in Berlin", "Ana moved to Munich", "place"),
        ("The account manager of Acme is Ana", "The account manager of Acme is now Ben", "value"),
        ("Export is enabled", "Export is disabled", "value"),
        ("Notifications are turned on", "Notifications are turned off", "value"),
        ("The repo is private", "The repo is public", "value"),
        ("The form is optional", "The form is required", "value"),
        ("The account is locked", "The account is now unlocked", "value"),
        (
            "Updated default kubectl from 1.24.12 to 1.24.13.",
            "Updated default kubectl from 1.24.13 to 1.24.14.",
            "version",
        ),
        ("The kernel is 6.1.12", "The kernel is now 6.2.10", "version"),
        ("Ticket 4711 of Acme is open", "Ticket 4711 of Acme is now closed", "value"),
        ("Acme is a bronze customer", "Acme is now a gold customer", "value"),
        ("The portal at Acme runs version v5.24.8", "The portal at Acme now runs version v7.19.3", "version"),
        ('{"customer": "Acme", "seats": 30}', '{"seats": 45, "customer": "Acme"}', "value"),
        ("customer=Acme; seats=3,063", "seats=3,177; customer=Acme", "number"),
        ("The phone number of Ana is +49 30 555 2971", "+49 30 5553855 is the phone number of Ana", "value"),
        (
            "Invoices of Acme go to the e-mail address a@x.org",
            "Invoices of Acme now go to the email address b@x.org",
            "value",
        ),
        (
            "The office of Acme is at 87 Temple Street, Leeds",
            "The office of Acme is now at 5 Elm Avenue, Leeds",
            "place",
        ),
        ("The box for Acme weighs 18 kg", "The box for Acme weighs 21 kg", "number"),
        (
            "The rate agreed with Acme for storage is 5%",
            "For storage the rate agreed with Acme is now 7%",
            "percentage",
        ),
    ):
        found = reconcile(statements(old, new))
        assert found.merges == (), (old, new, why)
        [superseded] = found.superseded
        assert (superseded.older, superseded.newer, superseded.why) == (UUID(int=1), UUID(int=2), why), (old, new, why)


def test_what_happened_and_what_is_about_something_else_is_not_replaced() -> None:
    for one, other in (
        ("Ana paid $49", "Ana paid $59"),
        ("The invoice was disputed for $49", "The invoice was disputed for $59"),
        ("Order 1001 costs $49", "Order 1002 costs $59"),
        ("Ana's limit is $49", "Ben's limit is $59"),
        ("Ana owes Ben $5", "Ben owes Ana $9"),
        ("The standup is on Monday", "The standup is on Tuesday"),
        ("Revenue in May was $4,000", "Revenue in June was $5,000"),
        ("Orders over $100 ship free", "Orders over $200 ship free"),
        ("5 seats cost $49", "6 seats cost $49"),
        ("Room 5 has 3 desks", "Room 6 has 4 desks"),
        ("Ana prefers tea", "Ana prefers email"),
        ("Ana prefers email or phone", "Ana prefers post"),
        ("The fee is not $49", "The fee is not $59"),
        ("Ana is now in sales", "Ana is happy"),
        ("The plan has 3 users and 4 seats", "The plan has 4 users and 5 seats"),
        ("Send an alert when the host is online", "Send an alert when the host is offline"),
        ("Acme was refunded $49 and is a customer", "Acme was refunded $59 and is a customer"),
        ('{"event": "refund", "amount": 49}', '{"event": "refund", "amount": 59}'),
        ('{"invoice": 1001, "status": "open"}', '{"invoice": 1002, "status": "closed"}'),
        ("The web host in production is online", "The web host in staging is offline"),
    ):
        found = reconcile(statements(one, other))
        assert (merged(found), found.superseded) == (0, ()), (one, other)


def test_other_notation_and_other_grammar_say_the_same() -> None:
    for one, other in (
        ("The hall seats 1,500 people", "The hall seats 1 500 people"),
        ("The town has 1.2 million trees", "The town has 1,200,000 trees"),
        ("The budget is $2,450.00", "The budget is USD 2450"),
        ("The grant is 15k euros", "The grant is €15,000"),
        ("The fee is 20 per cent", "The fee is 20%"),
        ("The class has twenty-five pupils", "The class has 25 pupils"),
        ("The call is at 3 pm", "The call is at 15:00"),
        ("The shift ends at midnight", "The shift ends at 12 am"),
        ("The fair is on 5 May 2027", "The fair is on May 5th, 2027"),
        ("The fair is on 2027-05-05", "The fair is on 05.05.2027"),
        ("The trial lasts two weeks", "The trial lasts 14 days"),
        ("The race is 1.5 km long", "The race is 1500 metres long"),
        ("Delivery takes 2-3 weeks", "Delivery takes from 2 to 3 weeks"),
        ("Dostawa trwa 4\u20135 dni", "Dostawa trwa od 4 do 5 dni"),
        ("The desk is open Mon-Fri, 9:00-17:00", "The desk is open Monday to Friday, 9:00 to 17:00"),
        ("The host runs Debian v12.1", "The host runs Debian 12.1"),
        ("The rent is $900 a month", "The rent is $900 per month"),
        ("Backups run every day", "Backups run daily"),
        ("I'll send the report on Friday", "I will send the report on Friday"),
        ("You have to sign the form", "You must sign the form"),
        ("The door isn't locked", "The door is unlocked"),
        ("Ana's desk is near the window", "The desk of Ana is near the window"),
        ("The report was written by Ana", "Ana wrote the report"),
        ("The log is rotated by cron", "Cron rotates the log"),
        ("There is a dishwasher in the kitchen", "The kitchen has a dishwasher"),
        ("The price of the van is $9,000", "The van costs 9000 dollars"),
        ("Ana is afraid of dogs", "Ana has a fear of dogs"),
        ("The safe can't be opened", "The safe cannot be opened"),
        ("Ben cannot stand garlic", "Ben hates garlic"),
        ("The tour was canceled", "The tour was cancelled"),
        ("We analysed the behaviour of the motor", "We analyzed the behavior of the motor"),
        ("At 7 p.m. on Tuesday the bar opens", "At 7 pm on Tuesday the bar opens"),
        ("Half of the seats are taken", "50% of the seats are taken"),
        ("The box holds a dozen bottles", "The box holds 12 bottles"),
        ("The film lasts an hour and a half", "The film lasts 90 minutes"),
        ("The lights go on every night", "The lights go on nightly"),
        ("The river is 800 m from here", "The river is 0.8 km from here"),
        ("Anton sits in the fourth row", "Anton sits in the 4th row"),
        ("Das Lager schließt am 3. März 2027", "Das Lager schließt am 03.03.2027"),
        ("Die Kur dauert dreißig Tage", "Die Kur dauert 30 Tage"),
        ("La tienda abre los lunes", "Los lunes la tienda abre"),
        ("Le musée ferme le 1er août", "Le musée ferme le 1 août"),
        ("Sklep otwiera się o 9:00", "Sklep otwiera się o 9"),
        ("The ferry departs from pier 2", "The ferry leaves from pier 2"),
        ("The auction takes place in Bern", "The auction is held in Bern"),
        ("Ben switched off the boiler", "Ben turned off the boiler"),
        ("The gallery will be shut in May", "The gallery will be closed in May"),
        ("Could you please water the plants", "Water the plants"),
        ("Our treasurer is Ana Roth", "Ana Roth is our treasurer"),
        ("The ship is called Aurora", "Aurora is the ship"),
        ("The ship's name is Aurora", "The ship is named Aurora"),
        ("The van belongs to Ana", "Ana owns the van"),
        ("Badges can only be issued by guards", "Only guards can issue badges"),
        ("Orders must be signed by Ana", "Ana must sign orders"),
        ("Ana of Acme prefers to be contacted by text message", "Ana of Acme prefers be contacted by text message"),
        ("Notes are written by the billing clerk", "The billing clerk writes notes"),
        ("The filter is changed every 30 days", "Every 30 days the filter is changed"),
        ("Ana invites both Ben and Cleo", "Ana invites Cleo and Ben"),
        ("Groups of 10 or more pay less", "Groups of at least 10 pay less"),
        ("Ben likes aisle seats best", "Ben prefers aisle seats"),
        ("The licence auto-renews", "The licence renews automatically"),
        ("The alarm rings when the door opens", "If the door opens, the alarm rings"),
        ("The call gives none if nobody answers", "If nobody answers, the call gives none"),
        ("商店在下午五点关门", "商店17:00关门"),
        ("会议在十一点半开始", "会议11:30开始"),
        ("商店礼拜天休息", "商店周日休息"),
        ("门票是二百五十元", "门票是250元"),
        ("房租是三千五", "房租是3500"),
        ("定金是一万二", "定金是12000"),
        ("The party is on May 2nd", "The party is on 2 May"),
        ("The pool is open from 7 a.m. to 9 p.m.", "The pool is open 07:00-21:00"),
        ("The ferry departs at 7.15 a.m.", "The ferry departs at 07:15"),
        ("The vault is kept at minus forty degrees", "The vault is kept at -40 degrees"),
        ("Turnover was 1.8 bn euros", "Turnover was 1,800 million euros"),
        ("The grant is 2m euros", "The grant is 2 million euros"),
        ("The ampoule holds 3 cl", "The ampoule holds 30 ml"),
        ("The crate weighs 1.2 t", "The crate weighs 1,200 kg"),
        ("The quota is 2 TB", "The quota is 2,000 GB"),
        ("The deposit is £90", "The deposit is 90 pounds sterling"),
        ("The lease runs for half a year", "The lease runs for six months"),
        ("Spotkanie jest 4 maja 2027 r.", "Spotkanie jest 04.05.2027"),
        ("The locker permit is valid until 9 May", "Locker permit valid until 9 May"),
        ("The café in hall 2 is closed", "The cafe in hall 2 is closed"),
        ("The portal uses Node.js 22", "The portal uses NodeJS 22"),
        ("Ana Vega vive en Cádiz", "Ana Vega reside en Cádiz"),
        ("Ana was born in Quito", "Ana's birthplace is Quito"),
        ("The opera was written by Ana Roth", "Ana Roth is the author of the opera"),
        ("Ana teaches botany", "Ana is a botany teacher"),
        ("It is not allowed to swim in the lake", "Swimming is forbidden in the lake"),
        ("No fishing from the pier", "Do not fish from the pier"),
        ("No payments in cash", "Do not pay in cash"),
        ("Ana is younger than Ben", "Ben is older than Ana"),
        ("There are eight people in the choir", "The choir has 8 members"),
        ("The fair was moved from Monday to Friday", "The fair takes place on Friday instead of Monday"),
        ("The firm trains about six cooks a year", "About six cooks are trained by the firm every year"),
        ("The studio is on the 2nd floor", "The studio is on the second floor"),
        ("The platform is C 14", "The platform is C14"),
        ("Ana runs the pantry", "FYI \u2013 Ana runs the pantry"),
        ("In the morning, the till is checked by Ben", "The till is checked by Ben in the morning"),
        ("The duration of the tour is three weeks", "The tour lasts three weeks"),
        ("Ana's native language is Greek", "Ana's mother tongue is Greek"),
        ("The shift lasts 6 and a half hours", "The shift lasts 6.5 hours"),
        ("The record is 2 h 15 min", "The record is 135 minutes"),
        ("Lucía es la jefa del taller", "La jefa del taller es Lucía"),
        ("Unser Wirt heißt Bernd", "Bernd ist unser Wirt"),
        ("王芳是仓库的主管。", "仓库的主管是王芳。"),
        ("owner of dock-planner = Team Heron", "Team Heron owns dock-planner"),
        ("Tax no. for Alvar: AB 1234567", "Alvar's tax number is AB 1234567"),
        ("Ben takes 0.2 g of zinc", "Ben takes 200 mg of zinc"),
        ("Notice period is half a year", "The notice period lasts six months"),
        ("The check-in begins at 8:30", "Checkin begins at 08:30"),
        ("大厅可以容纳三十个人", "大厅可容纳30人"),
    ):
        assert merged(reconcile(statements(one, other))) == 1, (one, other)
        assert merged(reconcile(statements(other, one))) == 1, (one, other)


def test_what_no_longer_holds_is_replaced_by_what_does() -> None:
    for old, new in (
        ("Ana prefers email", "Ana no longer prefers email"),
        ("The gym is open to guests", "The gym is not open to guests"),
        ("Guests can't use the lift", "Guests can use the lift"),
        ("There is a night bus to Linz", "There is no night bus to Linz"),
        ("The backup has not finished yet", "The backup has finished"),
        ("Mila drinks coffee", "Mila doesn't drink coffee anymore"),
        ("The maintainer of the parser is Ivo Kern", "The maintainer of the parser is Lena Roth"),
        ("Ana Berg is the treasurer of the club", "Tom Falk is the treasurer of the club"),
        ("Our cloud provider is Hetzner", "Our cloud provider is Scaleway"),
        ("The staging host is web-03", "The staging host is now web-07"),
        ("Der Chef ist Herr Roth", "Der Chef ist jetzt Frau Wolf"),
        ("The claim is pending", "The claim was rejected"),
        ("Order 81 was shipped", "Order 81 was delivered"),
        ("The bug is open", "The bug has been fixed"),
        ("Nadia is single", "Nadia is married"),
        ("Die Rechnung ist offen", "Die Rechnung ist bezahlt"),
        ("La tienda está abierta", "La tienda está cerrada"),
        ("Faktura 7 jest nieopłacona", "Faktura 7 jest opłacona"),
        ("Billing uses Stripe", "Billing switched from Stripe to Adyen"),
        ("Jonas lives in Graz", "Jonas moved from Graz to Salzburg"),
        ("Petra works for Siemens", "Petra now works for Bosch"),
        ("Use tabs for indentation", "Use spaces instead of tabs for indentation"),
        ("Lena drinks tea", "Lena drinks coffee, not tea"),
        ("The theme is dark", "The theme was switched to light"),
        ("The workshop is in Room 5", "The workshop was moved to Room 9"),
        ("The CEO of Norvik is Ola Dahl", "The CEO of Norvik is Siri Lund"),
        ("The project uses Python 3.11", "The project uses Python 3.12"),
        ("Backups are stored in Frankfurt", "Backups are stored in Dublin"),
        ("Clara's surname is Weiss", "Clara changed her surname to Braun"),
        ("The project is called Falcon", "The project was renamed Condor"),
        ("The launch is planned for March", "The launch has been postponed to June"),
        ("Reports go to Ana", "Reports go to Ben from now on"),
        ("Reports go to Ana", "Reports should go to Ben instead of Ana"),
        ("Yuki is a student", "Yuki is now a teacher"),
        ("Joel smokes", "Joel stopped smoking"),
        ("We use Slack", "We replaced Slack with Teams"),
        ("Elise likes jazz", "Elise does not like jazz any more"),
        ("The package is in transit", "The package has arrived"),
        ("The price is 20 euros", "The price went up to 25 euros"),
        ("Jonas lives in Graz", "Jonas moved to Salzburg last month"),
        ("The annual review is on 4 May", "The annual review is on 9 May"),
        ("Cena wynosi 20 zł", "Cena wynosi 25 zł"),
        ("价格是20元。", "价格是25元。"),
        ("The safe can be opened", "The safe cannot be opened"),
    ):
        found = reconcile(statements(old, new))
        assert found.merges == (), (old, new)
        [superseded] = found.superseded
        assert (superseded.older, superseded.newer) == (UUID(int=1), UUID(int=2)), (old, new)


def test_what_is_no_opposite_and_no_other_value_of_one_thing_stays() -> None:
    for one, other in (
        ("The shop was open on Friday", "The shop was not open on Friday"),
        ("Lukas plays chess", "Lukas does not play golf"),
        ("Not all users have keys", "All users have tokens"),
        ("If it rains, the gate is open", "The gate is not open"),
        ("Nina thinks the CEO is Paul", "Nina thinks the CEO is Marta"),
        ("Bob said: the plan is not active", "Bob said: the plan is active"),
        ("The team lead is Ana", "The tech lead is Ben"),
        ("One of the owners is Ana", "One of the owners is Ben"),
        ("The members are Ana and Ben", "The members are Eva and Jan"),
        ("My brother is Tom", "My brother is German"),
        ("The table is called Orders", "The table is called Order"),
        ("Ana moved from Oslo to Bergen", "Ben lives in Oslo"),
        ("Send the file to Ana instead of Ben", "Send the invoice to Ben"),
        ("The order was shipped from Oslo", "The order was shipped from Bergen"),
        ("Version 2.1 is stable", "Version 2.10 is stable"),
        ("The loan is paid by the bank", "The bank is paid by the loan"),
        ("Pay 10 EUR in notes", "Pay 10 USD in notes"),
        ("Yuki is a student", "Yuki is a teacher"),
        ("Ana visited Bern in May", "Ana visited Bern in June"),
        ("The team uses Jira", "The team uses Slack"),
        ("Ana called at 9:00", "Ana called at 10:00"),
        ("Joel stopped smoking", "Ben smokes"),
        ("价格是20元。", "重量是25公斤。"),
    ):
        for pair in ((one, other), (other, one)):
            found = reconcile(statements(*pair))
            assert (merged(found), found.superseded) == (0, ()), (one, other)


def test_one_relation_in_two_forms_is_one() -> None:
    for one, other in (
        ("The canal is 12 km long", "The canal has a length of 12,000 m"),
        ("The crate weighs 30 kg", "The weight of the crate is 30 kg"),
        ("Noor is 41 years old", "Noor's age is 41"),
        ("The course takes 3 weeks", "The course lasts 21 days"),
        ("Noor heads the design office", "Noor is the head of the design office"),
        ("Noor reports to Ivo", "Noor's manager is Ivo"),
        ("Noor's employer is Zeta", "Noor works at Zeta"),
        ("Noor is married to Ivo", "Ivo and Noor are married"),
        ("It is Noor who signs the cheques", "Noor signs the cheques"),
        ("We archive mails after a year", "Mails are archived after a year"),
        ("The lamp must be covered at night", "Cover the lamp at night"),
        ("Batteries can be recycled here", "You can recycle batteries here"),
        ("A lens is included in the kit", "The kit contains a lens"),
        ("The essay is due on 9 May", "The deadline for the essay is May 9"),
        ("The pub shuts at quarter to twelve", "The pub shuts at 11:45"),
        ("The fair goes from 3 to 9 August", "The fair goes from 3 August to 9 August"),
        ("Noor goes to the office by bike", "Noor cycles to the office"),
        ("Nobody but Noor may enter", "Only Noor may enter"),
        ("Noor is unable to swim", "Noor can't swim"),
        ("Noor dislikes jazz", "Noor does not like jazz"),
        ("Children need a part-time tutor", "Kids need a part time tutor"),
        ("Der Vertrag gilt noch", "Vertrag gilt noch"),
        ("Die Miete kostet 2 tausend Euro", "Die Miete kostet 2000 Euro"),
    ):
        found = reconcile(statements(one, other))
        assert (merged(found), found.superseded) == (1, ()), (one, other)


def test_a_newer_value_in_another_form_replaces_the_older() -> None:
    for old, new in (
        ("Noor manages the depot", "The manager of the depot is Ivo"),
        ("Noor's manager is Ivo", "Noor reports to Lea"),
        ("The crate weighs 30 kg", "The weight of the crate is 28 kg"),
        ("The default folder is inbox", "The default folder was renamed to intake"),
        ("The treasurer is Noor", "Ivo took over as treasurer from Noor"),
        ("The treasurer is Noor", "Noor was replaced by Ivo as treasurer"),
        ("Noor's phone number is 555-1010", "Noor's new phone number is 555-2020"),
        ("MAX_SIZE=10", "MAX_SIZE=20"),
        ("Seats left: 14", "Seats left: 9"),
        ("The alarm is off", "The alarm was switched on"),
        ("Die Praxis ist in Bonn", "Die Praxis ist nach Köln umgezogen"),
        ("Pani Zych mieszka w Opolu", "Pani Zych przeprowadziła się do Torunia"),
        ("Ramón vive en Vigo", "Ramón se ha mudado a Lugo"),
        ("Dyrektorem szkoły jest Olga", "Dyrektorem szkoły jest Marek"),
    ):
        found = reconcile(statements(old, new))
        assert merged(found) == 0, (old, new)
        [superseded] = found.superseded
        assert (superseded.older, superseded.newer) == (UUID(int=1), UUID(int=2)), (old, new)


def test_another_relation_is_another_statement() -> None:
    for one, other in (
        ("Noor is taller than Ivo", "Ivo is taller than Noor"),
        ("Noor reports to Ivo", "Ivo reports to Noor"),
        ("Noor manages shops", "Ivo manages shops"),
        ("The canal is 12 km long", "The canal is 12 km wide"),
        ("We archive mails after a year", "They archive mails after a year"),
        ("We archive mails after a year", "Noor archives mails after a year"),
        ("Batteries can be recycled here", "Batteries must be recycled here"),
        ("The lamp must be switched off at night", "The lamp must not be switched off at noon"),
        ("Noor prefers rice to pasta", "Noor prefers pasta to bread"),
        ("Noor is Ivo's wife", "Lea is married to Ivo's brother"),
        ("Bremen is where Noor works", "Kassel is where Ivo works"),
        ("The check-in is at 9:00", "The check is at 9:00"),
        ("Den Hund sieht der Mann", "Der Hund sieht den Mann"),
        ("Note: call Noor", "Note: call Ivo"),
    ):
        found = reconcile(statements(one, other))
        assert (merged(found), found.superseded) == (0, ()), (one, other)


def test_a_number_in_chinese_of_whatever_length_ends_no_pass_and_costs_no_time() -> None:
    with cpu_within(1):
        for text in ("一" + "万" * 3000, "一" * 20_000, "一万" * 10_000):
            assert reconcile(statements(text, text + "元")).merges == ()


def test_a_value_that_came_back_is_the_newest() -> None:
    said = statements("The fee is $49", "The fee is $59", "The fee is $49")
    found = reconcile(said)
    assert [each.text for each in left(said, found)] == ["The fee is $49"]
    assert (merged(found), len(found.superseded)) == (1, 1)


def test_a_slip_that_may_be_two_words_is_neither() -> None:
    said = statements("Please seed the tables", "Please send the tables", "Please sned the tables")
    assert merged(reconcile(said)) <= 1
    assert merged(reconcile(statements("Lock the heater", "Lock the header", "Lock the heaaer"))) == 0


def test_an_odd_word_that_anything_else_uses_is_no_slip() -> None:
    pair = ("The cusotmer wants monthly invoices", "The customer wants monthly invoices")
    assert merged(reconcile(statements(*pair))) == 1
    assert merged(reconcile(statements(*pair, "Cusotmer is the name of a ship"))) == 0


def test_an_odd_word_that_was_used_before_is_no_slip() -> None:
    """The pass that looks at what is new alone knows it from the signatures of the rest."""
    [before] = statements("Cusotmer is the name of a ship")
    new = Reading(statements("The cusotmer wants monthly invoices", "The customer wants monthly invoices"))
    kept = Signatures.select(Reading([before]), np.ones(1, dtype=bool))
    assert len(resolved(new).merges) == 1
    new.used_before = Signatures.from_bytes(kept.to_bytes()).odd_beside(packed([]))
    assert len(resolved(new).merges) == 0


def test_other_owners_stay_apart_and_other_tags_do_not() -> None:
    text = "The customer prefers email"
    one, other, third = (
        Statement(UUID(int=number), text, START, tags)
        for number, tags in enumerate([("customer:acme", "crm"), ("customer:globex",), ("crm", "vip")])
    )
    assert merged(reconcile([one, other])) == 0
    assert merged(reconcile([one, third])) == 1
    assert merged(reconcile([one, other, third])) == 1


def test_protected_statements_take_no_part() -> None:
    assert reconcile(
        statements("The fee is $49", "The fee is $49", "The fee is $59", protected=True)
    ) == Reconciliation((), ())


NAMES = ("Ana", "Ben", "Marta Kowalska", "Smith", "Acme", "Globex")
FORMS = (
    "{name} prefers {thing} for invoices",
    "{name} now prefers {thing} for invoices",
    "The limit of {name} is ${number}",
    "the limit of {name} is ${number}.",
    "Please note that {name} has {number} seats",
    "{name} has {number} seats",
    "{name} does not have {number} seats",
    "{name} owns order {number} and pays by {thing}",
    "{name} ownz order {number} and pays by {thing}",
    "{name} moved to {thing}",
)
said = st.builds(
    lambda form, name, thing, number: form.format(name=name, thing=thing, number=number),
    st.sampled_from(FORMS),
    st.sampled_from(NAMES),
    st.sampled_from(("email", "phone", "tea", "Berlin")),
    st.sampled_from((1, 2, 49, 1001)),
)
anything = st.text(max_size=40) | said
tags = st.lists(st.sampled_from(("vip", "customer:acme", "customer:globex", "order:1")), max_size=2).map(tuple)
corpora = st.lists(st.tuples(anything, st.integers(0, 3), st.booleans(), tags), max_size=30).map(
    lambda rows: [
        Statement(UUID(int=number + 1), text, START + timedelta(days=day), tags, protected and number % 3 == 0)
        for number, (text, day, protected, tags) in enumerate(rows)
    ]
)


@tries(150)
@given(corpora)
def test_a_second_time_changes_nothing(corpus: list[Statement]) -> None:
    once = left(corpus, reconcile(corpus))
    assert reconcile(once) == Reconciliation((), ())


@tries(100)
@given(corpora, st.randoms(use_true_random=False))
def test_the_order_in_which_they_come_is_nothing_to_it(corpus: list[Statement], chance: random.Random) -> None:
    shuffled = list(corpus)
    chance.shuffle(shuffled)
    assert reconcile(shuffled) == reconcile(corpus)


@tries(100)
@given(corpora)
def test_each_statement_ends_in_one_place_and_protected_ones_where_they_were(corpus: list[Statement]) -> None:
    found = reconcile(corpus)
    gone = [each for merge in found.merges for each in merge.merged] + [each.older for each in found.superseded]
    assert len(gone) == len(set(gone))
    assert not {each.id for each in corpus if each.protected} & {*gone, *(merge.survivor for merge in found.merges)}
    assert all(each.newer not in gone for each in found.superseded)
    alive = {each.id for each in corpus} - set(gone)
    superseded = {each.older for each in found.superseded}
    assert all(merge.survivor in alive | superseded for merge in found.merges)


@tries(60)
@given(corpora, corpora)
def test_signatures_find_all_that_a_new_statement_could_meet(known: list[Statement], new: list[Statement]) -> None:
    known = left(known, reconcile(known))
    new = [Statement(UUID(int=each.id.int + 1000), each.text, each.said_at, each.tags, each.protected) for each in new]
    reading = Reading(known)
    kept = Signatures.select(reading, np.ones(len(reading.statements), dtype=bool))
    candidates = set(Signatures.from_bytes(kept.to_bytes()).candidates(Reading(new)))

    found = reconcile([*known, *new])

    met = {each for merge in found.merges for each in (merge.survivor, *merge.merged)}
    met |= {each for pair in found.superseded for each in (pair.older, pair.newer)}
    old = {each.id for each in known}
    assert (met & old) - candidates == set()


def test_a_template_that_differs_in_names_is_not_one() -> None:
    first = ("Anna", "Anne", "Jon", "John", "Mark", "Marc", "Katja", "Katia", "Erik", "Eric", "Rosa", "Rose")
    last = ("Smith", "Smyth", "Meyer", "Meier", "Kowalski", "Kowalska", "Hansen", "Hanson")
    names = [f"{one} {other}" for one in first for other in last]
    for form in ("{} prefers email", "The contract of {} ends soon", "the contract of {} ends soon"):
        assert merged(reconcile(statements(*(form.format(name) for name in names)))) == 0


def test_it_does_not_matter_which_comes_first_among_three() -> None:
    texts = ("The fee is $49", "Basically, the fee is $49", "The feee is $49")
    assert {merged(reconcile(statements(*each))) for each in permutations(texts)} <= {1, 2}


def test_slips_are_found_among_very_many_too() -> None:
    """A hundred unknown names and a hundred common words in one place of one sentence."""
    common = "green house table light paper water stone field river cloud bread chair glass plant horse music"
    words = [f"{first}" for first in common.split()]
    unknown = [f"zq{chr(97 + one)}{chr(97 + other)}xv" for one in range(18) for other in range(18)]
    texts = [f"{word} is preferred here" for word in (*words, *unknown, "grene", "hosue")]
    found = reconcile(statements(*texts))
    assert merged(found) == 2


ONE_GIST = """
Oskar is Lena's stepbrother. | Lena's stepbrother is Oskar.
The dean of the Ghent faculty is Mira. | Mira is the Ghent faculty's dean.
The mill in Ulm has been shut since Friday. | Since Friday the Ulm mill has been closed.
The password of the guest wifi is printed on the router. | The guest wifi password is printed on the router.
Mrs. Doyle's parcel weighs 2500 g. | The parcel for Mrs. Doyle weighs 2.5 kg.
Ingrid speaks Norwegian, Danish and English. | Ingrid speaks English, Danish and Norwegian.
We were charged £15 by the courier. | The courier charged us fifteen pounds.
Mr. Lang's knee surgery is performed by Dr. Weiss. | Dr. Weiss performs the knee surgery on Mr. Lang.
Two-factor auth is mandatory for admins. | 2FA is mandatory for administrators.
A session token is valid for an hour and a half. | Session tokens expire after 90 minutes.
Allergy: latex (patient Brandt) | The patient Brandt is allergic to latex.
The hotel does not accept credit cards. | Credit cards are not accepted by the hotel.
The company was founded in 1998 by two sisters. | Two sisters founded the company in 1998.
The loan carries an interest rate of 6.50 %. | Interest rate on the loan: 6.5%
The train leaves at quarter to six in the evening. | The train departs at 5:45 pm.
Die Rechnung beträgt 1.200,50 €. | Die Rechnung beträgt 1200,50 Euro.
Die Kasse wird jeden Freitag von Frau Seidel geprüft. | Frau Seidel prüft jeden Freitag die Kasse.
La reunión empieza a las 16:30. | La reunión comienza a las cuatro y media de la tarde.
王经理每周一下午三点检查库存。 | 每周一15:00,王经理检查库存。
"""
OTHER_GIST = """
Oskar is Lena's stepbrother. | Lena is Oskar's stepbrother.
The dean of the Ghent faculty is Mira. | The dean of the Mira faculty is Ghent.
The mill in Ulm has been shut since Friday. | Until Friday the Ulm mill has been closed.
Ana works before noon and Ben after noon. | Ana works after noon and Ben before noon.
Ana pays Ben 50 euros. | Ben pays Ana 50 euros.
The report about sales is due. | The sales about report is due.
Omar's assistant called the manager. | Omar called the manager's assistant.
The flight from Oslo to Rome takes 3 hours. | The flight from Rome to Oslo takes 3 hours.
The user can view but not edit files. | The user can edit but not view files.
If it rains, the match is cancelled. | If the match is cancelled, it rains.
Two doctors examined three patients. | Three doctors examined two patients.
We replaced MySQL with Postgres. | MySQL replaced Postgres.
Ana owned the shop. | Ana owns the shop.
I owe you $50. | You owe me $50.
The training starts at 9. | The train starts at 9.
Den Hund sieht der Mann. | Der Hund sieht den Mann.
Sales rose by 25 percent. | Sales rose to 25 percent.
"""
NEWER_OF_ONE_TOPIC = """
The API rate limit is 100 requests per minute. | Rate limit on the API was lowered to 60 requests per minute.
The hourly rate of our translator Yusuf is 48 €. | Yusuf, our translator, increased his hourly rate to 55 €.
The yoga class starts at 18:00. | From this week on the yoga class starts at 18:30.
The flight to Oslo departs from gate B12. | Gate change: the flight to Oslo departs from B27.
Invoice 7781 from Larsen is unpaid. | Larsen's invoice 7781 was paid yesterday.
The position of data analyst is vacant. | The data analyst position has been filled.
The trial runs until 1 May. | The trial was extended to 15 May.
Felix owns the checkout service. | Ownership of the checkout service went from Felix to Amara.
Ruth is the treasurer of the club. | Ruth handed over as treasurer of the club to Colin.
Victor smokes a pack a day. | Victor quit smoking last month.
Kofi is a member of the security guild. | Kofi left the security guild.
Meeting notes are stored in Confluence. | We switched from Confluence to Notion for meeting notes.
The lead developer is Hana. | Hana left; the new lead developer is Igor.
Dr. Ruiz's practice is at 12 Elm Street. | Dr. Ruiz's practice relocated to 80 Oak Avenue.
Der Drucker kann Farbe drucken. | Der Drucker kann keine Farbe mehr drucken.
El hotel admite mascotas. | El hotel ya no admite mascotas.
Der Antrag von Herrn Kühn ist offen. | Der Antrag von Herrn Kühn wurde genehmigt.
Le loyer est de 800 euros. | Le loyer est passé à 850 euros.
The archive is in the basement. | The archive has moved to the attic.
Julia has access to the vault. | Julia's access to the vault was revoked.
The exam is on 14 June. | The exam was postponed by a week to 21 June.
User prefers dark mode. | User switched to light mode.
Our CEO is Franz Huber. | Franz Huber has stepped down as CEO; Eva Brandt took over.
"""
NO_NEWER_VALUE = """
Our hosting provider is Hetzner. | We moved our email from Hetzner to OVH.
The rent for the studio is 900 euros. | The rent for the garage went up to 120 euros.
The ticket to Rome costs 80 euros. | The ticket from Rome now costs 95 euros.
Locker 14 is free. | Locker 15 is now free.
The 4 May meeting is in room B. | The 11 May meeting is now in room B.
Prices went up 5% last year. | Prices went up 3% this year.
The warranty costs 40 euros. | The extended warranty costs 90 euros.
The shop is open. | The shop is closed on 25 December.
The shop is closed, but the café is open. | The shop is open.
The meeting is mandatory. | The meeting moved to Thursday.
Nils drinks coffee. | Nils no longer drinks coffee at work.
Ana prefers meetings in the morning. | Ben now prefers meetings in the morning.
Kim's contract ends in June. | Kim's visa was extended to September.
Ivo was replaced by Jan as captain. | Jan was replaced by Ivo as captain.
The gate was repaired. | The gate was replaced.
Julia has access to the vault. | Julia's access to the archive was revoked.
The wine is in the cellar. | The wine list has moved to the bar.
Franz Huber is our CEO. | Franz Huber has stepped down as chairman.
"""


def pairs(lines: str) -> list[list[str]]:
    return [line.split(" | ") for line in lines.strip().splitlines()]


def test_one_gist_in_other_forms_and_shapes_is_one() -> None:
    left_alone = [pair for pair in pairs(ONE_GIST) if merged(reconcile(statements(*pair))) != 1]
    assert left_alone == []


def test_an_order_a_tense_or_a_direction_that_tells_keeps_one_gist_apart() -> None:
    both = [each for pair in pairs(OTHER_GIST) for each in (pair, pair[::-1])]
    assert [pair for pair in both if reconcile(statements(*pair)) != Reconciliation((), ())] == []


def test_a_change_replaces_what_was_said_of_the_same_topic_in_another_form() -> None:
    found = {tuple(pair): reconcile(statements(*pair)) for pair in pairs(NEWER_OF_ONE_TOPIC)}
    assert [pair for pair, made in found.items() if len(made.superseded) != 1 or merged(made)] == []


def test_a_change_of_something_else_replaces_nothing() -> None:
    assert [pair for pair in pairs(NO_NEWER_VALUE) if reconcile(statements(*pair)) != Reconciliation((), ())] == []
