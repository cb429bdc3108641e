//! What a table of mutants is made of.

use redlock_simulation::{Invariant, Profile};

/// A way to break the algorithm, and the rule that has to notice.
pub(crate) struct Mutant {
    pub(crate) name: &'static str,
    pub(crate) breaks: Invariant,
    /// The profile in which it shows.
    pub(crate) profile: Profile,
    pub(crate) patches: &'static [Patch],
}

/// One change of a function: the tokens `find` are in its body exactly once.
pub(crate) struct Patch {
    /// `Type::function`, or the name alone.
    pub(crate) function: &'static str,
    /// Empty for the beginning of the body.
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
}

/// Makes a table of mutants. They are tokens of Rust, so renaming an identifier in all `.rs` files renames it here too.
macro_rules! mutants {
    ($($name:literal breaks $rule:ident in $profile:ident:
        $($function:path { $($find:tt)* } => { $($replace:tt)* };)+)+
    ) => {
        pub(crate) const MUTANTS: &[$crate::table::Mutant] = &[$($crate::table::Mutant {
            name: $name,
            breaks: redlock_simulation::Invariant::$rule,
            profile: redlock_simulation::Profile::$profile,
            patches: &[$($crate::table::Patch {
                function: stringify!($function),
                find: stringify!($($find)*),
                replace: stringify!($($replace)*),
            }),+],
        }),+];
    };
}
