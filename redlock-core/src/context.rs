//! The environment, the name and the settings that all parts of a client use.

use std::time::Duration;

use crate::env::{Clock, Environment, Moment};
use crate::model::note::Note;
use crate::model::token::OwnerToken;

/// The client's environment, its name, and the settings that all its parts use. A setting
/// of one part only is kept in that part.
pub(crate) struct Context {
    pub(crate) environment: Environment,
    /// `host/pid`, with which owner tokens begin.
    pub(crate) owner: String,
    /// The token under which nodes remember refused callers of the client. No lock has this token.
    pub(crate) client_token: OwnerToken,
    /// The time for which an attempt without a majority waits for answers.
    pub(crate) node_timeout: Duration,
    /// The prefix of each name of a resource.
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

    /// Returns a token for an attempt with this note.
    pub(crate) fn noted_token(&self, note: Option<&Note>) -> OwnerToken {
        let token = OwnerToken::draw(&self.owner, &*self.environment.entropy);
        match note {
            Some(note) => token.noted(note),
            None => token,
        }
    }
}
