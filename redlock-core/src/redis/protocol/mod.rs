//! The Redis protocol: the wire format, the commands and the scripts.
#![doc = include_str!("wire_format.md")]

pub(super) mod command;
mod permit_scripts;
pub(super) mod read_buffer;
pub(super) mod scripts;
mod sharing_scripts;
pub(super) mod wire;
