"""Prompts around an invented project: thirty that it has something for, and thirty that it has nothing for.

The project is a parcel-tracking service under `tests/fixtures/gate/project`. The fitting prompts are written as people
write: with greetings, politeness, deadlines, requests about style, stories, dictation and slips, in four languages, from
6 to 300 words. They were written before any of them was tried, and stay as they are: a prompt that fails is a finding.
"""

from pathlib import Path

PROJECT = Path(__file__).parents[1] / "fixtures" / "gate" / "project"

FITTING: tuple[tuple[str, str], ...] = (
    # Terse, and with courtesy only.
    ("where is the circuit breaker implemented?", "parceltrail/carriers/circuit.py"),
    (
        "hey! could you please take a quick look at how the token bucket refills? thanks a lot :)",
        "parceltrail/http/rate_limit.py",
    ),
    ("morning, hope you're well. quick one: which postcodes count as islands?", "parceltrail/address/postcodes.py"),
    (
        "pls add a max delay setting to the exponential backoff, before friday's demo if possible",
        "parceltrail/carriers/retry.py",
    ),
    (
        "Sorry to bother you again, I'm completely lost here. How is the webhook signature checked, and why do we refuse "
        "old timestamps?",
        "parceltrail/notify/signature.py",
    ),
    # Requests about style.
    (
        "Write clean, idiomatic code, no comments, no emojis, keep the diff small and explain step by step what you do: "
        "the label should cut long street names instead of wrapping them over the barcode.",
        "parceltrail/labels/zpl.py",
    ),
    (
        "You are a senior Python developer with 20 years of experience. Think hard, don't be lazy, don't hallucinate. "
        "Make the csv import accept tab separated files and report all bad lines at once rather than only the first one.",
        "parceltrail/imports/csv_orders.py",
    ),
    (
        "explain like I'm five how the volumetric weight ends up in the price please, short answer, bullet points",
        "parceltrail/tariff/volumetric.py",
    ),
    # All lower case, slips, dictation.
    (
        "teh geocoder asks the provder twice for teh same adress, shouldnt the cahce prevent that?? can u fix it asap",
        "parceltrail/address/geocode.py",
    ),
    (
        "okay so um i was thinking you know the thing that decides which day the parcel arrives it should um not count "
        "saturdays anymore for norway period can you do that comma but only for norway thanks",
        "parceltrail/delivery/eta.py",
    ),
    (
        "can u make the tracking page refresh every 30 secs instead of every minute and also keep the yellow banner when "
        "it fails thx",
        "web/src/TrackingTimeline.tsx",
    ),
    (
        "so the scanner guys in the depot say it loses barcodes when the battery dies, pretty please check whether we sync "
        "the pending scans to disk",
        "scanner/buffer.go",
    ),
    # A user's report, log lines, several requests in one.
    (
        "A customer wrote this morning: \"I ordered on Friday at 6pm, your page promised Saturday, and now it's Tuesday. "
        'This is the third time!!" Could you find out whether the cut off hour is respected when we compute the expected '
        "day? I'd like to answer her before lunch.",
        "parceltrail/delivery/eta.py",
    ),
    (
        "hi, getting this on prod since the deploy, any idea?\n\n"
        "2031-03-04 02:10:11 WARN unmapped status C40 of nordpost\n"
        "2031-03-04 02:10:11 WARN unmapped status C40 of nordpost\n"
        "2031-03-04 02:10:12 WARN unmapped status C41 of nordpost\n\n"
        "i guess the carrier added new codes, please map both to in transit",
        "parceltrail/carriers/status_map.py",
    ),
    (
        "Two things, no rush. First, the dashboard sometimes shows the same shipment twice when you scroll fast, I think "
        "the next page is loaded two times. Second, could you bump the page size to 100? Cheers!",
        "web/src/useShipments.ts",
    ),
    (
        "Thanks, that was perfect! Next please: shops should be able to cancel a shipment even after the label was "
        "printed, but not when the courier has collected it.",
        "parceltrail/http/shipments.py",
    ),
    (
        "As discussed in yesterday's stand-up with Mira and Tom, legal wants personal data of recipients gone after 60 "
        "days instead of 90. Please change that, and kindly double check that the statistics survive the purge.",
        "parceltrail/jobs/purge.py",
    ),
    (
        "not sure who to ask but since you know this code better than me: what do I have to do when the printer queue is "
        "stuck and the Zebra says head open?",
        "docs/runbook.md",
    ),
    # German, French, Spanish.
    (
        "Guten Morgen! Könntest du bitte bis heute Abend den Retry mit exponential Backoff so ändern, dass er den "
        "Retry-After Header vom Carrier beachtet? Vielen Dank schon mal.",
        "parceltrail/carriers/retry.py",
    ),
    (
        "Ich bin neu im Team, sorry für die dumme Frage: wo wird die Webhook Signature berechnet und warum nehmen wir da "
        "den Timestamp mit rein?",
        "parceltrail/notify/signature.py",
    ),
    (
        "Bonjour, désolé de te déranger, mais le scheduler lance deux fois le même job après un crash. Tu peux regarder "
        "s'il te plaît ? C'est assez urgent, la démo est demain matin.",
        "parceltrail/jobs/scheduler.py",
    ),
    (
        "Hola, ¿me puedes explicar paso a paso cómo funciona el rate limit con el token bucket por shop? Sin código por "
        "favor, solo la idea. ¡Muchas gracias!",
        "parceltrail/http/rate_limit.py",
    ),
    # 150 to 300 words.
    (
        "Good morning! I hope you had a better weekend than I had. I spent most of Saturday on the phone with one of our "
        "larger shops, they sell garden furniture, and they were rather upset, which I can understand. Let me try to tell "
        "the story in order. On Thursday evening they put a new version of their own system live, and with it their "
        "endpoint was down for about four hours because somebody had forgotten to renew a certificate. That happens, "
        "fine. But when it came back, nothing arrived from us any more, not on Friday, not on Saturday, and they only "
        "noticed because a customer asked why her order still said that it had not been sent. As far as I can see we "
        "switch an endpoint off after too many failures in a row, which makes sense, but fifty is very little for a shop "
        "that has two thousand parcels on a day, since they reach fifty within minutes. What I would like is that we "
        "count hours instead of failures: an endpoint is disabled when every delivery of the last twelve hours failed, "
        "and not before. Please keep the plan of the next attempts exactly as it is, the shops have it in their "
        "documentation. It would be wonderful if this could go out before Wednesday because I have a call with them then "
        "and would love to have good news for once. No need for a long explanation, a short summary of what you changed "
        "is plenty. Thank you so much, and sorry for the wall of text!",
        "parceltrail/notify/webhook_sender.py",
    ),
    (
        "hey so i hope its ok to just dump this here, its late and i want to write it down before i forget everything. "
        "today we had somebody from the depot in the office and she showed us what happens on her side when the network "
        "is gone, and honestly it was a bit embarrassing. she scans a box, the thing beeps, she puts the box on the van, "
        "everything looks fine to her, and two hours later the parcels show up with the wrong time because, well, at "
        "least thats what she thinks, we take the time when it was uploaded and not the time when she pressed the "
        "trigger. i looked at it for a minute on my phone and i have the feeling that the time is actually taken when "
        "the barcode is read, so maybe she is wrong, or maybe the clock of these handheld things is off, i really dont "
        "know. so what i would like you to do, whenever you have a moment, no stress at all: have a look at the program "
        "that runs on the handheld scanners, tell me when the time of a scan is taken, and if it really is taken when "
        "the barcode is read then please make it also send how long the scan waited before it was uploaded, so that we "
        "can see it later. dont change how it beeps, they are used to that, one beep good, two beeps bad. thanks a "
        "million and good night",
        "scanner/main.go",
    ),
    (
        "Hello team assistant, please read everything before you begin, and ask me if anything is unclear. Background: "
        "our accountant went through the invoices of the last quarter and found that for some parcels the price is one "
        "cent away from what the contract says. It is only a cent, but there are eleven thousand of them, and she is, to "
        "put it mildly, a very precise person. She made a spreadsheet, which I unfortunately cannot attach here, and what "
        "all those rows have in common is that several surcharges came together, for instance an island and the fuel "
        "percentage. My suspicion is that somewhere in the middle of the calculation something is rounded, although it "
        "should happen only once at the very end, half up, to whole cents. Task: find the place where surcharges are "
        "added to the base price, check the order in which they are applied against the documentation, and tell me "
        "whether a value is rounded too early. If so, correct it. Constraints: use Decimal everywhere, no floats, keep "
        "the public functions as they are, type hints, short docstrings, British spelling, and please do not reformat "
        "lines that you do not have to touch, since the reviewers complain about that every time. Deadline: the end of "
        "the month closing is on the 30th, so ideally by the 28th. Many thanks in advance, I really appreciate it.",
        "parceltrail/tariff/surcharges.py",
    ),
    (
        "Okay this is going to sound strange, but bear with me. My grandmother lives in France, in one of those houses "
        "that have a number like 12 bis, and for her birthday I ordered something in one of the shops that we work for, "
        "mostly because I wanted to see our own product from the other side for once. The parcel never came. It turned "
        "out that it had been sent to number 12, where nobody knows her, and the neighbour there sent it back, and now it "
        "is somewhere between Lyon and Hamburg, and I had to explain to a lady of 91 that her grandson builds this kind "
        "of software for a living. She laughed a lot, to be fair. Anyway! I had a look at what was printed on the label, "
        "and the street was there and the number was there but the bis was missing, so I believe it gets lost when we "
        "split the line into street and house number. Can you please check this for all the forms that exist, I mean bis "
        "and ter, in capitals as well, in front of the street and after it, with and without a comma, and add a few "
        "examples to the checks so that it stays repaired? Please explain your reasoning step by step, I am still "
        "learning regular expressions and would like to understand it. There is no hurry, her birthday is over, but it "
        "would make one old lady quite happy. Thank you!",
        "parceltrail/address/parse.py",
    ),
    (
        "Hi again. First of all thank you for the help yesterday, the team was impressed, and Lena says she owes you a "
        "coffee, whatever that means in your case. Now to something less pleasant. Since the switch from summer time to "
        "winter time on Sunday night the order of the scans on some tracking pages is wrong: a parcel is delivered at "
        "02:20 and put on the van at 02:40, which is funny the first time you see it and not funny when the tenth "
        "customer calls. It only happens with Nordpost, never with Swiftline, and only for scans between two and three "
        "o'clock in that one night. I remember vaguely that they send the wall clock of the depot without any offset, and "
        "that somebody, it might even have been me, decided that in the hour which exists twice the earlier one is "
        "meant. That was maybe not the best idea of my life. Could you look at how we convert their local time to UTC, "
        "and propose something better? One idea from the meeting: since scans of one parcel arrive in the right order, "
        "take the later hour whenever the earlier one would lie before the scan that came before it. Please write down "
        "the alternatives first, with two sentences each, before you change anything. I need a decision by noon, because "
        "support wants to tell the customers something today. Sorry for the pressure, and thanks as always.",
        "parceltrail/carriers/nordpost.py",
    ),
    (
        "Hallo zusammen, bevor ich es vergesse, hier noch ein Thema aus dem Gespräch mit unserem größten Kunden von "
        "gestern Nachmittag. Sie lesen unsere Liste der Shipments über die API, jede Nacht, alle Seiten hintereinander, "
        "und vergleichen sie mit ihrer eigenen Datenbank. Seit ungefähr zwei Wochen fehlen ihnen dabei immer wieder "
        "einzelne Einträge, manchmal drei, manchmal zwanzig, und niemand weiß so recht warum. Ich habe mir das mit Jonas "
        "zusammen angesehen, und wir haben den Verdacht, dass es mit der Pagination zu tun hat: der Cursor enthält die "
        "Creation Time und die Id, und wenn zwei Shipments in derselben Mikrosekunde angelegt werden, könnte beim "
        "Decode vom Cursor vielleicht etwas verloren gehen. Das ist aber wirklich nur eine Vermutung, also bitte nicht "
        "zu ernst nehmen. Könntest du dir bitte ansehen, wie der Cursor encoded und decoded wird, und ob die Genauigkeit "
        "vom Timestamp reicht? Falls du etwas findest, mach bitte einen kleinen, sauberen Vorschlag ohne unnötige "
        "Kommentare im Code, und erkläre mir kurz in zwei oder drei Sätzen, was das Problem war, damit ich es dem Kunden "
        "weitergeben kann. Es eilt ein bisschen, der nächste Termin mit ihnen ist am Donnerstag um zehn. Ganz herzlichen "
        "Dank schon im Voraus und einen schönen Tag noch!",
        "parceltrail/http/pagination.py",
    ),
    # Shorter stories.
    (
        "I was about to go home when support called: a shop entered http://10.0.0.7/hook as its webhook address and we "
        "actually called it, inside our own network. I thought we refuse private addresses? Please have a look first "
        "thing tomorrow.",
        "parceltrail/http/webhook_endpoints.py",
    ),
    (
        "ok great work so far, I'm really happy with it. one last thing for today and then you can rest: "
        "database is locked shows up in the logs whenever the poller and the api write at the same time",
        "parceltrail/store/db.py",
    ),
)

UNFITTING: tuple[str, ...] = (
    # Talk, thanks, small talk.
    "thank you so much, this is exactly what I was hoping for, you really saved my evening",
    "good morning! did you sleep well? haha just kidding, I know you don't",
    "ok that makes sense, let's leave it like this for today and continue tomorrow after my coffee",
    "wow, I did not expect that to be so quick, my boss is going to be impressed",
    "honestly I'm a bit tired of this project, do you ever get bored of answering questions all day?",
    "no no no, that's not at all what I meant, please undo everything you did in the last ten minutes",
    "are you still there? it's been quiet for a while and I'm getting nervous",
    # Everyday life.
    "what should I cook tonight with two aubergines, some feta and half a lemon?",
    "My sister is getting married in June and I have to give a speech. How do I get over being so nervous in front of "
    "people?",
    "is it better to water tomatoes in the morning or in the evening?",
    "can you recommend a few good crime novels set in Scotland, nothing too bloody please",
    "my knee hurts when I run downhill, should I see a doctor or just rest for a week",
    "was ist der Unterschied zwischen einer Oboe und einem Fagott?",
    "¿Qué tiempo va a hacer este fin de semana en Granada? Queremos subir a la sierra con los niños.",
    # Work of other assistants.
    "write a short poem about autumn leaves, four lines, in the style of a lullaby",
    "Please translate the following into formal French: we are delighted to welcome you to our annual garden party",
    "give me ten catchy names for a small bakery that specialises in sourdough and cinnamon rolls",
    "summarise the plot of Hamlet for a fourteen year old in about a hundred words",
    "who won the women's football world cup in 2019 and who scored in the final?",
    "Prove that the square root of two is irrational, as simply as you can.",
    # Tasks of quite other projects.
    "write a fragment shader that renders soft volumetric clouds with ray marching and a blue noise dither",
    "our ECG filter smears the QRS complex; replace the Butterworth band-pass by a wavelet denoising step",
    "the chess engine plays the opening far too passively, tune the piece-square tables and add a history heuristic to "
    "the alpha-beta search",
    "add a horizontal pod autoscaler and a network policy to the Helm chart of the ingress controller",
    "the reverb plugin clicks when the host changes the sample rate, probably the delay lines are not cleared",
    "train the segmentation network with a dice loss and mixed precision, and plot the learning rate schedule",
    "implement liveness analysis in the register allocator of our compiler and spill the intervals with the lowest "
    "weight first",
    # Long ones.
    "Hey, this has nothing to do with work, but you are the only one awake, so I will ask anyway. We have had a puppy for "
    "eleven days now, a small brown one with enormous ears, and while she is an angel during the day, she turns into a "
    "little monster at about nine in the evening. She bites into everything, mostly into trousers, runs in circles, "
    "barks at the curtain, and does not calm down until she falls over from one second to the next. My wife says that "
    "she is overtired and that we should put her to bed earlier, like a toddler. My neighbour, who has had dogs all his "
    "life, says that she has too much energy and needs another long walk. And the internet says both, of course, and a "
    "hundred other things. What would you try first? We both have to get up at six, and I am slowly losing my sense of "
    "humour. Please be gentle with me, it is our first dog, and we want to do it right. Thanks a lot for listening!",
    "Hi! Could you please help me with our game before the jam ends on Sunday night? It is a small platformer in Godot, "
    "and the character controller feels terrible: when the player walks off an edge and presses jump a tiny bit too late, "
    "nothing happens, and people who tried it said that it feels unfair. I read about coyote time and jump buffering, "
    "and I think I understand the idea, but I have no clue where it belongs, in the physics process or in the input "
    "callback. The second problem is the camera. It follows the player so tightly that everybody gets seasick, so I "
    "would love to have a bit of look-ahead and some smoothing that does not depend on the frame rate. And if there is "
    "time left, the enemies should turn around at the edge of a platform instead of happily walking into the spikes. "
    "Please keep the explanation simple, I usually draw the sprites and my friend who writes the scripts is ill. Thank "
    "you, you are a lifesaver!",
    "Good evening, I teach physics at a secondary school and I am preparing a lesson for next Tuesday about why the sky "
    "is blue and sunsets are red. The children are about fifteen, they know what a wave is, and some of them have heard "
    "the word frequency, but I do not want to frighten anybody with formulas. Could you suggest a small experiment that "
    "works in a normal classroom, with things that I can buy in a supermarket? I once saw somebody do it with a fish "
    "tank, a little milk and a torch, but it was long ago and I do not remember how much milk one needs. It should not "
    "take longer than twenty minutes, including the discussion. Afterwards I would like to give them three questions as "
    "homework, one easy, one harder, and one that nobody can look up. Please write in a friendly tone, avoid jargon, and "
    "explain the answers to me step by step as well, since I would rather be prepared. Thank you very much in advance!",
)
