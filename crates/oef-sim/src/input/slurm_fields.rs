//! What `sacct` writes into its cells: times, durations, trackable resources.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Seconds since 1970 of `2024-05-01T12:00:00`, or of plain seconds (`SLURM_TIME_FORMAT=%s`). Local time is
/// taken as it stands: a change of the clock shifts what is on one side of it by an hour.
pub(crate) fn time(text: &str) -> Option<f64> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(f64::from(seconds));
    }
    // A date alone would be midnight.
    let time: DateTime = text.contains(':').then(|| text.parse().ok())??;
    let seconds = time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond() as f64 / 1e3;
    (seconds >= 0.0).then_some(seconds)
}

/// Seconds of `1-02:03:04`, `02:03:04`, `03:04` or `03:04.567`.
pub(crate) fn elapsed(text: &str) -> Option<f64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (days.parse::<u32>().ok()?, rest),
        None => (0, text),
    };
    Some(f64::from(days) * 86_400.0 + clock(rest)?)
}

/// Hours, minutes and seconds between colons; hours may be left out.
fn clock(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    let parts: Vec<&str> = text.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    for part in parts {
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number: f64 = part.parse().ok().filter(|_| digits)?;
        seconds = seconds * 60.0 + number;
    }
    Some(seconds).filter(|s| *s < 1e9)
}

/// The GPUs of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gpus {
    /// How many.
    pub count: u32,
    /// Of which type, where the resources say so; of several types the one with the most GPUs.
    pub gpu_type: Option<String>,
    /// Whether there were several types.
    pub is_mixed: bool,
}

/// The GPUs in `billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=1`; none where nothing is said about
/// GPUs. `Err` where a count is none.
pub(crate) fn gpus(text: &str) -> Result<Gpus, String> {
    let (mut total, mut typed): (u32, Vec<(String, u32)>) = (0, Vec::new());
    for item in text.split(',').map(str::trim) {
        let Some(rest) = item.strip_prefix("gres/").unwrap_or(item).strip_prefix("gpu") else {
            continue;
        };
        // `gpu=4`, `gpu:4`, `gpu:a100=4` and `gpu:a100:4` have all been written.
        let (name, count) = match rest.rsplit_once(['=', ':']) {
            Some((name, count)) => (name.trim_start_matches(':'), count),
            None => continue,
        };
        let count: u32 = count.parse().map_err(|_| item.to_string())?;
        if name.is_empty() {
            total = total.max(count);
        } else if rest.starts_with(':') && count > 0 {
            typed.push((name.to_string(), count));
        }
    }
    let of_types = typed.iter().fold(0, |sum: u32, (_, n)| sum.saturating_add(*n));
    let is_mixed = typed.len() > 1;
    let most = typed.iter().rev().max_by_key(|(_, n)| *n).map(|(name, _)| name.clone());
    Ok(Gpus { count: total.max(of_types), gpu_type: most, is_mixed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00", Some(0.0)),
            ("2024-05-01T12:00:00", Some(1_714_564_800.0)),
            ("2024-02-29 23:59:59", Some(1_709_251_199.0)),
            ("2000-03-01T00:00:00", Some(951_868_800.0)),
            ("1714564800", Some(1_714_564_800.0)),
            ("Unknown", None),
            ("None", None),
            ("", None),
            ("2024-13-01T00:00:00", None),
            ("2024-05-01T99:00:00", None),
            ("2024-05-01", None),
        ] {
            assert_eq!(time(text), seconds, "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("00:00:07", Some(7.0)),
            ("1-02:03:04", Some(93_784.0)),
            ("03:04", Some(184.0)),
            ("03:04.5", Some(184.5)),
            ("7", None),
            ("-1:00", None),
            ("1e9:00:00", None),
            ("::", None),
            ("", None),
        ] {
            assert_eq!(elapsed(text), seconds, "{text}");
        }
    }

    #[test]
    fn resources() {
        let of = |text| gpus(text).map(|g| (g.count, g.gpu_type, g.is_mixed));
        assert_eq!(of("billing=8,cpu=8,mem=64G,node=1"), Ok((0, None, false)));
        assert_eq!(of("billing=8,gres/gpu:a100=4,gres/gpu=4"), Ok((4, Some("a100".into()), false)));
        assert_eq!(of("gres/gpu=2,node=1"), Ok((2, None, false)));
        assert_eq!(of("gres/gpu:t4=1,gres/gpu:a100=3"), Ok((4, Some("a100".into()), true)));
        assert_eq!(of("gpu:v100:2"), Ok((2, Some("v100".into()), false)));
        assert_eq!(of("gres/gpu:a100=many"), Err("gres/gpu:a100=many".into()));
        assert_eq!(of("gres/gpumem=8000,gres/gpuutil=90"), Ok((0, None, false)));
        assert_eq!(of(""), Ok((0, None, false)));
    }
}
