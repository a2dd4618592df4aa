// The timeline for the shell: the tracks, or the strip of one track that they collapse to.

export { Timeline } from "./timeline.tsx";
