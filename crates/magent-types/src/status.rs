//! Lifecycle statuses of threads, turns and items.

macro_rules! status_type {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name used in session files and events.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// Reads the name used in session files; unknown names give `None`.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use status_type;

status_type!(
    /// Status of a whole thread.
    ThreadStatus {
        /// Known from its header only.
        NotLoaded = "not-loaded",
        /// Loaded, no turn running.
        Idle = "idle",
        /// A turn is running.
        Active = "active",
        /// The last turn failed.
        SystemError = "system-error",
        /// Closed for good.
        Closed = "closed",
    }
);

status_type!(
    /// Status of a turn.
    TurnStatus {
        /// Waiting for its session's slot.
        Queued = "queued",
        /// Running.
        InProgress = "in-progress",
        /// Ended normally.
        Completed = "completed",
        /// Cancelled while it ran.
        Interrupted = "interrupted",
        /// Ended by an error.
        Failed = "failed",
        /// Cancelled before it ran.
        Dropped = "dropped",
    }
);

status_type!(
    /// Status of an item.
    ItemStatus {
        /// Known but not started, for example a call that waits for approval.
        Pending = "pending",
        /// Being produced.
        InProgress = "in-progress",
        /// Ended normally.
        Completed = "completed",
        /// Ended by an error.
        Failed = "failed",
        /// Stopped by a cancel.
        Cancelled = "cancelled",
    }
);

impl TurnStatus {
    /// Whether the turn has ended.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Queued | Self::InProgress)
    }
}

impl ItemStatus {
    /// Whether the item has ended.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::InProgress)
    }
}
