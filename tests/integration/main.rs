//! Behaviour on real servers, on in-process nodes and over HTTP. One program, because each program
//! costs a link; what needs a process of its own is in `own_process/`.

mod cluster;
mod core;
mod election;
mod examples;
mod faults;
mod http;
mod inspect;
mod macro_behaviour;
mod own_client;
mod replicas;
mod restart_check;
mod runtime;
mod sentinel;
mod services;
mod sharing;
mod testing_kit;
mod tls;
mod tower;
mod twins;
