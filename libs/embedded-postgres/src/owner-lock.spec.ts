import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireOwnership } from './owner-lock.js';

describe('owner lock', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'owner-lock-'));
  });

  afterEach(() => rm(directory, { recursive: true }));

  it('has one owner, and is free again once given back', async () => {
    const release = await acquireOwnership(directory);
    await expect(acquireOwnership(directory)).rejects.toThrow(`this process (pid ${process.pid}) already`);
    await release();
    await (await acquireOwnership(directory))();
  });

  it('is taken over from a dead owner by exactly one of many rivals', async () => {
    for (let round = 0; round < 20; round += 1) {
      await writeFile(join(directory, `owner-${1000 * (round + 1)}.json`), JSON.stringify({ pid: 2 ** 22 + 1, startedAt: 'long ago' }));
      const rivals = await Promise.allSettled(Array.from({ length: 8 }, () => acquireOwnership(directory)));
      const winners = rivals.filter((rival) => rival.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      await winners[0]?.value();
    }
    expect(await readdir(directory)).toHaveLength(1);
  });

  it('does not mistake another process under the same pid for the owner', async () => {
    await writeFile(join(directory, 'owner-7.json'), JSON.stringify({ pid: process.pid, startedAt: 'in an earlier life' }));
    await (await acquireOwnership(directory))();
  });
});
