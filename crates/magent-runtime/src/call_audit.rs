//! Audit records about calls.

use std::sync::Arc;

use magent_tools::{Call, Tool};

use crate::audit::AuditRecord;
use crate::calls::{PendingCall, ReadyCall};
use crate::session::now;
use crate::turn_context::TurnContext;

/// Records something about a call that passed the checks.
pub(crate) fn audit(
    turn: &TurnContext,
    ready: &ReadyCall,
    event: &'static str,
    fill: impl FnOnce(&mut AuditRecord),
) {
    audit_call(turn, &ready.tool, &ready.call, &ready.pending, event, fill);
}

/// Records something about a call.
pub(crate) fn audit_call(
    turn: &TurnContext,
    tool: &Arc<dyn Tool>,
    call: &Call,
    pending: &PendingCall,
    event: &'static str,
    fill: impl FnOnce(&mut AuditRecord),
) {
    let mut arguments = tool.audit_preview(&call.arguments);
    if let (Some(resource), Some(path)) = (&call.resource, arguments.get_mut("path")) {
        *path = resource.path().into();
    }
    let mut record = AuditRecord {
        event,
        agent: turn.request().agent.name.clone(),
        turn_id: Some(turn.submission.turn_id.clone()),
        session_id: Some(turn.session().id.clone()),
        scope: Some(turn.session().scope.clone()),
        tool: tool.spec().name.to_owned(),
        permission_key: Some(tool.spec().permission_key.to_owned()),
        arguments,
        call_id: Some(pending.view.call_id.as_str().to_owned()),
        title_length: Some(pending.view.title.chars().count()),
        ..AuditRecord::default()
    };
    fill(&mut record);
    turn.services
        .audit
        .record(&turn.request().config.audit, &record, now());
}
