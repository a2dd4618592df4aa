// Commands that a user copies into a shell hold words of the recording, which is anyone's.

/** Quoted where the shell would read it otherwise. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The command that copies a file from the host that recorded. A name that begins with a dash would be an option. */
export function scpCommand(host: string, path: string): string {
  const from = shellWord(`${host}:${path}`);
  return host.startsWith("-") ? `scp -- ${from} .` : `scp ${from} .`;
}

/** The command that compares what was recorded with the machine it runs on. */
export function verifyCommand(recording: string): string {
  return `perftab buildid verify ${fileWord(recording)}`;
}

/** The command that opens a recording and lets no web page ask servers, but itself. */
export function viewCommand(urls: string, recording: string): string {
  return `DEBUGINFOD_URLS=${shellWord(urls)} perftab view ${fileWord(recording)}`;
}

/** A name that begins with a dash would be an option. */
function fileWord(name: string): string {
  return shellWord(name.startsWith("-") ? `./${name}` : name);
}
