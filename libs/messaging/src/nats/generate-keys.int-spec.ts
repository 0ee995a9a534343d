import { SERVICE_NAMES, topology } from '@market/contracts';
import { connect, nkeyAuthenticator } from '@nats-io/transport-node';
import {
  answersOn,
  describeNeeding,
  findProgram,
  freePort,
  startOwnProcess,
  temporaryDirectory,
} from '@market/test-servers';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EVENT_STREAM } from './event-stream.js';
import { natsTransport } from './nats.transport.js';

const PACKAGE_ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SCRIPT = fileURLToPath(new URL('../../../../deploy/nats/generate-keys.mjs', import.meta.url));

async function generate(out: string, ...options: string[]): Promise<string> {
  const script = startOwnProcess(
    process.execPath,
    ['--conditions=@market/source', '--import', '../../.config/typescript.mjs', SCRIPT, '--out', out, ...options],
    { cwd: PACKAGE_ROOT },
  );
  expect({ code: await script.ended, output: script.output() }).toMatchObject({ code: 0 });
  return script.output();
}

describeNeeding('nats-server')('deploy/nats/generate-keys.mjs', () => {
  let out: string;
  beforeEach(async () => {
    out = await temporaryDirectory('nats-keys');
  });
  afterEach(() => rm(out, { recursive: true, force: true }));

  it('writes a broker configuration, a key for each service, with which each of them gets in, and one for the operator', async () => {
    const port = await freePort();
    const said = await generate(
      out,
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--monitor-port',
      String(await freePort()),
      '--store-dir',
      join(out, 'jetstream'),
      '--before-2.10',
    );
    const seeds = new Map<string, string>();
    for (const service of SERVICE_NAMES)
      seeds.set(service, (await readFile(join(out, 'keys', `${service}.nk`), 'utf8')).trim());
    const written = said + (await readFile(join(out, 'nats.conf'), 'utf8'));
    for (const seed of seeds.values()) expect(written).not.toContain(seed);

    const server = startOwnProcess(findProgram('nats-server', 'nats-server'), ['-c', join(out, 'nats.conf')]);
    await answersOn(port, server, { greeting: /^INFO / });
    const edgeKey = (await readFile(join(out, 'edge.pub'), 'utf8')).trim();
    expect(said).toContain(`NATS_EDGE_KEY=${edgeKey}`);
    const transport = natsTransport((service) => ({
      servers: [`nats://127.0.0.1:${port}`],
      nkeySeed: seeds.get(service),
      edgeKey,
    }));
    for (const service of SERVICE_NAMES) await transport.connect(service, topology[service]);
    await transport.close();

    const seed = (await readFile(join(out, 'keys', 'operator.nk'))).subarray(0, -1);
    const operator = await connect({
      servers: `127.0.0.1:${port}`,
      authenticator: nkeyAuthenticator(seed),
      reconnect: false,
    });
    const ask = async (operation: string): Promise<unknown> =>
      (await operator.request(`$JS.API.STREAM.${operation}.${EVENT_STREAM}`)).json();
    expect(await ask('INFO')).toMatchObject({ config: { name: EVENT_STREAM }, state: { messages: 0 } });
    expect(await ask('PURGE')).toMatchObject({ success: true });
    const [event] = topology.identity.emits;
    await expect(operator.request(event!.subject, '{}')).rejects.toThrow(/permissions violation/i);
    await operator.close();
    await server.stop();
  });

  it('keeps keys that exist, replaces one that was deleted, and lets nobody else read them', async () => {
    await generate(out);
    const keys = join(out, 'keys');
    const read = async () =>
      new Map(
        await Promise.all(
          (await readdir(keys)).map(async (name) => [name, await readFile(join(keys, name), 'utf8')] as const),
        ),
      );
    const before = await read();
    await rm(join(keys, 'gateway.nk'));
    await generate(out);
    const after = await read();
    expect([...after].filter(([name, key]) => before.get(name) !== key).map(([name]) => name)).toEqual(['gateway.nk']);
    for (const name of after.keys()) expect((await stat(join(keys, name))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(out, 'nats.conf'), 'utf8')).toContain('sync_interval: always');
  });
});
