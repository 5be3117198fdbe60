"""Statements that fill a frame for one value: what replaces what, and what only looks like it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory.text.similarity import Statement, reconcile

START = datetime(2026, 1, 5, tzinfo=UTC)
REPLACED = """
Hannah is a junior developer|Hannah got promoted to senior developer
Default timeout of the worker is 45 seconds|The worker's default timeout is 120 seconds
Ana uses Windows 10|Ana uses Windows 11
The service runs on Python 3.9|The service was upgraded to Python 3.12
Production runs PostgreSQL 14|Production runs PostgreSQL 16
Customer Lowell is on the Starter plan|Customer Lowell is on the Business plan
The customer is on the Starter plan|The customer switched to the Business plan
The deal is in stage discovery|The deal is in stage negotiation
The car is insured with Allianz|The car is insured with AXA
Reports should be in English|Reports should be in French
The default branch is master|The default branch is main
Default language: German|Default language: English
Ana's favourite colour is teal|Ana's favourite colour is orange
Ethan's class teacher is Ms. Grady|Ethan's class teacher is Mr. Nwosu
The board meets in room 204|The board meets in room 310
The lead developer is Igor|Igor has been replaced by Sonja as lead developer
We use Jenkins for continuous integration|Jenkins was replaced by GitHub Actions for continuous integration
Ana eats meat|Ana doesn't eat meat any more
"""
KEPT = """
Hannah is a junior developer|Hannah is a senior tester
Hannah is a junior developer|Ben is a senior developer
Hannah is a junior developer|Hannah was a senior developer
Hannah is a junior developer|Hannah may be promoted to senior developer
Hannah is a junior developer|Hannah wants to be a senior developer
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
The service runs on Python 3.9|The service will run on Python 3.12
The service runs on Python 3.9|The service could run on Python 3.12
CI runs on Ubuntu 22|CI runs on Debian 12
We use Boeing 737|We use Boeing 747
The team meets in room 4|The board meets in room 5
The default branch is main|The default branch of the fork is dev
The default port is 80|The default path is srv
Reports should be in English|Letters should be in French
Reports should be in English|Reports should be in PDF
Reports should be in English|Reports should be in English and French
Reports should be in English|Reports should not be in French
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
Ethan's class teacher is Ms. Grady|Ethan's math teacher is Mr. Nwosu
Ethan's class teacher is Ms. Grady|Mia's class teacher is Mr. Nwosu
Ethan's class teacher is Ms. Grady|Ethan's class teacher was Mr. Nwosu
Ana's city is Rome|Ana's city is Oslo
Ana's favourite drink is tea|Ana's favourite snack is nuts
Igor was replaced by Sonja as lead developer|Igor is the lead tester
We use Jenkins for builds|Jenkins was replaced by GitLab for deployments
We use Jenkins for builds|Jenkins may be replaced by GitLab for builds
We use Jenkins for builds|Jenkins was not replaced by GitLab for builds
The tyre of the van is flat|The tyre of the car was replaced by Ben
The kitchen is on the third floor|The kitchen is on the thirteenth floor
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
