//! Models of the protocol, and an exhaustive search through everything that can happen in them.
//!
//! * [`fencing`]: how a token is taken. No clock appears in it: keys may vanish at any moment.
//! * [`exclusion`]: how a quorum excludes, with extension, restoring and restarts; time appears as
//!   one rule, that a key outlives the lease it stands for.
//! * [`search`]: breadth-first through all states, so that a counterexample is a shortest one.
//!
//! Permits, readers and writers rest on the same quorum; the simulation and its mutants show their rules,
//! and that no key is left behind.
//!
//! The protocol and its proofs are module docs of core: `quorum/fencing.md` and `quorum/extension_proof.md`.
//! Their tables say what breaks without each rule.
//!
//! Each model takes the protocol's rules as parameters. The tests check the rules as they are, and
//! that the search *finds* what goes wrong with each rule left out: a model that could not show a
//! fault proves nothing. Run them with `--nocapture` to read the counterexamples and the sizes.
//!
//! # What a model leaves out, and why nothing is lost
//! * **Loss.** A message that is never delivered is a lost one, and every state is checked, also
//!   those in which something is still under way for ever. So there is no step for losing one.
//! * **Failure of a client.** A client that takes no further step has crashed.
//! * **Reordering.** Whatever is under way may be delivered at any time, in any order.
//! * **Handing over** within a process. It sends nothing, or what a release and an acquisition send; the
//!   simulation's mutants show its rules.
//! * **Names.** Nodes are alike, so states that differ in the nodes' order only are searched once.
//!   So are attempts; they are named in the order in which they begin.

mod attempts;
pub mod exclusion;
pub mod fencing;
pub mod search;
pub mod verdict;
