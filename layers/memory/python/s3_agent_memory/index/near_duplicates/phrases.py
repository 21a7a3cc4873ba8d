"""English turns of phrase that say the same as one word, or as another turn."""

from typing import Final

# What is on the left becomes what is on the right; ``~`` marks the verb whose tense is kept, ``*`` a few words that
# stay, ``|`` a tense. Articles are gone by then.
PHRASES: Final = """
be~ fond of = like~; be~ keen on = like~; be~ into = like~; be~ fan of = like~; be~ big fan of = love~;
be~ crazy about = love~; not like~ = dislike~; can not stand = hate|; can not bear = hate|;
like~ * better than = prefer~ * over; like~ * more than = prefer~ * over; prefer~ * to = prefer~ * over;
would like~ = want~; be| able to = can; be|ed able to = could; be| go|ing to = will;
have~ allergy to = be~ allergic to; be~ employed by = work~ for; be~ employed at = work~ for; be~ employed as = be~;
have~ job at = work~ for; have~ job with = work~ for; have~ job as = be~; work~ at = work~ for; work~ as = be~;
be~ live|ing in = live~ in; be~ based in = live~ in; be~ based out of = live~ in; 's home be~ in = live~ in;
have~ residence in = live~ in; 's residence be~ in = live~ in; come~ from = be~ from; hail~ from = be~ from;
originate~ from = be~ from; 's name be~ = be~ call|en; 's birthday be~ on = be|ed born on;
's birthday be~ = be|ed born on; 's date of birth be~ = be|ed born on; have~ get|en = have~;
be~ in possession of = have~; be~ owner of = have~; speak~ fluent = be~ fluent in; be~ hold|en = happen~;
take~ place = happen~; wake~ up = wake~; get~ up = wake~; go~ to sleep = go~ to bed; call~ off = cancel~;
put~ off = postpone~; look~ for = seek~; search~ for = seek~; give~ up = quit~; get~ rid of = discard~;
throw~ away = discard~; throw~ out = discard~; turn~ down = reject~; come~ back = return~; go~ back = return~;
look~ after = take~ care of; care~ for = take~ care of; get~ in touch with = contact~; reach~ out to = contact~;
sign~ up for = register~ for; speak~ with = speak~ to; find~ out = find~; pick~ up = gather~; shift~ to = move~ to;
be~ scheduled for = be~ scheduled on; be~ intend|en for = be~ scheduled on; be~ set for = be~ scheduled on;
make~ use of = use~; make~ purchase of = buy~; be~ in need of = need~; be~ afraid of = fear~; suffer~ from = have~;
in order to = to; so as to = to; prior to = before; subsequent to = after; due to = because of;
owing to = because of; on account of = because of; close to = near; next to = beside; lot of = many; lots of = many;
plenty of = many; large number of = many; no one = nobody; even though = though; at moment = currently;
at present = currently; right currently = currently; these days = currently; most of time = usually;
as rule = usually; every day = daily; every week = weekly; once week = weekly; every month = monthly;
once month = monthly; every year = yearly; annually = yearly; once year = yearly; hardly ever = rarely;
all time = always; at all times = always; as soon as possible = immediately; right away = immediately;
e mail = email; cell phone = mobile; mobile phone = mobile; cellphone = mobile; smart phone = smartphone;
movie theater = cinema; per cent = percent; % = percent; & = and; as well as = and; by profession =;
by occupation =; note that =; remember that =; keep in mind that =; per hour = hour; per day = day; per week = week;
per month = month; per year = year; rather than = instead of; speak~ * fluently = be~ fluent in *;
fluently speak~ = be~ fluent in; be| unable to = can not; be|ed unable to = could not;
have~ be|en live|ing = have~ live|en; have~ be|en work|ing = have~ work|en; be| work|ing for = work| for;
be| study|ing = study|; be| use|ing = use|; have~ birthday on = be|ed born on;
have~ her birthday on = be|ed born on; have~ his birthday on = be|ed born on; ask~ for = request~;
have~ interest in = be~ interested in; every night = nightly; every morning = mornings; every evening = evenings;
have~ * allergy = be~ allergic to *; have| be|en = be|ed; be~ located in = be~ in; be~ situated in = be~ in;
get~ marry|en to = marry~; be~ in charge of = manage~; pay~ visit to = visit~; be~ enrolled at = study~ at;
be~ enrolled in = study~ in; carry~ out = perform~; for instance = for example; as of now = currently;
once day = daily
"""
