"""Words that say the same. Data alone. Each line is a group; its first word stands for all.

Kept narrow on purpose: whatever could be two facts in one line (ship and deliver, user and customer) is not here.
"""

# Verbs, in their base form; regular forms are made by the rules of English, the irregular ones stand below.
VERBS = """
buy purchase
begin start commence
finish complete conclude
fix repair
help assist
delete remove erase
ask inquire enquire
answer reply respond
choose select pick
use utilize utilise
allow permit
need require
prefer favor favour
show display
receive obtain
cancel terminate
build construct
try attempt
contact reach
live reside
keep retain
send dispatch
plan schedule
promise guarantee
damage break
request solicit
increase raise
reduce decrease lower
verify check validate
modify alter change
hire recruit
inform notify
gather collect
organize organise
manage handle
authorize authorise
own possess
move relocate
postpone delay
speak communicate
solve resolve
like enjoy
give provide
"""

NOUNS = """
customer client
email e-mail
phone telephone
company firm
vacation holiday
error mistake fault
problem issue
picture image photo photograph
car automobile
lawyer attorney
document doc
information info
application app
staff personnel
colleague coworker co-worker
doctor physician
movie film
shop store
salary wage
objective goal
sign-in signin log-in login sign-on signon
website web-site
invoice bill
help assistance
delivery shipment
parcel package
agreement contract
meeting appointment
supplier vendor
summary overview
warehouse depot
limit cap
license licence
program programme
catalog catalogue
color colour
center centre
organization organisation
inquiry enquiry
"""

OTHERS = """
fast quick rapid speedy quickly rapidly
big large
biggest largest
price cost
mobile cell
staff employees
small little
annual yearly annually
approximately about around roughly circa approx
frequently often
immediately instantly straightaway
usually normally typically
happy glad pleased
easy simple
entire whole
mandatory compulsory obligatory
each every
enough sufficient
new brand-new
main primary
maximum max
minimum min
wrong incorrect
favorite favourite preferred
canceled cancelled
canceling cancelling
labeled labelled
traveling travelling
grey gray
dept department
mgmt management
mgr manager
acct account
qty quantity
amt amount
addr address
asap promptly
january jan
february feb
april apr
june jun
july jul
august aug
september sep sept
october oct
november nov
december dec
hour hours
minute minutes
day days
week weeks
month months
year years
monday mon mondays
tuesday tue tues tuesdays
wednesday wed wednesdays
thursday thu thur thurs thursdays
friday fri fridays
saturday saturdays
sunday sundays
"""

# What the rules would get wrong: form -> (base, ending).
IRREGULAR = {
    "bought": ("buy", "ed"),
    "began": ("begin", "ed"),
    "begun": ("begin", "ed"),
    "beginning": ("begin", "ing"),
    "chose": ("choose", "ed"),
    "chosen": ("choose", "ed"),
    "shown": ("show", "ed"),
    "built": ("build", "ed"),
    "spoke": ("speak", "ed"),
    "spoken": ("speak", "ed"),
    "gave": ("give", "ed"),
    "given": ("give", "ed"),
    "cancelled": ("cancel", "ed"),
    "cancelling": ("cancel", "ing"),
    "kept": ("keep", "ed"),
    "sent": ("send", "ed"),
    "broke": ("break", "ed"),
    "broken": ("break", "ed"),
    "planned": ("plan", "ed"),
    "planning": ("plan", "ing"),
    "preferred": ("prefer", "ed"),
    "preferring": ("prefer", "ing"),
    "permitted": ("allow", "ed"),
    "permitting": ("allow", "ing"),
}


def _forms(verb: str) -> dict[str, str]:
    """Each regular form of a verb with its ending; the third person is a form of its own."""
    stem = verb.removesuffix("e")
    third = verb + "es" if verb.endswith(("s", "sh", "ch", "x", "z")) else verb + "s"
    past, going = stem + "ed", stem + "ing"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        third, past = verb[:-1] + "ies", verb[:-1] + "ied"
    return {verb: "", third: "+s", past: "+ed", going: "+ing"}


def _plural(noun: str) -> str:
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


def _table() -> dict[str, str]:
    table: dict[str, str] = {}
    for line in OTHERS.strip().splitlines():
        first, *rest = line.split()
        table.update(dict.fromkeys((first, *rest), first))
    for line in NOUNS.strip().splitlines():
        first, *rest = line.split()
        table.update(dict.fromkeys((first, *rest), first))
        table.update({_plural(word): f"{first}+s" for word in (first, *rest)})
    for line in VERBS.strip().splitlines():
        first = line.split()[0]
        for verb in line.split():
            for form, ending in _forms(verb).items():
                table.setdefault(form, first + ending)
    table.update({form: f"{table.get(base, base)}+{ending}" for form, (base, ending) in IRREGULAR.items()})
    return table


CANONICAL: dict[str, str] = _table()
# All that stand for one.
FORMS: dict[str, list[str]] = {}
for _form, _base in CANONICAL.items():
    FORMS.setdefault(_base, []).append(_form)
