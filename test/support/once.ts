/**
 * Makes something when a test first asks for it. Not while the file is read, nor in a hook: what mutants the making
 * runs into is then known by test, and a mutant needs only those.
 */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
