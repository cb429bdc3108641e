//! What compiles and what does not: the cases below `pass` and `fail`, and what rustc and clippy
//! say of annotated functions, from the fixtures in `tests/fixtures`. A case's name begins with its topic.

mod accepted;
mod carets;
mod compiler;
mod diagnostic;
mod lints;
mod project;
mod refused;
mod twins;
mod words;
