//! Goals of speed and size, and whether they are met.

/// A goal, and what was measured of it.
pub struct Row {
    /// What is measured, and beside what.
    pub what: String,
    /// What it may be at most.
    pub goal: f64,
    /// Of both; empty for a ratio.
    pub unit: &'static str,
    /// What it is, or why nobody knows.
    pub measured: Result<f64, &'static str>,
}

impl Row {
    /// A ratio to a peer.
    pub fn ratio(what: impl Into<String>, ratio: f64, goal: f64) -> Self {
        Self { what: what.into(), goal, unit: "", measured: Ok(ratio) }
    }

    /// A number of something.
    pub fn number(what: impl Into<String>, number: f64, goal: f64, unit: &'static str) -> Self {
        Self { what: what.into(), goal, unit, measured: Ok(number) }
    }

    /// What cannot be measured.
    pub fn unknown(what: &str, goal: f64, unit: &'static str, why: &'static str) -> Self {
        Self { what: what.to_owned(), goal, unit, measured: Err(why) }
    }

    /// Whether it is met, in words.
    pub fn verdict(&self) -> &'static str {
        match self.measured {
            Ok(value) if value <= self.goal => "met",
            Ok(_) => "not met",
            Err(why) => why,
        }
    }

    /// One line of a table.
    pub fn print(&self) {
        let Self { what, goal, unit, measured } = self;
        let number = |value: f64| match unit.is_empty() {
            true => format!("{value:.3}"),
            false => format!("{} {unit}", grouped(value)),
        };
        let measured = measured.map_or("–".to_owned(), number);
        println!("    {what:62}{measured:>13}   ≤ {:12}{}", number(*goal), self.verdict());
    }
}

/// 6564.5 → 6,564.5.
fn grouped(value: f64) -> String {
    let tenths = (value * 10.0).round() as u64;
    let (mut groups, mut rest) = (Vec::new(), tenths / 10);
    while rest >= 1000 {
        groups.push(format!(",{:03}", rest % 1000));
        rest /= 1000;
    }
    groups.push(rest.to_string());
    groups.reverse();
    match tenths % 10 {
        0 => groups.concat(),
        tenth => format!("{}.{tenth}", groups.concat()),
    }
}
