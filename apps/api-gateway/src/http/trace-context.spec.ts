import { newId } from '@market/kernel';
import { requestIdOf } from './request-id.js';
import { traceRequest } from './trace-context.js';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

const traceparentFor = (traceparent: string | undefined, id: string): string =>
  traceRequest({ headers: { traceparent }, id, method: 'GET', span: undefined });

describe('traceparent', () => {
  it('continues the trace that came in with a span of its own', () => {
    const traceparent = traceparentFor(`00-${trace}-00f067aa0ba902b7-01`, newId());
    expect(traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
    expect(traceparent).not.toContain('00f067aa0ba902b7');
  });

  it('starts a trace named by the request id where none came in', () => {
    const requestId = newId();
    expect(traceparentFor(undefined, requestId)).toMatch(
      new RegExp(`^00-${requestId.replaceAll('-', '')}-[0-9a-f]{16}-00$`),
    );
    expect(traceparentFor(undefined, 'mine')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  it.each([
    '',
    'x',
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `ff-${trace}-00f067aa0ba902b7-01`,
    `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    `00-${trace}-00f067aa0ba902b7-01-${'x'.repeat(600)}`,
  ])('does not continue %p', (incoming) => {
    expect(traceparentFor(incoming, 'mine')).not.toContain(trace);
  });
});

describe('request id', () => {
  it('is the one sent when it is fit for logs, else a new one', () => {
    const given = (id: string): string => requestIdOf({ headers: { 'x-request-id': id } });
    for (const id of ['a', 'req-1.2:3_x', 'x'.repeat(128)]) expect(given(id)).toBe(id);
    for (const id of ['', ' ', 'a b', 'x'.repeat(129), 'a\tb', 'ä', '{}', 'a, b']) expect(given(id)).not.toBe(id);
    expect(requestIdOf({ headers: {} })).toMatch(/^[0-9a-f-]{36}$/);
  });
});
