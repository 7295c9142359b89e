//! Signed links with which people answer calls.
//!
//! A link names the question, the person, and the decision, and is valid for a time. Its signature covers all of them. It
//! is used up by the answer: a question counts one answer of each person, and ends with the last that it needs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use toolcrib_model::random::{hex, random_bytes};

use crate::{Error, Replica};

/// The number of random bytes in the id of a process that shares no store.
const ID_BYTES: usize = 8;

/// The longest token of a link that is looked at, in characters.
const MAX_TOKEN_CHARS: usize = 1_024;

/// The purpose of the key among those that processes derive from their common secret.
const PURPOSE: &str = "approval links";

/// The contents of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalLink {
    /// The process that asks.
    pub(crate) process: String,
    /// The id of the question there.
    pub(crate) question: u64,
    /// The person who answers.
    pub(crate) person: String,
    pub(crate) decision: LinkDecision,
    /// The time at which the link expires, in seconds since 1970.
    pub(crate) expires: u64,
}

/// The decision that a link confirms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkDecision {
    Allow,
    Deny,
}

impl LinkDecision {
    /// Returns the value of the form field that confirms the decision.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// The reason why a link is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkError {
    /// This server did not sign it.
    Forged,
    /// Its time is over.
    Expired,
}

/// The signer of links. Processes that share a store have the same key.
pub(crate) struct LinkSigner {
    process: String,
    key: [u8; 32],
}

impl LinkSigner {
    pub(crate) fn new(replica: Option<&Replica>) -> Result<Self, Error> {
        Ok(match replica {
            Some(replica) => Self { process: replica.id().to_owned(), key: replica.derive(PURPOSE, "") },
            None => Self { process: hex(&random_bytes::<ID_BYTES>()?), key: random_bytes()? },
        })
    }

    /// Returns the id of this process in links.
    pub(crate) fn process(&self) -> &str {
        &self.process
    }

    /// Returns a link to a question of this process.
    pub(crate) fn link(
        &self,
        question: u64,
        person: &str,
        decision: LinkDecision,
        lifetime: Duration,
    ) -> ApprovalLink {
        let (process, person) = (self.process.clone(), person.to_owned());
        ApprovalLink {
            process,
            question,
            person,
            decision,
            expires: now().saturating_add(lifetime.as_secs()),
        }
    }

    /// Returns the token of a link.
    pub(crate) fn sign(&self, link: &ApprovalLink) -> String {
        // A link is a record of texts and numbers.
        let contents = serde_json::to_vec(link).unwrap_or_default();
        let contents = URL_SAFE_NO_PAD.encode(contents);
        let signature = URL_SAFE_NO_PAD.encode(self.code(&contents).finalize().into_bytes());
        format!("{contents}.{signature}")
    }

    /// Returns the link of a token.
    pub(crate) fn verify(&self, token: &str) -> Result<ApprovalLink, LinkError> {
        self.verify_at(token, now())
    }

    fn verify_at(&self, token: &str, now: u64) -> Result<ApprovalLink, LinkError> {
        let (contents, signature) =
            token.split_once('.').filter(|_| token.len() <= MAX_TOKEN_CHARS).ok_or(LinkError::Forged)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| LinkError::Forged)?;
        // In constant time.
        self.code(contents).verify_slice(&signature).map_err(|_| LinkError::Forged)?;
        let contents = URL_SAFE_NO_PAD.decode(contents).map_err(|_| LinkError::Forged)?;
        let link: ApprovalLink = serde_json::from_slice(&contents).map_err(|_| LinkError::Forged)?;
        if link.expires <= now { Err(LinkError::Expired) } else { Ok(link) }
    }

    fn code(&self, contents: &str) -> Hmac<Sha256> {
        let code = Hmac::<Sha256>::new_from_slice(&self.key);
        code.unwrap_or_else(|_| unreachable!("HMAC takes keys of any length")).chain_update(contents)
    }
}

/// Returns the time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_until_it_expires_and_no_change_of_it_is() {
        let signer = LinkSigner::new(None).unwrap();
        let link = signer.link(7, "alice", LinkDecision::Deny, Duration::from_mins(1));
        let token = signer.sign(&link);
        assert_eq!(signer.verify(&token), Ok(link.clone()));
        assert_eq!(signer.verify_at(&token, link.expires - 1), Ok(link.clone()));
        assert_eq!(signer.verify_at(&token, link.expires), Err(LinkError::Expired));
        for changed in [
            ApprovalLink { question: 8, ..link.clone() },
            ApprovalLink { person: "bob".into(), ..link.clone() },
            ApprovalLink { decision: LinkDecision::Allow, ..link.clone() },
            ApprovalLink { expires: u64::MAX, ..link.clone() },
            ApprovalLink { process: "other".into(), ..link.clone() },
        ] {
            let contents = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&changed).unwrap());
            let (_, signature) = token.split_once('.').unwrap();
            assert_eq!(signer.verify(&format!("{contents}.{signature}")), Err(LinkError::Forged));
            let other = LinkSigner::new(None).unwrap();
            assert_eq!(signer.verify(&other.sign(&changed)), Err(LinkError::Forged));
        }
        let (contents, signature) = token.split_once('.').unwrap();
        let long = format!("{}.{signature}", "A".repeat(MAX_TOKEN_CHARS));
        let odd = ["", ".", contents, &format!("{contents}."), &format!(".{signature}"), &long];
        for token in odd.into_iter().map(str::to_owned).chain([format!("{token}="), format!("{token}.x")]) {
            assert_eq!(signer.verify(&token), Err(LinkError::Forged), "{token}");
        }
    }
}
