//! Synonyms of words that occur in searches for tools: data in English and French.

use std::collections::HashMap;

use toolcrib_model::text::truncate_bytes;

use crate::settings::{MAX_QUERY_BYTES, MAX_SYNONYM_GROUPS, MAX_SYNONYM_WORDS};
use crate::text::{Analyzer, compact, words};

/// The built-in groups, one per line. All members of a group are interchangeable. Verbs come first, then nouns.
///
/// Only words for the same act on the same thing are included: `get` is missing, since nearly every tool gets
/// something, and so are words with a second common meaning (`book`, `order`, `charge`).
const GROUPS: &[&str] = &[
    "delete remove destroy erase drop supprimer supprime effacer enlever retirer detruire",
    "create add make new insert creer cree ajouter ajoute nouveau nouvelle",
    "update edit modify change alter modifier modifie changer",
    "find search lookup locate query discover chercher cherche rechercher recherche trouver trouve",
    "list enumerate browse lister liste",
    "show display view afficher affiche montrer montre voir",
    "get fetch retrieve obtain recuperer recupere obtenir",
    "read open lire lis ouvrir ouvre",
    "write save store ecrire ecris enregistrer sauvegarder",
    "send transmit envoyer envoie",
    "copy duplicate clone copier dupliquer",
    "move rename deplacer renommer",
    "compute calculate calculer calcule calcul calculator",
    "translate translation traduire traduction",
    "convert conversion transform convertir",
    "download telecharger",
    "run execute launch executer lancer",
    "stop cancel abort annuler arreter",
    "summarize summary resume resumer",
    "buy purchase acheter achat",
    "file document fichier",
    "folder directory dossier repertoire",
    "picture image photo",
    "movie film",
    "mail email message courriel courrier",
    "car vehicle automobile voiture",
    "weather forecast meteo",
    "price cost prix cout tarif",
    "user account utilisateur compte",
    "customer client",
    "job career employment vacancy emploi",
    "shop store shopping boutique magasin",
    "trip travel voyage vacation",
    "flight airline vol avion",
    "hotel accommodation lodging",
    "recipe cooking dish meal recette",
    "restaurant dining",
    "news headline article actualite",
    "stock share equity",
    "song music track musique chanson",
    "video clip",
    "game jeu",
    "lyrics paroles",
    "word mot",
    "date day jour",
    "city town ville",
    "country pays",
    "house home property estate maison",
    "doctor physician medical medecin",
    "lawyer legal law avocat",
    "child kid enfant",
    "university college school ecole universite",
];

/// The synonyms of each term.
pub(crate) struct Synonyms {
    groups: Vec<Vec<String>>,
    by_term: HashMap<String, Vec<usize>>,
    /// The groups of an app as they were written.
    own: Vec<Vec<Member>>,
    /// The indices of the groups of an app that contain a term.
    own_by_term: HashMap<String, Vec<usize>>,
}

/// A member of a group of an app.
pub(crate) struct Member {
    /// The member as it was written.
    pub text: String,
    /// The joined words as one term.
    term: String,
    /// The terms of its words, if there are several.
    terms: Vec<String>,
}

impl Member {
    /// Returns true if `contains` accepts the joined term, or the terms of all words.
    pub(crate) fn is_among(&self, contains: impl Fn(&str) -> bool) -> bool {
        contains(&self.term) || (!self.terms.is_empty() && self.terms.iter().all(|term| contains(term)))
    }
}

impl Synonyms {
    /// Creates the synonyms from the built-in groups and those of an app. A member of several words is represented by
    /// its joined words.
    pub(crate) fn new(analyzer: Analyzer, added: &[Vec<String>]) -> Self {
        let mut groups = Vec::with_capacity(GROUPS.len() + added.len());
        let mut by_term: HashMap<String, Vec<usize>> = HashMap::new();
        let (own, own_by_term) = own(analyzer, added);
        let builtin = GROUPS.iter().map(|line| line.split(' ').collect::<Vec<_>>());
        let added = added.iter().take(MAX_SYNONYM_GROUPS);
        let added = added.map(|group| group.iter().take(MAX_SYNONYM_WORDS).map(String::as_str).collect());
        for members in builtin.chain(added) {
            let terms = members.into_iter().map(|member| analyzer.stem(&compact(member)));
            let mut group: Vec<String> = terms.filter(|term| !term.is_empty()).collect();
            group.sort_unstable();
            group.dedup();
            for term in &group {
                by_term.entry(term.clone()).or_default().push(groups.len());
            }
            groups.push(group);
        }
        Self { groups, by_term, own, own_by_term }
    }

    /// Returns true if the app has synonym groups.
    pub(crate) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns the members of the app's groups that contain the term, as they were written.
    pub(crate) fn own(&self, term: &str) -> impl Iterator<Item = &Member> {
        let groups = self.own_by_term.get(term).into_iter().flatten();
        groups.filter_map(|group| self.own.get(*group)).flatten()
    }

    /// Returns true if the term is in a group.
    pub(crate) fn knows(&self, term: &str) -> bool {
        self.by_term.contains_key(term)
    }

    /// Returns the other terms of the groups that contain `term`, sorted and without duplicates.
    pub(crate) fn of(&self, term: &str) -> Vec<&str> {
        let groups = self.by_term.get(term).into_iter().flatten().filter_map(|group| self.groups.get(*group));
        let mut terms: Vec<&str> =
            groups.flatten().map(String::as_str).filter(|other| *other != term).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }
}

fn own(analyzer: Analyzer, added: &[Vec<String>]) -> (Vec<Vec<Member>>, HashMap<String, Vec<usize>>) {
    let mut by_term: HashMap<String, Vec<usize>> = HashMap::new();
    let member = |text: &String| {
        let text = truncate_bytes(text, MAX_QUERY_BYTES);
        let terms: Vec<String> = words(text).iter().map(|word| analyzer.stem(&word.text)).collect();
        let term = analyzer.stem(&compact(text));
        Member { text: text.to_owned(), term, terms: if terms.len() > 1 { terms } else { Vec::new() } }
    };
    let groups = added.iter().take(MAX_SYNONYM_GROUPS).enumerate().map(|(number, group)| {
        let members: Vec<Member> = group.iter().take(MAX_SYNONYM_WORDS).map(member).collect();
        for member in members.iter().filter(|member| !member.term.is_empty()) {
            let groups = by_term.entry(member.term.clone()).or_default();
            if groups.last() != Some(&number) {
                groups.push(number);
            }
        }
        members
    });
    let groups = groups.collect();
    (groups, by_term)
}
