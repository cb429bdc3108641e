//! Many readers or one writer: the rules hold, and each rule left out lets a writer in beside a reader,
//! or an extension succeed behind a writer.
//!
//! Run with `--nocapture` to read the counterexamples.

use redlock_model::sharing::Kind::{Plain, Reader, Writer};
use redlock_model::sharing::{Creating, Extension, Leaving, Marker, Promise, Sharing, landmark};
use redlock_model::verdict::{breaks, holds};

#[test]
fn readers_and_a_writer_exclude_each_other() {
    let landmarks =
        landmark::TWO_READERS | landmark::WRITER_AFTER_READER | landmark::READER_AFTER_WRITER;
    holds(
        &Sharing::<3, 3>::rules([Reader, Reader, Writer]),
        10_000,
        landmarks,
    );
}

#[test]
fn two_writers_and_a_reader_exclude_each_other() {
    let landmarks = landmark::WRITER_AFTER_READER | landmark::READER_AFTER_WRITER;
    holds(
        &Sharing::<3, 3>::rules([Reader, Writer, Writer]),
        10_000,
        landmarks,
    );
}

/// A plain lock is what every other client takes, and every build that knows no readers.
#[test]
fn readers_a_writer_and_a_plain_lock_exclude_each_other() {
    let landmarks = landmark::WRITER_AFTER_READER | landmark::READER_AFTER_WRITER;
    holds(
        &Sharing::<3, 3>::rules([Reader, Reader, Plain]),
        10_000,
        landmarks,
    );
    holds(
        &Sharing::<3, 3>::rules([Reader, Writer, Plain]),
        10_000,
        landmarks,
    );
}

#[test]
fn each_node_has_the_marker_while_a_reader_is_in() {
    let promise = Promise::MarkerBesideReaders;
    let model = Sharing::<3, 3> {
        promise,
        ..Sharing::rules([Reader, Reader, Writer])
    };
    holds(&model, 10_000, landmark::TWO_READERS);
}

#[test]
fn nothing_is_left_once_everybody_has_left() {
    let promise = Promise::NothingLeft;
    let model = Sharing::<3, 3> {
        promise,
        ..Sharing::rules([Reader, Reader, Writer])
    };
    holds(&model, 10_000, landmark::ALL_OVER);
}

#[test]
fn an_extension_proves_that_nobody_was_between() {
    let model = Sharing::<3, 3> {
        extension: Extension::Compare,
        losses: 2,
        promise: Promise::NobodyBetween,
        ..Sharing::rules([Reader, Reader, Writer])
    };
    holds(&model, 10_000, landmark::EXTENDED | landmark::INTRUDED);
}

#[test]
fn a_second_reader_with_a_shorter_ttl_must_not_shorten_the_first_ones() {
    let model = Sharing::<3, 3> {
        marker: Marker::OfTheLast,
        ..Sharing::rules([Reader, Reader, Writer])
    };
    breaks(&model, 12);
}

#[test]
fn readers_without_a_marker_let_plain_locks_in() {
    let model = Sharing::<3, 2> {
        marker: Marker::None,
        ..Sharing::rules([Reader, Plain])
    };
    breaks(&model, 8);
}

#[test]
fn a_reader_that_leaves_must_not_take_the_marker_of_the_others_along() {
    let model = Sharing::<3, 3> {
        leaving: Leaving::EntryAndMarker,
        ..Sharing::rules([Reader, Reader, Writer])
    };
    breaks(&model, 12);
}

#[test]
fn entries_from_before_a_writer_must_not_come_back_to_life() {
    let model = Sharing::<3, 3> {
        extension: Extension::Compare,
        creating: Creating::KeepsEntries,
        losses: 2,
        promise: Promise::NobodyBetween,
        ..Sharing::rules([Reader, Reader, Writer])
    };
    breaks(&model, 16);
}

#[test]
fn an_extension_must_not_revive_an_entry() {
    let model = Sharing::<3, 3> {
        extension: Extension::Revive,
        losses: 2,
        promise: Promise::NobodyBetween,
        ..Sharing::rules([Reader, Reader, Writer])
    };
    breaks(&model, 16);
}
