import { setTimeout as delay } from 'node:timers/promises';
import { FileReply, UsedReply } from './seller-replies.js';
import { sign, type SellerCall, type SigningSecrets } from './seller-signature.js';

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
const MAX_EARLY_PAUSE_MS = 4_000;
/** The marketplace has stored within this time of its call that a job was taken. */
const STORED_WITHIN_MS = 30_000;
const PROGRESS_MS = 1_000;
/** Too slow, too early and too often. */
const TEMPORARY = [408, 425, 429];

/** The marketplace takes plain text. */
const UNSEEN = /(?![\t\n\r])[\p{C}\p{Zl}\p{Zp}]/gu;

/** How many units a call used that costs what it uses. */
export const UNITS = 'x-market-units';

/** What can be said of a job while it is worked on. */
export interface JobProgress {
  /** From 0 to 100, and not below the last. */
  percent?: number;
  /** At most 200 characters. */
  message?: string;
}

/**
 * Delivers what was taken as a job, from any process: `call.job` says where. A delivery is repeated until the marketplace
 * has heard it or the deadline has passed. @throws Error for one that it refuses.
 */
export class JobDelivery {
  #lastProgress = -Infinity;
  #calledAt = Date.now();

  constructor(
    private readonly call: Pick<SellerCall, 'requestId' | 'job'>,
    private readonly secret: () => SigningSecrets,
  ) {
    if (!call.job) throw new TypeError('The marketplace takes no job as an answer to this call.');
  }

  /** The marketplace has lost that the job was taken, and asks anew: it stores it now. */
  calledAgain(): void {
    this.#calledAt = Date.now();
  }

  /** Says how far it is. What comes within a second of the last is left out, and so is what does not arrive. */
  async progress(progress: JobProgress): Promise<void> {
    if (performance.now() - this.#lastProgress < PROGRESS_MS) return;
    this.#lastProgress = performance.now();
    await this.#post('progress', JSON.stringify(progress), 'application/json').catch(() => undefined);
  }

  /** Delivers the answer: JSON, or a `file()` of a type that the listing names, or either with `used()`. */
  result(answer: unknown, units?: number): Promise<void> {
    if (answer instanceof UsedReply) return this.result(answer.answer, answer.units);
    return answer instanceof FileReply
      ? this.#deliver('result', answer.bytes, answer.contentType, units)
      : this.#deliver('result', JSON.stringify(answer ?? null), 'application/json', units);
  }

  /** Gives it up. The buyer reads why, and pays nothing. */
  failed(reason: string): Promise<void> {
    const plain = reason.slice(0, 500).replace(UNSEEN, ' ');
    return this.#deliver('failed', JSON.stringify({ reason: plain || 'It failed.' }), 'application/json');
  }

  async #deliver(kind: string, body: string | Uint8Array, contentType: string, units?: number): Promise<void> {
    for (let pause = FIRST_PAUSE_MS, maxPause = MAX_PAUSE_MS; ; pause = Math.min(2 * pause, maxPause)) {
      const response = await this.#post(kind, body, contentType, units).catch(() => null);
      if (response?.ok) return;
      // A job may be delivered before the marketplace has stored that it was taken.
      const isEarly =
        response?.status === 404 &&
        (pause < MAX_EARLY_PAUSE_MS || Date.now() - this.#calledAt < STORED_WITHIN_MS + MAX_EARLY_PAUSE_MS);
      maxPause = isEarly ? MAX_EARLY_PAUSE_MS : MAX_PAUSE_MS;
      const mayBeHeard = !response || response.status >= 500 || TEMPORARY.includes(response.status) || isEarly;
      if (!mayBeHeard || Date.now() + pause > this.call.job!.deadline.getTime())
        throw new Error(
          `The marketplace did not take the ${kind} of ${this.call.requestId}: ${await reasonOf(response)}`,
        );
      await delay(pause);
    }
  }

  #post(kind: string, body: string | Uint8Array, contentType: string, units?: number): Promise<Response> {
    // What is signed says the units too.
    const own = [kind, crypto.randomUUID().replaceAll('-', ''), units].filter((part) => part !== undefined);
    const id = [this.call.requestId, ...own].join('-');
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = [this.secret()].flat().map((secret) => sign(secret, id, timestamp, body));
    return fetch(`${this.call.job!.url}/${kind}`, {
      method: 'POST',
      body: body as NonNullable<RequestInit['body']>,
      redirect: 'error',
      headers: {
        'content-type': contentType,
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signature.join(' '),
      },
    });
  }
}

const reasonOf = async (response: Response | null): Promise<string> =>
  response ? `${response.status} ${(await response.text()).slice(0, 300)}` : 'it cannot be reached';

/** What works on a job: it returns what is delivered. An error gives the job up. */
export type JobWork = (job: {
  progress: (progress: JobProgress) => Promise<void>;
  /** Aborted when the buyer asks to cancel. The work may throw then, or go on. */
  signal: AbortSignal;
}) => unknown;

export class JobReply {
  constructor(
    readonly work: JobWork,
    readonly estimatedSeconds: number | undefined,
  ) {}
}

/**
 * An answer that comes later: the call is taken as a job now, and `work` goes on in this process. It is lost with the
 * process; one that lives elsewhere is delivered by `JobDelivery`.
 */
export function job(work: JobWork, { estimatedSeconds }: { estimatedSeconds?: number } = {}): JobReply {
  return new JobReply(work, estimatedSeconds);
}

/** The jobs that one server works on. */
export class RunningJobs {
  readonly #running = new Map<string, { delivery: JobDelivery; cancelled: AbortController }>();

  constructor(private readonly onError: (error: unknown) => void) {}

  /** A call that is repeated while its job runs is that job. */
  start(call: SellerCall, { work }: JobReply, secret: () => SigningSecrets): void {
    // The job of a test is never delivered.
    if (call.event !== 'gateway.call') return;
    const running = this.#running.get(call.requestId);
    if (running) return running.delivery.calledAgain();
    const [delivery, cancelled] = [new JobDelivery(call, secret), new AbortController()];
    this.#running.set(call.requestId, { delivery, cancelled });
    this.#run(delivery, work, cancelled.signal)
      .catch(this.onError)
      .finally(() => this.#running.delete(call.requestId));
  }

  cancel(requestId: string): void {
    this.#running.get(requestId)?.cancelled.abort();
  }

  async #run(delivery: JobDelivery, work: JobWork, signal: AbortSignal): Promise<void> {
    let answer: unknown;
    try {
      answer = await work({ progress: (progress) => delivery.progress(progress), signal });
    } catch (error) {
      if (!signal.aborted) this.onError(error);
      return delivery.failed(signal.aborted ? 'cancelled' : 'internal_error');
    }
    await delivery.result(answer);
  }
}
