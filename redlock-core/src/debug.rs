//! `Debug` for types that show only a part of themselves.

/// Implements `Debug` for a type, with its name and the given values. The type's other fields have no text, or are
/// secret.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_in_part {
    ($type:ident $(, $it:ident => $($name:ident: $value:expr),+)?) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $(let $it = self;)?
                f.debug_struct(stringify!($type))
                    $($(.field(stringify!($name), &$value))+)?
                    .finish_non_exhaustive()
            }
        }
    };
}
pub use debug_in_part;
