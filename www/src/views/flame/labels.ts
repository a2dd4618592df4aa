// Fitting function names into flame graph boxes.
//
// A label is, in order of preference: the full name; the name with template
// and generic arguments as `<…>`; its last two path segments; those cut with
// `…` after at least three characters; nothing. Widths come from a table of
// character advances per font, never from measuring whole strings, so that
// thousands of labels cost no layout. Everything is in the unit that the
// measuring function answers in (the painter uses device pixels).

const ELLIPSIS = "…";
const FEWEST_CHARACTERS = 3;
/** Cut labels are remembered per width class of this many units. */
const WIDTH_CLASS = 8;
/** Names remembered per font before the memory is emptied. */
const MOST_NAMES = 20_000;

/** Widths of characters in one font, measured once each. */
export class GlyphAdvances {
  readonly #ascii = new Float64Array(128).fill(-1);
  readonly #rest = new Map<number, number>();
  readonly #measure: (text: string) => number;

  constructor(measure: (text: string) => number) {
    this.#measure = measure;
  }

  of(codePoint: number): number {
    if (codePoint < 128) {
      const known = this.#ascii[codePoint] as number;
      if (known >= 0) {
        return known;
      }
      const measured = this.#measure(String.fromCharCode(codePoint));
      this.#ascii[codePoint] = measured;
      return measured;
    }
    let width = this.#rest.get(codePoint);
    if (width === undefined) {
      width = this.#measure(String.fromCodePoint(codePoint));
      this.#rest.set(codePoint, width);
    }
    return width;
  }

  width(text: string): number {
    let sum = 0;
    for (let i = 0; i < text.length; ) {
      const codePoint = text.codePointAt(i) as number;
      sum += this.of(codePoint);
      i += codePoint > 0xffff ? 2 : 1;
    }
    return sum;
  }

  /** The longest beginning of `text`, in whole code points, no wider than `room`. */
  prefix(text: string, room: number): { length: number; characters: number; width: number } {
    let width = 0;
    let characters = 0;
    let i = 0;
    while (i < text.length) {
      const codePoint = text.codePointAt(i) as number;
      const next = width + this.of(codePoint);
      if (next > room) {
        break;
      }
      width = next;
      characters += 1;
      i += codePoint > 0xffff ? 2 : 1;
    }
    return { length: i, characters, width };
  }
}

/** Where the bracket opened at `from` closes, or -1. `->` closes nothing. */
function closingAngle(name: string, from: number): number {
  let depth = 0;
  for (let i = from; i < name.length; i++) {
    const c = name[i];
    if (c === "<") {
      depth++;
    } else if (c === ">" && name[i - 1] !== "-" && name[i - 1] !== "=") {
      depth--;
      if (depth === 0) {
        return i;
      }
    }
  }
  return -1;
}

/** C++ operators whose own name holds angle brackets; longest first. */
const ANGLE_OPERATORS = ["<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"];

function operatorAt(name: string, i: number): string | undefined {
  if (!name.startsWith("operator", i)) {
    return undefined;
  }
  const before = name[i - 1];
  if (before !== undefined && /[\w$]/.test(before)) {
    return undefined;
  }
  const operator = ANGLE_OPERATORS.find((each) => name.startsWith(each, i + 8));
  return operator && `operator${operator}`;
}

/** `HashMap<K, V>::get` as `HashMap<…>::get`. `<T>` stays, being as short, and so does an unbalanced name. */
export function elideGenerics(name: string): string {
  let out = "";
  for (let i = 0; i < name.length; ) {
    const operator = operatorAt(name, i);
    if (operator) {
      out += operator;
      i += operator.length;
    } else if (name[i] === "<") {
      const close = closingAngle(name, i);
      if (close < 0) {
        return name;
      }
      out += close - i > 2 ? "<…>" : name.slice(i, close + 1);
      i = close + 1;
    } else {
      out += name[i];
      i++;
    }
  }
  return out;
}

/** The last two `::` segments, counting only separators outside brackets. */
export function lastTwoSegments(name: string): string {
  let depth = 0;
  let last = -1;
  let lastButOne = -1;
  for (let i = 0; i < name.length; i++) {
    const operator = operatorAt(name, i);
    if (operator) {
      i += operator.length - 1;
      continue;
    }
    const c = name[i] as string;
    if ("<([{".includes(c)) {
      depth++;
    } else if (")]}".includes(c)) {
      depth--;
    } else if (c === ">" && name[i - 1] !== "-") {
      depth--;
    } else if (c === ":" && name[i + 1] === ":" && depth === 0) {
      lastButOne = last;
      last = i;
      i++;
    }
  }
  return lastButOne < 0 ? name : name.slice(lastButOne + 2);
}

/** A label as it is drawn. */
export interface FittedLabel {
  text: string;
  width: number;
  /** The name in full: only then is there room for a share beside it. */
  full: boolean;
}

const NOTHING: FittedLabel = { text: "", width: 0, full: false };

interface LabelForms {
  full: FittedLabel;
  /** Shorter forms, made when first needed. */
  shorter: FittedLabel[] | null;
  cuts: Map<number, FittedLabel>;
}

/** Fits names in one font and remembers what it found. */
export class LabelFitter {
  readonly #names = new Map<string, LabelForms>();
  readonly #advances: GlyphAdvances;

  constructor(advances: GlyphAdvances) {
    this.#advances = advances;
  }

  fit(name: string, room: number): FittedLabel {
    let forms = this.#names.get(name);
    if (!forms) {
      if (this.#names.size >= MOST_NAMES) {
        this.#names.clear();
      }
      const full = { text: name, width: this.#advances.width(name), full: true };
      forms = { full, shorter: null, cuts: new Map() };
      this.#names.set(name, forms);
    }
    if (forms.full.width <= room) {
      return forms.full;
    }
    const widthClass = Math.floor(room / WIDTH_CLASS);
    let cut = forms.cuts.get(widthClass);
    if (!cut) {
      cut = this.#shorten(forms, widthClass * WIDTH_CLASS);
      forms.cuts.set(widthClass, cut);
    }
    return cut;
  }

  #shorten(forms: LabelForms, room: number): FittedLabel {
    forms.shorter ??= this.#shorterForms(forms.full.text);
    const fitting = forms.shorter.find((form) => form.width <= room);
    if (fitting) {
      return fitting;
    }
    const shortest = forms.shorter.at(-1)?.text ?? forms.full.text;
    const ellipsis = this.#advances.width(ELLIPSIS);
    const kept = this.#advances.prefix(shortest, room - ellipsis);
    if (kept.characters < FEWEST_CHARACTERS) {
      return NOTHING;
    }
    const text = shortest.slice(0, kept.length);
    // Cut right behind the `…` of elided arguments, the one stands for both.
    return text.endsWith(ELLIPSIS)
      ? { text, width: kept.width, full: false }
      : { text: text + ELLIPSIS, width: kept.width + ellipsis, full: false };
  }

  #shorterForms(name: string): FittedLabel[] {
    const elided = elideGenerics(name);
    return [elided, lastTwoSegments(elided)]
      .filter((text, i, all) => text !== name && all.indexOf(text) === i)
      .map((text) => ({ text, width: this.#advances.width(text), full: false }));
  }
}
