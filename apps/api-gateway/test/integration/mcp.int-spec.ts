import { executeCall, HOP_HEADER } from '@market/contracts/gateway';
import { LISTING_REF } from '../../src/openapi/example-values.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';

/** Tools send requests as their caller and follow the same rules. */
describe('MCP', () => {
  let harness: EdgeHarness;
  afterEach(() => harness.stop());

  const start = async (environment: Record<string, string> = {}): Promise<void> => {
    harness = await EdgeHarness.start(environment);
    answerEverything(harness.bus);
  };
  const call = async (headers: Record<string, string> = {}): Promise<{ status: number; reason: unknown }> => {
    const answer = await fetch(`${harness.origin}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'call_listing', arguments: { listing: LISTING_REF.slug, body: {} } },
      }),
    });
    return { status: answer.status, reason: /"reason":"(\w+)"/.exec(await answer.text())?.[1] };
  };
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  it('counts a call as one of the account, however it comes', async () => {
    await start({ RATE_LIMITS: 'calls=2/600:2,reads=100/600' });
    const { key } = harness.agent();
    const byHttp = (): Promise<Response> =>
      fetch(`${harness.origin}/api/v1/gateway/${LISTING_REF.slug}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(key) },
        body: '{}',
      });
    expect(await call(bearer(key))).toEqual({ status: 200, reason: undefined });
    expect((await byHttp()).status).toBe(200);
    expect(await call(bearer(key))).toEqual({ status: 200, reason: 'rate_limited' });
    expect((await byHttp()).status).toBe(429);
    expect(harness.bus.asked(executeCall)).toHaveLength(2);
  });

  it("counts its messages by address, and keys that are nobody's", async () => {
    await start({ RATE_LIMITS: 'reads=2/600,refusals=100/600' });
    expect((await call()).status).toBe(200);
    expect(await call(bearer('am_k_nobody'))).toEqual({ status: 401, reason: 'unauthorized' });
    expect(await call()).toEqual({ status: 429, reason: 'rate_limited' });
  });

  it('refuses what comes back from a seller', async () => {
    await start();
    expect(await call({ [HOP_HEADER]: 'market.test' })).toEqual({ status: 403, reason: 'call_loops' });
  });
});
