"""What counts as saying the same: rewordings do, and whatever changes a fact does not."""

import pytest

from s3_agent_memory.index.near_duplicates.statement import WORD_COUNT_MAX, statement_of

SAME = """
Alice likes tea. | ALICE LIKES TEA
Alice likes tea | alice  likes tea!!
Alice doesn't like tea | Alice does not like tea!
Alice doesn't like tea | Alice dislikes tea
Alice can't stand jazz | Alice hates jazz
Bob didn't buy the car | Bob did not purchase the automobile
I'm allergic to peanuts | I am allergic to peanuts
I have a peanut allergy | I am allergic to peanuts
It's raining | It is raining
They've moved to Rome | They have relocated to Rome
I'd like a window seat | I would like a window seat
Bob paid Alice | Alice was paid by Bob
Carol wrote the report | The report was written by Carol
Bob pays the bills | The bills are paid by Bob
The team has not approved the plan | The plan has not been approved by the team
The board approved the policy on Monday | The policy was approved by the board on Monday
He was hired by them | They hired him
Bob will sell the car | The car will be sold by Bob
Dave painted the house | The house was painted by Dave
Alice lives in Berlin | Alice resides in Berlin
Alice is based in Berlin | Alice lives in Berlin
Alice lives in Berlin now | Alice currently lives in Berlin
Bob is employed by Acme | Bob works for Acme
Bob works as a nurse | Bob is a nurse
Alice owns a red bicycle | Alice has a red bike
Alice is fond of jazz | Alice likes jazz
Nina enjoys hiking in the hills | Nina likes to hike in the hills
Alice prefers tea over coffee | Alice likes tea better than coffee
Carol prefers tea to coffee | Carol prefers tea over coffee
Bob is going to sell his car | Bob will sell his automobile
Dan quit smoking in May | Dan stopped smoking in May
Oscar is afraid of spiders | Oscar fears spiders
The film begins at 7 | The movie starts at seven
The meeting was postponed until Monday | The meeting was delayed until Monday
Her flight departs at 9:30 am | Her flight leaves at 9:30 a.m.
The meeting is at 3pm | The meeting is at 3 PM
Alice was born on 3 March 1990 | Alice was born on March 3rd, 1990
Julia's birthday is on June 5 | Julia was born on 5 June
The rent is 1,200 euros per month | The rent is 1200 euros a month
Ella is 34 years old | Ella is thirty-four years old
Blue is Alice's favorite color | Alice's favourite colour is blue
Alice's dog is named Rex | Alice's dog's name is Rex
On Tuesdays, Alice goes running | Alice goes running on Tuesdays
In 2020, Zoe moved to Lisbon | Zoe moved to Lisbon in 2020
Usually Alice drinks coffee | Alice usually drinks coffee
Alice likes tea and coffee | Alice likes coffee and tea
Alice and Bob paid Carol | Bob and Alice paid Carol
Deploys happen every day | Deploys happen daily
The password must be changed every 90 days | The password has to be changed every 90 days
Use tabs instead of spaces | Use tabs rather than spaces
Sam got a promotion | Sam received a promotion
Victor is a vegetarian | Victor is vegetarian
Alice has a few friends | Alice has several friends
"""

DIFFERENT = """
Bob paid Alice | Alice paid Bob
Alice was paid by Bob | Bob was paid by Alice
The cat chased the dog | The cat was chased by the dog
Alice lent Bob 50 euros | Bob lent Alice 50 euros
Alice paid for Bob | Alice was paid for by Bob
Alice likes tea | Alice dislikes tea
Alice likes tea | Alice doesn't like tea
Alice loves Bob | Alice likes Bob
Alice liked tea | Alice likes tea
Alice works at Acme | Alice worked at Acme
Alice has lived in Rome | Alice lives in Rome
Alice was going to buy a car | Alice will buy a car
Alice used to smoke | Alice smokes
Alice might visit Rome | Alice will visit Rome
Alice has 3 cats | Alice has 4 cats
Alice has three cats | Alice has four cats
The fix is in 3.1 | The fix is in 3.10
The budget is $500 | The budget is €500
The budget is 5 million | The budget is 5 billion
Meeting at 3pm | Meeting at 3am
Meeting at 10:00 | Meeting at 22:00
Born on 03/04/2020 | Born on 04/03/2020
Born on May 3, 1990 | Born on May 3, 1991
The temperature is -5 | The temperature is 5
Alice lives in Rome | Bob lives in Rome
She likes tea | He likes tea
I like tea | You like tea
Alice likes tea | Alice likes coffee
Alice has a brother | Alice has a sister
Alice moved from Rome to Paris | Alice moved from Paris to Rome
Alice moved to Paris | Alice moved from Paris
Call me after 5pm | Call me before 5pm
Alice eats before Bob | Bob eats before Alice
Alice lives with Bob | Alice lives without Bob
Turn it on | Turn it off
Enable dark mode | Disable dark mode
The test passed | The test failed
Bob hired Alice | Bob fired Alice
Alice always eats meat | Alice never eats meat
All tests passed | Not all tests passed
Alice does not always eat | Alice always does not eat
Alice can swim | Alice can't swim
Alice is no longer a smoker | Alice is a smoker
Alice almost won | Alice won
Only Alice likes tea | Alice only likes tea
Alice has few friends | Alice has a few friends
Alice has a plan | Alice has plans
At least 3 people | At most 3 people
Bob is Alice's boss | Alice is Bob's boss
Alice is the manager's assistant | Alice's manager is the assistant
Alice's lawyer trusts Bob | Alice trusts Bob's lawyer
Alice's job is boring | Alice is boring
Alice likes green tea and coffee | Alice likes green coffee and tea
Alice likes Bob and Carol hates Dave | Alice likes Carol and Bob hates Dave
Alice likes tea and hates coffee | Alice hates tea and likes coffee
Alice said Bob left | Bob said Alice left
If it rains, Alice drives | If Alice drives, it rains
Stop the server then start it | Start the server then stop it
In 2020 Bob left, in 2021 Alice left | In 2021 Bob left, in 2020 Alice left
The user prefers tea to coffee | The user prefers coffee to tea
Use tabs instead of spaces | Use spaces instead of tabs
The invoice was sent by Alice to Bob | The invoice was sent by Bob to Alice
Take the pill once a day | Take the pill twice a day
Alice works too much | Alice works much
Is Alice home? | Is Alice home.
C++ | C#
x > 5 | x < 5
\N{THUMBS UP SIGN} Alice | \N{THUMBS DOWN SIGN} Alice
Email a@x.com | Email b@x.com
The password is aBc1 | The password is AbC1
Tell us in time | Tell US in time
The table has 10\N{SUPERSCRIPT FIVE} rows | The table has 105 rows
It is 2\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT THREE} | It is 2-3
Alice is at level 1\N{SUBSCRIPT ZERO} | Alice is at level 10
Alice is at level 1\N{SUBSCRIPT TWO} | Alice is at level 1\N{SUPERSCRIPT TWO}
Run git push --force | Run git push force
Run grep -v | Run grep v
"""


def pairs(table: str) -> list[tuple[str, str]]:
    lines = [line.partition(" | ") for line in table.strip().splitlines()]
    return [(left, right) for left, _, right in lines]


def tokens_of(text: str, language: str = "english") -> tuple[str, ...]:
    statement = statement_of(text, language)
    return () if statement is None else statement.tokens


@pytest.mark.parametrize(("left", "right"), pairs(SAME))
def test_a_rewording_says_the_same(left: str, right: str) -> None:
    assert tokens_of(left) == tokens_of(right) != ()


@pytest.mark.parametrize(("left", "right"), pairs(DIFFERENT))
def test_another_fact_does_not_say_the_same(left: str, right: str) -> None:
    assert statement_of(left, "english") != statement_of(right, "english")


def test_in_other_languages_only_case_and_punctuation_are_forgiven() -> None:
    assert tokens_of("Ich mag Tee.", "german") == tokens_of("ICH MAG TEE", "german")
    assert statement_of("Ich mag Tee", "german") != statement_of("Ich mag den Tee", "german")


@pytest.mark.parametrize("text", ["", "...", " ", "a " * (WORD_COUNT_MAX + 1)])
def test_a_text_without_words_or_with_too_many_says_nothing(text: str) -> None:
    assert statement_of(text, "english") is None
