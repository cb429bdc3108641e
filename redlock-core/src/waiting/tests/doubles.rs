//! Two processes that draw the same random numbers, as copies of a running machine may.

use super::*;
use crate::model::kind::Kind;
use crate::model::token::OwnerToken;

/// A client of the same nodes that draws what the scene's own does.
fn double(scene: &Scene) -> Client {
    let clock = Arc::clone(&scene.client.shared.context.environment.clock);
    let environment = Environment {
        clock,
        entropy: Arc::new(Counting(1.into())),
        spawner: Arc::new(Nowhere),
    };
    Client::with_settings(environment, Settings::default())
}

fn refused_double(scene: &Scene) -> AcquireError {
    refused_double_with(scene, once())
}

fn refused_double_with(scene: &Scene, request: Request) -> AcquireError {
    let (client, nodes) = (double(scene), Arc::clone(&scene.set));
    let mut acquiring: Acquiring = Box::pin(async move { client.acquire(&nodes, &request).await });
    refused(&mut acquiring)
}

#[test]
fn a_refusal_that_names_our_own_token_releases_nothing_of_anothers() {
    let scene = Scene::new();
    let lease = scene.acquired(&once());
    let keys = scene.values();
    let error = refused_double(&scene);
    assert!(matches!(error, AcquireError::Contended(_)), "{error}");
    assert_eq!(scene.values(), keys, "they are the holder's");
    released(lease);
    assert!(scene.is_free());
}

#[test]
fn what_was_granted_to_the_refused_one_is_released() {
    let scene = Scene::new();
    scene.nodes[2].cut();
    let lease = scene.acquired(&once());
    scene.nodes[2].restore();
    refused_double(&scene);
    let is_held = scene
        .values()
        .iter()
        .map(Option::is_some)
        .collect::<Vec<_>>();
    assert_eq!(is_held, [true, true, false]);
    released(lease);
    assert!(scene.is_free());
}

#[test]
fn a_holder_leaves_anothers_keys_too_however_often_it_was_extended() {
    for extensions in 0..3 {
        let scene = Scene::new();
        let token = OwnerToken::draw("other/1", &Counting(1.into()));
        scene.nodes[2].put(b"r", token.as_bytes(), SECOND * 60);
        let lease = scene.acquired(&once());
        for _ in 0..extensions {
            assert!(poll(&mut Box::pin(lease.extend(TTL))).is_ready());
        }
        assert_eq!(released(lease), Released::Confirmed);
        let left = [None, None, Some(token.as_bytes().to_vec())];
        assert_eq!(scene.values(), left);
    }
}

#[test]
fn a_reader_that_a_waiting_writer_keeps_out_leaves_the_entry_of_a_copy() {
    let scene = Scene::new();
    let lease = scene.acquired(&once().kind(Kind::Read));
    for node in &scene.nodes {
        node.put(b"redlock:intent:{r}", b"a writer", SECOND * 60);
    }
    let entries = scene.values();
    refused_double_with(&scene, once().kind(Kind::Read));
    assert_eq!(scene.values(), entries, "they are the holder's");
    released(lease);
    assert!(scene.is_free());
}

#[test]
fn a_writer_that_readers_keep_out_leaves_the_entry_of_a_copy() {
    let scene = Scene::new();
    let lease = scene.acquired(&once().kind(Kind::Read));
    let entries = scene.values();
    refused_double_with(&scene, once().kind(Kind::Write));
    assert_eq!(scene.values(), entries, "they are the holder's");
    released(lease);
    assert!(scene.is_free());
}
