//! The kind of a lock, as a label.

use redlock_core::request::Kind;

/// The values of the label `kind`.
const KINDS: [&str; 4] = ["plain", "permits", "read", "write"];

/// A `T` for each kind of lock.
#[derive(Default)]
pub(super) struct PerKind<T>([T; KINDS.len()]);

impl<T> PerKind<T> {
    /// What there is for `kind`, with the value of its label.
    pub(super) fn of(&self, kind: Kind) -> (&T, &'static str) {
        let place = place_of(kind);
        (&self.0[place], KINDS[place])
    }
}

/// The place of `kind` in [`KINDS`]. One permit is a plain lock.
fn place_of(kind: Kind) -> usize {
    match kind {
        Kind::Permits(permits) if permits.count() > 1 => 1,
        Kind::Read => 2,
        Kind::Write => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use redlock_core::request::Permits;

    use super::*;

    #[test]
    fn each_kind_has_a_place_and_a_label_of_its_own() {
        let permits = |count| Kind::Permits(Permits::new(count, 1).unwrap());
        let per_kind = PerKind([0, 1, 2, 3]);
        for (kind, place, label) in [
            (Kind::Exclusive, 0, "plain"),
            (permits(1), 0, "plain"),
            (permits(2), 1, "permits"),
            (Kind::Read, 2, "read"),
            (Kind::Write, 3, "write"),
        ] {
            assert_eq!(per_kind.of(kind), (&place, label), "{kind}");
        }
    }
}
