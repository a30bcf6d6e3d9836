"""The constants of the gate and the ranker, beside the settings of their sections; `config` loads both.

A field with a default is a constant: users do not set it, and no file or variable changes it. `hybrid eval` and the
laboratory override a constant by its name, as in `--set search.rrf_k=20` and `--against ranking.history=0`. A field
without a default is a setting; its default and its reason are in `config.toml`.
"""

# Annotations are no strings here: the checks of settings read them.

from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace

# The range of a number stands with its type: the least and the largest value.
Share = Annotated[float, (0, 1)]
Cosine = Annotated[float, (-1, 1)]
Weight = Annotated[float, (-10, 10)]


class GateConfig(Struct, frozen=True):
    """The `[gate]` section: the rates that users choose, and the weights of the parts of the statistic; 0 is off.

    `hybrid eval gate --ablation` measures what each part is worth.
    """

    max_false_open_rate: Share
    max_other_task_rate: Share

    # Sentences and clauses of a prompt that are scored besides the whole, since a question is often one clause of a
    # story.
    pieces: Annotated[int, (0, 12)] = 12
    # Multiply the cosine by n / sqrt(n^2 + 1), where n is the length of the query's vector before it is made unit
    # length, because vague words have little length. Only a model that gives lengths.
    null: bool = True
    # Subtract this times the mean cosine of the piece to the 3 nearest pieces of talk; the second for a model without a
    # probe.
    chat: Annotated[float, (0, 10)] = 0.6
    chat_without_probe: Annotated[float, (0, 10)] = 0.8
    # Add this times the logit, -2 to 4, that the model's probe gives for "this is about code".
    probe: Share = 0.04
    # Add this times the log, 0 to 8, of how much more frequent the most specific term is here than in code at large.
    lexical: Share = 0.025
    # Add this times the rarity of the words of the piece that one chunk contains: the sum of -ln(share of public code
    # and documentation with the word), each 0 to 8, at most 16. A plain question has no specific word, but its words
    # meet in the chunk that answers it.
    together: Share = 0.012
    # Add this for each identifier of the piece that occurs here, at most two.
    names: Share = 0.04
    # A short prompt opens the gate when it names something here, and a very short one only then. 1 is more than all
    # other parts together.
    alone: Annotated[float, (0, 10)] = 1.0
    # Subtract this for each word, at most three, that neither occurs here nor is common in code, such as the name of
    # another project.
    absent: Share = 0.03
    # When the prompt asks how the user does something ("how do I ..."), or gives the model a role, subtract this times
    # the rarity, 0 to 1, of each word that does not occur here: a prompt about this project uses words of this project.
    # At most 3 count, or 5 behind a role. At 0.08 a real question with two foreign words is lost, and two more of 640
    # others are not.
    lacking: Share = 0.05
    # Subtract this times ln(words / 60) for a prompt of more than 60 words: a pasted log comes close to something
    # anywhere.
    length: Annotated[float, (0, 10)] = 0.12
    # Files only: add this when the prompt asks about the project itself, such as how its tests are run, and a file
    # answers. No prompt lacks more. At 0 such a question is judged as any other.
    project: Share = 1.0

    # The rest is for lessons and lore only. Add this times the sum, over the words of the piece, of a word's length
    # (about 1.2) times its cosine to the nearest word of the record, where that exceeds 0.4. Files do without it,
    # because a large project contains every word somewhere.
    words: Share = 0.05
    # Leave out the word of the prompt that the cosine depends on most, and subtract this share of the fall. A name that
    # the whole project is about brings any record near; the right record stays near without it. 0.5 to 1 serve equally
    # well.
    hinge: Share = 0.75
    # Lessons only: add this when the piece contains every word of one of the lesson's triggers. Most triggers are words
    # of the whole project: at 0.15, one and a half times as many of the tasks that no lesson fits got one.
    trigger: Share = 0.1
    # Add this when the gate of the files is open and the record names one of the two files that fit best, or a symbol
    # that only one of them defines.
    file: Share = 0.05
    # Add this times the cosine that the reader (`model.reader`) has between prompt and record, less the record's mean
    # cosine to the 10 nearest tasks of other projects. At 0 records are not read.
    reader: Annotated[float, (0, 10)] = 1.5
    # With a reader, multiply max_other_task_rate by this, because a prompt that no record fits comes nearer to one,
    # too.
    reader_rate: Share = 0.4
    # Evidence that a record needs, however low the bars of its kind. With a single record the bars are at 0.1, and one
    # loosely related word is enough to pass them; from ten records on they are above 0.2.
    least: Share = 0.24


class SearchConfig(Struct, frozen=True):
    """The `[search]` section."""

    ranker: Literal["evidence", "rrf"]
    lexical_engine: Literal["postings", "rank_bm25"]
    min_cosine: Cosine
    titles: bool
    languages: bool

    # Candidates of each leg before fusion; files are ranked by the evidence of their best chunks among so many.
    depth: Annotated[int, (1, 10_000)] = 256
    # Chunks that a query is compared with at least in an index of 20,000 or more: the nearest by the signs of their
    # vectors. Of more than 500,000 chunks it is one in 125. At 0 all are compared, which takes four to six times as
    # long.
    compared: Annotated[int, (0, 1_000_000)] = 4000
    # Cormack, Clarke and Büttcher, Reciprocal rank fusion (SIGIR 2009), use 60.
    rrf_k: Annotated[int, (1, 10_000)] = 60
    # The weight of a leg in the fusion.
    dense_weight: Annotated[float, (0, 100)] = 1.0
    lexical_weight: Annotated[float, (0, 100)] = 1.0
    # The same for a query that is only identifiers or paths, where the exact word says more than its meaning.
    symbol_dense_weight: Annotated[float, (0, 100)] = 0.5
    symbol_lexical_weight: Annotated[float, (0, 100)] = 1.0
    # Okapi's term saturation and length normalisation: the values of rank-bm25.
    bm25_k1: Annotated[float, (0, 10)] = 1.5
    bm25_b: Share = 0.75


class RankingConfig(Struct, frozen=True):
    """The weight of each piece of `hybrid.search.ranking.evidence`, in their order; each piece is 0 to 1.

    The weights are equal on purpose: no weights that were learnt did better on projects that they were not learnt on.
    "Words" are BM25 over fields, where names count more than text; "sense" is the cosine above the mean of the project.
    `hybrid search --explain` shows the pieces of every hit, `hybrid eval retrieval --ablation` what each is worth.
    """

    # The file's best chunk.
    best_words: Weight = 1.0
    best_sense: Weight = 1.0
    # Its four best chunks, each counted half as much as the one before: several good chunks in one file are no
    # accident.
    sum_words: Weight = 1.0
    sum_sense: Weight = 1.0
    # The file as a whole: the same question at a larger scale.
    file_words: Weight = 1.0
    file_sense: Weight = 1.0
    # Every word of the file's name is a word of the query, a relative or a usual abbreviation of one.
    file_name: Weight = 1.0
    # The query gives its path, or a stack trace in the query failed there. This counts twice, because it is said, not
    # concluded.
    path: Weight = 2.0
    # The same once more for a bug report or another prompt with a title: many files share the words of a long text.
    reported_path: Weight = 2.0
    # It answers a question about the project itself, such as how its tests are run: the words of such a question stand
    # everywhere.
    project: Weight = 10.0
    # The share of the query, by rarity of its words, that the words of the file's path cover.
    path_words: Weight = 1.0
    # It defines a symbol that the query names.
    defines: Weight = 1.0
    # No other file defines a symbol that the query spells as code; in a bug report, one that its title spells so.
    defines_alone: Weight = 1.0
    # The query begins with its name or that of its folder, as `ledger: fix …` does.
    scope: Weight = 1.0
    # It has a string literal that the query says word for word: a message, an option, a setting, a rule, a route. By
    # rarity.
    literals: Weight = 1.0
    # The best agreement between the name of one definition and the query's words.
    definition_fit: Weight = 1.0
    # The names of all its definitions as one text, by words.
    definition_words: Weight = 1.0
    # The best comment or docstring, by words.
    remarks: Weight = 1.0
    # The comment at the top of the file, by words. It counts half, because it is as often a licence or nothing.
    opening: Weight = 0.5
    # Closeness to the query and the five best chunks together, which use the project's own words.
    feedback: Weight = 1.0
    # The subjects of the earlier commits that changed it, by words; the newest 5,000 that touched few files.
    history: Weight = 1.0
    # The roles that count against a file, unless the query asks for them. A test describes its subject so fully that it
    # needs the largest weight: at -1 tests came first too often in whole repositories.
    test: Weight = -2.0
    example: Weight = -1.0
    generated: Weight = -1.0
    vendored: Weight = -0.5
    legacy: Weight = -0.5
    # A header or a type stub, whose definitions are in another file.
    interface: Weight = -1.0
    # Another version (`v3/`) than the newest or the one that the query names.
    version: Weight = -0.5
    # It is about the project and not of it: a changelog, a licence, a translation.
    aside: Weight = -1.0
    # A test, a page or a file of data where a report or a wish wants something changed, unless one of these is to be
    # changed. A test counts less by its own weight too.
    beside_source: Weight = -2.0
    # It changed together with the three best files in earlier commits. Half, because by itself it says little.
    changes_with: Weight = 0.5
    # A test that is named after it fits what is to be changed.
    tested: Weight = 1.0
    # The query says the opposite of the word that tells it from its sibling: "on Windows" of `posix/` beside `nt/`.
    twin: Weight = -1.0
    # No weight, but the evidence that a file may be ahead by and still change places with the one that it stands for:
    # an older version or copy with its successor, a stub or header with its source, a file that only re-exports with
    # what it exports. Where both define a symbol that the query names, any lead will do. 0 is off. Chosen by hand: from
    # 3 to 5 the order of four real trees hardly changes.
    stand_in: Annotated[float, (0, 10)] = 4.0


class PartsConfig(Struct, frozen=True):
    """The `[parts]` section: which parts of the fitting files are shown, and how much of each (`answer.excerpts`).

    The first ones are the weights of what speaks for a part, beside the evidence of its chunk, which counts once; each
    is 0 to 1. A task has some of its own (`for_task`), since it changes code that decides, while a question may be
    about a class. `hybrid eval injection --against parts.cover=0` measures what one is worth.
    """

    # The share of the prompt, by worth of its words, that the text of the part has.
    cover: Weight = 1.0
    # The share of the words of its name, by worth, that the prompt has.
    name: Weight = 0.35
    # Another part that fits mentions it by name: times the worth of that one.
    called: Weight = 0.3
    called_of_task: Weight = 0.1
    # It is in a chunk that the search found: 1 for the file's best one, 1/2 for the next, 1/3 for the third.
    order: Weight = 0.4
    # The evidence for the file as a share of that for the best one.
    file: Weight = 0.5
    file_of_task: Weight = 1.0
    # It is in the file with the most evidence.
    first: Weight = 0.2
    first_of_task: Weight = 0.5
    # The prompt names it or what it is defined in.
    named: Weight = 0.2
    # It is in a test, or in the twin of the file that the prompt asks for.
    test: Weight = -0.4
    # Its code decides and repeats: 1 for seven words such as `if` and `for`, by their logarithm. What only passes on
    # to the code that does the work, or announces it, has none.
    branches: Weight = 0.35
    branches_of_task: Weight = 0.5
    # It is code of more than 150 lines, which has a word of everything.
    long: Weight = -0.3
    # It is code outside of any definition.
    loose: Weight = -0.6
    # It is not in the first two files.
    behind: Weight = -0.2
    # A class and its like: what it does is in its members.
    holder: Weight = -0.35
    holder_of_task: Weight = -0.7
    # It has fewer than four lines.
    little: Weight = -0.2

    # Characters that files take of an injection. More shows ever less for each: see decision 95.
    chars: Annotated[int, (0, 9_000)] = 2_900
    # The share of them that is for text; the rest is for places.
    text: Share = 0.77
    # Files of which text may be shown.
    files: Annotated[int, (1, 10)] = 5
    # A part of so many lines is shown whole, of a longer one so many; and of the best part.
    whole: Annotated[int, (1, 200)] = 30
    window: Annotated[int, (4, 200)] = 20
    best_whole: Annotated[int, (1, 200)] = 36
    best_window: Annotated[int, (4, 200)] = 26
    # The least worth of a part that is shown, as a share of the best one's; where the session has that one; and of a
    # definition that is named.
    least: Share = 0.5
    least_again: Share = 0.8
    least_named: Share = 0.35
    # Further files that are named for a question, at most, with the least evidence for one as a share of that for the
    # best; and for a task, which may change any of them.
    others: Annotated[int, (0, 10)] = 5
    near: Share = 0.65
    others_of_task: Annotated[int, (0, 10)] = 6
    # Added to that share: it alone defines something that the shown text names; it names something that is shown.
    defines: Share = 0.2
    mentions: Share = 0.1
    # Further definitions of a shown file that are named.
    places: Annotated[int, (0, 50)] = 14

    def for_task(self) -> "PartsConfig":
        """Return the same with the weights of a task in place of those of a question."""
        return replace(
            self,
            called=self.called_of_task,
            file=self.file_of_task,
            first=self.first_of_task,
            branches=self.branches_of_task,
            holder=self.holder_of_task,
            others=self.others_of_task,
        )
