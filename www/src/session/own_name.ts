/** By its name a worker knows that the page began it, which waits until it runs. */
export const OWN = "session";
