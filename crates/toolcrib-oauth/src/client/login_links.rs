//! Logins by a link: a server offers users a link to the authorization server, which sends their browsers back to it.
//!
//! Each login waits for the answer with its own `state`, which belongs to one user. The server says whose login an answer
//! completes before it takes it: a link that another person has sent would store the login of the person who follows it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use tokio::sync::oneshot;
use tokio::time::timeout;
use url::Url;

use super::Authorization;
use super::redirect::{Authorize, Redirect};
use super::types::{LOGIN_TIMEOUT, LoginSummary};
use crate::Error;

/// The most logins that wait at the same time.
const MAX_LOGINS: usize = 1024;

/// The owner of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginOwner {
    /// The namespace of the source.
    pub namespace: String,
    /// The user who logs in.
    pub user: String,
}

/// The logins that wait for the browsers of their users. Clones share them.
#[derive(Clone, Default)]
pub struct LoginLinks(Arc<LinkState>);

#[derive(Default)]
struct LinkState {
    /// The URL that browsers are sent back to, once a server serves it.
    redirect_uri: RwLock<Option<String>>,
    /// The logins by their `state`.
    waiting: Mutex<HashMap<String, WaitingLogin>>,
}

struct WaitingLogin {
    owner: LoginOwner,
    answer: oneshot::Sender<Redirect>,
}

impl LoginLinks {
    /// Sets the URL that browsers are sent back to. From then on, logins can begin.
    pub fn serve_at(&self, redirect_uri: String) {
        *self.0.redirect_uri.write() = Some(redirect_uri);
    }

    /// Returns true if logins can begin.
    pub fn is_served(&self) -> bool {
        self.0.redirect_uri.read().is_some()
    }

    /// Has a user log in by a link, and stores the tokens. `show` shows the link to the user, and returns false if the
    /// user does not follow it. Returns `None` if there is no server for the answer, or the user does not log in.
    pub async fn log_in<F, R>(
        &self,
        authorization: &Authorization,
        owner: LoginOwner,
        show: F,
    ) -> Result<Option<LoginSummary>, Error>
    where
        F: Fn(Url) -> R + Send + Sync,
        R: Future<Output = bool> + Send,
    {
        let Some(redirect_uri) = self.0.redirect_uri.read().clone() else { return Ok(None) };
        let link = LoginLink { links: self, redirect_uri, owner, show };
        match authorization.login(&link).await {
            Ok(summary) => Ok(Some(summary)),
            Err(Error::Failed { problem, .. }) if problem == DECLINED => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for the answer with this state, while a link is shown to the user: `shown` returns false if the user does not
    /// follow it. A user logs in once at a time.
    pub async fn answer(
        &self,
        owner: LoginOwner,
        state: String,
        shown: impl Future<Output = bool> + Send,
    ) -> Result<Redirect, String> {
        let (sender, mut answer) = oneshot::channel();
        {
            let mut waiting = self.0.waiting.lock();
            if waiting.len() >= MAX_LOGINS {
                return Err(format!("{MAX_LOGINS} logins wait already; try again later"));
            }
            if waiting.values().any(|login| login.owner == owner) {
                return Err("a login of this user waits already; follow its link".to_owned());
            }
            waiting.insert(state.clone(), WaitingLogin { owner, answer: sender });
        }
        let _waiting = WaitingGuard { links: self, state };
        let login = async {
            tokio::select! {
                biased;
                answer = &mut answer => return answer.map_err(|_| DECLINED.to_owned()),
                is_followed = shown => {
                    if !is_followed {
                        return Err(DECLINED.to_owned());
                    }
                }
            }
            answer.await.map_err(|_| DECLINED.to_owned())
        };
        let late = || format!("no answer came within {} s; call again", LOGIN_TIMEOUT.as_secs());
        timeout(LOGIN_TIMEOUT, login).await.unwrap_or_else(|_| Err(late()))
    }

    /// Returns the owner of the login that waits for an answer with this state.
    pub fn owner(&self, state: &str) -> Option<LoginOwner> {
        self.0.waiting.lock().get(state).map(|login| login.owner.clone())
    }

    /// Passes an answer to the login that waits for it. Returns its owner; `None` if none waits.
    pub fn complete(&self, answer: Redirect) -> Option<LoginOwner> {
        let login = self.0.waiting.lock().remove(answer.state.as_deref()?)?;
        login.answer.send(answer).ok().map(|()| login.owner)
    }
}

impl fmt::Debug for LoginLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginLinks")
            .field("redirect_uri", &*self.0.redirect_uri.read())
            .finish_non_exhaustive()
    }
}

/// The problem of a login that its user does not make.
const DECLINED: &str = "the user does not log in";

/// The link of one login.
struct LoginLink<'a, F> {
    links: &'a LoginLinks,
    redirect_uri: String,
    owner: LoginOwner,
    show: F,
}

/// A waiting login, which ends when it is dropped.
struct WaitingGuard<'a> {
    links: &'a LoginLinks,
    state: String,
}

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.links.0.waiting.lock().remove(&self.state);
    }
}

#[async_trait]
impl<F, R> Authorize for LoginLink<'_, F>
where
    F: Fn(Url) -> R + Send + Sync,
    R: Future<Output = bool> + Send,
{
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    async fn authorize(&self, url: &Url) -> Result<Redirect, String> {
        let state = url.query_pairs().find(|(key, _)| key == "state").map(|(_, state)| state.into_owned());
        let state = state.ok_or("the login has no `state`")?;
        self.links.answer(self.owner.clone(), state, (self.show)(url.clone())).await
    }
}
