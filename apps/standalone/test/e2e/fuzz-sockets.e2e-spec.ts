import { eventually } from '@market/testing';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { inAllModesAtOnce, type Harness } from '../support/harness.js';

const HALF_OPEN = 500;
/** The default. */
const MAX_PER_ADDRESS = 2_000;
/** The limit for the headers is ten seconds, and it is checked every five seconds. */
const CLOSE_TIMEOUT_MS = 30_000;
/** The maximum latency of valid requests beside the attack, on a busy machine. */
const MAX_LATENCY_MS = 8_000;

async function dial({ baseUrl }: Harness, localAddress = '127.0.0.1'): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ port: Number(port), host: hostname, localAddress });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

describe('connections that never bring a request', () => {
  inAllModesAtOnce(
    'are closed before long, and nobody else waits for them',
    async (harness) => {
      const starts = [
        '',
        'GET /api/v1/health HTTP/1.1\r\n',
        'POST /api/v1/register HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n',
        'GET',
      ];
      const sockets = await Promise.all(Array.from({ length: HALF_OPEN }, () => dial(harness)));
      const closed = sockets.map((socket) => once(socket.resume(), 'close'));
      const startedAt = performance.now();
      sockets.forEach((socket, n) => socket.write(starts[n % starts.length]!));
      // Some connections send a byte from time to time, as if more were to come.
      const drip = setInterval(
        () => sockets.forEach((socket, n) => n % 2 === 0 && socket.writable && socket.write('x')),
        1_000,
      );
      let slowest = 0;
      let done = false;
      const honest = (async () => {
        while (!done) {
          const askedAt = performance.now();
          expect((await fetch(`${harness.baseUrl}/api/v1/categories`)).status).toBe(200);
          slowest = Math.max(slowest, performance.now() - askedAt);
          await delay(50);
        }
      })();
      await Promise.all(closed).finally(() => {
        clearInterval(drip);
        done = true;
      });
      await honest;
      expect(performance.now() - startedAt).toBeLessThan(CLOSE_TIMEOUT_MS);
      expect(slowest).toBeLessThan(MAX_LATENCY_MS);
    },
    120_000,
  );

  inAllModesAtOnce(
    'are so many from one address and no more, and other addresses are served meanwhile',
    async (harness) => {
      const sockets = await Promise.all(Array.from({ length: MAX_PER_ADDRESS + 50 }, () => dial(harness, '127.0.0.9')));
      // A socket only reports the end of its connection if it is read.
      sockets.forEach((socket) => socket.resume());
      const open = () => sockets.filter(({ readyState }) => readyState !== 'closed').length;
      await eventually(() => expect(open()).toBeLessThanOrEqual(MAX_PER_ADDRESS), { withinMs: 30_000 });
      expect(open()).toBeGreaterThan(MAX_PER_ADDRESS / 2);
      expect((await fetch(`${harness.baseUrl}/api/v1/health`)).status).toBe(200);
      sockets.forEach((socket) => socket.destroy());
      await eventually(async () => {
        const again = await dial(harness, '127.0.0.9');
        again.write('GET /api/v1/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
        expect((await text(again)).split('\r\n')[0]).toBe('HTTP/1.1 200 OK');
      });
    },
    120_000,
  );
});
