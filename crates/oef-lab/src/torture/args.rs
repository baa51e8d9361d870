//! The arguments of `oef torture`.

use clap::Args;

/// `oef torture`
#[derive(Debug, Args)]
pub struct TortureArgs {
    /// The first seed; a seed that failed is replayed with it
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,
    /// How many seeds
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seeds: u64,
    /// As many seeds as begin within so many minutes, instead of a number
    #[arg(long, value_name = "M", value_parser = minutes, conflicts_with = "seeds")]
    pub minutes: Option<f64>,
    /// Simulated hours of each seed
    #[arg(long, default_value_t = 2.0, value_name = "H", value_parser = hours)]
    pub hours: f64,
    /// Build this mistake in: it has to be found
    #[arg(long, value_name = "NAME")]
    pub plant: Option<String>,
    /// List the mistakes that can be built in
    #[arg(long)]
    pub list_plants: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    match minutes.is_finite() && (0.01..=100_000.0).contains(&minutes) {
        true => Ok(minutes),
        false => Err(format!("{minutes} is not between 0.01 and 100000")),
    }
}

fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    match hours.is_finite() && (0.01..=10_000.0).contains(&hours) {
        true => Ok(hours),
        false => Err(format!("{hours} is not between 0.01 and 10000")),
    }
}
