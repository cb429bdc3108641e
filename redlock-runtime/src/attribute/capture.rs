//! Captures arguments in the body's future, so that they are dropped before the release.

/// Captures variables in the enclosing `async move` block, whole, and does nothing else with them. It stands in code
/// that is never run. rustc still warns of a variable that the block does not use otherwise.
///
/// Three facts make this so:
///
/// * A block captures what its unreachable code mentions too, but rustc does not count it as a use.
///   Code after a call that returns an empty type is unreachable, and draws no `unreachable_code`.
/// * rustc reports a captured variable that is never read, at the place of its capture. It does not
///   do so in code of a macro of another crate. Hence the inner macro: a variable's name that is
///   passed to a macro keeps its place, and a name in a macro's body belongs to the macro. The body
///   is written in this crate.
/// * A name in the body of a local macro means the variable that it means at the macro's definition.
#[doc(hidden)]
#[macro_export]
macro_rules! __redlock_capture {
    ($($(#[$condition:meta])* $name:ident)*) => {
        macro_rules! __redlock_captures {
            () => {
                $crate::__private::never();
                $($(#[$condition])* let _ = &$name;)*
            };
        }
        __redlock_captures!();
    };
}

/// Stands for the end of all that is run.
pub fn never() -> std::convert::Infallible {
    unreachable!("it is called only where nothing is run")
}
