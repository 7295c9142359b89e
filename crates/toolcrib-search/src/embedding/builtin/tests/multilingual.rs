//! What the multilingual table promises.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::MULTILINGUAL_TABLE;
use super::{Table, builtin, similarity};
use crate::embedding::Embedder;

fn pieces(text: &str) -> Vec<String> {
    let table = Table::parse(MULTILINGUAL_TABLE).unwrap();
    let text_of = |piece| String::from_utf8(table.text_of(piece).to_vec()).unwrap();
    table.pieces(text).into_iter().map(text_of).collect()
}

#[test]
fn the_multilingual_table_is_the_one_that_its_record_tells_of() {
    let record: Value = serde_json::from_str(include_str!("../../../../assets/multilingual.json")).unwrap();
    let table = Table::parse(MULTILINGUAL_TABLE).unwrap();
    assert!(table.is_intact());
    assert_eq!(record["table"]["sha256"], format!("{:x}", Sha256::digest(MULTILINGUAL_TABLE)));
    assert_eq!(record["table"]["tokens"], table.len());
    assert!(MULTILINGUAL_TABLE.len() <= 9_500_000, "{} bytes", MULTILINGUAL_TABLE.len());
}

#[test]
fn a_request_is_near_its_translation() {
    let builtin = builtin();
    let (near, far) = ("create a new folder", "the weather in a city");
    for text in [
        "lege einen neuen Ordner an",
        "crea una carpeta nueva",
        "создай новую папку",
        "أنشئ مجلدًا جديدًا",
        "एक नया फ़ोल्डर बनाओ",
        "新建一个文件夹",
        "新しいフォルダを作成",
        "새 폴더 만들기",
        "tạo thư mục mới",
        "สร้างโฟลเดอร์ใหม่",
    ] {
        let vector = builtin.embed_one(text);
        let [near, far] = [near, far].map(|other| similarity(&vector, &builtin.embed_one(other)));
        assert!(near > far + 0.3, "{text}: {near} against {far}");
    }
}

#[test]
fn english_is_told_from_other_languages() {
    let builtin = builtin();
    for text in
        ["list the files", "What's the weather in Paris?", "getWeather", "3.5 * 2", "", "send an SMS to Anna"]
    {
        assert!(builtin.is_english(text), "{text}");
    }
    for text in
        ["zeige die Dateien", "¿qué tiempo hace en París?", "天气", "погода", "ファイルを表示", "날씨 알려줘"]
    {
        assert!(!builtin.is_english(text), "{text}");
    }
}

#[test]
fn scripts_without_spaces_are_cut_into_pieces() {
    assert_eq!(pieces("天気"), ["天気"]);
    assert_eq!(pieces("文件夹"), ["文件", "夹"]);
    assert_eq!(pieces("PDFを保存").first().map(String::as_str), Some("pdf"));
}

#[test]
fn words_are_those_that_are_cut_into_pieces() {
    let words = Table::words("Ça va? 東京タワー 2x");
    let words: Vec<_> = words.iter().map(|(word, is_unspaced)| (word.as_str(), *is_unspaced)).collect();
    assert_eq!(words, [("ça", false), ("va", false), ("東京タワー", true), ("2x", false)]);
}

#[test]
fn marks_and_joiners_do_not_end_a_word() {
    assert_eq!(pieces("हिन्दी").concat(), "हिन्दी");
    assert_eq!(pieces("می\u{200c}روم").concat(), "میروم");
    assert_eq!(pieces("İstanbul").concat(), "istanbul");
    assert_eq!(pieces("Äpfel").concat(), "äpfel");
}

#[test]
fn a_text_of_unknown_characters_has_no_coverage() {
    let builtin = builtin();
    assert!(builtin.coverage("ᚠᚢᚦᚨᚱᚲ") <= 0.0);
    assert!(builtin.coverage("Wie wird das Wetter morgen?") > 0.9);
}
