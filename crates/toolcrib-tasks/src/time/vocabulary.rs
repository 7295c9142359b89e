//! The English and French words of time phrases.

use jiff::civil::Weekday;

/// A token of a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PhraseToken {
    /// A number.
    Number(u32),
    /// A word, in lower case and without accents.
    Word(String),
    /// `:` or `.` between two numbers.
    Colon,
}

/// Splits a phrase into tokens. Returns `None` if it contains an unexpected character or a number that is too large.
pub(super) fn tokens(text: &str) -> Option<Vec<PhraseToken>> {
    let mut tokens = Vec::new();
    let mut characters = text.chars().flat_map(char::to_lowercase).map(without_accent).peekable();
    while let Some(character) = characters.next() {
        match character {
            '0'..='9' => {
                let mut digits = String::from(character);
                while let Some(digit) = characters.next_if(char::is_ascii_digit) {
                    digits.push(digit);
                }
                tokens.push(PhraseToken::Number(digits.parse().ok()?));
            }
            'a'..='z' => {
                let mut word = String::from(character);
                while let Some(letter) = characters.next_if(char::is_ascii_lowercase) {
                    word.push(letter);
                }
                // Elisions abbreviate words without a meaning: `d'ici`, `l'apres`, `o'clock`.
                match characters.next_if(|next| matches!(next, '\'' | '’')) {
                    Some(_) if word.len() == 1 => {}
                    _ => tokens.push(PhraseToken::Word(word)),
                }
            }
            ':' => tokens.push(PhraseToken::Colon),
            ' ' | ',' | '-' | '.' | '!' | '\t' | '\n' | '\'' | '’' => {}
            _ => return None,
        }
    }
    Some(tokens)
}

/// Returns a letter without its accent.
fn without_accent(character: char) -> char {
    match character {
        'à' | 'â' | 'ä' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'î' | 'ï' => 'i',
        'ô' | 'ö' => 'o',
        'ù' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        '\u{a0}' | '\u{202f}' => ' ',
        other => other,
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" | "seconde" | "secondes" => Unit::Second,
        "m" | "min" | "mins" | "mn" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" | "heure" | "heures" => Unit::Hour,
        "d" | "day" | "days" | "j" | "jour" | "jours" => Unit::Day,
        "w" | "wk" | "week" | "weeks" | "sem" | "semaine" | "semaines" => Unit::Week,
        "month" | "months" | "mois" => Unit::Month,
        "y" | "year" | "years" | "an" | "ans" | "annee" | "annees" => Unit::Year,
        _ => return None,
    })
}

/// Parses a number that is written as a word.
pub(super) fn number(word: &str) -> Option<u32> {
    Some(match word {
        "a" | "an" | "one" | "un" | "une" => 1,
        "two" | "deux" => 2,
        "three" | "trois" => 3,
        "four" | "quatre" => 4,
        "five" | "cinq" => 5,
        "six" => 6,
        "seven" | "sept" => 7,
        "eight" | "huit" => 8,
        "nine" | "neuf" => 9,
        "ten" | "dix" => 10,
        "fifteen" | "quinze" => 15,
        "twenty" | "vingt" => 20,
        "thirty" | "trente" => 30,
        _ => return None,
    })
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" | "lundi" => Weekday::Monday,
        "tuesday" | "tue" | "tues" | "mardi" => Weekday::Tuesday,
        "wednesday" | "wed" | "mercredi" => Weekday::Wednesday,
        "thursday" | "thu" | "thur" | "thurs" | "jeudi" => Weekday::Thursday,
        "friday" | "fri" | "vendredi" => Weekday::Friday,
        "saturday" | "sat" | "samedi" => Weekday::Saturday,
        "sunday" | "sun" | "dimanche" => Weekday::Sunday,
        _ => return None,
    })
}

pub(super) fn month(word: &str) -> Option<i8> {
    Some(match word {
        "january" | "jan" | "janvier" | "janv" => 1,
        "february" | "feb" | "fevrier" | "fevr" => 2,
        "march" | "mar" | "mars" => 3,
        "april" | "apr" | "avril" | "avr" => 4,
        "may" | "mai" => 5,
        "june" | "jun" | "juin" => 6,
        "july" | "jul" | "juillet" | "juil" => 7,
        "august" | "aug" | "aout" => 8,
        "september" | "sep" | "sept" | "septembre" => 9,
        "october" | "oct" | "octobre" => 10,
        "november" | "nov" | "novembre" => 11,
        "december" | "dec" | "decembre" => 12,
        _ => return None,
    })
}

/// Returns the hour that a word for a time of day represents.
pub(super) fn hour(word: &str) -> Option<i8> {
    Some(match word {
        "midnight" | "minuit" => 0,
        "morning" | "matin" => 9,
        "noon" | "midday" | "midi" => 12,
        "afternoon" => 15,
        "evening" | "soir" | "tonight" => 19,
        _ => return None,
    })
}

/// Returns true if a word in a phrase carries no meaning.
pub(super) fn is_filler(word: &str) -> bool {
    [
        "at", "on", "the", "of", "in", "this", "o", "clock", "oclock", "a", "le", "la", "les", "de", "du",
        "des", "ce", "cet", "cette", "er", "st", "nd", "rd", "th", "et", "and", "vers", "dans",
    ]
    .contains(&word)
}
