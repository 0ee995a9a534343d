import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeEdge } from './close-edge.js';

describe('closing the edge', () => {
  it('answers what is under way, and does not wait for the connections it came on', async () => {
    const waiting: ServerResponse[] = [];
    const server = createServer((_request, response) => void waiting.push(response));
    server.keepAliveTimeout = 60_000;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answers = [fetch(url), fetch(url)].map(async (response) => (await response).text());
    while (waiting.length < 2) await once(server, 'request');

    const closed = closeEdge({ close: () => new Promise((resolve) => server.close(() => resolve())) }, server);
    waiting.forEach((response) => response.end('done'));
    expect(await Promise.all(answers)).toEqual(['done', 'done']);
    await closed;
    await expect(fetch(url)).rejects.toThrow();
  });
});
