import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import type { EdgeHarness } from './edge-harness.js';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body; undefined when it is not JSON. */
  json: AnswerBody;
}

/** Loosely typed, because tests read all kinds of answers. */
interface AnswerBody {
  success?: boolean;
  data?: never;
  pagination?: object;
  error?: { code: string; message: string; details?: Record<string, unknown>; recovery?: Record<string, unknown> };
}

export interface Sent {
  key?: string;
  headers?: Record<string, string | string[]>;
  /** An object is sent as JSON; text and bytes are sent unchanged. */
  body?: object | string | Buffer;
}

const API = '/api/v1';

/** Sends one request on its own connection. */
export function send(
  harness: EdgeHarness,
  method: string,
  path: string,
  { key, headers = {}, body }: Sent = {},
): Promise<Answer> {
  const payload = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const all: Record<string, string | string[]> = {
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
    ...(key ? { authorization: `Bearer ${key}` } : {}),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port: harness.port,
        method,
        path: path.startsWith('/') && !path.startsWith('//') ? API + path : path,
        headers: all,
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode!, headers: response.headers, text, json: parse(text) });
        });
      },
    );
    request.on('error', reject);
    request.end(payload);
  });
}

/**
 * Writes bytes to a socket and returns what is received until it closes, the answer is complete or a second passes
 * without data.
 */
export function sendRaw(harness: EdgeHarness, bytes: string | Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(harness.port, '127.0.0.1');
    const chunks: Buffer[] = [];
    const finish = (): void => {
      socket.destroy();
      const [head = '', text = ''] = splitOnce(Buffer.concat(chunks).toString(), '\r\n\r\n');
      const [statusLine = '', ...lines] = head.split('\r\n');
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      );
      resolve({ status: Number(statusLine.split(' ')[1]), headers, text, json: parse(text) });
    };
    socket.setTimeout(30_000, finish);
    socket.on('data', (chunk: Buffer) => {
      // What follows the first bytes follows soon.
      socket.setTimeout(1_000);
      chunks.push(chunk);
      if (isComplete(Buffer.concat(chunks).toString())) finish();
    });
    socket.on('end', finish);
    socket.on('error', reject);
    socket.write(bytes);
  });
}

function isComplete(answer: string): boolean {
  const [head = '', text] = splitOnce(answer, '\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  return text !== undefined && length !== undefined && Buffer.byteLength(text) >= Number(length);
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function parse(text: string): AnswerBody {
  try {
    return JSON.parse(text) as AnswerBody;
  } catch {
    return {};
  }
}

/** Checks the properties that every answer of the edge must have. */
export function expectEnvelope({ status, headers, json }: Answer): void {
  if (status !== 503) expect(status).toBeLessThan(500);
  expect(headers['x-request-id']).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
  expect(headers['x-content-type-options']).toBe('nosniff');
  if (status < 400) {
    expect(json.success).toBe(true);
    return;
  }
  // The payment to make is next to the error.
  const particulars =
    status === 402
      ? { data: { payment: expect.any(Object) as object } }
      : { error: { details: expect.any(Object) as object } };
  expect(json).toMatchObject({
    success: false,
    error: { code: expect.any(String), message: expect.any(String), recovery: { next_action: expect.any(String) } },
  });
  expect(json).toMatchObject(particulars);
}

export function expectRefused(answer: Answer, status: number, code: string, reason?: string): void {
  expectEnvelope(answer);
  expect([answer.status, answer.json.error?.code, ...(reason ? [answer.json.error?.details?.reason] : [])]).toEqual([
    status,
    code,
    ...(reason ? [reason] : []),
  ]);
  const { next_action: next, links = {} } = (answer.json.error?.recovery ?? {}) as {
    next_action?: string;
    links?: object;
  };
  if (next === 'authenticate') expect(Object.keys(links)).toContainEqual(expect.stringMatching(/^(register|session)$/));
}
