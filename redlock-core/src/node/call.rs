//! Calls to nodes: operations on the keys of one lock.

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use crate::debug::debug_in_part;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;

use super::script::Script;
use super::value::Value;
use super::{Answer, NodeError, NodeErrorKind, Vote};

/// The error's detail if a node refuses an attempt because of the attempt's own key.
const OWN_KEY: &str = "this attempt's own key was there already: two pools are one server, or a proxy sends commands \
                       twice; give each pool a server of its own";

/// A call of a script on the keys of one lock. A node knows nothing about kinds of locks. The [`Effect`] and the
/// [script for several calls](Self::batch_script) tell it all that it needs.
#[derive(Clone)]
pub struct Call {
    /// The command or the Lua text that a server runs.
    pub script: &'static Script,
    keys: SmallVec<[Arc<[u8]>; 2]>,
    arguments: SmallVec<[Argument; 2]>,
    /// The change that the call makes on the node.
    pub effect: Effect,
    read: ReadReply,
    /// The script with which a node may run several acquisitions and releases at once, if there is one. Each call locks
    /// one key with one token. All acquisitions have one script and one [ttl](Self::ttl); if there are any, their script
    /// serves the releases too. The script's keys are the first keys of the acquisitions, then those of the releases,
    /// then the other keys of the acquisitions, then the marker. Its arguments are the token of each call, then the third
    /// argument of each acquisition, and the further arguments of one; if there are acquisitions, their number and their
    /// ttl follow. The reply is 1 if each reply would be 1, and otherwise a list with one reply for each call.
    pub batch_script: Option<&'static Script>,
    /// True if a node that has a marker adds the marker's key after the other keys. The script then answers `NOMARKER`
    /// if the marker is gone, or shows a quarantine.
    pub has_marker: bool,
}

/// The change that a call makes. A node orders, repeats and refuses calls only by their effect.
///
/// A call that takes, keeps, puts back or undoes something for a holder has the holder's owner token as its first
/// argument. A record has no token.
// The enum is exhaustive on purpose. A node that does not know an effect cannot serve its call safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An acquisition. A node may repeat it only if the server certainly did not run it and its release follows it. An
    /// error is a vote against the caller.
    Takes,
    /// An extension, the confirmation of a fencing token, or a record. A node may lose it, because its caller repeats
    /// it or goes on without it.
    Keeps,
    /// The restoration of a key that a node has lost. A node sends it at most once.
    PutsBack,
    /// A release, or the withdrawal of a waiting caller's marks. The node tries to deliver it until this time has
    /// passed since its submission, because then the keys have expired. It deletes the keys with its token, even if the
    /// node has seen no acquisition with that token.
    Undoes(Duration),
    /// A question, or a forced release. If the node loses it, the caller gets an error.
    Looks,
}

/// An argument of a call.
#[derive(Clone, PartialEq, Eq)]
pub struct Argument(ArgumentBytes);

#[derive(Clone, PartialEq, Eq)]
enum ArgumentBytes {
    Token(OwnerToken),
    /// Numbers and the words of commands fit without an allocation.
    Text(SmallVec<[u8; 16]>),
}

/// Reads a server's reply as a vote, or returns `None` if it fits no reply of the call. `Vote::of` then sets the epoch
/// of a grant.
pub(crate) type ReadReply = fn(Value, &Call) -> Option<Vote>;

impl Call {
    /// Returns a call of `script` on the keys of a lock.
    pub(crate) fn new(
        script: &'static Script,
        effect: Effect,
        keys: &Resource,
        read: ReadReply,
    ) -> Self {
        Self::in_order(script, effect, keys.shared_names().iter().cloned(), read)
    }

    /// Returns a call with keys in the given order.
    pub(crate) fn in_order(
        script: &'static Script,
        effect: Effect,
        keys: impl IntoIterator<Item = Arc<[u8]>>,
        read: ReadReply,
    ) -> Self {
        Self {
            script,
            keys: keys.into_iter().collect(),
            arguments: SmallVec::new(),
            effect,
            read,
            batch_script: None,
            has_marker: false,
        }
    }

    /// Adds auxiliary keys after the lock's.
    #[must_use]
    pub(crate) fn with_keys(mut self, keys: impl IntoIterator<Item = Arc<[u8]>>) -> Self {
        self.keys.extend(keys);
        self
    }

    /// Removes some of the lock's keys.
    #[must_use]
    pub(crate) fn without(mut self, keys: &Resource) -> Self {
        self.keys.retain(|key| !keys.shared_names().contains(key));
        self
    }

    /// Adds arguments.
    #[must_use]
    pub(crate) fn with(mut self, arguments: impl IntoIterator<Item = Argument>) -> Self {
        for argument in arguments {
            self.arguments.push(argument);
        }
        self
    }

    /// Makes the node add the key of its marker after the other keys.
    #[must_use]
    pub(crate) fn marked(mut self) -> Self {
        self.has_marker = true;
        self
    }

    /// Returns all keys, without the marker's.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.keys.iter().map(|key| &**key)
    }

    /// Returns the first key. A call has at least one key, and all its keys are in one hash slot.
    pub fn first_key(&self) -> &[u8] {
        self.keys.first().map_or(&[], |key| key)
    }

    /// Returns the arguments.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// Returns the ttl of an acquisition, in ms.
    pub fn ttl(&self) -> Option<&[u8]> {
        self.arguments.get(1).map(Argument::as_bytes)
    }

    /// Returns the owner token, if the call has one.
    pub fn token(&self) -> Option<&OwnerToken> {
        match self.arguments.first() {
            Some(Argument(ArgumentBytes::Token(token))) => Some(token),
            _ => None,
        }
    }

    /// True for a release.
    pub fn is_release(&self) -> bool {
        matches!(self.effect, Effect::Undoes(_))
    }

    /// Reads a node's answer as a vote. Each acquisition has a token of its own, and is sent to a node once. A node
    /// that names that token as the holder's must share its server with another node, so its vote fails.
    pub fn vote(&self, answer: Answer) -> Vote {
        let vote = Vote::of(answer, |value| (self.read)(value, self));
        let holder = vote.holding().and_then(|it| it.value.as_deref());
        let is_own = holder.is_some() && holder == self.token().map(OwnerToken::as_bytes);
        if is_own && self.effect == Effect::Takes {
            return Vote::Failed(NodeError::sent(NodeErrorKind::Refused, OWN_KEY));
        }
        vote
    }
}

impl Argument {
    /// Shares the owner token.
    pub(crate) fn token(token: &OwnerToken) -> Self {
        Self(ArgumentBytes::Token(token.clone()))
    }

    /// Writes a number or another text as an argument.
    pub(crate) fn text(text: impl fmt::Display) -> Self {
        let mut bytes = SmallVec::new();
        // A write to memory always succeeds.
        let _ = write!(bytes, "{text}");
        Self(ArgumentBytes::Text(bytes))
    }

    /// Copies a word of a command, or any bytes.
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        Self(ArgumentBytes::Text(SmallVec::from_slice(bytes)))
    }

    /// Writes a duration in whole ms. Requests are below a year, so the number fits.
    pub(crate) fn millis(span: Duration) -> Self {
        Self::text(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns the bytes that a server receives.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            ArgumentBytes::Token(token) => token.as_bytes(),
            ArgumentBytes::Text(text) => text,
        }
    }
}

debug_in_part!(Call, it =>
    script: it.script,
    keys: Resource::all(it.keys()),
    token: it.token(),
    effect: it.effect
);
