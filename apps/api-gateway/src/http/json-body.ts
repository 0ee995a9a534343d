import { lossOf } from '@market/kernel';
import { UnsupportedMediaTypeException } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isUtf8 } from 'node:buffer';
import { bodyMalformed } from './edge-refusals.js';
import { isFitText } from './fit-text.js';

const MAX_DEPTH = 32;
const MAX_KEYS = 2_000;
const MAX_SHOWN = 60;

type Done = (error: Error | null, body?: unknown) => void;

/** Longer than any media type with its boundary. */
const MAX_TYPE_LENGTH = 200;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Replaces all body parsers by one for JSON in UTF-8, and for the bytes of any other type where a route takes them. */
export function readJsonBodies(instance: FastifyInstance): void {
  const parseJson = instance.getDefaultJsonParser('error', 'error');
  instance.removeAllContentTypeParsers();
  const read =
    (isJson: boolean) =>
    (request: FastifyRequest, bytes: Buffer, done: Done): void => {
      if (isIgnored(request)) return done(null);
      if (!isJson && request.rules?.anyType && isTyped(request)) return done(null, bytes);
      if (!isJson || !isPlainUtf8(request)) return done(new UnsupportedMediaTypeException());
      if (!isUtf8(bytes)) return done(bodyMalformed('the body is not valid UTF-8'));
      const text = bytes.toString('utf8');
      request.sentBody = text;
      if (request.rules?.body === 'opaque') return done(null, text);
      if (text.length === 0) return done(null);
      parseJson(request, text, (error, value) => {
        const problem = error
          ? 'the body is not valid JSON, or names an object key that is not allowed'
          : (problemOf(value) ?? problemOfText(text));
        return problem ? done(bodyMalformed(problem)) : done(null, value);
      });
    };
  instance.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.rules?.body === 'raw') leaveUnread(request);
    done(null, payload);
  });
  instance.addContentTypeParser('application/json', { parseAs: 'buffer' }, read(true));
  instance.addContentTypeParser('*', { parseAs: 'buffer' }, read(false));
}

/** Fastify reads no body of a request whose headers say that it has none. */
function leaveUnread(request: FastifyRequest): void {
  const { headers } = request.raw;
  const length = headers['content-length'];
  request.content = {
    type: headers['content-type'],
    length: length === undefined ? undefined : Number(length),
    encoding: headers['content-encoding'],
  };
  for (const name of ['content-type', 'content-length', 'transfer-encoding'] as const) delete headers[name];
}

/** A request for an unknown path is answered with 404, whatever its body is. */
const isIgnored = (request: FastifyRequest): boolean => request.rules === undefined || request.rules.body === 'ignored';

function isPlainUtf8(request: FastifyRequest): boolean {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  return (charset === undefined || /^utf-?8$/i.test(charset)) && isPlain(request);
}

function isTyped(request: FastifyRequest): boolean {
  const { 'content-type': type = '' } = request.headers;
  return type.length <= MAX_TYPE_LENGTH && PRINTABLE.test(type) && isPlain(request);
}

const isPlain = ({ headers: { 'content-encoding': encoding = 'identity' } }: FastifyRequest): boolean =>
  encoding.toLowerCase() === 'identity';

/**
 * Returns why JSON text is refused that is read here: another value would be taken than the text says. Returns undefined
 * if there is no problem.
 */
export function problemOfText(text: string): string | undefined {
  const { repeatedKey, inexactNumber } = lossOf(text);
  if (repeatedKey !== undefined) return `the body repeats the key ${JSON.stringify(repeatedKey).slice(0, MAX_SHOWN)}`;
  if (inexactNumber === undefined) return undefined;
  return `the body has a number that is not exact as a double, ${inexactNumber.slice(0, MAX_SHOWN)}; send it as text`;
}

/**
 * Returns why parsed JSON is refused: it is too deep, has too many keys, has keys of Object.prototype, or has text that
 * PostgreSQL cannot store. Does not recurse. Returns undefined if there is no problem.
 */
export function problemOf(root: unknown): string | undefined {
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }];
  let keys = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value === 'string' && !isFitText(value))
      return 'text must not contain NUL characters or unpaired surrogates';
    if (typeof value !== 'object' || value === null) continue;
    if (depth === MAX_DEPTH) return `the body is nested deeper than ${MAX_DEPTH} levels`;
    for (const [key, member] of Object.entries(value)) {
      keys += 1;
      if (keys > MAX_KEYS) return `the body has more than ${MAX_KEYS} keys and array items`;
      if (key in Object.prototype || key === 'prototype') return 'the body names an object key that is not allowed';
      if (!isFitText(key)) return 'text must not contain NUL characters or unpaired surrogates';
      open.push({ value: member, depth: depth + 1 });
    }
  }
  return undefined;
}
