import { Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Jobs } from './jobs.js';

Logger.overrideLogger(false);

describe('Jobs', () => {
  it('never lets a run overlap itself, and goes on after a failure', async () => {
    const jobs = new Jobs();
    let running = 0;
    let most = 0;
    await new Promise<void>((done) => {
      let runs = 0;
      jobs.every('count', 1, async () => {
        running += 1;
        most = Math.max(most, running);
        await nextTurn();
        running -= 1;
        if ((runs += 1) === 5) done();
        throw new Error('of no consequence');
      });
    });
    await jobs.stop();
    expect(most).toBe(1);
  });

  it('lets a run that has begun finish before it has stopped, and starts no other', async () => {
    const jobs = new Jobs();
    let finish: () => void = () => {};
    let runs = 0;
    await new Promise<void>((begun) => {
      jobs.every('slow', 1, () => {
        runs += 1;
        begun();
        return new Promise((resolve) => (finish = resolve));
      });
    });
    let isStopped = false;
    const stopped = jobs.stop().then(() => (isStopped = true));
    await nextTurn();
    expect(isStopped).toBe(false);
    finish();
    await stopped;
    expect(runs).toBe(1);
  });

  it('starts nothing once it has stopped', async () => {
    const jobs = new Jobs();
    await jobs.stop();
    jobs.every('late', 0, () => Promise.reject(new Error('must not run')));
    expect(jobs).toMatchObject({ timers: new Set() });
  });
});
