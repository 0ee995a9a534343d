import { Logger } from '@nestjs/common';
import { codeOf } from './database-error.js';
import { databaseFailures } from './metrics.js';

/** An outage is over with the first success after so long without a failure. */
const QUIET_MS = 3_000;

interface Cause {
  /** Matches the SQLSTATE, or the code of a socket's error. */
  code: RegExp;
  name: string;
  /** Whether PostgreSQL may still answer, but does not do what a service needs. */
  answers?: true;
}

export const READ_ONLY = 'it is read-only';

const CAUSES: Cause[] = [
  { code: /^53100$/, name: 'its disk is full', answers: true },
  { code: /^53300$/, name: 'it has too many connections', answers: true },
  { code: /^53/, name: 'it lacks resources', answers: true },
  { code: /^25006$/, name: READ_ONLY, answers: true },
  { code: /^57P0/, name: 'it stops or starts' },
  { code: /^(57014|55P03)$/, name: 'a statement took too long' },
  { code: /^(28|3D)/, name: 'it refuses the login' },
  { code: /^E/, name: 'it cannot be reached' },
];
const LOST: Omit<Cause, 'code'> = { name: 'the connection was lost' };

export const nameOfCause = (error: unknown): string => causeOf(error).name;

const causeOf = (error: unknown): Omit<Cause, 'code'> =>
  CAUSES.find(({ code }) => code.test(codeOf(error) ?? '')) ?? LOST;

/** Says in the log when a schema's PostgreSQL begins to fail, why, and when it works again; between, it only counts. */
export class Outage {
  private readonly logger = new Logger('Database');
  private readonly named = new Set<string>();
  private since: number | null = null;
  private lastFailure = 0;
  private failures = 0;
  private blocking: string | null = null;

  constructor(private readonly schema: string) {}

  get isOngoing(): boolean {
    return this.since !== null;
  }

  /** Why a service cannot do its work, although PostgreSQL may answer; null while it can. */
  get blockedBecause(): string | null {
    return this.blocking;
  }

  failed(error: unknown): void {
    const code = codeOf(error) ?? '';
    const { name, answers } = causeOf(error);
    databaseFailures.inc({ service: this.schema, cause: name });
    this.lastFailure = performance.now();
    this.since ??= this.lastFailure;
    this.failures += 1;
    if (answers) this.blocking = name;
    if (this.named.has(name)) return;
    this.named.add(name);
    this.logger.error(
      `PostgreSQL of ${this.schema} cannot be used: ${name} (${[code, messageOf(error)].join(' ').trim()})`,
    );
  }

  worked(): void {
    if (this.since === null || performance.now() - this.lastFailure < QUIET_MS) return;
    const seconds = ((this.lastFailure - this.since) / 1_000).toFixed(1);
    this.logger.warn(`PostgreSQL of ${this.schema} works again; ${this.failures} statements failed in ${seconds} s`);
    this.named.clear();
    this.since = null;
    this.failures = 0;
    this.blocking = null;
  }
}

/** A failed connection to a host with several addresses has one error for each and no message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
