//! Tickets: the right to take a lock over from a holder that gave it away.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use super::resource::Resource;
use super::token::{self, OwnerToken};

/// What the text of a ticket begins with: the version of the form.
const BEGIN: &str = "redlock-ticket-1";

/// The right to take a lock over from a holder that gave it away by
/// [`Lease::transfer`](crate::Lease::transfer). Whoever has the ticket can take the lock, so it is a secret;
/// `Debug` shows no more of it than logs may have. It is good once, until the giver's keys have expired.
///
/// Its text form, for a message to another process, is made by [`to_secret`](Self::to_secret) and read by
/// [`str::parse`]:
///
/// ```
/// use std::sync::Arc;
/// use redlock_core::transfer::Ticket;
/// use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let io = IoThread::start()?;
/// # let node = MemoryNode::new("a", io.environment().clock);
/// # let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
/// let giver = Client::new(io.environment());
/// let lease = giver.acquire(&nodes, &Request::new("job")).await?;
/// let message = lease.transfer()?.to_secret();
///
/// // In another process:
/// let client = Client::new(io.environment());
/// let ticket: Ticket = message.parse()?;
/// let request = Request::new(ticket.resource());
/// let lease = client.claim(&nodes, ticket, &request).await?;
/// assert!(!lease.validity().is_zero());
/// # Ok(())
/// # }
/// # let runtime = tokio::runtime::Runtime::new().unwrap();
/// # runtime.block_on(example()).unwrap();
/// ```
#[must_use = "without the ticket, the lock stays until its ttl"]
#[derive(PartialEq, Eq)]
pub struct Ticket {
    token: OwnerToken,
    resource: Resource,
}

/// The error for a text that is no ticket. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the text is no ticket of this version; it begins with `redlock-ticket-1.` and was made by `to_secret`"
)]
#[non_exhaustive]
pub struct NoTicket;

impl Ticket {
    pub(crate) fn new(token: OwnerToken, resource: Resource) -> Self {
        Self { token, resource }
    }

    /// What the ticket is for, without the key prefix.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The giver's token.
    pub(crate) fn token(&self) -> &OwnerToken {
        &self.token
    }

    /// The ticket of a giver that has `token` in the keys of `resource`, for a test that puts operations to
    /// nodes by itself. Needs the feature `testing`.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_giver(token: OwnerToken, resource: Resource) -> Self {
        Self::new(token, resource)
    }

    /// The giver's token, and what the ticket is for. Needs the feature `testing`.
    #[cfg(any(test, feature = "testing"))]
    pub fn into_giver(self) -> (OwnerToken, Resource) {
        (self.token, self.resource)
    }

    /// The ticket as a text of letters, digits, `-` and `.`. It is as secret as the ticket: a
    /// process that reads it can take the lock.
    pub fn to_secret(&self) -> String {
        let mut text = BEGIN.to_owned();
        for bytes in [self.token.as_bytes()]
            .into_iter()
            .chain(self.resource.names())
        {
            text.push('.');
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
        }
        text
    }
}

/// The bytes that `digits` are, two to a byte.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    if !digits.len().is_multiple_of(2) || !digits.as_bytes().iter().all(is_hex) {
        return None;
    }
    let pairs = digits.as_bytes().chunks_exact(2);
    let pairs = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect()
}

impl FromStr for Ticket {
    type Err = NoTicket;

    fn from_str(text: &str) -> Result<Self, NoTicket> {
        let mut parts = text.split('.');
        if parts.next() != Some(BEGIN) {
            return Err(NoTicket);
        }
        let token = parts.next().and_then(bytes_of).ok_or(NoTicket)?;
        let names: Option<Vec<_>> = parts.map(bytes_of).collect();
        let resource = Resource::all(names.ok_or(NoTicket)?);
        // Another text is no token that a lock of this library may hold.
        if token::owner_of(&token).is_none() || resource.check().is_err() {
            return Err(NoTicket);
        }
        Ok(Self::new(OwnerToken::of_ticket(token), resource))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("resource", &self.resource)
            .field("token", &self.token)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IoThread;
    use crate::model::note::Note;

    fn ticket(names: &[&[u8]], note: Option<&str>) -> Ticket {
        let io = IoThread::start().unwrap();
        let token = OwnerToken::draw("web-7/3121", &*io.environment().entropy);
        let token = match note.and_then(Note::new) {
            Some(note) => token.noted(&note),
            None => token,
        };
        Ticket::new(token, Resource::all(names))
    }

    #[test]
    fn a_ticket_is_a_text_and_back() {
        for ticket in [
            ticket(&[b"order:42"], None),
            ticket(&[b"b.c", b"a", b"\xff\x00"], Some("job 7, \u{1f980}.")),
        ] {
            let text = ticket.to_secret();
            assert!(
                text.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
            );
            assert_eq!(text.parse::<Ticket>(), Ok(ticket));
        }
    }

    #[test]
    fn debug_shows_what_logs_may_have() {
        let ticket = ticket(&[b"order:42"], None);
        let shown = format!("{ticket:?}");
        let whole = std::str::from_utf8(ticket.token.as_bytes()).unwrap();
        let random = whole.rsplit('/').next().unwrap();
        assert!(
            shown.contains("order:42") && shown.contains(&random[..6]),
            "{shown}"
        );
        assert!(!shown.contains(&random[..7]), "{shown}");
    }

    #[test]
    fn another_text_is_no_ticket_and_the_error_does_not_repeat_it() {
        let good = ticket(&[b"order:42"], None).to_secret();
        let cut = |count| good[..good.len() - count].to_owned();
        let token = good.split('.').nth(1).unwrap();
        for text in [
            String::new(),
            cut(1),
            good.to_uppercase(),
            good.replace("ticket-1", "ticket-2"),
            format!("{BEGIN}.{token}"),
            format!("{BEGIN}.{token}."),
            format!("{BEGIN}.{token}.zz"),
            format!("{BEGIN}.{}.6f", &token[..token.len() - 2]),
            format!("{BEGIN}.6162.6f"),
            format!("{good} "),
            format!("{BEGIN}.é.6f"),
        ] {
            assert_eq!(text.parse::<Ticket>(), Err(NoTicket), "{text}");
        }
        assert!(!NoTicket.to_string().contains(token));
    }
}
