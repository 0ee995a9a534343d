import type { OpenJob, OpenStream } from '@market/contracts/gateway';
import { platformConfig, streamDrainMs, type ConfigOf } from '@market/runtime';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Contents } from '../contents/contents.js';
import type { Collected } from './money.js';

/** A call whose answer is a stream that has begun, and that goes on when this is answered. */
export interface Streaming {
  outcome: 'streaming';
  stream: OpenStream;
  transfer?: Collected;
}

/** A call whose seller has taken it as a job, and delivers later. */
export interface Working {
  outcome: 'working';
  job: OpenJob;
  transfer?: Collected;
}

export type Open<End> = (opened: End) => void;

const RENEW_MS = 1_000;

/** The calls of this process that are answered with a stream which its seller is still sending. */
@Injectable()
export class OpenStreams implements OnModuleDestroy {
  private readonly logger = new Logger('OpenStreams');
  private readonly running = new Set<Promise<unknown>>();
  private readonly stop = new AbortController();

  constructor(
    private readonly contents: Contents,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  /** Aborted when the process stops: a stream is cut then, and its call may be made again. */
  get stopping(): AbortSignal {
    return this.stop.signal;
  }

  /** Lets streams end that end soon. */
  async onModuleDestroy(): Promise<void> {
    const until = Date.now() + streamDrainMs(this.platform);
    while (this.running.size > 0 && Date.now() < until) {
      // Jobs have stopped by now.
      await this.contents.renew().catch(() => undefined);
      await Promise.race([Promise.allSettled(this.running), delay(RENEW_MS, undefined, { ref: false })]);
    }
    this.stop.abort();
    await Promise.allSettled(this.running);
  }

  /** Runs a call. @returns its end, or what it is opened with, if that comes first: the call then runs on by itself. */
  untilOpen<End>(run: (open: Open<End>) => Promise<End>): Promise<End> {
    return new Promise((resolve, reject) => {
      let isOpen = false;
      const whole = run((opened) => {
        isOpen = true;
        this.running.add(whole);
        resolve(opened);
      });
      whole
        .then(resolve, (error: unknown) => {
          if (isOpen) this.logger.warn(`a stream ended without a result: ${String(error)}`);
          reject(error as Error);
        })
        .finally(() => this.running.delete(whole));
    });
  }
}
