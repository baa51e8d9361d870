//! `oef settings`.

use crate::args::cluster::SettingsArgs;
use crate::args::values::duration;
use crate::input::nearest;
use oef_api::client::Client;
use oef_api::types::{Settings, SettingsPatch};
use oef_report::format::{figure, span};
use oef_terminal::names::safe;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

const FIELDS: [&str; 10] = [
    "mechanism",
    "round",
    "reference",
    "min_run",
    "grace",
    "stickiness",
    "gpu_memory",
    "guard",
    "usage_half_life",
    "usage_bound",
];

pub fn run(args: &SettingsArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let settings = if args.set.is_empty() {
        client.settings()?
    } else {
        client.patch_settings(&patch(&args.set)?)?
    };
    printer.show(args.json, || &settings, || render(&settings))
}

fn patch(assignments: &[String]) -> Result<SettingsPatch, Failure> {
    let mut patch = SettingsPatch::default();
    let mut complaints = Vec::new();
    for text in assignments {
        if let Err(complaint) = assign(&mut patch, text) {
            complaints.push(complaint.at(format!("--set {text}")));
        }
    }
    if complaints.is_empty() { Ok(patch) } else { Err(Failure::input(complaints)) }
}

fn assign(patch: &mut SettingsPatch, text: &str) -> Result<(), Complaint> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| Complaint::new("there is no `=`").hint("write --set mechanism=nash"))?;
    let (name, value) = (name.trim(), value.trim());
    // The names of the interface have their unit at the end; people may leave it out.
    match name.trim_end_matches("_s").replace('-', "_").as_str() {
        "mechanism" => patch.mechanism = Some(value.into()),
        "reference" => patch.reference = Some(value.into()),
        "gpu_memory" => {
            let wrong =
                |why: String| Complaint::new(why).hint("write --set gpu_memory=fast=24G,slow=11G");
            oef_api::memory::by_type(value).map_err(wrong)?;
            patch.gpu_memory = Some(value.into());
        }
        "guard" => patch.guard = Some(value.into()),
        "round" => patch.round_s = Some(time(value)?),
        "min_run" => patch.min_run_s = Some(time(value)?),
        "grace" => patch.grace_s = Some(time(value)?),
        "stickiness" => patch.stickiness = Some(number(value, "0.5")?),
        "usage_half_life" => {
            let off = matches!(value, "off" | "none" | "");
            patch.usage_half_life_s = Some(if off { 0.0 } else { time(value)? });
        }
        "usage_bound" => patch.usage_bound = Some(number(value, "2")?),
        _ => {
            let complaint = Complaint::new(format!("there is no setting `{name}`"));
            return Err(complaint.hint(nearest::hint("settings", name, FIELDS)));
        }
    }
    Ok(())
}

fn time(text: &str) -> Result<f64, Complaint> {
    let wrong = |hint| Complaint::new(format!("`{text}` is not a time")).hint(hint);
    duration(text).map(|time| time.as_secs_f64()).map_err(wrong)
}

fn number(text: &str, example: &str) -> Result<f64, Complaint> {
    let wrong = |_| {
        let hint = format!("write {example}, for example");
        Complaint::new(format!("`{text}` is not a number")).hint(hint)
    };
    text.parse().map_err(wrong)
}

fn render(settings: &Settings) -> String {
    let mut out = String::new();
    let reference = settings.reference.as_deref().map_or("derived from the profiles".into(), safe);
    let memory = match settings.gpu_memory.as_str() {
        "" => "by the names of the gpu types".into(),
        set => safe(set),
    };
    for (name, value) in [
        ("mechanism", safe(&settings.mechanism)),
        ("round", span(settings.round_s)),
        ("reference", reference),
        ("min_run", span(settings.min_run_s)),
        ("grace", span(settings.grace_s)),
        ("stickiness", figure(settings.stickiness)),
        ("gpu_memory", memory),
        ("guard", safe(&settings.guard)),
        ("usage_half_life", settings.usage_half_life_s.map_or("off".into(), span)),
        ("usage_bound", figure(settings.usage_bound)),
    ] {
        let _ = writeln!(out, "{:<15} {value}", name.bold());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_with_their_units() {
        let set = |texts: &[&str]| patch(&texts.iter().map(|t| t.to_string()).collect::<Vec<_>>());
        let patch = set(&["mechanism=nash", "round=60s", "min-run=2m", "grace_s=5", "reference="])
            .expect("settings");
        assert_eq!(
            (patch.round_s, patch.min_run_s, patch.grace_s),
            (Some(60.0), Some(120.0), Some(5.0))
        );
        assert_eq!(
            (patch.mechanism.as_deref(), patch.reference.as_deref()),
            (Some("nash"), Some(""))
        );
        let memory = set(&["usage_half_life=7d", "usage-bound=3"]).expect("settings");
        assert_eq!((memory.usage_half_life_s, memory.usage_bound), (Some(604_800.0), Some(3.0)));
        let off = set(&["usage_half_life=off"]).expect("settings");
        assert_eq!(off.usage_half_life_s, Some(0.0));
        let wrong = ["mechanism", "rond=5s", "round=soon", "stickiness=much", "usage_half_life=x"];
        for wrong in wrong {
            assert!(set(&[wrong]).is_err(), "{wrong}");
        }
    }
}
