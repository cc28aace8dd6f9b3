//! Sessions that are damaged, and what is made of them.

use magent_runtime::{ReplayEntry, RuntimeError};
use magent_testkit::Reply;

use crate::sessions::{close, restart};
use crate::support::World;

/// The file of a session.
fn file(world: &World, extension: &str) -> std::path::PathBuf {
    let projects = world.storage.path().join("sessions/projects");
    let scope = std::fs::read_dir(projects).unwrap().next().unwrap();
    let name = format!("{}.{extension}", world.session);
    scope.unwrap().path().join(name)
}

#[tokio::test]
async fn what_is_left_of_a_damaged_session_goes_on_and_says_what_is_missing() {
    let world = World::new([Reply::answer("one"), Reply::answer("two")]).await;
    world.turn("first").await;
    world.turn("second").await;
    let recover = |world: &World| {
        let (runtime, scope) = (std::sync::Arc::clone(&world.runtime), world.scope());
        let (session, config) = (world.session.clone(), world.config.clone());
        async move { runtime.recover_session(scope, session, &config).await }
    };
    assert!(matches!(
        recover(&world).await,
        Err(RuntimeError::NotDamaged)
    ));
    // A session that is loaded again is live; this one is not.
    let damaged = world.session.clone();
    let mut world = restart(world, []).await;
    close(&world, &damaged).await;
    let log = file(&world, "jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("\"seq\":4", "\"seq\":x", 1)).unwrap();
    let info = recover(&world).await.unwrap();
    assert_eq!(info.title.as_deref(), Some("(recovered) first"));
    let told = info.notice.unwrap();
    assert!(
        told.contains("Missing: ") && told.contains("line 4"),
        "{told}"
    );
    world.session = info.id;
    let world = restart(world, [Reply::answer("three")]).await;
    let replay = world.runtime.replay(&world.session).unwrap();
    let ReplayEntry::Notice(notice) = &replay[0] else {
        panic!("{replay:?}");
    };
    assert!(notice.contains("line 4"), "{notice}");
    assert_eq!(world.turn("third").await.text, "three");
    let asked = world.server.requests()[0].body["messages"].to_string();
    assert!(asked.contains("first") && asked.contains("two"), "{asked}");
}

#[tokio::test]
async fn what_is_whole_is_recovered_whole() {
    let world = World::new([Reply::answer("one")]).await;
    world.turn("first").await;
    let session = world.session.clone();
    let world = restart(world, []).await;
    close(&world, &session).await;
    let info = (world.runtime)
        .recover_session(world.scope(), session, &world.config)
        .await
        .unwrap();
    assert_eq!(info.notice.as_deref(), Some("Nothing is missing."));
    let replay = world.runtime.replay(&info.id).unwrap();
    assert!(matches!(&replay[0], ReplayEntry::User { text, .. } if text == "first"));
}
