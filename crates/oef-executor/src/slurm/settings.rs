//! How jobs are put before Slurm: partition, account, user and options, by rule.

use super::command::Slurm;
use crate::checkpoints::CheckpointConfig;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What stands for a tenant's name in a rule.
const TENANT: &str = "{tenant}";

/// What a Slurm executor needs to know.
#[derive(Clone, Debug)]
pub struct SlurmConfig {
    /// Its state folder, which all nodes see under the same path. One executor at a time.
    pub dir: PathBuf,
    /// The program that is the runner, with its first arguments, as the nodes see it.
    pub runner: Vec<OsString>,
    /// Where checkpoints are, and how they are moved.
    pub checkpoints: CheckpointConfig,
    /// How Slurm is called.
    pub slurm: Slurm,
    /// The partition whose nodes are OEF's; none: all nodes.
    pub partition: Option<String>,
    /// Only these of its nodes, as in `n[1-4]`; none: all.
    pub nodes: Option<String>,
    /// How often Slurm is asked: one call each time, whatever the number of jobs.
    pub poll: Duration,
    /// How jobs are submitted.
    pub rules: Rules,
}

impl SlurmConfig {
    /// The usual one, for the nodes of a partition; the rest by struct update.
    pub fn new(
        dir: PathBuf,
        runner: Vec<OsString>,
        slurm: Slurm,
        partition: Option<String>,
    ) -> SlurmConfig {
        let plain = Submit { partition: partition.clone(), ..Submit::default() };
        SlurmConfig {
            dir,
            runner,
            checkpoints: CheckpointConfig::default(),
            slurm,
            partition,
            nodes: None,
            // Of a core this takes a hundredth; a plan is minutes old by then.
            poll: Duration::from_secs(2),
            rules: Rules { plain, ..Rules::default() },
        }
    }
}

/// How jobs are submitted, by tenant and workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// For all jobs.
    pub plain: Submit,
    /// For those of one workload: what is set here counts instead, lists are added.
    pub workloads: BTreeMap<String, Submit>,
    /// The account of a tenant's jobs, with `{tenant}` for its name.
    pub account_of: Option<String>,
    /// And of those that are an exception.
    pub accounts: BTreeMap<String, String>,
    /// The Unix user that a tenant's jobs run as, with `{tenant}` for its name; none: the daemon's.
    pub user_of: Option<String>,
    /// And of those that are an exception.
    pub users: BTreeMap<String, String>,
}

/// Settings of one submission, as an operator writes them for all jobs or for one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Submit {
    /// Where it is queued.
    pub partition: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// Who pays.
    pub account: Option<String>,
    /// More options for sbatch, as in `--mem-per-gpu=16G`.
    pub options: Vec<String>,
    /// Environment modules that are loaded first.
    pub modules: Vec<String>,
    /// Lines of shell before the job.
    pub prolog: Vec<String>,
    /// An image in which workers run.
    pub container: Option<String>,
    /// What runs a command in an image, before the image; by default Apptainer with GPUs.
    pub container_command: Vec<String>,
}

impl Rules {
    /// The settings for a job.
    pub fn submit_for(&self, tenant: &str, workload: &str) -> Submit {
        let special = self.workloads.get(workload).cloned().unwrap_or_default();
        let plain = self.plain.clone();
        let by_rule = self.accounts.get(tenant).cloned();
        let by_rule = by_rule.or_else(|| Some(self.account_of.as_ref()?.replace(TENANT, tenant)));
        let join = |plain: Vec<String>, special: Vec<String>| [plain, special].concat();
        Submit {
            partition: special.partition.or(plain.partition),
            qos: special.qos.or(plain.qos),
            account: special.account.or(by_rule).or(plain.account),
            options: join(plain.options, special.options),
            modules: join(plain.modules, special.modules),
            prolog: join(plain.prolog, special.prolog),
            container: special.container.or(plain.container),
            container_command: match special.container_command.is_empty() {
                true => plain.container_command,
                false => special.container_command,
            },
        }
    }

    /// Whose jobs an account's are: the rule for accounts, the other way round.
    pub fn tenant_of_account(&self, account: &str) -> String {
        let named = self.accounts.iter().find(|(_, known)| *known == account);
        let by_rule = || {
            let (before, after) = self.account_of.as_ref()?.split_once(TENANT)?;
            account.strip_prefix(before)?.strip_suffix(after).filter(|name| !name.is_empty())
        };
        named.map(|(tenant, _)| tenant.as_str()).or_else(by_rule).unwrap_or(account).to_string()
    }

    /// The account of a tenant's jobs; without a rule it has the tenant's name.
    pub fn account_of_tenant(&self, tenant: &str) -> String {
        let named = self.accounts.get(tenant).cloned();
        let by_rule = || Some(self.account_of.as_ref()?.replace(TENANT, tenant));
        named.or_else(by_rule).unwrap_or_else(|| tenant.to_string())
    }

    /// The user as whom a tenant's jobs run, if it is another than the daemon's.
    pub fn user_for(&self, tenant: &str) -> Option<String> {
        let named = self.users.get(tenant).cloned();
        named.or_else(|| Some(self.user_of.as_ref()?.replace(TENANT, tenant)))
    }
}

impl Submit {
    /// A worker's command, in its image if it has one.
    pub(crate) fn wrap(&self, command: Vec<String>) -> Vec<String> {
        let Some(image) = &self.container else { return command };
        let usual = || ["apptainer", "exec", "--nv"].map(String::from).to_vec();
        let runs = self.container_command.clone();
        let mut words = if runs.is_empty() { usual() } else { runs };
        words.push(image.clone());
        words.extend(command);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_comes_before_a_rule_and_a_rule_before_the_rest() {
        let text = |text: &str| Some(text.to_string());
        let rules = Rules {
            plain: Submit {
                partition: text("gpu"),
                account: text("all"),
                options: vec!["--a".into()],
                ..Submit::default()
            },
            workloads: [(
                "vgg".to_string(),
                Submit { qos: text("fast"), options: vec!["--b".into()], ..Submit::default() },
            )]
            .into(),
            account_of: text("lab-{tenant}"),
            accounts: [("guests".to_string(), "visitors".to_string())].into(),
            user_of: None,
            users: BTreeMap::new(),
        };
        let vgg = rules.submit_for("vision", "vgg");
        assert_eq!(
            (vgg.account, vgg.qos, vgg.partition),
            (text("lab-vision"), text("fast"), text("gpu"))
        );
        assert_eq!(vgg.options, ["--a", "--b"]);
        assert_eq!(rules.submit_for("guests", "x").account, text("visitors"));
        assert_eq!(rules.user_for("vision"), None);
        for (tenant, account) in [("vision", "lab-vision"), ("guests", "visitors")] {
            assert_eq!(rules.account_of_tenant(tenant), account);
            assert_eq!(rules.tenant_of_account(account), tenant);
        }
        assert_eq!(rules.tenant_of_account("physics"), "physics", "by no rule");
    }

    #[test]
    fn commands_in_an_image() {
        let mut submit = Submit { container: Some("torch.sif".into()), ..Submit::default() };
        let wrapped = submit.wrap(vec!["python".into(), "x.py".into()]);
        assert_eq!(wrapped, ["apptainer", "exec", "--nv", "torch.sif", "python", "x.py"]);
        submit.container = None;
        assert_eq!(submit.wrap(vec!["true".into()]), ["true"]);
    }
}
