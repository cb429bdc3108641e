//! The table of the attribute's parameters.

/// The kind of a parameter's value, which decides the type for the runtime's setter.
#[derive(Clone, Copy)]
pub(crate) enum ValueKind {
    /// A duration.
    Time,
    /// A duration or a word, for an enum of the runtime.
    /// The enum has a variant `For` for the duration, and the named variant for the word.
    TimeOr {
        word: &'static str,
        variant: Variant,
    },
    /// A duration or a fraction of the ttl: the variants `Time` and `Fraction` of the named enum.
    TimeOrFraction(&'static str),
    /// A count of 0 or more.
    Count,
    /// A number of at least 0 and less than 1.
    Fraction,
    /// `true` or `false`.
    Flag,
    /// A choice of two words. Each word is a variant.
    Word([(&'static str, Variant); 2]),
    /// A string; the setter takes a `&'static str`.
    Text,
    /// An array of the names of pools.
    Pools,
    /// A parameter that `check.rs` and `expand.rs` treat specially.
    Own,
}

/// An enum of the runtime and its unit variant: `["OnLost", "Cancel"]`.
pub(crate) type Variant = [&'static str; 2];

/// The row of a parameter in the table.
#[derive(Clone, Copy)]
struct Row {
    /// The name as users write it.
    name: &'static str,
    kind: ValueKind,
    /// An example of the parameter with a valid value.
    example: &'static str,
}

/// Defines [`Key`] from rows: the variant, the name for users, the kind, and an example.
macro_rules! parameters {
    ($( $key:ident $name:literal: $kind:expr, $example:literal; )+) => {
        /// A parameter of the attribute.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Key {
            $( $key, )+
        }

        impl Key {
            /// Every parameter, in the order of the table.
            pub(crate) const EACH: &[Self] = &[$( Self::$key, )+];

            fn row(self) -> Row {
                match self {
                    $( Self::$key => Row { name: $name, kind: $kind, example: $example }, )+
                }
            }
        }
    };
}

// To add a parameter, add a row here and a row to `parameters/table.rs` of `redlock-runtime`.
// The runtime's setter has the name in the row. `duration_rules.rs` and `check.rs` have the rules between
// parameters. `reference.md` has a section for each parameter.
parameters! {
    Resource "resource": ValueKind::Own, r#"resource = "order:{id}""#;
    Ttl "ttl": ValueKind::Time, "ttl = 60_000";
    Pools "pools": ValueKind::Pools, r#"pools = ["a", "b", "c"]"#;
    RetryCount "retry_count": ValueKind::Count, "retry_count = 2";
    Wait "wait": ValueKind::TimeOr { word: "forever", variant: ["Wait", "Forever"] }, r#"wait = "5s""#;
    RetryDelay "retry_delay": ValueKind::Time, "retry_delay = 200";
    ClockDriftFactor "clock_drift_factor": ValueKind::Fraction, "clock_drift_factor = 0.01";
    MinValidity "min_validity": ValueKind::TimeOrFraction("MinValidity"), "min_validity = 0.66";
    MaxHold "max_hold": ValueKind::TimeOr { word: "unlimited", variant: ["MaxHold", "Unlimited"] },
        r#"max_hold = "10m""#;
    OncePer "once_per": ValueKind::Time, r#"once_per = "1h""#;
    Remember "remember":
        ValueKind::Word([("success", ["Remember", "Success"]), ("every_run", ["Remember", "EveryRun"])]),
        r#"remember = "every_run""#;
    Permits "permits": ValueKind::Count, "permits = 4";
    Fencing "fencing": ValueKind::Flag, "fencing = true";
    Kind "kind": ValueKind::Word([("read", ["Kind", "Read"]), ("write", ["Kind", "Write"])]),
        r#"kind = "read""#;
    OnLost "on_lost":
        ValueKind::Word([("cancel", ["OnLost", "Cancel"]), ("continue", ["OnLost", "Continue"])]),
        r#"on_lost = "cancel""#;
    IfLocked "if_locked": ValueKind::Own, r#"if_locked = "skip""#;
    Guard "guard": ValueKind::Own, "guard = lease";
    Note "note": ValueKind::Own, r#"note = "job {id}""#;
    Name "name": ValueKind::Text, r#"name = "charge""#;
    Crate "crate": ValueKind::Own, "crate = ::redlock_runtime";
}

impl Key {
    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) fn kind(self) -> ValueKind {
        self.row().kind
    }

    pub(crate) fn example(self) -> &'static str {
        self.row().example
    }

    /// Returns the parameter of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::EACH.iter().copied().find(|key| key.name() == name)
    }

    /// Returns the names of all parameters.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        Self::EACH.iter().map(|key| key.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn every_key_has_its_section_and_its_link_in_the_reference() {
        let reference = include_str!("reference.md");
        for name in Key::names() {
            assert!(reference.contains(&format!("\n## `{name}`: ")), "{name}");
            let link = format!("[`{name}`](#{name}-");
            assert!(reference.contains(&link), "{name} is not in the index");
        }
    }
}
