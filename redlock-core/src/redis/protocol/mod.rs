//! The Redis protocol: the wire format, the commands and the scripts.

pub(super) mod command;
pub(super) mod read_buffer;
pub(super) mod scripts;
pub(super) mod wire;
