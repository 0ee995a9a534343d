/** Checks whether an external dependency of this process is usable. It changes nothing there. */
export interface Check {
  /** The subject of the check, such as `the facilitator`. */
  subject: string;
  /** The variable that configures the dependency. */
  variable: string;
  /** @returns the problems, each a sentence that names the variable to change. @throws if there is no answer. */
  problems(): Promise<string[]>;
  /** What works, and is worth a warning. */
  warning?: string;
}
