//! What compiles and what does not: the cases below `ui`, and what rustc and clippy say of
//! annotated functions, from the fixtures below `fixtures`.

mod accepted;
mod carets;
mod diagnostic;
mod lints;
mod project;
mod refused;
mod twins;
