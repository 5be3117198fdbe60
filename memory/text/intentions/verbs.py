"""Verbs of what people ask of each other and promise, in their base form; and the stem that forms of a verb share."""

import re
from collections.abc import Iterable

from memory.text.remembered import remembered

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
ACTIONS = frozenset(
    """
    accept acknowledge activate add address adjust administer admit advertise advise align allocate amend analyse
    analyze announce anonymise anonymize answer apologise apologize appeal append applaud apply appoint approve
    arbitrate archive arrange ask assemble assess assign assist attach attend audit authorise authorize award babysit
    back badger bake balance bathe beep benchmark bid bill bind bleach bleed block boil book bookmark borrow brief
    bring broadcast broker brush buff build bump bundle burn buy calculate calibrate call cancel capture carry cash
    cast cater cc chair change chaperone charge chase check checkpoint chill chop circulate claim clean clear clip
    close coach collect comb combine comfort compare compile complete compose compress compute conduct configure
    confirm congratulate connect console consolidate consult contact convene convert cook coordinate copy cordon
    correct count countersign courier cover crate crawl create credit cross-check crush cut debit debrief decide
    declare decline decommission decorate defrost delegate delete deliver demo deploy deposit descale describe design
    destroy develop diagnose dice dictate dig digitise digitize disable disassemble discard discharge discipline
    disconnect discuss disinfect disinvite dismantle dismiss dispatch display dispose distribute divest divide
    document donate dose double-check download draft drain draw dress drill drink drive drop dry dump duplicate dust
    e-mail eat edit elect email empty enable encrypt endorse enrol enroll enter erase escalate escort establish
    estimate evacuate evaluate evict examine exchange execute expand expedite explain export extend extract failover
    fasten fax feed fertilise fertilize fetch file fill filter finalise finalize finish fit fix flag flush fold follow
    forward freeze fry fumigate garnish gather generate get give glue go grate grease greenlight greet grill grind
    groom grout hand hand-deliver hang harvest hassle heat hedge help hire honor honour hoover hose host hug implement
    import include incubate index induct inform ingest initiate inject inspect install instruct instrument insulate
    insure integrate interview introduce invest investigate invite invoice iron irrigate issue join keep kill knead
    label laminate launch launder lay lead learn leave lend level lift link lint liquidate list load lock lodge log
    look loosen lower lubricate mail maintain make mark mash mask measure mediate medicate meet memorise memorize mend
    mentor merge message migrate milk mind mix moderate modify mold monitor mop mould mount mow mute nag negotiate
    nominate notarise notarize notify nudge number obtain offer onboard open order organise organize outline overhaul
    oversee pack pad paginate paint palletise palletize park pass patch pause pay peel perform pester petition phone
    photograph pick pin ping place plan plant plaster plate plug poke polish post postpone pour practice practise
    praise pre-order preheat prepare prescribe present press prime print process procure prod produce profile promote
    proofread propose protect provide provision prune publish pull pump purchase purge push put quarantine query queue
    quote raise rake re-enable reactivate read rearrange reassure rebalance rebase rebook reboot rebuild recalculate
    recalibrate recall recap recharge recheck reclaim reconcile reconfigure record recount recover recruit recycle
    redact redeem redeploy redirect redo reduce refactor refer refill refinance refresh refrigerate refuel refund
    regenerate register rehearse reheat reimburse reindex reinstall reinsure reissue reject relaunch release relocate
    remind remit remove rename render renegotiate renew rent reopen reorder repaint repair repay repeat rephrase
    replace replenish replicate reply report repost repot represent reprint reproduce request rerun rescan reschedule
    rescue reseal research resend reserve reset resize resolve respawn respond restart restock restore resubmit resume
    retake retest retire retrain retrieve retry return reuse revalidate reverse revert review revise revisit revoke
    reward rewire rewrite ring rinse roast roll rotate route run sand sanitise sanitize save scan schedule scold scrap
    scrape screenshot scrub seal search season seat secure seed sell send separate serve service set settle shampoo
    share sharpen shave shelve ship shoot shop shortlist show shred shut sieve sign simmer sketch slice snapshot soak
    solder solve sort speak sponsor spot-check spray spread stack stage stamp start sterilise sterilize stir stock
    stop store straighten strap stretch strip submit subscribe subtract sue sum summarise summarize summon supervise
    supply support surprise survey suspend suture swab swallow swap sweep switch sync synchronise synchronize tackle
    tag taint take talk tally tape teach tell terminate test text thank throttle throw tick tidy tie tighten tile
    toast top total tow trace track trade train transcribe transfer translate transplant transport transpose treat
    triage trigger trim troubleshoot try tuck turn tutor tweak type typeset unblock uncordon uncover underwrite
    uninstall uninvite unload unlock unmute unpack unpause unplug unsubscribe untie update upgrade upload use usher
    vacate vaccinate vacuum validate varnish vent ventilate verify vet visit void vote wake walk warm warn wash water
    wax weed weigh welcome weld whip whitelist wipe wire withdraw wrap write zero
    """.split()
)
# What is or happens to its subject: the promise of none of these is one.
HAPPENING = frozenset(
    """
    admire age agree appear arrive be become begin believe belong blow break can celebrate close collapse come comprise
    consist contain cost decrease depart depend deserve die differ dislike doubt dread drop ease enjoy equal exceed
    exist expire face fail fall fear feel find flood forget freeze gain get go graduate grow happen hate have hear hope
    include incur increase involve jump know lack land lapse last lead leave like lose love marry matter mature mean
    miss need notice occur open outgrow outlive own peak prefer probably quadruple rain reach realise realize receive
    recognise recognize regret remain resemble retire rise roll run sail see seem shrink sink sit sleep smell snow
    sound spend spike stand stay sting stop suffer suit surge surpass survive take taste thaw think travel triple turn
    understand want wear weigh win wish work worry
    """.split()
)
# The past of these is written like the verb.
LIKE_PAST = frozenset(
    """
    beat bet bid broadcast burst bust cast cost cut fit forecast hit hurt knit let offset
    preset put quit read rerun reset rid run set shed shut slit split spread sweat thrust typeset undercut upset wed wet
    """.split()
)
# Irregular verbs: the verb, its past, its participle. Left out are forms that are mostly other words: "lay", "bound",
# "ground", "wound", "bore", "bit", "dove".
IRREGULAR = """
arise arose arisen, awake awoke awoken, be was were been, bear borne, beat beaten, become became, befall befell
befallen, beget begot begotten, begin began begun, behold beheld, bend bent, beset, bite bitten, bleed bled, blow
blew blown, break broke broken, breed bred, bring brought, build built, burn burnt, buy bought, catch caught, choose
chose chosen, cling clung, come came, creep crept, deal dealt, dig dug, do did done does, draw drew drawn, dream
dreamt, drink drank drunk, drive drove driven, dwell dwelt, eat ate eaten, fall fell fallen, feed fed, feel felt,
fight fought, find found, flee fled, fling flung, fly flew flown, forbid forbade forbidden, foresee foresaw
foreseen, forget forgot forgotten, forgive forgave forgiven, forgo forgone, forsake forsook forsaken, freeze froze
frozen, get got gotten, give gave given, go went gone goes, grow grew grown, hang hung, have had has, hear heard,
hide hid hidden, hold held, keep kept, kneel knelt, know knew known, lead led, lean leant, leap leapt, learn learnt,
leave left, lend lent, lie lain, light lit, lose lost, make made, mean meant, meet met, mislead misled, mistake
mistook mistaken, misunderstand misunderstood, mow mown, oversee oversaw overseen, oversleep overslept, overtake
overtook overtaken, overthrow overthrew overthrown, pay paid, prove proven, rebuild rebuilt, redo redid redone,
repay repaid, rewrite rewrote rewritten, ride rode ridden, ring rang rung, rise rose risen, run ran, saw sawn, say
said, see saw seen, seek sought, sell sold, send sent, resend resent, sew sewn, shake shook shaken, shine shone,
shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, slay slew slain, sleep slept,
slide slid, sling slung, slink slunk, smell smelt, sow sown, speak spoke spoken, speed sped, spell spelt, spend
spent, spill spilt, spin spun, spit spat, spoil spoilt, spring sprang sprung, stand stood, steal stole stolen, stick
stuck, sting stung, stink stank stunk, stride strode, strike struck stricken, string strung, strive strove striven,
swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung, take took taken, teach taught, tear tore
torn, tell told, retell retold, think thought, thrive throve, throw threw thrown, tread trod trodden, undergo
underwent undergone, understand understood, undertake undertook undertaken, undo undid undone, unwind unwound,
uphold upheld, wake woke woken, wear wore worn, weave wove woven, weep wept, win won, withdraw withdrew withdrawn,
withhold withheld, withstand withstood, wring wrung, write wrote written, die died dying dies, lie lied lying, tie
tied tying, vie vied vying, untie untied untying unties, go going, do doing, agree agreed, disagree disagreed, free
freed, guarantee guaranteed, panic panicked panicking, mimic mimicked mimicking
"""
BASES = {
    form: verb for line in IRREGULAR.replace("\n", " ").split(",") for verb, *forms in [line.split()] for form in forms
}
# Their "l" is doubled, in some countries.
WITH_L = """
cancel channel compel control counsel dial dispel enrol equal excel expel fuel fulfil initial label level model
patrol propel quarrel rebel refuel repel signal spiral total travel tunnel
"""
BASES |= {f"{verb}l{end}": verb for verb in WITH_L.split() for end in ("ed", "ing")}
# Plurals that are no form of a verb as well.
BASES |= dict(
    zip(
        "men women teeth feet mice geese wives knives thieves loaves calves wolves halves scarves children".split(),
        "man woman tooth foot mouse goose wife knife thief loaf calf wolf half scarf kid".split(),
        strict=True,
    )
)
PASTS = frozenset(BASES) - frozenset("has does goes dies going doing dying lying tying vying".split())
DOUBLED = frozenset(
    """
    submit ship transfer get cut put run set shut stop drop plan trim swap tag pin ping mop scan scrap log wrap strip
    dig tow fit zip pat prod refer remit sit chat win begin clip mix cancel label travel rub rerun reset top tip unplug
    unpin plug rip scrub step chop hop
    """.split()
) - frozenset(("ping", "mix", "tow", "cancel", "label", "travel"))


def third_person(verb: str) -> str:
    """ "sends" of "send"."""
    if verb.endswith(("sh", "ch", "s", "x", "z", "go")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"


def doing(verb: str) -> str:
    """ "sending" of "send"."""
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if verb in DOUBLED else "") + "ing"


# In a frame that makes any word a verb: one that is known, or one with an object.
DETERMINED = (
    r"(?:(?:\s+(?:up|down|out|off|back|over|away|round|around|along|through|with|for|to|after|about|into)){0,2}"
    r"\s+(?:the|an?|my|our|your|his|her|their|its|these|those|it|them|him|us|me|you|all|both|every|everyone|everybody"
    r"|another|some|any|two|three|four|five|[\w-]+'s)|\s+(?:\d+|(?-i:(?!\w+day\b)[A-Z])[\w'-]+))\b"
)
DOES = {third_person(verb): verb for verb in ACTIONS}
DOING = {doing(verb): verb for verb in ACTIONS} | {f"{verb}ling": verb for verb in ("cancel", "label")}
# Actions of two words, by their verb.
PHRASES = "follow up|get back|come back|reach out|sign off|look at|look into|look after|take care|see to|deal with"


def listed(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))


ANY_VERB = rf"(?!(?:{listed(HAPPENING)}|not|\w+ly|also|still|just|then|only|never|always|often)\b)(?-i:[a-z])[a-z-]+"
PARTICLE = re.compile(r"^(?:re|un|pre|over|double|cross|water|stress|spot|hand|fact|soft|hard)-")


def is_action(word: str) -> bool:
    """Whether a word may be the verb of an order or a promise: "send", "re-send", "water-test"."""
    folded = word.casefold()
    return folded in ACTIONS or PARTICLE.sub("", folded) in ACTIONS


# What the forms of a word share.

SHORTEST = 3
ENDINGS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
# What ends in these has no such ending: "glass", "exceed", "agrees".
WHOLE = {"s": ("ss", "us", "is"), "ed": ("eed",), "es": ("ees",)}
# Others would be taken for another word.
UNCUT = {"note": "note", "notes": "note", "customs": "customs", "goods": "goods"}
VOWEL = re.compile(r"[aeiouy]")


@remembered(16_384)
def stem(word: str) -> str:
    """The part of an English word that its forms share: clears, cleared and clear are one."""
    if word in BASES:
        return _short(BASES[word])
    if len(word) <= SHORTEST or not word.isalpha():
        return word
    return UNCUT.get(word) or _short(word)


def _short(word: str) -> str:
    for ending, instead in ENDINGS:
        if word.endswith(ending) and not (ending in WHOLE and word.endswith(WHOLE[ending])):
            root = word[: -len(ending)] + instead
            if len(root) >= SHORTEST and VOWEL.search(root):
                word = root
                break
            if (
                len(root) == SHORTEST - 1
                and ending in ("ing", "ed")
                and VOWEL.search(root)
                and not word.endswith("ied")
            ):
                word = root + "e"  # "used", "owing"
                break
    if len(word) > SHORTEST and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > SHORTEST and word.endswith("e") else word
