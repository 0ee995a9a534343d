import {
  eventually,
  freePort,
  startMarketplace,
  temporaryDirectory,
  type ProcessName,
  type RunningMarketplace,
} from '@market/testing';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, fetchAs, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { EventReader } from '../support/event-reader.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

inEachMode('a process that is told to stop', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let buyer: Agent;
  let shop: Shop;
  /** Makes the seller answer its call. */
  let answer: () => void;
  let called: Promise<void>;

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode });
    const seller = await registerAgent(marketplace);
    buyer = await registerAgent(marketplace);
    let arrive: () => void = () => {};
    called = new Promise((resolve) => (arrive = resolve));
    shop = await openShop(seller, ({ body }) => {
      arrive();
      return new Promise((resolve) => (answer = () => resolve({ echo: body })));
    });
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
  }, 120_000);

  it('finishes the paid call it has, leaves in order, and finds everything again when it is back', async () => {
    const stopped: ProcessName[] =
      mode === 'standalone' ? ['standalone'] : ['api-gateway', 'gateway', 'payments-ledger'];
    const relayRequestId = await payFor(buyer, shop.listing, { last: 'call' });
    const call = callOnce(buyer, shop.listing, { last: 'call' }, withRelayId(relayRequestId));
    await called;
    const pids = stopped.map((name) => marketplace.pid(name)!);
    // The ledger is called after the seller has answered, so it is stopped later.
    const leaving = stopped.slice(0, mode === 'standalone' ? 1 : 2).map((name) => marketplace.kill(name, 'SIGTERM'));
    answer();
    const result = await call;
    expect([result.status, resultOf(result).billable]).toEqual([200, true]);
    expect(await Promise.all(leaving)).toEqual(leaving.map(() => 0));
    for (const name of stopped.slice(leaving.length)) expect(await marketplace.kill(name, 'SIGTERM')).toBe(0);
    for (const pid of pids) expect(childrenOf(pid)).toBe('');

    for (const name of [...stopped].reverse()) await marketplace.restart(name);
    const again = await callOnce(buyer, shop.listing, { last: 'call' }, withRelayId(relayRequestId));
    expect([again.status, again.text]).toEqual([200, result.text]);
    await expectBooksInOrder(marketplace, [shop]);
  }, 180_000);

  it('lets a stream end that ends soon, and cuts another, whose call is taken up again', async () => {
    const process = mode === 'standalone' ? 'standalone' : 'gateway';
    let letEnd: (() => void) | undefined;
    const seller = await registerAgent(marketplace);
    const streams = await openShop(
      seller,
      async function* ({ body, call }) {
        yield 'one';
        if ((body as { long: boolean }).long ? call.attempt === 1 : true)
          await new Promise<void>((resolve) => (letEnd = resolve));
        yield 'two';
      },
      { formats: ['sse'] },
    );
    const opened = async (body: object): Promise<() => Promise<EventReader>> => {
      const headers = { accept: 'text/event-stream', ...withRelayId(await payFor(buyer, streams.listing, body)) };
      const path = `/gateway/${streams.listing.id}`;
      return () => EventReader.open(fetchAs(buyer, marketplace.baseUrl, 'POST', path, headers, body));
    };
    const ended = (reader: EventReader) => reader.until(({ isOver }) => isOver);
    try {
      const [long, short] = [await opened({ long: true }), await opened({ long: false })];
      const cut = await (await long()).until((reader) => reader.data().length > 0);
      const whole = await (await short()).until((reader) => reader.data().length > 0);
      const leaving = marketplace.kill(process, 'SIGTERM');
      setTimeout(() => letEnd!(), 500);
      expect(await leaving).toBe(0);
      // The edge of a process of its own asks another gateway how they ended.
      await marketplace.restart(process);
      expect((await ended(whole)).result).toMatchObject({ billable: true, events: 2 });
      expect((await ended(cut)).result).toBeUndefined();
      // The first is the call made again, and the second what is stored of it.
      for (const _ of [1, 2]) {
        const again = await ended(await long());
        expect([JSON.parse(again.events[0]!.data), again.data(), again.result]).toMatchObject([
          { attempt: 2 },
          ['one', 'two'],
          { billable: true },
        ]);
      }
    } finally {
      await streams.close();
    }
  }, 180_000);
});

inEachMode('the start command', ({ mode }) => {
  it('starts as many processes as are asked for, and stops them when it is told to stop', async () => {
    const [port, dataDir] = [await freePort(), await temporaryDirectory('start-command')];
    const command = spawn('npm', ['run', '-s', mode === 'standalone' ? 'start' : 'start:distributed'], {
      cwd: new URL('../../../..', import.meta.url).pathname,
      env: { ...process.env, PORT: String(port), DATA_DIR: dataDir, REPLICAS: 'gateway=2,api-gateway=2' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let said = '';
    command.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const health = (at = port) => fetch(`http://127.0.0.1:${at}/api/v1/health`);
    try {
      await eventually(async () => expect((await health()).status).toBe(200), { withinMs: 90_000 });
      if (mode === 'distributed') {
        // Each process is ready under its own name before the launcher prints the addresses.
        await eventually(() => expect(said).toMatch(/gateway#2 +pid \d+/), { withinMs: 60_000 });
        expect((await health(port + 1)).status).toBe(200);
      }
      const exited = once(command, 'exit');
      command.kill('SIGTERM');
      await exited;
      await eventually(() => expect(health()).rejects.toThrow(), { withinMs: 30_000 });
      await eventually(() => expect(processesNaming(dataDir)).toBe(''), { withinMs: 30_000 });
    } finally {
      command.kill('SIGKILL');
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    }
  }, 360_000);
});

/** Running processes whose command line names the directory, as the embedded PostgreSQL's does. */
const processesNaming = (directory: string): string =>
  execFileSync('ps', ['-eo', 'pid=,args='])
    .toString()
    .split('\n')
    .filter((line) => line.includes(directory))
    .join('\n');

/** The child processes of a process that has exited. */
function childrenOf(pid: number): string {
  try {
    return execFileSync('ps', ['--ppid', String(pid), '-o', 'pid=,args=']).toString();
  } catch {
    return '';
  }
}
