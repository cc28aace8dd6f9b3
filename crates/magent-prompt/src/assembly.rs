//! The system text, put together in fixed order.

/// The layers of a system text, each empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemText {
    /// The first layer: what Magent is.
    pub system: String,
    /// The agent's role.
    pub role: String,
    /// Where the work happens.
    pub project: String,
    /// Project instructions.
    pub instructions: String,
    /// Blocks of the user's trusted context providers, in order.
    pub context: Vec<String>,
    /// Active skills, in order.
    pub skills: Vec<String>,
    /// The trust policy, always last.
    pub trust: String,
}

/// Joins the layers by blank lines, leaving empty ones out.  The order never changes,
/// so that what is the same in two requests stands at their beginning.
pub fn assemble(layers: &SystemText) -> String {
    let mut parts: Vec<&str> = vec![
        &layers.system,
        &layers.role,
        &layers.project,
        &layers.instructions,
    ];
    parts.extend(layers.context.iter().map(String::as_str));
    parts.extend(layers.skills.iter().map(String::as_str));
    parts.push(&layers.trust);
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_stand_in_order_and_empty_ones_leave_no_gap() {
        let layers = SystemText {
            system: "one".into(),
            project: " three ".into(),
            context: vec!["five".into(), String::new(), "six".into()],
            trust: "last".into(),
            ..SystemText::default()
        };
        assert_eq!(assemble(&layers), "one\n\nthree\n\nfive\n\nsix\n\nlast");
    }
}
