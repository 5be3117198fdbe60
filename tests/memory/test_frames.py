"""Statements that fill a frame for one value: what replaces what, and what only looks like it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory.text.similarity import Statement, reconcile

START = datetime(2026, 1, 5, tzinfo=UTC)
REPLACED = """
The fence is being painted|The fence has been painted
The trail is marked|The trail is unmarked
The lake is unguarded|The lake is guarded
The beans grow in bed 3|The beans were transplanted from bed 3 to the polytunnel
The horses graze on the upper meadow|The horses were driven from the upper meadow to the lower one
Vera conducts the choir|Igor conducts the choir
Vera edits the gazette|Igor now edits the gazette
El jefe de compras es Luis|La jefa de compras es Carmen
Der Leiter der Bibliothek ist Herr Roth|Die Leiterin der Bibliothek ist Frau Simon
Unser Hausarzt ist Dr. Klein|Unsere Hausärztin ist Dr. Brand
Den Vorsitz im Verein hat Frau Roth|Den Vorsitz im Verein hat Herr Simon
Dyrektorem szkoły jest Adam|Dyrektorką szkoły jest Ewa
Die Probe ist am 4. Mai|Die Probe wurde auf den 11. Mai verschoben
仓库的负责人是王强。|仓库的负责人是李娜。
无线密码是tulip。|无线密码是maple。
考试定在周三。|考试改到了周五。
The dog sleeps in the kitchen|Since the renovation the dog sleeps in the hallway instead
The greenhouse is heated with gas|The greenhouse is now heated with wood
The copy job runs hourly|The copy job now runs daily
The wedding is in Siena|Change of plan: the wedding will be in Verona
Card 14 on the wall: lane Doing|Card 14 on the wall: lane Done
The runtime image is ruby:3.2-slim|The runtime image is ruby:3.3-slim
The log folder is /var/log/crane|The log folder is /data/log/crane
The host of the wiki is docs.alpha.internal|The host of the wiki is docs.omega.internal
The VPN is Fjord|The VPN is Lagoon
The download limit is 20|The download limit was raised to 50
The maximum badge size is 2 MB|The maximum badge size was cut to 1 MB
Vera runs the ticket office|Vera handed the ticket office over to Igor
The canteen is managed by Vera|Igor took over the canteen from Vera
Vera plays the flute in the trio|Vera swapped the flute for the harp
The tenant is on the Bronze plan|The tenant upgraded from Bronze to Gold
The gazette goes out on Mondays|The gazette was shifted from Monday to Friday
Vera lives in Utrecht|Vera moved to Breda in autumn
The harp is at the workshop|The harp was picked up from the workshop
Vera is an apprentice|Vera has finished her apprenticeship
Vera is on sick leave|Vera is back at work
Vera is pregnant|Vera gave birth to a girl
Vera takes aspirin|The doctor took Vera off aspirin
Tickets for the gala are available|The gala is sold out
The grant is undecided|The grant was refused
Vera is a junior analyst|Vera was promoted to senior analyst
Default timeout of the worker is 45 seconds|The worker's default timeout is 120 seconds
Ana uses Windows 10|Ana uses Windows 11
The crawler runs on Ubuntu 18|The crawler was upgraded to Ubuntu 22
The depot runs Debian 14|The depot runs Debian 16
Client Harbour is on the Bronze plan|Client Harbour is on the Silver plan
The customer is on the Bronze plan|The customer switched to the Silver plan
The deal is in stage discovery|The deal is in stage negotiation
The car is insured with Allianz|The car is insured with AXA
Menus should be in Dutch|Menus should be in Greek
The default branch is master|The default branch is main
Default language: German|Default language: English
Ana's favourite colour is teal|Ana's favourite colour is orange
Pia's form tutor is Ms. Okafor|Pia's form tutor is Mr. Lindt
The board meets in room 204|The board meets in room 310
The lead developer is Igor|Igor has been replaced by Sonja as lead developer
We use Jenkins for continuous integration|Jenkins was replaced by GitHub Actions for continuous integration
Ana eats meat|Ana doesn't eat meat any more
The brochure is being translated|The brochure has been approved
The petition is unanswered|The petition was answered
The essay is unfinished|The essay has been submitted
The lathe is armed|The lathe is disarmed
The guest is satisfied with the room|The guest is dissatisfied with the room
The pass is still valid|The pass is not valid any longer
The plugin isn't compatible with Windows|The plugin is compatible with Windows
Crane 4 is rebooting|Crane 4 has finished rebooting
The fence is yellow|The fence is white now
The board's fee is 12 euros|The board's fee is 15 euros now
The limit is 3 bags|The ferry line raised the limit to 4 bags
Van 7 is driven by Karim|Van 7 was handed over from Karim to Lotte
The choir meets in the chapel|The choir no longer meets in the chapel but in the town hall
The seminar is held in Dutch|Starting this term the seminar is held in English
The stage props are in bay 4|The stage props have been relocated to bay 9
The crate is in Rotterdam|The crate is in Antwerp
The latest release is 5.2.1|The latest release is 5.3.2
The next tram leaves at 8:05|The next tram leaves at 8:25
The current theme is pirates|The current theme is space travel
Der Beitrag beträgt 12 Euro|Der Beitrag wurde auf 15 Euro erhöht
La clase es el lunes|La clase se aplazó al viernes
店长是王强。|店长换成了李娜。
店长是王强。|店长是李娜。
包裹还没有寄出。|包裹已经寄出了。
The boat to Sark leaves from pier 2|The boat to Sark leaves from pier 5
Remaining days of leave of Ana: 9|Remaining days of leave of Ana: 6
The policy contains a waiver|The policy does not contain a waiver
Noor is in hospital|Noor was discharged from hospital
The yacht is at sea|The yacht has arrived in Bergen
Ida is head of catering|Ida resigned as head of catering
Das Turnen beginnt um 17 Uhr|Das Turnen beginnt jetzt erst um 18 Uhr
Ana's title is curator|Since the merger Ana's title is registrar
The gala is on 9 May|The gala was brought forward to 2 May
The order of the lamps is pending|The order of the lamps shipped this morning
It is not allowed to swim in the lake|It is allowed to swim in the lake
The party is on May 1st|The party was moved to May 2nd
门票是三百二|门票是302
会费的标准是30元|会费的标准是35元
The fee is 12 euros|After the vote, the fee rose to 15 euros
张伟住在广州。|张伟搬到了深圳。
"""
KEPT = """
The fence is being painted|The gate has been painted
The fence is being painted|The fence was painted in 2019
The trail is marked|The path is unmarked
The beans grow in bed 4|The beans were transplanted from bed 3 to the polytunnel
The beans were sown in bed 3|The beans were transplanted from bed 3 to the polytunnel
The file is in the inbox|The file was copied from the inbox to the archive
The shop opens on Mondays|The shop was closed from Monday to Friday
Vera writes the newsletter|Igor writes the newsletter
Vera conducts the choir|Igor conducts interviews
Vera conducts the choir on Mondays|Igor conducts the choir on Fridays
El hermano de Ana es Luis|La hermana de Ana es Pilar
El director de ventas es Luis|La directora de compras es Carmen
Die Leitung der Kita hat Frau Roth|Die Leitung der Schule hat Herr Simon
Die Leitung der Kita hat Frau Roth gelobt|Die Leitung der Kita hat Herr Simon gelobt
Die Karten hat Frau Roth|Die Karten hat Herr Simon
他的朋友是王强。|他的朋友是李娜。
他以为经理是王强。|他以为经理是李娜。
The dog sleeps in the kitchen|The cat now sleeps in the hallway
The dog is in the kitchen|The dog now sleeps in the hallway
The copy job runs hourly|The copy job runs daily
The house is heated with gas|The house is now painted with oil
Ana goes by train|Ana goes by car
The table is called order_data|The table is called order_date
An example image is ruby:3.2-slim|An example image is ruby:3.3-slim
The ticket is INV-2024-0318|The ticket is INV-2024-0381
The download limit is 20|The upload limit was raised to 50
The download limit is 20|The download limit was raised by 50
The canteen is managed by Vera|Vera handed the canteen over to Igor during her leave
The canteen is managed by Vera|Vera handed the key of the canteen over to Igor
Vera opened the canteen|Vera handed the canteen over to Igor
Vera sold the canteen|Vera left the canteen
The gazette goes out on Mondays|The magazine was shifted from Monday to Friday
Vera lives in Utrecht|Vera wants to move to Breda in autumn
The harp is at the workshop|The harp was picked up from the school
The harp is at the workshop|The key of the harp was picked up from the workshop
Vera lives in Lisbon|Vera is back from Lisbon
Vera is in training as a pilot|Vera has finished her training as a nurse
Vera is on parental leave|Vera is back at the hotel
Tickets for the gala are available|The book on the gala is sold out
Vera is a junior analyst|Vera is a senior lawyer
Vera is a junior analyst|Ben is a senior analyst
Vera is a junior analyst|Vera was a senior analyst
Vera is a junior analyst|Vera may be promoted to senior analyst
Vera is a junior analyst|Vera wants to be a senior analyst
Default timeout of the worker is 45 seconds|The server's default timeout is 120 seconds
The fee for adults is 5 euros|The fee for children is 3 euros
Ana's share of the rent is 300 euros|Ben's share of the rent is 400 euros
The weight of box A is 3 kg|The weight of box B is 5 kg
The answer to question 3 is 42|The answer to question 4 is 43
The largest part is 30 %|The smallest part is 5 %
Ana uses Windows 11 at work|Ana uses Windows 10 at home
Rack 4 runs Ubuntu 22|Rack 5 runs Ubuntu 24
Line 4 runs Train 12|Line 4 runs Train 14
Ward 3 uses Pump 12|Ward 3 uses Pump 14
The app uses Python 3.10|The app uses Python 3.10 and Python 3.12
The crawler runs on Ubuntu 18|The crawler will run on Ubuntu 22
The crawler runs on Ubuntu 18|The crawler could run on Ubuntu 22
CI runs on Ubuntu 22|CI runs on Debian 12
We use Boeing 737|We use Boeing 747
The team meets in room 4|The board meets in room 5
The default branch is main|The default branch of the fork is dev
The default port is 80|The default path is srv
Menus should be in Dutch|Signs should be in Greek
Menus should be in Dutch|Menus should be in PDF
Menus should be in Dutch|Menus should be in Dutch and Greek
Menus should be in Dutch|Menus should not be in Greek
Bo works for Acme|Bo works for Acme and Globex
Bo works for Acme|Bo's sister works for Globex
Bo works for Acme|Bo worked for Globex
The car is insured with AXA|The house is insured with Allianz
The car is insured with AXA|The car was insured with Allianz
The car is insured with AXA|The car may be insured with Allianz
The deal is in stage discovery|The deal is not in stage negotiation
The deal is in stage discovery|The Acme deal is in stage negotiation
Ana is on the Basic plan|Ana might be on the Pro plan
Ana is on the Basic plan|Ana wants to be on the Pro plan
Ana is on the Basic plan|Ana is on the payment plan
Ana is on the Basic plan|Ana is on the same plan
Ana is on the Basic plan|Ben is on the Pro plan
The server is in zone A|The server is also in zone B
The server is in zone A|The printer is in zone B
Ana's preferred name is Annie|Ana's preferred airline is Emirates
Ethan's friend is Max|Ethan's friend is Leo
Ethan's son is Max|Ethan's son is Leo
Ethan's dog is Max|Ethan's dog is Leo
Pia's form tutor is Ms. Okafor|Pia's piano tutor is Mr. Lindt
Pia's form tutor is Ms. Okafor|Kim's form tutor is Mr. Lindt
Pia's form tutor is Ms. Okafor|Pia's form tutor was Mr. Lindt
Ana's city is Rome|Ana's city is Oslo
Ana's favourite drink is tea|Ana's favourite snack is nuts
Igor was replaced by Sonja as lead developer|Igor is the lead tester
We use Jenkins for builds|Jenkins was replaced by GitLab for deployments
We use Jenkins for builds|Jenkins may be replaced by GitLab for builds
We use Jenkins for builds|Jenkins was not replaced by GitLab for builds
The tyre of the van is flat|The tyre of the car was replaced by Ben
The kitchen is on the third floor|The kitchen is on the thirteenth floor
The default branch is main|The default branch is protected
Ana's favourite colour is teal|Ana's favourite colour is boring
Our preferred supplier is Acme|Our preferred supplier is cheap
The manual is written in English|The manual is published in German
The service runs on Python 3.11|The service also runs on Python 3.12
The file number is 2026/0318|The file number is 2026/0381
The flight leaves at 8:05|The flight leaves at 8:25
The brochure is being translated|The poster has been approved
The crate is in Rotterdam|The crane is in Antwerp
The board raised the fee to 12 euros|The board raised the deposit to 15 euros
The next tram leaves at 8:05|The next train leaves at 8:25
The limit is 3 bags|Ana raised her limit to 4 bags
The choir is in the chapel|After the break the choir is in the library
The theme of the party is pirates|After dinner the theme of the party is jazz
千万不要迟到|10000000不要迟到
The truck was not loaded|The truck was unloaded
The fraud was not covered|The fraud was uncovered
It may rain on Friday|Raining on Friday is allowed
Ana's first language is Python|Ana's native language is Python
The vote was no. 3 members left|The vote was number 3 members left
Team B 12 players left|Team B12 players left
Sr. engineer Vega left|Señor engineer Vega left
SELECT name FROM users WHERE level = 1|SELECT name FROM users WHERE level = 2
Ana is younger than Ben|Ana is older than Ben
Ana is a botany teacher|Ana is a ballet teacher
The vault is kept at minus forty degrees|The vault is kept in case 40
Ana is the author of the opera|Ana is the author of the play
No fishing from the pier|No parking on the pier
Half of our servers run on Ubuntu 20|Half of our servers run on Ubuntu 22
"""


def fate(older: str, newer: str) -> tuple[int, int]:
    """How many are merged, and how many replaced."""
    said = [Statement(UUID(int=at), text, START + timedelta(days=at)) for at, text in enumerate((older, newer), 1)]
    found = reconcile(said)
    return len(found.merges), len(found.superseded)


def test_another_value_in_a_frame_for_one_replaces_the_older() -> None:
    for line in REPLACED.strip().splitlines():
        older, newer = line.split("|")
        assert fate(older, newer) == (0, 1), line


def test_another_thing_a_wish_a_list_or_what_one_may_have_several_of_replaces_nothing() -> None:
    for line in KEPT.strip().splitlines():
        one, other = line.split("|")
        assert fate(one, other) == fate(other, one) == (0, 0), line
