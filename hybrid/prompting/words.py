"""Words that prompts about the conversation itself are made of, in several languages; data for `hybrid.prompting.gate`.

Written by hand, from the turns people take in a session: they agree, thank, refuse, ask to go on, to repeat, to commit.
None of these words says what part of a project is meant, so a prompt made of nothing else has nothing to search for.
"""

from __future__ import annotations

FUNCTION = """
a an the this that these those there here it its itself such one ones i me my mine myself im ive id ill we us our
ours were weve lets you your yours yourself youre youve youd u ur he him his she her they them their someone
something anything everything nothing everyone anyone nobody thing things stuff am is are was be been being isnt
arent wasnt werent aint do does did doing done dont doesnt didnt have has had having havent hasnt hadnt can could
may might must shall should will would ought cant cannot couldnt shouldnt wont wouldnt wanna gonna gotta lemme and
or but nor so yet if then than because cause cuz since while although though as at by for from in into of off on
onto out over per through to until till up down upon via with within without about above after against before
behind below between during under like not no never none neither either both all any some every each another other
others many much more most few less least lot lots half whole rest same different enough only own first second
third last latter former next previous earlier later what whats when whens where wheres which who whos whom whose
why whys how hows thats theres heres now today tonight tomorrow yesterday morning evening afternoon weekend moment
minute minutes hour hours day days week seconds sec secs min mins time times soon again already almost always ever
once twice often sometimes still just too very quite really rather pretty actually basically simply probably maybe
perhaps certainly definitely totally entirely fully partially partly mostly mainly extremely incredibly utterly
surely indeed strongly highly slightly somewhat monday tuesday wednesday thursday friday saturday sunday absolutely
completely exactly truly honestly obviously clearly also even else instead anyway anyways besides together away
back around far forward ahead further apart etc eg ie vs plus
"""

COURTESY = """
ok okay okey okie k kk kay alright aight yes yep yeah yup yea ya ye yess aye nope nah nay sure fine agreed agree
affirmative negative thanks thank thx tx ty tysm thankyou cheers please pls plz plse kindly welcome sorry apologies
pardon excuse hi hello hey hiya howdy yo bye goodbye cya ciao later greetings farewell night goodnight gn gm
morning afk brb ttyl np nvm good great nice cool perfect excellent awesome amazing fantastic wonderful brilliant
lovely beautiful neat sweet super solid stellar superb outstanding impressive magnificent terrific splendid
gorgeous elegant epic dope lit sick rad best better well wow whoa oh ah aha hm hmm hmmm mhm uh um uhh umm huh meh
ugh argh oops whoops yay yeehaw hooray woohoo bravo kudos congrats congratulations haha hahaha hehe lol lmao rofl
omg wtf tbh imo imho idk iirc afaik fyi asap lgtm sgtm wfm ack nack job work works worked working effort buddy pal
mate man dude bro friend guys folks team sir boss claude codex gemini copilot assistant ai bot much appreciated
appreciate grateful glad happy pleased love loved loving helpful pleasure right correct wrong incorrect true false
bad worse worst odd weird strange funny interesting clear unclear confusing confused sense hate mess terrible awful
horrible broken useless dumb stupid silly annoying crap shit damn fuck fucking hell heck
"""

TALK = """
go goes going gone went come comes coming came get gets getting got give gives giving gave keep keeps keeping kept
let make makes making made take takes taking took put puts say says saying said tell tells telling told talk
talking speak ask asks asking asked answer answers answered answering reply replies respond response responses
question questions know knows knowing knew known think thinks thinking thought guess suppose believe feel feels
sound sounds seem seems see sees seeing saw seen look looks looking looked show shows showing showed hear heard
hearing listen watch notice want wants wanted need needs needed wish hope prefer mean means meant mind matter
matters care understand understands understood explain explains explained explaining explanation clarify elaborate
summarize summarise summary recap repeat repeats repeating rephrase reword simplify shorten translate describe
detail details detailed concise brief briefly verbose short shorter long longer simple simpler simpl easy easier
quick quickly fast faster slow slower slowly carefully careful try tries trying tried retry start starts started
starting begin stop stops stopped stopping pause wait waits waiting hold continue continues continuing proceed
proceeds resume carry move moving finish finishes finished end ended complete completed done ready remaining left
skip skips skipping ignore forget cancel cancelled abort quit exit leave leaving break close do redo undo undone
revert reverted rollback roll restore reset use using used choose chosen pick option options choice approach
alternative idea ideas suggestion suggestions suggest recommend recommendation opinion decide decision agree
disagree change changes changed changing happen happens happened happening help helps helping helped assist able
possible okay approve approved approving accept accepted accepting allow allowed confirm confirmed confirming deny
denied reject rejected yours step steps plan plans planned part parts point points side way ways bit kind sort
reason reasons case cases everything status progress news update updates state stage situation issue issues problem
problems trouble quiet shut silent relax calm chill patient patience hurry rush bother worry worries worried deal
fun chat chatting statement claim fact facts information info catch caught misunderstand misunderstood misread
misheard remember remembered reminded doubt doubts sure assume assumption read direction scratch double safe useful
mistake mistakes million bunch conversation name called meet meeting lunch dinner coffee tea sleep bed home rest
number two three four five six seven eight nine ten zero couple few sentence sentences word words language english
german french spanish chinese japanese italian portuguese russian
"""

# What is done to a working tree in any project.
WORKFLOW = """
commit commits committed committing push pushes pushed pushing pull pulls pulled pulling merge merges merged
merging rebase rebased squash squashed stash stashed branch branches main master upstream origin pr prs mr request
requests review reviewed reviewing diff diffs checkout cherry amend fetch tag run runs running ran rerun reruns
rerunning execute test tests tested testing build builds built building rebuild compile compiles lint linter
linting typecheck format formatter ci pipeline check checks checked checking verify verified verifying pass passes
passed passing fail fails failed failing failure failures red green suite result results output outputs open ship
shipped deploy deployed release released publish restart restarted reload stage staged unstage apply applied save
saved
"""

# Words that may be the subject of a search: they only belong to a session when something points back to it.
SUBJECT = """
add adds added adding remove removes removed removing delete deletes deleted deleting clean cleanup fix fixes fixed
fixing update updated updating improve improved improving rewrite rewrote rewritten refactor refactored rename
renamed write writes writing wrote written edit edits edited editing replace replaced implement implemented
implementing implementation touch touched error errors message messages log logs warning warnings bug bugs crash
crashed file files line lines code function functions method methods class comment comments doc docs documentation
readme typo typos folder directory table list lists version versions feature features task tasks todo todos item
items ticket tickets job command commands tool tools mistake mistakes stuff section paragraph text default debug
print
"""

# Point back to the conversation: what the agent did, said, or shows.
POINTERS = """
this that thats these those it its them you your youre youve yours u again now last previous next same other others
another else earlier above just today yesterday still already yet done left remaining so far first second latter
former back instead
"""

CHANGE_VERBS = """
add remove delete fix update improve rewrite refactor rename write edit replace implement change make support allow
handle
"""

QUESTION_WORDS = "how where wheres which"
"""Openers of a question about the project, even when `I` or `we` follow: `you` or `this` turn it to the session."""

CONVERSE_POINTERS = "you your youre youve yours u this that thats these those it last previous again"

KNOWN_TYPOS = """
god teh hte taht thta waht wath jsut yuo yuor yoru adn nad fo ot si ti iwth wiht ahve hvae dont't im'm wnat watn
thnks thx's thakns tahnks thansk tnx thnx thanx plaese pleas plese plz's pelase comit commti comitt cmmit puhs psuh
contineu contiune contnue conitnue proced procede lok loks loosk godo goood gret graet perfekt prefect awsome nie
ncie alrigth agian agin agai shoudl woudl coudl becuase becasue recieve undestand tets tset tsets rnu urn wrok
wroks okk oki okidoki yess noo
"""

# One row a language: agreement, thanks, refusal, going on, repeating, and the little words between them.
LANGUAGES: dict[str, str] = {
    "german": """
        führe führ starte ausführe bestätige erledigt gefällt stimme zu bin dafür lieber vielleicht na klar logo ja
        jo jep nein nee doch danke dankeschön dank vielen bitte gern gerne weiter mach mache machen macht gemacht
        so gut sehr super toll prima klasse passt perfekt genau richtig falsch stimmt alles in ordnung
        einverstanden das den dem der die es ist war jetzt nochmal noch mal einmal wieder von vorne erneut bis hier
        heute für und oder aber nicht kein keine warte stopp halt los geht gehts fertig okay schön schon auch nur
        dann wie ich du wir mir dir uns mich dich sie ihr was warum hast hat habe haben weitermachen fortfahren
        fahre fort tests test laufen lass ausführen committen committe pushen pushe rückgängig letzte letzten
        änderung änderungen zeig zeige erkläre verstehe verstanden sieht aus hallo tschüss moin servus morgen guten
        tag abend mein dein im mit auf sind kannst kann könntest soll sollen sollst möchte will erstmal einfach
        bitteschön gleich später
    """,
    "french": """
        j'ai t'as qu'il l'ai n'est j'aime m'en va passe étape relis valide validé oui ouais non si merci beaucoup
        mille stp svp s'il te vous plaît plait d'accord daccord ok continue continuez continuer vas-y vas allez
        allons-y y parfait super bien très génial excellent bravo nickel top c'est cest ça ca cela le la les un une
        des du de et ou mais pas encore fois refais recommence recommencer relance relancer arrête arrete stop
        attends attendez tout bon bonne bonjour salut bonsoir revoir au à a je tu il elle nous on me moi toi lui
        est es suis fait fais faire lance lancer tests test commit committe pousse annule annuler dernier dernière
        modification modifications montre explique comprends compris maintenant aussi seulement juste peux peut
        veux voir comme marche fonctionne exactement correct faux alors donc puis ensuite pour avec sans dans sur
        mon ton ma ta mes tes que qui quoi pourquoi comment plus tard suite prochain prochaine ce cette cet désolé
        pardon aide journée soirée
    """,
    "spanish": """
        sí si no gracias muchas mil por favor vale de acuerdo claro perfecto genial excelente bien muy bueno buena
        buenas buenos días dias hola adiós adios hasta luego mañana continúa continua continuar continúe sigue
        seguir siga adelante dale hazlo haz hacer hecho otra vez nuevo intenta inténtalo repite repetir espera
        espere para parar detente alto ya eso esto esta está es son era el la los las lo un una y o pero también
        solo ahora ejecuta corre pruebas tests test commit sube súbelo deshaz último ultima última cambio cambios
        muestra muéstrame explica explícame entiendo entendido listo todo nada más mas me te se le mi tu yo tú él
        ella nosotros que qué cómo como cuál cual cuando dónde con sin en a al del correcto incorrecto exacto eres
        soy puedes puede podrías quiero funciona funcionó funciono siguiente paso ayuda perdón disculpa noches
        tardes
    """,
    "portuguese": """
        sim não nao obrigado obrigada muito valeu por favor ok certo claro perfeito ótimo otimo excelente bom boa
        bem legal beleza continue continua continuar siga segue seguir pode prosseguir prossiga em frente faça faz
        fazer isso isto esse este essa esta é e foi está de novo outra vez tente tenta repita repete espera espere
        pare parar o a os as um uma ou mas também só agora execute rode roda testes teste commit suba envie desfaça
        desfaz última ultimo último mudança mudanças mostre mostra explique explica entendi entendo pronto tudo
        nada mais me te se meu seu eu você voce nós que como qual quando onde com sem no na do da para pra oi olá
        ola tchau até logo dia tarde noite funcionou funciona próximo passo ajuda desculpe desculpa
    """,
    "italian": """
        così cosi sì si no grazie mille tante per favore prego va bene ok okay certo d'accordo daccordo perfetto
        ottimo eccellente bravo molto buono bello fantastico continua continuare procedi prosegui vai avanti fallo
        fai fare fatto ancora una volta di nuovo riprova ripeti aspetta fermati ferma basta il lo la i gli le un
        uno e o ma anche solo ora adesso questo quello questa quella è era esegui lancia test commit annulla ultima
        ultimo modifica modifiche mostra mostrami spiega spiegami capito capisco tutto niente più mi ti me te io tu
        noi che come cosa perché quale quando dove con senza in a al del della da dal ciao arrivederci buongiorno
        buonasera notte giusto sbagliato esatto puoi può vorrei voglio funziona prossimo passo aiuto scusa
    """,
    "dutch": """
        ja nee dank bedankt dankjewel dankje je u alsjeblieft aub graag prima goed heel erg top mooi perfect
        precies klopt akkoord oké oke ga door verder doorgaan doe maar doen gedaan nog een keer opnieuw probeer
        wacht stop even het de dat dit die is was en of ook alleen nu vandaag morgen draai tests test commit push
        maak ongedaan laatste wijziging wijzigingen laat zien leg uit begrijp begrepen alles niets niet geen meer
        ik jij jullie wij we mij me mijn jouw wat hoe waarom wanneer waar met zonder in op aan van voor hallo hoi
        doei dag goedemorgen werkt kun kan kunt wil klaar volgende stap
    """,
    "swedish": """
        ja jo nej tack så mycket snälla gärna bra jättebra perfekt toppen okej fortsätt kör på vidare gör det den
        om igen en gång till försök vänta stopp sluta nu och eller men inte är var testerna test tester committa
        pusha ångra senaste ändringen visa förklara klart allt inget mer jag du vi mig dig vad hur varför hej hejdå
        fungerar kan kom med nästa steg lite här gjort funkar
    """,
    "danish_norwegian": """
        ja jo nei nej takk tak mange skal du ha fint flott bra godt perfekt supert greit fortsett fortsæt kjør kør
        på videre gjør gør det den igjen igen en gang til prøv vent stopp stop nå nu og eller men ikke er var
        testene testerne test commit push angre fortryd siste sidste endringen ændring vis forklar ferdig færdig
        alt ingenting mer mere jeg vi meg mig deg dig hva hvad hvordan hvorfor hei hej
    """,
    "polish": """
        tak nie dzięki dzieki dziękuję dziekuje bardzo proszę prosze dobrze dobra okej super świetnie swietnie
        idealnie kontynuuj kontynuować dalej zrób zrob to jeszcze raz ponownie spróbuj czekaj poczekaj stop i lub
        ale teraz jest było uruchom testy test zatwierdź wypchnij cofnij ostatnią zmianę zmiany pokaż wyjaśnij
        rozumiem gotowe wszystko nic więcej ja ty my mi ci co jak dlaczego cześć hej działa dziala następny krok
    """,
    "czech_slovak": """
        ano jo ne nie děkuji děkuju díky dik ďakujem prosím prosim dobře dobre super skvěle výborně pokračuj
        pokracuj dál ďalej udělej urob to ještě ešte jednou raz znovu zkus počkej počkaj stop a nebo ale teď teraz
        je bylo spusť testy test commitni pushni vrať poslední změnu ukaž vysvětli rozumím hotovo všechno nic já ty
        my co jak proč ahoj funguje
    """,
    "turkish": """
        evet hayır hayir tamam peki teşekkürler tesekkurler teşekkür ederim sağol sagol lütfen lutfen devam et
        edelim edebilirsin güzel guzel harika mükemmel süper iyi çok yap bunu şunu onu tekrar bir daha dene bekle
        dur şimdi simdi ve veya ama değil testleri çalıştır commit pushla geri al son değişikliği göster açıkla
        anladım bitti her şey hiçbir ben sen biz ne nasıl neden merhaba selam
    """,
    "indonesian": """
        ya iya tidak nggak terima kasih makasih banyak tolong silakan baik bagus oke sip mantap lanjut lanjutkan
        teruskan kerjakan lakukan itu ini lagi sekali ulangi coba tunggu berhenti sekarang dan atau tapi bukan
        jalankan tes test commit push batalkan terakhir perubahan tampilkan jelaskan mengerti selesai semua saya
        kamu kita apa bagaimana kenapa halo
    """,
    "vietnamese": """
        vâng dạ có không cảm ơn cám bạn nhiều làm tốt lắm rồi được ok tiếp tục đi lại lần nữa nó này đó thử chờ
        dừng bây giờ và hoặc nhưng chạy test commit push hoàn tác xong hết tôi gì sao thế nào xin chào
    """,
    "russian": """
        да ага нет неа спасибо спс большое пожалуйста хорошо ладно ок окей отлично супер класс прекрасно идеально
        верно точно правильно неправильно продолжай продолжайте продолжить дальше далее давай делай сделай это то
        ещё еще раз снова заново попробуй повтори подожди стоп хватит и или но не теперь сейчас запусти прогони
        тесты тест закоммить коммить закоммитить запушь пушь отмени последнее последние изменение изменения покажи
        объясни понял поняла понятно готово всё все ничего больше я ты мы вы мне тебе меня что как почему привет
        пока работает очень так в на с по же уже только следующий шаг
    """,
    "ukrainian": """
        так ні дякую дуже будь ласка добре гаразд ок чудово супер ідеально правильно продовжуй далі давай роби
        зроби це то ще раз знову спробуй зачекай стоп і й та або але не тепер зараз запусти тести тест закоміть
        запуш скасуй останню зміну зміни покажи поясни зрозумів готово все нічого я ти ми ви що як чому привіт
        працює
    """,
    "arabic": """
        نعم أجل لا شكرا شكراً جزيلا من فضلك لو سمحت حسنا حسناً تمام ممتاز رائع جيد جدا استمر أكمل تابع افعل ذلك هذا
        مرة أخرى أعد انتظر توقف الآن و أو لكن شغل الاختبارات مرحبا
    """,
    "hindi": """
        हाँ हां नहीं धन्यवाद शुक्रिया कृपया ठीक है अच्छा बहुत बढ़िया जारी रखो रखें आगे बढ़ो बढ़ें करो करें यह वह
        फिर से दोबारा रुको अब और या haan nahi dhanyavaad shukriya theek hai accha bahut badhiya jaari rakho aage
        badho karo phir se dobara ruko ab aur
    """,
}

# Scripts without spaces: a prompt is covered when phrases and particles of one row, laid end to end, give all of it.
UNSPACED: dict[str, str] = {
    "chinese": """
        好的 好吧 好 可以 行 是的 是 对的 对 没错 没问题 不是 不对 不用 不要 不 谢谢你 谢谢 多谢 感谢 辛苦了 请
        麻烦 继续 接着 下一步 下一个 往下 开始吧 开始 做吧 做 吧 了 的 啊 呢 吗 呀 再 试 一次 一下 一遍 重新 来
        重试 重来 重做 停止 停 等等 等一下 稍等 现在 先 然后 并且 并 和 或 但是 也 就 这样 这个 那个 这 那 它 把 你
        我 我们 很 太 非常 棒 完美 不错 优秀 厉害 完成 全部 所有 运行 跑 测试 提交 代码 推送 合并 撤销 回滚 刚才
        上一个 最后 修改 更改 改动 给我 看看 看 解释 明白 懂 知道 什么 为什么 怎么 执行 按 照 你说 说 做完 完 都 还
        是否 同意 批准 确认 取消 你好 再见 帮我 帮
    """,
    "japanese": """
        はい うん ええ いいえ いや ありがとうございます ありがとうございました ありがとう どうも お願いします
        お願い ください 下さい 大丈夫 です ます でした ました よろしく いいです いいね いい 良い 了解 しました
        わかりました 分かりました わかった 承知 完璧 素晴らしい 最高 続けて 続き 続行 次 進めて 進んで やって して
        しよう ね よ か な の を に は が で と も から まで もう 一度 再度 再実行 やり直して やり直し もう一回
        試して 待って 止めて 停止 今 それ これ あれ その この そして テスト 実行 コミット プッシュ マージ
        元に戻して 戻して 最後 変更 見せて 説明 同じ 全部 すべて こんにちは おはよう ございます すみません 違います
        違う
    """,
    "korean": """
        네 예 응 아니요 아니오 아니 감사합니다 고마워요 고마워 고맙습니다 부탁해요 부탁해 부탁합니다 주세요 줘
        좋아요 좋아 좋습니다 좋네요 알겠습니다 알았어 완벽해요 완벽해 완벽 훌륭해 최고 계속해줘 계속해 계속
        진행해줘 진행해 진행 해주세요 해줘 해 다음 단계 다시 한번 한 번 더 시도 기다려 멈춰 중지 지금 그거 그것
        이거 이것 그리고 도 을 를 이 가 은 는 테스트 실행 커밋 푸시 하고 병합 되돌려 마지막 변경 보여줘 설명 이해
        전부 모두 안녕하세요 안녕 맞아요 맞아 요
    """,
    "thai": """
        ครับ ค่ะ คะ ใช่ ไม่ใช่ ไม่ ขอบคุณ มาก ได้ โอเค ดี เยี่ยม ต่อไป ต่อ ทำ เลย อีก ครั้ง ลอง ใหม่ รอ หยุด ตอนนี้
        และ หรือ กรุณา ช่วย นี้ นั้น สวัสดี
    """,
}
