//! Texts and what the original tokenizer makes of them, as the `tokenizers` crate gives it for `all-MiniLM-L6-v2`.

use super::super::{Table, TokenId};
use super::builtin;

/// The tokens as the original writes them.
pub(super) fn written(table: &Table<'_>, text: &str) -> Vec<String> {
    let written = |token: &TokenId| {
        let text = String::from_utf8(table.text_of(*token).to_vec()).unwrap();
        match *token {
            TokenId::UNKNOWN => "[UNK]".to_owned(),
            token if table.continues(token) => format!("##{text}"),
            _ => text,
        }
    };
    table.tokens(text).iter().map(written).collect()
}

#[test]
fn texts_are_cut_as_the_original_does() {
    for (text, expected) in [
        ("Get the weather in Zürich, please!", "get the weather in zurich , please !"),
        ("getUserName user_id=42 (v2.0)", "get ##user ##name user _ id = 42 ( v ##2 . 0 )"),
        ("ÀÉÎõü ßtraße İstanbul", "ae ##io ##u ß ##tra ##ße istanbul"),
        ("查询北京的天气 weather東京", "[UNK] [UNK] 北 京 的 天 [UNK] weather 東 京"),
        ("こんにちは カタカナ", "こ ##ん ##に ##ち ##は カ ##タ ##カ ##ナ"),
        ("a\tb\nc\r\u{b}d\u{85}e\u{200b}f\u{ad}g\u{feff}h", "a b c def ##gh"),
        ("“quotes” – dash… ¿qué? €5 ½ ² ™ ©", "“ quotes ” – dash … ¿ que ? € ##5 ½ ² ™ ©"),
        ("🙂 emoji 👩\u{200d}💻", "[UNK] em ##oj ##i [UNK]"),
        ("Привет мир Ёлка", "п ##р ##и ##в ##е ##т м ##и ##р е ##л ##ка"),
        ("हिन्दी संगीत", "ह ##ि ##न ##द ##ी स ##ग ##ी ##त"),
        ("مرحبا", "م ##ر ##ح ##ب ##ا"),
        ("don't re-run C++/C#", "don ' t re - run c + + / c #"),
        ("antidisestablishmentarianism", "anti ##dis ##est ##ab ##lish ##ment ##arian ##ism"),
        ("\u{fffd}\u{0}nul", "nu ##l"),
        ("ﬁne Ⅷ ｆｕｌｌ", "ﬁ ##ne [UNK] [UNK]"),
        ("\u{1e9e} x\u{301}y\u{301}", "ß x ##y"),
        ("\u{3000}wide\u{2003}space\u{a0}nb", "wide space n ##b"),
        ("tiếng Việt", "tie ##ng viet"),
    ] {
        assert_eq!(written(&builtin().english, text).join(" "), expected, "{text:?}");
    }
}

#[test]
fn a_word_of_more_than_a_hundred_characters_is_unknown() {
    let table = builtin().english;
    assert!(!table.tokens(&"b".repeat(100)).contains(&TokenId::UNKNOWN));
    for text in ["b".repeat(101), "é".repeat(101)] {
        assert_eq!(
            table.tokens(&format!("{text} file")),
            [&[TokenId::UNKNOWN], &table.tokens("file")[..]].concat()
        );
    }
}
