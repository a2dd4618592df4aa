// Two build-ids side by side, for a human.

/** Four characters of an id, and whether the other id has the same four there. */
export interface IdGroup {
  text: string;
  differs: boolean;
}

const GROUP = 4;

/** `id` in groups of four; a group that `other` does not have at that place differs. */
export function groupId(id: string, other: string): IdGroup[] {
  const groups: IdGroup[] = [];
  for (let at = 0; at < id.length; at += GROUP) {
    const text = id.slice(at, at + GROUP);
    groups.push({ text, differs: text !== other.slice(at, at + GROUP) });
  }
  return groups;
}
