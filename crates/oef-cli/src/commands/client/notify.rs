//! `oef notify`.

use super::{pages, tenants};
use crate::args::notify::{NotifyAddArgs, NotifyArgs, NotifyCommand, NotifyIdArgs};
use jiff::Timestamp;
use oef_api::client::Client;
use oef_api::types::{JobState, Notification, NotificationCreate, Notifications};
use oef_terminal::names::safe;
use oef_terminal::numbers::counted;
use oef_terminal::table::{Cell, Table};
use oef_terminal::times::{at, moment};
use oef_terminal::{Exit, Failure, Printer, Source};

pub fn run(args: &NotifyArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    match &args.command {
        None => {
            let page = Notifications { notifications: pages::notifications(client)?, next: None };
            let text = || table(&page.notifications).fitted();
            printer.show(args.json, || &page, text)
        }
        Some(NotifyCommand::Add(args)) => add(args, client, printer),
        Some(NotifyCommand::Remove(args)) => {
            client.remove_notification(args.id)?;
            let done = format!("notification {} is removed\n", args.id);
            tenants::removed(&args.id.to_string(), &done, args.json, printer)
        }
        Some(NotifyCommand::Test(args)) => test(args, client, printer),
    }
}

/// A new secret alone goes to stdout, so that it can go into a file and nowhere else.
fn add(args: &NotifyAddArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let secret = match &args.secret_file {
        Some(path) => Some(Source::read(path, "write the secret into it")?.text.trim().to_string()),
        None => None,
    };
    let is_given = secret.is_some();
    let added = client.add_notification(&NotificationCreate {
        tenant: args.tenant.clone(),
        url: args.url.clone(),
        command: args.command.clone(),
        secret,
        on: args.on.clone(),
    })?;
    if args.json {
        return printer.json(&added);
    }
    let id = added.notification.id;
    let on = states(&added.notification.on);
    match added.secret.filter(|_| !is_given) {
        Some(secret) => {
            printer.result(&format!("{}\n", safe(&secret)))?;
            printer.note(&format!(
                "notification {id} on {on}: requests are signed with this secret, which is shown only now; \
                 `oef notify test {id}` tries it"
            ));
        }
        None => return printer.result(&format!("notification {id} on {on}\n")),
    }
    Ok(Exit::Done)
}

fn test(args: &NotifyIdArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let tried = client.test_notification(args.id)?;
    let last = tried.last.as_ref();
    let is_delivered = last.is_some_and(|last| last.delivered);
    let detail = safe(last.map_or("", |last| &last.detail));
    let said = if is_delivered { "delivered" } else { "not delivered" };
    printer.show(args.json, || &tried, || format!("{said}: {detail}\n"))?;
    Ok(if is_delivered { Exit::Done } else { Exit::DoesNotHold })
}

fn table(notifications: &[Notification]) -> Table {
    let mut table =
        Table::headed(["id>", "tenant", "receiver", "on", "waiting>", "sent>", "last try"]);
    let ended = JobState::ALL.into_iter().filter(|state| state.is_final()).collect::<Vec<_>>();
    for notification in notifications {
        let receiver = match (&notification.url, &notification.command) {
            (Some(url), _) => safe(url),
            (None, command) => format!("command {}", safe(command.as_deref().unwrap_or(""))),
        };
        table.row(vec![
            Cell::number(notification.id.to_string()),
            Cell::text(notification.tenant.as_deref().map_or("all".into(), safe)),
            Cell::text(receiver),
            Cell::text(match notification.on.iter().eq(&ended) {
                true => "ended".into(),
                false => states(&notification.on),
            }),
            Cell::number(notification.waiting.to_string()),
            Cell::number(notification.delivered.to_string()),
            Cell::text(last(notification)),
        ]);
        if let (Some(since), Some(last)) = (notification.failing_since, &notification.last) {
            let (id, since) = (notification.id, at(since));
            table.remark(format!("notification {id} fails since {since}: {}", safe(&last.detail)));
        }
        if notification.dropped > 0 {
            table.remark(format!(
                "notification {} gave up {} that could not be delivered in time",
                notification.id,
                counted(usize::try_from(notification.dropped).unwrap_or(usize::MAX), "notice"),
            ));
        }
    }
    table
}

fn last(notification: &Notification) -> String {
    match &notification.last {
        None => "none yet".into(),
        Some(last) if last.delivered => format!("ok {}", moment(last.at, Timestamp::now())),
        Some(last) => format!("failed {}", moment(last.at, Timestamp::now())),
    }
}

fn states(on: &[JobState]) -> String {
    on.iter().map(|state| state.name()).collect::<Vec<_>>().join(", ")
}
