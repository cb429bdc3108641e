//! The rules about fencing tokens, and what a store makes of them.

use redlock_core::request::Kind;

use super::Broken;
use crate::history::{History, Inner, Invariant, LeaseRecord};

impl History {
    /// The store of `resource` is asked to take a write of lease `number`, and does unless it has
    /// seen a higher token.
    pub fn write(&self, number: usize) {
        let mut broken = None;
        let is_taken = {
            let mut guard = self.lock();
            let inner = &mut *guard;
            let Some(lease) = inner.leases.get(number) else {
                return;
            };
            if lease.handle.kind() == Kind::Read {
                return; // Whoever reads writes nothing.
            }
            let (Some(key), Some(_)) = (lease.resource.names().next(), lease.token) else {
                return; // Without a token, a store has nothing to go by.
            };
            let writers = inner.writers.entry(key.to_vec()).or_default();
            let highest = writers
                .iter()
                .filter_map(|writer| inner.leases[*writer].token)
                .max();
            let is_taken = lease.token >= highest;
            if is_taken {
                let began = |lease: &LeaseRecord| inner.attempts[lease.attempt].staked_at;
                let later = writers.iter().map(|writer| &inner.leases[*writer]);
                if let Some(later) = later
                    .into_iter()
                    .find(|later| lease.returned_at < began(later))
                {
                    broken = Some(format!(
                        "the store took {:?} behind {:?}, whose holder came later",
                        lease.token, later.token
                    ));
                }
                writers.push(number);
                inner.coverage.written += 1;
            } else {
                inner.coverage.fenced_off += 1;
            }
            is_taken
        };
        self.note(8, [number as u64, u64::from(is_taken)], || {
            format!("store: write of lease {number}, taken: {is_taken}")
        });
        if let Some(text) = broken {
            self.violated(Invariant::StoreOrder, text);
        }
    }
}

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
