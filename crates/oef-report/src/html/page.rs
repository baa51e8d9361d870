//! A report as a page.

use super::report::{Card, Report, Tone};
use super::section::{Block, Section};
use crate::chart::{FONT, Figure};
use crate::escape::escape;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

/// With fewer sections a table of contents is longer than what it saves.
const MIN_CONTENTS: usize = 3;

pub(crate) fn render(report: &Report) -> String {
    let mut page = Page::default();
    page.head(report);
    page.contents(report);
    page.out.push_str("<main>\n");
    for (i, section) in report.sections.iter().enumerate() {
        page.section(section, &format!("s{}", i + 1), 2);
    }
    page.out.push_str("</main>\n");
    page.footer(report);
    page.out
}

/// A page in the making. Writing to a string cannot fail, so the results of `write!` are of no use.
#[derive(Default)]
struct Page {
    out: String,
    figures: usize,
}

impl Page {
    fn head(&mut self, report: &Report) {
        let title = escape(&report.title);
        let _ = write!(
            self.out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n\
             <style>\n{}{}</style>\n</head>\n<body>\n{}<header>\n<h1>{title}</h1>\n",
            Figure::style(),
            STYLE.replace("FONT", &FONT.replace("&#39;", "'")),
            Figure::patterns(),
        );
        if !report.subtitle.is_empty() {
            let _ = writeln!(self.out, "<p class=\"subtitle\">{}</p>", escape(&report.subtitle));
        }
        if !report.cards.is_empty() {
            self.out.push_str("<div class=\"cards\">\n");
            report.cards.iter().for_each(|card| self.card(card));
            self.out.push_str("</div>\n");
        }
        self.out.push_str("</header>\n");
    }

    fn card(&mut self, card: &Card) {
        let _ = writeln!(
            self.out,
            "<div class=\"card {}\"><p class=\"label\"><span class=\"mark\">{}</span>{}</p><p class=\"value\">{}</p><p>{}</p></div>",
            tone_class(card.tone),
            tone_sign(card.tone),
            escape(&card.label),
            escape(&card.value),
            card.sentence.html()
        );
    }

    fn contents(&mut self, report: &Report) {
        if report.sections.len() < MIN_CONTENTS {
            return;
        }
        self.out.push_str("<nav aria-label=\"Contents\">\n<h2>Contents</h2>\n<ol>\n");
        for (i, section) in report.sections.iter().enumerate() {
            let heading = escape(&section.heading);
            let _ = write!(self.out, "<li><a href=\"#s{}\">{heading}</a>", i + 1);
            let below: Vec<&Section> = section.blocks.iter().filter_map(as_section).collect();
            if !below.is_empty() {
                self.out.push_str("\n<ol>\n");
                for (j, section) in below.into_iter().enumerate() {
                    let heading = escape(&section.heading);
                    let id = format!("s{}-{}", i + 1, j + 1);
                    let _ = writeln!(self.out, "<li><a href=\"#{id}\">{heading}</a></li>");
                }
                self.out.push_str("</ol>\n");
            }
            self.out.push_str("</li>\n");
        }
        self.out.push_str("</ol>\n</nav>\n");
    }

    fn section(&mut self, section: &Section, id: &str, level: usize) {
        let heading = escape(&section.heading);
        let _ = writeln!(self.out, "<section id=\"{id}\">\n<h{level}>{heading}</h{level}>");
        self.blocks(section, id, level);
        self.out.push_str("</section>\n");
    }

    fn blocks(&mut self, section: &Section, id: &str, level: usize) {
        let (mut below, mut hidden) = (0, 0);
        for block in &section.blocks {
            match block {
                Block::Section(inner) => {
                    below += 1;
                    self.section(inner, &format!("{id}-{below}"), (level + 1).min(6));
                }
                Block::Details(inner) => {
                    let heading = escape(&inner.heading);
                    let _ = writeln!(self.out, "<details>\n<summary>{heading}</summary>");
                    // Counted apart, so that the contents need not know what is hidden.
                    hidden += 1;
                    self.blocks(inner, &format!("{id}-d{hidden}"), level);
                    self.out.push_str("</details>\n");
                }
                block => self.plain_block(block),
            }
        }
    }

    fn plain_block(&mut self, block: &Block) {
        let _ = match block {
            Block::Paragraph(prose) => writeln!(self.out, "<p>{}</p>", prose.html()),
            Block::List(points) => {
                let items: String =
                    points.iter().map(|p| format!("<li>{}</li>\n", p.html())).collect();
                writeln!(self.out, "<ul>\n{items}</ul>")
            }
            Block::Table(table) => {
                // Wide tables scroll inside; the keyboard must reach them, too.
                let open =
                    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\">";
                writeln!(self.out, "{open}\n{}</div>", table.to_html())
            }
            Block::Note(tone, prose) => {
                writeln!(self.out, "{}", remark(*tone, note_word(*tone), prose.html()))
            }
            Block::Verdict(tone, prose) => {
                writeln!(self.out, "{}", remark(*tone, verdict_word(*tone), prose.html()))
            }
            Block::Preformatted(text) => {
                let lines: Vec<String> = text.lines().map(escape).collect();
                writeln!(self.out, "<pre tabindex=\"0\">{}</pre>", lines.join("\n"))
            }
            Block::Figures(figures) => {
                let is_many = figures.len() > 1;
                if is_many {
                    self.out.push_str("<div class=\"figures\">\n");
                }
                for (figure, caption) in figures {
                    self.figure(figure, caption.html());
                }
                if is_many {
                    self.out.push_str("</div>\n");
                }
                Ok(())
            }
            Block::Details(_) | Block::Section(_) => Ok(()),
        };
    }

    fn figure(&mut self, figure: &Figure, caption: &str) {
        self.figures += 1;
        let notes: Vec<String> = figure.notes().iter().map(|note| escape(note)).collect();
        let notes = match notes.is_empty() {
            true => String::new(),
            false => format!(" <span class=\"left-out\">{}</span>", notes.join(" ")),
        };
        let _ = write!(
            self.out,
            "<figure style=\"--w:{:.0}px\">\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" \
             aria-label=\"chart {n}\">\n{}</div>\n\
             <figcaption><b>Figure {n}.</b> {caption}{notes}</figcaption>\n</figure>\n",
            figure.width(),
            figure.svg(),
            n = self.figures,
        );
    }

    fn footer(&mut self, report: &Report) {
        self.out.push_str("<footer>\n");
        if !report.version.is_empty() {
            let _ = writeln!(self.out, "<p>Made by {}.</p>", escape(&report.version));
        }
        if !report.parameters.is_empty() {
            self.out.push_str("<dl>\n");
            for (name, value) in &report.parameters {
                let (name, value) = (escape(name), escape(value));
                let _ = writeln!(self.out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
            }
            self.out.push_str("</dl>\n");
        }
        self.out.push_str("</footer>\n</body>\n</html>\n");
    }
}

fn as_section(block: &Block) -> Option<&Section> {
    match block {
        Block::Section(section) => Some(section),
        _ => None,
    }
}

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
    }
}

/// A sign for each tone, since colour alone is not enough.
fn tone_sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => "✓ ",
        Tone::Warning => "! ",
        Tone::Bad => "✗ ",
    }
}

fn note_word(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "Note.",
        Tone::Good => "Good.",
        Tone::Warning => "Mind this.",
        Tone::Bad => "Trouble.",
    }
}

fn verdict_word(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "Not decided.",
        Tone::Good => "Holds.",
        Tone::Warning => "Holds in part.",
        Tone::Bad => "Does not hold.",
    }
}

fn remark(tone: Tone, word: &str, text: &str) -> String {
    let (class, sign) = (tone_class(tone), tone_sign(tone));
    format!("<p class=\"note {class}\"><strong>{sign}{word}</strong> {text}</p>")
}
