import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 250;

/**
 * Lets the tests of a suite that takes the whole machine begin when no other such suite runs, in this mode or in the
 * other, which runs at the same time. The lock is a port, because it ends with its process.
 */
export function takeTheMachine(): void {
  const port = Number(process.env.E2E_TURN_PORT);
  let turn: Server | undefined;
  beforeAll(async () => {
    while (port > 0 && !turn) {
      turn = await listen(port);
      if (!turn) await delay(POLL_MS);
    }
  }, 3_600_000);
  afterAll(() => void turn?.close());
}

const listen = (port: number): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined)).listen(port, '127.0.0.1', () => resolve(server));
  });
