//! Names of locks that the attribute gives as expressions.

use redlock_core::Resource;

/// The values that `#[redlock]` takes for `resource`: those that are `Into<Resource>`.
// A trait of our own, so that rustc says what to write instead.
#[diagnostic::on_unimplemented(
    message = "a value of type `{Self}` names no lock",
    label = "neither text nor bytes, and no list of these",
    note = "for a number or a field write a template, `resource = \"order:{{id}}\"`; for several locks a list of \
            texts",
    note = "a type of your own names a lock by its `impl From<…> for redlock_runtime::Resource`"
)]
pub trait NamesLock: Sized {
    /// The lock's name.
    fn resource(value: Self) -> Resource;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Resource>> NamesLock for T {
    fn resource(value: Self) -> Resource {
        value.into()
    }
}
