//! What the terms of a text are.

use super::{Analyzer, Gap, words};

fn terms(text: &str) -> Vec<String> {
    Analyzer::new().terms(text).into_iter().map(|term| term.text).collect()
}

fn check(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(terms(text), *expected, "{text:?}");
    }
}

#[test]
fn compounds_give_their_parts_and_the_joined_form() {
    check(&[
        ("getWeather", &["get", "weather", "getweath"]),
        ("get_weather_v2", &["get", "weather", "v", "2", "getweatherv2"]),
        ("HTTPServer", &["http", "server", "httpserver"]),
        ("userIDs", &["user", "id", "userid"]),
        ("real-time", &["real", "time", "realtim"]),
        ("to-do", &["todo"]),
        ("math.factorial", &["math", "factori"]),
        ("files::read", &["file", "read"]),
        ("3D", &["3", "3d"]),
    ]);
}

#[test]
fn words_are_folded_and_stemmed() {
    check(&[
        ("Weather FORECASTS, calculated!", &["weather", "forecast", "calcul"]),
        ("Été où créer l'adresse", &["ete", "creer", "adress"]),
        ("Straße Ærø Łódź", &["strass", "aero", "lodz"]),
        ("ｆｕｌｌ ｗｉｄｔｈ", &["full", "width"]),
        ("ﬁle", &["file"]),
        ("Москва Й", &["москва", "и"]),
        ("user's don't", &["user"]),
        ("Ὀδυσσεύς", &["οδυσσευς"]),
    ]);
}

#[test]
fn words_of_asking_and_grammar_are_left_out() {
    check(&[
        ("Please help me, I need and want to use the calculator", &["calcul"]),
        ("could you kindly show the weather", &["show", "weather"]),
        ("je voudrais un fichier s'il vous plaît", &["fichier"]),
        ("what is this", &[]),
        ("请帮我", &[]),
        ("", &[]),
        ("…!? \u{1F600}", &[]),
    ]);
}

#[test]
fn unspaced_scripts_give_characters_and_pairs() {
    check(&[
        ("天气查询", &["天", "天气", "气", "气查", "查", "查询", "询"]),
        ("我的天气", &["的天", "天", "天气", "气"]),
        ("PDF文件", &["pdf", "文", "文件", "件"]),
        ("カタカナ", &["カ", "カタ", "タ", "タカ", "カ", "カナ", "ナ"]),
        ("ｶﾞ", &["ガ"]),
        ("날씨 앱", &["날", "날씨", "씨", "앱"]),
    ]);
}

#[test]
fn marks_of_a_script_stay_with_their_letters() {
    assert_eq!(terms("हिन्दी"), ["हिन्दी"]);
    // Thai writes no spaces: each letter with its vowel and tone signs.
    assert_eq!(words("ที่").len(), 2);
    assert_eq!(words("ที่").iter().map(|word| word.text.as_str()).collect::<String>(), "ที่");
}

#[test]
fn gaps_tell_compounds_from_phrases() {
    let gaps = |text: &str| words(text).into_iter().map(|word| word.gap).collect::<Vec<_>>();
    assert_eq!(
        gaps("aB c_d e.f g, h"),
        [
            Gap::Break,
            Gap::Fused,
            Gap::Spaced,
            Gap::Compound,
            Gap::Spaced,
            Gap::Linked,
            Gap::Spaced,
            Gap::Break
        ]
    );
}

#[test]
fn a_word_without_end_counts_by_its_beginning() {
    assert_eq!(words(&"x".repeat(1_000_000)).iter().map(|word| word.text.len()).collect::<Vec<_>>(), [64]);
}
