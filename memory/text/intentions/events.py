"""What has happened, by the words that tell it or its result: "the speech is over" for "the speech ends".

Each line of ``EVENTS`` is an event, and ways to tell it. They are written in base forms, without articles and adverbs:
``be`` is any form of it, ``give/get`` either, ``*`` up to four words, ``~`` a word that the condition has. An event
told by the first two words of its line is told by both. Names with "|" between them tell each other, those with "&"
do not.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Set
from functools import lru_cache
from typing import NamedTuple

from memory.text import patterns
from memory.text.intentions import verbs
from memory.text.intentions.occurrences import TELIC, rewritten
from memory.text.intentions.verbs import stem

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
EVENTS = """
approve|give go-ahead|sign off|okay|endorse: give/get/receive/have/win/earn/obtain *
 go-ahead/approval/blessing/nod/ok/okay/consent/permission/clearance/thumb,
 give/get/receive/have * green light, wave * through, sign off, rubber-stamp, vote for, vote in favour, come out in
 favour,
 say yes, give yes, be on board with, be happy with, okay, ok, back, clear, allow, permit, endorse, adopt, uphold,
 pass bill,
 pass law, pass budget, pass motion, license, award, come down in favour, get through parliament, go through
reject|turn down|throw out|veto|decline|deny: throw * out, turn * down, knock * back, knock * down, say no, give/get
 * thumb down, shoot * down, vote * down,
 vote against, strike * down, rule against, find against, rule * out, decline, deny, veto, refuse, dismiss, send *
 back, spurn,
 not accept, not approve, not grant, not agree to, not want, get/receive/have/send * rejection, get/give * no, be
 unsuccessful,
 come back with no, be not accept, be not approve, be not grant, pass on ~, overrule, disallow
award: get/receive/win/secure/land/obtain/bag ~, give ~, be ours, be mine, grant, hand * ~, present * with, pick up ~
cancel|call off|scrap: be off, be axe, scrap, axe, scratch, scrub, not take place, not happen, not go ahead, be not
 go ahead, be not happen,
 be not take place, not be hold, be not on, be not to be hold, fall through, pull plug, wipe * from calendar, drop,
 shelve,
 call * off, come to nothing, no longer take place, be no longer happen, be no longer on, be no longer go, there be
 no ~ today,
 have no ~ today, be take off schedule, withdraw, annul, ditch, abandon, not run today, be not run
postpone|put off|push back|reschedule|adjourn|defer: put * off, put * back, push * back, push * to, move * back,
 move * to next, move * to later, shift * to, reschedule,
 delay, defer, adjourn, be hold over, bump * to, be put back, take place later, be move to, be now on, have new
 date, be hold later
delay|hold up|run late: be late, run late, come late, leave late, arrive late, be behind schedule, run behind, fall
 behind, be hold up, hold * up,
 be hour late, be minute late, hour late, minute late, minute behind, hour behind, day behind, week behind, be
 stick, have delay,
 take long than, not be on time, be not on time, not make it on time, be overdue, put back, push back, slip by, slip
 to, slip
arrive: be here, get here, turn up, show up, roll up, pull in, pull up, roll in, touch down, land, be at door, be on
 doorstep,
 be at gate, drop * off, reach, make it, check in, get in, get to, walk in, walk through door, drive up, be wait
 outside,
 be outside, be down in lobby, be in hall, appear, come through, be in hand, have ~, get ~, receive, sign for, hand
 * over,
 be deliver, bring, come in, come with post, come by courier, be in post, lie on desk, be on desk, stand in hall, be
 in inbox,
 be in mailbox, be here with us, be with us, set foot, be there, be in, be home, dock, disembark, come
leave: be go, set off, set out, head off, head out, take off, depart, check out, drive off, drive away, walk out,
 fly out, sail,
 be away, be on way, hit road, have last day, have final day, hand in notice, quit, be no longer here, be no longer
 with us,
 be no longer with company, be no longer work, be out of door, move on, go off, cast off, pull out of, pull out,
 roll out of,
 say goodbye, say farewell, work last day, clear desk, hand in badge
return: be back, come back, go back, get * back, give * back, bring * back, hand * back, send * back, take * back,
 put * back,
 be home, come home, get home, make it back, have * back, be at desk again, show up again
publish: be out, come out, appear, go live, be live, be on sale, be online, go online, hit shelf, hit newsstand, be
 in print,
 go to print, print, be up, put * online, put * up, post, launch, issue, unveil, be available, be in bookshop, be in
 shop,
 be in store, can read, can be read, can buy, can download, can be download, be download, go out, see light, drop,
 air, push * out,
 make public, be on website, be on site, come off press
available: can buy, can order, can book, can get, can be buy, can be order, can be book, go on sale, be on sale, be
 up for grab,
 be on offer, sale open, booking open, open for booking, be bookable, sale start, booking start, sale begin, sale be
 open,
 booking be open, be in stock, come in stock, be in shop again, have * in stock, have * on shelf, be on shelf, be
 free, be for sale,
 have vacancy, be vacant, be up for sale, presale start, release
soldout|sell out: be go, no ~ leave, no more ~, be snap up, be fully book, be book up, be booked out, be booked
 solid, last ~ go, sell last,
 sell final, none leave, be book solid
sell: find buyer, find new owner, change hand, go under hammer, get new owner, have new owner, hand * to new owner
buy: purchase, acquire, pick * up, be ours, get hold of, snap * up, pay for, take * home
open: open door, welcome first, receive first, be open, start trade, cut ribbon, throw open, serve first, let * in,
 unlock door
reopen|open again: be passable, be open, be usable, be unblock, can drive, can use, can be use, can pass, can cross,
 can go, flow, roll,
 lift closure, be clear, be back open, be accessible, be unlock, resume, let * through, be back in use, be back in
 operation, unblock,
 be open to traffic, traffic flow, barrier be go, be drivable, run, open for traffic
close: shut, lock up, seal * off, be seal off, block * off, be block, pull down shutter, cease trade, stop trade, go
 out of business,
 shut * down, close * down, shut door, close door, shut up shop, wind * up, cordon * off, be off-limits, be out of
 bounds, barricade
begin: kick off, be under way, be underway, get underway, get under way, get go, be in progress, be in full swing,
 set in, break out,
 be run, launch, open, fire up, get * roll, first ~ be, start up, take up, be in session, have first day,
 strike up,
 be in motion, set off, work first day, be on air, first ~
end: be over, be history, be behind us, come to end, come to close, draw to close, draw to end, reach end, wrap up,
 wind up,
 be finish, run out, blow final whistle, final whistle go, curtain fall, curtain come down, finish, conclude, close,
 be through,
 be past, peter out, stop, cease, break up, be at end, have end, subside, blow over, die down, be no more, lift
finish: be over, be do, wrap * up, be complete, be through, complete, be in can, put finishing touch, put last, put
 final, get * do,
 be up, conclude, take place, be in bag, have finish, run through, come to end, tick * off, be ready, do last
fail|go wrong|malfunction: not work, be not work, go wrong, crash, go down, be down, give up ghost, pack up, conk
 out, be dead, give out, cut out,
 stop work, not pass, be not pass, be out of order, fall over, collapse, break * down, malfunction, time out, return
 error, throw error,
 show error, can not complete, can not pay, can not use, can not log, can not reach, can not connect, can not open,
 can not finish,
 not start, not respond, be not respond, be unreachable, be unavailable, not load, be on blink, flunk, fall through,
 go off air,
 go bang, be bust, be break, be out, be broken, stall, seize up, hang, blow, abort, error, go dark, go cold, stay
 cold, be cold,
 not turn on, not come on, no longer work, no longer run, no longer respond, be no longer work, be on the fritz,
 miscarry, bomb, flop,
 come unstuck, come to nothing, end in error, end with error, exit with error, be red, go red, turn red
online: be back up, be up, run, work, be restore, come back up, be reachable, respond, be back online, go live, be
 back to normal,
 be back in service, be available, be accessible, be back, come up, come on, have power, be operational
fix: mend, sort * out, be work, work, patch, be good as new, get * work, put * right, resolve, no longer leak, be
 sort, be in order,
 be seal, run, be as new, be whole, no longer drip, be tight, go away, be go, solve, clear up, be sound, have * go
 again, hold water
install: put * in, put * up, fit, be in place, mount, set * up, be up and run, hook * up, wire * up, connect,
 put * in place, put * on, screw * on
build: put * up, finish build, erect, construct, complete, raise, be up, stand
dismantle|take down|tear down|pull down: take * down, tear * down, pull * down, take * apart, knock * down, clear *
 away, pack * up, be go
ship: send * out, send * off, dispatch, be on way, be in transit, be in post, post, mail, go out, be out for
 delivery, send,
 hand * to courier, leave warehouse, leave depot, leave factory, give * to courier, be with courier, pick * up, be
 on road, collect,
 have tracking number, be at sea, get tracking number
pay: transfer, wire, settle, money be in, money be here, money come, money arrive, send money, foot bill, foot, hand
 * over, make payment,
 cough up, stump up, be on account, be in account, clear balance, clear debt, money be on account, cover, remit,
 credit, get money,
 balance be zero, debit, receive money, be credit, reach account, hit account
refund|pay back|reimburse: give * money back, get * money back, have money back, money be back, reimburse, pay *
 back, credit, be credit, send money back,
 return money, transfer back, get * back
sign: put name, put signature, ink, have signature, countersign, sign on dotted line, bear signature, carry
 signature, be under ink,
 get signature, give signature, put pen to paper, set name, initial
agree: shake hand, reach agreement, reach deal, strike deal, reach compromise, come to terms, be settle, have deal,
 consent, accept,
 say yes, give word, find compromise, come round, come to understanding, settle, be of one mind, seal deal, reach
 accord, be fine with,
 be on board, see eye to eye
decide: make up mind, make * mind up, make decision, take decision, go for, settle on, pick, opt for, choose, plump
 for, vote for,
 select, go with, fix on, reach decision, come to decision, have decision, conclude, resolve, rule, fall on, determine
choose: make up mind, make choice, make decision, decide, go for, settle on, pick, opt for, opt, plump for, vote
 for, select, go with,
 fix on, fall on, prefer, want, take, favourite be, land on
hire: get job, join, take * on, accept offer, start job, bring * on board, fill position, fill vacancy, fill post,
 fill role, land job,
 get contract, have contract, start work, find candidate, find someone, be on board, have new ~, be on payroll,
 appoint, sign contract,
 name, get place, employ, have new, start as, new * start, get post
promote: be head, be make, make, become manager, become head, become director, become partner, become captain,
 become chief, be director,
 be manager, be team lead, become lead, become team lead, be lead, be vice president, be vice-president, be partner,
 get promotion,
 move up, step up, go up, rise to, be name, name, one step up, climb ladder, get high post, be chief, take over as,
 become senior,
 be senior, be elevate, have promotion, be captain
resign|quit $|step down $|stand down $|hand in notice $: quit job, quit post, quit company, quit team,  step down $,
 hand in notice, hand in * notice, hand in * resignation, leave company, leave job, leave post, give up post,
 give up job, give up role, give up seat, throw in towel, tender resignation, submit resignation, walk away, vacate
 post, vacate office,
 lay down office, lay down mandate, have last day, stand down $, bow out, call it quit, call it day, call it a day,
 be go,
 no longer want be, send * resignation, give up
withdraw|drop out|pull out|back out|bow out:  pull out, back out, quit, be out, bow out, be not take part, not take
 part, no longer take part, be not come,
 take * back, scratch, leave, not play, be not play, not be play, no longer play, be no longer part, give up, can
 not come, can not make it,
 be no longer in, be no longer available, be no longer on board, jump ship, opt out, cry off, call off, pull * out,
 step back
retire: stop work, go into retirement, have last day, start retirement, draw pension, be pensioner, receive pension,
 hang up, work last day,
 be in retirement, be on pension, leave working life, be retired
graduate: have degree, get degree, receive degree, hold degree, have diploma, get diploma, receive diploma, finish
 university, finish study,
 finish school, finish college, complete degree, complete study, be graduate, finish degree, earn degree, have
 bachelor, have master,
 get bachelor, get master, pass final, finish phd, finish doctorate, have doctorate, be doctor, leave university,
 wear cap, throw cap
pass: get through, make grade, come through, make it through, sail through, succeed, be green, go green, turn green,
 meet requirement,
 fulfil requirement, clear, have certificate, get certificate, run through, be ok, be okay, be fine, be in order,
 get sticker, get plaque,
 go well, be successful, get top mark, get good mark, get good grade, ace, nail, be without objection, find nothing,
 find no,
 have nothing to object, have no objection, be through
pass driving exam: have/get/receive/hold * licence/license, have/get/receive * driver's licence, may drive, be allow
 to drive
pass exam: be qualified, have qualification, get qualification, have certificate, get certificate, pass finals
win: come first, finish first, take gold, win gold, beat, lift trophy, lift cup, be champion, be winner, be world
 champion, defeat, triumph,
 get gold, take trophy, take title, take prize, get prize, take first, come out on top, be first, victory, clinch,
 bag, land, take cup, score winner,
 be through, go through, be victorious, knock * out, prevail, carry off, walk off with, walk away with, get most
 vote, get majority, get first prize
lose: be beat, be defeat, go down, be knock out, can not find, be miss, be go, misplace, mislay, be nowhere to be
 find, vanish, disappear,
 be nowhere, go missing, leave * on train, leave * in taxi, be out, no longer have, no longer find, fall out, come
 out, forfeit, shed
find|locate|turn up: turn up, track * down, locate, come across, discover, spot, recover, have * back, unearth, show
 up, be back, surface, reappear,
 lie under, come to light, stumble on, stumble across, stumble upon, pick * up, resurface
forget: can not remember, no longer know, slip mind, slip * mind, not remember, not recall, can not recall, no
 longer remember, leave * at home,
 leave * behind, not think of, can not think of, leave * in, have no memory, not know
remember: come back to, recall, think of, recollect
call|ring|phone: be on line, be on phone, ring, phone, give * call, give * ring, give * buzz, ring * up, telephone,
 get call from, get phone call from,
 have * on line, have * on phone, have call from, receive call from, leave voicemail, leave message, get * on phone,
 be at phone,
 speak on phone, phone be ring, get hold of
reply: get back, write back, hear from, hear back, have hear, get answer, get reply, get response, get word, have
 answer, have reply, have response,
 have word, receive answer, receive reply, receive response, come back, answer, be in touch, be in touch with, give
 answer, send answer, send reply,
 get * mail from, mail from * come, get feedback, send word, give feedback, write, let * know, react, there be
 answer, there be reply,
 there be response, there be word, mail, e-mail, text back, get message from, message from
write: get mail from, get letter from, get message from, drop line, drop * line, send mail, send letter, send
 message, have mail from, have message from,
 message, e-mail, mail, be in inbox
confirm: give confirmation, say yes, get confirmation, have confirmation, receive confirmation, send confirmation,
 confirmation come, be fix,
 be definite, verify, acknowledge, be firm, okay, be certain, be set, guarantee, be official, be settle, give *
 word, be official now,
 give green light, booking be on, have reserve
review|look over|read through|proofread|go through: go through, look over, look * over, look through, read through,
 read, go over, give feedback, have comment, check, finish read, leave comment,
 examine, inspect, comment on, study, be through with, have look, take look, read over, have no objection, have
 change, proofread, work through,
 send comment, send remark, finish with, annotate, vet, scrutinise, mark up, redline
check: look at, examine, go over, go through, inspect, review, verify, test, look * over, have look, take look
submit|hand in|send in|turn in: hand * in, send * in, send * off, file, turn * in, lodge, upload, put * in, enter,
 apply, be in, deliver, give * in, present, mail * to, drop off
register: sign up, enrol, enroll, join, book place, book spot, book seat, put name down, put * name down, have
 place, get place, be on list, apply, be in
sleep|go sleep: be asleep, go to sleep, nod off, doze off, drop off, drift off, be out like light, be out cold,
 snore, slumber, drop asleep,
 be in dreamland, go off, be fast asleep, be sound asleep, go quiet, eye be close, close eye, eye shut
fall asleep: be asleep, go to sleep, nod off, doze off, drop off, drift off, sleep, be out like light, snore,
 slumber, be in dreamland, be in land of
wake|wake up|get up: be awake, get up, be up, open eye, be out of bed, stir, come to, be on leg, come round
born: baby be here, have baby $, have baby girl/boy, have boy, have girl, have son, have daughter, have twin, give
 birth, become parent, become father, become mother,
 become mum, become dad, be mother, be father, be mum, be dad, be parent, see light of day, come into world, be
 here, it be girl, it be boy,
 become grandparent, become grandmother, become grandfather, arrive, deliver, bring * into world
die: pass away, be dead, lose life, be no longer with us, succumb, breathe last, take last breath, pass on, be go,
 lose fight, not make it, not survive,
 kick bucket, lose battle, expire
marry|get married|tie knot|wed: tie knot, be husband and wife, be man and wife, wed, say I do, say i do, exchange
 vow, exchange ring, be married, get hitch, be wife, be husband,
 walk down aisle, have wedding
engage: propose, say yes, have ring, wear ring, pop question, get ring, want marry, be fiancé, be fiancée
separate|split up|break up|divorce: split up, break up, part way, part, divorce, go separate way, move out, be single
pregnant|expect baby: expect baby, expect child, be expect, have baby on way, be expectant, expect
ill: be sick, come down with, have fever, be in bed, catch flu, feel ill, call in sick, have flu, fall ill, have
 temperature, be down with, be unwell,
 have cold, be off sick, be poorly, lie in bed
sick: be ill, come down with, have fever, be in bed, catch flu, feel ill, call in ~, have flu, fall ill, have
 temperature, be down with, be unwell,
 have cold, be off ill, be poorly, report sick
recover|get well|get better|be better: get well, be better, be well, be healthy, be on foot, be cure, feel better,
 be fit, be back on foot, be over flu, be out of bed, be symptom-free,
 be back to normal, get over, be on mend, heal, rebound, bounce back, pick up, be up and about, be heal
discharge: leave hospital, be home, send * home, be send home, be out of hospital, go home, be home from hospital,
 come home, get out, allow home,
 can go home, may go home, be release, be back home, let * go home
moveout|move out: leave flat, leave apartment, have new address, be go, have leave, hand over key, hand back key,
 return key, vacate, be empty, give key back,
 be out of flat
move: have new address, settle in, get key, relocate, live in, be in new, move in, move out, shift, transfer, unpack
 box, carry last box
flood: be over bank, burst bank, break bank, overflow bank, be under water, be underwater, overflow, water stand,
 water come in, be inundate, inundate,
 submerge, be submerge, water be in, water rise, spill over, water get in, water run into, be knee-deep in, be full
 of water, water pour, come over bank,
 leave bed, stand in water, water cover, be swamp, swamp, breach bank, water reach, overtop
rain|pour: drop fall, pour, drizzle, shower, bucket down, heaven open, come down, be wet outside, tip down, chuck
 down, pelt down, spit, be rain, patter,
 there be rain, rain fall, rain begin, rain set in, cloud burst, sky open, drop hit
snow: flake fall, snowflake fall, be white, there be snow, snow fall, snow lie, snow cover, be snow, lie under snow,
 snow come down, be cover in snow,
 ground be white, blanket of snow, snowflake
freeze: be ice, turn to ice, ice over, be below zero, drop below zero, fall below zero, be frozen, frost, be minus,
 there be frost, there be ice,
 be solid ice, no more change, be lock, be final, not change, not be change, can not be change, no further change,
 be close for change, no more edit,
 no longer be change, can no longer be change, be set in stone, lock * down, be close for edit, no change be allow,
 may not change
storm: gale, blow, be gale, hurricane, wind reach, thunder
thunder: lightning
fall: come down, topple, topple over, be down, blow down, be blow over, blow over, fall over, keel over, lie across,
 crash down, collapse, tip over, be on ground,
 come crash, tumble, drop, go down, dip, sink, be low, plummet, slide, shrink, decline, be cheap, slump, lose value,
 crash, plunge, decrease, reduce,
 get cheap, be upend, give way, lie on, be lie, uproot, be uproot, cost less, halve, weaken
rise: go up, climb, be high, jump, soar, be up, surge, increase, double, be twice, be double, put up price, put *
 up, be dear, cost more, rocket,
 be expensive, be more expensive, become more expensive, get dear, become dear, triple, swell, grow, climb to, step
 up, be big, skyrocket, shoot up, lift,
 be high than, edge up, inch up
warm: be above limit, be above, heat up, be too hot, be hot, be heat, overheat, be over
cold: be below, be freeze, be freezing, be chilly, cool down, be under, drop below
full|book up: no space leave, no room leave, no more space, no more room, have no space, have no room, have no more
 space, have no more room, be at capacity,
 run out of space, out of space, out of room, run out of room, overflow, be pack, be max out, fill, fill up, be
 exhaust, be at limit, reach capacity,
 reach limit, no capacity, no free space, no free, no place leave, be to brim, be to rim, nothing fit, be at 100
 percent, be 100 percent, be book up,
 be take, no seat leave, every seat be take, no ~ be free, can not store, have no capacity, be overflow, burst at
 seam, be brimming, fill to
fill: no space leave, no room leave, no more space, no more room, have no space, have no room, be at capacity, run
 out of space, be out of space, overflow, be full,
 be pack, be max out, be at limit, reach capacity, no free space, be to brim, be to rim, be at 100 percent, be 100
 percent, fill up, have no more space,
 find someone for, have someone for, be take, appoint
empty: run out, be go, nothing leave, be use up, be out of, run dry, use last, no more, no ~ leave, use up, last of,
 be finish, be exhaust, drain,
 have no ~, clear out, be clear, nothing be in, no one be in, be deserted, be unoccupied, be bare, be vacant
expire: run out, lapse, be no longer valid, be up, be out of date, not be valid, be not valid, be end, no longer be
 valid, be invalid, run dry, use up,
 be past, be void, use last, be use up, be empty, no ~ leave, have no ~, have no more, no longer apply, be all go,
 be over
dry: be not wet, not wet, no longer wet, no longer damp, no longer sticky, no longer tacky, be dry, nothing be wet,
 not stick, be not tacky, cure, set, harden,
 no longer stick, be firm, can touch, can walk on, no longer smudge
harden: set, be hard, cure, be firm, be solid, stiffen
break: shatter, smash, be in piece, crack, snap, tear, be break, fall apart, give way, burst, come apart, go to
 piece, be in two, be damage, be defect, rip,
 fall to piece, split, rupture, no longer work, stop work, be dead
burst: explode, pop, rupture, split, blow, give way, spray water, break open
leak: drip, water come, water run, lose water, puddle, let in water, let * in, be wet, seep, ooze, escape, trickle,
 water drip, let water through
burn: be on fire, go up in flame, catch fire, blaze, be in flame, flame, smoke, set alight, be ablaze, ignite
fire|lay off: let * go, sack, lay * off, lose job, make redundant, be make redundant, show * door, get boot, give *
 boot, dismiss, kick * out, part with, part way with
ring: go off, sound, beep, blare, trigger, wail, shrill, buzz, chime, peal, trip
boil: bubble, be on boil, steam, reach boil, sing, whistle
ready: be do, be finish, can be collect, can collect, can pick * up, can fetch, be wait, can be pick up, can be
 fetch, finish, complete, can serve, can be serve,
 be on table, be cook, be available, be prepare, be all set, can come and get, be pack, be good to go, be ripe
merge: be in main, be in master, land in main, land on main, go in, be integrate, integrate, land, be part of main,
 join force, become one, fuse, combine,
 be on main, unite
deploy: be in production, roll * out, go live, be live, ship, push * to production, run in production, go to
 production, release, be on production, go out, be out
depart: leave, set off, take off, be go, be away, set sail, pull out, be in air, be on way, be airborne, cast off,
 roll out, head off, steam off
remove|take away|clear away|tow away: take * down, take * off, take * out, clear * away, be go, get rid, delete,
 tear * out, tow * away, cut * out, haul * away, strip * out, pull * out, no longer be there,
 carry * away, cart * off, wipe, be no longer there, drag * away
lift|repeal: remove, no longer apply, scrap, be go, drop, abolish, end, be no longer in force, repeal, withdraw,
 suspend, be over, expire, ease, be history
clear: be through, be release, pass, get through, release, let * through, be out of, make it through, go through,
 free, wave * through, be arrive, be in account, be on account
renew: extend, be valid for another, be valid until, be good until, prolong, have new, get new, be valid again, sign
 for another, run for another, new ~ be, roll over,
 take out another, be good for another, be valid for
extend|prolong|lengthen: have more time, be valid for another, prolong, push * out, push * back, move * back,
 lengthen, give * more time, get more time, last long, be open long, run until
book: reserve, make reservation, have booking, have reservation, have ticket, get ticket, secure place, buy ticket
order: place order, purchase, put in order
arrest|catch|capture: be in custody, be behind bar, catch, detain, be in jail, be in prison, take * into custody,
 handcuff, lock * up, apprehend, be nab, be take away by police
release: be free, be out, walk free, be at liberty, let * go, set * free, free, come out, publish, be available,
 launch, go live, drop, issue, roll * out, make available
escape: get out, run away, be loose, break out, run off, be on run, be on loose, flee, bolt, abscond, slip out, get
 away, be miss from
steal: be go, take, thief, make off with, snatch, nick, pinch, rob, break into, be miss, pilfer, lift
complain|file complaint: be unhappy, file complaint, grumble, object, protest, make complaint, lodge complaint, get
 complaint, have complaint, receive complaint, be annoyed, be angry,
 be dissatisfied, be not happy, moan, kick up fuss, want money back, be not satisfied, be upset
object|raise objection: have objection, raise objection, raise concern, be against, disagree, be opposed, protest,
 oppose, say no, voice concern, take issue
announce|reveal|make public: make public, reveal, make known, go public, disclose, unveil, name, be public, make *
 public, be know, publish, be official, say, inform
leak_out: come out
translate: be in english, be in german, be in french, be in spanish, finish translation, exist in, have translation,
 be available in, deliver translation
update: bring * up to date, be up to date, be on late, be upgrade, revise, upgrade, refresh, modernise
change: alter, modify, amend, be different, switch, become, swap, revise, replace, turn into, be new, adjust, rewrite
replace: swap, exchange, new ~ be, have new ~, get new ~, put new, fit new, be new, change, substitute, take place of
migrate|move over|switch over: move * to, be on new, switch * to, run on new, transfer, port, carry * over
schedule: set date, fix date, have date, put * on calendar, put * in calendar, date be set, date be fix, have
 appointment, get appointment, arrange, be on calendar
assign: give * to, hand * to, take over, take on, be responsible, have be give, put in charge, be in charge, go to,
 look after
visit: come round, drop in, drop by, stop by, call in, be here, come to see, come over, pop in, pay visit, pay *
 visit, turn up, come by, stay with
join: become member, sign up, be part of, come on board, be on team, be in team, be member, start with, be new
 member, enter, be aboard, start at
accept: say yes, take, agree, take * on, sign, be in, come on board, take up, give yes, welcome, be happy to, give nod
vaccinate: have jab, get jab, have shot, get shot, have injection, get injection, get vaccine, receive vaccine, be
 immune, jab, inoculate
operate: be out of surgery, go under knife, have operation, have surgery, come out of surgery, come through surgery
bloom: be in bloom, be in flower, blossom, be in blossom, flower, open, have flower, carry flower, first flower,
 burst into flower, come into flower, come out
ripe: be red, can be pick, can pick, be ready, be sweet, ripen
ripen: be ripe, be red, can be pick, can pick, be ready, be sweet, mature
germinate: come up, sprout, shoot, push through, break through soil, first leaf, poke through, emerge, seedling, appear
hatch: chick be, slip from egg, come out, be out of egg, first chick, break shell, crawl from egg, break out of shell
harvest: bring * in, be in, pick, gather * in, be in barn, get * in, reap
strike|walk out|go strike|down tools: walk out, down tool, be on strike, stop work, go on strike, lay down tool, lay
 down work, picket, stage walkout, refuse to work
bankrupt: be insolvent, file for bankruptcy, go bust, go under, be broke, be bust, file for insolvency, be wind up,
 go into administration, be in administration, go broke
insolvent: go bankrupt, be bankrupt, file for bankruptcy, go bust, go under, be broke, be bust, file for insolvency,
 go into administration
elect: win election, be new mayor, be new chair, be new president, vote * in, be mayor, be chair, be president, be
 chairman, be new, get most vote, vote into,
 win vote, be choose, choose
rule: hand down, give judgment, decide, find guilty, find for, find against, verdict be, judgment be, court find,
 court decide, deliver verdict, pronounce
convict: find guilty, be find guilty, be guilty, sentence, be sentence
acquit: find not guilty, be find not guilty, be not guilty, walk free, clear, be clear, leave court as free
fund: get money, raise, close round, secure funding, have funding, money be in, be fully fund, get funding, come up
 with money, receive money, have money together, reach goal
complete: finish, be do, be over, be ready, wrap * up, be through, put finishing touch, be finish, get * do, put
 last, conclude, do last, be in place, have finish
happen: take place, occur, come about, come to pass
stop: come to end, be over, cease, come to halt, no longer be, stand still, grind to halt, come to standstill,
 pause, quit, be off, give up, let up, break off, halt,
 subside, abate, fall silent, be quiet, be go, blow over, die down, clear up
drop: fall, go down, come down, be low, dip, sink, plunge, decrease
exceed: be above, go above, go over, top, surpass, be beyond, break, climb above, rise above, be high than, be more
 than, overrun, pass, blow
reach: hit, get to, attain, meet, have ~, arrive at, come to, touch, have enough ~, enough ~ be, climb to, achieve,
 stand at, pass,
 surpass, make it to, cross, be achieve
meet: get together, come together, sit down, gather, hold meeting, have meeting, see, come face to face, convene, fulfil
tell: let * know, inform, say, mention, break news, share, reveal, report
know: learn, find out, hear, be clear, be know, have be tell, see
admit: own up, confess, come clean, let * in, take * in, take, get place, have place, accept, confess to, get in, be in
accuse: blame, charge, point finger
apologise: say sorry, be sorry, beg pardon, send apology, express regret, make apology, offer apology, ask for
 forgiveness, regret
cry: be in tear, weep, scream, wail, sob, burst into tear, howl, bawl
laugh: smile, giggle
win over: convince
learn: master, be able, know
load: be on truck, be on lorry, be on board, pack * into, be aboard, put * on
unload: be off truck, be off lorry, be out of, empty, take * off
land: touch down, be on ground, arrive, be down, be on runway, come down
improve: get good, be good, be well, pick up, look up, come on
worsen: get bad, be bad, deteriorate, go downhill
trigger: go off, set * off, fire, activate
activate: turn * on, switch * on, be on, enable, unlock, go live, be live, be active
disable: turn * off, switch * off, be off, deactivate, shut * down, be no longer active, block
suspend: be off, put * on hold, be on hold, halt, stop, freeze, block, ban, lock
pick|choose|select: collect, fetch, take, choose
collect|pick up|fetch: pick * up, fetch, come for, take away, take * away, take, come and get, get from, come to
 get, gather * up, haul * away
deliver: drop * off, bring, hand * over, be here, arrive, come, be at door, have ~, get ~, receive, be on doorstep,
 supply, turn up, be with
print: come out of printer, be in print, be on paper, roll off press, come off press, run off
give birth: have boy, have girl, have baby $, have baby girl/boy, have son, have daughter, have twin, become mother,
 be mother, become mum, be mum, deliver, baby be here, be bear, be born
have baby: give birth, have boy, have girl, have son, have daughter, have twin, become mother, be mother, become
 parent, be parent, become father, be father, baby be here, baby be born
go bankrupt: file for insolvency, file for bankruptcy, be insolvent, be bankrupt, go bust, go under, go broke, be
 broke, be bust, go into administration, fold, declare insolvency, declare bankruptcy, go to wall
file bankruptcy: be insolvent, be bankrupt, go bust, go under, go into administration, declare bankruptcy, declare
 insolvency
run away: escape, get out, get away, flee, bolt, be loose, take off, run off, be go, be miss, slip out, slip away,
 disappear, make off
go down: drop, fall, be go, sink, be down, subside, ease, abate, be low, improve, decrease, decline, shrink, get
 low, reduce, recede, come down, dip, be back to normal, be cheap
go up: rise, climb, increase, be high, be up, jump, grow, get high, be dear, get expensive, be more expensive, soar,
 be raise, put * up
come down: fall, drop, topple, sink, collapse, be cheap, decrease, go down, be low, be on ground
late: run late, be delay, be hold up, arrive late, land late, leave late, come late, have delay, be behind schedule,
 behind schedule, late, minute late, hour late, overdue, be not on time, not be on time, be stick in traffic, have
 not turn up, not come on time
work: run, be back in service, be fix, be repair, be restore, function, be back up, be up, be in working order, be
 in order, be operational, have * work, get * work, be back in operation, be in use
reach verdict: find guilty, find * guilty, find not guilty, find * not guilty, come to decision, reach decision,
 come to verdict, deliver verdict, return verdict, have verdict, acquit, convict, verdict be in, verdict be
melt: thaw, be go, disappear, turn to water, turn to slush, be melt, defrost, be liquid, dissolve
thaw: melt, be go, be free of ice, defrost, be soft, be not frozen
serve: be on table, be ready, bring * to table, dish up, be at table, be serve, can eat
miss train: be late for, not catch, be too late, see * leave, train leave without, be leave without, stand on platform
miss: be late for, not catch, be too late for, not make, not make it, not turn up, not show up, not appear, not
 come, not attend, be not there, skip, fail to show, stay away, be absent
catch: make, get, be on, reach, board, nab, arrest, apprehend, seize, trap, land, be in trap, get hold
approve visa: have visa, get visa, receive visa, visa come, come through, issue, stamp * in passport, be in passport
approve: get/receive/have/obtain visa/permit/loan/mortgage/permission/grant/patent/credit, issue, come through, sign
 off, be sign off
issue: be out, publish, give out, grant, hand out, hand * out, send out, get ~, receive ~, have ~, come out, release
licence: pass driving exam, have licence, get licence
strike finish: be back at work, go back to work, return to work, resume work, call off, be history, be settle, end
finish: hand * in, submit, deliver, put down pen, go over line, cross line, type last, write last, turn * in, be
 history, ship
end: call * off, be history, go back, be settle
sale close: go through, be complete, be finalise, be finalize, be do, be through, be sign, be notarise
close: go through, be complete, be finalise, be finalize, be settle, seal, be resolve, resolve, be do, be barricade,
 be seal, be lock
set: be hard, harden, be firm, be solid, be dry, cure, be ready, stiffen, be rock hard, fix, decide, agree, arrange
agree date: settle on date, fix date, set date, have date, decide on date, find date, date be fix, date be set
agree: settle on, fix, decide on, come to agreement, have agreement, find common ground, find agreement, sign
 agreement, shake on it, shake on, be unanimous
burst: break, spray, gush, shoot out, rupture, blow up, be in shred, explode, be broken, spring leak
sprout: germinate, come up, first leaf, shoot, push through, poke through, seedling be, be up, be green
inspect: check, go over, look over, look at, examine, be look at, go through, test, vet, review
examine: check, go over, look over, look at, inspect, go through, test, review, study
test: check, try * out, examine, put * to test, run test
burn out: be dead, be go, give up ghost, no longer light, no longer work, blow, go out, stay dark, be dark, pop, fail
charge: be full, be charge, be at 100 percent, be fully charge, have full battery, have juice, be 100 percent, be ready
battery low: run down, be almost empty, be nearly empty, be down to
postpone: push back, push * back to, move to, put * off, be put off, kick back, hold over, be later
negative: be clear, find no, find nothing, be not infect, be healthy, be clean
positive: be infect, have covid, find virus, have it
pass: be negative, come back negative, be clear, be without problem, be satisfactory, be within limit, be within
 range, get approval, reach pass mark, manage, have no fault, have no defect
qualify: be through, go through, get through, make cut, secure place, reach final, reach next round, have place,
 book ticket, clinch, be in next round
reach final: qualify, get through to final, be in final, make it to final, win semi-final, go through to final
inject: get injection, give shot
injure: be hurt, hurt, break leg, break arm, tear ligament, pull muscle, be out with, limp off, sprain, twist, be
 carry off, be wound
hurt: injure, be injure, break leg, break arm, twist, sprain, bleed, be wound, fall on
fall ill: be ill, be sick, come down with, catch cold, catch flu, have flu, have fever, have temperature, call in
 sick, be in bed, report sick, be off sick, get ill
get sick: be ill, be sick, come down with, catch cold, catch flu, have flu, have fever, have temperature, call in
 ill, be in bed
break out: begin, start, spread, be on fire, erupt, flare up, there be fire, be ablaze
erupt: spew, spit lava, break out, explode, lava flow, spout, send ash
power go out: there be no power, have no power, be without power, be without electricity, blackout, lights go out,
 light go out, no electricity, be no electricity
go out: be out, extinguish, be extinguish, be dark, die, no light
power come back: be back, be restore, light be back, have power, have electricity, there be power, there be electricity
come back: be back, return, be restore, be home, be here, turn up, show up, get back, reappear
come home: be home, be back, get home, return, walk in, get back, come in, be here, arrive
get home: be home, be back, come home, return, walk in, come in, arrive
get back: be back, come home, return, be home, arrive, be here
come in: arrive, be here, get ~, have ~, receive ~, be in, reach, be on account, land
restore: be back, be up, work, be online, run, be as before, recover, bring * back, be repair, be renovate
renovate: redo, be as new, refurbish, modernise, restore, do up, do * up
dead: die, pass away, be go
crash: go down, be down, fall over, fail, die, give up ghost, not respond, freeze, hang, plunge, collide, hit tree,
 hit wall, drive into, run into, smash into, restart, abort
hang: freeze, not respond, be stick, be freeze, not move, not react
erase: wipe, delete, be go
delete: remove, wipe, erase, be go, no longer exist, trash, purge, be no longer there, drop
lock: bolt, block, turn key, be lock, lock out, freeze
unlock: open, have access, can log, let * in, be open, unblock
unblock: be free, be clear, let * through, have access, flow, remove obstruction
log in: sign in, be log in, be online, connect, access
sign in: log in, be online
reproduce: see same, happen to, see it too, have same, can see, replicate
resolve: fix, solve, clear up, be over, be go, sort * out, close, be settle, be clear, settle, be sort, work
solve: fix, resolve, crack, work out, figure out, find answer, find solution, have solution, sort * out, clear up
answer: reply, write back, get back, come back, respond, get reply, have reply, hear from, get answer, get response,
 react
respond: reply, answer, write back, get back, come back, get reply, have reply, hear from, get answer, react
contact: call, write, mail, get in touch, be in touch, phone, reach out, send message, ring, message, text, speak, talk
appear: turn up, show up, be here, be visible, can be see, come out, pop up, emerge, surface, be there, see
disappear: vanish, be go, be miss, be nowhere, be no longer there, can not find, be lose, be out of sight, clear
vanish: disappear, be go, be miss, be nowhere, be no longer there, can not find, be lose
settle: pay, reach agreement, agree, be settle, shake hand, come to terms, sort * out, be resolve, resolve, strike
 deal, close
insurance pay: cover, reimburse, transfer, money be, settle claim, pay out, foot bill
pay out: transfer, settle, money be, reimburse, cover
transfer: wire, send, move, pay, money be, be on account, arrive, make payment, sign for, join, go to, hand over
deposit: pay in, put * in account, be on account, transfer
withdraw: take out, pull out, take back, be off table, retract, revoke, rescind, retreat
revoke: withdraw, take * away, cancel, be no longer valid, lose, rescind, annul, strip
ban: forbid, prohibit, outlaw, no longer allow, be no longer allow, be not allow, bar, veto, block
allow: permit, may, can, give permission, let, be permit, approve, be no longer forbid, say yes, lift ban, legalise,
 be legal
forbid: ban, prohibit, not allow, be not allow, outlaw, say no
introduce: bring in, launch, be in force, come into force, take effect, be in effect, apply, implement, roll * out,
 present
take effect: be in force, come into force, apply, be in effect, be valid, enter into force, go into effect
come into force: apply, be valid, be in force, take effect, be in effect, go into effect, enter into force
pass law: adopt, approve, vote for, vote through, go through, enact, get through parliament, sign into law, be law,
 become law
become law: pass, adopt, be sign, enact, get through parliament, be in force
win election: be elect, be new, get most vote, get majority, be mayor, be president, vote in, take office
lose election: be defeat, be beat, be vote out, be not re-elect, concede, not win
take office: be sworn in, begin term, assume office, move into office, start as, be in office
end war: peace, lay down arm, sign ceasefire, cease fire, stop shoot, stop fire
stop rain: be dry, clear up, be sunny, sun be out, sun shine, sun be shine, rain be over, rain have pass, be over,
 come out, let up, rain ease
storm pass: be over, blow over, move on, be calm, wind drop, wind die down, subside, abate, be through
pass: blow over, move on, subside, die down
die down: subside, ease, drop, abate, calm, be calm, let up, weaken, stop
fog lift: clear, be go, can see, be clear, disperse
lift: clear, be go, disperse, vanish, dissolve, can travel, can fly
sun set: be dark, go down, night fall, be below horizon
sun rise: be light, be up, dawn, come up, day break
get dark: sun set, sun go down, night fall, be dark
bake: be out of oven, come out of oven, be golden, be do, be ready, take * out of oven
boil: be on boil, bubble, be hot, steam, whistle
cool: be cold, be cool, be at room temperature, cool down, no longer hot, not hot
heat: be warm, be hot, be up to temperature, warm up, be at temperature
wash: be clean, laundry be do, be do, rinse, scrub, launder, be in clean
clean: be spotless, tidy, wash, scrub, shine, mop, sweep, be shiny, be tidy
pack: be in box, be in suitcase, box * up, wrap, stow
paint: have coat, have new coat, put colour, coat, decorate, be white, put coat
lay: be in place, fit, install, put * down
assemble: put * together, be together, stand, set * up, build, be up
finish building: complete, stand, be up
demolish: tear * down, pull * down, knock * down, raze, be rubble, be go, level, flatten, blow * up, dismantle
collapse: fall, cave in, give way, come down, be rubble, crumble, fall in, break down, fall apart, lie in ruin, pass
 out, faint
crack: break, have crack, show crack, split, there be crack, be split
rust: be rusty, have rust, show rust, corrode
rot: be rotten, go bad, be bad, decay, go off, be mouldy
spoil: go bad, be bad, go off, be rotten, be mouldy, turn sour, be off
go bad: spoil, go off, be rotten, be mouldy, be off, turn sour, have mould, smell off
grow: be big, be tall, increase, rise, expand, get big, get tall, add
shrink: get small, be small, fall, drop, decrease, reduce
double: be twice, grow twofold, be two time, go up by 100 percent, increase twofold
land: touch down, be on ground, be on runway, be down, put down
take off: be in air, lift off, be airborne, depart, leave ground, leave runway, leave
board: be on board, get on, be on plane, be on train, be in plane, be on ship, go aboard, embark, sit on plane, sit
 on train
luggage arrive: turn up, be here, be find, get ~, have ~, be back, deliver
turn up: be here, be find, arrive, appear, show up, be back, find, surface, come to light, resurface, reappear
show up: be here, arrive, appear, turn up, come, be there, walk in
check in: arrive, get key, be in room, get room, be at hotel, sign in, move into
check out: leave, hand over key, hand back key, depart, vacate, return key, be go
move in: live in, be in new, unpack, take up residence, sleep in, get key, settle in, have key, carry furniture, new
 neighbour
move out: leave, vacate, hand over key, hand back key, be go, be out, clear flat, clear room, have new place, hand
 in key, flat be empty
hand over key: give key, have key, get key
sell house: find buyer, have buyer, get buyer, belong to, sign with buyer
find buyer: sell, be sell, get new owner, go to, sign with buyer
find job: get hire, start work, be hire, sign contract, get job, have job, start at, land job, have work, employ
receive job: be hire, be take on, sign contract, be offer, start at, accept offer, land job, offer, have job
lose job: be fire, be sack, be lay off, be let go, be make redundant, be dismiss
start job: begin at, have first day, be on first day, join
start work: begin, have first day, take up, join, be at work
receive promotion: be promote, be head, be manager, move up, become head, become manager, be make
become: be new, be name, be make, be appoint, turn, be elect
elect: vote in, win, be choose
get engaged: say yes, propose, have ring, wear ring, be engage, be to marry, pop question, be fiancé
get marry: tie knot, wed, say i do, be husband, be wife, exchange vow, have wedding, be marry
get divorce: split up, separate, be divorce, part, end marriage, sign divorce
break up: split up, separate, part, be no longer together, go separate way, end relationship, be single
make up: be friend, reconcile, hug, be back together, bury hatchet
get well: recover, be well, be healthy, be better, feel better, be fit, be back on foot, be up
get better: recover, be well, be healthy, be better, feel better, be fit, be back on foot, improve, be up
wake up: be awake, get up, be up, open eye, be out of bed, come to
go bed: be asleep, sleep, lie down, be in bed, turn in, say good night
go sleep: be asleep, sleep, nod off, doze off, drop off, drift off
stop cry: be calm, be quiet, calm down, smile, be asleep, settle
operation: be out of surgery, be operate, surgery be over, come out of theatre
wound heal: be close, be better, close
heal: be close, mend, knit, be well, recover, be better
cast remove: come off, be off, take off
test positive: be infect, have covid, be positive, come back positive
test negative: be negative, come back negative, be clear, be not infect
medicine run out: there be no, no more, none leave, be use up
blood: donor
qualify: meet criterion
score: get goal, shoot goal, put ball, find net, goal be, net
equalise: make it, level, draw level
beat: defeat, win against, win, knock * out, outplay, be too strong for, thrash, overcome, edge past, see off
lose match: be beat, be defeat, go down, come second
transfer player: sign for, join
sign player: join, have new, bring in
premiere: have premiere, be show for first time, first show, be in cinema, open
record: be in can, tape, film, cut
sing: perform
perform: play, be on stage, appear, give concert, dance, act
translate: be in german, be in english, have translation, exist in, finish translation
edit: go through, correct, revise, polish, rework, proofread
accept paper: be in, get acceptance, will publish, take for publication
accept: get acceptance, take for publication, be in, give place, have place, get place, offer place, say yes, sign
invite: get invitation, send invitation, ask to come, have invitation, receive invitation
join team: sign, be new on, start, be part
leave team: quit, be no longer, go to, sign for
leave company: quit, resign, hand in notice, have last day, be no longer with, give notice, go to competitor, move
 on, hand in badge
launch product: be on market, come out, bring out, introduce, unveil, go on sale, present
launch: bring out, present, introduce, go on sale, be on market, come onto market, unveil, lift off, open, be in
 shop, start, go up, blast off
unveil: present, show, reveal, announce, introduce
upgrade: switch to, move to, take bigger, book bigger, be now on, go for
downgrade: switch to small, cut
unsubscribe: leave list, opt out, no longer want, cancel
subscribe: sign up, take out subscription, join list, order, be subscriber
renew subscription: extend, pay for another year, sign for another, take another year
cancel subscription: unsubscribe, not renew, end subscription, terminate, give notice, quit
cancel order: withdraw, no longer want, call off, revoke, not want
terminate: cancel, end, give notice, not renew, be no longer, dissolve, pull out of
dissolve: break up, wind * up, be no more, disband, split up
found: set up, start, establish, create, launch, register
establish: set up, found, start, create, prove
merge: join force, become one, be one company, unite, combine
acquire: buy, take over, belong to, be part of, swallow, purchase
take over: buy, acquire, purchase, belong to, be in charge, be new head, be new, lead, succeed, replace, be at helm,
 be responsible
invest: put money, buy share, back, fund, come in with, give money
raise fund: get money, collect, close round, secure funding, have money
go public: list, be list, trade, be on stock exchange, ring bell
rain stop: be dry, clear up, be sunny, sun shine, be over, let up
protest: demonstrate, take to street, march, be on street, rally
march: demonstrate, take to street
riot: clash
invade: cross border, march into, attack
attack: hit, strike, bite, assault, invade, raid
bite: snap, nip, have tooth
surrender: give up, lay down arm, capitulate, give in
confess: admit, own up, come clean, plead guilty, tell all, say it be
plead guilty: confess, admit
testify: give evidence, take stand, be in witness box
sentence: get year, go to prison, be jail, year in prison, get life, jail, send * to prison, give year, month in prison
jail: go to prison, be behind bar, sentence, imprison, lock up
free: release, let * go, walk free, be out, be at liberty
rescue: save, pull * out, be safe, bring * to safety, bring * to shore, find alive, be in safety
save: rescue, be safe
sink: go down, be under water, go under, lie on bottom, founder
capsize: turn over, overturn, be upside down, keel over
drown: be dead, go under
derail: leave track, come off rail, jump track, be off track
collide: crash, hit, run into, bump into, smash into
jam: be stick, be block, not move, clog
clog: be block, not drain, be jam, not flow, back up, be stop up, overflow
run out: be empty, be use up, be finish, no ~ leave, no more, none leave, have no, be go, use last, run dry, be
 exhaust, expire, be up, last of
run low: nearly empty, almost empty, be nearly out, be almost out, be low, be short, few leave
turn on: be on, switch * on, go on, burn, be lit, start up, activate
turn off: be off, switch * off, go off, shut * down, be out, deactivate
turn green: be green, change to green, pass
turn red: be red, change to red, fail
turn: change, flip, switch
change: be now, turn, become, go from, move to, new ~ be, be new, put new, pick new
change password: set new password, have new password, new password be, reset password
reset: set new, be back to, start over, restore, clear
reboot: restart, start up again, come back up, be up again
restart: reboot, come back up, start again, be up again, run again, be relaunch, be back on
upload: put online, be online, be on server, be in cloud, push, send up, post
download: save, be on disk, get, fetch, have ~, be on computer
back up: save, be in cloud, copy
copy: duplicate, clone, replicate
sync: be up to date, match, be in step
export: save as, be in file, write to file, send out
archive: be in archive, file away, put away, store
deploy: be in prod, push out, run in production, be out, ship, be up
roll back: revert, undo, restore, be back on old
revert: undo, roll back, take back, restore, be back on old
detect: find, discover, notice, spot, pick up, register, see, identify, sense
notice: see, spot, realise, detect, catch, discover
spot: see, find, notice, detect, discover, catch sight
see: spot, notice, watch, meet, look at, view
hear: learn, get word, catch, listen, be tell, get news
learn: find out, hear, be tell, get to know, get wind
notify: inform, tell, let * know, alert, get word, receive notice, get notice, send notice
recommend: suggest, advise, propose, speak for, be in favour
nominate: put forward, propose, name, suggest, be on shortlist, be shortlist
shortlist: be on shortlist, be among, make shortlist, reach last round
interview: have interview, talk to, meet, question, speak with
question: ask, interview, interrogate, doubt, quiz
reach agreement: agree, shake hand, strike deal, come to terms, have deal, sign agreement, find compromise, settle,
 deal be, seal deal
reach deal: agree, shake hand, strike deal, come to terms, have deal, sign agreement, settle, seal deal, be agreed
sign contract: ink, contract be sign, put signature, be sign, under contract, seal deal
sign deal: ink, seal, agree
win contract: get contract, be award, contract go to, land contract, secure contract, get order, choose
lose contract: go to competitor
receive visa: have visa, receive visa, be grant, visa be here, visa come, approve, issue
receive passport: have passport, receive passport, passport be here, passport come, pick up passport
receive permit: have permit, receive permit, grant, issue, approve, permit be here
receive loan: bank approve, grant, approve, lend, receive loan
receive result: have result, result be in, result be here, receive result
receive licence: pass exam, have licence, receive licence, pass driving, be allow to drive
receive|get: get ~, have ~, arrive, be here, be in, come, be deliver, turn up, be with, land, reach, take delivery
obtain: get ~, have ~, receive, be grant
choose: be choice, be winner, be decide, pick
name: appoint, choose, call, be call, baptise, christen, elect
complete: hand in, submit, cross finish, be history, be settle, put tick, sign off
succeed: work, go well, be success, be successful, come off, pay off, manage, make it, pull * off, go through, work
 out, hit target
manage: succeed, get it do, pull * off, make it
improve: go up, rise, be better, get good, recover, be up, climb
worsen: deteriorate, get bad, be worse, go downhill, sink, be bad
increase: go up, rise, climb, be up, be high, grow, jump, put * up, be raise, soar, more, step up
decrease: go down, fall, drop, be down, be low, cut, lower, shrink, sink, less, reduce
cut: reduce, lower, slash, drop, bring * down, decrease, trim, sever
reduce: cut, lower, slash, drop, bring * down, fall, go down, shrink
raise: put * up, increase, lift, go up, rise, be high, up
lower: cut, reduce, bring * down, go down, fall, drop, sink
exceed: be over, go beyond, be more, overtake, be past, be in excess, outstrip
fall below: be under, be below, drop below, sink below, go under, be down to
drop below|fall below|go below|sink below: be under, be below, fall below, sink below, go under, be down to
fall through: collapse, be off, come to nothing, fail, be cancel, not happen, be no more, break down
come off|remove: be off, take off, be take off, be go, no longer have, fall off, be remove
milk be gone: run out, be empty, be use up, be finish, be leave, have left, have no ~ leave, vanish, disappear, be
 miss, no more ~
gone away: leave
run dry: be empty, no water leave, no ~ leave, run out, be dry
close: be over, be last day, have last day, end, finish
worsen|get worse|deteriorate: take turn for worse, get bad, be worse, go downhill, be bad, be deteriorate
go strike|call strike: walk out, lay down work, down tool, go on strike, be on strike, stop work, picket
rise price|raise price: charge more, cost more, put up price, price be up, be expensive, price go up, be dear
lower price|cut price: charge less, cost less, be cheap, price go down, price be down, bring price down
change: move to another, be another, different, switch to, be now another
come age: turn eighteen, be eighteen, be of age, turn 18, be 18
lose contact: contact be lose, no longer hear from, hear nothing from, no contact with, have no contact, no signal
 from, no longer reach
hack: break into, compromise, be compromise, get into, breach, take over by, strange login
arrive off: be off
plant: be in ground, be in soil, put in ground, dig * in, be in bed
set up: be up and run, install, be install, assemble, be ready, stand, be in place, build, mount, put together,
 configure, be do
fix|repair: get * go, have * repair, be warm, be as good as new, do * up
arrive|dock|land: moor, be in port, be in harbour, be at quay, tie up, be at pier, drop anchor, anchor
available|stock: be live, can be download, can download, can stream, can find, be in shop, be out, be releas, can
 use, can be use, can try
publish|release|launch: can stream, can listen, can watch, can find, be stream, be in cinema
reopen: be open to, be open for, have open, welcome visitor, let visitor in, receive visitor, have open door
crash|fail: fall from sky, fall out of sky, hit tree, hit wall, hit ground, come down in, slam into, be in wreck
finish|end: operation be over, be all do, last ~ be, be in barn, be bring in
anonymise|anonymize: be anonymous, name be remove, remove name, black out, redact
reject|refuse: will not pay, will not accept, will not grant, will not approve, be not pay, not pay
refuse: say no, reject, turn down, decline, deny, not want, not let, not give
process: go out, be on card, be through, be do, be handle, complete, deal with, be complete
resign|step down $: leave office, announce resignation, announce departure, give up office, quit office, clear desk,
 hand over office
offer: get offer, receive offer, have offer, make offer, propose
accept: take, be take, say yes, want, will publish
update: new ~ be on, be on new version, go through, be on latest, run latest, have new version, patch
injure|get injured|be hurt: hurt, break, be carry off, tear, sprain, twist, be wound
receive permission|receive approval: give permission, have permission, permission be grant, be grant, be approve,
 say yes, approve
receive confirmation: confirm, have confirmation, confirmation be here
receive feedback: have feedback, feedback be here, comment on, comment
receive funding: have funding, funding be approve, be fund, grant, get money
jam: be jam, be stick in, paper be stick, stick
break down: be bust, fail, conk out, give up ghost, stop work, be out of order, pack up, die, no longer run, no
 longer work, not start, not work, be break, be defective
get stuck: be stick, jam, not move, hang, be trap
power fail: be dark, be without power, no electricity
get lost: lose, be go, can not find, be miss, disappear, vanish, go missing
go missing: lose, be go, can not find, be miss, disappear, vanish, be nowhere, get lost, be not see
get stolen: steal, be go, thief, take
get damaged|be damaged: break, be bend, have dent, have scratch, be broken, be crack, have crack, be dent, suffer
 damage, be scratch
show symptom: be ill, cough, have fever, feel ill
start snow: be white, snowflake, flake fall
pass inspection: be approve, inspector approve, inspector pass, get sticker, get certificate,
 inspector be satisfied, find no, find nothing, have no
 objection, no defect be find, be sign off
fail inspection: find defect, not pass, find fault, object to, reject
pass test|pass exam: ace, sail through, get through, make grade, be through
fail exam|fail test: flunk, not pass, not make it, have to repeat, be not pass, not enough point
sign lease: have lease, lease be sign, have tenant
find tenant|find buyer|find replacement|find sponsor|find donor: have tenant, have buyer, have replacement, have
 sponsor, have donor, new tenant, get tenant, get sponsor, say yes, come on board
reach majority: have majority, get majority, have enough vote
reach goal|reach target|hit target: be at target, hit goal, have whole sum, have full amount, get whole sum, have
 enough, be achieve, meet goal, meet target
reach summit: be on summit, be at top, stand on summit, be on top, stand at top
cross finish: be in goal, finish, be at finish
cross border: be in, be over border, be across
enter: be inside, be in, come in, walk in, step in, go into
leave house: be out, be go, set off, go out, be on way
leave hospital: be home, be discharge, be release, go home, come home, be out of hospital
leave port: set sail, put to sea, be at sea, sail, cast off
leave building: be outside, be out, go outside
turn in: submit, hand in, send in, deliver
bear: be born, come into world, see light of day, be here
start cry: be in tear, burst into tear, sob, weep
grow back: be long again
bear fruit: have fruit, carry fruit, first fruit
lay egg: have egg, there be egg, egg be in nest, egg lie in nest
go sour: be sour, be bad, be off
come true: happen, be real, be true
come through: be approve, arrive, be here, get ~, have ~, grant, be on account
come out: publish, be out, appear, release, be in shop, be on sale, be available, emerge
go viral: share
go live: be live, be online, launch, be on air, be in production, be up, publish
go ahead: take place, happen, be on, go as planned
take place: happen, go ahead, be hold, be hold
be held: take place, happen
be back: return, come back, be home, be here
be ready: finish, can collect, can be collect, can pick up, complete, be do, be wait, be set
fall behind|lag behind: lag, be behind schedule, lose ground, trail
be down: take * down, be take down, come down, be dismantle, dismantle
become free|become available: have free ~, be available, be free, be vacant
be free: be available, be empty, have time, be vacant, be no longer take, be unoccupied
be empty: be clear, no one leave, nobody leave, nothing leave, nothing be in, be vacate, be deserted, run out
be full: no room leave, no space leave, no seat leave, be pack, be book up, no place leave, reach capacity
be open: open, unlock, open door
be clean: wash, scrub, spotless, polish
decommission|phase out|shut down|switch off|turn off|take offline: pull * plug, be switch off, be shut down, be
 offline, be take offline, be no more, be out of service, be scrap, be dismantle, be wipe, be history, unplug, go
 dark, be turn off, be power down, power * down, be retire, go off network, be take off network, be off for good
defrost: ice * be go, ice be go, ice melt, ice have melt, be ice-free, no ice leave, be free of ice, no more ice, be
 thaw, last ice
vaccinate|get vaccinated: get shots, have shots, get jabs, have jabs, get booster, have booster, get needle
elect&appoint&nominate&vote in: be * new ~, be * next ~, become * ~, take over as ~, take office as, be vote in as,
 serve as ~ now
hire&find&recruit: be * new ~, start as * ~, join as * ~, begin as * ~, sign on as * ~
become: be * new ~, take over as ~, be promote to ~, be make ~, start as ~
leave company&leave firm&leave team&leave us&leave office&leave organisation&leave job&leave department&leave
 business&leave school&leave club&leave: be ~ last day, have last day, work last day, last day be, turn in badge, hand
 in badge, give back badge, clear out desk, clear desk, say goodbye, pack up desk, have leave do, be go for good, go
 for good, be no longer with us, farewell
retire&go retirement: be ~ last day, be ~ last shift, last day be, turn in badge, clear desk, farewell, be retire now,
 draw pension
return: first day back, be first day back, have first day back, be back at, be back in, be back from, be back on, be
 at desk again, be in office again, be at work again, report back, touch back down
sell out: last ticket go, last ticket be, last ticket sell, last seat go, last seat be, last copy go, last place go,
 last one go, no ticket leave, no seat leave, no place leave, ticket be go, all ticket be, every ticket be, every seat
 be, not single ticket leave, not single seat leave, be book out
fix|repair: be back from garage/workshop/repair/repairer/shop/mechanic/menders, come back from
 garage/workshop/repair/shop, run like charm, run like clockwork, run smoothly, run fine, run again, drive again, be
 roadworthy, be back on road, be as right as rain, behave, no longer happen, no longer crash, no longer fail, no
 longer stick, no longer rattle, no longer come through, be watertight, be back in shape, be fine
arrive|deliver: be in yard, be on dock, be on loading, be at reception, be in warehouse, be on site, be on premise, be
 unload, be sign for, be hand over, clear custom, be in store, be at gate, be in harbour, be in hangar, be in hall, be
 in safe, hit account, hit bank, hit inbox, hit desk, land in account, land in inbox, be in bank, be at bank, be on
 statement, show up on statement, show on statement, be book in, be on ramp, be at office, be at warehouse, be at
 front, wait at, wait in, flutter in
pay: be settle, be square, be even, clear, money clear, transfer clear, transfer go through, payment go through,
 payment clear, payment be in, show as pay, be mark pay, be pay up, be in bank, be on bank, hit bank, land in account,
 settle up, pay up, write cheque, hand * cash
vote&vote for&approve: pass, be adopt, be carry, go through, get majority, have majority, be vote through, get enough
 vote, be unanimous, motion carry, hand go up, be through committee, be stamp, come back approve, be clear
win: be ours, choose us, pick us, go to us, select us, give us ~, award us, beat competition, come out ahead, be award
 to us, land ~, be among winner, take home, scoop
finish&complete: be do and dust, be 100 percent, be at 100 percent, cross * off, tick * off, be sign off, be hand
 over, last ~ be, be all do, come to end, be off list, be off plate, no open ~, nothing leave to do, get over line,
 get over finish
migrate&move: live on, be on new, run on new, run from, be cut over, cut over, be switch over, switch over, be port,
 be move over, be fully on, be bring over
move&move in: work from, work out of, work in, sit in, live in, live at, be in new, settle into, unpack in, sleep in,
 first night in, first day in, be install in, set up in, reside in
renew|extend: be good for another, run for another, run until, be valid through, be valid till, sign up for another,
 sign up again, stay for another, stay on for, take another, go on for another, add * year, prolong, pay for another
renew certificate&renew licence&renew passport: new ~ be, new ~ valid, be valid until, be valid for, have new ~, get
 new ~, expiry be now, good until
expire: be out of date, be past date, be no longer good, run out, turn invalid
unlock|unblock|unfreeze: be accessible, be active again, be free again, be usable, have access, lift block, lift
 freeze, lift hold, be unfreeze, be free up, let * in, be lift, be open up
clear&release: be lift, hold be lift, hold * lift, be let through, be wave through, be through, be free, get
 all-clear, have all-clear, be cleared, let * go
remove: come off, be off, be out, be rid of, be go, be strip, get * off, pull * off, take * off, take * out
raise: up ~, be up, add to ~, offer more, bid more, pay more, go high, increase, put * up, top up
tidy|clean|clean up: be tidy, be spick and span, be spotless, be clean, be in order, look like new, be sparkle, be
 vacuum, pick up toy, be put away
agree: be in, be on board, be fine with, be happy with, be okay with, be ok with, be cool with, give word, shake hand,
 shake * hand, have deal, be deal, sign up to, go along with, be game, nod
agree speak&agree come&agree join&agree help&agree take: be in, say yes, accept, be on board, be happy to, be glad to,
 confirm, count * in
accept: be take, jump at, grab, snap up, take * up on, be in, be aboard, countersign, give thumb up
confirm: be firm, be fix, be locked in, be set, be definite, have * in writing, be sure, be on, have confirm, be green
 light, give okay, write that ~ stand, say ~ stand
issue: be here, be in hand, have ~ in hand, hold ~, be stamp, come through, be in mail, be in post, receive ~,
 be approve, be give
complain: be too loud, be too cold, be not happy, be fed up, moan, be furious, be livid, call down, grumble, be
 irritate, demand refund, leave bad review, want * money back, write angry, be outrage, be dissatisfied
resign: give notice $, hand in notice, hand * notice, hand in * notice, quit, be step down, step down $, call it
 day, throw in towel, announce departure, send resignation, be leave at end, put in notice, put in * notice, serve
 notice, turn in notice, turn in resignation
terminate&cancel: notice be out, notice go out, give notice, serve notice, be hand notice, send notice,
 end be serve, be end, sign off from, not extend, pull out of
close deal&sign deal&sign contract&sign lease&sign: be in dry cloth, be under roof, have signature, be seal, signature
 be on, signature be under, have * in black and white, ink be dry, pen be put, be fully execute, execute, be
 countersign, come back sign, be back sign
pass: get certificate, be certify, hold certificate, get pass mark, have pass, have tick, be through, come through,
 make it, succeed, clear, with flying colour, be good to go, have badge, get badge
graduate: have degree, get degree, receive degree, receive * degree, receive certificate, get certificate, receive
 diploma, hold diploma, be bachelor, be master, be doctor, walk stage, walk across stage, have * in pocket, be do with
 university, be do with study
born: become parent, become mum, become dad, be mum now, be dad now, see light, weigh gram, weigh pound, weigh kilo,
 welcome ~, be here, give birth, come into world
heal|recover|be well|get well: no restriction, be good as new, be right as rain, be fit, be healthy, be back on foot,
 be symptom-free, be pain-free, no more pain, no pain, can walk, can run, be fine, be cure, be out of cast, be give
 all-clear, have all-clear, get all-clear, be up and about
restore|recover: be up, be up again, be back up, be run again, respond again, be reachable, work again, be as before,
 be back in place, be back to old
publish|release: be in print, be out, hit store, hit shelf, hit stand, be up on, be on web, be post, be up for
 download, appear on, be public
begin|start: kick off, kick * off, walk out, be on, be in full swing, be up and run, have begin, see first, open with,
 get off ground, be launch, get off to
strike begin|strike start|begin strike|start strike: walk out, down tool, lay down tool, be on picket, picket, stop
 work, be on strike, work stop, stand still
fail: throw error, end in error, abort, be red, crash, break, time out, bomb, miss mark, fall short, come back
 negative, not make it, not pass
find: turn up, show up, come to light, be back, resurface, have * back, be under, lie under, be behind, lie behind, be
 in drawer, lie in, be discover, get hold of, be track down, be locate, be spot
lose: be go, be miss, can not find, be nowhere, misplace, drop, leave behind, slip out
give back|bring back|hand back|return: be back, have * back, get * back, be return, be in place again, drop * off,
 bring * over, hang in place, be back in, be back on, be back at
collect&pick up&pick: take * along, take * with, be go, be fetch, get * from, come by for, swing by for, drive off
 with, leave with, be pick up, take possession
decide|choose|pick|select: go with, go for, settle for, land on, fall on, vote for, have favourite, make choice, be
 choice, opt for, plump for, final choice
approve: get stamp, have stamp, give thumb up, be through, get through, be give ok, get ok, sign off on, say yes to,
 be good to go, have blessing, clear, put stamp, pass, be pass
reject: get no, say no, be turn down, get rejection, come back no, be no, not get, be refuse, be throw out, be
 dismiss, send * back, not take
freeze: go below zero, be minus, be ice, be frozen, turn to ice, ice over, frost
open: open door, first customer, welcome, be open, start sell, be in business, cut ribbon, unlock door, take first
close: shut door, close door, be shut, lock up, last customer, be board up, cease, shut up shop, be close
launch: be live, go live, be out, hit market, hit store, be on market, open to public, be available, start sell, take
 off, lift off
go live: be online, be reachable, first order, be up, be open, be live, be out, be in production, take first order
merge: be in main, be in master, be squash, land, go in, be in trunk, be in develop, be combine, be one company, be
 one
deploy|ship|roll out: be in production, be in prod, be live, go live, go out, be on server, run in production, run on,
 be out, be with customer, reach user
submit|hand in|turn in|send in: be in, have all in, be upload, upload, be on desk, be in portal, be in system, be in
 folder, be in inbox, be in tray, drop off, lodge, file
sign up|register|enrol: be on list, be book in, have place, be in, put name, be sign up
reply|answer|respond|get back|write back: be in inbox, phone back, call back, get back, come back, send answer, mail
 back, ring back, have answer, finally write
call|call back|ring|phone: be on phone, be on line, ring, leave message, leave voicemail, have * on phone, get call
 from, get phone call
visit: be here, drop by, come by, come round, walk round, tour, take tour, look round, show * round, show * around, be
 at ours, spend day, spend day at, come to see, stop by
agree price&accept price: be fine with, shake hand, have deal, be deal, be okay with, say yes
sell: find buyer, be go, have new owner, change hand, be off market, go for, get new owner, go to, hand over key
buy: be ours, pick up, come home with, sign for, belong to
order: place order, be on order, order be in, buy
inspect&check&test&review&audit: have look, go over, be through, give all-clear, find nothing, sign off, have no
 finding, be do with, walk through, take look, go through, look at, be look over, be okay, find no
promote: be * new ~, be make ~, be name ~, move up to, step up to, take over as ~
break down|break: give up ghost, conk out, be kaput, be break, stop work, be out of order, not start, not turn on, not
 work, give up, be bust, no longer work, go on strike
burst: spray, water everywhere, be under water, flood, spring leak
rain: it pour, be wet, come down in, bucket, drizzle, be pour, wet through, shower, storm
end|stop|finish|be over: be over, be history, be behind us, come to end, be past, wrap up, be call off, conclude, draw
 to close, be do, be settle, be through, go back to work, be all over, have end, blow over
get married|marry: tie knot, say i do, be husband, be wife, be newlywed, be wed, wear ring, exchange ring
drop: fall, go down, be down, sink, be low, tumble, dip, be cheap
rise: go up, be up, climb, jump, be high, be more expensive, top, reach new
move out: be empty, hand over key, hand back key, be go, leave key, be vacate, have leave, carry last box, drive off
 with
empty: be go, nothing leave, none leave, be clear, run out, be drink, be use up, last ~ be, last drop
ready|be ready: be wait for, can be pick up, can pick up, can collect, be do, be all set, be finish, be good to go,
 can go, be print, be bake, be pack, be wait
available: be in stock, be on sale, can order, can buy, can book, can be order, be on shelf, be out, be free, be open
 for booking, can get
extend deadline&extend&postpone: have more time, get extension, be push back, be give extra, move to, be now on, be
 move to
cancel: be off, be call off, not take place, not happen, fall through, pull plug, be scrap, be strike from, be drop,
 be no ~, not go ahead, bin
win election: be elect, be * new, be vote in, get most vote, be next
arrest: be in custody, be behind bar, be in handcuff, be in cell, be lock up, be catch, be cuff
certify: get certificate, have certificate, receive certificate, be certify, hold certificate, carry seal
transfer: be on account, be in account, arrive, go out, be send, be wire, money be, hand over
grow: reach, be tall, be big, pass, put on
hatch: be out of egg, chick, peck through, be out
bloom: be in flower, be in bloom, open, be in blossom, be out
ripe|ripen: be red, taste sweet, be ready to pick, can be pick, turn red, be soft
land: touch down, be on ground, be on tarmac, be at gate, be on runway, be down
board: be on plane, be on train, be on board, be on bus, be on ship
depart: be go, be on way, be in air, be on road, roll out, leave, take off
appear|show up: be here, be there, walk in, pop up, turn up
pass away|die: be go, be no longer with us, lose * battle, close * eye, fall asleep for, lose fight
confirm date&confirm time&confirm venue&confirm place&confirm booking: ~ stand, ~ be fix, ~ be firm, ~ be set, ~ be
 certain, be on
decline|reject: send regret, send * regret, send apology, can not make it, can not come, can not be there, be not come
come off|remove: get rid of, be rid of, be remove
deliver&submit&send: send us ~, send us * ~, send me ~, send over ~, send in ~, send * over, send * in, mail us ~, be
 here
 from, get ~ from, have ~ from, hand us ~
sell out: last ticket/seat/place/copy/table/spot * go, last ticket/seat/place/copy/table/spot * sell, last
 ticket/seat/place/copy/table/spot * be
 go, no ticket/seat/place/copy/table/spot * leave, ticket/seat/place/copy/table/spot * be go
defrost|melt|thaw: ice * be go, ice * melt, no more ice, frost be go
begin strike|strike begin: walk out, lay down tool, be on picket line
decline invitation&reject invitation&refuse invitation: send regret, send * regret, can not make it, can not come, can
 not attend, say no, have other plan, be not come, have to pass
accept offer&accept job&accept position&accept contract&accept invitation&accept proposal&accept role: say yes, sign
 contract, be on board, join us, start with us, come on board, take * job, be in
renew contract&renew lease&renew membership&renew subscription: sign for another, stay for another, stay on for, sign
 up for another, be on board for another
complete training&finish training&complete course&finish course&pass course: get certificate, have certificate, be
 certify, be train, be through, pass, be do with training, be do with course
win tender&win contract&win bid&win pitch&win order: choose us, pick us, be ours, go to us, get contract, get order, get
 nod, award us
return leave&return holiday&return vacation&return trip&return sabbatical: be back at, be back in, be ~ first day in
 office, be ~ first day at work, be ~ first day back, first day back, have first day back, report for duty, be at work
 again
fix bug&fix issue&fix problem&fix error&fix defect: no longer happen, be go, no longer occur, be history
accept: take ~, take * ~
fit&install&put on: be on
issue: arrive, come, hold * ~, be in letterbox
up: put * up, be put up, stand, be erect, be build
overheat: be too hot, get too hot, run hot, boil over
find: have new ~, have * new ~
lift: there be no ~, no more ~, be no more
arrive&receive: have all ~, have both ~, have * in hand
"""

# What is left out of a text and of a pattern: articles, owners, adverbs.
DROPPED = frozenset(
    """
    a an the my our your his her its their this that these those now finally just already also then again both very so
    too quite still today yesterday tonight indeed only own 's
    """.split()
)
NO_ADVERBS = frozenset("family reply supply assembly apply imply comply multiply".split())
SHORTEST_ADVERB = 5
# No gap is wider than so many words, and none goes beyond one of these.
GAP = 4
MOST_PLACES = 300  # at which a word is tried; more of one word in a text of that length is no prose
STOPS = frozenset(", : . ; ! ? and but or because while which who not no none never nothing".split())
TOKEN = patterns.late(r"[^\W_]+(?:-[^\W_]+)*(?:'[a-z]+)?|[,:;.!?]")
BEING = frozenset("is are was were am been".split())
HAVING = frozenset("has have had".split())
HELPERS = frozenset(("get", "have", "be"))
NOW = patterns.late(r"\b(?:again|now|finally|already|at last|since|no longer|today)\b", re.IGNORECASE)
# Before a verb in its base form, these say that it is none that has happened.
UNREAL = frozenset("to will would shall should may might must could can cannot let not please do does".split())
ONLY_THEN = frozenset("after from until once if when next tomorrow by unless as in on".split())
PRONOUNS = frozenset("i you he she it we they there that who what here everyone someone everybody somebody".split())
WHOLE = {"won't": ("will", "not"), "can't": ("can", "not"), "cannot": ("can", "not"), "couldn't": ("can", "not")}
ENDS = {"re": "are", "m": "am", "ve": "have", "ll": "will", "d": "would"}
NEGATIVE = frozenset("not no none nothing".split())
STATES = frozenset("live reside hang belong".split())
THIRD = frozenset(map(verbs.third_person, verbs.ACTIONS | verbs.HAPPENING | frozenset(verbs.BASES.values()) | STATES))
END = "$"
ANY, END_OF = frozenset(("~",)), frozenset((END,))
# "The results are in", but not "in the drawer".
PARTICLES = frozenset("in on off out up over down through here there home away back under above below".split())
CLOSING = STOPS | frozenset(map(stem, "since at after as this until last from".split()))
WORKED_ON = frozenset("on at with for to toward towards out".split())
TO_BE = frozenset(("be",))
NOT_THERE = frozenset("to not late due still being needed ready under".split())
IN_PLACE = frozenset(
    """
    installed fitted issued delivered put mounted activated deployed built connected received arrived hung laid added
    introduced elected appointed hired found
    """.split()
)
# That these will not be is what happens: "the trip won't take place".
AHEAD = frozenset("cancel withdraw drop pull bow scrap off".split())


class Token(NamedTuple):
    """A word as the patterns have it, as it is ``said``, and where."""

    word: str
    said: str
    starts: int
    ends: int


class Way(NamedTuple):
    """One way to tell ``events``, known by ``number``. A text that has not all ``needed`` words, and one of each of
    ``either``, does not tell them."""

    number: int
    events: frozenset[str]
    words: tuple[frozenset[str] | None, ...]
    needed: frozenset[str]
    either: tuple[frozenset[str], ...]


class Told(NamedTuple):
    """Some ``events``, and the words that tell them; of those at ``any_of`` the condition has to have one."""

    events: frozenset[str]
    tokens: tuple[Token, ...]
    any_of: tuple[Token, ...]


def _lemma(word: str) -> str:
    if word in BEING or word == "be":
        return "be"
    if word == "going":
        return word  # "is going to" is not "is gone"
    return "have" if word in HAVING else stem(word)


@lru_cache(maxsize=1)
def _ways() -> dict[str, tuple[Way, ...]]:
    """The ways to tell an event, by their rarest word."""
    made: dict[tuple[frozenset[str], tuple[frozenset[str] | None, ...]], None] = {}
    for line in EVENTS.strip().replace("\n ", " ").splitlines():
        named, _, told = line.partition(":")
        alike, names = "&" not in named, [each.strip() for each in named.replace("&", "|").split("|")]
        for name in names:
            events = frozenset(map(stem, rewritten(name.removesuffix(END)).split())) - HELPERS
            for way in (*told.split(","), *(each for each in names if alike and each != name)):
                made[events, _pattern(way)] = None
    counts = Counter(word for _, words in made for each in words if each for word in each)
    found: dict[str, list[Way]] = defaultdict(list)
    for number, (events, words) in enumerate(made):
        rare = sorted(
            (each for each in words if each and each not in (ANY, END_OF)),
            key=lambda each: max(counts[one] for one in each),
        )
        for word in rare[0]:
            needed = frozenset().union(*(each for each in rare if len(each) == 1))
            found[word].append(Way(number, events, words, needed, tuple(each for each in rare if len(each) > 1)))
    return {word: tuple(ways) for word, ways in found.items()}


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """A word for each stem of an event; the stem of a stem may be another one ("clos")."""
    names = (
        each
        for line in EVENTS.strip().replace("\n ", " ").splitlines()
        for each in line.partition(":")[0].replace("&", "|").split("|")
    )
    return {stem(word): word for name in names for word in rewritten(name.strip().removesuffix(END)).split()}


def _pattern(way: str) -> tuple[frozenset[str] | None, ...]:
    words = [each for each in way.split() if each not in DROPPED]
    if len(words) == 2 and words[0] == "be" and words[1] in PARTICLES:
        words.append(END)
    return tuple(None if each == "*" else frozenset(map(_lemma, each.split("/"))) for each in words)


def tokens_of(text: str) -> list[Token]:
    """The words of a text, without articles, owners and adverbs."""
    return [
        Token(_lemma(word), word, each.start(), each.end())
        for each in TOKEN.finditer(text.casefold())
        for word in _parts(each[0])
        if word not in DROPPED and (not word.endswith("ly") or len(word) <= SHORTEST_ADVERB or word in NO_ADVERBS)
    ]


def _parts(said: str) -> tuple[str, ...]:
    plain, mark, end = said.partition("'")
    if said in WHOLE or not mark:
        return WHOLE.get(said, (said,))
    if said.endswith("n't"):
        return (said[:-3], "not")
    if end == "s":
        return (plain, "is") if plain in PRONOUNS else (plain,)
    return (plain, ENDS[end]) if end in ENDS else (plain,)


def told_in(text: str) -> tuple[Told, ...]:
    """The events that a text says have happened, by what it tells of them."""
    tokens, ways = tokens_of(text), _ways()
    at: dict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(tokens):
        at[token.word].append(place)
    known = set(at)
    likely = {
        way.number: way
        for word in known & ways.keys()
        for way in ways[word]
        if way.needed <= known and not (way.either and any(each.isdisjoint(known) for each in way.either))
    }
    now, only = NOW.search(text) is not None, "only" in text
    return tuple(
        Told(
            way.events,
            tuple(tokens[place] for place in places),
            tuple(tokens[place] for place, each in zip(places, filter(None, way.words), strict=False) if each == ANY),
        )
        for _, way in sorted(likely.items())
        if not (only and "can" in (way.words[0] or ()))
        for word in sorted(way.words[0] or ())
        for first in at.get(word, ())[:MOST_PLACES]
        if (places := _places(tokens, first + 1, way.words, 1, (first,)))
        and _has_happened(tokens, places, way, now=now)
    )


def _places(
    tokens: list[Token], at: int, words: tuple[frozenset[str] | None, ...], done: int, places: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Where the words of a way stand from ``at`` on, when ``done`` of them stand at ``places``."""
    if done == len(words):
        return places
    wanted = words[done]
    if wanted is None:
        for begins in range(at, at + GAP + 1):
            if found := _places(tokens, begins, words, done + 1, places):
                return found
            if begins >= len(tokens) or tokens[begins].word in STOPS:
                return None
        return None
    if wanted == END_OF:
        return places if at >= len(tokens) or tokens[at].word in CLOSING else None
    if at >= len(tokens):
        return None
    word = tokens[at].word
    if word in wanted or (wanted == ANY and word not in STOPS):
        return _places(tokens, at + 1, words, done + 1, (*places, at))
    is_helper = word in ("be", "have") and at - places[-1] <= 2 * GAP
    return _places(tokens, at + 1, words, done, places) if is_helper else None


def _has_happened(tokens: list[Token], places: tuple[int, ...], way: Way, *, now: bool) -> bool:
    """Whether the form of its verb says that it has happened, and not that it may, or is to. What a single verb says in
    the present is so in general, unless it is said to be so ``now``."""
    first = places[0]
    before = tokens[first - 1].said if first else ""
    if tokens[first].word in NEGATIVE:
        return before not in UNREAL or (before == "will" and not way.events.isdisjoint(AHEAD))
    last = places[-1] + 1
    if tokens[first].word in ("be", "have") and tokens[first + 1 : first + 2] and tokens[first + 1].said == "to":
        return False  # "is to be the new chair"
    behind = tokens[last].said if last < len(tokens) else ""
    if tokens[last - 1].word == "work" and behind in WORKED_ON:
        return False  # "they are working on it"
    if way.words[-1] == TO_BE and _is_not_there(behind):
        return False  # "the new router has been ordered"
    if any(tokens[place].said == "can" for place in places) and last < len(tokens) and tokens[last].said in ONLY_THEN:
        return False
    if before in UNREAL or before in ("be", "being"):
        return False
    if any(tokens[place].said.endswith("ing") and tokens[place].word in TELIC for place in places):
        return False  # "they are putting it in"
    return any(_is_finite(tokens, place, present=now or len(places) > 1) for place in places)


def _is_not_there(behind: str) -> bool:
    """Whether what is said of a new one is not that it is there: "has been ordered"."""
    return behind in NOT_THERE or (behind not in IN_PLACE and (behind.endswith("ed") or behind in verbs.PASTS))


def _is_finite(tokens: list[Token], at: int, *, present: bool) -> bool:
    said, before = tokens[at].said, tokens[at - 1] if at else None
    if said in BEING or said in HAVING or said == "can":
        return True
    if said in verbs.PASTS or said.endswith("ed") or (before and said in verbs.LIKE_PAST):
        return True
    if said.endswith("ing"):
        return before is not None and before.word == "be" and before.said != "be"
    return present and (said in THIRD or (before is not None and before.said in PRONOUNS))


_told_in = lru_cache(maxsize=256)(told_in)


def retellings(text: str, words: Set[str], stands_for: Callable[[str], str]) -> Iterator[str]:
    """The text with one event among ``words`` or another, by its name, in the place of what tells it."""

    def is_known(token: Token) -> bool:
        return token.word in words or stands_for(token.word) in words

    for told in _told_in(text):
        named = {stands_for(each) for each in told.events}
        others = named != words or len(words) == 1  # of what it is said has to be said as well
        if named <= words and others and all(is_known(each) for each in told.any_of):
            name = " ".join(_names().get(each, each) for each in sorted(told.events))
            yield _with(text, told, [each for each in told.tokens if is_known(each)], name)


def _with(text: str, told: Told, kept: list[Token], named: str) -> str:
    for each in told.tokens:
        if each not in kept:
            text = text[: each.starts] + " " * (each.ends - each.starts) + text[each.ends :]
    begins = told.tokens[0].starts
    return f"{text[:begins]} is {named} {text[begins:]}"
