//! The rules about fencing tokens.

use redlock_core::request::Kind;

use super::Broken;
use crate::history::{Inner, Invariant};

impl Inner {
    /// Only readers share a token, and the later of two leases has the higher one. A lease is later if its
    /// attempt began after the other lease was returned. Each node whose counter stood at both tokens
    /// must also have granted the lower one first.
    pub(super) fn check_tokens(&self, number: usize, broken: &mut Broken) {
        let new = &self.leases[number];
        let Some(token) = new.token else {
            return;
        };
        let attempt = &self.attempts[new.attempt];
        for (other, known) in self.leases.iter().enumerate() {
            let Some(other_token) = known.token else {
                continue;
            };
            if other == number || !known.meets(new) {
                continue;
            }
            let (id, other_id) = (new.handle.token_id(), known.handle.token_id());
            let is_reader = self.calls[new.call].request.kind == Kind::Read;
            let was_reader = self.calls[known.call].request.kind == Kind::Read;
            if other_token == token && is_reader && was_reader {
                continue;
            }
            if other_token == token {
                let text = format!("{id} and {other_id} both have {token}");
                broken.push((Invariant::TokenUnique, text));
            }
            if known.returned_at < attempt.staked_at && other_token > token {
                let text = format!("{id} has {token} after {other_id} had {other_token}");
                broken.push((Invariant::TokenOrder, text));
            }
            if is_reader && was_reader {
                // Readers hold side by side, and their numbers are raised while they do.
                continue;
            }
            let seats = attempt
                .seats
                .iter()
                .zip(&self.attempts[known.attempt].seats);
            for (place, (one, two)) in seats.enumerate() {
                let (Some(at), Some(before)) = (one.granted, two.granted) else {
                    continue;
                };
                // A counter stands one above the token of a holder that is no reader.
                let stood = one.stands == Some(token + u64::from(!is_reader))
                    && two.stands == Some(other_token + u64::from(!was_reader));
                if stood && (before < at) != (other_token < token) {
                    let text = format!(
                        "n{place} stood at {other_token} for {other_id} and {token} for {id}, in \
                         the other order"
                    );
                    broken.push((Invariant::TokenOrder, text));
                }
            }
        }
    }
}
