import { topology } from '@market/contracts';
import { paymentCompleted } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import {
  HandleEvent,
  HandleRequest,
  inProcessTransport,
  type EventRecord,
  type ReceivedEvent,
} from '@market/messaging';
import { migrate, sql, type Tx } from '@market/persistence';
import { createDatabase, eventually, freePort, withClient } from '@market/testing';
import { Controller, Injectable, Logger, Module, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ConfigError, defineConfig, integer, variable } from './define-config.js';
import { defineService } from './define-service.js';
import { Jobs } from './jobs.js';
import { runCommand } from './run-command.js';
import { runProcess } from './run-process.js';

Logger.overrideLogger(false);

const remember = sql('test.remember', 'INSERT INTO received (n) SELECT unnest($1::int[])');

class CreateHeard1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE received (n integer NOT NULL)');
  }
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE received');
  }
}

@Injectable()
class Listener implements OnModuleInit, OnApplicationBootstrap {
  static failures = 0;
  static hooks: string[] = [];

  onModuleInit(): void {
    Listener.hooks.push('init');
  }

  onApplicationBootstrap(): void {
    Listener.hooks.push('bootstrap');
  }

  @HandleEvent(paymentCompleted)
  async onPaymentCompleted(events: ReceivedEvent<typeof paymentCompleted>[], tx: Tx): Promise<void> {
    if (Listener.failures-- > 0) throw new Error('not yet');
    await tx.query(remember, [events.map(({ payload }) => payload.latencyMs)]);
  }
}

/** Serves and consumes everything else that the service's contract and topology declare, and does nothing. */
@Controller()
class Rest {}

const idleMethod = (target: object, name: string): TypedPropertyDescriptor<() => Promise<never>> => {
  Object.defineProperty(target, name, {
    value: () => Promise.reject(new Error(`${name} is not asked here`)),
    writable: true,
    configurable: true,
  });
  return Object.getOwnPropertyDescriptor(target, name)!;
};
const serveAll = (target: object): void =>
  Object.entries(topology.reputation.serves).forEach(([name, contract]) => {
    const descriptor = idleMethod(target, name);
    HandleRequest(contract)(target, name, descriptor);
    Object.defineProperty(target, name, descriptor);
  });
serveAll(Rest.prototype);
topology.reputation.consumes
  .filter((contract) => contract !== paymentCompleted)
  .forEach((contract) =>
    HandleEvent(contract)(Rest.prototype, contract.subject, idleMethod(Rest.prototype, contract.subject)),
  );

@Controller()
class HandlerlessController {}
serveAll(HandlerlessController.prototype);

@Module({ providers: [Listener], controllers: [Rest] })
class ListeningModule {}

@Module({ controllers: [HandlerlessController] })
class HandlerlessModule {}

@Module({})
class IdleModule {}

@Injectable()
class Busy {
  static runs = 0;
  constructor(jobs: Jobs) {
    jobs.every('busy', 1, () => Promise.resolve(void (Busy.runs += 1)));
  }
}
@Module({ providers: [Busy] })
class BusyModule {}

const config = defineConfig('test', { size: variable('TEST_SIZE', integer(1, 10, 1), 'a size') });
const database = { schema: 'reputation', migrations: [CreateHeard1700000000000] };
const listening = defineService({ name: 'reputation', module: ListeningModule, config, database });
const settings = {
  ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  LOG_LEVEL: 'fatal',
  INTERNAL_PORT: '0',
};

const completed = (n: number): EventRecord => ({
  id: newId(),
  subject: paymentCompleted.subject,
  requestId: 'r',
  payload: {
    paymentId: newId(),
    relayRequestId: `0x${'0'.repeat(64)}`,
    gatewayRequestId: newId(),
    buyerId: newId(),
    sellerId: newId(),
    listingId: newId(),
    grossMicros: '1',
    feeMicros: '0',
    sellerStatusCode: 200,
    latencyMs: n,
    requestDigest: '0'.repeat(64),
    responseDigest: '0'.repeat(64),
    completedAt: new Date(0).toISOString(),
  },
});

describe('runProcess', () => {
  it('migrates, starts, handles events, tries failed ones again, and stops so that it can start again', async () => {
    const env = { ...settings, DATABASE_URL: await createDatabase() };
    const received = () =>
      withClient(env.DATABASE_URL, async (client) =>
        (await client.query<{ n: number }>('SELECT n FROM reputation.received ORDER BY n')).rows.map(({ n }) => n),
      );
    for (const [round, failures] of [
      [1, 0],
      [2, 2],
    ] as const) {
      Listener.failures = failures;
      Listener.hooks = [];
      const transport = inProcessTransport();
      const running = await runProcess([listening], transport, env);
      expect((await fetch(`http://127.0.0.1:${running.internalPort}/healthz/ready`)).status).toBe(200);
      expect(Listener.hooks).toEqual(['init', 'bootstrap']);
      const ledger = await transport.connect('payments-ledger', topology['payments-ledger']);
      await ledger.publishEvents([completed(round)]);
      await eventually(async () => expect(await received()).toContain(round), { withinMs: 10_000 });
      await running.stop();
      await expect(fetch(`http://127.0.0.1:${running.internalPort}/healthz/live`)).rejects.toThrow();
    }
    expect(await received()).toEqual([1, 2]);
  });

  it('is not ready until its schema is up to date, and says which migration it waits for', async () => {
    const internalPort = await freePort();
    const env = {
      ...settings,
      DATABASE_URL: await createDatabase(),
      MIGRATE_ON_START: 'false',
      INTERNAL_PORT: String(internalPort),
    };
    const readiness = async () => (await fetch(`http://127.0.0.1:${internalPort}/healthz/ready`)).json();
    await migrate({ ...database, migrations: [] }, env.DATABASE_URL);
    const starting = runProcess([listening], inProcessTransport(), env);
    await eventually(async () =>
      expect(await readiness()).toEqual({
        status: 'not ready',
        failing: { reputation: 'the schema reputation lacks the migration CreateHeard1700000000000' },
      }),
    );
    expect((await fetch(`http://127.0.0.1:${internalPort}/healthz/live`)).status).toBe(200);
    await migrate(database, env.DATABASE_URL);
    const running = await starting;
    expect(await readiness()).toEqual({ status: 'ok' });
    await running.stop();
  });

  it('does not start while a request of the contract has no handler', async () => {
    const idle = defineService({ name: 'identity', module: IdleModule, config });
    await expect(runProcess([idle], inProcessTransport(), settings)).rejects.toThrow(
      /identity does not serve: rpc\.identity\.create-challenge\.v1, /,
    );
  });

  it('leaves no job behind when it does not start', async () => {
    const busy = defineService({ name: 'identity', module: BusyModule, config });
    await expect(runProcess([busy], inProcessTransport(), settings)).rejects.toThrow('does not serve');
    const { runs } = Busy;
    await delay(50);
    expect(Busy.runs).toBe(runs);
  });

  it('does not start while it handles other events than its topology says', async () => {
    const handlerless = defineService({ name: 'reputation', module: HandlerlessModule, config });
    await expect(runProcess([handlerless], inProcessTransport(), settings)).rejects.toThrow(
      /reputation consumes nothing, its topology says evt\./,
    );
  });

  it('says everything that is wrong with its configuration, before it touches anything', async () => {
    const failure = await runProcess([listening], inProcessTransport(), {
      TEST_SIZE: '11',
      PAYMENTS_MODE: 'play',
      ENCRYPTION_KEYS: 'k1:short',
    }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect((failure as ConfigError).problems.map((problem) => problem.split(':')[0]).sort()).toEqual([
      'DATABASE_URL',
      'ENCRYPTION_KEYS',
      'PAYMENTS_MODE',
      'TEST_SIZE',
    ]);
    expect((failure as ConfigError).message).not.toContain('short');
  });

  it('refuses private endpoints where payments are live', async () => {
    const env = {
      ...settings,
      DATABASE_URL: 'postgres://127.0.0.1:1/x',
      PAYMENTS_MODE: 'live',
      ALLOW_PRIVATE_ENDPOINTS: 'true',
    };
    await expect(runProcess([listening], inProcessTransport(), env)).rejects.toThrow(
      'ALLOW_PRIVATE_ENDPOINTS: must not be true with PAYMENTS_MODE=live',
    );
  });

  it.each([
    ['sandbox', 'live'],
    ['live', 'sandbox'],
  ])(
    'does not start on data of the other payments mode, and leaves them and all others as they are: %s',
    async (PAYMENTS_MODE, other) => {
      const [used, free] = [await createDatabase(), await createDatabase()];
      const catalog = defineService({
        name: 'catalog',
        module: IdleModule,
        config,
        database: { schema: 'catalog', migrations: [] },
      });
      const both = { ...settings, CATALOG_DATABASE_URL: free, REPUTATION_DATABASE_URL: used };
      const start = async (env: Record<string, string>, services = [listening]) =>
        (await runProcess(services, inProcessTransport(), env)).stop();
      const modeOf = (url: string, schema: string) =>
        withClient(
          url,
          async (client) => (await client.query(`SELECT mode FROM ${schema}.payments_mode`)).rows as unknown[],
        );
      await start({ ...both, PAYMENTS_MODE });
      const refused = await start({ ...both, PAYMENTS_MODE: other }, [catalog, listening]).catch(
        (error: unknown) => error,
      );
      expect(refused).toBeInstanceOf(ConfigError);
      expect((refused as ConfigError).message).toContain(
        `PAYMENTS_MODE: is ${other}, and the data of reputation are ${PAYMENTS_MODE}; start with PAYMENTS_MODE=${PAYMENTS_MODE}`,
      );
      expect([await modeOf(used, 'reputation'), await modeOf(free, 'catalog')]).toEqual([
        [{ mode: PAYMENTS_MODE }],
        [],
      ]);
      const command = runCommand(
        listening,
        { name: 'received look', help: '', run: () => Promise.resolve('seen') },
        { operator: 'ada', arguments: [], options: {} },
        { ...both, PAYMENTS_MODE: other },
      );
      await expect(command).rejects.toThrow(`the data of reputation are ${PAYMENTS_MODE}`);
      await start({ ...both, PAYMENTS_MODE });
    },
  );
});
