import 'reflect-metadata';
import { runProcess } from '@market/runtime';
import { Controller, Get, Module, Post } from '@nestjs/common';
import { ApiGatewayModule } from '../../src/api-gateway.module.js';
import { Public } from '../../src/http/access.js';
import { RELAY_REQUEST_ID } from '../../src/openapi/example-values.js';
import { apiGateway } from '../../src/service.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness, ENVIRONMENT, silentTransport } from '../support/edge-harness.js';
import { expectRefused, send } from '../support/http.js';

@Controller('forgotten')
class UndeclaredController {
  @Post('door')
  openToAnyone(): string {
    return 'oops';
  }
}

@Module({ imports: [ApiGatewayModule], controllers: [UndeclaredController] })
class ModuleWithUndeclaredRoute {}

@Controller()
class DeclaredController {
  @Get('declared')
  @Public()
  get(): string {
    return 'fine';
  }
}

@Module({ imports: [ApiGatewayModule], controllers: [DeclaredController] })
class ModuleWithDeclaredRoute {}

describe('the start of the edge', () => {
  it('fails, naming the route, when a route declares no access rule', async () => {
    await expect(
      runProcess([{ ...apiGateway, module: ModuleWithUndeclaredRoute }], silentTransport(), ENVIRONMENT),
    ).rejects.toThrow('POST /api/v1/forgotten/door declares no access rule');
    const running = await runProcess(
      [{ ...apiGateway, module: ModuleWithDeclaredRoute }],
      silentTransport(),
      ENVIRONMENT,
    );
    await running.stop();
  });

  it.each([
    [{ PORT: '70000' }, 'PORT'],
    [{ PORT: 'http' }, 'PORT'],
    [{ API_GATEWAY_REQUEST_BUDGET_MS: '0' }, 'API_GATEWAY_REQUEST_BUDGET_MS'],
    [{ API_GATEWAY_CALL_BUDGET_MS: 'long' }, 'API_GATEWAY_CALL_BUDGET_MS'],
    [{ API_GATEWAY_CALL_BUDGET_MS: '130000' }, 'API_GATEWAY_CALL_BUDGET_MS'],
    [{ STOP_DELAY_SECONDS: '20', STOP_TIMEOUT_SECONDS: '20' }, 'STOP_DELAY_SECONDS'],
    [{ STOP_TIMEOUT_SECONDS: '5' }, 'API_GATEWAY_CALL_BUDGET_MS'],
    [{ API_GATEWAY_CALL_BUDGET_MS: '600000' }, 'STOP_TIMEOUT_SECONDS'],
    [{ API_GATEWAY_REQUEST_BUDGET_MS: '100' }, 'PAYMENTS_LEDGER_RELAY_TIMEOUT_MS'],
    [{ PUBLIC_URL: 'nowhere' }, 'PUBLIC_URL'],
  ])('fails with the name of the variable for %p', async (environment, name) => {
    await expect(EdgeHarness.start(environment as Record<string, string>)).rejects.toThrow(name);
  });

  it('serves no sandbox operation in live mode: it is unknown, whatever key or method is sent', async () => {
    const harness = await EdgeHarness.start({ PAYMENTS_MODE: 'live', RATE_LIMITS: '' });
    answerEverything(harness.bus);
    const { key } = harness.agent();
    const path = `/sandbox/payments/${RELAY_REQUEST_ID}/pay`;
    for (const answer of [
      await send(harness, 'POST', path),
      await send(harness, 'POST', path, { key, body: {} }),
      await send(harness, 'GET', path, { key }),
      await send(harness, 'OPTIONS', path),
    ])
      expectRefused(answer, 404, 'NOT_FOUND', 'route_not_found');
    const { paths } = (await send(harness, 'GET', '/openapi.json')).json as unknown as { paths: object };
    expect(Object.keys(paths).filter((known) => known.includes('/sandbox/'))).toEqual([]);
    expect((await send(harness, 'GET', '/health')).json.data).toMatchObject({ mode: { payments: 'live' } });
    await harness.stop();
  });

  it('ends with every request finished that had begun', async () => {
    const harness = await EdgeHarness.start();
    answerEverything(harness.bus);
    const { key } = harness.agent();
    await send(harness, 'GET', '/me', { key });
    const begun = Promise.all(Array.from({ length: 20 }, () => send(harness, 'GET', '/me', { key })));
    const [answers] = await Promise.all([begun, begun.then(() => harness.stop())]);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    await expect(send(harness, 'GET', '/health')).rejects.toThrow('ECONNREFUSED');
  });
});
