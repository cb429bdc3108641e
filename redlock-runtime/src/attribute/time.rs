//! Times that the attribute gives as expressions.

/// An expression for a parameter that takes a time: a `Duration`, or another value of the parameter.
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
pub trait Time<P> {
    /// The parameter's value.
    fn time(self) -> P;
}

// Not recommended: rustc would report `P: From<_>`, without the notes above.
#[diagnostic::do_not_recommend]
impl<P, T: Into<P>> Time<P> for T {
    fn time(self) -> P {
        self.into()
    }
}
