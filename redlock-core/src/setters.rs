//! Consuming setters.

/// Writes a setter for each row: its documentation, the field's name, and the type that the setter takes.
macro_rules! setters {
    ($($(#[$doc:meta])+ $name:ident: $type:ty;)+) => { $(
        $(#[$doc])+
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $name.into();
            self
        }
    )+ };
}

pub(crate) use setters;
