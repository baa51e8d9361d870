//! `oef groups` and `oef group`.

use super::{pages, tenants};
use crate::args::tenants::{FormArgs, GroupCommand, GroupSetArgs};
use oef_api::client::Client;
use oef_api::types::{Group, GroupPut, Groups};
use oef_report::format::figure;
use oef_terminal::names::{safe, short};
use oef_terminal::table::Table;
use oef_terminal::{Exit, Failure, Printer};

/// `oef groups`
pub fn list(args: &FormArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let page = Groups { groups: pages::groups(client)?, next: None };
    let none = "no groups; `oef group set NAME` makes one\n";
    printer.show(args.json, || &page, || table(&page.groups).fitted_or(none))
}

/// `oef group ...`
pub fn run(command: &GroupCommand, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        GroupCommand::Set(args) => {
            let group = set(args, client)?;
            printer.show(args.json, || &group, || table(std::slice::from_ref(&group)).fitted())
        }
        GroupCommand::Remove(args) => {
            client.remove_group(&args.name)?;
            let done = format!("group {} is removed\n", safe(&args.name));
            tenants::removed(&args.name, &done, args.json, printer)
        }
    }
}

/// A group is put whole: what is not named stays as it is.
fn set(args: &GroupSetArgs, client: &Client) -> Result<Group, Failure> {
    let old = pages::groups(client)?.into_iter().find(|group| group.name == args.name);
    let parent = match args.parent.as_deref() {
        Some(tenants::NONE) => None,
        Some(parent) => Some(parent.to_string()),
        None => old.as_ref().and_then(|group| group.parent.clone()),
    };
    let weight = args.weight.or(old.and_then(|group| group.weight.try_into().ok()));
    let (guarantee, limit) = (args.guarantee.clone(), args.limit.clone());
    Ok(client.put_group(&args.name, &GroupPut { weight, parent, guarantee, limit })?)
}

fn table(groups: &[Group]) -> Table {
    Table::each(groups)
        .column("group", |group| short(&group.name))
        .column("weight>", |group| figure(group.weight))
        .column("in", |group| group.parent.as_deref().map_or("·".into(), short))
        .column("tenants", |group| safe(&group.tenants.join(", ")))
        .table()
}
