import fc from 'fast-check';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { BrokenStream } from '../egress/answer-receiver.js';
import { StreamText } from './stream-text.js';

const written = (contentType: string, bytes: Buffer, sizes: number[] = []): { text: string; events: number } => {
  const stream = new StreamText(contentType);
  let text = '';
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? bytes.length;
    text += stream.write(bytes.subarray(at, at + size));
    at += size;
  }
  return { text: text + stream.end(), events: stream.events };
};
const eventsIn = (text: string): EventSourceMessage[] => {
  const events: EventSourceMessage[] = [];
  createParser({ onEvent: (event) => events.push(event) }).feed(text);
  return events;
};

describe('the stream of a seller, written anew', () => {
  it.each([
    ['LF', 'event: a\nid: 1\ndata: x\n\n'],
    ['CRLF', 'event: a\r\nid: 1\r\ndata: x\r\n\r\n'],
    ['CR', 'event: a\rid: 1\rdata: x\r\r'],
    ['a byte order mark', '\uFEFFevent: a\nid: 1\ndata: x\n\n'],
    ['fields in another order, and unknown ones', 'data: x\nfoo: bar\nid:1\nretry: 3\nevent:a\n\n'],
  ])('has the same events with %s', (_what, text) => {
    for (const size of [1, 3, text.length])
      expect(written('text/event-stream', Buffer.from(text), [size])).toEqual({
        text: 'event: a\nid: 1\ndata: x\n\n',
        events: 1,
      });
  });

  it('keeps comments and the lines of a value, and drops ids that no client could send back', () => {
    expect(
      written('text/event-stream', Buffer.from(': hi\ndata: a\ndata: b\nid: x\0y\n\nid: market.end\ndata: c\n\n')),
    ).toEqual({ text: ': hi\n\ndata: a\ndata: b\n\ndata: c\n\n', events: 2 });
  });

  it('has no event that its end cuts off', () => {
    expect(written('text/event-stream', Buffer.from('data: a\n\ndata: b\n')).events).toBe(1);
    expect(written('text/event-stream', Buffer.from(': nothing\n\nid: 1\n\n'))).toEqual({
      text: ': nothing\n\n',
      events: 0,
    });
  });

  it.each([
    ['text/event-stream', 'data: é\n\nevent: market.x\ndata: b\n\n', 'data: é\n\n'],
    ['text/event-stream', 'data: é\n\ndata: \xff\n\n', 'data: é\n\n'],
    ['application/x-ndjson', '{"é":1}\n{"b":2} {"c":3}\n', 'data: {"é":1}\n\n'],
  ])('has the events before a fault however it is cut into pieces: %s %j', (contentType, sent, expected) => {
    // U+00FF stands for a byte that no UTF-8 has.
    const bytes = Buffer.concat(
      sent.split('\xff').flatMap((part, n) => [Buffer.from(n > 0 ? [0xff] : []), Buffer.from(part)]),
    );
    for (const size of [1, 3, 13, bytes.length]) {
      const stream = new StreamText(contentType);
      let text = '';
      for (let at = 0; stream.fault === undefined; at += size)
        try {
          text += stream.write(bytes.subarray(at, at + size));
        } catch (error) {
          expect(error).toBeInstanceOf(BrokenStream);
        }
      expect([text, stream.events]).toEqual([expected, 1]);
      expect(() => stream.end()).toThrow(BrokenStream);
    }
  });

  it('is written alike however it is cut into pieces, and its events are those of the seller', () => {
    const line = fc.stringMatching(/^[ -~äß語]{0,8}$/);
    const event = fc.record({
      event: fc.option(fc.stringMatching(/^[a-l]{1,5}$/), { nil: undefined }),
      id: fc.option(fc.stringMatching(/^[0-9]{1,4}$/), { nil: undefined }),
      lines: fc.array(line, { minLength: 1, maxLength: 3 }),
      end: fc.constantFrom('\n', '\r\n', '\r'),
    });
    fc.assert(
      fc.property(
        fc.array(event, { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (events, sizes) => {
          const bytes = Buffer.from(
            events
              .map(({ event: name, id, lines, end }) =>
                [
                  ...(name ? [`event: ${name}`] : []),
                  ...(id ? [`id: ${id}`] : []),
                  ...lines.map((each) => `data: ${each}`),
                  '',
                  '',
                ].join(end),
              )
              .join(''),
          );
          const whole = written('text/event-stream', bytes);
          expect(written('text/event-stream', bytes, sizes)).toEqual(whole);
          expect(eventsIn(whole.text)).toEqual(
            events.map(({ event: name, id, lines }) => ({ event: name, id, data: lines.join('\n') })),
          );
        },
      ),
    );
  });

  it('is an event for each line of JSON, none of which can be more than one', () => {
    const value = fc.jsonValue();
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 5 }),
        fc.constantFrom('\n', '\r\n', '\n\n'),
        (values, end) => {
          const { text, events } = written(
            'application/x-ndjson',
            Buffer.from(values.map((each) => JSON.stringify(each)).join(end)),
          );
          expect(events).toBe(values.length);
          expect(eventsIn(text).map(({ data }) => JSON.parse(data) as unknown)).toEqual(
            values.map((each) => JSON.parse(JSON.stringify(each)) as unknown),
          );
        },
      ),
    );
    expect(written('application/jsonl', Buffer.from('{"a":\r"b"}')).text).toBe('data: {"a": "b"}\n\n');
  });

  it.each<[string, string, Buffer]>([
    ['a name of the marketplace', 'text/event-stream', Buffer.from('event: market.result\ndata: 1\n\n')],
    ['one in other letters and spaces', 'text/event-stream', Buffer.from('event:   MARKET \ndata: 1\n\n')],
    ['bytes that are no UTF-8', 'text/event-stream', Buffer.from('646174613aff0a0a', 'hex')],
    ['half a character at its end', 'text/event-stream', Buffer.from('data: a\n\n\xc3', 'latin1')],
    ['an event that is too large', 'text/event-stream', Buffer.from(`data: ${'x'.repeat(1_048_577)}`)],
    ['a line that is no JSON', 'application/x-ndjson', Buffer.from('{"a":1}\n{"a":1}}\n')],
    ['a line with an event in it', 'application/x-ndjson', Buffer.from('{"a":1,\revent: market.result\rdata: {}}\n')],
    ['a line that is too large', 'application/x-ndjson', Buffer.from('1'.repeat(1_048_577))],
  ])('is broken by %s', (_what, contentType, bytes) => {
    for (const size of [7, bytes.length])
      if (size * 200_000 > bytes.length) expect(() => written(contentType, bytes, [size])).toThrow(BrokenStream);
  });

  it('may have events whose names only begin alike', () => {
    expect(written('text/event-stream', Buffer.from('event: marketing\ndata: 1\n\n')).events).toBe(1);
  });
});
