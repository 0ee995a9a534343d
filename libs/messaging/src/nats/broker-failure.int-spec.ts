import { topology } from '@market/contracts';
import { describeNeeding, freePort, startNatsServer, type NatsServer } from '@market/test-servers';
import { createUser } from '@nats-io/nkeys';
import { edgePublicKey } from './service-keys.js';
import { natsTransport, type NatsTransportOptions } from './nats.transport.js';

const seedOf = (): string => new TextDecoder().decode(createUser().getSeed());

describeNeeding('nats-server')('a broker that cannot be used', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNatsServer({
      config: ({ port }) => `listen: "127.0.0.1:${port}"\nauthorization { token: "other" }\n`,
    });
  });
  afterAll(() => server.stop());

  const failureOf = (options: NatsTransportOptions): Promise<string> =>
    natsTransport(() => ({ edgeKey: edgePublicKey(seedOf()), ...options }))
      .connect('catalog', topology.catalog)
      .then(
        () => 'none',
        (error: Error) => error.message,
      );

  it('is named with its variable, and without the password of its URL', async () => {
    const nobody = `127.0.0.1:${await freePort()}`;
    expect(await failureOf({ servers: [`nats://user:my-secret@${nobody}`] })).toBe(
      `NATS_URL: NATS at ${nobody} cannot be used (connection refused)`,
    );
    expect(await failureOf({ servers: ['nats://user:my-secret@:x'] })).toBe(
      'NATS_URL: NATS at :x cannot be used (Invalid URL)',
    );
  });

  it.each([
    ['no key', undefined],
    ['the key of nobody', seedOf()],
    ['half a key', seedOf().slice(0, 30)],
  ])('says that it is given %s', async (_what, nkeySeed) => {
    const message = await failureOf({ servers: [server.url], nkeySeed });
    expect(message).toMatch(
      /^NATS_NKEY_SEED: NATS at 127\.0\.0\.1:\d+ cannot be used \(.+\): the server knows no user/,
    );
    expect(message).not.toContain(nkeySeed ?? '…');
  });
});
