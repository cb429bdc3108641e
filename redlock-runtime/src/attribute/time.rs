//! Durations that the attribute gives as expressions.

/// A value that `#[redlock]` accepts for a parameter that is a time: a `Duration`, or a value of the parameter's own
/// type, such as `Wait`.
///
/// A number is refused, because its unit would be invisible: with `ttl = SECONDS`, the ttl would be that number of
/// milliseconds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `Duration`",
    label = "expected a `Duration`",
    note = "write `Duration::from_millis(…)` or `Duration::from_secs(…)`",
    note = "only a literal may be a number of milliseconds (`60_000`) or a text (`\"60s\"`)",
    note = "a value of type `{P}` also works, but not a reference to one"
)]
pub trait IntoTime<P>: Sized {
    /// Returns the parameter's value.
    fn time(value: Self) -> P;
}

// Without this attribute, rustc would report that `P` lacks `From<_>`, and leave out the notes above.
#[diagnostic::do_not_recommend]
impl<P, T: Into<P>> IntoTime<P> for T {
    fn time(value: Self) -> P {
        value.into()
    }
}
