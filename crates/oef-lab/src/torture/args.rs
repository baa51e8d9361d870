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
    up_to(text, 100_000.0)
}

fn hours(text: &str) -> Result<f64, String> {
    up_to(text, 10_000.0)
}

fn up_to(text: &str, most: f64) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    match (0.01..=most).contains(&number) {
        true => Ok(number),
        false => Err(format!("{number} is not between 0.01 and {most}")),
    }
}
