//! Stop words: words of grammar, and words that only express a request.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Grammar words of English, folded. They include the one-letter remains of contractions.
const ENGLISH: &str = "a about above after again against all also am an and any are aren arent as at be because been \
    before being below between both but by can cannot cant could couldn couldnt d did didn didnt do does doesn doesnt \
    doing don dont down during each few for from further had hadn has hasn have haven having he her here hers herself \
    him himself his how i id if ill im in into is isn isnt it its itself ive just ll m ma may me might more most must \
    my myself no nor not now of off on once only or other our ours ourselves out over own per re s same shall she \
    should shouldn so some such t than that thats the their theirs them themselves then there theres these they \
    theyre this those through to too under until up upon us ve very via was wasn we were weren what whats when where \
    whether which while who whom whose why will with within without won wont would wouldn yes yet you your yours \
    yourself yourselves youre";

/// Words by which people request things in English. Verbs that name what a tool does (`find`, `search`, `get`) are
/// excluded.
const ENGLISH_REQUESTS: &str = "able additionally anyone assist assistance currently could curious ensure give gimme \
    going gonna gotta hello help helping helpful hey hi hoping interested kindly know let lets like looking make making \
    maybe need needed needs ok okay please pls possible really suggest sure tell thank thanks think trying use used \
    using utilize wanna want wanted wants wish wondering";

/// Grammar and request words of French, folded, except those with another meaning in English (`car`, `comment`,
/// `pour`).
const FRENCH: &str = "afin ai aide aider aidez alors au aucun aussi aux avec avez avoir avons besoin bonjour ce cela \
    celle celui ces cet cette ceux chez comme dans de des dois donc dont du elle elles en entre es est et etait \
    etes etre eux faut il ils je la le les leur leurs lui mais me mes merci mon ne nos notre nous on ont ou par parmi \
    pas peut peux plait pouvez pouvoir puis qu quand que quel quelle quelles quels qui quoi sa sans se ses si sont sous \
    souhaite suis sur svp ta te tes toi tous tout toute toutes tres tu un une vers veuillez veut veux voici vos \
    votre voudrais vous";

/// Chinese and Japanese characters of grammar and of requests. They count only inside a pair with another character.
const CHARACTERS: &str = "的了吗呢吧啊呀嘛么之其请請帮幫我你您他她它们們想要需把被给給和与與或是在这這那哪个個一些什怎为為以可就也都还還\
    はがをにのへとでもかよねですますてください";

static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    [ENGLISH, ENGLISH_REQUESTS, FRENCH].into_iter().flat_map(str::split_whitespace).collect()
});

static STOP_CHARACTERS: LazyLock<HashSet<char>> =
    LazyLock::new(|| CHARACTERS.chars().filter(|c| !c.is_whitespace()).collect());

/// Returns true if a folded word is a stop word.
pub(super) fn is_stop_word(word: &str) -> bool {
    WORDS.contains(word)
}

/// Returns true if a word of one unspaced character is a stop character.
pub(super) fn is_stop_character(word: &str) -> bool {
    word.chars().all(|c| STOP_CHARACTERS.contains(&c))
}
