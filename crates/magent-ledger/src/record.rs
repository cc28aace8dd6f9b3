//! The steps of a turn's life, each as the events that record it.

use magent_types::{
    EventType, Item, ItemId, ItemStatus, ItemType, Role, Turn, TurnId, TurnStatus, UnixSeconds,
    UserImage,
};
use serde_json::{Map, Value, json};

use crate::Ledger;

/// The key of a user's item under which its pictures are named.
pub(crate) const IMAGES: &str = "images";

fn image_json(image: &UserImage) -> Value {
    json!({"name": image.name, "mime-type": image.mime_type, "file": image.file})
}

/// A turn to be queued.
#[derive(Clone, Debug, Default)]
pub struct NewTurn {
    /// The submission that causes it.
    pub op_id: String,
    /// The request.
    pub words: UserWords,
    /// Anything else, by key.
    pub metadata: Map<String, Value>,
}

/// What a user says.
#[derive(Clone, Debug, Default)]
pub struct UserWords {
    /// As the transcript shows it.
    pub display: String,
    /// As the model reads it, if that differs.
    pub model_text: Option<String>,
    /// The pictures, without their bytes.
    pub images: Vec<UserImage>,
}

impl<Text: Into<String>> From<Text> for UserWords {
    fn from(text: Text) -> Self {
        Self {
            display: text.into(),
            ..Self::default()
        }
    }
}

impl Ledger {
    /// Queues a turn and records the user's words as its first, completed item.
    /// Returns the turn and the item.
    pub fn queue_turn(&mut self, new: NewTurn, now: UnixSeconds) -> (TurnId, ItemId) {
        let mut turn = Turn::new(self.thread().id.clone(), now);
        turn.op_id = Some(new.op_id);
        turn.input = Some(new.words.display.clone());
        turn.metadata = new.metadata;
        let turn_id = turn.id.clone();
        self.append(
            Some(turn_id.clone()),
            None,
            EventType::TurnQueued(turn),
            now,
        );
        let item_id = self.add_user_words(&turn_id, new.words, now);
        (turn_id, item_id)
    }

    /// Records what the user says as a completed item of a turn.
    pub fn add_user_words(
        &mut self,
        turn_id: &TurnId,
        words: UserWords,
        now: UnixSeconds,
    ) -> ItemId {
        let mut item = Item::new(turn_id.clone(), ItemType::Message, now);
        item.status = ItemStatus::InProgress;
        item.role = Some(Role::User);
        item.content = Some(words.display);
        if let Some(text) = words.model_text {
            item.metadata.insert("model-text".into(), text.into());
        }
        if !words.images.is_empty() {
            let images: Vec<Value> = words.images.iter().map(image_json).collect();
            item.metadata.insert(IMAGES.into(), images.into());
        }
        let item_id = item.id.clone();
        self.start_item(item.clone(), now);
        self.complete_item(item, now);
        item_id
    }

    /// Records that a queued turn runs.
    pub fn start_turn(&mut self, turn_id: &TurnId, now: UnixSeconds) {
        let Some(turn) = self.thread().turn(turn_id) else {
            return;
        };
        let mut started = Turn::clone(turn);
        started.status = TurnStatus::InProgress;
        started.started_at = Some(now);
        // The event is about the turn itself; its items have events of their own.
        started.items.clear();
        self.append(
            Some(turn_id.clone()),
            None,
            EventType::TurnStarted(started),
            now,
        );
    }

    /// Ends a turn, first cancelling what is still open in it.  A turn that has
    /// ended stays as it is; returns whether it ended now.
    pub fn end_turn(
        &mut self,
        turn_id: &TurnId,
        status: TurnStatus,
        detail: Value,
        now: UnixSeconds,
    ) -> bool {
        let open = self
            .thread()
            .turn(turn_id)
            .is_some_and(|turn| !turn.status.is_terminal());
        if !open {
            return false;
        }
        let reason = match status {
            TurnStatus::Completed => Value::Null,
            _ => detail.clone(),
        };
        self.cancel_open_items(turn_id, &reason, now);
        let kind = match status {
            TurnStatus::Completed => EventType::TurnCompleted(detail),
            TurnStatus::Failed => EventType::TurnFailed(detail),
            TurnStatus::Dropped => EventType::TurnDropped(detail),
            TurnStatus::Interrupted | TurnStatus::Queued | TurnStatus::InProgress => {
                EventType::TurnInterrupted(detail)
            }
        };
        self.append(Some(turn_id.clone()), None, kind, now);
        true
    }

    /// Cancels every item of a turn that has not ended.
    pub fn cancel_open_items(&mut self, turn_id: &TurnId, reason: &Value, now: UnixSeconds) {
        let Some(turn) = self.thread().turn(turn_id) else {
            return;
        };
        let open: Vec<Item> = turn
            .items
            .iter()
            .filter(|item| !item.status.is_terminal())
            .map(|item| Item::clone(item))
            .collect();
        for item in open {
            self.cancel_item(item, reason.clone(), now);
        }
    }

    /// Records that an item began.
    pub fn start_item(&mut self, item: Item, now: UnixSeconds) {
        self.append(
            Some(item.turn_id.clone()),
            Some(item.id.clone()),
            EventType::ItemStarted(item),
            now,
        );
    }

    /// Records more text of an item; nothing to add records nothing.
    pub fn append_content(
        &mut self,
        turn_id: &TurnId,
        item_id: &ItemId,
        text: String,
        now: UnixSeconds,
    ) {
        if text.is_empty() {
            return;
        }
        self.append(
            Some(turn_id.clone()),
            Some(item_id.clone()),
            EventType::ItemContentAppended(text),
            now,
        );
    }

    /// Records that an item ended normally.
    pub fn complete_item(&mut self, mut item: Item, now: UnixSeconds) {
        close(&mut item, ItemStatus::Completed, now);
        self.append(
            Some(item.turn_id.clone()),
            Some(item.id.clone()),
            EventType::ItemCompleted(item),
            now,
        );
    }

    /// Records that an item failed.
    pub fn fail_item(&mut self, mut item: Item, error: Value, now: UnixSeconds) {
        close(&mut item, ItemStatus::Failed, now);
        self.append(
            Some(item.turn_id.clone()),
            Some(item.id.clone()),
            EventType::ItemFailed(item, error),
            now,
        );
    }

    /// Records that an item was stopped.
    pub fn cancel_item(&mut self, mut item: Item, reason: Value, now: UnixSeconds) {
        close(&mut item, ItemStatus::Cancelled, now);
        self.append(
            Some(item.turn_id.clone()),
            Some(item.id.clone()),
            EventType::ItemCancelled(item, reason),
            now,
        );
    }
}

fn close(item: &mut Item, status: ItemStatus, now: UnixSeconds) {
    item.status = status;
    item.updated_at = now;
    item.completed_at = Some(now);
}
