"""Wordings with room in them: what says the same in another one, what only looks so, and what a change says of now."""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from memory.text.similarity import Statement, reconcile
from memory.text.similarity.rewording import SORTS
from memory.text.similarity.wordings import AFTER_PHRASES, BEFORE_PHRASES, CLOSED, CONSEQUENCES
from tests.budgets import THOROUGH

START = datetime(2026, 1, 5, tzinfo=UTC)
ODD = """
y a ing ed s is y's 3 the Noor's -- 'ing being y-y 2093 9 am 10% no not sky I to of ss ies e every made
""".split()
SAME = """
Ivar never eats fish|Ivar doesn't eat fish
Dogs never bite|Dogs do not bite
Ivar will never come|Ivar will not come
The parcel has not arrived|The parcel hasn't arrived yet
Ivar sleeps badly|Ivar doesn't sleep well
Ivar eats lunch at noon|Ivar has lunch at noon
Ivar takes his tea with milk|Ivar drinks his tea with milk
Ivar's workplace is the harbour|Ivar works at the harbour
The release is expected in May|We expect the release in May
The library lends e-books|You can borrow e-books from the library
The club was founded in 1921|The club has been around since 1921
The club has 90 members|90 people belong to the club
Members get in free|Entry is free for members
The dairy sells goat cheese|The dairy is a seller of goat cheese
The landlord must give two months' notice|The notice period for the landlord is two months
No one in the team is taller than Igor|Igor is the tallest in the team
The barn dates from 1890|The barn was built in 1890
The tenants have a complaint about the heating|The tenants complain about the heating
Ms Roth chairs the council|Ms Roth is the chairwoman of the council
Eva teaches chemistry at the high school|Eva is a chemistry teacher at the high school
The firm manufactures violins|The firm is a manufacturer of violins
The gate is locked at night|The gate stays locked at night
The room has a view of the lake|The room overlooks the lake
The room is without a window|The room has no window
The water is not drinkable|You can't drink the water
The printer is out of ink|The printer has no ink left
The printer has run out of ink|The printer is out of ink
The car is in the garage|The car is parked in the garage
Milan studies law|Milan is a law student
Milan goes jogging every morning|Milan jogs every morning
Milan goes swimming on Mondays|Milan swims on Mondays
Milan works nights|Milan works the night shift
Milan works for the railway|The railway employs Milan
Milan doesn't work on Fridays|Milan is off on Fridays
Milan has Fridays off|Milan doesn't work on Fridays
Milan likes his steak rare|Milan likes rare steak
Milan suffers from hay fever|Milan has hay fever
The service listens on port 8080|The service's port is 8080
The bug was fixed in 2.1|Version 2.1 fixes the bug
The endpoint returns JSON|The endpoint responds with JSON
The app needs an internet connection|The app doesn't work without an internet connection
You can only get in with a badge|You need a badge to get in
The course is for beginners|The course is aimed at beginners
The shop sells bread|You can buy bread at the shop
Tickets are 12 euros|Tickets cost 12 euros
The exam is on 3 June|The exam takes place on 3 June
The pump runs at 90 km per hour|The pump runs at 90 km/h
The seed rate is 20 kg/ha|The seed rate is 20 kg per hectare
The link has 100 MB/s|The link has 100 MB per second
Chloë's tablet runs Android 15|Chloe's tablet runs Android 15
Renée plays hockey|Renee plays hockey
The bird houses are painted green|The birdhouses are painted green
The green house is heated|The greenhouse is heated
The shop is open on weekdays|The shop is open Monday to Friday
He takes the pill 2x a day|He takes the pill twice a day
The batch runs 3 times/day|The batch runs three times a day
The key must be >= 2048 bits|The key must be at least 2048 bits
Temperature must stay < 8 °C|Temperature must stay below 8 °C
The exam is on Mar 14|The exam is on March 14
The web-shop is down|The webshop is down
Ana won't come on Sat|Ana will not come on Saturday
Ana's got a cat|Ana has a cat
The tyre centre is closed|The tire center is closed
小赵在书店工作。|小赵在书店上班。
餐厅周一不营业。|餐厅星期一不开门。
张伟是技术总监。|技术总监是张伟。
老周的手机号是139。|老周的手机号码是139。
Der Kurs ist jeden Montag|Der Kurs ist immer montags
Frau Kern arbeitet bei der Post|Frau Kern ist bei der Post angestellt
Frau Kern arbeitet als Tischlerin|Frau Kern ist Tischlerin
Pan Nowak pracuje w banku|Pan Nowak jest zatrudniony w banku
Sklep ma dostawy we wtorki|Sklep ma dostawy w każdy wtorek
Ana trabaja como enfermera|Ana es enfermera
El taller abre los lunes|El taller abre todos los lunes
The kiosk is open from Tue to Sat|The kiosk is open from Tuesday to Saturday
The bakery is closed on Sun|The bakery is closed on Sunday
The clinic is open Mon, Wed and Sat|The clinic is open Monday, Wednesday and Saturday
Choir practice is every Sat|Choir practice is every Saturday
The market is held on Sat & Sun|The market is held on Saturday and Sunday
The farm ordered two tractors|The farm placed an order for two tractors
Ines photographed the bridge|Ines took a photo of the bridge
Ines lectured on bees|Ines gave a lecture on bees
The team discussed the budget|The team had a discussion about the budget
The vet examined the horse|The vet carried out an examination of the horse
The auditor inspected the kitchen|The auditor conducted an inspection of the kitchen
Ines complained about the noise|Ines lodged a complaint about the noise
Ines applied for a visa|Ines submitted an application for a visa
Ines cleans on Fridays|Ines does the cleaning on Fridays
Tomas cooks in the evenings|Tomas does the cooking in the evenings
Tomas called the plumber|Tomas gave the plumber a call
Tomas visited the museum|Tomas paid a visit to the museum
Tomas suggested a new logo|Tomas made a suggestion for a new logo
The team analysed the logs|The team performed an analysis of the logs
The mayor announced the plan|The mayor made an announcement of the plan
Tomas recommended a dentist|Tomas made a recommendation of a dentist
Tomas met the architect|Tomas had a meeting with the architect
Tomas spoke with the architect|Tomas had a talk with the architect
Tomas apologised to the neighbours|Tomas made an apology to the neighbours
Tomas invited the neighbours|Tomas sent an invitation to the neighbours
Tomas purchased a kayak|Tomas made a purchase of a kayak
The committee voted on the statute|The committee took a vote on the statute
The head of logistics is Omar Diaz|Omar Diaz heads logistics
The girls' tutor is Omar|Omar tutors the girls
Ben's mentor is Omar|Omar mentors Ben
Ben's trainer is Omar|Omar trains Ben
The author of the report is Omar|Omar wrote the report
The captain of the team is Omar|Omar captains the team
Acme employs Omar|Omar works for Acme
Lutz Bau employs 40 people|40 people work at Lutz Bau
Omar coaches the juniors|The juniors' coach is Omar
Grandma sees badly|Grandma doesn't see well
Grandma has poor eyesight|Grandma has bad eyesight
Grandma is a good swimmer|Grandma swims well
Piet is a slow reader|Piet reads slowly
Piet speaks Danish fluently|Piet's Danish is fluent
Piet speaks good Danish|Piet speaks Danish well
Only the janitor has a key|The janitor is the only one with a key
Only Nora knows the code|No one else but Nora knows the code
Nora quit drinking three years ago|Nora gave up alcohol three years ago
Nora quit drinking three years ago|It has been three years since Nora quit drinking
Nora moved out two months ago|It's been two months since Nora moved out
Nora left the company five years ago|Five years have passed since Nora left the company
Nora quit her job|Nora gave up her job
Nora prefers quiet rooms|Nora prefers rooms to be quiet
Nora likes strong tea|Nora likes her tea strong
Nora prefers to be called Captain|Nora likes to be addressed as Captain
Nora prefers working alone|Nora prefers to work alone
Nora loves to cook|Nora loves cooking
The gala was brought forward from May to April|The gala is in April rather than May
The fair was postponed from May to June|The fair is in June instead of May
Delivery to Malta takes six days|Parcels to Malta take six days
The lab is behind the station|The lab is situated behind the station
Rosa has two sons|Rosa is the mother of two sons
Rosa has no children|Rosa is childless
Rosa takes the bus to work|Rosa goes to work by bus
Rosa commutes by train|Rosa takes the train to work
Rosa returns on Monday|Rosa is back on Monday
Rosa retired in 2020|Rosa has been retired since 2020
Rosa drives a Volvo|Rosa's car is a Volvo
Passwords need at least 12 characters|Passwords must be 12 characters or longer
The log files are deleted after 30 days|Log files are kept for 30 days
We use Postgres as the database|Our database is Postgres
The code is hosted on GitLab|GitLab hosts the code
The contract runs for two years|The contract has a term of two years
The minimum order is 50 pieces|You must order at least 50 pieces
Cash is not accepted|We do not take cash
Smoking is prohibited|You may not smoke
Breakfast is served until ten|You can have breakfast until ten
The meeting was cancelled|The meeting will not take place
The concert is sold out|There are no tickets left for the concert
The bridge is closed to trucks|Trucks are not allowed on the bridge
Parking is free after six|You can park for free after six
The car needs new tyres|The car's tyres must be replaced
You need a badge to enter the vault|A badge is required to enter the vault
Nobody can start the lathe without a key|You need a key to start the lathe
Without a voucher you cannot use the sauna|You need a voucher to use the sauna
No entry without a mask|Entry only with a mask
The terrace is reserved for members|Only members may use the terrace
The ledger is visible to the auditor alone|Only the auditor can see the ledger
Attachments must not exceed 8 MB|Attachments are limited to 8 MB
Riders must be at least 12 years old|The minimum age for riders is 12
The pin must have at least 6 digits|Pins must be at least 6 digits long
Noor can be reached at 0341-55012|Noor's phone number is 0341-55012
Noor's husband is Ivo|Ivo is married to Noor
Ivo is the father of Mia|Mia is Ivo's daughter
Noor bought the boat from Ivo|Ivo sold the boat to Noor
Ivo lent Noor the saw|Noor borrowed the saw from Ivo
We send every guest a map|We send a map to every guest
The chapel is north of the mill|The mill is south of the chapel
The kiosk is across from the church|The church is opposite the kiosk
Noor shares a desk with Ivo|Ivo and Noor share a desk
It is the buyer who pays the courier|The buyer pays the courier
What Noor needs is a new drill|Noor needs a new drill
Noor suffers from migraine|Noor has migraine
Noor is a vegetarian|Noor does not eat meat
Noor quit smoking|Noor no longer smokes
Noor has been working at Zeta since 2020|Noor has worked at Zeta since 2020
The cellar has room for 40 barrels|The cellar can hold 40 barrels
The lounge seats 30|The lounge has 30 seats
The hatch is emptied every hour|The hatch gets cleared hourly
Repairs are paid for by the owner|The owner pays for repairs
Noor earns 4,000 euros a month|Noor's monthly salary is 4,000 euros
You pay 9 euros for the tour|The tour costs 9 euros
Let Noor know about delays|Inform Noor about delays
Ring the client after lunch|Call the client after lunch
You must not swim in the lake|Swimming in the lake is forbidden
The inn does not allow dogs|Dogs are not allowed in the inn
All cabins have a stove|Every cabin has a stove
The bench is not wide enough|The bench is too narrow
Noor is taller than Ivo|Ivo is shorter than Noor
The parcel arrived a day late|The parcel was one day late
The lease ends on 30 June|The lease expires on 30 June
Noor placed an order for 20 lamps|Noor ordered 20 lamps
Noor made a decision|Noor decided
It is a 3-day course|The course lasts three days
The lift is under repair|The lift is being repaired
Inform Noor about delays|Notify Noor about delays
The talk lasts an hour|The talk lasts one hour
It is a two-bedroom flat|The flat has two bedrooms
The U.S. branch is closed|The US branch is closed
Order no. 4711 is open|Order #4711 is open
Heads-up: the gate is broken|The gate is broken
The recieved parcel is open|The received parcel is open
The kiosk shuts at noon|The kiosk closes at 12
The fair opens at 9|The fair opens at nine o'clock
Noor sits on the board|Noor is a board member
Noor is Ivo's cousin|Ivo is Noor's cousin
Every claim needs Noor's approval|Noor must approve every claim
Never paint on Sundays|Do not paint on Sundays
Noor drinks no wine|Noor does not drink wine
Version 3.2 fixes the leak|The leak is fixed in version 3.2
The seminar takes place in hall 4|The seminar is in hall 4
The mill dates from 1932|The mill was built in 1932
The ferry costs £1,299.00|The ferry costs 1299 pounds sterling
The link is rated at 100 Mbit/s|The link is rated at 100 Mbps
The lecture is at 14.30 on Monday|The lecture is at 2:30 pm on Monday
The flight is BA 117|The flight is BA117
The clinic's number is (030) 123 456|The clinic's number is 030 123456
World War II ended|World War 2 ended
The pre-paid card is empty|The prepaid card is empty
We've got a van|We have a van
Der Lift im zweiten Stock ist defekt|Der Lift im 2. Stock ist kaputt
Noor nimmt die Tropfen am Abend|Noor nimmt die Tropfen abends
Der Kurs dauert anderthalb Stunden|Der Kurs dauert 90 Minuten
Noor hat Angst vor Hunden|Noor fürchtet sich vor Hunden
Listy wysyłamy pocztą elektroniczną|Listy wysyłamy e-mailem
Noor mieszka na drugim piętrze|Noor mieszka na 2. piętrze
奶奶每天吃两次药|奶奶一天吃2次药
报告由小王审核|小王审核报告
A permit is required for tenants to park in the yard|Tenants need a permit to park in the yard
No kiln can be used without a key|The kiln needs a key
The choir has monthly meetings|The choir meets once a month
The balcony is south-facing|The balcony faces south
Noor finds Latin difficult|Latin is difficult for Noor
The hut is 4 km from the mill|The distance between the mill and the hut is 4 km
The hut and the mill are side by side|The hut is next to the mill
The van has room for seven people|The van seats seven
The van has a capacity of seven people|The van seats seven people
The retries default to 5|The default retries are 5
Noor takes a walk after lunch|Noor walks after lunch
They cancelled the regatta|The regatta was cancelled
The kiosk's opening time is 9 am|The kiosk opens at 9 am
Noor's home is in Cork|Noor lives in Cork
Noor runs the Cork office|Noor is in charge of the Cork office
We get our flour from Arden|Arden supplies our flour
Three months' notice is required|The notice period is three months
Orders must be for at least 50 crates|The minimum order is 50 crates
There is no charge for parking|Parking is free
There is an extra charge for towels|Towels cost extra
Members get 10% off|Members get a 10% discount
The annual budget is 9,000 euros|The budget is 9,000 euros a year
The rent went up to 900 euros|The rent was raised to 900 euros
Noor's annual leave is 28 days|Noor has 28 days of holiday a year
Noor has a part-time job|Noor works part time
Noor holds the post of treasurer|Noor is the treasurer
Noor would rather be paid in cash|Noor prefers to be paid in cash
The pump is not working|The pump is out of order
Noor is the person to ask about keys|Ask Noor about keys
Zeta is a client of ours|Zeta is one of our clients
Invoice 12 has not been paid|Invoice 12 is unpaid
The ticket has not been closed yet|The ticket is still open
It costs 40 euros to ship the crate|Shipping the crate costs 40 euros
Zeta's payment method is bank transfer|Zeta pays by bank transfer
There is a 2% surcharge on card payments|Card payments carry a 2% fee
The deposit cannot be refunded|The deposit is non-refundable
The filter is washable|The filter can be washed
The lease renews automatically|Lease renewal is automatic
We are insured with Arden|Our insurer is Arden
Zeta has existed since 1998|Zeta was founded in 1998
Zeta is a subsidiary of Orbis|Orbis is Zeta's parent company
The team has a lead time of ten days|The team needs ten days' lead time
Prices are quoted in euros|Prices are in euros
The Hawks beat the Rovers|The Rovers lost to the Hawks
The tank has a capacity of 500 litres|The tank holds 500 litres
The log retention period is 90 days|Logs are kept for 90 days
A worn belt was the cause of the fire|A worn belt caused the fire
We switched from Slack to Teams|We replaced Slack with Teams
The phone field may be left empty|The phone field is optional
Noor is good at drawing|Noor draws well
Noor is a careful driver|Noor drives carefully
Noor has a cat allergy|Noor is allergic to cats
Noor can't digest lactose|Noor is lactose intolerant
We use Vesta to print invoices|Vesta prints invoices
The website is hosted at Vesta|Vesta hosts the website
Interns have no access to the ledger|Interns can't access the ledger
The language of the report is Danish|The report is written in Danish
Noor's monthly pay is 3,800 euros|Noor's salary is 3,800 euros a month
The gardener comes every other week|The gardener comes fortnightly
The council meets every three months|The council meets quarterly
The stock is counted twice a year|The stock is counted every six months
Expenses over 500 euros need Noor's approval|Noor has to approve expenses above 500 euros
All timestamps are in UTC|Timestamps are in UTC
The chapel is at 14 St. Mary's Road|The chapel is at 14 Saint Mary's Road
One in four guests come by bus|25% of the guests come by bus
The grant is half a million pounds|The grant is £500,000
The desk's number is 0161 555 0147|The desk's number is 0161-555-0147.
The opera was composed by Noor|Noor is the opera's composer
Noor founded the club|Noor is the club's founder
Noor wrote the novel|Noor is the writer of the novel
The choir is conducted by Ivo's aunt|Ivo's aunt conducts the choir
The crew is headed by Noor|Noor is the head of the crew
Only members can book courts|Booking courts is only for members
Nobody but staff may enter the vault|The vault is reserved for staff
Noor takes care of parking|Parking is handled by Noor
Everyone except Noor voted|All but Noor voted
The kiosk takes cash only|Only cash is accepted at the kiosk
The lane is closed to lorries|Lorries may not use the lane
The lane is open to bikes|Bikes may use the lane
Noor is a native Danish speaker|Noor is a native speaker of Danish
Danish is Noor's first language|Noor's native language is Danish
The tender is running late|The tender is behind schedule
Routing is done in Orbis|We use Orbis for routing
Noor is a teacher at Vesta School|Noor teaches at Vesta School
Noor is a student at Vesta College|Noor studies at Vesta College
Noor has a fear of geese|Noor fears geese
It was Noor who painted the gate|Noor painted the gate
Noor rides her bike to school|Noor cycles to school
Noor drives her car to work|Noor drives to work
The clinic relocated to Ghent|The clinic moved to Ghent
The hedge needs trimming every week|The hedge must be trimmed weekly
Flour is out of stock|We have no flour in stock
Noor's brother is called Ivo|Ivo is Noor's brother
Noor is 41|Noor is 41 years old
Somebody stole the saw in May|The saw was stolen in May
There is no entry fee for the fair|Admission to the fair is free
The feed allows at most 40 calls an hour|The feed is rate limited to 40 calls an hour
The rent is due within ten days|The rent is payable within ten days
Zeta has 30 days to pay|Zeta's payment terms are 30 days
The tickets are sold out|There are no tickets left
Storage is 9 euros a month|Storage costs €9 per month
Groups are welcome|You may bring groups
We do not admit minors|Minors are not admitted
Use 4417 as the alarm code|The alarm code is 4417
Noor works for herself|Noor is self-employed
Noor and Ivo are parents of three|Noor and Ivo have three children
Postage is not included in the price|The price does not include postage
Noor jest emerytką|Noor jest na emeryturze
Noor is Chilean|Noor comes from Chile
Noor is in the finance department|Noor works in finance
Noor is good at chess|Noor plays chess well
The tank has a leak|The tank is leaking
One in four guests cancels|25% of the guests cancel
Zoë likes teal|Zoe likes teal
You will find the switch in the attic|The switch is in the attic
The gauge of the boiler reads 4 bar|The gauge of the boiler shows 4 bar
Kod do bramy to 4417|Kod do bramy jest 4417
Ivo gets the alerts|The alerts are sent to Ivo
Anna would rather work from home than commute|Anna prefers working from home to commuting
Smoking is forbidden here|You must not smoke here
You must not park here|Parking is not allowed here
It is necessary to book in advance|You have to book in advance
Booking in advance is required|You have to book in advance
The soup contains nuts|There are nuts in the soup
Jo has a son called Max|Jo's son is called Max
The server is restarted every night|We restart the server every night
Only adults may enter|Entry is for adults only
The clinic's opening hours are 8 to 5|The clinic is open from 8 to 5
The clinic opens at 8 and closes at 5|The clinic is open from 8 to 5
"""
OTHER = """
Ivar never ate fish|Ivar did not eat fish
Ivar has never eaten fish|Ivar has not eaten fish
Ivar is never late|Ivar is not late
Ivar sleeps badly|Ivar doesn't sleep
The parcel has not arrived yet|The parcel has arrived yet again
You can borrow e-books from the library|You can buy e-books from the library
There is no flour in the cake|There is no sugar in the cake
Ivar drinks his tea with milk|Ivar drinks his tea without milk
The pump runs at 90 km/h|The pump runs at 90 mph
The seed rate is 20 kg/ha|The seed rate is 20 kg per plot
The link has 100 MB/s|The link has 100 Mbit/s
The key must be >= 2048 bits|The key must be <= 2048 bits
Use x -> 5 here|Use x over 5 here
The bird house is painted green|The bird is painted green
The shop is open on weekdays|The shop is open on weekends
The shop is open on weekdays|The shop is open Monday to Saturday
Members may vote|Members must vote
You may bring a dog|You must bring a dog
Guests may leave early|Guests leave early
You can park here|I can park here
The course is for beginners|The course is by beginners
The recipe is for four people|The recipe is from four people
The gift is for Ana|The gift is from Ana
Avoid peanuts|Buy peanuts
Do not use nets|Do not use pets
The tank is out of water|The tank is out of the water
The mill runs on diesel|The mill runs on petrol
The flight was delayed by two hours|The flight was two hours early
Eva is off on Fridays|Eva is off on Mondays
Eva is a law student|Eva is a law teacher
Eva is a good student|Eva studies good
Eva goes running on Mondays|Eva goes fishing on Mondays
Eva works nights|Eva works days
The shop sells bread|The shop buys bread
You can buy bread at the shop|You can bake bread at the shop
The gate stays locked|The gate stays open
The gate remains open until six|The gate opens at six
Prices are net of tax|Prices include tax
The app does not start without a key|The app starts without a key
You can only get in with a badge|You can get in without a badge
The office doesn't open until nine|The office is open until nine
The office doesn't open until nine|The office doesn't open until ten
Submit the form by Friday|Submit the form after Friday
Submit the form by Friday|Submit the form on Friday
As of May, the rent is 900 euros|Until May, the rent is 900 euros
The room overlooks the lake|The room is in the lake
Eva is in Rome on business|Eva is on a business trip to Oslo
Frau Kern arbeitet bei der Post|Frau Kern wohnt bei der Post
Frau Kern arbeitet als Tischlerin|Frau Kern arbeitet bei der Tischlerin
Der Kurs ist jeden Dienstag|Der Kurs ist jeden Montag
Der Kurs ist jeden Dienstag|Der Kurs war am Dienstag
Pan Nowak pracuje w banku|Pan Nowak jest w banku
Ana trabaja como enfermera|Ana busca enfermera
王芳的妈妈在银行。|王芳的爸爸在银行。
The dairy is a producer of cheese|The dairy is a buyer of cheese
Nobody in the class is younger than Uma|Nobody in the class is older than Uma
Children get in free|Members get in free
The job was cleared at midnight|The job was created at midnight
Omar Diaz heads logistics|Omar Diaz works in logistics
Failed jobs may be retried|Failed jobs must be retried
Keys can be lost|Keys may be returned
Goods may be returned within 30 days|You must return goods within 30 days
The lease can be extended|You can extend the ladder
The battery may explode|The battery can't explode
Visitors may be late|Visitors are late
Ana is the only one with a key|Ana has only one key
Only Ana has a key|Ana has the only key
The report is by Ana|The report is about Ana
Ana is available on Mondays|Ana works on Mondays
You can park here|I can park here
You can get in without a badge|You can only get in with a badge
王芳九点上班。|王芳九点工作。
老周是学生。|学生是老周。
The bakery sells Sun lamps|The bakery sells Sunday lamps
The cat sat on the roof|The cat was on the roof on Saturday
The farm ordered two tractors|The farm received an order for two tractors
Ines took a test|Ines tested the bridge
Ines gave Tomas a book|Ines booked Tomas
Ines took a picture of the bridge|Ines painted the bridge
The team had a discussion about the budget|The team had a decision about the budget
Ines does the cleaning on Fridays|Ines does the cooking on Fridays
Tomas gave the plumber a call|The plumber gave Tomas a call
Tomas made a payment to Ines|Ines made a payment to Tomas
Tomas made an offer for the house|Tomas bought the house
Tomas made a suggestion for a logo|Tomas made a logo
Omar heads the design team|Omar is in the design team
Omar tutors the girls|The girls tutor Omar
Omar mentors Ben|Ben mentors Omar
Omar's mentor is Ben|Omar mentors Ben
Omar owns the bakery|Omar rents the bakery
Omar trains Ben|Omar trains with Ben
Grandma doesn't see well|Grandma doesn't hear well
Grandma doesn't hear well|Grandma doesn't hear
Grandma has poor eyesight|Grandma has good eyesight
Piet speaks good Danish|Piet speaks good Dutch
Piet speaks some Danish|Piet speaks good Danish
Piet speaks Danish fluently|Piet speaks Danish
Only Nora knows the code|Nora knows only the code
Nobody but Nora knows the code|Nobody knows the code
Nora moved out two months ago|Nora moved in two months ago
Nora gave up coffee|Nora gave up alcohol
Nora gave up her job|Nora gave up her flat
Nora prefers quiet rooms|Nora prefers rooms to be warm
Nora likes her tea strong|Nora likes her tea weak
Nora prefers to be called Captain|Nora prefers to be called at noon
Nora wants to be called at noon|Nora prefers to be called at six
Members may bring one guest for free|Members may bring two guests for free
The fair is in June rather than May|The fair may be in June rather than May
Delivery to Malta takes six days|Delivery from Malta takes six days
Rosa has two sons|Rosa is the mother of two daughters
Rosa has two sons|Rosa is the aunt of two sons
Rosa has no children|Rosa has no siblings
Rosa takes the train to work|Rosa takes the bus to work
Rosa drives a bus|Rosa takes the bus
Rosa retired in 2020|Rosa retires in 2030
Rosa drives a Volvo|Rosa likes Volvo
The log files are deleted after 30 days|The log files are kept after 30 days
We use Postgres for the database course|Our database is Postgres
The code is hosted on GitLab|GitLab owns the code
Piet's Danish is fluent|Piet's Danish is poor
You need a badge to enter the vault|You need a badge to leave the vault
Noor sold the boat to Ivo|Ivo sold the boat to Noor
Noor is Mia's mother|Mia is Noor's mother
The chapel is north of the mill|The mill is north of the chapel
Only members may use the terrace|Members may use only the terrace
Just members may book the court|Members may book just the court
We ship only on Fridays to Bern|We ship on Fridays only to Bern
Attachments must not exceed 8 MB|Attachments must exceed 8 MB
Noor pays for repairs|Repairs are paid to Noor
All day the cabin is open|Every day the cabin is open
The crate is in bay C31|The crate is in bay C13
Noor's seat is 16F|Noor's seat is 19F
The host is called depot-a1|The host is called depot-a7
export PATH=$HOME/bin:$PATH|export PATH=$PATH:$HOME/bin
Noor is taller than Ivo|Noor is shorter than Ivo
Noor will re-sign the lease|Noor will resign the lease
The rod is priced at 14.30|The rod is priced at 14:30
A nurse is required to wear a mask|You need a nurse to wear a mask
No milk in the fridge|Milk is forbidden in the fridge
No running water in the cabin|Running water in the cabin is forbidden
You may not like the soup|Liking the soup is forbidden
Noor shares the file with Ivo|Ivo shares the file with Noor
Noor took an order for 20 lamps|Noor ordered 20 lamps
Employees can take 25 days|Employees have space for 25 days
The dog ran out|There is no dog left
Noor runs the marathon|Noor is responsible for the marathon
Ring the bell|Call the bell
The start time is 9:00|The start lasts 9:00
We do not take sides|Sides are not accepted
The firm recalls the car|The firm remembers the car
John Sargent is away|John Sergeant is away
Noor works at Zeta|Noor joined Slack
Noor lives in Rome|Noor moved to plan B
The contract is unsigned|Only Noor has signed the contract
The film is in the archive|The film was made in Rome
Noor has an office in Cork|Noor has an office in Derry
Noor left Cork on Monday|Noor left for Cork on Monday
It costs 40 euros to ship the crate|It costs 40 euros to store the crate
Zeta pays by card|Zeta pays by noon
Noor works with Ivo|Noor works with Mia
The bug was reported, fixed|The bug was reported
Change that password|That password
Noor can handle the merger|Noor is in favour of the merger
Our coffee comes from Kenya|Our coffee comes from Arden
Noor went to Cork on Monday|Noor left Cork on Monday
Noor runs the marathon|Noor is in charge of the marathon
Prices rose by 25%|Prices rose to 25%
The hall has 12 rooms|The hall has room for 12
Zeta lost to Orbis|Orbis lost to Zeta
Orbis is a subsidiary of Zeta|Zeta is a subsidiary of Orbis
We replaced Slack with Teams|We replaced Teams with Slack
Every kiln has a key|The kiln has a key
Noor is the director of the bank|Noor directed the bank
Noor is Zeta's designer|Noor designed Zeta
Noor is the author of the letter|Noor wrote to Zeta
Only rain can save the crop|Saving the crop is only for rain
Nobody but Noor can come|Everyone but Noor can come
Everyone but Noor knows Ivo|Everyone but Ivo knows Noor
Noor goes by Cork|Noor's nickname is Cork
Noor is a native Danish speaker|Noor is a native Polish speaker
Noor waits at Cork|Noor is a waiter at Cork
Noor cooks at Christmas|Noor is a cook at Christmas
The port is 80|The port is 80 years old
Timeout is 30|Timeout is 30 years old
The shop was closed in May|They opened the shop in May
The slot is free|Admission to the slot is free
Zeta has 30 days to pay|Zeta pays for 30 days
The limit is 5 per day|The limit costs 5 per day
The wage is 20 euros an hour|The wage costs 20 euros an hour
Noor gets the tickets|The tickets are sent to Noor
Use Rust as the language|The language is Rust
Use Slack as the last resort|The last resort is Slack
No rain on Sunday|Raining on Sunday is forbidden
No meeting rooms on Friday|Meeting on Friday is forbidden
The book is Orwell's|The book belongs to Orwell
Noor plays chess|Noor plays chess well
Noor is Georgian|Noor comes from Atlanta
The house is Georgian|The house comes from Georgia
Noor relocated the plant to Ghent|Noor moved to Ghent
It was Noor who Ivo saw|Noor saw Ivo
Noor rides the bus to work|Noor cycles to work
Rosé is in the hall|Rose is in the hall
Das ist Annas Mutter and she works|Das ist Annas Mütter and she works
Der Vogel ist da|Die Vögel sind da
Peña is taller than Pena|Pena is taller than Peña
The parcel with the lens samples is in transit|A parcel arrived at reception
The parcel for Ana is in transit|The parcel for Ben arrived at reception
Ana is in transit|Ana arrived at reception with Ben
The alarm for door 3 is on|The alarm for door 4 was turned off
The nearest exit is the Moss Street gate|The nearest entrance is the Kiln Road gate
Ana's brother is Tom|Ana's brother is Jim
The backup runs at 2:00|The report runs at 4:00
Backups run at 2:00|Backups run at 4:00
Lena runs at 6:00|Lena runs at 7:00
The flight leaves at 6:45|The flight leaves at 8:45
Alerts are sent to Slack|Reports are sent to Teams
Alerts were sent to Ben|Alerts were sent to Ana
Anna goes to Leeds|Anna goes to York
The key is with Ana|The car is with Ben
The meeting is with Ana|The meeting is with Ben
The default branch is called main|The release branch is called stable
Petra works for Lindt|Petra's sister left Lindt
Petra works for Ritter|Petra was laid off by Lindt
Petra works for Lindt|Petra was laid up by flu
The team holds a daily standup|The team has scrapped the weekly demo
We support Windows 10|We dropped support for Windows 7
The trial lasts 14 days|The warranty was extended to 30 days
The team has 6 members|The board grew to 8 seats
Greta's title is engineer|Karl was promoted to senior engineer
The hall has 40 seats|There are 40 chairs in the cellar
Entry is for adults only|Only adults may leave
Jo has a son called Max|Jo has a dog called Max
You must not smoke here|You must not swim here
Anna would rather walk than drive|Anna would rather drive than walk
Booking in advance is required|Booking in advance is recommended
The review is on 3 June|They extended the deadline to 10 June
The team is called Heron|They renamed the project to Egret
The firewall blocks outgoing SMTP|The firewall blocks incoming SMTP
The physio recommended swimming|The physio recommended walking
The canteen is open until 14:00|The kiosk is open until 15:00
The contract with Vela runs until June|The contract with Orion runs until December
The CEO is Vogt|Amsel became treasurer
The CEO is Vogt|Amsel took over from Vogt as treasurer
Karl takes statins|Karl has come off the motorway
Rosa sees her dentist weekly|Rosa has stopped going to her choir
Mr. Haddad's drug is ramipril. He tolerates it well|Mr. Haddad's daughter is Amal. He misses her
The loan was refused|The grant was awarded
Invoice 3391 is overdue|Invoice 3392 has been written off
The heating in room 1 is on|The heating in room 2 has been turned off
The cookbook is in print|The atlas is out of print
The survey is announced|The results of the survey were announced
Ana heads the sleep study|Ana heads the diet study
Ana's car is a Golf|Ana's bike is a Cube
The printer is stuck|The courier is stuck in customs
The bus is boarding|The ferry has departed
The crate weighs 52 kg gross|The crate weighs 47 kg net
The table's length is 90 cm folded|The table's length is 160 cm unfolded
"""
NOW = """
The elevator is working|The elevator is not working
The kitchen is being painted|The kitchen has been painted
The heating does not work|The heating works
Noor drives|Noor does not drive
The hotel accepts pets|The hotel no longer accepts pets
A login is required for contractors|A login is not required for contractors
The lock code is 4417|The lock code is 2093
The trip goes to Ghent|Change of plan: the trip goes to Bruges
The kiosk opens at 9 am|The kiosk's opening time is 10 am
The tank holds 500 litres|The tank has a capacity of 600 litres
Members get 10% off|Members get a 15% discount
The wedding is in the garden|The wedding had to be relocated to the boathouse
Noor's surname is Kim|Noor took the surname Vega
The relay is relay1.acme.example|The relay relay1.acme.example has been replaced by edge2.acme.example
Our landlord is Arden|The house was sold, so our landlord is Vesta now
Noor smokes a pack a day|Noor quit smoking at Easter
The contract with Zeta is unsigned|Both parties have signed the contract with Zeta
The crate is in bay C31|The crate is now in bay C13
The soup of the day is lentil soup|The soup of the day is pea soup
Noor's emergency contact is her father|Noor's emergency contact is her aunt
Savings for the boat: 210 euros|Savings for the boat: 365 euros
The current version of the app is 7.3.1|The current version of the app is 7.4.0
The van does not belong to Noor|Noor owns the van
The crew is led by Noor|The crew is not led by Noor
Parking is handled by Noor|Parking is not handled by Noor
Ivo gets the alerts|Ivo does not get the alerts
The lane is closed to bikes|The lane is open to bikes
Bikes may enter the lane|Bikes may not enter the lane
Groups are welcome|No groups
You may bring dogs|You may not bring dogs
Admission to the zoo is free|The zoo charges admission
There are no tickets left|There are still tickets left
We have no flour in stock|Flour is back in stock
Hoodies are sold out|Hoodies are available again
The tender is running late|The tender is not running late
Noor is good at chess|Noor does not play chess well
Noor is Chilean|Noor is not from Chile
The tank is leaking|The tank has no leak
Ivo is the treasurer|Noor took over as treasurer
Ana's application is shortlisted|Ana's application was rejected
The bug in the importer has been reproduced|The bug in the importer is fixed
The lease for the attic is under legal review|The lease for the attic has been countersigned
Invoice 3391 is overdue|Invoice 3391 has been written off
The post of night nurse is advertised|The post of night nurse has been filled
Flight LO 281 is boarding|Flight LO 281 has departed
Flight LO 281 is delayed|Flight LO 281 has landed
The patient in room 4 is in surgery|The patient in room 4 is recovering
The house on Elm Road is on the market|The house on Elm Road is under offer
The spring fair has been announced|The spring fair has been called off
The cookbook is being edited|The cookbook has gone to print
The insurance claim is being investigated|The insurance claim was denied
The insurance claim has been filed|The insurance claim has been settled
Dark mode is in development|Dark mode is in beta
Dark mode is in beta|Dark mode has shipped
The migration of the archive is running|The migration of the archive failed
The building permit is pending|The building permit was refused
The building permit has been applied for|The building permit has come through
The payment from Orbis is outstanding|The payment from Orbis has been received
The payment from Orbis is outstanding|The payment from Orbis has arrived
The roof is leaking|The roof has been fixed
Omar's passport has expired|Omar's passport has been renewed
The domain is parked|The domain is live
Negotiations with Tarn are ongoing|Negotiations with Tarn have collapsed
The dog is missing|The dog is back home
The report is half written|The report is done
The report is a draft|The report is final
The backup runs at 2 am|The backup runs at 4 am
The choir rehearses on Tuesdays|The choir rehearses on Thursdays
The default branch is called master|The default branch is called main
The spare key is with Mrs. Lund|The spare key is with Mr. Okoye
The newsletter goes out on Fridays|The newsletter goes out on Mondays
The contract with Vela runs until June|The contract with Vela runs until December
Invoices go to billing@orin.example|Invoices go to accounts@orin.example
Petra works for Lindt|Petra resigned from Lindt
Petra works for Lindt|Petra was laid off by Lindt
Petra subscribes to the Monday digest|Petra unsubscribed from the Monday digest
We support Windows 7|We dropped support for Windows 7
There is a bus to the airport|The bus to the airport was discontinued
The team holds a daily standup|The team has scrapped the daily standup
Karl is on the board|Karl stepped down from the board
Karl takes statins|Karl was taken off statins
Karl takes statins|Karl has come off statins
Greta uses Vim as her editor|Greta replaced Vim with Emacs
Greta's title is engineer|Greta was promoted to senior engineer
The deadline is 3 June|They extended the deadline to 10 June
The deadline is 3 June|The new deadline is 10 June
The project is called Heron|We renamed the project to Egret
The CEO is Vogt|Amsel has taken over from Vogt as CEO
The CEO is Vogt|Amsel became CEO
The CEO is Vogt|Vogt handed over to Amsel as CEO
The frontend is written in Angular|The frontend was rewritten in React
The hotel is the Astoria|We changed the hotel to the Regent
The trial lasts 14 days|The trial was extended to 30 days
The trial lasts 14 days|We extended the trial from 14 to 30 days
"""


def fate(older: str, newer: str) -> tuple[int, int]:
    """How many were merged and replaced of the two."""
    said = [Statement(UUID(int=at), text, START + timedelta(days=at)) for at, text in enumerate((older, newer))]
    found = reconcile(said)
    return sum([len(each.merged) for each in found.merges]), len(found.superseded)


def test_what_is_said_in_another_wording_is_merged() -> None:
    for line in SAME.strip().splitlines():
        one, other = line.split("|")
        assert fate(one, other) == fate(other, one) == (1, 0), line


def test_what_only_looks_like_another_wording_is_left_alone() -> None:
    for line in OTHER.strip().splitlines():
        one, other = line.split("|")
        assert fate(one, other) == fate(other, one) == (0, 0), line


def test_a_change_replaces_what_it_says_is_no_longer_so_and_is_not_replaced_for_it() -> None:
    for line in NOW.strip().splitlines():
        older, newer = line.split("|")
        assert fate(older, newer) == (0, 1), line


def test_no_text_ends_in_an_error() -> None:
    assert fate("From year grown MB", "From year grown GB") == (0, 0)


def test_no_wording_ends_in_an_error_whatever_stands_in_its_slots() -> None:
    """One error would end the consolidation of a tenant."""
    rng = Random(7)
    forms = [
        each for found in (BEFORE_PHRASES, AFTER_PHRASES, CONSEQUENCES) for same in found.values() for each in same
    ]
    for wording in forms * (8 if THOROUGH else 2):
        said = []
        for element in wording.form:
            known = sorted(element.words or CLOSED.get(element.sort, frozenset())) or ODD
            length = 1 if element.words else rng.randint(1, 3)
            filled = [rng.choice(known if rng.random() < 0.7 else ODD) for _ in range(length)]
            said.append(" ".join(filled) + ("'s" if element.owns else ""))
        fate("Noor works", " ".join(said))


def test_a_statement_does_not_replace_itself() -> None:
    assert fate("Noor was moved to a room on the second floor", "Noor has a cat") == (0, 0)


def test_each_wording_names_slots_that_its_form_has_and_sorts_that_there_are() -> None:
    for by_word in (BEFORE_PHRASES, AFTER_PHRASES, CONSEQUENCES):
        for wording in (each for found in by_word.values() for each in found):
            slots = {element.slot for element in wording.form if element.slot}
            assert {element.sort for element in wording.form if element.slot} <= SORTS.keys(), wording
            assert {element.slot for element in wording.result if element.slot} <= slots, wording
