//! Speedups of the models.

use oef_sim::generate::measured_profiles;
use oef_sim::input::ProfileTable;

/// How fast some models run on three gpu types, over the first.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedupTable {
    /// Where the figures are from.
    pub name: String,
    /// The gpu types, the reference first.
    pub types: Vec<String>,
    /// The models.
    pub models: Vec<ModelSpeeds>,
    /// Hyperparameters move a tenant's speedups: each is raised to a power between `1 - jitter` and
    /// `1 + jitter`. 0 where the rows are measured configurations.
    pub jitter: f64,
}

/// One model's speedups.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpeeds {
    /// The model.
    pub name: String,
    /// Over the first type.
    pub speedup: Vec<f64>,
}

/// The paper's six models on RTX 3070, 3080 and 3090. The last figures of VGG and LSTM are printed in the paper.
/// The others are not; they are chosen so that image models, which saturate, gain little and language models
/// much, with the 3080 at somewhat more than half of the 3090's gain, as its published throughputs lie.
pub const PAPER_MODELS: [(&str, [f64; 3]); 6] = [
    ("VGG", [1.0, 1.22, 1.39]),
    ("DenseNet", [1.0, 1.32, 1.55]),
    ("ResNet", [1.0, 1.38, 1.65]),
    ("Transformer", [1.0, 1.50, 1.85]),
    ("RNN", [1.0, 1.57, 1.98]),
    ("LSTM", [1.0, 1.66, 2.15]),
];

/// What hyperparameters change, by a guess that the report names: a power between 0.85 and 1.15.
const PAPER_JITTER: f64 = 0.15;

impl SpeedupTable {
    /// The paper's models with the figures above.
    pub fn paper() -> Self {
        let model = |(name, speedup): &(&str, [f64; 3])| ModelSpeeds {
            name: (*name).into(),
            speedup: speedup.to_vec(),
        };
        SpeedupTable {
            name: "the paper's models".into(),
            types: ["rtx3070", "rtx3080", "rtx3090"].map(String::from).to_vec(),
            models: PAPER_MODELS.iter().map(model).collect(),
            jitter: PAPER_JITTER,
        }
    }

    /// Our own measurements on slices of one H200: a quarter, a half and the whole as three gpu types.
    pub fn measured() -> Option<Self> {
        let types = ["sm32", "sm66", "sm132"];
        SpeedupTable::from_profiles("measured on H200 slices", &measured_profiles(), &types)
    }

    /// Three types of a table of profiles; only rows of single GPUs that run on all three. `None`: there are no
    /// such types or rows.
    pub fn from_profiles(name: &str, table: &ProfileTable, types: &[&str]) -> Option<Self> {
        let columns: Vec<usize> =
            types.iter().map(|t| table.type_index(t)).collect::<Option<_>>()?;
        let mut models = Vec::new();
        for row in table.rows.iter().filter(|row| row.scale_factor == 1) {
            let speeds: Option<Vec<f64>> =
                columns.iter().map(|&j| row.throughput.get(j).copied().flatten()).collect();
            let Some(speeds) = speeds.filter(|s| s.iter().all(|x| *x > 0.0)) else { continue };
            let name = match row.batch_size {
                Some(size) if size > 0 => format!("{}/{size}", row.model),
                _ => row.model.clone(),
            };
            let speedup = speeds.iter().map(|x| x / speeds[0]).collect();
            models.push(ModelSpeeds { name, speedup });
        }
        let types = types.iter().map(|t| t.to_string()).collect();
        (!models.is_empty()).then(|| SpeedupTable { name: name.into(), types, models, jitter: 0.0 })
    }

    /// The same with gains `spread` times as large: `1 + spread (w - 1)`.
    pub fn spread(&self, spread: f64) -> Self {
        let stretch = |w: &f64| (1.0 + spread * (w - 1.0)).max(0.05);
        let models = self.models.iter().map(|m| ModelSpeeds {
            name: m.name.clone(),
            speedup: m.speedup.iter().map(stretch).collect(),
        });
        let name = format!("{}, gains x {spread}", self.name);
        SpeedupTable { name, models: models.collect(), types: self.types.clone(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_speedups_are_the_papers() {
        let table = SpeedupTable::paper();
        let fastest = |table: &SpeedupTable, name: &str| {
            let model = table.models.iter().find(|m| m.name.eq_ignore_ascii_case(name));
            model.map(|m| m.speedup[2])
        };
        assert_eq!(fastest(&table, "vgg"), Some(1.39));
        assert_eq!(fastest(&table, "lstm"), Some(2.15));
        assert_eq!(fastest(&table.spread(2.0), "lstm"), Some(3.3));
    }

    #[test]
    fn our_measurements_make_a_table() {
        let table = SpeedupTable::measured().unwrap();
        assert_eq!((table.models.len(), table.types.len()), (14, 3));
        assert!(table.models.iter().all(|m| m.speedup[0] == 1.0));
        assert!(SpeedupTable::from_profiles("x", &measured_profiles(), &["k80"]).is_none());
    }
}
