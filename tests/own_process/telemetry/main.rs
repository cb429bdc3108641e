//! What the library tells of itself. In a binary of its own: it takes every span, event and figure of
//! the process.

mod alerts;
mod capture;
mod elections;
mod events;
mod figures;
mod fixture;
mod gauges;
mod held_back;
mod spans;
