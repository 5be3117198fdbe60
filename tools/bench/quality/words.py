"""The closed lists that restatements draw on. A rule may expect these, and may know more.

* Synonyms, each standing for the other, in these very forms: customer/client, customers/clients, begins/starts,
  begin/start, purchased/bought, purchase/buy, e-mail/email, phone/telephone, help/assistance, replies/responds,
  issue/problem, issues/problems, finish/complete, finished/completed, large/big, largest/biggest, fast/quickly,
  mobile/cell, employees/staff, vacation/holiday, lawyer/attorney, photos/pictures, frequently/often, repair/fix,
  delete/remove, requires/needs, display/show, annual/yearly, allowed/permitted, kept/retained, agreement/contract,
  terminate/cancel, supplier/vendor, parcel/package, meeting/appointment, error/fault, check/verify, chose/selected,
  shops/stores, delivery/shipment, deliveries/shipments, promised/guaranteed, likes/enjoys, summary/overview,
  warehouse/depot, price/cost, limit/cap, damaged/broken, planned/scheduled, lives/resides, sent/dispatched.
* Filler in front: Basically, As noted, Just so you know, For the record, FYI, Please note that, Note that, As
  mentioned, As discussed, To be clear, Actually, In fact. Filler behind: as noted, as discussed, basically, of course,
  by the way.
  Filler behind a verb (is, are, has, gets, runs, wants, needs, must, may): basically, just, actually, really, simply.
* Function words that may be missing: the, a, an, of, to, that.
* Typos: one edit (a letter changed, missing, doubled, or two swapped) inside a word of six letters or more that is no
  name; its first letter stays. A text of more than 25 words may have two such words.
* Case: all lower, all upper, or every word with a capital. Punctuation and white space may change anywhere.
"""

SYNONYMS = (
    ("customer", "client"),
    ("customers", "clients"),
    ("begins", "starts"),
    ("begin", "start"),
    ("purchased", "bought"),
    ("purchase", "buy"),
    ("e-mail", "email"),
    ("phone", "telephone"),
    ("help", "assistance"),
    ("replies", "responds"),
    ("issue", "problem"),
    ("issues", "problems"),
    ("finish", "complete"),
    ("finished", "completed"),
    ("large", "big"),
    ("largest", "biggest"),
    ("fast", "quickly"),
    ("mobile", "cell"),
    ("employees", "staff"),
    ("vacation", "holiday"),
    ("lawyer", "attorney"),
    ("photos", "pictures"),
    ("frequently", "often"),
    ("repair", "fix"),
    ("delete", "remove"),
    ("requires", "needs"),
    ("display", "show"),
    ("annual", "yearly"),
    ("allowed", "permitted"),
    ("kept", "retained"),
    ("agreement", "contract"),
    ("terminate", "cancel"),
    ("supplier", "vendor"),
    ("parcel", "package"),
    ("meeting", "appointment"),
    ("error", "fault"),
    ("check", "verify"),
    ("chose", "selected"),
    ("shops", "stores"),
    ("delivery", "shipment"),
    ("deliveries", "shipments"),
    ("promised", "guaranteed"),
    ("likes", "enjoys"),
    ("summary", "overview"),
    ("warehouse", "depot"),
    ("price", "cost"),
    ("limit", "cap"),
    ("damaged", "broken"),
    ("planned", "scheduled"),
    ("lives", "resides"),
    ("sent", "dispatched"),
)
OTHER_WORD = {one: other for pair in SYNONYMS for one, other in (pair, pair[::-1])}

FILLER_IN_FRONT = (
    "Basically,",
    "As noted,",
    "Just so you know,",
    "For the record,",
    "FYI,",
    "Please note that",
    "Note that",
    "As mentioned,",
    "As discussed,",
    "To be clear,",
    "Actually,",
    "In fact,",
)
FILLER_BEHIND = (", as noted", ", as discussed", ", basically", ", of course", ", by the way")
FILLER_INSIDE = ("basically", "just", "actually", "really", "simply")
VERBS = ("is", "are", "has", "gets", "runs", "wants", "needs", "must", "may")

FUNCTION_WORDS = ("the", "a", "an", "of", "to", "that")
LONG_WORD = 6
LONG_TEXT = 25
