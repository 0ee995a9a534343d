import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { eventually } from '@market/testing';
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

    const closed = closeEdge({ close: () => new Promise((resolve) => server.close(() => resolve())) }, server, {
      delayMs: 0,
      timeoutMs: 60_000,
    });
    waiting.forEach((response) => response.end('done'));
    expect(await Promise.all(answers)).toEqual(['done', 'done']);
    await closed;
    await expect(fetch(url)).rejects.toThrow();
  });

  it('goes on taking requests for a while, on connections that it then closes', async () => {
    const server = createServer((_request, response) => void response.end('done'));
    server.keepAliveTimeout = 60_000;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect((await fetch(url)).headers.get('connection')).toBe('keep-alive');
    let isClosing = false;
    const close = () => new Promise<void>((resolve) => ((isClosing = true), server.close(() => resolve())));
    const closed = closeEdge({ close }, server, { delayMs: 300, timeoutMs: 60_000 });
    const answer = await fetch(url);
    expect([answer.headers.get('connection'), await answer.text(), isClosing]).toEqual(['close', 'done', false]);
    await closed;
    await expect(fetch(url)).rejects.toThrow();
  });

  it('takes a last request on a connection that was idle, when it accepts no new one any more', async () => {
    const server = createServer((_request, response) => void response.end('done'));
    server.keepAliveTimeout = 60_000;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    const ask = async (): Promise<string> => {
      socket.write('GET / HTTP/1.1\r\nHost: market.example\r\n\r\n');
      return ((await once(socket, 'data')) as [string])[0];
    };
    expect(await ask()).toMatch(/Connection: keep-alive/i);
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    const closed = closeEdge({ close }, server, { delayMs: 300, timeoutMs: 60_000 });
    await eventually(() => expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow());
    expect(await ask()).toMatch(/Connection: close/i);
    await Promise.all([closed, once(socket, 'close')]);
  });

  it('takes a request that arrived on a new connection while the process was busy', async () => {
    const server = createServer((_request, response) => void response.end('done'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const isSent = new Int32Array(new SharedArrayBuffer(4));
    const client = new Worker(
      `const { parentPort, workerData: { port, isSent } } = require('node:worker_threads');
      parentPort.once('message', () => {
        const socket = require('node:net').connect(port, '127.0.0.1').setEncoding('utf8');
        socket.once('data', (text) => parentPort.postMessage(text));
        socket.once('error', ({ code }) => parentPort.postMessage(code));
        socket.write('POST / HTTP/1.1\\r\\nHost: market.example\\r\\nContent-Length: 0\\r\\n\\r\\n', () => {
          Atomics.store(isSent, 0, 1);
          Atomics.notify(isSent, 0);
        });
      });`,
      { eval: true, workerData: { port: (server.address() as AddressInfo).port, isSent } },
    );
    await once(client, 'online');
    const answer = once(client, 'message') as Promise<[string]>;
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    const closed = closeEdge({ close }, server, { delayMs: 1, timeoutMs: 60_000 });
    client.postMessage('send');
    Atomics.wait(isSent, 0, 0, 30_000);
    expect((await answer)[0]).toMatch(/^HTTP\/1\.1 200 /);
    await Promise.all([closed, client.terminate()]);
  });

  it('closes connections whose requests do not end in time', async () => {
    const server = createServer(() => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const hanging = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await once(server, 'request');
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    await closeEdge({ close }, server, { delayMs: 0, timeoutMs: 50 });
    await expect(hanging).rejects.toThrow();
  });
});
