/** A refusal must be quick, because its client repeats the call. */
const PROMPT_MS = 50;

const quantile = (values: number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? 0;

export interface Summary {
  delivered: number;
  deliveredP50Ms: number;
  deliveredP99Ms: number;
  /** With 503. */
  refused: number;
  promptShare: number;
  refusedP99Ms: number;
  withoutRetryAfter: number;
  /** Other statuses with their reasons, and how often. */
  others: string;
}

/** The outcomes of calls as their clients saw them. */
export class Answers {
  private readonly delivered: number[] = [];
  private readonly refused: number[] = [];
  private withoutRetryAfter = 0;
  private readonly others: Record<string, number> = {};

  /** @param reason of a refusal. */
  add(status: number, headers: Record<string, unknown>, tookMs: number, reason = ''): void {
    if (status === 200) this.delivered.push(tookMs);
    else if (status === 503) {
      this.refused.push(tookMs);
      if (headers['retry-after'] === undefined) this.withoutRetryAfter += 1;
    } else {
      const other = `${status} ${reason}`.trim();
      this.others[other] = (this.others[other] ?? 0) + 1;
    }
  }

  summary(): Summary {
    const prompt = this.refused.filter((ms) => ms <= PROMPT_MS).length;
    return {
      delivered: this.delivered.length,
      deliveredP50Ms: quantile(this.delivered, 0.5),
      deliveredP99Ms: quantile(this.delivered, 0.99),
      refused: this.refused.length,
      promptShare: this.refused.length === 0 ? 1 : prompt / this.refused.length,
      refusedP99Ms: quantile(this.refused, 0.99),
      withoutRetryAfter: this.withoutRetryAfter,
      others: Object.entries(this.others)
        .map(([status, count]) => `${count} × ${status}`)
        .join(', '),
    };
  }
}
