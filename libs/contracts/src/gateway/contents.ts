import { z } from 'zod';
import { declareRefusal, defineRequest, defineSignal } from '../define.js';
import { id } from '../shared/index.js';

export const EVENT_STREAM = 'text/event-stream';

/** The media types of the short names that `formats` may have. The first name of a type is the extension of its files. */
const TYPES: Record<string, string> = {
  avif: 'image/avif',
  bin: 'application/octet-stream',
  binary: 'application/octet-stream',
  csv: 'text/csv',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  flac: 'audio/flac',
  gif: 'image/gif',
  gz: 'application/gzip',
  html: 'text/html',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  ogg: 'audio/ogg',
  parquet: 'application/vnd.apache.parquet',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  tar: 'application/x-tar',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  text: 'text/plain',
  wasm: 'application/wasm',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  yaml: 'application/yaml',
  zip: 'application/zip',
};
/** The media types of streams, by the short names that `formats` may have. */
const STREAM_TYPES: Record<string, string> = {
  sse: EVENT_STREAM,
  ndjson: 'application/x-ndjson',
  jsonl: 'application/jsonl',
};
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;
/** Of a media type in lower case. */
export const JSON_TYPE = /^application\/(.+\+)?json$/;

/** The media types of files and streams that a listing with these `formats` may answer with. */
export const contentTypesOf = (formats: readonly string[]): ReadonlySet<string> =>
  new Set(
    formats
      .map((format) => format.trim().toLowerCase())
      .map((format) => NAMED_TYPES.get(format) ?? format)
      .filter((type) => MEDIA_TYPE.test(type) && !JSON_TYPE.test(type)),
  );

/** The media types of files that it may answer with. A job is never delivered as a stream. */
export const fileTypesOf = (formats: readonly string[]): string[] =>
  [...contentTypesOf(formats)].filter((type) => !isStreamType(type));

/**
 * Whether a listing with these `request_formats` takes a body of this Content-Type.
 * @param contentType is undefined for JSON.
 */
export function takesBody(requestFormats: readonly string[], contentType: string | undefined): boolean {
  if (contentType !== undefined) return contentTypesOf(requestFormats).has(mediaTypeOf(contentType));
  return requestFormats.some((format) => /^(application\/)?json$/i.test(format.trim()));
}

const NAMED_TYPES = new Map(Object.entries({ ...TYPES, ...STREAM_TYPES }));

/** Whether an answer of this Content-Type is a stream: server-sent events, or a JSON value a line. */
export const isStreamType = (contentType: string): boolean =>
  Object.values(STREAM_TYPES).includes(mediaTypeOf(contentType));

/** The media type in a Content-Type header, in lower case, without its parameters. */
export const mediaTypeOf = (contentType: string): string => contentType.split(';', 1)[0]!.trim().toLowerCase();

/** The extension for the name of a file, `bin` where none is known. */
export const extensionOf = (contentType: string): string => {
  const type = mediaTypeOf(contentType);
  return Object.keys(TYPES).find((name) => TYPES[name] === type) ?? 'bin';
};

/** A stored answer that is a file or a stream. `id` names its bytes, and never leaves the services. */
export const storedContent = z.object({
  id,
  /** As the seller sent it. */
  contentType: z.string(),
  size: z.number().int(),
  /** In lower-case hex. */
  sha256: z.string(),
  /** The number of the attempt at the call that it came with. */
  attempt: z.number().int().optional(),
});
export type StoredContent = z.output<typeof storedContent>;

/**
 * A stream that a call is answered with while its seller sends it. What has come is stored, as server-sent events, and
 * `text` is its beginning; `streamGrew` tells the rest as it comes, and `readStream` what was missed.
 */
export const openStream = z.object({
  callId: id,
  contentId: id,
  attempt: z.number().int(),
  text: z.string(),
});
export type OpenStream = z.output<typeof openStream>;

/** The file or stream that a call of the caller's was answered with, or is being answered with. */
export const openContent = defineRequest({
  subject: 'rpc.gateway.open-content.v1',
  repeatable: true,
  input: z.object({ requestId: id }),
  output: z.union([
    /** `dataJson` is the gateway result that belongs to it. */
    z.object({ content: storedContent, dataJson: z.string() }),
    z.object({ stream: openStream }),
    /** What a job was delivered as, if that is JSON: a free call without a key cannot be repeated. */
    z.object({ json: z.string() }),
  ]),
  refusals: {
    content_not_found: declareRefusal(
      'not-found',
      'No call of yours has this id and was answered with a file or a stream',
      z.object({}),
    ),
    result_not_kept: declareRefusal('gone', 'This file is no longer stored', z.object({}), {
      nextAction: 'request_new_payment_requirements',
    }),
  },
});

/** A piece of a file or stream from `offset` on: at most 256 KiB, of a stream 2 MiB, as base64, and empty only at the end. */
export const readContent = defineRequest({
  subject: 'rpc.gateway.read-content.v1',
  repeatable: true,
  input: z.object({ contentId: id, offset: z.number().int().nonnegative() }),
  output: z.object({ base64: z.string() }),
  refusals: {},
});

/**
 * What a reader of an open stream has missed. `offset` and `size` are in bytes.
 * `open`: more may come. `ended`: `dataJson` is the gateway result. `cut`: the process that read the seller has stopped,
 * and what is stored belongs to no answer.
 */
export const readStream = defineRequest({
  subject: 'rpc.gateway.read-stream.v1',
  repeatable: true,
  input: z.object({ callId: id, contentId: id, offset: z.number().int().nonnegative() }),
  output: z.object({
    text: z.string(),
    state: z.enum(['open', 'ended', 'cut']),
    dataJson: z.string().optional(),
  }),
  refusals: {},
});

/** More of a stream has come: `text` from the byte `offset` on. `isOver`: nothing more comes, and `readStream` says why. */
export const streamGrew = defineSignal({
  subject: 'sig.gateway.stream-grew.v1',
  payload: z.object({
    contentId: id,
    offset: z.number().int().nonnegative(),
    text: z.string(),
    isOver: z.literal(true).optional(),
  }),
});

/** Told every `STREAMS_READ_MS` by each edge: the open streams that it has readers of. */
export const streamsRead = defineSignal({
  subject: 'sig.api-gateway.streams-read.v1',
  payload: z.object({ contentIds: z.array(id) }),
});
export const STREAMS_READ_MS = 2_000;
