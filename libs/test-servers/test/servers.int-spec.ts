import { connect } from 'node:net';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { eventually } from '../src/eventually.js';
import { describeNeeding } from '../src/describe-needing.js';
import { startNatsServer, type NatsServer } from '../src/nats-server.js';
import { findProgram, startOwnProcess } from '../src/own-process.js';
import { startRedisServer, type RedisServer } from '../src/redis-server.js';

const isOpen = async (port: number): Promise<boolean> => {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

describeNeeding('nats-server')('NATS servers of a test', () => serversOf(startNatsServer));
describeNeeding('redis-server')('Redis servers of a test', () => serversOf(startRedisServer));

function serversOf(start: () => Promise<NatsServer | RedisServer>): void {
  it('run on ports of their own, come back after a crash, and are gone after stop', async () => {
    const servers = await Promise.all([start(), start()]);
    expect(new Set(servers.map(({ port }) => port)).size).toBe(2);
    for (const server of servers) {
      await server.kill();
      expect(await isOpen(server.port)).toBe(false);
      await server.restart();
      expect(await isOpen(server.port)).toBe(true);
      await server.stop();
      expect(await isOpen(server.port)).toBe(false);
    }
  });
}

describeNeeding('nats-server')('a server with a wrong configuration', () => {
  it('has what it wrote in the error', async () => {
    await expect(startNatsServer({ config: () => 'listen: nonsense {' })).rejects.toThrow('Parse error on line 1');
  });
});

describe('processes of a test', () => {
  it('name the package of a missing program', () => {
    expect(() => findProgram('no-such-server', 'such-package')).toThrow('apt-get install such-package');
  });

  it('end with the process that started them, also when that one is killed', async () => {
    const fixture = fileURLToPath(new URL('./fixtures/hold-process.ts', import.meta.url));
    const holder = startOwnProcess(
      process.execPath,
      ['--conditions=@market/source', '--import', '../../.config/typescript.mjs', fixture],
      { cwd: fileURLToPath(new URL('..', import.meta.url)) },
    );
    const pid = await eventually(() => {
      expect(holder.output()).toMatch(/^\d+$/);
      return Number(holder.output());
    });
    expect(await commandOf(pid)).toContain('sleep');
    await holder.stop('SIGKILL');
    await eventually(async () => expect(await commandOf(pid)).toBe(''));
  });
});

/** Empty if the process has ended, even if its parent has not yet collected its exit status. */
const commandOf = (pid: number): Promise<string> => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
