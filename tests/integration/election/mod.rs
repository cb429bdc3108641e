//! Elections, on real servers. A test is named after the rule that it is about.
//!
//! | rule | what it says |
//! |---|---|
//! | L1 | the body has ended before the release is sent |
//! | L2 | beginnings and ends of terms come in pairs |
//! | L3 | losing is no error; the candidate stands again |
//! | L4 | every wait ends at shutdown |
//! | L5 | watches see that no process leads; each status has an age |
//! | L6 | to resign twice is to resign once; terms that end at once do not spin |
//! | L7 | fencing is on, and there is no question "am I the leader" |
//! | L8 | `max_term` and `resign` pass the office on |
//! | L9 | figures and the page of `redlock-inspect` show leader, terms and time in office |
//! | L10 | the documentation begins with what an election does not promise |

mod fixture;
mod grace;
mod looks;
mod observing;
mod office;
mod parameters;
mod rotation;
mod shutdown;
mod standing;
mod terms;
