//! Macros that write consuming setters, and structs of options with such setters.

/// Writes a setter for each row. A row has the documentation, the field's name, and the type of the argument.
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

/// Defines a struct of options with private fields, their defaults and their setters.
///
/// A row has the setter's documentation, the name, the type and the default. `from` adds the type that the setter takes,
/// if it differs from the field's type.
macro_rules! options {
    ($(#[$of:meta])+ pub struct $options:ident {
        $($(#[$doc:meta])+ $name:ident: $type:ty = $default:expr $(, from $from:ty)?;)+
    }) => {
        $(#[$of])+
        pub struct $options {
            $( pub(crate) $name: $type, )+
        }

        impl Default for $options {
            fn default() -> Self {
                Self { $( $name: $default, )+ }
            }
        }

        impl $options {
            $( $crate::setters::options!(@setter $(#[$doc])+ $name: $type $(, $from)?); )+
        }
    };
    (@setter $(#[$doc:meta])+ $name:ident: $type:ty) => {
        $crate::setters::setters!($(#[$doc])+ $name: $type;);
    };
    (@setter $(#[$doc:meta])+ $name:ident: $type:ty, $from:ty) => {
        $crate::setters::setters!($(#[$doc])+ $name: $from;);
    };
}

pub(crate) use {options, setters};
