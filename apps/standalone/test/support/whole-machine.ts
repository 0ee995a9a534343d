import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 250;

/**
 * Lets the tests of a suite that takes the whole machine begin when no other such suite runs, in this mode or in the
 * other, which runs at the same time. The lock is an abstract socket, because that ends with its process. Only Linux
 * has them; elsewhere nothing is awaited.
 */
export function takeTheMachine(): void {
  const turn = createServer();
  beforeAll(async () => {
    while (process.platform === 'linux' && !(await isOurs(turn))) await delay(POLL_MS);
  }, 3_600_000);
  afterAll(() => void turn.close());
}

const isOurs = (turn: Server): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error);
    turn.once('error', failed).listen(`\0${process.env.E2E_TURN}`, () => {
      turn.off('error', failed);
      resolve(true);
    });
  });
