import type { Principal } from '@market/contracts';
import { describeNeeding } from '@market/test-servers';
import { Injectable, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { ada } from '../../test/fixtures/ada.js';
import { startReplica } from '../../test/fixtures/catalog-replica.js';
import { echo, echoOnBehalf, relayedEcho, testTopology } from '../../test/fixtures/contracts.js';
import { natsHarness, type NatsHarness } from '../../test/fixtures/harnesses.js';
import { HandleRequest, serveRequests } from '../handle-request.decorator.js';
import { MessageBus } from '../message-bus.js';
import { newRequestContext, type RequestContext } from '../request-context.js';

Logger.overrideLogger(false);

describeNeeding('nats-server')('for whom a request over NATS is', () => {
  const cleanup: (() => Promise<unknown>)[] = [];
  let harness: NatsHarness;
  let edge: MessageBus;
  let gateway: MessageBus;

  @Injectable()
  class GatewayRequests {
    @HandleRequest(relayedEcho)
    relayedEcho(input: { text: string }, context: RequestContext) {
      return gateway.request(echo, input, context);
    }
  }
  @Module({ providers: [GatewayRequests] })
  class GatewayModule {}

  beforeAll(async () => {
    harness = await natsHarness();
    cleanup.push(() => harness.stop());
    const replica = await startReplica('only', await harness.connect('catalog'));
    cleanup.push(() => replica.close());
    const link = await harness.connect('gateway');
    gateway = new MessageBus(link, testTopology.gateway);
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(GatewayModule, {
      strategy: link.server,
      logger: false,
    });
    serveRequests(link.server, [app.get(GatewayRequests)]);
    await app.listen();
    cleanup.push(() => app.close());
    edge = new MessageBus(await harness.connect('api-gateway'), testTopology['api-gateway']);
  });
  afterAll(async () => {
    for (const step of cleanup.reverse()) await step();
  });

  const asked = { text: 'hello' };
  const contextOf = (of?: Principal): RequestContext => newRequestContext({ principal: of });

  it('is what the edge says, through every service that is asked for it', async () => {
    expect(await edge.request(echo, asked, contextOf(ada))).toMatchObject({ principalId: ada.accountId });
    const relayed = await edge.request(relayedEcho, asked, contextOf(ada));
    expect(relayed).toMatchObject({ principalId: ada.accountId });
    expect(await edge.request(relayedEcho, asked, contextOf())).not.toHaveProperty('principalId');
  });

  it('is nobody where a service names an account by itself, except on behalf of a buyer who is gone', async () => {
    expect(await gateway.request(echo, asked, contextOf({ ...ada }))).not.toHaveProperty('principalId');
    expect(await gateway.request(echoOnBehalf, asked, contextOf({ ...ada }))).toMatchObject({
      principalId: ada.accountId,
    });
  });

  it('is refused with a proof that the edge did not make', async () => {
    const link = await harness.connect('gateway');
    for (const subject of [echo.subject, echoOnBehalf.subject]) {
      const meta = { requestId: 'forged', remainingMs: 1_000, proof: 'e30.AAAA' };
      expect(await link.request(subject, { meta, data: asked }, 2_000)).toEqual({ failed: 'invalid_message' });
    }
  });
});
