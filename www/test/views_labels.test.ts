import assert from "node:assert/strict";
import { test } from "node:test";
import { GlyphAdvances, elideGenerics, LabelFitter, lastTwoSegments } from "../src/views/flame/labels.ts";

/** Every character is 10 wide. */
const tens = (): GlyphAdvances => new GlyphAdvances((text) => 10 * [...text].length);

test("generic arguments become <…>, operators and arrows stay", () => {
  const cases: [string, string][] = [
    ["HashMap<String, Vec<u8>>::get", "HashMap<…>::get"],
    ["<alloc::vec::Vec<T> as Drop>::drop", "<…>::drop"],
    ["std::function<int (char)>::operator()", "std::function<…>::operator()"],
    ["sort::<u64, fn(&u64) -> bool>::run", "sort::<…>::run"],
    ["operator<< <char>", "operator<< <…>"],
    ["ns::operator<=>", "ns::operator<=>"],
    ["std::unique_ptr<char>::operator->", "std::unique_ptr<…>::operator->"],
    ["Box<T>::new", "Box<T>::new"],
    ["my_operator<int>", "my_operator<…>"],
    ["a < b", "a < b"],
    ["main", "main"],
    ["cut<off", "cut<off"],
  ];
  for (const [name, expected] of cases) {
    assert.equal(elideGenerics(name), expected, name);
  }
});

test("the last two segments are those outside brackets", () => {
  const cases: [string, string][] = [
    ["core::slice::sort::quicksort", "sort::quicksort"],
    ["token::verify::{{closure}}", "verify::{{closure}}"],
    ["a::b::f(std::string, x::y)", "b::f(std::string, x::y)"],
    ["a::b<c::d>::e", "b<c::d>::e"],
    ["(anonymous namespace)::f", "(anonymous namespace)::f"],
    ["a::b::operator->", "b::operator->"],
    ["main", "main"],
    ["one::two", "one::two"],
  ];
  for (const [name, expected] of cases) {
    assert.equal(lastTwoSegments(name), expected, name);
  }
});

test("a name is shortened step by step as room shrinks", () => {
  const fitter = new LabelFitter(tens());
  const name = "alloc::raw::Table<K, V>::insert";
  assert.deepEqual(fitter.fit(name, 310), { text: name, width: 310, full: true });
  assert.equal(fitter.fit(name, 309).text, "alloc::raw::Table<…>::insert");
  assert.equal(fitter.fit(name, 200).text, "Table<…>::insert");
  assert.equal(fitter.fit(name, 80).text, "Table<…");
  assert.equal(fitter.fit(name, 40).text, "Tab…");
  assert.deepEqual(fitter.fit(name, 39), { text: "", width: 0, full: false });
});

test("a fitted label is never wider than its room, whatever the room", () => {
  const uneven = new GlyphAdvances((text) => ("iljt".includes(text) ? 3.3 : 7.9));
  const fitter = new LabelFitter(uneven);
  for (const name of ["tiny", "ngx_http_process_request_headers", "a::b::c<d>::illicit", "日本語の関数名", "𝒻𝓊𝓃𝒸𝓉𝒾𝑜𝓃"]) {
    for (let room = 0; room < 300; room++) {
      const { text, width } = fitter.fit(name, room);
      assert.ok(width <= room || text === "", `${name} in ${room}`);
      assert.ok(Math.abs(uneven.width(text) - width) < 1e-9, `${name} in ${room}`);
      assert.doesNotMatch(text, /[\ud800-\udbff](?![\udc00-\udfff])/, "a cut splits no character");
    }
  }
});

test("each character is measured once", () => {
  let measured = 0;
  const advances = new GlyphAdvances(() => {
    measured++;
    return 1;
  });
  advances.width("abcabcabcé");
  advances.width("cabé");
  assert.equal(measured, 4);
});
