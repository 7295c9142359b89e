//! The page of a signed link, on which a person answers one call.
//!
//! The link is the credential: only the person who received it knows it. A `GET` shows the call and decides nothing,
//! since mail scanners and chat clients follow links. A `POST` of the form on that page decides.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, State};
use axum::response::Response;
use http::{Request, StatusCode};

use super::browser::{AdmittedRequest, PageRejection, html};
use super::reply;
use super::state::HttpState;
use crate::approval::{
    AnswerOutcome, ApprovalLink, LinkDecision, LinkError, LinkedCall, OperatorAnswer, PendingApprovals,
};
use crate::console::{LinkPage, MAX_FORM_BYTES, link_page, whole_arguments};
use crate::operator::WaitingCall;

/// Shows the call of a link. It decides nothing.
pub(super) async fn show(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    Path(token): Path<String>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let request = LinkRequest::new(&state, &request, address)?;
    Ok(match request.call(&token).await {
        Ok((link, found)) => {
            let page = LinkPage::Call { call: found.call(), link: &link };
            html(StatusCode::OK, link_page(request.app(), &page))
        }
        Err(notice) => request.notice(notice),
    })
}

/// Answers the call of a link.
pub(super) async fn answer(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    Path(token): Path<String>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let link_request = LinkRequest::new(&state, &request, address)?;
    let fields = link_request.admitted.form(request, MAX_FORM_BYTES).await?;
    let (link, found) = match link_request.call(&token).await {
        Ok(found) => found,
        Err(notice) => return Ok(link_request.notice(notice)),
    };
    if fields.get("decision") != Some(link.decision.as_str()) {
        let text = "expected the form of this page; load it again";
        return Ok(reply::plain(StatusCode::BAD_REQUEST, text));
    }
    let answer = match link.decision {
        LinkDecision::Deny => OperatorAnswer::deny(fields.get("feedback").unwrap_or_default()),
        LinkDecision::Allow if whole_arguments(found.call()).is_some() => OperatorAnswer::Once,
        LinkDecision::Allow => {
            return Ok(link_request.notice(Notice::TOO_LONG));
        }
    };
    let pending = link_request.pending;
    let (outcome, is_interrupted) = match found {
        AnswerableCall::Waiting(id, _) => (pending.answer_as(&link.person, id, answer).await, false),
        AnswerableCall::Interrupted(_) => (pending.answer_interrupted(&link, answer).await, true),
    };
    Ok(match outcome {
        Ok(AnswerOutcome::Accepted) if is_interrupted => link_request.notice(Notice::FOR_LATER),
        Ok(outcome) => link_request.notice(Notice::of(outcome)),
        Err(error) => reply::plain(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    })
}

/// A text in the place of a call.
struct Notice(StatusCode, &'static str);

impl Notice {
    const FORGED: Self =
        Self(StatusCode::FORBIDDEN, "This link is not valid. It is not from this server, or incomplete.");
    const EXPIRED: Self = Self(StatusCode::GONE, "This link has expired. Nothing was changed.");
    const GONE: Self = Self(
        StatusCode::GONE,
        "This call no longer waits for an answer: it was answered, or its caller has given up. Nothing was changed.",
    );
    const UNREADABLE: Self = Self(
        StatusCode::SERVICE_UNAVAILABLE,
        "The call cannot be read now, because the store is not reached. Nothing was changed; try again later.",
    );
    const LOST: Self = Self(
        StatusCode::GONE,
        "The server that asked has ended, and the call with it. Nothing was changed. If the call is made again, you get another message.",
    );
    const FOR_LATER: Self = Self(
        StatusCode::OK,
        "Your answer was accepted. The server was restarted since it asked, and the answer counts when the call is made again. You can close this page.",
    );
    const RELOADING: Self = Self(
        StatusCode::SERVICE_UNAVAILABLE,
        "The app is being reloaded. Nothing was changed; try again in a moment.",
    );
    const TOO_LONG: Self = Self(
        StatusCode::FORBIDDEN,
        "The arguments are too long to be shown whole, so the call cannot be allowed here.",
    );

    fn of(outcome: AnswerOutcome) -> Self {
        match outcome {
            AnswerOutcome::Accepted => {
                Self(StatusCode::OK, "Your answer was accepted. You can close this page.")
            }
            AnswerOutcome::Recorded => Self(
                StatusCode::OK,
                "Your approval was recorded. The call runs when another person approves it too. You can close this page.",
            ),
            AnswerOutcome::TooLate => Self::GONE,
            AnswerOutcome::Refused(refusal) => Self(StatusCode::FORBIDDEN, refusal.as_str()),
        }
    }
}

/// An admitted request to the page of a link.
struct LinkRequest<'a> {
    admitted: AdmittedRequest<'a>,
    pending: &'a PendingApprovals,
}

impl<'a> LinkRequest<'a> {
    fn new(
        state: &'a HttpState,
        request: &Request<Body>,
        address: SocketAddr,
    ) -> Result<Self, PageRejection> {
        let admitted = state.admit(request, address)?;
        let Some(pending) = state.approvals.as_ref().filter(|_| admitted.has_links()) else {
            let text = "there are no links here; set `approvals.channels`";
            return Err(reply::last(StatusCode::NOT_FOUND, text).into());
        };
        Ok(Self { admitted, pending })
    }

    fn app(&self) -> &str {
        self.admitted.lease.runtime.app().id()
    }

    fn notice(&self, Notice(status, text): Notice) -> Response {
        html(status, link_page(self.app(), &LinkPage::Notice(text)))
    }

    /// Returns the call that a link answers.
    async fn call(&self, token: &str) -> Result<(ApprovalLink, AnswerableCall), Notice> {
        let link = self.pending.verify_link(token).map_err(|error| match error {
            LinkError::Forged => Notice::FORGED,
            LinkError::Expired => Notice::EXPIRED,
        })?;
        // The app may have dropped the person since.
        if !self.admitted.lease.runtime.app().config.approvals.people.contains_key(&link.person) {
            return Err(Notice::FORGED);
        }
        let found = match self.pending.linked_call(&link).await {
            Ok(LinkedCall::Waiting(id, call)) => AnswerableCall::Waiting(id, call),
            Ok(LinkedCall::Interrupted(call)) => AnswerableCall::Interrupted(call),
            Ok(LinkedCall::Lost) => return Err(Notice::LOST),
            Ok(LinkedCall::Reloading) => return Err(Notice::RELOADING),
            Ok(LinkedCall::Gone) => return Err(Notice::GONE),
            Err(error) => {
                tracing::warn!(%error, "the call of a link cannot be read");
                return Err(Notice::UNREADABLE);
            }
        };
        match found.call().requirement.refusal(&link.person, &found.call().approved_by) {
            Some(refusal) => Err(Notice(StatusCode::FORBIDDEN, refusal.as_str())),
            None => Ok((link, found)),
        }
    }
}

/// A call that a link answers.
enum AnswerableCall {
    /// It waits, under this id here.
    Waiting(u64, WaitingCall),
    /// Its caller makes it again.
    Interrupted(WaitingCall),
}

impl AnswerableCall {
    fn call(&self) -> &WaitingCall {
        let (Self::Waiting(_, call) | Self::Interrupted(call)) = self;
        call
    }
}
