//! Lock names that the attribute gives as expressions.

use redlock_core::Resource;

/// A value that `#[redlock]` accepts for `resource`: any `Into<Resource>`.
// A trait of our own lets rustc say what to write instead.
#[diagnostic::on_unimplemented(
    message = "a value of type `{Self}` does not name a lock",
    label = "expected text, bytes, or a list of these",
    note = "for a number or a field write a template, `resource = \"order:{{id}}\"`; for several locks a list of \
            texts",
    note = "a type of your own names a lock by its `impl From<…> for redlock_runtime::Resource`"
)]
pub trait NamesLock: Sized {
    /// Returns the name of the lock.
    fn resource(value: Self) -> Resource;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Resource>> NamesLock for T {
    fn resource(value: Self) -> Resource {
        value.into()
    }
}
