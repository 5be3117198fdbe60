"""Words of English by what they do in a statement. Data alone; all casefolded.

``STOP`` may be dropped without another meaning. What changes a meaning (off, out, down, without, more, before, only,
must, from) is in no list that drops words.
"""
# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

STOP = frozenset(
    """
    a an the this that these those there it its itself
    is are am was were be been being has have had having do does did doing done
    of to in on at for by with as into onto upon within via per and & plus
    which who whom whose where teh hte adn taht thsi wiht
    """.split()
)

# Said around a statement, not by it: one of these more or less makes no other statement.
FILLERS = frozenset(
    """
    actually basically really simply just also too quite very pretty literally essentially truly certainly
    definitely clearly obviously evidently apparently seemingly honestly frankly indeed naturally surely absolutely
    totally completely well so ok okay yes please kindly fyi btw tbh imo imho afaik nb ps anyway anyhow however
    moreover furthermore additionally besides therefore thus hence then currently presently now nowadays still
    already generally basically overall ultimately importantly notably specifically particularly interestingly
    incidentally hopefully fortunately unfortunately hey hi hello um uh er hmm oh again but
    """.split()
)

# A capital makes none of these a name.
SAID_WITH_CAPITALS = frozenset(
    """
    i fyi btw tbh imo imho afaik nb ps ok okay please the this that these those and of
    was were been being has have had having do does did doing done
    """.split()
)

# A clause of nothing but these, before a colon, a comma or "that", or behind a comma, says nothing of the matter.
DISCOURSE = frozenset(
    """
    note noted notes noting reminder remind reminding remember remembered heads update info information record records
    recorded recap summary mention mentioned mentioning discuss discussed discussion agreed say says said saying
    told telling know knows known aware keep bear mind clear clarification confirms confirmed confirming
    confirmation understand understood understanding believe think thinks thought seem seems appear
    appears turns turned out worth case you we i me us your our my
    conversation call chat earlier previously previous last far fact course general
    short brief long way point reference future quick quickly small little important let want wanted add added adding
    seen sources according based everything else things thing state stated stating report reported heard
    learned learnt found notice noticed observe observed speaking words word simple put repeat repeating
    reiterate time being moment honest sake completeness recall correctly
    """.split()
)

PHRASES = tuple(
    tuple(phrase.split())
    for phrase in """
    kind of
    sort of
    of course
    as discussed
    as mentioned
    as noted
    as agreed
    as stated
    as reported
    as you know
    as we know
    per our conversation
    per our discussion
    per our call
    at the end of the day
    all in all
    by and large
    as a matter of fact
    on record
    to recap
    in short
    in fact
    at the moment
    at this point
    at this time
    at present
    as of now
    right now
    for now
    by the way
    you know
    i mean
    i think
    i believe
    we believe
    we think
    to be clear
    just to confirm
    to confirm
    just to clarify
    to clarify
    just so you know
    just checking
    to be honest
    in general
    after all
    as well
    as usual
    as always
    in any case
    as far as i know
    as far as we know
    more or less
    for the record
    for your information
    in the end
    these days
    if i recall correctly
    if i remember correctly
    if i remember right
    if i am not mistaken
    if i'm not mistaken
    it seems
    it seems that
    it appears
    it turns out
    needless to say
    i learned that
    i learned
    i heard that
    we learned that
    make sure
    """.strip().splitlines()
)

NEGATIONS = {
    "not": "not",
    "no": "no",
    "never": "never",
    "none": "none",
    "nothing": "none",
    "nobody": "nobody",
    "neither": "neither",
    "nor": "nor",
    "without": "without",
    "cannot": "not",
    **dict.fromkeys(
        "dont doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt wouldnt hasnt".split(), "not"
    ),
    "hardly": "hardly",
    "barely": "hardly",
    "except": "except",
    "excluding": "except",
    "unless": "unless",
    "lacks": "without",
    "lack": "without",
    "lacking": "without",
}

# Bound to what follows: "before shipping" is not "shipping before".
DIRECTIONS = frozenset(
    """
    before after until till since than over under above below between against instead versus vs unless except without
    from despite beyond behind toward towards
    """.split()
)

PREPOSITIONS = frozenset("to in on at for by with of from into onto upon within via per as than over under".split())
ALIKE = {"on": "in", "at": "in", "within": "in", "upon": "in"}
MAY_BE_MISSING = frozenset("of to in".split())
ARTICLES = frozenset("the a an that this these those its".split())
PAST = frozenset("was were had did".split())
MODALS = frozenset("must should shall will would can could may might to please".split())
# A phrase of these alone says when.
TIMES = frozenset(
    """
    every each next last year month week day quarter night morning evening afternoon weekend today tomorrow monthly
    weekly daily
    """.split()
)
# A phrase that begins with one of these is bound by it, wherever it stands.
HEADS = DIRECTIONS | frozenset(
    """
    if when whenever including once while because since during about after before through throughout across near
    für am im bei mit ab zum zur pour à en sur dans chez dès para por con desde según per con presso entro
    """.split()
)

PRONOUNS = {
    **dict.fromkeys(("i", "me", "my", "mine", "myself"), "i"),
    **dict.fromkeys(("you", "your", "yours", "yourself"), "you"),
    **dict.fromkeys(("he", "him", "his", "himself"), "he"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "she"),
    **dict.fromkeys(("we", "us", "our", "ours", "ourselves"), "we"),
    **dict.fromkeys(("they", "them", "their", "theirs", "themselves"), "they"),
}

# Tags and subjects of this shape say whose the entry is: two that differ are never one.
IDENTITY_TAGS = frozenset(
    """
    subject customer client account user person contact order invoice ticket case contract project tenant org
    organisation organization company team patient employee vendor supplier product sku device id email phone site
    store lead deal
    """.split()
)

# Common words that people are called by: one letter more or less, or another, makes another name of them.
NAMES = frozenset(
    """
    mark bill rob will grace hope rose jack frank dean grant drew chase art ray dawn joy faith page cliff dale glen
    lance miles pat penny pierce reed rich sandy sue victor violet wade ward warren brook brooks carol chuck clay cole
    crystal daisy don earl eve gene ginger hazel heather holly iris ivy jasmine jay jean josh lily max melody nick
    norm olive pearl rod ruby sage stone summer sterling amber angel autumn baker smith cook hunter mason carter cooper
    taylor turner fisher king brown green black white gray young long hill wood woods field fields bell bush banks
    wells rivers waters marsh moss love price rice cross church knight parker porter potter walker weaver carver
    christian major noble paris robin guy buddy destiny harmony mercy patience prudence trinity winter berry
    """.split()
)
