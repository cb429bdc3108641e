//! Shared state of a client: its environment, identity and settings.

use std::time::Duration;

use crate::env::{Clock, Environment, Moment};
use crate::model::note::Note;
use crate::model::token::OwnerToken;

/// The environment, identity and settings that all parts of a client use. A part keeps its own settings.
pub(crate) struct Context {
    pub(crate) environment: Environment,
    /// The `host/pid` with which owner tokens begin.
    pub(crate) owner: String,
    /// The token under which nodes remember the client's refused callers. This token never owns a lock.
    pub(crate) client_token: OwnerToken,
    /// The longest time for which an attempt waits for a majority.
    pub(crate) node_timeout: Duration,
    /// The prefix that turns a resource's name into a key.
    pub(crate) key_prefix: Box<[u8]>,
}

impl Context {
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.environment.clock
    }

    /// Returns the current moment on the client's clock.
    pub(crate) fn now(&self) -> Moment {
        self.environment.now()
    }

    /// Draws a token for an attempt, with this note.
    pub(crate) fn noted_token(&self, note: Option<&Note>) -> OwnerToken {
        let token = OwnerToken::draw(&self.owner, &*self.environment.entropy);
        match note {
            Some(note) => token.noted(note),
            None => token,
        }
    }
}
