"""Statements that fill a frame for one value: what replaces what, and what only looks like it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory.text.similarity import Statement, reconcile

START = datetime(2026, 1, 5, tzinfo=UTC)
REPLACED = """
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
"""
KEPT = """
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
