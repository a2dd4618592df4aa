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

/** The command that compares what was recorded with the machine it runs on. A name that begins with a dash would be an option. */
export function verifyCommand(recording: string): string {
  return `perftab buildid verify ${shellWord(recording.startsWith("-") ? `./${recording}` : recording)}`;
}
