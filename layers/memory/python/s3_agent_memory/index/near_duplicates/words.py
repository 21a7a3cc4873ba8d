"""English words that say the same: what a reworded text may exchange without saying something else.

A class ends with a semicolon; its first word stands for all. Words of a class may replace each other in a sentence that
people write; where a word has a second sense, none of its class fits there. Words that are merely alike (coffee and
tea, like and love, boss and manager) are in no class, and neither are opposites.
"""

from collections.abc import Iterator, Mapping
from typing import Final

VERBS: Final = """
live reside dwell; buy purchase; begin start commence; finish complete; like enjoy; love adore;
hate detest loathe despise; have own possess; move relocate; get receive; obtain acquire; need require; try attempt;
help assist aid; allow permit; forbid prohibit ban; choose select pick; fix repair mend; build construct;
show display; tell inform; answer reply respond; remember recall; understand comprehend; close shut; use utilize;
reject refuse decline; postpone delay; cancel; contact; seek; return; discard; modify alter change; improve enhance;
increase raise; reduce decrease lower; verify check confirm; happen occur; hire recruit; fire dismiss sack;
teach instruct; intend plan; think believe; eat consume; rent lease; say state; depart leave; delete erase;
gather collect; register enroll enrol; work; be; do; go; come; pay; give; write; read; make; take; see; meet; know;
drive; speak talk; send; sell; cook; drink; play; wake; suffer; want desire; dislike; fear dread; look; search;
care; turn; sign; reach; put; hail; originate; shift; call name; marry; visit; attend; approve; manage; lead; own;
design; create; invite; train; review; paint; found establish; find discover; lose; win; break; steal; sing; wear;
grow; adopt; borrow; lend; beat defeat; host; organize arrange; clean; kiss; kill; catch; throw; hold; run; feed;
stop quit cease; prefer favor favour; request; study; log; store; process; maintain; support; provide supply;
publish; test; deploy; update; release; generate; handle; follow; watch; listen; join; serve; open; replace; record;
report; schedule; plant; wash; examine; inspect; rescue save; award; develop; launch; produce; perform; direct;
compose; cover; protect; control; block; trigger; load; translate; edit; print; cause; lock; carry; bring fetch;
shout yell; weep cry; ask; shower; dance; swim; jog; hike; bike cycle; ski; knit; bake; practice practise;
exercise
"""

# Base form, past, participle; a verb that is not here is regular.
IRREGULAR: Final = """
begin began begun; buy bought bought; get got gotten; understand understood understood; shut shut shut;
choose chose chosen; build built built; show showed shown; tell told told; forbid forbade forbidden;
think thought thought; eat ate eaten; say said said; leave left left; have had had; be was been; do did done;
go went gone; come came come; pay paid paid; give gave given; write wrote written; make made made;
take took taken; see saw seen; meet met met; know knew known; drive drove driven; speak spoke spoken; send sent sent;
sell sold sold; drink drank drunk; wake woke woken; quit quit quit; teach taught taught; seek sought sought;
lead led led; find found found; lose lost lost; win won won; break broke broken; steal stole stolen; sing sang sung;
wear wore worn; grow grew grown; put put put; lend lent lent; catch caught caught; throw threw thrown;
hold held held; run ran run; feed fed fed; beat beat beaten
"""

NOUNS: Final = """
car automobile; apartment flat; doctor physician; movie film; kid child; mother mom mum; father dad;
grandmother grandma; grandfather grandpa; bicycle bike; phone telephone; television tv; refrigerator fridge;
job occupation; company firm; shop store; photo photograph picture; trash garbage rubbish; vacation holiday;
autumn fall; sofa couch; gift present; trip journey; lawyer attorney; colleague coworker; taxi cab;
airplane plane aeroplane; error mistake; problem issue; answer reply response; dinner supper; candy sweet;
baby infant; man guy; friend pal buddy; salary wage; goal aim objective; medicine medication;
illness sickness disease; luggage baggage; pharmacy drugstore; cinema theater; hobby pastime; author writer;
bug defect; rabbit bunny; kids children; physicians doctors; cellar basement; dessert pudding; sidewalk pavement;
zucchini courgette; eggplant aubergine; cilantro coriander; truck lorry; gasoline petrol; diaper nappy;
expense cost; repo repository; docs documentation; config configuration; app application; admin administrator;
info information; ad advertisement; lab laboratory; sunglasses shades; outcome result; location place;
exam examination; student pupil
"""

OTHERS: Final = """
big large; fast quick rapid; quickly rapidly; happy glad; smart clever intelligent; ill sick; rich wealthy;
difficult hard tough; easy simple; correct right; incorrect wrong; important crucial; whole entire;
often frequently; usually typically normally generally; rarely seldom; currently presently now nowadays; every each;
everyone everybody; someone somebody; anyone anybody; maybe perhaps possibly; nearly almost; immediately instantly;
very extremely; many numerous; enough sufficient; favorite favourite; gray grey; center centre; theater theatre;
organization organisation; toward towards; among amongst; while whilst; until till; though although;
mandatory compulsory obligatory; silent quiet; delicious tasty; beautiful pretty; strange odd weird;
afraid scared frightened; color colour; huge enormous; main primary; entirely completely;
wonderful marvelous marvellous; awful terrible horrible; calm peaceful; costly expensive pricey; cheap inexpensive;
dangerous hazardous; infrequently rarely; lengthy long; recently lately; roughly approximately; certain sure;
sleepy drowsy; thin slim; brief short; extra additional; various diverse; annual yearly; solely exclusively;
foggy misty
"""

CONTRACTIONS: Final[Mapping[str, str]] = {
    "can't": "can not",
    "cannot": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "i'm": "i am",
    "let's": "let us",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "have to",
    "'til": "until",
    "i'd": "i would",
    "we'd": "we would",
    "o'clock": "",
}
ENDINGS: Final[Mapping[str, str]] = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will"}

NUMBERS: Final[Mapping[str, str]] = (
    {
        word: str(number)
        for number, word in enumerate(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty".split()
        )
    }
    | {"twice": "2 times", "thrice": "3 times", "dozen": "12", "thirty": "30", "forty": "40", "fifty": "50"}
    | {"sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
)

ORDINALS: Final[Mapping[str, str]] = {
    word: f"{number}th"
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=1
    )
} | {"1st": "1th", "2nd": "2th", "3rd": "3th"}

MONTHS: Final[Mapping[str, str]] = {
    name: f"{number:02d}"
    for number, names in enumerate(
        "january jan;february feb;march mar;april apr;may;june jun;july jul;august aug;september sep sept;october oct;"
        "november nov;december dec".split(";"),
        start=1,
    )
    for name in names.split()
}
WEEKDAYS: Final = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
DAYTIMES: Final = frozenset("morning afternoon evening night noon midnight weekend week month year day summer".split())

# Also nouns, and taken for them where nothing follows that could be their object.
VERBS_AND_NOUNS: Final = frozenset(
    "bike cycle hike phone test report record log host update lock cover cause process store exercise practice "
    "schedule award block trigger load print plant shower dance request release".split()
)
# After "a"; without it they say how little there is.
QUANTITIES: Final[Mapping[str, str]] = {"few": "several", "little": "bit"}
BETWEEN_AUXILIARIES: Final = frozenset("not never always already often usually also just recently".split())
ARTICLES: Final = frozenset("a an the".split())
PRONOUN_SUBJECTS: Final[Mapping[str, str]] = {"me": "i", "him": "he", "them": "they", "whom": "who"}
# After these, an "'s" is a short "is".
IS_HOSTS: Final = frozenset("it he she that what who there here where how this everything nothing".split())
# Before these, too: none of them begins what somebody has.
IS_FOLLOWERS: Final = frozenset(
    "a an the not in at on from very really always never going allergic married called named based".split()
)
# Before these it is a short "has".
HAS_FOLLOWERS: Final = frozenset("been got".split())
# What somebody likes, begins or prefers to do is what they like doing.
BEFORE_GERUNDS: Final = frozenset("like love hate begin prefer".split())
PERIODS: Final = frozenset("morning afternoon evening night weekend week month year day summer winter spring".split())
PREPOSITIONS: Final = frozenset(
    "about above after against along among around at before behind below beside between by during for from in inside "
    "into near of off on onto out over past since through to toward under until up upon via with within without".split()
)
CONJUNCTIONS: Final = frozenset(
    "and or but nor so yet because if when while whenever unless though that which who where than as before after "
    "until since whether respectively".split()
)
NEGATIONS: Final = frozenset("not no never without none nobody nothing neither nor dislike hate rarely".split())
# Left out where nothing is denied, and at an end of a sentence.
FILLERS: Final = frozenset("really truly actually also please".split())
LAST_FILLERS: Final = frozenset({"too"})
MODALS: Final = frozenset("will would can could may might must shall should".split())
# A word after one of these is a noun, whatever verb it looks like.
NOMINAL: Final = (
    ARTICLES
    | (PREPOSITIONS - {"to"})
    | frozenset(
        "my your his her its our their 's this that these those some any many much every each no more most few several "
        "big small new old good bad first last next two".split()
    )
)
FLOATING: Final = frozenset(
    "mornings evenings nightly "
    "usually often sometimes currently daily weekly monthly yearly today yesterday tomorrow recently "
    "occasionally".split()
)


def classes(table: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the word that stands for each class of a table, and the words of the class."""
    for item in table.split(";"):
        words = item.split()
        yield words[0], words
