//! Figures and how they are told: name, value, budget and verdict, with tabs between.

use std::time::Duration;

/// One figure.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    name: String,
    value: String,
    budget: String,
    verdict: &'static str,
}

const NONE: &str = "-";

impl Figure {
    /// A number that should be at most its budget.
    pub(crate) fn at_most(name: impl Into<String>, value: f64, budget: f64, unit: &str) -> Self {
        Self {
            name: name.into(),
            value: quantity(value, unit),
            budget: format!("<= {}", quantity(budget, unit)),
            verdict: if value <= budget { "ok" } else { "OVER" },
        }
    }

    /// A number that should be at least its budget.
    pub(crate) fn at_least(name: impl Into<String>, value: f64, budget: f64, unit: &str) -> Self {
        Self {
            name: name.into(),
            value: quantity(value, unit),
            budget: format!(">= {}", quantity(budget, unit)),
            verdict: if value >= budget { "ok" } else { "UNDER" },
        }
    }

    /// A time that should be at most so many milliseconds.
    pub(crate) fn within(name: impl Into<String>, took: Duration, milliseconds: f64) -> Self {
        Self::at_most(name, millis(took), milliseconds, " ms")
    }

    /// A claim that should hold.
    pub(crate) fn holds(name: impl Into<String>, holds: bool) -> Self {
        Self {
            name: name.into(),
            value: if holds { "yes" } else { "no" }.into(),
            budget: "yes".into(),
            verdict: if holds { "ok" } else { "OVER" },
        }
    }

    /// A time without a budget, which helps to understand the others.
    pub(crate) fn plain(name: impl Into<String>, took: Duration) -> Self {
        Self::noted(name, took, NONE)
    }

    /// A time with words instead of a budget.
    pub(crate) fn noted(name: impl Into<String>, took: Duration, note: &str) -> Self {
        Self {
            name: name.into(),
            value: quantity(millis(took), " ms"),
            budget: note.into(),
            verdict: NONE,
        }
    }

    /// A figure that could not be taken.
    pub(crate) fn failed(name: &str, reason: &str) -> Self {
        Self {
            name: name.into(),
            value: "not measured".into(),
            budget: reason.split_whitespace().collect::<Vec<_>>().join(" "),
            verdict: "FAILED",
        }
    }

    /// Adds to the value, in parentheses.
    #[must_use]
    pub(crate) fn detail(mut self, detail: &str) -> Self {
        self.value.push_str(&format!(" ({detail})"));
        self
    }

    /// Tells the figure.
    pub(crate) fn print(&self) {
        let Self {
            name,
            value,
            budget,
            verdict,
        } = self;
        println!("{name}\t{value}\t{budget}\t{verdict}");
    }
}

/// A number with as many digits as it deserves.
fn quantity(number: f64, unit: &str) -> String {
    let digits = match number.abs() {
        0.0 => 0,
        size if size < 10.0 && number.fract() != 0.0 => 2,
        size if size < 100.0 && number.fract() != 0.0 => 1,
        _ => 0,
    };
    format!("{number:.digits$}{unit}")
}

/// A time in milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The middle one of some times.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The time that so many percent of some times do not exceed.
pub(crate) fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    let place = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(place).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_they_deserve() {
        assert_eq!(quantity(0.0, " ms"), "0 ms");
        assert_eq!(quantity(0.5, "x"), "0.50x");
        assert_eq!(quantity(12.34, " ms"), "12.3 ms");
        assert_eq!(quantity(1_234.5, " ms"), "1234 ms");
        assert_eq!(quantity(20.0, " ms"), "20 ms");
    }

    #[test]
    fn of_few_times_the_last_percentile_is_the_longest() {
        let times: Vec<Duration> = (1..=50).map(Duration::from_millis).collect();
        assert_eq!(percentile(times.clone(), 99), Duration::from_millis(50));
        assert_eq!(percentile(times, 50), Duration::from_millis(25));
    }
}
