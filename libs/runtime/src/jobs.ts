import { startRun, within } from '@market/tracing';
import { isReported } from '@market/kernel';
import { Logger } from '@nestjs/common';

/** Registers work that a service does before its first request, and work that repeats. */
export class Jobs {
  private readonly logger = new Logger('Jobs');
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly running = new Set<Promise<void>>();
  private readonly preparations: (() => Promise<void>)[] = [];
  private stopped = false;

  /** Registers work that must finish before the service accepts requests. Operators' commands skip it. */
  beforeReady(work: () => Promise<void>): void {
    this.preparations.push(work);
  }

  async prepare(): Promise<void> {
    await Promise.all(this.preparations.map((work) => work()));
  }

  /**
   * The first run starts after one interval. Runs never overlap. A failure is logged, and the next run starts as
   * planned.
   */
  every(name: string, intervalMs: number, job: () => Promise<void>): void {
    if (this.stopped) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      const span = startRun(name);
      const run = within(span, job)
        .catch((error: unknown) => {
          span?.fail(error instanceof Error ? error.name : 'failed');
          if (!isReported(error))
            this.logger.warn(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
        })
        .finally(() => {
          span?.end();
          this.running.delete(run);
          this.every(name, intervalMs, job);
        });
      this.running.add(run);
    }, intervalMs);
    this.timers.add(timer);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timers.forEach((timer) => clearTimeout(timer));
    await Promise.all(this.running);
  }
}
