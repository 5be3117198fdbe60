"""Which later statement makes a condition true: its own clause in any tense, and what tells the event or its result
(RFC 0068 C)."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from memory.text.intentions import found_in, may_speak, verbs, verdict, vocabulary
from memory.text.intentions.verbs import stem
from tests.budgets import THOROUGH

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
WRITTEN = datetime(2026, 11, 18, 10, 30, tzinfo=UTC)
# Not of whom a condition says anything by itself, or with a sense of their own in one of the frames.
NOT_ASKED = frozenset(
    """
    be do have get go cc rerun wed want plan try doubt untie repay free ring phone visit call leave man woman tooth foot
    mouse goose wife knife thief loaf calf wolf half scarf kid probably should can saw
    """.split()
)
VERBS = sorted(
    verb
    for verb in verbs.ACTIONS | verbs.HAPPENING | frozenset(verbs.BASES.values())
    if verb.isalpha() and verb not in NOT_ASKED
)
DOERS = ("Olga", "the supplier", "my sister", "the new tenant", "our team")
THINGS = ("the contract", "his wallet", "the boiler", "the door")
ORDERS = (
    "Tell Ana when {}.",
    "If {}, call Ben.",
    "Once {}, send the invoice to Leo.",
    "Remind me to lock up as soon as {}.",
    "The moment {}, ring the caretaker.",
)
WITH_OTHERS = {"become": "become", "come": "come", "run": "run", "overcome": "overcome", "beat": "beaten"}


def forms_of(verb: str) -> tuple[str, str]:
    """Its past and its participle."""
    known = [form for form, base in verbs.BASES.items() if base == verb and form in verbs.PASTS]
    if known:
        return known[0], WITH_OTHERS.get(verb, known[-1])
    if verb in verbs.LIKE_PAST:
        return verb, WITH_OTHERS.get(verb, verb)
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return (f"{verb[:-1]}ied",) * 2
    return (verb + ("d" if verb.endswith("e") else f"{verb[-1] if verb in verbs.DOUBLED else ''}ed"),) * 2


def literally(verb: str, doer: str, thing: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Clauses with the verb, the statements that they have come true, and statements that say no such thing."""
    (past, done), does = forms_of(verb), verbs.third_person(verb)
    yield (
        f"{doer} {does} {thing}",
        [f"{doer} {past} {thing}", f"{doer} has just {done} {thing}", f"{thing} has been {done} by {doer}"],
        [
            f"{doer} has not {done} {thing}",
            f"{doer} did not {verb} {thing}",
            f"{doer} will {verb} {thing}",
            f"{doer} is going to {verb} {thing}",
            f"{doer} plans to {verb} {thing}",
            f"{doer} tried to {verb} {thing}",
            f"{doer} might {verb} {thing}",
            f"{doer} almost {past} {thing}",
            f"{doer} never {past} {thing}",
            f"{doer} refused to {verb} {thing}",
            f"{doer} {does} {thing} tomorrow",
            f"Has {doer} {done} {thing}?",
            f"When {doer} {does} {thing}, tell me",
            f"{thing} is to be {done} by {doer}",
        ],
    )
    yield (
        f"{doer} {does}",
        [f"{doer} {past}", f"{doer} has {done}", f"{doer} finally {past} this morning"],
        [f"{doer} has not {done}", f"{doer} will {verb}", f"{doer} wants to {verb}", f"{doer} {does} next week"],
    )
    yield (
        f"{thing} is {done}",
        [f"{thing} is {done}", f"{thing} was {done}", f"{thing} has been {done}", f"We have {done} {thing}"],
        [
            f"{thing} is not {done}",
            f"{thing} will be {done}",
            f"{thing} has not been {done} yet",
            f"{thing} should be {done}",
            f"{thing} may have been {done}",
            f"We want to {verb} {thing}",
        ],
    )
    yield (f"{thing} has been {done}", [f"{thing} has been {done}"], [f"{thing} has never been {done}"])
    yield (
        f"{doer} starts to {verb}",
        [f"{doer} has started to {verb}", f"{doer} began to {verb}"],
        [f"{doer} will start to {verb}", f"{doer} has not started to {verb}"],
    )


def is_met(order: str, said: str) -> bool:
    """Whether the one condition of the order is met."""
    found = [each for each in found_in(order, zone="UTC", written_at=WRITTEN) if each.words]
    assert len(found) == 1, order
    holds = verdict(found[0].words, said, own=found[0].own)
    assert holds is None or may_speak(found[0].words, vocabulary(said)), (order, said)
    return holds is not None and holds is not found[0].negated


def waits(order: str) -> bool:
    return any(each.words for each in found_in(order, zone="UTC", written_at=WRITTEN))


def test_what_a_condition_says_literally_meets_it_in_any_tense_and_its_denials_and_plans_do_not() -> None:
    for number, verb in enumerate(VERBS):
        if not THOROUGH and number % 80:
            continue
        doer, thing = DOERS[number % len(DOERS)], THINGS[number // 80 % len(THINGS)]
        for clause, met, not_met in literally(verb, doer, thing):
            text = ORDERS[number // 80 % len(ORDERS)].format(clause)
            if waits(text):
                assert not [each for each in met if not is_met(text, f"{each[0].upper()}{each[1:]}.")], text
                assert not [each for each in not_met if is_met(text, f"{each[0].upper()}{each[1:]}")], text


def test_the_forms_of_a_verb_have_one_stem() -> None:
    for verb in VERBS:
        forms = (verb, verbs.third_person(verb), verbs.doing(verb), *forms_of(verb))
        assert verb == "enroll" or len(set(map(stem, forms))) == 1, forms


# What comes later, after each condition: "+" meets it, "-" does not. The sorts of what does not: it is denied, to come,
# planned, tried, offered or feared; it has half happened, or was undone; it lies long ago, or always is so; it is
# another's, elsewhere, of another one, of a part, a copy or what stands beside it; only the noun or only the verb is
# said, in two clauses; it is the opposite, an earlier stage, or another event altogether.
LATER = """
When the bridge is closed, reroute the trucks.
+They have shut the bridge to all traffic.
-The footpath under the bridge was closed.
-The bridge closes at the end of May.
-The bridge in the next valley was closed.
If the freezer breaks down, move the samples.
+The freezer gave up the ghost overnight.
+The freezer has stopped working.
+The freezer has conked out.
-The freezer at the other site broke down.
-The freezer broke down in 2019.
-The fridge broke down, but the freezer runs.
Tell Ada when the jury reaches a verdict.
+The jury has found him guilty.
+The jury came to a decision.
-The jury is still out.
-The jury could not agree on a verdict.
-The jury reached a verdict in last year's trial.
Once the lease is renewed, file the copy.
+The lease was extended by two years.
+The lease has been prolonged.
-The lease of the warehouse next door was renewed.
-The lease comes up for renewal in spring.
-The landlord hopes to renew the lease.
When Marta gives birth, send flowers.
+Marta had a baby girl last night.
-Marta is due next week.
-Marta's cousin gave birth.
-Marta gave birth in 2015.
As soon as the band announces the tour, tell Kim.
+The band has made the tour public.
+The band revealed its tour.
-The band is planning a tour.
-The band cancelled the tour.
If the supplier goes bankrupt, call the lawyer.
+The supplier has filed for insolvency.
+The supplier went bust.
-The supplier nearly went bankrupt.
-The supplier's competitor went bankrupt.
-The supplier made a profit.
When the bees swarm, call the beekeeper.
+The bees have swarmed.
+The bees are swarming.
-The bees are quiet.
-The bees swarm every May.
Once the visa is granted, book the flight.
+The embassy has issued the visa.
+The visa came through.
+I have got the visa.
-The visa application was handed in.
-The visa was refused.
-The visa for his brother was granted.
If Theo misses the train, pick him up.
+Theo was too late for the train.
+Theo did not catch the train.
-Theo caught the train.
-Theo nearly missed the train.
When the pool is heated, invite the kids.
+The pool has been heated.
+The pool is heated now.
-The pool is being heated.
-The pool was cleaned.
Tell Omar when the package leaves the depot.
+The package is on its way.
+The package has left the depot.
-The package is still at the depot.
-The package leaves the depot tomorrow.
Once the strike is over, reopen the counter.
+The strike has ended.
+The workers are back at work, the strike is history.
-The strike continues.
-The strike is not over.
-The strike at the port in Genoa ended in 2020.
When Lea finishes her thesis, throw a party.
+Lea has handed in her thesis.
+Lea completed her thesis.
+Lea is done with her thesis.
-Lea has begun her thesis.
-Lea has finished half of her thesis.
-Lea's friend finished her thesis.
-Lea wants to finish her thesis by June.
If the dog runs away, check the park.
+The dog has escaped.
+The dog got out and is nowhere to be seen.
-The dog is asleep in its basket.
-The neighbour's dog ran away.
-The dog tried to run away.
Let Mia know when the results are published.
+The results are out.
+The results are online now.
-The results will be online on Monday.
-The results are being checked.
-The results of the other race are out.
When the fever goes down, call grandma.
+The fever has dropped.
+The fever is gone.
-The fever is rising.
-The fever is unchanged.
If the concert is sold out, look for the stream.
-There are still tickets for the concert.
-The concert is nearly sold out.
-The matinee is sold out, but the concert is not.
When Piet arrives in Oslo, send him the key code.
+Piet has landed in Oslo.
+Piet got to Oslo at noon.
-Piet is on his way to Oslo.
-Piet flies to Oslo on Sunday.
-Piet arrived in Bergen.
-Piet lived in Oslo as a student.
Once the server is migrated, delete the old one.
+The server has been moved to the new rack.
+The migration of the server is complete.
-The migration of the server is planned.
-The server has not been moved.
-The server is being migrated.
If the deposit is not paid, cancel the booking.
-The deposit was paid.
+The deposit has not been paid.
When the director signs the budget, start hiring.
+The director has put his signature under the budget.
-The director rejected the budget.
-The director has to sign the budget.
-The deputy signed the budget instead of the director.
Once the painter has finished the hall, put the shelves back.
+The painter is done with the hall.
+The painter has completed the hall.
-The painter started on the hall today.
-The painter finished the kitchen, but not the hall.
-The painter finished the hall in the house next door.
If the alarm goes off, leave the building.
+The alarm is ringing.
+The alarm sounded.
-The alarm was tested and stays silent.
-The alarm has been switched off.
When the apples are ripe, call the pickers.
+The apples can be picked.
+The apples are ready for picking.
-The apples are still green.
-The pears are ripe, but the apples are not.
-Some of the apples are ripe.
Tell the tenants when the lift works again.
+The lift has been repaired.
+The lift is running again.
+The lift is back in service.
-The lift is out of order.
-The repair of the lift starts tomorrow.
-The lift in house 5 works again.
As soon as Nils quits, post the vacancy.
+Nils has handed in his notice.
+Nils has resigned.
+Nils is leaving the company.
-Nils is thinking about quitting.
-Nils has extended his contract.
If the plane is late, tell the driver.
+The plane is delayed by an hour.
+The plane is behind schedule.
-The plane is on time.
-The plane landed early.
-The train is late.
When the sale closes, wire the commission.
-The sale fell through.
-The sale is expected to close in June.
Once Kai recovers, plan the hike.
+Kai is well again.
+Kai is back on his feet.
+Kai has got over his flu.
-Kai is still in bed.
-Kai has caught the flu.
-Kai hopes to recover soon.
If the river freezes, cancel the ferry.
+The river is frozen.
+The river has iced over.
-The river froze in 1963.
-The river is free of ice.
-The lake froze, but the river did not.
When the new website goes live, tell the press.
+The website is online.
+The new website was launched at noon.
-The website launch was put off.
-The new website is nearly finished.
-The website of our rival went live.
Once the concrete has set, remove the boards.
+The concrete is hard.
+The concrete has hardened.
-The concrete is still soft.
-The concrete was poured today.
When Elif gets her passport, book the hotel.
+Elif has received her passport.
+Elif's passport is here.
+Elif has her passport.
-Elif has applied for a passport.
-Elif has lost her passport.
-Elif's sister got her passport.
If the court grants the injunction, take the page down.
+The court has issued the injunction.
+The court allowed the injunction.
-The court refused the injunction.
-We asked the court for an injunction.
Notify the parents if the class is cancelled.
+The class is off today.
+There is no class today.
+The class won't take place.
-The class takes place as planned.
-The class was moved to room 4.
-The teacher threatened to cancel the class.
When the wedding cake is delivered, pay the baker.
+The baker brought the wedding cake.
+The wedding cake is here.
-The wedding cake has been ordered.
-The baker is baking the wedding cake.
-The flowers were delivered, but not the wedding cake.
Once the tank is empty, close the valve.
+There is nothing left in the tank.
+The tank has run dry.
-The tank is half empty.
-The tank is full.
If Ines is elected, order the sash.
+Ines won the election.
+Ines is the new mayor.
-Ines lost the election.
-Ines is running for mayor.
-Ines might be elected.
When the snow melts, inspect the roof.
+The snow is gone.
+The snow has thawed.
-The snow is a metre deep.
-It snowed again.
Tell Yusuf when his visa expires.
+Yusuf's visa has run out.
+The visa is no longer valid.
-Yusuf's visa was extended.
-Yusuf's visa runs until June.
-Yusuf's visa expires in October.
When Clara picks up the keys, log it.
+Clara has collected the keys.
+Clara fetched the keys this morning.
-Clara forgot to pick up the keys.
-Clara will fetch the keys later.
-Clara lost the keys.
If the stock price falls under 50 euros, sell.
+The stock price is at 48 euros.
-The stock price is at 52 euros.
Once the committee agrees on a date, send the invitations.
-The committee could not agree on a date.
-The committee discussed the date.
-The committee will decide on a date soon.
When the kittens open their eyes, take pictures.
+The kittens have opened their eyes.
-The kittens' eyes are still closed.
-The kittens were born.
If the pipe bursts, turn off the main tap.
+The pipe has burst.
+The pipe broke and water sprays everywhere.
-The pipe is rusty.
-The pipe could burst any minute.
-A pipe at the school burst.
When the bus leaves, lock the gate.
+The bus is gone.
+The bus drove off.
-The bus is waiting.
-The bus leaves at five.
Once the film starts, dim the lights.
+The film has begun.
+The film is running.
-The film is over.
-The film starts at eight.
-The trailers have started, the film has not.
If the customer complains, offer a refund.
+The customer is unhappy and wrote a complaint.
+The customer has filed a complaint.
-The customer is satisfied.
-The customer thanked us.
-The customer complained last year.
When Zoe's flight lands, start the car.
+Zoe's plane has touched down.
-Zoe's flight took off.
-Zoe's flight lands at six.
-Zoe's flight was cancelled.
Once the goods are inspected, sign the slip.
+The goods have been checked.
+The inspector has gone over the goods.
-The goods were unloaded.
-The goods have to be checked.
If the tenant stops paying, inform the owner.
+The tenant has stopped paying.
-The tenant pays on time.
When the team wins the final, ring the bells.
+The team are champions.
+The team beat Rovers in the final.
-The team lost the final.
-The team reached the final.
-The team won the semi-final.
-The team won the final in 2004.
If the lamp burns out, replace it.
+The lamp has burnt out.
+The lamp is dead.
-The lamp flickers.
When the judge dismisses the case, tell the client.
+The judge threw the case out.
+The case has been dismissed.
-The judge adjourned the case.
-The judge refused to dismiss the case.
Tell the guests when dinner is served.
+Dinner is on the table.
+Dinner is ready.
-Dinner is in the oven.
-Dinner is served at seven.
Once Jon gets his driving licence, lend him the car.
-Jon failed his driving test.
-Jon lost his driving licence.
When the garage calls, ask for the price.
+The garage has rung.
+The garage is on the phone.
+I got a call from the garage.
-I called the garage.
-The garage has not called.
-The garage promised to call.
If the mediator resigns, name a new one.
+The mediator has stepped down.
+The mediator threw in the towel.
-The mediator was appointed.
-The mediator threatened to resign.
As soon as the tide turns, launch the boat.
+The tide has turned.
-The tide turns at six.
-The tide is still going out.
When the road is cleared of snow, open the shop.
+The snow plough has cleared the road of snow.
-The road is covered in snow.
When the police find the car, call Ed.
+The police have located the car.
+The car was found by the police.
+The police tracked the car down.
-The police are looking for the car.
-The police found a body in the car.
-The police gave up the search for the car.
If the vote is postponed, tell the members.
+The vote has been put off.
+The vote was pushed back to June.
-The vote takes place as scheduled.
-The vote is over.
Once the tests come back negative, lift the quarantine.
+The tests came back negative.
+The tests were negative.
-The tests came back positive.
-The tests are not back yet.
If the guests like the menu, keep it.
+The guests liked the menu.
-The guests have not seen the menu.
When the pharmacy has the insulin, tell Rita.
+The insulin has arrived at the pharmacy.
When the elevator is repaired, tell the tenants.
+The elevator runs again.
Once the album is released, post the link.
+The album is out today.
+You can stream the album now.
-The album will drop on Friday.
If the mayor loses the election, update the page.
+The mayor was voted out.
-The mayor was re-elected.
When the museum reopens, buy tickets.
+The museum has opened its doors again.
+The museum is open to visitors again.
-The museum stays closed.
As soon as the beta is available, invite the testers.
+The beta can be downloaded.
+The beta is live.
-The beta has been delayed.
If Oskar breaks his leg, cancel the ski trip.
+Oskar has broken his leg.
+Oskar's leg is broken.
-Oskar sprained his ankle.
When the surgeon finishes, call the family.
+The surgeon is done.
Once the data has been anonymised, share it.
+All names have been removed from the data.
+The data is anonymous now.
When the committee approves the proposal, book the hall.
+The committee voted in favour of the proposal.
+The proposal was given the green light by the committee.
+The committee said yes to the proposal.
-The committee voted against the proposal.
-The committee is discussing the proposal.
-The committee sent the proposal back for revision.
When the ship docks, start unloading.
+The ship has moored.
+The ship is in port.
-The ship is at anchor outside.
If the drone crashes, file a report.
+The drone fell out of the sky.
+The drone hit a tree.
-The drone landed safely.
Once the refund is processed, close the case.
+The refund went out.
As soon as the snow stops, clear the drive.
+It has stopped snowing.
When the well runs dry, order water.
+There is no water left in the well.
+The well is empty.
If the goalkeeper gets injured, bring on Max.
+The goalkeeper has hurt his shoulder.
+The goalkeeper was carried off with a torn muscle.
When the contractor delivers the plans, start the bidding.
+The plans from the contractor are here.
+We have received the contractor's plans.
+The contractor handed over the plans.
Let Sam know once the photos are uploaded.
+The photos are online.
If the union calls a strike, inform the board.
+The union has called a strike.
Once the loan is repaid, return the deed.
+The last instalment of the loan was paid.
+The loan is paid off.
When the twins start school, buy a cake.
+The twins had their first day at school.
If the supplier raises its prices, renegotiate.
+The supplier's prices have gone up.
+The supplier has put its prices up.
When the witness testifies, send me the notes.
+The witness took the stand.
+The witness gave evidence.
If the patient's condition worsens, page the doctor.
+The patient's condition has deteriorated.
-The patient's condition is stable.
When the glue has dried, remove the clamps.
+The glue is dry.
+The glue has set.
-The glue is still wet.
Once the exhibition closes, return the loans.
-The exhibition has been extended.
If the volcano erupts, cancel the tour.
+The volcano is spewing lava.
When the interview is over, thank the candidate.
+The interview has finished.
If the dam breaks, sound the sirens.
+The dam has given way.
+The dam has burst.
-The dam holds.
When the merger falls through, call the broker.
+The merger has collapsed.
+The merger is off.
-The merger was completed.
Once the new printer is set up, recycle the old one.
+The new printer is up and running.
+The new printer has been installed.
When the landlord fixes the heating, stop the rent reduction.
+The landlord had the heating repaired.
When Benno's cast comes off, book the physio.
+Benno's cast has been removed.
+Benno no longer has his cast.
As soon as spring arrives, open the terrace.
+Spring is here.
When the manuscript is accepted, tell the agent.
+The publisher said yes to the manuscript.
-The publisher has received the manuscript.
If the satellite loses contact, alert the crew.
+Contact with the satellite is lost.
+We no longer hear from the satellite.
Once the trees have been planted, take a photo.
+The trees are in the ground.
When the buyer signs, hand over the keys.
+The buyer has signed.
+We have the buyer's signature.
-The buyer asked for another week.
Once the firmware is updated, reboot the router.
+The new firmware is on the router.
-The firmware update failed.
When the president steps down, rewrite the lead.
+The president has resigned.
+The president has left office.
+The president announced his resignation.
-The president refused to step down.
If the temperature in the server room exceeds 30 degrees, alert ops.
+It is 33 degrees in the server room.
+The server room is at 31 degrees.
-The server room is at 24 degrees.
When the package is picked up, notify the sender.
+The courier has collected the package.
+The courier took the package with him.
-The package is waiting for the courier.
If the printer jams, call Lotte.
+Paper is stuck in the printer.
+The printer is jammed.
-The printer is out of toner.
When Noah comes of age, transfer the account.
+Noah turned eighteen.
As soon as the curfew is lifted, open the bar.
+The curfew no longer applies.
+The curfew has ended.
-The curfew was extended.
If the account is hacked, reset all passwords.
+Someone broke into the account.
+The account was compromised.
As soon as a table becomes free at Lido, book it for us.
+Lido has a free table on Friday.
-Lido has no free table.
-Orso has a free table.
-Lido may have a free table.
Call me when the node falls behind.
+The node is lagging.
-The node is not lagging.
-The other node is lagging.
-The node stands behind the rack.
Pay the fitter when the boiler passes inspection.
+The inspector approved the boiler.
-The inspector did not approve the boiler.
-Ana approved of buying the boiler.
Tell Ana when the mast is down.
+The mast was taken down this morning.
-The mast will be taken down.
-The flag was taken down.
Once we get planning permission, call the architect.
-We applied for planning permission.
-The planning permission was refused.
"""


def test_what_tells_an_event_or_its_result_meets_a_condition_and_what_only_resembles_it_does_not() -> None:
    order, wrong, kinds = "", [], {"+": 0, "-": 0}
    for line in LATER.strip().splitlines():
        if line[0] not in kinds:
            order = line
        else:
            kinds[line[0]] += 1
            if is_met(order, line[1:]) is not (line[0] == "+"):
                wrong.append((order, line))
    assert not wrong
    assert kinds["-"] >= 150


@pytest.mark.parametrize(
    ("order", "met", "not_met"),
    [
        ("Close the windows if it starts to rain.", "It has started to rain.", "It may start to rain."),
        ("Raise the alarm if the fridge gets too warm.", "The fridge got too warm.", "The fridge is not too warm."),
        ("Let Jonas know the moment someone finds his wallet.", "Someone found his wallet.", "Ida's wallet was found."),
        ("Once Gita forgets her pin, reset it for her.", "Gita forgot her pin.", "Gita did not forget her pin."),
        ("Give the dog his pill when he wakes up.", "The dog has woken up.", "The cat woke up."),
        ("When the court rejects the claim, tell Ida.", "The claim was rejected.", "The claim was rejected by Ida."),
        (
            "Update the roster if a nurse calls in sick.",
            "A nurse has called in sick.",
            "A nurse called about the rota.",
        ),
        ("When the old lift is removed, tell Ida.", "The old lift has been removed.", "The lift is being removed."),
        ("When the lift is removed, tell Ida.", "The lift has been removed.", "The old lift has been removed."),
    ],
)
def test_a_known_event_is_waited_for_no_matter_who_does_it(order: str, met: str, not_met: str) -> None:
    assert is_met(order, met)
    assert not is_met(order, not_met)


# What somebody does, or should do, once something has happened; and how things are, which waits for nothing.
DUTIES = """
Legal prepares the term sheet as soon as the investors agree.
Our lawyer files the appeal if the court rejects the claim.
If the roof leaks again, the caretaker calls the roofers.
When the samples arrive, the lab tests them for lead.
The moment Petra signs the lease, Karl transfers the deposit.
In case the pump fails, you call the plumber.
If Lena wins the scholarship, her uncle pays the flight.
Provided Nora passes the exam, the clinic offers her a permanent post.
The painters start the hallway as soon as the plaster has dried.
Facilities should repaint the hallway once the scaffolding is gone.
IT must delete the mailbox once Leo has left the firm.
Whenever a supplier raises prices, purchasing asks for two other quotes.
Assuming the mayor approves the permit, book the band.
Book the movers on receipt of the signed lease.
Pay the deposit, should the landlord accept the offer.
Hold the shipment until the invoice is paid.
Do not renew the hosting contract until the migration is finished.
Keep the old phone number active until all customers have been informed.
After the next board meeting, please send Tom the minutes.
Tell Rita the result right after the vote.
Once the fix is deployed, remove the workaround.
Release the bonus after all branches have sent their figures.
Once all twelve jurors have returned, resume the hearing.
If and when the lawsuit is settled, release the reserve.
If the choir gets the grant, Paul books the tour bus.
Once our patent is granted, the law firm files the continuation.
The moment the embargo lifts, the newsroom prepares the story.
The caterer gets the final headcount once everyone has replied.
If Quillon loses the appeal, the insurer must be informed.
Have the plumber come back if the tap drips again.
Only ship the samples after the customs form is stamped.
No deliveries to dock 3 until the crane is repaired.
Until the new badge arrives, let Pia in at the side door.
"""
AS_THINGS_ARE = """
Ben feeds the cat when Ana is away.
Anna calls her mother when she gets home.
Tom takes the bus when it rains.
The bank charges a fee if the account is overdrawn.
The insurer pays the bill if the car is stolen.
The landlord usually keeps the deposit when tenants leave early.
Marta always orders the fish when we eat at Nino's.
The company paid the bonus when the year was over.
In the novel, the detective finds the letter after the butler leaves the house.
Firefox opens the page when the download completes.
The printer prints the label when the order arrives.
You lose the discount if you pay late.
The students leave the hall when the lecture is over.
The guard sleeps when the museum is closed.
She said the lawyer files the appeal if the court rejects it.
Does accounting pay the bill when the goods arrive?
Simmer the sauce until it thickens.
Hold the button until the light turns green.
We waited until the rain stopped.
Grandpa tells the same story whenever the family gets together.
The dog barks at the postman when the gate opens.
The law must be obeyed when the emergency ends.
No shop opens until the sun is up.
The shop stays open until the last customer leaves.
I kept the key until the guests left.
Ana went home after the concert.
After the incident, the team rotated its keys.
Send the receipt after the payment.
"""


@pytest.mark.parametrize("text", DUTIES.strip().splitlines())
def test_what_somebody_does_once_something_has_happened_waits_for_that(text: str) -> None:
    assert waits(text)


@pytest.mark.parametrize("text", AS_THINGS_ARE.strip().splitlines())
def test_a_habit_a_rule_for_everyone_and_a_tale_wait_for_nothing(text: str) -> None:
    assert not waits(text)


# As above: of whom it is said is told by a pronoun or in an answer, and what happened by a noun or its result.
TOLD_OTHERWISE = """
If Dana accepts the post, order a desk for her.
+Dana thought about it for a week, but she has accepted the post.
+Good news from Dana: she said yes to the post.
+I spoke with Dana. She accepts the post.
-Dana spoke with Ruth. She accepted the post in Rome.
-Dana has the offer for the post and thinks it over.
-Ruth told Dana about the post. Everyone accepts the new rules.
Release the keys once Halden pays bill 2207.
+Asked the bank about 2207. "Yes, Halden paid it on Monday."
+Halden wrote: "We paid bill 2207 this morning."
-The form says "Halden pays bill 2207".
-Asked the bank about 2207. "No, Halden has not paid it."
-Halden has paid bill 2270.
-Asked the bank about 2207. "Halden will pay it on Monday."
Call the broker when the shipment from Bergen arrives.
+Since the arrival of the Bergen shipment the ramp is full.
+Following the arrival of the Bergen shipment we cleared the hall.
-Before the arrival of the Bergen shipment we cleared the hall.
-After the arrival of the Bergen shipment we will clear the hall.
-Since the arrival of the Turku shipment the ramp is full.
Redraft the brief after the court rules on the injunction.
+The ruling on the injunction was handed down at noon.
+The court's ruling on the injunction is here.
-The ruling on the injunction is expected next week.
-The ruling on the bail was handed down at noon.
If Victor quits, divide his accounts among the others.
+Victor's resignation came as a shock.
+Victor gave notice this morning.
-Victor quit smoking.
-There is a rumour about the resignation of Victor.
-People talk about Victor's resignation.
-Victor's resignation was refused.
Ring the locksmith off if anyone finds the missing cellar key.
+The cellar key has turned up.
+Someone has found the cellar key.
-The cellar key is still missing.
-Someone found a key, but not the cellar key.
Once all five reviewers have sent comments, merge the draft.
+All five reviewers have sent their comments.
+5 of 5 reviewers have sent comments.
-Four of five reviewers have sent comments.
-Another reviewer has sent comments.
-One reviewer has sent comments.
-All reviewers but Kim have sent comments.
Revoke the badge when Nadia leaves the company.
+Yesterday was Nadia's last day.
+Nadia handed in her badge on Friday.
-Friday will be Nadia's last day.
-Nadia's boss had his last day yesterday.
Give the minutes to the new chair after the club elects a chair.
+Mr. Osei is the club's new chair.
+The club has a chair, it elected Mr. Osei.
-Mr. Osei wants to be the club's new chair.
-The club elects a chair in May.
Close the form when the summer gala sells out.
+The last seat for the summer gala went an hour ago.
-The first seat for the summer gala went an hour ago.
-The winter gala is sold out.
Once the 'double refund' ticket is closed, tell Kim.
+Ticket 'double refund' is closed.
+Ticket 'double refund' - status: closed.
-Ticket 'double refund' - status: in review.
-Ticket 'late mails' is closed.
Cancel the loan car once our own car is repaired.
+Our car is back from the garage.
+The car runs like clockwork again.
-The garage is working on our car.
-The neighbour's car is back from the garage.
Once the router is replaced, rerun the test.
+The technician has swapped the router.
+A new router has been fitted.
-The new router has been ordered.
-We are preparing the router replacement.
If the rail strike begins, take the van.
+The rail strike has begun.
-The rail strike is off.
If the engine overheats, switch to the spare pump.
+The engine got too hot.
-The engine is not too hot.
Hand out the prizes once the scores are in.
+We have all the scores.
-We have one of the scores.
As soon as Dilan finds a flatmate, cancel the sublet.
+Dilan has a new flatmate.
-Dilan wants a new flatmate.
Hand the keys back to the caretaker after the concert.
+The concert ended at ten.
+The concert is over.
+The concert took place last night.
-The concert begins at eight.
-The concert takes place tonight.
-The concert did not take place.
-The concert was cancelled.
-The rehearsal is over.
Tell the vet when the ewes have lambed.
+The ewes have lambed.
-One ewe has lambed.
Block the hall as soon as we receive the deposit for the Lind wedding.
+The Lind deposit hit our account.
-The Lind deposit bounced.
-The Berg deposit hit our account.
"""


def test_what_is_told_by_a_pronoun_an_answer_or_a_noun_meets_a_condition_and_what_resembles_it_does_not() -> None:
    order, wrong = "", []
    for line in TOLD_OTHERWISE.strip().splitlines():
        if line[0] not in "+-":
            order = line
        elif is_met(order, line[1:]) is not (line[0] == "+"):
            wrong.append((order, line))
    assert not wrong
