import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { inspectProcess, inspectThroughPs, waitUntilGone } from './process-info.js';

const hasPs = spawnSync('ps').error === undefined;

describe('process info', () => {
  it.each([
    ['the way of this system', inspectProcess] as const,
    ...(hasPs ? [['ps', inspectThroughPs] as const] : []),
  ])('tells a live process, its start and its command line through %s, and says nothing of a dead one', async (_way, inspect) => {
    const child = spawn('sleep', ['4321']);
    await once(child, 'spawn');
    const info = await inspect(child.pid ?? 0);
    expect(info?.command).toBe('sleep 4321');
    expect(info).toEqual(await inspect(child.pid ?? 0));
    expect(info?.startedAt).not.toBe('');

    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await inspect(child.pid ?? 0)).toBeUndefined();
  });

  it('waits for an end at most as long as it is told', async () => {
    const child = spawn('sleep', ['4321']);
    await once(child, 'spawn');
    const { startedAt = '' } = (await inspectProcess(child.pid ?? 0)) ?? {};
    expect(await waitUntilGone(child.pid ?? 0, startedAt, 50)).toBe(false);
    child.kill('SIGKILL');
    expect(await waitUntilGone(child.pid ?? 0, startedAt, 5_000)).toBe(true);
  });
});
