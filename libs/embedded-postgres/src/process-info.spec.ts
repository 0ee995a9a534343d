import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { inspectProcess, inspectThroughPs, waitUntilGone } from './process-info.js';

const hasPs = spawnSync('ps').error === undefined;

it.each([['the way of this system', inspectProcess] as const, ...(hasPs ? [['ps', inspectThroughPs] as const] : [])])(
  'a live process is told by its parent, start and command line through %s, and a dead one not at all',
  async (_way, inspect) => {
    const child = spawn('sleep', ['4321']);
    await once(child, 'spawn');
    const { startedAt } = (await inspectProcess(child.pid!))!;
    const info = await inspect(child.pid!);
    expect(info).toEqual({ parent: process.pid, command: 'sleep 4321', startedAt: expect.stringMatching(/.+/) });
    expect(info).toEqual(await inspect(child.pid!));
    expect(await waitUntilGone(child.pid!, startedAt, 50)).toBe(false);

    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    expect(await waitUntilGone(child.pid!, startedAt, 5_000)).toBe(true);
    await exited;
    expect(await inspect(child.pid!).catch(() => undefined)).toBeUndefined();
  },
);
