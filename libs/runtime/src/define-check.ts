/** Asks something outside this process whether it can be worked with. It changes nothing there. */
export interface Check {
  /** The subject of the check, such as `the facilitator`. */
  subject: string;
  /** The variable that says where it is. */
  variable: string;
  /** @returns the problems, each a sentence that names the variable to change. @throws if there is no answer. */
  problems(): Promise<string[]>;
}
