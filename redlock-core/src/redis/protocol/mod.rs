//! The Redis protocol: the commands and the scripts of wire format 1, which the guide of `redlock-runtime` has
//! as a page (`reference/wire_format.md`). The number is written there only. It changes when a change would keep
//! two versions of this library from excluding each other.

pub(super) mod command;
pub(super) mod read_buffer;
pub(super) mod scripts;
pub(super) mod wire;
