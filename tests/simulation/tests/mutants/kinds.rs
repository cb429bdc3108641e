//! The mutants of kinds of locks, which are in the rooms of the kinds.

use crate::table::Mutant;

/// Makes the list, a table of each room.
macro_rules! rooms {
    ($($room:ident: $table:literal,)+) => {
        $(#[path = $table] mod $room;)+

        pub(crate) const KINDS: &[&[Mutant]] = &[$($room::MUTANTS),+];
    };
}

rooms! {
    exclusive: "../../../../redlock-core/src/kinds/exclusive/tests/mutants.rs",
    fenced: "../../../../redlock-core/src/kinds/fenced/tests/mutants.rs",
    permits: "../../../../redlock-core/src/kinds/permits/tests/mutants.rs",
    readers_writers: "../../../../redlock-core/src/kinds/readers_writers/tests/mutants.rs",
}
