import { UnavailableError } from '@market/kernel';
import { Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { GroupCommit } from './group-commit.js';

/** PostgreSQL ends a session that is silent for this long, and frees its locks. */
const SESSION_TIMEOUT_MS = 2_000;
const HEARTBEAT_INTERVAL_MS = 400;
const STATEMENT_TIMEOUT_MS = 1_000;
/** The right of a holder ends this much earlier than its session can, because clocks run differently. */
const MARGIN_MS = 300;
const RECONNECT_INTERVAL_MS = 100;
const MAX_OPEN_MS = 10_000;
const GRANT_POLL_MS = 20;
/**
 * After a restart or a failover of PostgreSQL, nobody gets a new lock for this long, so that those whose calls are
 * under way take their locks again first.
 */
const GRACE_MS = 1_000;
/** How long a request for a lock waits for a session, and for the end of its grace period. */
const MAX_WAIT_MS = 2 * GRACE_MS;

/** The locks of a process must fit many times into the lock table, which ordinary statements need as well. */
const SHARE_OF_LOCK_TABLE = 4;

export interface Lock {
  /** Whether this process still has the lock, by its own clock. It may have lost it without any sign. */
  isHeld(): boolean;
  release(): void;
}

interface Held {
  key: string;
  /** The session that has the lock; null once it was lost and could not be taken again. */
  session: Session | null;
  /** Whether another process may have had the lock since it was acquired. */
  wasLost: boolean;
}

/** The advisory lock of a name: 64 bits of its hash. */
const keyOf = (name: string): string => createHash('sha256').update(name).digest().readBigInt64BE().toString();

/** Every session holds this lock, shared, so that the first session on a new lock table can tell that it is new. */
const EPOCH = keyOf('epoch');

const TRY = 'SELECT pg_try_advisory_lock(key) AS got FROM unnest($1::bigint[]) AS key';
const UNLOCK = 'SELECT pg_advisory_unlock(key) FROM unnest($1::bigint[]) AS key';
const CAPACITY = `SELECT current_setting('max_locks_per_transaction')::int
  * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) AS locks`;

/** One connection to PostgreSQL, and the time until which its locks are certainly held. */
class Session {
  isOpen = true;
  /** Whether new locks may be taken: the grace period is over. */
  isGranting = false;
  private heldUntil = -Infinity;

  onEnd: () => void = () => undefined;

  private constructor(private readonly client: Client) {}

  static async open(url: string): Promise<Session> {
    const client = new Client({
      connectionString: url,
      application_name: 'market locks',
      connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
      query_timeout: STATEMENT_TIMEOUT_MS + MARGIN_MS,
      keepAlive: true,
      pipeline: true,
      options: `-c idle_session_timeout=${SESSION_TIMEOUT_MS} -c statement_timeout=${STATEMENT_TIMEOUT_MS}`,
    });
    const session = new Session(client);
    client.on('error', () => session.end());
    client.on('end', () => session.end());
    await client.connect();
    return session;
  }

  get isHeld(): boolean {
    return this.isOpen && performance.now() < this.heldUntil;
  }

  /** An answered statement proves that the session was alive when the statement was sent. */
  async run<Row>(text: string, values?: unknown[]): Promise<Row[]> {
    const sentAt = performance.now();
    try {
      const { rows } = await this.client.query(text, values);
      this.heldUntil = Math.max(this.heldUntil, sentAt + SESSION_TIMEOUT_MS - MARGIN_MS);
      return rows as Row[];
    } catch (error) {
      this.end();
      throw new UnavailableError('the lock of a call', { cause: error });
    }
  }

  end(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    // A server that can be reached ends the session at once.
    (this.client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
    this.onEnd();
  }
}

/**
 * Locks by name, which one process at a time can hold. They are session-level advisory locks of PostgreSQL on one
 * connection that this process keeps for them. A process that dies, hangs, is paused or is cut off loses its session
 * within two seconds, and with it every lock; PostgreSQL alone decides that.
 */
export class Locks {
  private readonly logger = new Logger('Locks');
  private readonly held = new Map<string, Held>();
  private readonly acquisitions = new GroupCommit<Held, boolean>((items) => this.acquireAll(items));
  private session: Session | undefined;
  private unlocking: string[] = [];
  private maxHeld = 0;
  private heartbeat: NodeJS.Timeout | undefined;
  private isClosed = false;
  private connecting: Promise<void> = Promise.resolve();

  constructor(private readonly url: string) {}

  /** @throws if the server cannot be reached for ten seconds. */
  async open(): Promise<void> {
    this.isClosed = false;
    await this.connectWithin(MAX_OPEN_MS);
    this.heartbeat = setInterval(
      () => void this.session?.run('SELECT 1').catch(() => undefined),
      HEARTBEAT_INTERVAL_MS,
    );
  }

  /** Nest calls it when the last request of the service is answered. */
  onModuleDestroy(): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.heartbeat);
    this.session?.end();
    await this.connecting;
  }

  /**
   * @returns null if the lock is held, by this process or by another.
   * @throws UnavailableError if PostgreSQL is unavailable, or if this process holds as many locks as it may.
   */
  async acquire(name: string): Promise<Lock | null> {
    const key = keyOf(name);
    // A session can take its own locks again, so this process has to keep its requests apart itself.
    if (this.held.has(key)) return null;
    if (this.held.size >= this.maxHeld) throw new UnavailableError('a free lock');
    const held: Held = { key, session: null, wasLost: false };
    this.held.set(key, held);
    try {
      await this.granting();
      if (await this.acquisitions.submit(held))
        return { isHeld: () => !held.wasLost && held.session!.isHeld, release: () => this.release(held) };
      this.held.delete(key);
      return null;
    } catch (error) {
      this.held.delete(key);
      throw error;
    }
  }

  private release(held: Held): void {
    if (this.held.get(held.key) !== held) return;
    this.held.delete(held.key);
    if (held.session !== this.session || !this.session) return;
    this.unlocking.push(held.key);
    if (this.unlocking.length === 1) setImmediate(() => this.unlock());
  }

  /** Sent before any later request for the same locks, on the same connection. */
  private unlock(): void {
    const keys = this.unlocking;
    this.unlocking = [];
    if (keys.length > 0) this.session?.run(UNLOCK, [keys]).catch(() => undefined);
  }

  private async acquireAll(items: Held[]): Promise<boolean[]> {
    const { session } = this;
    if (!session?.isGranting) throw new UnavailableError('the lock of a call');
    this.unlock();
    const rows = await session.run<{ got: boolean }>(TRY, [items.map(({ key }) => key)]);
    return items.map((item, index) => {
      if (!rows[index]!.got) return false;
      item.session = session;
      return true;
    });
  }

  private async granting(): Promise<void> {
    for (const until = Date.now() + MAX_WAIT_MS; !this.session?.isGranting && Date.now() < until;)
      await delay(GRANT_POLL_MS);
  }

  /** A session that a busy server does not give within a second is asked for again. */
  private async connectWithin(ms: number): Promise<void> {
    for (const until = Date.now() + ms; ;) {
      try {
        return await this.connect();
      } catch (error) {
        if (Date.now() >= until)
          throw new Error(`PostgreSQL gives no session for the locks of calls: ${(error as Error).message}`, {
            cause: error,
          });
        await delay(RECONNECT_INTERVAL_MS);
      }
    }
  }

  /**
   * Takes the locks of calls under way before anyone gets new ones. A lock that was lost in between stays lost to the
   * right of calling a seller, but no other process takes it while its call ends.
   */
  private async connect(): Promise<void> {
    const session = await Session.open(this.url);
    session.onEnd = () => this.onEnd(session);
    try {
      const [capacity] = await session.run<{ locks: number }>(CAPACITY);
      this.maxHeld = Math.floor(capacity!.locks / SHARE_OF_LOCK_TABLE);
      const lost = [...this.held.values()].filter(({ session: former }) => former !== null);
      const rows = lost.length > 0 ? await session.run<{ got: boolean }>(TRY, [lost.map(({ key }) => key)]) : [];
      if (this.isClosed || !session.isOpen) throw new UnavailableError('the lock of a call');
      // All at once, so that whoever releases a lock finds the session that has it.
      this.session = session;
      this.unlocking = [];
      lost.forEach((held, index) => {
        held.session = rows[index]!.got ? session : null;
        const isReleased = this.held.get(held.key) !== held;
        if (isReleased && rows[index]!.got) this.unlocking.push(held.key);
      });
      this.unlock();
      void this.enterEpoch(session).catch(() => undefined);
    } catch (error) {
      session.end();
      throw error;
    }
  }

  /** The first session on a lock table keeps all others from granting locks for the grace period. */
  private async enterEpoch(session: Session): Promise<void> {
    const attempt = async (mode: '' | '_shared'): Promise<boolean> => {
      const [row] = await session.run<{ got: boolean }>(`SELECT pg_try_advisory_lock${mode}($1::bigint) AS got`, [
        EPOCH,
      ]);
      return row!.got;
    };
    while (session.isOpen) {
      if (await attempt('')) {
        await delay(GRACE_MS);
        await attempt('_shared');
        await session.run('SELECT pg_advisory_unlock($1::bigint)', [EPOCH]);
        break;
      }
      if (await attempt('_shared')) break;
      await delay(RECONNECT_INTERVAL_MS);
    }
    session.isGranting = session.isOpen;
  }

  private onEnd(session: Session): void {
    if (this.session !== session) return;
    this.session = undefined;
    for (const held of this.held.values()) held.wasLost = true;
    if (this.isClosed) return;
    this.logger.warn(`the session of ${this.held.size} locks has ended`);
    this.connecting = this.reconnect();
  }

  private async reconnect(): Promise<void> {
    while (!this.isClosed) {
      try {
        return await this.connect();
      } catch {
        await delay(RECONNECT_INTERVAL_MS);
      }
    }
  }
}
