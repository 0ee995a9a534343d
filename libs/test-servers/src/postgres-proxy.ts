import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';

/** The messages from one BEGIN to its end, or one single statement. */
export interface RecordedTransaction {
  /** The `application_name` of its connection. */
  application: string;
  /** The statements between BEGIN and COMMIT, by the names under which they were prepared, otherwise by their texts. */
  statements: string[];
  /** The number of times that the client waited for the server. */
  roundTrips: number;
}

export interface PostgresProxy {
  /** The URL of the server through the proxy. */
  readonly url: string;
  /** The transactions that began since `forget`, in this order. */
  readonly transactions: RecordedTransaction[];
  forget(): void;
  /**
   * Stops carrying bytes in both directions, without closing a connection, as a cut network does, until the returned
   * function is called, which ends the connections of that time.
   */
  cut(): () => void;
  /**
   * Is asked at each COMMIT of a client whether its connection is lost `before` the server has the COMMIT, or `after`,
   * so that nobody but the server knows that it is done.
   */
  loseAtCommit: () => 'before' | 'after' | undefined;
  stop(): Promise<void>;
}

const LENGTH_BYTES = 4;
const SSL_REQUEST = 80_877_103;

/**
 * Starts a proxy for a PostgreSQL server that records what clients execute. `delayMs` delays each answer, which
 * simulates a distant server.
 */
export async function startPostgresProxy(serverUrl: string, { delayMs = 0 } = {}): Promise<PostgresProxy> {
  const target = new URL(serverUrl);
  const transactions: RecordedTransaction[] = [];
  const sockets = new Set<Socket>();
  let isCut = false;
  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ port: Number(target.port), host: target.hostname, noDelay: true });
    const recorder = new Recorder(transactions);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    }
    client.on('data', (bytes) => {
      if (isCut) return;
      const lost = recorder.asked(bytes) ? proxy.loseAtCommit() : undefined;
      if (lost !== 'before') server.write(bytes);
      if (!lost) return;
      // The server reads what it was sent to its end.
      server.removeAllListeners('data').resume().end();
      client.destroy();
    });
    server.on('data', (bytes) => {
      if (isCut) return;
      const forward = (): void => {
        recorder.answered(bytes);
        client.write(bytes);
      };
      if (delayMs === 0) forward();
      else setTimeout(forward, delayMs);
    });
    client.once('close', () => isCut || server.writableEnded || server.destroy());
    server.once('close', () => isCut || client.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String((listener.address() as { port: number }).port);
  const proxy: PostgresProxy = {
    url: url.href,
    transactions,
    forget: () => void transactions.splice(0),
    loseAtCommit: () => undefined,
    cut() {
      isCut = true;
      return () => {
        isCut = false;
        sockets.forEach((socket) => socket.destroy());
      };
    },
    async stop() {
      sockets.forEach((socket) => socket.destroy());
      listener.close();
      await once(listener, 'close');
    },
  };
  return proxy;
}

/** Reads both directions of one connection. Source: postgresql.org/docs/current/protocol-message-formats.html. */
class Recorder {
  private readonly texts = new Map<string, string>();
  private readonly fromClient = new Messages(0);
  private readonly fromServer = new Messages(1);
  private application = '';
  private isStarted = false;
  private bound = '';
  private open: RecordedTransaction | undefined;
  /** The number of answers that are still expected. */
  private awaited = 0;

  constructor(private readonly transactions: RecordedTransaction[]) {}

  /** @returns whether a COMMIT is among them. */
  asked(bytes: Buffer): boolean {
    let isCommit = false;
    for (const { type, body } of this.fromClient.read(bytes)) {
      if (!this.isStarted) {
        if (body.readUInt32BE(0) === SSL_REQUEST) continue;
        this.application = valueOf('application_name', body);
        this.isStarted = true;
        this.fromClient.typeBytes = 1;
        continue;
      }
      const [first = '', second = ''] = body.toString().split('\0', 2);
      if (type === 'P') this.texts.set(first, second);
      if (type === 'B') this.bound = second;
      const statement = type === 'E' ? this.bound || this.texts.get('')! : type === 'Q' ? first : undefined;
      if (statement !== undefined) this.record(statement);
      isCommit ||= statement === 'COMMIT';
      if (type === 'S' || type === 'Q') this.awaited += 1;
    }
    return isCommit;
  }

  answered(bytes: Buffer): void {
    for (const { type } of this.fromServer.read(bytes)) if (type === 'Z') this.awaited = Math.max(0, this.awaited - 1);
  }

  private record(statement: string): void {
    const transaction = this.open ?? { application: this.application, statements: [], roundTrips: 0 };
    if (!this.open) this.transactions.push(transaction);
    if (this.awaited === 0) transaction.roundTrips += 1;
    if (statement === 'BEGIN') this.open = transaction;
    else if (statement === 'COMMIT' || statement === 'ROLLBACK') this.open = undefined;
    else transaction.statements.push(statement);
  }
}

/**
 * Splits a stream into messages: a type (missing in the first message of a client), a length that includes itself, and
 * a body.
 */
class Messages {
  private rest = Buffer.alloc(0);

  constructor(public typeBytes: 0 | 1) {}

  *read(bytes: Buffer): Generator<{ type: string; body: Buffer }> {
    this.rest = Buffer.concat([this.rest, bytes]);
    while (this.rest.length >= this.typeBytes + LENGTH_BYTES) {
      const end = this.typeBytes + this.rest.readUInt32BE(this.typeBytes);
      if (this.rest.length < end) return;
      const type = this.rest.toString('latin1', 0, this.typeBytes);
      const body = this.rest.subarray(this.typeBytes + LENGTH_BYTES, end);
      this.rest = this.rest.subarray(end);
      yield { type, body };
    }
  }
}

/** Returns a value of a start-up message, which has a version and then names and values. */
function valueOf(name: string, startUp: Buffer): string {
  const parts = startUp.toString('utf8', 4).split('\0');
  return parts[parts.indexOf(name) + 1] ?? '';
}
