//! `oef groups` and `oef group`.

use super::{pages, tenants};
use crate::args::tenants::{FormArgs, GroupCommand, GroupSetArgs};
use oef_api::client::Client;
use oef_api::types::{Group, GroupPut, Groups};
use oef_report::format::figure;
use oef_terminal::names::{safe, short};
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer, width};

/// `oef groups`
pub fn list(args: &FormArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let groups = pages::groups(client)?;
    if args.json {
        printer.json(&Groups { groups, next: None })?;
    } else if groups.is_empty() {
        printer.result("no groups; `oef group set NAME` makes one\n")?;
    } else {
        printer.result(&table(&groups).render_within(width::columns()))?;
    }
    Ok(Exit::Done)
}

/// `oef group ...`
pub fn run(command: &GroupCommand, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        GroupCommand::Set(args) => {
            let group = set(args, client)?;
            printer.show(
                args.json,
                || &group,
                || table(std::slice::from_ref(&group)).render_within(width::columns()),
            )?;
            Ok(Exit::Done)
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
    let guarantee = args.guarantee.clone().map(|map| map.0);
    let limit = args.limit.clone().map(|map| map.0);
    let weight = args.weight.or(old.map(|group| group.weight));
    Ok(client.put_group(&args.name, &GroupPut { weight, parent, guarantee, limit })?)
}

fn table(groups: &[Group]) -> Table {
    let mut table = Table::headed(["group", "weight>", "in", "tenants"]);
    for group in groups {
        let names: Vec<String> = group.tenants.iter().map(|name| safe(name)).collect();
        table.row(vec![
            Cell::text(short(&group.name)),
            Cell::number(figure(group.weight)),
            Cell::text(group.parent.as_deref().map_or("·".into(), short)),
            Cell::text(names.join(", ")),
        ]);
    }
    table
}
