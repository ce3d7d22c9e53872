"""Words that people say of their data, in English: the dictionary by which a name is distinguished from a word.

Base forms only; plurals, past and -ing forms, comparatives and -ly forms follow by rule. Limits: everyday and
business speech, not a full dictionary; a rare word that is missing counts as a name, never the other way round.
"""

from __future__ import annotations

from typing import Final


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS: Final = _listed("""
    a able about above abroad absence absent academic academy accelerate accept acceptance access accident accommodation
    according account accountant accuracy accurate achieve achievement acid acquire acquisition acre across act action
    active activity actor actress actual actually add addition additional address adjust administration administrator
    admission admit adult advance advanced advantage adventure advertise advertisement advice advise adviser advisor
    affair affect afford affirmative afraid after afternoon again against age agency agenda agent aggregate ago agree
    agreement agriculture ahead aid aim air aircraft airline airplane airport aisle alarm album alcohol alert alike alive
    all allergy allocate allow allowance almost alone along already also alternative although altitude always amateur
    amazing ambassador ambulance amendment amenity amount analysis analyst analyze ancestor ancient and angle angry
    animal ankle anniversary announce annual another answer antique any anyone anything anyway apart apartment apology
    appeal appear appearance appellation apple appliance applicant application apply appoint appointment appreciate
    approach appropriate approval approve approximate april aquarium arbitrary arch architect architecture archive area
    arena argue argument arm army around arrange arrangement arrest arrival arrive art article artist artwork as aside
    ask asleep aspect assembly assess assessment asset assign assignment assist assistance assistant associate
    association assume assumption astronaut at athlete athletic atlas atmosphere atom attach attachment attack attempt
    attend attendance attendee attention attitude attorney attract attraction attribute auction audience audit auditor
    august aunt author authority authorship auto automatic automobile autumn availability available avenue average avoid
    award aware away baby back background backpack backup bacon bad badge bag baggage bake baker bakery balance balcony
    ball ballet ballot banana band bandmate bank banker bankrupt banner bar barber bare bargain bark barn barrel barrier
    base baseball basement basic basin basis basket basketball bat batch bath bathroom battery battle bay be beach bean
    bear beard beat beautiful beauty became because become bed bedroom bee beef beer before begin beginner beginning
    behavior behaviour behind being belief believe bell belong below belt bench bend benefit berry beside best bet better
    between beverage beyond bicycle bid big bike bill billion billing bin bind biography biology bird birth birthday
    birthplace bit bite black blade blame blank blanket blend blind block blog blood bloom blow blue board boarding boat
    body boil bold bolt bond bone bonus book booking bookstore boot border bored boring born borrow boss both bottle
    bottom bought bound boundary bow bowl box boxer boy brain brake branch brand bread break breakdown breakfast breast
    breath breathe breed breeder breeze brewery brick bride bridge brief bright brilliant bring broad broadcast
    broadcaster brochure broken broker bronze brother brought brown browse browser brush bubble bucket budget buffet
    build builder building built bulb bull bunch burden bureau burn bus business businessman busy but butcher butter
    button buy buyer by cabin cabinet cable cafe cafeteria cake calculate calculation calendar call caller calm calorie
    came camera camp campaign camping campus can cancel cancellation cancer candidate candle candy cap capability capable
    capacity capital captain car caravan carbon card cardinal care career careful cargo caring carpet carriage carrier
    carry cart cartoon case cash cashier casino cast castle casual cat catalog catalogue catch category cathedral cattle
    caught cause caution cave ceiling celebrate celebration celebrity cell cellar cement cemetery center central centre
    century ceo cereal ceremony certain certainly certificate certify chain chair chairman challenge champion
    championship chance chancellor change channel chapter character characteristic charge charity chart chase chat cheap
    check checkin checking checkout cheek cheese chef chemical chemist chemistry cherry chess chest chicken chief child
    childhood children chip chocolate choice choir choose chord chorus chosen chromosome church cigarette cinema circle
    circuit circulation circumstance circus citizen citizenship city civil claim claimant clarify class classic classical
    classification classify classmate classroom clay clean cleaner clear clearance clearly clerk clever click client
    climate climb climber clinic clinical clock close closed closet closure cloth clothes clothing cloud cloudy club
    cluster coach coal coast coat cocktail code coffee coin cold collaborate collapse collar colleague collect collection
    collector college colony color colour column comb combination combine come comedian comedy comfort comfortable
    comment commerce commercial commission commit commitment committee commodity common communicate communication
    community commute companion company compare comparison compartment compensation compete competition competitive
    competitor complain complainant complaint complete completely completion complex complexity compliance complicated
    component compose composer composition compound comprehensive comptroller compulsory computer computing concept
    concern concert conclude conclusion concrete condition conduct conductor conference confidence confident confirm
    confirmation conflict congress connect connection conscious consider considerable consideration consist consistent
    constant constituency constitution construct construction consult consultant consultation consume consumer
    consumption contact contain container contemporary content contest contestant contestants context continent continue
    continuous contract contractor contrast contribute contribution contributor control controller convenience
    convenient convention conversation conversion convert convince cook cookie cool cooperate cooperation cope copper
    copy copyright cord core corn corner corporate corporation correct correction correspond cosmetic cost costume
    cottage cotton couch cough could council councillor counsel count counter country countryside county couple coupon
    courage course court cousin cover coverage cow coworker crack craft crash crazy cream create creation creative
    creator creature credit creditor crew cricket crime criminal crisis criterion criteria critic critical criticism
    crop cross crowd crown crucial cruise cry crystal cuisine culinary cultural culture cup cure curiosity curious
    currency current currently curriculum curtain curve cushion custom customer cut cute cycle cyclist cylinder daily
    dairy dam damage damp dance dancer danger dangerous dark data date daughter dawn day dead deadline deal dealer dean
    dear death debate debit debt debtor debut decade december decide decision deck declare decline decor decorate
    decoration decrease deep deer defeat defect defence defend defender defense deficit define definite definition degree
    delay delegate delegation delete deliver delivery demand democracy democrat democratic demographic demonstrate denied
    density dental dentist deny depart department departure depend dependent deposit depot depth deputy derive describe
    description desert deserve design designer desire desk desktop dessert destination destroy detail detailed detective
    determine develop developer development deviation device diabetes diagnose diagnosis dial diamond diary did die diesel
    diet differ difference different difficult difficulty dig digit digital dimension dinner dioxide diploma diplomat
    direct direction directly director directory dirt dirty disability disabled disadvantage disagree disappear disaster
    disc discharge discipline disclose discount discover discovery discuss discussion disease dish disk dismiss display
    dispute distance distant distinct distinction distinguish distribute distribution distributor district diverse
    diversity divide dividend division divorce do dock doctor document documentary does dog doing dollar domain domestic
    dominant donate donation donor done door dorm dormitory dose dot double doubt down download downtown dozen draft drag
    drain drama dramatic draw drawer drawing dream dress dried drink drive driven driver driving drop drug drum drummer
    dry duck due duet dump duplicate duration during dust duty dynamic dynasty each eager ear earlier early earn
    earnings earth earthquake ease easily east eastern easy eat economic economical economics economist economy edge
    edit edition editor editorial educate education educational effect effective efficiency efficient effort egg eight
    either elder elderly elect election electric electrical electricity electron electronic electronics element
    elementary elevator eleven eligible eliminate elimination else elsewhere email embassy emerge emergency emission
    emotion emotional emperor emphasis empire employ employee employer employment empty enable encounter encourage end
    endorsement endowment enemy energy engage engagement engine engineer engineering enjoy enormous enough enquiry enroll
    enrollment enrol enrolment ensure enter enterprise entertain entertainment enthusiasm entire entirely entity entrance
    entrant entrepreneur entry envelope environment environmental enzyme episode equal equality equation equip equipment
    equity equivalent era error escape especially essay essential establish establishment estate estimate ethnic
    ethnicity euro evaluate evaluation even evening event eventually ever every everybody everyone everything everywhere
    evidence evident evil exact exactly exam examination examine example excellent except exception excess exchange
    excite exclude exclusive excuse execute execution executive exercise exhaust exhibit exhibition exist existence exit
    expand expansion expect expectation expenditure expense expensive experience experiment expert expertise expire expiry
    explain explanation explore export expose exposure express expression extend extension extensive extent external
    extra extract extreme extremely eye fabric face facility fact factor factory faculty fade fail failure fair fairly
    faith fall false fame familiar family famous fan fancy far fare farm farmer farming fashion fast fat father fault
    favor favorite favour favourite fax fear feather feature february federal federation fee feed feedback feel feeling
    feet fell fellow felt female fence festival fetch fever few fewer fiction field fifth fifty fight fighter figure
    file fill film filter final finally finance financial find finding fine finger finish finite fire firm first fiscal
    fish fisherman fishing fit fitness five fix fixed flag flame flash flat flavor flavour fleet flesh flexible flight
    float flood floor flour flow flower flu fluid fly focus fog fold folder folk follow follower food foot football
    footballer for forbid force forecast foreign foreigner forest forever forget fork form formal format formation former
    formula fort forth fortune forty forum forward fossil foster found foundation founder fountain four fourth fraction
    fracture frame framework franchise fraud free freedom freeze freight frequency frequent frequently fresh freshman
    friday fridge friend friendly friendship from front frozen fruit fuel full fully fun function fund fundamental funding
    funeral funny fur furniture further future gain galaxy gallery gallon gamble game gap garage garden gardener garlic gas
    gate gather gathering gauge gender gene general generally generate generation generator generic genetic genre
    gentle gentleman geographic geographical geography geology get ghost giant gift girl give given glad glass global
    glory glove glue go goal goalkeeper goat god gold golden golf gone good goods govern government governor grab grade
    gradual graduate graduation grain grammar grand grandfather grandmother grant grape graph graphic grass gravity gray
    great green greet grey grid grocery gross ground group grow grower growth guarantee guard guardian guess guest guidance
    guide guideline guilty guitar guitarist gulf gun guy gym gymnast gymnastics habit habitat had hair half hall hand
    handbag handicap handle handy hang happen happy harbor harbour hard hardly hardware harm harvest has hat hate have
    he head headline headquarter headquarters health healthcare healthy hear heart heat heating heaven heavy height heir
    held helicopter hello helmet help helpful hemisphere her herb here heritage hero herself hidden hide hierarchy high
    highest highlight highly highway hill him himself hire his hispanic historian historic historical history hit hobby
    hockey hold holder hole holiday home homeland hometown homework honest honey honor honour hope horizon horn horror
    horse horsepower hospital hospitality host hostel hot hotel hour household house household housing how however hub
    huge human humid humidity hundred hunger hungry hunt hunter hurdle hurricane hurry hurt husband hybrid hydrogen ice
    icon id idea ideal identical identification identify identity if ignore ill illegal illness illustrate illustration
    image imagine immediate immediately immigrant immigration impact import importance important importer impossible
    impress impression improve improvement in inactive inbound inch incident include including income incoming incorrect
    increase indeed independence independent index indicate indication indicator individual indoor industrial industry
    infant infection inflation influence inform information infrastructure ingredient inhabitant initial initially
    initiative injure injury ink inland inn inner innovation innovative input inquiry insect inside insight inspect
    inspection inspector install installation installment instance instant instead institute institution instruct
    instruction instructor instrument insurance insure insured insurer integer intelligence intelligent intend intense
    intensity intention interact interaction interest interested interesting interface interior intermediate internal
    international internet interpret interpretation interval intervention interview into introduce introduction invasion
    invent invention inventor inventory invest investigate investigation investigator investment investor invitation
    invite invoice involve iron irrigation is island isolate issue issuer it item itinerary its itself jacket jam january
    jar jazz jersey jet jewelry job jockey join joint joke journal journalism journalist journey joy judge judgment juice
    july jump june jungle junior jury just justice keep keeper key keyboard keyword kick kid kill killer kilogram
    kilometer kilometre kind king kingdom kit kitchen knee knew knife knock know knowledge known lab label labor laboratory
    labour lack ladder lady lake lamb lamp land landlord landmark landscape lane language lap laptop large largely larger
    largest last late lately later latest latitude latter laugh launch laundry law lawn lawsuit lawyer lay layer layout
    lazy lead leader leadership leading leaf league leak lean leap learn learner learning lease least leather leave lecture
    lecturer led left leg legacy legal legend legislation legislative leisure lemon lend lender length lens less lesson let
    letter level liability liable liberal liberty librarian library licence license lid lie life lifestyle lifetime lift
    light lighting lightning like likely limit limitation limited line lineup linen link lion lip liquid list listen
    listener literacy literary literature litre liter little live lively liver living load loan lobby local locate location
    lock lodge lodging log logic logical logistics logo lonely long longer longest longitude look loop loose lord lorry lose
    loser loss lost lot lottery loud lounge love lovely lover low lower lowest loyal loyalty luck lucky luggage lump lunch
    lung luxury lyrics machine machinery mad made magazine magic magnitude maid mail mailbox main mainland mainly mainstream
    maintain maintenance major majority make maker makeup malaria male mall mammal man manage management manager mandatory
    manner mansion manual manufacture manufacturer manufacturing many map marathon marble march margin marine marital mark
    market marketing marketplace marriage married marry mascot mask mass massive master match mate material math
    mathematics matrix matter mature max maximum may maybe mayor meadow meal mean meaning means measure measurement meat
    mechanic mechanical mechanism medal media median medical medication medicine medium meet meeting melody member
    membership memo memorial memory men mental mention mentor menu merchandise merchant merge merger merit mess message
    messenger met metal meter method metre metric metro metropolitan mid middle midfielder midnight might migrant migration
    mild mile mileage military milk mill millimeter million millionaire min mind mine miner mineral mini minimal minimum
    mining minister ministry minor minority mint minus minute miracle mirror miss missile missing mission mistake mix
    mixture mobile mobility mode model moderate modern modest modify module moisture mole molecule moment momentum monarch
    monday money monitor monk monkey monster month monthly monument mood moon moral more moreover morning mortality mortgage
    most mostly motel mother motion motivate motivation motor motorcycle motorist mount mountain mouse mouth move movement
    mover movie much mud multiple multiply multiracial municipal municipality murder muscle museum mushroom music musical
    musician muslim must mutual my myself mystery nail name namely narrow nation national nationality native natural nature
    naval navigation navy near nearby nearest nearly neat necessary neck necklace need needle negative neighbor neighborhood
    neighbour neighbourhood neither nephew nerve nest net network neutral never new newest newly news newspaper next nice
    nickname night nine nitrogen no noble nobody noise nominate nomination nominee none nor norm normal normally north
    northern nose not note notebook nothing notice notification notify notion novel novelist november now nowhere nuclear
    nuisance null number numeric nurse nursery nursing nut nutrition oak object objective obligation obtain obvious occasion
    occasional occupancy occupation occupy occur ocean october odd of off offence offense offer office officer official
    offset often oil okay old older oldest olive olympic on once one ongoing onion online only onto open opening opera
    operate operation operational operator opinion opponent opportunity oppose opposite opposition optimal option optional
    or oral orange orbit orchestra order orderly ordinary organ organic organisation organise organiser organization organize
    organizer orientation origin original other otherwise ounce our ourselves out outbound outbreak outcome outdoor outer
    outgoing outlet outline outlook output outside outsider outstanding oven over overall overdue overhead overnight overseas
    overtime overview owe own owner ownership oxen oxygen pace pack package packaging packet page paid pain paint painter
    painting pair palace pan panel panic paper paperback parade paragraph parallel parcel parent parish park parking
    parliament part partial partially participant participate participation particle particular particularly partly partner
    partnership party pass passage passenger passing passion passive passport password past pasta pastor patch patent path
    patience patient patron pattern pause pavement pay payable payer payment payroll peace peaceful peak peer pen penalty
    pencil penny pension people pepper per perceive percent percentage percentile perfect perform performance performer
    perhaps period periodic permanent permission permit person personal personality personnel perspective pet petition petrol
    petroleum pharmacist pharmacy phase phenomenon philosopher philosophy phone photo photograph photographer photography
    phrase physical physician physicist physics pianist piano pick picnic picture pie piece pig pile pill pilot pin pioneer
    pipe pipeline pitch pitcher pixel pizza place placement plain plan plane planet planner planning plant plastic plate
    platform play player playground playlist plaza pleasant please pleasure plenty plot plug plumber plus pocket podcast poem
    poet poetry point pole police policeman policy polite political politician politics poll pollution pool poor pop popular
    popularity population pork port portable porter portfolio portion portrait pose position positive possess possession
    possibility possible possibly post postage postal postcode poster postpone pot potato potential pottery pound poverty
    powder power powerful powertrain practical practice practitioner precipitation precise precision predict prediction prefer
    preference preferred pregnancy pregnant premier premiere premise premium preparation prepare prescribe prescription presence
    present presentation presenter preserve president presidential press pressure prestige pretty prevent prevention previous
    previously price pricing pride priest primarily primary prime prince princess principal principle print printer printing
    prior priority prison prisoner privacy private privilege prize probability probable probably problem procedure proceed
    proceeding process processing processor produce producer product production productive productivity profession
    professional professor profile profit profitability profitable program programme programmer programming progress
    progressive project projection projector prominence prominent promise promote promotion prompt proof proper properly
    property proportion proposal propose prospect protect protection protein protest prototype proud prove provide provider
    province provincial provision psychologist psychology pub public publication publicity publish publisher publishing pull
    pulse pump punch punctual punish pupil purchase purchaser pure purple purpose pursue push put puzzle qualification
    qualified qualify quality quantity quarter quarterly queen query question questionnaire queue quick quickly quiet quit
    quite quiz quota quotation quote rabbit race racer racial racing rack radar radiation radio radius rail railroad railway
    rain rainbow rainfall rainy raise random range rank ranking rapid rapidly rare rarely rate rather rating ratio rational raw
    ray reach react reaction read reader readily reading ready real realise realistic reality realize really realtor rear
    reason reasonable rebate rebuild recall receipt receivable receive receiver recent recently reception receptionist recession
    recipe recipient recognise recognition recognize recommend recommendation record recorder recording recover recovery
    recreation recruit recruiter recruitment recycle red redeem reduce reduction redundant refer referee reference referral
    refill reflect reform refrigerator refugee refund refuse regard regarding region regional register registered registrar
    registration registry regular regularly regulate regulation regulator reign reject rejection relate relation relationship
    relative relatively relax release relevance relevant reliability reliable relief religion religious rely remain remainder
    remaining remark remarkable remedy remember remind reminder remote removal remove renew renewable renewal renovation rent
    rental renter reorder repair repeat replace replacement reply report reporter reporting represent representation
    representative republic republican reputation request require requirement rescue research researcher resemble reservation
    reserve reservoir residence resident residential residual resign resist resistance resolution resolve resort resource
    respect respective respectively respond respondent response responsibility responsible rest restaurant restore restrict
    restriction result resume retail retailer retain retention retire retirement retreat retrieve return revenue reverse review
    reviewer revise revision revolution reward rhythm rice rich ride rider rifle right ring riot ripe rise risk risky rival
    river road roast rob robot rock rocket rod role roll roller roof room roommate root rope rose roster rotate rough round
    route router routine row royal royalty rubber rubbish rugby ruin rule ruler run runner running runway rural rush sack sacred
    sad safe safety said sail sailing sailor saint salad salary sale salesman salesperson salmon salon salt same sample sand
    sandwich satellite satisfaction satisfied satisfy saturday sauce sausage save saving saw say scale scan scanner scarce scatter
    scenario scene scenery schedule scheme scholar scholarship school science scientific scientist scope score scorer scoring
    scout scratch screen screening screw script sculptor sculpture sea seafood seal search season seasonal seat seating second
    secondary secret secretary section sector secure security see seed seek seem segment select selection selective self sell
    seller semester semifinal seminar senate senator send sender senior seniority sense sensible sensitive sensitivity sensor
    sent sentence separate separately september sequence serial series serious seriously servant serve server service serving
    session set setting settle settlement seven several severe severity sew sewage sex sexual shade shadow shaft shake shape share
    shareholder sharp she shed sheep sheet shelf shell shelter shepherd shift shine ship shipment shipper shipping shirt shock
    shoe shoot shooter shooting shop shopper shopping shore short shortage shortest shortly shot should shoulder shout show
    shower shut shuttle sick sickness side sidewalk sight sign signal signature significance significant silence silent silk
    silver similar similarity simple simply simulation since sing singer single sink sir sister sit site situation six sixth
    sixty size skate skater ski skier skill skilled skin skip skirt sky slave sleep slice slide slight slightly slim slip slogan
    slope slot slow slowly small smaller smallest smart smell smile smoke smoker smooth snack snake snow snowfall so soap soccer
    social society sock sofa soft software soil solar sold soldier sole solid solo solution solve some somebody someone something
    sometimes somewhat somewhere son song songwriter soon sophomore sorry sort soul sound soup source south southern space spare
    speak speaker special specialist specialize specialty species specific specifically specification specimen spectator spectrum
    speech speed spell spelling spend spending sphere spice spider spin spirit spiritual spite split spoke sponsor sponsorship spoon
    sport sporting spot spouse spray spread spring square squad stability stable stadium staff stage stair stake stall stamp stand
    standard standing star stare start starter startup state statement station statistic statistical statistics statue status
    statute stay steady steal steam steel steep stem step stick still stimulate stock stolen stomach stone stood stop stopover
    storage store storey storm story straight straightforward strange stranger strategic strategy stream street streetcar strength
    strengthen stress stretch strict strike striker string strip stroke strong strongly structural structure struggle student
    studio study stuff stupid style stylist subject submission submit subscribe subscriber subscription subsequent subsidiary
    subsidy substance substantial substitute suburb subway succeed success successful successfully succession successor such sudden
    suddenly suffer sufficient sugar suggest suggestion suit suitable suitcase suite sum summary summer summit sun sunday sunny
    sunrise sunset super superior supermarket supervise supervision supervisor supper supplement supplier supply support supporter
    suppose supreme sure surface surgeon surgery surname surplus surprise surround survey surveyor survival survive survivor suspect
    suspend suspension sustain swap swear sweat sweet swim swimmer swimming swing switch symbol sympathy symphony symptom syndrome
    system table tablet tackle tactic tail take taken talent talk tall taller tallest tank tap tape target tariff task taste tax
    taxi taxpayer tea teach teacher teaching team teammate tear technical technician technique technological technology teen
    teenager telephone television tell temperature temple temporary ten tenant tend tendency tennis tension tent tenure term
    terminal terminate terms terrible territory terror terrorist test tester testing text textbook textile than thank that the
    theater theatre theft their them theme themselves then theory therapist therapy there therefore thermal these thesis they thick
    thief thin thing think third thirty this thorough those though thought thousand thread threat threaten three threshold
    throat through throughout throw thunder thursday thus ticket tide tidy tie tier tiger tight tile till timber time timeline
    timetable timing tin tiny tip tire tired tissue title to tobacco today toe together toilet token told tolerance toll tomato
    tomorrow ton tone tongue tonight tonnage tonne too took tool tooth top topic tornado total touch tour tourism tourist
    tournament tow toward towards towel tower town toxic toy trace track tracking tract trade trademark trader trading tradition
    traditional traffic tragedy trail trailer train trainee trainer training tram transaction transcript transfer transform
    transformation transit transition translate translation translator transmission transmit transport transportation trap trash
    travel traveler traveller tray treasure treasurer treasury treat treatment treaty tree tremendous trend trial triangle tribe
    trick trillion trip triple troop trophy tropical trouble truck true truly trust trustee truth try tryout tube tuesday tuition
    tune tunnel turn turnover tutor tutorial twelve twenty twice twin two type typical typically ugly ultimate umbrella umpire
    unable uncle under undergo undergraduate understand understanding unemployed unemployment unfair unfortunately unhappy uniform
    union unique unit unite united unity universal universe university unknown unless unlike unlikely unlimited until unusual up
    upcoming update upgrade upload upon upper upset upward urban urge urgent us usage use used useful user usual usually utility
    vacancy vacant vacation vaccine valid validity valley valuable valuation value van variable variance variation variety various
    vary vast vegetable vehicle velocity vendor venture venue verb verify version versus vertical very vessel veteran veterinarian
    via vice victim victory video view viewer viewership village villager vine vineyard vinyl violation violence violent violin
    virtual virus visa visibility visible vision visit visitor visual vital vitamin vocal vocalist voice volleyball volume voluntary
    volunteer vote voter voting voucher voyage vulnerable wage wagon waist wait waiter waiting waitress wake walk walker wall wallet
    want war ward wardrobe warehouse warm warning warranty warrior was wash waste watch water waterfall wave way we weak weakness
    wealth wealthy weapon wear weather web webpage website wedding wednesday week weekday weekend weekly weigh weight welcome welfare
    well west western wet whale what whatever wheat wheel when whenever where whereas whether which while white whiteboard who
    whole wholesale wholesaler whom whose why wide widely widow width wife wild wildlife will willing win wind window windy wine
    winery wing winner winning winter wire wireless wise wish with withdraw withdrawal within without witness woman women wonder
    wonderful wood wooden wool word work worker workforce working workout workplace workshop world worldwide worry worse worst worth
    would wound wrap wrestle wrestler wrist write writer writing written wrong yard yeah year yearly yellow yes yesterday yet yield
    yoga you young younger youngest your yourself youth zero zone zoo
    african american asian australian austrian belgian brazilian british canadian caucasian chinese christian danish dutch english
    european finnish french german greek hindu indian irish islamic italian japanese jewish korean latin mexican norwegian polish
    portuguese russian scottish spanish swedish swiss thai turkish vietnamese
    accreditation acreage adopter affiliation airfare alias allergen alumni amenities analytics ankle annuity apparel appraisal
    apprentice arbitration assault astronomy bachelor bandwidth bankruptcy baptism barcode bassist batter batting beneficiary billboard
    biologist birthdate birthrate blogger boardroom bodyguard boxing braking brewer broadband brokerage bylaw cabinet calcium
    campsite cardholder caregiver caretaker cashback cashflow certification checklist childcare cholesterol choreographer cleanup
    clearing clientele cloudiness coauthor coefficient cohort collateral collectible colleges commander commissioner compartment
    compiler complexion congregation conservation consignee consignment consortium contagion contractual contingency copilot coursework
    courier courtroom credential crossing cruiser curator curfew custody customs cyclone daytime deductible defendant defender denomination
    departmental depreciation dermatologist descendant descent detention diameter diocese diplomatic directive disbursement discography
    dispatch dispenser dividend divorced donut doorway dosage dropout duchy earner edible electorate electrician elevation embassy encore
    encyclopedia enforcement enquirer epicenter esports eviction exam excavation exemption expedition expiration explorer exporter
    fabrication facilitator farmland fatality fertility fertilizer filename filmography firefighter flagship flooring florist footage
    footnote forecaster forestry formatting freelancer freezer freighter fundraiser fundraising galleries gaming gasoline genome glacier
    goalie grandparent grantee gravel greenhouse groceries grossing groundwater guarantor handling hangar harvester headcount headmaster
    hearing hectare hedge helpline hemoglobin homeowner homepage horseback hotline hydration hygiene idol inauguration incentive
    incubation incumbent inmate innings inpatient insolvency internship intersection inverter irrigated janitor jurisdiction juvenile
    keynote kindergarten landfill lawmaker leasing ledger legislator legislature lending libretto licensee lifeguard lifespan lineage
    listing livestock locality locomotive logger loudness lumber lyricist magistrate mainframe makeover malt manor maternity mayoral
    medalist memorandum mezzanine microphone midterm midwife militia mortality multimedia musician narrator nationwide neurologist
    nightlife nominal northeast northwest notary nutrient obesity obituary occupant offender offspring olympics onboarding oncologist
    onset opener optician orchard ordinance outage outfit outpatient outreach outsource overtime ozone parachute paramedic parameter
    parishioner passcode paternity pathogen patrol pediatrician pedestrian penalty percussion perimeter perishable permanent pest
    philanthropist phosphate piracy pitching planting playoff podium pollen polling polymer postgraduate practitioner precinct predator
    prefecture preorder preview prey probation procurement productivity proficiency prognosis promoter proprietor prosecutor prosthetic
    psychiatrist publicist quartet radiologist rainforest raise ranch ranger realm rebound rebounds receivership recess recital reconciliation
    recount rector redemption referee reimbursement reinsurance relegation remittance renovate repertoire replenishment reptile
    requisition resale resell reseller residue respiration retweet reunion rink riverbank rookie rooster rugby sanction sanitation
    saxophone scandal screenplay screenwriter sculptor seaport sediment senator sergeant serviceman settler severance sewer shareholding
    sheriff shipyard shoreline shortstop showroom sibling signatory singles skincare skyscraper sleeper snowboard socket soloist soprano
    southeast southwest spacecraft span sparse specialization spokesperson spreadsheet sprint sprinter stablemate stakeholder standby
    standings statewide steward stockholder storefront storyline streak striker subcategory subcontractor subdivision subtitle subtotal
    subtype suffrage supermarket superintendent supplemental surcharge surfer surgeon swimsuit syllabus synopsis takeoff tally taxation
    taxonomy telecom tenor terrace terrain thermostat throughput thumbnail ticketing timekeeper timestamp timezone titleholder toddler
    tollbooth toughness townhouse tracklist trackway tractor transcription transistor trauma traveler treadmill trending tributary
    trombone troupe trumpet trustee tugboat turbine turnaround turnout turnstile twitter tycoon typeface typhoon undertaking underwriter
    unionized unpaid unregistered upkeep uptime username utilization vaccination valuation vegetarian vegan vegetation ventilation
    verification verdict veto viaduct villa vintage virology viscosity volcano voltage voyager waitlist warden watershed waterway wattage
    weekday welder wellness wharf wholesale wicket widower windmill windshield winemaker winger wingspan wiring woodland woodwork
    wrapping xylophone yacht yearbook yogurt yolk zebra zinc zoning zoologist zookeeper
    abbreviation ranked rated priced pricing costed staffed listed fluency bathrooms parkland racetrack railcar roundtrip runtime
    statehood township boroughs borough bowler bowling bracket breakage briefing bronze buyback byproduct cadet canal canteen captaincy
    caption cardiologist carpool catering cavity census chassis checkup chronic cinematographer citation citizenry clan clause cleanse
    coalition cockpit comeback commander commuter complement compost compression constraint consul contention correlate counselor counsellor
    covenant crater creed crude crust cubic cuisine cumulative decimal default deforestation delinquent dependant depositor detour deviate
    diagram dialect dialog dialogue digest dining disposal disposable donors dragon drought drummer dues duel duo dwelling ecology electoral
    embark emblem enclosure endangered epidemic equator erosion escort espresso estimation etiquette exponent faction fairway falcon
    fiber fibre fingerprint flavor fluent flyer foreman fragment frontier fungus garment gastric gem gross guild habitable hazard
    herbal herd hint hurdles hydraulic icing illuminate inference inheritance insight insulation intake intake interim intern invoice
    ivory kernel kiosk lagoon lantern latency lava layover lease legion leopard lounge lunar lyric magnet mandate mango manuscript margin
    maritime maturity mayor melting mercury meteor metabolism microwave migrate milestone mold molecule monsoon mortar mosque motto mound
    multiplayer namesake nautical nebula niche nickel nightclub oasis oath octane odds olive orbital orchid ore organism orphan outskirts
    oyster pageant pandemic parity passerby pasture patrol pavilion peninsula perch petal pixel plague plasma plateau plea plumbing plural
    pollinate pony porch predecessor premium probe prone propeller propulsion prose province pulp quake quarry radioactive raft rally ram
    rapper ration reef refinery reflex refuge regatta regime relay relic renewals resin rim robbery rust saddle sanctuary sapling sauna
    savage scarf scooter scrap scroll seller serum shark shrimp shrine silica siren skeleton slalom sled sludge solvent sonar spawn spear
    spinal spire spokesman spore stray stump submarine suspect swamp swan sweater tapestry tavern telescope tempo terrier tofu topping
    torch transient trench trim trivia tundra turf tusk twig urn valve vapor vault velvet verse vest vicar wax weed wharf whistle
    widget wilderness willow wolf workbook worm wreck yarn yeast
    jan feb mar apr jun jul aug sep sept oct nov dec gdp vat tv wifi bluetooth fahrenheit celsius
    are were been am among amongst got gotten gave seen wrote tried aged ascend ascending descend descending alphabetical
    alphabetically destruction confer compatible login logon substring incur arrears flax sesame cumin command exceed
    distinctive anywhere reside interchange incorporate originate zip fry steer accommodate defy accelerator activator
    inhibitor affiliated affiliate authorise authorize accessible lieutenant mailshot adherence adjustment allotment anchor
    animation annotation antenna apparatus artifact auditorium backlog basket benchmark bookmark breach buffer cancelled
    caliber carton churn cluster coefficient colour companion concentration configuration confirmed congestion
    contaminant controversy coordinate coordinator crate crossover dashboard deployment deposit designation deviation
    disposition dispensary donor dosage duplicate easement emission endpoint enrichment enterprise escalation evolution
    execution fabricator fatal feed feedstock fixture forfeit formulary fulfil fulfill fulfillment fulfilment geothermal
    grievance hardness heading horticulture hospitalization hotspot housekeeping hurdle identifier impairment impression
    incident infraction inquiry interruption intersect inventory isotope iteration keyword kilowatt landmark lifecycle
    lodging lookup markdown marker markup maximum megawatt merchant metadata mismatch modality mooring motorway namely
    nationality negotiation nomination occurrence offering onsite opportunity optional outlier output outreach ownership
    payload payout pension persona personnel petition placement plaintiff plugin polarity postcode posting precision
    prescription presence primer privilege probability procurement progression prosecution proximity purity pulse
    questionnaire quota ranking rebate recall recipient reconcile recurrence redeem referral regimen registrant rejected
    reminder remark renewal repayment replica requirement reseller residual respondent retailer retention reviewer rollout
    salinity sanction scheduling screening segment seizure sender sentiment serving setback settlement severity shelf
    shipping shortlist signup sizing skill solvency sourcing spending stability stacking staffing standing statistic
    storage stratum streaming stretch submitter substation supplier surveillance swap symptom takeover tariff taxable
    telephone template tenancy tenure termination tester therapist threshold throughput timeslot tonnage toolkit tracking
    trait transfer translation transmission treatment triage trigger turnover uptake upstream downstream usability usage
    user utility vacancy vaccine validity variance vendor vessel viewer violation visitor voltage voucher waiver warranty
    wastewater wellbeing wholesale workflow workload worksheet yearly zoning
    spent won ran begun kept grown flown shown lent bred fed sung swum drawn ate eaten heard laid paid rose risen rode ridden
    sang sat slept sought spun stuck struck swept taught thrown threw understood wore worn woven beaten blew blown dealt
    drove dug drank drunk fallen fled forgotten froze hung lit meant proven rung slid stole sworn torn woke feet teeth mice
    geese lives wives knives leaves halves shelves wolves axes indices matrices crises theses bases phenomena fungi radii
    curricula media sums totals averages seller resold oversold unsold outsold
""")

_DOUBLED: Final = "bdglmnprt"


def is_word(text: str) -> bool:
    """Return whether a text in lower case is a word of the list or one of its regular forms.

    >>> [each for each in ("city", "cities", "hired", "running", "songid", "albumid", "qty") if is_word(each)]
    ['city', 'cities', 'hired', 'running']
    """
    return text in WORDS or any(stem in WORDS for stem in _stems(text))


def _stems(text: str) -> list[str]:
    """Return what a regular form could be made of; short stems are left out, because they prove little."""
    names: list[str] = []
    for ending, others in (
        ("ies", ("y",)),
        ("ied", ("y",)),
        ("ier", ("y",)),
        ("iest", ("y",)),
        ("ily", ("y",)),
        ("es", ("", "e")),
        ("s", ("",)),
        ("ed", ("", "e")),
        ("ing", ("", "e")),
        ("ings", ("", "e")),
        ("er", ("", "e")),
        ("ers", ("", "e")),
        ("est", ("", "e")),
        ("ly", ("", "le")),
        ("ness", ("",)),
    ):
        if not text.endswith(ending):
            continue
        stem = text[: -len(ending)]
        if len(stem) < 3:
            continue
        names += [stem + item for item in others]
        if ending in ("ed", "ing", "er", "ers", "est") and stem[-1] == stem[-2] and stem[-1] in _DOUBLED:
            names.append(stem[:-1])
    return names
