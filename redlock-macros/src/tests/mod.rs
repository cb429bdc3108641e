//! Tests of the attribute as a whole, from tokens to tokens.

mod anything;
mod expansion;
mod typing;
