"""Words that prompts about the conversation itself are made of, in several languages; data for `hybrid.prompting.gate`.

Written by hand, from the turns people take in a session: they agree, thank, refuse, ask to go on, to repeat, to commit.
None of these words says what part of a project is meant, so a prompt made of nothing else has nothing to search for.
"""

from __future__ import annotations

FUNCTION = """
a an the this that these those there here it its itself such one ones i me my mine myself im ive id ill we us our ours
were weve lets you your yours yourself youre youve youd u ur he him his she her they them their someone something
anything everything nothing everyone anyone nobody thing things stuff am is are was be been being isnt arent wasnt
werent aint do does did doing done dont doesnt didnt have has had having havent hasnt hadnt can could may might must
shall should will would ought cant cannot couldnt shouldnt wont wouldnt wanna gonna gotta lemme and or but nor so yet if
then than because cause cuz since while although though as at by for from in into of off on onto out over per through to
until till up down upon via with within without about above after against before behind below between during under like
not no never none neither either both all any some every each another other others many much more most few less least
lot lots half whole rest same different enough only own first second third last latter former next previous earlier
later what whats when whens where wheres which who whos whom whose why whys how hows thats theres heres now today
tonight tomorrow yesterday morning evening afternoon weekend moment minute minutes hour hours day days week seconds sec
secs min mins time times soon again already almost always ever once twice often sometimes still just too very quite
really rather pretty actually basically simply probably maybe perhaps certainly definitely totally entirely fully
partially partly mostly mainly extremely incredibly utterly surely indeed strongly highly slightly somewhat monday
tuesday wednesday thursday friday saturday sunday absolutely completely exactly truly honestly obviously clearly also
even else instead anyway anyways besides together away back around far forward ahead further apart etc eg ie vs plus
whenever whatever wherever whoever whichever however therefore meanwhile tho among wouldve couldve shouldve shes hes
theyre theyve youll itll meantime finally latest except somebody forever middle beginning ago
"""

COURTESY = """
ok okay okey okie k kk kay alright aight yes yep yeah yup yea ya ye yess aye nope nah nay sure fine agreed agree
affirmative negative thanks thank thx tx ty tysm thankyou cheers please pls plz plse kindly welcome sorry apologies
pardon excuse hi hello hey hiya howdy yo bye goodbye cya ciao later greetings farewell night goodnight gn gm morning afk
brb ttyl np nvm good great nice cool perfect excellent awesome amazing fantastic wonderful brilliant lovely beautiful
neat sweet super solid stellar superb outstanding impressive magnificent terrific splendid gorgeous elegant epic dope
lit sick rad best better well wow whoa oh ah aha hm hmm hmmm mhm uh um uhh umm huh meh ugh argh oops whoops yay yeehaw
hooray woohoo bravo kudos congrats congratulations haha hahaha hehe lol lmao rofl omg wtf tbh imo imho idk iirc afaik
fyi asap lgtm sgtm wfm ack nack job work works worked working effort buddy pal mate man dude bro friend guys folks team
sir boss claude codex gemini copilot assistant ai bot much appreciated appreciate grateful glad happy pleased love loved
loving helpful pleasure right correct wrong incorrect true false bad worse worst odd weird strange funny interesting
clear unclear confusing confused sense hate mess terrible awful horrible broken useless dumb stupid silly annoying crap
shit damn fuck fucking hell heck charm trick genius lifesaver teamwork nailed blessing stunning flawless ideal phew sigh
oof yikes dammit damnit jeez shame ridiculous nonsense rubbish sucks disappointing disappointed annoyed frustrated
frustrating tired embarrassing apology apologize apologise apologizing impressed delighted thrilled tl dr tldr ta lots
hurray fair treat
"""

TALK = """
go goes going gone went come comes coming came get gets getting got give gives giving gave keep keeps keeping kept let
make makes making made take takes taking took put puts say says saying said tell tells telling told talk talking speak
ask asks asking asked answer answers answered answering reply replies respond response responses question questions know
knows knowing knew known think thinks thinking thought guess suppose believe feel feels sound sounds seem seems see sees
seeing saw seen look looks looking looked show shows showing showed hear heard hearing listen watch notice want wants
wanted need needs needed wish hope prefer mean means meant mind matter matters care understand understands understood
explain explains explained explaining explanation clarify elaborate summarize summarise summary recap repeat repeats
repeating rephrase reword simplify shorten translate describe detail details detailed concise brief briefly verbose
short shorter long longer simple simpler simpl easy easier quick quickly fast faster slow slower slowly carefully
careful try tries trying tried retry start starts started starting begin stop stops stopped stopping pause wait waits
waiting hold continue continues continuing proceed proceeds resume carry move moving finish finishes finished end ended
complete completed done ready remaining left skip skips skipping ignore forget cancel cancelled abort quit exit leave
leaving break close do redo undo undone revert reverted rollback roll restore reset use using used choose chosen pick
option options choice approach alternative idea ideas suggestion suggestions suggest recommend recommendation opinion
decide decision agree disagree change changes changed changing happen happens happened happening help helps helping
helped assist able possible okay approve approved approving accept accepted accepting allow allowed confirm confirmed
confirming deny denied reject rejected yours step steps plan plans planned part parts point points side way ways bit
kind sort reason reasons case cases everything status progress news update updates state stage situation issue issues
problem problems trouble quiet shut silent relax calm chill patient patience hurry rush bother worry worries worried
deal fun chat chatting statement claim fact facts information info catch caught misunderstand misunderstood misread
misheard remember remembered reminded doubt doubts sure assume assumption read direction scratch double safe useful
mistake mistakes million bunch conversation name called meet meeting lunch dinner coffee tea sleep bed home rest number
two three four five six seven eight nine ten zero couple few sentence sentences word words language english german
french spanish chinese japanese italian portuguese russian miss missed missing forgot forgotten trust blame pros cons
necessary necessarily intended decided preferred depends afterwards literally convinced agrees honest firm overthink
overthinking guessing promise promised genuine busy cool twice liked likes found finding beginning begins began begun
full roughly expect expected expecting talked preference whichever remind reminds stuck forever late final skipped
assumed causes caused moment listening follow complicated fault safest safer impatient
"""

# What is done to a working tree in any project.
WORKFLOW = """
commit commits committed committing push pushes pushed pushing pull pulls pulled pulling merge merges merged merging
rebase rebased squash squashed stash stashed branch branches main master upstream origin pr prs mr review reviewed
reviewing diff diffs checkout cherry amend fetch tag run runs running ran rerun reruns rerunning execute test tests
tested testing build builds built building rebuild compile compiles lint linter linting typecheck format formatter ci
pipeline check checks checked checking verify verified verifying pass passes passed passing fail fails failed failing
failure failures red green suite result results output outputs open ship shipped deploy deployed release released
publish restart restarted reload stage staged unstage apply applied save saved force forced lease conflict conflicts
restarting
"""

# Words that may be the subject of a search: they only belong to a session when something points back to it.
SUBJECT = """
add adds added adding remove removes removed removing delete deletes deleted deleting clean cleanup fix fixes fixed
fixing update updated updating improve improved improving rewrite rewrote rewritten refactor refactored rename renamed
write writes writing wrote written edit edits edited editing replace replaced implement implemented implementing
implementation touch touched error errors message messages log logs warning warnings bug bugs crash crashed file files
line lines code function functions method methods class comment comments doc docs documentation readme typo typos folder
directory table list lists version versions feature features task tasks todo todos item items ticket tickets job command
commands tool tools mistake mistakes stuff section paragraph text default debug print paste pasted permission create
creating created request requests cut circles call find live cleaner tidy tidier neater round description descriptions
title draft drafts assign assigned
"""

# Point back to the conversation: what the agent did, said, or shows.
POINTERS = """
this that thats these those it its them you your youre youve yours u again now last previous next same other others
another else earlier above just today yesterday still already yet done left remaining so far first second latter former
back instead yourself yourselves mine myself
"""

CHANGE_VERBS = """
add remove delete fix update improve rewrite refactor rename write edit replace implement change make support allow
handle create
"""

QUESTION_WORDS = "how where wheres which"
"""Openers of a question about the project, even when `I` or `we` follow: `you` or `this` turn it to the session."""

CONVERSE_POINTERS = "you yourself your youre youve yours u this that thats these those it last previous again"

KNOWN_TYPOS = """
god teh hte taht thta waht wath jsut yuo yuor yoru adn nad fo ot si ti iwth wiht ahve hvae dont't im'm wnat watn thnks
thx's thakns tahnks thansk tnx thnx thanx plaese pleas plese plz's pelase comit commti comitt cmmit puhs psuh contineu
contiune contnue conitnue proced procede lok loks loosk godo goood gret graet perfekt prefect awsome nie ncie alrigth
agian agin agai shoudl woudl coudl becuase becasue recieve undestand tets tset tsets rnu urn wrok wroks okk oki okidoki
yess noo yse eys nxt plse plae thsi tihs htis whta hwat dotn cna nto tehn thier wuold coud shoud shud wud cud wanan ogod
niec okya oaky gona rigth aggree mro omre thne jus veyr abck bakc doign goign onn nwo tje tha thye wrng worng sotp stpo
satrt strat mkae maek amke gvie giev tkae taek frist fisrt seocnd secnd
"""

NO_TYPOS = """
stats event exist exists width given names zeros complex simplex theta theme storage plain plane shift leading taken
clause reversed world choices states choice holds compiled leaves rights moments receive black plans plant described
shown heading possibly formatted implements statement statements nonce party movie linking likes ideal filling issued
issuer timed haven closer moves stays infos brack falling saves numer expit launch pulse cased locks locking sorter
fixers maker looping masking greeting conform chained starred string strings listing staring committee committees
reviewer checker planner compiler committer starter publisher merger updater widths guest guests users weak whole meant
weight weights trail trails proof pats loose loses letter letters ratio chart charts heart hearts wired thread threads
sheet sheets friend friends trade trades stick sticks quota quotas noise notes cover covers form tow won dose veer lost
odes nose tier rite onus sown tires containing indexed texts depend parsing cloud sampler writers props relies seeds
confusion whereas mises minus executed decoded specs linked executing clauses probs compilers polling place places
remains
"""
"""Words of their own that are one slip away from a session word: never taken for a slip."""

# One row a language: agreement, thanks, refusal, going on, repeating, and the little words between them.
LANGUAGES: dict[str, str] = {
    "german": """
        führe führ starte ausführe bestätige erledigt gefällt stimme zu bin dafür lieber vielleicht na klar logo ja jo
        jep nein nee doch danke dankeschön dank vielen bitte gern gerne weiter mach mache machen macht gemacht so gut
        sehr super toll prima klasse passt perfekt genau richtig falsch stimmt alles in ordnung einverstanden das den
        dem der die es ist war jetzt nochmal noch mal einmal wieder von vorne erneut bis hier heute für und oder aber
        nicht kein keine warte stopp halt los geht gehts fertig okay schön schon auch nur dann wie ich du wir mir dir
        uns mich dich sie ihr was warum hast hat habe haben weitermachen fortfahren fahre fort tests test laufen lass
        ausführen committen committe pushen pushe rückgängig letzte letzten änderung änderungen zeig zeige erkläre
        verstehe verstanden sieht aus hallo tschüss moin servus morgen guten tag abend mein dein im mit auf sind kannst
        kann könntest soll sollen sollst möchte will erstmal einfach bitteschön gleich später gemeint meinte meinst
        glaube glaubst denke denken nachdenken überlegen falsche falschen nächste nächsten nächster reicht bescheid sag
        sagen sagst gesagt wo waren wart stehen stehengeblieben geblieben geklappt klappt klappte eigentlich geändert
        funktioniert funktionierte leider immer viel mehr weniger kurz kürzer einfacher genauer danach davor vorher
        vorhin zuerst erst zuletzt alle beide beiden andere anderen anders etwas anderes da dort davon damit dazu dabei
        dagegen darüber drüber ihm ihn ihnen unser unsere euer eure meine meiner deine deinen dieser diese dieses diesen
        jede jeder jedes ein eine einen einem einer wer wen wem welche welcher welches wird wurde werden worden würde
        wäre wären sei bist seid hätte hatte hatten gehabt darf darfst muss musst müssen müsste könnte können konnte
        kannste machst machte mag möchtest wollte wollen weiß weiss weißt wissen gib gibt geben lasse lassen liegen
        schau schaue guck gucken anschauen lies gelesen antworte antwort frage fragen erklär erklären zusammenfassung
        zusammen fasse nimm nehmen zurück selber selbst sonst genug passiert passieren mist schade sorry entschuldigung
        tut leid nichts niemand jemand irgendwie irgendwas irgendwo wenn weil dass ob obwohl also sondern denn zwar eben
        ganz ziemlich wirklich echt total absolut perfekte gute guter gutes besser beste schlecht schlechter schlimmer
        gleiche gleichen dasselbe selbe ersten erste zweite zweiten dritte dritten letzter vom beim ins ans zur zum bei
        nach über unter seit ohne gegen um stimmts nö joa jawohl jup top spitze hervorragend wunderbar genial hammer
        mega geil krass hi hey moinsen nacht wochenende feierabend pause mittag tschau ciao bye grüße liebe weg loslegen
        leg legen anfangen fang aufhören hör abbrechen abgebrochen brich schritt schritte idee gefragt verstehst
        verwirrt klingt eins zwei drei vier fünf minute minuten stunde stunden sekunde sekunden tage woche montag
        dienstag mittwoch donnerstag freitag samstag sonntag versuch versuche versuchen vorgeschlagen vorschlage
        vergessen vergiss finde findest finden welchen bevorzugst lasst scheint aussieht gesehen sehe sehen siehst
        verstand missverstanden erinnere erinner schwierig leicht schnell langsam vorsichtig genommen geh gehen gegangen
        komm kommen kommt gekommen kommst bleib bleiben bleibt fehlt fehlen punkte stand meinung entscheide entscheiden
        entschieden helfen hilf geholfen hilfe beenden beende beendet fertigstellen mittlerweile inzwischen gestern
        bestimmt natürlich selbstverständlich begründe begründung hierfür damals demnächst überhaupt je solange sobald
        bevor nachdem während trotzdem deshalb deswegen sowieso jedenfalls übrigens recht unrecht meinen arbeit
        kompliziert verwirrend aufgehört gedacht melde meldest andern übrigen schuld vorschlagen wahrscheinlich lustig
        wunderschön herzlichen anderer probieren probiere daran daraus darin darauf worauf womit wofür deren überprüfen
        prüfen prüfe prüf kontrollieren kontrolliere dran weitere
    """,
    "french": """
        j'ai t'as qu'il l'ai n'est j'aime m'en va passe étape relis valide validé oui ouais non si merci beaucoup mille
        stp svp s'il te vous plaît plait d'accord daccord ok continue continuez continuer vas-y vas allez allons-y y
        parfait super bien très génial excellent bravo nickel top c'est cest ça ca cela le la les un une des du de et ou
        mais pas encore fois refais recommence recommencer relance relancer arrête arrete stop attends attendez tout bon
        bonne bonjour salut bonsoir revoir au à a je tu il elle nous on me moi toi lui est es suis fait fais faire lance
        lancer tests test commit committe pousse annule annuler dernier dernière modification modifications montre
        explique comprends compris maintenant aussi seulement juste peux peut veux voir comme marche fonctionne
        exactement correct faux alors donc puis ensuite pour avec sans dans sur mon ton ma ta mes tes que qui quoi
        pourquoi comment plus tard suite prochain prochaine ce cette cet désolé pardon aide journée soirée c'était
        n'était n'as n'ai voulais voulait voulu veut voulez toujours jamais rien quelque chose autre autres essaie
        essayer essaye demain m'expliquer expliquer simplement attend réfléchis réfléchir peu ils elles leur leurs en
        d'un d'une dis-moi dire dit dis disais donne donner été étais étaient avais avait avons ont était être avoir
        faut fallait dois doit devrais pourrais pourrait pourriez pouvez sais sait savoir crois pense penser regarde
        regarder relire lis première premier deuxième second seconde troisième avant après pendant depuis jusqu'à là ici
        là-bas même mêmes aucun aucune quel quelle quels quelles celui celle ceux laisse laisser trop assez moins mieux
        pire plutôt vraiment pareil tous toute toutes chaque sûr certain reprends reprendre finis finir fini terminé
        termine retour arrière reviens revenir valider confirme accord volontiers merveilleux impeccable nul zut mince
        dommage raison tort oups week-end nuit pause voilà bah ben euh bcp rapidement vite lentement résumé résume court
        courte simple vrai trompé branche désolée ne se sinon car lorsque quand où dont aux notre nos votre vos ses son
        sa deux trois quatre cinq minute minutes heure heures secondes jour jours semaine matin soir lundi mardi
        mercredi jeudi vendredi samedi dimanche pousser oublié oublie oublies étapes précédente précédent verra verrai
        voit vois voyons préfères préfère préférer laquelle lequel lesquels cours long longue réponse réponses répondre
        réponds comprendre comprend clair claire facile difficile lent rapide semble semblait paraît trouve trouves
        trouver choisis choisir choix idée façon manière aider aidé aides m'aider essayé essayons rappelle rappelles
        souviens arrive arrivé passer passé reste rester resté viens venir vient seul seule hier bientôt peut-être
        évidemment naturellement effectivement clairement carrément tranquille d'abord enfin puisque malgré selon vers
        chez entre j'étais étions faute travail job compliqué compliquée arrêté arrêtés arrêtée s'était s'est s'arrête
        autrement franchement dernières drôle joli reprend reprenons as ai mal vérifier vérifie vérifies contrôle
        faisons revérifie
    """,
    "spanish": """
        sí si no gracias muchas mil por favor vale de acuerdo claro perfecto genial excelente bien muy bueno buena
        buenas buenos días dias hola adiós adios hasta luego mañana continúa continua continuar continúe sigue seguir
        siga adelante dale hazlo haz hacer hecho otra vez nuevo intenta inténtalo repite repetir espera espere para
        parar detente alto ya eso esto esta está es son era el la los las lo un una y o pero también solo ahora ejecuta
        corre pruebas tests test commit sube súbelo deshaz último ultima última cambio cambios muestra muéstrame explica
        explícame entiendo entendido listo todo nada más mas me te se le mi tu yo tú él ella nosotros que qué cómo como
        cuál cual cuando dónde con sin en a al del correcto incorrecto exacto eres soy puedes puede podrías quiero
        funciona funcionó funciono siguiente paso ayuda perdón disculpa noches tardes demás así volver vuelve estaba
        estaban todavía aún prueba probar momento déjame dejar deja pensar pienso creo crees puedo podemos pueden
        explicármelo explicarme despacio rápido quieras quieres quiere quería querías segunda primero primera tercero
        ninguna ninguno algo alguien alguna alguno otro otros otras les nos os sus su mis tus nuestro fue eran ser estar
        estoy estás estamos ha he has hemos han había hay haya hizo hice hiciste haces hago sirve sirvió salió sale va
        voy vamos van ir di dime dijo dije dicho decir digo pedi pedí pediste gustó gusta encanta mejor peor igual mismo
        misma mismos cosa cosas porqué porque donde quien quién antes después entonces ahí aquí allí acá desde entre
        sobre bajo aunque sino ni tampoco siempre nunca veces rato mal malo verdad cierto seguro segura tienes tengo
        tiene razón quedó queda bravo venga vaya ojalá agradezco agradecido noche tarde finde descanso pausa olvida
        olvídalo cancela cancelar resume resumen corto simple sencillo breve revertir revierte regresa atrás ayúdame
        muchísimas guay chévere bárbaro buenísimo perfectamente entendí entiendes dos tres cuatro cinco minuto minutos
        hora horas segundo segundos semana semanas lunes martes miércoles jueves viernes sábado domingo ayer manera
        forma parece parecía sigamos sigues seguimos olvidaste olvidado olvidé últimos cuáles respuesta respuestas
        responde responder dímelo dilo entender entendiste comprendo prefieres prefiero elige elegir elegiste escoge
        fácil difícil lento clara camino idea ideas ayudar ayudaste recuerda recuerdas acuerdas pasó pasa pasar pasado
        quedan quedar quédate viene vino venir llega anterior anteriores terminar termina terminaste terminado acaba
        acabar acabaste empezar empieza comienza probaste intentar intentamos ver veo ves vemos mira mirar deberías
        debes debe debería realmente seguramente quizás quizá tal tanto tanta tan cada todos toda todas mientras según
        casi además culpa trabajo complicado complicada demasiado demasiada volvamos estábamos arreglado bonito gracioso
        lástima pena raro confuso buen gran revisarlo revisar revisa revisas verifica verificar comprueba comprobar
        hacemos
    """,
    "portuguese": """
        sim não nao obrigado obrigada muito valeu por favor ok certo claro perfeito ótimo otimo excelente bom boa bem
        legal beleza continue continua continuar siga segue seguir pode prosseguir prossiga em frente faça faz fazer
        isso isto esse este essa esta é e foi está de novo outra vez tente tenta repita repete espera espere pare parar
        o a os as um uma ou mas também só agora execute rode roda testes teste commit suba envie desfaça desfaz última
        ultimo último mudança mudanças mostre mostra explique explica entendi entendo pronto tudo nada mais me te se meu
        seu eu você voce nós que como qual quando onde com sem no na do da para pra oi olá ola tchau até logo dia tarde
        noite funcionou funciona próximo passo ajuda desculpe desculpa amanhã aí era queria quero quer deixa deixe
        pensar penso acho acha mesmo mesma igual ainda resto primeiro primeira segundo segunda terceiro melhor pior
        nunca sempre já aqui ali lá então depois antes porque porquê quê quem são foram ser estar estou estamos tem
        tenho têm ter fiz fez fizeste fazendo posso podemos podes vai vou vamos ir diga dizer disse falou falei falar
        errado errada certeza verdade desculpas voltar volta atrás outro outros outras algum alguma nenhum nenhuma muita
        muitos pouco menos demais assim tá né pro pelo pela dele dela sua seus suas meus minha minhas nosso nossa das
        dos nas nos num numa ao aos às à ele ela eles elas lhe vocês gostei gosto adorei maravilha show top massa
        brigado brigada obrigadão resumo resuma curto simples rápido devagar cancela cancelar seguindo dois duas três
        quatro cinco minuto minutos hora horas segundos semana semanas ontem cedo ficou ficar fica fiquei esqueceu
        esqueci esquece esquecer resposta respostas responde responder quais prefere prefiro escolha escolher escolhe
        fácil difícil parece parecia vejo vê ver viu olha olhar ideia jeito maneira forma caminho ajudar ajudou lembra
        lembre aconteceu acontece passou passa resta restam vem veio anterior terminar termina terminou acabar acabou
        começar comece começa tentar tentei tentou entender entendeu deveria deve devia realmente talvez cada todos
        todas toda enquanto quase além tal tanto tão perfeitamente exatamente concordo combinado vc vcs vlw blz obg pfv
        pf razão culpa trabalho complicado complicada bonito estranho confuso pena paramos estávamos verificar verifica
        verifique confere conferir revisar revisa fazemos entendido
    """,
    "italian": """
        così cosi sì si no grazie mille tante per favore prego va bene ok okay certo d'accordo daccordo perfetto ottimo
        eccellente bravo molto buono bello fantastico continua continuare procedi prosegui vai avanti fallo fai fare
        fatto ancora una volta di nuovo riprova ripeti aspetta fermati ferma basta il lo la i gli le un uno e o ma anche
        solo ora adesso questo quello questa quella è era esegui lancia test commit annulla ultima ultimo modifica
        modifiche mostra mostrami spiega spiegami capito capisco tutto niente più mi ti me te io tu noi che come cosa
        perché quale quando dove con senza in a al del della da dal ciao arrivederci buongiorno buonasera notte giusto
        sbagliato esatto puoi può vorrei voglio funziona prossimo passo aiuto scusa pure attimo fammi pensare penso
        credo non prova provare domani dell'aiuto all'inizio all' volevo vuoi vuole intendevo primo prima secondo
        seconda terzo migliore meglio peggio stesso stessa uguale altro altra altri altre qualcosa qualcuno nessuno
        sempre mai già qui lì là poi dopo quindi allora se chi sono sei siamo siete stato stata stai sto essere avere ho
        hai ha abbiamo hanno aveva fa faccio facciamo fanno fatta posso possiamo possono potresti dovresti devi devo
        dire detto dimmi dici dai andiamo vado lascia lasciare lasciamo stare torna tornare indietro com'era chiaro
        sicuro vero ragione torto sbaglio colpa scusami dispiace piace nei nel nella sul sulla dalla ai agli alle dei
        degli delle suo sua mio mia tuo tua nostro loro lui lei essi ci vi ne punto riassunto riassumi breve semplice
        veloce meraviglioso fantastica grande forte figo domattina sera pomeriggio pausa due tre quattro cinque minuto
        minuti ore secondi settimana ieri presto lasciato dimenticato dimenticare dimentica passaggio capire capisci
        risposta risposte rispondi rispondere spiegati spiegare spiegarmi quali preferisci preferisco scegli scegliere
        scelta facile difficile chiara sembra sembrava vedo vedi vedere visto guarda guardare idea modo maniera strada
        aiutare aiutami aiutato ricorda ricordi successo succede passato resta restano rimane viene venuto precedente
        finire finito finisci terminare cominciare comincia inizia iniziare provato proviamo dovrebbe deve veramente
        davvero forse ogni tutti tutte tutta mentre quasi inoltre tale tanto l'ultimo l'ultima un'altra quegli quei
        lavoro complicato complicata strano confuso peccato eravamo rimasti controllare controlla controlli verificare
        verifica rivedere
    """,
    "dutch": """
        ja nee dank bedankt dankjewel dankje je u alsjeblieft aub graag prima goed heel erg top mooi perfect precies
        klopt akkoord oké oke ga door verder doorgaan doe maar doen gedaan nog een keer opnieuw probeer wacht stop even
        het de dat dit die is was en of ook alleen nu vandaag morgen draai tests test commit push maak ongedaan laatste
        wijziging wijzigingen laat zien leg uit begrijp begrepen alles niets niet geen meer ik jij jullie wij we mij me
        mijn jouw wat hoe waarom wanneer waar met zonder in op aan van voor hallo hoi doei dag goedemorgen werkt kun kan
        kunt wil klaar volgende stap rest bedoelde bedoel bedoelt terug steeds iets anders hulp tot ziet zie er zo niks
        weer terugdraaien wilde wilt zou zouden kunnen moet moeten mag mogen had hebt heb heeft hebben ben bent zijn
        waren wordt werd geworden worden deed doet zeg zei zeggen gezegd vertel denk denken dacht kort korter simpel
        simpeler makkelijker beter best slecht fout foute goede juist jammer helaas sorry excuses eerst eerste tweede
        derde ander andere anderen beide alle allemaal iemand niemand ergens hier daar toen dan dus want omdat als toch
        wel eens eigenlijk echt zeker misschien straks later vanavond weekend avond nacht pauze lekker bezig prachtig
        geweldig fantastisch netjes man vraag vragen antwoord snap snappen samenvatting stoppen ophouden vergeet laten
        maken onze ons hun hem haar zij hij deze welke wie over onder bij naar na per apart daarna eruit twee drie vier
        vijf minuut minuten uur uren seconde seconden dagen week gisteren staan stappen vergeten vergat snapte
        antwoorden uitleggen lijkt leek zag gezien kijk kijken vind vindt vinden verkies kies kiezen welk makkelijk
        moeilijk duidelijk snel langzaam rustig idee manier helpen geholpen help herinner gebeurde gebeurt blijft
        blijven komt kom komen vorige klaarmaken beginnen begin begonnen geprobeerd proberen moest echter natuurlijk
        waarschijnlijk elke elk terwijl bijna bovendien zoals hetzelfde dezelfde zelf gelijk ongelijk schuld werk
        ingewikkeld verwarrend vreemd gebleven overige controleren controleer nakijken checken afgesproken
    """,
    "swedish": """
        ja jo nej tack så mycket snälla gärna bra jättebra perfekt toppen okej fortsätt kör på vidare gör det den om
        igen en gång till försök vänta stopp sluta nu och eller men inte är var testerna test tester committa pusha
        ångra senaste ändringen visa förklara klart allt inget mer jag du vi mig dig vad hur varför hej hejdå fungerar
        kan kom med nästa steg lite här gjort funkar precis exakt menade menar mena sånt sådär fortfarande testa något
        någon annat andra annan hjälpen hjälp ses imorgon idag ikväll igår räcker räckte där japp jajamän kanon
        jättefint fint snyggt grymt underbart tackar tusen varsågod ursäkta förlåt heller bara mindre bättre sämre bäst
        fel rätt rätta ska skulle vill ville kunde kunna måste får fick hade har haft blev blir bli vara varit gjorde
        göra tror tycker tänker tänka tänk säg säga sa sade sagt berätta fråga frågor svar svara igenom tillbaka ta bort
        dem de deras min mitt mina din ditt dina vår vårt våra han hon sig oss er ni att för av från vid hos efter före
        innan sedan sen när då vilken vilket alla båda första tredje förra samma natt morgon god helg paus kväll klar
        färdig glöm strunta kort kortare två tre fyra fem minut minuter timme timmar sekund sekunder dagar vecka ser såg
        sett titta låt låta glömde glömt steget sista förstår förstod svaret enklare enkelt lätt svårt tydligt snabbt
        långsamt verkar tycks hittade välj välja föredrar idé sätt hjälpa hjälpte minns hände händer kvar stanna kommer
        avsluta börja började prova försöker verkligen kanske varje medan nästan också själv fels jobb jobbat arbete
        krångligt konstigt synd förvirrande övriga resten ut in upp ner kolla kollar kontrollera granska
    """,
    "danish_norwegian": """
        ja jo nei nej takk tak mange skal du ha fint flott bra godt perfekt supert greit fortsett fortsæt kjør kør på
        videre gjør gør det den igjen igen en gang til prøv vent stopp stop nå nu og eller men ikke er var testene
        testerne test commit push angre fortryd siste sidste endringen ændring vis forklar ferdig færdig alt ingenting
        mer mere jeg vi meg mig deg dig hva hvad hvordan hvorfor hei hej bare sånn sådan lad la være som samme likevel
        alligevel fortsatt stadig fungerer virker noe noget annet andet andre mente mener for hjelpen hjælpen ses sees i
        morgen dag kveld aften natt nat god helg weekend fin kanon knall super akkurat præcis nettopp riktig rigtig
        forkert bedre best bedst dårlig kort kortere vil ville kan kunne må måtte får fikk fik hadde havde har hatt haft
        blir bliver ble blev vært været gjorde gjøre gøre tror synes tenker tænker tenke tænke vente litt lidt si sig
        sagt spør spørg svar tilbake tilbage dem de han hun seg oss os dere jer min mitt mit mine din ditt dit dine vår
        vores dette denne disse når da hvor hvilken alle begge første neste næste forrige av af fra hos etter efter før
        siden så også om at med uten uden over under to tre fire fem minutt minutter minut time timer sekund uke uge ser
        sett set se titt kig slik glemte glemt glem steg steget trinn trin forstår forsto svaret enklere nemmere enkelt
        lett svært tydelig raskt hurtigt langsomt velg vælg foretrekker idé måte måde hjelpe hjælpe husk skjedde skete
        kommer kom avslutt begynne start prøve prøvd virkelig kanskje måske hver mens nesten næsten selv rett ret jobb
        job arbejde jobbet komplisert indviklet rart synd resten ut ud inn ind opp op sjekk sjekke tjek tjekke
        kontroller
    """,
    "polish": """
        tak nie dzięki dzieki dziękuję dziekuje bardzo proszę prosze dobrze dobra okej super świetnie swietnie idealnie
        kontynuuj kontynuować dalej zrób zrob to jeszcze raz ponownie spróbuj czekaj poczekaj stop i lub ale teraz jest
        było uruchom testy test zatwierdź wypchnij cofnij ostatnią zmianę zmiany pokaż wyjaśnij rozumiem gotowe wszystko
        nic więcej ja ty my mi ci co jak dlaczego cześć hej działa dziala następny krok miejsca miejscu gdzie skończyłeś
        skończyłaś skończyliśmy chodziło chodzi źle zle działało za pomoc do jutra na od z w o po przy dla bez przed nad
        pod przez tego temu tym ten ta te tę tą kto czemu czy kiedy który która które są być będzie był była byli mam
        masz ma mamy macie mają miałem miał chcę chcesz chce chciałem chciałbym możesz może mogę możemy musisz muszę
        trzeba zrobiłeś zrobił robisz robi rób zrobić powiedz powiedział mówiłem mówię myślę pomyśleć daj wróć wracaj
        wróćmy cofnąć inaczej inny inna inne coś ktoś nikt zawsze nigdy potem później najpierw pierwszy pierwsza drugi
        druga trzeci ostatni lepiej lepszy gorzej lepsze jasne pewnie oczywiście spoko luz git ekstra dziękuje wielkie
        przepraszam sorki wybacz szkoda dobranoc wieczór weekend przerwa krótko krócej prościej prosto wytłumacz
        podsumuj podsumowanie znowu wszystkie każdy oba obie reszta resztę tylko trochę mało dużo więc bo ponieważ żeby
        jeśli ze się sie go jej ich mu nam wam twój twoje mój moje nasz lecimy pa narazie działaj proste mnie mną tobą
        cię dwa dwie trzy cztery pięć minuta minuty minut godzina godziny godzin sekunda sekundę dni tydzień wczoraj
        wygląda wyglądało widzę widzisz zostaw zostawić zostaje zapomniałeś zapomniałaś zapomniałem zapomnij kroku kroki
        kroków ostatnim ostatniego rozumiesz zrozumiałem zrozumiałeś odpowiedzi odpowiedź odpowiedz pytanie pytania
        twojej twoja twoją mojej moja moją wolisz wolę wybierz łatwiej łatwe trudne jasno wydaje chyba szybko wolno
        powoli pomysł sposób sposobem pomóż pomogłeś pamiętasz stało dzieje zostało idzie idziemy chodź poprzedni
        poprzedniej poprzednia skończ skończyć zacznij zacząć próbuj spróbujmy naprawdę każde podczas prawie też również
        tutaj tam stąd zmień rację racja wina robota praca skomplikowane dziwne pozostałe pozostali świetna dobrą dobrej
        sprawdzić sprawdź sprawdzisz sprawdzam umowa zgoda
    """,
    "czech_slovak": """
        ano jo ne nie děkuji děkuju díky dik ďakujem prosím prosim dobře dobre super skvěle výborně pokračuj pokracuj
        dál ďalej udělej urob to ještě ešte jednou raz znovu zkus počkej počkaj stop a nebo ale teď teraz je bylo spusť
        testy test commitni pushni vrať poslední změnu ukaž vysvětli rozumím hotovo všechno nic já ty my co jak proč
        ahoj funguje tohle tak nemyslel nemyslela myslel myslím myslim zpátky zpět späť horší lepší předtím takhle není
        byla byl jsem jsi jsme jste jsou být bude budu budeme mám máš má máme chci chceš chce chtěl můžeš může můžu
        musíš musím nefunguje pořád zas zase něco jiného jiný jinak někdo nikdo vždy nikdy potom později nejdřív první
        druhý druhá třetí další stejně stejné jasně určitě moc omlouvám promiň škoda dobrou noc zítra dnes večer ráno
        přestávka krátce stručně jednodušeji shrň řekni řekl počkat vteřinu minutu přemýšlím přemýšlet všechny oba
        zbytek jen jenom velmi trochu málo hodně takže protože aby když kde kdo který že se si ho mu nám vám tvůj můj na
        do od za pro bez před po při z v o s u k pomoc nech nechej zastav som sme ste sú ako čo dva dvě tři čtyři pět
        minuta minuty minut hodina hodin sekunda včera vypadá vypadalo vidím vidíš zapomněl zapomněla zapomeň krok kroky
        kroku posledním rozumíš odpověď odpovědi otázka jednodušší lehčí těžké jasné zdá rychle pomalu nápad způsob
        pomoz pamatuješ stalo děje zbývá jde jdeme předchozí skonči začni opravdu možná každý skoro také taky tady tam
        pravdu moje práce práca složité divné ostatní zkontroluj zkontrolovat ověř domluveno
    """,
    "turkish": """
        evet hayır hayir tamam peki teşekkürler tesekkurler teşekkür ederim sağol sagol lütfen lutfen devam et edelim
        edebilirsin güzel guzel harika mükemmel süper iyi çok yap bunu şunu onu tekrar bir daha dene bekle dur şimdi
        simdi ve veya ama değil testleri çalıştır commit pushla geri al son değişikliği göster açıkla anladım bitti her
        şey hiçbir ben sen biz ne nasıl neden merhaba selam olmuş oldu olmadı olur olmaz olsun aynen böyle şöyle demek
        istemedim istiyorum istedim istedin ister hâlâ hala çalışmıyor çalışıyor çalıştı başka yardımın yardım için
        yarın görüşürüz görüşmek üzere eyvallah eline elinize sağlık bravo helal aferin biraz dakika saniye düşüneyim
        düşünüyorum düşün bana sana ona bize size beni seni bizi var yok vardı değildi mı mi mu mü mısın misin musun
        olan olarak ile gibi kadar sonra önce şu şunlar bunlar bu bunun onun benim senin kendin kendi hepsi hepsini hiç
        ilk ikinci üçüncü sonuncu diğer diğerleri aynı aynısını yanlış doğru kötü kısa basit basitçe detaylı anlat
        anlatır anlatsana söyle söyledim dedim dedin dediğim unut boşver vazgeç iptal bırak kalsın dön başa nerede
        kalmıştık kaldık gidelim adım adımlarla küçük büyük sefer günaydın geceler akşam akşamlar pardon özür dilerim
        kusura bakma tabii tabi tabiki elbette kesinlikle olabilir belki zaman niye hangi iki üç dört beş saat gün hafta
        dün görünüyor görünüyordu gördüm gör bakalım bak kalır unuttun unuttum adımı adımlar cevabını cevap cevabın
        cevapla anlamadım anlıyorum anla anlatabilir soru kolay zor açık hızlı yavaş sanki galiba fikir yol yöntem
        yardımcı hatırla hatırlıyor kaldı geliyor gel gidiyor git gitti önceki bitir bitirdin başla başlayalım denedim
        deneyelim gerçekten sırada neredeyse ayrıca seç tercih hangisi hangisini buna bundan şundan ondan böylece
        istediğim gibiydi yanlışlıkla haklısın haklı hatam suç iş işi çıkardın karışık garip yazık diğerlerini
        diğerlerine gelsin kontrol eder kez anlaştık yapalım
    """,
    "indonesian": """
        ya iya tidak nggak terima kasih makasih banyak tolong silakan baik bagus oke sip mantap lanjut lanjutkan
        teruskan kerjakan lakukan itu ini lagi sekali ulangi coba tunggu berhenti sekarang dan atau tapi bukan jalankan
        tes test commit push batalkan terakhir perubahan tampilkan jelaskan mengerti selesai semua saya kamu kita apa
        bagaimana kenapa halo saja seperti begitu begini maksud aku gue gw lu anda sih dong deh kok nih tuh masih belum
        sudah udah gak ga enggak bisa boleh mau ingin harus perlu jangan biar biarkan kembalikan balikin semula tadi
        kemarin besok sampai jumpa dulu nanti sebentar pikir pikirkan yang di ke dari untuk dengan pada oleh karena jadi
        kalau juga lebih paling kurang sama lain lainnya hal sesuatu pertama kedua ketiga benar salah betul jelas keren
        hebat luar biasa siap sempurna bantuannya bantu maaf selamat pagi siang sore malam singkat sederhana ringkas
        jelasin berhasil jalan gagal saran terserah dua tiga empat lima menit jam detik hari minggu kelihatannya
        kelihatan terlihat lihat lupa langkah terakhirnya paham ngerti jawaban jawab pertanyaan tanya mudah susah sulit
        cepat pelan ide cara ingat terjadi tersisa datang sebelumnya selesaikan mulai benar-benar mungkin setiap hampir
        sini sana pilih mana kira rasa cukup salahku kesalahan kerja kerjaan rumit aneh sayang sisanya periksa cek
        setuju sepakat
    """,
    "vietnamese": """
        vâng dạ có không cảm ơn cám bạn nhiều làm tốt lắm rồi được ok tiếp tục đi lại lần nữa nó này đó thử chờ dừng bây
        giờ và hoặc nhưng chạy test commit push hoàn tác xong hết tôi gì sao thế nào xin chào tuyệt vời cứ như vậy nhé
        nha nhá phải ý ạ à ơi thôi đừng vẫn chưa đã đang sẽ hãy giúp em anh chị mình tớ cái kia ấy đây thì mà là của với
        cho để khi nếu vì nên hơn nhất khác giống trước sau đầu tiên thứ hai ba cuối cùng bước đúng sai rõ hiểu nghĩ
        muốn cần bị chút đợi lát mai hẹn gặp ngày tối sáng ngủ ngon hay quá tạm biệt giải thích ngắn gọn đơn giản chi
        tiết nói kể quay về cũ hoạt động trông ổn vầy quên mất câu trả lời hỏi dễ khó nhanh chậm tưởng cách nhớ xảy ra
        còn bắt kết thúc thật mỗi gần ở chọn phút bốn năm xem nhìn thấy việc phức tạp lạ tiếc cậu phần kiểm tra đồng
    """,
    "russian": """
        да ага нет неа спасибо спс большое пожалуйста хорошо ладно ок окей отлично супер класс прекрасно идеально верно
        точно правильно неправильно продолжай продолжайте продолжить дальше далее давай делай сделай это то ещё еще раз
        снова заново попробуй повтори подожди стоп хватит и или но не теперь сейчас запусти прогони тесты тест закоммить
        коммить закоммитить запушь пушь отмени последнее последние изменение изменения покажи объясни понял поняла
        понятно готово всё все ничего больше я ты мы вы мне тебе меня что как почему привет пока работает очень так в на
        с по же уже только следующий шаг духе имел имела ввиду виду верни верните вернуть вернул было была был были быть
        будет будем буду работало работают по-другому другому другой другое другие помощь помог помогло помоги завтра
        сегодня вчера минутку минуту секунду секундочку подумаю думаю думать думаешь подумать тот та те того тому тем
        этого этому этом эту этот эти такой такое такая него неё ней них ним им его её их ему ей нам вам нас вас мной
        мой моя моё мои твой твоя твоё твои наш ваш сам сама сами себя себе при до от из у о об к за под над без для
        через между про хочу хочешь хотел хотела можешь может могу можно нужно надо должен должна нельзя сделал сделала
        сделано делаешь делает сказал сказала говорил говорю скажи скажешь говори если чтобы потому поэтому когда где
        куда кто чей какой какая какие который ли бы вот вон там тут здесь туда сюда потом затем сначала первый первое
        первую второй второе вторую третий предыдущий остальное остальные остальных лучше хуже плохо жаль извини
        извините прости простите норм нормально круто клёво огонь здорово молодец красава спасибочки благодарю угу нету
        конечно разумеется давайте поехали вперёд оставь оставим забудь отмена отбой закончи закончил вечера ночи доброе
        утро добрый день вечер выходных перерыв короче кратко проще подробнее объяснить ответ ответь вопрос вопросы
        смысле том сей целом слишком немного чуть мало много столько сколько какие-то что-то кто-то всего всем всех
        каждый оба обе самое самый опять пробуй почти никак никогда всегда именно просто два две три четыре пять минут
        минуты час часа часов секунд дня дней неделя неделю выглядит выглядело смотрится вижу видишь видел смотри
        посмотри оставить есть забыл забыла шаги шага последний последнего понимаю понимаешь поймёшь ответа ответы
        ответил попроще покороче подробно объясняй легче трудно сложно ясно кажется похоже наверное быстро медленно идея
        идею способ способом помогает помню помнишь напомни случилось происходит осталось остался идёт идём иди пошли
        предыдущую предыдущей закончить заканчивай начни начинай начать пытайся попробовать действительно возможно
        каждую тоже также выбери выбирай выбор нравится понравилось предпочитаешь делать устраивает пойдёт подойдёт прав
        права правы ошибся ошиблась вина работа работу хорошая отличная странно остальными останавливались остановились
        шагом проверить проверь проверишь проверяй договорились сделаем согласен согласна
    """,
    "ukrainian": """
        так ні дякую дуже будь ласка добре гаразд ок чудово супер ідеально правильно продовжуй далі давай роби зроби це
        то ще раз знову спробуй зачекай стоп і й та або але не тепер зараз запусти тести тест закоміть запуш скасуй
        останню зміну зміни покажи поясни зрозумів готово все нічого я ти ми ви що як чому привіт працює само мав мала
        увазі на поверни повернути було була був були бути буде будемо досі працювало допомогу допоможи завтра сьогодні
        вчора хвилинку секунду подумаю думаю думати той те того тому тим цього цьому цим цю цей ці такий таке інше інший
        інші його її їх йому їй нам вам нас вас мій моя моє твій твоя твоє наш ваш сам сама себе собі при до від із з у
        в о об к за під над без для через між про хочу хочеш хотів хотіла можеш може можу можна треба потрібно повинен
        зробив зробила зроблено робиш сказав сказала казав кажу скажи якщо щоб бо коли де куди хто який яка яке які чи
        же ж би ось там тут потім спочатку перший перше другий друге третій попередній решта решту краще гірше погано
        шкода вибач вибачте перепрошую нормально круто клас молодець звісно звичайно давайте поїхали залиш облиш забудь
        досить доброго ранку дня вечора ночі вихідних перерва коротко коротше простіше докладніше відповідь питання
        переходь наступного наступне наступний вже усе мене мені тебе тобі трохи багато мало кожен обидва зрозуміло
        комміт коміт два дві три чотири пять хвилин хвилини година годин секунд день дні тиждень виглядає виглядало бачу
        бачиш дивись подивись залишити забув забула кроки кроку останній розумію розумієш відповіді легше важко складно
        ясно здається мабуть швидко повільно ідея спосіб допомагає памятаєш нагадай сталося відбувається залишилося йде
        йдемо іди попередню закінчи почни починай спробувати дійсно можливо кожну також теж вибери вибір подобається
        зрозуміла роблю правий права помилився вина робота роботу гарна дивно останнє крок перевірити перевір перевіриш
        домовились зробимо згоден
    """,
    "arabic": """
        نعم أجل لا شكرا شكراً جزيلا من فضلك لو سمحت حسنا حسناً تمام ممتاز رائع جيد جدا استمر أكمل تابع افعل ذلك هذا مرة
        أخرى أعد انتظر توقف الآن و أو لكن شغل الاختبارات مرحبا على النحو ليس ما قصدته قصدت أقصد أرجعه أرجع كما كان كانت
        زال يعمل تعمل حاول جرب مساعدتك مساعدة نراك غدا أراك إلى اللقاء مع السلامة صباح مساء الخير السلام عليكم عليك في
        عن أن إن إذا هل كيف لماذا متى أين ماذا هو هي هم أنا أنت نحن لي لك له لها لنا لكم به بها فيه منه عليه كل جميع بعض
        شيء شيئا آخر أول الأول الثاني الثالث الأخير التالي التالية الخطوة خطوة سابق السابق قبل بعد ثم لأن أيضا فقط قليلا
        كثيرا أكثر أقل أفضل أسوأ صحيح طيب أوكي اوكي شكرًا مشكور يعطيك العافية رائعة عظيم مذهل بالضبط طبعا أكيد ربما لحظة
        دقيقة دعني أفكر اشرح اشرحي وضح باختصار قل قلت افعلها نفس الشيء تلك هذه الذي التي أريد تريد يمكن يمكنك أستطيع يجب
        اترك انتهى تم ليست لم لن قد بشكل يا أخي اثنان ثلاثة دقيقتين ساعة يوم أمس يبدو تبدو اتركه اتركها هكذا نسيت نسيتَ
        لقد الخطوات الأخيرة أفهم فهمت تفهم إجابتك الإجابة جواب سؤال أسئلة أسهل أبسط بسيط بسيطة صعب سهل واضح بسرعة ببطء
        فكرة طريقة الطريقة ساعدني تذكر حدث يحدث بقي تبقى السابقة ابدأ ابدا انته أنهي أنه حقا كنت كنا تفضل اختر أيهما
        منهما مرتين المرة هنا هناك نعود عد ارجع رجوع وضعه سيء جميل محق خطئي خطأي غلطتي عمل العمل معقد غريب الباقي البقية
        جيدا جيدًا التحقق تحقق راجع اتفقنا موافق
    """,
    "hindi": """
        हाँ हां नहीं धन्यवाद शुक्रिया कृपया ठीक है अच्छा बहुत बढ़िया जारी रखो रखें आगे बढ़ो बढ़ें करो करें यह वह फिर से
        दोबारा रुको अब और या haan nahi dhanyavaad shukriya theek hai accha bahut badhiya jaari rakho aage badho karo
        phir se dobara ruko ab aur ऐसे ही बढ़ते रहो मेरा मेरे मेरी मतलब था थी थे वापस अभी भी काम कर रहा रही रहे कोशिश
        क्या क्यों कैसे कब कौन कहाँ मैं मैंने मुझे हम हमें तुम तुमने आप आपने आपका तेरा उस उसे उसको इस इसे इसको ये वो जो
        तो पर लेकिन मगर क्योंकि अगर तब जब सब सभी कुछ दूसरा दूसरे पहला पहले आखिरी अगला बाद में को का के की ने तक बस ज़रा
        थोड़ा ज्यादा कम बेहतर सही गलत हो होगा हुआ हुई गया गई जाओ दो दे दिया लो ले लिया बताओ बताइए समझाओ समझ समझा आया
        रुकिए सोचने सोचता हूँ हूं हैं भाई यार जी मदद कल मिलते नमस्ते शाबाश वाह एक बार चल चलो चलेगा बिल्कुल ज़रूर शुभ
        रात्रि ek baar bhi hi bhai yaar aise aisa waise karte raho rahe raha rahi chal chalo chalega abhi tak try kar
        karna kiya kya kyu kyun kaise kab kaun main maine mujhe mera mere meri hum tum tumne aap aapne aapka tera us use
        usko is ise isko ye yeh wo woh jo toh to par lekin magar kyunki agar tab jab sab sabhi kuch dusra dusre pehla
        pehle aakhri agla baad mein me ko ka ke ki ne bas zara thoda jyada zyada kam behtar sahi galat ho hoga hua hui
        gaya gayi jao do de diya lo le liya batao bataiye samjhao samajh samjha aaya wapas matlab nhi nai tha thi the ji
        han acha achha bohot bhut mast kal milte hain hu hoon wah shabash bilkul zaroor rukiye sochne तीन चार पाँच मिनट
        घंटे सेकंड दिन हफ्ते लग लगता लगा रहने भूल भूलो गए कदम जवाब सवाल आसान मुश्किल जल्दी धीरे दिक्कत तरीका याद बचा
        बाकी शुरू खत्म सच शायद हर करना करते देखो देख teen char minute lag lagta rehne bhool bhul gaye kadam jawab sawal
        aasan asaan mushkil jaldi dhire dikkat tarika yaad bacha baki shuru khatam sach shayad har dekho dekh गलती अजीब
        galti kaam ajeeb जाँच जांच सकते सकती सकता देखिए check sakte
    """,
    "finnish": """
        kyllä joo juu ei en et emme ole oli olet olen kiitos kiitti paljon hyvä hyvin hienoa hieno upea mahtavaa
        täydellistä loistavaa jatka jatketaan eteenpäin samaan malliin samalla tavalla tee tehdään tehty se sen sitä
        tämä tämän tätä tuo tuon uudelleen uudestaan vielä kerran yritä kokeile odota hetki lopeta seis nyt sitten ja
        tai mutta myös vain aja testit testi peru palauta takaisin viimeinen viimeisin muutos muutokset näytä selitä
        ymmärrän ymmärsin valmis kaikki mitään mikään enemmän minä mä sinä sä me te he minun mun sinun sun mitä mikä
        miten miksi missä milloin kuka hei moi terve tarkoittanut tarkoitin tarkoita toimi toimii toimiiko vieläkään
        jotain muuta toinen ensimmäinen toista huomenna tänään nähdään anteeksi ok okei selvä jees niin kuin kun että
        jos apu avusta seuraava askel parempi huonompi oikein väärin ehkä voit voitko voisitko haluan ajattelen mietin
        kaksi kolme minuutti minuuttia tunti sekunti näyttää näytti hyvältä pahalta jätä jättää noin unohdit unohda
        askeleen vaihe vaiheen vastaus vastauksesi kysymys helpompi yksinkertaisemmin lyhyemmin nopeasti hitaasti idea
        tapa auta muistatko tapahtui jäi jäljellä aloita lopetetaan oikeasti joka melkein täällä siellä kumpi valitse
        oikeassa väärässä virheeni työ työtä outo loput muut tarkista tarkistaa sovittu
    """,
    "greek": """
        ναι όχι ευχαριστώ ευχαριστούμε πολύ παρακαλώ ωραία τέλεια τέλειο μπράβο καλά καλό καλή καλύτερα σωστά λάθος
        εντάξει οκ συνέχισε συνεχίστε προχώρα προχώρησε έτσι κάνε κάν' το τα τον την της του των τους αυτό αυτά εκείνο
        ξανά πάλι άλλη μία μια φορά δοκίμασε προσπάθησε περίμενε σταμάτα στοπ τώρα μετά πριν και ή αλλά επίσης μόνο
        τρέξε δοκιμές τεστ αναίρεσε γύρισε πίσω τελευταία αλλαγή αλλαγές δείξε εξήγησε κατάλαβα καταλαβαίνω έτοιμο όλα
        τίποτα άλλο κάτι εγώ εσύ εμείς μου σου μας σας με σε τι πώς γιατί πού πότε ποιο ποιος γεια καλημέρα καληνύχτα
        καλησπέρα εννοούσα εννοώ δεν δε μη μην να θα είναι ήταν είσαι είμαι έχω έχεις έχει λειτουργεί δουλεύει ακόμα
        αύριο σήμερα λέμε συγγνώμη βοήθεια για από στο στη στην στον όπως που επόμενο βήμα πρώτο δεύτερο ίδιο ένα στιγμή
        λίγο σκεφτώ δύο τρία λεπτά λεπτό ώρα ώρες φαίνεται φαινόταν άσε άστο ξέχασες ξέχνα απάντηση απάντησε ερώτηση
        απλά εύκολο δύσκολο γρήγορα αργά ιδέα τρόπος βοήθησε θυμάσαι έγινε έμεινε ξεκίνα τελείωσε πραγματικά ίσως κάθε
        σχεδόν εδώ εκεί διάλεξε προτιμάς βλέπω δες δίκιο δουλειά περίπλοκο παράξενο υπόλοιπα έλεγξε ελέγξεις μπορείς
        σύμφωνοι συμφωνώ
    """,
    "hebrew": """
        כן לא תודה רבה בבקשה מעולה מצוין יופי טוב טובה נהדר מושלם סבבה אוקיי אוקי בסדר גמור תמשיך תמשיכי המשך להמשיך
        הלאה ככה כך תעשה עשה לעשות את זה זאת הזה ההוא שוב עוד פעם נסה תנסה תנסי חכה רגע עצור תעצור די עכשיו אחר אחרי
        לפני כמו גם רק אבל או ו תריץ הרץ בדיקות טסטים בטל תבטל תחזיר אחורה שינוי השינוי אחרון האחרון תראה הראה לי תסביר
        הסבר הבנתי מבין מוכן הכל כלום יותר אני אתה אנחנו שלי שלך לך לנו מה איך למה איפה מתי מי שלום היי בוקר לילה ערב
        התכוונתי לזה עדיין עובד מחר היום להתראות סליחה עזרה על העזרה של עם בלי אל מ ב ל כ ש הבא צעד ראשון שני אותו דבר
        כל הכבוד היה הייתה יש אין משהו שתיים שלוש דקה דקות שעה שעות נראה נראית תשאיר תשאירי שכחת שכח תשובה התשובה שאלה
        פשוט קל קשה מהר לאט רעיון דרך תעזור זוכר קרה נשאר תתחיל סיים סיימת באמת אולי כמעט כאן שם תבחר מעדיף הצעד השלב
        האחרונה השני השנייה הראשון צודק צודקת עבודה מסובך מוזר השאר תבדוק בדוק יכול מסכים
    """,
    "persian": """
        بله آره نه خیر ممنون مرسی متشکرم سپاس خیلی زیاد لطفا لطفاً خوب خوبه عالی بود عالیه درسته درست غلط باشه حله اوکی
        ادامه بده دهید همین همینطور همون طور این آن اون را رو انجام بکن کن کنید دوباره یک بار دیگه دیگر امتحان سعی صبر
        وایسا ایست توقف الان حالا بعد قبل و یا اما ولی هم فقط اجرا تست تستها برگردون برگردان آخرین تغییر تغییرات نشان
        نشون توضیح فهمیدم متوجه شدم تمام تموم همه هیچ چیز چیزی بیشتر من تو ما شما او به از در با برای که تا چی چه چرا
        چطور کجا کی سلام صبح بخیر شب منظورم نبود هست نیست است هنوز کار نمیکنه میکنه کمک فردا امروز خداحافظ ببخشید مرحله
        قدم بعدی اول دوم دو سه دقیقه ساعت نظر میاد میرسه بذار بزار بمونه یادت رفت فراموش کردی جواب سوال ساده سادهتر سخت
        آسون سریع آروم ایده راه روش کمکم یادته شد مونده شروع تمومش واقعا شاید تقریبا اینجا اونجا انتخاب میخوام بگو خوبی
        کردم کرد حق کارت پیچیده عجیب بقیه چک بررسی میتونی موافقم
    """,
    "romanian": """
        da nu mulțumesc mersi mult multe foarte bine bun bună super perfect excelent grozav exact corect greșit ok
        continuă continua mergi mai departe înainte așa fă face făcut asta acesta aceasta acela ăsta aia din nou încă o
        dată încearcă incearca așteaptă stai oprește stop acum apoi și sau dar de asemenea doar rulează teste testele
        anulează înapoi ultima ultimul schimbare modificări arată explică înțeles înțeleg gata tot nimic altceva ceva eu
        tu noi voi mie mi ți îmi îți te mă ne ce cum unde când cine salut ziua dimineața noapte am vrut vreau vrei ai
        are a fost este e sunt ești era merge funcționează mâine azi pe revedere scuze pardon ajutor ajutorul pentru cu
        fără la în rog frumos următorul pas prima doua același fel un doi două trei minut minute oră ore arăta lasă
        lasă-l uitat răspuns răspunsul întrebare simplu ușor greu repede încet idee mod ajută amintești întâmplat rămas
        începe termină chiar poate fiecare aproape aici acolo alege preferi văd vezi pasul dreptate greșeala treabă
        complicat ciudat restul celelalte verifica verifică poți acord
    """,
    "hungarian": """
        igen nem köszönöm köszi szépen kösz nagyon jó jól szuper tökéletes remek kiváló nagyszerű rendben oké persze
        pontosan helyes rossz folytasd folytassuk tovább így úgy csináld tedd ezt azt ez az ezek azok megint újra még
        egyszer próbáld próbáljuk várj állj stop most aztán és vagy de is csak futtasd teszteket teszt vond vissza
        utolsó módosítás változás mutasd magyarázd el értem értettem kész minden semmi más valami én te mi ti ő nekem
        neked mit hogyan miért hol mikor ki szia helló reggelt napot estét éjszakát erre arra gondoltam gondolom
        gondolkodom működik továbbra sem kérlek légy szíves holnap ma viszlát bocs bocsánat segítség segítséget a
        következő lépés első második ugyanaz ugyanígy meg van volt lesz kell lehet akarom egy kettő három perc óra néz
        nézett hagyd hagyjuk elfelejtetted felejtsd lépést válasz válaszod kérdés egyszerűbben egyszerű könnyű nehéz
        gyorsan lassan ötlet módon segíts emlékszel történt maradt kezdd fejezd tényleg talán majdnem itt ott válassz
        melyiket látom nézd igazad hibám munka bonyolult furcsa többi ellenőrizd ellenőrizni tudod
    """,
}

ASKING = """
wie wo wer welche welcher welches welchen woher wohin comment où quel quelle quels quelles cómo dónde cuál cuáles como
onde qual quais come dove quale quali hoe waar welke hur var vilken vilka hvor hvordan hvilken hvilke jak gdzie który
która które kde který nasıl nerede hangi bagaimana mana как где какой какая какие який яка які як де كيف أين कैसे कहाँ
kaise kahan miten missä mikä πώς πού ποιο איך איפה چطور کجا cum unde care hogyan hol melyik
"""
"""Openers of a question about the project in languages other than English; the counterpart of `QUESTION_WORDS`."""

ASKED_ABOUT = """
tests test testes testen testy testi testit testler testleri testerna testene testerne teste testele teszteket pruebas
тест тесты тести الاختبارات בדיקות טסטים δοκιμές änderung änderungen modification modifications cambio cambios mudança
mudanças modifica modifiche wijziging wijzigingen ändringen endringen ændring zmianę zmiany změnu değişikliği perubahan
изменение изменения зміну зміни שינוי تغییرات schimbare modificări muutos muutokset αλλαγή αλλαγές
"""
"""Words of the rows above that such a question may be about, besides the English ones of a workflow."""

ASKING_UNSPACED = "方法 如何 怎么 怎样 哪里 どこ どう どの 어떻게 어느 ที่ไหน ยังไง อย่างไร"

ASKED_ABOUT_UNSPACED = """
测试 代码 提交 推送 合并 撤销 回滚 修改 更改 检查 テスト 実行 コミット プッシュ マージ 変更 테스트 실행 커밋 푸시 병합
변경
"""

# Scripts without spaces: a prompt is covered when phrases and particles of one row, laid end to end, give all of it.
UNSPACED: dict[str, str] = {
    "chinese": """
        好的 好吧 好 可以 行 是的 是 对的 对 没错 没问题 不是 不对 不用 不要 不 谢谢你 谢谢 多谢 感谢 辛苦了 请 麻烦
        继续 接着 下一步 下一个 往下 开始吧 开始 做吧 做 吧 了 的 啊 呢 吗 呀 再 试 一次 一下 一遍 重新 来 重试 重来
        重做 停止 停 等等 等一下 稍等 现在 先 然后 并且 并 和 或 但是 也 就 这样 这个 那个 这 那 它 把 你 我 我们 很 太
        非常 棒 完美 不错 优秀 厉害 完成 全部 所有 运行 跑 测试 提交 代码 推送 合并 撤销 回滚 刚才 上一个 最后 修改 更改
        改动 给我 看看 看 解释 明白 懂 知道 什么 为什么 怎么 执行 按 照 你说 说 做完 完 都 还 是否 同意 批准 确认 取消
        你好 再见 帮我 帮 很好 好啊 好了 好嘞 行了 不行 不好 还行 还是 就行 即可 照着 刚才的 刚刚 方案 上面 说的 思路
        方法 办法 意思 回去 改回 改 回来 恢复 原来 原样 原 没有 没 有 帮助 帮忙 明天 今天 昨天 晚上 早上 下午 上午 见
        晚安 早安 让 想 想想 告诉 列出来 列出 几个 哪个 哪些 哪 总结 简单 详细 具体 一点 一些 些 可能 能 能不能 会 要
        需要 应该 觉得 认为 看起来 看来 听 只 只要 别 别的 其他 其它 另外 另 剩下 剩余 部分 第一 第二 第三 最后一 个 步
        步骤 问题 多久 多少 时候 上 下 在 到 从 给 跟 同 与 于 以 为 被 对于 更 最 真 真的 挺 太好 辛苦 快 慢 快点 急
        不急 随便 都行 都可以 你的 我的 他 她 他们 你们 自己 大家 错 错了 搞错 理解 误解 再说 再看 说一遍 重复 回答 问
        答 嘛 哦 噢 嗯 额 哈哈 哈 呵呵 嘿 对不起 抱歉 不好意思 没关系 没事 算了 忘了 忘 先不 别急 等 一会儿 一会 回头
        稍后 待会 思考 考虑 直接 全 把它 出来 起来 下去 上去 过来 过 得 着 样 那样 怎样 怎么样 成功 失败 失败的 结果
        收到 同样 一样 相同 之前 之后 以前 以后 上次 这次 下次 如果 因为 所以 虽然 不过 而且 然而 检查 看着 看上去
        这样吧 忘记 最后一步 没听懂 听懂 说得 清楚 不清楚 简单点 短 长 容易 难 主意 想法 记得 发生 剩 结束 也许 每 几乎
        这里 那里 选 选择 喜欢 更好 好的话 好一点 说了 讲 讲讲 两 三 一 二 二个 分钟 小时 你看 我看 看到 保留 保持 留着
        方式 换 换个 换一种 上一 前一个 你说得 说得对 我的错 做得 做得好 工作 复杂 奇怪 可惜 再检查 可以吗 确认一下
    """,
    "japanese": """
        はい うん ええ いいえ いや ありがとうございます ありがとうございました ありがとう どうも お願いします お願い
        ください 下さい 大丈夫 です ます でした ました よろしく いいです いいね いい 良い 了解 しました わかりました
        分かりました わかった 承知 完璧 素晴らしい 最高 続けて 続き 続行 次 進めて 進んで やって して しよう ね よ か な
        の を に は が で と も から まで もう 一度 再度 再実行 やり直して やり直し もう一回 試して 待って 止めて 停止
        今 それ これ あれ その この そして テスト 実行 コミット プッシュ マージ 元に戻して 戻して 最後 変更 見せて 説明
        同じ 全部 すべて こんにちは おはよう ございます すみません 違います 違う 感じ まま それで これで そのまま そう
        そうで そうでは では じゃ じゃあ なくて ない なかった なし まだ 動きません 動かない 動いた 動きました 動く また
        明日 今日 昨日 ちょっと 少し 考えます 考え 考えて 考えさせて 助かりました 助かる 助かります お疲れ様 お疲れさま
        さん 様 こと もの ところ とき 時 後 後で 前 前に 先 先に 二 一 三 つ目 番目 番 最初 次の 残り 他 ほか 別 別の
        方法 やり方 方 ほう 意味 つまり だけ しか ずつ など たり ので のに けど けれど だから でも しかし だ だった だね
        ですか ますか ません ませんでした たい たいです くださいませ いただけ いただき もらえ もらえる くれ くれる でき
        できた できました できます できる すごい すばらしい さすが うまく いきました いった いって いき 行って 行き
        行こう 始めて 開始 終わり 終わった 終わって 完了 中断 やめて やめ やり やった やろう 取り消し 取り消して 直して
        もとに 戻し 教えて 言って 言った 聞いて 見て 見せ 何 なに なぜ どうして どう どれ どの いつ 誰 私 僕 俺 あなた
        君 自分 みんな おやすみ さようなら ごめん ごめんなさい 申し訳 ありません 間違い 間違え 間違って 正しい 正解
        簡単に 簡潔 詳しく 短く 要約 まとめて 一回 二回 今度 さっき 先ほど 以上 同様 ぜひ たぶん もちろん はず
        わからない 分からない わかる なるほど 確認 し さ れ た て って い き り る う え っ ー っと ん 変えた 変更した
        触らない 触らないで このまま もらえますか 忘れて いますよ 忘れ ステップ 見え 見える 良さそう よさそう そうです
        答え 質問 難しい 易しい 早く ゆっくり 問題 アイデア 覚えて 残って 本当に 多分 ほとんど ここ そこ 選んで 選択
        好き どちら どっち 分 進めましょう しましょう ましょう 思います 思い 思う と思 みて みる お疲れ 大丈夫そう 直し
        おっしゃる 通り とおり ミス よく 仕事 複雑 変です 残念 いたします 致します 頂け いただけますか 見直して
    """,
    "korean": """
        네 예 응 아니요 아니오 아니 감사합니다 고마워요 고마워 고맙습니다 부탁해요 부탁해 부탁합니다 주세요 줘 좋아요
        좋아 좋습니다 좋네요 알겠습니다 알았어 완벽해요 완벽해 완벽 훌륭해 최고 계속해줘 계속해 계속 진행해줘 진행해
        진행 해주세요 해줘 해 다음 단계 다시 한번 한 번 더 시도 기다려 멈춰 중지 지금 그거 그것 이거 이것 그리고 도 을
        를 이 가 은 는 테스트 실행 커밋 푸시 하고 병합 되돌려 마지막 변경 보여줘 설명 이해 전부 모두 안녕하세요 안녕
        맞아요 맞아 요 그대로 그렇게 이렇게 저렇게 그게 이게 저게 아니에요 아니야 아닙니다 아직 아직도 돼요 되요 됩니다
        됐어요 됐어 됐습니다 되네요 보세요 봐요 봐 봐줘 보여 도와줘서 도와주셔서 도움 내일 오늘 어제 만나요 뵙 수고
        수고하셨습니다 수고했어 고생 자요 했어요 했어 했네요 합니다 해요 할게요 할게 할까요 하세요 하자 하지 마세요 마
        말고 말했 우리 당신 저는 나는 제가 내가 에서 에게 으로 까지 부터 처럼 보다 면서 지만 는데 은데 어요 아요 습니다
        습니까 입니다 이에요 예요 이야 네요 군요 무엇 어떻게 언제 누구 어느 있어 있어요 있나요 있습니다 없어 없어요
        없습니다 싶어 싶어요 생각해 생각할 잠깐 잠시 잠깐만 만요 조금 너무 정말 진짜 아주 매우 많이 다른 나머지 첫 번째
        하나 모든 전체 방금 아까 전에 후에 나중에 먼저 뭔가 이상해 맞는 틀렸 실패 성공 완료 끝났 끝내 그만 취소 취소해
        되돌리 원래대로 돌려 두세요 바꿨 바꿨는지 바뀐 설명해 설명해줘 자세히 간단히 간단하게 짧게 요약 요약해 다시요
        죄송 죄송합니다 미안 미안해 괜찮아 괜찮아요 그래 그래요 오케이 넵 넹 ㅇㅇ ㅇㅋ ㄱㄱ ㅋㅋ ㅎㅎ ㅠㅠ 대박 보여요
        보이네요 보입니다 이대로 둬 두면 단계를 빼먹었어요 빼먹었 잊었 잊었어요 잊어 무슨 말인지 모르겠어요 모르겠어
        모르겠 몰라 답변 대답 질문 쉽게 쉬운 어려워 빨리 천천히 아이디어 방법 기억 남았 남은 시작 시작해 정말로 아마
        거의 여기 거기 저기 선택 선택해 골라 어느쪽 둘중 이전으로 좋을 같아요 같아 같습니다 것같아요 생각에는 했던
        했는데 했잖아 했습니다 하는 하면 네가 말이 실수 실수야 실수예요 잘했어요 잘했어 이제 나머지도 복잡해 이상하네
        아쉽 확인 확인해 확인해주세요 주시겠어요 시겠어요
    """,
    "thai": """
        ครับ ค่ะ คะ ใช่ ไม่ใช่ ไม่ ขอบคุณ มาก ได้ โอเค ดี เยี่ยม ต่อไป ต่อ ทำ เลย อีก ครั้ง ลอง ใหม่ รอ หยุด ตอนนี้ และ
        หรือ กรุณา ช่วย นี้ นั้น สวัสดี ดีมาก เลยครับ ได้เลย ยัง ไม่ได้ อีกครั้ง อะไร ทำไม ยังไง อย่างไร เมื่อไหร่
        ที่ไหน ใคร ผม ฉัน คุณ เรา เขา มัน ที่ ของ ใน กับ ให้ จะ ก็ แล้ว อยู่ เป็น มี ไป มา ว่า แต่ เพราะ ถ้า ก่อน หลัง
        เดิม เหมือน กลับ ย้อน ผิด ถูก ต้อง เข้าใจ คิด หมายถึง แบบ อย่าง นะ จ้า สิ หน่อย เดี๋ยว พรุ่งนี้ วันนี้ เจอกัน
        ขอโทษ ทั้งหมด อื่น แรก สอง สุดท้าย ขั้นตอน อธิบาย สรุป สั้น ๆ ง่าย ดู ดูดี ดีแล้ว ปล่อย ไว้ แบบนี้ ลืม คำตอบ
        คำถาม ง่ายกว่า ยาก เร็ว ช้า วิธี จำ เหลือ เริ่ม จบ จริง อาจจะ ทุก เกือบ ที่นี่ เลือก ชอบ คำ ค่อย เอา ล่ะ เนอะ
        กว่า
    """,
}
