import { HealthServer, NotReady } from './health.js';

describe('HealthServer', () => {
  const health = new HealthServer();
  let port: number;
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: (await response.json()) as unknown };
  };

  beforeAll(async () => {
    port = await health.listen('127.0.0.1', 0);
  });
  afterAll(() => health.close());

  it('is alive before it is ready', async () => {
    expect(await get('/healthz/live')).toEqual({ status: 200, body: { status: 'ok' } });
    expect(await get('/healthz/ready')).toEqual({ status: 503, body: { status: 'not ready' } });
  });

  it('is ready while everything it needs answers, and says what does not and why, if that may be shown', async () => {
    health.ready = true;
    health.checks.catalog = () => Promise.resolve();
    expect(await get('/healthz/ready')).toEqual({ status: 200, body: { status: 'ok' } });
    health.checks.gateway = () => Promise.reject(new Error('a secret'));
    health.checks.catalog = () => Promise.reject(new NotReady('its disk is full'));
    expect(await get('/healthz/ready')).toEqual({
      status: 503,
      body: { status: 'failing', failing: { catalog: 'its disk is full', gateway: 'failed' } },
    });
  });

  it('has metrics of the process', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    expect(await response.text()).toMatch(/^process_cpu_user_seconds_total [\d.e-]+$/m);
  });

  it('says nothing else', async () => {
    expect((await get('/')).status).toBe(404);
  });
});
