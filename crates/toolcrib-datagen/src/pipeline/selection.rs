//! The choice of the conversations that are written.

use std::collections::BTreeMap;

use toolcrib_results::Secrets;

use super::item::{Item, ItemOutcome};
use super::settings::HygieneSettings;
use crate::conversation::Conversation;
use crate::hygiene::{Contamination, NearDuplicates, remove_secrets};

/// The texts that must not be in a data set.
#[derive(Clone, Default)]
pub struct ForbiddenTexts {
    /// The texts that models are evaluated with.
    pub evaluation: Contamination,
    /// The secrets, which are replaced by the names of their variables.
    pub secrets: Secrets,
}

/// The conversations of a run that are part of its data set, in the order of their numbers.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) conversations: Vec<Conversation>,
    /// The reasons why kept items are not part of it, by their numbers.
    pub(crate) left_out: BTreeMap<u64, &'static str>,
    /// The number of conversations from which secrets were removed.
    pub(crate) secrets_removed: u64,
}

impl Selection {
    /// Selects conversations until there are `most`. The selection of the first items does not depend on later ones.
    pub(crate) fn new(
        items: &[Item],
        most: usize,
        settings: &HygieneSettings,
        forbidden: &ForbiddenTexts,
    ) -> Self {
        let mut selection = Self::default();
        let redactor = forbidden.secrets.redactor();
        let mut seen = NearDuplicates::new(settings.near_duplicates);
        for item in items.iter().filter(|item| item.outcome == Some(ItemOutcome::Kept)) {
            if selection.conversations.len() == most {
                break;
            }
            let mut conversation = item.conversation.clone();
            let had_secrets = remove_secrets(&mut conversation, &redactor);
            if forbidden.evaluation.shared(&conversation).is_some() {
                selection.left_out.insert(item.index, "contaminated");
            } else if seen.add(&conversation).is_some() {
                selection.left_out.insert(item.index, "near_duplicate");
            } else {
                selection.secrets_removed += u64::from(had_secrets);
                selection.conversations.push(conversation);
            }
        }
        selection
    }
}
