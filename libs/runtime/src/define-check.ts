/** Asks something outside this process whether it can be worked with. It changes nothing there. */
export interface Check {
  /** What is looked at, as `the facilitator`. */
  subject: string;
  /** The variable that says where it is. */
  variable: string;
  /** @returns what is wrong, each a sentence that names the variable to change. @throws where nobody answers. */
  problems(): Promise<string[]>;
}
