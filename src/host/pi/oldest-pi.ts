/** The oldest Pi that memory works on. */
export const OLDEST_PI = "0.87.1";

/** Whether a version of Pi is older than that; what is no version is not. */
export function isBeforeOldestPi(version: string): boolean {
  return /^\d/.test(version) && version.localeCompare(OLDEST_PI, "en", { numeric: true }) < 0;
}
