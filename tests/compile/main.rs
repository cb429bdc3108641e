//! What compiles and what does not: the cases below `tests/ui`, and what rustc and clippy say of
//! annotated functions, from the fixtures below `tests/fixtures`, compiled in a throw-away project.

mod carets;
mod diagnostic;
mod lints;
mod project;
mod twins;
