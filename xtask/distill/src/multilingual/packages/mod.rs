//! Reads the translations of packages.

mod gettext;
mod list;
mod script;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use regex::Regex;
use serde_json::Value;

use super::language::{ENGLISH, language};
use super::text::Translations;

use list::Format;
pub(crate) use list::{MODEL, PACKAGES, Package, commands};

/// Keys of CLDR for other forms of the same name.
const OTHER_FORMS: [&str; 4] = ["-alt-", "-short", "-narrow", "-variant"];

/// A file of translations.
struct TranslationFile {
    code: String,
    language: &'static str,
    path: PathBuf,
}

impl Package {
    /// Reads the translations of the package, which is unpacked in a folder of `downloads`.
    pub(crate) fn read(&self, downloads: &Path, translations: &mut Translations) -> Result<()> {
        for files in self.files(&downloads.join(self.folder()))?.into_values() {
            if matches!(self.format, Format::Gettext) {
                for TranslationFile { language, path, .. } in files {
                    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                    gettext::read(&text, |english, text| {
                        translations.add(
                            language,
                            self.source,
                            &english.replace("%%", "%"),
                            &text.replace("%%", "%"),
                        );
                    });
                }
                continue;
            }
            // English without a region, if there is.
            let english = files.iter().filter(|file| file.language == ENGLISH);
            let Some(english) = english.min_by_key(|file| (file.code.len(), &file.code)) else { continue };
            let english = self.parse(&english.path)?;
            for file in files.iter().filter(|file| file.language != ENGLISH) {
                self.compare(&english, &self.parse(&file.path)?, file.language, translations);
            }
        }
        let count = translations.count_of(self.source);
        ensure!(count > 0, "{} has no translations at the expected paths", self.folder());
        println!("{}: {count} pairs", self.source);
        Ok(())
    }

    /// Returns the files of each part.
    fn files(&self, root: &Path) -> Result<BTreeMap<String, Vec<TranslationFile>>> {
        let pattern = Regex::new(self.paths)?;
        let mut paths = Vec::new();
        list_files(root, &mut paths).with_context(|| root.display().to_string())?;
        paths.sort();
        let mut parts: BTreeMap<String, Vec<TranslationFile>> = BTreeMap::new();
        for path in paths {
            let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            let Some(found) = pattern.captures(&relative) else { continue };
            let group =
                |name: &str| found.name(name).map(|group| group.as_str().to_owned()).unwrap_or_default();
            let code = group("lang");
            if let Some(language) = language(&code) {
                parts.entry(group("part")).or_default().push(TranslationFile { code, language, path });
            }
        }
        Ok(parts)
    }

    fn parse(&self, file: &Path) -> Result<Value> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        if matches!(self.format, Format::Script) {
            return script::texts(&text);
        }
        serde_json::from_str(&text).with_context(|| file.display().to_string())
    }

    /// Adds the texts that both trees have under the same keys.
    fn compare(
        &self,
        english: &Value,
        other: &Value,
        language: &'static str,
        translations: &mut Translations,
    ) {
        let mut add = |english: &str, text: &str| translations.add(language, self.source, english, text);
        match self.format {
            Format::Annotations(key) => {
                let [english, other] = [english, other].map(|tree| tree.pointer("/annotations/annotations"));
                annotations(key, english, other, &mut add);
            }
            Format::Json { below, only } => {
                for pointer in below {
                    // CLDR has its trees below the language.
                    let [english, other] = [english, other].map(|tree| {
                        let main =
                            tree.get("main").and_then(Value::as_object).and_then(|main| main.values().next());
                        main.unwrap_or(tree).pointer(pointer)
                    });
                    walk(english, other, only, "", &mut add);
                }
            }
            Format::Gettext | Format::Script => walk(Some(english), Some(other), None, "", &mut add),
        }
    }
}

/// Appends all files below a folder.
fn list_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn walk(
    english: Option<&Value>,
    other: Option<&Value>,
    only: Option<&str>,
    key: &str,
    add: &mut impl FnMut(&str, &str),
) {
    match (english, other) {
        (Some(Value::Object(english)), Some(Value::Object(others))) => {
            for (key, english) in english {
                if !OTHER_FORMS.iter().any(|form| key.contains(form)) {
                    walk(Some(english), others.get(key), only, key, add);
                }
            }
        }
        (Some(Value::String(english)), Some(Value::String(text))) if only.is_none_or(|only| only == key) => {
            add(english, text);
        }
        _ => {}
    }
}

/// Adds the texts under a key of the characters that both have.
fn annotations(key: &str, english: Option<&Value>, other: Option<&Value>, add: &mut impl FnMut(&str, &str)) {
    let (Some(Value::Object(english)), Some(Value::Object(others))) = (english, other) else { return };
    for (character, english) in english {
        let Some(other) = others.get(character) else { continue };
        let [english, text] = [english, other].map(|annotation| {
            let words = annotation.get(key).and_then(Value::as_array);
            let words = words.into_iter().flatten().filter_map(Value::as_str);
            words.collect::<Vec<_>>().join(" ")
        });
        add(&english, &text);
    }
}
