//! The pure decision whether a call may run.
//!
//! A [`Policy`] is made of module [`Constraints`] and [`Capabilities`] rules. It is asked twice for each call: once on
//! the tool ([`Policy::decide`]), before anything is said about it, and once on the final arguments
//! ([`Policy::authorize`]). The second is the only way to an [`Authorized`] call, and engines take nothing else.
//!
//! Precedence: deny > approve > grant > default. A tool that is denied is invisible.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_policy::{Call, Capabilities, Effect, Policy, Verdict};
//!
//! let capabilities: Capabilities = serde_json::from_value(json!({
//!     "default_policy": "deny",
//!     "grant": [{"module": "filesystem", "actions": ["read", "ls"]}],
//! }))?;
//! let policy = Policy::new(&capabilities, [])?;
//! let read = Arc::new(Tool::new(QualifiedName::new("filesystem", "read")?));
//! assert_eq!(policy.decide(&read, "session").effect, Effect::Grant);
//! let call = Call::new(read, "filesystem".into(), 1);
//! assert!(matches!(policy.authorize(call, "session"), Verdict::Granted(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here does I/O or asks anybody: a verdict of [`Verdict::Ask`] is put to a person by the executor.

mod capabilities;
mod condition;
mod rules;

mod decision;
mod policy;
mod principal;
mod views;

mod approval;
mod approvals;
mod authorized;
mod digest;
mod question;

pub mod access;

mod error;
mod location;
mod present_value;

#[cfg(test)]
mod tests;

pub use access::Access;
pub use approval::{Approval, PendingApproval, Remember, question_id};
pub use approvals::Approvals;
pub use authorized::{Authorized, Call, Consent};
pub use capabilities::{Capabilities, Constraints, Effect, Rule};
pub use condition::Condition;
pub use decision::{Decision, RuleMatch, Verdict};
pub use digest::ApprovalDigest;
pub use error::PolicyError;
pub use location::{RuleLocations, SettingLocation};
pub use policy::Policy;
pub use principal::Principal;
pub use question::Question;
pub use rules::approval_rule::{AnswerRefusal, ApprovalRequirement, ApprovalRule, OPERATOR, People};
pub use rules::overrides::{OverrideTarget, Overrides, ParseOverrideTargetError};
pub use rules::profiles::ProfileRules;
pub use rules::scope::Scope;
pub use toolcrib_model::name::RUNTIME_NAMESPACE;
