//! Captures arguments in the future of the body, so that they are dropped before the release.

/// Captures whole variables in the enclosing `async move` block, without any other effect. The expansion is never run.
/// The compiler still warns about a variable that the block does not use elsewhere.
///
/// Three facts make this work:
///
/// * A block also captures the variables of its unreachable code, but rustc does not count them as used. Code after a
///   call that returns an empty type is unreachable, but draws no `unreachable_code` warning.
/// * rustc reports a captured variable that is never read, at the place of its capture, but not in code from a macro of
///   another crate. So the names go through an inner macro, whose body is written in this crate. A name that a macro
///   gets as an argument keeps its place, but a name in a macro's body belongs to the macro.
/// * A name in the body of a local macro refers to the variable that is visible where the macro is defined.
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

/// Marks the code after its call as unreachable.
pub fn never() -> std::convert::Infallible {
    unreachable!("`never` is called only in code that is not run")
}
