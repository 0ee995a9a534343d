import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  currentSpan,
  isKept,
  keep,
  SpanKind,
  startRun,
  startSpan,
  startTrace,
  startTracing,
  traceStep,
  within,
  withinOneOf,
  type Span,
} from './index.js';

interface Sent {
  name: string;
  parentSpanId?: string;
  spanId: string;
  links: { spanId: string }[];
}

describe('tracing', () => {
  let server: Server;
  let answers: number[];
  let posts: number;
  let sent: Sent[];
  let warnings: string[];

  beforeEach(async () => {
    [answers, posts, sent, warnings] = [[], 0, [], []];
    server = createServer((request, response) => {
      posts += 1;
      let text = '';
      request.on('data', (chunk) => (text += chunk));
      request.on('end', () => {
        const status = answers.shift() ?? 200;
        if (status === 200) sent.push(...JSON.parse(text).resourceSpans[0].scopeSpans[0].spans);
        response.writeHead(status, { 'retry-after': '0' }).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  const start = (ratio: number): (() => Promise<void>) =>
    startTracing({
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      headers: {},
      ratio,
      resource: { 'service.name': 'test' },
      warn: (message) => void warnings.push(message),
    });
  const root = (name: string) => startTrace(name, SpanKind.Server, { traceId: 'f'.repeat(32) })!;

  it('does nothing until it is started', async () => {
    expect(startSpan('a', SpanKind.Server, undefined)).toBeUndefined();
    expect(await within(undefined, () => traceStep('b', SpanKind.Client, async (span) => span))).toBeUndefined();
  });

  it('keeps of what is not sampled the traces in which something failed, here or where it asked', async () => {
    const stop = start(0);
    const well = root('well');
    startSpan('its request', SpanKind.Client, well.traceparent)!.end();
    well.end();
    const broken = root('broken');
    startSpan('its request', SpanKind.Client, broken.traceparent)!.fail('why').end();
    expect(isKept(broken)).toBe(true);
    broken.end();
    const elsewhere = root('elsewhere');
    keep(elsewhere);
    elsewhere.end();
    await stop();
    expect(sent.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ['its request', broken.id],
      ['broken', undefined],
      ['elsewhere', undefined],
    ]);
  });

  it('shows the steps of sampled work alone, also beside other work', async () => {
    const stop = start(0.5);
    const sampled = startTrace('sampled', SpanKind.Server, { traceId: '0'.repeat(31) + '1' })!;
    const step = (name: string) => traceStep(name, SpanKind.Client, async (span) => span);
    let release!: () => void;
    const held = within(sampled, async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return step('sampled step');
    });
    expect(await within(root('other'), () => step('other step'))).toBeUndefined();
    release();
    expect((await held)!.parentId).toBe(sampled.id);
    expect(await within(root('later'), () => step('later step'))).toBeUndefined();
    expect((await within(sampled, () => step('again')))!.parentId).toBe(sampled.id);
    await stop();
  });

  it('shows what begins by itself only where something was done or failed, and nothing that is not sampled but failures', async () => {
    const run = async (name: string, work: (step: Span) => void): Promise<void> => {
      const span = startRun(name)!;
      await within(span, () => traceStep(`step of ${name}`, SpanKind.Client, async (step) => work(step ?? span)));
      span.end();
    };
    let stop = start(1);
    await run('idle', () => undefined);
    await run('busy', keep);
    await run('broken', (step) => void step.fail('why'));
    await stop();
    expect(sent.map(({ name }) => name)).toEqual(['step of busy', 'busy', 'step of broken', 'broken']);
    sent = [];
    stop = start(0);
    await run('busy', () => keep(currentSpan()));
    await run('broken', (span) => void span.fail('why'));
    await stop();
    expect(sent.map(({ name }) => name)).toEqual(['broken']);
  });

  it('shows shared work under one of those that share it, and nothing under one that is over', async () => {
    const stop = start(1);
    const [over, first, second] = [root('over'), root('first'), root('second')];
    over.end();
    await within(first, () =>
      withinOneOf([{ span: over }, { span: first }, { span: second }], () =>
        traceStep('shared', SpanKind.Client, async () => undefined),
      ),
    );
    expect(await within(over, async () => currentSpan())).toBeUndefined();
    [first, second].forEach((span) => span.end());
    await stop();
    expect(sent.find(({ name }) => name === 'shared')!.parentSpanId).toBe(first.id);
    expect(sent.find(({ name }) => name === 'second')!.links).toEqual([expect.objectContaining({ spanId: first.id })]);
  });

  it.each([
    ['sends again what the collector could not take', 503, ['kept'], 2],
    ['does not send again what it refuses', 400, [], 1],
  ])('%s', async (_title, answer, names, times) => {
    answers = [answer];
    const stop = start(1);
    root('kept').end();
    while (posts < times) await new Promise((resolve) => setImmediate(resolve));
    await stop();
    expect(sent.map(({ name }) => name)).toEqual(names);
    expect([posts, warnings]).toEqual([times, [`traces are not taken: the collector answers ${answer}`]]);
  });
});
