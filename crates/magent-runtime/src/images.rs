//! Pictures of prompts: kept when a prompt comes in, and read for each request.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use magent_ledger::ImageStore;
use magent_sampling::Route;
use magent_types::{
    ConversationEntry, PromptImage, PromptInput, Scope, SessionId, UserImage, is_capable,
};

use crate::runtime::Runtime;
use crate::session::Session;
use crate::turn_context::TurnContext;
use crate::{ModelChoice, RuntimeError};

/// The most bytes of a picture; providers refuse larger ones.
const LARGEST: usize = 10 << 20;
/// What providers take.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

impl Runtime {
    /// Checks the pictures of a prompt and keeps them beside the session.
    pub(crate) async fn keep_images(
        &self,
        session: &Session,
        input: &PromptInput,
        choice: &ModelChoice,
    ) -> Result<Vec<UserImage>, RuntimeError> {
        let images: Vec<PromptImage> = input.images().cloned().collect();
        if images.is_empty() {
            return Ok(Vec::new());
        }
        images.iter().try_for_each(check)?;
        let catalog = self.models().await?;
        if let Some(model) = catalog.get(choice)
            && !sees(&model.capabilities)
        {
            return Err(RuntimeError::Image(format!(
                "The model {} takes no pictures; choose one with the capability media",
                choice.full_name()
            )));
        }
        let store = self.services.images.clone();
        let (scope, id) = (session.scope.clone(), session.id.clone());
        let kept = tokio::task::spawn_blocking(move || keep(&store, &scope, &id, images));
        kept.await.map_err(|_| RuntimeError::ShuttingDown)?
    }
}

fn check(image: &PromptImage) -> Result<(), RuntimeError> {
    let PromptImage {
        name, mime_type, ..
    } = image;
    if !TYPES.contains(&mime_type.as_str()) {
        return Err(RuntimeError::Image(format!(
            "The picture {name} is {mime_type}, but models take PNG, JPEG, GIF and WebP only"
        )));
    }
    if image.data.is_empty() {
        return Err(RuntimeError::Image(format!("The picture {name} is empty")));
    }
    if image.data.len() > LARGEST {
        return Err(RuntimeError::Image(format!(
            "The picture {name} has {} MB; {} MB is the limit",
            image.data.len() >> 20,
            LARGEST >> 20
        )));
    }
    Ok(())
}

fn keep(
    store: &ImageStore,
    scope: &Scope,
    session: &SessionId,
    images: Vec<PromptImage>,
) -> Result<Vec<UserImage>, RuntimeError> {
    images
        .into_iter()
        .map(|image| {
            let file = store
                .put(scope, session, &image.mime_type, &image.data)
                .map_err(|error| {
                    RuntimeError::Image(format!(
                        "The picture {} cannot be kept: {error}",
                        image.name
                    ))
                })?;
            Ok(UserImage {
                name: image.name,
                mime_type: image.mime_type,
                file,
                data: None,
            })
        })
        .collect()
}

/// Whether a model sees, as far as is known.
fn sees(capabilities: &[String]) -> bool {
    is_capable(capabilities, &["media"])
}

/// Reads the pictures of a conversation, if the model may see them.
pub(crate) async fn read_images(
    turn: &TurnContext,
    route: &Route,
    mut conversation: Vec<ConversationEntry>,
) -> Vec<ConversationEntry> {
    let has_images = conversation
        .iter()
        .any(|entry| matches!(entry, ConversationEntry::Image(_)));
    if !has_images || !sees(&route.capabilities) {
        return conversation;
    }
    let store = turn.services.images.clone();
    let (scope, id) = (turn.session().scope.clone(), turn.session().id.clone());
    let read = tokio::task::spawn_blocking(move || {
        for entry in &mut conversation {
            if let ConversationEntry::Image(image) = entry {
                let bytes = store.read(&scope, &id, &image.file).ok();
                image.data = bytes.map(|bytes| Arc::from(STANDARD.encode(bytes)));
            }
        }
        conversation
    });
    // The task ends with the process only.
    read.await.unwrap_or_default()
}
