"""Requests to the invented project that open the gate alone, and what people put around a request."""

REQUESTS = (
    "add a max delay setting to the exponential backoff of the carrier client",
    "the circuit breaker never closes again after a carrier time-out",
    "how does the rate limit refill the token bucket of a shop?",
    "which postcodes count as islands for the surcharge?",
    "verify the webhook signature before the payload is parsed",
)

WRAPPINGS = {
    "please": "Please {}.",
    "could you": "Could you please take a look at this when you have a minute: {}? Thanks a lot!",
    "greeting": "Good morning! Hope you had a nice weekend. {}",
    "deadline": "{} - this has to be done before Friday noon, my boss is waiting for it.",
    "urgent": "URGENT!! {}. asap please",
    "thanks first": "Great, that worked, thank you. Next: {}",
    "apology": "Sorry to bother you again, I am completely lost. {} No rush.",
    "style": "{}. Write clean code, keep it simple, no comments, and explain your reasoning step by step.",
    "senior": "As a senior engineer, {}. Be careful and do not break the existing behaviour.",
    "tests": "{}. Do not stop until every single test passes, then summarise what you changed in three points.",
    "plan": "First make a plan and show it to me. {}. Wait for my answer before you change anything.",
    "ticket": 'Ticket from yesterday, assigned to me: "{}". Reproduce it first, then propose two fixes.',
    "dictation": "okay so um what I wanted to say is uh {} you know",
    "lower case": "hey so {} pls, ty",
    "praise": "You are doing an amazing job today, I am really happy with it! One last thing: {}",
    "new here": "I'm new to this project and still find my way around. {} I would be grateful for any hint.",
    "options": "Give me two or three options with their pros and cons. {}",
    "quick": "Quick question before lunch: {} Not urgent.",
    "list": "Two things:\n1. {}\n2. tell me when you are done",
    "quoted": "A colleague told me in the meeting today:\n> {}\nWhat do you think?",
    "limits": "{}. Only change what is needed, at most twenty lines, and leave the tests alone.",
    "German frame": "Hallo, kannst du mir bitte kurz helfen? {} Danke dir!",
    "emoji": "hi 👋 {} 🙏🙏",
    "mode": "Ultrathink. {}. Use as few tokens as you can.",
    "role": "You are a careful engineer who works on this code base. {}",
    "weather": "It's raining here all day, so let's get something done. {} After that I go for a walk.",
    "order": "Before the other thing we talked about yesterday, {}. Then go on where you were.",
    "doubt": "Not sure if this makes sense at all, maybe I misunderstand something, but {}",
    "signature": "{}\n\nBest regards and have a nice evening\nJo",
    "story": (
        "Hello! Let me tell you a bit about how we got here, so that you understand why I ask. Last week we had a long "
        "meeting with the whole team, and everybody was tired because of the release the night before. At some point our "
        "product owner said that she gets the same question again and again from two or three of our larger customers, and "
        "that she does not know what to answer any more. Nobody in the room had a good idea at first, and somebody even "
        "said that we should leave everything as it is until next year. I did not like that at all, to be honest, since it "
        "would come back to me in the end anyway. So I promised to look into it this week, and of course I found no time "
        "until now, with the holidays coming and two people being ill. {} That is really all I want from you today. Please "
        "take the time that you need, be thorough, and tell me openly if you think that I am on the wrong track. If you "
        "have questions, ask them before you begin and not when half of it is done. I will be back at my desk at about four "
        "o'clock, after I have picked up my daughter, and would love to see a first result by then. Thank you so much in "
        "advance, you are a great help, and I mean that!"
    ),
}
