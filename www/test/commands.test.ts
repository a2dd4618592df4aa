import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command, PressedKey } from "../src/state/commands.ts";
import {
  commandFor,
  commands,
  findCommands,
  fuzzyScore,
  isKey,
  isSwitchedOff,
  keyOf,
  keyWords,
  registerCommands,
  withKey,
} from "../src/state/commands.ts";
import { singleKeys } from "../src/state/single_keys.ts";

function pressed(key: string, ...modifiers: ("ctrl" | "shift" | "alt" | "meta")[]): PressedKey {
  return {
    key,
    ctrlKey: modifiers.includes("ctrl"),
    shiftKey: modifiers.includes("shift"),
    altKey: modifiers.includes("alt"),
    metaKey: modifiers.includes("meta"),
  };
}

const done: string[] = [];

function command(id: string, keys: string[], scope: Command["scope"], rest: Partial<Command> = {}): Command {
  return { id, label: id, keys, scope, group: "", run: () => done.push(id), ...rest };
}

test("a letter is itself alone, in its own case", () => {
  assert.ok(isKey(pressed("m"), "m"));
  assert.ok(isKey(pressed("M", "shift"), "M"));
  assert.ok(!isKey(pressed("M", "shift"), "m"));
  assert.ok(!isKey(pressed("m"), "M"));
  for (const modifier of ["ctrl", "alt", "meta"] as const) {
    assert.ok(!isKey(pressed("m", modifier), "m"), modifier);
  }
  assert.ok(isKey(pressed("?", "shift"), "?"));
  assert.ok(isKey(pressed("+", "shift"), "+"));
});

test("with Ctrl the case of a letter is Shift's alone", () => {
  assert.ok(isKey(pressed("z", "ctrl"), "Mod+z"));
  assert.ok(isKey(pressed("Z", "ctrl"), "Mod+z"), "Caps Lock");
  assert.ok(!isKey(pressed("Z", "ctrl", "shift"), "Mod+z"));
  assert.ok(isKey(pressed("Z", "ctrl", "shift"), "Mod+Shift+z"));
  assert.ok(!isKey(pressed("z", "ctrl", "alt"), "Mod+z"));
  assert.ok(!isKey(pressed("z", "meta"), "Mod+z"), "Cmd is another key where this is no Mac");
  assert.ok(!isKey(pressed("z"), "Mod+z"));
});

test("the same key means one thing where code has the focus, and another where time has it", () => {
  registerCommands([command("drop", ["d"], "code"), command("pan", ["d"], "time"), command("help", ["?"], "anywhere")]);
  assert.equal(commandFor(pressed("d"), "code")?.id, "drop");
  assert.equal(commandFor(pressed("d"), "time")?.id, "pan");
  assert.equal(commandFor(pressed("?", "shift"), "code")?.id, "help");
  assert.equal(commandFor(pressed("?", "shift"), "time")?.id, "help");
  assert.equal(commandFor(pressed("5"), "code"), null);
});

test("what a view does itself, or what cannot be done now, is no command of the page", () => {
  registerCommands([command("a", ["x"], "code", { run: null }), command("b", ["y"], "code", { isOffered: () => false })]);
  assert.equal(commandFor(pressed("x"), "code"), null);
  assert.equal(commandFor(pressed("y"), "code"), null);
  assert.ok(findCommands("").every(({ id }) => id !== "a" && id !== "b"));
});

test("a command that is registered again takes its own place", () => {
  registerCommands([command("again", ["1"], "anywhere")]);
  const before = commands.value.length;
  registerCommands([command("again", ["2"], "anywhere")]);
  assert.equal(commands.value.length, before);
  assert.equal(keyOf("again"), "2");
});

test("keys are written as they are called", () => {
  assert.deepEqual(["Mod+Shift+z", "Shift+ArrowLeft", "F", "+", "-", "Escape"].map(keyWords), [
    "Ctrl Shift Z",
    "Shift ←",
    "F",
    "+",
    "−",
    "Esc",
  ]);
});

test("a key that is switched off is in no tooltip, and those with Ctrl stay", () => {
  registerCommands([command("share", ["Mod+s"], "anywhere"), command("merge", ["m"], "code")]);
  assert.equal(withKey("Merge", "merge"), "Merge (m)");
  singleKeys.value = "off";
  assert.equal(withKey("Merge", "merge"), "Merge");
  assert.equal(withKey("Share", "share"), "Share (Ctrl S)");
  assert.ok(isSwitchedOff(pressed("m")) && isSwitchedOff(pressed("?", "shift")) && isSwitchedOff(pressed("1")));
  assert.ok(!isSwitchedOff(pressed("s", "ctrl")) && !isSwitchedOff(pressed("Enter")) && !isSwitchedOff(pressed(" ")));
  singleKeys.value = "on";
  assert.ok(!isSwitchedOff(pressed("m")));
});

test("letters in their order find a command, and those that begin its words find it best", () => {
  assert.equal(fuzzyScore("Call tree", "eert"), 0);
  assert.ok(fuzzyScore("Call tree", "cltr") > 0);
  assert.ok(fuzzyScore("Call tree", "ct") > fuzzyScore("Collapse recursion at", "ct"));
  assert.ok(fuzzyScore("Theme: dark", "dark") > fuzzyScore("DSO ledger across", "dark"));
  registerCommands(["Collapse DSO", "Call tree", "Collapse recursion"].map((label) => command(label, [], "anywhere")));
  assert.equal(findCommands("recur")[0]?.label, "Collapse recursion");
  assert.deepEqual(findCommands("no such thing"), []);
});
