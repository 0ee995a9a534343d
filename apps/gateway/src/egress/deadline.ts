/** Calls `onOver` when a time is over that can be set anew. */
export class Deadline {
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onOver: () => void) {}

  set(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.onOver, ms);
  }

  clear(): void {
    clearTimeout(this.timer);
  }
}
