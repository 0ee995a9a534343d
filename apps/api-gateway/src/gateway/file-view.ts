import { EVENT_STREAM, extensionOf, mediaTypeOf } from '@market/contracts/gateway';

/** Shown by browsers on the spot. They run no code; every other file is only saved. */
const INLINE = /^(image\/(png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain)$/;
/** Types that a page could run, and the places of a page that run them. */
const EXECUTABLE =
  /^(text\/(html|css|xml|(x-)?(java|ecma)script)|application\/((x-)?(java|ecma)script|wasm|xml|.+\+xml)|.+\+xml)$/;
const RUNS = /^(script|style|xslt|.*worker|.*worklet)$/;

/**
 * Whether the bytes of a file are wanted instead of JSON: `Accept` names its type, its range (`image/*`) or
 * application/octet-stream, and prefers application/json to none of these.
 */
export function wantsBytes(accept: string | undefined, contentType: string): boolean {
  const type = mediaTypeOf(contentType);
  const bytes = weightOf(accept, type, `${type.split('/', 1)[0]}/*`, 'application/octet-stream');
  return bytes > 0 && bytes > weightOf(accept, 'application/json');
}

/** Whether a stream is wanted event by event: `Accept` names it, and no range of types. */
export const wantsEvents = (accept: string | undefined): boolean => weightOf(accept, EVENT_STREAM) > 0;

/** The weight that `Accept` gives the best of these types; 0 if it names none. */
function weightOf(accept: string | undefined, ...types: string[]): number {
  const weights = (accept ?? '').split(',').map((part) => {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    return types.includes(name) && weight >= 0 && weight <= 1 ? weight : 0;
  });
  return Math.max(0, ...weights);
}

/** Whether clients show a file on the spot. */
export const isShown = (contentType: string): boolean => INLINE.test(mediaTypeOf(contentType));

/** The name is never the seller's. */
export const fileNameOf = (requestId: string, contentType: string): string =>
  `${requestId}.${extensionOf(contentType)}`;

export function dispositionOf(requestId: string, contentType: string): string {
  const how = isShown(contentType) ? 'inline' : 'attachment';
  return `${how}; filename="${fileNameOf(requestId, contentType)}"`;
}

/** Whether a page wants to run a file. @param destination is the request's `Sec-Fetch-Dest`. */
export const wouldRun = (contentType: string, destination: unknown): boolean =>
  typeof destination === 'string' && RUNS.test(destination) && EXECUTABLE.test(mediaTypeOf(contentType));
