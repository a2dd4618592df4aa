//! A flame graph as one SVG that stands alone: no script, nothing from elsewhere, light or dark as
//! the reader's system is.
//!
//! Every box is an `svg` of its own, which cuts off what does not fit, whatever font is there; text
//! is shortened before, by the width of the widest of the usual monospaced fonts. Calls too narrow
//! to be seen are one box, as in the page.

use std::fmt::Write as _;
use std::io::Write as _;

use perftab_perfdata::text::{counted, grouped, printable};
use perftab_profile::{DsoId, Profile, Unit};
use perftab_views::call_tree::{CallNodeId, CallTree};
use perftab_views::flame_graph::{FlameGraph, NONE, Window, layout_in_slices};
use perftab_views::label::{Kind, Labels, OwnCode, mark};
use perftab_views::{Direction, Query};

use crate::ExportRequest;
use crate::out::Out;
use crate::source::Source;

/// In pixels, of the whole picture and of what is around the boxes.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 12.0;
/// Title, and what is counted.
const HEAD: f64 = 48.0;
const BANNER: f64 = 26.0;
const FOOT: f64 = 30.0;
/// Of a row, with the gap below it.
const ROW: f64 = 18.0;
const GAP: f64 = 1.0;
/// From the top of a box to the line that its text stands on.
const BASELINE: f64 = 12.5;
/// Narrower calls are drawn together.
const MIN_WIDTH: f64 = 0.5;
/// Of text: before and after it together, and a character. Menlo and DejaVu Sans Mono have 0.602,
/// SF Mono 0.618 of the size, which is 11.
const PADDING: f64 = 8.0;
const ADVANCE: f64 = 6.8;
/// A label with fewer characters says nothing.
const FEWEST_CHARACTERS: usize = 3;

/// Colours of the page (www/src/style/tokens.css), light and dark.
const PAPER: [&str; 2] = ["#ffffff", "#13171d"];
const INK: [&str; 2] = ["#14181f", "#e8ecf2"];
const FRAME_INK: [&str; 2] = ["#14181f", "#0f1318"];
const INK_2: [&str; 2] = ["#3d4653", "#bac3cf"];
const HATCH: [&str; 2] = ["#b7bec8", "#525c69"];
const FORCED: [&str; 2] = ["#f9dff4", "#391333"];
const FORCED_INK: [&str; 2] = ["#921a7d", "#f292e0"];
/// By [`perftab_views::label::Kind`].
const KINDS: [[&str; 2]; 7] = [
    ["#e9ebef", "#242b34"],
    ["#f8b760", "#d99a3d"],
    ["#90b5d9", "#6f97c4"],
    ["#e9868d", "#d0706f"],
    ["#8fe0a6", "#75c592"],
    ["#dadde2", "#363d47"],
    ["#c3cad4", "#3a434f"],
];
/// Black over the fill, by shade: neighbours differ.
const SHADES: [f64; 3] = [0.0, 0.05, 0.1];

/// Draws the tree of the request's query, a row a piece.
pub(crate) async fn write(request: &ExportRequest, source: &Source, out: &mut Out) {
    let (profile, symbols, query) = (&*source.profile, &*source.symbols, &request.query);
    let tree = source.tree(query, out.rows()).await;
    out.pieces().expect(tree.len());
    let window = Window {
        root: CallNodeId::ROOT,
        width: WIDTH - 2.0 * MARGIN,
        min_width: MIN_WIDTH,
        search: None,
        own: OwnCode::of(profile, query),
    };
    let graph = layout_in_slices(profile, symbols, &*tree, &window, out.pieces()).await;
    let is_forced = graph.marks.iter().any(|marks| marks & mark::FORCED != 0);
    let drawn = DrawnGraph { graph, is_forced };
    let page = Page { profile, labels: Labels::new(profile, symbols), tree: &tree, drawn: &drawn };
    let name = printable(&request.name);
    page.head(&name, query, &mut out.bytes);
    out.rest().await;
    for row in 0..drawn.graph.row_start.len().saturating_sub(1) {
        page.row(row, &mut out.bytes);
        out.rest().await;
    }
    page.foot(&mut out.bytes);
    out.rest().await;
}

struct DrawnGraph {
    graph: FlameGraph,
    /// Whether a name in it came from a file that does not match.
    is_forced: bool,
}

struct Page<'a> {
    profile: &'a Profile,
    labels: Labels<'a>,
    tree: &'a CallTree,
    drawn: &'a DrawnGraph,
}

impl Page<'_> {
    fn top(&self) -> f64 {
        HEAD + if self.drawn.is_forced { BANNER } else { 0.0 }
    }

    fn bottom(&self) -> f64 {
        self.top() + self.drawn.graph.row_start.len().saturating_sub(1) as f64 * ROW
    }

    fn head(&self, name: &str, query: &Query, out: &mut Vec<u8>) {
        let (title, facts) = (self.title(name, query), self.facts(query));
        let height = self.bottom() + FOOT;
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"perftab\" role=\"img\" \
             aria-labelledby=\"perftab-title perftab-facts\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\">\n\
             <title id=\"perftab-title\">{title}</title>\n\
             <desc id=\"perftab-facts\">Flame graph, {facts}</desc>\n<style>\n{}</style>\n{}\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
             <text class=\"title\" x=\"{MARGIN}\" y=\"22\">{title}</text>\n\
             <text class=\"facts\" x=\"{MARGIN}\" y=\"40\">{facts}</text>\n",
            style(),
            HATCHED,
            title = escape(&title),
            facts = escape(&facts),
        );
        if self.drawn.is_forced {
            let _ = write!(
                out,
                "<rect class=\"banner\" y=\"{HEAD}\" width=\"{WIDTH}\" height=\"{}\"/>\n\
                 <text class=\"warning\" x=\"{MARGIN}\" y=\"{}\">Unsafe: names with ≠ are of \
                 another build than the one that ran.</text>\n",
                BANNER - 4.0,
                HEAD + 15.0
            );
        }
    }

    fn title(&self, name: &str, query: &Query) -> String {
        let event = self.profile.event(query.event).map_or("", |event| event.name.as_str());
        format!("{name}: {}", printable(event))
    }

    /// What is counted, and of what.
    fn facts(&self, query: &Query) -> String {
        let all = self.tree.total(CallNodeId::ROOT);
        let unit = match self.profile.event(query.event).map(|event| event.unit()) {
            Some(Unit::Ns) => "ns",
            Some(Unit::Cycles) => "cycles",
            Some(Unit::Instructions) => "instructions",
            Some(Unit::Events) | None => "events",
        };
        let mut facts = format!(
            "{}, {} {unit}",
            counted(all.samples, "sample", "samples"),
            grouped(all.weight)
        );
        let part = Query { event: query.event, group: query.group, ..Query::default() };
        let Query { inlines, unnamed, direction, .. } = *query;
        let part = Query { inlines, unnamed, direction, ..part };
        if *query != part {
            facts += ", a part of the profile";
        }
        if query.direction == Direction::Inverted {
            facts += ", inverted: callers are below";
        }
        facts
    }

    fn row(&self, row: usize, out: &mut Vec<u8>) {
        let graph = &self.drawn.graph;
        let top = self.top() + row as f64 * ROW;
        for place in graph.row_start[row]..graph.row_start[row + 1] {
            let place = place as usize;
            let (start, end) = (graph.start[place], graph.end[place]);
            let width = (f64::from(end - start) - GAP).max(MIN_WIDTH / 2.0);
            let kind = match graph.marks[place] & mark::FORCED != 0 {
                true => "forced".to_owned(),
                false => format!("k{}s{}", graph.kind[place], graph.shade[place]),
            };
            let _ = write!(
                out,
                "<svg x=\"{:.2}\" y=\"{top}\" width=\"{width:.2}\" height=\"{}\"><title>{}</title>\
                 <rect class=\"{kind}\" width=\"100%\" height=\"100%\"/>",
                MARGIN + f64::from(start),
                ROW - GAP,
                escape(&self.told(place)),
            );
            if graph.kind[place] == Kind::Unnamed as u8 {
                out.extend_from_slice(
                    b"<rect fill=\"url(#perftab-hatch)\" width=\"100%\" height=\"100%\"/>",
                );
            }
            if let Some(label) = fitting(&self.shown(place), width) {
                let style = match graph.marks[place] & mark::INLINED != 0 {
                    true => " font-style=\"italic\"",
                    false => "",
                };
                let label = escape(&label);
                let _ = write!(out, "<text x=\"4\" y=\"{BASELINE}\"{style}>{label}</text>");
            }
            out.extend_from_slice(b"</svg>\n");
        }
    }

    /// What stands in a box, if it is wide enough; empty for what has no name.
    fn shown(&self, place: usize) -> String {
        let graph = &self.drawn.graph;
        let forced = if graph.marks[place] & mark::FORCED != 0 { "≠ " } else { "" };
        let label = graph.labels.get(graph.label[place] as usize);
        label.map_or_else(String::new, |label| format!("{forced}{label}"))
    }

    /// What is told of a box beside it.
    fn told(&self, place: usize) -> String {
        let graph = &self.drawn.graph;
        let marks = graph.marks[place];
        let node = self.tree.id(graph.call_node[place]).filter(|_| graph.call_node[place] != NONE);
        let mut told = match node {
            Some(node) => self.labels.text(self.tree.label(node)),
            None if graph.label[place] != NONE => self.shown(place),
            None => counted(graph.folded[place].into(), "call", "calls"),
        };
        if marks & mark::FORCED != 0 && !told.starts_with('≠') {
            told.insert_str(0, "≠ ");
        }
        if marks & mark::INLINED != 0 {
            told += " (inlined)";
        }
        if graph.dso[place] != NONE {
            let dso = self.profile.dsos.get(DsoId(graph.dso[place]));
            let _ = write!(told, "\n{}", printable(dso.name()));
        }
        let all = self.tree.total(CallNodeId::ROOT).weight as f64;
        let (total, own) = (graph.total[place], graph.self_weight[place]);
        let _ = write!(told, "\nTotal {}, self {}", percent(total, all), percent(own, all));
        if let Some(node) = node {
            let _ =
                write!(told, ", {}", counted(self.tree.total(node).samples, "sample", "samples"));
        }
        told
    }

    fn foot(&self, out: &mut Vec<u8>) {
        let share = escape(&percent(MIN_WIDTH, WIDTH - 2.0 * MARGIN));
        let _ = write!(
            out,
            "<text class=\"facts\" x=\"{MARGIN}\" y=\"{}\">Calls narrower than half a pixel \
             ({share}) are drawn together. Written by perftab {}.</text>\n</svg>\n",
            self.bottom() + 20.0,
            env!("CARGO_PKG_VERSION")
        );
    }
}

/// Lines over code without a name.
const HATCHED: &str = "\
<defs><pattern id=\"perftab-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
patternTransform=\"rotate(45)\"><rect class=\"hatch\" width=\"1\" height=\"6\"/></pattern></defs>\n";

/// Rules for light, and those for dark after them. Viewers that know no media queries stay light.
fn style() -> String {
    let mut style = format!(
        ".perftab text{{font:11px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;\
         white-space:pre}}\n.perftab .title{{font-size:14px;font-weight:600}}\n\
         .perftab svg:hover>rect{{stroke:{};stroke-width:2}}\n",
        INK[0]
    );
    style += &colours(0);
    let _ = writeln!(style, "@media (prefers-color-scheme:dark){{\n{}}}", colours(1));
    style
}

/// Those of a theme: 0 is light, 1 is dark.
fn colours(theme: usize) -> String {
    let mut rules = String::new();
    let mut fill = |class: &str, colour: &str| {
        let _ = writeln!(rules, ".perftab {class}{{fill:{colour}}}");
    };
    fill("text", INK[theme]);
    fill(".facts", INK_2[theme]);
    fill(".paper", PAPER[theme]);
    fill(".hatch", HATCH[theme]);
    fill(".banner", FORCED[theme]);
    fill(".warning", FORCED_INK[theme]);
    for (kind, colours) in KINDS.iter().enumerate() {
        for (shade, black) in SHADES.into_iter().enumerate() {
            // As in the page: what has no name and what is folded is of one shade.
            let is_plain = kind == Kind::Unnamed as usize || kind == Kind::Folded as usize;
            let black = if is_plain { 0.0 } else { black };
            fill(&format!(".k{kind}s{shade}"), &darker(colours[theme], black));
            if !is_plain && kind != Kind::Pseudo as usize {
                fill(&format!(".k{kind}s{shade}+text"), FRAME_INK[theme]);
            }
        }
    }
    let (soft, ink) = (FORCED[theme], FORCED_INK[theme]);
    let _ = writeln!(rules, ".perftab .forced{{fill:{soft};stroke:{ink};stroke-width:2}}");
    rules
}

/// `#rrggbb` with a part of black.
fn darker(colour: &str, black: f64) -> String {
    let part = |at: usize| {
        let value = colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        (f64::from(value.unwrap_or_default()) * (1.0 - black)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(1), part(3), part(5))
}

/// A label as far as it fits a box; `None` if too little does.
fn fitting(label: &str, width: f64) -> Option<String> {
    let columns = ((width - PADDING) / ADVANCE).max(0.0) as usize;
    let mut used = 0;
    let whole = label.chars().map(columns_of).sum::<usize>() <= columns;
    if whole {
        return (!label.is_empty()).then(|| label.to_owned());
    }
    let cut: String = label
        .chars()
        .take_while(|&c| {
            used += columns_of(c);
            used < columns
        })
        .collect();
    (cut.chars().count() >= FEWEST_CHARACTERS).then(|| format!("{cut}…"))
}

/// Characters of East Asia are two wide.
fn columns_of(c: char) -> usize {
    if c >= '\u{1100}' && !matches!(c, '\u{2000}'..='\u{2e7f}') { 2 } else { 1 }
}

/// Text between tags. Controls are escapes already; what else XML does not take is left out.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// `7.8 %`, with a thin space.
fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 { part / whole * 100.0 } else { 0.0 };
    match share > 0.0 && share < 0.05 {
        true => "< 0.1\u{2009}%".to_owned(),
        false => format!("{share:.1}\u{2009}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_cut_to_what_fits() {
        let width = |columns: usize| PADDING + columns as f64 * ADVANCE + 0.1;
        assert_eq!(fitting("longest", width(7)).as_deref(), Some("longest"));
        assert_eq!(fitting("longest", width(6)).as_deref(), Some("longe…"));
        assert_eq!(fitting("longest", width(3)), None);
        assert_eq!(fitting("最長一致", width(8)).as_deref(), Some("最長一致"));
        assert_eq!(fitting("最長一致", width(7)).as_deref(), Some("最長一…"));
        assert_eq!(fitting("", width(7)), None);
        assert_eq!(fitting("a", 0.0), None);
    }

    #[test]
    fn numbers_are_as_in_the_page() {
        assert_eq!(percent(78.0, 1000.0), "7.8\u{2009}%");
        assert_eq!(percent(1.0, 10_000.0), "< 0.1\u{2009}%");
        assert_eq!(percent(0.0, 0.0), "0.0\u{2009}%");
    }

    #[test]
    fn shades_are_parts_of_black() {
        assert_eq!(darker("#f8b760", 0.0), "#f8b760");
        assert_eq!(darker("#ffffff", 0.1), "#e6e6e6");
    }
}
