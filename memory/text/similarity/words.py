"""Words of English by what they do in a statement. Data alone; all casefolded.

``STOP`` may be dropped without another meaning. What changes a meaning (off, out, down, without, more, before, only,
must, from) is in no list that drops words.
"""

import re
from functools import cache
from typing import Any

from rs_bpe.bpe import openai

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
STOP = frozenset(
    """
    a an the this that these those there it its itself
    is are am was were be been being has have had having do does did
    of to in on at for by with as into onto upon within via per and & plus
       godziny godzinie godz
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
    erst jetzt nun ahora teraz maintenant adesso
    incidentally hopefully fortunately unfortunately hey hi hello um uh er hmm oh again but
    """.split()
)
# Articles, copulas and neutral prepositions of German, Spanish, French and Polish: they add nothing to a gist.
EMPTY = frozenset(
    """
    ist sind hat haben wird werden wurde wurden worden der die das dem den des ein eine einen einem einer am im um
    zum zur von vom sido ha fue été został została zostało zostały el la los las una es está están l' d' tiene hay
    del al de le les une est sont du au aux en jest są ma w
    """.split()
)
# Prepositions of other languages by the English ones that bind alike.
LEADS = (
    dict.fromkeys("von vom de del du des".split(), "of")
    | dict.fromkeys("am im um in en w".split(), "in")
    | dict.fromkeys("al zum zur au aux".split(), "to")
)
# With "'s" they mean "is".
SUBJECTS = frozenset("there it that he she what here where".split())
# Their dot ends no sentence.
ABBREVIATED = frozenset(
    """
    mr mrs ms dr prof st no nr ext incl excl max min approx hrs jan feb apr jun jul aug sept sep oct nov dec vs inc
    ltd co corp approx ca jr sr bzw dept ave etc sra sr mme
    """.split()
)
# A capital makes none of these a name.
SAID_WITH_CAPITALS = frozenset(
    """
    i fyi btw tbh imo imho afaik nb ps ok okay please the this that these those and of
    was were been being has have had having do does did doing done
    """.split()
)
# A clause of nothing but these, before a colon, a comma or "that", or after a comma, says nothing of the matter.
DISCOURSE = frozenset(
    """
    note noted notes noting reminder remind reminding remember remembered heads update info information record records
    recorded recap summary mention mentioned mentioning discuss discussed discussion agreed say says said saying
    told telling know knows known aware keep bear mind clear clarification confirms confirmed confirming
    confirmation understand understood understanding believe think thinks thought seem seems appear
    appears turns turned out worth case you we i me us your our my
    conversation call chat earlier previously previous last far fact course general
    short brief long way point reference future quick quickly small little important let want wanted add added adding
    correction correcting corrected correct
    seen sources according based everything else things thing state stated stating report reported heard
    learned learnt found notice noticed observe observed speaking words word simple put repeat repeating
    should all everyone everybody team folks self dear attention psa
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
    could you please
    can you please
    would you please
    would you kindly
    could you kindly
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
    **dict.fromkeys("dont doesnt didnt isnt arent wasnt werent couldnt shouldnt wouldnt hasnt".split(), "not"),
    "hardly": "hardly",
    "barely": "hardly",
    "except": "except",
    "excluding": "except",
    "unless": "unless",
    "lacks": "without",
    "lack": "without",
    "lacking": "without",
}
# Written as one word, and with the apostrophe that shows the two.
JOINED = {"cannot": "can't", "cant": "can't", "wont": "won't"}
# Short for.
SHORT = {
    "k8s": "kubernetes", "pw": "password", "pwd": "password", "mtg": "meeting", "mtgs": "meetings", "incl": "including",
    "excl": "excluding", "hrs": "hours", "mins": "minutes", "yrs": "years", "wks": "weeks", "pls": "please",
    "govt": "government", "intl": "international", "attn": "attention",
}  # fmt: skip
# Misspellings that so many texts have that they are words of the vocabulary.
MISSPELT = dict(
    pair.split("/")
    for pair in """
    accomodate/accommodate accomodation/accommodation accross/across acheive/achieve acheived/achieved
    adress/address adressed/addressed adresses/addresses agressive/aggressive apointment/appointment
    apparantly/apparently appointement/appointment approvel/approval aprove/approve aproved/approved
    aquire/acquire aquired/acquired arguement/argument assasin/assassin availabe/available availible/available
    avaliable/available backround/background basicly/basically begining/beginning beleive/believe belive/believe
    bizzare/bizarre buisness/business calender/calendar calenders/calendars cancelation/cancellation
    catagory/category cemetary/cemetery colleage/colleague collegue/colleague collegues/colleagues
    comittee/committee comming/coming commited/committed commitee/committee commiting/committing
    compatable/compatible completly/completely concious/conscious configuraton/configuration
    curiousity/curiosity databse/database definately/definitely definitly/definitely delivry/delivery
     desparate/desperate develope/develop developement/development dilemna/dilemma
    dissapear/disappear dissapoint/disappoint docter/doctor ecstacy/ecstasy embarass/embarrass
    enviroment/environment enviroments/environments equipement/equipment equiptment/equipment
    exagerate/exaggerate excede/exceed exersise/exercise existance/existence experiance/experience
    familar/familiar febuary/february feburary/february finaly/finally foriegn/foreign fourty/forty
    freind/friend freinds/friends fullfil/fulfil garantee/guarantee gaurantee/guarantee gaurd/guard
    goverment/government grammer/grammar gratefull/grateful greatful/grateful guarentee/guarantee
    happend/happened harrass/harass heighth/height heirarchy/hierarchy humourous/humorous hygeine/hygiene
    immediatley/immediately immediatly/immediately implemention/implementation independant/independent
    indispensible/indispensable insted/instead inteligence/intelligence intrest/interest invoce/invoice
    jewelery/jewelry knowlege/knowledge labratory/laboratory langauge/language lauguage/language lenght/length
    liason/liaison libary/library licence/licence lisence/license lisense/license maintainance/maintenance
    maintaning/maintaining maintenence/maintenance managment/management manuever/maneuver medecine/medicine
    meetting/meeting mesage/message messsage/message millenium/millennium miniscule/minuscule
    mischievious/mischievous morgage/mortgage neccesary/necessary neccessary/necessary necessery/necessary
    neice/niece neigbor/neighbor nineth/ninth  noticable/noticeable ocasion/occasion
    occasionaly/occasionally occassion/occasion occured/occurred occurence/occurrence occuring/occurring
    ocurred/occurred offical/official oportunity/opportunity orginal/original paralell/parallel
    parliment/parliament pasword/password payed/paid payement/payment peice/piece perfer/prefer perfers/prefers
    permanant/permanent permenant/permanent persistant/persistent personel/personnel pharmasist/pharmacist
    phisical/physical platfrom/platform  poeple/people politican/politician posession/possession
    possable/possible potatos/potatoes preceed/precede prefered/preferred prefering/preferring
    prescripton/prescription privelege/privilege priviledge/privilege probaly/probably proceedure/procedure
    profesional/professional proffesional/professional programing/programming pronounciation/pronunciation
    publically/publicly quarentine/quarantine questionaire/questionnaire realy/really reccomend/recommend
    reccommend/recommend reciept/receipt recieve/receive recieved/received recieves/receives recieving/receiving
    recipt/receipt recomend/recommend recomended/recommended recrod/record referance/reference refered/referred
    refering/referring reguarly/regularly relevent/relevant religous/religious remeber/remember reponse/response
    requst/request responsable/responsible restaraunt/restaurant restaurent/restaurant resturant/restaurant
    reuqest/request rythm/rhythm  saterday/saturday scedule/schedule schedual/schedule
    secratary/secretary secretery/secretary sentance/sentence seperate/separate seperated/separated
    seperately/separately serivce/service sevice/service shedule/schedule shiping/shipping sieze/seize
    signiture/signature similiar/similar sincerly/sincerely speach/speech standart/standard strengh/strength
    strenght/strength subsciption/subscription succesful/successful successfull/successful sucess/success
    sucessful/successful supercede/supersede suplier/supplier supliers/suppliers suport/support supplys/supplies
    suprise/surprise suprised/surprised techinical/technical technicaly/technically teh/the
    temperture/temperature temprature/temperature tendancy/tendency theri/their thier/their thourough/thorough
    threshhold/threshold thrusday/thursday tiket/ticket tommorow/tomorrow tommorrow/tomorrow tomorow/tomorrow
    transfered/transferred transfering/transferring transportion/transportation truely/truly tuseday/tuesday
    unecessary/unnecessary unfortunatly/unfortunately untill/until updat/update usefull/useful useing/using
    vaccum/vacuum vaction/vacation vegatable/vegetable vegatarian/vegetarian vegeterian/vegetarian
    vehical/vehicle verison/version visious/vicious warehose/warehouse warrenty/warranty wedensday/wednesday
    wellcome/welcome wendesday/wednesday wensday/wednesday  whereever/wherever wich/which
    wierd/weird withold/withhold writting/writing yeild/yield
    """.split()
)
JOINED |= SHORT
# With or without a hyphen behind them a word is the same.
PREFIXES = frozenset("co re e pre non anti multi sub semi inter un over under mid post".split())
JOINING = frozenset("co pre non anti multi sub semi inter".split())  # also where the word is a rare one
# With their hyphen these are other words.
APART = frozenset(
    """
    re-sign re-signs re-signed re-cover re-covers re-covered re-form re-formed re-sent re-mark re-collect re-count
    re-dress re-lease re-leased re-move re-place re-present re-serve re-store re-strain re-tire re-treat re-creation
    co-op co-ops
    """.split()
)
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
# In front of a statement; anywhere else a German one may tell who does what to whom.
FOREIGN_ARTICLES = frozenset(
    "der die das den dem des ein eine einen einem einer el la los las le les un una une".split()
)
FIRST_ARTICLES = {"der": True, "die": True, "das": True, "el": False, "la": False, "los": False, "las": False}
PAST = frozenset("was were had did".split())
MODALS = frozenset("must should shall will would can could may might to please".split())
# A phrase of these alone says when.
TIMES = frozenset(
    """
    every each next last year month week day quarter night morning evening afternoon weekend today tomorrow monthly
    weekly daily
    """.split()
)
# A phrase that begins with one of these is bound by it, in any place.
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


def _turned(way: str) -> str:
    """Each form of "was switched on"."""
    return ", ".join(f"{be} {verb} {way}" for be in ("was", "is", "got", "has been") for verb in ("switched", "turned"))


# Set phrases, and the words that stand for them.
# Written in two words as well.
CLOSED = [
    tuple(pair.split("/"))
    for pair in """
    type/script java/script front/end back/end data/center web/site log/file time/zone work/flow data/base
    check/list smart/phone back/up pass/word white/board ware/house home/page land/line land/lord play/ground
    car/pool dead/line head/quarter work/shop work/place news/letter spread/sheet screen/shot stake/holder
    time/sheet code/base life/span life/time pay/roll pay/check play/list hard/ware soft/ware air/port flow/chart
    bee/hive bird/house green/house water/melon book/shop book/shelf bed/room bath/room class/room court/yard farm/house
    fire/place foot/path head/phones key/board lunch/time mail/box motor/way note/pad race/track rain/coat river/side
    road/side sea/side store/room sun/flower tea/pot tool/box tree/house wall/paper wind/mill wine/glass web/shop
    web/page work/bench work/force pay/slip sales/person screen/saver skate/board ski/boots snow/plough life/guard
    house/boat house/keeper hay/stack hair/dresser hand/book ground/water grand/child god/mother flat/screen door/bell
    cup/board card/board cook/book coffee/house chicken/coop cell/phone car/wash camp/site bus/stop boat/house
    black/list white/list end/point name/space host/name user/name file/name time/stamp data/set note/book tool/kit
    help/desk health/care child/care week/end hot/fix drop/down road/map over/view bench/mark fire/wall round/trip
    """.split()
]
_PHRASAL_PASTS = dict(
    pair.split("/")
    for pair in "hand/handed turn/turned call/called put/put carry/carried find/found pick/picked set/set take/took "
    "go/went come/came give/gave get/got send/sent pay/paid fill/filled look/looked kick/kicked push/pushed".split()
)
IDIOMS = {
    (past, way): (meaning,)
    for phrase, meaning in (
        each.split("=")
        for each in "hand-in=submitted turn-in=submitted call-off=cancelled put-off=postponed carry-out=performed "
        "find-out=discovered pick-up=collected send-out=sent kick-off=started push-back=postponed give-back=returned "
        "look-into=investigated set-up=installed pay-back=refunded fill-in=completed fill-out=completed".split()
    )
    for verb, way in (phrase.split("-"),)
    for past in (_PHRASAL_PASTS[verb],)
} | {
    tuple(phrase.split()): tuple(meaning.split())
    for meaning, phrases in {
        "rose": "went up, has gone up",
        "requested": "asked for",
        "quit": "came off, has come off, was taken off, has been taken off",
        "requests": "asks for",
        "request": "ask for",
        "est": "a lieu, aura lieu",
        "es": "tiene lugar, tendrá lugar",
        "jest": "odbywa się, odbędzie się",
        "cambió": "se ha trasladado, se ha cambiado, se ha movido, se ha aplazado, ha sido aplazada, ha sido aplazado, "
        "se trasladó, se movió, se cambió, se aplazó, ha sido trasladada, ha sido trasladado",
        "fell": "went down, has gone down",
        "now": "from now on, as of today, as of now, these days",
        "anymore": "any more, any longer",
        "manually": "by hand",
        "immediately": "at once, right away, straight away, without delay",
        "surname": "last name, family name",
        "forename": "first name, given name",
        "postcode": "zip code, postal code",
        "mobile": "mobile phone, cell phone, cellular phone",
        "annually": "per annum",
        "fears": "is afraid of, is scared of, is frightened of, has a fear of",
        "like": "are fond of, are keen on",
        "is allergic to": "has an allergy to",
        "depends on": "is dependent on, relies on",
        "supports": "is in favour of, is in favor of",
        "opposes": "is opposed to",
        "expired": "ran out",
        "restart": "start again",
        "a": "a single",
        "discard": "throw away, throw out",
        "must": "have to, has to, need to, needs to, is required to, are required to, is obliged to, are obliged to",
        "can": "is able to, are able to, is capable of, are capable of, knows how to, know how to",
        "over": "more than, in excess of",
        "under": "less than, fewer than",
        "at least": "no less than, no fewer than, not less than, a minimum of, minimum of",
        "up to": "at most, no more than, not more than, a maximum of, maximum of",
        "because of": "due to, owing to, on account of",
        "to": "in order to, so as to",
        "and": "as well as",
        "many": "a lot of, lots of, plenty of, a large number of, a great deal of",
        "a-few": "a few",
        "a-little": "a little, a bit, a little bit",
        **{
            f"coming {day}": f"this {day}" for day in "monday tuesday wednesday thursday friday saturday sunday".split()
        },
        **{f"current {span}": f"this {span}" for span in "week month quarter year".split()},
        "several": "a number of, a couple of, a handful of",
        "hate": "can not stand, can not bear",
        "happens": "takes place, is held",
        "happen": "take place, are held, be held",
        "happened": "took place, was held, were held",
        **{f"{be} held by": f"{be} held by" for be in ("is", "are", "be", "was", "were")},
        "only": "nobody except, nobody but, nobody other than, nobody apart from, no one but, no one except, "
        "no one other than, nobody else but, no one else but, nobody else than, no one else than, no one apart from, "
        "nobody besides, no one besides, nobody save, nothing but, nothing except",
        "lives": "is living",
        "live": "are living",
        "works for": "is employed by, is working for",
        "works at": "is employed at, is working at",
        "runs on": "is running on, is deployed on",
        "run on": "are deployed on",
        "studies": "is studying",
        "by": "by means of, with the help of, no later than, not later than, at the latest by",
        "when": "as soon as, every time, each time, whenever",
        "may": "is allowed to, are allowed to, is permitted to, are permitted to, has permission to, "
        "have permission to",
        "has not been": "is yet to be, has yet to be",
        "is free": "costs nothing",
        "6 months": "half a year",
        "native language": "mother tongue",
        "rescheduled": "brought forward, moved forward, put forward, moved up",
        "expires": "valid until, valid till, valid through, runs out, is valid until, is valid till, is valid through",
        "expire": "run out, are valid until, are valid till, are valid through",
        "closes at": "is open until, is open till",
        "close at": "are open until, are open till",
        "opens at": "is open from",
        "open at": "are open from",
        **{
            f"on {day}s": f"every {day}, each {day}"
            for day in "monday tuesday wednesday thursday friday saturday sunday".split()
        },
        "again": "once more, once again",
        "always": "at all times, all the time",
        "never": "at no time",
        "alone": "by himself, by herself, by themselves, by itself, on his own, on her own, on their own, on its own",
        "broken": "out of order, out of service",
        "crash": "fall over",
        "crashes": "falls over",
        "crashed": "fell over",
        "grew up in": "was raised in, was brought up in, spent his childhood in, spent her childhood in",
        "not like": "dislike",
        "does not like": "dislikes",
        "not liked": "disliked",
        "has no": "does not have any, does not have, lacks, has not got a, has not got any, has not got",
        "have no": "do not have any, do not have, lack",
        "can not": "is unable to, are unable to, is incapable of, are incapable of, "
        "does not know how to, do not know how to",
        "could not": "was unable to, were unable to",
        "wants to": "would like to, wishes to, would love to",
        "wants": "would like",
        "plans to": "intends to, means to, is planning to",
        "plan to": "intend to, mean to, are planning to",
        "register for": "sign up for, sign up to",
        "registers for": "signs up for, signs up to",
        "registered for": "signed up for, signed up to",
        "omit": "leave out",
        "deploy": "roll out",
        "deployed": "rolled out",
        "resigned": "stepped down, has stepped down, has resigned",
        "now prefers": "has changed his preference to, has changed her preference to, has changed their preference to, "
        "changed his preference to, changed her preference to, changed their preference to",
        "joined": "became a member of",
        "postpone": "push back, put back",
        "refuse": "turn down",
        "resembles": "looks like",
        "investigate": "look into",
        "investigates": "looks into",
        "tolerate": "put up with",
        "reduce": "cut down on, cut back on",
        "arrive": "turn up, show up",
        "arrives": "turns up, shows up",
        "assemble": "put together",
        "begin": "kick off, get going",
        "begins": "kicks off, gets going, gets under way, gets started",
        "end": "come to an end",
        "ends": "comes to an end",
        "ended": "came to an end",
        "choose": "opt for, go for",
        "chooses": "opts for, goes for",
        "chose": "opted for",
        "compensate": "make up for",
        "comes from": "is from, is originally from, is a native of, originates from, hails from",
        "speaks": "has a command of",
        "knows": "is familiar with, is acquainted with",
        "needs": "is in need of, has need of",
        "need": "are in need of, have need of",
        "likes": "is fond of, is keen on, is into",
        "owns": "is the owner of, is in possession of, has ownership of",
        "smokes": "is a smoker",
        "instead of": "in place of, in lieu of",
        "according to": "as per, in accordance with",
        "for": "for the purpose of",
        "every day": "on a daily basis, day in day out",
        "every week": "on a weekly basis",
        "every month": "on a monthly basis",
        "every year": "on a yearly basis, on an annual basis, year in year out",
        "regularly": "on a regular basis",
        "sometimes": "from time to time, now and then, at times, once in a while",
        "soon": "before long, in the near future",
        "temporarily": "for the time being, on a temporary basis",
        "permanently": "for good, on a permanent basis",
        "free": "free of charge, for free, at no cost, without charge, at no charge, for nothing, without paying",
        "by email": "via email, through email, per email",
        "by phone": "via phone, over the phone, on the phone, per phone",
        "12:00": "midday",
        "around-the-clock": "around the clock, 24 hours a day, 24/7, day and night, 24x7",
        "two": "a pair of",
        "75% of": "three quarters of, three-quarters of, three fourths of",
        "1000": "a thousand, one thousand",
        "100": "a hundred, one hundred",
        "1000000": "a million, one million",
        "the eu": "the european union",
        "ai": "artificial intelligence",
        "faq": "frequently asked questions",
        "roi": "return on investment",
        "gdpr": "general data protection regulation",
        "mfa": "multi-factor authentication",
        "2fa": "two-factor authentication, two factor authentication, two-factor auth, two factor auth, "
        "two-step verification",
        "os": "operating system",
        "url": "web address",
        "cv": "curriculum vitae",
        "ev": "electric vehicle, electric car",
        "tv": "television set",
        "gp": "general practitioner",
        "po": "purchase order",
        "r&d": "research and development",
        "qa": "quality assurance",
        "b2b": "business to business, business-to-business",
        "ci": "continuous integration",
        "po-box": "post office box, po box, p.o. box",
        "hometown": "home town",
        "freelancer": "self-employed person",
        "car-park": "car park, parking lot",
        "supermarket": "grocery store",
        "train-station": "train station, railway station",
        "ground-floor": "ground floor, first storey",
        "wheelchair-accessible": "wheelchair accessible, accessible for wheelchairs, accessible by wheelchair",
        "responsible for": "in charge of",
        "use": "make use of, are using, are making use of",
        "uses": "makes use of, is using, is making use of",
        "remove": "get rid of",
        "handle": "take care of, deal with",
        "handles": "takes care of, deals with",
        "cancelled": "called off",
        "cancel": "call off",
        "submit": "hand in, turn in",
        "rejected": "turned down",
        "reject": "turn down",
        "collect": "pick up",
        "collects": "picks up",
        "collected": "picked up",
        "wait": "hold on",
        "perform": "carry out",
        "performs": "carries out",
        "performed": "carried out",
        "discover": "find out",
        "discovered": "found out",
        "discuss": "talk about",
        "about": "with regard to, with respect to, in regard to, with reference to, in connection with",
        "before": "prior to",
        "after": "subsequent to",
        "during": "in the course of",
        "contains": "consists of, is made up of, is composed of, comprises",
        "contain": "consist of, are made up of, are composed of, comprise",
        "if": "in case, provided that",
        "although": "even though, despite the fact that",
        "birthday": "date of birth",
        "will": "is going to, are going to",
        "going to": "gonna",
        "want to": "wanna",
        "must not": "is not allowed to, are not allowed to, is forbidden to, are forbidden to, is not permitted to",
        "forbidden": "not allowed, not permitted, prohibited, banned",
        "two times": "twice",
        "50% of": "half of, one half of",
        "25% of": "a quarter of, one quarter of",
        "50% of the": "half the",
        "12": "a dozen, one dozen",
        "24": "two dozen",
        "6": "half a dozen",
        "15 minutes": "a quarter of an hour, quarter of an hour",
        "45 minutes": "three quarters of an hour",
        "90 minutes": "an hour and a half, one hour and a half, one and a half hours",
        "18 months": "a year and a half, one year and a half, one and a half years",
        "two weeks": "a fortnight",
        "lives in": "is based in, resides in, is resident in, has home in, "
        "has its headquarters in, has headquarters in, is headquartered in, has its head office in, has her home in, "
        "has his home in",
        "is in": "is parked in, is located in, is situated in, lies in, sits in, can be found in, is found in",
        "are in": "are located in, are situated in, lie in, sit in, are found in",
        "is off": _turned("off"),
        "is called": "is named, is known as, goes by the name of",
        **{f"is {how}": f"is {how}" for how in ("named by", "named after", "named for")},
        **{
            f"{turn} {way}": f"{switch} {way}"
            for turn, switch in (("turn", "switch"), ("turns", "switches"), ("turned", "switched"))
            for way in ("on", "off")
        },
        "participate": "take part",
        "participates": "takes part",
        "participated": "took part",
        "approve": "sign off on",
        "approves": "signs off on",
        "approved": "signed off on",
        "log in": "sign in",
        "logs in": "signs in",
        "log out": "sign out",
        "logs out": "signs out",
        "search for": "look for",
        "searches for": "looks for",
        "searching for": "looking for",
        "return": "come back",
        "returns": "comes back",
        "returned": "came back",
        "continue": "carry on",
        "continues": "carries on",
        "refund": "pay back",
        "refunds": "pays back",
        "refunded": "paid back",
        "fill in": "fill out",
        "fills in": "fills out",
        "write down": "note down",
        "send": "send out",
        "sends": "sends out",
        "sent": "sent out",
        "rises": "goes up",
        "falls": "goes down",
        "accelerate": "speed up",
        "contact": "get in touch with, get hold of",
        "contacts": "gets in touch with",
        "distribute": "hand out",
        "distributes": "hands out",
        "distributed": "handed out",
        "exercises": "works out",
        "is a": "works as a",
        "is an": "works as an",
        "speaks fluently": "is fluent in, speaks fluent",
        "speak fluently": "are fluent in",
        "birthday is": "was born on, birthday falls on",
        "nobody": "no one",
        "working day": "business day",
        "working days": "business days",
        "ceo": "chief executive officer",
        "cfo": "chief financial officer",
        "cto": "chief technology officer, chief technical officer",
        "coo": "chief operating officer",
        "cmo": "chief marketing officer",
        "hr": "human resources, human resources department, hr department, hr dept",
        "pto": "paid time off",
        "vat": "value added tax, value-added tax",
        "nda": "non-disclosure agreement, nondisclosure agreement",
        "sla": "service level agreement, service-level agreement",
        "kpi": "key performance indicator",
        "kpis": "key performance indicators",
        "api": "application programming interface",
        "uk": "united kingdom",
        "vpn": "virtual private network",
        "sso": "single sign-on, single sign on",
        "pr": "pull request",
        "prs": "pull requests",
        "okrs": "objectives and key results",
        "ui": "user interface",
        "ux": "user experience",
        "rfp": "request for proposal, request for proposals",
        "eta": "estimated time of arrival, expected time of arrival",
        "asap": "as soon as possible",
        "crm": "customer relationship management",
        "ml": "machine learning",
        "llm": "large language model",
        "llms": "large language models",
        "cd": "continuous deployment, continuous delivery",
        "kyc": "know your customer",
        "eod": "end of day, end of the day, close of business",
        "wfh": "work from home, working from home, work remotely",
        "ooo": "out of office, out of the office",
        "icu": "intensive care unit",
        "bp": "blood pressure",
        "mri": "magnetic resonance imaging",
        "ecg": "electrocardiogram, ekg",
        "nhs": "national health service",
        "un": "united nations",
        "nyc": "new york city",
        "vp": "vice president, vice-president",
        "ciso": "chief information security officer",
        "cio": "chief information officer",
        "cpo": "chief product officer",
        "atm": "cash machine, cash dispenser",
        "ac": "air conditioning, air conditioner, aircon, a/c",
        "ngo": "non-governmental organization, non-governmental organisation",
        "ipo": "initial public offering",
        "poc": "proof of concept",
        "mvp": "minimum viable product",
        "adr": "architecture decision record",
        "dpo": "data protection officer",
        "dpa": "data processing agreement",
        "msa": "master service agreement, master services agreement",
        "sow": "statement of work",
        "mou": "memorandum of understanding",
        "sms": "text message",
        "pdf": "pdf file, pdf document",
        "csv": "csv file",
        **{
            f"q{n}": f"{word} quarter, quarter {digit}"
            for n, (word, digit) in enumerate(
                (("first", "one"), ("second", "two"), ("third", "three"), ("fourth", "four")), 1
            )
        },
        **{name: f"{name} department, {name} dept" for name in ("marketing", "finance", "legal", "accounting")},
        **{f"{one}{other}": f"{one} {other}" for one, other in CLOSED},
        **{f"{one}{other}s": f"{one} {other}s" for one, other in CLOSED},
        "is working": "works again, is back up, is working again, functions again, runs again, is up again",
        "is now assigned to": "was reassigned to, has been reassigned to, got reassigned to, is reassigned to",
        "is no longer on": "is back from, has returned from, came back from, returned from",
        "is married": "got married, has got married, has married",
        "is divorced": "got divorced, has divorced",
        "is engaged": "got engaged",
        "email": "email address, e-mail address, mail address",
        "phone": "phone number, telephone number, contact number",
        "works wfh": "works remotely, works from home",
        "30 minutes": "half hour, half-hour, half an hour",
        "will happen": "will take place, will be held",
        **{
            f"every two {span}s": f"every other {span}, every second {span}" + more
            for span, more in (("day", ""), ("week", ", fortnightly, every fortnight"), ("month", ""), ("year", ""))
        },
        "two times a day": "twice a day, twice daily, two times daily, two times per day, twice per day",
        "ist": "beträgt, beläuft sich auf",
        "stopped": "gave up, has given up, has quit",
        "one third of": "a third of",
        "oldest": "eldest",
        "secondhand": "second hand, pre-owned, pre owned",
        "part time": "parttime",
        "full time": "fulltime",
        "near": "close to, in the vicinity of, not far from",
        "expires after": "is valid for, stays valid for, remains valid for",
        "expire after": "are valid for, stay valid for, remain valid for",
        "celsius": "degrees celsius, degrees centigrade, degrees c, degree celsius, ° c",
        "currently": "at the moment, at present, for the moment, right now",
        "weekends": "saturdays and sundays, saturday and sunday",
        "visits": "pays a visit to, goes to see",
        "decided": "made a decision, made the decision, took the decision",
        "decides": "makes the decision, takes the decision, makes a decision",
        "calls": "gives a call",
        "answered": "gave an answer",
        "helps": "lends a hand",
        "complained": "made a complaint, filed a complaint",
        "starts": "is set to start, is scheduled to start, is due to start, is set to begin, is scheduled to begin, "
        "takes effect, comes into effect, comes into force, goes into effect",
        "includes": "comes complete with",
        "excludes": "does not include, is without, are without",
        "exclude": "do not include",
        "unavailable": "not available",
        "unsubscribe": "opt out",
        "receives": "is in receipt of, is given",
        "lasts": "goes on for, runs for, has a duration of, takes place for",
        "last": "go on for, run for",
        "offers": "is offering",
        "usa": "united states of america, united states",
        "eu": "european union",
        "veterinarian": "veterinary surgeon",
        "opens": "opens its doors, opens his doors, opens her doors",
        "open": "open their doors, open our doors",
        "written in": "implemented in, programmed in, coded in",
        "is interested in": "has an interest in, takes an interest in",
        "considers": "is considering, is thinking about, is thinking of",
        "is waiting for": "awaits",
        "are waiting for": "await",
        **{
            f"{be} being {done}": ", ".join(
                f"{be} under {work}, {be} undergoing {work}, {be} undergoing a {work}, {be} undergoing an {work}"
                for work in works.split("/")
            )
            for be in ("is", "are")
            for done, works in (
                ("repaired", "repair/repairs"),
                ("built", "construction"),
                ("reviewed", "review"),
                ("investigated", "investigation"),
                ("inspected", "inspection"),
                ("developed", "development"),
                ("maintained", "maintenance"),
                ("renovated", "renovation"),
                ("tested", "test/testing"),
                ("discussed", "discussion"),
                ("revised", "revision"),
                ("treated", "treatment"),
            )
        },
        "is sold out": "is out of stock, is not in stock",
        "are sold out": "are out of stock, are not in stock",
        "early": "ahead of schedule, ahead of time",
        "late": "behind schedule",
        "pays in advance": "pays up front",
        "pay in advance": "pay up front",
        "simultaneously": "in parallel, at the same time",
        "failed": "was unsuccessful, were unsuccessful, was not successful",
        "years old": "years of age",
        "is off sick": "is on sick leave, is out sick, has called in sick, called in sick, is off work sick",
        "is on": f"can be found on, is found on, is located on, is away on, {_turned('on')}",
        "offline": "without internet, without the internet, without an internet connection, without internet access, "
        "without a network connection",
        "is loud": "makes a lot of noise, is very noisy",
        "usually": "as a rule, in general, most of the time",
        "all day": "the whole day, all day long, the entire day",
        "altogether": "in total, all in all, in all",
        "is missing": "has gone missing, went missing, can not be found",
        "is dead": "passed away, has died, is deceased, has passed away, is no longer alive",
        "died": "passed away",
        "is pregnant": "is expecting a baby, is expecting a child",
        "is retired": "has retired, is in retirement",
        "has broken down": "broke down",
        "is fully booked": "is booked out, is booked solid, is booked up, has no free rooms",
        "is satisfied with": "is happy with, is content with, is pleased with",
        "is known for": "is famous for",
        "is in hospital": "is hospitalised, is hospitalized, is in the hospital, has been hospitalised",
        "binding": "legally binding",
        "chf": "swiss francs, swiss franc",
        "gbp": "pounds sterling, british pounds",
        "usd": "us dollars, american dollars",
        "cad": "canadian dollars",
        "aud": "australian dollars",
        "pln": "polish zloty, polish zlotys",
        "0.5 percent": "half a percent",
        "is bankrupt": "went bankrupt, is insolvent, has gone bankrupt, went bust",
        "is understaffed": "is short of staff, is short-staffed, does not have enough staff",
        "is slow": "takes a long time, takes ages",
        "ends at": "is over at, finishes at, comes to an end at",
        "for sale": "up for sale",
        "is under": "lies under, is lying under",
        "is behind": "lies behind, stands behind",
        "causes": "results in, brings about",
        "cause": "result in, bring about",
        "caused": "resulted in, brought about",
        "ensures": "makes sure that, sees to it that",
        "ensure": "make sure that, see to it that",
        "checks": "takes a look at, has a look at",
        "in person": "face to face, face-to-face",
        "by post": "by letter, via post",
        "by card": "with a card, with card, with his card, with her card",
        "in cash": "with cash, cash in hand",
        "outdated": "out of date, out-of-date, not up to date, not up-to-date",
        "regardless of": "no matter, irrespective of",
        "except": "with the exception of, apart from, other than, except for, aside from",
        "hourly": "by the hour",
        "per person": "per head",
        "cinema": "movie theater, movie theatre",
        "hard-drive": "hard drive, hard disk, harddisk",
        "works": "is in working order, functions properly",
        "demands": "insists on",
        "demand": "insist on",
        "dislikes": "is not fond of, is not keen on, is not into",
        "serves for": "is used for",
        "serves as": "is used as, acts as, functions as",
        "annual leave": "paid leave",
        "is on vacation": "is on annual leave",
        "throughout": "all through, right through",
        "one day late": "a day late",
        "one day early": "a day early",
        "1 hour late": "an hour late",
        "1 hour early": "an hour early",
        "1 week late": "a week late",
        "takes part in": "is a participant in",
        "graduated from": "finished his degree at, finished her degree at",
        "grown up": "an adult",
        "overnight": "during the night, through the night",
        "recently": "a short time ago, not long ago",
        "hard of hearing": "hearing-impaired, hearing impaired",
        "paediatrician": "children's doctor, pediatrician",
        "10% of": "a tenth of, one tenth of",
        "20% of": "a fifth of, one fifth of",
        "are separated": "have split up, have separated, have broken up, are no longer a couple, "
        "are no longer together, split up, broke up",
        "was moved from": "was rescheduled from, has been rescheduled from, "
        "was brought forward from, has been brought forward from, "
        "was moved up from, was moved forward from, was postponed from, has been postponed from, was put back from, "
        "was pushed back from, was delayed from, was shifted from, has been shifted from, has been moved from",
        "succeeded": "was successful, went well, was a success, were successful, went off well",
        "hypertension": "high blood pressure",
        "hayfever": "hay fever",
        "monday to friday": "weekdays, every weekday, on working days",
        "daily": "seven days a week, 7 days a week, every single day, by the day",
        "as of": "starting from, starting in, starting on, beginning in, beginning on, "
        "with effect from, effective from",
        "overlooks": "has a view of, has a view over, looks out on, looks out over",
        "is for": "is aimed at, is intended for, is meant for, is designed for, is geared towards",
        "are for": "are aimed at, are intended for, are meant for, are designed for, are geared towards",
        "is on a business trip": "is away on business, is travelling on business, is on business travel",
        "is not interested in": "has no interest in, is uninterested in",
        **{
            f"{day}s": f"jeden {day}, immer {day}s, an {day}en"
            for day in "montag dienstag mittwoch donnerstag freitag samstag sonntag".split()
        },
        **{f"los {day}": f"todos los {day}, cada {day}" for day in "lunes martes miércoles jueves viernes".split()},
        **{
            f"{within} {days}": f"co {day}, w każdy {day}, w każdą {day}, w każde {day}, każdego {day}"
            for within, days, day in (
                ("w", "poniedziałki", "poniedziałek"),
                ("we", "wtorki", "wtorek"),
                ("w", "środy", "środę"),
                ("w", "czwartki", "czwartek"),
                ("w", "piątki", "piątek"),
                ("w", "soboty", "sobotę"),
                ("w", "niedziele", "niedzielę"),
            )
        },
        "covers for": "stands in for, fills in for, deputises for, deputizes for",
        "won": "came first in",
        "travelled to": "left for, departed for, set off for",
        "travels to": "leaves for, departs for, sets off for",
        "quarterly": "once a quarter, each quarter, every quarter, every three months, every 3 months",
        "every six months": "twice a year, two times a year, twice yearly, semi-annually, half-yearly, "
        "every half year, every 6 months, twice annually",
        "space for": "room for",
        "correction": "change of plan, change of plans, plans have changed, plans changed, typo fixed",
        "overdue": "past due, past its due date",
        "reduced by": "cut by, slashed by",
        "is handled by": "is dealt with by, is taken care of by, is looked after by",
        "are handled by": "are dealt with by, are taken care of by, are looked after by",
        "permanent": "open-ended",
        "deadline": "due date, closing date, cut-off date, cutoff date",
        "has a headache": "has got a headache",
        "has": "is equipped with, comes with, is in possession of, has got",
        "have": "are equipped with, come with, have got",
        "regards": "looks upon",
        "postponed": "put off",
        **{
            f"{number} {floor}": f"{word} {floor}"
            for words, floors in (
                (
                    "ersten zweiten dritten vierten fünften sechsten siebten achten neunten zehnten",
                    "stock etage klasse",
                ),
                ("pierwszym drugim trzecim czwartym piątym szóstym siódmym ósmym dziewiątym dziesiątym", "piętrze"),
            )
            for number, word in enumerate(words.split(), 1)
            for floor in floors.split()
        },
        **{
            f"o {hour}:00": f"o {word}"
            for hour, word in enumerate(
                "pierwszej drugiej trzeciej czwartej piątej szóstej siódmej ósmej dziewiątej dziesiątej jedenastej "
                "dwunastej trzynastej czternastej piętnastej szesnastej siedemnastej osiemnastej dziewiętnastej "
                "dwudziestej".split(),
                1,
            )
        },
        **{f"{part}s": f"am {part}" for part in "morgen vormittag mittag nachmittag abend".split()},
        "nachts": "in der nacht",
        "90 minuten": "anderthalb stunden, eineinhalb stunden",
        "30 minuten": "eine halbe stunde",
        "45 minuten": "eine dreiviertelstunde",
        "18 monate": "anderthalb jahre, eineinhalb jahre",
        "6 monate": "ein halbes jahr",
        "fürchtet": "hat angst vor, fürchtet sich vor",
        "isst kein fleisch": "ist vegetarier, ist vegetarierin, lebt vegetarisch",
        "nie je mięsa": "jest wegetarianką, jest wegetarianinem",
        "no come carne": "es vegetariano, es vegetariana",
        "pro tag": "am tag, je tag",
        "pro woche": "in der woche, je woche",
        "pro monat": "im monat, je monat",
        "pro jahr": "im jahr, je jahr",
        "por mes": "al mes",
        "por día": "al día",
        "por año": "al año",
        "e-mailem": "pocztą elektroniczną, drogą mailową, drogą elektroniczną",
        "kartą": "za pomocą karty, przy użyciu karty",
        "per mail": "per e-mail, via mail, via e-mail",
        "el señor": "el sr",
        "la señora": "la sra",
        "teme": "tiene miedo a, tiene miedo de",
    }.items()
    for phrase in phrases.split(", ")
}
# Of these one or the other holds.
OPPOSITES = {
    one: other
    for pair in """
    open/closed allowed/forbidden possible/impossible available/unavailable active/inactive valid/invalid
    locked/unlocked online/offline true/false complete/incomplete paid/unpaid signed/unsigned verified/unverified
    enabled/disabled correct/incorrect safe/unsafe known/unknown visible/invisible legal/illegal necessary/unnecessary
    stable/unstable used/unused limited/unlimited encrypted/unencrypted confirmed/unconfirmed supported/unsupported
    mandatory/optional required/optional compatible/incompatible reliable/unreliable happy/unhappy aware/unaware
    married/unmarried able/unable present/absent healthy/unhealthy satisfied/dissatisfied
    finished/unfinished answered/unanswered resolved/unresolved
    occupied/unoccupied employed/unemployed insured/uninsured tested/untested readable/unreadable
    reachable/unreachable public/private
    """.split()
    for one, other in (pair.split("/"), pair.split("/")[::-1])
    if (one, other) != ("optional", "mandatory")
}
# Without one of these no statement has a shape with another wording.
SHAPES = frozenset(
    """
    above below by there price called named name belongs belong best or both when long high tall wide deep thick old
    heavy weighs weigh aged length height width depth thickness weight age turned manages leads heads chairs directs
    coordinates edits maintains coaches conducts supervises trains organizes moderates represents sponsors
    captains curates babysits tutors mentors
    employer reports boss over replaced succeeded married engaged related
    identical adjacent friends siblings next than where who whom we they must should included student half quarter past
    prefers rather job occupation profession got gets get no wird wurde renamed switched carries bears features boasts
    earns offers trasladó trasladado moved relocated handed passed went transferred can may cannot due takes runs number
    gezogen umgezogen przeprowadził przeprowadziła mudó mudado déménagé beschäftigt angestellt car bike bicycle foot
    plane air using birthplace author founder inventor creator composer designer discoverer builder painter teacher
    driver player breeder collector grower importer exporter tester runner
    sleeper eater writer reader learner speaker singer dancer swimmer smoker drinker members owner period duration es
    ist est jest heisst
    """.split()
)
MORE, FEWER = frozenset("more longer above greater higher later".split()), frozenset("less fewer below shorter".split())
# Words after "by" that are no agent.
MEANS = frozenset(
    """
    email mail post phone card cash bank transfer invoice cheque check hand car train plane bus bike bicycle foot
    air sea road rail default design law accident mistake far now then noon midnight tomorrow today tonight
    """.split()
)
# Participles with a past of their own.
PARTICIPLES = dict(
    pair.split("/")
    for pair in """
    written/wrote given/gave taken/took driven/drove spoken/spoke chosen/chose broken/broke stolen/stole
    drawn/drew known/knew grown/grew thrown/threw flown/flew shown/showed seen/saw eaten/ate forgotten/forgot
    begun/began sung/sang worn/wore torn/tore bitten/bit hidden/hid ridden/rode
    made/made built/built sent/sent bought/bought brought/brought taught/taught caught/caught sold/sold told/told
    held/held kept/kept left/left lost/lost found/found paid/paid said/said led/led met/met read/read run/ran
    won/won spent/spent lent/lent cut/cut put/put set/set hit/hit shut/shut done/did hung/hung
    """.split()
)
# Their base forms, by the past.
BASES = dict(
    pair.split("/")
    for pair in """
    wrote/write gave/give took/take drove/drive spoke/speak chose/choose broke/break stole/steal drew/draw grew/grow
    threw/throw flew/fly showed/show saw/see ate/eat began/begin sang/sing wore/wear hid/hide rode/ride made/make
    built/build sent/send bought/buy brought/bring taught/teach caught/catch sold/sell told/tell held/hold kept/keep
    lost/lose found/find paid/pay led/lead met/meet read/read ran/run won/win spent/spend did/do
    forgot/forget went/go came/come fell/fall felt/feel meant/mean heard/hear understood/understand stood/stand
    lent/lend hung/hang sat/sit slept/sleep swam/swim drank/drink thought/think fought/fight became/become stuck/stick
    swore/swear woke/wake froze/freeze shook/shake dealt/deal fed/feed fled/flee sought/seek shot/shoot struck/strike
    """.split()
)
# Verbs, in their base form; regular forms are made by the rules of English, the irregular ones stand below.
VERBS = """
buy purchase acquire procure
begin start commence
finish complete conclude end
fix repair mend
help assist aid
delete remove erase
ask inquire enquire
answer reply respond
choose select pick
use utilize utilise
allow permit
need require necessitate
prefer favor favour
show display
receive obtain get
cancel terminate
build construct erect
try attempt endeavour endeavor
contact reach
live reside dwell
keep retain store
send dispatch ship
plan schedule
promise guarantee
damage break
request solicit
increase raise rise
reduce decrease lower diminish
verify check validate
modify alter change amend
hire recruit
inform notify alert
gather collect
organize organise arrange
manage handle
authorize authorise
own possess
move relocate
postpone delay defer
speak communicate talk
solve resolve
like enjoy
give provide supply
stop cease halt discontinue
hate detest loathe
happen occur
rent lease
forbid prohibit ban outlaw
reject decline refuse
explain clarify
inspect examine scrutinize
hide conceal
teach instruct
reserve book
prolong lengthen extend
split divide
combine merge
connect link
evaluate assess appraise
calculate compute
correct rectify
restart reboot
copy duplicate
shout yell
resign quit
depart leave
close shut
assign allocate allot
renovate refurbish
love adore
vaccinate immunize
refund reimburse
categorize classify
supervise oversee
disturb bother
forecast predict
vanish disappear
remain stay
contain include
accompany escort
astonish amaze
want desire wish
omit exclude
fund finance
ignore disregard
manufacture produce
dismiss fire sack
reveal disclose divulge
persuade convince
injure hurt
emphasize emphasise stress highlight
strengthen reinforce
translate render
register enroll enrol
expand enlarge
improve enhance
climb ascend
cure heal
imitate mimic
insult offend
jump leap
ruin wreck destroy
frighten scare
congratulate compliment
deceive trick
praise commend
penalize penalise punish
obey follow
admire respect
suggest propose
accumulate amass
relax unwind
tidy clean
transport haul
breed rear
donate contribute
evade avoid
underline underscore
clear empty purge
find discover
award grant
attach enclose append
seem appear
create generate
demolish raze
activate enable
deactivate disable
exchange swap
exceed surpass
proceed continue
convert transform
update refresh
lend loan
invoice bill
educate teach
recommend advise
collaborate cooperate
compel oblige
dedicate devote
deduct subtract
honour honor
annoy irritate
reiterate restate
practise practice rehearse
repeal rescind
waive forgo
corroborate substantiate
acquit exonerate
adorn decorate
console comfort
attain achieve
thrive flourish
evict eject
depict portray
hamper hinder impede
nag pester
ratify endorse
soak drench
thaw defrost
tweak adjust
vomit puke
weep cry
"""
NOUNS = """
flat apartment
goalkeeper goalie
bath bathtub tub
artifact artefact
bike bicycle
plane aeroplane airplane
kid child youngster
fridge refrigerator
lift elevator
truck lorry
medicine medication
exam examination
lab laboratory
advantage benefit
drawback disadvantage downside
timetable schedule
trip journey voyage
luggage baggage
motorbike motorcycle
reply response answer
query question
rubbish garbage trash
pharmacy drugstore
tv television
illness sickness
mother mum mom mama mommy mummy
father dad daddy papa
income earnings
hobby pastime
customer client
chair chairperson chairman chairwoman
email e-mail
phone telephone
company firm corporation
vacation holiday
error mistake fault
problem issue
picture image photo photograph
car automobile
lawyer attorney solicitor
document doc
information info
application app
staff personnel
colleague coworker co-worker
doctor physician dr
movie film
shop store
salary wage
objective goal aim target
sign-in signin log-in login sign-on signon
website web-site
invoice bill
help assistance
delivery shipment
parcel package
agreement contract
meeting appointment appt
supplier vendor provider
summary overview
warehouse depot storehouse
limit cap
license licence
program programme
catalog catalogue
color colour
center centre
organization organisation
inquiry enquiry
couch sofa settee
tap faucet
pavement sidewalk
petrol gasoline
diaper nappy
eggplant aubergine
tyre tire
zucchini courgette
coriander cilantro
taxi cab
vet veterinarian
repo repository
admin administrator
config configuration
database db
spec specification
param parameter
refund reimbursement
ad advert advertisement
grandmother grandma granny
grandfather grandpa
flu influenza
laundromat launderette
postman mailman
spectacles eyeglasses
physiotherapist physio
payslip paystub
dustbin trashcan
job occupation profession
cellar basement
toilet restroom lavatory
canteen cafeteria
author writer
employee worker
rule regulation
discount rebate
fee charge
folder directory
inbox mailbox
outage downtime
infant baby
teenager teen adolescent
pensioner retiree
visitor guest
proof evidence
gift present
celebration party
injury wound
pill tablet
operation surgery
closet cupboard
railway railroad
motorway highway freeway expressway
crossroad intersection
underground subway metro
trousers pants
sweater jumper pullover
sweet candy
prawn shrimp
math maths mathematics
university uni
flashlight torch
curtain drape
roommate flatmate
cable cord
socket outlet
handbook manual
quote quotation
instalment installment
cargo freight
odour odor smell scent
island isle
suburb outskirts
nation country
prison jail gaol
burglar thief
outcome result
cook chef
rucksack backpack
hoover vacuum
beginner novice
expert specialist
defect flaw
janitor caretaker
pupil student
football soccer
floor storey
dinner supper
tenant renter
biscuit cookie
pram stroller pushchair
corridor hallway
brochure leaflet flyer
eatery restaurant
earthquake quake
instructor teacher
accomplishment achievement
staircase stairway
cemetery graveyard
bucket pail
spectator viewer
standpoint viewpoint
violin fiddle
dusk nightfall
dawn daybreak
sweat perspiration
rival competitor
hazard peril
deadlock impasse stalemate
foyer lobby
voter elector
bravery courage
microphone mike
pact treaty
legacy bequest
jab vaccination inoculation
shareholder stockholder
purchaser buyer
leader head
infirmary hospital
classroom schoolroom
likelihood probability
hostility animosity
ladder stepladder
motorhome campervan
leftovers scraps
bookkeeper accountant
babysitter sitter
barrister advocate
upkeep maintenance
wholesaler distributor
lodger boarder
applicant candidate
inaccuracy imprecision
"""
OTHERS = """
fast quick rapid speedy quickly rapidly swift swiftly
big large
biggest largest
price cost
mobile cell
staff employees workers
small little
annual yearly annually
approximately about around roughly circa approx
frequently often regularly
immediately instantly straightaway promptly
usually normally typically generally commonly ordinarily
happy glad pleased delighted
easy simple
huge enormous immense vast
smart clever intelligent
rich wealthy
ill sick unwell
cheap inexpensive affordable
expensive costly pricey
odd strange weird
previous former
famous well-known
rarely seldom infrequently
sometimes occasionally
nearly almost
together jointly
abroad overseas
quiet silent
difficult hard tough
certain sure
entire whole
mandatory compulsory obligatory
each every
enough sufficient
new brand-new
main primary principal
maximum max
minimum min
wrong incorrect
favorite favourite preferred
grey gray
headquarters hq
called named
everyone everybody
someone somebody
anyone anybody
bigger larger
faster quicker
fastest quickest
additional extra
loud noisy
short brief
tasty delicious
essential crucial vital indispensable
faulty defective
among amongst
postgres postgresql
kubernetes k8s
javascript js
production prod
wifi wi-fi wlan
defence defense
offence offense
plough plow
pyjamas pajamas
jewellery jewelry
aluminium aluminum
wohnt lebt
wohnen leben
dept department
mgmt management
mgr manager boss supervisor superior
acct account
qty quantity
amt amount
addr address
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
monday mon mondays montag montags lunes lundi poniedziałek poniedziałki
tuesday tue tues tuesdays dienstag dienstags martes mardi wtorek wtorki
wednesday wed wednesdays mittwoch mittwochs miércoles mercredi środa środę środy
thursday thu thur thurs thursdays donnerstag donnerstags jueves jeudi czwartek czwartki
friday fri fridays freitag freitags viernes vendredi piątek piątki
saturday saturdays samstag samstags sonnabend sábado sábados samedi sobota sobotę soboty
sunday sundays sonntag sonntags domingo domingos dimanche niedziela niedzielę niedziele
boring dull tedious
funny amusing humorous
gorgeous beautiful
brave courageous
angry mad
tired weary
impolite rude
polite courteous
truthful honest
lazy idle
cautious careful
dirty filthy
damp moist
slim slender
feeble weak
elderly aged
dangerous hazardous
useful helpful
scarce uncommon
complicated complex
vague unclear
annoyed irritated
satisfied content
worried anxious concerned
surprised astonished amazed
eager keen
ashamed embarrassed
deceased dead
cordless wireless
automated automatic
soon shortly
afterwards afterward subsequently
only solely exclusively sole
mainly mostly primarily chiefly predominantly largely
partly partially
fully entirely wholly
slightly somewhat
extremely exceedingly
outside outdoors
inside indoors
maybe perhaps possibly
regarding concerning
although though
while whilst
toward towards
until till
sturdy robust
standup stand-up
checkin check-in
setup set-up
followup follow-up
startup start-up
kickoff kick-off
signoff sign-off
handover hand-over
rollout roll-out
takeoff take-off
addon add-on
plugin plug-in
pickup pick-up
wrapup wrap-up
cleanup clean-up
printout print-out
timeout time-out
optin opt-in
webhook web-hook
subdomain sub-domain
cafe café
naive naïve
fiance fiancé
fiancee fiancée
facade façade
decor décor
cliche cliché
protege protégé
jalapeno jalapeño
nodejs node.js
vuejs vue.js
nextjs next.js
vive reside
viven residen
obvious evident
reachable contactable
auth authentication
temp temperature
env environment
docs documentation
avenue ave
boulevard blvd
datacenter datacentre
street st
road rd
backup back-up
beginnt startet anfängt
beginnen starten
kostet kosten
empieza comienza
empiezan comienzan
commence débute
commencent débutent
zaczyna rozpoczyna
kupił nabył
kupiła nabyła
coche automóvil carro
samochód auto wagen pkw
samochody auta
handy mobiltelefon
kauft erwirbt
kaufte erwarb
bekommt erhält
bekommen erhalten
bekam erhielt
spricht redet
benötigt braucht
benötigen brauchen
arzt doktor
firma unternehmen betrieb przedsiębiorstwo
schnell rasch
monatlich allmonatlich
jährlich alljährlich
compra adquiere
compró adquirió
termina acaba
terminan acaban
envía manda
envió mandó
ordenador computadora
móvil celular
piso apartamento
empresa compañía
necesita precisa
usa utiliza
usan utilizan
achète acquiert
finit termine
envoie expédie
appartement logement
entreprise société
médecin docteur
utilise emploie
habite réside
zaczynają rozpoczynają
zaczęła rozpoczęła
zaczął rozpoczął
kończy zakańcza
otrzymuje dostaje
otrzymał dostał
otrzymała dostała
szef kierownik
mieszka zamieszkuje
używa korzysta
purchasing procurement
top uppermost topmost
secret confidential
professor prof
moved shifted
many much
founded established
concurrently simultaneously
landed arrived
extension ext
coworking co-working
beforehand in-advance
kaputt defekt
leitet führt
e-mailem mailem emailem mejlem
krank erkrankt
erlaubt gestattet
verboten untersagt
chef vorgesetzter vorgesetzte
mietet pachtet
tylko wyłącznie
codziennie dziennie
outgoing outbound
incoming inbound
slow sluggish
vacant unoccupied
optional voluntary
provisional tentative
dependable reliable trustworthy
feasible viable workable
optimal optimum
upcoming forthcoming
unnecessary unneeded needless
infectious contagious
nationwide countrywide
shiny glossy
talented gifted
skilled proficient skilful skillful
shaky wobbly
unfair unjust
hardworking industrious diligent
talkative chatty
countless innumerable
candid frank
nevertheless nonetheless
especially particularly
barely hardly scarcely
apparently seemingly
furthermore moreover
lately recently
absolutely utterly
deliberately intentionally purposely
inadvertently unintentionally accidentally
separately individually
hastily hurriedly
constantly continuously
temporarily provisionally
rigid stiff
lengthy protracted
spotless immaculate
underwater submerged
waterproof watertight
undisputed uncontested
bezahlt zahlt
bezahlen zahlen
sofort unverzüglich umgehend
ungefähr etwa
immer stets
oft häufig
manchmal gelegentlich
billig günstig preiswert
teuer kostspielig
besprechung sitzung
urlaub ferien
rechner computer
telefonnummer rufnummer
anschrift adresse
kennwort passwort
gehalt lohn
lkw laster lastwagen
fahrrad rad
contraseña clave
trabajo empleo
inicia arranca
ascensor elevador
gafas lentes anteojos
nevera frigorífico refrigerador
coste costo
rápido veloz
zawsze stale
spotkanie zebranie
lekarz doktor
natychmiast niezwłocznie
"""
# What the rules would get wrong: form -> (base, ending).
IRREGULAR = {
    "children": ("kid", "s"),
    "got": ("get", "ed"),
    "getting": ("get", "ing"),
    "rose": ("rise", "ed"),
    "risen": ("rise", "ed"),
    "rising": ("rise", "ing"),
    "hurt": ("injure", "ed"),
    "quit": ("resign", "ed"),
    "quitting": ("resign", "ing"),
    "shipped": ("ship", "ed"),
    "stopped": ("stop", "ed"),
    "stopping": ("stop", "ing"),
    "banned": ("ban", "ed"),
    "banning": ("ban", "ing"),
    "splitting": ("split", "ing"),
    "deferred": ("defer", "ed"),
    "omitted": ("omit", "ed"),
    "enrolled": ("enroll", "ed"),
    "rented": ("rent", "ed"),
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
    "shut": ("close", "ed"),
    "shutting": ("close", "ing"),
    "permitting": ("allow", "ing"),
}
# Words of one family: what is done, doing it, and who or what it is done to. The first stands for all.
FAMILIES = """
approve approval
delete removal deletion
renew renewal
arrive arrival
deliver delivery
deploy deployment
pay payment payable
ship shipment shipping
own ownership owner
require requirement
install installation
register registration enrollment enrolment
cancel cancellation cancelation
book booking reservation
log logging
clean cleaning
employ employment employed
employee staff personnel
treat treatment
develop development
assess assessment evaluation
announce announcement
confirm confirmation
translate translation
publish publication
inspect inspection
replace replacement
vaccinate vaccination
protect protection
reduce reduction
select selection choice
sign signature
subscribe subscription
verify verification validation
authorize authorization authorisation
encrypt encryption encrypted
decide decision
discuss discussion
migrate migration
configure configuration
connect connection
consume consumption
create creation
graduate graduation
implement implementation
investigate investigation
maintain maintenance
measure measurement
participate participation participant
prefer preference
prepare preparation
prescribe prescription
promote promotion
propose proposal
recommend recommendation
recover recovery
refuse refusal
resign resignation
respond response
restore restoration
retire retirement retired
submit submission
suspend suspension
use usage
withdraw withdrawal
allergic allergy
available availability
responsible responsibility
married marriage
member membership
entitled entitlement
compress compression
archive archival
refund refunding reimbursement
extend extension
attend attendance
compare comparison
complain complaint
apologize apology
analyze analysis
diagnose diagnosis
perform performance
operate operational
insure insurance insured
transfer transferal
notify notification
collaborate collaboration
negotiate negotiation
schedule scheduling
weigh weight
long length
high height
wide width
deep depth
valid validity
german germany
french france
spanish spain
italian italy
polish poland
dutch netherlands
british britain
portuguese portugal
swedish sweden
danish denmark
norwegian norway
finnish finland
czech czechia
japanese japan
chinese china
korean korea
russian russia
ukrainian ukraine
turkish turkey
greek greece
hungarian hungary
romanian romania
swiss switzerland
austrian austria
belgian belgium
irish ireland
scottish scotland
welsh wales
canadian canada
mexican mexico
brazilian brazil
indian india
thai thailand
vietnamese vietnam
australian australia
israeli israel
egyptian egypt
croatian croatia
american usa
"""
# Nouns and adjectives that look like a form of a verb and are none.
NO_FORMS = frozenset(
    """
    building training marketing housing painting opening parking setting heading reading writing hearing meaning
    wedding clothing landing saying ceiling morning evening string spring king ring thing being nothing something
    anything everything during including regarding according bed red need feed seed speed shed hundred sacred naked
    wing sting outing offspring wing sibling darling pudding sterling herring news series species lens bus gas plus
    thus always perhaps besides christmas status campus virus bonus census versus texas glass class process address
    business access success progress less unless across boss loss pass mass cross press dress mathematics physics
    economics politics headquarters jeans pants scissors savings goods means earnings customs
    """.split()
)
COMMON, UNKNOWN, OTHER = "common", "unknown", "other"
SHORTEST, LONGEST_SLIP = 4, 40  # letters; each place of a slip is tried
NAME_RATIO = 1.5
# Words that few texts have, one swap or one doubled letter away from a common one.
RARE = frozenset(
    """
    sliver calvary untied gird salve gaol minuet carat karat caret tare boll apparition perpetuate serous stationery
    bussed busses bussing furrier mooed llama cavalry baton diary marital cannon silt coral aural
    """.split()
)
SHORT_ENDINGS = ("ing", "ed", "er", "ers", "est", "y")
SYLLABLE = re.compile(r"[^aeiouy]*[aeiouy]{1,2}[^aeiouy]+e?")
ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ers", "ly", "ment", "able")
BEGINNINGS = ("re", "un", "pre", "over", "non", "mis", "sub")


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


# British and American endings; of a word with either, the American one represents both where it is a word.
SPELLINGS = (
    ("our", "or"), ("ours", "ors"), ("oured", "ored"), ("ouring", "oring"), ("ise", "ize"), ("ises", "izes"),
    ("ised", "ized"), ("ising", "izing"), ("isation", "ization"), ("isations", "izations"), ("yse", "yze"),
    ("ysed", "yzed"), ("ysing", "yzing"), ("tre", "ter"), ("tres", "ters"), ("elled", "eled"), ("elling", "eling"),
    ("eller", "eler"), ("ellers", "elers"), ("alogue", "alog"), ("alogues", "alogs"), ("gramme", "gram"),
)  # fmt: skip


BRITISH = tuple(british for british, _ in SPELLINGS)


def american(word: str) -> str:
    """The word, with an American ending for a British one."""
    if len(word) <= 5 or not word.endswith(BRITISH):
        return word
    for british, ending in SPELLINGS:
        if word.endswith(british):
            made = word.removesuffix(british) + ending
            if made in CANONICAL or _rank(made):
                return CANONICAL.get(made, made)
    return word


# All that stand for one.


@cache
def _vocabulary() -> Any:
    return openai.cl100k_base()


def _rank(word: str) -> int:
    """The place of a word that is one token, a small number when it is a frequent one; 0 for any other."""
    found = _vocabulary().encode(f" {word}")
    return int(found[0]) if len(found) == 1 else 0


def telling(phrase: tuple[str, ...]) -> str:
    """The word of the phrase that most statements do not have."""
    return max(phrase, key=lambda word: (word not in STOP, len(word)))


def base_of(participle: str) -> str:
    """The verb of a regular participle, by what the vocabulary has; empty for others."""
    if not participle.endswith("ed"):
        return ""
    forms = [participle[:-1], participle[:-2], participle[:-3]]
    if participle.endswith("ied"):
        return participle[:-3] + "y"
    if len(participle) > 5 and participle[-3] == participle[-4] and participle[-3] not in "sl":
        return participle[:-3]
    return next((form for form in forms[:2] if classify(form) == COMMON), "")


def stem_abroad(word: str) -> str:
    """A word of another language without the endings of number and case; "hijo" and "hija" keep theirs apart."""
    for ending in ENDINGS_ABROAD:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST:
            return word.removesuffix(ending)
    return word


ENDINGS_ABROAD = tuple(
    "iego iemu ymi imi ego emu ych ich ami ach owi ów ej em om ie innen in en er es et a ą ę y i u e n s t".split()
)


def concept(word: str, *, is_name: bool = False) -> str:
    """What stands for all forms of a word, for its synonyms and for the words of its family; a name has no forms."""
    known = CANONICAL.get(word)
    stem = known.partition("+")[0] if known else american(word) if is_name else _lemma(word)
    stem = CANONICAL.get(stem, stem).partition("+")[0]
    return _FAMILY.get(word) or _FAMILY.get(stem, stem)


def of_one_lemma(one: str, other: str) -> bool:
    """Whether the two are forms of one word, or of one family; synonyms are not."""
    return any(of.get(_lemma(one), _lemma(one)) == of.get(_lemma(other), _lemma(other)) for of in ({}, _FAMILY))


def is_undone(word: str) -> bool:
    """Whether it says that something is not so, and the rest of it that it is: "unmaintained"."""
    return word.startswith("un") and word.endswith(("ed", "able", "ible")) and classify(word[2:]) == COMMON


def differ_in_aspect(one: str, other: str) -> bool:
    """Whether the one says that something goes on, and the other that it has been done: "rising", "risen"."""
    endings = {CANONICAL.get(word, "").partition("+")[2] for word in (one, other)}
    return endings == {"ing", "ed"}


VOWELS = frozenset("aeiouy")


def _lemma(word: str) -> str:
    """The form in a dictionary, where there is one: of a plural, a third person, a past and a form in -ing."""
    past = PARTICIPLES.get(word, word)
    if past in BASES:
        return BASES[past]
    if len(word) < SHORTEST or word in NO_FORMS or not (word.isascii() and word.isalpha()):
        return american(word)
    ending = next((each for each in ("ing", "ed") if word.endswith(each)), "")
    if ending and VOWELS.isdisjoint(word.removesuffix(ending)):  # "bring" and "sled" are no forms of others
        return american(word)
    if word.endswith("s"):
        made = [without_number(word)]
    elif word.endswith("ed"):
        made = [word[:-1], word[:-2], word[:-3]] if word[-3] == word[-4] else [word[:-1], word[:-2]]
        made = [word[:-3] + "y"] if word.endswith("ied") else made
    elif word.endswith("ing"):
        made = [word[:-3] + "e", word[:-3], word[:-4]] if word[-4] == word[-5:-4] else [word[:-3] + "e", word[:-3]]
    else:
        made = []
    return next((form for form in map(american, made) if form in CANONICAL or _rank(form)), american(word))


_FAMILY = {
    word: CANONICAL.get(line.split()[0], line.split()[0]).partition("+")[0]
    for line in FAMILIES.strip().splitlines()
    for word in line.split()
}


def manner(adjective: str) -> str:
    """How somebody does it who is so: "carefully" of a careful driver; empty for what is no such adjective."""
    adverb = {"good": "well", "fast": "fast", "hard": "hard"}.get(adjective, adjective + "ly")
    return adverb if adverb[-2:] != "ly" or (_rank(adverb) and classify(adjective) == COMMON) else ""


def is_a_deed(noun: str) -> bool:
    """Whether it is a noun for what a verb does: "deployments"."""
    return without_number(noun) in _FAMILY


def third_person(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else verb + "s"


def without_number(word: str) -> str:
    """The word of a table without its ending, and any other without the "s" of its plural or third person."""
    stem, _, ending = word.partition("+")
    if ending:
        return stem if ending == "s" else word
    if len(word) < SHORTEST or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("shes", "ches", "xes", "zes", "sses")) else word[:-1]


def classify(word: str) -> str:
    """``COMMON``, ``UNKNOWN``, or ``OTHER``: names, short words, and whatever is not plain letters."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return OTHER
    lower, name = _rank(word), _rank(word.capitalize())
    if lower:
        return OTHER if name and name * NAME_RATIO < lower else COMMON
    if name:
        return OTHER
    return COMMON if any(_rank(base) for base in _bases(word)) else UNKNOWN


def _bases(word: str) -> list[str]:
    """What the word may be made of, when it is longer than three letters."""
    cut = [word.removesuffix(end) for end in ENDINGS if word.endswith(end) and _takes(word.removesuffix(end), end)]
    cut += [base + "e" for base in cut if not word.endswith("s")]
    cut += [word.removeprefix(start) for start in BEGINNINGS if word.startswith(start)]
    return [base for base in cut if len(base) > SHORTEST]


def _takes(base: str, ending: str) -> bool:
    """Whether a base may have that ending: neither addresss nor invoicees."""
    if ending == "es":
        return base.endswith(("s", "x", "z", "ch", "sh", "o"))
    return base.endswith("e") if ending == "d" else not (ending == "s" and base.endswith("s"))


def meant_by(slip: str) -> list[str]:
    """The common words that ``slip`` is, with two neighbours swapped, or with one letter doubled or no longer double.

    Any other edit may as well make another word: sulfite is no slip of sulfate. Of a name only the swap counts.
    """
    if not SHORTEST <= len(slip) <= LONGEST_SLIP or _is_a_word(slip):
        return []
    pairs = range(1, len(slip) - 1)
    swapped = {slip[:at] + slip[at + 1] + slip[at] + slip[at + 2 :] for at in pairs} - {slip}
    single = {slip[:at] + slip[at + 1 :] for at in range(1, len(slip)) if slip[at] == slip[at - 1]}
    doubled = {slip[:at] + slip[at] + slip[at:] for at in range(1, len(slip))}
    near = swapped | {word for word in single | doubled if word not in NAMES}
    near = {word for word in near if len(word) >= SHORTEST}
    plain = [
        word for word in near if word in NEGATIONS or word in CANONICAL or (_rank(word) and classify(word) == COMMON)
    ]
    return sorted(plain or [word for word in near if classify(word) == COMMON])


def _is_a_word(text: str) -> bool:
    """Whether it is a word after all: a rare one, or a form of a short one, as taping and tapping both are."""
    if text in RARE:
        return True
    cut = [text.removesuffix(end) for end in SHORT_ENDINGS if text.endswith(end)]
    bases = {form for base in cut for form in (base, base + "e", base[:-1] if base[-1:] == base[-2:-1] else base)}
    return any(SYLLABLE.fullmatch(base) and _rank(base) for base in bases)


_SMALL = {"".join(sorted(word)): word for word in sorted(STOP) if len(word) >= 3}


def is_slip_of_a_small_word(word: str) -> bool:
    """Whether an unknown word is a word that may be dropped, with two letters swapped."""
    near = _SMALL.get("".join(sorted(word)), word)
    return near != word and sum([one != other for one, other in zip(word, near, strict=True)]) == 2
