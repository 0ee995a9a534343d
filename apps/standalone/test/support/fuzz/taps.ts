import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import type pg from 'pg';

/** A message that a service published to the broker. */
export interface BusMessage {
  /** The subject; for an answer, the subject of its request. */
  subject: string;
  isAnswer: boolean;
  payload: string;
}

/** Returns the messages in the log of a nats-server with tracing, in order. */
export function messagesIn(natsLog: string): BusMessage[] {
  const asked = new Map<string, string>();
  const published = new Map<string, { subject: string; isAnswer: boolean }>();
  const messages: BusMessage[] = [];
  for (const line of natsLog.split('\n')) {
    const [, client, subject, reply] =
      / cid:(\d+) .*<<- \[H?PUB (\S+) (?:(\S*[^\d\s]\S*) )?(?:\d+ )?\d+\]/.exec(line) ?? [];
    if (client && subject) {
      const answered = asked.get(subject);
      published.set(client, { subject: answered ?? subject, isAnswer: answered !== undefined });
      if (reply) asked.set(reply, subject);
      continue;
    }
    const [, from, quoted] = / cid:(\d+) .*<<- MSG_PAYLOAD: \[(".*")\]$/.exec(line) ?? [];
    const about = from && published.get(from);
    if (about) messages.push({ ...about, payload: quoted! });
  }
  return messages;
}

/** Records every command that a Redis server receives from now on. */
export class RedisTap {
  private constructor(
    private readonly socket: Socket,
    private readonly chunks: Buffer[],
  ) {}

  static async on(url: string): Promise<RedisTap> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    await once(socket, 'connect');
    socket.write('MONITOR\r\n');
    await once(socket, 'data');
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    return new RedisTap(socket, chunks);
  }

  text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Returns all rows of all tables, as text, by `schema.table`; bytes are in hex. */
export async function dumpOf(client: pg.Client): Promise<Map<string, string>> {
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('information_schema', 'pg_catalog')",
  );
  const dump = new Map<string, string>();
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
    dump.set(name, rows.map(({ row }) => row).join('\n'));
  }
  return dump;
}
