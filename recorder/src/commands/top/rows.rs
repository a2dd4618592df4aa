//! What `perftab top` shows of a session: the functions or the call tree, as `report` has them, and what is open of them.

use std::collections::{HashMap, HashSet};

use perftab_core::session::{
    Breakdown, BreakdownRow, CallTreeRows, Report, ReportFunction, Session,
};
use perftab_core::{
    Direction, DsoId, DsoKind, FunctionKey, FunctionOrder, Group, Inlines, Key, Measure, Pattern,
    Query, SortDirection, TimeRange, Transform, mark,
};

use crate::commands::report::rows::{Columns as TextColumns, text, title};
use crate::commands::report::{FORCED, file_name, push_shown_name};
use crate::output::{grouped, percent, printable};

/// More rows are on no screen.
const MOST_ROWS: usize = 1000;
/// Levels below a function: as many as the kernel records.
const MOST_LEVELS: usize = 127;
/// Smaller shares are not shown where all is open, in percent; perf's.
const LEAST_OPEN: f64 = 0.5;

/// What is shown, and how.
#[derive(Clone, Debug)]
pub struct Look {
    pub layout: Layout,
    /// What rows are; empty if they are functions.
    pub keys: Vec<Key>,
    /// The number of the event.
    pub event: u32,
    pub order: FunctionKey,
    pub hidden: Hidden,
    /// What is searched for; empty takes all.
    pub filter: String,
    pub open: Open,
    pub columns: Columns,
}

/// Which view it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Functions, with their callers below.
    Functions,
    /// By the keys of `--sort`.
    Rows,
    /// From the outermost function on.
    Tree,
}

impl Layout {
    /// By keys, or of functions if there are none.
    pub fn without_tree(keys: &[Key]) -> Self {
        if keys.is_empty() { Self::Functions } else { Self::Rows }
    }
}

/// Whose functions are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    None,
    Kernel,
    User,
    All,
}

/// Where code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Kernel,
    User,
}

impl Place {
    fn of(kind: DsoKind) -> Self {
        match kind {
            DsoKind::Kernel | DsoKind::Module => Self::Kernel,
            _ => Self::User,
        }
    }
}

/// Which rows show what is below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    /// Those with these names from the first level on.
    These(HashSet<Path>),
    /// Whatever has weight enough.
    All,
}

/// The names of those that a row is below and its own, each with its DSO: all of it can be seen.
pub type Path = Vec<(String, String)>;

/// Which columns there are.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// Weight with callees.
    pub total: Column,
    pub samples: Column,
    pub dso: Column,
}

/// Whether a column is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Shown,
    LeftOut,
}

impl Column {
    pub fn of(is_shown: bool) -> Self {
        if is_shown { Self::Shown } else { Self::LeftOut }
    }

    pub fn other(self) -> Self {
        Self::of(self == Self::LeftOut)
    }
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is, whatever else is shown.
    pub path: Path,
    /// In place of the last name of its path.
    text: Option<String>,
    own: Option<f64>,
    total: Option<f64>,
    samples: u64,
    fold: Fold,
}

/// Whether a row has more below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fold {
    Nothing,
    Closed,
    Open,
}

/// Everything that is shown of one moment.
#[derive(Default)]
pub struct Picture {
    pub event: String,
    pub samples: u64,
    /// Samples that were lost since the stream began.
    pub lost: u64,
    pub kernel_share: f64,
    pub named_share: f64,
    pub rows: Vec<Row>,
    /// What stands above the texts of rows that are not functions.
    titles: Option<String>,
    whole: f64,
    /// Characters of the names of DSOs.
    dso_width: usize,
}

impl Hidden {
    /// What is hidden if these are.
    pub fn of(kernel: bool, user: bool) -> Self {
        match (kernel, user) {
            (true, true) => Self::All,
            (true, false) => Self::Kernel,
            (false, true) => Self::User,
            (false, false) => Self::None,
        }
    }

    /// With the kernel's shown if they were hidden, or the other way round.
    pub fn with_other_kernel(self) -> Self {
        Self::of(!self.hides(Place::Kernel), self.hides(Place::User))
    }

    /// The same of those of user space.
    pub fn with_other_user(self) -> Self {
        Self::of(self.hides(Place::Kernel), !self.hides(Place::User))
    }

    fn hides(self, place: Place) -> bool {
        match self {
            Self::None => false,
            Self::Kernel => place == Place::Kernel,
            Self::User => place == Place::User,
            Self::All => true,
        }
    }
}

impl Look {
    fn is_open(&self, path: &Path, share: f64) -> bool {
        match &self.open {
            Open::These(paths) => paths.contains(path),
            Open::All => share >= LEAST_OPEN,
        }
    }

    /// Opens a row, or closes it.
    pub fn toggle(&mut self, path: &Path) {
        let mut paths = match std::mem::replace(&mut self.open, Open::All) {
            Open::These(paths) => paths,
            // Of all, the others close: what is open by itself changes with each picture.
            Open::All => HashSet::new(),
        };
        if !paths.remove(path) {
            paths.insert(path.clone());
        }
        self.open = Open::These(paths);
    }
}

impl Picture {
    /// Of the samples in this range.
    pub fn of(session: &mut Session, look: &Look, range: Option<TimeRange>) -> Self {
        let query = Query {
            event: look.event,
            direction: Direction::Callees,
            group: Group::None,
            inlines: Inlines::Merged,
            range,
            ..Query::default()
        };
        let order = FunctionOrder { key: look.order, direction: SortDirection::Descending };
        let kernel = kernel_paths(session);
        let report = session.report(&query, order, usize::MAX);
        let mut picture = Self::heading(&report, &kernel);
        picture.rows = match look.layout {
            Layout::Functions => functions(&report, look, &kernel),
            Layout::Rows | Layout::Tree => Vec::new(),
        };
        let lost = session.profile().lost;
        picture.lost = lost.events.max(lost.samples);
        if look.layout == Layout::Rows {
            picture.add_by_keys(session, &query, look, order);
            return picture;
        }
        let mut tree = Tree { session, look, query, whole: picture.whole, rows: Vec::new() };
        match look.layout {
            Layout::Tree => {
                // Whoever looks for a function wants to see what leads to it.
                tree.query.steps.push(Transform::Search { text: look.filter.clone() });
                tree.add_below(0, &Vec::new());
            }
            Layout::Functions | Layout::Rows => {
                tree.add_with_callers(std::mem::take(&mut picture.rows));
            }
        }
        picture.rows = tree.rows;
        let dso_width = |row: &Row| row.path.last().map_or(0, |(_, dso)| dso.chars().count());
        picture.dso_width = picture.rows.iter().map(dso_width).max().unwrap_or(0).min(DSO_WIDTH);
        picture
    }

    fn heading(report: &Report<'_>, kernel: &HashSet<String>) -> Self {
        let share = |is_it: &dyn Fn(&ReportFunction<'_>) -> bool| {
            let of_it = report.functions.iter().filter(|function| is_it(function));
            let weight = of_it.fold(0_u64, |sum, it| sum.saturating_add(it.self_weight));
            weight as f64 / (report.weight as f64).max(1.0)
        };
        Self {
            event: report.event.to_owned(),
            samples: report.samples,
            kernel_share: share(&|it| it.dso.is_some_and(|dso| kernel.contains(dso))),
            named_share: share(&|it| it.name.is_some()),
            whole: report.weight as f64,
            ..Self::default()
        }
    }

    /// Rows by the keys of `--sort`, as `report` has them, heaviest first.
    fn add_by_keys(
        &mut self,
        session: &mut Session,
        query: &Query,
        look: &Look,
        order: FunctionOrder,
    ) {
        let Breakdown { rows, .. } =
            session.breakdown(query, Measure::Period, &look.keys, order, usize::MAX);
        let cells: Vec<Vec<String>> =
            rows.iter().map(|row| row.cells.iter().map(text).collect()).collect();
        let titles = look.keys.iter().map(|&key| title(key)).collect();
        let columns = TextColumns::new(titles, cells.iter().cloned());
        self.titles = Some(columns.titles());
        let pattern = Pattern::new(&look.filter);
        let shown = rows.iter().zip(cells).zip(columns.rows()).filter(|((_, cells), _)| {
            pattern.as_ref().is_none_or(|it| it.finds(&cells.join(" "), None))
        });
        let row = |((row, cells), text): ((&BreakdownRow, Vec<String>), String)| Row {
            path: vec![(cells.join("  "), String::new())],
            text: Some(text),
            own: Some(row.self_weight as f64),
            total: Some(row.total as f64),
            samples: row.self_samples,
            fold: Fold::Nothing,
        };
        self.rows = shown.take(MOST_ROWS).map(row).collect();
    }

    /// The titles of the columns.
    pub fn titles(&self, look: &Look) -> String {
        let mut line = String::new();
        if look.layout != Layout::Tree {
            line.push_str("   Self");
        }
        if look.columns.total == Column::Shown || look.layout == Layout::Tree {
            line.push_str("   Total");
        }
        if look.columns.samples == Column::Shown {
            line.push_str("    Samples");
        }
        line.push_str("    ");
        line.push_str(self.titles.as_deref().unwrap_or("Function"));
        line
    }

    /// A row as a line of so many characters, which can all be seen.
    pub fn line(&self, row: &Row, look: &Look, width: usize) -> String {
        let share = |weight: Option<f64>| match weight {
            Some(weight) => format!("{:>7}", percent(weight, self.whole)),
            None => " ".repeat(7),
        };
        let mut line = String::new();
        if look.layout != Layout::Tree {
            line.push_str(&share(row.own));
        }
        if look.columns.total == Column::Shown || look.layout == Layout::Tree {
            line.push(' ');
            line.push_str(&share(row.total));
        }
        if look.columns.samples == Column::Shown {
            line.push_str(&format!(" {:>10}", grouped(row.samples)));
        }
        let mark = match row.fold {
            Fold::Nothing => ' ',
            Fold::Closed => '+',
            Fold::Open => '-',
        };
        let depth = row.path.len().saturating_sub(1);
        line.push_str(&format!("{:1$} {mark} ", "", 2 * depth));
        let (name, dso) = row.path.last().map_or(("", ""), |(name, dso)| (name, dso));
        let name = row.text.as_deref().unwrap_or(name);
        let used = line.chars().count();
        match look.columns.dso {
            Column::Shown => {
                let left = width.saturating_sub(used + self.dso_width + 2).max(LEAST_NAME);
                line.extend(name.chars().take(left));
                let short = left.saturating_sub(name.chars().count());
                line.extend(std::iter::repeat_n(' ', short + 2));
                line.extend(dso.chars().take(DSO_WIDTH));
            }
            Column::LeftOut => line.push_str(name),
        }
        line
    }
}

/// Characters of the names of DSOs, at most.
const DSO_WIDTH: usize = 24;
/// Characters that a function's name has in any case.
const LEAST_NAME: usize = 12;

/// The paths of the kernel and its modules.
fn kernel_paths(session: &Session) -> HashSet<String> {
    let dsos = session.profile().dsos.iter();
    let kernel = dsos.filter(|(_, dso)| Place::of(dso.kind) == Place::Kernel);
    kernel.map(|(_, dso)| printable(&dso.path).into_owned()).collect()
}

/// The table's rows, heaviest first.
fn functions(report: &Report<'_>, look: &Look, kernel: &HashSet<String>) -> Vec<Row> {
    let has_chains = look.columns.total == Column::Shown;
    let pattern = Pattern::new(&look.filter);
    let mut rows = Vec::new();
    for function in report.functions.iter() {
        if rows.len() >= MOST_ROWS {
            break;
        }
        let path = function.dso.unwrap_or_default();
        let place = if kernel.contains(path) { Place::Kernel } else { Place::User };
        let mut name = String::new();
        push_shown_name(&mut name, &function);
        let name = printable(&name).into_owned();
        let dso = shown_dso(path);
        if look.hidden.hides(place)
            || pattern.as_ref().is_some_and(|it| !it.finds(&name, Some(&dso)))
        {
            continue;
        }
        rows.push(Row {
            path: vec![(name, dso)],
            text: None,
            own: Some(function.self_weight as f64),
            total: Some(function.total as f64),
            samples: function.self_samples,
            // A function without weight of its own has no place in the tree of callers.
            fold: match has_chains && function.self_weight > 0 {
                true => Fold::Closed,
                false => Fold::Nothing,
            },
        });
    }
    rows
}

/// Rows as they are shown, with what is open below each.
struct Tree<'a> {
    session: &'a mut Session,
    look: &'a Look,
    query: Query,
    whole: f64,
    rows: Vec<Row>,
}

impl Tree<'_> {
    /// Functions, with the callers of those that are open.
    fn add_with_callers(&mut self, functions: Vec<Row>) {
        let look = self.look;
        let share = |row: &Row, whole: f64| row.own.unwrap_or_default() / whole.max(1.0) * 100.0;
        let is_open = |row: &Row, whole: f64| {
            row.fold == Fold::Closed && look.is_open(&row.path, share(row, whole))
        };
        let whole = self.whole;
        if !functions.iter().any(|row| is_open(row, whole)) {
            self.rows = functions;
            return;
        }
        self.query.direction = Direction::Inverted;
        let first = self.session.call_tree_children_in(&self.query, 0, 0..MOST_ROWS);
        let key = |index| (shown_name(&first, index), shown_dso(&first.dsos[index]));
        let places: HashMap<(String, String), u32> =
            (0..first.names.len()).map(|index| (key(index), first.call_node[index])).collect();
        for mut row in functions {
            let place = row.path.first().and_then(|key| places.get(key)).copied();
            let place = place.filter(|_| is_open(&row, whole));
            if place.is_some() {
                row.fold = Fold::Open;
            }
            let path = row.path.clone();
            self.rows.push(row);
            if let Some(call_node) = place {
                let before = self.rows.len();
                self.add_below(call_node, &path);
                if self.rows.len() == before {
                    self.rows[before - 1].fold = Fold::Nothing;
                }
            }
            if self.rows.len() >= MOST_ROWS {
                return;
            }
        }
    }

    /// Of the DSO with this number, if it is one.
    fn place(&self, dso: u32) -> Place {
        let dsos = &self.session.profile().dsos;
        match (dso as usize) < dsos.len() {
            true => Place::of(dsos.get(DsoId(dso)).kind),
            false => Place::User,
        }
    }

    /// What is below a call node that has this path.
    fn add_below(&mut self, call_node: u32, path: &Path) {
        let below = self.session.call_tree_children_in(&self.query, call_node, 0..MOST_ROWS);
        for index in 0..below.names.len() {
            if self.rows.len() >= MOST_ROWS || path.len() > MOST_LEVELS {
                return;
            }
            let total = below.total[index];
            let share = total / self.whole.max(1.0) * 100.0;
            if self.look.open == Open::All && share < LEAST_OPEN {
                return;
            }
            let name = shown_name(&below, index);
            let is_first = path.is_empty();
            let dso = shown_dso(&below.dsos[index]);
            let place = self.place(below.dso[index]);
            if is_first && self.look.hidden.hides(place) {
                continue;
            }
            let mut path = path.clone();
            path.push((name, dso));
            let is_open = self.look.is_open(&path, share);
            let fold = match (below.child_count[index], is_open) {
                (0, _) => Fold::Nothing,
                (_, true) => Fold::Open,
                (_, false) => Fold::Closed,
            };
            let is_caller = self.look.layout == Layout::Functions;
            self.rows.push(Row {
                path: path.clone(),
                text: None,
                own: is_caller.then_some(total),
                total: (!is_caller).then_some(total),
                samples: below.samples[index] as u64,
                fold,
            });
            if fold == Fold::Open {
                self.add_below(below.call_node[index], &path);
            }
        }
    }
}

/// What a DSO is called.
fn shown_dso(path: &str) -> String {
    printable(file_name(path)).into_owned()
}

/// A row's name, with what has to be said of it.
fn shown_name(rows: &CallTreeRows, index: usize) -> String {
    let forced = if rows.marks[index] & mark::FORCED != 0 { FORCED } else { "" };
    format!("{forced}{}", printable(&rows.names[index]))
}
