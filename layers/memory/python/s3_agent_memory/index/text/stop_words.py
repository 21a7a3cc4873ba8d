"""Function words that carry no meaning for search, by language of the stemmer."""

from collections.abc import Mapping
from typing import Final

_ENGLISH: Final = """
a about above after again against all am an and any are as at be because been before being below between both but by
can cannot could did do does doing down during each few for from further had has have having he her here hers him his
how i if in into is it its itself just me more most my myself no nor not now of off on once only or other our ours out
over own same she should so some such than that the their theirs them then there these they this those through to too
under until up very was we were what when where which while who whom why will with would you your yours
s t ll ve re d m don didn doesn isn aren couldn wouldn shouldn wasn weren hasn haven hadn
"""

_GERMAN: Final = """
aber als am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den denn der des die dies diese
diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch euer für hab habe
haben hast hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden
jeder jedes kann kein keine keinem keinen keiner können man mein meine meinem meinen meiner mich mir mit nach nicht
noch nun nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so über um und uns unser unsere unter vom
von vor war waren was wenn wer werden wie wieder will wir wird wo wurde wurden zu zum zur
"""

_FRENCH: Final = """
à ai as au aux avec avez avons c ce ces cet cette d dans de des du elle elles en es est et eu eux il ils j je l la le
les leur leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou où par pas pour qu que qui s sa sans se ses
si son sont sur t ta te tes toi ton tu un une vos votre vous y été était étaient être
"""

_SPANISH: Final = """
a al algo ante antes como con contra cual cuando de del desde donde durante e el él ella ellas ellos en entre era eran
es esa esas ese eso esos esta está están estas este esto estos fue fueron ha han hasta hay la las le les lo los más me
mi mí mis mucho muy nada ni no nos nosotros o os para pero por porque que qué quien se sea ser si sí sin sobre son su
sus también tanto te tiene todo todos tu tú tus un una unas uno unos y ya yo
"""

_ITALIAN: Final = """
a ad agli ai al alla alle allo anche c che chi ci come con cosa cui d da dagli dai dal dalla dalle dallo de degli dei
del dell della delle dello di dove e è ed era erano gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi
mia mie miei mio ne negli nei nel nella nelle nello noi non nostro o per perché più quale quando quella quelle quelli
quello questa queste questi questo se sei si sia sono su sua sue sugli sui sul sulla sulle sullo suo suoi te ti tra tu
tua tue tuo tuoi tutti tutto un una uno vi voi
"""

_PORTUGUESE: Final = """
a à ao aos aquela aquele aquilo as às até com como da das de dela dele deles depois do dos e é ela elas ele eles em
entre era essa esse esta está estas este estes eu foi foram há isso isto já lhe mais mas me mesmo meu meus minha minhas
muito na não nas nem no nos nós nossa nosso num numa o os ou para pela pelas pelo pelos por qual quando que quem se sem
ser seu seus só sua suas também te tem têm teu tua um uma você vocês
"""

_DUTCH: Final = """
aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen had heb
hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon maar me meer men met mij mijn moet na naar
niet niets nog nu of om omdat ons ook op over te tegen toch toen tot u uit uw van veel voor want waren was wat we wel
werd wie wij wil worden zal ze zelf zich zij zijn zo zonder zou
"""

_RUSSIAN: Final = """
а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее её если есть
ещё еще же за здесь и из или им их к как ко когда кто ли либо мне может мой моя мы на над надо наш не него нее нет ни
них но ну о об однако он она они оно от очень по под при с со так также такой там те тем то того тоже той только том
тот ты у уже хотя чего чей чем что чтобы чьё эта эти это этот я
"""

STOP_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "english": frozenset(_ENGLISH.split()),
    "porter": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
    "italian": frozenset(_ITALIAN.split()),
    "portuguese": frozenset(_PORTUGUESE.split()),
    "dutch": frozenset(_DUTCH.split()),
    "dutch_porter": frozenset(_DUTCH.split()),
    "russian": frozenset(_RUSSIAN.split()),
}
