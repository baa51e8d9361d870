//! Cluster files in TOML or JSON: `[[node]]` tables, or `[[gpu]]` tables that are spread over nodes.

use super::cells::check_name;
use super::cluster::{ClusterSpec, NodeSpec};
use super::entries::{Entry, Field, Parse, document};
use super::limits;
use super::nearest;
use super::read::{BadRow, BadRows, InputError, Read, Source};
use super::tree::Value;
use std::collections::BTreeMap;

/// GPUs of a node where `[[gpu]]` does not say: what servers for training have.
const PER_NODE: u32 = 8;

const LISTS: [&str; 2] = ["node", "gpu"];
const NODE_FIELDS: [&str; 4] = ["name", "gpu_type", "gpus", "host"];
const GPU_FIELDS: [&str; 3] = ["type", "count", "per_node"];

/// Reads a cluster in TOML or JSON.
pub(crate) fn read(
    source: Source<'_>,
    parse: Parse,
    skip_bad_rows: bool,
) -> Result<Read<ClusterSpec>, InputError> {
    let document = document(source, parse)?;
    let mut bad = BadRows::new(skip_bad_rows);
    for (key, line) in &document.others {
        let wrong = source.at(*line, key, "is not a list of tables");
        bad.push(wrong.hint("write [[node]] or [[gpu]] tables"))?;
    }
    let mut builder = Builder::new(source);
    for entry in &document.entries {
        let reader = Fields { source, entry };
        let added = match entry.list.as_str() {
            "node" => reader.node().and_then(|node| builder.add(node, entry.line)),
            "gpu" => reader.gpus().and_then(|nodes| {
                nodes.into_iter().try_for_each(|node| builder.add(node, entry.line))
            }),
            unknown => {
                let bad = source.at(entry.line, unknown, "is not a list that a cluster has");
                Err(bad.hint(nearest::hint("lists", unknown, LISTS)))
            }
        };
        added.or_else(|wrong| bad.push(wrong))?;
        builder.check_limits()?;
    }
    bad.finish(builder.cluster, Vec::new()).and_then(|read| not_empty(source, read))
}

/// A cluster without a GPU is a mistake.
pub(crate) fn not_empty(
    source: Source<'_>,
    read: Read<ClusterSpec>,
) -> Result<Read<ClusterSpec>, InputError> {
    if read.value.nodes.is_empty() {
        let bad = source.whole("there is no node with GPUs in it");
        return Err(InputError::one(
            bad.hint("write [[node]] tables with name, gpu_type and gpus"),
        ));
    }
    Ok(read)
}

/// The nodes so far.
pub(crate) struct Builder<'a> {
    source: Source<'a>,
    pub cluster: ClusterSpec,
    lines: BTreeMap<String, usize>,
    gpus: u64,
}

impl<'a> Builder<'a> {
    pub fn new(source: Source<'a>) -> Self {
        Builder { source, cluster: ClusterSpec::default(), lines: BTreeMap::new(), gpus: 0 }
    }

    /// Adds a node, whose name must be new.
    pub fn add(&mut self, node: NodeSpec, line: usize) -> Result<(), BadRow> {
        if let Some(first) = self.lines.get(&node.name) {
            let message = format!("`{}` is on line {first} already", node.name);
            return Err(self.source.at(line, "name", message).hint("node names are unique"));
        }
        self.lines.insert(node.name.clone(), line);
        self.gpus += u64::from(node.gpus);
        self.cluster.nodes.push(node);
        Ok(())
    }

    pub fn check_limits(&self) -> Result<(), InputError> {
        let (nodes, gpus) = (limits::NODES_MAX, limits::GPUS_MAX);
        if self.cluster.nodes.len() <= nodes && self.gpus <= gpus {
            return Ok(());
        }
        let message = format!("a cluster has at most {nodes} nodes and {gpus} GPUs");
        Err(InputError::limit(self.source.whole(message)))
    }
}

/// The fields of one table, read with their checks.
struct Fields<'a> {
    source: Source<'a>,
    entry: &'a Entry,
}

impl Fields<'_> {
    fn node(&self) -> Result<NodeSpec, BadRow> {
        self.only(&NODE_FIELDS)?;
        let host = self.text("host")?;
        let unnamed = || host.clone().unwrap_or_else(|| format!("node-{}", self.entry.number));
        let name = self.text("name")?.unwrap_or_else(unnamed);
        Ok(NodeSpec {
            host: host.clone().unwrap_or_else(|| name.clone()),
            name,
            gpu_type: self.required(self.text("gpu_type")?, "gpu_type")?,
            gpus: self.required(self.whole("gpus", 1, limits::GPUS_PER_NODE_MAX)?, "gpus")?,
        })
    }

    /// `count` GPUs in nodes of `per_node`; the last node has what is left.
    fn gpus(&self) -> Result<Vec<NodeSpec>, BadRow> {
        self.only(&GPU_FIELDS)?;
        let gpu_type = self.required(self.text("type")?, "type")?;
        let most = limits::GPUS_MAX as u32;
        let count = self.required(self.whole("count", 0, most)?, "count")?;
        let per_node = self.whole("per_node", 1, limits::GPUS_PER_NODE_MAX)?.unwrap_or(PER_NODE);
        Ok(spread(&gpu_type, count, per_node))
    }

    fn only(&self, known: &[&str]) -> Result<(), BadRow> {
        match self.entry.fields.iter().find(|f| !known.contains(&f.key.as_str())) {
            None => Ok(()),
            Some(field) => {
                let bad = self.bad(field, "is not a field of this table");
                Err(bad.hint(nearest::hint("fields", &field.key, known.iter().copied())))
            }
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, BadRow> {
        let Some(field) = self.field(key) else { return Ok(None) };
        match &field.value {
            Value::Text(text) if text.trim().is_empty() => Err(self.bad(field, "is empty")),
            Value::Text(text) => {
                check_name(text.trim()).map(Some).map_err(|message| self.bad(field, message))
            }
            other => Err(self.bad(field, format!("expected a text, found {}", other.describe()))),
        }
    }

    fn whole(&self, key: &str, least: u32, most: u32) -> Result<Option<u32>, BadRow> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let range = f64::from(least)..=f64::from(most);
        match field.value {
            Value::Number(x) if x.fract() == 0.0 && range.contains(&x) => Ok(Some(x as u32)),
            ref other => {
                let bad = self.bad(field, format!("{} is not possible", other.describe()));
                Err(bad.hint(format!("a whole number between {least} and {most}")))
            }
        }
    }

    fn required<T>(&self, value: Option<T>, key: &str) -> Result<T, BadRow> {
        value.ok_or_else(|| {
            let field = format!("{}.{key}", self.path());
            self.source.at(self.entry.line, &field, "is missing").hint("every table needs it")
        })
    }

    fn field(&self, key: &str) -> Option<&Field> {
        self.entry.fields.iter().find(|f| f.key == key)
    }

    fn bad(&self, field: &Field, message: impl Into<String>) -> BadRow {
        self.source.at(field.line, &format!("{}.{}", self.path(), field.key), message)
    }

    fn path(&self) -> String {
        format!("{}[{}]", self.entry.list, self.entry.number)
    }
}

/// GPUs of a type in nodes of a size, named `<type>-1`, `<type>-2` and so on.
pub(crate) fn spread(gpu_type: &str, count: u32, per_node: u32) -> Vec<NodeSpec> {
    let nodes = count.div_ceil(per_node.max(1));
    let node = |i: u32| {
        let name = format!("{gpu_type}-{}", i + 1);
        let gpus = per_node.min(count - i * per_node);
        NodeSpec { host: name.clone(), name, gpu_type: gpu_type.into(), gpus }
    };
    (0..nodes).map(node).collect()
}
