//! Times that the attribute gives as expressions.

/// The values that `#[redlock]` takes for a parameter that is a time: a `Duration`, or a value of the parameter's
/// own type, such as `Wait`.
///
/// A number is refused. Its unit would be invisible in the attribute: `ttl = SECONDS` would be some
/// milliseconds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no `Duration`",
    label = "expected a `Duration`",
    note = "write `Duration::from_millis(…)` or `Duration::from_secs(…)`",
    note = "only a literal is milliseconds (`60_000`) or text (`\"60s\"`)",
    note = "a value of type `{P}` is taken as well, but no reference to one"
)]
pub trait IntoTime<P>: Sized {
    /// The parameter's value.
    fn time(value: Self) -> P;
}

// Not recommended: rustc would report `P: From<_>`, without the notes above.
#[diagnostic::do_not_recommend]
impl<P, T: Into<P>> IntoTime<P> for T {
    fn time(value: Self) -> P {
        value.into()
    }
}
